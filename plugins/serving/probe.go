package serving

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sweepbook/sweepbook/core"
)

// Time limits of what a probe runs. A hung driver or interpreter must not hang it.
const (
	smiLimit     = 10 * time.Second
	versionLimit = 30 * time.Second
	helpLimit    = 3 * time.Minute // an engine imports all of CUDA first
)

// Probe implements core.Engine: which executable and interpreter, which version,
// which GPUs and driver. An engine that is not there is core.ErrNotFound with what
// is missing and how to get it.
func (a *Adapter) Probe(ctx context.Context, origin core.Origin) (core.Installation, error) {
	found, err := a.probe(ctx, origin)
	if err != nil {
		return core.Installation{}, fmt.Errorf("probe %s: %w", a.d.Name, err)
	}
	return found, nil
}

func (a *Adapter) probe(ctx context.Context, origin core.Origin) (core.Installation, error) {
	command, err := a.d.command(origin)
	if err != nil {
		return core.Installation{}, err
	}
	if origin.Image != "" {
		return a.probeImage(ctx, origin)
	}
	exe, err := exec.LookPath(command[0])
	if err != nil {
		return core.Installation{}, fmt.Errorf("%w: there is no %s here: %s", core.ErrNotFound, command[0], a.howTo())
	}
	python := a.d.python(origin, command)
	if python == "" {
		python = shebang(exe)
	}
	if python == "" {
		// A program of another kind: it is there, and that is all that can be told.
		return core.Installation{Command: exe, Detail: "version unknown; " + a.gpus(ctx)}, nil
	}
	version, err := a.versionBy(ctx, python)
	if err != nil {
		return core.Installation{}, err
	}
	if origin.Version != "" && !sameVersion(origin.Version, version) {
		return core.Installation{}, fmt.Errorf("%w: version %s is installed (%s), the study wants %s: %s", core.ErrConflict, version, python, origin.Version, a.howTo())
	}
	return core.Installation{Version: version, Command: exe, Detail: python + "; " + a.gpus(ctx)}, nil
}

func (a *Adapter) howTo() string {
	return fmt.Sprintf("%s; or give this engine a venv:, a cmd: or an image: (%s:TAG)", a.d.Install, a.d.Images)
}

// versionBy asks an interpreter for the version of the engine's package. Nothing
// of the engine is imported, so that it takes no second and no GPU.
func (a *Adapter) versionBy(ctx context.Context, python string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, versionLimit)
	defer cancel()
	out, err := a.tool(ctx, python, "-c", a.versionScript())
	return a.readVersion(out, python, err)
}

func (a *Adapter) versionScript() string {
	return fmt.Sprintf("from importlib.metadata import version; print(%q + version(%q))", versionMark, a.d.Package)
}

// versionMark tells the version from what an interpreter's start-up prints.
const versionMark = "sweepbook-version:"

func (a *Adapter) readVersion(out, where string, err error) (string, error) {
	for line := range strings.SplitSeq(out, "\n") {
		if v, ok := strings.CutPrefix(strings.TrimSpace(line), versionMark); ok && v != "" {
			return v, nil
		}
	}
	switch {
	case strings.Contains(out, "PackageNotFoundError"):
		return "", fmt.Errorf("%w: %s has no package %s: %s", errNoPackage, where, a.d.Package, a.howTo())
	case errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("%w: there is no interpreter %s: %s", core.ErrNotFound, where, a.howTo())
	case err != nil:
		return "", fmt.Errorf("version by %s: %w", where, err)
	}
	return "", fmt.Errorf("version by %s: %w: it printed none", where, core.ErrInvalid)
}

// errNoPackage is core.ErrNotFound of an interpreter that does not know the engine's
// package.
var errNoPackage = fmt.Errorf("%w", core.ErrNotFound)

// sameVersion: who asks for 0.24.0 may be given 0.24.0+cu130, not the other way.
func sameVersion(asked, installed string) bool {
	release, _, _ := strings.Cut(installed, "+")
	asked = strings.TrimPrefix(asked, "v")
	return asked == installed || asked == release
}

