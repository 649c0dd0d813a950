//go:build unix

package main

import (
	"database/sql"
	"fmt"
	"math"
	"slices"
	"strings"
)

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
