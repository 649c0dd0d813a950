package chart_test

import (
	"fmt"
	"math"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/query/chart"
)

// The figures that the tests draw; TestGallery writes them for the eye.

func base() chart.Figure {
	return chart.Figure{
		Title: "Qwen3-32B on one H100: total throughput", Value: "total_tps", Unit: "tok/s", Better: core.HigherBetter,
		Query: `max total_tps where success_rate == 1 and workload == "sharegpt" by engine`,
		From:  core.History{ID: "0192f3a1-2222-7000-8000-000000000000", Trials: 58},
		Notes: []string{"considered 13, left out: 2 by where, 1 by status"},
	}
}

func mark(label string, v float64) chart.Mark { return chart.Mark{Label: label, Value: number(v)} }

// number makes a value without the care of core.Number, so that NaN gets through.
func number(v float64) core.Value { return core.Value{Kind: core.KindNumber, Num: v} }

func bars(marks ...chart.Mark) chart.Figure {
	f := base()
	f.Bars = marks
	return f
}

func barFigures() map[string]chart.Figure {
	m := map[string]chart.Figure{
		"few": bars(chart.Mark{Label: "vllm", Value: number(2352.82), Emphasis: chart.Baseline},
			chart.Mark{Label: "sglang", Value: number(1690.84), Note: "-28.1 %", Findings: 2},
			chart.Mark{Label: "trtllm", Value: number(4284.68), Note: "+82.1 %", Emphasis: chart.Best},
			chart.Mark{Label: "broken", Value: core.Missing()}),
		"one":      bars(mark("vllm", 2352.82)),
		"zero":     bars(mark("a", 0), mark("b", 0)),
		"equal":    bars(mark("a", 5), mark("b", 5), mark("c", 5)),
		"negative": bars(mark("sharegpt", 82.1), mark("short", -23.9), mark("none", 0)),
		"negative-long": bars(mark("a long label of a workload with many words in it, and more of them than stand under a bar", -560.92),
			mark("sharegpt", 82.1), mark("short", -23.9), mark("no change at all", 0)),
		"extreme": bars(mark("a", 9e299), mark("b", 5e-324), mark("c", -3e299), mark("d", 1e308), mark("e", math.Inf(1)), mark("f", math.NaN())),
		"tiny":    bars(mark("a", 3e-12), mark("b", 1e-12)),
		"stages": bars(
			chart.Mark{Group: "engine", Label: "engine=vllm", Value: number(2352.82), Emphasis: chart.Baseline},
			chart.Mark{Group: "engine", Label: "engine=sglang", Value: number(1690.84)},
			chart.Mark{Group: "engine", Label: "engine=trtllm", Value: number(2659.5)},
			chart.Mark{Group: "quantization", Label: "checkpoint=Qwen/Qwen3-32B-FP8", Value: number(4005.32)},
			chart.Mark{Group: "chunked prefill", Label: "context_len=40960 chunked_prefill=true kv_cache_dtype=fp8 max_batched_tokens=16384", Value: number(4284.68), Emphasis: chart.Best},
			chart.Mark{Group: "chunked prefill", Label: "включить кусочное предзаполнение и очень длинная подпись, которую надо переносить", Value: number(4284.68), Void: true, Findings: 1},
			chart.Mark{Group: "verify", Label: "模型 ✓ → ▲ ● 🚀", Value: number(12)}),
	}
	var many []chart.Mark
	for i := range 45 {
		many = append(many, mark(fmt.Sprintf("max_num_seqs=%d performance_mode=throughput", 64+i*32), float64(i*i*7+3)))
	}
	m["many"] = bars(many...)
	cyrillic := bars(mark("Базовая конфигурация (vLLM без оптимизации)", 2352.82), mark("После оптимизации", 4284.68))
	cyrillic.Title = "Сравнение результатов бенчмарков до и после оптимизации: пропускная способность Qwen3-32B на одном NVIDIA H100 80GB HBM3"
	m["cyrillic"] = cyrillic
	hostile := bars(mark(`<script>alert("1")</script> & 'more'`, 1), mark("a\nb\x00c\xff", 2))
	hostile.Title = `</title><svg onload="x">`
	m["hostile"] = hostile
	return m
}

func point(x, y float64) chart.Point { return chart.Point{X: number(x), Y: number(y)} }

func lineFigures() map[string]chart.Figure {
	line := func(series ...chart.Series) chart.Figure {
		f := base()
		f.X, f.Series = "concurrency", series
		return f
	}
	var eight []chart.Series
	for i := range 9 {
		s := chart.Series{Name: fmt.Sprintf("vllm max_num_seqs=%d", 64<<i)}
		for x := 1; x <= 64; x *= 2 {
			s.Points = append(s.Points, point(float64(x), float64(x*(100-i*9))))
		}
		eight = append(eight, s)
	}
	var history, rates chart.Series
	for i := range 30 {
		history.Points = append(history.Points, point(1790000000+float64(i)*40000, 1000+50*math.Sin(float64(i))))
		rates.Points = append(rates.Points, point(0.5*float64(i), 20*float64(i)))
	}
	when := line(history)
	when.X, when.XTime = "started_at", true
	rate := line(rates)
	rate.X, rate.XUnit = "request_rate", "req/s"
	return map[string]chart.Figure{
		// The records of a real sweep whose plot went wrong: unordered, repeated,
		// failed at 64, a series of one point, one run without a limit.
		"curve": line(
			chart.Series{Name: "tp1", Points: []chart.Point{point(1, 100), point(16, 1200), point(128, 3000), point(2, 190), point(32, 1900),
				point(4, 370), point(16, 1300), {X: number(64)}}},
			chart.Series{Name: "tp2", Points: []chart.Point{point(16, 1400)}},
			chart.Series{Name: "tp1-inf", Points: []chart.Point{{X: core.Unlimited(), Y: number(3200), Findings: 1}}}),
		"eight":     line(eight...),
		"when":      when,
		"rate":      rate,
		"single":    line(chart.Series{Name: "only", Points: []chart.Point{point(8, 812.5)}}),
		"unlimited": line(chart.Series{Points: []chart.Point{{X: core.Unlimited(), Y: number(10)}, {X: core.Unlimited(), Y: number(12)}}}),
		"negative":  line(chart.Series{Name: "gain", Points: []chart.Point{point(-10, -5), point(0, 3), point(10, -1)}}),
		"extreme":   line(chart.Series{Name: "x", Points: []chart.Point{point(-9e299, 9e299), point(9e299, -9e299), point(1e308, 1), point(math.NaN(), 1), point(2, math.Inf(-1))}}),
	}
}
