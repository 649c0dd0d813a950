package chart

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/core/stats"
	"github.com/sweepbook/sweepbook/query"
)

// Cloud is the points of one setup in two values, in the order of their load.
type Cloud struct {
	Name      string
	Dots      []Dot
	Dominated bool // another setup beats each of its points in both values
}

// Dot is one trial, or the medians of repeats.
type Dot struct {
	X, Y     core.Value
	Label    string // its load, say
	Front    bool   // no other point is better in one value and not worse in the other
	Best     bool   // of those that keep the limit, the best in the other value
	N        int
	Findings int
	Void     bool
}

// CloudAxes describe the two values.
type CloudAxes struct {
	X, XUnit string
	XBetter  core.Better
	Joined   bool // the dots of a cloud are joined in order
}

// cloud fills in two values against each other: of a frontier, one line a setup over its
// loads; of a scatter, single points.
func (d *reader) cloud(f *Figure) error {
	x, y, err := d.twoValues()
	if err != nil {
		return err
	}
	if f.Limit = d.opt.Limit; f.Limit != nil && f.Limit.Column != d.a.Columns[x].Name && f.Limit.Column != d.a.Columns[y].Name {
		return fmt.Errorf("limit on %q: %w: this chart draws %s and %s", f.Limit.Column, core.ErrInvalid, d.a.Columns[x].Name, d.a.Columns[y].Name)
	}
	f.Value, f.Unit, f.Better = d.a.Columns[y].Name, d.a.Columns[y].Unit, d.better(y)
	f.Cloud = CloudAxes{X: d.a.Columns[x].Name, XUnit: d.a.Columns[x].Unit, XBetter: d.better(x), Joined: d.opt.Kind == FrontierKind}
	point := -1
	if d.opt.Point != "" {
		if point, err = d.find(d.opt.Point); err != nil {
			return err
		}
	}
	if point < 0 && f.Cloud.Joined {
		point = slices.IndexFunc(d.a.Columns, func(c query.Column) bool { return c.Name == "concurrency" || c.Name == "request_rate" })
		if point < 0 {
			return d.lacks("load to write at the points, such as concurrency; show it, or name a column with --point")
		}
	}
	labels, err := d.cloudLabels(x, y, point)
	if err != nil {
		return err
	}
	if point < 0 && !f.Cloud.Joined {
		// Each point of a scatter says itself what it is.
		f.Clouds = byName(d.scattered(x, y, labels))
	} else {
		f.Clouds = d.clouds(x, y, point, labels)
		d.noteMixed(f, "points", y, func(row []core.Value) string { return d.label(row, labels) + "\x00" + row[point].String() })
	}
	front(f)
	bestWithin(f)
	var lost []string
	for i, row := range d.a.Rows {
		if !drawable(row[x]) || !drawable(row[y]) {
			name := d.label(row, labels)
			if point >= 0 {
				name = strings.TrimSpace(name + " at " + d.pointName(row, point))
			}
			why := d.failure(i)
			if why != "no value" {
				name += " (" + why + ")"
			}
			if name = orName(name, "a trial"); !slices.Contains(lost, name) {
				lost = append(lost, name)
			}
		}
	}
	if len(lost) > 0 {
		f.Notes = append([]string{"not drawn, one of both values is missing: " + listed(lost, 6)}, f.Notes...)
	}
	if f.Title == "" {
		f.Title = d.title(f.Value+" against "+f.Cloud.X, "", labels)
	}
	return nil
}

// twoValues are the columns of y and x: those asked for, else the first two measured
// ones in this order, else the first two with numbers.
func (d *reader) twoValues() (x, y int, err error) {
	x, y = -1, -1
	if d.opt.Value != "" {
		if y, err = d.find(d.opt.Value); err != nil {
			return x, y, err
		}
	}
	if d.opt.X != "" && d.opt.X != "-" {
		if x, err = d.find(d.opt.X); err != nil {
			return x, y, err
		}
	}
	for i, c := range d.a.Columns {
		f, known := core.LookupField(c.Name)
		number := c.Type == core.NumberType || c.Type == core.AnyType && d.numeric(i)
		if i == x || i == y || !number || d.bookkeeping(c.Name) || known && !f.Measured() || c.Name == "failed_repeats" || strings.HasPrefix(c.Name, "args.") {
			continue
		}
		switch {
		case y < 0:
			y = i
		case x < 0:
			x = i
		}
	}
	if x < 0 || y < 0 {
		return x, y, d.lacks("two measured values to draw against each other, such as output_tps_per_gpu and 1000 / median_tpot_ms as tps_per_user")
	}
	return x, y, nil
}

