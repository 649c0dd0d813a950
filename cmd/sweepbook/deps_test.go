package main_test

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// rules is the drawing of the house: what each package may import of ours and
// of others. Arrows point down only. A package that is not listed is a fault, so
// that a new one must state its rule here.
var rules = map[string][]string{
	"core":                nil, // the standard library only
	"core/stats":          nil,
	"core/load":           {"core", "core/stats", "github.com/pkoukk/tiktoken-go"},
	"core/ingest":         {"core"},
	"core/audit":          {"core"},
	"core/bundle":         {"core"},
	"core/progress":       {"core"},
	"core/tool":           {"core", "core/ingest", "core/load"},
	"core/study":          {"core", "core/ingest", "core/load", "core/stats", "core/tool", "github.com/goccy/go-yaml"},
	"migrations":          nil,
	"store":               {"core", "migrations", "modernc.org/sqlite", "golang.org/x/sys"},
	"query":               {"core", "core/stats", "github.com/expr-lang/expr"},
	"query/chart":         {"core", "core/stats", "query", "github.com/wcharczuk/go-chart"},
	"query/report":        {"core", "core/stats", "query", "query/chart"},
	"plugins":             {"core", "plugins/internal/pb", "github.com/hashicorp/go-plugin", "github.com/hashicorp/go-hclog", "google.golang.org/grpc", "google.golang.org/protobuf", "golang.org/x/sys"},
	"plugins/internal/pb": {"google.golang.org/grpc", "google.golang.org/protobuf"},
	"plugins/proto":       nil,
	"plugins/enginetest":  {"core", "plugins", "google.golang.org/grpc", "github.com/hashicorp/go-plugin", "github.com/hashicorp/go-hclog", "github.com/google/go-cmp"},
	"plugins/supervise":   {"core", "golang.org/x/sys"},
	"plugins/gpu":         {"core", "core/load", "golang.org/x/sys"},
	"plugins/gpu/gputest": nil, // a fake nvidia-smi for tests
	"plugins/serving":     {"core", "core/load"},
	"plugins/vllm":        {"core", "plugins/serving"},
	"plugins/sglang":      {"core", "plugins/serving"},
	"plugins/trtllm":      {"core", "plugins/serving"},
	"plugins/manifest":    {"core", "plugins/serving", "github.com/goccy/go-yaml"},
	"plugins/scaffold":    {"core", "plugins/proto"},
	"plugins/sim":         {"core", "core/load", "plugins/serving"},
	// Fake servers for the adapters' tests.
	"plugins/serving/servingtest": {"core", "plugins/serving", "github.com/google/go-cmp"},
	"examples":                    nil,
	"cmd/sweepbook": {"core", "core/audit", "core/bundle", "core/ingest", "core/load", "core/progress", "core/stats", "core/study", "core/tool", "examples",
		"plugins", "plugins/gpu", "plugins/manifest", "plugins/scaffold", "plugins/serving", "plugins/sim", "plugins/sglang", "plugins/supervise", "plugins/trtllm", "plugins/vllm",
		"query", "query/chart", "query/report", "store", "github.com/goccy/go-yaml", "github.com/parquet-go/parquet-go", "github.com/urfave/cli/v3", "golang.org/x/term"},
}

const module = "github.com/sweepbook/sweepbook/"

// violations lists every import that the rules do not allow.
func violations(imports map[string][]string, rules map[string][]string) []string {
	var out []string
	for pkg, list := range imports {
		allowed, known := rules[pkg]
		if !known {
			out = append(out, fmt.Sprintf("package %s has no import rule", pkg))
			continue
		}
		for _, path := range list {
			ours, isOurs := strings.CutPrefix(path, module)
			if !isOurs && !strings.Contains(strings.SplitN(path, "/", 2)[0], ".") {
				continue // standard library
			}
			ok := slices.ContainsFunc(allowed, func(a string) bool {
				if isOurs {
					return a == ours
				}
				return path == a || strings.HasPrefix(path, a+"/")
			})
			if !ok {
				out = append(out, fmt.Sprintf("%s imports %s", pkg, path))
			}
		}
	}
	slices.Sort(out)
	return out
}

func TestImportRules(t *testing.T) {
	cmd := exec.Command("go", "list", "-json=ImportPath,Imports", "./...")
	cmd.Dir = "../.."
	data, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	imports := map[string][]string{}
	dec := json.NewDecoder(strings.NewReader(string(data)))
	for dec.More() {
		var pkg struct {
			ImportPath string
			Imports    []string
		}
		if err := dec.Decode(&pkg); err != nil {
			t.Fatal(err)
		}
		imports[strings.TrimPrefix(pkg.ImportPath, module)] = pkg.Imports
	}
	if len(imports) < 10 {
		t.Fatalf("go list found %d packages", len(imports))
	}
	for _, v := range violations(imports, rules) {
		t.Error(v)
	}
}

func TestImportRulesFailWhenBroken(t *testing.T) {
	for name, imports := range map[string]map[string][]string{
		"core imports the store":        {"core": {module + "store"}},
		"store imports query":           {"store": {module + "query"}},
		"core imports another's module": {"core": {"github.com/expr-lang/expr"}},
		"a package without a rule":      {"util": nil},
	} {
		if len(violations(imports, rules)) != 1 {
			t.Errorf("%s: not noticed", name)
		}
	}
	fine := map[string][]string{"store": {"context", "database/sql", module + "core", "modernc.org/sqlite/lib"}}
	if got := violations(fine, rules); len(got) != 0 {
		t.Errorf("allowed imports reported: %v", got)
	}
}
