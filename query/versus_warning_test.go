package query_test

import (
	"slices"
	"testing"
)

// TestBaselineOfSeveral: an answer says where it compares with a median, of what, and
// whether a row is part of what it is compared with.
func TestBaselineOfSeveral(t *testing.T) {
	h := memory{
		trial(t, 1, "engine", "vllm", "role", "baseline", "concurrency", 1, "total_tps", 100),
		trial(t, 2, "engine", "vllm", "concurrency", 1, "total_tps", 400),
		trial(t, 3, "engine", "sglang", "concurrency", 1, "total_tps", 300),
		trial(t, 4, "engine", "vllm", "role", "baseline", "concurrency", 8, "total_tps", 1000),
		trial(t, 5, "engine", "vllm", "concurrency", 8, "total_tps", 1200.5),
		trial(t, 6, "engine", "sglang", "concurrency", 8, "total_tps", 5000),
		trial(t, 7, "engine", "vllm", "concurrency", 8), // has no value that counts
		trial(t, 8, "engine", "vllm", "concurrency", 8, "status", "failed", "total_tps", 1),
	}
	for _, c := range []struct{ query, want string }{
		{`max total_tps where concurrency == 1 vs engine == "vllm"`, "base(total_tps): the median of 2 trials, 100 to 400, trial 2 itself among them"},
		{`max total_tps where concurrency == 8 vs engine == "vllm"`, "base(total_tps): the median of 2 trials, 1000 to 1200.5"},
		{`max total_tps where concurrency == 8 per setup vs engine == "vllm"`, "base(total_tps): the median of 2 trials, 1000 to 1200.5"},
		{`max total_tps by concurrency vs engine == "vllm"`, "base(total_tps): a median of several trials in 2 of 2 rows; " +
			"in that of trial 2 the median of 2 trials, 100 to 400; in 1 row the row's own trial is among them"},
		{`show number, gain(total_tps) where engine == "sglang" vs engine == "vllm"`, "base(total_tps): a median of several trials in 2 of 2 rows; in that of trial 3 the median of 2 trials, 100 to 400"},
		{`show gain(total_tps), gain(mean_ttft_ms) where number == 7 vs engine == "vllm"`, "base(total_tps): the median of 2 trials, 1000 to 1200.5"},
		{`max total_tps by concurrency vs role == "baseline"`, ""},
		{`max total_tps vs number == 2 on model`, ""},
	} {
		for range 2 {
			if got := message(ask(t, h, c.query), "baseline"); got != c.want {
				t.Errorf("%s:\n%q, want\n%q", c.query, got, c.want)
			}
			slices.Reverse(h)
		}
	}
}
