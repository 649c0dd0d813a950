package report

import (
	"fmt"
	"strings"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/query/chart"
)

// curves draws the objective over the load for every workload that baseline or
// winner were measured on at several loads.
func (b *builder) curves() error {
	var configs []string
	for _, s := range []*setup{b.baseline, b.winner} {
		if s != nil {
			configs = append(configs, fmt.Sprintf("%q", s.config))
		}
	}
	if len(configs) == 0 {
		return nil
	}
	a, err := b.ask("show workload, concurrency, request_rate, config, findings, " + b.obj.value + " as objective" +
		where(b.scope, "config in ["+strings.Join(configs, ", ")+"]", `status in ["ok", "failed"]`) + " order by number")
	if err != nil {
		return err
	}
	titled := false
	for n, w := range a.distinct("workload") {
		x := b.curveField(a, w)
		if x == "" {
			continue
		}
		if !titled {
			b.heading(2, "Over the load")
			titled = true
		}
		f := chart.Figure{Title: b.obj.name + " on " + w, Value: b.obj.name, Unit: b.unit(), Better: b.better(), X: x,
			XUnit: a.column(x).Unit, Query: a.Query, From: b.history, Notes: chart.Accounting(a.Answer)}
		for _, side := range []struct {
			name string
			s    *setup
		}{{"baseline", b.baseline}, {"recommended", b.winner}} {
			if side.s == nil || side.name == "recommended" && b.baseline != nil && b.baseline.config == side.s.config {
				continue
			}
			line := chart.Series{Name: side.name}
			for i := range a.Rows {
				if a.text(i, "workload") == w && a.text(i, "config") == side.s.config {
					line.Points = append(line.Points, chart.Point{X: a.get(i, x), Y: a.get(i, "objective"), Findings: a.count(i, "findings")})
				}
			}
			f.Series = append(f.Series, line)
		}
		if err := b.picture(fmt.Sprintf("curve-%d.png", n+1), f, chart.Lines); err != nil {
			return err
		}
	}
	return nil
}

// curveField is the load's field that takes two values or more on a workload.
func (b *builder) curveField(a *rows, workload string) string {
	for _, field := range []string{"concurrency", "request_rate"} {
		seen := map[float64]bool{}
		for i := range a.Rows {
			if v := a.get(i, field); a.text(i, "workload") == workload && v.Kind == core.KindNumber {
				seen[v.Num] = true
			}
		}
		if len(seen) > 1 {
			return field
		}
	}
	return ""
}
