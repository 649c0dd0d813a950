package audit_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/core/audit"
)

// sound is a trial without any finding: 1000 requests of 1000 and 200 tokens, 32 at
// a time, on one H100. Its figures agree with each other: 32/2.09 s = 15.311 requests
// a second.
func sound() *core.Trial {
	t := &core.Trial{
		ID: core.HashID("sound"), Study: "study", Stage: "engine", Status: core.StatusOK,
		Setup: core.Setup{
			Config: core.Config{Engine: "vllm", Model: "Qwen/Qwen3-8B", Checkpoint: "Qwen/Qwen3-8B", Knobs: core.Knobs{}, CommandKnown: true},
			GPU:    "NVIDIA H100 80GB HBM3", GPUs: 1, WeightDtype: "bf16", SpecMethod: "none", Tool: "vllm-bench",
		},
		Workload: core.Workload{Dataset: "random", InputLen: core.Number(1000), OutputLen: core.Number(200), Params: core.Knobs{}},
		Load:     core.Load{Concurrency: core.Number(32), RequestRate: core.Unlimited(), NumPrompts: core.Number(1000), Seed: core.Number(1)},
		Extra:    map[string]core.Value{},
		Figures: core.Figures{
			"requested": 1000, "completed": 1000, "failed": 0, "input_tokens": 1e6, "output_tokens": 2e5, "duration_s": 65.3125,
			"rps": 1000 / 65.3125, "output_tps": 2e5 / 65.3125, "total_tps": 1.2e6 / 65.3125, "peak_output_tps": 3500, "peak_concurrency": 32,
			"mean_ttft_ms": 100, "median_ttft_ms": 95, "p99_ttft_ms": 150, "mean_tpot_ms": 10, "median_tpot_ms": 10, "p99_tpot_ms": 12,
			"mean_itl_ms": 10, "median_itl_ms": 9, "p99_itl_ms": 20, "mean_e2el_ms": 2090, "median_e2el_ms": 2080, "p99_e2el_ms": 2500,
		},
	}
	t.Derive()
	return t
}

// trial is the sound one with an edit. Edits come before Derive, so that a changed
// count changes what follows from it.
func trial(name string, edit func(*core.Trial)) *core.Trial {
	t := sound()
	t.ID = core.HashID(name)
	if edit != nil {
		edit(t)
	}
	t.Derive()
	return t
}

func TestSoundTrialHasNoFinding(t *testing.T) {
	for _, ref := range []audit.Reference{audit.DefaultReference(), {}} {
		if fs := audit.Trials([]*core.Trial{sound()}, ref); len(fs) != 0 {
			t.Errorf("findings of a sound trial: %v", fs)
		}
		if fs := audit.Trial(sound(), nil, ref); len(fs) != 0 {
			t.Errorf("findings without a summary: %v", fs)
		}
	}
}

// TestNothingKnown: a trial of which little is known gets no verdict but that its
// success is unknown, and one that never ran gets none at all.
func TestNothingKnown(t *testing.T) {
	bare := &core.Trial{ID: core.HashID("bare"), Status: core.StatusOK, Figures: core.Figures{"completed": 500, "total_tps": 900}}
	bare.Derive()
	var rules []string
	for _, f := range audit.Trials([]*core.Trial{bare}, audit.DefaultReference())[bare.ID] {
		rules = append(rules, f.Rule)
	}
	if !slices.Equal(rules, []string{"D9"}) {
		t.Errorf("rules %v, want D9 alone", rules)
	}
	for _, status := range []core.Status{core.StatusPlanned, core.StatusRunning, core.StatusRetracted} {
		planned := trial("planned", func(t *core.Trial) { t.Status = status; t.Figures["mean_ttft_ms"] = -1 })
		if fs := audit.Trial(planned, nil, audit.Reference{}); len(fs) != 0 {
			t.Errorf("%s trial: %v", status, fs)
		}
	}
}

