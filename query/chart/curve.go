package chart

import (
	"fmt"
	"math"
	"slices"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/core/stats"
	"github.com/sweepbook/sweepbook/query"
)

// curve fills in the lines of a value over an ordered field.
func (d *reader) curve(f *Figure, value int) error {
	x, err := d.xColumn(d.opt.X, value)
	if err != nil {
		return err
	}
	if x < 0 {
		x = d.ascending(value)
	}
	if x < 0 {
		return d.lacks("a column of numbers to draw it over, such as concurrency, request_rate or args.max_num_seqs; name it with --x")
	}
	labels, err := d.labelColumns(d.opt.Label, value, x)
	if err != nil {
		return err
	}
	col := d.a.Columns[x]
	f.X, f.XUnit, f.XTime = col.Name, col.Unit, col.Type == core.TimeType
	f.Series = d.series(value, x, labels)
	d.noteMixed(f, "points", value, func(row []core.Value) string { return d.label(row, labels) + "\x00" + row[x].String() })
	if f.Limit = d.opt.Limit; f.Limit != nil && f.Limit.Column == f.Value {
		for i := range f.Series {
			f.Series[i].Holds, f.Series[i].Breaks = breakOf(f.Series[i].Points, f.Limit)
		}
	} else if f.Limit != nil {
		return fmt.Errorf("limit on %q: %w: this chart draws %s", f.Limit.Column, core.ErrInvalid, f.Value)
	}
	d.named(f, value, x, labels)
	return nil
}

// lacks is the error for an answer without a column that its kind of chart needs.
func (d *reader) lacks(what string) error {
	return fmt.Errorf("a chart of kind %s: %w: the answer has no %s", d.opt.Kind, core.ErrInvalid, what)
}

// ascending is the first column of chosen numbers that differ, such as a knob.
func (d *reader) ascending(value int) int {
	for i, c := range d.a.Columns {
		f, _ := core.LookupField(c.Name)
		if i != value && !f.Measured() && c.Better == 0 && !d.bookkeeping(c.Name) && d.numeric(i) && d.differs(i) {
			return i
		}
	}
	return -1
}

// breakOf finds where a curve breaks a limit, as "last … along" does: the last place
// up to which every point keeps it, and the place behind it. A place at which nothing
// was measured breaks it too: the trial failed.
func breakOf(points []Point, limit *Limit) (holds, breaks core.Value) {
	points = slices.DeleteFunc(slices.Clone(points), func(p Point) bool { return p.X.Kind != core.KindNumber })
	slices.SortStableFunc(points, func(a, b Point) int { return compareFloat(a.X.Num, b.X.Num) })
	for i := 0; i < len(points); {
		x, kept, lost := points[i].X, true, true
		for ; i < len(points) && points[i].X == x; i++ {
			if y := points[i].Y; drawable(y) {
				lost = false
				kept = kept && limit.Keeps(y.Num)
			}
		}
		if !kept || lost {
			return holds, x
		}
		holds = x
	}
	return holds, core.Missing()
}

// history fills in the lines of a value over versions or time, and marks the changes
// between neighbours that are no noise.
func (d *reader) history(f *Figure, value int) error {
	x := d.index(d.opt.X)
	if d.opt.X != "" && x < 0 {
		_, err := d.find(d.opt.X)
		return err
	}
	for i, c := range d.a.Columns {
		if x < 0 && i != value && c.Type == core.VersionType && d.differs(i) {
			x = i
		}
	}
	for i, c := range d.a.Columns {
		if x < 0 && i != value && (c.Type == core.TimeType || c.Type == core.VersionType) {
			x = i
		}
	}
	if x < 0 {
		return d.lacks("version or time, such as engine_version or started_at")
	}
	labels, err := d.labelColumns(d.opt.Label, value, x)
	if err != nil {
		return err
	}
	col := d.a.Columns[x]
	f.X, f.XUnit, f.XTime, f.Near = col.Name, col.Unit, col.Type == core.TimeType, true
	if f.XTime {
		f.Series = d.series(value, x, labels)
	} else {
		f.Places, f.Series = d.overNames(value, x, labels)
	}
	d.noteMixed(f, "points", value, func(row []core.Value) string { return d.label(row, labels) + "\x00" + row[x].String() })
	tier := d.markChanges(f)
	f.Notes = append([]string{tier}, f.Notes...)
	d.named(f, value, x, labels)
	return nil
}

