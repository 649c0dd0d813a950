package load

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/sweepbook/sweepbook/core"
)

// Counter counts the tokens of texts and says by what.
type Counter struct {
	Name  string // CountedBy…
	Count func(text string) (int, error)

	close func() // may be nil
}

// done lets go of what the counter holds.
func (c Counter) done() {
	if c.close != nil {
		c.close()
	}
}

// What counted tokens, as the summary's prompt_counter records it.
const (
	CountedByUsage     = "usage"          // the server's usage of each request
	CountedByTokenizer = "tokenizer.json" // the model's own vocabulary
	CountedByServer    = "server"         // the server's /tokenize
	CountedByEstimate  = "estimate"       // EstimateTokens
)

func (c Counter) exact() bool { return c.Name != CountedByEstimate }

// Counter is the tokenizer as a counter.
func (t *Tokenizer) Counter() Counter { return Counter{Name: CountedByTokenizer, Count: t.Count} }

// Estimate is the counter without a vocabulary.
func Estimate() Counter {
	return Counter{Name: CountedByEstimate, Count: func(text string) (int, error) { return EstimateTokens(text), nil }}
}

// tokenizeLimit bounds one question to /tokenize.
const tokenizeLimit = 30 * time.Second

// ServerCounter counts by the server's POST /tokenize, which vLLM offers: the
// prompt as it is, with the special tokens that the model's tokenizer adds. An
// error that wraps core.ErrUnimplemented says that the server has no /tokenize.
func ServerCounter(ctx context.Context, baseURL, model string) Counter {
	client := &http.Client{Timeout: tokenizeLimit, Transport: &http.Transport{Proxy: nil, IdleConnTimeout: idleConnAge}}
	return Counter{Name: CountedByServer, close: client.CloseIdleConnections, Count: func(text string) (int, error) {
		body, err := json.Marshal(map[string]any{"model": model, "prompt": text})
		if err != nil {
			return 0, fmt.Errorf("ask /tokenize: %w", err)
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, address(baseURL, "/tokenize"), bytes.NewReader(body))
		if err != nil {
			return 0, fmt.Errorf("ask /tokenize: %w", err)
		}
		Authorize(req)
		req.Header.Set("Content-Type", "application/json")
		resp, err := client.Do(req)
		if err != nil {
			return 0, fmt.Errorf("ask /tokenize: %w", err)
		}
		defer resp.Body.Close()
		answer, err := io.ReadAll(io.LimitReader(resp.Body, maxBody))
		switch {
		case err != nil:
			return 0, fmt.Errorf("ask /tokenize: %w", err)
		case resp.StatusCode == http.StatusNotFound || resp.StatusCode == http.StatusMethodNotAllowed:
			return 0, fmt.Errorf("ask /tokenize: %w: the server answers %d", core.ErrUnimplemented, resp.StatusCode)
		case resp.StatusCode != http.StatusOK:
			return 0, fmt.Errorf("ask /tokenize: http %d: %s", resp.StatusCode, errorText(answer[:min(len(answer), maxErrBody)]))
		}
		var v struct {
			Count *int `json:"count"`
		}
		if err := json.Unmarshal(answer, &v); err != nil {
			return 0, fmt.Errorf("ask /tokenize: %w", err)
		}
		if v.Count == nil || *v.Count < 0 {
			return 0, errors.New("ask /tokenize: the answer holds no count")
		}
		return *v.Count, nil
	}}
}

// counter chooses how prompts are counted before they are sent: by the tokenizer
// given, by the tokenizer.json that lies with a local checkpoint, by the server
// where it is known to offer that, else by an estimate. note says why a better
// way was left.
func (r Ruler) counter(ctx context.Context, req core.BenchmarkRequest) (c Counter, note string) {
	if r.Tokenizer != nil {
		return r.Tokenizer.Counter(), ""
	}
	for _, dir := range []string{req.Config.Checkpoint, req.Config.Model, req.Model} {
		path := filepath.Join(dir, "tokenizer.json")
		if dir == "" || !regular(path) {
			continue
		}
		t, err := LoadTokenizer(path)
		if err == nil {
			return t.Counter(), ""
		}
		note = err.Error()
		break
	}
	if r.AskServer || req.Config.Engine == "vllm" {
		c := ServerCounter(ctx, req.BaseURL, req.Model)
		if _, err := c.Count("token"); err == nil {
			return c, note
		} else if note == "" {
			note = err.Error()
		}
		c.done()
	}
	return Estimate(), note
}

func regular(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}
