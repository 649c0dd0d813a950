package plugins

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/plugins/internal/pb"
)

// Register puts an engine on a gRPC server. [Serve] does so for a plugin; a test
// does it on a server of its own.
func Register(s grpc.ServiceRegistrar, engine core.Engine) {
	pb.RegisterEngineServiceServer(s, &server{engine: engine})
}

// ServerOptions are what a gRPC server of an engine needs beside its transport:
// gRPC's own limit on a request is too low for a plan with files.
func ServerOptions() []grpc.ServerOption {
	return []grpc.ServerOption{grpc.MaxRecvMsgSize(maxRequest)}
}

// server answers calls from the wire out of a core.Engine.
type server struct {
	pb.UnimplementedEngineServiceServer
	engine core.Engine
}

func (s *server) Info(ctx context.Context, _ *pb.InfoRequest) (*pb.InfoResponse, error) {
	info, err := s.engine.Info(ctx)
	if err != nil {
		return nil, toStatus(err)
	}
	return infoToPB(info), nil
}

func (s *server) Probe(ctx context.Context, in *pb.ProbeRequest) (*pb.ProbeResponse, error) {
	var c check
	origin := c.origin(in.GetOrigin())
	if err := requestError(&c); err != nil {
		return nil, toStatus(err)
	}
	found, err := s.engine.Probe(ctx, origin)
	if err != nil {
		return nil, toStatus(err)
	}
	return installationToPB(found), nil
}

func (s *server) Plan(ctx context.Context, in *pb.PlanRequest) (*pb.PlanResponse, error) {
	var c check
	req := c.planRequest(in)
	if err := requestError(&c); err != nil {
		return nil, toStatus(err)
	}
	plan, err := s.engine.Plan(ctx, req)
	if err != nil {
		return nil, toStatus(err)
	}
	return &pb.PlanResponse{Plan: planToPB(plan)}, nil
}

func (s *server) Prepare(ctx context.Context, in *pb.PrepareRequest) (*pb.PrepareResponse, error) {
	preparer, ok := s.engine.(core.Preparer)
	if !ok {
		return nil, toStatus(core.ErrUnimplemented)
	}
	var c check
	req := c.prepareRequest(in)
	if err := requestError(&c); err != nil {
		return nil, toStatus(err)
	}
	p, err := preparer.Prepare(ctx, req)
	if err != nil {
		return nil, toStatus(err)
	}
	return preparationToPB(p), nil
}

func (s *server) Launch(in *pb.LaunchRequest, stream grpc.ServerStreamingServer[pb.LaunchResponse]) error {
	var c check
	req := c.launchRequest(in)
	if err := requestError(&c); err != nil {
		return toStatus(err)
	}
	out := &sender[pb.LaunchResponse]{stream: stream}
	defer out.close()
	ready, err := s.engine.Launch(stream.Context(), req, func(p core.Progress) {
		// A failed send is remembered by the sender and ends the call.
		_ = out.send(&pb.LaunchResponse{Event: &pb.LaunchResponse_Progress{Progress: progressToPB(p)}})
	})
	var failure *core.LaunchError
	switch {
	case errors.As(err, &failure):
		return out.send(&pb.LaunchResponse{Event: &pb.LaunchResponse_Failure{Failure: launchFailureToPB(failure)}})
	case err != nil:
		return toStatus(err)
	}
	return out.send(&pb.LaunchResponse{Event: &pb.LaunchResponse_Ready{Ready: readyToPB(ready)}})
}

func (s *server) Benchmark(in *pb.BenchmarkRequest, stream grpc.ServerStreamingServer[pb.BenchmarkResponse]) error {
	var c check
	req := c.benchmarkRequest(in)
	if err := requestError(&c); err != nil {
		return toStatus(err)
	}
	out := &sender[pb.BenchmarkResponse]{stream: stream}
	defer out.close()
	if err := s.engine.Benchmark(stream.Context(), req, wireSink{out}); err != nil {
		return toStatus(err)
	}
	return out.err()
}

func (s *server) Stop(ctx context.Context, in *pb.StopRequest) (*pb.StopResponse, error) {
	var c check
	req := c.stopRequest(in)
	if err := requestError(&c); err != nil {
		return nil, toStatus(err)
	}
	if err := s.engine.Stop(ctx, req); err != nil {
		return nil, toStatus(err)
	}
	return &pb.StopResponse{}, nil
}

func (s *server) Diagnose(ctx context.Context, in *pb.DiagnoseRequest) (*pb.DiagnoseResponse, error) {
	var c check
	req := c.diagnoseRequest(in)
	if err := requestError(&c); err != nil {
		return nil, toStatus(err)
	}
	d, err := s.engine.Diagnose(ctx, req)
	if err != nil {
		return nil, toStatus(err)
	}
	return diagnosisToPB(d), nil
}

// A sender serialises what an engine sends from several goroutines and takes
// nothing more once the call is over: a gRPC stream allows neither.
type sender[M any] struct {
	mu     sync.Mutex
	stream grpc.ServerStreamingServer[M]
	failed error
	closed bool
}

func (s *sender[M]) send(m *M) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return errors.New("the call has ended")
	case s.failed == nil:
		s.failed = s.stream.Send(m)
	}
	return s.failed
}

func (s *sender[M]) err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failed
}

func (s *sender[M]) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
}

// wireSink is the core.Sink that an engine's Benchmark sees in a plugin.
type wireSink struct{ out *sender[pb.BenchmarkResponse] }

func (w wireSink) Samples(samples []core.Sample) error {
	batches, err := batchesToPB(samples)
	if err != nil {
		return err
	}
	for _, b := range batches {
		if err := w.out.send(&pb.BenchmarkResponse{Event: &pb.BenchmarkResponse_Samples{Samples: b}}); err != nil {
			return err
		}
	}
	return nil
}

func (w wireSink) Progress(p core.Progress) {
	// A failed send is remembered by the sender and ends the call.
	_ = w.out.send(&pb.BenchmarkResponse{Event: &pb.BenchmarkResponse_Progress{Progress: progressToPB(p)}})
}

func (w wireSink) Summary(extra map[string]core.Value) {
	_ = w.out.send(&pb.BenchmarkResponse{Event: &pb.BenchmarkResponse_Summary{Summary: &pb.Summary{Figures: valuesToPB(extra)}}})
}

// toStatus turns an engine's error into a gRPC status whose message is the
// error's own text. A *core.LaunchError travels as a detail.
func toStatus(err error) error {
	if st, ok := status.FromError(err); ok {
		return st.Err() // a failed send: already one
	}
	st := status.New(codeOf(err), prose(err.Error()))
	var failure *core.LaunchError
	if errors.As(err, &failure) {
		detailed, derr := st.WithDetails(launchFailureToPB(failure))
		if derr != nil {
			return status.Error(codes.Internal, fmt.Sprintf("%s (and no detail of it: %v)", prose(err.Error()), derr))
		}
		st = detailed
	}
	return st.Err()
}
