package audit

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"github.com/sweepbook/sweepbook/core"
)

func timestampRules() []Rule {
	return []Rule{
		{
			ID: "A9", Version: 1, Severity: core.SeverityHard, Metrics: []string{"…_tpot_ms"},
			Title: "time per output token too short for the latency",
			Doc: "mean_ttft + mean_tpot × (n-1) more than 10 % below mean_e2el, n the mean number of output tokens; for a figure that has the " +
				"first token in it, mean × n. Only too short is a hit: a mean over requests may well be above the mean over tokens.",
			check: checkTPOTAgainstLatency,
		},
		{
			ID: "A10", Version: 1, Severity: core.SeverityHard, Metrics: []string{"…_itl_ms", "mean_ttft_ms"},
			Title: "gaps between tokens do not add up to the latency",
			Doc: "mean_ttft + mean_itl × (n-1) more than 10 % below mean_e2el. A gap lies between chunks and a chunk holds a token or more, so " +
				"that too much is possible and too little is not: the stamps of the stream are broken. The best single test for that.",
			check: func(x *subject) []hit {
				v, ok := x.all("mean_ttft_ms", "mean_itl_ms", "mean_e2el_ms")
				n, ok2 := x.tokens()
				if !ok || !ok2 || n <= 1 || v[2] <= 0 || x.beyondText() {
					return nil
				}
				sum := v[0] + v[1]*(n-1)
				if sum >= 0.9*v[2] {
					return nil
				}
				return one(fmt.Sprintf("mean_ttft_ms %s + mean_itl_ms %s × %s gaps = %s, mean_e2el_ms %s", num(v[0]), num(v[1]), num(n-1), num(sum), num(v[2])))
			},
		},
		{
			ID: "A11", Version: 1, Severity: core.SeverityHard, Metrics: []string{"…_tpot_ms"},
			Title: "time per output token holds no decode time",
			Doc:   "mean_tpot equals mean_ttft/n within 0.5 %: the tool divided the first token's time by the tokens, and a gain in it is one in TTFT.",
			check: func(x *subject) []hit {
				tpot, field, ok := x.tpot("mean")
				ttft, ok2 := x.get("mean_ttft_ms")
				n, ok3 := x.tokens()
				if !ok || !ok2 || !ok3 || n <= 1 || ttft <= 0 || math.Abs(tpot-ttft/n) > 0.005*ttft/n {
					return nil
				}
				return one(fmt.Sprintf("%s %s, mean_ttft_ms/n %s/%s = %s", field, num(tpot), num(ttft), num(n), num(ttft/n)))
			},
		},
		{
			ID: "A12", Version: 1, Severity: core.SeverityHard, Metrics: []string{"…_tpot_ms"},
			Title: "time per output token has the first token in it",
			Doc: "mean_tpot = (mean_ttft + mean_itl × (n-1))/n within 2 % (at least 0.011 ms), of which the first token's share is above 5 %: " +
				"the whole latency by all tokens (guidellm 0.4 and later), though headed as without the first. Info where the figure is " +
				"kept under a name of its own (extra.…_tpot_incl_first_ms).",
			check: checkDefinition,
		},
		{
			ID: "A13", Version: 1, Severity: core.SeverityHard,
			Metrics: []string{"mean_ttft_ms", "median_ttft_ms", "mean_tpot_ms", "median_tpot_ms", "mean_itl_ms", "median_itl_ms"},
			Title:   "latency of exactly 0",
			Doc: "A mean or median of TTFT, TPOT or ITL is 0 although answers have more than one token: chunks arrived together or nothing was " +
				"streamed. The figure is no latency.",
			check: checkZero,
		},
		{
			ID: "A14", Version: 1, Severity: core.SeverityInfo, Metrics: []string{"mean_itl_ms", "mean_tpot_ms"},
			Title: "ITL and TPOT far apart without speculative decoding",
			Doc: "mean_itl/mean_tpot outside [0.5, 1.15]. ITL is weighted by token and TPOT by request, so that short or uneven answers do this " +
				"too: it hits in most sweeps and is no verdict.",
			check: func(x *subject) []hit {
				ratio, ok := x.itlOverTPOT()
				if on, known := x.speculative(); !ok || on || !known || ratio >= 0.5 && ratio <= 1.15 {
					return nil
				}
				return one(x.ratioInWords())
			},
		},
		{
			ID: "A14b", Version: 1, Severity: core.SeverityInfo, Metrics: []string{"mean_itl_ms", "mean_tpot_ms"},
			Title: "ITL above TPOT",
			Doc:   "Under speculative decoding the ratio is the tokens of a step; without it, long gaps weigh more in ITL. No error by itself.",
			check: func(x *subject) []hit {
				if ratio, ok := x.itlOverTPOT(); ok && ratio > 1 {
					return one(x.ratioInWords())
				}
				return nil
			},
		},
		{
			ID: "A15", Version: 1, Severity: core.SeverityNote, Metrics: []string{"mean_itl_ms", "mean_tpot_ms"},
			Title: "tokens per step impossible for the speculation",
			Doc: "With speculative decoding on, mean_itl/mean_tpot is the mean number of tokens of a step: above 1 and at most the steps " +
				"(or speculative tokens) + 1, taken as 6 where the engine chooses.",
			check: func(x *subject) []hit {
				ratio, ok := x.itlOverTPOT()
				if on, _ := x.speculative(); !ok || !on {
					return nil
				}
				most := maxAccept(x.t)
				if ratio > 1 && ratio <= most {
					return nil
				}
				return one(fmt.Sprintf("%s; a step gives 1 to %s tokens", x.ratioInWords(), num(most)))
			},
		},
	}
}

