package ingest_test

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/sweepbook/sweepbook/core"
)

// caseFields maps the neutral names of the cases to fields.
var caseFields = map[string]string{
	"max_concurrency": "concurrency", "achieved_concurrency": "mean_concurrency", "req_per_s": "rps", "user_tps": "extra.user_tps",
	"acceptance_length": "accept_len", "num_drafts": "extra.spec_drafts", "draft_tokens": "extra.spec_draft_tokens",
	"accepted_tokens": "extra.spec_accepted_tokens", "backend": "extra.bench_backend",
}

var caseLatency = regexp.MustCompile(`^(ttft|tpot|itl|e2el)_(mean|p\d+)_ms$`)

// TestCases holds each case's expected.json against what its files import to.
func TestCases(t *testing.T) {
	root := shared(t, "cases")
	for _, name := range []string{
		"01-vllm-old-and-annotated-block", "03-ansi-and-progress-bar", "06-bash-x-sweep-one-crash", "08-sglang-typo-not-set",
		"10-vllm-spec-decode-section", "12-vllm-omni-inner-rulers", "14-placeholder-and-stripped-header",
	} {
		data, err := os.ReadFile(filepath.Join(root, name, "expected.json"))
		if err != nil {
			t.Fatal(err)
		}
		var expected map[string][]map[string]any
		if err := json.Unmarshal(data, &expected); err != nil {
			t.Fatal(err)
		}
		for file, want := range expected {
			t.Run(name+"/"+file, func(t *testing.T) {
				res := readFile(t, filepath.Join(root, name, file))
				trials := res.Trials
				for _, n := range res.Errors {
					t.Errorf("error: %s", n)
				}
				for _, w := range want {
					if w["optional"] == true {
						continue // told in Skipped instead, see TestCrashedCommand
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
				ok = ok || got.Kind == core.KindNumber && math.Abs(got.Num*scale-o) <= 1e-6*math.Max(1, math.Abs(o))
			case string:
				ok = ok || got == core.String(o)
			}
		}
		if !ok {
			t.Errorf("%s is %q, want %v", key, got, w)
		}
	}
}
