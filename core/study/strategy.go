package study

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/sweepbook/sweepbook/core"
)

// strategy says what a study tries and what it goes on with. It asks the search to
// try configurations and to decide among them, and knows nothing else: a pure
// function of the study and of what was recorded. A resumed study goes through it
// from the start, and what is recorded is not measured again.
type strategy interface {
	run(ctx context.Context, s *search) error
}

// lab is what a search needs of the world: a Runner with its GPUs, or a landscape in
// a test.
type lab interface {
	// try measures candidates on the workload that the search is judged on, in full on
	// the deciding one where they say so, until each of their trials has ended, well or
	// not; several at once where the study allows it.
	try(ctx context.Context, cs ...candidate) error
	// compare gives the standings of configurations that were tried; whole takes those of
	// the deciding workload also where the search is judged on another. A *VoidError says
	// that some qualify and that none of their figures may decide.
	compare(ctx context.Context, configs []core.Config, whole bool) (standings, error)
	// holds reports whether a condition is true of a trial.
	holds(ctx context.Context, condition string, trial core.ID) (bool, error)
	tell(kind EventKind, text string)
}

// search is one way through a study.
type search struct {
	study *core.Study
	lab   lab
	// tried are the configurations that were tried so far, in order, each once.
	tried []core.Config
	seen  map[string]bool // the hashes of those
	best  core.Config     // so far
	bar   core.Config     // what a candidate must come up to, where candidates race
	trial core.ID         // that stands for the best so far; zero where nothing qualifies
	void  *Void
}

func newSearch(s *core.Study, l lab) *search {
	return &search{study: s, lab: l, best: baseline(s), seen: map[string]bool{}}
}

func newStrategy(s *core.Study) strategy {
	switch s.Search.Strategy {
	case core.StrategyGrid:
		return each{"grid", matrix(s)}
	case core.StrategyRandom:
		return each{"random", sample(s, s.Search.Samples)}
	case core.StrategyList:
		return each{"list", listed(s)}
	case core.StrategyModel:
		return model{}
	}
	return staged{}
}

// run measures the baseline and then goes the way of the strategy.
func (s *search) run(ctx context.Context) error {
	s.lab.tell(EventStage, "baseline")
	base := candidate{config: s.best, role: core.RoleBaseline, stage: "baseline", option: "baseline"}
	if err := s.try(ctx, base); err != nil {
		return err
	}
	if _, err := s.decide(ctx, []core.Config{s.best}); err != nil {
		return err
	}
	if err := newStrategy(s.study).run(ctx, s); err != nil {
		return err
	}
	return s.inFull(ctx)
}

func (s *search) try(ctx context.Context, c candidate) error {
	c.against = s.bar
	if err := s.lab.try(ctx, c); err != nil {
		return err
	}
	s.note(c.config)
	return nil
}

func (s *search) note(c core.Config) {
	if hash := c.Hash(); !s.seen[hash] {
		s.seen[hash] = true
		s.tried = append(s.tried, c)
	}
}

// tryAll tries candidates that do not hang on each other. Where they race, one after
// the other, each is put against the nth best of what there was before it.
func (s *search) tryAll(ctx context.Context, before []core.Config, cs []candidate, nth int) error {
	if s.study.Run.Parallel > 1 {
		if err := s.lab.try(ctx, cs...); err != nil {
			return err
		}
		for _, c := range cs {
			s.note(c.config)
		}
		return nil
	}
	so := slices.Clone(before)
	for _, c := range cs {
		if err := s.raise(ctx, so, nth); err != nil {
			return err
		}
		if err := s.try(ctx, c); err != nil {
			return err
		}
		so = append(so, c.config)
	}
	return nil
}

// raise sets the bar of a race: the nth best of some configurations. Where fewer
// qualify there is none, and everything is measured in full.
func (s *search) raise(ctx context.Context, configs []core.Config, nth int) error {
	if !s.study.Search.Race && s.study.Search.Screen == nil {
		return nil
	}
	s.bar = core.Config{}
	rows, err := s.lab.compare(ctx, configs, false)
	switch {
	case errors.As(err, new(*VoidError)):
	case err != nil:
		return fmt.Errorf("objective: %w", err)
	case len(rows.rows) >= nth:
		s.bar = rows.rows[nth-1].config
	}
	return nil
}

// decide chooses among configurations, the first of which stays where no other is
// better beyond the noise. Where nothing qualifies or may decide, the best so far
// stays what it is.
func (s *search) decide(ctx context.Context, configs []core.Config) (decision, error) {
	return s.decideOn(ctx, configs, false)
}

// decideOn is decide by the figures of a search, or by those of the deciding workload.
func (s *search) decideOn(ctx context.Context, configs []core.Config, whole bool) (decision, error) {
	rows, err := s.lab.compare(ctx, configs, whole)
	s.void = nil
	var void *VoidError
	switch {
	case errors.As(err, &void):
		s.void, s.trial = &void.Void, core.ID{}
		return decision{}, nil
	case err != nil:
		return decision{}, fmt.Errorf("objective: %w", err)
	}
	d := choose(configs, rows, s.repeats(whole) > 1)
	s.trial = d.trial
	if d.found {
		s.best = d.winner
	}
	return d, nil
}

// tellDecision says what a stage came to.
func (s *search) tellDecision(before core.Config, d decision) {
	text := "new best: " + Describe(s.best)
	switch {
	case s.void != nil:
		text = "nothing is decided: " + s.void.String()
	case d.inside > 0:
		text = fmt.Sprintf("the best so far stays: %s is better by %.2g %%, inside the noise (%s)", Describe(d.rival), 100*d.inside, d.basis)
	case s.best.Hash() == before.Hash():
		text = "the best so far stays"
	}
	s.lab.tell(EventDecision, text)
}

// each tries every configuration of a list that is known beforehand.
type each struct {
	stage string
	cells []cell
}

// listed are the configurations of the strategy list.
func listed(s *core.Study) []cell {
	var out []cell
	for _, option := range s.Search.Configs {
		out = append(out, cell{name: option.Name, config: baseline(s).With(option.Change)})
	}
	return out
}

func (e each) run(ctx context.Context, s *search) error {
	s.lab.tell(EventStage, e.stage)
	before := s.best
	var cs []candidate
	for _, c := range e.cells {
		cs = append(cs, candidate{config: c.config, role: core.RoleCandidate, stage: e.stage, option: c.name})
	}
	if err := s.tryAll(ctx, append([]core.Config{before}, s.tried...), cs, 1); err != nil {
		return err
	}
	d, err := s.decide(ctx, append([]core.Config{before}, s.tried...))
	if err != nil {
		return err
	}
	s.tellDecision(before, d)
	return nil
}
