package sim_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/plugins/sim"
)

// The test binary is the executable under test: with the hidden command as its
// first argument it is the server.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "sim-server" {
		os.Exit(sim.ServerMain(os.Args[2:], os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// logBuffer is a log that a server writes while a test reads it.
type logBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

var listening = regexp.MustCompile(`listening on (http://\S+)`)

// startInside runs a server in this process and returns its address. It is
// stopped when the test ends, and must then have ended well.
func startInside(t *testing.T, flags ...string) string {
	t.Helper()
	log := &logBuffer{}
	ended := make(chan int, 1)
	args := append([]string{"--model", "Qwen/Qwen3-8B", "--port", "0"}, flags...)
	go func() { ended <- sim.ServerMain(args, log, log) }()
	deadline := time.After(20 * time.Second)
	for {
		if m := listening.FindStringSubmatch(log.String()); m != nil {
			t.Cleanup(func() {
				post(t, m[1]+"/shutdown", "")
				if code := <-ended; code != 0 {
					t.Errorf("exit status %d; log:\n%s", code, log)
				}
			})
			return m[1]
		}
		select {
		case code := <-ended:
			t.Fatalf("the server ended with status %d; log:\n%s", code, log)
		case <-deadline:
			t.Fatalf("the server does not listen; log:\n%s", log)
		case <-time.After(2 * time.Millisecond):
		}
	}
}

func post(t *testing.T, url, body string) (int, string) {
	t.Helper()
	resp, err := http.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	return readAll(t, resp)
}

func get(t *testing.T, url string) (int, string) {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	return readAll(t, resp)
}

func readAll(t *testing.T, resp *http.Response) (int, string) {
	t.Helper()
	defer resp.Body.Close()
	var b bytes.Buffer
	if _, err := b.ReadFrom(resp.Body); err != nil {
		t.Fatalf("body after %q: %v", b.String(), err)
	}
	return resp.StatusCode, b.String()
}

// metric reads one figure of /metrics.
func metric(t *testing.T, base, name string) float64 {
	t.Helper()
	_, text := get(t, base+"/metrics")
	for line := range strings.SplitSeq(text, "\n") {
		if strings.HasPrefix(line, "sim:"+name+"{") {
			v, err := strconv.ParseFloat(line[strings.LastIndexByte(line, ' ')+1:], 64)
			if err != nil {
				t.Fatal(err)
			}
			return v
		}
	}
	t.Fatalf("no metric %s in\n%s", name, text)
	return 0
}

// process is a server that a test started from a plan, as the host does.
type process struct {
	cmd   *exec.Cmd
	plan  core.Plan
	log   string
	ended chan struct{} // closed when it was reaped
}

// launchRequest is what the host hands to Launch.
func (p *process) launchRequest() core.LaunchRequest {
	return core.LaunchRequest{Plan: p.plan, PIDs: []int{p.cmd.Process.Pid}, LogPath: p.log}
}

func (p *process) exitCode(t *testing.T) int {
	t.Helper()
	select {
	case <-p.ended:
		return p.cmd.ProcessState.ExitCode()
	case <-time.After(10 * time.Second):
		t.Fatal("the server does not end")
		return 0
	}
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// start plans a configuration and starts its process.
func start(t *testing.T, engine core.Engine, c core.Config) *process {
	t.Helper()
	plan, err := engine.Plan(context.Background(), core.PlanRequest{Config: c, Host: "127.0.0.1", Port: freePort(t), WorkDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	return startPlan(t, plan)
}

func startPlan(t *testing.T, plan core.Plan) *process {
	t.Helper()
	p := &process{plan: plan, log: filepath.Join(t.TempDir(), "server.log"), ended: make(chan struct{})}
	log, err := os.Create(p.log)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	argv := plan.Processes[0].Argv
	p.cmd = exec.Command(argv[0], argv[1:]...)
	p.cmd.Stdout, p.cmd.Stderr = log, log
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.ended)
		// The status is read from ProcessState.
		_ = p.cmd.Wait()
	}()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		<-p.ended
	})
	return p
}

func newEngine() core.Engine { return sim.New(os.Args[0]) }

// config is Qwen3-8B at a scale at which a start takes a tenth of a second.
func config(extra core.Knobs) core.Config {
	c := core.Config{Engine: "sim", Checkpoint: "Qwen/Qwen3-8B", CommandKnown: true, Knobs: core.Knobs{"time_scale": core.Number(100)}}
	return c.With(core.Config{Knobs: extra})
}

// collector keeps what a benchmark produces.
type collector struct{ samples []core.Sample }

func (c *collector) Samples(batch []core.Sample) error {
	c.samples = append(c.samples, batch...)
	return nil
}
func (c *collector) Progress(core.Progress)        {}
func (c *collector) Summary(map[string]core.Value) {}

func (c *collector) outcomes() map[core.Outcome]int {
	n := map[core.Outcome]int{}
	for _, s := range c.samples {
		n[s.Outcome]++
	}
	return n
}

func closedLoop(base string, c core.Config, n, concurrency, in, out int) core.BenchmarkRequest {
	return core.BenchmarkRequest{
		BaseURL: base, Model: c.Checkpoint, Config: c,
		Workload: core.Workload{Dataset: "random", InputLen: core.Number(float64(in)), OutputLen: core.Number(float64(out)),
			IgnoreEOS: core.Bool(true), Endpoint: "/v1/completions"},
		Load: core.Load{Concurrency: core.Number(float64(concurrency)), NumPrompts: core.Number(float64(n)), Seed: core.Number(1)},
	}
}

func mean(samples []core.Sample, f func(core.Sample) time.Duration) time.Duration {
	var sum time.Duration
	for _, s := range samples {
		sum += f(s)
	}
	return sum / time.Duration(max(1, len(samples)))
}

func tpot(s core.Sample) time.Duration { return (s.Last - s.First) / time.Duration(s.OutputTokens-1) }

func plain(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

// ids is a list of n consecutive token ids.
func ids(n, from int) string {
	var b strings.Builder
	b.WriteByte('[')
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprint(&b, from+i)
	}
	b.WriteByte(']')
	return b.String()
}
