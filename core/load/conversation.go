package load

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/sweepbook/sweepbook/core"
)

// conversation serves jobs: single requests, and conversations turn by turn.
type conversation struct {
	client *client
	ask    asker
	done   func(core.Sample)
	inputs *inputs
}

// serve asks a job. A later turn of a conversation is due when the answer before
// it has come and the user has thought; it holds everything said before. When a
// turn fails, the later ones cannot be asked and have failed with it, so that a
// server cannot look better by failing early; when the window ends, they were
// never due.
func (c conversation) serve(ctx context.Context, j job, due, ready time.Duration) {
	prompts := c.ask.prompts
	a := &answer{keep: len(j.later) > 0 && prompts.OwnAnswers}
	s := c.one(ctx, j, due, ready, a)
	history := append([]Turn(nil), j.first.History...)
	before := j.first
	for k, p := range j.later {
		if s.Outcome == core.OutcomeFailed {
			c.lost(j.index+k+1, len(j.later)-k, j.index, s.End)
			return
		}
		if s.Outcome != core.OutcomeOK {
			return
		}
		if prompts.OwnAnswers {
			history = append(history, Turn{"user", before.Text}, Turn{"assistant", unescape(a.text)})
		} else {
			history = p.History
		}
		due := s.End + prompts.Think
		next := job{index: j.index + k + 1, first: p, output: p.OutputTokens, input: -1, body: c.ask.body(p, history)}
		if !waitUntil(ctx, c.client.clock, due) {
			return
		}
		a = &answer{keep: a.keep}
		s = c.one(ctx, next, due, due, a)
		before = p
	}
}

// one asks one request and hands on its sample.
func (c conversation) one(ctx context.Context, j job, due, ready time.Duration, a *answer) core.Sample {
	s := c.client.send(ctx, j, due, a)
	c.client.self.lag(s.Sent - ready)
	if s.Outcome == core.OutcomeOK {
		c.client.self.answered(&s, a)
		if s.InputTokens < 0 && j.input >= 0 {
			s.InputTokens = j.input
			c.inputs.fill()
		}
	}
	c.done(s)
	return s
}

// lost hands on the samples of turns that could not be asked.
func (c conversation) lost(index, n, first int, at time.Duration) {
	for i := range n {
		s := never(index+i, at)
		s.End = at
		s.Outcome = core.OutcomeFailed
		s.Error = fmt.Sprintf("%s: turn %d of this conversation failed", classSession, index-first)
		c.done(s)
	}
}

// inputs notes what counted the prompts of the completed requests.
type inputs struct {
	mu       sync.Mutex
	complete int
	unknown  int
	filled   int
}

func (in *inputs) see(s *core.Sample) {
	if s.Outcome != core.OutcomeOK {
		return
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	in.complete++
	if s.InputTokens < 0 {
		in.unknown++
	}
}

func (in *inputs) fill() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.filled++
}

// summary adds what counted the input tokens of the samples, and what measured
// the lengths of the prompts when they were made.
func (in *inputs) summary(extra map[string]core.Value, prompts Prompts) {
	extra["prompt_length_counter"] = core.String(prompts.CountedBy)
	switch {
	case in.complete == 0:
	case in.unknown > 0:
		extra["prompt_counter"] = core.String(CountedByEstimate)
	case in.filled > 0:
		extra["prompt_counter"] = core.String(prompts.CountedBy)
	default:
		extra["prompt_counter"] = core.String(CountedByUsage)
	}
}
