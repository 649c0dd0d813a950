package ingest

import (
	"math"
	"strings"

	"github.com/sweepbook/sweepbook/core"
)

// Quality is the accuracy of a model as an evaluation found it. It is no trial:
// it is attached to the trials of that checkpoint.
type Quality struct {
	File  string
	Model string // as the evaluation names it; "" where it does not
	// Figures are by name: "gsm8k" is a task's first metric, "gsm8k_stderr" its
	// standard error, "gsm8k_exact_match_strict_match" each metric in full.
	Figures map[string]float64
}

// isLMEval knows the results file of lm-evaluation-harness by its keys.
func isLMEval(o *object) bool {
	return o.has("results") && (o.has("configs") || o.has("n-shot") || o.has("versions")) && !o.has("benchmarks")
}

// readLMEval takes every task's metrics. A metric is called "metric,filter" and
// its standard error "metric_stderr,filter", in the order in which the task
// lists them; the first one stands for the task.
func readLMEval(r *objectReader, o *object) {
	q := Quality{File: r.in.name, Model: evaluatedModel(o), Figures: map[string]float64{}}
	results := o.sub("results")
	for _, task := range results.keys {
		metrics := results.sub(task)
		first := true
		for _, key := range metrics.keys {
			v, ok := metrics.vals[key].(float64)
			metric, filter, named := strings.Cut(key, ",")
			if !ok || !named || math.IsNaN(v) || math.IsInf(v, 0) || strings.HasSuffix(metric, "_stderr") {
				continue
			}
			stderr, known := metrics.vals[metric+"_stderr,"+filter].(float64)
			names := []string{qualityName(task + "_" + metric + "_" + strings.TrimPrefix(filter, "none"))}
			if first {
				names = append(names, qualityName(task))
				first = false
			}
			for _, name := range names {
				q.Figures[name] = v
				if known && !math.IsNaN(stderr) {
					q.Figures[name+"_stderr"] = stderr
				}
			}
		}
	}
	if len(q.Figures) == 0 {
		r.out.skip(0, "evaluation without a figure")
		return
	}
	r.out.quality = append(r.out.quality, q)
}

func evaluatedModel(o *object) string {
	if name := o.text("model_name"); name != "" {
		return name
	}
	for _, arg := range strings.Split(o.sub("config").text("model_args"), ",") {
		for _, key := range []string{"pretrained=", "model="} {
			if name, ok := strings.CutPrefix(strings.TrimSpace(arg), key); ok {
				return name
			}
		}
	}
	return ""
}

// qualityName makes a name that a query can use.
func qualityName(s string) string {
	name := strings.Map(func(c rune) rune {
		switch {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9', c == '_':
			return c
		case c >= 'A' && c <= 'Z':
			return c + ('a' - 'A')
		}
		return '_'
	}, s)
	return strings.TrimRight(name, "_")
}

// Values are the figures as a trial keeps them.
func (q Quality) Values() map[string]core.Value {
	out := make(map[string]core.Value, len(q.Figures))
	for name, v := range q.Figures {
		out[name] = core.Number(v)
	}
	return out
}
