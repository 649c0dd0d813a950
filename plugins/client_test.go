package plugins

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/plugins/internal/pb"
)

// hostile is a plugin that answers with whatever messages a test puts together,
// past our own server.
type hostile struct {
	pb.UnimplementedEngineServiceServer
	info      *pb.InfoResponse
	plan      *pb.PlanResponse
	launch    []*pb.LaunchResponse
	benchmark []*pb.BenchmarkResponse
	diagnosis *pb.DiagnoseResponse
}

func (h *hostile) Info(context.Context, *pb.InfoRequest) (*pb.InfoResponse, error) {
	return h.info, nil
}

func (h *hostile) Plan(context.Context, *pb.PlanRequest) (*pb.PlanResponse, error) {
	return h.plan, nil
}

func (h *hostile) Diagnose(context.Context, *pb.DiagnoseRequest) (*pb.DiagnoseResponse, error) {
	return h.diagnosis, nil
}

func (h *hostile) Launch(_ *pb.LaunchRequest, stream grpc.ServerStreamingServer[pb.LaunchResponse]) error {
	for _, m := range h.launch {
		if err := stream.Send(m); err != nil {
			return err
		}
	}
	return nil
}

func (h *hostile) Benchmark(_ *pb.BenchmarkRequest, stream grpc.ServerStreamingServer[pb.BenchmarkResponse]) error {
	for _, m := range h.benchmark {
		if err := stream.Send(m); err != nil {
			return err
		}
	}
	return nil
}

// dial connects a client to what register puts on a server in memory.
func dial(t *testing.T, register func(*grpc.Server)) *Client {
	t.Helper()
	l := bufconn.Listen(1 << 20)
	s := grpc.NewServer(ServerOptions()...)
	register(s)
	served := make(chan struct{})
	go func() { defer close(served); _ = s.Serve(l) }()
	conn, err := grpc.NewClient("passthrough:///x", append(DialOptions(), grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return l.DialContext(ctx) }))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(); s.Stop(); <-served })
	return Connect(conn)
}

func (h *hostile) client(t *testing.T) *Client {
	return dial(t, func(s *grpc.Server) { pb.RegisterEngineServiceServer(s, h) })
}

// bad asserts a *ReplyError of a call that names the field.
func bad(t *testing.T, err error, call, field string) {
	t.Helper()
	var reply *ReplyError
	if !errors.As(err, &reply) || reply.Call != call || !strings.Contains(reply.Field, field) {
		t.Errorf("got %v, want a bad reply to %s about %q", err, call, field)
	}
}

func number(f float64) *pb.Value { return &pb.Value{Kind: &pb.Value_Number{Number: f}} }

func ns(n int64) *int64 { return &n }

// sound is a sample that keeps the rules, changed by the test.
func sound(change func(*pb.Sample)) *pb.Sample {
	s := &pb.Sample{
		Index: 3, DueNs: ns(0), SentNs: ns(10), FirstNs: ns(20), LastNs: ns(40), EndNs: ns(50), ChunkDeltasNs: []uint64{20, 20},
		InputTokens: ns(5), CachedTokens: ns(0), OutputTokens: ns(2), RequestedOutput: ns(2), Outcome: pb.Outcome_OUTCOME_OK,
	}
	change(s)
	return s
}

func batch(samples ...*pb.Sample) *pb.BenchmarkResponse {
	return &pb.BenchmarkResponse{Event: &pb.BenchmarkResponse_Samples{Samples: &pb.SampleBatch{Samples: samples}}}
}

