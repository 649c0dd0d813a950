package audit_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/core/audit"
)

const corpusFile = "testdata/corpus-findings.md"

// corpus reads the ten sweeps of the corpus, with the GPU that each file's name
// states, as `import --set gpu=…` gives it.
func corpus(t *testing.T) map[string][]*core.Trial {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(shared(t, "corpus"), "performance-lab", "*.log"))
	if err != nil || len(paths) != 10 {
		t.Fatalf("%d logs (%v)", len(paths), err)
	}
	gpus := map[string]string{"h100": "NVIDIA H100 80GB HBM3", "h200": "NVIDIA H200", "a100": "NVIDIA A100-SXM4-80GB", "910b": "Ascend 910B"}
	out := map[string][]*core.Trial{}
	blocks := 0
	for _, path := range paths {
		name := filepath.Base(path)
		_, place, _ := strings.Cut(strings.TrimSuffix(name, ".log"), "--")
		trials := read(t, path)
		for _, tr := range trials {
			tr.Setup.GPU = gpus[place]
		}
		out[name] = trials
		blocks += len(trials)
	}
	if blocks != 148 {
		t.Fatalf("%d blocks, want 148", blocks)
	}
	return out
}

// condemned is one void or hard finding on the corpus.
type condemned struct{ file, line, rule, severity, evidence, reason string }

func (c condemned) key() string { return c.file + " " + c.line + " " + c.rule + " " + c.evidence }

// TestCorpusFindings holds the committed list of every void and hard finding on the
// corpus, each with the reason why it is true. With -update the list is written
// anew; reasons stay with their findings, and a new finding has none until a person
// has written one.
func TestCorpusFindings(t *testing.T) {
	trials := corpus(t)
	committed := readCondemned(t)
	var got []condemned
	for _, file := range slices.Sorted(maps.Keys(trials)) {
		s := audit.Summarize(trials[file])
		for _, tr := range trials[file] {
			for _, f := range audit.Trial(tr, s, audit.DefaultReference()) {
				if f.Severity < core.SeverityHard {
					continue
				}
				c := condemned{file, strings.TrimPrefix(tr.Sources[0].Position, "line "), f.Rule, f.Severity.String(), f.Evidence, ""}
				for _, old := range committed {
					if old.key() == c.key() {
						c.reason = old.reason
					}
				}
				got = append(got, c)
			}
		}
	}
	if *update {
		writeCondemned(t, got)
		return
	}
	if diff := cmp.Diff(committed, got, cmp.AllowUnexported(condemned{})); diff != "" {
		t.Errorf("%s (-want +got):\n%s", corpusFile, diff)
	}
	for _, c := range committed {
		if len(c.reason) < 20 {
			t.Errorf("%s:%s %s has no reason", c.file, c.line, c.rule)
		}
	}
}

func readCondemned(t *testing.T) []condemned {
	t.Helper()
	text, err := os.ReadFile(corpusFile)
	if err != nil && !*update {
		t.Fatal(err)
	}
	var out []condemned
	for _, line := range strings.Split(string(text), "\n") {
		cells := strings.Split(line, " | ")
		if len(cells) != 6 || !strings.HasSuffix(cells[0], ".log") {
			continue
		}
		out = append(out, condemned{strings.TrimPrefix(cells[0], "| "), cells[1], cells[2], cells[3], cells[4], strings.TrimSuffix(cells[5], " |")})
	}
	return out
}

func writeCondemned(t *testing.T, all []condemned) {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, `# Every void and hard finding on the corpus

The %d findings of the audit that forbid a figure, on the 148 printed blocks of ten sweeps, with the GPU that each file's
name states. "Line" is that of the block's header. Each was looked at; the last column says why it is true. A test holds this
list: a finding that comes or goes must be judged here.

| file | line | rule | severity | evidence | why it is true |
| --- | --- | --- | --- | --- | --- |
`, len(all))
	for _, c := range all {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", c.file, c.line, c.rule, c.severity, c.evidence, c.reason)
	}
	if err := os.WriteFile(corpusFile, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestCorpusMixtures: eight GPUs and a mixture of experts raise no alarm of the
// physical limits. What is left are medians of gaps that are no gaps.
func TestCorpusMixtures(t *testing.T) {
	judged := 0
	for file, trials := range corpus(t) {
		s := audit.Summarize(trials)
		for _, tr := range trials {
			bandwidth, arithmetic := audit.Limits(tr, audit.DefaultReference())
			mbu, mfu := bandwidth.Value, arithmetic.Value
			if mbu.Kind == core.KindNumber && mfu.Kind == core.KindNumber {
				judged++
				if mbu.Num <= 0 || mbu.Num > 0.75 || mfu.Num <= 0 || mfu.Num > 0.75 {
					t.Errorf("%s %s: mbu %v mfu %v: %s; %s", file, tr.Sources[0].Position, mbu, mfu, bandwidth.How, arithmetic.How)
				}
			}
			for _, f := range audit.Trial(tr, s, audit.DefaultReference()) {
				if f.Rule[0] == 'B' && f.Severity >= core.SeverityHard && f.Rule != "B3m" {
					t.Errorf("%s %s: %s %s", file, tr.Sources[0].Position, f.Rule, f.Evidence)
				}
			}
		}
	}
	if judged < 100 {
		t.Errorf("limits of %d trials are known, want 100 at least", judged)
	}
}

// TestCorpusFamilies: which files the rules about broken streams hit at all. Only
// the sweep that was measured with guidellm and printed again has such blocks.
func TestCorpusFamilies(t *testing.T) {
	for file, trials := range corpus(t) {
		hits := map[string]int{}
		s := audit.Summarize(trials)
		for _, tr := range trials {
			for _, f := range audit.Trial(tr, s, audit.DefaultReference()) {
				hits[f.Rule]++
			}
		}
		reprinted := strings.HasPrefix(file, "qwen3.5-35b")
		for _, rule := range []string{"A2", "A3", "A9", "A10", "A11", "A12", "A13"} {
			if (hits[rule] > 0) != reprinted {
				t.Errorf("%s: %d hits of %s", file, hits[rule], rule)
			}
		}
		for _, rule := range []string{"A4", "A5", "A17", "C4h", "E10", "E11", "F1"} {
			if hits[rule] > 0 {
				t.Errorf("%s: %d hits of %s", file, hits[rule], rule)
			}
		}
	}
}
