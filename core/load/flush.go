package load

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/sweepbook/sweepbook/core"
)

// FlushPrefixCache empties a server's prefix cache between two measurements, so
// that the second does not read what the first left. Only an answer that says so
// counts: vLLM resets only in its development mode and answers 404 otherwise, and
// SGLang refuses while requests run. Engines that cannot do it give an error that
// wraps core.ErrUnimplemented; fresh prompts, or a new launch, are then the way.
// Whether it worked shows in the next window's prefix_hit_rate.
func FlushPrefixCache(ctx context.Context, engine, baseURL string) error {
	path, ok := map[string]endpoint{"vllm": "/reset_prefix_cache", "sim": "/reset_prefix_cache", "sglang": "/flush_cache"}[engine]
	if !ok {
		return fmt.Errorf("flush prefix cache: %w: engine %q", core.ErrUnimplemented, engine)
	}
	ctx, cancel := context.WithTimeout(ctx, tokenizeLimit)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address(baseURL, path), nil)
	if err != nil {
		return fmt.Errorf("flush prefix cache: %w", err)
	}
	Authorize(req)
	resp, err := (&http.Transport{Proxy: nil, DisableKeepAlives: true}).RoundTrip(req)
	if err != nil {
		return fmt.Errorf("flush prefix cache: %w", err)
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrBody))
	var said struct {
		Success *bool `json:"success"`
	}
	switch {
	case resp.StatusCode == http.StatusNotFound || resp.StatusCode == http.StatusMethodNotAllowed:
		return fmt.Errorf("flush prefix cache: %w: the server answers %d to %s", core.ErrUnimplemented, resp.StatusCode, path)
	case resp.StatusCode != http.StatusOK:
		return fmt.Errorf("flush prefix cache: http %d: %s", resp.StatusCode, errorText(body))
	case json.Unmarshal(body, &said) == nil && said.Success != nil && !*said.Success:
		return errors.New("flush prefix cache: the server says that it did not")
	}
	return nil
}
