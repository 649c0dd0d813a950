package study

import (
	"context"
	"fmt"
	"math"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/core/stats"
)

// inFullStage is the stage in which the winner of a screened search is measured on the
// deciding workload.
const inFullStage = "in full"

// repeats is how often a configuration is measured: in the search, or in full.
func (s *search) repeats(whole bool) int {
	if screen := s.study.Search.Screen; screen != nil && !whole {
		return screen.Repeats
	}
	return s.study.Run.Repeats
}

// inFull measures on the deciding workload what a screened search ended with: its best,
// or where that does not meet the objective in full the next one.
func (s *search) inFull(ctx context.Context) error {
	if s.study.Search.Screen == nil || s.void != nil || s.trial == (core.ID{}) {
		return nil
	}
	d, err := s.decide(ctx, append([]core.Config{s.best}, s.tried...))
	if err != nil || !d.found {
		return err
	}
	s.lab.tell(EventStage, inFullStage)
	for _, c := range append([]core.Config{d.winner}, d.ranked...) {
		role := core.RoleCandidate
		if c.Hash() == baseline(s.study).Hash() {
			role = core.RoleBaseline
		}
		if err := s.lab.try(ctx, candidate{config: c, role: role, stage: inFullStage, option: Describe(c), whole: true}); err != nil {
			return err
		}
		whole, err := s.decideOn(ctx, []core.Config{c}, true)
		if err != nil || s.void != nil || whole.found {
			return err
		}
	}
	return nil
}

// A screened candidate is measured until it is sure on which side of the best so far it
// is. The chance of an error is greater than that of a race: short trials are many, and
// what a search ends with is measured in full.
const (
	surelyBehind = 0.01
	surelyAhead  = 0.02
	// leads is how many repeats one that is ahead has at least: the next ones are
	// compared with it.
	leads = 4
)

// spread is what one measurement varies by, and the degrees of freedom of that: the
// noise of repeats together with the assumed one, which counts as much as one repeat.
func (s standings) spread() (std, freedom float64) {
	v := float64(s.noise.Freedom)
	return math.Sqrt((assumedNoise*assumedNoise + v*s.noise.Std*s.noise.Std) / (1 + v)), 1 + v
}

// chance is how probable a lead of a over b as large as the one seen would be if b were
// as good; 1 where there is no lead.
func (s standings) chance(a, b standing) float64 {
	s.noise.Std, _ = s.spread()
	lead, width, ok := s.lead(a, b)
	if !ok || lead <= 0 {
		return 1
	}
	_, freedom := s.spread()
	p, ok := stats.StudentTail(lead/width, freedom)
	if !ok {
		return 1
	}
	return p / 2
}

// screened says why a candidate needs no further short trial, "" while it is in doubt on
// which side of the best so far it is.
func (s standings) screened(c candidate) string {
	best, own := s.pair(c)
	if best == nil || own == nil {
		return ""
	}
	after := times(len(own.repeats), "repeat")
	switch {
	case s.chance(*best, *own) < surelyBehind:
		return fmt.Sprintf("raced out: %.2g %% behind the best so far after %s", 100*s.gain(best.value, own.value), after)
	case len(own.repeats) >= leads && s.chance(*own, *best) < surelyAhead:
		return fmt.Sprintf("known well enough: %.2g %% ahead of the best so far after %s", 100*s.gain(own.value, best.value), after)
	}
	return ""
}
