package load_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/core/load"
)

// sink keeps what a benchmark produces, or fails when told to.
type sink struct {
	mu       sync.Mutex
	samples  []core.Sample
	batches  int
	progress []core.Progress
	fail     error
	each     func()
}

func (s *sink) Samples(batch []core.Sample) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.samples = append(s.samples, batch...)
	s.batches++
	if s.each != nil {
		s.each()
	}
	return s.fail
}

func (s *sink) Progress(p core.Progress) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.progress = append(s.progress, p)
}

func (s *sink) Summary(map[string]core.Value) {}

// asked is a request as the server saw it.
type asked struct {
	Path          string
	Model         string
	Stream        bool
	MaxTokens     int              `json:"max_tokens"`
	IgnoreEOS     *bool            `json:"ignore_eos"`
	Temperature   *float64         `json:"temperature"`
	StreamOptions map[string]bool  `json:"stream_options"`
	Messages      []map[string]any `json:"messages"`
	Prompt        any              `json:"prompt"`
}

// fake is a server that answers well by default: max_tokens chunks, then usage.
type fake struct {
	*httptest.Server
	mu     sync.Mutex
	asked  []asked
	now    atomic.Int64
	most   atomic.Int64
	pause  time.Duration // before each chunk
	answer func(w http.ResponseWriter, r *http.Request, q asked)
}

func serve(t testing.TB, answer func(w http.ResponseWriter, r *http.Request, q asked)) *fake {
	f := &fake{answer: answer}
	f.Server = httptest.NewServer(http.HandlerFunc(f.handle))
	t.Cleanup(f.Close)
	return f
}

// requests gives what was asked so far and forgets it.
func (f *fake) requests() []asked {
	f.mu.Lock()
	defer f.mu.Unlock()
	got := f.asked
	f.asked = nil
	return got
}

func (f *fake) handle(w http.ResponseWriter, r *http.Request) {
	now := f.now.Add(1)
	defer f.now.Add(-1)
	for most := f.most.Load(); now > most && !f.most.CompareAndSwap(most, now); most = f.most.Load() {
	}
	q := asked{Path: r.URL.Path}
	body, _ := io.ReadAll(r.Body)
	if err := json.Unmarshal(body, &q); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	f.mu.Lock()
	f.asked = append(f.asked, q)
	f.mu.Unlock()
	if f.answer != nil {
		f.answer(w, r, q)
		return
	}
	good(w, q.MaxTokens, f.pause)
}

func good(w http.ResponseWriter, tokens int, pause time.Duration) {
	flush := w.(http.Flusher).Flush
	write(w, `{"choices":[{"delta":{"role":"assistant","content":""}}]}`)
	flush()
	for range tokens {
		time.Sleep(pause)
		write(w, `{"choices":[{"delta":{"content":"x"}}]}`)
		flush()
	}
	write(w, `{"choices":[{"delta":{},"finish_reason":"length"}]}`)
	write(w, fmt.Sprintf(`{"choices":[],"usage":{"prompt_tokens":12,"completion_tokens":%d}}`, tokens))
	write(w, "[DONE]")
}

func write(w io.Writer, data string) { fmt.Fprintf(w, "data: %s\n\n", data) }

func request(url string, w core.Workload, l core.Load) core.BenchmarkRequest {
	return core.BenchmarkRequest{BaseURL: url, Model: "m", Workload: w, Load: l}
}

func closed(concurrency, n float64) core.Load {
	return core.Load{Concurrency: core.Number(concurrency), NumPrompts: core.Number(n)}
}

func run(t testing.TB, req core.BenchmarkRequest) *sink {
	t.Helper()
	var s sink
	if err := load.Run(t.Context(), req, &s); err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(s.samples, func(a, b core.Sample) int { return a.Index - b.Index })
	return &s
}
