package report_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/query/report"
)

// anyOrder is an imported sweep whose records came in any order and name no workload:
// one load twice, one failed, one configuration at a single load, one run without a limit
// under a label of its own.
func anyOrder() *memory {
	m := &memory{}
	for _, r := range []struct {
		option      string
		tp          string
		concurrency core.Value
		total       float64
	}{
		{"tp1", "1", core.Number(1), 100}, {"tp1", "1", core.Number(16), 1200}, {"tp1", "1", core.Number(128), 3000}, {"tp1", "1", core.Number(2), 190},
		{"tp1", "1", core.Number(32), 1900}, {"tp1", "1", core.Number(4), 370}, {"tp2", "2", core.Number(16), 1400}, {"tp1", "1", core.Number(16), 1300},
		{"tp1", "1", core.Number(64), 0}, {"tp1-inf", "1", core.Unlimited(), 3200},
	} {
		t := core.Trial{Study: "records", Option: r.option, Load: core.Load{Concurrency: r.concurrency, RequestRate: core.Unlimited(), NumPrompts: core.Number(10)},
			Setup:   core.Setup{Config: core.Config{Model: "example/8b", Knobs: core.Knobs{"tp": core.ParseValue(r.tp)}}, Tool: "vllm-bench"},
			Figures: core.Figures{"requested": 10, "completed": 10, "total_tps": r.total, "output_tps": r.total / 2}}
		if r.total == 0 {
			t.Figures = core.Figures{"requested": 10, "completed": 0, "failed": 10}
			t.Status, t.Failure = core.StatusFailed, core.RequestsFailed
		}
		m.add(t)
	}
	return m
}

