package audit_test

import (
	"time"

	"github.com/sweepbook/sweepbook/core"
)

// ladder puts a trial on a curve of equal prompts.
func ladder(concurrency, ttft float64) func(*core.Trial) {
	return func(t *core.Trial) {
		t.Load.Concurrency, t.Load.Seed = core.Number(concurrency), core.Number(42)
		t.Figures["mean_ttft_ms"] = ttft
	}
}

func onLadder(concurrency, ttft float64) *core.Trial {
	t := alike(1, nil)[0]
	ladder(concurrency, ttft)(t)
	return t
}

func lengthCases() []ruleCase {
	return []ruleCase{
		{rule: "A18", name: "hit", edit: figure("output_tokens", 196000), want: note, needs: []string{"output_tokens", "completed", "output_len"}},
		{rule: "A18", name: "99 %", edit: figure("output_tokens", 198000)},
		{rule: "A18", name: "asked as counted", edit: figure("requested_output_tokens", 250000), want: note},
		{rule: "A18", name: "a range of lengths", edit: edits(figure("output_tokens", 150000), func(t *core.Trial) { t.Workload.Params["range_ratio"] = core.Number(0.5) })},
		{rule: "A19", name: "half", edit: figure("input_tokens", 5e5), want: note, needs: []string{"mean_input_len", "input_len"}},
		{rule: "A19", name: "a chat template", edit: figure("input_tokens", 1.03e6)},
		{rule: "A19", name: "a template of a short prompt", edit: edits(figure("input_tokens", 140000), func(t *core.Trial) { t.Workload.InputLen = core.Number(128) })},
		{rule: "E9", name: "one token an answer", edit: figure("output_tokens", 1000), want: note, needs: []string{"output_tokens"}},
		{rule: "E9", name: "one token asked", edit: edits(figure("output_tokens", 1000), func(t *core.Trial) { t.Workload.OutputLen = core.Number(1) })},
		{rule: "E9", name: "no text", edit: extra("retokenized_output_tokens", core.Number(80000)), want: note, needs: []string{"retokenized_output_tokens"}},
		{rule: "E9", name: "some text less", edit: extra("retokenized_output_tokens", core.Number(180000))},
		{rule: "E9", name: "every draft accepted", edit: edits(speculation(4), figure("accept_len", 4.95)), want: note, needs: []string{"accept_len", "spec_method"}},
		{rule: "E9", name: "most drafts accepted", edit: edits(speculation(4), figure("accept_len", 4.5))},
		{rule: "E12", name: "hit", edit: figure("cached_tokens", 3e5), want: note, needs: []string{"cached_tokens"}},
		{rule: "E12", name: "by rate", edit: figure("prefix_hit_rate", 0.94), want: note},
		{rule: "E12", name: "20 %", edit: figure("prefix_hit_rate", 0.2)},
		{rule: "E12", name: "a real data set", edit: edits(figure("prefix_hit_rate", 0.5), func(t *core.Trial) { t.Workload.Dataset = "sharegpt" })},
		{rule: "E13", name: "hit", edit: ladder(8, 20), before: []*core.Trial{onLadder(4, 400)}, want: note, needs: []string{"mean_ttft_ms"}},
		{rule: "E13", name: "half", edit: ladder(8, 200), before: []*core.Trial{onLadder(4, 400)}},
		{rule: "E13", name: "another seed", edit: edits(ladder(8, 20), func(t *core.Trial) { t.Load.Seed = core.Number(7) }), before: []*core.Trial{onLadder(4, 400)}},
		{rule: "E13", name: "a lower load", edit: ladder(2, 20), before: []*core.Trial{onLadder(4, 400)}},
		{rule: "E12", name: "a shared prefix", edit: edits(figure("prefix_hit_rate", 0.5), func(t *core.Trial) { t.Workload.Params["prefix_len"] = core.Number(500) })},
	}
}

