package study

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/sweepbook/sweepbook/core"
)

// staged goes through the stages of the file: each one's alternatives are tried on
// top of the best configurations so far, one of them without a beam. With a second
// look it then goes through the choices again.
type staged struct{}

// path is how a staged search came to a configuration: the option that each stage
// chose, none where it chose nothing.
type path struct {
	chosen []int
	config core.Config
	trial  core.ID // that stands for it
}

const none = -1

func (p path) with(stage, option int, c core.Config) path {
	chosen := slices.Clone(p.chosen)
	chosen[stage] = option
	return path{chosen: chosen, config: c}
}

// label names the options of a path.
func (p path) label(s *core.Study) string {
	var names []string
	for i, option := range p.chosen {
		if option != none {
			names = append(names, s.Stages[i].Try[option].Name)
		}
	}
	if names == nil {
		return "baseline"
	}
	return strings.Join(names, ", ")
}

func (staged) run(ctx context.Context, s *search) error {
	beam := max(1, s.study.Search.Beam)
	first := path{config: s.best, trial: s.trial}
	for range s.study.Stages {
		first.chosen = append(first.chosen, none)
	}
	paths := []path{first}
	for i := range s.study.Stages {
		var err error
		if paths, err = stage(ctx, s, i, paths, beam); err != nil {
			return err
		}
	}
	if s.study.Search.SecondLook && s.void == nil {
		return secondLook(ctx, s, paths[0])
	}
	return nil
}

// stage tries the options of one stage on top of each path and returns those that go
// on, the best so far first.
func stage(ctx context.Context, s *search, i int, paths []path, beam int) ([]path, error) {
	st := s.study.Stages[i]
	s.lab.tell(EventStage, st.Name)
	// A path without the stage's change stands beside those with one, and first.
	all := slices.Clone(paths)
	var cs []candidate
	for k, p := range paths {
		if holds, err := condition(ctx, s, st, p.trial); err != nil || !holds {
			if err != nil {
				return nil, err
			}
			continue
		}
		for j, option := range st.Try {
			q := p.with(i, j, p.config.With(option.Change))
			name := option.Name
			if k > 0 {
				name += " on " + p.label(s.study)
			}
			cs = append(cs, candidate{config: q.config, role: core.RoleCandidate, stage: st.Name, option: name})
			all = append(all, q)
		}
	}
	if len(all) == len(paths) {
		s.lab.tell(EventDecision, fmt.Sprintf("skipped: %s does not hold of the best so far", st.When))
		return paths, nil
	}
	if err := s.tryAll(ctx, configsOf(paths), cs, beam); err != nil {
		return nil, err
	}
	before := s.best
	rows, d, err := s.judge(ctx, all)
	if err != nil {
		return nil, err
	}
	s.tellDecision(before, d)
	if !d.found {
		return paths[:1], nil
	}
	return keep(rows, beam), nil
}

// judge decides among paths and returns them in order: the winner, the others that
// qualify, best first. Paths to one configuration are one, the first.
func (s *search) judge(ctx context.Context, paths []path) ([]path, decision, error) {
	d, err := s.decide(ctx, configsOf(paths))
	if err != nil || !d.found {
		return nil, d, err
	}
	var out []path
	for _, c := range append([]core.Config{d.winner}, d.ranked...) {
		same := func(p path) bool { return p.config.Hash() == c.Hash() }
		if i := slices.IndexFunc(paths, same); i >= 0 && !slices.ContainsFunc(out, same) {
			p := paths[i]
			p.trial = d.trials[c.Hash()]
			out = append(out, p)
		}
	}
	return out, d, nil
}

func configsOf(paths []path) []core.Config {
	configs := make([]core.Config, len(paths))
	for i, p := range paths {
		configs[i] = p.config
	}
	return configs
}

func keep(paths []path, beam int) []path { return paths[:min(beam, len(paths))] }

// condition reports whether a stage is for the configuration of a trial.
func condition(ctx context.Context, s *search, st core.Stage, trial core.ID) (bool, error) {
	if st.When == "" {
		return true, nil
	}
	if trial == (core.ID{}) {
		return false, nil // nothing qualifies of which it could be asked
	}
	holds, err := s.lab.holds(ctx, st.When, trial)
	if err != nil {
		return false, fmt.Errorf("stage %s: %w", st.Name, err)
	}
	return holds, nil
}

// secondLook goes through the stages again, now that the later choices are made: each
// choice is put against its alternatives and against none, the others as they are.
// It ends when a whole pass changes nothing, which it must, since each change is for
// a better figure and each configuration has one.
func secondLook(ctx context.Context, s *search, p path) error {
	s.lab.tell(EventStage, "second look")
	for changed := true; changed; {
		changed = false
		for i, st := range s.study.Stages {
			if holds, err := condition(ctx, s, st, p.trial); err != nil || !holds {
				if err != nil {
					return err
				}
				continue
			}
			all := []path{p}
			var cs []candidate
			for j := none; j < len(st.Try); j++ {
				q := p.with(i, j, core.Config{})
				q.config = rebuild(s.study, q.chosen)
				name := "without"
				if j != none {
					name = st.Try[j].Name
				}
				if j == p.chosen[i] || q.config.Hash() == p.config.Hash() {
					continue
				}
				cs = append(cs, candidate{config: q.config, role: core.RoleCandidate, stage: "second look", option: st.Name + ": " + name})
				all = append(all, q)
			}
			if err := s.tryAll(ctx, []core.Config{p.config}, cs, 1); err != nil {
				return err
			}
			before := s.best
			rows, d, err := s.judge(ctx, all)
			if err != nil {
				return err
			}
			if d.found && d.winner.Hash() != before.Hash() {
				s.tellDecision(before, d)
				p, changed = rows[0], true
			}
		}
	}
	if s.void == nil {
		s.lab.tell(EventDecision, "after the second look: "+Describe(s.best))
	}
	return nil
}

// rebuild lays the chosen options over the baseline in the order of the stages. An
// option of a stage with a condition was chosen for an engine, and goes with it.
func rebuild(s *core.Study, chosen []int) core.Config {
	c := baseline(s)
	for i, option := range chosen {
		if option == none {
			continue
		}
		if s.Stages[i].When != "" && !conditionFits(s.Stages[i].When, c.Engine) {
			continue
		}
		c = c.With(s.Stages[i].Try[option].Change)
	}
	return c
}

// conditionFits reports whether a condition may be true for an engine: only that on
// the engine itself is looked at.
func conditionFits(when, engine string) bool {
	m := engineCondition.FindStringSubmatch(when)
	return m == nil || m[1] == engine
}