// overNames places the points over names in the order of versions.
func (d *reader) overNames(value, x int, labels []int) ([]string, []Series) {
	var places []string
	cols := []int{x}
	if i := d.index("before(" + d.a.Columns[x].Name + ")"); i >= 0 {
		cols = append(cols, i)
	}
	for _, row := range d.a.Rows {
		for _, i := range cols {
			if v := row[i]; !v.IsMissing() && !slices.Contains(places, v.String()) {
				places = append(places, v.String())
			}
		}
	}
	slices.SortStableFunc(places, query.CompareVersions)
	all := d.series(value, x, labels)
	for i := range all {
		for j := range all[i].Points {
			p := &all[i].Points[j]
			if at := slices.Index(places, p.X.String()); !p.X.IsMissing() && at >= 0 {
				p.X = core.Number(float64(at))
			} else {
				p.X = core.Missing()
			}
		}
	}
	return places, all
}

// markChanges compares each place with the one before it and says what that rests on.
func (d *reader) markChanges(f *Figure) string {
	var sets [][]float64
	for _, s := range f.Series {
		for _, p := range placesOf(s.Points) {
			sets = append(sets, p.ys)
		}
	}
	noise, _ := stats.PooledNoise(sets)
	rules := stats.Rules{Noise: noise, Direction: direction(f.Better)}
	type step struct {
		series int
		at     float64
		c      stats.Comparison
	}
	var steps []step
	var ps []float64
	for i := range f.Series {
		places := placesOf(f.Series[i].Points)
		for k := 1; k < len(places); k++ {
			c := stats.Compare(places[k-1].ys, places[k].ys, rules)
			steps, ps = append(steps, step{i, places[k].x, c}), append(ps, c.P)
		}
	}
	// Of many neighbours some differ by chance, so that all comparisons count together.
	adjusted := stats.Holm(ps)
	for i, s := range steps {
		differs := s.c.Verdict == stats.Better || s.c.Verdict == stats.Worse || s.c.Verdict == stats.Differs
		if s.c.Ratio > 0 && differs && (s.c.Tier == stats.TierAssumed || adjusted[i] <= significance) {
			f.Series[s.series].Changes = append(f.Series[s.series].Changes, Change{At: s.at, Share: s.c.Ratio - 1, Better: s.c.Verdict == stats.Better})
		}
	}
	return "changes are marked where " + noiseText(noise)
}

// significance is the level of a change, all comparisons of a picture together.
const significance = 0.05

// noiseText says which noise decided.
func noiseText(n stats.Noise) string {
	if n.Freedom >= stats.MinFreedom {
		return fmt.Sprintf("they are more than the noise of repeats: one measurement varies by %s (%d degrees of freedom; level 5 %%, all comparisons together)", percentText(n.Std), n.Freedom)
	}
	return "they are more than 3 %: assumed noise, since too few trials were repeated"
}

func direction(b core.Better) stats.Direction {
	switch b {
	case core.HigherBetter:
		return stats.HigherIsBetter
	case core.LowerBetter:
		return stats.LowerIsBetter
	}
	return 0
}

// placesOf gathers points by their place, in order; those without a value are passed
// over.
func placesOf(points []Point) []stop {
	points = slices.Clone(points)
	slices.SortStableFunc(points, func(a, b Point) int { return compareFloat(a.X.Num, b.X.Num) })
	var out []stop
	for _, p := range points {
		if p.X.Kind != core.KindNumber || math.IsInf(p.X.Num, 0) || !drawable(p.Y) {
			continue
		}
		if n := len(out); n == 0 || out[n-1].x != p.X.Num {
			out = append(out, stop{x: p.X.Num})
		}
		out[len(out)-1].ys = append(out[len(out)-1].ys, p.Y.Num)
	}
	return out
}
