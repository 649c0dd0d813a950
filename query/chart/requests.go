package chart

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/core/stats"
	"github.com/sweepbook/sweepbook/query"
)

// Requests are the single requests of one trial of an answer.
type Requests struct {
	Row       int   // of the answer
	Trial     int64 // number of the trial
	Samples   []core.Sample
	MeanPower core.Value   // watts, summed over the GPUs
	Course    *core.Course // of the GPUs; nil where none is kept
}

// Latencies are the columns by which ECDF spreads requests.
func Latencies() []string {
	return []string{"ttft_ms", "ttft_due_ms", "tpot_ms", "e2el_ms", "queue_ms"}
}

// latency of one request in milliseconds; ok is false where it has none.
func latency(name string, s core.Sample) (ms float64, ok bool) {
	span := func(from, to time.Duration) (float64, bool) {
		if from == core.NoTime || to == core.NoTime {
			return 0, false
		}
		return float64(to-from) / float64(time.Millisecond), true
	}
	switch name {
	case "ttft_ms":
		return span(s.Sent, s.First)
	case "ttft_due_ms":
		return span(s.Due, s.First)
	case "queue_ms":
		return span(s.Due, s.Sent)
	case "e2el_ms":
		return span(s.Sent, s.Last)
	}
	all, ok := span(s.First, s.Last)
	if s.OutputTokens < 2 {
		return 0, false
	}
	return all / float64(s.OutputTokens-1), ok
}

// FromRequests makes a figure of the requests of an answer's trials: of kind ECDF how
// opt.Value, "" for ttft_ms, spreads in each trial; of kind Timeline what happened in
// the only one.
func FromRequests(a *query.Answer, sets []Requests, opt Options) (Figure, error) {
	d := &reader{a: a, opt: opt}
	f := Figure{Kind: opt.Kind, Title: opt.Title, Query: strings.Join(strings.Fields(a.Query), " "), From: a.History,
		Notes: slices.Clone(opt.Notes), Format: opt.Format, Width: opt.Width, Height: opt.Height}
	for _, s := range sets {
		f.Trials = append(f.Trials, s.Trial)
	}
	if len(sets) == 0 {
		return f, fmt.Errorf("%w: no trial of the answer keeps its requests", ErrNothing)
	}
	if opt.Kind == TimelineKind {
		return f, d.flow(&f, sets)
	}
	return f, d.spread(&f, sets)
}

// Sample is how one latency spreads over the requests of a trial.
type Sample struct {
	Name       string
	Values     []float64 // sorted
	Failed     int       // requests without an answer: the curve ends below 100 %
	Incomplete int       // cut off by the run's own limit, which do not count
	Unknown    int       // answered, without this latency
}

func (d *reader) spread(f *Figure, sets []Requests) error {
	name := orName(d.opt.Value, "ttft_ms")
	if !slices.Contains(Latencies(), name) {
		return fmt.Errorf("latency %q of single requests: %w: want %s", name, core.ErrInvalid, strings.Join(Latencies(), ", "))
	}
	f.Value, f.Unit, f.Better = name, "ms", core.LowerBetter
	if f.Limit = d.opt.Limit; f.Limit != nil && f.Limit.Column != name {
		return fmt.Errorf("limit on %q: %w: this chart draws %s", f.Limit.Column, core.ErrInvalid, name)
	}
	labels, err := d.requestLabels(sets)
	if err != nil {
		return err
	}
	for _, set := range sets {
		s := Sample{Name: d.label(d.a.Rows[set.Row], labels)}
		if s.Name == "" || len(labels) == 0 {
			s.Name = fmt.Sprintf("trial %d", set.Trial)
		}
		for _, r := range set.Samples {
			switch v, ok := latency(name, r); {
			case r.Outcome == core.OutcomeFailed:
				s.Failed++
			case r.Outcome == core.OutcomeIncomplete:
				s.Incomplete++
			case ok:
				s.Values = append(s.Values, v)
			default:
				s.Unknown++
			}
		}
		slices.Sort(s.Values)
		f.Spread = append(f.Spread, s)
	}
	for i, s := range f.Spread {
		for j, o := range f.Spread {
			if i != j && s.Name == o.Name {
				f.Spread[i].Name = strings.TrimSpace(fmt.Sprintf("%s #%d", strings.TrimSuffix(s.Name, fmt.Sprintf(" #%d", sets[i].Trial)), sets[i].Trial))
				break
			}
		}
	}
	if f.Title == "" {
		f.Title = name + " of single requests"
		if len(sets) == 1 {
			f.Title += fmt.Sprintf(", trial %d", sets[0].Trial)
		}
	}
	return nil
}

// requestLabels are the columns that tell the trials apart, the number aside.
func (d *reader) requestLabels(sets []Requests) ([]int, error) {
	if len(d.opt.Label) > 0 {
		return d.labelColumns(d.opt.Label, -1, -1)
	}
	var cols []int
	for i, c := range d.a.Columns {
		f, _ := core.LookupField(c.Name)
		if d.bookkeeping(c.Name) || f.Measured() || c.Better != 0 || c.Name == "setup" || c.Name == "config" || c.Type == core.TimeType {
			continue
		}
		first := d.a.Rows[sets[0].Row][i]
		if slices.ContainsFunc(sets, func(s Requests) bool { return !d.a.Rows[s.Row][i].Equal(first) }) {
			cols = append(cols, i)
		}
	}
	return cols, nil
}

