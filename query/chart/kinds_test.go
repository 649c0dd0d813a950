package chart_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/query"
	"github.com/sweepbook/sweepbook/query/chart"
)

var update = flag.Bool("update", false, "rewrite the expected marks and pictures")

// campaign is a staged search with three repeats over four loads, a stage that fails,
// and five versions of the engine at one load.
func campaign() memory {
	var m memory
	add := func(study, stage, option, version string, load, repeat int, tps, ttft, tpot float64) *core.Trial {
		n := len(m) + 1
		t := &core.Trial{ID: core.HashID(fmt.Sprint(n)), Number: int64(n), Study: study, Stage: stage, Option: option, Status: core.StatusOK, Repeat: repeat,
			StartedAt: time.Date(2026, 11, 3, 8, n, 0, 0, time.UTC),
			Setup: core.Setup{EngineVersion: version, GPUs: 1, Config: core.Config{Engine: "vllm", Model: "example/8b", CommandKnown: true,
				Knobs: core.Knobs{"note": core.String(option)}}},
			Workload: core.Workload{Name: "chat"}, Load: core.Load{Concurrency: core.Number(float64(load)), NumPrompts: core.Number(100)}}
		if tps == 0 {
			t.Status, t.Failure = core.StatusFailed, "oom_kv"
		} else {
			t.Figures = core.Figures{"requested": 100, "completed": 100, "failed": 0, "output_tps": tps, "p99_ttft_ms": ttft, "median_tpot_ms": tpot, "mean_power_w": 300 + tps/20}
		}
		if stage == "baseline" {
			t.Role = core.RoleBaseline
		}
		t.Derive()
		m = append(m, t)
		return t
	}
	for _, o := range []struct {
		stage, option string
		factor        float64
	}{{"baseline", "baseline", 1}, {"quantization", "FP8", 1.3}, {"scheduler", "32 sequences", 1.31}, {"scheduler", "chunked prefill", 0.8}, {"KV cache", "no memory", 0}} {
		for _, load := range []int{1, 4, 16, 64} {
			for repeat := range 3 {
				wobble := 1 + 0.01*float64(repeat-1)
				c := float64(load)
				tps := o.factor * wobble * 150 * c / (1 + c/40)
				ttft := 20 * (1 + c*c/300) / math.Max(o.factor, 0.1) * wobble
				if o.option == "32 sequences" && load == 64 {
					tps, ttft = tps*0.6, ttft*3
				}
				t := add("campaign", o.stage, o.option, "0.11.0", load, repeat+1, tps, ttft, c*1000/math.Max(tps, 1))
				if o.option == "FP8" && load == 64 && repeat == 1 {
					t.Findings = []core.Finding{{Rule: "A3", Severity: core.SeverityNote, Metrics: []string{"output_tps"}}}
				}
			}
		}
	}
	for i, v := range []string{"0.11.0", "0.9.2", "0.10.1", "0.10.0", "0.11.1rc1"} {
		for repeat := range 3 {
			level := []float64{2600, 2000, 2010, 1995, 2450}[i]
			add("nightly", "", "", v, 16, repeat+1, level*(1+0.004*float64(repeat-1)), 50, 6)
		}
	}
	return m
}

// requests are ten requests of a trial: one failed, one cut off, one of a single token.
func requests(trial int64, slower float64) chart.Requests {
	r := chart.Requests{Trial: trial, MeanPower: core.Number(512.5)}
	ms := func(v float64) time.Duration { return time.Duration(v * float64(time.Millisecond)) }
	for i := range 10 {
		sent := 100 * float64(i)
		s := core.Sample{Index: i, Due: ms(sent - 5), Sent: ms(sent), First: ms(sent + slower*(20+float64(i*i))), OutputTokens: 11}
		s.Last = s.First + ms(100)
		s.End = s.Last + ms(1)
		for k := range 11 {
			s.Chunks = append(s.Chunks, s.First+ms(10*float64(k)))
		}
		switch i {
		case 3:
			s.Outcome, s.First, s.Last, s.Chunks, s.OutputTokens = core.OutcomeFailed, core.NoTime, core.NoTime, nil, 0
		case 9:
			s.Outcome = core.OutcomeIncomplete
		case 8:
			s.OutputTokens, s.Last, s.Chunks = 1, s.First, s.Chunks[:1]
		}
		r.Samples = append(r.Samples, s)
	}
	return r
}