// shebang is the interpreter of a script; "" for any other file. An env shebang
// takes the name behind it.
func shebang(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }() // only read
	first, err := bufio.NewReader(io.LimitReader(f, 512)).ReadString('\n')
	rest, ok := strings.CutPrefix(first, "#!")
	if err != nil || !ok {
		return ""
	}
	words := strings.Fields(rest)
	if len(words) > 1 && strings.HasSuffix(words[0], "/env") {
		words = words[1:]
	}
	if len(words) == 0 || !strings.Contains(words[0], "python") {
		return ""
	}
	return words[0]
}

// gpus tells the GPUs and the driver in a few words.
func (a *Adapter) gpus(ctx context.Context) string {
	gpus, err := a.GPUs(ctx)
	switch {
	case err != nil:
		return "no GPU can be seen: " + err.Error()
	case len(gpus) == 0:
		return "no GPU"
	}
	return fmt.Sprintf("%d x %s, driver %s", len(gpus), gpus[0].Name, gpus[0].Driver)
}

// GPU is one GPU of this machine.
type GPU struct {
	Index    int
	UUID     string
	Name     string // product, "NVIDIA H100 80GB HBM3"
	Driver   string
	UsedMiB  float64
	TotalMiB float64
	PowerW   float64 // limit; 0 is unknown
}

// GPUs asks nvidia-smi, at most for ten seconds.
func (a *Adapter) GPUs(ctx context.Context) ([]GPU, error) {
	ctx, cancel := context.WithTimeout(ctx, smiLimit)
	defer cancel()
	out, err := a.tool(ctx, "nvidia-smi", "--query-gpu=index,uuid,name,driver_version,memory.used,memory.total,power.limit", "--format=csv,noheader,nounits")
	if errors.Is(err, exec.ErrNotFound) {
		return nil, fmt.Errorf("nvidia-smi: %w", core.ErrNotFound)
	}
	if err != nil {
		return nil, err
	}
	return parseGPUs(out), nil
}

// parseGPUs reads the CSV; what is no number there ("[N/A]", "ERR!") is unknown.
func parseGPUs(out string) []GPU {
	var gpus []GPU
	for line := range strings.SplitSeq(out, "\n") {
		col := strings.Split(line, ",")
		if len(col) != 7 {
			continue
		}
		for i := range col {
			col[i] = strings.TrimSpace(col[i])
		}
		index, err := strconv.Atoi(col[0])
		if err != nil {
			continue
		}
		gpus = append(gpus, GPU{Index: index, UUID: col[1], Name: col[2], Driver: col[3],
			UsedMiB: Amount(col[4]).Num, TotalMiB: Amount(col[5]).Num, PowerW: Amount(col[6]).Num})
	}
	return gpus
}

// machineFacts are the fields of a setup that the GPUs of a plan tell. They are
// empty where no GPU can be seen, and hold no name where the GPUs differ.
func (a *Adapter) machineFacts(ctx context.Context, plan core.Plan) map[string]core.Value {
	gpus, err := a.GPUs(ctx)
	if err != nil {
		return map[string]core.Value{}
	}
	return factsOf(gpus, plan)
}

func factsOf(gpus []GPU, plan core.Plan) map[string]core.Value {
	facts := map[string]core.Value{}
	var used []GPU
	for _, gpu := range gpus {
		for _, p := range plan.Processes {
			if len(p.GPUs) == 0 || slices.Contains(p.GPUs, gpu.UUID) || slices.Contains(p.GPUs, strconv.Itoa(gpu.Index)) {
				used = append(used, gpu)
				break
			}
		}
	}
	if len(used) == 0 {
		return facts
	}
	for _, gpu := range used[1:] {
		if gpu.Name != used[0].Name || gpu.PowerW != used[0].PowerW {
			return facts
		}
	}
	facts["gpu"], facts["driver"] = core.String(used[0].Name), core.String(used[0].Driver)
	if used[0].PowerW > 0 {
		facts["power_limit_w"] = core.Number(used[0].PowerW)
	}
	return facts
}
