package study

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/core/stats"
)

// What a study of this kind costs, in hours of one GPU: a launch and a trial of two
// minutes each, as plan assumes, and a launch that fails after one.
const (
	launchHours = 2.0 / 60
	trialHours  = 2.0 / 60
	failedHours = 1.0 / 60
)

// landscape is a machine that is known: what each configuration of a study truly
// gives, how far measurements scatter, and which configurations do not start. It is a
// lab without a GPU, a process or a clock.
type landscape struct {
	study *core.Study
	seed  uint64
	noise float64 // standard deviation of the logarithm of one measurement

	effect   [][]float64        // of each knob's levels, logarithms
	pair     map[[4]int]float64 // of two knobs' levels together
	broken   map[[4]int]bool    // two levels that do not fit together
	best     float64            // the highest true value
	seen     map[string]int     // where the measurements of a configuration are
	measured [][]float64
	screened []bool // of each of those, whether they are short trials
	failed   map[string]bool

	hours  float64
	trials int
	// foundHours and foundTrials are what it took until a configuration within 1 % of
	// the best was measured; foundHours is 0 before.
	foundHours  float64
	foundTrials int
}

// levels are the values of the five knobs beside the baseline's own.
var levels = []int{3, 3, 2, 3, 2}

// family is a kind of landscape: by how much a knob's level changes the figure, every
// second pair of levels beside that, how far a measurement scatters, and which share of
// the pairs fails.
type family struct {
	name                     string
	first                    uint64 // seed
	own, pair, noise, broken float64
}

// usual are the landscapes that strategies are judged by.
var usual = family{own: 0.10, pair: 0.05, noise: 0.01, broken: 0.05}

// others are of kinds and seeds by which nothing was chosen.
func others() []family {
	return []family{
		{"unseen seeds", 5000, 0.10, 0.05, 0.01, 0.05},
		{"noise 3 %", 6000, 0.10, 0.05, 0.03, 0.05},
		{"pairs as strong as knobs", 7000, 0.10, 0.10, 0.01, 0.05},
		{"knobs of 3 %", 8000, 0.03, 0.015, 0.01, 0.05},
		{"every fifth pair fails", 9000, 0.10, 0.05, 0.01, 0.20},
	}
}

// newLandscape draws a landscape.
func newLandscape(f family, seed uint64, search core.Search) *landscape {
	r := rand.New(rand.NewPCG(seed, 0x5eed))
	l := &landscape{seed: seed, noise: f.noise, pair: map[[4]int]float64{}, broken: map[[4]int]bool{},
		seen: map[string]int{}, failed: map[string]bool{}}
	for _, n := range levels {
		effects := []float64{0}
		for range n {
			effects = append(effects, f.own*r.NormFloat64())
		}
		l.effect = append(l.effect, effects)
	}
	for i := range levels {
		for j := i + 1; j < len(levels); j++ {
			for a := 1; a <= levels[i]; a++ {
				for b := 1; b <= levels[j]; b++ {
					if r.IntN(2) == 0 {
						l.pair[[4]int{i, a, j, b}] = f.pair * r.NormFloat64()
					}
					l.broken[[4]int{i, a, j, b}] = r.IntN(20) < int(20*f.broken)
				}
			}
		}
	}
	l.study = &core.Study{Name: "landscape", Model: "m", Search: search, Baseline: core.Config{Engine: "sim", CommandKnown: true},
		Run: core.RunRules{Repeats: 3}}
	for i, n := range levels {
		axis := core.Axis{Name: fmt.Sprintf("k%d", i), Values: []core.Option{{Name: "-"}}}
		stage := core.Stage{Name: axis.Name}
		for level := 1; level <= n; level++ {
			change := core.Config{Knobs: core.Knobs{axis.Name: core.Number(float64(level))}, CommandKnown: true}
			option := core.Option{Name: fmt.Sprintf("%s=%d", axis.Name, level), Change: change}
			stage.Try, axis.Values = append(stage.Try, option), append(axis.Values, option)
		}
		if search.Strategy == "" || search.Strategy == core.StrategyStaged {
			l.study.Stages = append(l.study.Stages, stage)
		} else {
			l.study.Search.Matrix = append(l.study.Search.Matrix, axis)
		}
	}
	for at := range combinations(levels) {
		if v, ok := l.at(at); ok {
			l.best = max(l.best, v)
		}
	}
	return l
}

