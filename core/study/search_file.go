package study

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/sweepbook/sweepbook/core"
)

// belongs lists which keys of the search section each strategy takes.
var belongs = map[string][]string{
	core.StrategyStaged: {"beam", "second_look", "race", "screen"},
	core.StrategyGrid:   {"matrix", "exclude", "race", "screen"},
	core.StrategyRandom: {"matrix", "exclude", "samples", "seed", "race", "screen"},
	core.StrategyList:   {"configs", "race", "screen"},
	core.StrategyModel:  {"matrix", "exclude", "samples", "seed", "min_gain", "race", "screen"},
}

// screenRepeats is how often a candidate is measured on the screening workload at most,
// where the file does not say it.
const screenRepeats = 6

func (f *File) search(n node) {
	s := &f.Study.Search
	keys := map[string]node{}
	keep := func(name string, read func(node)) func(node) {
		return func(n node) { keys[name] = n; f.remember(n); read(n) }
	}
	s.Strategy = core.StrategyStaged
	n.mapping(map[string]func(node){
		"strategy": func(n node) {
			f.remember(n)
			if s.Strategy = n.text(); belongs[s.Strategy] == nil {
				n.fail("%s: unknown strategy %q%s; known: %s", n.key, s.Strategy, didYouMean(s.Strategy, core.Strategies()), strings.Join(core.Strategies(), ", "))
			}
		},
		"beam":        keep("beam", func(n node) { s.Beam = n.count(1) }),
		"second_look": keep("second_look", func(n node) { s.SecondLook = n.boolean() }),
		"race":        keep("race", func(n node) { s.Race = n.boolean() }),
		"matrix":      keep("matrix", func(n node) { s.Matrix = f.matrix(n) }),
		"exclude":     keep("exclude", func(n node) { s.Exclude = f.exclusions(n) }),
		"samples":     keep("samples", func(n node) { s.Samples = n.count(1) }),
		"seed":        keep("seed", func(n node) { s.Seed = n.count(0) }),
		"min_gain":    keep("min_gain", func(n node) { s.MinGain = n.share() }),
		"screen":      keep("screen", func(n node) { s.Screen = readScreen(n) }),
		"configs":     keep("configs", func(n node) { s.Configs = f.options(n) }),
	})
	for _, name := range slices.Sorted(maps.Keys(keys)) {
		if !slices.Contains(belongs[s.Strategy], name) {
			keys[name].fail("%s: the strategy %s has no %s; it takes %s", keys[name].key, s.Strategy, name, strings.Join(belongs[s.Strategy], ", "))
		}
	}
	missing := func(name string, have bool) {
		if !have && slices.Contains(belongs[s.Strategy], name) {
			n.fail("%s: the strategy %s needs %s", n.key, s.Strategy, name)
		}
	}
	missing("matrix", len(s.Matrix) > 0)
	missing("samples", s.Samples > 0 || s.Strategy == core.StrategyModel)
	missing("configs", len(s.Configs) > 0)
}

func readScreen(n node) *core.Screen {
	s := &core.Screen{Repeats: screenRepeats}
	n.mapping(map[string]func(node){
		"workload": func(n node) { s.Workload = n.text() },
		"repeats":  func(n node) { s.Repeats = n.count(1) },
	})
	return s
}

// completeScreen checks the workload on which a search is judged.
func (f *File) completeScreen(fail func(key, format string, args ...any)) {
	s := &f.Study
	if s.Search.Screen == nil {
		return
	}
	name := s.Search.Screen.Workload
	switch w := workload(s, name); {
	case name == "":
		fail("search.screen", "workload is missing: a shorter one, of those under workloads")
	case w == nil:
		fail("search.screen", "no workload is named %q%s", name, didYouMean(name, workloadNames(s)))
	case name == s.DecideOn:
		fail("search.screen", "%s is what the study decides on; name a shorter workload", name)
	case len(w.Loads) > 1:
		fail("search.screen", "%s is a curve of %d loads; name a workload with one", name, len(w.Loads))
	}
}

