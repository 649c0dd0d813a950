package query_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/sweepbook/sweepbook/core"
)

// verdict asks one trial for a condition: "yes", "no" or "undecided".
func verdict(t *testing.T, tr *core.Trial, condition string) string {
	t.Helper()
	a := ask(t, memory{tr}, "count where "+condition)
	switch {
	case a.Considered == 1:
		return "yes"
	case a.Excluded.Where == 1:
		return "no"
	case a.Excluded.Undecided == 1:
		return "undecided"
	}
	t.Fatalf("%s: the trial is nowhere: %+v", condition, a)
	return ""
}

// Kleene's tables, with y true, n false and u undecided.
func TestKleene(t *testing.T) {
	y, n, u := "yes", "no", "undecided"
	operands := map[string]string{y: "tp == 1", n: "tp == 2", u: "pp == 1"}
	tr := trial(t, 1, "tp", 1)
	tables := []struct {
		op   string
		want map[[2]string]string
	}{
		{"and", map[[2]string]string{{y, y}: y, {y, n}: n, {y, u}: u, {n, y}: n, {n, n}: n, {n, u}: n, {u, y}: u, {u, n}: n, {u, u}: u}},
		{"or", map[[2]string]string{{y, y}: y, {y, n}: y, {y, u}: y, {n, y}: y, {n, n}: n, {n, u}: u, {u, y}: y, {u, n}: u, {u, u}: u}},
	}
	for _, table := range tables {
		if len(table.want) != 9 {
			t.Fatalf("table of %s has %d rows", table.op, len(table.want))
		}
		for in, want := range table.want {
			text := operands[in[0]] + " " + table.op + " " + operands[in[1]]
			if got := verdict(t, tr, text); got != want {
				t.Errorf("%s: %s, want %s", text, got, want)
			}
			// The same inside brackets, where no conjunct is split off.
			if got := verdict(t, tr, "not not ("+text+")"); got != want {
				t.Errorf("not not (%s): %s, want %s", text, got, want)
			}
		}
	}
	for in, want := range map[string]string{y: n, n: y, u: u} {
		if got := verdict(t, tr, "not ("+operands[in]+")"); got != want {
			t.Errorf("not %s: %s, want %s", in, got, want)
		}
	}
}

