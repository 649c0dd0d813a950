//go:build unix

package main

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sweepbook/sweepbook/store"
)

// The rivals answer some questions with SQL or a loop written by hand for this one
// schema and question, through the same driver, down to the last field of the JSON that
// "sweepbook --output json query" prints. BenchmarkHistory compares both the answers and
// the times of the processes. They know all that the schema offers: what trials share
// is read once, and one index holds all that is read of every trial.
//
//	rival winner|groups|vs|repeats|matches|pareto DB
//	rival open DB
//	rival "make N" DB
func rivalMain() int {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: rival NAME DB")
		return 2
	}
	if err := rivalRun(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "rival:", err)
		return 1
	}
	return 0
}

// rivalQueries are the questions that the rivals answer.
var rivalQueries = []struct{ name, query string }{
	{"winner", "max total_tps where success_rate == 1"},
	{"groups", "max total_tps where success_rate == 1 by model, workload"},
	{"repeats", "max total_tps where success_rate == 1 per setup"},
	{"vs", `max total_tps where success_rate == 1 by model vs role == "baseline"`},
	{"matches", `max total_tps where success_rate == 1 and model matches "(?i)llama|qwen"`},
	{"pareto", "pareto max total_tps, min p99_ttft_ms where success_rate == 1"},
}

func rivalRun(name, path string) error {
	if name == "open" {
		db, err := store.Open(context.Background(), path, store.Options{ReadOnly: true, MustExist: true})
		if err != nil {
			return err
		}
		return db.Close()
	}
	if text, ok := strings.CutPrefix(name, "make "); ok {
		n, err := strconv.Atoi(text)
		if err != nil {
			return err
		}
		began := time.Now()
		return makeHistory(context.Background(), path, n, func(done int) {
			if done%100_000 == 0 {
				fmt.Fprintf(os.Stderr, "%d of %d trials after %s\n", done, n, time.Since(began).Round(time.Second))
			}
		})
	}
	db, err := sql.Open("sqlite", "file:"+path+"?mode=ro&_pragma=query_only(1)")
	if err != nil {
		return err
	}
	defer db.Close()
	r := &rival{db: db, name: name}
	for _, q := range rivalQueries {
		if q.name == name {
			r.query = q.query
		}
	}
	if err := r.readShared(); err != nil {
		return err
	}
	switch name {
	case "winner":
		err = r.winners(nil)
	case "groups":
		err = r.winners([]string{"model", "workload"})
	case "vs":
		err = r.winners([]string{"model"})
	case "repeats":
		err = r.repeats()
	case "matches", "pareto":
		err = r.loop()
	default:
		err = fmt.Errorf("no rival %q", name)
	}
	return err
}

type rival struct {
	db          *sql.DB
	name, query string
	setup       []map[string]any
	workload    []map[string]any
	point       []map[string]any
	context     []map[string]any
	warm        []any
	sound       string // a condition on verdict
	tainted     map[int64]bool
	verdicts    map[int64]map[string]int

	trials, considered, status, simulated, where, undecided, unasked, noRate, noGoal int

	bases rivalBases
}

// table reads a small table, its rows by id.
func (r *rival) table(text string) ([]map[string]any, error) {
	rows, err := r.db.Query(text)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	var out []map[string]any
	cells, dest := make([]any, len(names)), make([]any, len(names))
	for i := range cells {
		dest[i] = &cells[i]
	}
	for rows.Next() {
		if err := rows.Scan(dest...); err != nil {
			return nil, err
		}
		id := int(cells[0].(int64))
		for len(out) <= id {
			out = append(out, nil)
		}
		m := make(map[string]any, len(names))
		for i, name := range names {
			m[name] = cells[i]
		}
		out[id] = m
	}
	return out, rows.Err()
}