func TestHostileSamples(t *testing.T) {
	cases := map[string]struct {
		field  string
		change func(*pb.Sample)
	}{
		"negative time":           {"sent_ns", func(s *pb.Sample) { s.SentNs = ns(-1) }},
		"negative ttft":           {"first_ns", func(s *pb.Sample) { s.FirstNs = ns(9) }},
		"last before first":       {"last_ns", func(s *pb.Sample) { s.LastNs = ns(19); s.ChunkDeltasNs = nil }},
		"end before last":         {"end_ns", func(s *pb.Sample) { s.EndNs = ns(39) }},
		"end before sent":         {"end_ns", func(s *pb.Sample) { *s = pb.Sample{SentNs: ns(10), EndNs: ns(9), Outcome: pb.Outcome_OUTCOME_FAILED} }},
		"a century":               {"end_ns", func(s *pb.Sample) { s.EndNs = ns(math.MaxInt64) }},
		"negative index":          {"index", func(s *pb.Sample) { s.Index = -1 }},
		"huge index":              {"index", func(s *pb.Sample) { s.Index = 1 << 40 }},
		"negative tokens":         {"output_tokens", func(s *pb.Sample) { s.OutputTokens = ns(-1) }},
		"huge tokens":             {"input_tokens", func(s *pb.Sample) { s.InputTokens = ns(math.MaxInt64) }},
		"more cached than input":  {"cached_tokens", func(s *pb.Sample) { s.CachedTokens = ns(6) }},
		"no outcome":              {"outcome", func(s *pb.Sample) { s.Outcome = 0 }},
		"unknown outcome":         {"outcome", func(s *pb.Sample) { s.Outcome = 77 }},
		"chunk before first":      {"chunk_deltas_ns", func(s *pb.Sample) { s.ChunkDeltasNs = []uint64{19} }},
		"chunk after last":        {"chunk_deltas_ns", func(s *pb.Sample) { s.ChunkDeltasNs = []uint64{20, 21} }},
		"chunks without a first":  {"chunk_deltas_ns", func(s *pb.Sample) { s.FirstNs = nil }},
		"chunk times that wrap":   {"chunk_deltas_ns", func(s *pb.Sample) { s.ChunkDeltasNs = []uint64{20, math.MaxUint64} }},
		"too many chunks":         {"chunk_deltas_ns", func(s *pb.Sample) { s.ChunkDeltasNs = make([]uint64, maxChunks+1) }},
		"the same request before": {"index", func(s *pb.Sample) { s.Index = 1 }},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			first := sound(func(s *pb.Sample) { s.Index = 1 })
			h := &hostile{benchmark: []*pb.BenchmarkResponse{batch(first), batch(sound(func(s *pb.Sample) { s.Index = 2 }), sound(c.change))}}
			var sink sinkLog
			bad(t, h.client(t).Benchmark(t.Context(), core.BenchmarkRequest{}, &sink), "Benchmark", c.field)
			if len(sink.samples) != 1 {
				t.Errorf("the sink has %d samples: only whole sound batches may reach it", len(sink.samples))
			}
		})
	}
}

type sinkLog struct {
	samples []core.Sample
	steps   int
	figures map[string]core.Value
}

func (s *sinkLog) Samples(b []core.Sample) error         { s.samples = append(s.samples, b...); return nil }
func (s *sinkLog) Progress(core.Progress)                { s.steps++ }
func (s *sinkLog) Summary(figures map[string]core.Value) { s.figures = figures }

