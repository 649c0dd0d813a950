package study_test

import (
	"context"
	"fmt"
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
		"grid":   "search: {strategy: grid, " + matrix + "}",
		"random": "search: {strategy: random, samples: 4, seed: 7, " + matrix + "}",
		"list":   "search: {strategy: list, configs: [{speed: 4}, {speed: 9}, {speed: 4, width: 1}]}",
		"beam":   "search: {beam: 2, second_look: true}\nstages: [{name: a, try: [{speed: 2}, {speed: 3}]}, {name: b, try: [{width: 1}, {width: 2}]}, {name: c, try: [{speed: 6}]}]",
		"race":   "search: {strategy: grid, race: true, " + matrix + "}",
	} {
		t.Run(name, func(t *testing.T) {
			text := search + "\nrun: {repeats: 2}\n"
			whole := newBench(t, text)
			want, err := whole.Run(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for stopAfter := 1; stopAfter < len(whole.m.trials); stopAfter += 3 {
				b := newBench(t, text)
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
					if seen[key] {
						t.Errorf("stopped after %d: %s/%s repeat %d was measured twice", stopAfter, trial.Stage, trial.Option, trial.Repeat)
					}
					seen[key] = true
				}
			}
		})
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
