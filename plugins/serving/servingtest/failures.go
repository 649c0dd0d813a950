package servingtest

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/sweepbook/sweepbook/core"
)

// Rows is how many rows the table of failure signatures has.
const Rows = 71

// Failures checks the fragments in some folders. A file is named
// "NN-what.class.log", where NN is its row in the table of failure signatures and
// class is what the engine must make of it; before ".log" may stand "running" (the
// server still runs and loads), "measure" (it has ended at work) or "measuring"
// (it still runs at work). It returns the rows that were met.
func Failures(t *testing.T, engine core.Engine, dirs ...string) map[int]bool {
	rows := map[int]bool{}
	for _, dir := range dirs {
		files, err := filepath.Glob(filepath.Join(dir, "*.log"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: no fragments (%v)", dir, err)
		}
		for _, path := range files {
			name := strings.TrimSuffix(filepath.Base(path), ".log")
			t.Run(name, func(t *testing.T) {
				parts := strings.Split(name, ".")
				row, err := strconv.Atoi(name[:2])
				if err != nil || len(parts) < 2 {
					t.Fatalf("%s: not named after its row and class", path)
				}
				rows[row] = true
				text, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				req := core.DiagnoseRequest{LogTail: string(text), ExitCode: 1, Phase: "load"}
				if len(parts) > 2 {
					switch parts[2] {
					case "running":
						req.ExitCode = -1
					case "measure":
						req.Phase = "measure"
					case "measuring":
						req.ExitCode, req.Phase = -1, "measure"
					default:
						t.Fatalf("%s: unknown state %q", path, parts[2])
					}
				}
				d, err := engine.Diagnose(t.Context(), req)
				if err != nil {
					t.Fatal(err)
				}
				if string(d.Class) != parts[1] {
					t.Errorf("class %s by %q, want %s", d.Class, d.Line, parts[1])
				}
				// What stays unknown is told by a line that wraps it, if there is one.
				wrapped := d.Class == core.UnknownFailure && row > 0 && !strings.Contains(name, "-ended.")
				if d.Line == "" || wrapped && strings.HasPrefix(d.Line, "exit status") {
					t.Errorf("no line of the log is given: %q", d.Line)
				}
			})
		}
	}
	return rows
}
