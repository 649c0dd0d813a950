//go:build unix

package main

import (
	"cmp"
	"database/sql"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// loop answers what SQL cannot say with a loop over the columns that it needs.
func (r *rival) loop() error {
	model := regexp.MustCompile("(?i)llama|qwen")
	columns := "number, setup, workload, load_point, context, ifnull(launch, 0), verdict, success_rate, requested, total_tps"
	if r.name == "pareto" {
		columns += ", p99_ttft_ms"
	}
	rows, err := r.db.Query("SELECT " + columns + " FROM trial")
	if err != nil {
		return err
	}
	defer rows.Close()
	type point struct {
		number int64
		spot
		tps, ttft float64
		verdict   int64
	}
	var front, sound []point
	seen := newSeen()
	var bits struct{ setup, workload, point, context, launch []bool }
	mark := func(set *[]bool, n int) {
		for len(*set) <= n {
			*set = append(*set, false)
		}
		(*set)[n] = true
	}
	for rows.Next() {
		var p point
		var verdict sql.NullInt64
		var rate, requested, tps, ttft sql.NullFloat64
		dest := []any{&p.number, &p.setup, &p.workload, &p.point, &p.context, &p.launch, &verdict, &rate, &requested, &tps}
		if r.name == "pareto" {
			dest = append(dest, &ttft)
		}
		if err := rows.Scan(dest...); err != nil {
			return err
		}
		r.trials++
		if r.context[p.context]["status"] != "ok" {
			r.status++
			continue
		}
		if r.setup[p.setup]["simulated"] == int64(1) {
			r.simulated++
			continue
		}
		fits := r.name == "pareto" || model.MatchString(r.setup[p.setup]["model"].(string))
		switch {
		case !fits, rate.Valid && rate.Float64 != 1:
			r.where++
			continue
		case !rate.Valid:
			r.undecided++
			r.noRate++
			if !requested.Valid {
				r.unasked++
			}
			continue
		case !tps.Valid, r.name == "pareto" && !ttft.Valid:
			r.undecided++
			r.noGoal++
			continue
		}
		r.considered++
		mark(&bits.setup, p.setup)
		mark(&bits.workload, p.workload)
		mark(&bits.point, p.point)
		mark(&bits.context, p.context)
		mark(&bits.launch, p.launch)
		p.tps, p.ttft, p.verdict = tps.Float64, ttft.Float64, verdict.Int64
		beats := func(a, b point) bool {
			if r.name == "pareto" {
				return a.tps >= b.tps && a.ttft <= b.ttft && (a.tps > b.tps || a.ttft < b.ttft)
			}
			return a.tps > b.tps
		}
		for _, f := range []*[]point{&front, &sound} {
			if f == &sound && r.tainted[p.verdict] || slices.ContainsFunc(*f, func(o point) bool { return beats(o, p) }) {
				continue
			}
			*f = append(slices.DeleteFunc(*f, func(o point) bool { return beats(p, o) }), p)
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	for _, s := range []struct {
		from []bool
		to   map[int]bool
	}{{bits.setup, seen.setup}, {bits.workload, seen.workload}, {bits.point, seen.point}, {bits.context, seen.context}, {bits.launch, seen.launch}} {
		for id, set := range s.from {
			if set {
				s.to[id] = true
			}
		}
	}
	a := r.answer(nil)
	list := []map[string]any{}
	ties := 0
	order := func(a, b point) int {
		return cmp.Or(cmp.Compare(b.tps, a.tps), cmp.Compare(a.ttft, b.ttft), cmp.Compare(a.number, b.number))
	}
	slices.SortFunc(front, order)
	slices.SortFunc(sound, order)
	row := func(p point) (map[string]any, error) {
		var id []byte
		var findings int
		err := r.db.QueryRow("SELECT id, findings FROM trial WHERE number = ?", p.number).Scan(&id, &findings)
		row := map[string]any{"total_tps": p.tps, "number": p.number, "id": uuidText(id), "study": r.context[p.context]["study"],
			"engine": r.setup[p.setup]["engine"], "model": r.setup[p.setup]["model"], "workload": r.workload[p.workload]["workload"],
			"config": r.setup[p.setup]["config"], "n": 1, "findings": findings}
		if r.name == "pareto" {
			row["p99_ttft_ms"] = p.ttft
		}
		return row, err
	}
	named := map[int][]string{}
	touched := map[int][]string{}
	unsound := false
	var noted []string
	for i, p := range front {
		if i > 0 && p.tps == front[i-1].tps && p.ttft == front[i-1].ttft {
			ties++
		}
		one, err := row(p)
		if err != nil {
			return err
		}
		list = append(list, one)
		unsound = unsound || r.tainted[p.verdict]
		worst, metrics := 0, []string(nil)
		for _, m := range columnsOf(r.name) {
			switch of := max(r.verdicts[p.verdict]["*"], r.verdicts[p.verdict][m]); {
			case of > worst:
				worst, metrics = of, []string{m}
			case of == worst && of > 0:
				metrics = append(metrics, m)
			}
		}
		name := fmt.Sprint(p.number)
		named[worst] = append(named[worst], name)
		for _, m := range metrics {
			if !slices.Contains(touched[worst], m) {
				touched[worst] = append(touched[worst], m)
			}
		}
		if worst >= 2 && one["findings"].(int) > 0 {
			noted = append(noted, name)
		}
	}
	warnings := a["warnings"].([]any)
	if unsound && len(sound) > 0 {
		if a["sound_winner"], err = row(sound[0]); err != nil {
			return err
		}
	}
	for _, level := range []struct {
		of   int
		name string
	}{{4, "void"}, {3, "hard"}} {
		if named[level.of] == nil {
			continue
		}
		text := listTrialNames(named[level.of]) + ": a " + level.name + " finding touches " + strings.Join(touched[level.of], ", ")
		if len(sound) > 0 {
			text += fmt.Sprintf("; the best sound row is trial %d with total_tps = %v", sound[0].number, strconv.FormatFloat(sound[0].tps, 'f', -1, 64))
			if r.name == "pareto" {
				text += ", p99_ttft_ms = " + strconv.FormatFloat(sound[0].ttft, 'f', -1, 64)
			}
		}
		warnings = append(warnings, map[string]any{"code": level.name, "message": text})
	}
	if noted != nil {
		warnings = append(warnings, map[string]any{"code": "findings", "message": listTrialNames(noted) + ": the audit has findings on the ranked figure"})
	}
	a["warnings"] = warnings
	a["rows"], a["ties"], a["empty_groups"] = list, ties, 0
	a["residue"] = r.residue([]*rivalSeen{seen}, "simulated")
	return r.print(a)
}
