// Command oldplugin is a plugin as an author wrote it against the first engine.proto
// of version 1, before a call or a field was added to it: that file, the code that was
// generated from it then, go-plugin, and nothing of Sweepbook. A test builds and runs
// it, so that whoever changes the protocol or the host sees it break.
//
// Nothing of this folder is ever brought up to date.
package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"oldplugin/pb"
)

func main() {
	plugin.Serve(&plugin.ServeConfig{
		HandshakeConfig:  plugin.HandshakeConfig{ProtocolVersion: 1, MagicCookieKey: "SWEEPBOOK_ENGINE_PLUGIN", MagicCookieValue: "b19d4f6c0f5e4d5b8f0e7a3c2d6a9e41"},
		VersionedPlugins: map[int]plugin.PluginSet{1: {"engine": glue{}}},
		GRPCServer:       plugin.DefaultGRPCServer,
	})
}

type glue struct{ plugin.NetRPCUnsupportedPlugin }

func (glue) GRPCServer(_ *plugin.GRPCBroker, s *grpc.Server) error {
	pb.RegisterEngineServiceServer(s, engine{})
	return nil
}

func (glue) GRPCClient(context.Context, *plugin.GRPCBroker, *grpc.ClientConn) (any, error) {
	return nil, fmt.Errorf("a plugin is no client")
}

type engine struct {
	pb.UnimplementedEngineServiceServer
}

func (engine) Info(context.Context, *pb.InfoRequest) (*pb.InfoResponse, error) {
	return &pb.InfoResponse{Name: "old", Version: "1.0", Simulated: true, Knobs: []*pb.KnobInfo{{
		Name: "max_num_seqs", Flag: "--max-num-seqs", Type: pb.ValueType_VALUE_TYPE_NUMBER, Doc: "requests that decode together",
		DefaultValue: &pb.Value{Kind: &pb.Value_Number{Number: 256}},
	}}}, nil
}

// Plan starts the simulator.
func (engine) Plan(_ context.Context, req *pb.PlanRequest) (*pb.PlanResponse, error) {
	model := req.Config.Checkpoint
	if model == "" {
		model = req.Config.Model
	}
	argv := []string{"sweepbook", "sim-server", "--model", model, "--host", req.Host, "--port", fmt.Sprint(req.Port), "--time-scale", "20"}
	for name, v := range req.Config.Knobs {
		n, isNumber := v.Kind.(*pb.Value_Number)
		if name != "max_num_seqs" || !isNumber {
			return nil, status.Errorf(codes.InvalidArgument, "knob %q: not this, or not so", name)
		}
		argv = append(argv, "--max-num-seqs", fmt.Sprint(int(n.Number)))
	}
	return &pb.PlanResponse{Plan: &pb.Plan{
		Processes: []*pb.Process{{Name: "server", Argv: argv}},
		Ready:     &pb.ReadyRule{BaseUrl: fmt.Sprintf("http://%s:%d", req.Host, req.Port), Model: model, TimeoutNs: int64(time.Minute)},
	}}, nil
}

func (engine) Launch(req *pb.LaunchRequest, out grpc.ServerStreamingServer[pb.LaunchResponse]) error {
	if err := out.Send(&pb.LaunchResponse{Event: &pb.LaunchResponse_Progress{Progress: &pb.Progress{Phase: "load", Message: "waiting"}}}); err != nil {
		return err
	}
	for tries := 0; ; tries++ {
		answer, err := http.Get(req.Plan.Ready.BaseUrl + "/v1/models")
		if err == nil {
			_ = answer.Body.Close()
			return out.Send(&pb.LaunchResponse{Event: &pb.LaunchResponse_Ready{Ready: &pb.Ready{BaseUrl: req.Plan.Ready.BaseUrl, Model: req.Plan.Ready.Model, Version: "old"}}})
		}
		if tries == 600 {
			return out.Send(&pb.LaunchResponse{Event: &pb.LaunchResponse_Failure{Failure: &pb.LaunchFailure{FailureClass: "startup_timeout", Line: err.Error()}}})
		}
		select {
		case <-out.Context().Done():
			return out.Context().Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// Benchmark measures the workload "own" and leaves any other to the host.
func (engine) Benchmark(req *pb.BenchmarkRequest, out grpc.ServerStreamingServer[pb.BenchmarkResponse]) error {
	if req.Workload.GetName() != "own" {
		return status.Error(codes.Unimplemented, "the host measures")
	}
	number := func(n int64) *int64 { return &n }
	batch := &pb.SampleBatch{Samples: []*pb.Sample{
		{Index: 0, SentNs: number(10), FirstNs: number(20), LastNs: number(50), EndNs: number(60), ChunkDeltasNs: []uint64{20, 30}, InputTokens: number(5), OutputTokens: number(2), Outcome: pb.Outcome_OUTCOME_OK},
		{Index: 1, SentNs: number(15), EndNs: number(70), Outcome: pb.Outcome_OUTCOME_FAILED, Error: "said no"},
	}}
	for _, event := range []*pb.BenchmarkResponse{
		{Event: &pb.BenchmarkResponse_Progress{Progress: &pb.Progress{Phase: "measure", Done: 2, Total: 2}}},
		{Event: &pb.BenchmarkResponse_Samples{Samples: batch}},
		{Event: &pb.BenchmarkResponse_Summary{Summary: &pb.Summary{Figures: map[string]*pb.Value{"seen": {Kind: &pb.Value_Number{Number: 2}}}}}},
	} {
		if err := out.Send(event); err != nil {
			return err
		}
	}
	return nil
}

func (engine) Stop(context.Context, *pb.StopRequest) (*pb.StopResponse, error) {
	return &pb.StopResponse{}, nil
}

func (engine) Diagnose(_ context.Context, req *pb.DiagnoseRequest) (*pb.DiagnoseResponse, error) {
	fmt.Fprintf(os.Stderr, "asked for %d bytes of log\n", len(req.LogTail))
	return &pb.DiagnoseResponse{FailureClass: "unknown"}, nil
}