// better is which direction of a column is an improvement. A rate of one's own making,
// such as 1000 / median_tpot_ms as tps_per_user, says it by its name.
func (d *reader) better(col int) core.Better {
	c := d.a.Columns[col]
	if c.Better != 0 {
		return c.Better
	}
	name := strings.ToLower(c.Name)
	for _, end := range []string{"_ms", "_s", "_j", "_w", "usd"} {
		if strings.Contains(name, "usd") || strings.HasSuffix(name, end) {
			return core.LowerBetter
		}
	}
	return core.HigherBetter
}

func (d *reader) cloudLabels(x, y, point int) ([]int, error) {
	labels, err := d.labelColumns(d.opt.Label, y, x)
	if err != nil || len(d.opt.Label) > 0 {
		return labels, err
	}
	return slices.DeleteFunc(labels, func(i int) bool {
		c := d.a.Columns[i]
		f, known := core.LookupField(c.Name)
		return i == point || f.Measured() ||
			!known && c.Type == core.NumberType && !strings.HasPrefix(c.Name, "args.")
	}), nil
}

func (d *reader) pointName(row []core.Value, point int) string {
	v := row[point]
	switch {
	case v.IsMissing():
		return "no " + d.a.Columns[point].Name
	case v.Kind == core.KindNumber && !v.IsUnlimited():
		return Number(v.Num)
	}
	return v.String()
}

// clouds gathers the rows of one label, and of each the repeats at one load as their
// medians.
func (d *reader) clouds(x, y, point int, labels []int) []Cloud {
	type spot struct {
		at       core.Value
		xs, ys   []float64
		label    string
		findings int
		void     bool
	}
	var names []string
	spots := map[string][]*spot{}
	for i, row := range d.a.Rows {
		if !drawable(row[x]) || !drawable(row[y]) {
			continue
		}
		name := d.label(row, labels)
		if spots[name] == nil {
			names = append(names, name)
		}
		k := slices.IndexFunc(spots[name], func(s *spot) bool { return s.at == row[point] })
		if k < 0 {
			k = len(spots[name])
			spots[name] = append(spots[name], &spot{at: row[point], label: d.pointName(row, point)})
		}
		s := spots[name][k]
		s.xs, s.ys = append(s.xs, row[x].Num), append(s.ys, row[y].Num)
		s.findings, s.void = max(s.findings, d.findings(i)), s.void || d.severity(i) == core.SeverityVoid
	}
	var out []Cloud
	for _, name := range names {
		c := Cloud{Name: name}
		slices.SortStableFunc(spots[name], func(a, b *spot) int { return compareFloat(a.at.Num, b.at.Num) })
		for _, s := range spots[name] {
			mx, _ := stats.Median(s.xs)
			my, _ := stats.Median(s.ys)
			c.Dots = append(c.Dots, Dot{X: core.Number(mx), Y: core.Number(my), Label: s.label, N: len(s.xs), Findings: s.findings, Void: s.void})
		}
		out = append(out, c)
	}
	return out
}

// scattered makes one cloud of all rows; each dot has the label of its row.
func (d *reader) scattered(x, y int, labels []int) []Cloud {
	var c Cloud
	for i, row := range d.a.Rows {
		if drawable(row[x]) && drawable(row[y]) {
			label := d.label(row, labels)
			if n := d.count(row, "number"); label == "" && n > 0 {
				label = fmt.Sprintf("#%d", n)
			}
			c.Dots = append(c.Dots, Dot{X: row[x], Y: row[y], Label: label, N: 1, Findings: d.findings(i), Void: d.severity(i) == core.SeverityVoid})
		}
	}
	return []Cloud{c}
}