const atPeak = ` where study == "campaign" and concurrency == 64`

var kinds = []struct {
	name, query string
	opt         chart.Options
}{
	{"bar", "show option, role, output_tps, status, failure" + atPeak, chart.Options{Kind: chart.BarKind}},
	{"bar-of-groups", "show median(output_tps), min(output_tps), max(output_tps), count() as n" + atPeak + " by option", chart.Options{Baseline: "baseline"}},
	{"before-after", `max output_tps where study == "campaign" by concurrency vs role == "baseline"`, chart.Options{}},
	{"before-after-lower", `min p99_ttft_ms where study == "campaign" by concurrency vs role == "baseline"`, chart.Options{}},
	{"bar-of-loads", `show option, output_tps where study == "campaign"`, chart.Options{}},
	{"waterfall", "show stage, option, output_tps, failure" + atPeak, chart.Options{Kind: chart.WaterfallKind}},
	{"waterfall-lower", "show stage, option, p99_ttft_ms" + atPeak, chart.Options{Kind: chart.WaterfallKind}},
	{"line", `show option, concurrency, output_tps where study == "campaign"`, chart.Options{}},
	{"line-of-knob", `show num_prompts, concurrency, output_tps where study == "nightly"`, chart.Options{Kind: chart.LineKind, X: "num_prompts"}},
	{"load", `show option, concurrency, p99_ttft_ms where study == "campaign"`, chart.Options{Kind: chart.LoadKind, Limit: &chart.Limit{Column: "p99_ttft_ms", Value: 100, Upper: true}}},
	{"frontier", `show option, concurrency, output_tps_per_gpu, 1000 / median_tpot_ms as tps_per_user where study == "campaign"`,
		chart.Options{Kind: chart.FrontierKind, Limit: &chart.Limit{Column: "tps_per_user", Value: 100}}},
	{"scatter", `show option, output_tps, mean_power_w` + atPeak, chart.Options{Kind: chart.ScatterKind}},
	{"pareto", `pareto max output_tps, min p99_ttft_ms where study == "campaign" by option`, chart.Options{}},
	{"history", `show engine_version, output_tps where study == "nightly"`, chart.Options{Kind: chart.HistoryKind}},
	{"history-of-time", `show started_at, output_tps where study == "nightly"`, chart.Options{Kind: chart.HistoryKind}},
	{"ecdf", `show number, option where number in [1, 4]`, chart.Options{Kind: chart.ECDFKind, Limit: &chart.Limit{Column: "ttft_ms", Value: 60, Upper: true}}},
	{"ecdf-of-tpot", `show number, option where number in [1, 4]`, chart.Options{Kind: chart.ECDFKind, Value: "tpot_ms"}},
	{"timeline", `show number, option where number == 1`, chart.Options{Kind: chart.TimelineKind}},
	{"timeline-of-power", `show number, option where number == 4`, chart.Options{Kind: chart.TimelineKind}},
}

func figure(t *testing.T, q string, opt chart.Options) chart.Figure {
	t.Helper()
	a, err := query.Run(context.Background(), campaign(), q, query.Options{Now: time.Unix(0, 0), Marks: true})
	if err != nil {
		t.Fatal(err)
	}
	opt.Repeats = map[int64]string{}
	for _, trial := range campaign() {
		opt.Repeats[trial.Number] = trial.RepeatKey()
	}
	var f chart.Figure
	if opt.Kind.FromSamples() {
		var sets []chart.Requests
		for i, numbers := range a.Trials {
			set := requests(numbers[0], 1+float64(i))
			set.Row = i
			if numbers[0] == 4 {
				set.MeanPower = core.Number(500)
				set.Course = &core.Course{AtMS: []int64{-5, 0, 20, 40, 60, 1 << 40}, PowerW: []float64{1, 120, 650.5, 640, 90, 2}}
			}
			sets = append(sets, set)
		}
		f, err = chart.FromRequests(a, sets, opt)
	} else {
		f, err = chart.FromAnswer(a, opt)
	}
	if err != nil {
		t.Fatalf("%s: %v", q, err)
	}
	return f
}

