package query_test

import (
	"strings"
	"testing"

	"github.com/sweepbook/sweepbook/query"
)

// What people bring from elsewhere is answered with what to write here.
func TestHabits(t *testing.T) {
	h := memory{trial(t, 1, "engine", "vllm", "gpu", "NVIDIA H200", "total_tps", 100)}
	for text, want := range map[string]string{
		"select total_tps from trials":                            "show number, engine, total_tps where",
		"compare vllm vs sglang":                                  "sweepbook compare A B along concurrency",
		"why 88":                                                  "sweepbook why TRIAL",
		"top 5 total_tps":                                         "top 5",
		"average total_tps by engine":                             "show mean(total_tps)",
		"maxx total_tps":                                          "nearest: max",
		"max throughput":                                          "nearest: output_tps, total_tps, output_tps_per_gpu",
		"min cost":                                                "nearest: usd_per_mtok_output",
		"min ttft":                                                "nearest: mean_ttft_ms, median_ttft_ms, p99_ttft_ms",
		"max total_tps group by engine":                           "groups are made by",
		"max total_tps if success_rate == 1":                      "choose trials with where",
		"max total_tps since 2026-11-01":                          "where started_at",
		"max total_tps where started_at > now() - 30 days":        "days(30)",
		"max total_tps where success_rate == 100%":                "a share is written as a fraction",
		"show number, total_tps sort by total_tps":                "rows are sorted by: order by",
		"show mean total_tps by engine":                           "mean(total_tps)",
		"show avg(total_tps) by engine":                           "it is called mean(x) here",
		"show * where engine == \"vllm\"":                         "sweepbook show TRIAL",
		"max total_tps per gpu":                                   "output_tps_per_gpu",
		"show total_tps per concurrency":                          "by concurrency",
		"max total_tps/gpu":                                       "gpus is how many there are",
		"max total_tps vs baseline":                               `role == "baseline"`,
		"max total_tps where args.max-num-seqs == 256":            "args.max_num_seqs",
		"max total_tps where p99_ttft_ms between 4 and 8":         "a range is two conditions",
		"max total_tps where args.max_num_seq == 256":             "nearest: args.max_num_seqs",
		"change output_tps between engine_version":                "along",
		"max total_tps where engine like \"v%\"":                  "contains",
		"max total_tps where coalesce(requested, completed) == 1": "a ?? b",
	} {
		_, err := query.Run(t.Context(), h, text, query.Options{})
		if !query.IsUsage(err) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %q", text, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "args.max_num_seqs, args.max_num_seqs") {
			t.Errorf("%s: a name twice: %v", text, err)
		}
	}
}

// A text that no trial has is held against those that trials have.
func TestTextsThatAreMeant(t *testing.T) {
	h := memory{
		trial(t, 1, "engine", "vllm", "gpu", "NVIDIA H200", "total_tps", 100),
		trial(t, 2, "engine", "vllm", "gpu", "NVIDIA H200", "total_tps", 100),
		trial(t, 3, "engine", "sglang", "gpu", "NVIDIA H100 80GB HBM3", "total_tps", 100),
	}
	for text, want := range map[string]string{
		`max total_tps where gpu == "H200"`:       `no trial qualifies: gpu == "H200" is false for 3 of 3 trials; there is "NVIDIA H200" in 2 trials`,
		`max total_tps where engine == "vLLM"`:    `no trial qualifies: engine == "vLLM" is false for 3 of 3 trials; there is "vllm" in 2 trials`,
		`max total_tps where engine == "sglagn"`:  `no trial qualifies: engine == "sglagn" is false for 3 of 3 trials; there is "sglang" in 1 trial`,
		`max total_tps where engine == "nothing"`: `no trial qualifies: engine == "nothing" is false for 3 of 3 trials`,
		`count where gpu == "NVIDIA H200"`:        "",
	} {
		if got := message(ask(t, h, text), "no_trial"); got != want {
			t.Errorf("%s:\n got %q\nwant %q", text, got, want)
		}
	}
}
