package study

import (
	"testing"
	"time"

	"github.com/sweepbook/sweepbook/core"
)

// Each thing that is not equal, or not known, keeps a trial from being taken over.
func TestReusable(t *testing.T) {
	now := time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)
	trial := func() *core.Trial {
		return &core.Trial{Status: core.StatusOK, Host: "h", StartedAt: now.Add(-time.Hour), Extra: map[string]core.Value{},
			Setup:    core.Setup{Config: core.Config{Engine: "sim"}, EngineVersion: "1.0", GPU: "H100", GPUs: 1, Tool: "sweepbook", ToolVersion: "1"},
			Workload: core.Workload{Dataset: "random", InputLen: core.Number(8)}, Load: core.Load{Concurrency: core.Number(4), Seed: core.Number(1)}}
	}
	for name, tc := range map[string]struct {
		change func(old, planned *core.Trial)
		want   string
	}{
		"equal":             {func(_, _ *core.Trial) {}, ""},
		"another seed":      {func(old, _ *core.Trial) { old.Load.Seed = core.Number(9) }, ""},
		"failed":            {func(old, _ *core.Trial) { old.Status = core.StatusFailed }, notThis},
		"a copy":            {func(old, _ *core.Trial) { old.Extra[ReusedID] = core.String("x") }, notThis},
		"other knobs":       {func(old, _ *core.Trial) { old.Setup.Config.Engine = "vllm" }, notThis},
		"another load":      {func(old, _ *core.Trial) { old.Load.Concurrency = core.Number(5) }, notThis},
		"another workload":  {func(old, _ *core.Trial) { old.Workload.InputLen = core.Number(9) }, notThis},
		"another tool":      {func(old, _ *core.Trial) { old.Setup.Tool = "guidellm" }, "another ruler"},
		"an older ruler":    {func(old, _ *core.Trial) { old.Setup.ToolVersion = "0" }, "another ruler"},
		"old":               {func(old, _ *core.Trial) { old.StartedAt = now.Add(-50 * time.Hour) }, "too old"},
		"of no time":        {func(old, _ *core.Trial) { old.StartedAt = time.Time{} }, "too old"},
		"from the future":   {func(old, _ *core.Trial) { old.StartedAt = now.Add(time.Hour) }, "too old"},
		"another image":     {func(old, _ *core.Trial) { old.Setup.Image = "i" }, "another image"},
		"more GPUs":         {func(old, _ *core.Trial) { old.Setup.GPUs = 2 }, "another number of GPUs"},
		"other data":        {func(old, _ *core.Trial) { old.Extra["data_sha256"] = core.String("a") }, "other data"},
		"other weights":     {func(_, p *core.Trial) { p.Extra["checkpoint_revision"] = core.String("a") }, "another revision of the checkpoint"},
		"another version":   {func(old, _ *core.Trial) { old.Setup.EngineVersion = "1.1" }, "engine version differs"},
		"unknown version":   {func(_, p *core.Trial) { p.Setup.EngineVersion = "" }, "engine version is not known"},
		"another GPU":       {func(old, _ *core.Trial) { old.Setup.GPU = "H200" }, "GPU differs"},
		"unknown GPU":       {func(old, p *core.Trial) { old.Setup.GPU, p.Setup.GPU = "", "" }, "GPU is not known"},
		"another host":      {func(old, _ *core.Trial) { old.Host = "g" }, "host differs"},
		"doubted":           {func(old, _ *core.Trial) { old.Findings = []core.Finding{{Rule: "E14", Severity: core.SeverityHard}} }, "the audit doubts it"},
		"doubted and acked": {func(old, _ *core.Trial) { old.Findings = []core.Finding{{Severity: core.SeverityHard, Ack: "known"}} }, ""},
	} {
		old, planned := trial(), trial()
		planned.Status = core.StatusPlanned
		tc.change(old, planned)
		if got := reusable(old, planned, now, 24*time.Hour); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}
