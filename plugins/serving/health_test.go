package serving_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/plugins/serving"
)

// await waits until a server of this process that serves the model m is ready.
func await(t *testing.T, server http.Handler, health string) error {
	t.Helper()
	s := httptest.NewServer(server)
	t.Cleanup(s.Close)
	log := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(log, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	check := serving.ReadyCheck{Rule: core.ReadyRule{BaseURL: s.URL, Model: "m", Timeout: time.Minute}, PIDs: []int{os.Getpid()}, LogPath: log, Health: health}
	return check.Await(t.Context())
}

// TestHealthFirst: an engine may list a model that it still loads; where a health
// path is named, nothing else is asked before it answers 200.
func TestHealthFirst(t *testing.T) {
	var looks, early atomic.Int64
	mux := http.NewServeMux()
	mux.HandleFunc("GET /health", func(w http.ResponseWriter, _ *http.Request) {
		if looks.Add(1) < 4 {
			http.Error(w, "loading", http.StatusServiceUnavailable)
		}
	})
	mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, _ *http.Request) {
		if looks.Load() < 4 {
			early.Add(1)
		}
		fmt.Fprint(w, `{"data":[{"id":"m"}]}`)
	})
	mux.HandleFunc("POST /v1/completions", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "data: {\"choices\":[{\"index\":0,\"text\":\"a\"}]}\n\ndata: [DONE]\n\n")
	})
	if err := await(t, mux, "/health"); err != nil {
		t.Fatal(err)
	}
	if looks.Load() < 4 || early.Load() > 0 {
		t.Errorf("health was asked %d times, the models %d times before it was good", looks.Load(), early.Load())
	}
}

// TestBusyIsNoTry: answers of a server that is still busy do not use up the tries
// of one that fails now and then while it warms up.
func TestBusyIsNoTry(t *testing.T) {
	var asked atomic.Int64
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"data":[{"id":"m"}]}`) })
	mux.HandleFunc("POST /v1/completions", func(w http.ResponseWriter, _ *http.Request) {
		switch n := asked.Add(1); {
		case n <= 3:
			http.Error(w, "loading", http.StatusServiceUnavailable)
		case n == 4:
			http.Error(w, "not yet", http.StatusInternalServerError)
		default:
			fmt.Fprint(w, "data: {\"choices\":[{\"index\":0,\"text\":\"a\"}]}\n\ndata: [DONE]\n\n")
		}
	})
	if err := await(t, mux, ""); err != nil {
		t.Errorf("after %d completions: %v", asked.Load(), err)
	}
}
