package study_test

import (
	"context"
	"errors"
	"hash/fnv"
	"strings"
	"testing"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/core/study"
)

// noisy is an engine whose measurements scatter by up to 2 % either way, by a hash
// of configuration and seed. The knob x scatters and changes nothing.
type noisy struct{ fake }

func (e noisy) Benchmark(ctx context.Context, req core.BenchmarkRequest, sink core.Sink) error {
	h := fnv.New64a()
	_, _ = h.Write([]byte(req.Config.Hash() + req.Load.Seed.String()))
	scatter := float64(h.Sum64()%4001)/1000 - 2 // percent
	speed := req.Config.Knobs["speed"].Num
	req.Config.Knobs = core.Knobs{"speed": core.Number((10_000 + speed) * (1 + scatter/100))}
	return e.fake.Benchmark(ctx, req, sink)
}

func newNoisy(t *testing.T, stages string) *bench {
	b := newBench(t, stages)
	open := b.Open
	b.Open = func(ctx context.Context, engine string) (*study.Session, error) {
		s, err := open(ctx, engine)
		s.Engine = noisy{}
		return s, err
	}
	return b
}

// Sixteen configurations that are the same: one leads by luck, and with repeats it is
// seen that it does. Without repeats nobody can know.
func TestLuckIsNoReasonToChange(t *testing.T) {
	const same = "search: {strategy: grid, matrix: {x: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]}}\n"
	b := newNoisy(t, same+"run: {repeats: 3}\n")
	res, err := b.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if res.Winner.Hash() != res.Baseline.Hash() || len(res.Tied) == 0 {
		t.Errorf("winner %v with %d ties, want the baseline: all are equal", res.Winner.Knobs, len(res.Tied))
	}
	if all := strings.Join(b.events, "\n"); !strings.Contains(all, "inside the noise (one measurement varies by") {
		t.Error(all)
	}
	lucky := newNoisy(t, same)
	if res, err = lucky.Run(t.Context()); err != nil || res.Winner.Hash() == res.Baseline.Hash() {
		t.Errorf("one measurement each: winner %v, %v; a figure is all that is known", res.Winner.Knobs, err)
	}
	if len(res.Tied) == 0 || !strings.Contains(res.Basis, "assumed") {
		t.Errorf("ties by an assumed noise: %d, %s", len(res.Tied), res.Basis)
	}
}

func TestARealGainIsAdopted(t *testing.T) {
	b := newNoisy(t, "stages: [{name: one, try: [{speed: 1500}, {speed: 30, x: 1}]}, {name: two, try: [{x: 1}, {speed: 3000}]}]\nrun: {repeats: 4}\n")
	res, err := b.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := res.Winner.Knobs.String(); got != "speed=3000" || len(res.Tied) > 0 {
		t.Errorf("winner %q, tied %v", got, res.Tied)
	}
}

func TestConfirm(t *testing.T) {
	const stages = "search: {strategy: list, configs: [{x: 1}, {speed: 2000}, {speed: 2000, x: 2}]}\nrun: {repeats: 2}\n"
	b := newNoisy(t, stages)
	if _, err := b.Confirm(t.Context(), 2); !errors.Is(err, study.ErrUnfinished) || len(b.m.trials) > 0 {
		t.Fatalf("confirmed what was never searched: %v, %d trials", err, len(b.m.trials))
	}
	res, err := b.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(res.Tied) != 1 || res.Winner.Knobs["speed"].Num != 2000 {
		t.Fatalf("winner %v, tied %v: want the two fast ones", res.Winner.Knobs, res.Tied)
	}
	searched, launched := len(b.m.trials), b.ran
	b.events = nil
	res, err = b.Confirm(t.Context(), 4)
	if err != nil {
		t.Fatal(err)
	}
	var order []string
	for _, trial := range b.m.trials[searched:] {
		if trial.Stage != "confirmation" || trial.Role != core.RoleVerification || trial.Repeat < 3 {
			t.Errorf("trial %s/%s repeat %d %s", trial.Stage, trial.Option, trial.Repeat, trial.Role)
		}
		order = append(order, trial.Option)
	}
	first, second := order[0], order[1]
	if want := []string{first, second, second, first, first, second, second, first}; strings.Join(order, ",") != strings.Join(want, ",") || first == second {
		t.Errorf("order %v, want the two in turns", order)
	}
	if b.ran-launched != 8 || res.Ran != 8 {
		t.Errorf("%d launches, %d trials; want 8 of each", b.ran-launched, res.Ran)
	}
	if all := strings.Join(b.events, "\n"); strings.Count(all, " in 4 confirmations") != 2 {
		t.Error(all)
	}
	// Asked again it has nothing to do, and neither has the search: what it decided
	// does not change by what came later.
	again, err := b.Confirm(t.Context(), 4)
	if err != nil || again.Ran != 0 || again.Winner.Hash() != res.Winner.Hash() {
		t.Errorf("a second time: %d trials, winner %v, %v", again.Ran, again.Winner.Knobs, err)
	}
	if after, err := b.Run(t.Context()); err != nil || after.Ran != 0 || after.Winner.Hash() != res.Winner.Hash() {
		t.Errorf("run after it: %d trials, winner %v, %v", after.Ran, after.Winner.Knobs, err)
	}
}

// winnersOnly is a judge of an objective that says itself what ties: within 10 %.
type winnersOnly struct{ highest }

