package chart

import (
	"fmt"
	"math"
	"slices"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/core/stats"
)

// Step is one stage of a search: from the best value before it to the best one with it.
type Step struct {
	Label    string
	Detail   string     // the option that was best in it
	Before   core.Value // the best so far; missing for the first
	Value    core.Value // the best of the stage; missing when nothing in it has one
	Gained   bool       // Value is better than Before by more than the noise
	N        int        // trials whose median Value is
	Failure  string
	Findings int
	Void     bool
}

// NoiseBand is how far a figure may lie from the best so far without differing from it.
type NoiseBand struct {
	Share float64 // 0.03 is 3 %
	Text  string  // where it comes from
}

// waterfall walks through the stages in the order of the rows: what each adds to the
// best so far. Options of a stage are told apart by the remaining label columns; the
// median of repeats stands for each.
func (d *reader) waterfall(f *Figure, value int) error {
	f.Better = d.a.Columns[value].Better
	if f.Better == 0 {
		return d.lacks("column of which it is known whether more or less is better")
	}
	labels, err := d.labelColumns(d.opt.Label, value, -1)
	if err != nil {
		return err
	}
	stage := d.index("stage")
	if len(d.opt.Label) > 0 || stage < 0 {
		if len(labels) == 0 {
			return d.lacks("stage: show it, or name the column of the steps with --label")
		}
		stage = labels[0]
	}
	for _, i := range []int{d.index("workload"), d.index("concurrency"), d.index("request_rate"), d.index("model")} {
		if i >= 0 && i != stage && d.differs(i) && !slices.Contains(d.opt.Label, d.a.Columns[i].Name) {
			return fmt.Errorf("a chart of kind waterfall: %w: rows differ in %s, so that a gain would mix it with the stages; ask for one of them with where", core.ErrInvalid, d.a.Columns[i].Name)
		}
	}
	labels = slices.DeleteFunc(labels, func(i int) bool {
		return i == stage || d.a.Columns[i].Name == "status" || d.a.Columns[i].Name == "failure"
	})
	marks, stages := d.options(value, stage, labels)
	d.noteMixed(f, "options", value, func(row []core.Value) string { return row[stage].String() + "\x00" + d.label(row, labels) })
	var sets [][]float64
	for _, o := range marks {
		sets = append(sets, o.values)
	}
	noise, _ := stats.PooledNoise(sets)
	f.Noise = bandOf(noise, marks)
	rules := stats.Rules{Noise: noise, Direction: direction(f.Better)}
	better := func(a, b float64) bool { return (a-b)*float64(f.Better) > 0 }

	var best *option
	for _, name := range stages {
		var top *option
		st := Step{Label: name, Failure: "no value"}
		for i := range marks {
			o := &marks[i]
			if o.stage != name {
				continue
			}
			if len(o.values) == 0 {
				st.Failure = orName(o.Failure, st.Failure)
			} else if top == nil || better(o.Value.Num, top.Value.Num) {
				top = o
			}
		}
		if best != nil {
			st.Before = best.Value
		}
		if top != nil {
			st.Detail, st.Value, st.N, st.Findings, st.Void, st.Failure = top.Label, top.Value, len(top.values), top.Findings, top.Void, ""
			c := stats.Compare(valuesOf(best), top.values, rules)
			st.Gained = best == nil || c.Verdict == stats.Better
			if best == nil || better(top.Value.Num, best.Value.Num) {
				best = top
			}
		}
		f.Steps = append(f.Steps, st)
	}
	if f.Title == "" {
		f.Title = "gain in " + f.Value + ", stage by stage"
		if c := d.a.Columns[stage].Name; c != "stage" {
			f.Title = "gain in " + f.Value + " by " + c
		}
	}
	return nil
}

// option is one alternative of a stage with the values of its repeats.
type option struct {
	Mark
	stage  string
	values []float64
}

func valuesOf(o *option) []float64 {
	if o == nil {
		return nil
	}
	return o.values
}

// options gathers the repeats of each alternative, and the stages in the order in which
// they come.
func (d *reader) options(value, stage int, labels []int) (all []option, stages []string) {
	at := map[[2]string]int{}
	for i, row := range d.a.Rows {
		name := row[stage].String()
		if row[stage].IsMissing() {
			name = "no " + d.a.Columns[stage].Name
		}
		if !slices.Contains(stages, name) {
			stages = append(stages, name)
		}
		m := d.mark(i, value, labels)
		k, seen := at[[2]string{name, m.Label}]
		if !seen {
			k = len(all)
			at[[2]string{name, m.Label}] = k
			all = append(all, option{Mark: Mark{Label: m.Label}, stage: name})
		}
		o := &all[k]
		o.Findings, o.Void = max(o.Findings, m.Findings), o.Void || m.Void
		if !drawable(row[value]) {
			o.Failure = orName(o.Failure, m.Failure)
			continue
		}
		o.values = append(o.values, row[value].Num)
		middle, _ := stats.Median(o.values)
		o.Value = core.Number(middle)
	}
	return all, stages
}

// bandOf is how far two medians may lie apart by noise alone, at 95 %.
func bandOf(n stats.Noise, marks []option) *NoiseBand {
	if n.Freedom < stats.MinFreedom {
		return &NoiseBand{Share: 0.03, Text: "noise band: 3 %, assumed, since too few trials were repeated"}
	}
	least := 0
	for _, o := range marks {
		if k := len(o.values); k > 0 && (least == 0 || k < least) {
			least = k
		}
	}
	t, _ := stats.StudentQuantile(0.975, float64(n.Freedom))
	share := math.Expm1(t * n.Std * math.Sqrt(2/float64(max(least, 1))))
	return &NoiseBand{Share: share, Text: fmt.Sprintf("noise band: %s, at 95 %%, from repeats (one measurement varies by %s, %d degrees of freedom)",
		percentText(share), percentText(n.Std), n.Freedom)}
}
