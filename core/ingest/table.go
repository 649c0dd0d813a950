package ingest

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/sweepbook/sweepbook/core"
)

// A table gives a trial a row. Its first line names the columns, see columnFor;
// columns of no known name are kept as extras. The columns of vllm bench sweep's
// summary.csv and of other tools' keys make the same trials as their JSON.

// maxColumns bounds a table's width.
const maxColumns = 500

// looksLikeTable reports whether the first lines are the head of a CSV or Markdown
// table with a figure among its columns. A document with printed blocks is text.
func looksLikeTable(head []byte, in *input) bool {
	if !looksLikeText(head) || bytes.Contains(head, []byte("Serving Benchmark Result")) {
		return false
	}
	t := table{in: in}
	lines := strings.Split(strings.TrimLeft(string(head), "\r\n"), "\n")
	for i, text := range lines[:min(len(lines), 200)] {
		next := ""
		if i+1 < len(lines) {
			next = lines[i+1]
		}
		if t.opens(strings.TrimRight(text, "\r"), strings.TrimRight(next, "\r"), i == 0) {
			return true
		}
	}
	return false
}

// table is the open table of a file; a Markdown file may hold several.
type table struct {
	in       *input
	out      *collector
	comma    rune // 0 for Markdown
	markdown bool
	columns  []column
	names    []string
	vague    []bool  // columns of which some cell has no unit either
	kind     *format // rows are objects of this kind
	open     bool
	found    bool // a table was opened
}

// opens reports whether a table begins here, and reads its head: the first line of
// a CSV file, or a Markdown line above a rule.
func (t *table) opens(text, next string, first bool) bool {
	var cells []string
	switch {
	case isMarkdownRow(text) && isMarkdownRule(next):
		t.markdown, cells = true, markdownCells(text)
	case first:
		t.markdown, t.comma = false, delimiter(text)
		if t.comma == 0 {
			return false
		}
		var err error
		if cells, err = splitRow(text, t.comma); err != nil {
			return false
		}
	default:
		return false
	}
	known := t.head(cells)
	t.found = t.found || known
	return known
}

// head takes the names of the columns and reports whether one of them is a figure.
func (t *table) head(cells []string) bool {
	if len(cells) < 2 || len(cells) > maxColumns {
		return false
	}
	t.names, t.columns, t.kind, t.vague = cells, nil, nil, make([]bool, len(cells))
	keys, known := &object{}, false
	for _, name := range cells {
		c := columnFor(name, t.in.mapping)
		t.columns = append(t.columns, c)
		f, _ := core.LookupField(c.place.name)
		known = known || c.as == columnPlace && (c.place.kind == toFigure || f.Figure())
		keys.set(name, nil)
	}
	if t.in.mapping == nil || len(t.in.mapping.Columns) == 0 {
		kinds := formats()
		for i := range kinds {
			if t.kind == nil && kinds[i].is != nil && kinds[i].is(keys) {
				t.kind = &kinds[i]
			}
		}
	}
	return known || t.kind != nil
}

func readTable(in *input, out *collector) error {
	t := &table{in: in, out: out}
	lines := &lineReader{r: in.text}
	var last line
	seen := 0
	for {
		l, err := lines.next()
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		text := strings.TrimSpace(l.raw)
		switch {
		case err != nil:
			if seen == 1 {
				t.opens(last.raw, "", true)
			}
			return t.end()
		case strings.Contains(text, "Serving Benchmark Result"):
			out.warn(l.no, "a printed block stands in this file of tables: read it with --format "+servingBlock)
		case t.open && t.markdown && (isMarkdownRule(text) || !isMarkdownRow(text)):
			t.open = isMarkdownRule(text)
		case t.open && text != "":
			t.row(l)
		case !t.open && seen > 0 && t.opens(last.raw, l.raw, seen == 1):
			t.open = true
			if !t.markdown && text != "" {
				t.row(l)
			}
		}
		if text != "" || seen > 0 {
			seen++
		}
		last = l
	}
}

