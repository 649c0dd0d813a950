package report

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sweepbook/sweepbook/query"
)

func TestReadObjective(t *testing.T) {
	for _, c := range []struct {
		text string
		want objective
		ask  string // with one more condition, a == 1
	}{
		{"max total_tps where success_rate == 1",
			objective{verb: "max", goal: "total_tps", value: "total_tps", name: "total_tps", where: "success_rate == 1"},
			"max total_tps where success_rate == 1 and a == 1"},
		{"min mean_ttft_ms", objective{verb: "min", goal: "mean_ttft_ms", value: "mean_ttft_ms", name: "mean_ttft_ms"}, "min mean_ttft_ms where a == 1"},
		{"max rps * 2 as twice where status == \"ok\" or(simulated) prefer min mean_ttft_ms within 2%",
			objective{verb: "max", goal: "rps * 2 as twice", value: "rps * 2", name: "twice", where: `status == "ok" or(simulated)`, rest: " prefer min mean_ttft_ms within 2%"},
			`max rps * 2 as twice where (status == "ok" or(simulated)) and a == 1 prefer min mean_ttft_ms within 2%`},
		{`max rps where option == "order by limit" and args.top == 3 order by rps limit 5`,
			objective{verb: "max", goal: "rps", value: "rps", name: "rps", where: `option == "order by limit" and args.top == 3`, rest: " order by rps limit 5"},
			`max rps where option == "order by limit" and args.top == 3 and a == 1 order by rps limit 5`},
		{"max\n\trps\nwhere\n option == 'it\\'s where' by engine", objective{verb: "max", goal: "rps", value: "rps", name: "rps", where: `option == 'it\'s where'`, rest: " by engine"},
			`max rps where option == 'it\'s where' and a == 1 by engine`},
	} {
		got, err := readObjective(c.text)
		if err != nil {
			t.Errorf("%q: %v", c.text, err)
			continue
		}
		if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(objective{})); diff != "" {
			t.Errorf("%q (-want +got):\n%s", c.text, diff)
		}
		if ask := got.ask("a == 1"); ask != c.ask {
			t.Errorf("%q: asks %q, want %q", c.text, ask, c.ask)
		}
	}
}

// TestLimits: the figures of a condition are found, choices and strings are not.
func TestLimits(t *testing.T) {
	for _, c := range []struct {
		text string
		want []string
	}{
		{"max total_tps", nil},
		{"max output_tps where success_rate == 1 and p99_ttft_ms <= 500 and concurrency == 16", []string{"p99_ttft_ms"}},
		{`max output_tps where option == "mean_tpot_ms" and args.x == 1 and output_tps > 3 and (p50_ttft_ms < 2 or median_ttft_ms < 3) prefer min mean_e2el_ms within 2%`, []string{"median_ttft_ms", "mean_e2el_ms"}},
		{"min mean_ttft_ms where quality.gsm8k >= 0.9 by engine", []string{"quality.gsm8k"}},
	} {
		o, err := readObjective(c.text)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range o.limits() {
			got = append(got, f.Name)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.text, diff)
		}
	}
}

// FuzzObjective: what the language takes as an objective can be cut apart and put
// together again with a condition, and is still the same kind of question.
func FuzzObjective(f *testing.F) {
	for _, s := range []string{
		"max total_tps where success_rate == 1",
		"min a + b as c where x or y ? z : w by engine prefer max rps within 3%",
		"max rps where option == 'a \\' where b' or model in [\"by\", \"top\"]",
		"max args.limit where (a and (b or c)) top 3 limit 4 order by rps desc, engine",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		o, err := readObjective(text)
		if err != nil {
			return
		}
		again := o.ask(is("study", "x \" where y"))
		q, err := query.Parse(again)
		if err != nil {
			t.Fatalf("%q became %q: %v", text, again, err)
		}
		if q.Verb() != o.verb {
			t.Fatalf("%q became %q", text, again)
		}
		twice, err := readObjective(o.ask())
		if err != nil {
			t.Fatalf("%q: %v", o.ask(), err)
		}
		if strings.Join(strings.Fields(twice.ask()), " ") != strings.Join(strings.Fields(o.ask()), " ") {
			t.Fatalf("%q then %q", o.ask(), twice.ask())
		}
	})
}
