package plugins

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/plugins/internal/pb"
)

// preparer answers Prepare and nothing else.
type preparer struct {
	core.Engine
	asked core.PrepareRequest
}

func (p *preparer) Prepare(_ context.Context, req core.PrepareRequest) (core.Preparation, error) {
	p.asked = req
	return fullPreparation(), nil
}

func TestPrepareCrossesTheWire(t *testing.T) {
	engine := &preparer{}
	client := dial(t, func(s *grpc.Server) { Register(s, engine) })
	req := core.PrepareRequest{PlanRequest: fullPlanRequest(), Plan: fullPlan()}
	got, err := client.Prepare(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(fullPreparation(), got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(req, engine.asked); diff != "" {
		t.Error(diff)
	}
}

// An engine that cannot prepare, and a plugin that never heard of it, say the same.
func TestPrepareIsOptional(t *testing.T) {
	older := (&hostile{}).client(t)
	without := dial(t, func(s *grpc.Server) { Register(s, struct{ core.Engine }{}) })
	for name, client := range map[string]*Client{"older plugin": older, "engine without": without} {
		if _, err := client.Prepare(t.Context(), core.PrepareRequest{}); !errors.Is(err, core.ErrUnimplemented) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// preparing answers Prepare with any message.
type preparing struct {
	pb.UnimplementedEngineServiceServer
	answer *pb.PrepareResponse
}

func (p *preparing) Prepare(context.Context, *pb.PrepareRequest) (*pb.PrepareResponse, error) {
	return p.answer, nil
}

func TestHostilePrepare(t *testing.T) {
	for field, answer := range map[string]*pb.PrepareResponse{
		"needs.kind":  {Needs: []*pb.Need{{Name: "x"}}},
		"needs.name":  {Needs: []*pb.Need{{Kind: "model"}}},
		"needs.fetch": {Needs: []*pb.Need{{Kind: "model", Name: "x", Fetch: []string{"a\x00b"}}}},
		"needs.env":   {Needs: []*pb.Need{{Kind: "model", Name: "x", Env: map[string]string{"A=B": "c"}}}},
		"flags.flag":  {Flags: []*pb.BadFlag{{Text: "x"}}},
		"notes":       {Notes: make([]string, maxList+1)},
		"facts":       {Facts: map[string]*pb.Value{"": {}}},
	} {
		client := dial(t, func(s *grpc.Server) { pb.RegisterEngineServiceServer(s, &preparing{answer: answer}) })
		_, err := client.Prepare(t.Context(), core.PrepareRequest{})
		bad(t, err, "Prepare", field)
	}
}
