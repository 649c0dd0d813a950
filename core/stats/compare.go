package stats

import (
	"fmt"
	"math"
)

// Tier says what a comparison rests on. A reader must be told it.
type Tier string

const (
	// TierRank: at least 4 values a side, compared by ranks; nothing is assumed of
	// their distribution.
	TierRank Tier = "rank"
	// TierPooled: fewer values, compared with the noise of repeats elsewhere.
	TierPooled Tier = "pooled noise"
	// TierAssumed: no repeats that could tell the noise; a tolerance is taken for it.
	TierAssumed Tier = "assumed noise"
	// TierExact: counts, which have no noise: 1000 requests are not 999.
	TierExact Tier = "exact"
	// TierCounted: shares of counted events, by their score intervals.
	TierCounted Tier = "counted"
)

// Verdict is what a comparison says of the value beside its base.
type Verdict string

const (
	// Better and Worse: it differs, by more than the floor, for the better or worse.
	Better Verdict = "better"
	Worse  Verdict = "worse"
	// Differs is said in their place where no direction is the better one.
	Differs Verdict = "differs"
	// Same: if it differs at all, then by less than the floor.
	Same Verdict = "same"
	// CannotTell: the difference is within the noise, or the noise is too great to
	// exclude one.
	CannotTell Verdict = "cannot_tell"
)

// Direction says which direction is an improvement: HigherIsBetter, LowerIsBetter, or
// 0 for neither.
type Direction int8

// The directions.
const (
	HigherIsBetter Direction = 1
	LowerIsBetter  Direction = -1
)

// Rules are how a comparison decides. The zero Rules are valid.
type Rules struct {
	Alpha     float64 // of a false alarm; 0 is 0.05
	Floor     float64 // a difference that does not matter; 0 is 0.01
	Tolerance float64 // taken for noise that nobody measured; 0 is 0.03
	Direction Direction
	// Noise of repeats, for samples too small to speak for themselves. It is used with
	// at least MinFreedom degrees of freedom.
	Noise Noise
}

// MinFreedom is how many degrees of freedom a noise needs to be believed. Below it
// the factor of Student's t makes every difference uncertain.
const MinFreedom = 5

// minRank is the least number of values a side for TierRank: with 3 and 3 no result
// has a p below 0.1.
const minRank = 4

func (r Rules) filled() Rules {
	set := func(v *float64, usual float64) {
		if !(*v > 0) {
			*v = usual
		}
	}
	set(&r.Alpha, 0.05)
	set(&r.Floor, 0.01)
	set(&r.Tolerance, 0.03)
	return r
}

// Comparison is what can be said of a sample beside its base.
type Comparison struct {
	Tier  Tier    `json:"tier"`
	BaseN int     `json:"base_n"` // values on each side
	N     int     `json:"n"`
	Base  float64 `json:"base"` // medians
	Value float64 `json:"value"`
	// Ratio is Value/Base, 0 where a value is not above 0, for which no ratio exists.
	Ratio float64 `json:"ratio"`
	// Low and High enclose the true ratio with Confidence, which is what was achieved
	// rather than what was asked for, and 0 where the noise was assumed. All three are
	// 0 where there is no ratio.
	Low        float64 `json:"low"`
	High       float64 `json:"high"`
	Confidence float64 `json:"confidence"`
	// P is that of no difference, for TierRank and TierPooled; 1 elsewhere. Of several
	// candidates it is adjusted, see Candidates.
	P        float64  `json:"p"`
	Verdict  Verdict  `json:"verdict"`
	Warnings []string `json:"warnings,omitempty"`
}

// Compare says whether value differs from base. The tier follows from the samples:
// ranks from 4 values a side, else pooled noise where the rules have enough of it, else
// the tolerance. A side without values, or with one that is not finite, gives a
// Comparison with verdict CannotTell that says so.
func Compare(base, value []float64, rules Rules) Comparison {
	rules = rules.filled()
	c := Comparison{BaseN: len(base), N: len(value), P: 1, Tier: TierAssumed, Verdict: CannotTell}
	var ok, too bool
	c.Base, ok = Median(base)
	c.Value, too = Median(value)
	if !ok || !too {
		c.Warnings = append(c.Warnings, "no values to compare, or one is not finite")
		return c
	}
	logBase, positive := logarithms(base)
	logValue, alsoPositive := logarithms(value)
	positive = positive && alsoPositive
	if ratio := c.Value / c.Base; positive && ratio > 0 && !math.IsInf(ratio, 0) {
		c.Ratio = ratio
	} else {
		positive = false
		c.Warnings = append(c.Warnings, "no ratio: a value is not above 0")
	}
	switch {
	case len(base) >= minRank && len(value) >= minRank:
		c.byRanks(base, value, positive, rules)
	case positive && rules.Noise.Freedom >= MinFreedom:
		c.byNoise(logBase, logValue, rules)
	case positive:
		c.byTolerance(rules)
	}
	c.judge(rules)
	return c
}

