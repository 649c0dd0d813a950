package query_test

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/query"
)

// Whatever is typed, a query is either answered with a full account or refused with
// a place inside its text.
func FuzzParse(f *testing.F) {
	for _, text := range []string{
		"max total_tps where success_rate == 1", "show mean(total_tps) as m by engine order by m desc limit 3",
		`pareto max total_tps, min mean_ttft_ms where engine in ["a", 'b'] by concurrency`,
		`max total_tps vs role == "baseline" on model, load top 3 within 2% prefer min gpus`,
		"count where args.max_num_seqs == unlimited or not missing(tp ?? pp)", "show (((total_tps)))", "max -(-1)", "show \"a\\",
		"show p(total_tps, 1e400)", "max total_tps where `a``b` == engine", "show a ?: b", "show total_tps ? 1 : 2", "\xff", "show total_tps as",
		"show 0x, 1_e5, .5", "max total_tps where engine matches '(?i)x+'", "first x along y", "count by \u00a0engine",
		"max total_tps per setup within noise", "first total_tps > 200 along gpus by engine per config top 1", "last total_tps < 300 along tp",
		"at total_tps == -2.5 along gpus", "change total_tps along started_at", `max total_tps by engine over gpus weights {1: 2, "a": .5, true: 0}`,
		"max goodput(ttft_ms <= 200 and not (tpot_ms > 50)) / gpus where attained(known(e2el_ms)) > .5 per setup", "show attained(x), attained(1)",
		"show n, failed_repeats, sound(total_tps) per config", "max n per setup top 2", "at (total_tps) == 3 along (gpus)", "max x over y weights {",
	} {
		f.Add(text)
	}
	history := mixed(f)
	f.Fuzz(func(t *testing.T, text string) {
		a, err := query.Run(t.Context(), history, text, query.Options{Now: noon})
		if err != nil {
			var e *query.SyntaxError
			if !errors.As(err, &e) {
				t.Fatalf("%q: %v is no syntax error", text, err)
			}
			if e.Off < 0 || e.Off > len(text) || e.Query != text || e.Msg == "" || !strings.HasSuffix(err.Error(), "^") {
				t.Fatalf("%q: %q at %d", text, e.Msg, e.Off)
			}
			if utf8.ValidString(text) && e.Off < len(text) && !utf8.RuneStart(text[e.Off]) {
				t.Fatalf("%q: %d is inside a character", text, e.Off)
			}
			return
		}
		if n := a.Considered + a.Excluded.Where + a.Excluded.Undecided + a.Excluded.Status + a.Excluded.Simulated; n != len(history) {
			t.Fatalf("%q accounts for %d of %d trials", text, n, len(history))
		}
		if a.Considered == 0 && len(a.Rows) > 0 && a.Verb != "count" {
			t.Fatalf("%q: rows of no trial", text)
		}
		if _, err := a.MarshalJSON(); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
	})
}

