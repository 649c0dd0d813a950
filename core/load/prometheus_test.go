package load_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/core/load"
)

func parse(t *testing.T, text string) map[string]float64 {
	t.Helper()
	m, err := load.ParseMetrics(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestParseMetrics(t *testing.T) {
	got := parse(t, `# HELP a text
# TYPE a counter
a{engine="0",name="x } y \" {"} 3.0
a{engine="1"} 4 1712345678000
b 2.5e-1
c NaN
d +Inf
h_bucket{le="1"} 5
h_sum 7
h_count 2

`)
	want := map[string]float64{"a": 7, "a:max": 4, "b": 0.25, "b:max": 0.25, "h_sum": 7, "h_sum:max": 7, "h_count": 2, "h_count:max": 2}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, text := range []string{"a{x=\"1\" 3", "{} 1", "a", "a one", "a 1 2 3", `{"json":1}`} {
		if _, err := load.ParseMetrics(strings.NewReader("ok 1\n" + text)); !errors.Is(err, core.ErrInvalid) || !strings.Contains(err.Error(), "line 2") {
			t.Errorf("%q: %v", text, err)
		}
	}
	if _, err := load.ParseMetrics(strings.NewReader(strings.Repeat("y", 2<<20))); err == nil {
		t.Error("a line of 2 MiB was read")
	}
}

func FuzzParseMetrics(f *testing.F) {
	f.Add("a{b=\"c\"} 1\n# x\nd 2 3\n")
	f.Add("a_bucket{le=\"+Inf\"} 1e9\nb -1\n")
	f.Fuzz(func(t *testing.T, text string) {
		m, err := load.ParseMetrics(strings.NewReader(text))
		if err != nil {
			return
		}
		for name := range m {
			if _, ok := m[strings.TrimSuffix(name, ":max")]; !ok {
				t.Fatalf("%q has no sum", name)
			}
		}
	})
}

// TestSharedCase29: hit rates are differences; a counter that went back is unknown.
func TestSharedCase29(t *testing.T) {
	dir := shared(t, "cases", "29-warm-prefix-cache")
	read := func(name string) map[string]float64 {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return parse(t, string(data))
	}
	before := read("metrics-before-run2.txt")
	f, cached := load.ServerFigures(before, read("metrics-after-run2.txt"))
	check(t, f, map[string]float64{"prefix_hit_rate": 0.9375, "accept_len": missing, "preemptions": missing, "kv_cache_peak": missing})
	if cached != core.Number(122880) {
		t.Errorf("cached tokens %v", cached)
	}
	f, cached = load.ServerFigures(before, read("metrics-reset.txt"))
	if len(f) != 0 || !cached.IsMissing() {
		t.Errorf("after a restart: %v, %v; want nothing known", f, cached)
	}
}

// TestWentBack: a series that begins anew is noticed although the sum of all grows,
// and what the other counters say stays.
func TestWentBack(t *testing.T) {
	before := parse(t, `vllm:prefix_cache_queries_total{engine="0"} 1000
vllm:prefix_cache_queries_total{engine="1"} 1000
vllm:prefix_cache_hits_total{engine="0"} 10
vllm:prefix_cache_hits_total{engine="1"} 10
vllm:num_preemptions_total{engine="0"} 1
vllm:num_preemptions_total{engine="1"} 2
vllm:num_preemptions_total_other 9
`)
	for _, tt := range []struct {
		name, after string
		back        string
		queries     core.Value
		want        map[string]float64
	}{
		{"grown", `vllm:prefix_cache_queries_total{engine="0"} 1500
vllm:prefix_cache_queries_total{engine="1"} 1500
vllm:prefix_cache_queries_total{engine="2"} 1000
vllm:prefix_cache_hits_total{engine="0"} 510
vllm:prefix_cache_hits_total{engine="1"} 10
vllm:num_preemptions_total{engine="0"} 1
vllm:num_preemptions_total{engine="1"} 5
`, "", core.Number(2000), map[string]float64{"prefix_hit_rate": 0.25, "preemptions": 3}},
		{"one engine began anew", `vllm:prefix_cache_queries_total{engine="0"} 5
vllm:prefix_cache_queries_total{engine="1"} 9000
vllm:prefix_cache_hits_total{engine="0"} 10
vllm:prefix_cache_hits_total{engine="1"} 510
vllm:num_preemptions_total{engine="0"} 1
vllm:num_preemptions_total{engine="1"} 2
`, "vllm:prefix_cache_queries_total", core.Missing(), map[string]float64{"prefix_hit_rate": missing, "preemptions": 0}},
		{"one engine is gone", `vllm:prefix_cache_queries_total{engine="1"} 9000
vllm:prefix_cache_hits_total{engine="1"} 510
vllm:num_preemptions_total{engine="1"} 7
`, "vllm:num_preemptions_total vllm:prefix_cache_hits_total vllm:prefix_cache_queries_total", core.Missing(),
			map[string]float64{"prefix_hit_rate": missing, "preemptions": missing}},
	} {
		after := parse(t, tt.after)
		if got := strings.Join(load.WentBack(before, after), " "); got != tt.back {
			t.Errorf("%s: %q went back, want %q", tt.name, got, tt.back)
		}
		if queries, _ := load.PrefixCacheTokens(before, after); queries != tt.queries {
			t.Errorf("%s: %v tokens looked up, want %v", tt.name, queries, tt.queries)
		}
		f, _ := load.ServerFigures(before, after)
		t.Log(tt.name)
		check(t, f, tt.want)
	}
}

func TestServerFigures(t *testing.T) {
	for _, tt := range []struct {
		name, before, after string
		want                map[string]float64
	}{
		{"vllm", `vllm:kv_cache_usage_perc{engine="0"} 0.1
vllm:kv_cache_usage_perc{engine="1"} 0.7
vllm:num_preemptions_total 3
vllm:prefix_cache_queries_total 100
vllm:prefix_cache_hits_total 10
vllm:spec_decode_num_drafts_total 10
vllm:spec_decode_num_draft_tokens_total 30
vllm:spec_decode_num_accepted_tokens_total 15`, `vllm:kv_cache_usage_perc{engine="0"} 0.2
vllm:kv_cache_usage_perc{engine="1"} 0.3
vllm:num_preemptions_total 5
vllm:prefix_cache_queries_total 300
vllm:prefix_cache_hits_total 60
vllm:spec_decode_num_drafts_total 110
vllm:spec_decode_num_draft_tokens_total 330
vllm:spec_decode_num_accepted_tokens_total 165`,
			map[string]float64{"kv_cache_peak": 0.7, "preemptions": 2, "prefix_hit_rate": 0.25, "accept_len": 2.5, "accept_rate": 0.5}},
		{"sglang", `sglang:token_usage 0.4
sglang:cached_tokens_total 5
sglang:prompt_tokens_total 100
sglang:spec_accept_length 2.8`, `sglang:token_usage 0.5
sglang:cached_tokens_total 45
sglang:prompt_tokens_total 180
sglang:num_retracted_reqs 3
sglang:spec_accept_length 2.9`,
			map[string]float64{"kv_cache_peak": 0.5, "prefix_hit_rate": 0.5, "accept_len": 2.9, "accept_rate": missing, "preemptions": missing}},
		{"trtllm", `trtllm_kv_cache_utilization 0.3
trtllm_prompt_cached_tokens_total 0
trtllm_prompt_tokens_total 0
trtllm_spec_decode_num_draft_tokens_total 0
trtllm_spec_decode_num_accepted_tokens_total 0`, `trtllm_kv_cache_utilization 0.6
trtllm_prompt_cached_tokens_total 20
trtllm_prompt_tokens_total 200
trtllm_spec_decode_num_draft_tokens_total 40
trtllm_spec_decode_num_accepted_tokens_total 30
trtllm_spec_decode_acceptance_length 3.1`,
			map[string]float64{"kv_cache_peak": 0.6, "prefix_hit_rate": 0.1, "accept_rate": 0.75, "accept_len": 3.1}},
		{"sim without a draft", `sim:prefix_cache_queries_total 0
sim:prefix_cache_hits_total 0
sim:num_preemptions_total 0
sim:spec_decode_num_drafts_total 0
sim:spec_decode_num_draft_tokens_total 0
sim:spec_decode_num_accepted_tokens_total 0`, `sim:prefix_cache_queries_total 50
sim:prefix_cache_hits_total 0
sim:num_preemptions_total 0
sim:spec_decode_num_drafts_total 0
sim:spec_decode_num_draft_tokens_total 0
sim:spec_decode_num_accepted_tokens_total 0`,
			map[string]float64{"prefix_hit_rate": 0, "preemptions": 0, "accept_len": missing, "accept_rate": missing, "kv_cache_peak": missing}},
	} {
		f, _ := load.ServerFigures(parse(t, tt.before), parse(t, tt.after))
		t.Log(tt.name)
		check(t, f, tt.want)
	}
}

// TestWindowOfARestart: what a server that began anew counted is unknown, and why is
// said beside what is still known.
func TestWindowOfARestart(t *testing.T) {
	var scrapes atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		queries := 500
		if scrapes.Add(1) > 1 {
			queries = 3
		}
		fmt.Fprintf(w, "vllm:prefix_cache_queries_total{engine=\"0\"} %d\nvllm:prefix_cache_hits_total{engine=\"0\"} 1\nvllm:num_preemptions_total 4\n", queries)
	}))
	t.Cleanup(server.Close)
	f, err := load.OpenWindow(t.Context(), server.URL).Close(t.Context())
	if err == nil || !strings.Contains(err.Error(), "began anew while it was measured: vllm:prefix_cache_queries_total went back") {
		t.Errorf("error %v", err)
	}
	check(t, f, map[string]float64{"prefix_hit_rate": missing, "cached_tokens": missing, "preemptions": 0})
}

