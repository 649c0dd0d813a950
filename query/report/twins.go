package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/core/stats"
)

// Noise is seen where trials ought to give one figure: repeats of one setup at one
// load, and twins, which differ only in a knob that cannot act. The knob known to be
// inert is max_num_seqs at or above the requests that were in flight.

// seqsKnob limits how many requests decode together.
const seqsKnob = "max_num_seqs"

// twinFields must be equal for trials to be repeats or twins, beside all other knobs.
func twinFields(knobs []string) []string {
	out := []string{"workload", "setup", "args." + seqsKnob, "peak_concurrency", "engine", "engine_version", "model", "checkpoint", "weight_dtype", "kv_dtype", "tp", "pp", "dp", "ep",
		"gpus", "nodes", "spec_method", "image", "gpu", "driver", "power_limit_w", "tool", "tool_version", "simulated",
		"dataset", "input_len", "output_len", "ignore_eos", "turns", "load", "concurrency", "request_rate", "burstiness", "num_prompts"}
	for _, k := range knobs {
		if plainName(k) && !spellsSeqs(k) {
			out = append(out, "passed."+k)
		}
	}
	return out
}

// spellsSeqs reports whether a knob is max_num_seqs under any engine's name for it.
func spellsSeqs(knob string) bool {
	for _, idea := range core.Ideas() {
		if idea.Name != seqsKnob {
			continue
		}
		for _, own := range idea.Own {
			if own == knob {
				return true
			}
		}
	}
	return knob == seqsKnob
}

// twins groups the rows of an answer that has twinFields: those of two rows or more, in
// the order of their first.
func twins(a *rows, fields []string) [][]int {
	columns := make([]int, len(fields))
	for i, f := range fields {
		columns[i] = a.Column(f)
	}
	groups := map[string][]int{}
	var order []string
	for i := range a.Rows {
		var key strings.Builder
		for j, f := range fields {
			v := a.Rows[i][columns[j]]
			switch f {
			case "setup", "peak_concurrency":
				continue
			case "args." + seqsKnob:
				if cannotAct(a, i) {
					v = core.String("inert")
				}
			}
			fmt.Fprintf(&key, "%d:%q ", v.Kind, v)
		}
		k := key.String()
		if groups[k] == nil {
			order = append(order, k)
		}
		groups[k] = append(groups[k], i)
	}
	var out [][]int
	for _, k := range order {
		for _, g := range splitHidden(a, groups[k]) {
			if len(g) > 1 {
				out = append(out, g)
			}
		}
	}
	return out
}

// splitHidden takes a group apart by setup where trials with the same limit have
// several: they differ in something that no field shows, such as the environment.
func splitHidden(a *rows, group []int) [][]int {
	setups := map[core.Value]string{}
	bySetup := map[string][]int{}
	var order []string
	hidden := false
	for _, i := range group {
		seqs, setup := a.get(i, "args."+seqsKnob), a.text(i, "setup")
		if before, ok := setups[seqs]; ok && before != setup {
			hidden = true
		}
		setups[seqs] = setup
		if bySetup[setup] == nil {
			order = append(order, setup)
		}
		bySetup[setup] = append(bySetup[setup], i)
	}
	if !hidden {
		return [][]int{group}
	}
	var out [][]int
	for _, s := range order {
		out = append(out, bySetup[s])
	}
	return out
}

// cannotAct reports whether the trial's limit of sequences is at or above the requests
// that were in flight: the set limit of the load or the observed peak, whichever is less.
func cannotAct(a *rows, i int) bool {
	limit, known := 0.0, false
	for _, name := range []string{"concurrency", "peak_concurrency", "num_prompts"} {
		if v := a.get(i, name); v.Kind == core.KindNumber && !v.IsUnlimited() && (!known || v.Num < limit) {
			limit, known = v.Num, true
		}
	}
	seqs := a.get(i, "args."+seqsKnob)
	if seqs.Kind == core.KindUnset {
		seqs = defaultSeqs(a.text(i, "engine"), a.text(i, "engine_version"), a.text(i, "gpu"))
	}
	return known && seqs.Kind == core.KindNumber && seqs.Num >= limit
}

// defaultSeqs is the least that an engine takes for max_num_seqs when it is not given,
// missing where that is not known. vLLM from 0.9 takes 1024 on GPUs of 70 GiB and more,
// A100 excepted, and 256 elsewhere (its arg_utils.py, get_batch_defaults).
func defaultSeqs(engine, version, gpu string) core.Value {
	if engine != "vllm" || !atLeast(version, 0, 9) || gpu == "" {
		return core.Missing()
	}
	name := strings.ToUpper(gpu)
	if strings.Contains(name, "A100") {
		return core.Number(256)
	}
	for _, large := range []string{"H100", "H200", "H20", "GH200", "B200", "B300", "GB200", "GB300", "MI300", "MI325", "MI350", "MI355"} {
		if strings.Contains(name, large) {
			return core.Number(1024)
		}
	}
	return core.Number(256)
}

// atLeast compares the first two numbers of a version.
func atLeast(version string, major, minor int) bool {
	parts := strings.SplitN(strings.TrimPrefix(version, "v"), ".", 3)
	if len(parts) < 2 {
		return false
	}
	a, err1 := strconv.Atoi(parts[0])
	b, err2 := strconv.Atoi(strings.TrimRight(parts[1], "abcdefghijklmnopqrstuvwxyz+-"))
	return err1 == nil && err2 == nil && (a > major || a == major && b >= minor)
}

// scatter is the noise of one figure as repeats and twins show it.
type scatter struct {
	noise  stats.Noise
	spread float64 // of the widest group, 0 for none
	widest []int   // rows of the widest group
	groups [][]int // all groups that have the figure twice
}

// scatterOf measures the noise of a column over groups of rows.
func scatterOf(a *rows, groups [][]int, column string) scatter {
	var s scatter
	var samples [][]float64
	for _, g := range groups {
		var xs []float64
		for _, i := range g {
			if v := a.get(i, column); v.Kind == core.KindNumber {
				xs = append(xs, v.Num)
			}
		}
		if len(xs) < 2 {
			continue
		}
		samples = append(samples, xs)
		s.groups = append(s.groups, g)
		if w, ok := stats.Spread(xs); ok && (w > s.spread || s.widest == nil) {
			s.spread, s.widest = w, g
		}
	}
	s.noise, _ = stats.PooledNoise(samples)
	return s
}

// rules are those of a comparison with this noise. Where it is too thin to be pooled, no
// tolerance is taken that repeats have been seen to exceed.
func (s scatter) rules(r stats.Rules) stats.Rules {
	r.Noise = s.noise
	if !(r.Tolerance > 0) {
		r.Tolerance = usualTolerance
	}
	r.Tolerance = max(r.Tolerance, s.spread)
	return r
}

// usualTolerance is that of core/stats.
const usualTolerance = 0.03

// numbersOf lists the trials of some rows: "#30, #31".
func numbersOf(a *rows, group []int) string {
	var parts []string
	for _, i := range group {
		parts = append(parts, "#"+a.text(i, "number"))
	}
	if len(parts) > 6 {
		parts = append(slices.Clone(parts[:5]), fmt.Sprintf("and %d more", len(parts)-5))
	}
	return strings.Join(parts, ", ")
}