// combinations goes through every choice of one level for each knob, 0 being the
// baseline's own.
func combinations(levels []int) iter.Seq[[]int] {
	return func(yield func([]int) bool) {
		at := make([]int, len(levels))
		for {
			if !yield(at) {
				return
			}
			i := 0
			for ; i < len(at) && at[i] == levels[i]; i++ {
				at[i] = 0
			}
			if i == len(at) {
				return
			}
			at[i]++
		}
	}
}

// truth is what a configuration gives; false where it does not start.
func (l *landscape) truth(c core.Config) (float64, bool) {
	at := make([]int, len(levels))
	for i := range levels {
		at[i] = int(c.Knobs[fmt.Sprintf("k%d", i)].Num)
	}
	return l.at(at)
}

func (l *landscape) at(at []int) (float64, bool) {
	sum := 0.0
	for i, a := range at {
		sum += l.effect[i][a]
		for j := i + 1; j < len(at); j++ {
			key := [4]int{i, a, j, at[j]}
			if l.broken[key] {
				return 0, false
			}
			sum += l.pair[key]
		}
	}
	return 1000 * math.Exp(sum), true
}

// A screening trial takes an eighth of a whole one, and scatters as much more as fewer
// requests do if all of the noise is theirs: by the root of eight.
const (
	screenShare = 1.0 / 8
	screenKey   = "screen "
)

// measurement is the same for every strategy.
func (l *landscape) measurement(key string, value float64, repeat int, share float64) float64 {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %s %d", l.seed, key, repeat))
	r := rand.New(rand.NewPCG(binary.BigEndian.Uint64(sum[:]), binary.BigEndian.Uint64(sum[8:])))
	return value * math.Exp(l.noise/math.Sqrt(share)*r.NormFloat64())
}

