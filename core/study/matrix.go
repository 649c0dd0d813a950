package study

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"strings"

	"github.com/sweepbook/sweepbook/core"
)

// maxCells bounds a matrix: at two minutes each, this many take two weeks.
const maxCells = 10_000

// cell is one configuration of a matrix.
type cell struct {
	name   string
	config core.Config
	at     []int // the value of each axis, in the order of axesOf
}

// matrix lists the configurations of a study's matrix, without those that it
// excludes. Equal ones stand once.
func matrix(s *core.Study) []cell { return cells(s, s.Search.Exclude) }

// dear are the settings whose change costs a launch most: other weights are read
// from the disk, other graphs compiled. They change last, so that launches next to
// each other share what the first of them brought into caches.
var dear = []string{"engine", "checkpoint", "revision", "tp", "pp", "dp", "ep"}

// axesOf are the axes of a matrix in the order of the file but for the dear ones,
// which come first.
func axesOf(s *core.Study) []core.Axis {
	axes := slices.Clone(s.Search.Matrix)
	place := func(a core.Axis) int {
		if i := slices.Index(dear, a.Name); i >= 0 {
			return i
		}
		return len(dear)
	}
	slices.SortStableFunc(axes, func(a, b core.Axis) int { return cmp.Compare(place(a), place(b)) })
	return axes
}

// cells is the product of the axes laid over the baseline. The last axis changes
// fastest.
func cells(s *core.Study, exclude []core.Config) []cell {
	out := []cell{{config: baseline(s)}}
	for _, axis := range axesOf(s) {
		var next []cell
		for _, c := range out {
			for i, v := range axis.Values {
				next = append(next, cell{strings.TrimSpace(c.name + " " + v.Name), c.config.With(v.Change), append(slices.Clone(c.at), i)})
			}
		}
		out = next
	}
	seen := map[string]bool{}
	return slices.DeleteFunc(out, func(c cell) bool {
		excluded := slices.ContainsFunc(exclude, func(x core.Config) bool { return covers(x, c.config) })
		twice := seen[c.config.Hash()]
		seen[c.config.Hash()] = true
		return excluded || twice
	})
}

// covers reports whether a configuration has everything that a partial one names.
func covers(partial, c core.Config) bool {
	same := func(want, have string) bool { return want == "" || want == have }
	if !same(partial.Engine, c.Engine) || !same(partial.Checkpoint, c.Checkpoint) || !same(partial.Revision, c.Revision) {
		return false
	}
	for name, v := range partial.Knobs {
		canonical, setting := core.CanonicalSetting(c.Engine, name, v)
		if have, ok := c.Knobs[canonical]; !ok || have != setting {
			return false
		}
	}
	for name, v := range partial.Env {
		if c.Env[name] != v {
			return false
		}
	}
	return true
}

// drawer gives each configuration a number by a seed.
func drawer(seed int) func(cell) uint64 {
	return func(c cell) uint64 {
		seeded := binary.BigEndian.AppendUint64(nil, uint64(seed))
		sum := sha256.Sum256(append(seeded, c.config.Hash()...))
		return binary.BigEndian.Uint64(sum[:])
	}
}

// sample draws n configurations of the matrix. The draw is a pure function of the
// seed and of each configuration, whatever the order of the axes, so that a resumed
// study draws the same, and one whose matrix has grown keeps most of them.
// Configurations that load the same are launched next to each other.
func sample(s *core.Study, n int) []cell {
	all := matrix(s)
	draw := drawer(s.Search.Seed)
	slices.SortStableFunc(all, func(a, b cell) int { return cmp.Compare(draw(a), draw(b)) })
	all = all[:min(n, len(all))]
	first := map[string]int{}
	for i, c := range all {
		if _, ok := first[loads(c.config)]; !ok {
			first[loads(c.config)] = i
		}
	}
	slices.SortStableFunc(all, func(a, b cell) int { return cmp.Compare(first[loads(a.config)], first[loads(b.config)]) })
	return all
}