// The floor of the sound trial's step is 8e9 × 2 B / 3.35 TB/s = 4.776 ms, its
// ceilings are 32/4.776 ms = 6700 and 989e12/(2 × 8e9) = 61812 tokens a second, its
// prompt of 1000 tokens needs 16.18 ms.
func limitCases() []ruleCase {
	everything := []string{"gpu", "model", "command"}
	tp := func(n float64) func(*core.Trial) {
		return edits(knob("tp", core.Number(n)), func(t *core.Trial) { t.Setup.GPUs = n })
	}
	mixture := func(t *core.Trial) {
		t.Setup.Config.Model, t.Setup.Config.Checkpoint = "openai/gpt-oss-120b", "openai/gpt-oss-120b"
		t.Setup.WeightDtype = ""
	}
	tpot := []string{"median_tpot_ms", "p99_tpot_ms", "mean_tpot_ms"}
	return []ruleCase{
		{rule: "B1", name: "hit", edit: figure("mean_tpot_ms", 4.77), want: hard, metrics: tpot, needs: append([]string{"mean_tpot_ms", "spec_method"}, everything...)},
		{rule: "B1", name: "above", edit: figure("mean_tpot_ms", 4.78)},
		{rule: "B1", name: "half on two GPUs", edit: edits(tp(2), figure("mean_tpot_ms", 2.4))},
		{rule: "B1", name: "below on two GPUs", edit: edits(tp(2), figure("mean_tpot_ms", 2.3)), want: hard},
		{rule: "B1", name: "two copies are no faster", edit: edits(knob("dp", core.Number(2)), figure("mean_tpot_ms", 4.7)), want: hard},
		{rule: "B1", name: "pipeline stages are no faster", edit: edits(knob("pp", core.Number(2)), figure("mean_tpot_ms", 4.7)), want: hard},
		{rule: "B1", name: "fp8", edit: edits(figure("mean_tpot_ms", 2.5), func(t *core.Trial) { t.Setup.WeightDtype = "fp8" })},
		{rule: "B1", name: "number format unknown", edit: edits(figure("mean_tpot_ms", 0.1), func(t *core.Trial) { t.Setup.WeightDtype = "custom" })},
		{rule: "B1", name: "speculation", edit: edits(speculation(4), figure("mean_tpot_ms", 0.96))},
		{rule: "B1", name: "below with speculation", edit: edits(speculation(4), figure("mean_tpot_ms", 0.95)), want: hard},
		{rule: "B1", name: "mixture reads its active weights", edit: edits(mixture, figure("mean_tpot_ms", 0.77))},
		{rule: "B1", name: "below for a mixture", edit: edits(mixture, figure("mean_tpot_ms", 0.75)), want: hard},
		{rule: "B1", name: "another quantization", edit: edits(mixture, knob("quantization", core.String("secret")), figure("mean_tpot_ms", 0.1))},
		{rule: "B2", name: "hit", edit: figure("median_tpot_ms", 3.4), want: hard, metrics: []string{"median_tpot_ms"}, needs: append([]string{"median_tpot_ms"}, everything...)},
		{rule: "B2", name: "above", edit: figure("median_tpot_ms", 4.8)},
		{rule: "B3", name: "hit", edit: figure("mean_itl_ms", 3.4), want: hard, metrics: []string{"mean_itl_ms"}, needs: append([]string{"mean_itl_ms"}, everything...)},
		{rule: "B3", name: "a step stays a step", edit: edits(speculation(4), figure("mean_itl_ms", 4)), want: hard},
		{rule: "B3", name: "split over the tokens", edit: edits(speculation(4), figure("mean_itl_ms", 4), func(t *core.Trial) { t.Setup.Tool = "sglang-bench" })},
		{rule: "B3", name: "above", edit: figure("mean_itl_ms", 4.8)},
		{rule: "B3m", name: "hit", edit: figure("median_itl_ms", 0.07), want: hard, metrics: []string{"median_itl_ms"}, needs: everything},
		{rule: "B3m", name: "above", edit: figure("median_itl_ms", 4.8)},
		{rule: "B4", name: "memory", edit: figure("peak_output_tps", 6800), want: hard, metrics: []string{"peak_output_tps", "peak_output_tps_per_gpu"},
			needs: []string{"peak_output_tps", "gpu", "model"}},
		{rule: "B4", name: "within", edit: figure("peak_output_tps", 6600)},
		{rule: "B4", name: "arithmetic", edit: edits(figures("peak_output_tps", 62000, "peak_concurrency", 512), func(t *core.Trial) { t.Load.Concurrency = core.Unlimited() }), want: hard},
		{rule: "B4", name: "speculation", edit: edits(speculation(4), figure("peak_output_tps", 9000))},
		{rule: "B5", name: "hit", edit: figure("output_tps", 6800), want: hard, needs: []string{"output_tps", "gpu", "model"}},
		{rule: "B5", name: "within", edit: figure("output_tps", 6600)},
		{rule: "B6", name: "hit", edit: figure("total_tps", 38000), want: note, needs: []string{"total_tps", "gpu", "model"}},
		{rule: "B6", name: "60 %", edit: figure("total_tps", 37000)},
		{rule: "B6", name: "impossible", edit: edits(figure("total_tps", 62000), knob("enable_prefix_caching", core.Bool(false))), want: hard},
		{rule: "B6", name: "perhaps cached", edit: figure("total_tps", 62000), want: note},
		{rule: "B6", name: "counted as cached", edit: figures("total_tps", 62000, "cached_tokens", 9e5)},
		{rule: "B6", name: "on two GPUs", edit: edits(tp(2), figure("total_tps", 62000))},
		{rule: "B7", name: "zero", edit: figure("median_ttft_ms", 0), want: hard, metrics: []string{"median_ttft_ms"}, needs: []string{"median_ttft_ms", "mean_input_len", "gpu", "model"}},
		{rule: "B7", name: "perhaps cached", edit: figure("median_ttft_ms", 15), want: note},
		{rule: "B7", name: "not cached", edit: edits(figure("median_ttft_ms", 15), knob("enable_prefix_caching", core.Bool(false))), want: hard},
		{rule: "B7", name: "counted as cached", edit: figures("median_ttft_ms", 15, "cached_tokens", 5e5)},
		{rule: "B7", name: "above", edit: figure("median_ttft_ms", 17)},
	}
}

