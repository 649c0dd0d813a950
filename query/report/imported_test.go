package report_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/core/audit"
	"github.com/sweepbook/sweepbook/core/ingest"
	"github.com/sweepbook/sweepbook/query/report"
)

// repository is the folder of go.mod.
func repository(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		if filepath.Dir(dir) == dir {
			t.Fatal("no go.mod above the test")
		}
		dir = filepath.Dir(dir)
	}
}

// logs are the three published sweeps in the examples.
var logs = []string{"qwen3-8b-latency", "qwen3.5-9b-throughput", "qwen3-32b-throughput"}

// imported is a history of the three logs, each a study, audited. The second result
// finds a trial by its block: "001-12" is the twelfth of the second log.
func imported(t *testing.T) (*memory, map[string]*core.Trial) {
	t.Helper()
	var paths []string
	for _, name := range logs {
		paths = append(paths, filepath.Join(repository(t), "examples", "imported", name+".log"))
	}
	return read(t, paths)
}

func read(t *testing.T, paths []string) (*memory, map[string]*core.Trial) {
	t.Helper()
	m, blocks := &memory{}, map[string]*core.Trial{}
	known := map[core.ID]*core.Trial{}
	var all []*core.Trial
	for d, path := range paths {
		res, err := ingest.File(t.Context(), path, ingest.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for n, tr := range res.Trials {
			all = append(all, tr)
			if known[tr.ID] == nil {
				known[tr.ID] = tr
				m.trials = append(m.trials, tr)
				tr.Number = int64(len(m.trials))
			}
			blocks[[]string{"000", "001", "003"}[d]+"-"+string(rune('0'+(n+1)/10))+string(rune('0'+(n+1)%10))] = known[tr.ID]
		}
	}
	for id, found := range audit.Trials(all, audit.DefaultReference()) {
		known[id].Findings = found
	}
	return m, blocks
}

// sections cuts a report at its headings of the second level.
func sections(md string) map[string]string {
	out := map[string]string{}
	for _, part := range strings.Split(md, "\n## ")[1:] {
		title, body, _ := strings.Cut(part, "\n")
		out[title] = body
	}
	return out
}

// hasRow reports whether a table row begins with these cells; emphasis does not count.
func hasRow(body string, cells ...string) bool {
	want := "| " + strings.Join(cells, " | ") + " |"
	for line := range strings.Lines(body) {
		if strings.HasPrefix(strings.ReplaceAll(line, "**", ""), want) {
			return true
		}
	}
	return false
}

// TestImportedSweeps holds the reports of three published sweeps to what their figures
// say, which is not always what the reports said. Both the logs in the examples and the
// documents themselves, where they are beside the repository, must give it.
func TestImportedSweeps(t *testing.T) {
	examples, _ := imported(t)
	t.Run("examples", func(t *testing.T) { testSweeps(t, examples, logs) })
	t.Run("documents", func(t *testing.T) {
		dir := filepath.Join(repository(t), "..", "shared", "seeds")
		var paths []string
		for _, name := range []string{"000_31084286601db8cc.txt", "001_88681084640b87c0.txt", "003_1ca70e27a8e9ad1f.txt"} {
			paths = append(paths, filepath.Join(dir, name))
		}
		if _, err := os.Stat(paths[0]); err != nil {
			t.Skipf("the documents are not beside the repository: %v", err)
		}
		m, blocks := read(t, paths)
		testSweeps(t, m, []string{blocks["000-01"].Study, blocks["001-01"].Study, blocks["003-01"].Study})
	})
}

func testSweeps(t *testing.T, m *memory, studies []string) {
	titles := map[string]string{}
	for _, r := range audit.Rules() {
		titles[r.ID] = r.Title
	}
	parts := func(study string) map[string]string {
		r := build(t, m, study, nil, report.Options{Details: details(m), RuleTitles: titles, USDPerGPUHour: 2.5})
		wellFormed(t, study, r.HTML())
		return sections(string(r.Markdown("")))
	}
	latency, nine, large := parts(studies[0]), parts(studies[1]), parts(studies[2])
	for _, c := range []struct {
		body  string
		wants []string
	}{
		// Of 32,000 input tokens: 4068.16 over 2771.81.
		{large["Decision"], []string{"**+82.11 %** over the baseline's 2,352.82 tok/s", "random 32000/100 +46.8 %", "Quality is not known.", "engine (vllm to trtllm)",
			"**Paid for with:** mean_tpot_ms 88.09 to 158.64 ms (-80.09 %)", "at 2.50 USD per GPU hour", "1,000 requests without one do not exclude them"}},
		{nine["Decision"], []string{"**+2.09 %** over the baseline's 11,527.14 tok/s (+1.90 % by duration)", "The gain cannot be told from noise.",
			"+2.09 % lies inside the spread of inert twins", "2.99 % between trials #34, #37", "by duration +1.90 % of 2.08 %",
			"random 1024/128 +15.6 % (+10.0 % by duration), void", "engine, checkpoint and number formats are the baseline's"}},
		{nine["Before and after"], []string{"random 1024/128, rate=1000: **+15.59 % is +9.97 % by duration**; a void finding touches total_tps",
			"random 1000/2000, rate=1: **+1.74 % is -0.01 % by duration**", "34,470.14 (void)"}},
		{latency["Decision"], []string{"median of 2 repeats", "an assumed noise of 6.84 %, the spread of repeats (#8, #23)"}},
		{latency["What the audit found"], []string{"peak_output_tps"}},
		{large["Noise"], []string{"the noise is not known and 3 % is assumed"}},
	} {
		for _, want := range c.wants {
			if !strings.Contains(c.body, want) {
				t.Errorf("no %q in\n%s", want, c.body)
			}
		}
	}
	for _, c := range []struct {
		body  string
		cells []string
	}{
		{large["Before and after"], []string{"random 32000/100", "gain", "", "+46.77 %"}},
		{nine["Noise"], []string{"#25, #30, #31, #32", "4", "11,388.13", "11,532.64", "1.27 %", "0.99 %"}},
		{nine["Noise"], []string{"#29, #36", "2", "11,496.39", "11,768.22", "2.36 %", "1.75 %"}},
		{nine["Noise"], []string{"#34, #37", "2", "11,333.89", "11,672.72", "2.99 %", "2.08 %"}},
		{nine["Noise"], []string{"#38, #39", "2", "11,573.41", "11,628.47", "0.48 %", "0.76 %"}},
		// What each change brought, each against what it was added to.
		{latency["What each change brought"], []string{"`engine=sglang`", "`vLLM`", "1,020.76", "1,079.74", "+5.78 %"}},
		{latency["What each change brought"], []string{"`cuda_graph_max_bs=8`", "`sglang Qwen/Qwen3-8B`", "1,079.74", "1,077.94", "-0.17 %"}},
		{latency["What each change brought"], []string{"`checkpoint=Qwen/Qwen3-8B-FP8`", "`sglang Qwen/Qwen3-8B`", "1,079.74", "1,351.41", "+25.16 %"}},
		{latency["What each change brought"], []string{"`attention_backend=triton`", "`sglang Qwen/Qwen3-8B-FP8`", "1,351.41", "1,304.82", "-3.45 %"}},
		{latency["What each change brought"], []string{"`attention_backend=flashinfer`", "`sglang Qwen/Qwen3-8B-FP8`", "1,351.41", "1,143.47", "-15.39 %"}},
		{nine["What each change brought"], []string{"`max_batched_tokens=32768`", "`vllm performance_mode=throughput`", "11,496.39", "11,672.72", "+1.53 %"}},
		{nine["What each change brought"], []string{"`max_num_seqs=512`", "`vllm performance_mode=throughput`", "11,496.39", "11,768.22", "+2.36 %"}},
		{nine["What each change brought"], []string{"`max_num_seqs=512`", "`vllm max_batched_tokens=32768 performance_mode=throughput`", "11,672.72", "11,333.89", "-2.90 %"}},
		{large["Throughput against latency"], []string{"47", "`sglang Qwen/Qwen3-32B`", "1,690.84", "57.86"}},
		{large["What was never measured"], []string{"`sglang Qwen/Qwen3-32B`", "1", "never", "never", "never", "never"}},
	} {
		if !hasRow(c.body, c.cells...) {
			t.Errorf("no row %q in\n%s", c.cells, c.body)
		}
	}
	for _, change := range []string{`speculative_num_steps=4. \(5 at once\)[|* ]+.sglang Qwen/Qwen3-8B-FP8.[|* ]+1,351.41[|* ]+2,011.7[|* ]+\+48.86 %`, `enable_torch_compile=true.*2,011.7[|* ]+1,958.61[|* ]+-2.64 %`} {
		if !regexp.MustCompile(change).MatchString(latency["What each change brought"]) {
			t.Errorf("no %s in\n%s", change, latency["What each change brought"])
		}
	}
	// Void findings come before hard ones, and those before the count of the rest.
	found := nine["What the audit found"]
	void, hard, rest := strings.Index(found, "| void | **A3x**"), strings.Index(found, "| hard | **A10**"), strings.Index(found, "The rest, counted: note: ")
	if void < 0 || hard < void || rest < hard {
		t.Errorf("order of findings: void at %d, hard at %d, the rest at %d in\n%s", void, hard, rest, found)
	}
	if !strings.Contains(found, "(input_tokens+output_tokens)/duration_s 27021.67") {
		t.Errorf("no evidence in\n%s", found)
	}
}
