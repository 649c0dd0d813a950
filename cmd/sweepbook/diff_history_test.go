package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/store"
)

// diffFill writes trials of every kind: failed, open, simulated, tied, repeated,
// condemned, acknowledged, set by hand, retracted, without a time, and without this or
// that. It gives the samples of those that have any.
func diffFill(t *testing.T, db *store.DB, r *rand.Rand) map[core.ID][]core.Sample {
	t.Helper()
	var launches []*core.Launch
	var trials []*core.Trial
	chance := func(n int) bool { return r.IntN(n) == 0 }
	n := pick(r, 0, 1, 5, 12, 20, 30, 30, 60, 90)
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
	samples := map[core.ID][]core.Sample{}
	for _, tr := range trials {
		err := diffCorrect(ctx, db, tr, r)
		if err == nil && chance(4) {
			made := diffSamples(r)
			if err = db.ImportSamples(ctx, tr.ID, made); err == nil && len(made) > 0 {
				samples[tr.ID] = made
			}
		}
		if err != nil && !strings.Contains(err.Error(), "not found") {
			t.Fatal(err)
		}
	}
	return samples
}

// diffCorrect is what a person may do to a trial afterwards.
func diffCorrect(ctx context.Context, db *store.DB, tr *core.Trial, r *rand.Rand) (err error) {
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
	return err
}

// diffSamples are a few requests: good ones, of one token, in one chunk, failed, cut off,
// with chunks or without.
func diffSamples(r *rand.Rand) []core.Sample {
	const ms = time.Millisecond
	out := make([]core.Sample, r.IntN(6))
	chunks := r.IntN(2) == 0
	for i := range out {
		due := time.Duration(i) * 10 * ms
		s := core.Sample{Index: i, Due: due, Sent: due + pick(r, 0, 2*ms), First: core.NoTime, Last: core.NoTime,
			InputTokens: 100, CachedTokens: pick(r, -1, 0, 64), OutputTokens: -1, RequestedOutput: pick(r, -1, 4)}
		switch r.IntN(6) {
		case 0:
			s.Outcome, s.End, s.Error = core.OutcomeFailed, s.Sent+ms, "refused"
		case 1:
			s.Outcome, s.End = core.OutcomeIncomplete, s.Sent+ms
		default:
			s.OutputTokens = pick(r, 1, 2, 4, 4)
			s.First = s.Sent + pick(r, 20*ms, 50*ms, 120*ms)
			s.Last = s.First
			for at := range s.OutputTokens {
				if at > 0 {
					s.Last += pick(r, 0, 5*ms, 6*ms, 9*ms)
				}
				if chunks {
					s.Chunks = append(s.Chunks, s.Last)
				}
			}
			s.End = s.Last + ms
		}
		out[i] = s
	}
	return out
}