// shortest are the survivors of a run that refused long prompts.
func survivors(t *core.Trial) {
	for name, v := range map[string]float64{"completed": 514, "failed": 486, "input_tokens": 23313} {
		t.Figures[name] = v
	}
}

func alike(n int, edit func(*core.Trial)) []*core.Trial {
	var ts []*core.Trial
	for i := range n {
		ts = append(ts, trial("other"+string(rune('a'+i)), edit))
	}
	return ts
}

func candidateCases() []ruleCase {
	return []ruleCase{
		{rule: "C1", name: "half failed", edit: survivors, want: void, metrics: []string{"*"}, needs: []string{"success_rate"}},
		{rule: "C1", name: "a few failed", edit: figures("completed", 984, "failed", 16), want: note},
		{rule: "C1", name: "5.1 % failed", edit: figures("completed", 949, "failed", 51), want: void},
		{rule: "C1", name: "none failed"},
		{rule: "C2", name: "survivors", edit: survivors, others: alike(3, nil), want: void, metrics: []string{"*"}, needs: []string{"mean_input_len"}},
		{rule: "C2", name: "nothing to compare with", edit: survivors, others: alike(1, nil)},
		{rule: "C2", name: "4 %", edit: figures("completed", 900, "failed", 100, "input_tokens", 936000), others: alike(3, nil)},
		{rule: "C2", name: "all succeeded", edit: figure("input_tokens", 45000), others: alike(3, nil)},
		{rule: "C2", name: "other workloads", edit: survivors, others: alike(3, func(t *core.Trial) { t.Workload.InputLen = core.Number(8000) })},
		{rule: "D9", name: "hit", edit: func(t *core.Trial) {
			delete(t.Figures, "requested")
			delete(t.Figures, "failed")
			t.Load.NumPrompts = core.Missing()
		}, want: note, metrics: []string{"success_rate"}, needs: []string{"completed"}},
		{rule: "D9", name: "the command says", edit: func(t *core.Trial) { delete(t.Figures, "requested"); delete(t.Figures, "failed") }},
		{rule: "E11", name: "more than requested", edit: figure("completed", 1001), want: hard, metrics: []string{"requested", "success_rate"}, needs: []string{"completed", "requested"}},
		{rule: "E11", name: "some unaccounted for", edit: figures("completed", 990, "failed", 0), want: hard},
		{rule: "E11", name: "accounted for", edit: figures("completed", 990, "failed", 4, "incomplete", 6)},
		{rule: "E11", name: "the command asked for another number", edit: func(t *core.Trial) { t.Load.NumPrompts = core.Number(500) }, want: hard},
		{rule: "E11", name: "a run of fixed time", edit: func(t *core.Trial) { t.Load.NumPrompts, t.Load.DurationS = core.Number(5000), core.Number(65) }},
		{rule: "E11", name: "the bar counted another number", edit: extra("progress_total", core.Number(100)), want: hard, needs: []string{"progress_total"}},
		{rule: "E11", name: "a person said so", edit: func(t *core.Trial) { t.Load.NumPrompts, t.Asserted = core.Number(500), []string{"requested"} }},
		{rule: "E11", name: "a person said less", edit: edits(figure("completed", 1001), func(t *core.Trial) { t.Asserted = []string{"requested"} }), want: hard},
		{rule: "E11", name: "the bar agrees", edit: extra("progress_total", core.Number(1000))},
	}
}