// marks is what a figure draws, as text.
func marks(f chart.Figure) string {
	var b strings.Builder
	p := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	num := func(v core.Value) string {
		if v.Kind == core.KindNumber {
			return fmt.Sprintf("%.6g", v.Num)
		}
		return "-" + v.String()
	}
	bar := func(m chart.Mark) string {
		return fmt.Sprintf("%q %s whisker %s..%s n=%d lost=%d emphasis=%d note=%q failure=%q findings=%d void=%t", m.Label, num(m.Value), num(m.Low), num(m.High), m.N, m.Lost, m.Emphasis, m.Note, m.Failure, m.Findings, m.Void)
	}
	p("%s: %s", f.Kind, f.Title)
	p("value %s [%s] better %d over %q [%s] time=%t near=%t places %q", f.Value, f.Unit, f.Better, f.X, f.XUnit, f.XTime, f.Near, f.Places)
	if f.Limit != nil {
		p("limit %s", f.Limit)
	}
	for _, m := range f.Bars {
		p("bar %s", bar(m))
	}
	for _, x := range f.Pairs {
		p("pair %q gain %s\n  before %s\n  after %s", x.Label, num(x.Gain), bar(x.Before), bar(x.After))
	}
	for _, s := range f.Steps {
		p("step %q %q from %s to %s gained=%t n=%d failure=%q findings=%d void=%t", s.Label, s.Detail, num(s.Before), num(s.Value), s.Gained, s.N, s.Failure, s.Findings, s.Void)
	}
	if f.Noise != nil {
		p("noise %.4g: %s", f.Noise.Share, f.Noise.Text)
	}
	for _, s := range f.Series {
		p("series %q holds %s breaks %s", s.Name, num(s.Holds), num(s.Breaks))
		for _, x := range s.Points {
			p("  %s: %s findings=%d void=%t", num(x.X), num(x.Y), x.Findings, x.Void)
		}
		for _, c := range s.Changes {
			p("  change at %g: %+.4g better=%t", c.At, c.Share, c.Better)
		}
	}
	if f.Cloud.X != "" {
		p("against %s [%s] better %d joined=%t", f.Cloud.X, f.Cloud.XUnit, f.Cloud.XBetter, f.Cloud.Joined)
	}
	for _, c := range f.Clouds {
		p("cloud %q dominated=%t", c.Name, c.Dominated)
		for _, d := range c.Dots {
			p("  %q %s, %s front=%t best=%t n=%d findings=%d void=%t", d.Label, num(d.X), num(d.Y), d.Front, d.Best, d.N, d.Findings, d.Void)
		}
	}
	for _, s := range f.Spread {
		p("sample %q %.6g failed=%d incomplete=%d unknown=%d", s.Name, s.Values, s.Failed, s.Incomplete, s.Unknown)
	}
	if f.Flow != nil {
		p("flow to %.6g s, bins of %g s, exact=%t, power %s", f.Flow.End, f.Flow.Bin, f.Flow.Exact, num(f.Flow.Power))
		for _, l := range f.Flow.Lanes {
			p("  request %.4g %.4g %.4g %s", l.Sent, l.First, l.End, l.Outcome)
		}
		for _, w := range f.Flow.Watts {
			p("  %.4g s %.6g W", w.At, w.Value)
		}
		total := 0.0
		for _, v := range f.Flow.Tokens {
			total += v * f.Flow.Bin
		}
		p("  tokens %.6g", total)
	}
	for _, n := range f.Notes {
		p("note %s", n)
	}
	p("trials %v", f.Trials)
	return b.String()
}

// TestMarksOfEachKind holds what each kind of chart draws against a text.
func TestMarksOfEachKind(t *testing.T) {
	for _, c := range kinds {
		t.Run(c.name, func(t *testing.T) {
			got := marks(figure(t, c.query, c.opt))
			path := filepath.Join("testdata", "marks", c.name+".txt")
			if *update {
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("%s (-want +got); -update rewrites it:\n%s", path, diff)
			}
		})
	}
}

