package query

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/sweepbook/sweepbook/core"
)

// How "within noise" decides: at the level of 5 percent, from repeats when they
// leave at least five degrees of freedom, else within an assumed three percent.
const (
	noiseLevel    = 0.05
	noiseFreedom  = 5
	assumedNoise  = 0.03
	noiseDecimals = 2
)

// pool gathers the values of trials that repeat each other.
type pool struct {
	logs []float64
	rows [][]core.Value // option and launch of each, to see doubtful repeats
}

// noise is how much a figure varies between repeats.
type noise struct {
	s       float64 // standard deviation of the logarithm of one measurement
	freedom int
	sets    int // of repeats
	trials  int // in them
	exact   string
}

// exactly is why a goal is compared exactly: the recipe for noise is one for figures
// that are above 0 and vary by a share of themselves. "" when it is not.
func (p *plan) exactly() string {
	g := p.goals[0]
	switch {
	case g.typ == core.TimeType:
		return "a time"
	case g.field != nil && g.col >= 0 && !g.field.Measured():
		return "a setting"
	case g.field != nil && g.col >= 0 && (summed(*g.field) || g.field.Name == "success_rate"):
		return "a count"
	}
	return ""
}

// poolRow notes the trials of a row that takes part for the estimate of noise.
func (t *tally) poolRow(p *plan, row []core.Value, r *repeats) {
	var space [256]byte
	if r == nil {
		t.pool(p, row, p.appendRepeatKey(space[:0], row))
		return
	}
	key := append(space[:0], "per "...)
	key = strconv.AppendFloat(key, row[p.stand].Num, 'f', 0, 64)
	for _, one := range p.unpack(r) {
		t.pool(p, one, key)
	}
}

func (t *tally) pool(p *plan, row []core.Value, key []byte) {
	v := p.goals[0].val(row)
	if v.Kind != core.KindNumber || v.Num <= 0 || v.IsUnlimited() {
		return
	}
	o := t.pools[string(key)]
	if o == nil {
		o = &pool{}
		t.pools[string(key)] = o
	}
	o.logs = append(o.logs, math.Log(v.Num))
	o.rows = append(o.rows, []core.Value{row[p.option], row[p.launch]})
}

// noiseOf pools the variance within all sets of repeats. Imported trials that differ
// in option are no sure repeats and tell nothing.
func (p *plan) noiseOf(pools map[string]*pool) *noise {
	n := &noise{exact: p.exactly()}
	var sets [][]float64
	for _, key := range slices.Sorted(maps.Keys(pools)) {
		o := pools[key]
		doubtful := slices.ContainsFunc(o.rows, func(r []core.Value) bool { return !known(r[1]) }) &&
			slices.ContainsFunc(o.rows, func(r []core.Value) bool { return r[0] != o.rows[0][0] })
		if len(o.logs) > 1 && !doubtful {
			slices.Sort(o.logs)
			sets = append(sets, o.logs)
			n.sets++
			n.trials += len(o.logs)
		}
	}
	n.s, n.freedom = pooledDeviation(sets)
	return n
}

// pooledDeviation is the square root of Σ(x - mean of its set)² / ν with
// ν = Σ(size - 1): one standard deviation for sets that share it.
func pooledDeviation(sets [][]float64) (s float64, freedom int) {
	var squares []float64
	for _, xs := range sets {
		m := mean(xs)
		for _, x := range xs {
			squares = append(squares, (x-m)*(x-m))
		}
		freedom += len(xs) - 1
	}
	if freedom == 0 {
		return 0, 0
	}
	slices.Sort(squares)
	return math.Sqrt(total(squares) / float64(freedom)), freedom
}

// markTies marks the entries that tie with the first of them; they stand in order of
// their scores.
func (p *plan) markTies(entries []entry) {
	best := entries[0].scores[0]
	limit := tieLimit(p, best)
	n := p.noise
	if n == nil || n.exact != "" || best*float64(p.goals[0].better) <= 0 || n.freedom < noiseFreedom {
		if n != nil && n.exact == "" && best*float64(p.goals[0].better) > 0 && !math.IsInf(best, 0) {
			limit = best - math.Abs(best)*assumedNoise
		}
		for i := range entries {
			entries[i].tied = entries[i].scores[0] >= limit
		}
		return
	}
	ps := make([]float64, len(entries)-1)
	for i, e := range entries[1:] {
		ps[i] = n.compare(entries[0].scores[0], e.scores[0], p.repeatsIn(entries[0].row), p.repeatsIn(e.row))
	}
	worse := holm(ps, noiseLevel)
	entries[0].tied = true
	for i := range entries[1:] {
		entries[i+1].tied = !worse[i]
	}
}

