package main

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode/utf8"

	"github.com/urfave/cli/v3"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/query"
)

// table is rows for people and programs; every format carries the same rows.
type table struct {
	columns []query.Column
	rows    [][]core.Value
}

func textTable(names []string, rows [][]string) table {
	var t table
	for _, name := range names {
		t.columns = append(t.columns, query.Column{Name: name, Type: core.TextType})
	}
	for _, row := range rows {
		values := make([]core.Value, len(row))
		for i, s := range row {
			values[i] = core.OptionalText(s)
		}
		t.rows = append(t.rows, values)
	}
	return t
}

// table writes t in the format that --output names.
func (a *app) table(cmd *cli.Command, t table) error {
	switch format := cmd.String("output"); format {
	case "table":
		return t.writeTable(a.stdout)
	case "json":
		rows := make([]json.RawMessage, 0, len(t.rows))
		for _, row := range t.rows {
			object, err := t.object(row)
			if err != nil {
				return err
			}
			rows = append(rows, object)
		}
		return a.writeJSON(rows)
	case "ndjson":
		for _, row := range t.rows {
			object, err := t.object(row)
			if err != nil {
				return err
			}
			if _, err := fmt.Fprintf(a.stdout, "%s\n", object); err != nil {
				return err
			}
		}
		return nil
	case "csv":
		return t.writeCSV(a.stdout)
	case "md":
		return t.writeMarkdown(a.stdout)
	default:
		return badFormat(format)
	}
}

func badFormat(format string) error {
	return usagef("--output %q: want table, json, ndjson, csv or md", format)
}

// checkFormat refuses an unknown format before any work is done.
func checkFormat(cmd *cli.Command) error {
	switch format := cmd.String("output"); format {
	case "table", "json", "ndjson", "csv", "md":
		return nil
	default:
		return badFormat(format)
	}
}

func (a *app) writeJSON(v any) error {
	enc := json.NewEncoder(a.stdout)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// object is a row as a JSON object with its keys in column order.
func (t table) object(row []core.Value) (json.RawMessage, error) {
	var b strings.Builder
	b.WriteByte('{')
	for i, c := range t.columns {
		if i > 0 {
			b.WriteByte(',')
		}
		key, err := json.Marshal(c.Name)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(plain(c, row[i]))
		if err != nil {
			return nil, err
		}
		b.Write(key)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return json.RawMessage(b.String()), nil
}

// plain turns a time into RFC 3339 text and leaves the rest.
func plain(c query.Column, v core.Value) core.Value {
	if c.Type == core.TimeType && v.Kind == core.KindNumber {
		return core.String(time.UnixMicro(int64(math.Round(v.Num * 1e6))).UTC().Format(time.RFC3339Nano))
	}
	return v
}

// exact is a cell for programs: unrounded, empty for missing, "inf" as in JSON.
func exact(c query.Column, v core.Value) string {
	v = plain(c, v)
	if v.IsUnlimited() {
		return "inf"
	}
	return v.String()
}

// shown is a cell for people: numbers rounded to what they can mean.
func shown(c query.Column, v core.Value) string {
	v = plain(c, v)
	if v.Kind != core.KindNumber || v.IsUnlimited() {
		return v.String()
	}
	if v.Num == math.Trunc(v.Num) && math.Abs(v.Num) < 1e15 {
		return strconv.FormatFloat(v.Num, 'f', 0, 64)
	}
	digits := 2
	for x := math.Abs(v.Num); x < 1 && digits < 6; x *= 10 {
		digits++
	}
	text := strconv.FormatFloat(v.Num, 'f', digits, 64)
	// A share that is nearly all or nearly none is neither: 9996 of 10000 is no 1.
	for ; math.Abs(v.Num) < 1 && digits < 12 && strings.Trim(text[len(text)-digits:], "0") == ""; digits++ {
		text = strconv.FormatFloat(v.Num, 'f', digits+1, 64)
	}
	return text
}

func (t table) writeTable(w io.Writer) error {
	widths := make([]int, len(t.columns))
	cells := make([][]string, len(t.rows)+1)
	for i, c := range t.columns {
		head := c.Name
		if c.Unit != "" {
			head += " [" + c.Unit + "]"
		}
		cells[0] = append(cells[0], head)
		widths[i] = utf8.RuneCountInString(head)
	}
	for r, row := range t.rows {
		for i, c := range t.columns {
			s := clip(oneLine(shown(c, row[i])))
			cells[r+1] = append(cells[r+1], s)
			widths[i] = max(widths[i], utf8.RuneCountInString(s))
		}
	}
	for _, row := range cells {
		var b strings.Builder
		for i, s := range row {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(s))
			if t.columns[i].Type == core.NumberType {
				b.WriteString(pad + s)
			} else {
				b.WriteString(s + pad)
			}
			if i < len(row)-1 {
				b.WriteString("  ")
			}
		}
		if _, err := fmt.Fprintln(w, strings.TrimRight(b.String(), " ")); err != nil {
			return err
		}
	}
	return nil
}

// clipAt keeps a table readable; the other formats carry every text whole.
const clipAt = 64

func clip(s string) string {
	if utf8.RuneCountInString(s) <= clipAt {
		return s
	}
	return string([]rune(s)[:clipAt-1]) + "…"
}

func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x20 || r == 0x7f || (r >= 0x80 && r < 0xa0) {
			return ' '
		}
		return r
	}, s)
}

func (t table) writeCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	head := make([]string, len(t.columns))
	for i, c := range t.columns {
		head[i] = c.Name
	}
	if err := out.Write(head); err != nil {
		return err
	}
	for _, row := range t.rows {
		cells := make([]string, len(row))
		for i, v := range row {
			cells[i] = exact(t.columns[i], v)
		}
		if err := out.Write(cells); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

func (t table) writeMarkdown(w io.Writer) error {
	var b strings.Builder
	rule := "|"
	b.WriteString("|")
	for _, c := range t.columns {
		b.WriteString(" " + markdownCell(c.Name) + " |")
		if c.Type == core.NumberType {
			rule += " ---: |"
		} else {
			rule += " --- |"
		}
	}
	b.WriteString("\n" + rule + "\n")
	for _, row := range t.rows {
		b.WriteString("|")
		for i, v := range row {
			b.WriteString(" " + markdownCell(exact(t.columns[i], v)) + " |")
		}
		b.WriteString("\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func markdownCell(s string) string {
	return strings.ReplaceAll(oneLine(s), "|", `\|`)
}

// pairs writes name and value in two columns, for one thing at a time.
func pairs(w io.Writer, lines [][2]string) error {
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, l := range lines {
		if _, err := fmt.Fprintf(out, "%s\t%s\n", l[0], oneLine(l[1])); err != nil {
			return err
		}
	}
	return out.Flush()
}
