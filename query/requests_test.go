package query_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/query"
)

// sampled is a history with the samples of some trials, by number. It notes whose
// were read.
type sampled struct {
	memory
	samples map[int64][]core.Sample
	read    *[]int64
	fail    error
}

func (s sampled) Requests(_ context.Context, id core.ID, withChunks bool) ([]core.Sample, error) {
	for _, t := range s.memory {
		if t.ID != id {
			continue
		}
		if s.read != nil {
			*s.read = append(*s.read, t.Number)
		}
		out := slices.Clone(s.samples[t.Number])
		for i := range out {
			if !withChunks {
				out[i].Chunks = nil
			}
		}
		return out, s.fail
	}
	return nil, core.ErrNotFound
}

func millis(ms float64) time.Duration { return time.Duration(math.Round(ms * 1e6)) }

// answer is a completed request by its time to first token, its latency and its
// tokens, without a moment at which it was due.
func answer(ttft, latency float64, tokens int) core.Sample {
	return core.Sample{Due: core.NoTime, First: millis(ttft), Last: millis(latency), End: millis(latency),
		InputTokens: 10, CachedTokens: -1, OutputTokens: tokens, RequestedOutput: -1}
}

func ended(o core.Outcome) core.Sample {
	return core.Sample{Due: core.NoTime, First: core.NoTime, Last: core.NoTime, End: core.NoTime, InputTokens: 10, CachedTokens: -1, RequestedOutput: -1, Outcome: o}
}

// served is a history of a sweep over the load with samples.
//
//	1  c=1   all four within ttft 200 and tpot 50, one of them of one token
//	2  c=2   r1..r4 of the shared case 48: 2 of 4
//	3  c=4   one good, one slow, one cut off: 1 of 2
//	4  c=8   without samples
//	5  c=16  all failed, so that the trial has failed
//	6  c=32  one good, one whose first token came before it was sent: 1 of 2
func served(t testing.TB) sampled {
	m := memory{}
	for n, concurrency := range []float64{1, 2, 4, 8, 16, 32} {
		m = append(m, trial(t, n+1, "engine", "vllm", "concurrency", concurrency, "duration_s", 10, "total_tps", 100*concurrency, "gpus", 2,
			"mean_ttft_ms", 10.0, "workload", "w"))
	}
	m[4].Status = core.StatusFailed
	return sampled{memory: m, samples: map[int64][]core.Sample{
		1: {answer(100, 600, 11), answer(200, 700, 11), answer(150, 150, 1), answer(10, 510, 11)},
		2: {answer(200, 700, 11), answer(150, 150, 1), ended(core.OutcomeFailed), answer(199, 700, 11)},
		3: {answer(100, 600, 11), answer(900, 2000, 11), ended(core.OutcomeIncomplete)},
		5: {ended(core.OutcomeFailed), ended(core.OutcomeFailed)},
		6: {answer(100, 600, 11), answer(-20, 600, 11)},
	}}
}

const slo = "ttft_ms <= 200 and tpot_ms <= 50"

// TestGoodputOfSharedCase48: equality counts, a failed request is in the denominator,
// and a one-token output keeps to any limit of TPOT.
func TestGoodputOfSharedCase48(t *testing.T) {
	a := ask(t, served(t), "show attained("+slo+"), goodput("+slo+") where number == 2")
	if got := rowsOf(a); !slices.Equal(got, []string{"0.5 0.2"}) || len(a.Warnings) != 0 {
		t.Errorf("%v, %v; want 0.5 of the requests and 0.2 a second", got, a.Warnings)
	}
	if c := a.Columns; c[0].Name != "attained("+slo+")" || c[0].Unit != "" || c[0].Better != core.HigherBetter || c[1].Unit != "req/s" || c[1].Better != core.HigherBetter {
		t.Errorf("columns %+v", c)
	}
}

