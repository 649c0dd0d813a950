package load

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sweepbook/sweepbook/core"
)

// names are what engines call a quantity, in the order in which they are tried.
// The first that is there counts; engines renamed metrics over time.
type names []string

// serverMetrics are the Prometheus names of vLLM, SGLang, TensorRT-LLM, LMDeploy
// and the simulator.
var serverMetrics = struct {
	kvUse, preempted, hits, queries, cachedTokens, promptTokens, drafts, drafted, accepted, acceptLen names
}{
	kvUse: names{"vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc", "sglang:token_usage", "trtllm_kv_cache_utilization",
		"lmdeploy:gpu_cache_usage_perc", "sim:kv_cache_usage_perc"},
	preempted:    names{"vllm:num_preemptions_total", "sglang:num_retracted_requests_total", "sim:num_preemptions_total"},
	hits:         names{"vllm:prefix_cache_hits_total", "vllm:gpu_prefix_cache_hits_total", "sim:prefix_cache_hits_total"},
	queries:      names{"vllm:prefix_cache_queries_total", "vllm:gpu_prefix_cache_queries_total", "sim:prefix_cache_queries_total"},
	cachedTokens: names{"sglang:cached_tokens_total", "trtllm_prompt_cached_tokens_total"},
	promptTokens: names{"sglang:prompt_tokens_total", "trtllm_prompt_tokens_total"},
	drafts:       names{"vllm:spec_decode_num_drafts_total", "sim:spec_decode_num_drafts_total"},
	drafted:      names{"vllm:spec_decode_num_draft_tokens_total", "trtllm_spec_decode_num_draft_tokens_total", "sim:spec_decode_num_draft_tokens_total"},
	accepted:     names{"vllm:spec_decode_num_accepted_tokens_total", "trtllm_spec_decode_num_accepted_tokens_total", "sim:spec_decode_num_accepted_tokens_total"},
	acceptLen:    names{"sglang:spec_accept_length", "trtllm_spec_decode_acceptance_length"},
}

// highest gives the highest series of the first of the names that is there.
func (n names) highest(in map[string]float64) (v float64, ok bool) {
	for _, name := range n {
		if v, ok := in[name+":max"]; ok {
			return v, true
		}
	}
	return 0, false
}

// serverCounters are the names of all counters of which a growth is taken.
func serverCounters() map[string]bool {
	m, known := &serverMetrics, map[string]bool{}
	for _, list := range []names{m.preempted, m.hits, m.queries, m.cachedTokens, m.promptTokens, m.drafts, m.drafted, m.accepted} {
		for _, name := range list {
			known[name] = true
		}
	}
	return known
}

// delta gives the growth of a counter. A counter that went back, as after a
// restart, is unknown.
func (n names) delta(before, after map[string]float64) (d float64, ok bool) {
	for _, name := range n {
		a, okA := after[name]
		b, okB := before[name]
		if okA && okB {
			return a - b, !wentBack(name, before, after)
		}
	}
	return 0, false
}

// wentBack reports whether a counter, or one of its series (an engine, a rank),
// stands lower than before or is gone.
func wentBack(name string, before, after map[string]float64) bool {
	for key, was := range before {
		rest, ok := strings.CutPrefix(key, name)
		if !ok || rest != "" && rest[0] != '{' {
			continue
		}
		if now, there := after[key]; !there || now < was {
			return true
		}
	}
	return false
}

