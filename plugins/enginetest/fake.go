package enginetest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/sweepbook/sweepbook/core"
)

var _ core.Engine = (*Fake)(nil)

// Fake is an engine whose answers a test chooses: a function that is set replaces
// the answer of that call. The zero Fake keeps the contract of core.Engine: it
// plans the command of a server that does not exist, calls a launch ready when
// something answers on its address, and measures one request after the other.
type Fake struct {
	Name        string // "fake" when empty
	InfoFn      func(context.Context) (core.EngineInfo, error)
	ProbeFn     func(context.Context, core.Origin) (core.Installation, error)
	PlanFn      func(context.Context, core.PlanRequest) (core.Plan, error)
	LaunchFn    func(context.Context, core.LaunchRequest, func(core.Progress)) (core.Ready, error)
	BenchmarkFn func(context.Context, core.BenchmarkRequest, core.Sink) error
	StopFn      func(context.Context, core.StopRequest) error
	DiagnoseFn  func(context.Context, core.DiagnoseRequest) (core.Diagnosis, error)
}

// Info implements core.Engine.
func (f *Fake) Info(ctx context.Context) (core.EngineInfo, error) {
	if f.InfoFn != nil {
		return f.InfoFn(ctx)
	}
	name := f.Name
	if name == "" {
		name = "fake"
	}
	return core.EngineInfo{Name: name, Version: "1.0.0", Simulated: true, Knobs: fakeKnobs()}, nil
}

func fakeKnobs() []core.KnobInfo {
	return []core.KnobInfo{
		{Name: "max_num_seqs", Flag: "--max-num-seqs", Type: core.NumberType, Default: core.Number(256), Doc: "requests that decode together"},
		{Name: "kv_cache_dtype", Flag: "--kv-cache-dtype", Type: core.TextType, Default: core.String("auto"), Doc: "number format of the KV cache"},
		{Name: "chunked_prefill", Flag: "--chunked-prefill", Type: core.BoolType, Default: core.Bool(false), Doc: "prompts are computed in pieces"},
	}
}

// Probe implements core.Engine.
func (f *Fake) Probe(ctx context.Context, origin core.Origin) (core.Installation, error) {
	if f.ProbeFn != nil {
		return f.ProbeFn(ctx, origin)
	}
	return core.Installation{Version: "1.0.0", Command: "/usr/bin/fake-server", Detail: "nothing is installed"}, nil
}

// Plan implements core.Engine.
func (f *Fake) Plan(ctx context.Context, req core.PlanRequest) (core.Plan, error) {
	if f.PlanFn != nil {
		return f.PlanFn(ctx, req)
	}
	argv := []string{"/usr/bin/fake-server", "--host", req.Host, "--port", strconv.Itoa(req.Port)}
	for _, name := range req.Config.Knobs.Names() {
		v := req.Config.Knobs[name]
		flag, err := fakeFlag(name, v)
		if err != nil {
			return core.Plan{}, err
		}
		argv = append(argv, flag, v.String())
	}
	return core.Plan{
		Processes: []core.Process{{Name: "server", Argv: argv, Env: req.Config.Env, GPUs: req.GPUs}},
		Ready:     core.ReadyRule{BaseURL: fmt.Sprintf("http://%s:%d", req.Host, req.Port), Model: req.Config.Model, Timeout: time.Minute},
	}, nil
}

func fakeFlag(name string, v core.Value) (string, error) {
	for _, k := range fakeKnobs() {
		if k.Name != name {
			continue
		}
		if v.Kind != k.Default.Kind {
			return "", fmt.Errorf("knob %s: %w: want %s, got %q", name, core.ErrInvalid, k.Type, v)
		}
		return k.Flag, nil
	}
	return "", fmt.Errorf("knob %s: %w: the fake engine has no such knob", name, core.ErrInvalid)
}