// ruleCase is one test of one rule.
type ruleCase struct {
	rule string
	name string
	edit func(*core.Trial)
	// others are further trials of the study, in order behind the judged one.
	others []*core.Trial
	before []*core.Trial // likewise, before it
	// want is the severity of the finding; 0 is a near miss: no finding.
	want core.Severity
	// metrics are exactly what the finding touches, where that matters.
	metrics []string
	// needs are figures, extras or settings without any one of which the rule must
	// be silent.
	needs []string
}

func (c ruleCase) run(t *testing.T) {
	t.Helper()
	judged := trial(c.rule+c.name, c.edit)
	found := c.findings(judged)
	switch {
	case c.want == 0 && len(found) > 0:
		t.Errorf("%s %s: near miss found: %+v", c.rule, c.name, found)
	case c.want != 0 && len(found) == 0:
		t.Errorf("%s %s: no finding", c.rule, c.name)
	case c.want != 0:
		f := found[0]
		if f.Severity != c.want || f.Evidence == "" || f.Version < 1 {
			t.Errorf("%s %s: %+v, want severity %s, a version and evidence", c.rule, c.name, f, c.want)
		}
		if diff := cmp.Diff(c.metrics, f.Metrics); c.metrics != nil && diff != "" {
			t.Errorf("%s %s: metrics (-want +got):\n%s", c.rule, c.name, diff)
		}
	}
	for _, need := range c.needs {
		without := trial(c.rule+c.name, c.edit)
		forget(t, without, need)
		if found := c.findings(without); len(found) > 0 {
			t.Errorf("%s %s: without %s still found: %+v", c.rule, c.name, need, found)
		}
	}
}

func (c ruleCase) findings(judged *core.Trial) []core.Finding {
	s := audit.Summarize(slices.Concat(c.before, []*core.Trial{judged}, c.others))
	var found []core.Finding
	for _, f := range audit.Trial(judged, s, audit.DefaultReference()) {
		if f.Rule == c.rule {
			found = append(found, f)
		}
	}
	return found
}

// forget makes one field of a trial unknown.
func forget(t *testing.T, tr *core.Trial, name string) {
	t.Helper()
	if _, ok := tr.Figures[name]; ok {
		delete(tr.Figures, name)
		return
	}
	if _, ok := tr.Extra[name]; ok {
		delete(tr.Extra, name)
		return
	}
	switch name {
	case "command":
		tr.Setup.Config.CommandKnown = false
	case "model":
		tr.Setup.Config.Model, tr.Setup.Config.Checkpoint = "Some/Other-Model", "Some/Other-Model"
	default:
		if _, ok := tr.Setup.Config.Knobs[name]; ok {
			delete(tr.Setup.Config.Knobs, name)
			return
		}
		v := core.Missing()
		if f, ok := core.LookupField(name); !ok || tr.Value(name).IsMissing() {
			t.Fatalf("the trial has no %s to forget (%+v)", name, f)
		}
		if err := tr.SetField(name, v); err != nil {
			t.Fatal(err)
		}
	}
}

func figure(name string, v float64) func(*core.Trial) {
	return func(t *core.Trial) { t.Figures[name] = v }
}

// figures edits several figures, given as "name", value, "name", value, …
func figures(pairs ...any) func(*core.Trial) {
	return func(t *core.Trial) {
		for i := 0; i < len(pairs); i += 2 {
			switch v := pairs[i+1].(type) {
			case int:
				t.Figures[pairs[i].(string)] = float64(v)
			case float64:
				t.Figures[pairs[i].(string)] = v
			default:
				panic(fmt.Sprintf("%v is no figure", v))
			}
		}
	}
}

func edits(all ...func(*core.Trial)) func(*core.Trial) {
	return func(t *core.Trial) {
		for _, edit := range all {
			edit(t)
		}
	}
}

func knob(name string, v core.Value) func(*core.Trial) {
	return func(t *core.Trial) { t.Setup.Config.Knobs[name] = v }
}

func extra(name string, v core.Value) func(*core.Trial) {
	return func(t *core.Trial) { t.Extra[name] = v }
}

func speculation(steps float64) func(*core.Trial) {
	return func(t *core.Trial) {
		t.Setup.SpecMethod = "eagle3"
		t.Setup.Config.Knobs["speculative_num_steps"] = core.Number(steps)
	}
}
