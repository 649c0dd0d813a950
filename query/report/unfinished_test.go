package report_test

import (
	"strings"
	"testing"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/query/report"
)

// interrupted is a study of a definition that goes further than its trials: each of
// names is measured, in order, on the deciding workload.
func interrupted(names ...string) (*memory, *core.Study) {
	knob := func(name string, v float64) core.Config { return core.Config{Knobs: core.Knobs{name: core.Number(v)}} }
	def := &core.Study{
		Name: "cut", Model: "Qwen/Qwen3-8B", DecideOn: "chat", Objective: "max output_tps where success_rate == 1", Baseline: core.Config{Engine: "sim"},
		Workloads: []core.NamedWorkload{{Workload: workload("chat"), Loads: []core.Load{load}}, {Workload: workload("long"), Loads: []core.Load{load}}},
		Stages: []core.Stage{
			{Name: "quantization", Try: []core.Option{{Name: "FP8", Change: core.Config{Checkpoint: "Qwen/Qwen3-8B-FP8"}}}},
			{Name: "scheduler", Try: []core.Option{{Name: "8 sequences", Change: knob("max_num_seqs", 8)}, {Name: "plain", Change: core.Config{Engine: "sim"}}}},
			{Name: "others", When: `engine == "vllm"`, Try: []core.Option{{Name: "16 blocks", Change: knob("block_size", 16)}}},
		},
		Verify: core.Verify{Configs: []string{"baseline", "winner"}, Workloads: []string{"all"}},
	}
	base := core.Config{Model: def.Model, Checkpoint: def.Model, CommandKnown: true}.With(def.Baseline)
	fp8 := base.With(def.Stages[0].Try[0].Change)
	m := &memory{}
	for _, t := range []struct {
		config                  core.Config
		stage, option, workload string
		role                    core.Role
		tps                     float64
	}{
		{base, "baseline", "baseline", "chat", core.RoleBaseline, 1000},
		{fp8, "quantization", "FP8", "chat", core.RoleCandidate, 1500},
		{fp8.With(knob("max_num_seqs", 8)), "scheduler", "8 sequences", "chat", core.RoleCandidate, 700},
		{base, "verification", "baseline", "long", core.RoleBaseline, 400},
		{fp8, "verification", "winner", "long", core.RoleVerification, 600},
	}[:len(names)] {
		m.add(core.Trial{Study: def.Name, Stage: t.stage, Option: t.option, Role: t.role, Workload: workload(t.workload), Load: load, Repeat: 1,
			Setup: core.Setup{Config: t.config, GPU: "NVIDIA H100 80GB HBM3", GPUs: 1}, Figures: figures(100, 100, 3*t.tps, t.tps, 100, 5)})
	}
	return m, def
}

// TestUnfinished: a study that was stopped says so above its recommendation, and what it
// plans and has not tried stands under what was never measured.
func TestUnfinished(t *testing.T) {
	all := []string{"baseline", "FP8", "8 sequences", "baseline on long", "winner on long"}
	for _, c := range []struct {
		done  int
		wants []string
	}{
		{1, []string{"untried: `FP8` (quantization), `8 sequences` (scheduler), `16 blocks` (others, when `engine == \"vllm\"`); not verified: baseline on long, winner on long."}},
		{2, []string{"untried: `8 sequences` (scheduler), `16 blocks` (others, when `engine == \"vllm\"`); not verified: ", "**Recommended so far:** `FP8`"}},
		{3, []string{"> **UNFINISHED:** not verified: baseline on long, winner on long."}},
		{4, []string{"> **UNFINISHED:** not verified: winner on long. The study ended early or is still running,"}},
		{5, nil},
	} {
		m, def := interrupted(all[:c.done]...)
		md := string(build(t, m, def.Name, def, report.Options{}).Markdown(""))
		head, _, _ := strings.Cut(md, "\n## Decision")
		never := sections(md)["What was never measured"]
		if c.wants == nil {
			if strings.Contains(md, "UNFINISHED") || strings.Contains(md, "so far:") {
				t.Errorf("a finished study is called unfinished:\n%s", md)
			}
			continue
		}
		contains(t, head, "> **UNFINISHED:** ", "`sweepbook run` with the study file goes on.")
		contains(t, md, c.wants...)
		contains(t, never, "The study plans more than it has measured:", "- not verified: ")
		if strings.Contains(never, "Nothing:") {
			t.Errorf("%d done: nothing is said to be missing:\n%s", c.done, never)
		}
		// Nothing of this is known of an import.
		if md := string(build(t, m, def.Name, nil, report.Options{}).Markdown("")); strings.Contains(md, "UNFINISHED") {
			t.Error("an imported study is called unfinished")
		}
	}
}

