package chart

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/query"
)

// Options say which columns of an answer become what. The zero Options choose:
// see FromAnswer.
type Options struct {
	Kind     Kind     // "" and AutoKind choose
	Title    string   // "" says what is drawn
	Value    string   // column that is drawn
	X        string   // column to draw it over or against; "-" for bars where a curve would be chosen
	Label    []string // columns that name a bar or a line
	Point    string   // column that is written at the points of a frontier or scatter
	Baseline string   // label of the bar that the others are compared with
	Limit    *Limit   // of the value or of x
	Notes    []string // further ones, for the footer
	// Repeats has one key for all trials that repeat each other, by their numbers. Where it
	// is given, a mark that puts others together is named in the footer.
	Repeats map[int64]string
	// Format, Width and Height are as in Figure.
	Format        Format
	Width, Height int
}

// Draw is FromAnswer and then Render.
func Draw(a *query.Answer, opt Options) ([]byte, error) {
	f, err := FromAnswer(a, opt)
	if err != nil {
		return nil, err
	}
	return Render(f)
}

// FromAnswer makes a figure of an answer's rows. The value is the ranked one, of
// show the first measured column; it is drawn over concurrency, request_rate or
// started_at where show has such a column, else as bars. Labels are made of the
// columns in which rows differ. Rows with role baseline are marked, and so are
// rows with findings: those of the column findings, and those that the answer says
// touch its figures ([query.Options.Marks] for show). An answer without rows is ErrNothing; an unknown column an
// error that names those there are, and so is one that the kind of chart needs and the
// answer lacks.
func FromAnswer(a *query.Answer, opt Options) (Figure, error) {
	if len(a.Rows) == 0 {
		return Figure{}, fmt.Errorf("%w: no trial answers %q", ErrNothing, a.Query)
	}
	d := &reader{a: a, opt: opt}
	if opt.Kind == "" || opt.Kind == AutoKind {
		d.opt.Kind = Choose(a, opt)
	}
	if err := d.checkLimit(); err != nil {
		return Figure{}, err
	}
	f := Figure{Kind: d.opt.Kind, Title: opt.Title, Query: strings.Join(strings.Fields(a.Query), " "), From: a.History, Trials: d.trials(),
		Notes: append(slices.Clone(opt.Notes), Accounting(a)...), Format: opt.Format, Width: opt.Width, Height: opt.Height}
	if d.opt.Kind.FromSamples() {
		return Figure{}, fmt.Errorf("a chart of kind %s: %w: it is made of single requests, see FromRequests", d.opt.Kind, core.ErrInvalid)
	}
	if d.opt.Kind == FrontierKind || d.opt.Kind == ScatterKind {
		return f, d.cloud(&f)
	}
	value, err := d.valueColumn(opt.Value)
	if err != nil {
		return Figure{}, err
	}
	col := a.Columns[value]
	f.Value, f.Unit, f.Better = col.Name, col.Unit, col.Better
	switch d.opt.Kind {
	case BeforeAfterKind:
		err = d.pairs(&f, value)
	case WaterfallKind:
		err = d.waterfall(&f, value)
	case HistoryKind:
		err = d.history(&f, value)
	case LineKind, LoadKind:
		err = d.curve(&f, value)
	default:
		var labels []int
		if labels, err = d.labelColumns(opt.Label, value, -1); err == nil {
			f.Bars = d.bars(value, labels)
			d.compareBars(&f)
			if d.folds() {
				d.noteMixed(&f, "bars", value, func(row []core.Value) string { return d.label(row, labels) })
			}
			d.named(&f, value, -1, labels)
		}
	}
	return f, err
}

// named gives a figure its title.
func (d *reader) named(f *Figure, value, x int, labels []int) {
	if f.Title != "" {
		return
	}
	if v := d.a.Verb; v == "first" || v == "last" || v == "at" {
		f.Title = f.Query // the value alone would not say what it is the place of
		return
	}
	over := ""
	if x >= 0 {
		over = d.a.Columns[x].Name
	}
	f.Title = d.title(d.a.Columns[value].Name, over, labels)
}

