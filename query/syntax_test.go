package query_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/query"
)

// The place of a mistake is marked in the query by ¶, which is taken out before it
// is parsed.
func TestMistakes(t *testing.T) {
	tests := []struct{ query, msg string }{
		{"¶", "empty query"},
		{"¶maximise total_tps", `"maximise" is no verb`},
		{"max¶", "max wants an expression"},
		{"max ¶where engine == \"vllm\"", "max wants an expression"},
		{"first p99_ttft_ms > 200¶", "first wants along"},
		{"change total_tps ¶where total_tps > 1", "change wants along"},
		{"first p99_ttft_ms > 200 where tp == 1 ¶along concurrency", "along belongs right behind"},
		{"max total_tps ¶along concurrency", "max takes no along"},
		{"first ¶total_tps along concurrency", "a condition is wanted"},
		{"first ¶1 > 0 along concurrency", "the same for every trial"},
		{"change ¶3 along concurrency", "the same for every trial"},
		{"change total_tps along ¶3", "every trial has the same"},
		{"change total_tps along ¶engine", "along wants a value with an order"},
		{"change total_tps along ¶simulated", "along wants a value with an order"},
		{"at total_tps == 3 along ¶engine_version", "along wants a value with an order"},
		{"at ¶total_tps along concurrency", "at wants a value and a number"},
		{"at ¶total_tps > 3 along concurrency", "at wants a value and a number"},
		{"at total_tps == ¶tp along concurrency", "a number behind =="},
		{"at ¶total_tsp == 3 along concurrency", "unknown field"},
		{"first ¶gain > 0.1 along concurrency", "only beside a vs clause"},
		{"first total_tps > 1 along concurrency ¶vs role == \"baseline\"", "first takes no vs"},
		{"at total_tps == 1 along concurrency ¶top 3", "at takes no top"},
		{"max total_tps per ¶trial", "per wants setup or config"},
		{"max total_tps ¶per", "per wants setup or config"},
		{"show total_tps, ¶n", "unknown field \"n\": it counts the repeats"},
		{"show mean(total_tps), ¶n per setup", "n stands outside an aggregate"},
		{"max total_tps per setup vs ¶n > 1", "n belongs to a combined row"},
		{"max total_tps over ¶\"sharegpt\"", "every trial has the same"},
		{"pareto max total_tps, min tp ¶over workload", "pareto takes no over"},
		{"max total_tps over workload ¶prefer min gpus", "one score each"},
		{"max total_tps over workload ¶within noise", "one score each"},
		{"max total_tps over workload vs ¶role == \"baseline\"", "put the baseline into the value"},
		{"max total_tps ¶weights {\"a\": 1}", "weights belongs right behind over"},
		{"max total_tps over workload ¶weights", "weights wants members"},
		{"max total_tps over workload ¶weights 3", "weights wants members"},
		{"max total_tps over workload weights {¶}", "a colon and a number"},
		{"max total_tps over workload weights {¶\"a\"}", "a colon and a number"},
		{"max total_tps over workload weights {¶a: 1}", "a text in quotes"},
		{"max total_tps over workload weights {\"a\": ¶-1}", "0 or above"},
		{"max total_tps over workload weights {\"a\": ¶\"b\"}", "0 or above"},
		{"max total_tps over workload weights {\"a\": 1, ¶\"a\": 2}", "stands twice in weights"},
		{"max total_tps over workload ¶weights {\"a\": 0}", "no weight is above 0"},
		{"max total_tps over workload weights ¶{\"a\": 1", "{ is never closed"},
		{"max total_tps where tp == 1 ¶}", "} is not in the language"},
		{"max total_tps within ¶200%", "within wants a percentage"},
		{"max total_tps where engine == \"a\" ¶where engine == \"b\"", "where stands twice"},
		{"max total_tps where ¶", "where wants an expression"},
		{"max total_tps ¶WHERE engine == \"a\"", "written small: where"},
		{"max total_tps ¶on model", "on belongs right behind"},
		{"count ¶total_tps", "count takes no value"},
		{"count where engine == \"a\" ¶top 3", "count takes no top"},
		{"max total_tps top ¶0", "whole number above 0"},
		{"max total_tps limit ¶2.5", "whole number above 0"},
		{"show number ¶order number", "order wants by"},
		{"¶pareto max total_tps", "two goals or more"},
		{"pareto max total_tps, ¶mean_ttft_ms", "begins with max or min"},
		{"show number as ¶3", "as wants a name"},
		{"show number ¶as a b", "as wants one name"},
		{"show number, ¶number", "number stands twice"},
		{"show number,¶", "show wants an expression"},
		{"show number ¶total_tps", `unexpected "total_tps"`},
		{"max total_tps where total_tps >¶", "ends too early"},
		{"max total_tps where ¶(total_tps > 1", "( is never closed"},
		{"max total_tps where total_tps > 1¶)", ") closes nothing"},
		{"max total_tps where (total_tps > 1¶]", "] where ) should close"},
		{"max total_tps where engine == ¶\"vllm", "text is not closed"},
		{"max total_tps where engine ¶= \"vllm\"", "use =="},
		{"max total_tps where total_tps > 1 ¶// fast", "comments"},
		{"max total_tps where total_tps > 1 ¶/* fast */", "comments"},
		{"max total_tps where concurrency in 1¶..8", "ranges"},
		{"max total_tps where engine ¶| contains(\"a\")", "pipes"},
		{"max total_tps where ¶let x = 1", "let is not in the language"},
		{"max total_tps where ¶if total_tps > 1", "if is not in the language"},
		{"max total_tps where ¶$env.total_tps > 1", "$env is not in the language"},
		{"max total_tps where any(args, ¶# > 1)", "# is not in the language"},
		{"max total_tps where any(args, ¶{true})", "{ is not in the language"},
		{"max total_tps where total_tps ¶^ 2 > 1", "use **"},
		{"max total_tps where engine ¶<> \"vllm\"", "use !="},
		{"max total_tps where total_tps > 1¶; true", "; is not in the language"},
		{"max total_tps where engine == ¶«vllm»", "unexpected character"},
		{"max total_tps where extra¶[\"x\"] > 1", "indexing"},
		{"max total_tps where ¶engine.name == \"a\"", "only args, passed, extra and quality"},
		{"max total_tps where ¶nil == total_tps", "use missing(x)"},
		{"max total_tps where engine == ¶b\"a\"", "not in the language"},
		{"max total_tps where engine in [\"a\", \"b\"] and ¶[1]", "right of in"},
		{"max total_tps where engine in ¶[]", "list is empty"},
		{"max total_tps where engine in ¶\"vllm\"", "in wants a list"},
		{"max total_tps where ¶abs(total_tps) > 1", `unknown function "abs"`},
		{"max total_tps where ¶filter(args, .x) > 1", `unknown function "filter"`},
		{"max total_tps where sound(¶engine)", "a number is wanted"},
		{"max total_tps where ¶sound(tp)", "sound wants a measured figure"},
		{"show engine by engine having ¶sound(total_tps)", "use all(sound(total_tps))"},
		{"show attained(¶total_tps > 1)", "of a whole trial"},
		{"show attained(ttft_ms <= 200 and ¶tpto_ms <= 50)", "unknown figure \"tpto_ms\" of a request"},
		{"show attained(¶xyz <= 200)", "of a request: ttft_ms tpot_ms e2el_ms"},
		{"show attained(¶args.tp == 1)", "of a whole trial"},
		{"show attained(¶engine == \"vllm\")", "of a whole trial"},
		{"show attained(¶n > 1) per setup", "unknown figure \"n\" of a request"},
		{"show attained(¶ttft_ms)", "where a condition is wanted"},
		{"show attained(¶1 == 1)", "the same for every request"},
		{"show attained(ttft_ms < ¶200ms)", "ttft_ms is in ms"},
		{"show attained(ttft_ms ¶< \"200ms\")", "ttft_ms is in ms"},
		{"show attained(¶mean(ttft_ms) < 200)", "no meaning inside attained"},
		{"show attained(¶count() < 200)", "no meaning inside attained"},
		{"show attained(¶sound(ttft_ms))", "no meaning inside attained"},
		{"show attained(¶goodput(ttft_ms < 1) > 2)", "no meaning inside attained"},
		{"show attained(ttft_ms < ¶base(ttft_ms)) vs tp == 1", "no meaning inside attained"},
		{"show ¶attained()", "wrong number of arguments: attained(condition)"},
		{"show ¶attained(ttft_ms < 1), count() by engine", "use median(attained(ttft_ms < 1))"},
		{"show engine by engine having ¶goodput(ttft_ms < 1) > 2", "use median(goodput(ttft_ms < 1))"},
		{"show ¶severity.tp", "unknown field"},
		{"max goodput(¶total_tps > 1)", "inside goodput"},
		{"max total_tps where ¶missing()", "wrong number of arguments"},
		{"max total_tps where p99_ttft_ms < ¶200ms", "p99_ttft_ms is in ms"},
		{"max total_tps where p99_ttft_ms < ¶0.2s", "p99_ttft_ms is in ms"},
		{"max total_tps where concurrency < ¶2k", "concurrency has no unit"},
		{"max total_tps where p99_ttft_ms ¶< \"200ms\"", "p99_ttft_ms is in ms"},
		{"max total_tps where total_tps ¶== \"fast\"", "never comparable"},
		{"max total_tps where engine ¶== 1", "never comparable"},
		{"max total_tps where simulated ¶< true", "no order"},
		{"max total_tps where engine_version > ¶\"nightly\"", "is no version"},
		{"max total_tps where engine_version ¶> 0.11", "a version is written as text"},
		{"max total_tps where started_at > ¶\"yesterday\"", "is no time"},
		{"max total_tps where started_at ¶> 17", "a time compares with a time"},
		{"max total_tps where started_at ¶* 2 > 1", "no meaning for a time"},
		{"max total_tps where ¶engine + 1 > 2", "a number is wanted"},
		{"max total_tps where ¶total_tps matches \"(\"", "text is wanted"},
		{"max total_tps where engine matches ¶\"(\"", "pattern"},
		{"max total_tps where engine matches ¶model", "pattern in quotes"},
		{"max total_tps where ¶total_tps", "a condition is wanted"},
		{"max total_tps where not ¶engine == \"vllm\"", "write not (…)"},
		{"max total_tps where total_tps ?? engine ¶== 1", "cannot be mixed"},
		{"max total_tps where (¶total_tps ?? engine) == 1", "must be of one kind"},
		{"max ¶engine", "only numbers and times can be ranked"},
		{"max ¶3", "the same for every trial"},
		{"max ¶mean(total_tps) by engine", "an aggregate, which has no meaning in max"},
		{"max total_tps where ¶sum(total_tps) > 1", "sum is an aggregate, which has no meaning in where"},
		{"show mean(¶max(total_tps)) by engine", "aggregate of an aggregate"},
		{"show ¶total_tps, mean(total_tps) by engine", "use median(total_tps)"},
		{"show ¶model, mean(total_tps) by engine", "put it in by"},
		{"show p(total_tps, ¶101)", "from 0 to 100"},
		{"show mean(¶engine)", "mean wants a number"},
		{"show mean(total_tps) ¶top 3", "use limit"},
		{"max total_tps where ¶gain > 0.1", "only beside a vs clause"},
		{"max total_tps where ¶base(total_tps) > 1", "only beside a vs clause"},
		{"show total_tps vs ¶role == \"baseline\"", "vs changes nothing"},
		{"max ¶started_at vs role == \"baseline\"", "a number is wanted"},
		{"show ¶base(total_tps), mean(total_tps) vs role == \"baseline\"", "use median(base(total_tps))"},
		{"max total_tps order by ¶number", "add by"},
		{"show number by ¶3", "every trial has the same"},
		{"max ¶total_tsp", `unknown field "total_tsp"`},
		{"max total_tps where engine == ¶vllm", `text is written in quotes: "vllm"`},
		{"max total_tps where ¶args > 1", "args wants a name"},
		{"max total_tps where ¶args.max_num_sqs > 1", "no knob table lists it"},
		{"max total_tps where ¶extra.nothing > 1", "no trial records it"},
		{"max total_tps\nwhere\tmodel == \"Ünï\" and ¶bogus > 1", `unknown field "bogus"`},
		{"max total_tps where ¶\xff", "no UTF-8"},
	}
	for _, tt := range tests {
		off := strings.Index(tt.query, "¶")
		text := strings.Replace(tt.query, "¶", "", 1)
		q, err := query.Parse(text)
		if err == nil {
			err = q.Check(core.Names{})
		}
		var e *query.SyntaxError
		if !errors.As(err, &e) || !query.IsUsage(err) {
			t.Errorf("%s: error %v, want a syntax error", text, err)
			continue
		}
		if !strings.Contains(e.Msg, tt.msg) || e.Off != off || e.Query != text {
			t.Errorf("%s: %q at %d, want %q at %d", text, e.Msg, e.Off, tt.msg, off)
		}
	}
}