func (winnersOnly) Rank(context.Context, string, []core.ID) (study.Ranking, error) {
	return study.Ranking{}, study.ErrUnranked
}

func (w winnersOnly) Best(ctx context.Context, objective string, among []core.ID) ([]core.ID, error) {
	r, err := w.highest.Rank(ctx, objective, among)
	var best []core.ID
	for _, row := range r.Rows {
		if row.Value >= 0.9*r.Rows[0].Value {
			best = append(best, row.Trial)
		}
	}
	return best, err
}

// What the objective calls a tie is one, and the simpler configuration stays.
func TestObjectiveWithTiesOfItsOwn(t *testing.T) {
	b := newBench(t, "stages: [{name: one, try: [{speed: 100}]}, {name: two, try: [{speed: 105}, {speed: 200}]}, {name: three, try: [{speed: 205}]}]\n")
	b.Judge = winnersOnly{highest{b.m}}
	res, err := b.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if res.Winner.Knobs["speed"].Num != 200 || len(res.Tied) != 1 || res.Tied[0].Knobs["speed"].Num != 205 {
		t.Errorf("winner %v, tied %v", res.Winner.Knobs, res.Tied)
	}
	b.File.Study.Search.Race = true
	if err := study.Check(t.Context(), b.File, b.Judge); !errors.Is(err, study.ErrUnranked) || !strings.Contains(err.Error(), "search.race") {
		t.Errorf("a race needs an order: %v", err)
	}
}

func TestNothingToConfirm(t *testing.T) {
	b := newNoisy(t, "search: {strategy: list, configs: [{speed: 5000}]}\nrun: {repeats: 3}\n")
	if _, err := b.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.events = nil
	res, err := b.Confirm(t.Context(), 3)
	if err != nil || res.Ran != 0 || !strings.Contains(strings.Join(b.events, "\n"), "nothing to confirm") {
		t.Errorf("%+v, %v: %v", res, err, b.events)
	}
}

func TestPruned(t *testing.T) {
	// A context of 4 does not fit, so that none above it does; another setting that
	// differs too proves nothing.
	b := newBench(t, `search: {strategy: list, configs: [{context_len: 4, fail: oom_kv}, {context_len: 8, fail: oom_kv},
  {context_len: 2, fail: oom_kv}, {context_len: 8, width: 1, fail: oom_kv}, {context_len: 16, fail: oom_kv}]}
run: {repeats: 2}
`)
	if _, err := b.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, trial := range b.m.trials {
		if trial.Repeat == 1 && trial.Stage == "list" {
			got = append(got, trial.Option+": "+string(trial.Status)+" "+string(trial.Failure))
		}
		if trial.Status == core.StatusStopped && !strings.Contains(trial.FailureText, "failed (oom_kv) with the same configuration but context_len=") {
			t.Errorf("reason: %q", trial.FailureText)
		}
	}
	want := `context_len=4 fail=oom_kv: failed oom_kv
context_len=8 fail=oom_kv: stopped oom_kv
context_len=2 fail=oom_kv: failed oom_kv
context_len=8 fail=oom_kv width=1: failed oom_kv
context_len=16 fail=oom_kv: stopped oom_kv`
	if strings.Join(got, "\n") != want {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), want)
	}
	if b.ran != 4 {
		t.Errorf("%d launches, want 4: the baseline and what failed", b.ran)
	}
	if res, err := b.Run(t.Context()); err != nil || res.Ran != 0 || b.ran != 4 {
		t.Errorf("again: %d trials, %d launches, %v", res.Ran, b.ran, err)
	}
}

// Other failures prove nothing, whatever else is asked.
func TestNotPruned(t *testing.T) {
	b := newBench(t, "search: {strategy: list, configs: [{context_len: 4, fail: crash}, {context_len: 8, fail: crash}]}\n")
	if _, err := b.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if b.ran != 3 {
		t.Errorf("%d launches, want 3", b.ran)
	}
}

func TestRace(t *testing.T) {
	b := newNoisy(t, "search: {strategy: list, race: true, configs: [{speed: 9000}, {x: 1}, {speed: 9000, x: 2}, {speed: 12000}]}\nrun: {repeats: 4}\n")
	res, err := b.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if res.Winner.Knobs["speed"].Num != 12000 {
		t.Errorf("winner %v", res.Winner.Knobs)
	}
	ok := map[string]int{}
	for _, trial := range b.m.trials {
		switch trial.Status {
		case core.StatusOK:
			ok[trial.Option]++
		case core.StatusStopped:
			if !strings.Contains(trial.FailureText, "raced out: ") || trial.Failure != "" {
				t.Errorf("%s: %s %q", trial.Option, trial.Failure, trial.FailureText)
			}
		}
	}
	if ok["x=1"] != 1 || ok["speed=9000 x=2"] != 4 || ok["speed=12000"] != 4 {
		t.Errorf("measured %v: want the loser once, equals and better ones in full", ok)
	}
}

func TestBudgetOfTrials(t *testing.T) {
	b := newBench(t, "search: {strategy: grid, matrix: {speed: [1, 2, 3, 4]}}\nrun: {budget: {trials: 3}}\n")
	for range 2 {
		if _, err := b.Run(t.Context()); !errors.Is(err, study.ErrBudget) || !strings.Contains(err.Error(), "3 of 3 trials") {
			t.Errorf("got %v, want ErrBudget", err)
		}
	}
	if len(b.m.trials) != 3 {
		t.Errorf("%d trials, want 3", len(b.m.trials))
	}
}