// trials are the numbers of the trials drawn, in order, each once.
func (d *reader) trials() []int64 {
	var out []int64
	for _, row := range d.a.Trials {
		out = append(out, row...)
	}
	if len(out) == 0 {
		for _, name := range []string{"number", "before(number)", "after(number)"} {
			for _, row := range d.a.Rows {
				if n := d.count(row, name); n > 0 {
					out = append(out, int64(n))
				}
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// checkLimit refuses a limit on a column that there is not.
func (d *reader) checkLimit() error {
	if d.opt.Limit == nil {
		return nil
	}
	_, err := d.find(d.opt.Limit.Column)
	return err
}

// reader finds its way through the columns of an answer.
type reader struct {
	a   *query.Answer
	opt Options
}

func (d *reader) index(name string) int {
	return slices.IndexFunc(d.a.Columns, func(c query.Column) bool { return c.Name == name })
}

func (d *reader) find(name string) (int, error) {
	if i := d.index(name); i >= 0 {
		return i, nil
	}
	var names []string
	for _, c := range d.a.Columns {
		names = append(names, c.Name)
	}
	return -1, fmt.Errorf("column %q: %w: the answer has %s", name, core.ErrNotFound, strings.Join(names, ", "))
}

func (d *reader) valueColumn(name string) (int, error) {
	if name != "" {
		return d.find(name)
	}
	if place, asked := d.placeColumn(), d.askedColumn(); place >= 0 {
		if d.a.Verb == "change" && asked >= 0 {
			return asked, nil
		}
		return place, nil
	}
	if v := d.a.Verb; v == "max" || v == "min" || v == "pareto" {
		// The ranked value stands first, or behind the groups.
		if i := slices.IndexFunc(d.a.Columns, func(c query.Column) bool { return c.Better != 0 && !d.plainField(c.Name) }); i >= 0 {
			return i, nil
		}
	}
	for _, measured := range []bool{true, false} {
		for i, c := range d.a.Columns {
			f, _ := core.LookupField(c.Name)
			isNumber := c.Type == core.NumberType || c.Type == core.AnyType && d.numeric(i)
			if isNumber && !d.bookkeeping(c.Name) && (f.Measured() || c.Better != 0 || !measured) && !ordered(c.Name) {
				return i, nil
			}
		}
	}
	return -1, fmt.Errorf("%w: no column of %q holds numbers to draw", ErrNothing, d.a.Query)
}

// placeColumn is, of first, last, at and change, the place along which they looked; -1
// elsewhere. It is the first column that has a neighbour's beside it.
func (d *reader) placeColumn() int {
	if !slices.Contains([]string{"first", "last", "at", "change"}, d.a.Verb) {
		return -1
	}
	return slices.IndexFunc(d.a.Columns, d.hasNeighbour)
}

// askedColumn is the value of change: the next one with a neighbour's beside it.
func (d *reader) askedColumn() int {
	place := d.placeColumn()
	for i, c := range d.a.Columns {
		if i > place && d.hasNeighbour(c) {
			return i
		}
	}
	return -1
}

func (d *reader) hasNeighbour(c query.Column) bool {
	return d.index("before("+c.Name+")") >= 0 || d.index("after("+c.Name+")") >= 0
}

// plainField: a choice or an identity, which is never the ranked value when it
// stands there by itself.
func (d *reader) plainField(name string) bool {
	f, ok := core.LookupField(name)
	return ok && !f.Measured() && f.Better == 0
}

func (d *reader) numeric(col int) bool {
	return slices.ContainsFunc(d.a.Rows, func(r []core.Value) bool { return drawable(r[col]) })
}

// bookkeeping columns say which trial a row is; they are never drawn unasked.
func (d *reader) bookkeeping(name string) bool {
	if _, _, neighbours := strings.Cut(name, "("); neighbours && (strings.HasPrefix(name, "before(") || strings.HasPrefix(name, "after(")) {
		return true
	}
	return slices.Contains([]string{"number", "n", "findings", "id", "attempt", "repeat", "seed"}, name)
}

func ordered(name string) bool {
	return name == "concurrency" || name == "request_rate" || name == "started_at"
}

func (d *reader) xColumn(name string, value int) (int, error) {
	switch {
	case name == "-":
		return -1, nil
	case name != "":
		return d.find(name)
	case d.a.Verb == "change":
		return d.placeColumn(), nil
	case d.a.Verb != "show":
		return -1, nil
	}
	for i, c := range d.a.Columns {
		if i != value && ordered(c.Name) {
			return i, nil
		}
	}
	return -1, nil
}

// labelColumns are the columns asked for, else those that tell rows apart.
func (d *reader) labelColumns(names []string, value, x int) ([]int, error) {
	var cols []int
	for _, n := range names {
		i, err := d.find(n)
		if err != nil {
			return nil, err
		}
		cols = append(cols, i)
	}
	if len(cols) > 0 {
		return cols, nil
	}
	if cols = d.keys(value, x); len(cols) > 0 {
		return cols, nil
	}
	if d.placeColumn() >= 0 && d.askedColumn() >= 0 && d.a.Verb == "change" {
		return nil, nil // without by, one curve may have many trials
	}
	var constant []int
	for i, c := range d.a.Columns {
		f, _ := core.LookupField(c.Name)
		if i == value || i == x || d.bookkeeping(c.Name) || c.Name == "config" || c.Name == "setup" || c.Name == "role" ||
			c.Name == "status" || c.Name == "failure" || c.Name == "simulated" || c.Name == "failed_repeats" || f.Measured() || c.Better != 0 {
			continue
		}
		if d.differs(i) {
			cols = append(cols, i)
		} else if c.Name != "study" {
			constant = append(constant, i)
		}
	}
	if len(cols) == 0 && x < 0 && len(constant) > 0 {
		cols = constant[:1]
	}
	return cols, nil
}

// keys are the columns of by, which stand first, without those that all rows
// share; all of them where all do.
func (d *reader) keys(value, x int) []int {
	if len(d.a.Groups) == 0 {
		return nil
	}
	var all, differing []int
	for i := range min(len(d.a.Groups[0].Key), len(d.a.Columns)) {
		if i == value || i == x || !d.isKey(i) {
			continue
		}
		all = append(all, i)
		if d.differs(i) {
			differing = append(differing, i)
		}
	}
	if len(differing) > 0 {
		return differing
	}
	return all
}

// isKey reports whether a column holds a key of the groups: show may name a key
// elsewhere among its columns.
func (d *reader) isKey(col int) bool {
	g := d.a.Groups[0]
	return g.First < g.Last && slices.ContainsFunc(g.Key, d.a.Rows[g.First][col].Equal)
}

func (d *reader) differs(col int) bool {
	return slices.ContainsFunc(d.a.Rows, func(r []core.Value) bool { return !r[col].Equal(d.a.Rows[0][col]) })
}

// label joins a row's label columns: texts alone, other values with their names.
func (d *reader) label(row []core.Value, cols []int) string {
	var parts []string
	for _, i := range cols {
		v, c := row[i], d.a.Columns[i]
		switch {
		case v.IsMissing():
			parts = append(parts, "no "+c.Name)
		case v.Kind == core.KindText:
			parts = append(parts, v.Text)
		case c.Type == core.TimeType:
			parts = append(parts, clock(v.Num))
		default:
			parts = append(parts, strings.TrimPrefix(c.Name, "args.")+"="+v.String())
		}
	}
	return strings.Join(parts, ", ")
}

func (d *reader) count(row []core.Value, name string) int {
	if i := d.index(name); i >= 0 && drawable(row[i]) {
		return int(row[i].Num)
	}
	return 0
}

// severity is that of the worst finding on the figures of a row, as far as the answer
// says.
func (d *reader) severity(row int) core.Severity {
	if row < len(d.a.Severity) {
		return d.a.Severity[row]
	}
	return 0
}

// findings counts those of a row; one is known where only a severity is.
func (d *reader) findings(row int) int {
	n := d.count(d.a.Rows[row], "findings")
	if n == 0 && d.severity(row) >= core.SeverityNote {
		n = 1
	}
	return n
}

func (d *reader) series(value, x int, labels []int) []Series {
	var all []Series
	at := map[string]int{}
	bx, by := -1, -1
	if d.a.Verb == "change" {
		bx, by = d.index("before("+d.a.Columns[x].Name+")"), d.index("before("+d.a.Columns[value].Name+")")
	}
	for i, row := range d.a.Rows {
		name := d.label(row, labels)
		if _, ok := at[name]; !ok {
			at[name] = len(all)
			all = append(all, Series{Name: name})
		}
		s := &all[at[name]]
		// Of change each row holds two neighbours of a curve.
		if bx >= 0 && by >= 0 && !slices.ContainsFunc(s.Points, func(p Point) bool { return p.X.Equal(row[bx]) && p.Y.Equal(row[by]) }) {
			s.Points = append(s.Points, Point{X: row[bx], Y: row[by], Void: d.severity(i) == core.SeverityVoid})
		}
		s.Points = append(s.Points, Point{X: row[x], Y: row[value], Findings: d.findings(i), Void: d.severity(i) == core.SeverityVoid})
	}
	return all
}