func attributionCases() []ruleCase {
	stage := func(title string) func(*core.Trial) { return func(t *core.Trial) { t.Stage = title } }
	seqs, tokens := knob("max_num_seqs", core.Number(512)), knob("max_batched_tokens", core.Number(32768))
	both := []*core.Trial{trial("both", edits(stage("Sequences and batched tokens"), knob("max_num_seqs", core.Number(256)), tokens))}
	return []ruleCase{
		{rule: "D1", name: "hit", edit: extra("heading_engine", core.String("trtllm")), want: hard, metrics: []string{"engine"}, needs: []string{"heading_engine"}},
		{rule: "D1", name: "no heading"},
		{rule: "D2", name: "hit", edit: edits(stage("Batched tokens"), seqs, tokens), others: both, want: hard, metrics: []string{"stage"}, needs: []string{"max_num_seqs"}},
		{rule: "D2", name: "russian", edit: edits(stage("Максимум токенов в батче"), seqs, tokens), others: both, want: hard},
		{rule: "D2", name: "the title names all", edit: edits(stage("Batched tokens, sequences"), seqs, tokens), others: both},
		{rule: "D2", name: "an earlier stage's choice was kept", edit: edits(stage("Batched tokens"), seqs, tokens)},
		{rule: "D2", name: "the title names nothing", edit: edits(stage("Engine"), seqs, tokens), others: both},
		{rule: "D3", name: "hit", edit: extra("label_overrides", core.String("attention_backend=triton")), want: note, needs: []string{"label_overrides"}},
		{rule: "D3", name: "no override"},
		{rule: "D4", name: "another format", edit: extra("bench_model", core.String("Qwen/Qwen3-8B-FP8")), want: note, metrics: []string{"model"}, needs: []string{"bench_model"}},
		{rule: "D4", name: "another size", edit: extra("bench_model", core.String("Qwen/Qwen3-32B")), want: hard, metrics: []string{"model", "mbu", "mfu"}},
		{rule: "D4", name: "another name of nothing known", edit: extra("bench_model", core.String("my-model")), want: note},
		{rule: "D4", name: "same"},
		{rule: "D7", name: "hit", edit: knob("max_num_seqs", core.Number(32)), want: note, metrics: []string{"args.max_num_seqs"}, needs: []string{"max_num_seqs"}},
		{rule: "D7", name: "acts", edit: knob("max_num_seqs", core.Number(31))},
		{rule: "D7", name: "no limit, peak seen", edit: edits(knob("max_num_seqs", core.Number(32)), func(t *core.Trial) { t.Load.Concurrency = core.Unlimited() }), want: note,
			needs: []string{"peak_concurrency"}},
		{rule: "D8", name: "hit", edit: extra("printed_max_concurrency", core.Number(512)), want: note, metrics: []string{"concurrency"}, needs: []string{"printed_max_concurrency"}},
		{rule: "D8", name: "none printed"},
		{rule: "D10", name: "hit", edit: extra("not_available", core.String("p95_ttft_ms")), want: info, needs: []string{"not_available"}},
		{rule: "D10", name: "none"},
	}
}