// A random condition means the same to the compiled closures and to a plain walk
// over its tree, written here from the rules of the package's documentation alone.
func FuzzCondition(f *testing.F) {
	for i := range 40 {
		f.Add([]byte(strings.Repeat(fmt.Sprintf("%c%c%c", i*7, i*13, i*29), 12)))
	}
	history := memory{}
	for i, v := range []core.Value{core.Missing(), core.Number(0), core.Number(-2.5), core.Number(3), core.Unlimited()} {
		tr := trial(f, i+1, "tp", float64(i+1), "concurrency", v, "request_rate", 3.0, "ignore_eos", i%2 == 0)
		if i > 1 {
			tr.Setup.Config.Engine, tr.Setup.EngineVersion = "vllm", []string{"0.9", "0.10", "nightly"}[i-2]
		}
		if i > 0 && !v.IsUnlimited() {
			tr.Figures.Set("total_tps", v.Num)
		}
		tr.Setup.Config.Knobs = core.Knobs{"tp": core.Number(1)}
		tr.Setup.Config.CommandKnown = i%2 == 1
		if i != 1 {
			tr.Setup.Config.Knobs["x"] = []core.Value{core.String("3"), {}, core.Number(3), core.Bool(true), core.String("vllm")}[i]
		}
		if i != 2 {
			tr.Figures.Set("duration_s", float64(4-i)) // 0 of one
		}
		history = append(history, tr)
	}
	source := sampled{memory: history, samples: map[int64][]core.Sample{
		1: {answer(100, 600, 11), answer(3, 3, 1), answer(300, 300, 4), ended(core.OutcomeFailed), ended(core.OutcomeIncomplete)},
		2: {answer(0, 2.5, 2), answer(-1, 5, 3), answer(3, 9, -1)},
		3: {ended(core.OutcomeFailed)},
		4: {ended(core.OutcomeIncomplete)}, // and none of the fifth
	}}
	f.Fuzz(func(t *testing.T, data []byte) {
		g := &generator{data: data}
		c := g.condition(5)
		text := c.text()
		a, err := query.Run(t.Context(), source, "show number where "+text+" order by number", query.Options{Now: noon})
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		var want []string
		undecided := 0
		for _, tr := range history {
			switch v := c.eval(tr.Value, source.samples[tr.Number]); {
			case v.Kind == core.KindMissing:
				undecided++
			case v.True():
				want = append(want, strconv.FormatInt(tr.Number, 10))
			}
		}
		if got := column(t, a, "number"); strings.Join(got, " ") != strings.Join(want, " ") || a.Excluded.Undecided != undecided {
			t.Fatalf("%s: trials %v and %d undecided, want %v and %d", text, got, a.Excluded.Undecided, want, undecided)
		}
	})
}

// tree is an expression of the reference: an operator over parts, a field, or a
// literal.
type tree struct {
	op    string // "field", "literal", or an operator or function
	name  string
	value core.Value
	parts []*tree
}

func (n *tree) text() string {
	var parts []string
	for _, p := range n.parts {
		parts = append(parts, p.text())
	}
	switch n.op {
	case "field":
		return n.name
	case "literal":
		if n.value.Kind == core.KindText {
			return strconv.Quote(n.value.Text)
		}
		if n.value.Num > 1e9 && !n.value.IsUnlimited() {
			return strconv.FormatFloat(n.value.Num, 'e', -1, 64)
		}
		return n.value.String()
	case "not":
		return "not (" + parts[0] + ")"
	case "-1":
		return "-(" + parts[0] + ")"
	case "missing", "known", "bin", "min", "max", "attained", "goodput":
		return n.op + "(" + strings.Join(parts, ", ") + ")"
	case "in":
		return "((" + parts[0] + ") in [" + strings.Join(parts[1:], ", ") + "])"
	case "?":
		return "((" + parts[0] + ") ? (" + parts[1] + ") : (" + parts[2] + "))"
	}
	return "((" + parts[0] + ") " + n.op + " (" + parts[1] + "))"
}

