package ingest_test

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/core/ingest"
)

// caseFields maps the neutral names of the cases to fields.
var caseFields = map[string]string{
	"max_concurrency": "concurrency", "achieved_concurrency": "mean_concurrency", "req_per_s": "rps", "user_tps": "extra.user_tps",
	"acceptance_length": "accept_len", "num_drafts": "extra.spec_drafts", "draft_tokens": "extra.spec_draft_tokens",
	"accepted_tokens": "extra.spec_accepted_tokens", "backend": "extra.bench_backend", "goodput_req_per_s": "goodput_rps",
	"max_num_seqs": "args.max_num_seqs", "tensor_parallel_size": "args.tensor_parallel_size", "run_number": "extra.run_number",
	"invalid_requests": "extra.invalid_requests", "ttft_mean_ms_valid": "extra.valid_mean_ttft_ms",
}

var caseLatency = regexp.MustCompile(`^(ttft|tpot|itl|e2el)_(mean|p\d+)_ms$`)

// halfUnit is the rounding of a figure that is given with two decimals.
func halfUnit(f float64, rounded bool) float64 {
	if rounded && math.Round(f*100)/100 == f {
		return 0.005
	}
	return 0
}

// readAll reads a file or all files of a folder.
func readAll(t *testing.T, path string) (all ingest.Result) {
	t.Helper()
	err := ingest.Walk(t.Context(), []string{path}, able(), func(_ string, res ingest.Result) error {
		all.Trials = append(all.Trials, res.Trials...)
		all.Skipped = append(all.Skipped, res.Skipped...)
		all.Errors = append(all.Errors, res.Errors...)
		all.Warnings = append(all.Warnings, res.Warnings...)
		checkAccount(t, path, res)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// checkAccount: no record is lost without a word.
func checkAccount(t *testing.T, name string, res ingest.Result) {
	t.Helper()
	if res.Records != len(res.Trials)+res.Left+res.Rejected {
		t.Errorf("%s: %d records, but %d trials, %d left and %d rejected", name, res.Records, len(res.Trials), res.Left, res.Rejected)
	}
}

// TestCases holds each case's expected.json against what its files import to.
func TestCases(t *testing.T) {
	root := shared(t, "cases")
	for _, name := range []string{
		"01-vllm-old-and-annotated-block", "03-ansi-and-progress-bar", "06-bash-x-sweep-one-crash", "08-sglang-typo-not-set",
		"10-vllm-spec-decode-section", "12-vllm-omni-inner-rulers", "14-placeholder-and-stripped-header", "16-vllm-json-legacy-and-twin",
		"18-sglang-jsonl-infinity-nan-truncated", "20-detailed-json-failed-as-zero", "21-guidellm-sweep-errored-incomplete",
		"23-aiperf-per-request-jsonl", "25-vllm-sweep-folder", "27-llm-optimizer-jsonl", "33-undefined-and-negative-latency", "46-tpot-four-definitions",
	} {
		data, err := os.ReadFile(filepath.Join(root, name, "expected.json"))
		if err != nil {
			t.Fatal(err)
		}
		var files map[string]json.RawMessage
		if err := json.Unmarshal(data, &files); err != nil {
			t.Fatal(err)
		}
		for file := range files {
			var want []map[string]any
			if json.Unmarshal(files[file], &want) != nil || file == "errors" || file == "requests.jsonl" {
				continue // what the case says of queries and single requests
			}
			path := filepath.Join(root, name, file)
			if found, _ := filepath.Glob(filepath.Join(root, name, "*", "*", file)); len(found) == 1 {
				path = found[0]
			}
			t.Run(name+"/"+file, func(t *testing.T) {
				res := readAll(t, path)
				trials := res.Trials
				var wrong []struct{ Line int }
				if json.Unmarshal(files["errors"], &wrong); len(wrong) != len(res.Errors) {
					t.Errorf("errors: %v, want %v", res.Errors, wrong)
				}
				for i := range min(len(wrong), len(res.Errors)) {
					if res.Errors[i].Line != wrong[i].Line {
						t.Errorf("error in line %d, want %d", res.Errors[i].Line, wrong[i].Line)
					}
				}
				for _, w := range want {
					if name, ok := w["file"]; ok {
						trials = slices.DeleteFunc(slices.Clone(res.Trials), func(tr *core.Trial) bool { return tr.Sources[0].File != name })
					}
					if len(trials) == 0 {
						t.Fatalf("a trial is missing: %v", w)
					}
					checkCase(t, trials[0], w)
					trials = trials[1:]
				}
				if len(trials) > 0 {
					t.Errorf("%d trials too many", len(trials))
				}
				if len(res.Trials) == 0 && len(res.Skipped) == 0 {
					t.Error("nothing imported and nothing said")
				}
			})
		}
	}
}

func checkCase(t *testing.T, tr *core.Trial, want map[string]any) {
	t.Helper()
	for key, w := range want {
		switch key {
		case "optional", "tpot_n", "file", "warnings", "strategy", "tpot_or_itl_mean_ms", "req_per_s_reported", "req_per_s_derived":
			continue // not a field; see the tests of the single formats
		}
		name, oneOf := strings.CutSuffix(key, "_one_of")
		if field, ok := caseFields[name]; ok {
			name = field
		}
		if m := caseLatency.FindStringSubmatch(name); m != nil {
			name = core.LatencyName(m[2], m[1])
		}
		got := tr.Value(name)
		scale := 1.0
		switch name {
		case "acceptance_rate_pct":
			got, scale = tr.Value("accept_rate"), 100
		case "per_position_pct":
			for i, p := range w.([]any) {
				if v := tr.Extra["accept_rate_position_"+string(rune('0'+i))]; math.Abs(v.Num*100-p.(float64)) > 1e-9 {
					t.Errorf("position %d: %v, want %v %%", i, v, p)
				}
			}
			continue
		}
		options := []any{w}
		if oneOf {
			options = w.([]any)
		}
		ok := false
		for _, o := range options {
			switch o := o.(type) {
			case nil:
				// "not set" is known to be no limit, which is neither 0 nor a number.
				ok = ok || got.IsMissing() || name == "concurrency" && got.IsUnlimited()
			case float64:
				// A figure that a person rounded has as few decimals as it has.
				ok = ok || got.Kind == core.KindNumber && math.Abs(got.Num*scale-o) <= max(1e-6*math.Max(1, math.Abs(o)), halfUnit(o, oneOf))
			case string:
				ok = ok || got == core.String(o) || o == "inf" && got.IsUnlimited()
			}
		}
		if !ok {
			t.Errorf("%s is %q, want %v", key, got, w)
		}
	}
}