func TestHostileStreams(t *testing.T) {
	summary := func(v *pb.Value) *pb.BenchmarkResponse {
		return &pb.BenchmarkResponse{Event: &pb.BenchmarkResponse_Summary{Summary: &pb.Summary{Figures: map[string]*pb.Value{"tps": v}}}}
	}
	big := make([]*pb.Sample, maxBatch+1)
	for i := range big {
		big[i] = &pb.Sample{Index: int64(i), Outcome: pb.Outcome_OUTCOME_FAILED}
	}
	huge := batch(sound(func(s *pb.Sample) { s.Error = strings.Repeat("x", 5<<20) }))
	for field, stream := range map[string][]*pb.BenchmarkResponse{
		"summary":             {summary(number(1)), summary(number(2))},
		"summary.figures.tps": {summary(number(math.NaN()))},
		"progress.done":       {{Event: &pb.BenchmarkResponse_Progress{Progress: &pb.Progress{Done: -1}}}},
		"samples":             {batch(big...)},
		"message":             {huge},
	} {
		bad(t, (&hostile{benchmark: stream}).client(t).Benchmark(t.Context(), core.BenchmarkRequest{}, &sinkLog{}), "Benchmark", field)
	}
	// An event that this version does not know is passed over.
	var sink sinkLog
	err := (&hostile{benchmark: []*pb.BenchmarkResponse{{}, batch(sound(func(*pb.Sample) {})), summary(&pb.Value{})}}).client(t).Benchmark(t.Context(), core.BenchmarkRequest{}, &sink)
	if err != nil || len(sink.samples) != 1 || len(sink.figures) != 1 || !sink.figures["tps"].IsMissing() {
		t.Errorf("sound stream: %v, %+v", err, sink)
	}
}

func TestHostileLaunch(t *testing.T) {
	ready := &pb.LaunchResponse{Event: &pb.LaunchResponse_Ready{Ready: &pb.Ready{BaseUrl: "http://127.0.0.1:1"}}}
	failure := &pb.LaunchResponse{Event: &pb.LaunchResponse_Failure{Failure: &pb.LaunchFailure{FailureClass: "made_up", Line: "\x1b[31mred"}}}
	step := &pb.LaunchResponse{Event: &pb.LaunchResponse_Progress{Progress: &pb.Progress{Phase: "load"}}}
	readyWith := func(r *pb.Ready) *pb.LaunchResponse {
		return &pb.LaunchResponse{Event: &pb.LaunchResponse_Ready{Ready: r}}
	}
	for name, c := range map[string]struct {
		field  string
		stream []*pb.LaunchResponse
	}{
		"nothing":           {"event", nil},
		"progress only":     {"event", []*pb.LaunchResponse{step}},
		"twice ready":       {"event", []*pb.LaunchResponse{ready, ready}},
		"ready then failed": {"event", []*pb.LaunchResponse{ready, failure}},
		"step after ready":  {"event", []*pb.LaunchResponse{ready, step}},
		"no address":        {"ready.base_url", []*pb.LaunchResponse{readyWith(&pb.Ready{})}},
		"negative load_s":   {"ready.load_s", []*pb.LaunchResponse{readyWith(&pb.Ready{BaseUrl: "u", LoadS: number(-1)})}},
		"text load_s":       {"ready.load_s", []*pb.LaunchResponse{readyWith(&pb.Ready{BaseUrl: "u", LoadS: &pb.Value{Kind: &pb.Value_Text{Text: "2"}}})}},
		"infinite fact":     {"ready.facts.x", []*pb.LaunchResponse{readyWith(&pb.Ready{BaseUrl: "u", Facts: map[string]*pb.Value{"x": number(math.Inf(1))}})}},
		"special of no use": {"ready.facts.x", []*pb.LaunchResponse{readyWith(&pb.Ready{BaseUrl: "u", Facts: map[string]*pb.Value{"x": {Kind: &pb.Value_Special{Special: 9}}}})}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := (&hostile{launch: c.stream}).client(t).Launch(t.Context(), core.LaunchRequest{}, nil)
			bad(t, err, "Launch", c.field)
		})
	}
	_, err := (&hostile{launch: []*pb.LaunchResponse{step, failure}}).client(t).Launch(t.Context(), core.LaunchRequest{}, nil)
	var launch *core.LaunchError
	if !errors.As(err, &launch) || launch.Class != core.UnknownFailure || launch.Line != `\x1b[31mred` {
		t.Errorf("a class that is not in the list: %#v", err)
	}
}