func TestNearestNames(t *testing.T) {
	names := core.Names{Knobs: []string{"max_num_seqs", "moe_runner"}, Extra: []string{"joules"}}
	tests := []struct {
		query string
		want  []string
	}{
		{"max total_tsp", []string{"total_tps"}},
		{"max ttft_p99", []string{"p99_ttft_ms"}},
		{"max max_num_seqs", []string{"args.max_num_seqs"}},
		{"max moe_runner", []string{"args.moe_runner"}},
		{"max args.moe_runer", []string{"args.moe_runner"}},
		{"max extra.joule", []string{"extra.joules"}},
		{"show medain(total_tps)", []string{"median"}},
		{"mx total_tps", []string{"max"}},
		{"max attained(tpto_ms <= 50)", []string{"tpot_ms"}},
		{"max attained(p99_ttft_ms <= 50)", []string{"ttft_ms"}},
		{"max attaind(ttft_ms <= 50)", []string{"attained"}},
	}
	for _, tt := range tests {
		q, err := query.Parse(tt.query)
		if err == nil {
			err = q.Check(names)
		}
		var e *query.SyntaxError
		if !errors.As(err, &e) {
			t.Errorf("%s: no syntax error: %v", tt.query, err)
			continue
		}
		if len(e.Near) == 0 || e.Near[0] != tt.want[0] {
			t.Errorf("%s: nearest %v, want %v", tt.query, e.Near, tt.want)
		}
	}
}

