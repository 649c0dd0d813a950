package query_test

import "testing"

func TestRests(t *testing.T) {
	h := memory{
		trial(t, 1, "engine", "a", "total_tps", 200, "requested", 50, "completed", 50),
		trial(t, 2, "engine", "a", "total_tps", 200, "requested", 20, "completed", 20),
		trial(t, 3, "engine", "b", "total_tps", 300, "requested", 1000, "completed", 1000),
		trial(t, 4, "engine", "c", "total_tps", 400, "requested", 60, "completed", 50, "incomplete", 10),
	}
	for query, want := range map[string]string{
		`max total_tps where success_rate == 1 and engine == "a"`: "success_rate == 1 rests on 20 requests of trial 2: a failure rate up to 14 % is not excluded at 95 % (2 rows rest on fewer than 300)",
		`max total_tps where success_rate == 1 and engine == "b"`: "",
		// Those that the limit cut off answered nothing.
		`max total_tps where success_rate >= 1`:                             "success_rate == 1 rests on 50 requests of trial 4: a failure rate up to 5.8 % is not excluded at 95 %",
		`max total_tps where success_rate > 0.9`:                            "",
		`max total_tps where engine == "a" and success_rate == 1 per setup`: "success_rate == 1 rests on 70 requests of trial 1: a failure rate up to 4.2 % is not excluded at 95 %",
		`pareto max total_tps, min number where success_rate == 1`:          "success_rate == 1 rests on 50 requests of trial 4: a failure rate up to 5.8 % is not excluded at 95 % (2 rows rest on fewer than 300)",
	} {
		if got := message(ask(t, h, query), "rests"); got != want {
			t.Errorf("%s:\n got %q\nwant %q", query, got, want)
		}
	}
}
