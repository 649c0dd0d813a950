package sim_test

import (
	"context"
	"net/http"
	"os"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/plugins/serving"
)

// launched starts a server with a fault and brings it to ready.
func launched(t *testing.T, knobs core.Knobs) (*process, core.Ready, core.Config) {
	t.Helper()
	c := config(knobs)
	engine := newEngine()
	p := start(t, engine, c)
	ready, err := engine.Launch(context.Background(), p.launchRequest(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return p, ready, c
}

func diagnose(t *testing.T, p *process, code int) core.Diagnosis {
	t.Helper()
	tail, err := os.ReadFile(p.log)
	if err != nil {
		t.Fatal(err)
	}
	d, err := newEngine().Diagnose(context.Background(), core.DiagnoseRequest{LogTail: string(tail), ExitCode: code, Phase: "measure"})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// The ready probe is the first request, so of 20 more, requests 4, 8, … 20 are
// refused.
func TestFaultShares(t *testing.T) {
	for _, knob := range []string{"fault_refuse_share", "fault_error_in_200"} {
		t.Run(knob, func(t *testing.T) {
			t.Parallel()
			_, ready, c := launched(t, core.Knobs{knob: core.Number(0.25)})
			var got collector
			if err := newEngine().Benchmark(context.Background(), closedLoop(ready.BaseURL, c, 20, 4, 32, 8), &got); err != nil {
				t.Fatal(err)
			}
			want := map[core.Outcome]int{core.OutcomeOK: 15, core.OutcomeFailed: 5}
			if diff := cmp.Diff(want, got.outcomes()); diff != "" {
				t.Error(diff)
			}
			if n := metric(t, ready.BaseURL, "request_failure_total"); n != 5 {
				t.Errorf("%g failures counted", n)
			}
			if n := metric(t, ready.BaseURL, "num_requests_running"); n != 0 {
				t.Errorf("%g sequences still run", n)
			}
		})
	}
}

func TestFaultForms(t *testing.T) {
	base := startInside(t, "--time-scale", "100", "--fault-error-in-200", "1")
	for _, body := range []string{`{"prompt":"x","max_tokens":8}`, `{"prompt":"x","max_tokens":8,"stream":true}`} {
		status, text := post(t, base+"/v1/completions", body)
		if status != http.StatusOK || !strings.Contains(text, `"error":{`) {
			t.Errorf("%s: %d %s", body, status, text)
		}
	}
	base = startInside(t, "--time-scale", "100", "--fault-refuse-share", "1")
	if status, text := post(t, base+"/v1/completions", `{"prompt":"x"}`); status != http.StatusServiceUnavailable || !strings.Contains(text, `"error":{`) {
		t.Error(status, text)
	}
}

func TestFaultCrash(t *testing.T) {
	t.Parallel()
	p, ready, c := launched(t, core.Knobs{"fault_crash_after": core.Number(6)})
	var got collector
	if err := newEngine().Benchmark(context.Background(), closedLoop(ready.BaseURL, c, 20, 1, 32, 8), &got); err != nil {
		t.Fatal(err)
	}
	// The probe was the first of the six answers.
	want := map[core.Outcome]int{core.OutcomeOK: 5, core.OutcomeFailed: 15}
	if diff := cmp.Diff(want, got.outcomes()); diff != "" {
		t.Error(diff)
	}
	code := p.exitCode(t)
	if d := diagnose(t, p, code); code != 1 || d.Class != core.Crash || !strings.Contains(d.Line, "engine core died") {
		t.Errorf("exit status %d, %+v", code, d)
	}
}

func TestFaultStall(t *testing.T) {
	t.Parallel()
	p, ready, c := launched(t, core.Knobs{"fault_stall_after": core.Number(4)})
	req := closedLoop(ready.BaseURL, c, 6, 1, 32, 8)
	req.IdleTimeout = 300 * time.Millisecond
	var got collector
	if err := newEngine().Benchmark(context.Background(), req, &got); err != nil {
		t.Fatal(err)
	}
	want := map[core.Outcome]int{core.OutcomeOK: 3, core.OutcomeFailed: 3}
	if diff := cmp.Diff(want, got.outcomes()); diff != "" {
		t.Error(diff)
	}
	if status, _ := get(t, ready.BaseURL+"/health"); status != http.StatusOK {
		t.Error("a stalled engine still answers /health, as real ones do")
	}
	if d := diagnose(t, p, -1); d.Class != core.Stalled {
		t.Errorf("%+v", d)
	}
}

func TestFaultSlowReady(t *testing.T) {
	t.Parallel()
	began := time.Now()
	_, ready, _ := launched(t, core.Knobs{"fault_slow_ready": core.Number(50)})
	if took := time.Since(began); took < 500*time.Millisecond {
		t.Errorf("ready after %v, 50 simulated seconds at 100 are half a second more", took)
	}
	if ready.LoadS.Num < 58 {
		t.Errorf("weights loaded after %v", ready.LoadS)
	}
}

func TestFaultIgnoreTerm(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("there is no SIGTERM on Windows")
	}
	p, ready, _ := launched(t, core.Knobs{"fault_ignore_term": core.Bool(true)})
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := newEngine().Stop(context.Background(), core.StopRequest{BaseURL: ready.BaseURL}); err != nil {
		t.Fatal(err)
	}
	select {
	case <-p.ended:
		t.Error("the server ended")
	case <-time.After(200 * time.Millisecond):
	}
	// Without the fault either ends it.
	q, _, _ := launched(t, nil)
	if err := q.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := q.exitCode(t); code != 0 {
		t.Errorf("exit status %d after SIGTERM", code)
	}
}

var escapedPID = regexp.MustCompile(`child in its own session, pid (\d+)`)

func TestFaultSetsidChild(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("there are no sessions on Windows")
	}
	p, _, _ := launched(t, core.Knobs{"fault_setsid_child": core.Bool(true)})
	log, err := os.ReadFile(p.log)
	if err != nil {
		t.Fatal(err)
	}
	m := escapedPID.FindSubmatch(log)
	if m == nil {
		t.Fatalf("log:\n%s", log)
	}
	pid, err := strconv.Atoi(string(m[1]))
	if err != nil {
		t.Fatal(err)
	}
	child, err := os.FindProcess(pid)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = child.Kill() })
	if err := p.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-p.ended
	time.Sleep(50 * time.Millisecond)
	if !serving.Alive(pid) {
		t.Error("the child did not outlive its server")
	}
}