// Launch implements core.Engine.
func (f *Fake) Launch(ctx context.Context, req core.LaunchRequest, progress func(core.Progress)) (core.Ready, error) {
	if f.LaunchFn != nil {
		return f.LaunchFn(ctx, req, progress)
	}
	for {
		progress(core.Progress{Phase: "ready", Message: "waiting for " + req.Plan.Ready.BaseURL})
		if s := completion(ctx, time.Now(), core.Sample{}, req.Plan.Ready.BaseURL, req.Plan.Ready.Model, 1); s.Outcome == core.OutcomeOK {
			return core.Ready{BaseURL: req.Plan.Ready.BaseURL, Model: req.Plan.Ready.Model, Version: "1.0.0"}, nil
		}
		select {
		case <-ctx.Done():
			return core.Ready{}, ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// Benchmark implements core.Engine.
func (f *Fake) Benchmark(ctx context.Context, req core.BenchmarkRequest, sink core.Sink) error {
	if f.BenchmarkFn != nil {
		return f.BenchmarkFn(ctx, req, sink)
	}
	n := 10
	if v := req.Load.NumPrompts; v.Kind == core.KindNumber && !v.IsUnlimited() {
		n = int(v.Num)
	}
	tokens := 8
	if v := req.Workload.OutputLen; v.Kind == core.KindNumber {
		tokens = int(v.Num)
	}
	start := time.Now()
	for i := range n {
		due := time.Since(start)
		s := completion(ctx, start, core.Sample{Index: i, Due: due}, req.BaseURL, req.Model, tokens)
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := sink.Samples([]core.Sample{s}); err != nil {
			return err
		}
		sink.Progress(core.Progress{Phase: "measure", Done: i + 1, Total: n})
	}
	sink.Summary(map[string]core.Value{"requests": core.Number(float64(n))})
	return nil
}

// completion asks for one streamed completion and fills in s.
func completion(ctx context.Context, start time.Time, s core.Sample, baseURL, model string, tokens int) core.Sample {
	s.First, s.Last, s.InputTokens, s.CachedTokens, s.OutputTokens, s.RequestedOutput = core.NoTime, core.NoTime, -1, -1, -1, tokens
	s.Sent = time.Since(start)
	s.Outcome = core.OutcomeFailed
	err := func() error {
		body := fmt.Sprintf(`{"model":%q,"prompt":"hello","max_tokens":%d,"stream":true}`, model, tokens)
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, baseURL+"/v1/completions", strings.NewReader(body))
		if err != nil {
			return err
		}
		req.Header.Set("Content-Type", "application/json")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return errors.New(resp.Status)
		}
		lines := bufio.NewScanner(resp.Body)
		for lines.Scan() {
			if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok && data != "[DONE]" && strings.Contains(data, `"text"`) {
				s.Chunks = append(s.Chunks, time.Since(start))
			}
		}
		return lines.Err()
	}()
	if n := len(s.Chunks); n > 0 {
		s.First, s.Last, s.OutputTokens = s.Chunks[0], s.Chunks[n-1], n
	}
	s.End = time.Since(start)
	switch {
	case err != nil:
		s.Error = err.Error()
	case len(s.Chunks) == 0:
		s.Error = "an answer without a token"
	default:
		s.Outcome = core.OutcomeOK
	}
	return s
}

// Stop implements core.Engine.
func (f *Fake) Stop(ctx context.Context, req core.StopRequest) error {
	if f.StopFn != nil {
		return f.StopFn(ctx, req)
	}
	return nil
}

// Diagnose implements core.Engine.
func (f *Fake) Diagnose(ctx context.Context, req core.DiagnoseRequest) (core.Diagnosis, error) {
	if f.DiagnoseFn != nil {
		return f.DiagnoseFn(ctx, req)
	}
	for line := range strings.Lines(req.LogTail) {
		if strings.Contains(line, "out of memory") {
			return core.Diagnosis{Class: core.OOMRuntime, Line: strings.TrimSpace(line)}, nil
		}
	}
	return core.Diagnosis{Class: core.UnknownFailure}, nil
}