// eval is the value of a tree where fields have the given values: those of a trial, or
// inside attained and goodput those of one of its samples.
func (n *tree) eval(of func(name string) core.Value, samples []core.Sample) core.Value {
	num := func(f float64) core.Value {
		if math.IsInf(f, 0) || math.IsNaN(f) {
			return core.Value{}
		}
		return core.Number(f)
	}
	if n.op == "attained" || n.op == "goodput" {
		return n.overSamples(of("duration_s"), samples)
	}
	var v []core.Value
	for _, p := range n.parts {
		v = append(v, p.eval(of, samples))
	}
	null := func(x core.Value) bool { return x.Kind == core.KindMissing }
	unset := func(x core.Value) bool { return x.Kind == core.KindUnset }
	isTrue := func(x core.Value) core.Value { // a condition, or a knob that stands for one
		if null(x) {
			return x
		}
		return core.Bool(x.Kind == core.KindBool && x.Num == 1)
	}
	same := func(x, y core.Value) core.Value {
		switch {
		case unset(x) || unset(y):
			return core.Bool(false)
		case null(x) || null(y):
			return core.Value{}
		}
		return core.Bool(x == y)
	}
	switch n.op {
	case "field":
		return of(n.name)
	case "literal":
		return n.value
	case "missing":
		return core.Bool(null(v[0]) || unset(v[0]))
	case "known":
		return core.Bool(!null(v[0]) && !unset(v[0]))
	case "not":
		if x := isTrue(v[0]); !null(x) {
			return core.Bool(!x.True())
		}
		return core.Value{}
	case "and", "or":
		x, y := isTrue(v[0]), isTrue(v[1])
		decides := n.op == "or"
		switch {
		case !null(x) && x.True() == decides, !null(y) && y.True() == decides:
			return core.Bool(decides)
		case null(x) || null(y):
			return core.Value{}
		}
		return core.Bool(!decides)
	case "==":
		return same(v[0], v[1])
	case "!=":
		if x := same(v[0], v[1]); !null(x) {
			return core.Bool(!x.True())
		}
		return core.Value{}
	case "in":
		out := core.Bool(false)
		for _, y := range v[1:] {
			switch x := same(v[0], y); {
			case x.True():
				return x
			case null(x):
				out = x
			}
		}
		return out
	case "<", "<=", ">", ">=":
		x, y := v[0], v[1]
		if x.Kind != y.Kind || (x.Kind != core.KindNumber && x.Kind != core.KindText) {
			return core.Value{}
		}
		less, eq := x.Num < y.Num, x.Num == y.Num
		if x.Kind == core.KindText {
			less, eq = x.Text < y.Text, x.Text == y.Text
		}
		return core.Bool(map[string]bool{"<": less, "<=": less || eq, ">": !less && !eq, ">=": !less}[n.op])
	case "contains", "startsWith":
		switch {
		case null(v[0]):
			return core.Value{}
		case v[0].Kind != core.KindText:
			return core.Bool(false)
		case n.op == "contains":
			return core.Bool(strings.Contains(v[0].Text, v[1].Text))
		}
		return core.Bool(strings.HasPrefix(v[0].Text, v[1].Text))
	case "??":
		if !null(v[0]) && !unset(v[0]) {
			return v[0]
		}
		return v[1]
	case "?":
		switch x := isTrue(v[0]); {
		case null(x):
			return core.Value{}
		case x.True():
			return v[1]
		}
		return v[2]
	}
	for _, x := range v {
		if x.Kind != core.KindNumber {
			return core.Value{}
		}
	}
	if n.op == "min" || n.op == "max" {
		if (v[0].Num < v[1].Num) == (n.op == "min") {
			return v[0]
		}
		return v[1]
	}
	for _, x := range v {
		if math.IsInf(x.Num, 0) {
			return core.Value{}
		}
	}
	switch n.op {
	case "+":
		return num(v[0].Num + v[1].Num)
	case "-":
		return num(v[0].Num - v[1].Num)
	case "*":
		return num(v[0].Num * v[1].Num)
	case "/":
		return num(v[0].Num / v[1].Num)
	case "%":
		return num(math.Mod(v[0].Num, v[1].Num))
	case "**":
		return num(math.Pow(v[0].Num, v[1].Num))
	case "-1":
		return num(-v[0].Num)
	case "bin":
		if v[1].Num <= 0 {
			return core.Value{}
		}
		return num(math.Floor(v[0].Num/v[1].Num) * v[1].Num)
	}
	panic("unknown operator " + n.op)
}

// overSamples is attained or goodput by their definition.
func (n *tree) overSamples(duration core.Value, samples []core.Sample) core.Value {
	asked, completed, good, open := 0.0, 0.0, 0.0, 0.0
	for _, s := range samples {
		switch s.Outcome {
		case core.OutcomeOK:
			completed++
			v := n.parts[0].eval(func(name string) core.Value {
				f, _ := core.LookupRequestField(name)
				return f.Limited(&s)
			}, nil)
			if v.IsMissing() {
				open++
			}
			if v.True() {
				good++
			}
		case core.OutcomeIncomplete:
			asked--
		}
		asked++
	}
	switch {
	case asked == 0, open > 0 && open == completed:
		return core.Value{}
	case n.op == "attained":
		return core.Number(good / asked)
	case duration.Kind != core.KindNumber || duration.Num == 0:
		return core.Value{}
	}
	return core.Number(good / duration.Num)
}

