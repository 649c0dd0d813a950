package audit

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sweepbook/sweepbook/core"
)

func attributionRules() []Rule {
	return []Rule{
		{
			ID: "D1", Version: 1, Severity: core.SeverityHard, Metrics: []string{"engine"},
			Title: "heading and command name different engines",
			Doc:   "The section's title speaks of one engine and the command shown under it starts another; the figures belong to one of the two.",
			check: func(x *subject) []hit {
				heading := x.t.Extra["heading_engine"]
				if heading.Kind != core.KindText {
					return nil
				}
				return one(fmt.Sprintf("the heading says %s, the command starts %s", heading.Text, x.t.Setup.Config.Engine))
			},
		},
		{
			ID: "D2", Version: 1, Severity: core.SeverityHard, Metrics: []string{"stage"},
			Title: "result stands under the wrong stage",
			Doc: "The stage's title names some of the settings that were changed, and another stage of the study is titled with exactly those that " +
				"the command sets: the combination in this title was never measured.",
			check: checkStage,
		},
		{
			ID: "D3", Version: 1, Severity: core.SeverityNote, Metrics: []string{"config"},
			Title: "label and command set different flags",
			Doc:   "The comment above the result names settings that the shown command gives otherwise: running the command does not reproduce the result.",
			check: func(x *subject) []hit {
				changed := x.t.Extra["label_overrides"]
				if changed.Kind != core.KindText {
					return nil
				}
				return one("the label changes the command by " + clip(changed.Text, 200))
			},
		},
		{
			ID: "D4", Version: 1, Severity: core.SeverityNote, Metrics: []string{"model"},
			Title: "benchmark names another model than is served",
			Doc: "Harmless where the server ignores the name, as SGLang and TensorRT-LLM do; vLLM answers 404 unless the name is one it serves under. " +
				"Hard where the two are models of different size: the figures belong to one of them, and mbu and mfu are worked out for the served one.",
			check: func(x *subject) []hit {
				bench := x.t.Extra["bench_model"]
				if bench.Kind != core.KindText {
					return nil
				}
				h := hit{evidence: fmt.Sprintf("served %s, benchmark of %s", x.t.Setup.Config.Checkpoint, bench.Text)}
				if other, _, ok := x.ref.Model(bench.Text); ok && x.hw.model.Params > 0 && other.Params != x.hw.model.Params {
					h.severity, h.metrics = core.SeverityHard, []string{"model", "mbu", "mfu"}
				}
				return []hit{h}
			},
		},
		{
			ID: "D7", Version: 1, Severity: core.SeverityNote, Metrics: []string{"args.max_num_seqs"},
			Title: "limit of sequences that nothing reached",
			Doc: "max_num_seqs at or above the requests in flight (the concurrency limit, else the observed peak): the knob cannot act in this workload, so " +
				"that trials which differ in it alone repeat each other and show the noise.",
			check: func(x *subject) []hit {
				seqs, ok := finite(x.t.Setup.Config.Knobs["max_num_seqs"])
				limit, ok2 := x.limit()
				if !ok || !ok2 || seqs < limit {
					return nil
				}
				return one(fmt.Sprintf("max_num_seqs %s, at most %s requests in flight", num(seqs), num(limit)))
			},
		},
		{
			ID: "D8", Version: 1, Severity: core.SeverityNote, Metrics: []string{"concurrency"},
			Title: "printed concurrency is an observation",
			Doc:   "The source prints a maximum concurrency that was observed and not set; it is kept as peak_concurrency and must not be read as a setting.",
			check: func(x *subject) []hit {
				printed := x.t.Extra["printed_max_concurrency"]
				if printed.Kind != core.KindNumber {
					return nil
				}
				asked := x.t.Load.Concurrency.String()
				if asked == "" {
					asked = "unknown"
				}
				return one(fmt.Sprintf("printed %s, concurrency asked for: %s", num(printed.Num), asked))
			},
		},
		{
			ID: "D10", Version: 1, Severity: core.SeverityInfo, Metrics: nil,
			Title: "figures printed as not available",
			Doc:   "The source has a line for a figure and prints N/A: neither 0 nor unknown to the tool.",
			check: func(x *subject) []hit {
				absent := x.t.Extra["not_available"]
				if absent.Kind != core.KindText || absent.Text == "" {
					return nil
				}
				return one("N/A: " + strings.ReplaceAll(absent.Text, ",", " "))
			},
		},
	}
}

// titled are settings by the words under which a title speaks of them, in English
// and Russian, whose reports were met.
var titled = []struct {
	knob  string
	words []string
}{
	{"max_num_seqs", []string{"sequences", "max-num-seqs", "max_num_seqs", "max-running-requests", "последовательност"}},
	{"max_batched_tokens", []string{"batched tokens", "max-num-batched-tokens", "max_num_batched_tokens", "токенов в батче"}},
	{"performance_mode", []string{"performance mode", "performance-mode", "режим производительности"}},
	{"enable_prefix_caching", []string{"prefix cach", "prefix-cach", "кэш префиксов"}},
	{"chunked_prefill", []string{"chunked prefill", "chunked-prefill", "блочного prefill"}},
	{"speculative", []string{"speculati", "спекулятивн"}},
	{"enable_torch_compile", []string{"torch compile", "torch.compile", "torch-compile"}},
	{"cuda_graph_max_bs", []string{"cuda graph", "cuda-graph"}},
	{"attention_backend", []string{"attention backend", "attention-backend", "бэкенд внимания"}},
}

// namedIn is the set of settings that a title names, as bits of titled.
func namedIn(title string) uint {
	title = strings.ToLower(title)
	var set uint
	for i, s := range titled {
		if slices.ContainsFunc(s.words, func(w string) bool { return strings.Contains(title, w) }) {
			set |= 1 << i
		}
	}
	return set
}

// changedIn is the set of such settings that a configuration passes.
func changedIn(knobs core.Knobs) uint {
	var set uint
	for i, s := range titled {
		if _, ok := knobs[s.knob]; ok {
			set |= 1 << i
		}
	}
	for name := range knobs {
		if strings.HasPrefix(name, "speculative_") {
			set |= namedIn("speculative")
		}
	}
	return set
}

func namesOf(set uint) string {
	var names []string
	for i, s := range titled {
		if set&(1<<i) != 0 {
			names = append(names, s.knob)
		}
	}
	return strings.Join(names, ", ")
}

func checkStage(x *subject) []hit {
	named, changed := namedIn(x.t.Stage), changedIn(x.t.Setup.Config.Knobs)
	if named == 0 || named == changed || named&^changed != 0 {
		return nil
	}
	other, ok := x.study.stageNaming[changed]
	if !ok || other == x.t.Stage {
		return nil
	}
	return one(fmt.Sprintf("%q names %s, the command sets %s as %q does", x.t.Stage, namesOf(named), namesOf(changed), other))
}

// clip shortens a text to n characters.
func clip(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n]) + "…"
	}
	return s
}
