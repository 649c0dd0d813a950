package report

import (
	"cmp"
	"slices"
	"strings"

	"github.com/sweepbook/sweepbook/core"
)

// planned is one alternative of a study's definition.
type planned struct {
	stage, when, option string
	change              core.Config
}

// named reports whether a trial's option is the planned one, alone or on top of one of
// several configurations that a beam carries on.
func named(p planned, option string) bool {
	return option == p.option || strings.HasPrefix(option, p.option+" on ")
}

// plannedOptions lists what a staged search, a list or a grid tries.
func (b *builder) plannedOptions() []planned {
	var out []planned
	for _, s := range b.def.Stages {
		for _, o := range s.Try {
			out = append(out, planned{s.Name, s.When, o.Name, o.Change})
		}
	}
	switch b.def.Search.Strategy {
	case core.StrategyList:
		for _, o := range b.def.Search.Configs {
			out = append(out, planned{stage: core.StrategyList, option: o.Name, change: o.Change})
		}
	case core.StrategyGrid:
		out = append(out, b.cells()...)
	}
	return out
}

// base is the study's baseline as a whole configuration.
func (b *builder) base() core.Config {
	return core.Config{Model: b.def.Model, Checkpoint: b.def.Model, CommandKnown: true}.With(b.def.Baseline)
}

// cells is the matrix of a search laid over the baseline, without what it excludes. The
// engine comes first, since its choice takes other settings away, and a checkpoint
// before its revision.
func (b *builder) cells() []planned {
	axes := slices.Clone(b.def.Search.Matrix)
	last := []string{"revision", "checkpoint", "engine"}
	slices.SortStableFunc(axes, func(x, y core.Axis) int {
		return cmp.Compare(slices.Index(last, y.Name), slices.Index(last, x.Name))
	})
	out := []planned{{stage: core.StrategyGrid, change: b.base()}}
	for _, axis := range axes {
		var next []planned
		for _, p := range out {
			for _, v := range axis.Values {
				next = append(next, planned{stage: p.stage, option: strings.TrimSpace(p.option + " " + v.Name), change: p.change.With(v.Change)})
			}
		}
		out = next
	}
	seen := map[string]bool{}
	return slices.DeleteFunc(out, func(p planned) bool {
		twice := seen[p.change.Hash()]
		seen[p.change.Hash()] = true
		return twice || slices.ContainsFunc(b.def.Search.Exclude, func(x core.Config) bool { return has(p.change, x) })
	})
}

// has reports whether a configuration has all that a change chooses.
func has(c, change core.Config) bool { return c.With(change).Hash() == c.Hash() }

// undrawn is how many configurations a random search has still to try.
func (b *builder) undrawn(done begun) int {
	cells := b.cells()
	left := len(cells)
	if n := b.def.Search.Samples; n > 0 {
		left = min(n, left)
	}
	for _, c := range cells {
		if done.settled[c.change.Hash()] {
			left--
		}
	}
	return max(0, left)
}

// knownConfigs are the configurations that the stages lead to and a trial has measured.
func (b *builder) knownConfigs(done begun) []core.Config {
	var out []core.Config
	seen := map[string]bool{}
	add := func(c core.Config) {
		if h := c.Hash(); done.settled[h] && !seen[h] {
			seen[h] = true
			out = append(out, c)
		}
	}
	add(b.base())
	for _, s := range b.def.Stages {
		for _, o := range s.Try {
			for _, c := range slices.Clone(out) {
				add(c.With(o.Change))
			}
		}
	}
	return out
}
