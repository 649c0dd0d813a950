//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// The test binary is sweepbook itself, under every name by which it calls itself:
// the command in the scripts, the shim, the plugin process and the simulator.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "shim", "engine-serve", "sim-server":
			os.Exit(start())
		}
	}
	testscript.Main(m, map[string]func(){
		"sweepbook": func() { os.Exit(start()) },
		"rival":     func() { os.Exit(rivalMain()) }, // for BenchmarkHistory
	})
}

func TestScripts(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("EXAMPLES", filepath.Join(root, "examples"))
			env.Setenv("SHARED", filepath.Join(filepath.Dir(root), "shared"))
			env.Setenv("HOME", env.WorkDir)
			env.Setenv("XDG_DATA_HOME", filepath.Join(env.WorkDir, "data"))
			return nil
		},
		Condition: func(cond string) (bool, error) {
			if cond == "shared" {
				_, err := os.Stat(filepath.Join(filepath.Dir(root), "shared", "seeds"))
				return err == nil, nil
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
		},
	})
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
