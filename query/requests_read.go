package query

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sweepbook/sweepbook/core"
)

// askRequests puts the results of all calls into a row, where they do not stand yet.
func (p *plan) askRequests(row []core.Value) {
	r := p.requests
	if row[r.read].True() {
		return
	}
	row[r.read] = core.Bool(true)
	if p.stand >= 0 && row[p.stand].Kind == core.KindNumber { // of repeats, whose median counts
		of := &p.stands[int(row[p.stand].Num)]
		rows := of.rows
		if of.repeats != nil {
			rows = p.trialsOf(row)
		}
		for _, one := range rows {
			p.askRequests(one)
		}
		for _, call := range r.calls {
			row[call.col] = medianOf(rows, call.col, nil)
		}
		return
	}
	if p.stand < 0 {
		p.askTrial(row)
		return
	}
	// A trial comes again as one of repeats, in another row.
	number := int64(row[p.number].Num)
	answers, ok := r.answers[number]
	if !ok {
		p.askTrial(row)
		for _, call := range r.calls {
			answers = append(answers, row[call.col])
		}
		if r.answers == nil {
			r.answers = map[int64][]core.Value{}
		}
		r.answers[number] = answers
	}
	for i, call := range r.calls {
		row[call.col] = answers[i]
	}
}

// askTrial answers all calls in one pass over the samples of a row's trial.
func (p *plan) askTrial(row []core.Value) {
	r := p.requests
	samples := r.samples(row[p.id].Text)
	asked, completed := r.count(samples)
	for _, call := range r.calls {
		row[call.col] = core.Missing()
		switch c := call.cond; {
		case asked == 0 || completed > 0 && c.open == completed:
			// Of no request, or the samples do not know what is asked of them.
		case call.duration < 0:
			row[call.col] = core.Number(float64(c.good) / float64(asked))
		default:
			row[call.col] = arithmetic("/", core.Number(float64(c.good)), row[call.duration])
		}
	}
	r.note(row[p.number], asked, completed)
}

// samples reads those of a trial, none after a failure.
func (r *requests) samples(text string) []core.Sample {
	if r.err != nil || r.source == nil {
		return nil
	}
	id, err := core.ParseID(text)
	if err != nil {
		r.err = fmt.Errorf("read samples: %w", err)
		return nil
	}
	samples, err := r.source(id)
	if errors.Is(err, core.ErrNotFound) { // removed since its row was read
		return nil
	}
	if err != nil {
		r.err = fmt.Errorf("read samples: %w", err)
	}
	return samples
}

// count tells for how many requests each condition holds or is undecided. Those that
// the run's own limit cut off are not counted at all, those that failed hold nothing.
func (r *requests) count(samples []core.Sample) (asked, completed int) {
	for _, c := range r.conds {
		c.good, c.open = 0, 0
	}
	for i := range samples {
		s := &samples[i]
		if s.Outcome == core.OutcomeIncomplete {
			continue
		}
		asked++
		if s.Outcome != core.OutcomeOK {
			continue
		}
		completed++
		for _, c := range r.conds {
			for j, f := range c.fields {
				c.row[j] = f.Limited(s)
			}
			switch c.node.cond(c.row) {
			case yes:
				c.good++
			case undecided:
				c.open++
			}
		}
	}
	return asked, completed
}

// note counts once for each trial what the reader must know.
func (r *requests) note(number core.Value, asked, completed int) {
	if r.err != nil || !r.seen.add(number) {
		return
	}
	if asked == 0 {
		r.without++
	}
	for _, c := range r.conds {
		switch c.open {
		case 0:
		case completed:
			c.blind++
		default:
			c.unknown += c.open
			c.unknownFrom++
		}
	}
}

// warnings says for how many trials there was nothing to ask.
func (r *requests) warnings() []Warning {
	if r == nil {
		return nil
	}
	var out []Warning
	if r.without > 0 {
		var texts []string
		for _, call := range r.calls {
			texts = append(texts, call.text)
		}
		out = append(out, Warning{
			Code:    "samples",
			Message: fmt.Sprintf("%s without samples, of which nothing is known of single requests: %s", trials(r.without), strings.Join(texts, ", ")),
			Hint:    "an import has samples where its file lists them: vllm bench serve --save-detailed, sglang.bench_serving --output-details",
		})
	}
	for _, c := range r.conds {
		if c.blind > 0 {
			out = append(out, Warning{Code: "samples", Message: fmt.Sprintf("%s(%s) is unknown of %s, whose samples do not hold what it names",
				c.name, c.text, trials(c.blind))})
		}
		if c.unknown > 0 {
			out = append(out, Warning{Code: "samples", Message: fmt.Sprintf("%s(%s): a figure that it names is unknown of %s in %s: not attained",
				c.name, c.text, plural(c.unknown, "request"), trials(c.unknownFrom))})
		}
	}
	return out
}

// requestFigures are the figures of a trial that rest on the same moments as a call:
// what cannot be believed of them cannot be believed of it.
func (p *plan) requestFigures(name string) []string {
	if p.requests == nil {
		return nil
	}
	i := slices.IndexFunc(p.requests.calls, func(call requestCall) bool { return call.text == name })
	if i < 0 {
		return nil
	}
	var out []string
	for _, f := range p.requests.calls[i].cond.fields {
		latency, isTime := strings.CutSuffix(f.Name, "_ms")
		if !isTime {
			out = append(out, f.Name)
			continue
		}
		latency = strings.TrimPrefix(latency, "max_")
		out = append(out, core.LatencyName("mean", latency), core.LatencyName("median", latency), core.LatencyName("p99", latency))
	}
	return out
}

// trialSet is a set of trials by number, a bit for each of sixty-four neighbours.
type trialSet map[int64]uint64

// add reports whether the trial was not in the set.
func (s *trialSet) add(number core.Value) bool {
	if *s == nil {
		*s = trialSet{}
	}
	n := int64(number.Num)
	bit := uint64(1) << (n & 63)
	before := (*s)[n>>6]
	(*s)[n>>6] = before | bit
	return before&bit == 0
}