// options reads alternatives, each a partial configuration.
func (f *File) options(n node) []core.Option {
	var out []core.Option
	for _, item := range n.items() {
		change := f.config(item)
		out = append(out, core.Option{Name: optionName(item, change), Change: change})
	}
	return out
}

// matrix reads the axes. A value null leaves the baseline's setting as it is.
func (f *File) matrix(n node) []core.Axis {
	var out []core.Axis
	for _, p := range n.pairs() {
		axis := core.Axis{Name: p.name}
		for _, item := range p.value.items() {
			change := core.Config{Knobs: core.Knobs{}, CommandKnown: true}
			name := p.name + "=" + item.text()
			_, null := unwrap(item.ast).(*ast.NullNode)
			switch {
			case null:
				name = p.name + " of the baseline"
			case p.name == "engine":
				change.Engine = item.text()
				f.remember(item)
			case p.name == "checkpoint":
				change.Checkpoint = item.text()
			case p.name == "revision":
				change.Revision = item.text()
			case slices.Contains(reserved, p.name):
				n.in.fail(p.at, "%s: %s is no axis; list knobs, engine, checkpoint or revision", n.key, p.name)
			default:
				change.Knobs[core.CanonicalKnob("", p.name)] = item.value()
			}
			if slices.ContainsFunc(axis.Values, func(o core.Option) bool { return o.Name == name }) {
				item.fail("%s: %s stands twice", item.key, item.text())
			}
			axis.Values = append(axis.Values, core.Option{Name: name, Change: change})
		}
		if len(axis.Values) == 0 {
			n.in.fail(p.at, "%s: the axis has no values", p.value.key)
		}
		out = append(out, axis)
	}
	return out
}

func (f *File) exclusions(n node) []core.Config {
	var out []core.Config
	for _, item := range n.items() {
		c := f.config(item)
		if c.Engine == "" && c.Checkpoint == "" && c.Revision == "" && len(c.Knobs) == 0 {
			item.fail("%s: an empty exclusion would leave out everything", item.key)
		}
		out = append(out, c)
	}
	return out
}

// completeSearch checks what the search needs of the rest of the study.
func (f *File) completeSearch(root node) {
	s := &f.Study
	at := func(key string) ast.Node { return f.places[key] }
	fail := func(key, format string, args ...any) { root.in.fail(at(key), key+": "+format, args...) }
	f.completeScreen(fail)
	if s.Search.Strategy != "" && s.Search.Strategy != core.StrategyStaged && len(s.Stages) > 0 {
		fail("search.strategy", "stages belong to the strategy staged; %s does not go through them", s.Search.Strategy)
	}
	for _, axis := range s.Search.Matrix {
		for j, v := range axis.Values {
			f.checkEngine(fmt.Sprintf("search.matrix.%s[%d]", axis.Name, j), v.Change.Engine, root)
		}
	}
	for i, option := range s.Search.Configs {
		f.checkEngine(fmt.Sprintf("search.configs[%d]", i), option.Change.Engine, root)
	}
	if len(s.Search.Matrix) == 0 || root.in.err != nil {
		return
	}
	n := 1
	for _, axis := range s.Search.Matrix {
		if n *= len(axis.Values); n > maxCells {
			fail("search.matrix", "more than %d configurations; use fewer values, or stages", maxCells)
			return
		}
	}
	for i, x := range s.Search.Exclude {
		if !slices.ContainsFunc(cells(s, nil), func(c cell) bool { return covers(x, c.config) }) {
			fail(fmt.Sprintf("search.exclude[%d]", i), "no configuration of the matrix is like this")
		}
	}
	switch left := len(matrix(s)); {
	case left == 0:
		fail("search.exclude", "nothing of the matrix is left")
	case s.Search.Samples > left:
		fail("search.samples", "the matrix has %d configurations; the strategy grid tries them all", left)
	}
}
