package study

import (
	"fmt"
	"math"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/core/stats"
)

// standing is a configuration as the objective sees it.
type standing struct {
	config  core.Config
	trial   core.ID   // that stands for it
	value   float64   // of all its repeats together
	repeats []float64 // of each, where they are known
}

// standings are what can be compared.
type standings struct {
	rows  []standing // that qualify, best first
	lower bool       // a lower value is the better one
	noise stats.Noise
}

// assumedNoise is taken where too little was repeated to measure the noise, as
// "within noise" of the query language does.
const assumedNoise = 0.03

// level is the chance of a false difference among all comparisons with the best.
const level = 0.05

// better reports whether value a is better than b.
func (s standings) better(a, b float64) bool { return a != b && (a < b) == s.lower }

// gain is by which share a is better than b; 0 where no share can be given.
func (s standings) gain(a, b float64) float64 {
	if !(b > 0) || math.IsInf(a, 0) {
		return 0
	}
	if s.lower {
		return 1 - a/b
	}
	return a/b - 1
}

// lead is by how much the repeats of a are better than those of b, as a difference
// of mean logarithms, and the standard error of that by the noise of repeats. ok is
// false where a value is not above 0 or not known.
func (s standings) lead(a, b standing) (lead, width float64, ok bool) {
	mean := func(xs []float64) (float64, bool) {
		sum := 0.0
		for _, x := range xs {
			if !(x > 0) || math.IsInf(x, 0) {
				return 0, false
			}
			sum += math.Log(x)
		}
		return sum / float64(len(xs)), len(xs) > 0
	}
	la, okA := mean(a.repeats)
	lb, okB := mean(b.repeats)
	if !okA || !okB {
		return 0, 0, false
	}
	if s.lower {
		la, lb = lb, la
	}
	return la - lb, s.noise.Std * math.Sqrt(1/float64(len(a.repeats))+1/float64(len(b.repeats))), true
}

// apart tells which of several are worse than the best beyond the noise. With
// enough repeats it is Student's t on the pooled noise, adjusted by Holm's method for
// all of them together; else a difference of more than the assumed noise.
func (s standings) apart(best standing, others []standing) []bool {
	out := make([]bool, len(others))
	var ps []float64
	var tested []int
	for i, other := range others {
		lead, width, ok := s.lead(best, other)
		switch {
		case other.value == best.value:
		case !ok: // no share of it is noise: any difference counts
			out[i] = s.better(best.value, other.value)
		case s.noise.Freedom < stats.MinFreedom:
			out[i] = s.gain(best.value, other.value) > assumedNoise
		case lead <= 0:
		case width == 0:
			out[i] = true
		default:
			p, ok := stats.StudentTail(lead/width, float64(s.noise.Freedom))
			if !ok {
				p = 1
			}
			ps, tested = append(ps, p), append(tested, i)
		}
	}
	for k, p := range stats.Holm(ps) {
		out[tested[k]] = p <= level
	}
	return out
}

// basis says what the comparison rests on.
func (s standings) basis() string {
	if s.noise.Freedom < stats.MinFreedom {
		return fmt.Sprintf("a noise of %.0f %% is assumed", 100*assumedNoise)
	}
	return fmt.Sprintf("one measurement varies by %.2g %%", 100*math.Expm1(s.noise.Std))
}

// decision is what was chosen among some configurations.
type decision struct {
	winner core.Config
	trial  core.ID // of the winner
	found  bool    // anything qualified
	// ranked are those that qualify, best first; tied those beside the winner that
	// cannot be told from the best.
	ranked []core.Config
	trials map[string]core.ID // of the ranked, by the hash of the configuration
	tied   []standing
	// inside is how much better the best is than the winner, where that lies inside the
	// noise and the winner stays; 0 elsewhere. rival is that best one.
	inside float64
	rival  core.Config
	basis  string
}

// choose decides among configurations. The first is the one that stays where no
// other is better beyond the noise: a gain inside it is no reason to change, and the
// luckiest of many equals leads by chance. Among those that beat it the best wins,
// of equal ones the first. Without repeats the noise is not known and only the
// figures count.
func choose(configs []core.Config, s standings, repeated bool) decision {
	order := map[string]int{}
	for i, c := range configs {
		if _, ok := order[c.Hash()]; !ok {
			order[c.Hash()] = i
		}
	}
	if len(s.rows) == 0 {
		return decision{}
	}
	best := s.rows[0]
	for _, row := range s.rows[1:] {
		if row.value == best.value && order[row.config.Hash()] < order[best.config.Hash()] {
			best = row
		}
	}
	d := decision{winner: best.config, trial: best.trial, found: true, basis: s.basis(), trials: map[string]core.ID{}}
	apart := s.apart(best, s.rows)
	for i, row := range s.rows {
		d.ranked, d.trials[row.config.Hash()] = append(d.ranked, row.config), row.trial
		if order[row.config.Hash()] == 0 && !apart[i] && repeated && row.config.Hash() != best.config.Hash() {
			d.winner, d.trial, d.inside, d.rival = row.config, row.trial, s.gain(best.value, row.value), best.config
		}
	}
	for i, row := range s.rows {
		if !apart[i] && row.config.Hash() != d.winner.Hash() {
			d.tied = append(d.tied, row)
		}
	}
	return d
}

// surely is the chance of giving up a candidate that is as good, and doubt how far
// behind it must lie where nothing is known of the noise. The chance is small since a
// study takes it with each candidate, and since an option that is given up by bad luck
// turns a staged search to another way.
const (
	surely = 0.002
	doubt  = 0.15
)

// loses reports whether a candidate that was not measured to the end is surely worse
// than the best so far. Student's t makes up for a noise that few repeats have shown,
// by asking for a greater distance.
func (s standings) loses(best, candidate standing) bool {
	lead, width, ok := s.lead(best, candidate)
	if !ok || lead <= 0 || s.gain(best.value, candidate.value) <= 0.01 {
		return false
	}
	if s.noise.Freedom < 2 {
		return s.gain(best.value, candidate.value) > doubt
	}
	if width == 0 {
		return true
	}
	p, ok := stats.StudentTail(lead/width, float64(s.noise.Freedom))
	return ok && p <= surely
}