func (c *Comparison) byRanks(base, value []float64, positive bool, rules Rules) {
	c.Tier = TierRank
	_, c.P, _ = MannWhitney(base, value)
	if spreadless(base) && spreadless(value) {
		c.Warnings = append(c.Warnings, "the repeats of each side are equal to the last digit: were they measured anew?")
	}
	if !positive {
		return
	}
	if len(base) <= exactLimit && len(value) <= exactLimit {
		c.Low, c.High, c.Confidence = ratioInterval(base, value, rules.Alpha)
	} else {
		// The medians' own intervals assume nothing and need no pairs; together they
		// are surer than asked.
		each := math.Sqrt(1 - rules.Alpha)
		lowA, highA, sureA, _ := MedianInterval(base, each)
		lowB, highB, sureB, _ := MedianInterval(value, each)
		c.Low, c.High, c.Confidence = lowB/highA, highB/lowA, sureA*sureB
	}
	c.enclose()
	if c.Confidence < 1-rules.Alpha-1e-9 {
		c.Warnings = append(c.Warnings, fmt.Sprintf("%d and %d values reach a confidence of %.1f %% at most", c.BaseN, c.N, 100*c.Confidence))
	}
}

// byNoise tests the difference of the mean logarithms against the noise of repeats.
func (c *Comparison) byNoise(logBase, logValue []float64, rules Rules) {
	c.Tier = TierPooled
	a, _ := Mean(logBase)
	b, _ := Mean(logValue)
	d := b - a
	freedom := float64(rules.Noise.Freedom)
	width := rules.Noise.Std * math.Sqrt(1/float64(c.BaseN)+1/float64(c.N))
	switch {
	case width > 0:
		c.P, _ = StudentTail(d/width, freedom)
	case d != 0: // repeats without any noise, as a simulator gives them
		c.P = 0
	}
	t, _ := StudentQuantile(1-rules.Alpha/2, freedom)
	c.Low, c.High, c.Confidence = math.Exp(d-t*width), math.Exp(d+t*width), 1-rules.Alpha
	c.enclose()
}

func (c *Comparison) byTolerance(rules Rules) {
	c.Low, c.High = c.Ratio/(1+rules.Tolerance), c.Ratio*(1+rules.Tolerance)
	w := fmt.Sprintf("a noise of %.3g %% is assumed, not measured", 100*rules.Tolerance)
	if f := rules.Noise.Freedom; f > 0 {
		w += fmt.Sprintf(": repeats give %d degrees of freedom, %d are needed", f, MinFreedom)
	}
	c.Warnings = append(c.Warnings, w)
}

// enclose widens the interval to the ratio of medians: it is that of another centre,
// which for a few skewed values may lie on the other side of it.
func (c *Comparison) enclose() {
	c.Low, c.High = min(c.Low, c.Ratio), min(max(c.High, c.Ratio), math.MaxFloat64)
}

// judge draws the verdict from p and interval.
func (c *Comparison) judge(rules Rules) {
	has := c.Ratio > 0
	differs := c.P <= rules.Alpha && (!has || math.Abs(c.Ratio-1) > rules.Floor)
	if c.Tier == TierAssumed {
		differs = has && (c.Low > 1 || c.High < 1)
	}
	switch {
	case has && c.Tier != TierAssumed && c.Low >= 1-rules.Floor && c.High <= 1+rules.Floor:
		c.Verdict = Same
	case differs:
		c.Verdict = rules.Direction.verdict(c.Base, c.Value)
	default:
		c.Verdict = CannotTell
	}
}

func (d Direction) verdict(base, value float64) Verdict {
	switch {
	case d == 0:
		return Differs
	case (value > base) == (d == HigherIsBetter):
		return Better
	}
	return Worse
}

func spreadless(xs []float64) bool {
	for _, x := range xs {
		if x != xs[0] {
			return false
		}
	}
	return true
}