func TestRequests(t *testing.T) {
	for _, tt := range []struct {
		query string
		rows  string
		codes string
	}{
		{"show number, attained(" + slo + ")", "1 1|2 0.5|3 0.5|4 |5 0|6 0.5", "samples samples"},
		{"show number where attained(" + slo + ") >= 0.9", "1", "samples samples undecided"},
		{"show number where not (attained(" + slo + ") >= 0.9)", "2|3|5|6", "samples samples undecided"},
		{"show number where missing(attained(" + slo + "))", "4", "samples samples"},
		{"show number where attained(ttft_ms <= 200) in [1, 0.75]", "1|2", "samples samples undecided"},
		{"show attained(ttft_ms <= 200) ?? -1 as share where number in [1, 4]", "1|-1", "samples"},
		{"show goodput(ttft_ms <= 200) / gpus as g where number == 1", "0.2", ""},
		// Undefined times per token are none of any other kind than one token.
		{"show attained(tpot_ms > 10) where number == 1", "0.75", ""},
		{"show attained(tpot_ms == 0) where number == 1", "0.25", ""},
		{"show attained(output_tokens > 1 and input_tokens == 10 or false) where number == 1", "0.75", ""},
		{"show attained(known(ttft_ms) and max(ttft_ms, tpot_ms) < 200 and bin(e2el_ms, 500) == 500) where number == 1", "0.5", ""},
		{"show attained(true and ttft_ms < unlimited) where number == 1", "1", ""},
		// Samples that do not know when a request was due cannot say.
		{"show attained(ttft_due_ms <= 200), attained(icl_ms < 5), attained(cached_tokens == 0) where number == 1", "  ", "samples samples samples"},
		{"show attained(ttft_due_ms <= 200 or ttft_ms <= 200) where number == 1", "1", ""},
		// What is wrong with a request's times is not good.
		{"show attained(ttft_ms > 0) where number == 6", "0.5", "samples"},
		{"show attained(not (ttft_ms > 200)) where number == 6", "0.5", "samples"},
		{"show attained(missing(ttft_ms)) where number == 6", "0.5", ""},
		{"max attained(" + slo + ") where concurrency >= 2", "0.5 2|0.5 3|0.5 6", "samples samples undecided"},
		{"max concurrency where attained(" + slo + ") >= 0.5 and goodput(" + slo + ") > 0.15", "2 2", "samples samples undecided undecided"},
		{"count by attained(" + slo + ") order by count desc", "0.5 3|0 1|1 1| 1", "samples samples"},
		{"show median(attained(" + slo + ")), max(goodput(" + slo + ")), all(attained(" + slo + ") > 0.2) by engine having count() > 5", "vllm 0.5 0.4 false", "missing missing samples samples"},
		{"last attained(" + slo + ") >= 0.75 along concurrency", "1 2 1 0.5", "samples samples undecided"},
		{"at attained(" + slo + ") == 0.75 along concurrency", "1.5 1 2", "samples samples undecided"},
		{"pareto max attained(" + slo + "), max total_tps", "1 100|0.5 3200", "samples samples undecided"},
		{"show number, gain(attained(" + slo + ")), gain where number == 2 vs concurrency == 1 on engine", "2 -0.5 -0.5", ""},
		{"show number, attained(" + slo + "), gain where number == 2 vs concurrency == 1 on engine", "2 0.5 -0.5", ""},
		{"max goodput(" + slo + ") where number <= 2 vs concurrency == 1 on engine", "0.4 0.4 0 1", ""},
		{"max attained(" + slo + ") by engine over workload where number == 1", "vllm 1 1", ""},
		{"show number where attained(" + slo + ") >= 0.9 order by goodput(" + slo + ")", "1", "samples samples undecided"},
		{"show number order by attained(ttft_ms <= 150) desc limit 2", "1|3", "limit samples samples"},
	} {
		a := ask(t, served(t), tt.query)
		var got []string
		for _, row := range a.Rows {
			if strings.HasPrefix(tt.query, "max") || strings.HasPrefix(tt.query, "pareto") || a.Verb == "at" || a.Verb == "last" {
				row = row[:strings.Count(strings.Split(tt.rows, "|")[0], " ")+1]
			}
			var cells []string
			for _, v := range row {
				cells = append(cells, v.String())
			}
			got = append(got, strings.Join(cells, " "))
		}
		if text := strings.Join(got, "|"); text != tt.rows {
			t.Errorf("%s: %q, want %q", tt.query, text, tt.rows)
		}
		c := codes(a)
		slices.Sort(c)
		if text := strings.Join(c, " "); text != tt.codes {
			t.Errorf("%s: warnings %q, want %q: %v", tt.query, text, tt.codes, a.Warnings)
		}
	}
}

func TestRequestWarnings(t *testing.T) {
	a := ask(t, served(t), "max goodput("+slo+") where attained("+slo+") >= 0.1")
	for code, want := range map[string]string{
		"undecided": "1 trial left out: attained(" + slo + ") is unknown",
		"samples":   "1 trial without samples, of which nothing is known of single requests: goodput(" + slo + "), attained(" + slo + ")",
	} {
		if got := message(a, code); got != want {
			t.Errorf("%s: %q, want %q", code, got, want)
		}
	}
	if a.Excluded != (query.Excluded{Undecided: 1, Status: 1}) {
		t.Errorf("left out %+v", a.Excluded)
	}
	last := a.Warnings[slices.IndexFunc(a.Warnings, func(w query.Warning) bool { return strings.Contains(w.Message, "a figure") })].Message
	if want := "goodput(" + slo + "): a figure that it names is unknown of 1 request in 1 trial: not attained"; last != want {
		t.Errorf("%q, want %q", last, want)
	}
	a = ask(t, served(t), "show attained(queue_ms < 1) where number <= 2")
	if got, want := message(a, "samples"), "attained(queue_ms < 1) is unknown of 2 trials, whose samples do not hold what it names"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	// A trial is counted once, in whatever passes and rows it is asked for.
	a = ask(t, served(t), "show number, attained("+slo+"), gain vs number > 0 on engine")
	if got := message(a, "samples"); !strings.HasPrefix(got, "1 trial without samples") {
		t.Errorf("with vs: %q", got)
	}
}

