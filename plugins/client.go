package plugins

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/plugins/internal/pb"
)

var (
	_ core.Engine   = (*Client)(nil)
	_ core.Preparer = (*Client)(nil)
)

// Client is an engine in another process. Its methods are those of core.Engine;
// when the process is gone, they return core.ErrPluginExited with what is known
// of its end. It is safe for use by several goroutines.
type Client struct {
	engine pb.EngineServiceClient
	name   string
	// life ends when the process does. It is no context of a call: every call
	// joins it with its own.
	life   context.Context //nolint:containedctx // the life of a process has no call that could pass it
	plugin *running        // nil for a connection without a process of its own
}

// Connect returns the client of an engine that [Register] put behind conn. The
// connection stays the caller's; [Client.Close] does nothing.
func Connect(conn grpc.ClientConnInterface) *Client {
	return &Client{engine: pb.NewEngineServiceClient(conn), life: context.Background()}
}

// DialOptions are what a gRPC connection to an engine needs beside its transport:
// they bound what an engine may send.
func DialOptions() []grpc.DialOption {
	return []grpc.DialOption{
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage)),
		grpc.WithMaxHeaderListSize(256 << 10),
		grpc.WithDisableServiceConfig(),
	}
}

// Info implements core.Engine.
func (c *Client) Info(ctx context.Context) (core.EngineInfo, error) {
	return unary(c, ctx, "Info", func(ctx context.Context) (*pb.InfoResponse, error) {
		return c.engine.Info(ctx, &pb.InfoRequest{})
	}, (*check).info)
}

// Probe implements core.Engine.
func (c *Client) Probe(ctx context.Context, origin core.Origin) (core.Installation, error) {
	return unary(c, ctx, "Probe", func(ctx context.Context) (*pb.ProbeResponse, error) {
		return c.engine.Probe(ctx, &pb.ProbeRequest{Origin: originToPB(origin)})
	}, (*check).installation)
}

// Plan implements core.Engine.
func (c *Client) Plan(ctx context.Context, req core.PlanRequest) (core.Plan, error) {
	return unary(c, ctx, "Plan", func(ctx context.Context) (*pb.PlanResponse, error) {
		return c.engine.Plan(ctx, planRequestToPB(req))
	}, func(ch *check, in *pb.PlanResponse) core.Plan {
		if len(in.GetPlan().GetProcesses()) == 0 {
			ch.fail("plan.processes", "empty")
		}
		return ch.plan(in.GetPlan())
	})
}

// Prepare implements core.Preparer.
func (c *Client) Prepare(ctx context.Context, req core.PrepareRequest) (core.Preparation, error) {
	return unary(c, ctx, "Prepare", func(ctx context.Context) (*pb.PrepareResponse, error) {
		return c.engine.Prepare(ctx, prepareRequestToPB(req))
	}, (*check).preparation)
}

// Stop implements core.Engine.
func (c *Client) Stop(ctx context.Context, req core.StopRequest) error {
	_, err := unary(c, ctx, "Stop", func(ctx context.Context) (*pb.StopResponse, error) {
		return c.engine.Stop(ctx, stopRequestToPB(req))
	}, func(*check, *pb.StopResponse) struct{} { return struct{}{} })
	return err
}

// Diagnose implements core.Engine. It sends the last 256 KiB of the log.
func (c *Client) Diagnose(ctx context.Context, req core.DiagnoseRequest) (core.Diagnosis, error) {
	return unary(c, ctx, "Diagnose", func(ctx context.Context) (*pb.DiagnoseResponse, error) {
		return c.engine.Diagnose(ctx, diagnoseRequestToPB(req))
	}, func(_ *check, in *pb.DiagnoseResponse) core.Diagnosis { return diagnosis(in) })
}

// Launch implements core.Engine. A second outcome, or none, is a *ReplyError.
func (c *Client) Launch(ctx context.Context, req core.LaunchRequest, progress func(core.Progress)) (core.Ready, error) {
	joined, done := c.join(ctx)
	defer done()
	stream, err := c.engine.Launch(joined, launchRequestToPB(req))
	if err != nil {
		return core.Ready{}, c.fail(ctx, "Launch", err)
	}
	var outcome *pb.LaunchResponse
	for {
		event, err := stream.Recv()
		switch {
		case errors.Is(err, io.EOF):
			return c.launched(outcome)
		case err != nil:
			return core.Ready{}, c.fail(ctx, "Launch", err)
		case outcome != nil:
			return core.Ready{}, c.fail(ctx, "Launch", &ReplyError{Field: "event", Problem: "something came after the outcome"})
		}
		p, ok := event.GetEvent().(*pb.LaunchResponse_Progress)
		if !ok {
			outcome = event
			continue
		}
		var ch check
		step := ch.progress(p.Progress)
		if err := ch.reply(); err != nil {
			return core.Ready{}, c.fail(ctx, "Launch", err)
		}
		if progress != nil {
			progress(step)
		}
	}
}

