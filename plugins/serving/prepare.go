package serving

import (
	"cmp"
	"context"
	"errors"
	"os/exec"
	"strings"
	"sync"

	"github.com/sweepbook/sweepbook/core"
)

// Prepare implements core.Preparer: which engine and GPUs are here, whether the
// engine takes every flag of the plan, and whether the checkpoints are on this
// machine. Nothing of it holds a GPU.
func (a *Adapter) Prepare(ctx context.Context, req core.PrepareRequest) (core.Preparation, error) {
	p := core.Preparation{Facts: factsOf(a.seen.gpusOf(ctx, a), req.Plan)}
	found, err := a.seen.installation(ctx, a, req.Origin)
	need := core.Need{Kind: "engine", Name: a.d.Name}
	if req.Origin.Image != "" {
		need = core.Need{Kind: "image", Name: req.Origin.Image}
	}
	here := false
	switch {
	case ctx.Err() != nil:
		return core.Preparation{}, ctx.Err()
	case errors.Is(err, errNoImage):
		need.Problem = err.Error()
		need.Fetch = append(containerProgram(req.Origin), "pull", req.Origin.Image)
		need.Denied = "log in to the registry of " + req.Origin.Image + " first: " + containerProgram(req.Origin)[0] + " login"
	case errors.Is(err, errNoPackage) && a.d.Module == nil:
		// Its executable is here; it may know the package by another way.
		here = true
	case errors.Is(err, core.ErrNotFound), errors.Is(err, core.ErrConflict):
		need.Problem = err.Error()
	default:
		here = true
	}
	if here {
		if err != nil {
			p.Notes = append(p.Notes, a.d.Name+": "+err.Error())
		}
		need.Found = cmp.Or(strings.TrimSpace(found.Version+" "+found.Command), "version unknown")
		if req.Origin.Image != "" {
			need.Found = cmp.Or(found.Command, "digest unknown")
		}
		a.installed(ctx, req, found, &p)
	}
	p.Needs = append(p.Needs, need)
	a.models(req, here, &p)
	return p, nil
}

// installed adds what an engine that is here tells.
func (a *Adapter) installed(ctx context.Context, req core.PrepareRequest, found core.Installation, p *core.Preparation) {
	if found.Version != "" {
		p.Facts["engine_version"] = core.String(found.Version)
	}
	if req.Origin.Image != "" {
		p.Facts["image"] = core.String(pinned(req.Origin.Image, found.Command))
	}
	help, err := a.helpOf(ctx, req.Origin, found.Version)
	if err != nil {
		p.Notes = append(p.Notes, "flags are not checked: "+err.Error())
		return
	}
	for _, process := range req.Plan.Processes {
		for _, bad := range CheckFlags(help, a.d.serverFlags(process.Argv, req.Origin)) {
			p.Flags = append(p.Flags, core.BadFlag{Flag: bad.Flag, Text: bad.String()})
		}
	}
}

// pinned is an image with its digest: what was asked for and what it was.
func pinned(image, digest string) string {
	if i := strings.LastIndex(digest, "sha256:"); i >= 0 && !strings.Contains(image, "@") {
		return image + "@" + digest[i:]
	}
	return image
}

// sights keep what was found, since the plans of a study ask for the same engine
// and the same GPUs again and again. What is not there is looked for again: it may
// have been fetched meanwhile.
type sights struct {
	mu        sync.Mutex
	installed map[core.Origin]core.Installation
	gpus      []GPU
	asked     bool
}

func (s *sights) installation(ctx context.Context, a *Adapter, origin core.Origin) (core.Installation, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if found, ok := s.installed[origin]; ok {
		return found, nil
	}
	found, err := a.probe(ctx, origin)
	if err != nil {
		return found, err
	}
	if s.installed == nil {
		s.installed = map[core.Origin]core.Installation{}
	}
	s.installed[origin] = found
	return found, nil
}

func (s *sights) gpusOf(ctx context.Context, a *Adapter) []GPU {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.asked {
		// A driver that does not answer leaves the facts open; it is asked once.
		s.gpus, _ = a.GPUs(ctx)
		s.asked = true
	}
	return s.gpus
}

// interpreter is the Python that runs the server of an origin; "" where it cannot
// be told.
func (a *Adapter) interpreter(origin core.Origin) string {
	command, err := a.d.command(origin)
	if err != nil {
		return ""
	}
	exe, err := exec.LookPath(command[0])
	if err != nil {
		return ""
	}
	if python := a.d.python(origin, command); python != "" {
		return python
	}
	return shebang(exe)
}
