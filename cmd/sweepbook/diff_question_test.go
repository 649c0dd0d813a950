package main

import (
	"fmt"
	"math/rand/v2"
	"strconv"
)

var (
	diffFigures  = []string{"total_tps", "total_tps", "output_tps", "mean_ttft_ms", "p99_ttft_ms", "p75_ttft_ms", "success_rate", "completed", "findings", "total_tps_per_gpu", "duration_tps", "joules_per_output_token", "est_e2el_ms", "quality.gsm8k", "extra.x"}
	diffSettings = []string{"gpus", "concurrency", "request_rate", "num_prompts", "tp", "args.max_num_seqs", "input_len", "number", "ready_s", "repeat"}
	diffTexts    = []string{"engine", "model", "workload", "load", "study", "role", "status", "host", "gpu", "option", "compile_cache", "args.kv_cache_dtype", "tool", "tag", "stage", "setup", "config", "asserted", "failure", "launch"}
	diffVersions = []string{"engine_version", "tool_version"}
	diffRequests = []string{"attained(ttft_ms <= 50)", "attained(tpot_ms < 6 and ttft_ms <= 50)", "goodput(ttft_ms <= 100)", "goodput(e2el_ms <= 60)", "attained(max_itl_ms < 9 or cached_tokens > 0)"}
	diffTruths   = []string{"simulated", "ignore_eos", "throttled", "sound(total_tps)", "sound(p99_ttft_ms / 2)", "missing(requested)", "known(gpus)", "args.kv_cache_dtype", "known(passed.max_num_seqs)"}
)

// question is a random one; most mean something.
func question(r *rand.Rand) string {
	maybe := func(n int, format string, args ...func() string) string {
		if r.IntN(n) > 0 {
			return ""
		}
		var texts []any
		for _, arg := range args {
			texts = append(texts, arg())
		}
		return " " + fmt.Sprintf(format, texts...)
	}
	number := func() string { return diffNumber(r, 2) }
	condition := func() string { return diffCondition(r, 3) }
	key := func() string {
		switch r.IntN(8) {
		case 0:
			return pick(r, diffSettings...)
		case 1:
			return pick(r, diffVersions...)
		case 2:
			return pick(r, "bin(total_tps, 100)", "simulated", "total_tps > 200", "engine == \"vllm\"", "started_at")
		}
		return pick(r, diffTexts...)
	}
	keys := func() string {
		if r.IntN(3) == 0 {
			if a, b := key(), key(); a != b {
				return a + ", " + b
			}
		}
		return key()
	}
	goal := func() string { return pick(r, "max ", "min ") + pick(r, diffFigures[:12]...) }
	where := func() string { return maybe(2, "where %s", condition) }
	by := func() string { return maybe(2, "by %s", keys) }
	per := func() string { return maybe(3, "per %s", func() string { return pick(r, "setup", "config") }) }
	vs := func() string {
		return maybe(4, "vs %s", func() string {
			return pick(r, "role == \"baseline\"", "engine == \"vllm\"", "option == \"a\"", condition()) + maybe(3, "on %s", keys)
		})
	}
	number2 := func() string { return strconv.Itoa(1 + r.IntN(4)) }
	top := func() string { return maybe(4, "top %s", number2) }
	limit := func() string { return maybe(5, "limit %s", number2) }
	switch r.IntN(12) {
	case 0, 1, 2, 3:
		value := number
		if r.IntN(3) > 0 {
			value = func() string { return pick(r, diffFigures...) }
		}
		if r.IntN(20) == 0 {
			value = func() string { return pick(r, diffRequests...) }
		}
		text := pick(r, "max ", "min ") + value() + where() + by() + per()
		switch r.IntN(6) {
		case 0:
			return text + vs() + maybe(3, "order by gain desc")
		case 1:
			return text + maybe(2, "over %s", func() string {
				if r.IntN(3) == 0 {
					return `workload weights {"chat": 2, "code": 1}`
				}
				return key()
			}) + top()
		case 2:
			return text + " within noise" + top()
		}
		return text + vs() + maybe(5, "having %s", func() string { return "count() > " + number2() }) + maybe(5, "prefer %s", goal) + maybe(6, "within 10%%") + top() + limit()
	case 4, 5:
		return "pareto " + goal() + ", " + goal() + where() + by() + per() + maybe(4, "vs role == \"baseline\"") + limit()
	case 6, 7:
		columns := "number"
		for range 1 + r.IntN(3) {
			columns += ", " + pick(r, key(), number(), pick(r, diffFigures...)) + maybe(8, "as c%s", number2)
		}
		return "show " + columns + where() + maybe(4, "by %s", keys) + per() + maybe(3, "order by %s", func() string { return pick(r, "number", "total_tps desc", "started_at", key()) }) + top() + limit()
	case 8:
		aggregates := pick(r, "median", "mean", "max", "min", "sum", "stdev", "count") + "(" + pick(r, diffFigures...) + "), count()" +
			maybe(3, ", p(%s, 90)", func() string { return pick(r, diffFigures...) }) + maybe(3, ", any(%s)", condition) + maybe(4, ", all(%s)", condition) + maybe(5, ", count(%s)", condition)
		return "show " + aggregates + where() + by() + per() + maybe(4, "having %s", func() string { return "count() > " + number2() }) + limit()
	case 9:
		return "count" + where() + by() + per()
	case 10:
		figure := pick(r, diffFigures[:8]...)
		if r.IntN(10) == 0 {
			figure = pick(r, diffRequests...)
		}
		return pick(r, "first ", "last ") + figure + pick(r, " > ", " < ") + pick(r, "20", "100", "0.9", "200") + " along " + pick(r, diffSettings[1:6]...) + where() + maybe(3, "by %s", keys) + per() + top()
	}
	if r.IntN(2) == 0 {
		return "at " + pick(r, diffFigures[:6]...) + " == " + pick(r, "25", "150", "250") + " along " + pick(r, diffSettings[1:6]...) + where() + maybe(3, "by %s", keys) + per()
	}
	return "change " + pick(r, diffFigures[:8]...) + " along " + pick(r, "concurrency", "started_at", "engine_version", "gpus") + where() + maybe(3, "by %s", keys) + per()
}

