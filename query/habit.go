package query

import (
	"strings"

	"github.com/sweepbook/sweepbook/core"
)

// What people bring from other languages and dashboards, and what it is called here. Only
// messages use these tables: nothing in them is a word of the language.

// verbHabits are first words of questions.
func verbHabit(word string) string {
	switch strings.ToLower(word) {
	case "select", "list", "get", "print", "display", "describe":
		return "columns are shown by show: show number, engine, total_tps where …"
	case "compare", "diff", "versus":
		return "two sides are compared by a command of its own: sweepbook compare A B along concurrency; or each row with a baseline: max total_tps by engine vs engine == \"vllm\""
	case "why", "explain":
		return "sweepbook why TRIAL 'question' and sweepbook query --explain are commands"
	case "best", "highest", "maximum", "maximize", "maximise", "fastest", "top", "which", "what":
		return "the best is max or min of a figure: max total_tps where success_rate == 1 top 5"
	case "lowest", "minimum", "minimize", "minimise", "cheapest", "worst":
		return "the lowest is min of a figure: min mean_tpot_ms by engine"
	case "average", "avg", "mean", "median", "sum", "stdev", "p99", "group":
		return "figures of groups are shown: show mean(total_tps), count() by engine"
	case "how", "number":
		return "trials are counted by count: count where status == \"failed\" by failure"
	case "help", "?":
		return "sweepbook query --help prints the language"
	}
	return ""
}

// clauseHabit is what to write for a word that begins no clause.
func clauseHabit(word, next string) string {
	switch strings.ToLower(word) {
	case "group", "grouped", "each":
		return "groups are made by: by engine"
	case "sort", "sorted", "ordered":
		return "rows are sorted by: order by total_tps desc"
	case "if", "when", "filter", "having":
		return "trials are chosen by where: where success_rate == 1"
	case "since", "after", "until", "before", "during":
		return "a time is a condition: where started_at > now() - days(30), where started_at >= \"2026-11-01\""
	case "between", "across", "for":
		return "a range is two conditions: where concurrency >= 4 and concurrency <= 16; a curve is along concurrency"
	case "from", "of":
		return "a question is about all trials of the history: choose among them with where"
	case "days", "day", "weeks", "hours":
		return "a span of time is days(30)"
	case "like", "ilike", "has":
		return "text is searched by contains \"x\", startsWith \"x\" or matches \"pattern\""
	case "is":
		return "missing(x) and known(x) ask whether a value is there, == compares"
	}
	if f, ok := lookupFunction(word); ok && next != "" {
		return "a function has brackets: " + f.name + "(" + next + ")"
	}
	return ""
}

// fieldHabit names the fields that a common word may mean, best first.
func fieldHabit(word string) []string {
	switch word := strings.ToLower(word); word {
	case "throughput", "tps", "tok_s", "tokens_per_second", "toks", "speed", "tokens":
		return []string{"output_tps", "total_tps", "output_tps_per_gpu"}
	case "qps", "rate", "requests_per_second", "reqs":
		return []string{"rps", "request_rate", "goodput_rps"}
	case "ttft", "tpot", "itl", "e2el":
		return []string{core.LatencyName("mean", word), core.LatencyName("median", word), core.LatencyName("p99", word)}
	case "latency", "e2e", "response_time":
		return []string{"mean_e2el_ms", "p99_e2el_ms", "p99_ttft_ms"}
	case "cost", "price", "usd", "dollar", "dollars", "money":
		return []string{"usd_per_mtok_output", "usd_per_mtok_total"}
	case "power", "watts", "watt":
		return []string{"mean_power_w", "power_limit_w", "energy_j"}
	case "energy", "joules":
		return []string{"energy_j", "joules_per_output_token"}
	case "memory", "vram", "mem":
		return []string{"peak_memory_mib", "kv_cache_peak"}
	case "errors", "error", "failures", "failed_requests":
		return []string{"failed", "success_rate", "failure"}
	case "slo", "goodput":
		return []string{"goodput_rps", "attained(ttft_ms <= 200)", "goodput(ttft_ms <= 200)"}
	case "batch", "batch_size", "max_batch_size":
		return []string{"args.max_num_seqs", "mean_concurrency", "concurrency"}
	case "users", "clients", "streams", "max_concurrency":
		return []string{"concurrency", "mean_concurrency"}
	case "date", "time", "when", "created", "created_at", "timestamp":
		return []string{"started_at"}
	case "version":
		return []string{"engine_version", "tool_version", "sweepbook_version"}
	case "gpu_count", "num_gpus", "ngpus", "gpu_num":
		return []string{"gpus"}
	case "gpu_name", "gpu_type", "accelerator":
		return []string{"gpu"}
	case "quantization", "quant", "dtype", "precision":
		return []string{"weight_dtype", "kv_dtype", "args.quantization"}
	case "tensor_parallel", "tensor_parallel_size":
		return []string{"tp"}
	case "dataset_name", "prompts":
		return []string{"dataset", "num_prompts", "workload"}
	case "experiment", "run", "sweep":
		return []string{"study", "number", "launch"}
	case "input_length", "prompt_len", "isl":
		return []string{"input_len", "mean_input_len"}
	case "output_length", "osl":
		return []string{"output_len", "mean_output_len"}
	case "cache_hit", "cache_hit_rate", "hit_rate":
		return []string{"prefix_hit_rate", "cached_tokens"}
	case "acceptance", "acceptance_rate", "acceptance_length":
		return []string{"accept_rate", "accept_len"}
	}
	return nil
}

// functionHabit names the function that another language calls otherwise.
func functionHabit(word string) string {
	switch strings.ToLower(word) {
	case "avg", "average":
		return "mean(x)"
	case "std", "stddev", "sd":
		return "stdev(x)"
	case "percentile", "quantile", "pct", "p50", "p90", "p95", "p99":
		return "p(x, 99)"
	case "isnull", "is_null", "isnan", "null":
		return "missing(x)"
	case "coalesce", "ifnull", "nvl":
		return "a ?? b"
	case "hours", "minutes", "weeks", "months", "interval":
		return "days(n), of which n may be a fraction"
	case "abs":
		return "max(x, -x)"
	case "slo", "attainment":
		return "attained(ttft_ms <= 200)"
	case "if", "iff", "case":
		return "c ? a : b"
	}
	return ""
}
