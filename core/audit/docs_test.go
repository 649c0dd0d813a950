package audit_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/core/audit"
)

// TestRuleTable: every rule is complete, ids are unique, and what a rule touches
// are fields that a query can name.
func TestRuleTable(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range audit.Rules() {
		if seen[r.ID] || r.Version < 1 || r.Severity < core.SeverityInfo || r.Severity > core.SeverityVoid {
			t.Errorf("rule %s, version %d, severity %s", r.ID, r.Version, r.Severity)
		}
		seen[r.ID] = true
		if r.Title == "" || strings.HasSuffix(r.Title, ".") || len(r.Doc) < 20 || !strings.HasSuffix(r.Doc, ".") {
			t.Errorf("%s: title %q, doc %q", r.ID, r.Title, r.Doc)
		}
		for _, m := range r.Metrics {
			name := strings.Replace(m, "…_", "mean_", 1)
			if _, ok := core.LookupField(name); !ok && m != "*" {
				t.Errorf("%s touches %s, which is no field", r.ID, m)
			}
		}
	}
	// C4 gave four false alarms of four and is left out for good.
	if seen["C4"] || len(seen) < 60 {
		t.Errorf("%d rules, C4 among them: %t", len(seen), seen["C4"])
	}
	ids := []string{}
	for _, r := range audit.Rules() {
		ids = append(ids, r.ID)
	}
	for _, pair := range [][2]string{{"A3", "A3x"}, {"A9", "A10"}, {"A14", "A14b"}, {"B3m", "B4"}, {"D10", "E1"}} {
		if slices.Index(ids, pair[0]) > slices.Index(ids, pair[1]) {
			t.Errorf("%s comes after %s", pair[0], pair[1])
		}
	}
}

// TestDocs holds the tables of docs/audit.md against the code.
func TestDocs(t *testing.T) {
	path := filepath.Join(repository(t), "docs", "audit.md")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	got := string(text)
	for name, table := range map[string]string{"rules": ruleTable(), "models": modelTable(), "gpus": gpuTable()} {
		begin, end := "<!-- "+name+": written by go test ./core/audit -update -->\n", "<!-- end of "+name+" -->"
		before, rest, ok := strings.Cut(got, begin)
		_, after, ok2 := strings.Cut(rest, end)
		if !ok || !ok2 {
			t.Fatalf("docs/audit.md lacks the marks of %q", name)
		}
		got = before + begin + table + end + after
	}
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(string(text), got); diff != "" {
		t.Errorf("docs/audit.md is not what the code says (-docs +code):\n%s", diff)
	}
}

func ruleTable() string {
	var b strings.Builder
	b.WriteString("| rule | version | severity | what is wrong | touches | tested and why |\n| --- | --- | --- | --- | --- | --- |\n")
	for _, r := range audit.Rules() {
		touches := "nothing"
		if len(r.Metrics) > 0 {
			touches = "`" + strings.Join(r.Metrics, "` `") + "`"
		}
		fmt.Fprintf(&b, "| %s | %d | %s | %s | %s | %s |\n", r.ID, r.Version, r.Severity, r.Title, touches, r.Doc)
	}
	return b.String()
}

func modelTable() string {
	var b strings.Builder
	b.WriteString("| model | parameters (billion) | active (billion) | published as | layers × KV heads × head size | source |\n| --- | --- | --- | --- | --- | --- |\n")
	for _, m := range audit.DefaultReference().Models {
		active, kv := "all", "not used"
		if m.ActiveParams > 0 {
			active = fmt.Sprint(m.ActiveParams / 1e9)
		}
		if m.Layers > 0 {
			kv = fmt.Sprintf("%v × %v × %v", m.Layers, m.KVHeads, m.HeadDim)
		}
		fmt.Fprintf(&b, "| %s | %v | %s | %s | %s | %s |\n", strings.Join(m.Names, ", "), m.Params/1e9, active, m.Dtype, kv, m.Source)
	}
	return b.String()
}

func gpuTable() string {
	var b strings.Builder
	b.WriteString("| GPU | memory (GiB) | bandwidth (TB/s) | bf16 | fp8 | int8 | fp4 (TFLOP/s, dense) | source |\n| --- | --- | --- | --- | --- | --- | --- | --- |\n")
	for _, g := range audit.DefaultReference().GPUs {
		fmt.Fprintf(&b, "| %s | %.0f | %.3f |", strings.Join(g.Names, ", "), g.Memory/(1<<30), g.Bandwidth/1e12)
		for _, unit := range []string{"bf16", "fp8", "int8", "fp4"} {
			if v, ok := g.FLOPS[unit]; ok {
				fmt.Fprintf(&b, " %.0f |", v/1e12)
			} else {
				b.WriteString(" |")
			}
		}
		fmt.Fprintf(&b, " %s |\n", g.Source)
	}
	return b.String()
}
