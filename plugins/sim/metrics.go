package sim

import (
	"fmt"
	"net/http"
	"strconv"
)

// metrics writes the engine's state in Prometheus text.
func (s *server) metrics(w http.ResponseWriter, _ *http.Request) {
	st := s.engine.snapshot()
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	label := "{model_name=" + strconv.Quote(s.served) + "}"
	line := func(kind, name, help string, v float64) {
		fmt.Fprintf(w, "# HELP sim:%s %s\n# TYPE sim:%s %s\nsim:%s%s %s\n", name, help, name, kind, name, label, plain(v))
	}
	line("gauge", "num_requests_running", "sequences that take part in steps", float64(st.Running))
	line("gauge", "num_requests_waiting", "sequences in the queue", float64(st.Waiting))
	line("gauge", "kv_cache_usage_perc", "share of the KV blocks held, 0 to 1", float64(st.BlocksUsed)/float64(s.m.blocks))
	line("counter", "num_preemptions_total", "sequences whose blocks were taken away", float64(st.Preemptions))
	line("counter", "prompt_tokens_total", "prompt tokens admitted", float64(st.PromptTokens))
	line("counter", "generation_tokens_total", "tokens generated", float64(st.GenerationTokens))
	line("counter", "prefix_cache_queries_total", "prompt tokens looked up in the prefix cache", float64(st.CacheQueries))
	line("counter", "prefix_cache_hits_total", "prompt tokens found there", float64(st.CacheHits))
	line("counter", "spec_decode_num_drafts_total", "steps of a sequence that verified drafts", float64(st.Drafts))
	line("counter", "spec_decode_num_draft_tokens_total", "drafted tokens", float64(st.DraftTokens))
	line("counter", "spec_decode_num_accepted_tokens_total", "drafted tokens that held", float64(st.AcceptedTokens))
	line("counter", "request_success_total", "requests answered whole", float64(s.answered.Load()))
	line("counter", "request_failure_total", "requests refused, broken or given up", float64(s.failed.Load()))
	line("counter", "iterations_total", "steps of the engine", float64(st.Steps))
	line("counter", "simulated_seconds_total", "simulated time of the latest step's end", st.Virtual.Seconds())
	line("gauge", "pacing_late_seconds_max", "real seconds by which the latest step came too late", st.MaxLate.Seconds())
	line("counter", "pacing_moves_total", "times that the schedule was moved because the machine could not keep it", float64(st.Moved))
}