// TestPictures holds some pictures against stored ones, of which a few pixels may
// differ.
func TestPictures(t *testing.T) {
	for _, c := range kinds {
		switch c.name {
		case "bar", "before-after", "waterfall", "load", "frontier", "history", "ecdf", "timeline":
		default:
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			opt := c.opt
			opt.Width, opt.Height = 640, 420
			got, err := chart.Render(figure(t, c.query, opt))
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join("testdata", "pictures", c.name+".png")
			if *update {
				if err := os.WriteFile(path, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if share := differing(t, want, got); share > 0.002 {
				t.Errorf("%s: %.2f %% of the pixels differ; look at it and store it with -update", path, share*100)
			}
		})
	}
}

// differing is the share of pixels of which a channel differs by more than a tenth.
func differing(t *testing.T, a, b []byte) float64 {
	t.Helper()
	x, err := png.Decode(bytes.NewReader(a))
	if err != nil {
		t.Fatal(err)
	}
	y, err := png.Decode(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	if x.Bounds() != y.Bounds() {
		return 1
	}
	n := 0
	for py := range x.Bounds().Dy() {
		for px := range x.Bounds().Dx() {
			r1, g1, b1, _ := x.At(px, py).RGBA()
			r2, g2, b2, _ := y.At(px, py).RGBA()
			if far(r1, r2) || far(g1, g2) || far(b1, b2) {
				n++
			}
		}
	}
	return float64(n) / float64(x.Bounds().Dx()*x.Bounds().Dy())
}

func far(a, b uint32) bool { return math.Abs(float64(a)-float64(b)) > 6553 }

// TestEveryKindAtEverySize draws each kind in both formats, small and large, twice.
func TestEveryKindAtEverySize(t *testing.T) {
	for _, c := range kinds {
		for _, size := range [][2]int{{0, 0}, {640, 400}, {320, 240}} {
			opt := c.opt
			opt.Width, opt.Height, opt.Format = size[0], size[1], chart.SVG
			f := figure(t, c.query, opt)
			first, err := chart.Render(f)
			if err != nil {
				t.Fatalf("%s %v: %v", c.name, size, err)
			}
			again, _ := chart.Render(f)
			if !bytes.Equal(first, again) {
				t.Errorf("%s %v: equal figures give other bytes", c.name, size)
			}
			texts := strings.Join(svgText(t, c.name, first), "\n")
			for _, want := range []string{"Query: " + f.Query, "Trials: ", "@font-face"} {
				if !strings.Contains(texts, want) && (want != "Trials: " || len(f.Trials) > 0) {
					t.Errorf("%s: the SVG does not say %q", c.name, want)
				}
			}
		}
	}
}

func TestPNGSaysWhatItIsMadeFrom(t *testing.T) {
	opt := chart.Options{Kind: chart.BarKind, Title: "Пропускная способность"}
	data, err := chart.Render(figure(t, kinds[0].query, opt))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"iTXtTitle\x00\x00\x00\x00\x00Пропускная способность", "tEXtQuery\x00show option, role, output_tps", "tEXtChart\x00bar",
		"tEXtHistory\x000192f3a1-0000, 75 trials", "tEXtTrials\x0010-12, 22-24, 34-36, 46-48, 58-60",
	} {
		if !bytes.Contains(data, []byte(want)) {
			t.Errorf("the PNG does not hold %q", want)
		}
	}
	if _, err := png.Decode(bytes.NewReader(data)); err != nil {
		t.Error(err)
	}
}

// TestKindsThatAnAnswerLacksColumnsFor: the error says what to ask.
func TestKindsThatAnAnswerLacksColumnsFor(t *testing.T) {
	for _, c := range []struct {
		query string
		opt   chart.Options
		says  string
	}{
		{"show option, output_tps", chart.Options{Kind: chart.BeforeAfterKind}, "base(output_tps): ask with vs"},
		{"show option, output_tps", chart.Options{Kind: chart.LineKind}, "column of numbers to draw it over"},
		{"show option, output_tps", chart.Options{Kind: chart.HistoryKind}, "version or time"},
		{"show option, output_tps", chart.Options{Kind: chart.ScatterKind}, "two measured values"},
		{"show option, output_tps, mean_power_w", chart.Options{Kind: chart.FrontierKind}, "load to write at the points"},
		{"show option, output_tps, concurrency, stage", chart.Options{Kind: chart.WaterfallKind}, "rows differ in concurrency"},
		{"show output_tps", chart.Options{Kind: chart.WaterfallKind}, "stage"},
		{"show option, output_tps", chart.Options{Kind: chart.ECDFKind}, "single requests"},
		{"show option, concurrency, output_tps", chart.Options{Kind: chart.LoadKind, Limit: &chart.Limit{Column: "p99_ttft_ms", Value: 1}}, "p99_ttft_ms"},
		{"show option, concurrency, output_tps", chart.Options{Kind: chart.LoadKind, Limit: &chart.Limit{Column: "option", Value: 1}}, "this chart draws output_tps"},
	} {
		a := ask(t, campaign(), c.query)
		if _, err := chart.FromAnswer(a, c.opt); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s as %s: %v, want %q", c.query, c.opt.Kind, err, c.says)
		}
	}
	a := ask(t, campaign(), "show number")
	if _, err := chart.FromRequests(a, []chart.Requests{requests(1, 1), requests(2, 1)}, chart.Options{Kind: chart.TimelineKind}); err == nil || !strings.Contains(err.Error(), "where number == 1") {
		t.Errorf("a timeline of two trials: %v", err)
	}
	if _, err := chart.FromRequests(a, []chart.Requests{requests(1, 1)}, chart.Options{Kind: chart.ECDFKind, Value: "output_tps"}); !errors.Is(err, core.ErrInvalid) {
		t.Errorf("an ECDF of a rate: %v", err)
	}
	if _, err := chart.FromRequests(a, nil, chart.Options{Kind: chart.ECDFKind}); !errors.Is(err, chart.ErrNothing) {
		t.Errorf("an ECDF of nothing: %v", err)
	}
}