// ofRequest makes a condition about one request.
func (g *generator) ofRequest(depth int) *tree {
	figure := func() *tree {
		return field([]string{"ttft_ms", "tpot_ms", "e2el_ms", "output_tokens", "queue_ms"}[g.choose(5)])
	}
	if depth == 0 {
		limit := &tree{op: "literal", value: core.Number([]float64{3, 0, 2.5, 50, 100, 300}[g.choose(6)])}
		return &tree{op: []string{"<=", "<", ">", "==", "!="}[g.choose(5)], parts: []*tree{figure(), limit}}
	}
	switch d := depth - 1; g.choose(6) {
	case 0:
		return &tree{op: "and", parts: []*tree{g.ofRequest(d), g.ofRequest(d)}}
	case 1:
		return &tree{op: "or", parts: []*tree{g.ofRequest(d), g.ofRequest(d)}}
	case 2:
		return &tree{op: "not", parts: []*tree{g.ofRequest(d)}}
	case 3:
		return &tree{op: []string{"missing", "known"}[g.choose(2)], parts: []*tree{figure()}}
	}
	return g.ofRequest(0)
}

// generator makes well-typed trees of bytes. When these run out it makes the
// smallest ones.
type generator struct{ data []byte }

func (g *generator) choose(n int) int {
	if len(g.data) == 0 {
		return 0
	}
	b := int(g.data[0])
	g.data = g.data[1:]
	return b % n
}

func field(name string) *tree { return &tree{op: "field", name: name} }

func (g *generator) condition(depth int) *tree {
	if depth == 0 {
		return []*tree{field("ignore_eos"), field("throttled"), field("args.x")}[g.choose(3)]
	}
	d := depth - 1
	switch g.choose(12) {
	case 0:
		return g.condition(0)
	case 1:
		return &tree{op: "and", parts: []*tree{g.condition(d), g.condition(d)}}
	case 2:
		return &tree{op: "or", parts: []*tree{g.condition(d), g.condition(d)}}
	case 3:
		return &tree{op: "not", parts: []*tree{g.condition(d)}}
	case 4:
		return &tree{op: []string{"missing", "known"}[g.choose(2)], parts: []*tree{g.number(d)}}
	case 5:
		return &tree{op: "in", parts: []*tree{g.number(d), g.number(d), g.number(0)}}
	case 6:
		return &tree{op: []string{"==", "!=", "<", ">="}[g.choose(4)], parts: []*tree{g.words(), g.words()}}
	case 7:
		return &tree{op: []string{"contains", "startsWith"}[g.choose(2)],
			parts: []*tree{g.words(), {op: "literal", value: core.String([]string{"vl", "3", ""}[g.choose(3)])}}}
	case 8:
		return &tree{op: "?", parts: []*tree{g.condition(d), g.condition(d), g.condition(d)}}
	case 9:
		return &tree{op: "??", parts: []*tree{g.condition(d), g.condition(d)}}
	}
	return &tree{op: []string{"==", "!=", "<", "<=", ">", ">="}[g.choose(6)], parts: []*tree{g.number(d), g.number(d)}}
}

func (g *generator) words() *tree {
	return []*tree{field("engine"), field("args.x"), {op: "literal", value: core.String("vllm")}, {op: "literal", value: core.String("3")}}[g.choose(4)]
}

func (g *generator) number(depth int) *tree {
	if depth == 0 || g.choose(3) == 0 {
		switch g.choose(11) {
		case 0:
			return field("tp")
		case 1:
			return field("concurrency")
		case 2:
			return field("total_tps")
		case 3:
			return field("request_rate")
		case 4:
			return field("args.x")
		case 5:
			return &tree{op: "literal", value: core.Unlimited()}
		case 6, 7:
			return &tree{op: []string{"attained", "goodput"}[g.choose(2)], parts: []*tree{g.ofRequest(2)}}
		}
		return &tree{op: "literal", value: core.Number([]float64{0, 1, 3, 2.5, 1e300}[g.choose(5)])}
	}
	d := depth - 1
	switch g.choose(5) {
	case 0:
		return &tree{op: "-1", parts: []*tree{g.number(d)}}
	case 1:
		return &tree{op: []string{"bin", "min", "max"}[g.choose(3)], parts: []*tree{g.number(d), g.number(d)}}
	case 2:
		return &tree{op: "??", parts: []*tree{g.number(d), g.number(d)}}
	case 3:
		return &tree{op: "?", parts: []*tree{g.condition(d), g.number(d), g.number(d)}}
	}
	return &tree{op: []string{"+", "-", "*", "/", "%", "**"}[g.choose(6)], parts: []*tree{g.number(d), g.number(d)}}
}