// end tells of a file that holds no table.
func (t *table) end() error {
	switch {
	case t.out.met > 0:
	case t.found:
		t.out.skip(0, "a table without a row")
	default:
		t.out.skip(0, "unknown content: no table with a known column: name its columns in import.yaml")
	}
	for i, c := range t.columns {
		if t.vague[i] && t.kind == nil {
			t.out.warn(0, fmt.Sprintf("column %q states no unit or no statistic: kept as extra.%s; name its field and unit in import.yaml", c.name, snakeLabel(c.name)))
		}
	}
	return nil
}

// row makes a trial of one row.
func (t *table) row(l line) {
	var cells []string
	var err error
	if t.markdown {
		cells = markdownCells(l.raw)
	} else {
		cells, err = splitRow(l.raw, t.comma)
	}
	if t.comma == ';' {
		for i := range cells {
			cells[i] = pointed(cells[i])
		}
	}
	for t.comma == '\t' && len(cells) < len(t.columns) {
		cells = append(cells, "") // blanks at the end of a line are cut off
	}
	switch {
	case err != nil:
		t.out.begin()
		t.out.fail(l.no, fmt.Sprintf("row: %v", err))
		return
	case len(cells) != len(t.columns):
		t.out.begin()
		t.out.fail(l.no, fmt.Sprintf("row: %d values for %d columns", len(cells), len(t.columns)))
		return
	}
	raw := maskSecrets(strings.Join(t.names, ",") + "\n" + clip(l.raw, maxRaw) + "\n")
	if t.kind != nil {
		o := &object{line: l.no}
		for i, name := range t.names {
			if name != "" {
				o.set(name, cellValue(cells[i]))
			}
		}
		n := len(t.out.records)
		t.kind.object(&objectReader{in: t.in, out: t.out}, o)
		for i := range t.out.records[n:] {
			t.out.records[n+i].src.Raw = raw
		}
		return
	}
	t.out.begin()
	d := newDraft("table", "", l.no)
	for i, c := range t.columns {
		d.cell(t.withUnit(i, c, cells))
	}
	d.addRow(t.out, raw)
}

// cellUnit is a latency whose unit stands beside it and not in the head of its column.
var cellUnit = regexp.MustCompile(`^([+-]?[0-9][0-9.,]*) ?(s|ms|us|µs)$`)

// withUnit gives a cell and what its column means with the unit of that cell.
func (t *table) withUnit(i int, c column, cells []string) (column, string) {
	if c.as != columnVague {
		return c, cells[i]
	}
	if m := cellUnit.FindStringSubmatch(strings.TrimSpace(cells[i])); m != nil {
		if clear := columnFor(c.name+" ("+m[2]+")", t.in.mapping); clear.as == columnPlace {
			return clear, m[1]
		}
	}
	t.vague[i] = true
	return c, cells[i]
}

// decimalComma is a number as spreadsheets write it where the comma is the decimal
// mark, with or without points or blanks between thousands.
var decimalComma = regexp.MustCompile(`^([+-]?\d+|[+-]?\d{1,3}(?:[. \x{a0}\x{202f}]\d{3})+),(\d+)(?:[ \x{a0}]?(%))?$`)

// grouping takes away what stands between thousands there.
var grouping = strings.NewReplacer(".", "", " ", "", "\u00a0", "", "\u202f", "")

// pointed writes a number with a decimal point. Where values are separated by
// semicolons that is what the comma is for: 51,234 is no fifty thousand.
func pointed(cell string) string {
	m := decimalComma.FindStringSubmatch(strings.TrimSpace(cell))
	if m == nil {
		return cell
	}
	return grouping.Replace(m[1]) + "." + m[2] + m[3]
}

// addRow hands a row over unless it states no figure and no status.
func (d *draft) addRow(out *collector, raw string) {
	if len(d.t.Figures) == 0 && d.t.Status == core.StatusOK {
		for _, w := range d.warnings {
			out.warn(d.line, w)
		}
		out.leave(d.line, "row without a figure")
		return
	}
	if rate, ok := d.t.Figures["success_rate"]; ok && rate > 1 {
		delete(d.t.Figures, "success_rate") // a count or percent without its sign
		d.extra("success", core.Number(rate))
	}
	d.add(out, raw)
}

