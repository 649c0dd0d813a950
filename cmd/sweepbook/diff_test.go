package main

import (
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/query"
	"github.com/sweepbook/sweepbook/store"
)

// One question of one history has one answer, whichever way it is read: trial by trial
// in memory, which is the reference; by columns from the store; and by the numbers of
// what trials share, with the rest only of the answer's rows.
//
// The test asks some pairs of history and question; make fuzz-diff N=1000000 asks many,
// with other seeds. A seed that ever showed a fault stays in diffSeeds.
func TestAnswersDoNotDepend(t *testing.T) {
	t.Parallel()
	pairs, seed := 1000, uint64(1)
	if s := os.Getenv("FUZZ_DIFF"); s != "" {
		var err error
		if pairs, err = strconv.Atoi(s); err != nil {
			t.Fatal(err)
		}
		seed = uint64(time.Now().UnixNano())
		t.Logf("seeds from %d", seed)
	}
	for _, s := range diffSeeds {
		diffHistory(t, s, 500)
	}
	answered, refused := 0, 0
	const each = 500
	for done := 0; done < pairs; done += each {
		a, r := diffHistory(t, seed, min(each, pairs-done))
		answered, refused = answered+a, refused+r
		if seed++; done%10_000 == 0 || done+each >= pairs {
			t.Logf("%d pairs: %d answered alike, %d refused alike", answered+refused, answered, refused)
		}
	}
	if answered < pairs/2 {
		t.Errorf("only %d of %d questions were answered: the generator says nothing", answered, pairs)
	}
}

// diffSeeds are seeds of histories that are asked every time.
var diffSeeds = []uint64{7, 20261201, 1796095669015874897}