func TestScrape(t *testing.T) {
	page := func(status int, kind, text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			w.WriteHeader(status)
			_, _ = io.WriteString(w, text)
		}
	}
	serve := func(metrics, prometheus http.HandlerFunc) string {
		mux := http.NewServeMux()
		mux.HandleFunc("/metrics", metrics)
		mux.HandleFunc("/prometheus/metrics", prometheus)
		s := httptest.NewServer(mux)
		t.Cleanup(s.Close)
		return s.URL
	}
	none := page(404, "text/plain", "no")
	m, err := load.Scrape(t.Context(), serve(page(200, "text/plain", "a 1\n"), none)+"/v1")
	if err != nil || m["a"] != 1 {
		t.Errorf("%v, %v", m, err)
	}
	// TensorRT-LLM answers /metrics with JSON.
	m, err = load.Scrape(t.Context(), serve(page(200, "application/json", "[]"), page(200, "text/plain", "trtllm_x 2\n")))
	if err != nil || m["trtllm_x"] != 2 {
		t.Errorf("%v, %v", m, err)
	}
	if _, err := load.Scrape(t.Context(), serve(none, none)); !errors.Is(err, core.ErrUnimplemented) {
		t.Errorf("no page: %v", err)
	}
	if _, err := load.Scrape(t.Context(), "http://127.0.0.1:1"); err == nil || errors.Is(err, core.ErrUnimplemented) {
		t.Errorf("no server: %v", err)
	}
}