// cell records one value.
func (d *draft) cell(c column, value string) {
	value = strings.Trim(strings.TrimSpace(value), "`*")
	switch c.as {
	case columnNone:
	case columnKnob:
		d.knob(c.place.name, setting(value))
	case columnPlace:
		if c.place.name == "status" || c.place.name == "failure" {
			d.outcome(c.place.name, value)
			return
		}
		if f, _ := core.LookupField(c.place.name); c.place.kind == toField && f.Type == core.NumberType && c.place.scale != 0 && c.place.scale != 1 {
			if n, ok := number(value); ok {
				d.setting(c.place.name, c.place.scaled(n))
				return
			}
		}
		if strings.HasSuffix(value, "%") && c.place.kind == toFigure && (c.place.scale == 0 || c.place.scale == 1) {
			c.place.scale = 0.01
		}
		d.put(c.place, c.name, value)
	default:
		d.extra(snakeLabel(c.name), setting(value))
	}
}

// outcome takes what a mapped column says of how a trial ended.
func (d *draft) outcome(name, value string) {
	switch lower := strings.ToLower(value); {
	case value == "":
	case name == "failure" || lower != "ok" && lower != "success" && lower != "passed" && lower != "true":
		d.t.Status = core.StatusFailed
		d.t.FailureText = maskSecrets(clip(value, 1000))
		d.t.Failure = core.UnknownFailure
		for _, class := range core.FailureClasses() {
			if string(class) == lower {
				d.t.Failure = class
			}
		}
		if strings.Contains(lower, "oom") {
			d.t.Failure = failureOf("", "out of memory", false)
		}
	}
}

// mapsObject reports whether a mapping names a key of a JSON object.
func (in *input) mapsObject(o *object) bool {
	if in.mapping == nil {
		return false
	}
	for key := range in.mapping.Columns {
		if o.has(key) {
			return true
		}
	}
	return false
}

// readMappedObject reads a flat JSON object like the row of a table.
func readMappedObject(r *objectReader, o *object) {
	r.out.begin()
	d := newDraft("table", "", o.line)
	for _, key := range o.keys {
		if _, scalar := scalarOf(o.vals[key]); scalar {
			d.cell(columnFor(key, r.in.mapping), text(o.vals[key]))
		}
	}
	d.addRow(r.out, shortRaw(o))
}

// cellValue gives the cell of a tool's own table the type that its JSON has.
func cellValue(cell string) any {
	cell = strings.TrimSpace(cell)
	if cell == "" {
		return nil
	}
	switch cell {
	case "True", "true":
		return true
	case "False", "false":
		return false
	}
	if f, ok := parseNumber(cell); ok && !strings.HasSuffix(cell, "%") {
		return f
	}
	return cell
}

// delimiter is what separates the names in the first line of a CSV file; 0 for
// none.
func delimiter(text string) rune {
	best, most := rune(0), 0
	for _, c := range ",;\t" {
		if n := strings.Count(text, string(c)); n > most {
			best, most = c, n
		}
	}
	return best
}

// splitRow splits one line; a quoted value does not go on in the next.
func splitRow(text string, comma rune) ([]string, error) {
	r := csv.NewReader(strings.NewReader(text))
	r.Comma = comma
	r.LazyQuotes = true
	cells, err := r.Read()
	var parse *csv.ParseError
	if errors.As(err, &parse) {
		err = parse.Err
	}
	return cells, err
}

func isMarkdownRow(text string) bool {
	text = strings.TrimSpace(text)
	return len(text) > 2 && text[0] == '|' && strings.Count(text, "|") >= 3
}

func isMarkdownRule(text string) bool {
	text = strings.TrimSpace(text)
	return strings.Contains(text, "---") && strings.Contains(text, "|") && strings.Trim(text, "|-: \t") == ""
}

func markdownCells(text string) []string {
	text = strings.TrimSpace(text)
	text = strings.TrimSuffix(strings.TrimPrefix(text, "|"), "|")
	cells := strings.Split(strings.ReplaceAll(text, `\|`, "\x00"), "|")
	for i, c := range cells {
		cells[i] = strings.Trim(strings.TrimSpace(strings.ReplaceAll(c, "\x00", "|")), "`*")
	}
	return cells
}