func repeatCases() []ruleCase {
	src := func(position string) func(*core.Trial) {
		return func(t *core.Trial) {
			t.ID = core.HashID("one trial")
			t.Sources = []core.Source{{File: "log", SHA256: "1", Position: position, Decimals: -1}}
		}
	}
	first := []*core.Trial{trial("first", nil)}
	return []ruleCase{
		{rule: "D5", name: "second record", edit: src("line 90"), before: []*core.Trial{trial("", src("line 10"))}, want: info},
		{rule: "D5", name: "first record", edit: src("line 10"), others: []*core.Trial{trial("", src("line 90"))}},
		{rule: "D5", name: "two sources", edit: func(t *core.Trial) {
			t.Sources = []core.Source{{File: "a", Position: "line 1", Decimals: -1}, {File: "b", Position: "line 2", Decimals: -1}}
		}, want: info},
		{rule: "D6", name: "hit", edit: figure("total_tps", 18400), before: first, want: info, needs: []string{"command"}},
		{rule: "D6", name: "another seed is a repeat too", edit: func(t *core.Trial) { t.Load.Seed = core.Number(7) }, before: first, want: info},
		{rule: "D6", name: "the first of them", others: first},
		{rule: "D6", name: "a record of the same trial", edit: src("line 90"), before: []*core.Trial{trial("", src("line 10"))}},
		{rule: "D6", name: "another load", edit: func(t *core.Trial) { t.Load.Concurrency = core.Number(8) }, before: first},
		{rule: "D6", name: "another knob", edit: knob("max_num_seqs", core.Number(8)), before: first},
		{rule: "D6", name: "another study", edit: func(t *core.Trial) { t.Study = "else" }, before: first},
	}
}