func diffNumber(r *rand.Rand, depth int) string {
	if depth == 0 || r.IntN(3) == 0 {
		switch r.IntN(40) {
		case 0:
			return pick(r, diffRequests...)
		case 1:
			return pick(r, "base(total_tps)", "gain", "gain(output_tps)", "n", "failed_repeats", "passed.max_num_seqs", "bin(total_tps, 100)", "-total_tps")
		}
		switch r.IntN(4) {
		case 0:
			return pick(r, "0", "2", "20", "100", "0.9", "unlimited")
		case 1:
			return pick(r, diffSettings...)
		}
		return pick(r, diffFigures...)
	}
	a, b := diffNumber(r, depth-1), diffNumber(r, depth-1)
	switch r.IntN(7) {
	case 0:
		return "max(" + a + ", " + b + ")"
	case 1:
		return "(" + diffCondition(r, 1) + " ? " + a + " : " + b + ")"
	case 2:
		return "(" + a + " ?? " + b + ")"
	}
	return "(" + a + " " + pick(r, "+", "-", "*", "/", "%", "**") + " " + b + ")"
}

func diffCondition(r *rand.Rand, depth int) string {
	if depth > 0 && r.IntN(3) > 0 {
		a, b := diffCondition(r, depth-1), diffCondition(r, depth-1)
		switch r.IntN(5) {
		case 0:
			return "not (" + a + ")"
		case 1:
			return "(" + a + " or " + b + ")"
		}
		return a + " and " + b
	}
	switch r.IntN(9) {
	case 0:
		return pick(r, diffTruths...)
	case 1:
		return pick(r, diffTexts...) + pick(r, " == ", " != ") + pick(r, `"vllm"`, `"m"`, `"chat"`, `"ok"`, `"failed"`, `"baseline"`, `"fp8"`, `"warm"`, `"s1"`, `"c=2"`)
	case 2:
		return pick(r, diffTexts...) + pick(r, ` in ["vllm", "sglang", "chat"]`, ` matches "^[a-m]"`, ` contains "l"`, ` startsWith "c="`, ` endsWith "m"`, ` not in ["s1", "H100"]`)
	case 3:
		return pick(r, diffVersions...) + pick(r, " < ", " >= ", " == ", " != ") + pick(r, `"0.10"`, `"0.9.2"`, `"nightly"`)
	case 4:
		return pick(r, "started_at > now() - days(20)", `started_at < "2026-11-20"`, "missing(started_at)")
	case 5:
		return pick(r, "success_rate == 1", "success_rate > 0.9", "total_tps >= 200", "concurrency == unlimited", "gpus in [1, 2]")
	}
	return diffNumber(r, 1) + pick(r, " < ", " <= ", " > ", " >= ", " == ", " != ") + diffNumber(r, 1)
}
