package sim

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"net/http"
	"sync/atomic"
	"time"
)

// maxBody bounds a request: a million token ids take about 8 MB.
const maxBody = 64 << 20

// errCrash is the end that --fault-crash-after asks for.
var errCrash = errors.New("crash asked")

// crashDelay is real time.
const crashDelay = 20 * time.Millisecond

// server answers the HTTP API over one engine.
type server struct {
	m      *machine
	engine *engine
	served string
	faults faults
	log    *logger
	start  time.Time
	// stop ends the server, with errCrash as an engine crash ends one.
	stop     context.CancelCauseFunc
	stopping <-chan struct{} // closed when the server is to end

	received, admitted, answered, failed atomic.Int64
}

func (s *server) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/completions", func(w http.ResponseWriter, r *http.Request) { s.generate(w, r, false) })
	mux.HandleFunc("POST /v1/chat/completions", func(w http.ResponseWriter, r *http.Request) { s.generate(w, r, true) })
	mux.HandleFunc("GET /v1/models", s.models)
	mux.HandleFunc("GET /health", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("GET /version", func(w http.ResponseWriter, _ *http.Request) { reply(w, map[string]string{"version": Version}) })
	mux.HandleFunc("GET /metrics", s.metrics)
	mux.HandleFunc("POST /reset_prefix_cache", func(w http.ResponseWriter, _ *http.Request) {
		s.engine.resetCache()
		reply(w, map[string]bool{"success": true})
	})
	mux.HandleFunc("POST /shutdown", s.shutdown)
	return mux
}

func (s *server) models(w http.ResponseWriter, _ *http.Request) {
	type model struct {
		ID          string `json:"id"`
		Object      string `json:"object"`
		Created     int64  `json:"created"`
		OwnedBy     string `json:"owned_by"`
		MaxModelLen int    `json:"max_model_len"`
	}
	reply(w, map[string]any{"object": "list", "data": []model{{s.served, "model", s.start.Unix(), "sweepbook-sim", s.m.contextLen}}})
}

func (s *server) shutdown(w http.ResponseWriter, _ *http.Request) {
	reply(w, map[string]string{"status": "stopping"})
	if s.faults.ignoreTerm {
		s.log.print("WARN", "fault: /shutdown is ignored")
		return
	}
	_ = http.NewResponseController(w).Flush()
	s.stop(context.Canceled)
}

// everyShare says yes to a share of the numbers 1, 2, 3, …, evenly spread, so
// that n requests see exactly the whole part of n times the share.
func everyShare(n int64, share float64) bool {
	return math.Floor(float64(n)*share) > math.Floor(float64(n-1)*share)
}

func refuse(w http.ResponseWriter, e *apiError) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(e.Code)
	writeJSON(w, map[string]any{"error": e})
}

func reply(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	writeJSON(w, v)
}

func writeJSON(w io.Writer, v any) {
	// A client that is gone cannot be told so.
	_ = json.NewEncoder(w).Encode(v)
}