func (c *Client) launched(outcome *pb.LaunchResponse) (core.Ready, error) {
	var ch check
	switch event := outcome.GetEvent().(type) {
	case *pb.LaunchResponse_Ready:
		ready := ch.ready(event.Ready)
		if err := ch.reply(); err != nil {
			return core.Ready{}, c.fail(context.Background(), "Launch", err)
		}
		return ready, nil
	case *pb.LaunchResponse_Failure:
		return core.Ready{}, launchError(event.Failure)
	}
	return core.Ready{}, c.fail(context.Background(), "Launch", &ReplyError{Field: "event", Problem: "neither ready nor a failure came"})
}

// Benchmark implements core.Engine. Samples reach the sink only when their whole
// batch keeps the rules of engine.proto.
func (c *Client) Benchmark(ctx context.Context, req core.BenchmarkRequest, sink core.Sink) error {
	joined, done := c.join(ctx)
	defer done() // also tells the plugin to end, when the sink refuses
	stream, err := c.engine.Benchmark(joined, benchmarkRequestToPB(req))
	if err != nil {
		return c.fail(ctx, "Benchmark", err)
	}
	var seen tally
	for {
		event, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return c.fail(ctx, "Benchmark", err)
		}
		if err := c.deliver(ctx, event, &seen, sink); err != nil {
			return err
		}
	}
}

func (c *Client) deliver(ctx context.Context, event *pb.BenchmarkResponse, seen *tally, sink core.Sink) error {
	var ch check
	switch event := event.GetEvent().(type) {
	case *pb.BenchmarkResponse_Samples:
		samples := seen.batch(&ch, event.Samples)
		if ch.err == nil && len(samples) > 0 {
			return sink.Samples(samples)
		}
	case *pb.BenchmarkResponse_Progress:
		if p := ch.progress(event.Progress); ch.err == nil {
			sink.Progress(p)
		}
	case *pb.BenchmarkResponse_Summary:
		if figures := seen.summaryValues(&ch, event.Summary); ch.err == nil {
			sink.Summary(figures)
		}
	}
	if err := ch.reply(); err != nil {
		return c.fail(ctx, "Benchmark", err)
	}
	return nil
}

// unary makes one call and checks its answer.
//
//nolint:revive // the client comes first, as it would as a method; methods have no type parameters.
func unary[M, T any](c *Client, ctx context.Context, call string, send func(context.Context) (M, error), read func(*check, M) T) (T, error) {
	joined, done := c.join(ctx)
	defer done()
	var none T
	reply, err := send(joined)
	if err != nil {
		return none, c.fail(ctx, call, err)
	}
	var ch check
	out := read(&ch, reply)
	if err := ch.reply(); err != nil {
		return none, c.fail(ctx, call, err)
	}
	return out, nil
}

// join gives a call a context that ends with the call's own or with the plugin.
// The second is needed because a process that the plugin left behind may hold
// the connection open.
func (c *Client) join(ctx context.Context) (context.Context, func()) {
	joined, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(c.life, cancel)
	return joined, func() { stop(); cancel() }
}

// exitGrace is how long a broken connection waits for the news that the process
// behind it has ended. The connection breaks first, by microseconds.
const exitGrace = 2 * time.Second

// fail is the one place where an error from the wire becomes one of ours.
func (c *Client) fail(ctx context.Context, call string, err error) error {
	var bad *ReplyError
	if errors.As(err, &bad) {
		bad.Engine, bad.Call = c.name, call
		return bad
	}
	if cerr := ctx.Err(); cerr != nil {
		return cerr
	}
	st, ok := status.FromError(err)
	if !ok {
		return err
	}
	switch st.Code() {
	case codes.Unavailable, codes.Canceled, codes.Internal:
		if c.gone(ctx) {
			return c.exited(call)
		}
	case codes.ResourceExhausted:
		return &ReplyError{Engine: c.name, Call: call, Field: "message", Problem: prose(st.Message())}
	}
	for _, detail := range st.Details() {
		if failure, ok := detail.(*pb.LaunchFailure); ok {
			return &remoteError{text: prose(st.Message()), is: launchError(failure)}
		}
	}
	if cerr := ctx.Err(); cerr != nil {
		return cerr
	}
	return &remoteError{text: prose(st.Message()), is: sentinelOf(st.Code())}
}

// gone reports whether the plugin's process has ended, waiting for the news.
func (c *Client) gone(ctx context.Context) bool {
	if c.life.Err() != nil {
		return true
	}
	if c.plugin == nil {
		return false
	}
	timer := time.NewTimer(exitGrace)
	defer timer.Stop()
	select {
	case <-c.life.Done():
		return true
	case <-ctx.Done():
	case <-timer.C:
	}
	return false
}

func (c *Client) exited(call string) error {
	if c.plugin == nil {
		return fmt.Errorf("%s: %w", call, core.ErrPluginExited)
	}
	return fmt.Errorf("engine %s: %s: %w: %s", c.name, call, core.ErrPluginExited, c.plugin.proc.epitaph())
}
