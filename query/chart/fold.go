package chart

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/core/stats"
)

// bars makes a bar of each row, or of all rows that share a label: repeats are one bar
// of their median with a whisker from the smallest to the largest. Rows that carry a
// number or id are asked for as single trials and stay apart.
func (d *reader) bars(value int, labels []int) []Mark {
	if d.folds() {
		return d.folded(value, labels)
	}
	var ms []Mark
	times := map[string]int{}
	low, high := d.ends(value)
	for i, row := range d.a.Rows {
		m := d.mark(i, value, labels)
		if low >= 0 && drawable(row[low]) && drawable(row[high]) && drawable(m.Value) {
			m.Low, m.High = row[low], row[high]
		}
		times[m.Label]++
		ms = append(ms, m)
	}
	for i := range ms {
		if n := d.count(d.a.Rows[i], "number"); n > 0 && (times[ms[i].Label] > 1 || ms[i].Label == "") {
			ms[i].Label = strings.TrimSpace(fmt.Sprintf("%s #%d", ms[i].Label, n))
		}
	}
	return ms
}

func (d *reader) mark(row, value int, labels []int) Mark {
	r := d.a.Rows[row]
	m := Mark{Label: d.label(r, labels), Value: r[value], Findings: d.findings(row), Void: d.severity(row) == core.SeverityVoid, Failure: d.failure(row)}
	for _, name := range []string{"n", "count()"} {
		if n := d.count(r, name); n > 0 && m.N == 0 {
			m.N = n
		}
	}
	if i := d.index("role"); i >= 0 && r[i].Text == string(core.RoleBaseline) || d.opt.Baseline != "" && m.Label == d.opt.Baseline {
		m.Emphasis = Baseline
	}
	return m
}

// folds reports whether rows that share a label are repeats of one bar.
func (d *reader) folds() bool {
	return d.a.Verb == "show" && len(d.a.Groups) == 1 && len(d.a.Groups[0].Key) == 0 &&
		d.index("number") < 0 && d.index("id") < 0 && d.index("repeat") < 0
}

// ends are the columns of the ends of a whisker that a question over groups gives:
// min and max beside median or mean of the same.
func (d *reader) ends(value int) (low, high int) {
	_, inner, ok := strings.Cut(d.a.Columns[value].Name, "(")
	if !ok {
		return -1, -1
	}
	if low, high = d.index("min("+inner), d.index("max("+inner); low >= 0 && high >= 0 && low != value && high != value {
		return low, high
	}
	return -1, -1
}

func (d *reader) folded(value int, labels []int) []Mark {
	var ms []Mark
	var sets [][]float64
	at := map[string]int{}
	for i, row := range d.a.Rows {
		m := d.mark(i, value, labels)
		k, seen := at[m.Label]
		if !seen {
			k = len(ms)
			at[m.Label] = k
			ms, sets = append(ms, Mark{Label: m.Label}), append(sets, nil)
		}
		into := &ms[k]
		into.Emphasis = max(into.Emphasis, m.Emphasis)
		into.Findings = max(into.Findings, m.Findings)
		if !drawable(row[value]) {
			into.Lost++
			into.Failure = orName(into.Failure, m.Failure)
			if len(sets[k]) == 0 {
				into.Value = row[value]
			}
			continue
		}
		into.Void = into.Void || m.Void
		into.N += max(m.N, 1) // with per a row stands for several
		sets[k] = append(sets[k], row[value].Num)
	}
	for k := range ms {
		if len(sets[k]) == 0 {
			continue
		}
		middle, _ := stats.Median(sets[k])
		ms[k].Value = core.Number(middle)
		if len(sets[k]) > 1 {
			ms[k].Low, ms[k].High = core.Number(slices.Min(sets[k])), core.Number(slices.Max(sets[k]))
		}
	}
	return ms
}

// failure says why a row has no value, as far as the answer does.
func (d *reader) failure(row int) string {
	text := func(name string) string {
		if i := d.index(name); i >= 0 {
			return d.a.Rows[row][i].Text
		}
		return ""
	}
	if class := text("failure"); class != "" {
		return "failed: " + class
	}
	if s := text("status"); s != "" && s != string(core.StatusOK) {
		return s
	}
	return "no value"
}

// compareBars notes how far each bar lies above or below the only baseline.
func (d *reader) compareBars(f *Figure) {
	base := -1
	for i, m := range f.Bars {
		if m.Emphasis == Baseline {
			if base >= 0 {
				return
			}
			base = i
		}
	}
	if base < 0 || !drawable(f.Bars[base].Value) || f.Bars[base].Value.Num <= 0 {
		return
	}
	for i := range f.Bars {
		if m := &f.Bars[i]; i != base && drawable(m.Value) {
			m.Note = signed(m.Value.Num/f.Bars[base].Value.Num - 1)
		}
	}
}

// signed is "+29.8 %" for 0.298.
func signed(share float64) string {
	s := percentText(share)
	if share > 0 {
		s = "+" + s
	}
	return s
}

func percentText(share float64) string {
	digits := 1
	if share > -0.01 && share < 0.01 {
		digits = 2
	} else if share >= 10 {
		digits = 0
	}
	return thousands(trimZeros(fmt.Sprintf("%.*f", digits, share*100))) + " %"
}

// repeatsNote says what whiskers mean and how many trials a bar stands for.
func repeatsNote(marks []Mark) string {
	least, most, whiskers := 0, 0, false
	for _, m := range marks {
		if m.N == 0 {
			continue
		}
		if least == 0 || m.N < least {
			least = m.N
		}
		most = max(most, m.N)
		whiskers = whiskers || drawable(m.Low)
	}
	switch {
	case !whiskers && most < 2:
		return ""
	case !whiskers && least == most:
		return fmt.Sprintf("each bar stands for %d trials", most)
	case !whiskers:
		return fmt.Sprintf("a bar stands for %d to %d trials", least, most)
	case least == 0:
		return "whiskers show how far repeats lie apart"
	case least == most:
		return fmt.Sprintf("bars are medians of %d trials, whiskers reach from the smallest to the largest", most)
	}
	return fmt.Sprintf("bars are medians of %d to %d trials, whiskers reach from the smallest to the largest", least, most)
}

// noteMixed says in the footer how many marks put trials together that do not repeat
// each other, so that their median and whisker mean something else than it seems.
func (d *reader) noteMixed(f *Figure, marks string, value int, keyOf func(row []core.Value) string) {
	seen, mixed := map[string]string{}, map[string]bool{}
	for i, row := range d.a.Rows {
		if i >= len(d.a.Trials) {
			return
		}
		if !drawable(row[value]) {
			continue
		}
		mark := keyOf(row)
		for _, n := range d.a.Trials[i] {
			key, known := d.opt.Repeats[n]
			if first, ok := seen[mark]; known && ok && first != key {
				mixed[mark] = true
			} else if known {
				seen[mark] = key
			}
		}
	}
	if len(mixed) > 0 {
		f.Notes = append([]string{fmt.Sprintf("%s that put trials of different setups, workloads or loads together: %d of %d; show what tells them apart, or narrow it down with where", marks, len(mixed), len(seen))}, f.Notes...)
	}
}
