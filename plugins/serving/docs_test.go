package serving_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sweepbook/sweepbook/core"
)

var update = flag.Bool("update", false, "rewrite the generated parts of docs/engines.md")

const docs = "../../docs/engines.md"

var engines = []string{"vllm", "sglang", "trtllm"}

// The tables of the documentation are made of the knob tables and of the fragments
// that the tests check, so that they cannot say something else.
func TestDocs(t *testing.T) {
	text, err := os.ReadFile(docs)
	if err != nil {
		t.Fatal(err)
	}
	want := string(text)
	for name, table := range map[string]string{"knobs": knobTable(), "failures": failureTable(t)} {
		begin, end := "<!-- "+name+": made by go test ./plugins/serving -run Docs -update -->\n", "<!-- end of "+name+" -->\n"
		i, j := strings.Index(want, begin), strings.Index(want, end)
		if i < 0 || j < i {
			t.Fatalf("%s has no place for %s", docs, name)
		}
		want = want[:i+len(begin)] + table + want[j:]
	}
	if *update {
		if err := os.WriteFile(docs, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, string(text)); diff != "" {
		t.Errorf("%s is behind; run the test with -update:\n%s", docs, diff)
	}
}

// knobTable shows each knob of two or more engines side by side, then the others.
func knobTable() string {
	flags := map[string]map[string]core.EngineFlag{}
	var order []string
	for _, engine := range engines {
		for _, f := range core.EngineFlags(engine) {
			if flags[f.Name] == nil {
				flags[f.Name] = map[string]core.EngineFlag{}
				order = append(order, f.Name)
			}
			flags[f.Name][engine] = f
		}
	}
	var b strings.Builder
	b.WriteString("| knob | vLLM | SGLang | TensorRT-LLM | takes | what |\n|---|---|---|---|---|---|\n")
	slices.SortStableFunc(order, func(x, y string) int { return len(flags[y]) - len(flags[x]) })
	for _, name := range order {
		row := flags[name]
		what, cells := "", ""
		var ranges, same []string
		for _, engine := range engines {
			f, ok := row[engine]
			if !ok {
				cells += " |"
				continue
			}
			if what == "" {
				what = f.Doc
			}
			if r := f.Range(); !slices.Contains(same, r) {
				same = append(same, r)
				ranges = append(ranges, r+" ("+engine+")")
			}
			cells += " `" + f.Spelling() + "`"
			if f.Off != "" {
				cells += " / `" + f.Off + "`"
			}
			if f.Until != "" {
				cells += " (until " + f.Until + ")"
			}
			if !f.Default.IsMissing() {
				cells += " = " + f.Default.String()
			}
			cells += " |"
		}
		for _, idea := range core.Ideas() {
			if idea.Name == name {
				what = idea.Doc
			}
		}
		if len(same) > 1 {
			same = ranges
		}
		fmt.Fprintf(&b, "| `%s` |%s %s | %s |\n", name, cells, strings.Join(same, "; "), what)
	}
	return b.String()
}

// failureTable lists the fragments by class.
func failureTable(t *testing.T) string {
	t.Helper()
	byClass := map[string]map[string]bool{}
	for dir, engine := range map[string]string{"testdata": "all", "../vllm/testdata": "vLLM", "../sglang/testdata": "SGLang", "../trtllm/testdata": "TensorRT-LLM"} {
		files, err := filepath.Glob(filepath.Join(dir, "failures", "*.log"))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			parts := strings.Split(strings.TrimSuffix(filepath.Base(f), ".log"), ".")
			if byClass[parts[1]] == nil {
				byClass[parts[1]] = map[string]bool{}
			}
			what := strings.ReplaceAll(parts[0][3:], "-", " ")
			if row := strings.TrimLeft(parts[0][:2], "0"); row != "" {
				what = row + " " + what
			}
			byClass[parts[1]][what+" ("+engine+")"] = true
		}
	}
	var b strings.Builder
	b.WriteString("| class | retried | checked fragments |\n|---|---|---|\n")
	for _, class := range core.FailureClasses() {
		found := slices.Sorted(maps.Keys(byClass[string(class)]))
		if len(found) == 0 {
			continue
		}
		retried := "no"
		if class.Infra() {
			retried = "yes"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", class, retried, strings.Join(found, ", "))
	}
	return b.String()
}
