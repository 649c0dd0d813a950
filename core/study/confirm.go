package study

import (
	"context"
	"fmt"
	"slices"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/core/stats"
)

// confirmation is the stage of the trials that a confirmation adds.
const confirmation = "confirmation"

// Confirm measures again what the search could not tell from the best, n times each
// and in turns: every repeat is a launch of its own, so that what differs between
// launches and what drifts with time meets all of them alike. It goes through the
// finished search by what is recorded, so that calling it again takes up what is
// missing of the n.
func (r *Runner) Confirm(ctx context.Context, n int) (Result, error) {
	r.thinking.Lock()
	defer r.thinking.Unlock()
	s := &r.File.Study
	if err := r.begin(ctx); err != nil {
		return Result{}, err
	}
	res := Result{Baseline: baseline(s), Winner: baseline(s)}
	looking := newSearch(s, silent{runnerLab{Runner: r, res: &res, known: true, walked: map[string]bool{}}})
	if err := looking.run(ctx); err != nil {
		return res, err
	}
	tied, err := r.finish(ctx, &res, looking, false)
	if err != nil || res.Void != nil || len(res.Winners) == 0 {
		return res, err
	}
	r.event(Event{Kind: EventStage, Text: confirmation})
	if len(tied) < 2 {
		r.event(Event{Kind: EventDecision, Text: "nothing to confirm: every other configuration can be told from the winner"})
		return res, nil
	}
	for round := 1; round <= n; round++ {
		for i := range tied {
			c := tied[i]
			if round%2 == 0 {
				c = tied[len(tied)-1-i] // A B B A: a steady drift meets both sides alike
			}
			again := candidate{config: c, role: core.RoleVerification, stage: confirmation, option: r.optionOf(c), first: s.Run.Repeats + round, last: s.Run.Repeats + round}
			if c.Hash() == res.Baseline.Hash() {
				again.role = core.RoleBaseline
			}
			if err := r.measure(ctx, &res, again, r.deciding()); err != nil {
				return res, err
			}
		}
	}
	if _, err := r.finish(ctx, &res, looking, true); err != nil {
		return res, err
	}
	r.tellConfirmed(tied)
	return res, nil
}

// silent is a lab of which nobody hears: what is recorded was told when it happened.
type silent struct{ runnerLab }

func (silent) tell(EventKind, string) {}

// optionOf is the name under which a configuration was tried first.
func (r *Runner) optionOf(c core.Config) string {
	for _, t := range r.done(r.deciding()[0]) {
		if t.Setup.Config.Hash() == c.Hash() {
			return t.Option
		}
	}
	return ""
}

// finish settles winner and ties among everything that a search has tried, the
// repeats of a confirmation included. It returns what cannot be told from the best,
// the winner first; without the confirmation's own repeats where every is false.
func (r *Runner) finish(ctx context.Context, res *Result, s *search, every bool) ([]core.Config, error) {
	res.Winner, res.Void, res.Winners, res.Tied = s.best, s.void, nil, nil
	if s.void != nil {
		return nil, nil
	}
	s.lab = runnerLab{Runner: r, res: res, known: true, every: every}
	tried := append([]core.Config{s.best}, s.tried...)
	d, err := s.decideOn(ctx, tried, true)
	if err != nil {
		return nil, err
	}
	res.Void = s.void
	if !d.found {
		return nil, nil
	}
	res.Winner, res.Winners, res.Basis = d.winner, []core.ID{d.trial}, d.basis
	all := []core.Config{d.winner}
	for _, tied := range d.tied {
		res.Winners = append(res.Winners, tied.trial)
		res.Tied = append(res.Tied, tied.config)
		all = append(all, tied.config)
	}
	if s.study.Search.Screen == nil || res.Void != nil {
		return all, nil
	}
	// What was measured on the screening workload alone is tied by that.
	screened, err := s.lab.compare(ctx, tried, false)
	if err != nil {
		return nil, fmt.Errorf("objective: %w", err)
	}
	for _, tied := range choose(append([]core.Config{d.winner}, tried...), screened, true).tied {
		inFull := func(c core.Config) bool { return c.Hash() == tied.config.Hash() }
		if !slices.ContainsFunc(d.ranked, inFull) {
			res.Tied, all = append(res.Tied, tied.config), append(all, tied.config)
			res.Basis = screened.basis() + " on " + s.study.Search.Screen.Workload
		}
	}
	return all, nil
}

// tellConfirmed puts the figures of the search beside those of the confirmation: the
// best of many leads by luck too, and fresh repeats take that away.
func (r *Runner) tellConfirmed(configs []core.Config) {
	for _, c := range configs {
		var search, fresh []float64
		for _, t := range r.done(r.deciding()[0]) {
			v, ok := r.figures[t.ID]
			switch {
			case !ok || t.Setup.Config.Hash() != c.Hash():
			case t.Repeat > r.File.Study.Run.Repeats:
				fresh = append(fresh, v)
			default:
				search = append(search, v)
			}
		}
		before, ok := stats.Median(search)
		after, also := stats.Median(fresh)
		if ok && also {
			r.event(Event{Kind: EventDecision, Text: fmt.Sprintf("%s: %.6g in the search, %.6g in %s", Describe(c), before, after, times(len(fresh), "confirmation"))})
		}
	}
}