func conditionCases() []ruleCase {
	at := func(host string, start time.Duration, launch string) func(*core.Trial) {
		return func(t *core.Trial) {
			t.Host, t.StartedAt = host, time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC).Add(start)
			t.Launch = &core.Launch{ID: core.HashID(launch)}
		}
	}
	env := func(name, value string) func(*core.Trial) {
		return func(t *core.Trial) { t.Setup.Config.Env = map[string]string{name: value} }
	}
	few := func(n float64) func(*core.Trial) { return figures("completed", n, "requested", n) }
	return []ruleCase{
		{rule: "E1", name: "9 s", edit: figure("duration_s", 9.0), want: note, needs: []string{"duration_s", "completed"}},
		{rule: "E1", name: "10 s", edit: figure("duration_s", 10.0)},
		{rule: "E1", name: "two rounds", edit: func(t *core.Trial) { t.Load.Concurrency = core.Number(500) }, want: note, needs: []string{"concurrency"}},
		{rule: "E1", name: "all at once", edit: func(t *core.Trial) { t.Load.Concurrency = core.Unlimited() }},
		{rule: "E2", name: "p99 of 99", edit: few(99), want: note, metrics: []string{"p99_ttft_ms"}, needs: []string{"completed"}},
		{rule: "E2", name: "p99 of 100", edit: few(100)},
		{rule: "E2", name: "p95 of 19", edit: edits(few(19), figure("p95_e2el_ms", 2400), func(t *core.Trial) {
			for _, name := range []string{"p99_ttft_ms", "p99_tpot_ms", "p99_itl_ms", "p99_e2el_ms"} {
				delete(t.Figures, name)
			}
		}), want: note, metrics: []string{"p95_e2el_ms"}},
		{rule: "E2", name: "p99.9 of 999", edit: edits(few(999), figure("p99_9_ttft_ms", 160)), want: note, metrics: []string{"p99_9_ttft_ms"}},
		{rule: "E2", name: "gaps are tokens", edit: func(t *core.Trial) {
			few(50)(t)
			for _, name := range []string{"p99_ttft_ms", "p99_tpot_ms", "p99_e2el_ms"} {
				delete(t.Figures, name)
			}
		}},
		{rule: "E4", name: "hit", edit: figure("preemptions", 12), want: note, needs: []string{"preemptions"}},
		{rule: "E4", name: "none", edit: figure("preemptions", 0)},
		{rule: "E4", name: "by the log", edit: extra("preemption_lines", core.Number(3)), want: note, needs: []string{"preemption_lines"}},
		{rule: "E4", name: "no line", edit: extra("preemption_lines", core.Number(0))},
		{rule: "E14", name: "hit", edit: edits(extra("jit_compiles", core.Number(2)), extra("jit_first", core.String("Triton kernel JIT compilation during inference: _k"))),
			want: note, needs: []string{"jit_compiles"}},
		{rule: "E14", name: "none", edit: extra("jit_compiles", core.Number(0))},
		{rule: "E6", name: "on other GPUs", edit: extra("node_neighbours", core.String(`study "b", process 4711 on GPU-1`)), want: note, metrics: []string{"*"},
			needs: []string{"node_neighbours"}},
		{rule: "E6", name: "on the same GPU", edit: extra("gpu_neighbours", core.String("pid 4711 (python3) with 512 MiB")), want: note, metrics: []string{"*"},
			needs: []string{"gpu_neighbours"}},
		{rule: "E5", name: "hit", edit: func(t *core.Trial) { t.Throttled = core.Bool(true) }, want: note, metrics: []string{"*"}, needs: []string{"throttled"}},
		{rule: "E5", name: "not", edit: func(t *core.Trial) { t.Throttled = core.Bool(false) }},
		{rule: "E6", name: "overlap", edit: at("node1", 0, "a"), others: []*core.Trial{trial("n", at("node1", 30*time.Second, "b"))}, want: note, needs: []string{"host", "duration_s"}},
		{rule: "E6", name: "in another study", edit: at("node1", 0, "a"),
			others: []*core.Trial{trial("n", edits(at("node1", 30*time.Second, "b"), func(t *core.Trial) { t.Study = "else" }))}, want: note},
		{rule: "E6", name: "one after the other", edit: at("node1", 0, "a"), others: []*core.Trial{trial("n", at("node1", 65*time.Second, "b"))}},
		{rule: "E6", name: "another host", edit: at("node1", 0, "a"), others: []*core.Trial{trial("n", at("node2", 0, "b"))}},
		{rule: "E6", name: "the same server", edit: at("node1", 0, "a"), others: []*core.Trial{trial("n", at("node1", 30*time.Second, "a"))}},
		{rule: "E6", name: "zone assumed", edit: at("node1", 0, "a"),
			others: []*core.Trial{trial("n", edits(at("node1", 30*time.Second, "b"), func(t *core.Trial) { t.ZoneAssumed = true }))}},
		{rule: "E7", name: "hit", edit: knob("load_format", core.String("dummy")), want: void, metrics: []string{"*"}, needs: []string{"load_format"}},
		{rule: "E7", name: "safetensors", edit: knob("load_format", core.String("safetensors"))},
		{rule: "E8", name: "environment", edit: env("SGLANG_SIMULATE_ACC_LEN", "3"), want: void},
		{rule: "E8", name: "off", edit: env("SGLANG_SIMULATE_ACC_LEN", "-1")},
		{rule: "E8", name: "configuration", edit: knob("speculative_config", core.String(`{"method":"eagle3","rejection_sample_method":"synthetic"}`)), want: void,
			needs: []string{"speculative_config"}},
		{rule: "E8", name: "earned", edit: knob("speculative_config", core.String(`{"method":"eagle3"}`))},
	}
}