func (l *landscape) try(ctx context.Context, cs ...candidate) error {
	for _, c := range cs {
		if err := l.one(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

func (l *landscape) one(ctx context.Context, c candidate) error {
	hash := c.config.Hash()
	key, repeats, share, screened := hash, l.study.Run.Repeats, 1.0, false
	if screen := l.study.Search.Screen; screen != nil && !c.whole {
		key, repeats, share, screened = screenKey+hash, screen.Repeats, screenShare, true
	}
	if _, known := l.seen[key]; known || l.failed[hash] {
		return nil
	}
	value, ok := l.truth(c.config)
	if !ok {
		l.failed[hash] = true
		l.hours += failedHours
		l.trials += repeats
		return nil
	}
	l.hours += launchHours
	place := len(l.measured)
	l.seen[key], l.measured, l.screened = place, append(l.measured, nil), append(l.screened, screened)
	for repeat := 1; repeat <= repeats; repeat++ {
		l.measured[place] = append(l.measured[place], l.measurement(key, value, repeat, share))
		l.hours += share * trialHours
		l.trials++
		if !l.study.Search.Race && !screened || c.whole || c.role != core.RoleCandidate || c.against.Hash() == hash {
			continue
		}
		rows, err := l.compare(ctx, []core.Config{c.against, c.config}, false)
		if err != nil {
			return err
		}
		if screened && rows.screened(c) != "" || !screened && rows.raced(c) != "" {
			break
		}
	}
	if l.foundHours == 0 && value >= 0.99*l.best {
		l.foundHours, l.foundTrials = l.hours, l.trials
	}
	return nil
}

func (l *landscape) compare(_ context.Context, configs []core.Config, whole bool) (standings, error) {
	var s standings
	prefix := ""
	if l.study.Search.Screen != nil && !whole {
		prefix = screenKey
	}
	var measured [][]float64
	for place, screened := range l.screened {
		if screened == (prefix != "") {
			measured = append(measured, l.measured[place])
		}
	}
	s.noise, _ = stats.PooledNoise(measured)
	added := map[string]bool{}
	for _, c := range configs {
		hash := c.Hash()
		if place, ok := l.seen[prefix+hash]; ok && !added[hash] {
			added[hash] = true
			xs := l.measured[place]
			median, _ := stats.Median(xs)
			s.rows = append(s.rows, standing{config: c, trial: core.ID{1}, value: median, repeats: xs})
		}
	}
	slices.SortStableFunc(s.rows, func(a, b standing) int { return cmp.Compare(b.value, a.value) })
	return s, nil
}

func (l *landscape) holds(context.Context, string, core.ID) (bool, error) { return true, nil }
func (l *landscape) tell(EventKind, string)                               {}

// outcome is what a strategy came to on one landscape.
type outcome struct {
	hours, foundHours   float64
	trials, foundTrials int
	winner              float64 // the true value of the winner, as a share of the best
}

func explore(tb testing.TB, seed uint64, search core.Search) outcome {
	tb.Helper()
	return exploreOne(tb, usual, seed, search)
}

func exploreOne(tb testing.TB, f family, seed uint64, search core.Search) outcome {
	tb.Helper()
	l := newLandscape(f, f.first+seed, search)
	s := newSearch(l.study, l)
	if err := s.run(context.Background()); err != nil {
		tb.Fatal(err)
	}
	if _, err := s.decideOn(context.Background(), append([]core.Config{s.best}, s.tried...), true); err != nil {
		tb.Fatal(err)
	}
	won, _ := l.truth(s.best)
	return outcome{l.hours, l.foundHours, l.trials, l.foundTrials, won / l.best}
}

// contenders are the strategies that are put beside each other, today's first.
func contenders() []struct {
	name   string
	search core.Search
} {
	quick := &core.Screen{Workload: "quick", Repeats: screenRepeats}
	return []struct {
		name   string
		search core.Search
	}{
		{"staged", core.Search{}},
		{"staged+race", core.Search{Race: true}},
		{"staged+second_look", core.Search{SecondLook: true}},
		{"staged+second_look+race", core.Search{SecondLook: true, Race: true}},
		{"staged+beam=2", core.Search{Beam: 2}},
		{"staged+beam=2+race", core.Search{Beam: 2, Race: true}},
		{"staged+beam=2+second_look+race", core.Search{Beam: 2, SecondLook: true, Race: true}},
		{"random+samples=60", core.Search{Strategy: core.StrategyRandom, Samples: 60, Seed: 1}},
		{"random+samples=60+race", core.Search{Strategy: core.StrategyRandom, Samples: 60, Seed: 1, Race: true}},
		{"grid", core.Search{Strategy: core.StrategyGrid}},
		{"grid+race", core.Search{Strategy: core.StrategyGrid, Race: true}},
		{"staged+screen", core.Search{Screen: quick}},
		{"staged+second_look+screen", core.Search{SecondLook: true, Screen: quick}},
		{"staged+beam=2+second_look+screen", core.Search{Beam: 2, SecondLook: true, Screen: quick}},
		{"model", core.Search{Strategy: core.StrategyModel}},
		{"model+race", core.Search{Strategy: core.StrategyModel, Race: true}},
		{"model+screen", core.Search{Strategy: core.StrategyModel, Screen: quick}},
		{"model+min_gain=0.8%+screen", core.Search{Strategy: core.StrategyModel, MinGain: 0.008, Screen: quick}},
	}
}

// summary is a strategy over many landscapes.
type summary struct {
	hours, trials           float64 // means
	foundHours, foundTrials float64 // medians of where it was found
	found, near             float64 // shares: measured, and chosen, within 1 % of the best
	winner, least           float64 // mean and least share of the best that was chosen
	worse, better           int     // landscapes on which the winner is more than 1 % below or above another strategy's
}

func summarise(outcomes, other []outcome) summary {
	var s summary
	n := float64(len(outcomes))
	s.least = 1
	var hours, trials []float64
	for i, o := range outcomes {
		s.hours += o.hours / n
		s.trials += float64(o.trials) / n
		s.winner += o.winner / n
		s.least = min(s.least, o.winner)
		if o.winner >= 0.99 {
			s.near += 1 / n
		}
		if o.foundHours > 0 {
			s.found += 1 / n
			hours, trials = append(hours, o.foundHours), append(trials, float64(o.foundTrials))
		}
		if o.winner < other[i].winner-0.01 {
			s.worse++
		}
		if o.winner > other[i].winner+0.01 {
			s.better++
		}
	}
	s.foundHours, _ = stats.Median(hours)
	s.foundTrials, _ = stats.Median(trials)
	return s
}

// seeds is how many landscapes make bench judges by.
const seeds = 100

// BenchmarkStrategies prints what each strategy costs and finds. Its time is of no
// interest: the hours are those of a GPU that is not there.
func BenchmarkStrategies(b *testing.B) {
	var greedy []outcome
	for seed := range seeds {
		greedy = append(greedy, explore(b, uint64(seed), core.Search{}))
	}
	for _, c := range contenders() {
		b.Run(c.name, func(b *testing.B) {
			var outcomes []outcome
			for b.Loop() {
				outcomes = outcomes[:0]
				for seed := range seeds {
					outcomes = append(outcomes, explore(b, uint64(seed), c.search))
				}
			}
			s := summarise(outcomes, greedy)
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(s.hours, "gpu-h")
			b.ReportMetric(s.trials, "trials")
			b.ReportMetric(100*s.found, "%found")
			b.ReportMetric(s.foundHours, "gpu-h-until-1%")
			b.ReportMetric(s.foundTrials, "trials-until-1%")
			b.ReportMetric(100*s.near, "%won")
			b.ReportMetric(100*s.winner, "%of-best")
			b.ReportMetric(100*s.least, "%of-best-least")
			b.ReportMetric(float64(s.worse), "worse-than-staged")
			b.ReportMetric(float64(s.better), "better-than-staged")
		})
	}
}

// BenchmarkElsewhere puts the model beside the stages on landscapes of other kinds.
func BenchmarkElsewhere(b *testing.B) {
	quick := &core.Screen{Workload: "quick", Repeats: screenRepeats}
	for _, f := range others() {
		var greedy []outcome
		for seed := range seeds {
			greedy = append(greedy, exploreOne(b, f, uint64(seed), core.Search{}))
		}
		base := summarise(greedy, greedy)
		for _, c := range []core.Search{
			{Strategy: core.StrategyModel, Screen: quick},
			{Strategy: core.StrategyModel, MinGain: 0.008, Screen: quick},
		} {
			b.Run(fmt.Sprintf("%s/min_gain=%g", strings.ReplaceAll(f.name, " ", "_"), c.MinGain), func(b *testing.B) {
				var outcomes []outcome
				for b.Loop() {
					outcomes = outcomes[:0]
					for seed := range seeds {
						outcomes = append(outcomes, exploreOne(b, f, uint64(seed), c))
					}
				}
				s := summarise(outcomes, greedy)
				b.ReportMetric(0, "ns/op")
				b.ReportMetric(base.hours, "gpu-h-staged")
				b.ReportMetric(s.hours, "gpu-h")
				b.ReportMetric(100*base.winner, "%of-best-staged")
				b.ReportMetric(100*s.winner, "%of-best")
				b.ReportMetric(float64(s.worse), "worse-than-staged")
				b.ReportMetric(float64(s.better), "better-than-staged")
			})
		}
	}
}

// What the strategies promise, on landscapes enough to see it.
func TestStrategiesOnLandscapes(t *testing.T) {
	const seeds = 20
	all := map[string][]outcome{}
	for _, c := range contenders() {
		if c.search.Strategy == core.StrategyGrid && c.search.Race {
			continue // the slowest to try
		}
		for seed := range seeds {
			all[c.name] = append(all[c.name], explore(t, uint64(seed), c.search))
		}
	}
	greedy := all["staged"]
	of := func(name string) summary { return summarise(all[name], greedy) }
	base := of("staged")
	if m := of("model+screen"); m.hours > 0.7*base.hours || m.worse > 1 || m.near < base.near+0.2 {
		t.Errorf("a screened model takes %.2f hours beside %.2f, ends worse on %d landscapes and near the best on %v beside %v", m.hours, base.hours, m.worse, m.near, base.near)
	}
	if m := of("model+min_gain=0.8%+screen"); m.hours > 0.55*base.hours || m.winner < base.winner {
		t.Errorf("one that ends sooner takes %.2f hours beside %.2f and wins %.4f of the best beside %.4f", m.hours, base.hours, m.winner, base.winner)
	}
	if s := of("grid"); s.found < 1 || s.least < 0.95 {
		t.Errorf("a grid measures everything, yet found %v and chose %v", s.found, s.least)
	}
	if look, base := of("staged+second_look"), of("staged"); look.worse > 0 || look.near <= base.near {
		t.Errorf("a second look ends worse on %d landscapes, near the best on %v beside %v", look.worse, look.near, base.near)
	}
	for _, name := range []string{"staged", "staged+second_look", "staged+beam=2", "random+samples=60"} {
		whole, raced := of(name), of(name+"+race")
		if raced.hours > 0.9*whole.hours || raced.winner < whole.winner-0.005 {
			t.Errorf("%s: a race takes %.2f of %.2f hours and wins %.4f beside %.4f of the best", name, raced.hours, whole.hours, raced.winner, whole.winner)
		}
	}
}

// A strategy is a pure function of what was measured.
func TestStrategiesAreRepeatable(t *testing.T) {
	for _, c := range contenders() {
		if c.search.Strategy == core.StrategyGrid {
			continue
		}
		if a, b := explore(t, 5, c.search), explore(t, 5, c.search); a != b {
			t.Errorf("%s: %+v and then %+v", c.name, a, b)
		}
	}
}