func TestMeaning(t *testing.T) {
	tr := trial(t, 7,
		"engine", "vllm", "engine_version", "0.11.0rc2", "model", "Qwen/Qwen3-8B", "simulated", false,
		"total_tps", 1000.0, "mean_ttft_ms", 0.0, "output_len", 128.0,
		"concurrency", core.Unlimited(), "request_rate", 4.0,
		"started_at", time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC),
		"args.max_num_seqs", 512.0, "args.mode", "512", "args.eager", true, "args.window", core.Unlimited(),
		"extra.big", math.MaxFloat64, "quality.mmlu", 0.7)
	tr.Setup.Config.CommandKnown = true
	tr.Setup.Config.Knobs["seen"] = core.Number(1) // so that the next is a known name
	other := trial(t, 8, "args.unset", 1.0)
	const yes, no, undecided = "yes", "no", "undecided"
	tests := []struct{ condition, want string }{
		// Missing is neither 0 nor false, and is never equal nor unequal.
		{"output_tps == 0", undecided}, {"output_tps != 0", undecided}, {"not (output_tps > 5)", undecided},
		{"output_tps == output_tps", undecided}, {"throttled", undecided}, {"throttled == false", undecided},
		{"missing(output_tps)", yes}, {"known(output_tps)", no}, {"known(mean_ttft_ms)", yes},
		{"output_tps in [1, 2]", undecided}, {"total_tps in [1, output_tps]", undecided},
		{"total_tps in [1000, output_tps]", yes}, {"total_tps not in [1, 2]", yes}, {"total_tps not in [1, output_tps]", undecided},
		{"missing(output_tps > 5)", yes}, {"known(total_tps > 5)", yes},
		// Arithmetic is float64, and what is not finite is missing.
		{"7 / 2 == 3.5", yes}, {"7.5 % 2 == 1.5", yes}, {"-7 % 3 == -1", yes}, {"2 ** 10 == 1024", yes}, {"-2 ** 2 == -4", yes},
		{"missing(total_tps / mean_ttft_ms)", yes}, {"total_tps / 0 > 5", undecided}, {"missing(total_tps % 0)", yes},
		{"missing(0 / 0)", yes}, {"missing((-8) ** 0.5)", yes}, {"missing(extra.big * 10)", yes}, {"missing(output_tps + 1)", yes},
		{"missing(concurrency * 2)", yes}, {"missing(-concurrency)", yes}, {"0.1 + 0.2 == 0.3", no}, {"1e3 == total_tps", yes},
		{"0x10 == 16", yes}, {"1_000 == total_tps", yes}, {"+total_tps == 1000", yes},
		// Unlimited is above every number and equal to itself.
		{"concurrency == unlimited", yes}, {`concurrency == "inf"`, yes}, {`"unlimited" == concurrency`, yes},
		{"concurrency > 1e308", yes}, {"concurrency < unlimited", no}, {"request_rate < unlimited", yes},
		{"args.window == unlimited", yes}, {`args.window in ["inf", 3]`, yes}, {"args.max_num_seqs < unlimited", yes},
		// Text by code point and case; kinds never mix.
		{`engine == "VLLM"`, no}, {`engine < "w"`, yes}, {`engine contains "ll"`, yes}, {`engine startsWith "v"`, yes},
		{`engine endsWith "x"`, no}, {`engine matches "^v.l+m$"`, yes}, {`engine not matches "^s"`, yes},
		{`image contains "x"`, undecided}, {`not (image contains "x")`, undecided}, {`model == 'Qwen/Qwen3-8B'`, yes},
		{"args.mode == 512", no}, {`args.mode == "512"`, yes}, {"args.mode != 512", yes}, {"args.mode > 500", undecided},
		{"args.max_num_seqs == 512", yes}, {`args.max_num_seqs == "512"`, no}, {`args.max_num_seqs contains "5"`, no},
		{"missing(args.mode + 1)", yes},
		// A knob that stands alone means knob == true.
		{"args.eager", yes}, {"not args.eager", no}, {"args.mode", no}, {"args.eager == true", yes}, {"args.unset", no},
		{"not args.unset", yes},
		// Unset is a known fact but no value.
		{"args.unset == 1", no}, {"args.unset != 1", yes}, {`args.unset != "a"`, yes}, {"args.unset == args.unset", no},
		{"args.unset > 1", undecided}, {"args.unset <= 1", undecided}, {"not (args.unset > 1)", undecided},
		{"missing(args.unset)", yes}, {"known(args.unset)", no}, {"missing(args.unset + 1)", yes}, {"args.unset in [1, 2]", no},
		{"(args.unset ?? 256) == 256", yes}, {"args.unset == output_tps", no}, {`args.unset contains "a"`, no},
		// Versions.
		{`engine_version < "0.11.0"`, yes}, {`engine_version > "0.9"`, yes}, {`engine_version == "0.11rc2"`, yes},
		{`engine_version >= "0.11.0.rc1"`, yes}, {`engine_version == "nightly"`, no}, {`engine_version in ["0.11.0-rc.2"]`, yes},
		{`tool_version > "1"`, undecided}, {`engine_version startsWith "0.11"`, yes},
		// Times.
		{`started_at > "2026-11-28"`, yes}, {`started_at >= "2026-11-28T12:00:00Z"`, yes}, {`started_at == "2026-11-28T13:00:00+01:00"`, yes},
		{`started_at < "2026-11-28 12:00"`, no}, {"started_at > now() - days(7)", yes}, {"started_at > now() - days(1)", no},
		{"now() - started_at == days(2)", yes},
		// Alternatives.
		{"(output_tps ?? 5) == 5", yes}, {"(total_tps ?? 5) == 5", no}, {"missing(output_tps ?? input_tps)", yes},
		{"(tp > 1 ? 10 : 20) == 20", yes}, {"missing(output_tps > 1 ? 10 : 20)", yes},
		{"(missing(output_tps) ? total_tps : output_tps) == 1000", yes}, {"simulated ? false : true", yes},
		// Functions and literals.
		{"true", yes}, {"false", no}, {"not false", yes}, {"true and output_tps > 1", undecided},
		{"bin(total_tps, 300) == 900", yes}, {"bin(-1, 8) == -8", yes}, {"bin(0.3, 0.1) == 0.3 and bin(0.7, 0.1) == 0.7 and bin(0.29, 0.1) == 0.2", yes}, {"missing(bin(total_tps, 0))", yes}, {"missing(bin(output_tps, 8))", yes},
		{"max(total_tps, 5, 3) == 1000", yes}, {"min(total_tps, 5) == 5", yes}, {"mean(1, 2, 6) == 3", yes}, {"median(1, 2, 6) == 2", yes},
		{"missing(max(total_tps, output_tps))", yes},
		{"1 < request_rate < 5", yes}, {"5 < request_rate < 9", no}, {"quality.mmlu > 0.5", yes}, {"p50_ttft_ms == 3", undecided},
		{"total_tps_per_gpu > 1", undecided},
	}
	for _, tt := range tests {
		a := ask(t, memory{tr, other}, "show number where number == 7 and ("+tt.condition+")")
		got := no
		switch {
		case len(a.Rows) == 1:
			got = yes
		case a.Excluded.Undecided == 1:
			got = undecided
		}
		if got != tt.want {
			t.Errorf("%s: %s, want %s", tt.condition, got, tt.want)
		}
	}
}

