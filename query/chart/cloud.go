package chart

import (
	"cmp"
	"fmt"
	"math"
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

// byName makes a cloud of each label where few labels name many dots, so that the
// legend says it once.
func byName(all []Cloud) []Cloud {
	var out []Cloud
	at := map[string]int{}
	for _, dot := range all[0].Dots {
		k, seen := at[dot.Label]
		if !seen {
			k = len(out)
			at[dot.Label] = k
			out = append(out, Cloud{Name: dot.Label})
		}
		dot.Label = ""
		out[k].Dots = append(out[k].Dots, dot)
	}
	if n := len(out); n < 2 || n > mostSeries || 2*len(all[0].Dots) < 3*n {
		return all
	}
	return out
}

// front marks the dots that no other beats, and the clouds that have none. Equal dots
// are all on the front. A void figure decides nothing: it neither is on the front nor
// beats anything.
func front(f *Figure) {
	var dots []*Dot
	for i := range f.Clouds {
		for j := range f.Clouds[i].Dots {
			if dot := &f.Clouds[i].Dots[j]; !dot.Void {
				dots = append(dots, dot)
			}
		}
	}
	x := func(d *Dot) float64 { return d.X.Num * float64(f.Cloud.XBetter) }
	y := func(d *Dot) float64 { return d.Y.Num * float64(f.Better) }
	slices.SortStableFunc(dots, func(a, b *Dot) int { return cmp.Or(compareFloat(x(b), x(a)), compareFloat(y(b), y(a))) })
	best := math.Inf(-1) // y of the dots that are better in x
	for i := 0; i < len(dots); {
		first := i
		for ; i < len(dots) && x(dots[i]) == x(dots[first]); i++ {
			dots[i].Front = y(dots[i]) == y(dots[first]) && y(dots[i]) > best
		}
		best = math.Max(best, y(dots[first]))
	}
	for i, c := range f.Clouds {
		f.Clouds[i].Dominated = slices.ContainsFunc(c.Dots, func(d Dot) bool { return !d.Void }) && !slices.ContainsFunc(c.Dots, func(d Dot) bool { return d.Front })
	}
}

// bestWithin marks the dots that keep the limit and are the best of these in the value
// that it does not limit.
func bestWithin(f *Figure) {
	if f.Limit == nil {
		return
	}
	value, direction := func(d *Dot) (limited, other float64) { return d.X.Num, d.Y.Num }, float64(f.Better)
	if f.Limit.Column != f.Cloud.X {
		value, direction = func(d *Dot) (limited, other float64) { return d.Y.Num, d.X.Num }, float64(f.Cloud.XBetter)
	}
	best := math.Inf(-1)
	for _, mark := range []bool{false, true} {
		for i := range f.Clouds {
			for j := range f.Clouds[i].Dots {
				d := &f.Clouds[i].Dots[j]
				limited, other := value(d)
				switch {
				case d.Void || !f.Limit.Keeps(limited):
				case mark:
					d.Best = other*direction == best
				default:
					best = math.Max(best, other*direction)
				}
			}
		}
	}
}

// Scatter draws two values against each other. The error is ErrNothing without a point.
func Scatter(f Figure) ([]byte, error) {
	if err := f.size(); err != nil {
		return nil, err
	}
	if f.Height == 0 {
		f.Height = DefaultHeight
	}
	s, err := newSheet(&f)
	if err != nil {
		return nil, err
	}
	p := &scatter{sheet: s}
	notes := append(p.read(), f.Notes...)
	if p.everyDoubt() {
		p.quiet = true
		notes = append([]string{allDoubted}, notes...)
	}
	if p.dots == 0 {
		return nil, fmt.Errorf("%w: no trial has both %s and %s", ErrNothing, orName(f.Cloud.X, "an x"), orName(f.Value, "a value"))
	}
	s.fill(p.legend(), notes)
	// How many labels find room is known only when they are placed.
	if n := p.layout().left; n > 0 {
		s.fill(p.legend(), append([]string{fmt.Sprintf("labels left out for want of room: %d", n)}, notes...))
	}
	c, err := newCanvas(&f, s.face)
	if err != nil {
		return nil, err
	}
	p.draw(c)
	s.draw(c)
	return c.save(&f)
}

type scatter struct {
	*sheet
	clouds []Cloud
	looks  []int // of each cloud: its place in the palette, -1 is grey
	dots   int
	quiet  bool // every point has findings: said once
}

// allDoubted stands in the footer in place of a sign at each point.
const allDoubted = "the audit has findings on every trial drawn"

// mostLabelled is of how many dots each may have a label; of more, those of the front.
const mostLabelled = 300

// mostDots is how many dots a plot of this size can show.
const mostDots = 20000

// everyDoubt reports whether signs of findings would tell nothing apart.
func (p *scatter) everyDoubt() bool {
	for _, c := range p.clouds {
		if slices.ContainsFunc(c.Dots, func(d Dot) bool { return d.Findings == 0 }) {
			return false
		}
	}
	return p.dots > 3
}

func (p *scatter) read() (notes []string) {
	most, repeats, shown, left := 0, false, 0, 0
	for _, c := range p.fig.Clouds {
		c.Name = p.line(c.Name)
		c.Dots = slices.DeleteFunc(slices.Clone(c.Dots), func(d Dot) bool { return !drawable(d.X) || !drawable(d.Y) })
		if len(c.Dots) == 0 {
			continue
		}
		if room := max(mostDots-p.dots, 0); len(c.Dots) > room {
			kept := 0
			c.Dots = slices.DeleteFunc(c.Dots, func(d Dot) bool {
				if kept++; d.Front || kept <= room {
					return false
				}
				left++
				return true
			})
		}
		for i := range c.Dots {
			c.Dots[i].Label = p.line(c.Dots[i].Label)
			repeats = repeats || c.Dots[i].N > 1
			most = max(most, c.Dots[i].N)
		}
		look := -1
		if (!c.Dominated || !p.fig.Cloud.Joined) && shown < mostSeries {
			look = shown
			shown++
		}
		p.clouds, p.looks = append(p.clouds, c), append(p.looks, look)
		p.dots += len(c.Dots)
	}
	if left > 0 {
		notes = append(notes, fmt.Sprintf("not drawn: %d points beyond the first %d that are on no front", left, mostDots))
	}
	if repeats {
		notes = append(notes, fmt.Sprintf("points are medians of up to %d trials", most))
	}
	return notes
}

func (p *scatter) frontSize() (n int) {
	for _, c := range p.clouds {
		for _, d := range c.Dots {
			if d.Front {
				n++
			}
		}
	}
	return n
}

func (p *scatter) color(i int) color {
	if p.looks[i] < 0 {
		return faint
	}
	return palette[p.looks[i]]
}

func (p *scatter) shapeOf(i int) int {
	if p.looks[i] < 0 {
		return i
	}
	return p.looks[i]
}

func (p *scatter) legend() []key {
	var keys []key
	if len(p.clouds) > 1 || p.clouds[0].Name != "" {
		for i, c := range p.clouds {
			text := orName(c.Name, "(no name)")
			if p.looks[i] < 0 {
				text += " (dominated)"
			}
			keys = append(keys, key{text, func(c *canvas, x, y float64) {
				if p.fig.Cloud.Joined {
					c.polyline(p.color(i), nil, []float64{x, y, x + keyWidth, y})
				}
				c.marker(p.shapeOf(i), x+keyWidth/2, y, 4, p.color(i))
			}})
		}
	} else {
		if slices.ContainsFunc(p.clouds[0].Dots, func(d Dot) bool { return d.Front }) {
			keys = append(keys, key{"on the front: none is better in both", func(c *canvas, x, y float64) { c.marker(0, x+keyWidth/2, y, 5, bluish) }})
		}
		if slices.ContainsFunc(p.clouds[0].Dots, func(d Dot) bool { return !d.Front }) {
			keys = append(keys, key{"beaten in both", func(c *canvas, x, y float64) { c.marker(0, x+keyWidth/2, y, 4, faint) }})
		}
	}
	if !p.fig.Cloud.Joined && len(p.clouds) > 1 && p.frontSize() > 1 {
		keys = append(keys, key{"the front: none is better in both", func(c *canvas, x, y float64) {
			c.polyline(bluish, []float64{6, 4}, []float64{x, y, x + keyWidth, y})
		}})
	}
	if p.fig.Limit != nil {
		keys = append(keys, key{"limit: " + p.fig.Limit.String(), func(c *canvas, x, y float64) { c.dashedH(x, x+keyWidth, y, failRed) }})
		if slices.ContainsFunc(p.clouds, func(c Cloud) bool { return slices.ContainsFunc(c.Dots, func(d Dot) bool { return d.Best }) }) {
			keys = append(keys, key{"best that keeps it", func(c *canvas, x, y float64) { c.ring(x+keyWidth/2, y, 6, ink) }})
		}
	}
	void, doubt := false, false
	for _, c := range p.clouds {
		for _, d := range c.Dots {
			void, doubt = void || d.Void, doubt || d.Findings > 0
		}
	}
	if void {
		keys = append(keys, key{"void: must not decide", func(c *canvas, x, y float64) { c.hollow(0, x+keyWidth/2, y, 4, ink) }})
	}
	if doubt && !p.quiet {
		sign, _ := p.face.readable(dagger)
		keys = append(keys, key{"audit findings on the trial", func(c *canvas, x, y float64) { c.text(sign, x+keyWidth, y, p.label, right, ink) }})
	}
	return keys
}

// plane is the plot of a scatter: its axes, places and labels.
type plane struct {
	*placer
	xa, ya              axis
	x0, x1, top, bottom float64
	labels              []placed
}

type placed struct {
	box
	col    color
	fromX  float64
	fromY  float64
	thread bool // far from its point: joined to it
}

func (q *plane) x(v float64) float64 { return math.Round(q.x0 + q.xa.at(v)*(q.x1-q.x0)) }
func (q *plane) y(v float64) float64 { return math.Round(q.bottom - q.ya.at(v)*(q.bottom-q.top)) }

// span covers values: from zero, unless they all lie far from it.
func span(vs []float64, want int) axis {
	lo, hi := slices.Min(vs), slices.Max(vs)
	pad := (hi - lo) * 0.12
	if lo > 0 && lo > hi*0.5 && hi > lo {
		return newNearAxis(lo-pad, hi+pad, want)
	}
	return newAxis(lo, hi+(hi-math.Max(lo, 0))*0.06, want)
}

func (p *scatter) layout() *plane {
	var xs, ys []float64
	for _, c := range p.clouds {
		for _, d := range c.Dots {
			xs, ys = append(xs, d.X.Num), append(ys, d.Y.Num)
		}
	}
	if l := p.fig.Limit; l != nil && l.Column == p.fig.Cloud.X {
		xs = append(xs, l.Value)
	} else if l != nil {
		ys = append(ys, l.Value)
	}
	q := &plane{top: p.above() + p.label*0.6, bottom: float64(p.fig.Height) - p.below() - p.small*3.6}
	q.ya = span(ys, min(max(int((q.bottom-q.top)/(p.label*3)), 2), 8))
	q.x0 = p.pad + p.label*1.8 + p.tickRoom(q.ya)
	q.x1 = float64(p.fig.Width) - p.pad - p.label
	q.xa = span(xs, min(max(int((q.x1-q.x0)/(p.small*8)), 2), 10))
	q.placer = newPlacer(p.face, box{x0: q.x0 + 2, y0: q.top - p.label*0.5, x1: float64(p.fig.Width) - 2, y1: q.bottom - 2})
	size := p.label * 0.5
	for _, c := range p.clouds {
		for i, d := range c.Dots {
			half := size
			if d.Best {
				half += p.label * 0.35
			}
			q.take(q.x(d.X.Num), q.y(d.Y.Num), half)
			if p.fig.Cloud.Joined && i > 0 {
				e := c.Dots[i-1]
				q.takeLine(q.x(e.X.Num), q.y(e.Y.Num), q.x(d.X.Num), q.y(d.Y.Num))
			}
		}
	}
	if l := p.fig.Limit; l != nil {
		if l.Column == p.fig.Cloud.X {
			q.takeLine(q.x(l.Value), q.top, q.x(l.Value), q.bottom)
		} else {
			q.takeLine(q.x0, q.y(l.Value), q.x1, q.y(l.Value))
		}
	}
	// What decides gets its label first.
	sign, _ := p.face.readable(dagger)
	if !p.fig.Cloud.Joined {
		xy := p.frontLine(q)
		for i := 2; i+1 < len(xy); i += 2 {
			q.takeLine(xy[i-2], xy[i-1], xy[i], xy[i+1])
		}
	}
	few := p.dots <= mostLabelled
	short := map[string]string{}
	if !p.fig.Cloud.Joined && (few || p.frontSize() <= mostLabelled) {
		short = p.shortLabels((q.x1-q.x0)*0.26, few)
	}
	for _, decides := range []bool{true, false} {
		for i, c := range p.clouds {
			for _, d := range c.Dots {
				if d.Front != decides || !decides && !few {
					continue
				}
				if d.Label == "" && (d.Findings == 0 || p.quiet) {
					continue
				}
				text := d.Label
				if !p.fig.Cloud.Joined {
					if text = short[text]; text == "" && d.Label != "" {
						q.left++
						continue
					}
				}
				if d.Findings > 0 && !p.quiet {
					text = strings.TrimSpace(text + " " + sign)
				}
				x, y := q.x(d.X.Num), q.y(d.Y.Num)
				b, ok := q.put(text, x, y, p.label*0.6, p.small)
				if !ok {
					continue
				}
				col := ink
				if p.looks[i] < 0 || !decides && !p.fig.Cloud.Joined {
					col = soft
				}
				far := math.Max(math.Max(b.x0-x, x-b.x1), math.Max(b.y0-y, y-b.y1)) > p.label*1.6
				q.labels = append(q.labels, placed{b, col, x, y, far})
			}
		}
	}
	return q
}

// shortLabels fits the labels into a width. Of those that become equal to another's none
// is left: they would name two things alike.
func (p *scatter) shortLabels(width float64, all bool) map[string]string {
	short, owner := map[string]string{}, map[string]string{}
	for _, c := range p.clouds {
		for _, d := range c.Dots {
			if !all && !d.Front {
				continue
			}
			s := p.face.shorten(d.Label, p.small, width)
			if first, taken := owner[s]; taken && first != d.Label {
				short[first], short[d.Label] = "", ""
				continue
			}
			owner[s] = d.Label
			if _, seen := short[d.Label]; !seen {
				short[d.Label] = s
			}
		}
	}
	return short
}

func (p *scatter) draw(c *canvas) {
	q := p.layout()
	p.drawScale(c, q.ya, q.x0, q.x1, q.y)
	for _, t := range q.xa.ticks {
		c.vline(q.x(t), q.top, q.bottom, rule)
		c.text(q.xa.label(t), q.x(t), q.bottom+p.small*1.1, p.small, center, soft)
	}
	p.drawLimit(c, q)
	c.hline(q.x0, q.x1, q.bottom, soft)
	x := Figure{Value: p.fig.Cloud.X, Unit: p.fig.Cloud.XUnit, Better: p.fig.Cloud.XBetter}
	c.text(p.axisTitle(&x, false, q.x1-q.x0), (q.x0+q.x1)/2, q.bottom+p.small*2.6, p.small, center, soft)
	c.upright(p.axisTitle(p.fig, false, q.bottom-q.top), p.pad+p.small*0.5, (q.top+q.bottom)/2, p.small, soft)
	if !p.fig.Cloud.Joined {
		c.polyline(bluish, []float64{6, 4}, p.frontLine(q))
	}
	size := math.Max(3, math.Round(p.label*0.34))
	order := []bool{false, true} // the grey ones below
	for _, bright := range order {
		for i, cl := range p.clouds {
			if (p.looks[i] >= 0) != bright {
				continue
			}
			if p.fig.Cloud.Joined {
				var xy []float64
				for _, d := range cl.Dots {
					xy = append(xy, q.x(d.X.Num), q.y(d.Y.Num))
				}
				c.polyline(p.color(i), nil, xy)
			}
			for _, d := range cl.Dots {
				col := p.color(i)
				if !p.fig.Cloud.Joined && !d.Front && len(p.clouds) == 1 {
					col = faint
				}
				if d.Best {
					c.ring(q.x(d.X.Num), q.y(d.Y.Num), size+5, ink)
				}
				if d.Void {
					c.hollow(p.shapeOf(i), q.x(d.X.Num), q.y(d.Y.Num), size, col)
				} else {
					c.marker(p.shapeOf(i), q.x(d.X.Num), q.y(d.Y.Num), size, col)
				}
			}
		}
	}
	for _, l := range q.labels {
		if l.thread {
			c.thread(l.fromX, l.fromY, math.Max(l.x0, math.Min(l.fromX, l.x1)), math.Max(l.y0, math.Min(l.fromY, l.y1)))
		}
		c.text(l.text, l.x0, (l.y0+l.y1)/2, p.small, left, l.col)
	}
}

// drawLimit draws the limit across and shades the side that breaks it.
func (p *scatter) drawLimit(c *canvas, q *plane) {
	l := p.fig.Limit
	if l == nil {
		return
	}
	if l.Column == p.fig.Cloud.X {
		x := q.x(l.Value)
		if l.Upper {
			c.rect(x, q.top, q.x1, q.bottom, shade)
		} else {
			c.rect(q.x0, q.top, x, q.bottom, shade)
		}
		c.dashedV(x, q.top, q.bottom, failRed)
		return
	}
	y := q.y(l.Value)
	if l.Upper {
		c.rect(q.x0, q.top, q.x1, y, shade)
	} else {
		c.rect(q.x0, y, q.x1, q.bottom, shade)
	}
	c.dashedH(q.x0, q.x1, y, failRed)
}

// frontLine joins the points of the front by steps: between two of them nothing was
// measured, so that nothing better than the worse of both is promised.
func (p *scatter) frontLine(q *plane) []float64 {
	var dots []Dot
	for _, cl := range p.clouds {
		for _, d := range cl.Dots {
			if d.Front {
				dots = append(dots, d)
			}
		}
	}
	slices.SortFunc(dots, func(a, b Dot) int { return compareFloat(a.X.Num, b.X.Num) })
	var xy []float64
	for i, d := range dots {
		if i > 0 {
			e := dots[i-1]
			// The corner is worse than both points.
			if p.fig.Cloud.XBetter == core.HigherBetter {
				xy = append(xy, q.x(e.X.Num), q.y(d.Y.Num))
			} else {
				xy = append(xy, q.x(d.X.Num), q.y(e.Y.Num))
			}
		}
		xy = append(xy, q.x(d.X.Num), q.y(d.Y.Num))
	}
	return xy
}
