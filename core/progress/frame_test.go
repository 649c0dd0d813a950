package progress_test

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/core/progress"
)

var t0 = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// busy is a run in the middle of a measurement.
func busy() progress.State {
	rate := 1234.56
	var s progress.State
	for _, e := range []progress.Event{
		{Event: progress.KindStart, Study: "qwen3", Owner: &progress.Owner{Host: "h", PID: 7}, Left: &progress.Left{Trials: 12, Seconds: 5400}},
		{Event: progress.KindStage, Stage: "scheduler"},
		{Event: progress.KindTrial, Trial: &progress.Trial{Option: "too long", Workload: "chat", Load: "c=16", Status: core.StatusFailed, Failure: core.OOMKV, FailureText: "KV cache is\ntoo small"}},
		{Event: progress.KindTrial, Trial: &progress.Trial{Option: "ended", Workload: "chat", Status: core.StatusAborted, Failure: core.Interrupted}},
		{Event: progress.KindBest, Best: &progress.Best{Number: 3, Option: "FP8", Value: 4321.5, Of: "max output_tps where success_rate == 1"}},
		{Event: progress.KindLeft, Left: &progress.Left{Done: 4, Failed: 1, Known: 2, Trials: 8, Seconds: 3600}},
		{Event: progress.KindLaunch, Config: "vllm Qwen/Qwen3-8B-FP8 max_num_seqs=8 max_num_batched_tokens=16384 enable_chunked_prefill=true"},
		{Event: progress.KindProgress, Phase: "measure", Done: 48, Total: 96, Rate: &rate},
	} {
		e.At = t0
		s.Take(e)
	}
	return s
}

func TestFrame(t *testing.T) {
	now := t0.Add(100 * time.Second)
	want := []string{
		"qwen3, scheduler: 4 measured, 1 failed, 2 known, at most 8 left, about 58 min",
		"  launch  vllm Qwen/Qwen3-8B-FP8 max_num_seqs=8 max_num_batched_tokens=16384 enable_chunked_prefill=true",
		"  measure [##########----------] 48/96  1235 tok/s  2 min",
		"  best    max output_tps = 4321.5  FP8, trial 3",
		"  failed  too long chat c=16: oom_kv  KV cache is too small",
	}
	if diff := cmp.Diff(want, progress.Frame(busy(), now, 120)); diff != "" {
		t.Errorf("at 120 columns (-want +got):\n%s", diff)
	}
	want[1] = "  launch  vllm Qwen/Qwen3-8B-FP8 max_num_seqs=8 max_num_batched_tokens=16384 e…"
	if diff := cmp.Diff(want, progress.Frame(busy(), now, 80)); diff != "" {
		t.Errorf("at 80 columns (-want +got):\n%s", diff)
	}
}

func TestFrameNeverFillsALine(t *testing.T) {
	s := busy()
	s.Config = strings.Repeat("模型", 60)
	s.Message = strings.Repeat("loading \x1b[31m", 20)
	for columns := 21; columns < 200; columns++ {
		for _, line := range progress.Frame(s, t0, columns) {
			width := utf8.RuneCountInString(line) + strings.Count(line, "模") + strings.Count(line, "型")
			if width >= columns || strings.ContainsAny(line, "\x1b\n\r") {
				t.Fatalf("%d columns: %d used by %q", columns, width, line)
			}
		}
	}
}

func TestStateForgetsWhatIsOver(t *testing.T) {
	s := busy()
	s.Take(progress.Event{Event: progress.KindTrial, At: t0, Trial: &progress.Trial{Status: core.StatusOK}})
	if s.Phase != "" || s.Total != 0 || s.Rate != nil {
		t.Errorf("after a trial its measurement goes on: %+v", s)
	}
	s.Take(progress.Event{Event: progress.KindEnd, At: t0, End: &progress.End{Outcome: "done", Winner: "vllm x"}, Left: &progress.Left{Done: 5}})
	lines := progress.Frame(s, t0, 120)
	if want := "qwen3, scheduler: 5 measured, ended: done, winner vllm x"; lines[0] != want {
		t.Errorf("at the end: %q, want %q", lines[0], want)
	}
	s.Take(progress.Event{Event: progress.KindStart, Study: "other", At: t0})
	if len(s.Failures) != 0 || s.Best != nil || s.End != nil {
		t.Errorf("another run begins with what the one before left: %+v", s)
	}
}

func TestAbout(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0 s", 1400 * time.Millisecond: "1 s", 59 * time.Second: "59 s", time.Minute: "1 min", 89 * time.Minute: "89 min",
		90 * time.Minute: "1.5 h", 47 * time.Hour: "47.0 h", 60 * time.Hour: "2.5 days",
	} {
		if got := progress.About(d); got != want {
			t.Errorf("%v is %q, want %q", d, got, want)
		}
	}
}

// Several launches at once have a line each; what comes late of one that has ended is
// about nothing.
func TestLanes(t *testing.T) {
	rate := 500.0
	var s progress.State
	for _, e := range []progress.Event{
		{Event: progress.KindStart, Study: "packed"},
		{Event: progress.KindStage, Stage: "next"},
		{Event: progress.KindLaunch, Lane: 2, Config: "vllm b"},
		{Event: progress.KindLaunch, Lane: 1, Config: "vllm a", Option: "a"},
		{Event: progress.KindLaunch, Lane: 3, Config: "vllm c"},
		{Event: progress.KindReady, Lane: 1},
		{Event: progress.KindProgress, Lane: 1, Phase: "measure", Done: 5, Total: 10, Rate: &rate},
		{Event: progress.KindStopped, Lane: 3},
		{Event: progress.KindProgress, Lane: 3, Phase: "measure", Done: 1, Total: 2},
	} {
		e.At = t0
		s.Take(e)
	}
	want := []string{"packed, next: 0 measured", "  [1] measure [##########----------] 5/10  500 tok/s  a", "  [2] launch  vllm b"}
	if diff := cmp.Diff(want, progress.Frame(s, t0, 100)); diff != "" {
		t.Error(diff)
	}
	s.Take(progress.Event{Event: progress.KindStage, Stage: "verification", At: t0})
	if len(s.Lanes) != 0 {
		t.Errorf("after the stage: %+v", s.Lanes)
	}
}

func TestLineNamesItsLane(t *testing.T) {
	took := 1.5
	e := progress.Event{Event: progress.KindReady, Lane: 2, Ready: &took}
	if got := progress.Line(e); got != "  [2] ready after 1.5s" {
		t.Errorf("got %q", got)
	}
	e = progress.Event{Event: progress.KindTrial, Lane: 1, Trial: &progress.Trial{Number: 7, Workload: "chat", Load: "c=4", Option: "tp=2", Status: core.StatusOK}}
	if got := progress.Line(e); got != "  [1] trial  7 chat c=4  (tp=2)" {
		t.Errorf("got %q", got)
	}
}