func TestHostilePlan(t *testing.T) {
	process := func(change func(*pb.Process)) *pb.Plan {
		p := &pb.Process{Name: "a", Argv: []string{"x"}}
		change(p)
		return &pb.Plan{Processes: []*pb.Process{p}}
	}
	file := func(path string, n int) *pb.Plan {
		return process(func(p *pb.Process) { p.Files = []*pb.PlanFile{{Path: path, Data: make([]byte, n)}} })
	}
	for name, c := range map[string]struct {
		field string
		plan  *pb.Plan
	}{
		"nil":             {"plan.processes", nil},
		"no process":      {"plan.processes", &pb.Plan{}},
		"no executable":   {"processes.argv", process(func(p *pb.Process) { p.Argv = nil })},
		"empty word":      {"processes.argv", process(func(p *pb.Process) { p.Argv = []string{""} })},
		"NUL":             {"processes.argv", process(func(p *pb.Process) { p.Argv = []string{"x", "a\x00b"} })},
		"long argument":   {"processes.argv", process(func(p *pb.Process) { p.Argv = []string{"x", strings.Repeat("y", 1<<18)} })},
		"many arguments":  {"processes.argv", process(func(p *pb.Process) { p.Argv = make([]string, maxList+1) })},
		"variable name":   {"processes.env", process(func(p *pb.Process) { p.Env = map[string]string{"A=B": "c"} })},
		"up and away":     {"processes.files.path", file("../../etc/cron.d/x", 1)},
		"absolute":        {"processes.files.path", file("/etc/passwd", 1)},
		"backslash":       {"processes.files.path", file(`..\x`, 1)},
		"no path":         {"processes.files.path", file("", 1)},
		"big file":        {"processes.files.data", file("x", maxFileData+1)},
		"same file twice": {"processes.files.path", process(func(p *pb.Process) { p.Files = []*pb.PlanFile{{Path: "a"}, {Path: "./a"}} })},
		"after itself":    {"processes.after", process(func(p *pb.Process) { p.After = []string{"a"} })},
		"after nobody":    {"processes.after", process(func(p *pb.Process) { p.After = []string{"z"} })},
		"same name twice": {"processes.name", &pb.Plan{Processes: []*pb.Process{{Name: "a", Argv: []string{"x"}}, {Name: "a", Argv: []string{"x"}}}}},
		"negative time":   {"ready.timeout_ns", &pb.Plan{Processes: []*pb.Process{{Argv: []string{"x"}}}, Ready: &pb.ReadyRule{TimeoutNs: -1}}},
		"nameless hint":   {"setup_hints", &pb.Plan{Processes: []*pb.Process{{Argv: []string{"x"}}}, SetupHints: map[string]*pb.Value{"": {}}}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := (&hostile{plan: &pb.PlanResponse{Plan: c.plan}}).client(t).Plan(t.Context(), core.PlanRequest{})
			bad(t, err, "Plan", c.field)
		})
	}
	_, err := (&hostile{info: &pb.InfoResponse{}}).client(t).Info(t.Context())
	bad(t, err, "Info", "name")
	_, err = (&hostile{info: &pb.InfoResponse{Name: "x", Knobs: make([]*pb.KnobInfo, maxKnobInfo+1)}}).client(t).Info(t.Context())
	bad(t, err, "Info", "knobs")
	_, err = (&hostile{info: &pb.InfoResponse{Name: "x", Knobs: []*pb.KnobInfo{{Name: "a"}, {Name: "b"}, {Name: "a"}}}}).client(t).Info(t.Context())
	bad(t, err, "Info", "knobs.name")
	many := make([]*pb.KnobInfo, maxKnobInfo)
	for i := range many {
		many[i] = &pb.KnobInfo{Name: fmt.Sprint("knob", i), Doc: strings.Repeat("d", 1<<10)}
	}
	_, err = (&hostile{info: &pb.InfoResponse{Name: "x", Knobs: many}}).client(t).Info(t.Context())
	bad(t, err, "Info", "message")
	d, err := (&hostile{diagnosis: &pb.DiagnoseResponse{FailureClass: "oom_everything", Line: strings.Repeat("z", 1<<20)}}).client(t).Diagnose(t.Context(), core.DiagnoseRequest{})
	if err != nil || d.Class != core.UnknownFailure || len(d.Line) > maxProse {
		t.Errorf("Diagnose: %v, %q with %d bytes", err, d.Class, len(d.Line))
	}
}