// beyondText: the latency ends with sound or pictures that come after the text, so
// that tokens do not account for it.
func (x *subject) beyondText() bool {
	for name := range x.t.Extra {
		for _, kind := range []string{"audio", "image", "video"} {
			if strings.Contains(name, kind) {
				return true
			}
		}
	}
	return false
}

func checkTPOTAgainstLatency(x *subject) []hit {
	tpot, field, ok := x.tpot("mean")
	v, ok2 := x.all("mean_ttft_ms", "mean_e2el_ms")
	n, ok3 := x.tokens()
	if !ok || !ok2 || !ok3 || n <= 1 || v[1] <= 0 || x.beyondText() {
		return nil
	}
	sum := v[0] + tpot*(n-1)
	formula := fmt.Sprintf("mean_ttft_ms %s + %s %s × %s", num(v[0]), field, num(tpot), num(n-1))
	if field != "mean_tpot_ms" {
		sum = tpot * n
		formula = fmt.Sprintf("%s %s × %s", field, num(tpot), num(n))
	}
	if sum >= 0.9*v[1] {
		return nil
	}
	return one(fmt.Sprintf("%s = %s, mean_e2el_ms %s", formula, num(sum), num(v[1])))
}

func checkDefinition(x *subject) []hit {
	tpot, field, ok := x.tpot("mean")
	v, ok2 := x.all("mean_ttft_ms", "mean_itl_ms")
	n, ok3 := x.tokens()
	if !ok || !ok2 || !ok3 || n <= 1 {
		return nil
	}
	whole := (v[0] + v[1]*(n-1)) / n
	if math.Abs(tpot-whole) > max(0.011, 0.02*whole) || v[0] <= 0.05*whole*n {
		return nil
	}
	h := hit{evidence: fmt.Sprintf("%s %s = (mean_ttft_ms %s + mean_itl_ms %s × %s) / %s", field, num(tpot), num(v[0]), num(v[1]), num(n-1), num(n))}
	if field != "mean_tpot_ms" {
		h.severity = core.SeverityInfo
	}
	return []hit{h}
}

func checkZero(x *subject) []hit {
	if n, ok := x.tokens(); !ok || n <= 1 {
		return nil
	}
	var hits []hit
	zero := func(field string, v float64, ok bool) {
		if ok && v == 0 {
			hits = append(hits, hit{metrics: []string{field}, evidence: field + " is 0"})
		}
	}
	for _, s := range []string{"mean", "median"} {
		for _, latency := range []string{"ttft", "itl"} {
			v, ok := x.get(s + "_" + latency + "_ms")
			zero(s+"_"+latency+"_ms", v, ok)
		}
		v, field, ok := x.tpot(s)
		zero(field, v, ok)
	}
	return hits
}

// itlOverTPOT is the ratio of the means.
func (x *subject) itlOverTPOT() (ratio float64, ok bool) {
	tpot, _, ok := x.tpot("mean")
	itl, ok2 := x.get("mean_itl_ms")
	if !ok || !ok2 || tpot <= 0 {
		return 0, false
	}
	return itl / tpot, true
}

func (x *subject) ratioInWords() string {
	tpot, field, _ := x.tpot("mean")
	itl := x.f["mean_itl_ms"]
	return fmt.Sprintf("mean_itl_ms %s / %s %s = %s", num(itl), field, num(tpot), num(itl/tpot))
}

// autoAccept is taken where an engine chooses the length of its speculation.
const autoAccept = 6

// maxAccept is the most tokens that one step of speculative decoding can give.
func maxAccept(t *core.Trial) float64 {
	knobs := t.Setup.Config.Knobs
	if v := knobs["speculative_num_steps"]; v.Kind == core.KindNumber && v.Num > 0 {
		return v.Num + 1
	}
	if v := knobs["speculative_config"]; v.Kind == core.KindText {
		var cfg struct {
			Tokens float64 `json:"num_speculative_tokens"`
			Drafts float64 `json:"max_draft_len"`
		}
		if json.Unmarshal([]byte(v.Text), &cfg) == nil && max(cfg.Tokens, cfg.Drafts) > 0 {
			return max(cfg.Tokens, cfg.Drafts) + 1
		}
	}
	if v := knobs["speculative_num_draft_tokens"]; v.Kind == core.KindNumber && v.Num > 0 {
		return v.Num + 1
	}
	return autoAccept
}
