package servingtest

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"time"
)

// warmUp is how long a fake that listens early is not healthy yet.
const warmUp = 60 * time.Millisecond

// serve answers the OpenAI-compatible API as far as Sweepbook asks it.
func (f Fake) serve(listener net.Listener, model, fault string, log func(...string)) *http.Server {
	var answers atomic.Int64
	pace, err := time.ParseDuration(os.Getenv(PaceEnv))
	if err != nil {
		pace = 0 // as fast as it goes
	}
	warm := time.Now()
	if f.Early {
		warm = warm.Add(warmUp)
	}
	var health atomic.Int64
	mux := http.NewServeMux()
	mux.HandleFunc("GET /health", func(w http.ResponseWriter, _ *http.Request) {
		health.Add(1)
		if time.Now().Before(warm) {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	// How often it was asked for its health is what a test wants to know.
	mux.HandleFunc("GET /servingtest/health", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, health.Load()) })
	mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]any{"object": "list", "data": []any{map[string]any{"id": model, "object": "model"}}})
	})
	for path, body := range f.Info {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, body) })
	}
	answer := func(w http.ResponseWriter, r *http.Request) {
		var req struct {
			MaxTokens           int `json:"max_tokens"`
			MaxCompletionTokens int `json:"max_completion_tokens"`
		}
		if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		first := answers.Add(1) == 1
		if fault == Answers500 || fault == Broken && !first {
			http.Error(w, `{"error":{"message":"engine is gone"}}`, http.StatusInternalServerError)
			return
		}
		// Until it is warm, requests wait.
		time.Sleep(time.Until(warm))
		if text, ok := strings.CutPrefix(fault, "work:"); ok {
			log(text)
		}
		f.stream(w, r, max(req.MaxTokens, req.MaxCompletionTokens, 1), pace, fault == Stalls && !first)
	}
	mux.HandleFunc("POST /v1/completions", answer)
	mux.HandleFunc("POST /v1/chat/completions", answer)
	web := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = web.Serve(listener) }()
	return web
}

// stream sends so many tokens, one a chunk, then the usage. One that stalls sends
// only the first.
func (f Fake) stream(w http.ResponseWriter, r *http.Request, tokens int, pace time.Duration, stalls bool) {
	chat := r.URL.Path == "/v1/chat/completions"
	w.Header().Set("Content-Type", "text/event-stream")
	flush := http.NewResponseController(w)
	send := func(v any) {
		data, err := json.Marshal(v)
		if err != nil {
			panic(err) // plain maps
		}
		fmt.Fprintf(w, "data: %s%s\n\n", data, f.Tail)
		_ = flush.Flush()
	}
	if chat {
		send(map[string]any{"choices": []any{map[string]any{"index": 0, "delta": map[string]any{"role": "assistant", "content": ""}}}})
	}
	for i := range tokens {
		choice := map[string]any{"index": 0}
		if chat {
			choice["delta"] = map[string]any{"content": " a"}
		} else {
			choice["text"] = " a"
		}
		if i == tokens-1 {
			choice["finish_reason"] = "length"
		}
		send(map[string]any{"choices": []any{choice}})
		if stalls {
			<-r.Context().Done()
			return
		}
		time.Sleep(pace)
	}
	send(map[string]any{"choices": []any{}, "usage": map[string]any{"prompt_tokens": 16, "completion_tokens": tokens, "total_tokens": 16 + tokens}})
	fmt.Fprintf(w, "data: [DONE]\n\n")
}
