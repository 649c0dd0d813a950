package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/store"
)

// exportVLLM writes each trial with figures as a line of JSON with the keys of
// `vllm bench serve`, one object after another as its --append-result does. Where
// single requests are known they follow as its --save-detailed gives them.
func (a *app) exportVLLM(ctx context.Context, db *store.DB, where string, samples bool, w io.Writer) error {
	out := bufio.NewWriter(w)
	left, err := eachMeasured(ctx, db, where, a.now(), func(t *core.Trial) error {
		var requests []core.Sample
		if samples {
			var err error
			if requests, err = db.Samples(ctx, t.ID); err != nil {
				return fmt.Errorf("export trial %s: %w", t.ID, err)
			}
		}
		_, err := out.Write(append(vllmResult(t, requests), '\n'))
		return err
	})
	if err != nil {
		return err
	}
	a.sayLeft("vllm-json", left)
	return out.Flush()
}

// keyed is a JSON object whose keys keep their order.
type keyed struct{ bytes.Buffer }

func (k *keyed) put(key string, v any) {
	text, err := json.Marshal(v)
	if err != nil {
		return // what is no finite number is not written
	}
	if k.Len() == 0 {
		k.WriteByte('{')
	} else {
		k.WriteString(", ")
	}
	fmt.Fprintf(k, "%q: %s", key, text)
}

// figure writes a figure that the trial has.
func (k *keyed) figure(key string, t *core.Trial, name string) {
	if v, ok := t.Figures[name]; ok {
		k.put(key, v)
	}
}

// vllmResult is one result. What vllm bench would write as metadata names the
// trial and what was served.
func vllmResult(t *core.Trial, requests []core.Sample) []byte {
	k := &keyed{}
	if ended := endOf(t); !ended.IsZero() {
		k.put("date", ended.UTC().Format("20060102-150405"))
	}
	cfg := t.Setup.Config
	backend := "openai-chat"
	if strings.Contains(t.Workload.Endpoint, "completions") && !strings.Contains(t.Workload.Endpoint, "chat") {
		backend = "openai"
	}
	k.put("endpoint_type", backend)
	k.put("backend", backend)
	k.put("label", optional(t.Option))
	k.put("model_id", cfg.Model)
	k.put("tokenizer_id", cfg.Model)
	if n, ok := t.Figures["requested"]; ok {
		k.put("num_prompts", n)
	} else if t.Load.NumPrompts.Kind == core.KindNumber {
		k.put("num_prompts", t.Load.NumPrompts.Num)
	}
	for _, m := range [][2]string{{"sweepbook_id", t.ID.String()}, {"sweepbook_study", t.Study}, {"engine", cfg.Engine}, {"engine_version", t.Setup.EngineVersion}, {"gpu", t.Value("gpu").String()}} {
		if m[1] != "" {
			k.put(m[0], m[1])
		}
	}
	switch rate := t.Load.RequestRate; {
	case rate.IsUnlimited():
		k.put("request_rate", "inf")
	case rate.Kind == core.KindNumber:
		k.put("request_rate", rate.Num)
	}
	if b := t.Load.Burstiness; b.Kind == core.KindNumber {
		k.put("burstiness", b.Num)
	}
	switch c := t.Load.Concurrency; {
	case c.IsUnlimited():
		k.put("max_concurrency", nil)
	case c.Kind == core.KindNumber:
		k.put("max_concurrency", c.Num)
	}
	for _, m := range [][2]string{
		{"duration", "duration_s"}, {"completed", "completed"}, {"failed", "failed"}, {"total_input_tokens", "input_tokens"}, {"total_output_tokens", "output_tokens"},
		{"request_throughput", "rps"}, {"request_goodput", "goodput_rps"}, {"output_throughput", "output_tps"}, {"total_token_throughput", "total_tps"},
		{"max_output_tokens_per_s", "peak_output_tps"}, {"max_concurrent_requests", "peak_concurrency"},
	} {
		k.figure(m[0], t, m[1])
	}
	vllmRequests(k, requests, t.Extra["sample_times"].IsMissing())
	for _, latency := range []string{"ttft", "tpot", "itl", "e2el"} {
		for _, stat := range []string{"mean", "median", "std", "p90", "p95", "p99"} {
			name := core.LatencyName(stat, latency)
			k.figure(name, t, name)
		}
	}
	k.WriteByte('}')
	return k.Bytes()
}

// vllmRequests writes the columns of the requests: zeros for one that failed, as
// vllm bench has them. Gaps between chunks are written where all answers have them.
func vllmRequests(k *keyed, requests []core.Sample, started bool) {
	requests = slices.DeleteFunc(slices.Clone(requests), func(s core.Sample) bool { return s.Outcome == core.OutcomeIncomplete })
	if len(requests) == 0 {
		return
	}
	n := len(requests)
	in, out, errors := make([]int, n), make([]int, n), make([]string, n)
	starts, ttfts, latencies, itls := make([]float64, n), make([]float64, n), make([]float64, n), make([][]float64, n)
	whole := true
	for i, s := range requests {
		in[i], starts[i], itls[i] = max(s.InputTokens, 0), s.Sent.Seconds(), []float64{}
		if s.Outcome != core.OutcomeOK {
			errors[i] = s.Error
			continue
		}
		out[i] = max(s.OutputTokens, 0)
		if s.First == core.NoTime || s.Last == core.NoTime {
			return // not streamed: vllm bench knows no such requests
		}
		ttfts[i], latencies[i] = (s.First - s.Sent).Seconds(), (s.Last - s.Sent).Seconds()
		whole = whole && (len(s.Chunks) > 0 || s.First == s.Last)
		for c := 1; c < len(s.Chunks); c++ {
			itls[i] = append(itls[i], (s.Chunks[c] - s.Chunks[c-1]).Seconds())
		}
	}
	k.put("input_lens", in)
	k.put("output_lens", out)
	k.put("ttfts", ttfts)
	if whole {
		k.put("itls", itls)
	}
	if started {
		k.put("start_times", starts)
	}
	k.put("latencies", latencies)
	k.put("errors", errors)
}

// endOf is when a trial ended, as far as it is known.
func endOf(t *core.Trial) time.Time {
	if t.EndedAt.IsZero() && !t.StartedAt.IsZero() {
		return t.StartedAt.Add(time.Duration(t.Figures["duration_s"] * float64(time.Second)))
	}
	return t.EndedAt
}

func optional(s string) any {
	if s == "" {
		return nil
	}
	return s
}
