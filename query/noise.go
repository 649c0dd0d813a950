package query

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/core/stats"
)

// How "within noise" decides: at the level of 5 percent, from repeats when they
// leave at least five degrees of freedom, else within an assumed three percent.
const (
	noiseLevel    = 0.05
	noiseFreedom  = stats.MinFreedom
	assumedNoise  = 0.03
	noiseDecimals = 2
)

// pool gathers the values of trials that repeat each other.
type pool struct {
	values []float64
	rows   [][]core.Value // option and launch of each, to see doubtful repeats
}

// noise is how much a figure varies between repeats.
type noise struct {
	stats.Noise     // of one measurement
	sets        int // of repeats
	trials      int // in them
	exact       string
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
	o.values = append(o.values, v.Num)
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
		if len(o.values) > 1 && !doubtful {
			slices.Sort(o.values)
			sets = append(sets, o.values)
			n.sets++
			n.trials += len(o.values)
		}
	}
	n.Noise, _ = stats.PooledNoise(sets)
	return n
}

// markTies marks the entries that tie with the first of them; they stand in order of
// their scores.
func (p *plan) markTies(entries []entry) {
	best := entries[0].scores[0]
	limit := tieLimit(p, best)
	n := p.noise
	if n == nil || n.exact != "" || best*float64(p.goals[0].better) <= 0 || n.Freedom < noiseFreedom {
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
	entries[0].tied = true
	for i, adjusted := range stats.Holm(ps) {
		entries[i+1].tied = adjusted > noiseLevel
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
	case a*b <= 0 || n.Std == 0 || math.IsInf(a, 0) || math.IsInf(b, 0):
		return 0
	}
	p, _ := stats.StudentTail(math.Log(a/b)/(n.Std*math.Sqrt(1/na+1/nb)), float64(n.Freedom))
	return p
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
	case n.Freedom < noiseFreedom:
		w.Message = fmt.Sprintf("assumed noise of %g%%: repeats give %s of freedom to estimate it, and %d are wanted", assumedNoise*100,
			plural(n.Freedom, "degree"), noiseFreedom)
		w.Hint = "repeat trials: in a study with repeats, by hand with the same command"
	default:
		w.Message = fmt.Sprintf("noise pooled from repeats: one measurement varies by %.*f%% (%s in %s of repeats, %s of freedom); "+
			"values tie that do not differ at the level of %g%%, all comparisons together", noiseDecimals, 100*n.Std,
			trials(n.trials), plural(n.sets, "set"), plural(n.Freedom, "degree"), noiseLevel*100)
	}
	return w
}
