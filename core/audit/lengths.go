package audit

import (
	"fmt"
	"math"

	"github.com/sweepbook/sweepbook/core"
)

func lengthRules() []Rule {
	return []Rule{
		{
			ID: "A18", Version: 1, Severity: core.SeverityNote, Metrics: []string{"mean_output_len", "output_tps", "total_tps"},
			Title: "answers shorter than asked",
			Doc: "output_tokens below 99 % of what was asked (requested_output_tokens, else completed × the fixed output length): answers ended early, " +
				"because the end-of-sequence token was not ignored, and each setup did another amount of work.",
			check: func(x *subject) []hit {
				out, ok := x.get("output_tokens")
				completed, ok2 := x.get("completed")
				want, given := x.get("requested_output_tokens")
				if length, fixed := finite(x.t.Workload.OutputLen); !given && fixed && !ranged(x.t) {
					want, given = completed*length, true
				}
				if !ok || !ok2 || !given || want <= 0 || out >= 0.99*want {
					return nil
				}
				return one(fmt.Sprintf("output_tokens %s of %s asked: %s", num(out), num(want), percent(out/want)))
			},
		},
		{
			ID: "A19", Version: 1, Severity: core.SeverityNote, Metrics: []string{"mean_input_len", "input_tps", "total_tps"},
			Title: "prompts of another length than asked",
			Doc: "mean_input_len more than 2 % and more than 32 tokens from the fixed input length. A chat template adds some ten tokens; a default " +
				"range of lengths (SGLang draws from 0 to the length) halves the mean.",
			check: func(x *subject) []hit {
				want, ok := finite(x.t.Workload.InputLen)
				got, ok2 := x.get("mean_input_len")
				if !ok || !ok2 || want <= 0 || ranged(x.t) || math.Abs(got-want) <= max(0.02*want, 32) {
					return nil
				}
				return one(fmt.Sprintf("mean_input_len %s, input_len %s: %s off", num(got), num(want), percent(math.Abs(got/want-1))))
			},
		},
		{
			ID: "E9", Version: 1, Severity: core.SeverityNote, Metrics: []string{"mean_output_len", "output_tps", "total_tps", "accept_len"},
			Title: "degenerate output",
			Doc: "Signs that the model did not answer: one token an answer where more was asked; a text of less than half, or more than twice, the tokens that " +
				"were counted (the client's own count, extra.retokenized_output_tokens); or an accepted length within 2 % of the most that the " +
				"speculation can give, as endless repetition has. Look at some answers before believing the speed.",
			check: checkDegenerate,
		},
		{
			ID: "E12", Version: 1, Severity: core.SeverityNote, Metrics: []string{"…_ttft_ms", "input_tps", "total_tps"},
			Title: "random prompts found in the prefix cache",
			Doc: "More than 20 % of the prompt tokens came from the cache though the prompts are random and share no prefix: an earlier run with the same " +
				"seed filled it. TTFT and total_tps then measure the cache (up to +86 % of throughput was seen).",
			check: func(x *subject) []hit {
				share, ok := x.cachedShare()
				if prefix, given := finite(x.t.Workload.Params["prefix_len"]); given && prefix > 0 {
					return nil
				}
				if turns, known := finite(x.t.Workload.Turns); known && turns > 1 || x.t.Workload.Dataset != "random" || !ok || share <= 0.2 {
					return nil
				}
				return one(percent(share) + " of the prompt tokens from the cache")
			},
		},
		{
			ID: "E13", Version: 1, Severity: core.SeverityNote, Metrics: []string{"…_ttft_ms", "input_tps", "total_tps"},
			Title: "first tokens come sooner at a higher load",
			Doc: "A trial with the same configuration, workload and seed at a lower concurrency has a mean_ttft_ms of more than twice this one's. More " +
				"load never makes first tokens come sooner; the lower load had asked the same prompts before and left them in the prefix cache. " +
				"Flush the cache between loads, or change the seed.",
			check: checkWarmLadder,
		},
	}
}

// checkWarmLadder compares with the lower loads of the same curve.
func checkWarmLadder(x *subject) []hit {
	ttft, ok := x.get("mean_ttft_ms")
	c, known := finite(x.t.Load.Concurrency)
	if !ok || !known || ttft <= 0 {
		return nil
	}
	for _, lower := range x.study.ladders[x.keys.ladder] {
		if lower.concurrency < c && lower.ttft > 2*ttft {
			return one(fmt.Sprintf("mean_ttft_ms %s at concurrency %s, %s at %s (%s) with the same seed", num(ttft), num(c), num(lower.ttft), num(lower.concurrency), lower.place))
		}
	}
	return nil
}

// ranged: lengths are drawn from a range, so that their mean says little.
func ranged(t *core.Trial) bool {
	v, given := t.Workload.Params["range_ratio"]
	return given && v != core.Number(0)
}

// cachedShare is the share of prompt tokens that came from a prefix cache.
func (x *subject) cachedShare() (float64, bool) {
	if v, ok := x.all("cached_tokens", "input_tokens"); ok && v[1] > 0 {
		return v[0] / v[1], true
	}
	return x.get("prefix_hit_rate")
}

func checkDegenerate(x *subject) []hit {
	var hits []hit
	n, ok := x.tokens()
	length, fixed := finite(x.t.Workload.OutputLen)
	if completed := x.f["completed"]; ok && n <= 1 && completed >= 2 && (!fixed || length > 1) {
		hits = append(hits, hit{metrics: []string{"mean_output_len", "output_tps", "total_tps"},
			evidence: fmt.Sprintf("%s output tokens in %s answers", num(x.f["output_tokens"]), num(completed))})
	}
	if text := x.t.Extra["retokenized_output_tokens"]; ok && n > 1 && text.Kind == core.KindNumber && text.Num > 0 {
		if share := text.Num / x.f["output_tokens"]; share < 0.5 || share > 2 {
			hits = append(hits, hit{metrics: []string{"mean_output_len", "output_tps", "total_tps"},
				evidence: fmt.Sprintf("the text has %s tokens, %s were counted", num(text.Num), num(x.f["output_tokens"]))})
		}
	}
	if accepted, ok := x.get("accept_len"); ok {
		if on, _ := x.speculative(); on && accepted >= 0.98*maxAccept(x.t) && accepted > 2 {
			hits = append(hits, hit{metrics: []string{"accept_len", "output_tps", "total_tps"},
				evidence: fmt.Sprintf("accept_len %s of at most %s", num(accepted), num(maxAccept(x.t)))})
		}
	}
	return hits
}