func TestErrorText(t *testing.T) {
	_, err := query.Run(t.Context(), memory{}, "max total_tps\n\twhere Ω == 1 and total_tsp > 1", query.Options{})
	want := "unknown field \"Ω\"\n  \twhere Ω == 1 and total_tsp > 1\n  \t      ^"
	if diff := cmp.Diff(want, err.Error()); diff != "" {
		t.Errorf("error text (-want +got):\n%s", diff)
	}
	err = &query.SyntaxError{Query: "max x", Off: 4, Msg: "unknown field \"x\"", Near: []string{"tp", "pp"}}
	want = "unknown field \"x\"; nearest: tp, pp\n  max x\n      ^"
	if diff := cmp.Diff(want, err.Error()); diff != "" {
		t.Errorf("error text (-want +got):\n%s", diff)
	}
}

// Keywords split clauses only where they are keywords.
func TestKeywordsInside(t *testing.T) {
	for _, text := range []string{
		`count where model == "where by top" and args.top == 3`,
		`count where args.by == 1 or args.where == 2`,
		"count where model == `order by` limit 3",
		`show number as where2 order by args.limit desc, number asc limit 3`,
		`max total_tps as "best tps" by max(tp, pp) order by max(tp, pp) limit 3`,
		"max\n\ttotal_tps\nwhere\n\tengine == 'vllm'",
	} {
		q, err := query.Parse(text)
		if err == nil {
			err = q.Check(core.Names{Knobs: []string{"top", "by", "where", "limit"}})
		}
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if q.String() != text || !strings.HasPrefix(text, q.Verb()) {
			t.Errorf("%q reads back as %q with verb %s", text, q, q.Verb())
		}
	}
}
