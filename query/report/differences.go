package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/core/stats"
)

type differenceField struct{ kind, field string }

// differenceFields are all fields in which sides are held against each other.
func (c *comparer) differenceFields() []differenceField {
	var out []differenceField
	add := func(kind string, fields ...string) {
		for _, f := range fields {
			out = append(out, differenceField{kind, f})
		}
	}
	add("setup", "engine", "model", "checkpoint", "weight_dtype", "kv_dtype", "tp", "pp", "dp", "ep", "gpus", "nodes", "spec_method", "image")
	for _, k := range c.knobs {
		if plainName(k) {
			add("knob", "passed."+k)
		}
	}
	add("version", "engine_version", "sweepbook_version")
	add("tool", "tool", "tool_version")
	add("workload", "workload", "dataset", "input_len", "output_len", "ignore_eos", "turns")
	add("load", "concurrency", "request_rate", "burstiness", "num_prompts", "seed")
	add("environment", "gpu", "driver", "host", "power_limit_w", "compile_cache", "simulated")
	return out
}

// differences lists the fields whose values are not the same on both sides, over the
// trials that were compared.
func (c *comparer) differences(pairs []pointPair) []Difference {
	var rowsA, rowsB []int
	for _, p := range pairs {
		rowsA, rowsB = append(rowsA, p.a.rows...), append(rowsB, p.b.rows...)
	}
	engines := append(c.a.distinctOf(rowsA, "engine"), c.b.distinctOf(rowsB, "engine")...)
	out := []Difference{}
	for _, d := range c.differenceFields() {
		if knob, is := strings.CutPrefix(d.field, "passed."); is && slices.ContainsFunc(engines, func(e core.Value) bool {
			return core.CanonicalKnob(e.String(), knob) != knob
		}) {
			continue // an engine's own spelling of a knob that stands under its common name
		}
		a, b := c.a.distinctOf(rowsA, d.field), c.b.distinctOf(rowsB, d.field)
		if !slices.Equal(a, b) {
			out = append(out, Difference{d.kind, d.field, a, b})
		}
	}
	return out
}