// WentBack names the known counters that stand lower in the later of two scrapes, or
// are not in it any more: the server began anew between them, and what it did in that
// time is unknown.
func WentBack(before, after map[string]float64) []string {
	var out []string
	for name := range serverCounters() {
		if _, was := before[name]; was && wentBack(name, before, after) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// PrefixCacheTokens gives how many prompt tokens the server looked up in its prefix
// cache between two scrapes, and how many it found; missing where it does not say.
func PrefixCacheTokens(before, after map[string]float64) (queries, hits core.Value) {
	m := &serverMetrics
	found, okHits := m.hits.delta(before, after)
	asked, okQueries := m.queries.delta(before, after)
	if !okHits || !okQueries {
		found, okHits = m.cachedTokens.delta(before, after)
		asked, okQueries = m.promptTokens.delta(before, after)
	}
	if !okHits || !okQueries || found > asked {
		return core.Missing(), core.Missing()
	}
	return core.Number(asked), core.Number(found)
}

// ServerFigures computes what the server's own counters say of the window between
// two scrapes: accept_len, accept_rate, prefix_hit_rate, preemptions and the
// tokens found in the prefix cache. A counter that the server does not have, or
// that went back, makes its figure missing. kv_cache_peak is the higher of the two
// here; a Window sees more.
//
//	prefix_hit_rate  cached / looked-up prompt tokens
//	accept_rate      accepted / drafted tokens
//	accept_len       1 + accepted tokens / drafts, tokens a decoding step
func ServerFigures(before, after map[string]float64) (f core.Figures, cachedTokens core.Value) {
	f = core.Figures{}
	m := &serverMetrics
	if queries, hits := PrefixCacheTokens(before, after); queries.Num > 0 {
		f.Set("prefix_hit_rate", hits.Num/queries.Num)
		cachedTokens = hits
	}
	accepted, okAccepted := m.accepted.delta(before, after)
	if drafted, ok := m.drafted.delta(before, after); ok && okAccepted && drafted > 0 {
		f.Set("accept_rate", accepted/drafted)
	}
	if drafts, ok := m.drafts.delta(before, after); ok && okAccepted && drafts > 0 {
		f.Set("accept_len", 1+accepted/drafts)
	} else if v, ok := m.acceptLen.highest(after); ok && v >= 1 {
		f.Set("accept_len", v) // a gauge of the engine's own, over its latest steps
	}
	if n, ok := m.preempted.delta(before, after); ok {
		f.Set("preemptions", n)
	}
	for _, in := range []map[string]float64{before, after} {
		if v, ok := m.kvUse.highest(in); ok && v >= 0 && v <= 1 {
			f.Set("kv_cache_peak", max(v, f["kv_cache_peak"]))
		}
	}
	return f, cachedTokens
}

// scrapeEvery is how often a Window looks at gauges. Engines advise against more.
const scrapeEvery = time.Second

// Window watches a server's metrics while it is measured. Use OpenWindow and
// Close; between them it scrapes once a second for what is only a moment's value.
type Window struct {
	before map[string]float64
	base   string
	err    error

	cancel context.CancelFunc
	done   sync.WaitGroup
	mu     sync.Mutex
	peak   float64
	seen   bool
}

// OpenWindow scrapes the server and begins to watch it. A server without metrics is
// no error here: Close then says so.
func OpenWindow(ctx context.Context, baseURL string) *Window {
	w := &Window{base: baseURL}
	w.before, w.err = Scrape(ctx, baseURL)
	watch, cancel := context.WithCancel(ctx)
	w.cancel = cancel
	if w.err != nil {
		return w
	}
	w.look(w.before)
	w.done.Go(func() {
		tick := time.NewTicker(scrapeEvery)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
			case <-watch.Done():
				return
			}
			if m, err := Scrape(watch, baseURL); err == nil {
				w.look(m)
			}
		}
	})
	return w
}

func (w *Window) look(m map[string]float64) {
	if v, ok := serverMetrics.kvUse.highest(m); ok && v >= 0 && v <= 1 {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.peak, w.seen = max(w.peak, v), true
	}
}

// Close scrapes a last time and gives the server's figures of the window. The
// figures are empty where the server has no metrics, and the error says why; of a
// server that began anew the error says which counters are unknown. It returns within seconds even when the server hangs.
func (w *Window) Close(ctx context.Context) (core.Figures, error) {
	w.cancel()
	w.done.Wait()
	if w.err != nil {
		return core.Figures{}, w.err
	}
	after, err := Scrape(ctx, w.base)
	if err != nil {
		return core.Figures{}, err
	}
	w.look(after)
	f, cached := ServerFigures(w.before, after)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.seen {
		f.Set("kv_cache_peak", w.peak)
	}
	if cached.Kind == core.KindNumber {
		f.Set("cached_tokens", cached.Num)
	}
	if back := WentBack(w.before, after); len(back) > 0 {
		return f, fmt.Errorf("the server began anew while it was measured: %s went back", strings.Join(back, ", "))
	}
	if len(f) == 0 {
		return f, errors.New("the server's metrics hold none of the names that are known")
	}
	return f, nil
}
