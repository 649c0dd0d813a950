//go:build unix

package main

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"regexp"
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
		won, err := r.rowsAt(g, by)
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
	a["residue"] = r.residue(seen, append([]string{"simulated"}, by...)...)
	return r.print(a)
}

// rowsAt reads the winners of a group.
func (r *rival) rowsAt(g *rivalGroup, by []string) ([]map[string]any, error) {
	var out []map[string]any
	for _, from := range g.from {
		if from.best != g.best {
			continue
		}
		rows, err := r.db.Query(`SELECT number, id, started_at, findings, verdict FROM trial
			WHERE setup = ? AND workload = ? AND load_point = ? AND context = ? AND launch IS nullif(?, 0) AND success_rate = 1 AND total_tps = ?`,
			from.setup, from.workload, from.point, from.context, from.launch, g.best)
		if err != nil {
			return nil, err
		}
		for rows.Next() {
			var number, findings int
			var id []byte
			var started, verdict sql.NullInt64
			if err := rows.Scan(&number, &id, &started, &findings, &verdict); err != nil {
				return nil, err
			}
			out = append(out, map[string]any{"total_tps": g.best, "number": number, "id": uuidText(id), "study": r.context[from.context]["study"],
				"engine": r.setup[from.setup]["engine"], "model": r.setup[from.setup]["model"], "workload": r.workload[from.workload]["workload"],
				"config": r.setup[from.setup]["config"], "n": 1, "findings": findings, "started": started.Int64,
				"load": r.point[from.point]["load"], "tainted": r.tainted[verdict.Int64]})
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil {
			return nil, err
		}
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
	rows, err := r.db.Query("SELECT setup, workload, load_point, context, ifnull(launch, 0), total_tps FROM trial WHERE setup IN " +
		list(r.setup, func(m map[string]any) bool { return m["model"] == row["model"] && m["simulated"] == int64(0) }) +
		" AND workload IN " + list(r.workload, func(m map[string]any) bool { return m["workload"] == row["workload"] }) +
		" AND load_point IN " + list(r.point, func(m map[string]any) bool { return m["load"] == row["load"] }))
	if err != nil {
		return err
	}
	defer rows.Close()
	var xs []float64
	for rows.Next() {
		var at spot
		var x sql.NullFloat64
		if err := rows.Scan(&at.setup, &at.workload, &at.point, &at.context, &at.launch, &x); err != nil {
			return err
		}
		// The contexts are too many to be looked up in the index one by one.
		if of := r.context[at.context]; of["role"] != "baseline" || of["status"] != "ok" {
			continue
		}
		seen.add(at)
		if x.Valid {
			xs = append(xs, x.Float64)
		}
	}
	slices.Sort(xs)
	base := medianOfSorted(xs)
	row["base(total_tps)"] = base
	row["gain"] = (row["total_tps"].(float64) - base) / math.Abs(base)
	delete(row, "load")
	return rows.Err()
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

// repeats ranks the median of each set of repeats. SQLite has no median: this reads the
// rows in the order of the index, so that each set comes in one piece. (Window functions
// that number the rows of each set take three times as long.)
func (r *rival) repeats() error {
	rows, err := r.db.Query(`SELECT setup, workload, load_point, context, ifnull(launch, 0), verdict, requested, completed, incomplete, success_rate, total_tps
		FROM trial ORDER BY setup, workload, load_point`)
	if err != nil {
		return err
	}
	defer rows.Close()
	type combined struct {
		spot
		n       int
		tainted bool
	}
	best := math.Inf(-1)
	var won []combined
	seen := newSeen()
	type repeated struct {
		spots                               []spot
		values                              []float64
		requested, completed, incomplete    float64
		requests, completes, rated, unasked int
		low, high                           float64
		tainted                             bool
	}
	var set repeated
	end := func() {
		n := len(set.spots)
		if n == 0 {
			return
		}
		rate := math.NaN()
		switch {
		case set.requests == n && set.completes == n:
			rate = set.completed / (set.requested - set.incomplete)
		case set.rated == n && set.low == set.high:
			rate = set.low
		}
		switch {
		case math.IsNaN(rate):
			r.undecided += n
			r.noRate += n
			if set.unasked > 0 {
				r.unasked += n
			}
		case rate != 1:
			r.where += n
		case len(set.values) == 0:
			r.undecided += n
			r.noGoal += n
		default:
			r.considered += n
			for _, at := range set.spots {
				seen.add(at)
			}
			slices.Sort(set.values)
			switch value := medianOfSorted(set.values); {
			case value > best:
				best, won = value, []combined{{set.spots[0], n, set.tainted}}
			case value == best:
				won = append(won, combined{set.spots[0], n, set.tainted})
			}
		}
	}
	for last := (spot{}); rows.Next(); {
		var at spot
		var verdict sql.NullInt64
		var requested, completed, incomplete, rate, tps sql.NullFloat64
		if err := rows.Scan(&at.setup, &at.workload, &at.point, &at.context, &at.launch, &verdict, &requested, &completed, &incomplete, &rate, &tps); err != nil {
			return err
		}
		r.trials++
		if at.setup != last.setup || at.workload != last.workload || at.point != last.point {
			end()
			last = at
			set = repeated{spots: set.spots[:0], values: set.values[:0], low: math.Inf(1), high: math.Inf(-1)}
		}
		if r.context[at.context]["status"] != "ok" {
			r.status++
			continue
		}
		if r.setup[at.setup]["simulated"] == int64(1) {
			r.simulated++
			continue
		}
		set.spots = append(set.spots, at)
		set.tainted = set.tainted || r.tainted[verdict.Int64]
		set.incomplete += incomplete.Float64
		if requested.Valid {
			set.requests++
			set.requested += requested.Float64
		}
		if completed.Valid {
			set.completes++
			set.completed += completed.Float64
		}
		if rate.Valid {
			set.rated++
			set.low, set.high = min(set.low, rate.Float64), max(set.high, rate.Float64)
		} else if !requested.Valid {
			set.unasked++
		}
		if tps.Valid {
			set.values = append(set.values, tps.Float64)
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	end()
	a := r.answer(nil)
	list2 := []map[string]any{}
	for _, c := range won {
		if c.tainted {
			return fmt.Errorf("the winner is not sound, which this rival does not print")
		}
		members, err := r.table(fmt.Sprintf("SELECT number, hex(id) AS id, started_at, findings, context, total_tps FROM trial WHERE setup = %d AND workload = %d AND load_point = %d",
			c.setup, c.workload, c.point))
		if err != nil {
			return err
		}
		failed, findings := 0, int64(0)
		var first map[string]any
		distance := math.Inf(1)
		for _, m := range members {
			if m == nil {
				continue
			}
			context := r.context[m["context"].(int64)]
			if context["status"] == "failed" {
				failed++
			}
			if context["status"] != "ok" {
				continue
			}
			findings += m["findings"].(int64)
			d := math.Abs(m["total_tps"].(float64) - best)
			if first == nil || d < distance || (d == distance && m["started_at"].(int64) < first["started_at"].(int64)) {
				first, distance = m, d
			}
		}
		id := strings.ToLower(first["id"].(string))
		list2 = append(list2, map[string]any{"total_tps": best, "number": first["number"], "id": id[:8] + "-" + id[8:12] + "-" + id[12:16] + "-" + id[16:20] + "-" + id[20:],
			"study": r.context[first["context"].(int64)]["study"], "engine": r.setup[c.setup]["engine"], "model": r.setup[c.setup]["model"],
			"workload": r.workload[c.workload]["workload"], "config": r.setup[c.setup]["config"], "n": c.n, "failed_repeats": failed, "findings": findings})
	}
	a["rows"], a["ties"], a["empty_groups"] = list2, len(won)-1, 0
	a["residue"] = r.residue([]*rivalSeen{seen}, "simulated")
	return r.print(a)
}

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