// distinctOf lists the values of a field over some rows, each once, in order; missing
// is one of them.
func (s *side) distinctOf(rows []int, field string) []core.Value {
	var out []core.Value
	for _, i := range rows {
		if v := s.value(i, field); !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	slices.SortFunc(out, func(x, y core.Value) int {
		switch {
		case x.Kind != y.Kind:
			return int(x.Kind) - int(y.Kind)
		case x.Num < y.Num:
			return -1
		case x.Num > y.Num:
			return 1
		}
		return strings.Compare(x.Text, y.Text)
	})
	return out
}

// warn adds what the reader of the figures must know.
func (c *comparer) warn(pairs []pointPair) {
	add := func(format string, args ...any) {
		c.out.Warnings = append(c.out.Warnings, fmt.Sprintf(format, args...))
	}
	both := map[string]bool{}
	for _, s := range []struct {
		name string
		*side
		of func(pointPair) loadPoint
	}{{"A", c.a, func(p pointPair) loadPoint { return p.a }}, {"B", c.b, func(p pointPair) loadPoint { return p.b }}} {
		if s.failed > 0 {
			add("%s: %s ended without a result and did not take part", s.name, plural(s.failed, "trial"))
		}
		if s.open > 0 {
			add("%s: %s not ended yet", s.name, plural(s.open, "trial"))
		}
		for _, p := range pairs {
			if n := len(s.distinctOf(s.of(p).rows, "setup")); n > 1 {
				add("%s holds %d setups on %s: its median mixes them", s.name, n, s.of(p).label())
			}
		}
	}
	for _, p := range pairs {
		for _, i := range p.a.rows {
			both[c.a.value(i, "id").Text] = true
		}
	}
	shared := 0
	for _, p := range pairs {
		for _, i := range p.b.rows {
			if both[c.b.value(i, "id").Text] {
				shared++
			}
		}
	}
	if shared > 0 {
		add("%s on both sides", map[bool]string{true: "one trial stands", false: fmt.Sprintf("%d trials stand", shared)}[shared == 1])
	}
	hidden := len(c.out.Differences) == 0 || !slices.ContainsFunc(c.out.Differences, func(d Difference) bool { return d.Kind == "setup" || d.Kind == "knob" })
	if a, b := c.configs(pairs); hidden && !slices.Equal(a, b) && shared == 0 {
		add("the configurations differ in something that no field shows: the revision of the checkpoint, the environment, or whether the command is known")
	}
	if slices.ContainsFunc(c.out.Differences, func(d Difference) bool { return d.Field == "simulated" }) {
		add("one side is simulated, the other is not")
	}
	for _, p := range pairs {
		c.warnAmounts(p, add)
		c.warnChunks(p, add)
	}
	assumed := slices.DeleteFunc(slices.Clone(c.out.Metrics), func(m Compared) bool {
		return m.Tier != stats.TierAssumed || m.Ratio == 0 || strings.HasPrefix(m.Metric, "quality.")
	})
	if len(assumed) > 0 {
		add("of the verdicts, %d rest on an assumed noise: repeat both sides 4 times, or some configurations often enough for %d degrees of freedom, to measure it",
			len(assumed), stats.MinFreedom)
	}
}

func (c *comparer) configs(pairs []pointPair) (a, b []core.Value) {
	var rowsA, rowsB []int
	for _, p := range pairs {
		rowsA, rowsB = append(rowsA, p.a.rows...), append(rowsB, p.b.rows...)
	}
	return c.a.distinctOf(rowsA, "config"), c.b.distinctOf(rowsB, "config")
}

// warnChunks says where gaps between chunks were compared as if they were gaps between
// tokens: with speculative decoding a chunk holds all tokens that a step accepted.
func (c *comparer) warnChunks(p pointPair, add func(string, ...any)) {
	var metrics []string
	for _, m := range c.metrics {
		if strings.HasSuffix(m.Name, "_itl_ms") && len(c.a.values(p.a.rows, m.Name)) > 0 && len(c.b.values(p.b.rows, m.Name)) > 0 {
			metrics = append(metrics, m.Name)
		}
	}
	accepted := func(s *side, rows []int) float64 {
		n, _ := stats.Median(s.values(rows, "accept_len"))
		return n
	}
	a, b := accepted(c.a, p.a.rows), accepted(c.b, p.b.rows)
	methodA, methodB := c.a.distinctOf(p.a.rows, "spec_method"), c.b.distinctOf(p.b.rows, "spec_method")
	var why string
	switch {
	case len(metrics) == 0:
		return
	case a > 1 && b > 1:
		why = fmt.Sprintf("a decoding step accepts %s tokens in A and %s in B", printed(core.Number(a)), printed(core.Number(b)))
	case a > 1:
		why = fmt.Sprintf("a decoding step accepts %s tokens in A", printed(core.Number(a)))
	case b > 1:
		why = fmt.Sprintf("a decoding step accepts %s tokens in B", printed(core.Number(b)))
	case !slices.Equal(methodA, methodB) && slices.ContainsFunc(append(slices.Clone(methodA), methodB...), speculates):
		why = fmt.Sprintf("spec_method is %s in A and %s in B", valueList(methodA), valueList(methodB))
	default:
		return
	}
	add("%s: %s: a chunk holds several tokens there, so %s time chunks, not tokens; the comparable figure is TPOT", p.a.label(), why, strings.ReplaceAll(shortList(metrics, 3), ";", ","))
}

// speculates: a method of speculative decoding, and not that there is none.
func speculates(method core.Value) bool { return method.Kind == core.KindText && method.Text != "none" }

// warnAmounts says when the sides did not do the same work: another chat template makes
// other prompts, an answer that ends early makes fewer tokens.
func (c *comparer) warnAmounts(p pointPair, add func(string, ...any)) {
	for _, f := range []struct {
		field, what string
		limit       float64
	}{{"mean_input_len", "prompts of %s and %s tokens on average", 0.01}, {"mean_output_len", "answers of %s and %s tokens on average", 0.02}} {
		a, okA := stats.Median(c.a.values(p.a.rows, f.field))
		b, okB := stats.Median(c.b.values(p.b.rows, f.field))
		if okA && okB && a > 0 && math.Abs(b/a-1) > f.limit {
			add("%s: "+f.what+", %s: the sides did not do the same work", p.a.label(), printed(core.Number(a)), printed(core.Number(b)),
				percent(core.Number(b/a-1)))
		}
	}
}