func (r *rival) readShared() (err error) {
	if r.setup, err = r.table(`SELECT s.id, c.engine, c.model, c.hash AS config, s.gpu, s.gpus, s.nodes, s.power_limit_w, s.driver,
		s.engine_version, s.tool, s.tool_version, s.simulated FROM setup s JOIN config c ON c.id = s.config`); err != nil {
		return err
	}
	if r.workload, err = r.table("SELECT id, label AS workload, dataset, input_len, output_len, ignore_eos, turns FROM workload"); err != nil {
		return err
	}
	if r.point, err = r.table("SELECT id, load, concurrency, request_rate, burstiness, num_prompts FROM load_point"); err != nil {
		return err
	}
	if r.context, err = r.table("SELECT id, study, role, status, host FROM context"); err != nil {
		return err
	}
	launches, err := r.db.Query("SELECT id, compile_warm FROM launch")
	if err != nil {
		return err
	}
	defer launches.Close()
	var id int
	var warm any
	for launches.Next() {
		if err := launches.Scan(&id, &warm); err != nil {
			return err
		}
		for len(r.warm) <= id {
			r.warm = append(r.warm, nil)
		}
		switch warm {
		case int64(1):
			r.warm[id] = "warm"
		case int64(0):
			r.warm[id] = "cold"
		}
	}
	if err := launches.Err(); err != nil {
		return err
	}
	rows, err := r.db.Query("SELECT id, severities FROM verdict")
	if err != nil {
		return err
	}
	defer rows.Close()
	r.tainted, r.verdicts = map[int64]bool{}, map[int64]map[string]int{}
	var bad []string
	for rows.Next() {
		var id int64
		var text string
		if err := rows.Scan(&id, &text); err != nil {
			return err
		}
		var worst map[string]int
		if err := json.Unmarshal([]byte(text), &worst); err != nil {
			return err
		}
		r.verdicts[id] = worst
		of := max(worst["*"], worst["total_tps"])
		if r.name == "pareto" {
			of = max(of, worst["p99_ttft_ms"])
		}
		if of >= 3 {
			r.tainted[id] = true
			bad = append(bad, fmt.Sprint(id))
		}
	}
	r.sound = "(verdict IS NULL OR verdict NOT IN (" + strings.Join(bad, ", ") + "))"
	return rows.Err()
}

// spot is what a set of trials has in common.
type spot struct{ setup, workload, point, context, launch int }

// residueFields are those of the answer, each with where it lies.
var rivalResidue = []string{"model", "workload", "dataset", "input_len", "output_len", "ignore_eos", "turns", "load", "concurrency",
	"request_rate", "burstiness", "num_prompts", "gpu", "gpus", "nodes", "power_limit_w", "driver", "host", "compile_cache",
	"engine_version", "tool", "tool_version", "simulated"}

// rivalSeen is what was seen of the trials that took part in one group.
type rivalSeen struct {
	setup, workload, point, context, launch map[int]bool
}

func newSeen() *rivalSeen {
	return &rivalSeen{map[int]bool{}, map[int]bool{}, map[int]bool{}, map[int]bool{}, map[int]bool{}}
}

func (s *rivalSeen) add(at spot) {
	s.setup[at.setup], s.workload[at.workload], s.point[at.point], s.context[at.context], s.launch[at.launch] = true, true, true, true, true
}

// residue lists the fields in which trials of one group differ, of all groups.
func (r *rival) residue(groups []*rivalSeen, settled ...string) []map[string]any {
	out := []map[string]any{}
	for _, field := range rivalResidue {
		if slices.Contains(settled, field) {
			continue
		}
		owner := map[string]string{"engine_version": "engine", "tool_version": "tool"}[field]
		all := map[any]bool{}
		differs := false
		for _, g := range groups {
			own := map[any]map[any]bool{}
			take := func(v, of any) {
				if own[of] == nil {
					own[of] = map[any]bool{}
				}
				own[of][v] = true
			}
			for id := range g.setup {
				if v, ok := r.setup[id][field]; ok {
					take(v, r.setup[id][owner])
				}
			}
			for id := range g.workload {
				if v, ok := r.workload[id][field]; ok {
					take(v, nil)
				}
			}
			for id := range g.point {
				if v, ok := r.point[id][field]; ok {
					take(v, nil)
				}
			}
			for id := range g.context {
				if v, ok := r.context[id][field]; ok {
					take(v, nil)
				}
			}
			if field == "compile_cache" {
				for id := range g.launch {
					if id < len(r.warm) {
						take(r.warm[id], nil)
					}
				}
			}
			more := false
			for _, values := range own {
				more = more || len(values) > 1
			}
			if more {
				differs = true
				for _, values := range own {
					for v := range values {
						all[v] = true
					}
				}
			}
		}
		if !differs {
			continue
		}
		values := []any{}
		for v := range all {
			if n, ok := v.(int64); ok { // a truth value
				v = n != 0
			}
			values = append(values, v)
		}
		slices.SortFunc(values, func(a, b any) int {
			switch x := a.(type) {
			case nil:
				if b == nil {
					return 0
				}
				return 1
			case float64:
				if y, ok := b.(float64); ok {
					return cmp.Compare(x, y)
				}
			case string:
				if y, ok := b.(string); ok && strings.HasSuffix(field, "_version") {
					return compareDotted(x, y)
				} else if ok {
					return strings.Compare(x, y)
				}
			}
			return -1
		})
		for i, v := range values {
			if f, ok := v.(float64); ok && math.IsInf(f, 1) {
				values[i] = "inf"
			}
		}
		out = append(out, map[string]any{"field": field, "values": values})
	}
	return out
}

