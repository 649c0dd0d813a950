package ingest

import (
	"strings"
	"time"

	"github.com/sweepbook/sweepbook/core"
)

// guidellmRequests takes the single requests of a benchmark. The figures of a
// report are of the requests that lie whole in its window, so that warm-up,
// cool-down and what ended after the window are none of the samples. Lists that
// hold a sample of the requests only cannot say what share met a limit.
func (d *draft) guidellmRequests(b *object) {
	lists := b.sub("requests")
	from, to := unixSeconds(b.vals["start_time"]), unixSeconds(b.vals["end_time"])
	if b.has("run_stats") {
		from, to = core.NoTime, core.NoTime // of these versions the window is not known
	}
	var run requests
	outside := 0
	for _, kind := range []struct {
		key     string
		outcome core.Outcome
	}{{"successful", core.OutcomeOK}, {"errored", core.OutcomeFailed}, {"incomplete", core.OutcomeIncomplete}} {
		list, _ := lists.vals[kind.key].([]any)
		for _, item := range list {
			o, ok := item.(*object)
			if !ok {
				continue
			}
			s := guidellmRequest(o, kind.outcome)
			if from != core.NoTime && s.Sent < from-rounding && s.Sent != core.NoTime || to != core.NoTime && s.End > to+rounding {
				outside++
				continue
			}
			run.add(s)
		}
	}
	if outside > 0 {
		d.extra("requests_outside_window", core.Number(float64(outside)))
	}
	f := d.t.Figures
	if n := f["completed"] + f["failed"] + f["incomplete"]; float64(len(run.samples)) < n-float64(run.nowhere) && len(run.samples) > 0 {
		d.warn("single requests left out: the report has a sample of %d of %v", len(run.samples), n)
		return
	}
	run.give(d, false)
}

// guidellmRequest reads one request, in the shape of 0.4 and later (info.timings)
// or of the versions before.
func guidellmRequest(o *object, outcome core.Outcome) core.Sample {
	s := newRequest()
	info := o.sub("info")
	if !o.has("info") {
		info = o.sub("scheduler_info")
	}
	timings := info.sub("timings")
	if len(timings.keys) == 0 {
		timings = info.sub("request_timings")
	}
	at := func(keys ...string) time.Duration {
		for _, key := range keys {
			if t := unixSeconds(firstSet(timings.vals[key], o.vals[key])); t != core.NoTime {
				return t
			}
		}
		return core.NoTime
	}
	s.Due = at("targeted_start")
	s.Sent = at("request_start", "start_time", "request_start_time")
	s.End = at("request_end", "end_time", "request_end_time")
	s.First = at("first_token_iteration", "first_iteration", "first_token_time")
	s.Last = at("last_token_iteration", "last_iteration", "last_token_time")
	s.InputTokens = tokensOf(firstSet(o.vals["prompt_tokens"], o.sub("input_metrics").vals["total_tokens"]))
	s.OutputTokens = tokensOf(firstSet(o.vals["output_tokens"], o.sub("output_metrics").vals["total_tokens"]))
	s.CachedTokens = tokensOf(o.vals["cached_tokens"])
	switch s.Outcome = outcome; outcome {
	case core.OutcomeFailed:
		return failed(s, firstOf(o.text("error"), info.text("error"), "error"))
	case core.OutcomeOK:
		if s.Last == core.NoTime {
			s.Last = s.End // not streamed
		}
	}
	return s
}

// guidellmTexts are keys below a report whose values no record needs: prompts,
// answers and shapes of distributions.
func guidellmTexts(key string) bool {
	switch key {
	case "request_args", "output", "reasoning_output", "tool_calls", "traceback", "prompt", "pdf", "cumulative_distribution_function", "percentile_cis":
		return true
	}
	return strings.HasPrefix(key, "image_") || strings.HasPrefix(key, "video_") || strings.HasPrefix(key, "audio_")
}
