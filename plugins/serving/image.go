package serving

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/sweepbook/sweepbook/core"
)

// probeImage looks at an image that is on this machine. It never pulls one: that
// belongs before any GPU is held, and by a person's decision.
func (a *Adapter) probeImage(ctx context.Context, origin core.Origin) (core.Installation, error) {
	program := containerProgram(origin)
	ctx, cancel := context.WithTimeout(ctx, 2*versionLimit)
	defer cancel()
	// An image that was built here has an id and no digest of a registry.
	const format = "{{if .RepoDigests}}{{index .RepoDigests 0}}{{else}}{{.Id}}{{end}}"
	digest, err := a.tool(ctx, program[0], append(program[1:], "image", "inspect", "--format", format, origin.Image)...)
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return core.Installation{}, fmt.Errorf("%w: there is no %s here, which runs the image %s", core.ErrNotFound, program[0], origin.Image)
	case err != nil:
		return core.Installation{}, fmt.Errorf("%w: image %s: %w; get it with: %s pull %s", errNoImage, origin.Image, err, strings.Join(program, " "), origin.Image)
	}
	out, err := a.inImage(ctx, origin, []string{"python3", "-c", a.versionScript()})
	version, err := a.readVersion(out, "image "+origin.Image, err)
	if err != nil {
		return core.Installation{}, err
	}
	return core.Installation{Version: version, Command: strings.TrimSpace(digest), Detail: strings.Join(program, " ") + "; " + a.gpus(ctx)}, nil
}

// errNoImage is core.ErrNotFound of an image that is not on this machine.
var errNoImage = fmt.Errorf("%w", core.ErrNotFound)

// inImage runs a short program in a container without network and GPU.
func (a *Adapter) inImage(ctx context.Context, origin core.Origin, command []string) (string, error) {
	program := containerProgram(origin)
	args := append(program[1:], "run", "--rm", "--pull=never", "--network", "none", "--entrypoint", command[0], origin.Image)
	return a.tool(ctx, program[0], append(args, command[1:]...)...)
}

func containerProgram(origin core.Origin) []string {
	if words := strings.Fields(origin.Cmd); len(words) > 0 {
		return words
	}
	return []string{"docker"}
}

// containerPID is the first process of a running container, as this machine
// counts; none where it cannot be told.
func (a *Adapter) containerPID(ctx context.Context, c container) []int {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	out, err := a.tool(ctx, c.program, "inspect", "--format", "{{.State.Pid}}", c.name)
	pid, bad := strconv.Atoi(strings.TrimSpace(out))
	if err != nil || bad != nil || pid <= 0 {
		return nil
	}
	return []int{pid}
}

// gone recognises the answer about a container that does not exist any more.
func gone(out string) bool {
	return strings.Contains(strings.ToLower(out), "no such container") || strings.Contains(out, "no container with")
}
