package plugins

import (
	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/plugins/internal/pb"
)

func prepareRequestToPB(r core.PrepareRequest) *pb.PrepareRequest {
	return &pb.PrepareRequest{Request: planRequestToPB(r.PlanRequest), Plan: planToPB(r.Plan)}
}

func (c *check) prepareRequest(r *pb.PrepareRequest) core.PrepareRequest {
	return core.PrepareRequest{PlanRequest: c.planRequest(r.GetRequest()), Plan: c.plan(r.GetPlan())}
}

func preparationToPB(p core.Preparation) *pb.PrepareResponse {
	out := &pb.PrepareResponse{Facts: valuesToPB(p.Facts)}
	for _, n := range p.Needs {
		out.Needs = append(out.Needs, &pb.Need{
			Kind: n.Kind, Name: n.Name, Found: n.Found, Problem: prose(n.Problem), Fetch: n.Fetch, Env: n.Env, Denied: prose(n.Denied),
		})
	}
	for _, f := range p.Flags {
		out.Flags = append(out.Flags, &pb.BadFlag{Flag: f.Flag, Text: prose(f.Text)})
	}
	for _, note := range p.Notes {
		out.Notes = append(out.Notes, prose(note))
	}
	return out
}

func (c *check) preparation(in *pb.PrepareResponse) core.Preparation {
	p := core.Preparation{Facts: c.values("facts", in.GetFacts())}
	if !c.count("needs", len(in.GetNeeds()), maxList) || !c.count("flags", len(in.GetFlags()), maxList) || !c.count("notes", len(in.GetNotes()), maxList) {
		return p
	}
	for _, n := range in.GetNeeds() {
		p.Needs = append(p.Needs, core.Need{
			Kind: c.required("needs.kind", n.GetKind(), maxName), Name: c.required("needs.name", n.GetName(), maxText), Found: c.text("needs.found", n.GetFound(), maxText),
			Problem: prose(n.GetProblem()), Fetch: c.texts("needs.fetch", n.GetFetch(), maxArg), Env: c.environment("needs.env", n.GetEnv()), Denied: prose(n.GetDenied()),
		})
	}
	for _, f := range in.GetFlags() {
		p.Flags = append(p.Flags, core.BadFlag{Flag: c.required("flags.flag", f.GetFlag(), maxArg), Text: prose(f.GetText())})
	}
	for _, note := range in.GetNotes() {
		p.Notes = append(p.Notes, prose(note))
	}
	return p
}
