package load_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/core/load"
)

func TestFlushPrefixCache(t *testing.T) {
	for _, tt := range []struct {
		name, engine, path string
		status             int
		body               string
		good, absent       bool
	}{
		{"vllm", "vllm", "POST /reset_prefix_cache", 200, "", true, false},
		{"vllm says so", "vllm", "POST /reset_prefix_cache", 200, `{"success":true}`, true, false},
		{"vllm did not", "vllm", "POST /reset_prefix_cache", 200, `{"success":false}`, false, false},
		{"vllm without its mode", "vllm", "POST /other", 200, "", false, true},
		{"sglang", "sglang", "POST /flush_cache", 200, "Cache flushed.", true, false},
		{"sglang is busy", "sglang", "POST /flush_cache", 400, "requests are running", false, false},
		{"trtllm", "trtllm", "POST /", 200, "", false, true},
	} {
		mux := http.NewServeMux()
		mux.HandleFunc(tt.path, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(tt.status)
			_, _ = io.WriteString(w, tt.body)
		})
		server := httptest.NewServer(mux)
		err := load.FlushPrefixCache(t.Context(), tt.engine, server.URL+"/v1")
		server.Close()
		if (err == nil) != tt.good || errors.Is(err, core.ErrUnimplemented) != tt.absent {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}