// compareDotted orders the versions of the made-up history.
func compareDotted(a, b string) int {
	number := func(s string) (out [4]float64) {
		s = strings.Replace(s, "rc", ".-1", 1)
		for i, part := range strings.SplitN(s, ".", 4) {
			fmt.Sscan(part, &out[i])
		}
		return out
	}
	x, y := number(a), number(b)
	return slices.Compare(x[:], y[:])
}

// columnsOf are the figures that a loop ranks.
func columnsOf(name string) []string {
	if name == "pareto" {
		return []string{"total_tps", "p99_ttft_ms"}
	}
	return []string{"total_tps"}
}

func listTrialNames(names []string) string {
	switch n := len(names); {
	case n == 1:
		return "trial " + names[0]
	case n <= 5:
		return "trials " + strings.Join(names, ", ")
	default:
		return fmt.Sprintf("trials %s and %d more", strings.Join(names[:5], ", "), n-5)
	}
}

// answer is what does not depend on the rows.
func (r *rival) answer(by []string) map[string]any {
	a := map[string]any{"query": r.query, "considered": r.considered, "sound_winner": nil,
		"excluded": map[string]any{"where": r.where, "undecided": r.undecided, "status": r.status, "simulated": r.simulated}}
	names := append(slices.Clone(by), "total_tps")
	switch r.name {
	case "vs":
		names = append(names, "base(total_tps)", "gain")
	case "pareto":
		names = append(names, "p99_ttft_ms")
	}
	for _, name := range []string{"number", "id", "study", "engine", "model", "workload", "config", "n", "failed_repeats", "findings"} {
		if !slices.Contains(names, name) && (name != "failed_repeats" || r.name == "repeats") {
			names = append(names, name)
		}
	}
	units := map[string]string{"total_tps": "tok/s", "base(total_tps)": "tok/s", "p99_ttft_ms": "ms"}
	var columns []any
	for _, name := range names {
		columns = append(columns, map[string]any{"name": name, "unit": units[name]})
	}
	a["columns"] = columns
	warnings := []any{}
	warn := func(n int, text string) {
		switch {
		case n == 1:
			warnings = append(warnings, map[string]any{"code": "undecided", "message": "1 trial left out: " + text})
		case n > 1:
			warnings = append(warnings, map[string]any{"code": "undecided", "message": fmt.Sprintf("%d trials left out: %s", n, text)})
		}
	}
	warn(r.unasked, "success_rate is unknown, because the number of requests asked is stated nowhere")
	warn(r.noRate-r.unasked, "success_rate is unknown")
	warn(r.noGoal, "total_tps is unknown")
	a["warnings"] = warnings
	return a
}

func (r *rival) print(a map[string]any) error {
	var id string
	if err := r.db.QueryRow("SELECT value FROM meta WHERE key = 'history_id'").Scan(&id); err != nil {
		return err
	}
	a["history"] = map[string]any{"id": id, "trials": r.trials}
	enc := json.NewEncoder(os.Stdout)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(a)
}

func uuidText(id []byte) string {
	h := fmt.Sprintf("%x", id)
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}