// TestOverTheLoad: every load of a curve stands in the report in numeric order, the
// failed one named, the unlimited one in a row of its own, and both repeats.
func TestOverTheLoad(t *testing.T) {
	r := build(t, anyOrder(), "records", nil, report.Options{})
	md := string(r.Markdown(""))
	var got []string
	for line := range strings.Lines(sections(md)["Over the load"]) {
		if strings.HasPrefix(line, "|") {
			got = append(got, strings.TrimSpace(strings.ReplaceAll(line, "**", "")))
		}
	}
	want := []string{
		"| configuration |  | concurrency | n | total_tps, tok/s | success_rate | each of total_tps | without a result |",
		"| --- | --- | ---: | ---: | ---: | ---: | --- | --- |",
		"| `tp=2` | recommended | 16 | 1 | 1,400 | 1 |  |  |",
		"| `tp=1` |  | 1 | 1 | 100 | 1 |  |  |",
		"| `tp=1` |  | 2 | 1 | 190 | 1 |  |  |",
		"| `tp=1` |  | 4 | 1 | 370 | 1 |  |  |",
		"| `tp=1` |  | 16 | 2 | 1,250 | 1 | 1,200; 1,300 |  |",
		"| `tp=1` |  | 32 | 1 | 1,900 | 1 |  |  |",
		"| `tp=1` |  | 64 | 0 |  |  |  | failed: requests_failed |",
		"| `tp=1` |  | 128 | 1 | 3,000 | 1 |  |  |",
		"| `tp=1` |  | unlimited | 1 | 3,200 | 1 |  |  |",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
	if len(r.Charts["curve-1.png"]) == 0 {
		t.Error("no picture of the curves")
	}
	for _, line := range []string{
		"decided at the load `c=16`, which has the most measured trials. No trial with a result names its workload, so they are taken to have one.",
		"> **This holds at one load only:** `c=16`. The objective names no one load, and trials at 6 other loads qualify, none of the recommended configuration. " +
			"The best at each, in total_tps, tok/s: c=1 `tp=1` 100 (alone); c=2 `tp=1` 190 (alone); c=4 `tp=1` 370 (alone); c=32 `tp=1` 1,900 (alone); c=128 `tp=1` 3,000 (alone); all at once `tp=1` 3,200 (alone). " +
			"Where it says alone, nothing else qualifies.",
		"Figures are of a workload that no trial with a result names, at the load `c=16`; with n",
		"| configuration | no workload c=1 | no workload c=2 | no workload c=4 | no workload c=16 | no workload c=32 | no workload c=64 | no workload c=128 | no workload all at once |",
	} {
		if !strings.Contains(md, line) {
			t.Errorf("the report does not say %q:\n%.1500s", line, md)
		}
	}
}

// TestManyCurves: with more curves than a reader can take in, the report says how many
// there are and keeps the best.
func TestManyCurves(t *testing.T) {
	m := &memory{}
	for i := range 25 {
		for c := 1; c <= 4; c *= 2 {
			m.add(core.Trial{Study: "many", Load: core.Load{Concurrency: core.Number(float64(c)), RequestRate: core.Unlimited()},
				Setup:   core.Setup{Config: core.Config{Engine: "vllm", Model: "example/8b", Knobs: core.Knobs{"max_num_seqs": core.Number(float64(i))}}},
				Figures: core.Figures{"requested": 10, "completed": 10, "total_tps": float64(100*c + i)}})
		}
	}
	md := string(build(t, m, "many", nil, report.Options{}).Markdown(""))
	over := strings.ReplaceAll(sections(md)["Over the load"], "**", "")
	if n := strings.Count(over, "| `vllm"); n != 20*3 || !strings.Contains(over, "The table has the best 20 of 25 curves") {
		t.Errorf("%d rows:\n%s", n, over)
	}
	if !hasRow(over, "`vllm max_num_seqs=24`", "recommended", "1", "1", "124") || !hasRow(over, "`vllm max_num_seqs=5`", "", "4", "1", "405") || strings.Contains(over, "max_num_seqs=4`") {
		t.Errorf("the best curves are not kept:\n%s", over)
	}
	if want := "success_rate == 1`. No trial with a result names its workload, so they are taken to have one."; !strings.Contains(md, want) {
		t.Errorf("the decision does not say %q", want)
	}
}

// TestOneLoad: an objective that names its load, and a study of one load, have no other
// load to name.
func TestOneLoad(t *testing.T) {
	md := string(build(t, anyOrder(), "records", nil, report.Options{Objective: "max total_tps where success_rate == 1 and concurrency == 16"}).Markdown(""))
	if strings.Contains(md, "This holds at one load") || !strings.Contains(md, "## Over the load") {
		t.Error("another load is named, or the curve is missing")
	}
	one := anyOrder()
	for _, tr := range one.trials {
		tr.Load.Concurrency = core.Number(8)
	}
	md = string(build(t, one, "records", nil, report.Options{}).Markdown(""))
	if strings.Contains(md, "This holds at one load") || strings.Contains(md, "## Over the load") {
		t.Error("a study of one load has others or a curve")
	}
}

// TestCurvesApart: trials at one load that do not repeat each other are no one curve, and
// what failed joins the curve that it belongs to.
func TestCurvesApart(t *testing.T) {
	add := func(m *memory, option string, rate, concurrency core.Value, gpu string, total float64) {
		tr := core.Trial{Study: "apart", Option: option, Workload: workload("random"), Load: core.Load{Concurrency: concurrency, RequestRate: rate},
			Setup:   core.Setup{Config: core.Config{Engine: "vllm", Model: "example/8b"}, GPU: gpu, GPUs: 1, Tool: "vllm-bench"},
			Figures: core.Figures{"requested": 10, "completed": 10, "total_tps": total}}
		if total == 0 {
			tr.Figures = nil
			tr.Status, tr.Failure = core.StatusFailed, core.OOMKV
		}
		m.add(tr)
	}
	num := core.Number
	for _, c := range []struct {
		name string
		fill func(*memory)
		want []string
	}{
		{"options of an import", func(m *memory) {
			for i, c := range []float64{1, 2, 4} {
				add(m, "eager", core.Unlimited(), num(c), "H100", 10+float64(i))
				add(m, "graphs", core.Unlimited(), num(c), "H100", 20+float64(i))
			}
		}, []string{"vllm, option graphs|1|20", "vllm, option graphs|2|21", "vllm, option graphs|4|22", "vllm, option eager|1|10", "vllm, option eager|2|11", "vllm, option eager|4|12"}},
		{"setups", func(m *memory) {
			for i, c := range []float64{1, 2, 4} {
				add(m, "", core.Unlimited(), num(c), "H100", 10+float64(i))
			}
			add(m, "", core.Unlimited(), num(8), "H200", 50)
			add(m, "", core.Unlimited(), num(16), "", 0)
		}, []string{"vllm, setup S2|8|50", "vllm, setup S1|1|10", "vllm, setup S1|2|11", "vllm, setup S1|4|12", "vllm, setup S1|16|failed"}},
		{"rates", func(m *memory) {
			for i, r := range []float64{1, 2, 4} {
				add(m, "", num(r), num(64), "H100", 10+float64(i))
			}
			add(m, "", num(2), num(8), "H100", 9)
			add(m, "", core.Unlimited(), num(64), "H100", 30)
		}, []string{"vllm, concurrency 64|1|10", "vllm, concurrency 64|2|11", "vllm, concurrency 64|4|12", "vllm, concurrency 64|unlimited|30", "vllm, concurrency 8|2|9"}},
	} {
		m := &memory{}
		c.fill(m)
		md := strings.ReplaceAll(string(build(t, m, "apart", nil, report.Options{}).Markdown("")), "**", "")
		for i, name := range []string{"S1", "S2"} {
			if hashes := setups(m); i < len(hashes) {
				md = strings.ReplaceAll(md, hashes[i], name)
			}
		}
		var got []string
		for line := range strings.Lines(sections(md)["Over the load"]) {
			cells := strings.Split(line, " | ")
			if len(cells) < 6 || !strings.HasPrefix(line, "| `") {
				continue
			}
			name := strings.Trim(cells[0], "|` ")
			head := strings.Split(strings.Split(sections(md)["Over the load"], "\n")[3], " | ")
			at := func(want string) string {
				for i, h := range head {
					if strings.Trim(h, "| ") == want || strings.HasPrefix(strings.Trim(h, "| "), want+",") {
						return strings.Trim(cells[i], "| \n")
					}
				}
				return ""
			}
			load := at("concurrency")
			if c.name == "rates" {
				load = at("request_rate")
			}
			value := at("total_tps")
			if failure := at("without a result"); failure != "" {
				value, _, _ = strings.Cut(failure, ":")
			}
			got = append(got, name+"|"+load+"|"+value)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s\n%s", c.name, diff, sections(md)["Over the load"])
		}
	}
}

// setups lists the hashes of the setups that were measured, in the order of the trials.
func setups(m *memory) (out []string) {
	for _, tr := range m.trials {
		if h := tr.Value("setup").String(); tr.Status == core.StatusOK && !strings.Contains(strings.Join(out, " "), h) {
			out = append(out, h)
		}
	}
	return out
}
