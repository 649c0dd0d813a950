package report_test

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/query/report"
)

// memory is a history made of trials. It selects nothing by itself, as a source
// may, except that it honours sel.Where for equality.
type memory struct {
	trials  []*core.Trial
	quality []string // names that the history records
}

func (m *memory) History(context.Context) (core.History, error) {
	return core.History{ID: "0192f3a1-0000-7000-8000-000000000001", Trials: len(m.trials)}, nil
}

func (m *memory) Names(context.Context) (core.Names, error) {
	seen := map[string]bool{}
	for _, t := range m.trials {
		for name := range t.Setup.Config.Knobs {
			seen[name] = true
		}
	}
	return core.Names{Knobs: slices.Sorted(maps.Keys(seen)), Quality: m.quality}, nil
}

func (*memory) Requests(context.Context, core.ID, bool) ([]core.Sample, error) { return nil, nil }

func (m *memory) Rows(_ context.Context, sel core.Select) iter.Seq2[[]core.Value, error] {
	return func(yield func([]core.Value, error) bool) {
		if len(sel.Where) > 0 {
			yield(nil, fmt.Errorf("the test's source carries no conditions: %v", sel.Where))
			return
		}
		row := make([]core.Value, len(sel.Columns))
		for _, t := range m.trials {
			for i, c := range sel.Columns {
				row[i] = t.Value(c)
			}
			if !yield(row, nil) {
				return
			}
		}
	}
}

// add records a trial with the next number, a minute after the last.
func (m *memory) add(t core.Trial) *core.Trial {
	n := len(m.trials) + 1
	t.Number = int64(n)
	t.ID = core.HashID(fmt.Sprint("trial ", n))
	if t.Status == "" {
		t.Status = core.StatusOK
	}
	if t.StartedAt.IsZero() {
		t.StartedAt = time.Date(2026, 11, 3, 8, n, 0, 0, time.UTC)
	}
	t.Derive()
	m.trials = append(m.trials, &t)
	return &t
}

func workload(name string) core.Workload {
	return core.Workload{Name: name, Dataset: name}
}

func setup(engine, checkpoint string, knobs core.Knobs) core.Setup {
	return core.Setup{
		Config:        core.Config{Engine: engine, Model: "Qwen/Qwen3-32B", Checkpoint: checkpoint, Knobs: knobs, CommandKnown: true},
		EngineVersion: map[string]string{"vllm": "0.11.0", "sglang": "0.5.5.post1", "trtllm": "1.2.0rc1"}[engine],
		GPU:           "NVIDIA H100 80GB HBM3", GPUs: 1, Tool: "sweepbook", ToolVersion: "1.0.0", Driver: "550.54.15",
	}
}

// figures are those of a serving benchmark: completed of requested, rates and latencies.
func figures(requested, completed, total, output, ttft, tpot float64) core.Figures {
	return core.Figures{"requested": requested, "completed": completed, "total_tps": total, "output_tps": output,
		"mean_ttft_ms": ttft, "median_ttft_ms": ttft * 0.9, "mean_tpot_ms": tpot, "median_tpot_ms": tpot * 0.98}
}

var load = core.Load{RequestRate: core.Unlimited(), NumPrompts: core.Number(1000)}