// repeatsIn is how many trials the value of a row rests on.
func (p *plan) repeatsIn(row []core.Value) float64 {
	if p.n < 0 {
		return 1
	}
	return row[p.n].Num
}

// compare gives the two-sided p-value of "both are equal" for two scores of the same
// sign that rest on na and nb measurements.
func (n *noise) compare(a, b, na, nb float64) float64 {
	switch {
	case a == b:
		return 1
	case a*b <= 0 || n.s == 0 || math.IsInf(a, 0) || math.IsInf(b, 0):
		return 0
	}
	return studentTails(math.Log(a/b)/(n.s*math.Sqrt(1/na+1/nb)), float64(n.freedom))
}

// holm tells which of several p-values stay significant when all are looked at
// (Holm 1979): the k-th smallest of m must not exceed level/(m-k+1), and the first
// that does ends the search.
func holm(ps []float64, level float64) []bool {
	order := make([]int, len(ps))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(ps[a], ps[b]) })
	out := make([]bool, len(ps))
	for k, i := range order {
		if ps[i] > level/float64(len(ps)-k) {
			break
		}
		out[i] = true
	}
	return out
}

// studentTails is the probability that Student's t with ν degrees of freedom lies
// further from 0 than t: the regularised incomplete beta function at ν/(ν+t²).
func studentTails(t, freedom float64) float64 {
	if t == 0 {
		return 1
	}
	return incompleteBeta(freedom/2, 0.5, freedom/(freedom+t*t))
}

// incompleteBeta is I_x(a, b) by its continued fraction, evaluated by Lentz's method
// on the side where it converges fast.
func incompleteBeta(a, b, x float64) float64 {
	if x <= 0 || x >= 1 {
		return min(max(x, 0), 1)
	}
	if x > (a+1)/(a+b+2) {
		return 1 - incompleteBeta(b, a, 1-x)
	}
	la, _ := math.Lgamma(a)
	lb, _ := math.Lgamma(b)
	lab, _ := math.Lgamma(a + b)
	front := math.Exp(lab-la-lb+a*math.Log(x)+b*math.Log1p(-x)) / a
	const tiny = 1e-300
	away := func(v float64) float64 {
		if math.Abs(v) < tiny {
			return tiny
		}
		return v
	}
	c, d := 1.0, 1/away(1-(a+b)*x/(a+1))
	f := d
	for m := 1.0; m < 300; m++ {
		even := m * (b - m) * x / ((a + 2*m - 1) * (a + 2*m))
		d = 1 / away(1+even*d)
		c = away(1 + even/c)
		f *= c * d
		odd := -(a + m) * (a + b + m) * x / ((a + 2*m) * (a + 2*m + 1))
		d = 1 / away(1+odd*d)
		c = away(1 + odd/c)
		f *= c * d
		if math.Abs(c*d-1) < 1e-15 {
			break
		}
	}
	return front * f
}

// noiseWarning says which tier decided.
func (p *plan) noiseWarning(shown []*group) Warning {
	w := Warning{Code: "noise"}
	n := p.noise
	positive := slices.ContainsFunc(shown, func(g *group) bool {
		return len(g.list.rows) > 0 && p.goals[0].val(g.list.rows[0]).Num > 0
	})
	switch {
	case n.exact != "":
		w.Message = fmt.Sprintf("%s is %s, which has no noise of this kind: only equal values tie", p.q.goals[0].name, n.exact)
	case len(shown) > 0 && !positive:
		w.Message = fmt.Sprintf("%s is not above 0, so that its noise is no share of it: only equal values tie", p.q.goals[0].name)
	case n.freedom < noiseFreedom:
		w.Message = fmt.Sprintf("assumed noise of %g%%: repeats give %s of freedom to estimate it, and %d are wanted", assumedNoise*100,
			plural(n.freedom, "degree"), noiseFreedom)
		w.Hint = "repeat trials: in a study with repeats, by hand with the same command"
	default:
		w.Message = fmt.Sprintf("noise pooled from repeats: one measurement varies by %.*f%% (%s in %s of repeats, %s of freedom); "+
			"values tie that do not differ at the level of %g%%, all comparisons together", noiseDecimals, 100*n.s,
			trials(n.trials), plural(n.sets, "set"), plural(n.freedom, "degree"), noiseLevel*100)
	}
	return w
}
