//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestGoodputOfSharedCase48 imports the requests of the case as the detailed result of
// vllm bench serve that they come from, and asks for the limits that the case states.
func TestGoodputOfSharedCase48(t *testing.T) {
	dir := filepath.Join("..", "..", "..", "shared", "cases", "48-percentiles-small-n-and-goodput-edges")
	if _, err := os.Stat(dir); err != nil {
		t.Skip("the shared cases are not here")
	}
	var given struct {
		Duration float64            `json:"duration_s"`
		SLO      map[string]float64 `json:"slo"`
		Requests []struct {
			OK      bool    `json:"ok"`
			TTFT    float64 `json:"ttft_ms"`
			Latency float64 `json:"latency_ms"`
			Tokens  int     `json:"output_tokens"`
			Error   string  `json:"error"`
		} `json:"requests"`
	}
	var want struct {
		Goodput struct {
			PerSecond float64 `json:"req_per_s"`
			Ratio     float64 `json:"ratio"`
		} `json:"goodput"`
	}
	for name, into := range map[string]any{"goodput.json": &given, "expected.json": &want} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(data, into); err != nil {
			t.Fatal(err)
		}
	}
	completed := 0
	var ttfts, latencies []float64
	var tokens []int
	var errors []string
	for _, r := range given.Requests {
		if r.OK {
			completed++
		}
		ttfts, latencies = append(ttfts, r.TTFT/1000), append(latencies, r.Latency/1000)
		tokens, errors = append(tokens, r.Tokens), append(errors, r.Error)
	}
	n := len(given.Requests)
	result, err := json.Marshal(map[string]any{
		"backend": "vllm", "model_id": "m/M-8B", "num_prompts": n, "request_rate": "inf", "duration": given.Duration, "completed": completed,
		"failed": n - completed, "request_throughput": float64(completed) / given.Duration,
		"ttfts": ttfts, "latencies": latencies, "output_lens": tokens, "errors": errors,
	})
	if err != nil {
		t.Fatal(err)
	}
	work := t.TempDir()
	if err := os.WriteFile(filepath.Join(work, "result.json"), result, 0o600); err != nil {
		t.Fatal(err)
	}
	slo := fmt.Sprintf("ttft_ms <= %g and tpot_ms <= %g", given.SLO["ttft_ms"], given.SLO["tpot_ms"])
	var out []byte
	for _, args := range [][]string{
		{"import", "result.json"},
		{"-o", "json", "query", fmt.Sprintf("max goodput(%s) as rps where attained(%s) == %g", slo, slo, want.Goodput.Ratio)},
	} {
		cmd := exec.Command("sweepbook", append([]string{"--db", "h.db"}, args...)...)
		cmd.Dir, cmd.Env = work, append(os.Environ(), "HOME="+work)
		if out, err = cmd.Output(); err != nil {
			t.Fatalf("%v: %v: %s", args, err, out)
		}
	}
	var answer struct{ Rows []struct{ RPS float64 } }
	if err := json.Unmarshal(out, &answer); err != nil {
		t.Fatal(err)
	}
	if len(answer.Rows) != 1 || answer.Rows[0].RPS != want.Goodput.PerSecond {
		t.Errorf("goodput %+v, want %g a second of a trial of which %g attain it", answer.Rows, want.Goodput.PerSecond, want.Goodput.Ratio)
	}
}