// diffHistory makes the history of a seed and asks it n questions in all ways.
func diffHistory(t *testing.T, seed uint64, n int) (answered, refused int) {
	t.Helper()
	ctx := t.Context()
	r := rand.New(rand.NewPCG(seed, 1))
	dir, err := os.MkdirTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir) // a million pairs are two thousand histories
	path := filepath.Join(dir, "a.db")
	db, err := store.Open(ctx, path, store.Options{Now: func() time.Time { return diffNow }, User: "someone", SweepbookVersion: "0.1.0"})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	diffFill(t, db, r)
	var whole memory
	for trial, err := range db.AllTrials(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		whole.trials = append(whole.trials, trial)
	}
	if whole.names, err = db.Names(ctx); err != nil {
		t.Fatal(err)
	}
	if whole.history, err = db.History(ctx); err != nil {
		t.Fatal(err)
	}
	err = db.Snapshot(ctx, func(reading *store.Reading) error {
		for range n {
			text := question(r)
			opt := query.Options{Now: diffNow, Marks: r.IntN(4) == 0}
			want, wantErr := query.Run(ctx, whole, text, opt)
			ways := []query.Source{reading, columnsOnly{reading}}
			if r.IntN(20) == 0 {
				ways = append(ways, db)
			}
			for _, src := range ways {
				got, err := query.Run(ctx, src, text, opt)
				if fmt.Sprint(err) != fmt.Sprint(wantErr) {
					t.Fatalf("seed %d, %T: %s\n  error %v, in memory %v", seed, src, text, err, wantErr)
				}
				if !reflect.DeepEqual(got, want) {
					t.Fatalf("seed %d, %T: %s\n(-in memory +read):\n%s", seed, src, text, cmp.Diff(want, got))
				}
			}
			if wantErr != nil {
				refused++
			} else {
				answered++
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return answered, refused
}

var diffNow = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)

// columnsOnly hides that a source knows what trials share.
type columnsOnly struct{ query.Source }

// memory is a history of whole trials: every column is core.Trial.Value.
type memory struct {
	trials  []*core.Trial
	names   core.Names
	history core.History
}

func (m memory) History(context.Context) (core.History, error) { return m.history, nil }
func (m memory) Names(context.Context) (core.Names, error)     { return m.names, nil }
func (m memory) Requests(context.Context, core.ID, bool) ([]core.Sample, error) {
	return nil, nil // the questions of this test ask for none
}
func (m memory) Rows(_ context.Context, sel core.Select) iter.Seq2[[]core.Value, error] {
	return func(yield func([]core.Value, error) bool) {
		row := make([]core.Value, len(sel.Columns))
		for _, t := range m.trials {
			for i, name := range sel.Columns {
				row[i] = t.Value(name)
			}
			if !yield(row, nil) {
				return
			}
		}
	}
}

// diffFill writes trials of every kind: failed, open, simulated, tied, repeated,
// condemned, acknowledged, set by hand, retracted, without a time, and without this or
// that.
func diffFill(t *testing.T, db *store.DB, r *rand.Rand) {
	t.Helper()
	var launches []*core.Launch
	var trials []*core.Trial
	chance := func(n int) bool { return r.IntN(n) == 0 }
	n := []int{0, 1, 5, 30, 60, 90}[min(5, r.IntN(12))]
	for i := range n {
		tr := &core.Trial{ID: core.HashID(fmt.Sprint("diff ", r.Uint64())), Status: core.StatusOK, Figures: core.Figures{}}
		tr.Setup.Config = core.Config{Engine: pick(r, "vllm", "vllm", "sglang", "trtllm", ""), Model: pick(r, "m", "m", "other"), CommandKnown: !chance(3), Knobs: core.Knobs{}}
		if !chance(3) {
			tr.Setup.Config.Knobs["max_num_seqs"] = core.Number(pick(r, 64.0, 128, 256))
		}
		if chance(2) {
			tr.Setup.Config.Knobs["kv_cache_dtype"] = pick(r, core.String("fp8"), core.String("auto"), core.Number(8), core.Bool(true))
		}
		tr.Setup.EngineVersion = pick(r, "", "0.9.2", "0.10", "0.11.0rc1", "nightly")
		tr.Setup.GPU, tr.Setup.GPUs = pick(r, "", "H100", "H100", "B200"), pick(r, 0.0, 1, 2, 4)
		tr.Setup.Tool, tr.Setup.ToolVersion = pick(r, "sweepbook", "vllm-bench"), pick(r, "", "0.1", "0.2")
		tr.Setup.Simulated = chance(8)
		tr.Workload = pick(r, core.Workload{Name: "chat"}, core.Workload{Name: "chat"}, core.Workload{Name: "code", Dataset: "random", InputLen: core.Number(128), OutputLen: core.Number(4), IgnoreEOS: core.Bool(true)},
			core.Workload{})
		tr.Load = core.Load{Concurrency: pick(r, core.Number(1), core.Number(2), core.Number(4), core.Unlimited(), core.Missing()),
			RequestRate: pick(r, core.Unlimited(), core.Unlimited(), core.Number(8), core.Missing()), NumPrompts: pick(r, core.Number(20), core.Missing())}
		tr.Study, tr.Role = pick(r, "", "s1", "s2"), pick(r, core.RoleBaseline, core.RoleCandidate, "")
		tr.Stage, tr.Option, tr.Host = pick(r, "", "engine"), pick(r, "", "a", "b"), pick(r, "", "node-1", "node-2")
		tr.Tags = pick(r, nil, nil, []string{"gold"}, []string{"gold", "new"})
		if !chance(5) {
			tr.StartedAt = diffNow.Add(-time.Duration(r.IntN(40)) * 24 * time.Hour)
		}
		switch {
		case chance(3):
		case len(launches) > 0 && chance(2):
			tr.Launch = pick(r, launches...)
			tr.Setup = tr.Launch.Setup
		default:
			tr.Launch = &core.Launch{ID: core.HashID(fmt.Sprint("launch ", i, r.Uint64())), Setup: tr.Setup, Resolved: core.Knobs{},
				ReadyS: pick(r, core.Missing(), core.Number(60)), CompileWarm: pick(r, core.Missing(), core.Bool(true), core.Bool(false))}
			if chance(2) {
				tr.Launch.Resolved["max_num_seqs"] = core.Number(512)
			}
			launches = append(launches, tr.Launch)
		}
		switch r.IntN(12) {
		case 0, 1:
			tr.Status, tr.Failure = core.StatusFailed, core.OOMKV
		case 2:
			tr.Status = pick(r, core.StatusPlanned, core.StatusRunning, core.StatusStopped, core.StatusLost)
		}
		if tr.Status == core.StatusOK || chance(3) {
			for name, of := range map[string][]float64{"total_tps": {100, 200, 200, 300, 300.5, 0}, "output_tps": {50, 60}, "mean_ttft_ms": {10, 20, 30}, "p99_ttft_ms": {50, 100, 150, 200},
				"p75_ttft_ms": {40, 50}, "mean_tpot_ms": {5, 6.5}, "requested": {20, 20, 20, 25}, "completed": {18, 19, 20, 20}, "input_tokens": {1000, 2000}, "output_tokens": {500},
				"duration_s": {10, 20}, "energy_j": {100, 300}} {
				if !chance(5) {
					tr.Figures[name] = pick(r, of...)
				}
			}
		}
		tr.Throttled = pick(r, core.Missing(), core.Bool(true), core.Bool(false))
		if chance(3) {
			tr.Extra = map[string]core.Value{"x": pick(r, core.Number(1), core.Number(2), core.String("two"), core.Unset())}
		}
		if chance(3) {
			tr.Quality = map[string]core.Value{"gsm8k": core.Number(pick(r, 0.8, 0.9))}
		}
		if chance(4) {
			tr.Findings = []core.Finding{{Rule: pick(r, "A1", "A3x", "B4"), Version: 1, Severity: core.Severity(1 + r.IntN(4)),
				Metrics: pick(r, []string{"total_tps"}, []string{"p99_ttft_ms"}, []string{"*"}, nil), Evidence: "e"}}
		}
		trials = append(trials, tr)
	}
	ctx := t.Context()
	if _, err := db.Import(ctx, trials); err != nil {
		t.Fatal(err)
	}
	for _, tr := range trials {
		var err error
		switch r.IntN(25) {
		case 0:
			_, err = db.Set(ctx, []core.Assertion{{Trial: tr.ID, Verb: "set", Field: pick(r, "total_tps", "requested", "gpus"), New: core.Number(4), Why: "seen"}})
		case 1:
			_, err = db.Set(ctx, []core.Assertion{{Trial: tr.ID, Verb: "set", Field: pick(r, "study", "host", "role"), New: core.String("baseline"), Why: "seen"}})
		case 2:
			if !tr.Status.Open() {
				_, err = db.Set(ctx, []core.Assertion{{Trial: tr.ID, Verb: "retract", Why: "wrong"}})
			}
		case 3:
			_, err = db.Acknowledge(ctx, "A1", []core.ID{tr.ID}, "known")
		case 4:
			_, err = db.Delete(ctx, []core.ID{tr.ID}, "unwanted")
		}
		if err != nil && !strings.Contains(err.Error(), "not found") {
			t.Fatal(err)
		}
	}
}

var (
	diffFigures  = []string{"total_tps", "total_tps", "output_tps", "mean_ttft_ms", "p99_ttft_ms", "p75_ttft_ms", "success_rate", "completed", "findings", "total_tps_per_gpu", "duration_tps", "joules_per_output_token", "est_e2el_ms", "quality.gsm8k", "extra.x"}
	diffSettings = []string{"gpus", "concurrency", "request_rate", "num_prompts", "tp", "args.max_num_seqs", "input_len", "number", "ready_s", "repeat"}
	diffTexts    = []string{"engine", "model", "workload", "load", "study", "role", "status", "host", "gpu", "option", "compile_cache", "args.kv_cache_dtype", "tool", "tag", "stage", "setup", "config", "asserted", "failure", "launch"}
	diffVersions = []string{"engine_version", "tool_version"}
	diffTruths   = []string{"simulated", "ignore_eos", "throttled", "sound(total_tps)", "sound(p99_ttft_ms / 2)", "missing(requested)", "known(gpus)"}
)

// question is a random one; most mean something.
func question(r *rand.Rand) string {
	maybe := func(n int, format string, args ...func() string) string {
		if r.IntN(n) > 0 {
			return ""
		}
		var texts []any
		for _, arg := range args {
			texts = append(texts, arg())
		}
		return " " + fmt.Sprintf(format, texts...)
	}
	number := func() string { return diffNumber(r, 2) }
	condition := func() string { return diffCondition(r, 3) }
	key := func() string {
		switch r.IntN(8) {
		case 0:
			return pick(r, diffSettings...)
		case 1:
			return pick(r, diffVersions...)
		case 2:
			return pick(r, "bin(total_tps, 100)", "simulated", "total_tps > 200", "engine == \"vllm\"", "started_at")
		}
		return pick(r, diffTexts...)
	}
	keys := func() string {
		if r.IntN(3) == 0 {
			if a, b := key(), key(); a != b {
				return a + ", " + b
			}
		}
		return key()
	}
	goal := func() string { return pick(r, "max ", "min ") + pick(r, diffFigures[:12]...) }
	where := func() string { return maybe(2, "where %s", condition) }
	by := func() string { return maybe(2, "by %s", keys) }
	per := func() string { return maybe(3, "per %s", func() string { return pick(r, "setup", "config") }) }
	vs := func() string {
		return maybe(4, "vs %s", func() string {
			return pick(r, "role == \"baseline\"", "engine == \"vllm\"", "option == \"a\"", condition()) + maybe(3, "on %s", keys)
		})
	}
	number2 := func() string { return strconv.Itoa(1 + r.IntN(4)) }
	top := func() string { return maybe(4, "top %s", number2) }
	limit := func() string { return maybe(5, "limit %s", number2) }
	switch r.IntN(12) {
	case 0, 1, 2, 3:
		value := number
		if r.IntN(3) > 0 {
			value = func() string { return pick(r, diffFigures...) }
		}
		text := pick(r, "max ", "min ") + value() + where() + by() + per()
		switch r.IntN(6) {
		case 0:
			return text + vs() + maybe(3, "order by gain desc")
		case 1:
			return text + maybe(2, "over %s", key) + top()
		case 2:
			return text + " within noise" + top()
		}
		return text + vs() + maybe(5, "having %s", func() string { return "count() > " + number2() }) + maybe(5, "prefer %s", goal) + maybe(6, "within 10%%") + top() + limit()
	case 4, 5:
		return "pareto " + goal() + ", " + goal() + where() + by() + per() + maybe(4, "vs role == \"baseline\"") + limit()
	case 6, 7:
		columns := "number"
		for range 1 + r.IntN(3) {
			columns += ", " + pick(r, key(), number(), pick(r, diffFigures...)) + maybe(8, "as c%s", number2)
		}
		return "show " + columns + where() + maybe(4, "by %s", keys) + per() + maybe(3, "order by %s", func() string { return pick(r, "number", "total_tps desc", "started_at", key()) }) + top() + limit()
	case 8:
		aggregates := pick(r, "median", "mean", "max", "min", "sum", "stdev", "count") + "(" + pick(r, diffFigures...) + "), count()" +
			maybe(3, ", p(%s, 90)", func() string { return pick(r, diffFigures...) }) + maybe(3, ", any(%s)", condition)
		return "show " + aggregates + where() + by() + per() + maybe(4, "having %s", func() string { return "count() > " + number2() }) + limit()
	case 9:
		return "count" + where() + by() + per()
	case 10:
		return pick(r, "first ", "last ") + pick(r, diffFigures[:8]...) + pick(r, " > ", " < ") + pick(r, "20", "100", "0.9", "200") + " along " + pick(r, diffSettings[1:6]...) + where() + maybe(3, "by %s", keys) + per() + top()
	}
	if r.IntN(2) == 0 {
		return "at " + pick(r, diffFigures[:6]...) + " == " + pick(r, "25", "150", "250") + " along " + pick(r, diffSettings[1:6]...) + where() + maybe(3, "by %s", keys) + per()
	}
	return "change " + pick(r, diffFigures[:8]...) + " along " + pick(r, "concurrency", "started_at", "engine_version", "gpus") + where() + maybe(3, "by %s", keys) + per()
}

func diffNumber(r *rand.Rand, depth int) string {
	if depth == 0 || r.IntN(3) == 0 {
		switch r.IntN(4) {
		case 0:
			return pick(r, "0", "2", "20", "100", "0.9", "unlimited")
		case 1:
			return pick(r, diffSettings...)
		}
		return pick(r, diffFigures...)
	}
	a, b := diffNumber(r, depth-1), diffNumber(r, depth-1)
	switch r.IntN(7) {
	case 0:
		return "max(" + a + ", " + b + ")"
	case 1:
		return "(" + diffCondition(r, 1) + " ? " + a + " : " + b + ")"
	case 2:
		return "(" + a + " ?? " + b + ")"
	}
	return "(" + a + " " + pick(r, "+", "-", "*", "/", "%") + " " + b + ")"
}

func diffCondition(r *rand.Rand, depth int) string {
	if depth > 0 && r.IntN(3) > 0 {
		a, b := diffCondition(r, depth-1), diffCondition(r, depth-1)
		switch r.IntN(5) {
		case 0:
			return "not (" + a + ")"
		case 1:
			return "(" + a + " or " + b + ")"
		}
		return a + " and " + b
	}
	switch r.IntN(9) {
	case 0:
		return pick(r, diffTruths...)
	case 1:
		return pick(r, diffTexts...) + pick(r, " == ", " != ") + pick(r, `"vllm"`, `"m"`, `"chat"`, `"ok"`, `"failed"`, `"baseline"`, `"fp8"`, `"warm"`, `"s1"`, `"c=2"`)
	case 2:
		return pick(r, diffTexts...) + pick(r, ` in ["vllm", "sglang", "chat"]`, ` matches "^[a-m]"`, ` contains "l"`, ` startsWith "c="`, ` not in ["s1", "H100"]`)
	case 3:
		return pick(r, diffVersions...) + pick(r, " < ", " >= ", " == ", " != ") + pick(r, `"0.10"`, `"0.9.2"`, `"nightly"`)
	case 4:
		return pick(r, "started_at > now() - days(20)", `started_at < "2026-11-20"`, "missing(started_at)")
	case 5:
		return pick(r, "success_rate == 1", "success_rate > 0.9", "total_tps >= 200", "concurrency == unlimited", "gpus in [1, 2]")
	}
	return diffNumber(r, 1) + pick(r, " < ", " <= ", " > ", " >= ", " == ", " != ") + diffNumber(r, 1)
}