// Flow is what happened in one trial over time.
type Flow struct {
	Lanes  []Lane
	End    float64 // seconds
	Bin    float64 // seconds, of Tokens
	Tokens []float64
	Exact  bool // tokens stand at the moments of their chunks, not spread evenly
	Power  core.Value
	Watts  []Reading // over time, nil where only the mean is known
}

// Reading is a figure at a moment, in seconds since the start.
type Reading struct{ At, Value float64 }

// Lane is one request, in seconds since the start; NaN-free: what never came equals End.
type Lane struct {
	Sent, First, End float64
	Started          bool // a first token came
	Outcome          core.Outcome
}

func (d *reader) flow(f *Figure, sets []Requests) error {
	if len(sets) > 1 {
		var numbers []string
		for _, s := range sets[:min(len(sets), 5)] {
			numbers = append(numbers, fmt.Sprint(s.Trial))
		}
		return fmt.Errorf("a chart of kind timeline: %w: it shows one trial, and the question answers with %d (%s); add: where number == %s",
			core.ErrInvalid, len(sets), listed(numbers, 4), numbers[0])
	}
	set := sets[0]
	flow := &Flow{Power: set.MeanPower, Exact: true}
	second := func(t time.Duration) float64 { return t.Seconds() }
	for _, s := range set.Samples {
		if s.Sent == core.NoTime {
			continue
		}
		l := Lane{Sent: second(s.Sent), End: second(s.Sent), Outcome: s.Outcome, Started: s.First != core.NoTime}
		for _, t := range []time.Duration{s.First, s.Last, s.End} {
			if t != core.NoTime {
				l.End = max(l.End, second(t))
			}
		}
		l.First = l.End
		if l.Started {
			l.First = second(s.First)
		}
		flow.Lanes = append(flow.Lanes, l)
		flow.End = max(flow.End, l.End)
	}
	slices.SortStableFunc(flow.Lanes, func(a, b Lane) int { return compareFloat(a.Sent, b.Sent) })
	if len(flow.Lanes) == 0 || flow.End <= 0 {
		return fmt.Errorf("%w: no request of trial %d was sent", ErrNothing, set.Trial)
	}
	flow.Bin = roundStep(flow.End / 90)
	flow.Tokens = make([]float64, int(flow.End/flow.Bin)+1)
	put := func(at, tokens float64) {
		flow.Tokens[min(max(int(at/flow.Bin), 0), len(flow.Tokens)-1)] += tokens / flow.Bin
	}
	for _, s := range set.Samples {
		switch {
		case s.OutputTokens <= 0 || s.First == core.NoTime:
		case len(s.Chunks) > 0:
			for _, t := range s.Chunks {
				put(second(t), float64(s.OutputTokens)/float64(len(s.Chunks)))
			}
		default:
			flow.Exact = false
			from, to := second(s.First), second(max(s.First, s.Last))
			for k := range s.OutputTokens {
				put(from+(to-from)*float64(k)/float64(max(s.OutputTokens-1, 1)), 1)
			}
		}
	}
	f.Flow, f.Value = flow, "output tokens per second"
	if f.Title == "" {
		f.Title = fmt.Sprintf("trial %d: requests and tokens over time", set.Trial)
		if labels, err := d.labelColumns(d.opt.Label, -1, -1); err == nil && len(labels) > 0 {
			if l := d.label(d.a.Rows[set.Row], labels); l != "" {
				f.Title = fmt.Sprintf("trial %d (%s): requests and tokens over time", set.Trial, l)
			}
		}
	}
	counts := map[core.Outcome]int{}
	for _, l := range flow.Lanes {
		counts[l.Outcome]++
	}
	note := fmt.Sprintf("%d requests, %d ok, %d failed, %d cut off by the run's own limit; tokens in steps of %s s", len(flow.Lanes),
		counts[core.OutcomeOK], counts[core.OutcomeFailed], counts[core.OutcomeIncomplete], Number(flow.Bin))
	if !flow.Exact {
		note += ", spread evenly over each answer, since the moments of its chunks are not kept"
	}
	f.Notes = append([]string{note}, f.Notes...)
	if drawable(flow.Power) {
		if flow.Watts = watts(set.Course, flow.End); flow.Watts != nil {
			f.Notes = append(f.Notes, fmt.Sprintf("power summed over the GPUs: %d readings, and the mean of the measured window", len(flow.Watts)))
		} else {
			f.Notes = append(f.Notes, "power: the history keeps the mean of the measured window, no course")
		}
	}
	return nil
}

// watts are the readings of power within a trial.
func watts(c *core.Course, end float64) []Reading {
	if c == nil || len(c.PowerW) < 2 {
		return nil
	}
	var out []Reading
	for i, ms := range c.AtMS {
		if at := float64(ms) / 1000; at >= 0 && at <= end {
			out = append(out, Reading{at, c.PowerW[i]})
		}
	}
	if len(out) < 2 {
		return nil
	}
	return out
}

// percentiles of a sorted sample that a picture names.
func percentile(sorted []float64, q float64) float64 {
	v, _ := stats.SortedQuantile(sorted, q)
	return v
}
