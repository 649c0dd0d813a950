//go:build unix

package load_test

import (
	"math"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sweepbook/sweepbook/core/stats"
)

// quantileOf is a quantile of absolute values.
func quantileOf(values []float64, q float64) float64 {
	abs := make([]float64, len(values))
	for i, v := range values {
		abs[i] = math.Abs(v)
	}
	v, _ := stats.Quantile(abs, q)
	return v
}

// TestTruth compares the moments of samples with those that a server in another
// process logged: how much later than the write of the first chunk the ruler says
// it came, and how far its gaps are from the gaps between the writes.
// SWEEPBOOK_TRUTH=16,256,1024 chooses the numbers of streams and logs more.
func TestTruth(t *testing.T) {
	streams := []int{16}
	tokens := 20
	if list := os.Getenv("SWEEPBOOK_TRUTH"); list != "" {
		streams, tokens = nil, 200
		for _, one := range strings.Split(list, ",") {
			n, err := strconv.Atoi(one)
			if err != nil {
				t.Fatal(err)
			}
			streams = append(streams, n)
		}
	}
	for _, n := range streams {
		address := startMock(t, mockPace{First: 100 * time.Millisecond, Gap: 20 * time.Millisecond})
		r := runClient(t, "ruler", clientTask{Address: address, Streams: n, Requests: n, Tokens: tokens})
		if len(r.TTFT) != n || len(r.Gaps) != n*(tokens-1) {
			t.Fatalf("%d first chunks and %d gaps", len(r.TTFT), len(r.Gaps))
		}
		// The ruler's clock begins a moment after the start that is compared with.
		begins := 0.5
		if raceDetector {
			begins = 50
		}
		if first := slices.Min(r.Late); first < -begins {
			t.Errorf("%d streams: a first chunk %.3f ms before it was written", n, first)
		}
		t.Logf("%4d streams: first chunk late median %.3f p99 %.3f ms, TTFT error median %.3f p99 %.3f ms, gap error median %.3f p99 %.3f ms; %.0f chunks per CPU second; lag p99 %s ms, sched p99 %s ms, read lag p99 %s ms, connect p99 %s ms, CPU share %s",
			n, quantileOf(r.Late, 0.5), quantileOf(r.Late, 0.99), quantileOf(r.TTFT, 0.5), quantileOf(r.TTFT, 0.99), quantileOf(r.Gaps, 0.5), quantileOf(r.Gaps, 0.99), float64(r.Chunks)/r.CPU,
			r.Extra["client_lag_p99_ms"], r.Extra["client_sched_p99_ms"], r.Extra["client_read_lag_p99_ms"], r.Extra["connect_p99_ms"], r.Extra["client_cpu_share"])
		// A busy machine may delay anything; that a gap is off by a whole one is no
		// delay but a fault.
		if half := quantileOf(r.Gaps, 0.5); half > 10 {
			t.Errorf("%d streams: the median gap is %.3f ms off", n, half)
		}
	}
}

// BenchmarkStreams is what a streamed chunk costs the client, in a process of its
// own, beside what it costs a socket reader that looks at nothing.
func BenchmarkStreams(b *testing.B) {
	for _, pace := range []struct {
		name string
		pace mockPace
		task clientTask
	}{
		{"paced-256", mockPace{First: 50 * time.Millisecond, Gap: 20 * time.Millisecond}, clientTask{Streams: 256, Requests: 256, Tokens: 150}},
		{"flood-16", mockPace{}, clientTask{Streams: 16, Requests: 160, Tokens: 2000}},
	} {
		b.Run(pace.name, func(b *testing.B) {
			var ruler, bare, chunks float64
			for b.Loop() {
				pace.task.Address = startMock(b, pace.pace)
				r := runClient(b, "ruler", pace.task)
				ruler += r.CPU
				chunks += float64(r.Chunks)
				bare += runClient(b, "bare", pace.task).CPU
			}
			b.ReportMetric(chunks/ruler, "chunks/CPU-s")
			b.ReportMetric(chunks/bare, "bare-chunks/CPU-s")
			b.ReportMetric(bare/ruler, "of-bare")
		})
	}
}

// TestPeakMemory: 10,000 requests of 200 chunks, kept by the sink, stay within
// 64 MiB of resident memory.
func TestPeakMemory(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("the peak is read from /proc")
	}
	if testing.Short() || raceDetector {
		t.Skip("two million chunks")
	}
	address := startMock(t, mockPace{})
	r := runClient(t, "ruler", clientTask{Address: address, Streams: 256, Requests: 10_000, Tokens: 200})
	t.Logf("peak %.1f MiB for %d chunks, %.0f chunks per CPU second", float64(r.PeakKiB)/1024, r.Chunks, float64(r.Chunks)/r.CPU)
	if r.PeakKiB > 64<<10 {
		t.Errorf("%d KiB", r.PeakKiB)
	}
}
