package manifest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/plugins/serving"
)

var (
	_ core.Engine   = (*Engine)(nil)
	_ core.Preparer = (*Engine)(nil)
)

// Engine is the engine of a manifest. Launch, Benchmark, Stop and Diagnose are
// those of every serving engine.
type Engine struct {
	*serving.Adapter
	m *Manifest
}

// New makes an engine of a manifest, which must not change any more.
func New(m *Manifest) *Engine {
	return &Engine{m: m, Adapter: serving.New(&serving.Dialect{
		Name: m.Name, Version: m.Version, Command: []string{m.Command[0].words[0]}, Install: m.Install,
		Health: m.Health, Timeout: m.Timeout, Idle: m.Idle, Signatures: m.Failures,
	})}
}

// Info implements core.Engine.
func (e *Engine) Info(context.Context) (core.EngineInfo, error) {
	info := core.EngineInfo{Name: e.m.Name, Version: e.m.Version, Simulated: e.m.Simulated}
	for _, k := range e.m.Knobs {
		info.Knobs = append(info.Knobs, core.KnobInfo{Name: k.Name, Flag: k.Spelling(), Type: k.Type(), Default: k.Default, Doc: k.Doc})
	}
	return info, nil
}

// versionLimit is how long a version command may take: some import all of CUDA.
const versionLimit = time.Minute

// Probe implements core.Engine: whether the executable is here, and its version
// where the manifest says how to ask.
func (e *Engine) Probe(ctx context.Context, o core.Origin) (core.Installation, error) {
	start, err := e.executable(o)
	if err != nil {
		return core.Installation{}, fmt.Errorf("probe %s: %w", e.m.Name, err)
	}
	exe, err := exec.LookPath(start[0])
	if err != nil {
		how := ""
		if e.m.Install != "" {
			how = ": " + e.m.Install
		}
		return core.Installation{}, fmt.Errorf("probe %s: %w: there is no %s here%s", e.m.Name, core.ErrNotFound, start[0], how)
	}
	found := core.Installation{Command: exe, Detail: "version unknown: the manifest has no version_command"}
	if len(e.m.VersionCommand) > 0 {
		if found.Version, err = e.version(ctx, start); err != nil {
			return core.Installation{}, fmt.Errorf("probe %s: %w", e.m.Name, err)
		}
		found.Detail = "version by " + strings.Join(e.m.VersionCommand, " ")
	}
	if o.Version != "" && found.Version != "" && strings.TrimPrefix(o.Version, "v") != found.Version {
		return core.Installation{}, fmt.Errorf("probe %s: %w: version %s is installed (%s), the study wants %s", e.m.Name, core.ErrConflict, found.Version, exe, o.Version)
	}
	return found, nil
}

// version asks the installation that the origin names where the version command
// is the server's own executable.
func (e *Engine) version(ctx context.Context, start []string) (string, error) {
	command := e.m.VersionCommand
	if command[0] == e.m.Command[0].words[0] {
		command = append(append([]string(nil), start...), command[1:]...)
	}
	ctx, cancel := context.WithTimeout(ctx, versionLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.WaitDelay = 2 * time.Second
	var out limited
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	// Some programs print their version and fail all the same.
	if m := e.m.VersionPattern.FindStringSubmatch(out.String()); m != nil && m[1] != "" && ctx.Err() == nil {
		return m[1], nil
	}
	if err == nil {
		err = fmt.Errorf("%w: its output does not match %s", core.ErrInvalid, e.m.VersionPattern)
	}
	return "", fmt.Errorf("version by %s: %w", strings.Join(command, " "), err)
}

// limited keeps the beginning of what is written.
type limited struct{ bytes.Buffer }

func (b *limited) Write(p []byte) (int, error) {
	if room := 64<<10 - b.Len(); room > 0 {
		b.Buffer.Write(p[:min(len(p), room)])
	}
	return len(p), nil
}

// Prepare implements core.Preparer: whether the engine is here. A manifest does
// not say where checkpoints lie, so they are not looked for.
func (e *Engine) Prepare(ctx context.Context, req core.PrepareRequest) (core.Preparation, error) {
	need := core.Need{Kind: "engine", Name: e.m.Name}
	p := core.Preparation{Facts: map[string]core.Value{}, Notes: []string{e.m.Name + ": an engine of a manifest does not look for checkpoints and flags before its launch"}}
	found, err := e.Probe(ctx, req.Origin)
	switch {
	case ctx.Err() != nil:
		return core.Preparation{}, ctx.Err()
	case errors.Is(err, core.ErrNotFound), errors.Is(err, core.ErrConflict):
		need.Problem = err.Error()
	case err != nil:
		// The executable is here; only its version is not known.
		need.Found = "version unknown"
		p.Notes = append(p.Notes, err.Error())
	default:
		need.Found = strings.TrimSpace(found.Version + " " + found.Command)
		if found.Version != "" {
			p.Facts["engine_version"] = core.String(found.Version)
		}
	}
	p.Needs = []core.Need{need}
	return p, nil
}