// failing is an engine whose every call fails with one error.
type failing struct{ err error }

func (f failing) Info(context.Context) (core.EngineInfo, error) { return core.EngineInfo{}, f.err }
func (f failing) Probe(context.Context, core.Origin) (core.Installation, error) {
	return core.Installation{}, f.err
}
func (f failing) Plan(context.Context, core.PlanRequest) (core.Plan, error) {
	return core.Plan{}, f.err
}
func (f failing) Launch(context.Context, core.LaunchRequest, func(core.Progress)) (core.Ready, error) {
	return core.Ready{}, f.err
}
func (f failing) Benchmark(context.Context, core.BenchmarkRequest, core.Sink) error { return f.err }
func (f failing) Stop(context.Context, core.StopRequest) error                      { return f.err }
func (f failing) Diagnose(context.Context, core.DiagnoseRequest) (core.Diagnosis, error) {
	return core.Diagnosis{}, f.err
}

func calls(e core.Engine) map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		"Info":  func(ctx context.Context) error { _, err := e.Info(ctx); return err },
		"Probe": func(ctx context.Context) error { _, err := e.Probe(ctx, core.Origin{}); return err },
		"Plan":  func(ctx context.Context) error { _, err := e.Plan(ctx, core.PlanRequest{}); return err },
		"Launch": func(ctx context.Context) error {
			_, err := e.Launch(ctx, core.LaunchRequest{}, nil)
			return err
		},
		"Benchmark": func(ctx context.Context) error { return e.Benchmark(ctx, core.BenchmarkRequest{}, &sinkLog{}) },
		"Stop":      func(ctx context.Context) error { return e.Stop(ctx, core.StopRequest{}) },
		"Diagnose":  func(ctx context.Context) error { _, err := e.Diagnose(ctx, core.DiagnoseRequest{}); return err },
	}
}

