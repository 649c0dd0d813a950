package report_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/xml"
	"errors"
	"flag"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/query/report"
)

var update = flag.Bool("update", false, "write the golden files")

var now = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func build(t *testing.T, m *memory, study string, def *core.Study, opt report.Options) *report.Report {
	t.Helper()
	opt.Now, opt.Version = now, "1.0.0"
	r, err := report.Build(context.Background(), m, study, def, opt)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func cases(t *testing.T) map[string]*report.Report {
	staged, def := stagedStudy()
	unqualified, unqualifiedDef := stagedStudy()
	unqualifiedDef.Objective = "min mean_ttft_ms where success_rate == 1 and p99_ttft_ms < 100"
	none := importedStudy()
	for _, tr := range none.trials {
		tr.Role = ""
	}
	return map[string]*report.Report{
		"staged":      build(t, staged, def.Name, def, report.Options{Details: details(staged)}),
		"imported":    build(t, importedStudy(), "qwen3-8b-latency", nil, report.Options{}),
		"no-baseline": build(t, none, "qwen3-8b-latency", nil, report.Options{Objective: "min mean_ttft_ms + 10 * mean_tpot_ms as latency_ms where success_rate == 1 or missing(success_rate)"}),
		"unqualified": build(t, unqualified, def.Name, unqualifiedDef, report.Options{}),
	}
}

func TestMarkdown(t *testing.T) {
	for name, r := range cases(t) {
		got := r.Markdown("charts")
		path := filepath.Join("testdata", name+".md")
		if *update {
			if err := os.WriteFile(path, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		for _, m := range regexp.MustCompile(`\]\(charts/([^)]*)\)`).FindAllSubmatch(got, -1) {
			if _, err := png.DecodeConfig(bytes.NewReader(r.Charts[string(m[1])])); err != nil {
				t.Errorf("%s: picture %s: %v", name, m[1], err)
			}
		}
	}
}

func TestHTML(t *testing.T) {
	for name, r := range cases(t) {
		page := r.HTML()
		pictures := wellFormed(t, name, page)
		if pictures != len(r.Charts) {
			t.Errorf("%s: %d pictures inlined, %d drawn", name, pictures, len(r.Charts))
		}
		plain := regexp.MustCompile(`base64,[^"]*`).ReplaceAll(page, nil)
		if found := regexp.MustCompile(`(https?:|//[a-z]|@import|url\().{0,60}`).Find(plain); found != nil {
			t.Errorf("%s: something outside is named: %s", name, found)
		}
		if dir := os.Getenv("SWEEPBOOK_GALLERY"); dir != "" {
			os.WriteFile(filepath.Join(dir, name+".html"), page, 0o644)
		}
	}
}

// wellFormed reads a page as XML, which also shows that every tag is closed, and
// counts the pictures, which must be PNG.
func wellFormed(t *testing.T, name string, page []byte) (pictures int) {
	t.Helper()
	d := xml.NewDecoder(bytes.NewReader(page))
	for {
		tok, err := d.Token()
		if errors.Is(err, io.EOF) {
			return pictures
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		el, ok := tok.(xml.StartElement)
		if !ok {
			continue
		}
		switch el.Name.Local {
		case "script", "iframe", "link", "object", "a":
			t.Errorf("%s: element %s", name, el.Name.Local)
		case "img":
			for _, at := range el.Attr {
				if strings.HasPrefix(at.Name.Local, "on") {
					t.Errorf("%s: attribute %s", name, at.Name.Local)
				}
				data, ok := strings.CutPrefix(at.Value, "data:image/png;base64,")
				if at.Name.Local != "src" || !ok {
					continue
				}
				raw, err := base64.StdEncoding.DecodeString(data)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := png.DecodeConfig(bytes.NewReader(raw)); err != nil {
					t.Errorf("%s: %v", name, err)
				}
				pictures++
			}
		}
	}
}

// TestHostileNames: a history comes from anywhere, and its names must stay names.
func TestHostileNames(t *testing.T) {
	const evil = "</code><script>alert(1)</script> | `x` *y* [z](http:q) \"\n# h \x00 \\"
	m, def := stagedStudy()
	for _, tr := range m.trials {
		if tr.Study == def.Name {
			tr.Study, tr.Stage, tr.Option = evil, evil+tr.Stage, evil+tr.Option
			tr.Setup.Config.Engine, tr.Setup.GPU, tr.Workload.Name = evil+tr.Setup.Config.Engine, evil, evil+tr.Workload.Name
		}
	}
	r := build(t, m, evil, nil, report.Options{Details: func(context.Context, string) (report.Details, error) {
		return report.Details{Serve: "run ```\n" + evil, Bench: evil, FailureLine: evil}, nil
	}})
	wellFormed(t, "hostile", r.HTML())
	md := string(r.Markdown(""))
	if strings.Contains(outsideCode(md), "<script") {
		t.Error("a tag stands outside of code")
	}
	columns, before := 0, ""
	for line := range strings.SplitSeq(outsideFences(md), "\n") {
		switch {
		case strings.HasPrefix(line, "# h"):
			t.Errorf("a name became a heading: %q", line)
		case !strings.HasPrefix(line, "|"):
			columns = 0
		case strings.HasPrefix(line, "| ---"):
			columns = borders(before)
		case columns > 0 && borders(line) != columns:
			t.Errorf("%d borders in a table of %d: %s", borders(line), columns, line)
		}
		before = line
	}
}

// borders counts the cell borders of a table row.
func borders(row string) int { return strings.Count(strings.ReplaceAll(row, `\|`, ""), "|") }

func outsideFences(md string) string {
	return regexp.MustCompile("(?s)(````+|```)bash\n.*?\n(````+|```)\n").ReplaceAllString(md, "")
}

// outsideCode drops code blocks, code spans and escaped signs.
func outsideCode(md string) string {
	return regexp.MustCompile("(`+)[^`].*?[^`](`+)").ReplaceAllString(strings.ReplaceAll(outsideFences(md), `\<`, ""), "")
}

func TestUnknownStudy(t *testing.T) {
	m, _ := stagedStudy()
	_, err := report.Build(context.Background(), m, "nothing", nil, report.Options{})
	if !errors.Is(err, core.ErrNotFound) || !strings.Contains(err.Error(), "another, qwen3-32b-throughput") {
		t.Errorf("%v", err)
	}
}

func TestObjectiveMustRankOneValue(t *testing.T) {
	m, _ := stagedStudy()
	for _, q := range []string{"count", "max total_tps where", "show total_tps"} {
		if _, err := report.Build(context.Background(), m, "another", nil, report.Options{Objective: q}); err == nil {
			t.Errorf("%q is taken", q)
		}
	}
}

func TestDetailsErrorEndsTheReport(t *testing.T) {
	m, def := stagedStudy()
	broken := errors.New("history is locked")
	_, err := report.Build(context.Background(), m, def.Name, def, report.Options{
		Details: func(context.Context, string) (report.Details, error) { return report.Details{}, broken }})
	if !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
}

// TestBaselineByCondition: a source that marks no baseline can be told one, and
// gains then compare equal loads only.
func TestBaselineByCondition(t *testing.T) {
	m := importedStudy()
	for _, tr := range m.trials {
		tr.Role = ""
	}
	r := build(t, m, "qwen3-8b-latency", nil, report.Options{Baseline: `engine == "vllm"`, Objective: "max total_tps where success_rate == 1 and concurrency == 2"})
	md := string(r.Markdown(""))
	for _, want := range []string{
		"**+127.99 %** over the baseline's 528.35 tok/s", // the decision, at 2 in flight
		"| sharegpt | c=8 | gain |  | +78.66 % |",        // before and after, at every load that both have
		"| `vllm max_num_seqs=32` | 1 | 1 | 528.35 |  | 1 | 0 | ok, baseline |",
	} {
		if !strings.Contains(md, want) {
			t.Errorf("no %q in\n%s", want, md)
		}
	}
	if strings.Contains(md, "| `vllm max_num_seqs=32` | c=8") {
		t.Error("a load that the objective excludes is listed as tried")
	}
}

// TestRepeatsAreMedians: the recommended figure is the median of the repeats, not
// the luckiest of them, and says so.
func TestRepeatsAreMedians(t *testing.T) {
	m, def := stagedStudy()
	again := *m.trials[7]
	again.Figures = figures(1000, 1000, 4000, 1900, 16000, 160)
	m.add(again)
	md := string(build(t, m, def.Name, def, report.Options{}).Markdown(""))
	if want := "**4,142.34 tok/s**, median of 2 repeats (the trial itself: 4,284.68 tok/s)"; !strings.Contains(md, want) {
		t.Errorf("no %q in\n%s", want, md)
	}
}
