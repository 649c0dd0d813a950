//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/sweepbook/sweepbook/plugins/gpu/gputest"
	"github.com/sweepbook/sweepbook/plugins/serving/servingtest"
)

// The test binary is sweepbook itself, under every name by which it calls itself:
// the command in the scripts, the shim, the plugin process and the simulator; and the
// engines and the nvidia-smi of a machine that has none.
func TestMain(m *testing.M) {
	// Plugins in folders that others can write are refused, whatever mask a machine has.
	syscall.Umask(0o022)
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "shim", "engine-serve", "sim-server":
			os.Exit(start())
		case "hostile-plugin":
			hostilePlugin()
			os.Exit(0)
		case "fake-nvidia-smi":
			os.Exit(gputest.Main(os.Args[2:]))
		}
		// Engines without a GPU: "sweepbook fake-vllm" is what a study launches.
		if code, ok := servingtest.Main(os.Args[1:], servingtest.Fakes()...); ok {
			os.Exit(code)
		}
	}
	testscript.Main(m, map[string]func(){
		"sweepbook": func() { os.Exit(start()) },
		"faketool":  func() { os.Exit(fakeTool()) },
		"holder":    func() { os.Exit(holderMain()) },
		"keygate":   func() { os.Exit(keygateMain()) },
		"rival":     func() { os.Exit(rivalMain()) }, // for BenchmarkHistory
	})
}

func TestScripts(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	// What builds a plugin from its scaffold needs what built this test, at its place.
	caches, err := exec.Command("go", "env", "GOCACHE", "GOMODCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	// A signal that is ignored here, as under nohup, would be ignored by whatever a script
	// starts; one that is heard is as usual there.
	if signal.Ignored(syscall.SIGHUP) {
		signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("EXAMPLES", filepath.Join(root, "examples"))
			env.Setenv("SHARED", filepath.Join(filepath.Dir(root), "shared"))
			env.Setenv("CHECKOUT", root)
			places := strings.Fields(string(caches))
			if len(places) != 2 {
				return fmt.Errorf("go env: want two folders, got %q", caches)
			}
			env.Setenv("GOCACHE", places[0])
			env.Setenv("GOMODCACHE", places[1])
			env.Setenv("HOME", env.WorkDir)
			env.Setenv("XDG_DATA_HOME", filepath.Join(env.WorkDir, "data"))
			// Each script is a machine with locks of its own, but they share one set of ports.
			ports := strconv.Itoa(testPorts())
			env.Setenv("PORTS", ports)
			local := filepath.Join(env.WorkDir, "local.yaml")
			if _, err := os.Stat(local); err == nil {
				return nil // the script's own
			}
			return os.WriteFile(local, []byte("ports: "+ports+"\n"), 0o600)
		},
		Condition: func(cond string) (bool, error) {
			switch cond {
			case "shared":
				_, err := os.Stat(filepath.Join(filepath.Dir(root), "shared", "seeds"))
				return err == nil, nil
			case "race":
				return underRace, nil
			}
			return false, fmt.Errorf("unknown condition %q", cond)
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"ask":       ask,
			"json":      jsonCommand,
			"noprocess": noProcess,
			"signal":    signalProcess,
			"waitfor":   waitFor,
			"exitcode":  exitCode,
			"serving":   awaitServer,
			"awaitfile": awaitFile,
			"freeport":  freePort,

			"awaitrunning": awaitRunning,
		},
	})
}

var portBlocks atomic.Int64

// testPorts is the first port of a block for one test of this process, which tests of
// other processes are unlikely to use.
func testPorts() int {
	const first, block, blocks = 10000, 100, 109 // below those that runs take by themselves
	return first + block*((7*os.Getpid()+int(portBlocks.Add(1)))%blocks)
}

// jsonCommand checks one value of the JSON on stdout: json rows.0.total_tps 3366.71
func jsonCommand(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: json PATH VALUE")
	}
	var doc any
	if err := json.Unmarshal([]byte(ts.ReadFile("stdout")), &doc); err != nil {
		ts.Fatalf("stdout is no JSON: %v", err)
	}
	for _, key := range strings.Split(args[0], ".") {
		switch d := doc.(type) {
		case map[string]any:
			doc = d[key]
		case []any:
			if key == "len" {
				doc = float64(len(d))
				continue
			}
			i, err := strconv.Atoi(key)
			if err != nil || i >= len(d) {
				ts.Fatalf("%s: no element %s of %d", args[0], key, len(d))
			}
			doc = d[i]
		default:
			doc = nil
		}
	}
	got := fmt.Sprint(doc)
	if f, ok := doc.(float64); ok {
		got = strconv.FormatFloat(f, 'f', -1, 64)
		if want, err := strconv.ParseFloat(args[1], 64); err == nil && math.Abs(f-want) <= 1e-9*math.Abs(want) {
			got = args[1]
		}
	}
	if (got == args[1]) == neg {
		ts.Fatalf("%s is %s, want %s", args[0], got, args[1])
	}
}

// ask puts a question to q.db and checks each pattern against the rows as CSV:
// ask 'max total_tps' '^2149\.3,'
func ask(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: ask QUESTION PATTERN ...")
	}
	ts.Check(ts.Exec("sweepbook", "--db", "q.db", "-o", "csv", "query", args[0]))
	rows := ts.ReadFile("stdout")
	for _, pattern := range args[1:] {
		re, err := regexp.Compile("(?m)" + pattern)
		ts.Check(err)
		if re.MatchString(rows) == neg {
			ts.Fatalf("%s\n%s\ndoes not answer %s", args[0], rows, pattern)
		}
	}
}
