package audit

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sweepbook/sweepbook/core"
)

// change is one change of a tool that moved what its figures mean.
type change struct {
	tool string
	// since is the day on which the change was merged, "2025-11-07"; a day that is
	// only known to the month is its first. A run before it surely lacks the
	// change, one after it may still have been made with an older tool.
	since   string
	version string // the first version with it, where that is known
	ref     string // where it is recorded
	metrics []string
	what    string
	// concerns narrows the change to some trials; nil concerns all of the tool.
	concerns func(t *core.Trial) bool
}

func changes() []change {
	random := func(t *core.Trial) bool { return t.Workload.Dataset == "random" }
	return []change{
		{"vllm-bench", "2025-04-10", "", "vllm-project/vllm#16126", []string{"mean_input_len", "mean_output_len", "total_tps"},
			"random-range-ratio became a range around the length instead of one below it",
			func(t *core.Trial) bool { return random(t) && ranged(t) }},
		{"vllm-bench", "2025-07-18", "", "vllm-project/vllm#21108", []string{"duration_s", "rps", "output_tps", "total_tps"},
			"arrivals are planned ahead and scaled to the offered rate",
			func(t *core.Trial) bool { _, ok := finite(t.Load.RequestRate); return ok }},
		{"vllm-bench", "2025-11-07", "", "vllm-project/vllm#28227", []string{"mean_output_len", "output_tps", "total_tps"},
			"random prompts ignore the end-of-sequence token", random},
		{"vllm-bench", "2026-01-12", "", "vllm-project/vllm#30975", []string{"…_ttft_ms"},
			"no test request is sent first, so that the first prompt is no longer cached", nil},
		{"vllm-bench", "2026-01-22", "", "vllm-project/vllm#32723", []string{"mean_output_len", "output_tps", "total_tps", "accept_len"},
			"temperature is no longer forced to 0",
			func(t *core.Trial) bool { return t.Workload.Params["temperature"].IsMissing() }},
		{"vllm-bench", "2026-04-14", "", "vllm-project/vllm#38654", []string{"mean_input_len", "input_tps", "total_tps"},
			"prompt tokens are the server's count, chat template included", nil},
		{"vllm-bench", "2026-06-08", "", "vllm-project/vllm#44708", []string{"mean_input_len", "input_tps", "total_tps"},
			"random prompts are cut to length with the server's tokenizer", random},
		{"vllm-bench", "2026-09-01", "", "vllm-project/vllm#55508", []string{"…_tpot_ms", "…_e2el_ms"},
			"the closing usage message no longer counts as the end of an answer", nil},
		{"sglang-bench", "2026-06-17", "", "sgl-project/sglang#28576", []string{"mean_input_len", "mean_output_len", "total_tps"},
			"the default seed became 42, another choice of prompts",
			func(t *core.Trial) bool { return t.Load.Seed.IsMissing() }},
		{"guidellm", "", "0.4", "vllm-project/guidellm 0.4", []string{"…_tpot_ms"},
			"time per output token became the whole latency by all tokens, first token included", nil},
		{"evalscope", "2026-04-30", "", "modelscope/evalscope#1321", []string{"…_ttft_ms", "…_tpot_ms", "…_itl_ms", "…_e2el_ms"},
			"figures were renamed and their units changed", nil},
	}
}

// allChanges is never changed.
var allChanges = changes()

func changeRules() []Rule {
	doc := "Trials of one study were measured by one tool on both sides of a change in what its figures mean; said of the smaller side. By the tool's version " +
		"where that is known, else by the date of the run. The changes known:"
	for _, c := range allChanges {
		when := c.since
		if c.version != "" {
			when = "version " + c.version
		}
		doc += fmt.Sprintf(" %s %s (%s): %s;", c.tool, when, c.ref, c.what)
	}
	return []Rule{{
		ID: "F4", Version: 1, Severity: core.SeverityNote,
		Metrics: []string{"mean_input_len", "mean_output_len", "output_tps", "total_tps", "…_ttft_ms", "…_tpot_ms", "…_e2el_ms"},
		Title:   "the tool changed its definitions in between",
		Doc:     strings.TrimSuffix(doc, ";") + ".",
		check: func(x *subject) []hit {
			var hits []hit
			for _, c := range allChanges {
				s := x.study.changes[c.ref]
				mine := c.side(x.t)
				if s == nil || mine == 0 || s.before == 0 || s.after == 0 || mine != s.smaller() {
					continue
				}
				others := s.before
				where := "after"
				if mine == sideBefore {
					others, where = s.after, "before"
				}
				hits = append(hits, hit{metrics: slices.Clone(c.metrics),
					evidence: fmt.Sprintf("measured %s %s: %s (%s); %d trials of the study are on the other side", where, c.moment(), c.what, c.ref, others)})
			}
			return hits
		},
	}}
}

func (c change) moment() string {
	if c.version != "" {
		return c.tool + " " + c.version
	}
	return c.since
}

type side int8

const (
	sideBefore side = -1
	sideAfter  side = 1
)

// side says on which side of a change a trial was measured, 0 where that is not known.
func (c change) side(t *core.Trial) side {
	if t.Setup.Tool != c.tool || c.concerns != nil && !c.concerns(t) {
		return 0
	}
	if c.version != "" {
		if t.Setup.ToolVersion == "" {
			return 0
		}
		if compareReleases(t.Setup.ToolVersion, c.version) < 0 {
			return sideBefore
		}
		return sideAfter
	}
	day, err := time.Parse(time.DateOnly, c.since)
	if err != nil || t.StartedAt.IsZero() {
		return 0
	}
	if t.StartedAt.Before(day) {
		return sideBefore
	}
	return sideAfter
}

// sides count the trials before and after a change.
type sides struct{ before, after int }

// smaller is the side with fewer trials, the later one of equals.
func (s sides) smaller() side {
	if s.before < s.after {
		return sideBefore
	}
	return sideAfter
}

func (s *studySummary) addChanges(t *core.Trial) {
	for _, c := range allChanges {
		where := c.side(t)
		if where == 0 {
			continue
		}
		if s.changes[c.ref] == nil {
			s.changes[c.ref] = &sides{}
		}
		if where == sideBefore {
			s.changes[c.ref].before++
		} else {
			s.changes[c.ref].after++
		}
	}
}

// compareReleases compares the release numbers of two versions ("0.4.0rc1" is 0.4.0).
func compareReleases(a, b string) int {
	x, y := release(a), release(b)
	for i := range max(len(x), len(y)) {
		var m, n int
		if i < len(x) {
			m = x[i]
		}
		if i < len(y) {
			n = y[i]
		}
		if m != n {
			return m - n
		}
	}
	return 0
}

func release(version string) []int {
	var parts []int
	for _, part := range strings.Split(strings.TrimPrefix(version, "v"), ".") {
		digits := part
		for i, r := range part {
			if r < '0' || r > '9' {
				digits = part[:i]
				break
			}
		}
		n, err := strconv.Atoi(digits)
		if err != nil {
			break
		}
		parts = append(parts, n)
		if digits != part {
			break
		}
	}
	return parts
}
