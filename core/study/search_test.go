package study_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/core/study"
)

// options lists what was tried, in order, each once.
func (b *bench) options() []string {
	var out []string
	for _, t := range b.m.trials {
		if name := t.Stage + "/" + t.Option; !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

func TestStrategies(t *testing.T) {
	for _, tc := range []struct {
		name, search string
		winner       string
		tried        string // without the baseline
	}{
		{"grid", `search: {strategy: grid, matrix: {speed: [3, 5], width: [1, 2]}, exclude: [{speed: 5, width: 2}]}`, "speed=5 width=1",
			"grid/speed=3 width=1, grid/speed=3 width=2, grid/speed=5 width=1"},
		{"a value of the baseline", `search: {strategy: grid, matrix: {speed: [null, 5], width: [1]}}`, "speed=5 width=1",
			"grid/speed of the baseline width=1, grid/speed=5 width=1"},
		{"weights change last", `search: {strategy: grid, matrix: {speed: [3, 5], checkpoint: [a, b]}}`, "speed=5",
			"grid/checkpoint=a speed=3, grid/checkpoint=a speed=5, grid/checkpoint=b speed=3, grid/checkpoint=b speed=5"},
		{"list", `search: {strategy: list, configs: [{speed: 4}, {name: quick, speed: 7}]}`, "speed=7", "list/speed=4, list/quick"},
		{"staged", "search: {strategy: staged}\nstages: [{name: one, try: [{speed: 5}]}, {name: two, try: [{speed: 4}]}]", "speed=5", "one/speed=5, two/speed=4"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := newBench(t, tc.search+"\n")
			res, err := b.Run(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if got := res.Winner.Knobs.String(); got != tc.winner {
				t.Errorf("winner %q, want %q", got, tc.winner)
			}
			if got := strings.Join(b.options()[1:], ", "); got != tc.tried {
				t.Errorf("tried\n %s, want\n %s", got, tc.tried)
			}
			outline, err := study.NewOutline(t.Context(), b.File, b.Open, study.Durations{})
			if err != nil {
				t.Fatal(err)
			}
			if outline.AtMost != b.ran || outline.Trials != res.Ran {
				t.Errorf("planned %d launches and %d trials, ran %d and %d", outline.AtMost, outline.Trials, b.ran, res.Ran)
			}
		})
	}
}

// Whatever the strategy and wherever it was stopped, running again ends at the same
// winner with each trial measured once.
func TestEveryStrategyResumes(t *testing.T) {
	const matrix = "matrix: {speed: [2, 3, 5], width: [1, 2]}"
	for name, search := range map[string]string{
		"grid":            "search: {strategy: grid, " + matrix + "}",
		"random":          "search: {strategy: random, samples: 4, seed: 7, " + matrix + "}",
		"list":            "search: {strategy: list, configs: [{speed: 4}, {speed: 9}, {speed: 4, width: 1}]}",
		"beam":            "search: {beam: 2, second_look: true}\nstages: [{name: a, try: [{speed: 2}, {speed: 3}]}, {name: b, try: [{width: 1}, {width: 2}]}, {name: c, try: [{speed: 6}]}]",
		"race":            "search: {strategy: grid, race: true, " + matrix + "}",
		"model":           "search: {strategy: model, seed: 3, matrix: {speed: [2, 3, 5], width: [1, 2], x: [null, 1]}}",
		"screen":          "search: {strategy: model, samples: 5, screen: {workload: quick}, " + matrix + "}",
		"screened stages": "search: {screen: {workload: quick, repeats: 3}}\nstages: [{name: a, try: [{speed: 2}, {speed: 3}]}, {name: b, try: [{width: 1}, {width: 2}]}]",
	} {
		t.Run(name, func(t *testing.T) {
			text := withQuick + search + "\nrun: {repeats: 2}\n"
			whole := benchOf(t, text)
			want, err := whole.Run(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for stopAfter := 1; stopAfter < len(whole.m.trials); stopAfter += 3 {
				b := benchOf(t, text)
				stop, ended := make(chan struct{}), 0
				b.Stopping = stop
				b.Events = func(e study.Event) {
					if e.Kind == study.EventTrial {
						if ended++; ended == stopAfter {
							close(stop)
						}
					}
				}
				if _, err := b.Run(t.Context()); err == nil && stopAfter < want.Ran {
					t.Fatalf("not stopped after %d trials", stopAfter)
				}
				b.Stopping = make(chan struct{})
				got, err := b.Run(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if got.Winner.Hash() != want.Winner.Hash() || strings.Join(b.options(), ",") != strings.Join(whole.options(), ",") {
					t.Errorf("stopped after %d: winner %v, want %v; tried %v", stopAfter, got.Winner.Knobs, want.Winner.Knobs, b.options())
				}
				seen := map[string]bool{}
				for _, trial := range b.m.trials {
					key := fmt.Sprint(trial.Setup.Config.Hash(), trial.Workload.Hash(), trial.Load.Hash(), trial.Repeat)
					if trial.Status != core.StatusOK {
						continue
					}
					if seen[key] {
						t.Errorf("stopped after %d: %s/%s repeat %d was measured twice", stopAfter, trial.Stage, trial.Option, trial.Repeat)
					}
					seen[key] = true
				}
			}
		})
	}
}

// What another study measured is taken over for a search, never for a confirmation,
// which wants fresh figures; and it counts for no budget.
func TestReuse(t *testing.T) {
	text := strings.Replace(small, "{sim: {}}", "{sim: {version: \"1.0\"}}\nhardware: {gpu: G}", 1) +
		"run: {repeats: 2, reuse: history, max_age: 1h, budget: {trials: 4}}\nsearch: {strategy: list, configs: [{width: 1}]}\n"
	b := benchOf(t, text)
	b.Host = "h"
	if res, err := b.Run(t.Context()); err != nil || res.Ran != 4 || res.Reused != 0 {
		t.Fatalf("measured %d, took over %d: %v", res.Ran, res.Reused, err)
	}
	for _, trial := range b.m.trials {
		trial.Study = "before"
	}
	launches := b.ran
	res, err := b.Run(t.Context())
	if err != nil || res.Ran != 0 || res.Reused != 4 || b.ran != launches {
		t.Fatalf("measured %d, took over %d in %d launches: %v", res.Ran, res.Reused, b.ran-launches, err)
	}
	for _, trial := range b.m.trials {
		if trial.Study == "s" && !strings.HasPrefix(trial.Extra[study.ReusedFrom].Text, "trial ") {
			t.Errorf("%s does not say where it is from: %v", trial.Option, trial.Extra)
		}
	}
	if res, err = b.Confirm(t.Context(), 1); err != nil || res.Ran != 2 || res.Reused != 0 {
		t.Errorf("a confirmation of two measured %d and took over %d: %v", res.Ran, res.Reused, err)
	}
}

// withQuick is a study with a shorter workload beside the deciding one.
var withQuick = strings.Replace(small, "objective:", "  quick: {dataset: random, input: 8, output: 4, requests: 2}\ndecide_on: a\nobjective:", 1)

// What a model proposes rests on the figures alone: on a matrix whose best lies where two
// settings meet it gets there without going everywhere, and again by the same way.
func TestModelFindsWhatHelpsTogether(t *testing.T) {
	run := func(search string) (*bench, study.Result) {
		b := newBench(t, search)
		open := b.Open
		b.Open = func(ctx context.Context, engine string) (*study.Session, error) {
			s, err := open(ctx, engine)
			s.Engine = together{}
			return s, err
		}
		res, err := b.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return b, res
	}
	const search = "search: {strategy: model, seed: 1, matrix: {x: [null, 1], y: [null, 1], speed: [0, 1, 2, 3, 4, 5]}}\n"
	b, res := run(search)
	if got := res.Winner.Knobs.String(); got != "speed=5 x=1 y=1" {
		t.Errorf("winner %q", got)
	}
	if len(b.options()) > 18 {
		t.Errorf("%d of 24 configurations were tried: %v", len(b.options()), b.options())
	}
	again, _ := run(search)
	if diff := strings.Join(again.options(), ", "); diff != strings.Join(b.options(), ", ") {
		t.Errorf("another way the second time:\n%s\n%s", diff, strings.Join(b.options(), ", "))
	}
	few, _ := run(strings.Replace(search, "seed: 1", "samples: 4", 1))
	if got := len(few.options()); got != 5 {
		t.Errorf("baseline and %d candidates for samples: 4", got-1)
	}
}

// A model keeps away from what failed: of two values that do not start together only
// the first meeting is paid for.
func TestModelLearnsWhatFails(t *testing.T) {
	b := newBench(t, "search: {strategy: model, min_gain: 0.0001, matrix: {bad: [null, 1], speed: [1, 2, 3], width: [null, 1, 2]}}\n")
	res, err := b.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	failed := 0
	for _, trial := range b.m.trials {
		if trial.Status == core.StatusFailed {
			failed++
		}
	}
	if got := res.Winner.Knobs.String(); !strings.Contains(got, "speed=3") || failed > 4 {
		t.Errorf("winner %q after %d failed launches of 9 that would fail: %v", got, failed, b.options())
	}
}

// A screened search decides by short trials, gives up in the middle what is surely
// worse, and measures in full what it ends with.
func TestScreen(t *testing.T) {
	b := benchOf(t, withQuick+"search: {screen: {workload: quick}}\nrun: {repeats: 2}\nstages: [{name: a, try: [{speed: 8}, {speed: 1}]}, {name: b, try: [{width: 1}]}]\n")
	res, err := b.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := res.Winner.Knobs.String(); got != "speed=8" {
		t.Errorf("winner %q", got)
	}
	counts := map[string]int{}
	for _, trial := range b.m.trials {
		counts[fmt.Sprint(trial.Option, " ", trial.Workload.Name, " ", trial.Status)]++
		if trial.Status == core.StatusStopped && trial.FailureText == "" {
			t.Errorf("%s was stopped for no reason", trial.Option)
		}
	}
	want := map[string]int{
		"baseline quick ok": 6,
		"speed=8 quick ok":  4, "speed=8 quick stopped": 2, // surely better
		"speed=1 quick ok": 1, "speed=1 quick stopped": 5, // surely worse
		"width=1 quick ok":   6, // not to be told from the best
		"sim m speed=8 a ok": 2,
	}
	if !maps.Equal(counts, want) {
		t.Errorf("measured %v, want %v", counts, want)
	}
	if len(res.Tied) != 1 || res.Tied[0].Knobs.String() != "speed=8 width=1" || !strings.Contains(res.Basis, "on quick") {
		t.Errorf("tied %v by %q", res.Tied, res.Basis)
	}
	outline, err := study.NewOutline(t.Context(), b.File, b.Open, study.Durations{})
	if err != nil {
		t.Fatal(err)
	}
	if outline.AtMost != 5 || outline.Trials != 4*6+2 {
		t.Errorf("planned %d launches, %d trials", outline.AtMost, outline.Trials)
	}
	confirmed, err := b.Confirm(t.Context(), 2)
	if err != nil {
		t.Fatal(err)
	}
	if confirmed.Ran != 4 {
		t.Errorf("a confirmation measured %d trials, want winner and tie twice", confirmed.Ran)
	}
}

func TestRandomIsSeeded(t *testing.T) {
	draw := func(seed string) string {
		b := newBench(t, "search: {strategy: random, samples: 3, seed: "+seed+", matrix: {speed: [1, 2, 3, 4], width: [1, 2, 3]}}\n")
		if _, err := b.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		return strings.Join(b.options(), ",")
	}
	one := draw("1")
	if one != draw("1") || strings.Count(one, ",") != 3 {
		t.Errorf("seed 1 draws %s and %s", one, draw("1"))
	}
	differs := false
	for _, seed := range []string{"2", "3", "4"} {
		differs = differs || draw(seed) != one
	}
	if !differs {
		t.Error("four seeds draw the same")
	}
}

// together is an engine with a local optimum: each of the two knobs alone slows it
// down a little, both together make it fast.
type together struct{ fake }

func (e together) Benchmark(ctx context.Context, req core.BenchmarkRequest, sink core.Sink) error {
	x, y := req.Config.Knobs["x"].Num, req.Config.Knobs["y"].Num
	req.Config.Knobs = core.Knobs{"speed": core.Number(20 - 2*x - 2*y + 10*x*y + req.Config.Knobs["speed"].Num)}
	return e.fake.Benchmark(ctx, req, sink)
}

func TestLocalOptimum(t *testing.T) {
	for name, tc := range map[string]struct{ search, winner string }{
		"greedy is caught":            {"", ""},
		"a beam carries the slower":   {"search: {beam: 2}\n", "x=1 y=1"},
		"a second look needs one not": {"search: {second_look: true}\n", ""},
	} {
		b := newBench(t, tc.search+"stages: [{name: one, try: [{x: 1}]}, {name: two, try: [{y: 1}]}]\n")
		open := b.Open
		b.Open = func(ctx context.Context, engine string) (*study.Session, error) {
			s, err := open(ctx, engine)
			s.Engine = together{}
			return s, err
		}
		res, err := b.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got := res.Winner.Knobs.String(); got != tc.winner {
			t.Errorf("%s: winner %q, want %q", name, got, tc.winner)
		}
	}
	// Here the first choice is right only as long as the second is not made.
	b := newBench(t, "search: {second_look: true}\nstages: [{name: one, try: [{x: -1}]}, {name: two, try: [{y: 2}]}]\n")
	open := b.Open
	b.Open = func(ctx context.Context, engine string) (*study.Session, error) {
		s, err := open(ctx, engine)
		s.Engine = clashing{}
		return s, err
	}
	res, err := b.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := res.Winner.Knobs.String(); got != "y=2" || !slices.Contains(b.options(), "second look/one: without") {
		t.Errorf("after the second look: winner %q; tried %v", got, b.options())
	}
}

// clashing is an engine on which x helps, y helps more, and x costs where y is set.
type clashing struct{ fake }

func (e clashing) Benchmark(ctx context.Context, req core.BenchmarkRequest, sink core.Sink) error {
	x, y := req.Config.Knobs["x"].Num, req.Config.Knobs["y"].Num
	req.Config.Knobs = core.Knobs{"speed": core.Number(20 - 2*x + 6*y + 3*x*y)}
	return e.fake.Benchmark(ctx, req, sink)
}

func TestSearchFaults(t *testing.T) {
	for _, tc := range []struct{ search, want string }{
		{"search: {strategy: grit}", `unknown strategy "grit"; did you mean grid?`},
		{"search: {strategy: grid}", `:8:9: search: the strategy grid needs matrix`},
		{"search: {strategy: random, matrix: {a: [1, 2]}}", `the strategy random needs samples`},
		{"search: {strategy: list}", `the strategy list needs configs`},
		{"search: {strategy: grid, matrix: {a: [1]}, beam: 2}", `search.beam: the strategy grid has no beam; it takes matrix, exclude, race`},
		{"search: {strategy: grid, matrx: {a: [1]}}", `unknown key "matrx" in search; did you mean matrix?`},
		{"search: {strategy: grid, matrix: {a: []}}", `search.matrix.a: the axis has no values`},
		{"search: {strategy: grid, matrix: {a: [1, 1]}}", `search.matrix.a[1]: 1 stands twice`},
		{"search: {strategy: grid, matrix: {a: 1}}", `search.matrix.a: want a list, got "1"`},
		{"search: {strategy: grid, matrix: {model: [x]}}", `model is no axis`},
		{"search: {strategy: grid, matrix: {engine: [sim, vllm]}}", `engine "vllm" is not listed under engines`},
		{"search: {strategy: grid, matrix: {a: [1, 2]}, exclude: [{a: 3}]}", `search.exclude[0]: no configuration of the matrix is like this`},
		{"search: {strategy: grid, matrix: {a: [1]}, exclude: [{a: 1}]}", `nothing of the matrix is left`},
		{"search: {strategy: grid, matrix: {a: [1]}, exclude: [{}]}", `an empty exclusion would leave out everything`},
		{"search: {strategy: random, samples: 3, matrix: {a: [1, 2]}}", `search.samples: the matrix has 2 configurations`},
		{"search: {strategy: grid, matrix: {a: [1]}}\nstages: [{name: x, try: [{a: 1}]}]", `stages belong to the strategy staged`},
		{"search: {strategy: model}", `the strategy model needs matrix`},
		{"search: {strategy: model, matrix: {a: [1, 2]}, min_gain: 3}", `search.min_gain: want a share such as 0.5% or 0.005, got "3"`},
		{"search: {screen: {workload: b}}", `search.screen: no workload is named "b"`},
		{"search: {screen: {workload: a}}", `search.screen: a is what the study decides on`},
		{"search: {screen: {repeats: 2}}", `search.screen: workload is missing`},
		{"search: {beam: 0}", `search.beam: want a whole number of at least 1`},
		{"search: {strategy: grid, matrix: {" + axes(7) + "}}", `more than 10000 configurations`},
		{"run: {budget: {trials: 0}}", `run.budget.trials: want a whole number of at least 1`},
	} {
		if _, err := read(t, small+tc.search+"\n"); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s:\n got %v, want it to say %s", tc.search, err, tc.want)
		}
	}
}

func axes(n int) string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprintf("a%d: [1, 2, 3, 4]", i))
	}
	return strings.Join(out, ", ")
}
