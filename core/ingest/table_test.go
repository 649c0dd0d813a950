package ingest_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/core/ingest"
)

// figuresOf renders what a table's row gave, derived figures left out.
func figuresOf(tr *core.Trial) string {
	var out []string
	for _, name := range tr.Figures.Names() {
		if tr.Derived[name] == "" {
			out = append(out, fmt.Sprintf("%s=%v", name, tr.Figures[name]))
		}
	}
	for _, name := range core.Knobs(tr.Extra).Names() {
		out = append(out, "extra."+name+"="+tr.Extra[name].String())
	}
	return strings.Join(out, " ")
}

// TestColumns: which name of a column means which field, in which unit.
func TestColumns(t *testing.T) {
	for _, tt := range []struct{ column, cell, want string }{
		{"total_tps", "12", "total_tps=12"},
		{"Total Token Throughput (tok/s)", "1,204.5", "total_tps=1204.5"},
		{"total_token_throughput", "12", "total_tps=12"},
		{"p99_ttft_ms", "0.5", "p99_ttft_ms=0.5"},
		{"P99 TTFT (ms)", "12", "p99_ttft_ms=12"},
		{"TTFT p99 [s]", "0.35", "p99_ttft_ms=350"},
		{"ttft_avg_us", "1500", "mean_ttft_ms=1.5"},
		{"Mean E2E Latency (ms)", "7", "mean_e2el_ms=7"},
		{"p50_tpot_ms", "7", "median_tpot_ms=7"},
		{"TTFT p99", "1.25 s", "p99_ttft_ms=1250"},
		{"TPOT mean", "12.5ms", "mean_tpot_ms=12.5"},
		{"TTFT", "1.25 s", "extra.ttft=1.25 s"},
		{"total_tps", "2345,678", "total_tps=2345.678"},
		{"total_tps", "51,234", "total_tps=51.234"},
		{"total_tps", "1.234,5", "total_tps=1234.5"},
		{"total_tps", "1\u00a0234,5", "total_tps=1234.5"}, {"total_tps", "1\u202f234\u202f567,5", "total_tps=1.2345675e+06"},
		{"total_tps", "1,234.5", "total_tps=1234.5"},
		{"Success", "98,5 %", "success_rate=0.985"},
		{"Duration (s)", "7", "duration_s=7"},
		{"duration (ms)", "700", "duration_s=0.7"},
		{"Success", "98.5%", "success_rate=0.985"},
		{"success_rate", "97", "extra.success=97"},
		{"kv_cache_peak", "12%", "kv_cache_peak=0.12"},
		{"Failed requests", "0", "failed=0"},
		{"p99_ttft", "3", "extra.p99_ttft=3"},
		{"ttft_ms", "3", "extra.ttft_ms=3"},
		{"throughput", "3", "extra.throughput=3"},
		{"p99_ttft_ms", "n/a", ""}, {"p99_ttft_ms", "inf", ""}, {"p99_ttft_ms", "1e309", ""}, {"p99_ttft_ms", "-", ""},
	} {
		res := readString(t, "x.csv", "rps;"+tt.column+"\n1;"+tt.cell+"\n", ingest.Options{})
		if len(res.Trials) != 1 {
			t.Errorf("%s: %d trials, %v", tt.column, len(res.Trials), res)
			continue
		}
		want := strings.TrimSpace("rps=1 " + tt.want)
		if strings.HasPrefix(tt.want, "rps") || !strings.HasPrefix(tt.want, "extra") && tt.want < "rps" && tt.want != "" {
			want = strings.TrimSpace(tt.want + " rps=1")
		}
		if got := figuresOf(res.Trials[0]); got != want {
			t.Errorf("%s %q: got %q, want %q", tt.column, tt.cell, got, want)
		}
		if vague := strings.Contains(fmt.Sprint(res.Warnings), "states no unit or no statistic"); vague != strings.Contains(tt.want, "ttft=") && vague != strings.Contains(tt.want, "extra.ttft_ms") {
			t.Errorf("%s: warnings %v", tt.column, res.Warnings)
		}
	}
}

// TestSettingColumns: what was chosen and asked, under the names that people use.
func TestSettingColumns(t *testing.T) {
	text := "gpu_type\tgpu_count\tframework\tModel\ttensor_parallel_size\tMax_num_seqs\targs.block_size\tConcurrency\trequest_rate\tISL\tOSL\tstarted_at\tapi_key\ttotal_tps\n" +
		"NVIDIA H100\t4\tSGLang\tdemo/m1\t2\t64\t16\tinf\t2.5\t128\t64\t2026-05-01 10:00:00\tsecret\t7\n"
	res := readString(t, "x.tsv", text, ingest.Options{})
	if len(res.Trials) != 1 {
		t.Fatalf("%+v", res)
	}
	tr := res.Trials[0]
	got := values(tr, "gpu", "gpus", "engine", "model", "tp", "args.max_num_seqs", "args.block_size", "concurrency", "request_rate", "input_len", "output_len", "total_tps")
	if want := "NVIDIA H100 | 4 | sglang | demo/m1 | 2 | 64 | 16 | unlimited | 2.5 | 128 | 64 | 7"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if tr.StartedAt.Format("2006-01-02T15:04") != "2026-05-01T10:00" || !tr.ZoneAssumed {
		t.Errorf("started at %s, zone assumed %t", tr.StartedAt, tr.ZoneAssumed)
	}
	if _, kept := tr.Extra["api_key"]; kept {
		t.Error("a secret was kept")
	}
}