// TestObserve: the window begins with the load, so that the warm-up is outside of
// it, and sees the peak between its ends.
func TestObserve(t *testing.T) {
	t.Parallel()
	var served, scrapes atomic.Int64
	mux := http.NewServeMux()
	mux.HandleFunc("/metrics", func(w http.ResponseWriter, _ *http.Request) {
		kv := 0.1
		if scrapes.Add(1) == 2 {
			kv = 0.8
		}
		n := served.Load()
		fmt.Fprintf(w, "vllm:prefix_cache_queries_total %d\nvllm:prefix_cache_hits_total %d\nvllm:kv_cache_usage_perc %g\n", 100*n, 25*n, kv)
	})
	mux.HandleFunc("/v1/chat/completions", func(w http.ResponseWriter, _ *http.Request) {
		served.Add(1)
		good(w, 3, 200*time.Millisecond)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	req := request(server.URL, random(4, 3, "", nil), closed(2, 4))
	req.Warmup = 2
	var s sink
	o := load.Observe(t.Context(), &s, load.Observation{BaseURL: server.URL})
	if err := load.Run(t.Context(), req, o); err != nil {
		t.Fatal(err)
	}
	seen := o.Finish(t.Context())
	check(t, seen.Figures, map[string]float64{"prefix_hit_rate": 0.25, "cached_tokens": 100, "kv_cache_peak": 0.8, "mean_power_w": missing})
	if len(seen.Extra) != 0 || !seen.Throttled.IsMissing() || len(s.samples) != 4 {
		t.Errorf("%+v, %d samples", seen, len(s.samples))
	}
	// A server without metrics leaves the figures missing and says nothing.
	f := serve(t, func(w http.ResponseWriter, _ *http.Request, _ asked) { good(w, 1, 150*time.Millisecond) })
	o = load.Observe(t.Context(), &s, load.Observation{BaseURL: f.URL, GPUs: &load.TelemetrySource{Command: filepath.Join(t.TempDir(), "absent")}})
	if err := load.Run(t.Context(), request(f.URL, random(4, 1, "", nil), closed(1, 1)), o); err != nil {
		t.Fatal(err)
	}
	if seen = o.Finish(t.Context()); len(seen.Figures) != 0 || seen.Extra["gpu_telemetry_error"].IsMissing() {
		t.Errorf("%+v", seen)
	}
}