// stagedStudy has the shape of a real one: three stages, repeats, a failure, a
// trial that does not qualify, a finding, and verification on two more workloads.
// Its throughputs are those of a published tuning report.
func stagedStudy() (*memory, *core.Study) {
	m := &memory{}
	base := setup("vllm", "", nil)
	chunked := core.Knobs{"context_len": core.Number(40960), "chunked_prefill": core.Bool(true)}
	best := setup("trtllm", "Qwen/Qwen3-32B-FP8", chunked)
	study := core.Trial{Study: "qwen3-32b-throughput", Workload: workload("sharegpt"), Load: load, SweepbookVersion: "1.0.0"}
	with := func(s core.Setup, stage, option string, role core.Role, f core.Figures) core.Trial {
		t := study
		t.Setup, t.Stage, t.Option, t.Role, t.Figures = s, stage, option, role, f
		return t
	}
	m.add(with(base, "engine", "engine=vllm", core.RoleBaseline, figures(1000, 1000, 2352.82, 1106.2, 30519.1, 88.09)))
	m.add(with(base, "engine", "engine=vllm", core.RoleBaseline, figures(1000, 1000, 2349.1, 1104.4, 30611.4, 88.3)))
	m.add(with(setup("sglang", "", nil), "engine", "engine=sglang", core.RoleCandidate, figures(1000, 1000, 1690.84, 795, 44102.7, 57.86)))
	m.add(with(setup("trtllm", "", nil), "engine", "engine=trtllm", core.RoleCandidate, figures(1000, 1000, 2659.5, 1250.3, 29101.5, 91.4)))
	m.add(with(setup("trtllm", "Qwen/Qwen3-32B-FP8", nil), "quantization", "checkpoint=Qwen/Qwen3-32B-FP8", core.RoleCandidate,
		figures(1000, 1000, 4005.32, 1883.1, 17010.2, 150.2)))
	t := with(setup("trtllm", "Qwen/Qwen3-32B-FP8", core.Knobs{"kv_cache_dtype": core.String("nvfp4")}), "quantization",
		"kv_cache_dtype=nvfp4", core.RoleCandidate, nil)
	t.Status, t.Failure = core.StatusFailed, core.Unsupported
	m.add(t)
	f := with(setup("trtllm", "Qwen/Qwen3-32B-FP8", core.Knobs{"max_num_seqs": core.Number(4096)}), "chunked prefill", "max_num_seqs=4096",
		core.RoleCandidate, figures(1000, 990, 4350, 2040, 15100, 170))
	m.add(f)
	win := with(best, "chunked prefill", "context_len=40960 chunked_prefill=true", core.RoleCandidate, figures(1000, 1000, 4284.68, 2014.4, 15002.9, 158.64))
	win.Findings = []core.Finding{{Rule: "A13", Version: 1, Severity: core.SeverityNote, Metrics: []string{"peak_output_tps"}, Evidence: "peak below mean"}}
	m.add(win)
	for _, v := range []struct {
		name          string
		before, after core.Figures
	}{
		{"short", figures(1000, 1000, 10990.1, 332.1, 3102.2, 1169.72), figures(1000, 1000, 14002.7, 423.9, 2510.9, 890.11)},
		{"long", figures(500, 500, 5310.9, 252.6, 41011.2, 66.61), figures(500, 500, 7190.3, 342.1, 30120.4, 138.75)},
	} {
		for _, side := range []struct {
			s      core.Setup
			option string
			f      core.Figures
		}{{base, "baseline", v.before}, {best, "winner", v.after}} {
			t := with(side.s, "verify", side.option, core.RoleVerification, side.f)
			t.Workload = workload(v.name)
			m.add(t)
		}
	}
	other := study
	other.Study, other.Setup, other.Figures = "another", base, figures(10, 10, 99999, 1, 1, 1)
	m.add(other)
	def := &core.Study{
		Name: "qwen3-32b-throughput", Model: "Qwen/Qwen3-32B", Hardware: core.Hardware{GPU: "NVIDIA H100 80GB HBM3", GPUs: 1},
		Workloads: []core.NamedWorkload{{Workload: workload("sharegpt")}, {Workload: workload("short")}, {Workload: workload("long")}},
		Objective: "max total_tps where success_rate == 1", DecideOn: "sharegpt", Baseline: base.Config,
		Stages: []core.Stage{
			{Name: "engine", Try: []core.Option{{Name: "engine=vllm", Change: core.Config{Engine: "vllm"}}, {Name: "engine=sglang", Change: core.Config{Engine: "sglang"}},
				{Name: "engine=trtllm", Change: core.Config{Engine: "trtllm"}}}},
			{Name: "quantization", Try: []core.Option{{Name: "checkpoint=Qwen/Qwen3-32B-FP8", Change: core.Config{Checkpoint: "Qwen/Qwen3-32B-FP8"}}}},
			{Name: "chunked prefill", When: `engine == "trtllm"`, Try: []core.Option{{Name: "context_len=40960 chunked_prefill=true", Change: core.Config{Knobs: chunked}}}},
		},
	}
	return m, def
}

// importedStudy has no definition: no stage, no option, one baseline by the
// source's own word, a curve over concurrency with a failed load.
func importedStudy() *memory {
	m := &memory{}
	for _, c := range []struct {
		engine      string
		role        core.Role
		concurrency float64
		total       float64
	}{
		{"vllm", core.RoleBaseline, 1, 272.95}, {"vllm", core.RoleBaseline, 2, 528.35}, {"vllm", core.RoleBaseline, 4, 1020.76}, {"vllm", core.RoleBaseline, 8, 1884.42},
		{"sglang", "", 1, 688.51}, {"sglang", "", 2, 1204.57}, {"sglang", "", 4, 0}, {"sglang", "", 8, 3366.71},
	} {
		t := core.Trial{Study: "qwen3-8b-latency", Role: c.role, Setup: setup(c.engine, "", core.Knobs{"max_num_seqs": core.Number(8 * float64(len(c.engine)))}), Workload: core.Workload{Dataset: "sharegpt"},
			Load: core.Load{Concurrency: core.Number(c.concurrency), RequestRate: core.Unlimited(), NumPrompts: core.Number(100)}, Host: "gpu-1"}
		t.Setup.Config.Model = "Qwen/Qwen3-8B"
		t.Setup.Tool, t.Setup.ToolVersion, t.Setup.Driver = "vllm-bench", "", ""
		t.Figures = figures(100, 100, c.total, c.total*0.49, 60*c.concurrency, 7+c.concurrency/10)
		if c.total == 0 {
			t.Figures = core.Figures{"completed": 0, "failed": 100}
		}
		m.add(t)
	}
	return m
}

// details answers for the commands as a history would.
func details(m *memory) func(context.Context, string) (report.Details, error) {
	return func(_ context.Context, id string) (report.Details, error) {
		for _, t := range m.trials {
			if t.ID.String() != id {
				continue
			}
			d := report.Details{Serve: "trtllm-serve Qwen/Qwen3-32B-FP8 \\\n    --max_seq_len 40960 --enable_chunked_prefill",
				Bench: "sweepbook bench --workload sharegpt --requests 1000"}
			d.Findings = t.Findings
			if t.Failure != "" {
				d.FailureLine = "ValueError: kv_cache_dtype 'nvfp4' | not supported on sm_90"
			}
			return d, nil
		}
		return report.Details{}, fmt.Errorf("trial %s: %w", id, core.ErrNotFound)
	}
}