func comparisonCases() []ruleCase {
	sglang := func(edit func(*core.Trial)) func(*core.Trial) {
		return edits(func(t *core.Trial) { t.Setup.Config.Engine = "sglang" }, edit)
	}
	param := func(name string, v float64) func(*core.Trial) {
		return func(t *core.Trial) { t.Workload.Params[name] = core.Number(v) }
	}
	day := func(date string) func(*core.Trial) {
		return func(t *core.Trial) {
			at, err := time.Parse(time.DateOnly, date)
			if err != nil {
				panic(err)
			}
			t.StartedAt = at
		}
	}
	tool := func(name, version string) func(*core.Trial) {
		return func(t *core.Trial) { t.Setup.Tool, t.Setup.ToolVersion = name, version }
	}
	return []ruleCase{
		{rule: "F1", name: "hit", edit: sglang(figure("input_tokens", 1.011e6)), others: alike(2, nil), want: note, needs: []string{"mean_input_len", "engine"}},
		{rule: "F1", name: "0.9 %", edit: sglang(figure("input_tokens", 1.009e6)), others: alike(2, nil)},
		{rule: "F1", name: "same engine", edit: figure("input_tokens", 1.02e6), others: alike(2, nil)},
		{rule: "F1", name: "another seed", edit: sglang(edits(figure("input_tokens", 1.02e6), func(t *core.Trial) { t.Load.Seed = core.Number(9) })), others: alike(2, nil)},
		{rule: "F2", name: "hit", edit: figure("output_tokens", 195000), others: alike(3, nil), want: note, needs: []string{"mean_output_len"}},
		{rule: "F2", name: "of two", edit: figure("output_tokens", 195000), others: alike(1, nil), want: note},
		{rule: "F2", name: "2 %", edit: figure("output_tokens", 196000), others: alike(3, nil)},
		{rule: "F2", name: "alone", edit: figure("output_tokens", 195000)},
		{rule: "F3", name: "hit", edit: param("temperature", 0.7), others: alike(2, param("temperature", 0)), want: note},
		{rule: "F3", name: "equal", edit: param("temperature", 0), others: alike(2, param("temperature", 0))},
		{rule: "F3", name: "not stated by others", edit: param("temperature", 0.7), others: alike(2, nil)},
		{rule: "F3", name: "ignore_eos", edit: func(t *core.Trial) { t.Workload.IgnoreEOS = core.Bool(false) },
			others: alike(2, func(t *core.Trial) { t.Workload.IgnoreEOS = core.Bool(true) }), want: note, needs: []string{"ignore_eos"}},
		{rule: "F4", name: "by date", edit: day("2026-05-01"), others: alike(2, day("2026-04-01")), want: note, metrics: []string{"mean_input_len", "total_tps", "total_tps_per_gpu"},
			needs: []string{"tool"}},
		{rule: "F4", name: "the smaller side is older", edit: day("2026-04-01"), others: alike(2, day("2026-05-01")), want: note},
		{rule: "F4", name: "the larger side", edit: day("2026-05-01"), others: append(alike(2, day("2026-05-01")), trial("old", day("2026-04-01")))},
		{rule: "F4", name: "all on one side", edit: day("2026-05-02"), others: alike(2, day("2026-05-01"))},
		{rule: "F4", name: "date unknown", others: alike(2, day("2026-04-01"))},
		{rule: "F4", name: "by version", edit: tool("guidellm", "0.4.1"), others: alike(2, tool("guidellm", "0.3.10")), want: note, metrics: []string{"median_tpot_ms", "p99_tpot_ms", "mean_tpot_ms"},
			needs: []string{"tool_version"}},
		{rule: "F4", name: "later versions", edit: tool("guidellm", "0.6.0"), others: alike(2, tool("guidellm", "0.4.0rc1"))},
	}
}
