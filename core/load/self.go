package load

import (
	"math"
	"runtime"
	"runtime/metrics"
	"slices"
	"sync"
	"time"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/core/stats"
)

// self is what the ruler measures of itself, so that a reader can see when the
// client and not the server was the limit.
type self struct {
	mu       sync.Mutex
	lags     []float32 // ms
	connects []float32 // ms
	repeats  int
	loops    int
	judged   int
	ttfos    []float64 // ms

	wall  time.Time
	cpu   time.Duration
	sched *metrics.Float64Histogram
	reads *delays
}

func newSelf(reads *delays) *self {
	cpu, _ := processCPU()
	reads.reset()
	return &self{wall: time.Now(), cpu: cpu, sched: schedLatencies(), reads: reads}
}

// lag tells how long after it could have been sent a request was sent: after its
// due moment and, under a limit of requests in flight, after its slot was free.
func (s *self) lag(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lags = append(s.lags, float32(max(0, d))/float32(time.Millisecond))
}

// connect tells how long a request waited for a connection.
func (s *self) connect(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.connects = append(s.connects, float32(d)/float32(time.Millisecond))
}

// again tells that a request was asked a second time, as its connection was closing
// when it was sent.
func (s *self) again() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.repeats++
}

// answered looks at a completed answer.
func (s *self) answered(sample *core.Sample, a *answer) {
	loops, known := a.tail.loops()
	s.mu.Lock()
	defer s.mu.Unlock()
	if known {
		s.judged++
		if loops {
			s.loops++
		}
	}
	if a.first != core.NoTime && a.first > sample.First {
		s.ttfos = append(s.ttfos, float64(a.first-sample.Sent)/float64(time.Millisecond))
	}
}

// LagAllowance is how late a request may be sent before it counts as late.
const LagAllowance = time.Millisecond

// summary gives the figures as extras:
//
//	client_lag_p99_ms    p99 of the lag, see lag
//	client_late_share    share of the requests sent more than 1 ms late
//	client_cpu_share     CPU time of this process / (wall time × CPUs it may use)
//	client_sched_p99_ms  p99 of the time from when a goroutine could run until it did
//	client_read_lag_p99_ms  p99 of how long bytes of an answer waited until they were read, where the kernel tells
//	connect_p99_ms       p99 of the wait for a connection
//	asked_again          requests that met a closing connection and were sent a second time; absent where none was
//	degenerate_share     share of the answers, of those long enough to tell, whose end is a loop
//	mean_ttfo_ms …       time to the first token that is not reasoning, where reasoning came before
func (s *self) summary() map[string]core.Value {
	s.mu.Lock()
	defer s.mu.Unlock()
	extra := map[string]core.Value{}
	set := func(name string, v float64, ok bool) {
		if ok && !math.IsNaN(v) && !math.IsInf(v, 0) {
			extra[name] = core.Number(v)
		}
	}
	p99 := func(values []float32) (float64, bool) {
		wide := make([]float64, len(values))
		for i, v := range values {
			wide[i] = float64(v)
		}
		return stats.Quantile(wide, 0.99)
	}
	v, ok := p99(s.lags)
	set("client_lag_p99_ms", v, ok)
	late := 0
	for _, lag := range s.lags {
		if lag > float32(LagAllowance)/float32(time.Millisecond) {
			late++
		}
	}
	set("client_late_share", float64(late)/float64(len(s.lags)), len(s.lags) > 0)
	v, ok = p99(s.connects)
	set("connect_p99_ms", v, ok)
	set("asked_again", float64(s.repeats), s.repeats > 0)
	if cpu, ok := processCPU(); ok {
		wall := time.Since(s.wall)
		set("client_cpu_share", (cpu-s.cpu).Seconds()/(wall.Seconds()*float64(runtime.GOMAXPROCS(0))), wall > 0)
	}
	v, ok = histogramDelta(s.sched, schedLatencies(), 0.99)
	set("client_sched_p99_ms", v*1e3, ok)
	wait, ok := s.reads.quantile(0.99)
	set("client_read_lag_p99_ms", wait.Seconds()*1e3, ok)
	set("degenerate_share", float64(s.loops)/float64(s.judged), s.judged > 0)
	slices.Sort(s.ttfos)
	v, ok = stats.Mean(s.ttfos)
	set("mean_ttfo_ms", v, ok)
	v, ok = stats.SortedQuantile(s.ttfos, 0.5)
	set("median_ttfo_ms", v, ok)
	v, ok = stats.SortedQuantile(s.ttfos, 0.99)
	set("p99_ttfo_ms", v, ok)
	return extra
}

// schedLatencies is the Go scheduler's histogram of how long goroutines were ready
// to run before they ran, in seconds since the process began.
func schedLatencies() *metrics.Float64Histogram {
	sample := []metrics.Sample{{Name: "/sched/latencies:seconds"}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindFloat64Histogram {
		return nil
	}
	return sample[0].Value.Float64Histogram()
}

// histogramDelta gives the upper bound of the bucket in which a quantile of the
// events between two states of a histogram lies.
func histogramDelta(before, after *metrics.Float64Histogram, q float64) (v float64, ok bool) {
	if before == nil || after == nil || len(before.Counts) != len(after.Counts) {
		return 0, false
	}
	total := uint64(0)
	for i := range after.Counts {
		total += after.Counts[i] - before.Counts[i]
	}
	seen := uint64(0)
	for i := range after.Counts {
		seen += after.Counts[i] - before.Counts[i]
		if total > 0 && float64(seen) >= q*float64(total) {
			return after.Buckets[i+1], true
		}
	}
	return 0, false
}
