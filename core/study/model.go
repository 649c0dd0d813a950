package study

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/sweepbook/sweepbook/core"
)

// model searches a matrix by what it has learnt of it. It goes through the axes once, as
// a staged search does, so that every value was seen; then it tries what a surrogate of
// the matrix expects the greatest gain of, until no gain worth a launch is expected.
type model struct{}

// minGain is the gain that must be expected, where the file does not say it.
const minGain = 0.002

func (model) run(ctx context.Context, s *search) error {
	m := newModelled(s)
	before := s.best
	if err := m.byAxis(ctx); err != nil {
		return err
	}
	s.lab.tell(EventStage, "model")
	for m.mayTry() {
		if err := m.learn(ctx); err != nil || s.void != nil {
			return err
		}
		next, gain := m.next()
		if next < 0 || gain < cmp.Or(s.study.Search.MinGain, minGain) {
			s.lab.tell(EventDecision, fmt.Sprintf("no configuration that was not tried is expected to gain more than %.2g %%", 100*gain))
			break
		}
		if err := m.try(ctx, next, "model"); err != nil {
			return err
		}
	}
	if err := m.learn(ctx); err != nil || s.void != nil {
		return err
	}
	if m.best >= 0 {
		s.best, s.trial = m.cells[m.best].config, m.trial
	}
	s.tellDecision(before, decision{})
	return nil
}

// modelled is a matrix with what was learnt of it.
type modelled struct {
	*search
	cells []cell
	place map[string]int // in cells, by the hash of the configuration
	tried []bool
	guess *surrogate
	fails blame
	best  int // what the surrogate takes for the best of those that were measured; -1 is none
	trial core.ID
	level float64 // of the best, on the surrogate's scale
}

// newModelled lists the matrix. The baseline is at a value of its own on each axis that
// has none like it.
func newModelled(s *search) *modelled {
	m := &modelled{search: s, cells: matrix(s.study), place: map[string]int{}, best: -1}
	base := cell{name: "baseline", config: s.best}
	for _, axis := range axesOf(s.study) {
		own := slices.IndexFunc(axis.Values, func(v core.Option) bool { return s.best.With(v.Change).Hash() == s.best.Hash() })
		if own < 0 {
			own = len(axis.Values)
		}
		base.at = append(base.at, own)
	}
	for i, c := range m.cells {
		m.place[c.config.Hash()] = i
	}
	if _, ok := m.place[s.best.Hash()]; !ok {
		m.place[s.best.Hash()] = len(m.cells)
		m.cells = append(m.cells, base)
	}
	m.tried = make([]bool, len(m.cells))
	m.tried[m.place[s.best.Hash()]] = true
	return m
}

// mayTry reports whether the file allows a further candidate.
func (m *modelled) mayTry() bool {
	n := 0
	for _, tried := range m.tried {
		if tried {
			n++
		}
	}
	return m.study.Search.Samples == 0 || n <= m.study.Search.Samples
}

func (m *modelled) try(ctx context.Context, i int, stage string) error {
	m.tried[i] = true
	return m.search.try(ctx, candidate{config: m.cells[i].config, role: core.RoleCandidate, stage: stage, option: m.cells[i].name})
}

// byAxis tries the values of each axis on top of the best so far.
func (m *modelled) byAxis(ctx context.Context) error {
	from := m.place[m.search.best.Hash()]
	for k, axis := range axesOf(m.study) {
		m.lab.tell(EventStage, axis.Name)
		on := []core.Config{m.cells[from].config}
		for v := range axis.Values {
			at := slices.Clone(m.cells[from].at)
			at[k] = v
			i := slices.IndexFunc(m.cells, func(c cell) bool { return slices.Equal(c.at, at) })
			if i < 0 || i == from || !m.mayTry() {
				continue // excluded, or the same
			}
			if err := m.raise(ctx, on, 1); err != nil {
				return err
			}
			if err := m.try(ctx, i, axis.Name); err != nil {
				return err
			}
			on = append(on, m.cells[i].config)
		}
		rows, err := m.lab.compare(ctx, on, false)
		switch {
		case errors.As(err, new(*VoidError)):
		case err != nil:
			return fmt.Errorf("objective: %w", err)
		case len(rows.rows) > 0:
			from = m.place[rows.rows[0].config.Hash()]
		}
	}
	return nil
}

// learn fits the surrogate to everything that was measured, and finds the best of it.
// What was tried and does not qualify teaches what fails.
func (m *modelled) learn(ctx context.Context) error {
	rows, err := m.lab.compare(ctx, append([]core.Config{baseline(m.study)}, m.search.tried...), false)
	m.void, m.best = nil, -1
	var void *VoidError
	switch {
	case errors.As(err, &void):
		m.void, m.search.trial = &void.Void, core.ID{}
		return nil
	case err != nil:
		return fmt.Errorf("objective: %w", err)
	}
	std, _ := rows.spread()
	var seen []seenAt
	trials := map[int]core.ID{}
	for _, row := range rows.rows {
		xs := row.repeats
		if len(xs) == 0 {
			xs = []float64{row.value}
		}
		sum := 0.0
		for _, x := range xs {
			sum += math.Log(x) // not finite where a figure is not above 0: no scale fits it
		}
		if rows.lower {
			sum = -sum
		}
		i, known := m.place[row.config.Hash()]
		if mean := sum / float64(len(xs)); known && !math.IsNaN(mean) && !math.IsInf(mean, 0) {
			seen = append(seen, seenAt{at: m.cells[i].at, log: mean, variance: std * std / float64(len(xs)), place: i})
			trials[i] = row.trial
		}
	}
	m.fails = newBlame()
	for _, x := range seen {
		m.fails.clear(x.at)
	}
	for i, tried := range m.tried {
		if _, ok := trials[i]; tried && !ok {
			m.fails.failed = append(m.fails.failed, m.cells[i].at)
		}
	}
	m.fails.settle()
	if len(seen) == 0 {
		m.guess = nil
		return nil
	}
	// In the order of the matrix, so that sums are the same whatever came first.
	slices.SortFunc(seen, func(a, b seenAt) int { return cmp.Compare(a.place, b.place) })
	m.guess = fitted(seen)
	for _, x := range seen {
		if level, _ := m.guess.guess(x.at); m.best < 0 || level > m.level {
			m.best, m.level = x.place, level
		}
	}
	m.trial = trials[m.best]
	m.bar = core.Config{}
	if m.study.Search.Race || m.study.Search.Screen != nil {
		m.bar = m.cells[m.best].config
	}
	return nil
}

// next is what to try now, and the gain that is expected of it; -1 where nothing is
// left, or nothing known to start from. Of equal ones the seed draws.
func (m *modelled) next() (int, float64) {
	next, most := -1, 0.0
	if m.guess == nil {
		return next, most
	}
	draw := drawer(m.study.Search.Seed)
	for i, c := range m.cells {
		if m.tried[i] {
			continue
		}
		mean, std := m.guess.guess(c.at)
		gain := m.fails.works(c.at) * expectedGain(mean, std, m.level)
		if next < 0 || gain > most || gain == most && draw(c) < draw(m.cells[next]) {
			next, most = i, gain
		}
	}
	return next, most
}
