package serving

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sweepbook/sweepbook/core"
)

// container is a docker or podman command around a server.
type container struct {
	program string
	name    string
}

// containerOf recognises a command that this package rendered.
func containerOf(argv []string) (container, bool) {
	if len(argv) < 2 || argv[1] != "run" {
		return container{}, false
	}
	for _, arg := range argv {
		if name, ok := strings.CutPrefix(arg, "--name="); ok && strings.HasPrefix(name, containerPrefix) {
			return container{argv[0], name}, true
		}
	}
	return container{}, false
}

const containerPrefix = "sweepbook-"

// wrap renders the container around the server's command. The server listens on
// the host's network at the allotted address, sees only the allotted GPUs, and
// reads the checkpoints that are on the machine already. Nothing is pulled: a
// pull belongs before any GPU is held.
//
// Secrets are passed by name, so that their values stay out of the command line.
func (d *Dialect) wrap(req core.PlanRequest, env map[string]string, cacheDir string, command []string) []string {
	program := req.Origin.Cmd
	if program == "" {
		program = "docker"
	}
	// The launch's folder has a name of its own; a plan that is only shown has none.
	name := fmt.Sprintf("%s%d", containerPrefix, req.Port)
	if req.WorkDir != "" {
		name = containerPrefix + filepath.Base(req.WorkDir)
	}
	argv := append(strings.Fields(program), "run", "--rm", "--init", "--pull=never", "--name="+name)
	argv = append(argv, gpuFlags(filepath.Base(argv[0]), req.GPUs)...)
	argv = append(argv, "--network", "host", "--ipc", "host", "--ulimit", "memlock=-1", "--ulimit", "stack=67108864")
	for _, n := range slices.Sorted(maps.Keys(env)) {
		argv = append(argv, "-e", n+"="+env[n])
	}
	for _, n := range secretNames {
		argv = append(argv, "-e", n)
	}
	if _, chosen := env["HF_HOME"]; cacheDir != "" && !chosen {
		argv = append(argv, "-e", "HF_HOME="+cacheInside, "-v", cacheDir+":"+cacheInside)
	}
	if req.WorkDir != "" {
		argv = append(argv, "-v", req.WorkDir+":"+req.WorkDir+":ro")
	}
	if folder := cmp.Or(req.ModelPath, checkpointOf(req.Config)); filepath.IsAbs(folder) {
		argv = append(argv, "-v", folder+":"+folder+":ro")
	}
	argv = append(argv, "--entrypoint", command[0], req.Origin.Image)
	return append(argv, command[1:]...)
}

// cacheInside is where a container finds the checkpoints, whoever its user is.
const cacheInside = "/huggingface"

// secretNames are passed on to a container where the launch has them.
var secretNames = []string{"HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"}

// gpuFlags gives a container its GPUs. docker reads the value as CSV, hence the
// quotes around a list; podman knows GPUs as CDI devices.
func gpuFlags(program string, gpus []string) []string {
	if program == "podman" {
		if len(gpus) == 0 {
			return []string{"--device", "nvidia.com/gpu=all"}
		}
		var flags []string
		for _, gpu := range gpus {
			flags = append(flags, "--device", "nvidia.com/gpu="+gpu)
		}
		return flags
	}
	if len(gpus) == 0 {
		return []string{"--gpus", "all"}
	}
	return []string{"--gpus", `"device=` + strings.Join(gpus, ",") + `"`}
}
