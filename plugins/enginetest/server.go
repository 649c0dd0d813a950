package enginetest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"
)

// Server is a small HTTP server that answers like a serving engine: health, the
// list of models, and completions and chat completions, streamed or whole, with
// usage at the end.
type Server struct {
	URL   string // "http://127.0.0.1:41234"
	Model string
	// Requests counts the completions that were asked for.
	Requests atomic.Int64
	// Delay is the time before each token; set it before the first request.
	Delay time.Duration
	// Hang makes completions answer nothing until the request is given up.
	Hang atomic.Bool
}

// NewServer starts a server that serves one model until the test ends.
func NewServer(t testing.TB, model string) *Server {
	t.Helper()
	s := &Server{Model: model, Delay: time.Millisecond}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /health", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"object":"list","data":[{"id":%q,"object":"model"}]}`, s.Model)
	})
	mux.HandleFunc("POST /v1/completions", func(w http.ResponseWriter, r *http.Request) {
		s.answer(w, r, func(text string) any { return map[string]any{"index": 0, "text": text} })
	})
	mux.HandleFunc("POST /v1/chat/completions", func(w http.ResponseWriter, r *http.Request) {
		s.answer(w, r, func(text string) any { return map[string]any{"index": 0, "delta": map[string]string{"content": text}} })
	})
	server := httptest.NewServer(mux)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	s.URL = server.URL
	return s
}

func (s *Server) answer(w http.ResponseWriter, r *http.Request, choice func(string) any) {
	var in struct {
		MaxTokens           int  `json:"max_tokens"`
		MaxCompletionTokens int  `json:"max_completion_tokens"`
		Stream              bool `json:"stream"`
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		http.Error(w, `{"error":{"message":"the body is no JSON"}}`, http.StatusBadRequest)
		return
	}
	s.Requests.Add(1)
	if s.Hang.Load() {
		<-r.Context().Done()
		return
	}
	n := max(in.MaxTokens, in.MaxCompletionTokens)
	if n <= 0 {
		n = 16
	}
	usage := map[string]int{"prompt_tokens": 5, "completion_tokens": n, "total_tokens": n + 5}
	if !in.Stream {
		time.Sleep(s.Delay)
		_ = json.NewEncoder(w).Encode(map[string]any{"model": s.Model, "choices": []any{choice("token")}, "usage": usage})
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	event := func(v any) {
		data, _ := json.Marshal(v)
		fmt.Fprintf(w, "data: %s\n\n", data)
		_ = http.NewResponseController(w).Flush()
	}
	for range n {
		select {
		case <-r.Context().Done():
			return
		case <-time.After(s.Delay):
		}
		event(map[string]any{"model": s.Model, "choices": []any{choice("tok ")}})
	}
	event(map[string]any{"model": s.Model, "choices": []any{}, "usage": usage})
	fmt.Fprint(w, "data: [DONE]\n\n")
}