// TestRequestsAreReadLazily: what other conditions leave out is never read, and each
// trial that is left once.
func TestRequestsAreReadLazily(t *testing.T) {
	for _, tt := range []struct {
		query string
		read  []int64
	}{
		{"max total_tps where attained(" + slo + ") >= 0.5 and concurrency <= 2", []int64{1, 2}},
		{"max goodput(" + slo + ") where attained(" + slo + ") > 0 and attained(ttft_ms < 5) < 1 and number == 3", []int64{3}},
		{"max total_tps where attained(" + slo + ") >= 0.5 and concurrency > 100", nil},
		{"show number, attained(" + slo + ") limit 2", []int64{1, 2}},
		{"count where total_tps > 300 or attained(" + slo + ") > 0.5", []int64{1, 2}},
		{"max attained(" + slo + ") where number <= 3 per setup", []int64{1, 2, 3}},
	} {
		var read []int64
		src := served(t)
		src.read = &read
		ask(t, src, tt.query)
		if diff := cmp.Diff(tt.read, read); diff != "" {
			t.Errorf("%s: samples read (-want +got):\n%s", tt.query, diff)
		}
	}
}

// TestRequestsOfRepeats: the median of the repeats that have samples.
func TestRequestsOfRepeats(t *testing.T) {
	m := memory{}
	for n := range 4 {
		m = append(m, trial(t, n+1, "engine", "vllm", "workload", "w", "duration_s", 10, "total_tps", 100+n))
	}
	good, bad := answer(100, 600, 11), answer(900, 2000, 11)
	src := sampled{memory: m, samples: map[int64][]core.Sample{1: {good, good}, 2: {good, bad}, 3: {good, good, good, bad}}}
	a := ask(t, src, "max total_tps where attained("+slo+") >= 0.7 per setup")
	if a.Considered != 4 || len(a.Rows) != 1 {
		t.Fatalf("%d considered, rows %v", a.Considered, a.Rows)
	}
	if got := message(a, "missing"); !strings.Contains(got, "attained("+slo+"): 1 of 4 repeats lack a value") {
		t.Errorf("warning %q of %v", got, a.Warnings)
	}
	a = ask(t, src, "show attained("+slo+"), goodput("+slo+"), attained(ttft_ms < 1), n per setup")
	if got := rowsOf(a); !slices.Equal(got, []string{"0.75 0.2 0 4 0"}) {
		t.Errorf("%v, want the medians of 1, 0.5, 0.75 and of 0.2, 0.1, 0.3", got)
	}
	if a = ask(t, src, "max total_tps where attained("+slo+") > 0.75 per setup"); a.Excluded.Where != 4 || len(a.Rows) != 0 {
		t.Errorf("left out %+v", a.Excluded)
	}
}

// TestRequestsRestOnFigures: a finding on the figures that rest on the same moments
// touches the value.
func TestRequestsRestOnFigures(t *testing.T) {
	src := served(t)
	src.memory[0].Findings = []core.Finding{{Rule: "X", Severity: core.SeverityHard, Metrics: []string{"mean_ttft_ms"}, Evidence: "…"}}
	a := ask(t, src, "max goodput(ttft_ms <= 200) where number <= 3")
	if a.Severity[0] != core.SeverityHard || a.SoundWinner == nil || !slices.Contains(codes(a), "hard") {
		t.Errorf("severity %v, sound winner %v, warnings %v", a.Severity, a.SoundWinner, a.Warnings)
	}
	if a = ask(t, src, "max goodput(e2el_ms <= 700) where number <= 3"); a.Severity[0] != 0 {
		t.Errorf("a finding on TTFT touches the end-to-end latency: %v", a.Severity)
	}
	if a = ask(t, src, "show number where sound(attained(ttft_ms <= 200)) and number <= 2"); !slices.Equal(column(t, a, "number"), []string{"2"}) {
		t.Errorf("sound: %v", a.Rows)
	}
}

func TestRequestErrors(t *testing.T) {
	src := served(t)
	src.fail = errBroken
	for _, text := range []string{"max attained(ttft_ms < 1)", "show attained(ttft_ms < 1) limit 1", "max total_tps where attained(ttft_ms < 1) > 0 per setup"} {
		if _, err := query.Run(t.Context(), src, text, query.Options{}); !errors.Is(err, errBroken) || query.IsUsage(err) || !strings.HasPrefix(err.Error(), "read samples: ") {
			t.Errorf("%s: error %v, want one that wraps the source's", text, err)
		}
	}
	// A trial that was removed between its row and its samples has none.
	gone := served(t)
	gone.memory = gone.memory[:1]
	a := ask(t, without{gone.memory, "nothing"}, "show attained(ttft_ms < 1)")
	if got := message(a, "samples"); !strings.HasPrefix(got, "1 trial without samples") {
		t.Errorf("%q", got)
	}
}
