//go:build unix

package main

import (
	"cmp"
	"database/sql"
	"fmt"
	"math"
	"slices"
	"strings"
)

// rivalGroup is one group of the answer.
type rivalGroup struct {
	key         []any
	considered  int
	best, sound float64
	from        []spotBest
	seen        *rivalSeen
}

type spotBest struct {
	spot
	best, sound float64
}

// winners answers with one statement over all trials, grouped in the order of the index,
// and one look-up for each winner.
func (r *rival) winners(by []string) error {
	rows, err := r.db.Query(`SELECT setup, workload, load_point, context, ifnull(launch, 0), count(*), count(success_rate),
			ifnull(sum(success_rate = 1), 0), ifnull(sum(success_rate = 1 AND total_tps IS NULL), 0), sum(success_rate IS NULL AND requested IS NULL),
			max(CASE WHEN success_rate = 1 THEN total_tps END), max(CASE WHEN success_rate = 1 AND ` + r.sound + ` THEN total_tps END)
		FROM trial GROUP BY setup, workload, load_point, context, launch`)
	if err != nil {
		return err
	}
	defer rows.Close()
	groups := map[string]*rivalGroup{}
	var order []*rivalGroup
	for rows.Next() {
		var at spot
		var n, rated, full, bare, unasked int
		var best, sound sql.NullFloat64
		if err := rows.Scan(&at.setup, &at.workload, &at.point, &at.context, &at.launch, &n, &rated, &full, &bare, &unasked, &best, &sound); err != nil {
			return err
		}
		r.trials += n
		status := r.context[at.context]["status"].(string)
		if status == "planned" || status == "launching" || status == "running" || status == "retracted" {
			r.status += n
			continue
		}
		var key []any
		for _, name := range by {
			v, ok := r.setup[at.setup][name]
			if !ok {
				v = r.workload[at.workload][name]
			}
			key = append(key, v)
		}
		text := fmt.Sprintf("%q", key)
		g := groups[text]
		if g == nil {
			g = &rivalGroup{key: key, best: math.Inf(-1), sound: math.Inf(-1), seen: newSeen()}
			groups[text] = g
			order = append(order, g)
		}
		switch {
		case status != "ok":
			r.status += n
			continue
		case r.setup[at.setup]["simulated"] == int64(1):
			r.simulated += n
			continue
		}
		r.where += rated - full
		r.undecided += n - rated + bare
		r.noRate += n - rated
		r.unasked += unasked
		r.noGoal += bare
		took := full - bare
		if took == 0 {
			continue
		}
		r.considered += took
		g.considered += took
		g.seen.add(at)
		if best.Valid {
			b := spotBest{at, best.Float64, math.Inf(-1)}
			if sound.Valid {
				b.sound = sound.Float64
			}
			if b.best >= g.best || b.sound >= g.sound {
				g.from = append(g.from, b)
			}
			g.best, g.sound = max(g.best, b.best), max(g.sound, b.sound)
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	slices.SortFunc(order, func(a, b *rivalGroup) int {
		for i := range a.key {
			if c := strings.Compare(a.key[i].(string), b.key[i].(string)); c != 0 {
				return c
			}
		}
		return 0
	})
	a := r.answer(by)
	var seen []*rivalSeen
	ties, empty := 0, 0
	list := []map[string]any{}
	for _, g := range order {
		if g.considered == 0 {
			empty++
			continue
		}
		won, err := r.rowsAt(g)
		if err != nil {
			return err
		}
		ties += len(won) - 1
		for i, row := range won {
			delete(row, "started")
			if r.name == "vs" {
				if err := r.baseline(row, g.seen); err != nil {
					return err
				}
			}
			if i == 0 && row["tainted"] == true {
				return fmt.Errorf("the winner is not sound, which this rival does not print")
			}
			delete(row, "tainted")
			list = append(list, row)
		}
		seen = append(seen, g.seen)
	}
	a["rows"], a["ties"], a["empty_groups"] = list, ties, empty
	a["warnings"] = append(a["warnings"].([]any), r.bases.warnings(len(list))...)
	a["residue"] = r.residue(seen, append([]string{"simulated"}, by...)...)
	return r.print(a)
}

// rowsAt reads the winners of a group.
func (r *rival) rowsAt(g *rivalGroup) ([]map[string]any, error) {
	var out []map[string]any
	for _, from := range g.from {
		if from.best != g.best {
			continue
		}
		some, err := r.rowsOf(from, g.best)
		if err != nil {
			return nil, err
		}
		out = append(out, some...)
	}
	slices.SortFunc(out, func(a, b map[string]any) int {
		return cmp.Or(cmp.Compare(a["started"].(int64), b["started"].(int64)), strings.Compare(a["id"].(string), b["id"].(string)))
	})
	if r.name != "vs" {
		for _, row := range out {
			delete(row, "load")
		}
	}
	return out, nil
}

// rowsOf reads the trials of one spot that have the best value.
func (r *rival) rowsOf(from spotBest, best float64) (out []map[string]any, err error) {
	rows, err := r.db.Query(`SELECT number, id, started_at, findings, verdict FROM trial
		WHERE setup = ? AND workload = ? AND load_point = ? AND context = ? AND launch IS nullif(?, 0) AND success_rate = 1 AND total_tps = ?`,
		from.setup, from.workload, from.point, from.context, from.launch, best)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var number, findings int
		var id []byte
		var started, verdict sql.NullInt64
		if err := rows.Scan(&number, &id, &started, &findings, &verdict); err != nil {
			return nil, err
		}
		out = append(out, map[string]any{"total_tps": best, "number": number, "id": uuidText(id), "study": r.context[from.context]["study"],
			"engine": r.setup[from.setup]["engine"], "model": r.setup[from.setup]["model"], "workload": r.workload[from.workload]["workload"],
			"config": r.setup[from.setup]["config"], "n": 1, "findings": findings, "started": started.Int64,
			"load": r.point[from.point]["load"], "tainted": r.tainted[verdict.Int64]})
	}
	return out, rows.Err()
}

// baseline adds what a winner is compared with: the median of the baselines of its
// model, workload and load.
func (r *rival) baseline(row map[string]any, seen *rivalSeen) error {
	list := func(of []map[string]any, ok func(map[string]any) bool) string {
		var ids []string
		for id, m := range of {
			if m != nil && ok(m) {
				ids = append(ids, fmt.Sprint(id))
			}
		}
		return "(" + strings.Join(ids, ", ") + ")"
	}
	rows, err := r.db.Query("SELECT setup, workload, load_point, context, ifnull(launch, 0), total_tps, number FROM trial WHERE setup IN " +
		list(r.setup, func(m map[string]any) bool { return m["model"] == row["model"] && m["simulated"] == int64(0) }) +
		" AND workload IN " + list(r.workload, func(m map[string]any) bool { return m["workload"] == row["workload"] }) +
		" AND load_point IN " + list(r.point, func(m map[string]any) bool { return m["load"] == row["load"] }))
	if err != nil {
		return err
	}
	defer rows.Close()
	var xs []float64
	own := false
	for rows.Next() {
		var at spot
		var x sql.NullFloat64
		var number int
		if err := rows.Scan(&at.setup, &at.workload, &at.point, &at.context, &at.launch, &x, &number); err != nil {
			return err
		}
		// The contexts are too many to be looked up in the index one by one.
		if of := r.context[at.context]; of["role"] != "baseline" || of["status"] != "ok" {
			continue
		}
		seen.add(at)
		if x.Valid {
			xs = append(xs, x.Float64)
			own = own || number == row["number"]
		}
	}
	slices.Sort(xs)
	base := medianOfSorted(xs)
	r.bases.add(row["number"].(int), base, xs, own)
	row["base(total_tps)"] = base
	row["gain"] = (row["total_tps"].(float64) - base) / math.Abs(base)
	delete(row, "load")
	return rows.Err()
}

// rivalBases are the rows that were compared with medians of several trials.
type rivalBases struct {
	several, own int
	of           int // trial of the row whose baselines lie furthest apart
	apart        float64
	widest       []float64
}

func (b *rivalBases) add(number int, median float64, sorted []float64, own bool) {
	n := len(sorted)
	if n < 2 {
		return
	}
	if b.several++; own {
		b.own++
	}
	if apart := (sorted[n-1] - sorted[0]) / math.Abs(median); b.several == 1 || apart > b.apart {
		b.of, b.apart, b.widest = number, apart, sorted
	}
}

func (b *rivalBases) warnings(rows int) []any {
	if b.several == 0 {
		return nil
	}
	text := fmt.Sprintf("the median of %d trials, %.6g to %.6g", len(b.widest), b.widest[0], b.widest[len(b.widest)-1])
	switch {
	case rows > 1:
		text = fmt.Sprintf("a median of several trials in %d of %d rows; in that of trial %d %s", b.several, rows, b.of, text)
		switch b.own {
		case 0:
		case 1:
			text += "; in 1 row the row's own trial is among them"
		default:
			text += fmt.Sprintf("; in %d rows the row's own trial is among them", b.own)
		}
	case b.own > 0:
		text += fmt.Sprintf(", trial %d itself among them", b.of)
	}
	return []any{map[string]any{"code": "baseline", "message": "base(total_tps): " + text}}
}

func medianOfSorted(xs []float64) float64 {
	n := len(xs)
	if n == 0 {
		return math.NaN()
	}
	if n%2 == 1 {
		return xs[n/2]
	}
	return xs[n/2-1] + (xs[n/2]-xs[n/2-1])*0.5
}