// Versions in rising order; each compares with each.
func TestVersionOrder(t *testing.T) {
	rising := []string{
		"0.5.5.dev1", "0.5.5.dev2+g1234", "0.5.5a1", "0.5.5b1.dev4", "0.5.5b1", "0.5.5rc1", "0.5.5rc2.post1", "0.5.5", "0.5.5+cu118", "0.5.5+cu128",
		"0.5.5+cu128.1", "0.5.5+5", "0.5.5.post1.dev1", "0.5.5.post1", "0.5.5.post10", "0.5.10", "0.11", "0.11.0.1", "1.2.0rc1", "1.2", "10.0",
		"20261130.123456789012345678901", "1!0.1",
	}
	for i, a := range rising {
		for j, b := range rising {
			tr := trial(t, 1, "engine_version", a)
			want := map[bool]string{true: "yes", false: "no"}
			if got := verdict(t, tr, fmt.Sprintf("engine_version < %q", b)); got != want[i < j] {
				t.Errorf("%s < %s: %s", a, b, got)
			}
			if got := verdict(t, tr, fmt.Sprintf("engine_version == %q", b)); got != want[i == j] {
				t.Errorf("%s == %s: %s", a, b, got)
			}
		}
	}
	same := [][2]string{{"1.0", "1"}, {"v1.0", "1.0.0"}, {"1.0-alpha.1", "1.0a1"}, {"1.0c1", "1.0rc1"}, {"1.0preview2", "1.0.pre-2"},
		{"1.0-1", "1.0.post1"}, {"1.0.rev2", "1.0r2"}, {"1.0DEV", "1.0.dev0"}, {"0!1.0", "1.0"}, {"01.02", "1.2"}, {"1.0+CU.01", "1.0+cu.1"}}
	for _, s := range same {
		if got := verdict(t, trial(t, 1, "engine_version", s[0]), fmt.Sprintf("engine_version == %q", s[1])); got != "yes" {
			t.Errorf("%s == %s: %s", s[0], s[1], got)
		}
	}
	// What is no version has no order, but is equal to itself.
	for _, text := range []string{"nightly", "sha256:abcd", "1.0foo", "1..2", "1.0+", "1.0+a!b", "1.0rc1rc2", "v"} {
		tr := trial(t, 1)
		tr.Setup.EngineVersion, tr.Setup.Image = text, text
		if got := verdict(t, tr, `engine_version > "0.1"`); got != "undecided" {
			t.Errorf("%s > 0.1: %s", text, got)
		}
		if got := verdict(t, tr, `engine_version == image`); got != "yes" {
			t.Errorf("%s == itself: %s", text, got)
		}
	}
}
