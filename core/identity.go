package core

import (
	"fmt"
	"math"
)

// Two records are one trial when their counts, duration and every latency figure
// that both print agree at the coarser printed precision, with at least six such
// figures and something completed. A twin file, a copy in a summary and a block
// quoted twice then give one trial that has several sources.

// minShared is how many figures must agree before two records are one trial.
const minShared = 6

var identityCounts = []string{"completed", "input_tokens", "output_tokens"}

// fingerprinted reports whether a trial has what identity by figures needs.
func (t *Trial) fingerprinted() bool {
	for _, name := range identityCounts {
		if _, ok := t.Figures[name]; !ok {
			return false
		}
	}
	return t.Figures["completed"] > 0 && t.Figures["duration_s"] > 0
}

// FingerprintKey is equal for records that may be the same trial: a cheap first
// look before SameTrial. Empty when the trial cannot be identified by figures.
func (t *Trial) FingerprintKey() string {
	if !t.fingerprinted() {
		return ""
	}
	return fmt.Sprintf("%.0f/%.0f/%.0f", t.Figures["completed"], t.Figures["input_tokens"], t.Figures["output_tokens"])
}

// ImportID is the UUIDv8 of an imported trial: of its figures, rounded to what a
// printed block shows, where there are enough; else of the record's place.
func (t *Trial) ImportID(src Source) ID {
	if !t.fingerprinted() || t.sharedWith(t) < minShared {
		return HashID("record " + src.Key())
	}
	text := "figures " + t.FingerprintKey()
	for _, name := range []string{"duration_s", "mean_ttft_ms", "median_ttft_ms", "p99_ttft_ms", "mean_tpot_ms", "median_tpot_ms"} {
		if v, ok := t.Figures[name]; ok {
			text += fmt.Sprintf(" %s=%.2f", name, v)
		}
	}
	return HashID(text)
}

func (t *Trial) sharedWith(u *Trial) int {
	n := 0
	for name := range t.Figures {
		if _, ok := u.Figures[name]; ok && identifies(name) {
			n++
		}
	}
	return n
}

// identifies: a measured latency, a count or the duration, never a figure that
// Sweepbook derives.
func identifies(name string) bool {
	switch name {
	case "completed", "input_tokens", "output_tokens", "duration_s":
		return true
	case "est_e2el_ms":
		return false
	}
	f, ok := LookupField(name)
	return ok && f.Group == GroupLatency
}

// SameTrial reports whether two records are one trial. decimals is the coarser
// printed precision of the two, -1 when both are full floats.
func SameTrial(a, b *Trial, decimals int) bool {
	if a.FingerprintKey() == "" || a.FingerprintKey() != b.FingerprintKey() || contradict(a, b) {
		return false
	}
	shared := 0
	for name, x := range a.Figures {
		y, ok := b.Figures[name]
		if !ok || !identifies(name) {
			continue
		}
		if !samePrinted(x, y, decimals) {
			return false
		}
		shared++
	}
	return shared >= minShared
}

// contradict reports whether two records state different loads or times. Fixed
// lengths and a deterministic server can give equal figures to two runs.
func contradict(a, b *Trial) bool {
	differ := func(x, y Value) bool { return x.Kind == KindNumber && y.Kind == KindNumber && x != y }
	ends := !a.EndedAt.IsZero() && !b.EndedAt.IsZero() && !a.EndedAt.Equal(b.EndedAt)
	return ends || differ(a.Load.Concurrency, b.Load.Concurrency) || differ(a.Load.RequestRate, b.Load.RequestRate)
}

func samePrinted(x, y float64, decimals int) bool {
	if x == y {
		return true
	}
	if decimals < 0 {
		return math.Abs(x-y) <= 1e-9*math.Max(math.Abs(x), math.Abs(y))
	}
	unit := math.Pow(10, -float64(decimals))
	return math.Abs(x-y) <= unit/2*(1+1e-9)
}

// CoarserDecimals returns the coarser of two printed precisions.
func CoarserDecimals(a, b int) int {
	if a < 0 {
		return b
	}
	if b < 0 {
		return a
	}
	return min(a, b)
}
