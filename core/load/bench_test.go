package load_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/core/load"
)

// BenchmarkRequest is what one request of 16 tokens costs the ruler over
// loopback, the server's part (one write of a ready answer) included: the floor
// below which a latency says more of the ruler than of the engine.
func BenchmarkRequest(b *testing.B) {
	answer := strings.Repeat("data: "+`{"id":"chatcmpl-1","object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":{"content":" word"},"finish_reason":null}]}`+"\n\n", 16) +
		"data: " + `{"choices":[],"usage":{"prompt_tokens":32,"completion_tokens":16}}` + "\n\ndata: [DONE]\n\n"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, answer)
	}))
	defer server.Close()
	b.ReportAllocs()
	var s sink
	if err := load.Run(b.Context(), request(server.URL, random(32, 16, "", nil), closed(1, float64(b.N))), &s); err != nil {
		b.Fatal(err)
	}
	f := load.Figures(s.samples)
	if f["completed"] != float64(b.N) {
		b.Fatalf("completed %v of %d", f["completed"], b.N)
	}
	b.ReportMetric(f["mean_e2el_ms"]*1e6, "ns-e2el")
}

// BenchmarkFigures is the figures of a thousand requests of 200 chunks.
func BenchmarkFigures(b *testing.B) {
	var samples []core.Sample
	for i := range 1000 {
		at := float64(i) / 50
		var chunks []float64
		for c := range 200 {
			chunks = append(chunks, at+0.2+0.01*float64(c))
		}
		samples = append(samples, streamed(at, 200, chunks...))
	}
	b.ReportAllocs()
	for b.Loop() {
		load.Figures(samples)
	}
}

// BenchmarkRandomPrompt is one text prompt of 1000 tokens.
func BenchmarkRandomPrompt(b *testing.B) {
	p, err := load.NewPrompts(random(1000, 16, "", nil), core.Load{}, "")
	if err != nil {
		b.Fatal(err)
	}
	for i := 0; b.Loop(); i++ {
		p.At(i)
	}
}

// BenchmarkTokenizer counts mixed text by the small vocabulary, or by the
// tokenizer.json that SWEEPBOOK_QWEN3_TOKENIZER names.
func BenchmarkTokenizer(b *testing.B) {
	path := os.Getenv("SWEEPBOOK_QWEN3_TOKENIZER")
	if path == "" {
		path = small(b, nil)
	}
	tok, err := load.LoadTokenizer(path)
	if err != nil {
		b.Fatal(err)
	}
	var cases struct{ Cases []tokenCase }
	readJSON(b, filepath.Join("testdata", "tokenizer", "qwen3.json"), &cases)
	var text strings.Builder
	for text.Len() < 90_000 {
		for _, c := range cases.Cases {
			text.WriteString(c.Text + "\n")
		}
	}
	b.SetBytes(int64(text.Len()))
	for b.Loop() {
		if _, err := tok.Count(text.String()); err != nil {
			b.Fatal(err)
		}
	}
}
