package audit_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/core/audit"
)

// many repeats the 62 blocks under other ids until there are n trials, in studies of
// the size given.
func many(t testing.TB, n, study int) []*core.Trial {
	blocks := examples(t)
	out := make([]*core.Trial, n)
	for i := range out {
		copied := *blocks[i%len(blocks)].trial
		copied.ID = core.HashID(fmt.Sprint(i))
		copied.Study = fmt.Sprint(copied.Study, i/study)
		out[i] = &copied
	}
	return out
}

func BenchmarkTrials(b *testing.B) {
	trials := many(b, 10_000, 500)
	ref := audit.DefaultReference()
	b.ReportAllocs()
	for b.Loop() {
		if len(audit.Trials(trials, ref)) == 0 {
			b.Fatal("no findings")
		}
	}
	b.ReportMetric(float64(len(trials))*float64(b.N)/b.Elapsed().Seconds(), "trials/s")
}

// TestOneLargeStudy: the time grows with the trials, not with their square, when
// all of them are of one study.
func TestOneLargeStudy(t *testing.T) {
	trials := many(t, 8_000, 1<<30)
	start := time.Now()
	if found := audit.Trials(trials, audit.DefaultReference()); len(found) == 0 {
		t.Fatal("no findings")
	}
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("8000 trials of one study took %s", took)
	}
}
