package serving_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/plugins/enginetest"
	"github.com/sweepbook/sweepbook/plugins/serving"
)

// demo is an engine of these tests.
func demo() *serving.Adapter {
	return serving.New(&serving.Dialect{
		Name: "vllm", Version: "1.0", Package: "demo", Install: "install it with: pip install demo", Images: "demo/images", Command: []string{"demo", "serve"},
		Entrypoint: "demo", ImageCommand: []string{"serve"}, Join: true, NoForm: true, Help: [][]string{{"--help=all"}, {"--help"}},
	})
}

// tools makes the only folder of the path, with shell scripts as programs.
func tools(t *testing.T, scripts map[string]string) string {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the programs of this test are shell scripts")
	}
	dir := t.TempDir()
	for name, script := range scripts {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir)
	return dir
}

const smi = `echo "0, GPU-1a, NVIDIA H100 80GB HBM3, 580.82.07, 512, 81559, 700.00"; echo "1, GPU-2b, NVIDIA H100 80GB HBM3, 580.82.07, [N/A], 81559, ERR!"` + "\n"

func TestProbe(t *testing.T) {
	dir := tools(t, map[string]string{
		"python3":    `case "$2" in *'version("demo")'*) echo "some banner"; echo "sweepbook-version:1.2.3";; esac` + "\n",
		"nvidia-smi": smi,
	})
	script := "#!" + filepath.Join(dir, "python3") + "\nprint('a server')\n"
	if err := os.WriteFile(filepath.Join(dir, "demo"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	want := core.Installation{Version: "1.2.3", Command: filepath.Join(dir, "demo"), Detail: filepath.Join(dir, "python3") + "; 2 x NVIDIA H100 80GB HBM3, driver 580.82.07"}
	got, err := demo().Probe(t.Context(), core.Origin{})
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Error(err, diff)
	}
	if _, err := demo().Probe(t.Context(), core.Origin{Version: "1.2.3+cu130"}); !errors.Is(err, core.ErrConflict) {
		t.Errorf("another build: %v", err)
	}
	if _, err := demo().Probe(t.Context(), core.Origin{Version: "1.2.4"}); !errors.Is(err, core.ErrConflict) || !strings.Contains(err.Error(), "1.2.3 is installed") || !strings.Contains(err.Error(), "wants 1.2.4") {
		t.Errorf("another version: %v", err)
	}
	gpus, err := demo().GPUs(t.Context())
	wantGPUs := []serving.GPU{
		{Index: 0, UUID: "GPU-1a", Name: "NVIDIA H100 80GB HBM3", Driver: "580.82.07", UsedMiB: 512, TotalMiB: 81559, PowerW: 700},
		{Index: 1, UUID: "GPU-2b", Name: "NVIDIA H100 80GB HBM3", Driver: "580.82.07", TotalMiB: 81559},
	}
	if diff := cmp.Diff(wantGPUs, gpus); err != nil || diff != "" {
		t.Error(err, diff)
	}
}

// A launch tells the GPUs that it was given, and no others.
func TestFactsOfTheMachine(t *testing.T) {
	tools(t, map[string]string{"nvidia-smi": smi})
	for _, tc := range []struct {
		gpus []string
		want map[string]core.Value
	}{
		{[]string{"GPU-1a"}, map[string]core.Value{"gpu": core.String("NVIDIA H100 80GB HBM3"), "driver": core.String("580.82.07"), "power_limit_w": core.Number(700)}},
		{[]string{"1"}, map[string]core.Value{"gpu": core.String("NVIDIA H100 80GB HBM3"), "driver": core.String("580.82.07")}},
		{[]string{"0", "1"}, map[string]core.Value{}}, // their limits differ
		{[]string{"GPU-9"}, map[string]core.Value{}},
	} {
		server := enginetest.NewServer(t, "m")
		ready, err := demo().Launch(t.Context(), core.LaunchRequest{Plan: core.Plan{
			Processes: []core.Process{{Argv: []string{"x"}, GPUs: tc.gpus}}, Ready: core.ReadyRule{BaseURL: server.URL, Model: "m"}}, PIDs: []int{os.Getpid()}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tc.want, ready.Facts); diff != "" {
			t.Error(tc.gpus, diff)
		}
		for name, v := range ready.Facts {
			if err := (&core.Trial{}).SetField(name, v); err != nil {
				t.Error(err)
			}
		}
	}
}

// Without the engine: what is missing and how to get it.
func TestProbeFindsNothing(t *testing.T) {
	dir := tools(t, map[string]string{"python3": "echo 'importlib.metadata.PackageNotFoundError: No package metadata was found for demo' >&2; exit 1\n", "docker": "exit 1\n"})
	if err := os.WriteFile(filepath.Join(dir, "other-demo"), []byte("#!"+filepath.Join(dir, "python3")+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name   string
		origin core.Origin
		says   []string
	}{
		{"no executable", core.Origin{}, []string{"there is no demo here", "pip install demo", "venv:", "demo/images:TAG"}},
		{"no environment", core.Origin{Venv: "/nowhere"}, []string{"there is no /nowhere/bin/demo", "pip install demo"}},
		{"no package", core.Origin{Cmd: filepath.Join(dir, "other-demo")}, []string{"has no package demo", "pip install demo"}},
		{"no image", core.Origin{Image: "demo:1"}, []string{"image demo:1", "docker pull demo:1"}},
	} {
		if _, err := demo().Probe(t.Context(), tc.origin); !errors.Is(err, core.ErrNotFound) {
			t.Errorf("%s: %v", tc.name, err)
		} else {
			for _, says := range tc.says {
				if !strings.Contains(err.Error(), says) {
					t.Errorf("%s: %q does not say %q", tc.name, err, says)
				}
			}
		}
	}
}

func TestProbeOfAnImage(t *testing.T) {
	tools(t, map[string]string{"docker": `case "$1 $2" in
"image inspect") echo "demo@sha256:abc";;
"run --rm") case "$*" in *"--pull=never --network none --entrypoint python3 demo:1 -c "*) echo "sweepbook-version:2.0";; esac;;
esac
`})
	got, err := demo().Probe(t.Context(), core.Origin{Image: "demo:1"})
	if err != nil || got.Version != "2.0" || got.Command != "demo@sha256:abc" || !strings.Contains(got.Detail, "no GPU can be seen") {
		t.Errorf("%+v, %v", got, err)
	}
}

// A driver that hangs, and leaves a child with its output open, cannot hang us.
func TestHungTool(t *testing.T) {
	tools(t, map[string]string{"nvidia-smi": "/bin/sleep 60 &\n/bin/sleep 60\n"})
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	began := time.Now()
	if _, err := demo().GPUs(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v", err)
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("took %v", took)
	}
}

// Printing its help takes an engine long, so it is asked once for each version; an
// older engine that does not know --help=all is asked again in its way.
func TestHelpIsAskedOnce(t *testing.T) {
	dir := tools(t, map[string]string{"demo": `echo "$*" >> "$LOG"
case "$2" in --help=all) exit 2;; esac
printf 'usage: demo serve [-h]\n\noptions:\n  -h, --help            show\n  --a A  one\n  --b B, --c C\n  --d, --no-d\n  -q Q, --quant Q       see --zz\n'
`})
	asked := filepath.Join(dir, "asked")
	t.Setenv("LOG", asked)
	engine := demo()
	plan := core.Plan{Processes: []core.Process{{Argv: []string{"demo", "serve", "a/b", "--no-d", "--quant=8", "--zz"}}}}
	for range 2 {
		found, err := engine.Prepare(t.Context(), core.PrepareRequest{Plan: plan})
		if err != nil || len(found.Flags) != 1 || found.Flags[0].Flag != "--zz" {
			t.Errorf("%+v, %v", found, err)
		}
	}
	lines, err := os.ReadFile(asked)
	if diff := cmp.Diff("serve --help=all\nserve --help\n", string(lines)); err != nil || diff != "" {
		t.Error(err, diff)
	}
}

func TestCheckFlags(t *testing.T) {
	const help = `usage: vllm serve [model_tag] [options]
                  [--max-num-seqs MAX] [--enforce-eager | --no-enforce-eager]

options:
  -h, --help            show this
  --compilation-config COMPILATION_CONFIG, -O COMPILATION_CONFIG
                        JSON, instead of --removed-flag
  -tp TENSOR_PARALLEL_SIZE, --tensor-parallel-size TENSOR_PARALLEL_SIZE
                        GPUs
  --enable-prefix-caching, --no-enable-prefix-caching
  --host HOST           address
  --port PORT           --made-up is not defined here
`
	for _, tc := range []struct{ arg, says, near string }{
		{"--max-num-seqs=8", "", ""}, {"--no-enforce-eager", "", ""}, {"-tp", "", ""}, {"-1", "", ""}, {"value", "", ""}, {"--compilation-config.mode=3", "", ""},
		{"--max-num-seq=8", "short for", "--max-num-seqs"}, {"--max_num_seqs", "spells it", "--max-num-seqs"}, {"--enforce-eagre", "no such flag", "--enforce-eager"},
		{"--removed-flag", "no such flag", ""}, {"--made-up", "no such flag", ""}, {"--no-host", "no such flag", ""}, {"--tensor-parallel", "short for", "--tensor-parallel-size"},
	} {
		got := serving.CheckFlags(help, []string{"a/b", tc.arg})
		if (len(got) == 0) != (tc.says == "") {
			t.Errorf("%s: %v", tc.arg, got)
			continue
		}
		if tc.says != "" && (!strings.Contains(got[0].Text, tc.says) || tc.near != "" && !slices.Contains(got[0].Near, tc.near)) {
			t.Errorf("%s: %s", tc.arg, got[0])
		}
	}
	if got := serving.CheckFlags("Segmentation fault", []string{"--x"}); got != nil {
		t.Errorf("a text that is no help gives no verdict: %v", got)
	}
	click := "Usage: trtllm-serve [OPTIONS] MODEL\n\nOptions:\n  --max_batch_size INTEGER  size\n  --tensor_parallel_size, --tp_size INTEGER\n                            GPUs\n  --enable_chunked_prefill  pieces\n  --host TEXT\n  --help                    Show this\n"
	if got := serving.CheckFlags(click, []string{"--tp_size=2", "--enable_chunked_prefill", "--max-batch-size=8"}); len(got) != 1 || got[0].Flag != "--max-batch-size" || got[0].Near[0] != "--max_batch_size" {
		t.Errorf("click: %v", got)
	}
}

// A container is asked to stop by its program; one that is gone is no error.
func TestStopOfAContainer(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the command line of a process is read from /proc")
	}
	for _, tc := range []struct{ name, docker, says string }{
		{"stops", `[ "$*" = "stop --time 7 sweepbook-0199" ] || { echo "asked: $*" >&2; exit 1; }`, ""},
		{"gone", "echo 'Error response from daemon: No such container: sweepbook-0199' >&2; exit 1", ""},
		{"daemon is away", "echo 'Cannot connect to the daemon' >&2; exit 1", "Cannot connect"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := tools(t, map[string]string{"docker": `case "$1" in run) /bin/sleep 20;; *) ` + tc.docker + ";; esac\n"})
			cmd := startDetached(t, filepath.Join(dir, "docker"), "run", "--rm", "--name=sweepbook-0199", "image")
			err := demo().Stop(t.Context(), core.StopRequest{PIDs: []int{cmd}, Grace: 7 * time.Second})
			if tc.says == "" && err != nil || tc.says != "" && (err == nil || !strings.Contains(err.Error(), tc.says)) {
				t.Errorf("error %v", err)
			}
		})
	}
}