// TestCutTrials: a trial that was cut off leaves the study unfinished until its
// configuration, workload, load and repeat has been measured again.
func TestCutTrials(t *testing.T) {
	m, def := interrupted("baseline", "FP8", "8 sequences", "baseline on long", "winner on long")
	cut := *m.trials[1]
	cut.Status, cut.Failure, cut.Repeat, cut.Figures = core.StatusAborted, "interrupted", 2, nil
	m.add(cut)
	md := string(build(t, m, def.Name, def, report.Options{}).Markdown(""))
	contains(t, md, "UNFINISHED:** without a result yet: trial #6.", "- without a result yet: trial #6")
	again := *m.trials[1]
	again.Repeat = 2
	m.add(again)
	if md := string(build(t, m, def.Name, def, report.Options{}).Markdown("")); strings.Contains(md, "UNFINISHED") {
		t.Errorf("what was measured again is missing:\n%s", md)
	}
}

// TestUnfinishedGrid: a matrix has a configuration for every combination of its values,
// without those that it leaves out.
func TestUnfinishedGrid(t *testing.T) {
	m, def := interrupted("baseline")
	seqs := func(n float64) core.Option {
		return core.Option{Name: "max_num_seqs=" + core.Number(n).String(), Change: core.Config{Knobs: core.Knobs{"max_num_seqs": core.Number(n)}}}
	}
	def.Stages, def.Verify = nil, core.Verify{}
	def.Search = core.Search{Strategy: core.StrategyGrid, Matrix: []core.Axis{{Name: "max_num_seqs", Values: []core.Option{seqs(8), seqs(16), seqs(32)}}}, Exclude: []core.Config{seqs(16).Change}}
	md := string(build(t, m, def.Name, def, report.Options{}).Markdown(""))
	contains(t, md, "untried: `max_num_seqs=8` (grid), `max_num_seqs=32` (grid).")
	def.Search.Strategy, def.Search.Samples = core.StrategyRandom, 1
	md = string(build(t, m, def.Name, def, report.Options{}).Markdown(""))
	contains(t, md, "untried: 1 configuration of those that are drawn.")
}

// TestMeasuredAgain: a trial that was interrupted and measured again since is counted,
// and stands neither in a table nor in a chart; one that was not is listed.
func TestMeasuredAgain(t *testing.T) {
	m, def := interrupted("baseline", "FP8")
	cut := *m.trials[1]
	cut.Status, cut.Failure, cut.Figures = core.StatusAborted, "interrupted", nil
	m.trials = m.trials[:1]
	m.add(cut)
	cut.Status, cut.Failure = core.StatusLost, ""
	m.add(cut)
	r := build(t, m, def.Name, def, report.Options{})
	md := sections(string(r.Markdown("")))
	contains(t, md["What was tried"], "aborted: interrupted", "**lost**")
	contains(t, md["Trials without a result"], "| 2 |", "| 3 |")

	again, _ := interrupted("baseline", "FP8")
	m.add(*again.trials[1])
	r = build(t, m, def.Name, def, report.Options{})
	md = sections(string(r.Markdown("")))
	if body := md["What was tried"]; strings.Contains(body, "interrupted") || strings.Contains(body, "lost") {
		t.Errorf("what was measured again is listed:\n%s", body)
	}
	if got := strings.TrimSpace(md["Trials without a result"]); got != "Interrupted and measured again since, and therefore not listed: 2 trials." {
		t.Errorf("trials without a result:\n%s", got)
	}
	if bars := r.Figure("stages.png").Bars; len(bars) != 2 {
		t.Errorf("bars: %+v", bars)
	}
}