func TestChoose(t *testing.T) {
	for _, c := range []struct {
		query string
		want  chart.Kind
	}{
		{"max output_tps by option", chart.BarKind},
		{`max output_tps by concurrency vs role == "baseline"`, chart.BeforeAfterKind},
		{"pareto max output_tps, min p99_ttft_ms", chart.ScatterKind},
		{"show option, output_tps", chart.BarKind},
		{"show option, concurrency, output_tps", chart.LineKind},
		{"change output_tps along engine_version", chart.HistoryKind},
		{"count by option", chart.BarKind},
	} {
		if got := chart.Choose(ask(t, campaign(), c.query), chart.Options{}); got != c.want {
			t.Errorf("%s: %s, want %s", c.query, got, c.want)
		}
	}
}

func TestParseLimit(t *testing.T) {
	for _, c := range []struct {
		text, want string
		keeps      float64
		breaks     float64
	}{
		{"p99_ttft_ms <= 200", "p99_ttft_ms <= 200", 200, 200.1},
		{"tps_per_user>50", "tps_per_user > 50", 51, 50},
		{"attained(ttft_ms <= 200) >= 0.99", "attained(ttft_ms <= 200) >= 0.99", 0.99, 0.98},
		{"x < 1e3", "x < 1,000", 999, 1000},
	} {
		l, err := chart.ParseLimit(c.text)
		if err != nil || l.String() != c.want || !l.Keeps(c.keeps) || l.Keeps(c.breaks) {
			t.Errorf("%q: %v, %v", c.text, l, err)
		}
	}
	for _, text := range []string{"", "200", "p99_ttft_ms", "<= 200", "x <= y", "x == 3", "x <= inf", "x <= NaN"} {
		if l, err := chart.ParseLimit(text); !errors.Is(err, core.ErrInvalid) {
			t.Errorf("%q: %v, %v", text, l, err)
		}
	}
}

// TestGalleryOfKinds writes each kind as TestGallery does.
func TestGalleryOfKinds(t *testing.T) {
	dir := os.Getenv("SWEEPBOOK_GALLERY")
	if dir == "" {
		t.Skip("SWEEPBOOK_GALLERY names no folder")
	}
	for _, c := range kinds {
		for _, width := range []int{0, 640} {
			opt := c.opt
			opt.Width, opt.Height = width, width*5/8
			data, err := chart.Render(figure(t, c.query, opt))
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("kind-%s-%d.png", c.name, width)), data, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}