// TestMappedTable: a mapping names what names do not say.
func TestMappedTable(t *testing.T) {
	m := &ingest.Mapping{
		Study:   "spring",
		Columns: map[string]string{"speed": "total_tps", "first token": "p99_ttft_ms", "who": "-", "ended": "status", "kvd": "args.kv_cache_dtype", "acc": "quality.gsm8k"},
		Units:   map[string]string{"speed": "k", "first token": "s"},
		Set:     map[string]string{"gpu": "NVIDIA H100 80GB HBM3", "requested": "100"},
	}
	text := "Speed,First  Token,who,ended,kvd,acc,left\n1.5,0.25,me,ok,fp8,0.94,x\n,,me,CUDA OOM at step 3,fp8,,\n,,me,ok,fp8,,\n"
	res := readString(t, "x.csv", text, ingest.Options{Mapping: m})
	if len(res.Trials) != 2 || res.Left != 1 {
		t.Fatalf("%d trials, %d left: %v", len(res.Trials), res.Left, res)
	}
	got := values(res.Trials[0], "study", "total_tps", "p99_ttft_ms", "args.kv_cache_dtype", "quality.gsm8k", "gpu", "requested", "status", "extra.left", "extra.who", "extra.from_mapping")
	if want := "spring | 1500 | 250 | fp8 | 0.94 | NVIDIA H100 80GB HBM3 | 100 | ok | x |  | gpu,requested"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if f := res.Trials[1]; f.Status != core.StatusFailed || f.Failure != core.OOMRuntime || f.FailureText != "CUDA OOM at step 3" {
		t.Errorf("failed row: %s %s %q", f.Status, f.Failure, f.FailureText)
	}
	// The same mapping reads flat JSON.
	res = readString(t, "x.json", `[{"speed": 1.5, "first token": "0.25", "nested": {"a": 1}}, {"other": 1}]`, ingest.Options{Mapping: m})
	if len(res.Trials) != 1 || res.Trials[0].Figures["total_tps"] != 1500 || res.Records != 1 {
		t.Errorf("mapped JSON: %+v", res)
	}
}

func TestTableHazards(t *testing.T) {
	head := "engine,total_tps,comment\n"
	for _, tt := range []struct {
		name, text          string
		trials, left, wrong int
		says                string
	}{
		{"no known column", "a,b\n1,2\n", 0, 0, 0, "no result found"},
		{"settings only", "engine,model\nvllm,x\n", 0, 0, 0, "no result found"},
		{"no row", head, 0, 0, 0, "a table without a row"},
		{"short and long rows", head + "vllm,1\nvllm,1,x,y\nvllm,1,x\n", 1, 0, 2, "x.csv:2: row: 2 values for 3 columns"},
		{"quotes", "\ufeff" + head + "vllm,1,\"a, \"\"b\"\"\"\r\n\r\nvllm,2,\"open\n", 2, 0, 0, ""},
		{"empty figure", head + "vllm,,x\n", 0, 1, 0, "x.csv:2: row without a figure"},
		{"text figure", head + "vllm,fast,x\n", 0, 1, 0, `total_tps left out: "fast" is no number`},
		{"markdown", "| engine | total_tps |\n|---|---|\n| vllm | 1 |\n| a \\| b | 2 |\n\n| engine | rps |\n|---|---|\n| vllm | 3 |\n", 3, 0, 0, ""},
		{"markdown and a block", "| engine | total_tps |\n|---|---|\n| vllm | 1 |\n" + strings.Repeat("words\n", 2000) + printedBlock(5, 100, 20), 1, 0, 0, "a printed block stands in this file of tables"},
		{"wide", strings.Repeat("rps,", 600) + "x\n", 0, 0, 0, "no result found"},
	} {
		res := readString(t, "x.csv", tt.text, ingest.Options{})
		all := fmt.Sprint(res.Skipped, res.Errors, res.Warnings)
		if len(res.Trials) != tt.trials || res.Left != tt.left || res.Rejected != tt.wrong || !strings.Contains(all, tt.says) {
			t.Errorf("%s: %d trials, %d left, %d rejected, notes %s", tt.name, len(res.Trials), res.Left, res.Rejected, all)
		}
	}
	if res := readString(t, "x.csv", "a,b\n1,2\n", ingest.Options{Format: "table"}); len(res.Trials) != 0 || !strings.Contains(fmt.Sprint(res.Skipped), "no table with a known column") {
		t.Errorf("forced: %v", res)
	}
}