func TestErrorsCrossTheWire(t *testing.T) {
	for _, sentinel := range []error{core.ErrInvalid, core.ErrNotFound, core.ErrUnimplemented, core.ErrConflict, core.ErrHeld, context.Canceled, context.DeadlineExceeded, errors.New("no sentinel")} {
		sent := fmt.Errorf("knob max_num_seqs: %w: \x1b too big", sentinel)
		client := dial(t, func(s *grpc.Server) { Register(s, failing{sent}) })
		for name, call := range calls(client) {
			err := call(t.Context())
			if err == nil || err.Error() != clean(sent.Error()) {
				t.Errorf("%s: %v arrives as %v", name, sent, err)
			}
			if known := sentinelOf(codeOf(sentinel)); known != nil && !errors.Is(err, sentinel) {
				t.Errorf("%s: %v does not arrive as such", name, sentinel)
			}
			for _, other := range []error{core.ErrInvalid, core.ErrNotFound, core.ErrUnimplemented, core.ErrConflict, core.ErrHeld, core.ErrPluginExited} {
				if !errors.Is(sentinel, other) && errors.Is(err, other) {
					t.Errorf("%s: %v arrives as %v too", name, sentinel, other)
				}
			}
		}
	}
	want := core.LaunchError{Class: core.OOMKV, Line: "no room for the KV cache"}
	client := dial(t, func(s *grpc.Server) { Register(s, failing{fmt.Errorf("rank 3: %w", &want)}) })
	for name, call := range calls(client) {
		var got *core.LaunchError
		if err := call(t.Context()); !errors.As(err, &got) || *got != want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestRequestsAreChecked(t *testing.T) {
	client := dial(t, func(s *grpc.Server) { Register(s, failing{nil}) })
	_, err := client.Plan(t.Context(), core.PlanRequest{Port: 70000})
	if !errors.Is(err, core.ErrInvalid) || !strings.Contains(err.Error(), "port") {
		t.Errorf("port 70000: %v", err)
	}
	err = client.Benchmark(t.Context(), core.BenchmarkRequest{Warmup: -1}, &sinkLog{})
	if !errors.Is(err, core.ErrInvalid) || !strings.Contains(err.Error(), "warmup") {
		t.Errorf("warmup -1: %v", err)
	}
}

// TestManySamples sends more than one message holds, in one batch.
func TestManySamples(t *testing.T) {
	const n = 30000
	samples := make([]core.Sample, n)
	for i := range samples {
		at := time.Duration(i) * time.Millisecond
		samples[i] = core.Sample{Index: i, Due: at, Sent: at, First: at + 1e9, Last: at + 2e9, End: at + 2e9, Chunks: make([]time.Duration, 50), OutputTokens: 50, RequestedOutput: -1}
		for k := range samples[i].Chunks {
			samples[i].Chunks[k] = at + 1e9 + time.Duration(k)*20*time.Millisecond
		}
	}
	client := dial(t, func(s *grpc.Server) { Register(s, &measuring{samples: samples}) })
	var sink sinkLog
	if err := client.Benchmark(t.Context(), core.BenchmarkRequest{}, &sink); err != nil {
		t.Fatal(err)
	}
	if len(sink.samples) != n || sink.samples[n-1].Chunks[49] != samples[n-1].Chunks[49] {
		t.Errorf("%d of %d samples came", len(sink.samples), n)
	}
}

// measuring sends its samples, and goes on after the call has ended.
type measuring struct {
	failing
	samples []core.Sample
	late    chan error
}

func (m *measuring) Benchmark(_ context.Context, _ core.BenchmarkRequest, sink core.Sink) error {
	if m.late != nil {
		go func() {
			for {
				if err := sink.Samples(m.samples); err != nil {
					m.late <- err
					return
				}
				time.Sleep(time.Millisecond)
			}
		}()
	}
	return sink.Samples(m.samples)
}

func TestSinkAfterTheEnd(t *testing.T) {
	m := &measuring{late: make(chan error, 1)}
	m.samples = []core.Sample{{Index: 1, First: core.NoTime, Last: core.NoTime, Outcome: core.OutcomeFailed}}
	client := dial(t, func(s *grpc.Server) { Register(s, m) })
	_ = client.Benchmark(t.Context(), core.BenchmarkRequest{}, &sinkLog{}) // may see the sample twice
	select {
	case err := <-m.late:
		if err == nil {
			t.Error("no error")
		}
	case <-time.After(2 * time.Second):
		t.Error("a sink takes samples after its benchmark has ended")
	}
}

func TestSinkRefuses(t *testing.T) {
	samples := make([]core.Sample, 3)
	for i := range samples {
		samples[i] = core.Sample{Index: i}
	}
	client := dial(t, func(s *grpc.Server) { Register(s, &measuring{samples: samples}) })
	refused := errors.New("disk full")
	if err := client.Benchmark(t.Context(), core.BenchmarkRequest{}, refusing{refused}); !errors.Is(err, refused) {
		t.Errorf("got %v", err)
	}
}

type refusing struct{ err error }

func (r refusing) Samples([]core.Sample) error   { return r.err }
func (r refusing) Progress(core.Progress)        {}
func (r refusing) Summary(map[string]core.Value) {}

func TestContextEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	client := dial(t, func(s *grpc.Server) { Register(s, failing{nil}) })
	for name, call := range calls(client) {
		if err := call(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("%s under an ended context: %v", name, err)
		}
	}
}
