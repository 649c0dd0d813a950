package study

import (
	"context"
	"errors"
	"slices"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/core/stats"
)

// runnerLab is the world of a search as a Runner has it.
type runnerLab struct {
	*Runner
	res *Result
	// known refuses to measure: the search is gone through by what is recorded.
	known bool
	// walked are the configurations that the search has come to, by hash: it judges by
	// nothing else, so that one that is resumed sees what it saw the first time. nil sees
	// everything.
	walked map[string]bool
	// every counts also the repeats that a confirmation added. A search never does:
	// what it proposes must not change once it has ended.
	every bool
}

// ErrUnfinished says that a study was not searched to its end.
var ErrUnfinished = errors.New("the study was not searched to its end")

func (l runnerLab) try(ctx context.Context, cs ...candidate) error {
	if l.walked != nil {
		for _, c := range cs {
			l.walked[c.config.Hash()] = true
		}
	}
	if lanes := l.File.Study.Run.Parallel; lanes > 1 && len(cs) > 1 && !l.known {
		return l.pack(ctx, lanes, cs)
	}
	for _, c := range cs {
		if err := l.one(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

// one tries one candidate.
func (l runnerLab) one(ctx context.Context, c candidate) error {
	if screen := l.File.Study.Search.Screen; screen != nil && !c.whole {
		c.first, c.last = 1, screen.Repeats
	}
	if l.known {
		return l.tried(c)
	}
	l.racing = nil
	search := l.File.Study.Search
	if (search.Race || search.Screen != nil && !c.whole) && c.role == core.RoleCandidate && c.against.Hash() != c.config.Hash() {
		l.racing = func(ctx context.Context) (string, error) { return l.losing(ctx, c) }
	}
	defer func() { l.racing = nil }()
	return l.measure(ctx, l.res, c, []core.NamedWorkload{l.judged(c.whole)})
}

// deciding is the workload on which the search is judged.
func (r *Runner) deciding() []core.NamedWorkload {
	return []core.NamedWorkload{*workload(&r.File.Study, r.File.Study.DecideOn)}
}

// judged is the workload that a search is judged on, or the one that decides.
func (l runnerLab) judged(whole bool) core.NamedWorkload {
	if screen := l.File.Study.Search.Screen; screen != nil && !whole {
		return *workload(&l.File.Study, screen.Workload)
	}
	return l.deciding()[0]
}

// counts reports whether a repeat is one of the search.
func (l runnerLab) counts(t *core.Trial, whole bool) bool {
	last := l.File.Study.Run.Repeats
	if screen := l.File.Study.Search.Screen; screen != nil && !whole {
		last = screen.Repeats
	}
	return (l.every || t.Repeat <= last) && (l.walked == nil || l.walked[t.Setup.Config.Hash()])
}

// tried reports as an error that a candidate was not tried yet. A failure counts as
// tried, also one of the machine.
func (l runnerLab) tried(c candidate) error {
	open, _ := l.trials(c, []core.NamedWorkload{l.judged(c.whole)})
	for _, t := range open {
		attempted := slices.ContainsFunc(l.Runner.known[trialKey(t)], func(a *core.Trial) bool { return a.Status == core.StatusFailed })
		if !attempted {
			return ErrUnfinished
		}
	}
	return nil
}

func (l runnerLab) compare(ctx context.Context, configs []core.Config, whole bool) (standings, error) {
	var among []core.ID
	of := map[core.ID]*core.Trial{}
	done := l.done(l.judged(whole))
	for _, t := range done {
		same := func(c core.Config) bool { return c.Hash() == t.Setup.Config.Hash() }
		if l.counts(t, whole) && slices.ContainsFunc(configs, same) {
			among = append(among, t.ID)
			of[t.ID] = t
		}
	}
	if len(among) == 0 {
		return standings{}, nil
	}
	objective := l.File.Study.Objective
	ranking, err := l.Judge.Rank(ctx, objective, among)
	if errors.Is(err, ErrUnranked) {
		// The objective says itself what ties, and only which are the best is known.
		ranking = Ranking{}
		var best []core.ID
		best, err = l.Judge.Best(ctx, objective, among)
		for _, id := range best {
			ranking.Rows = append(ranking.Rows, Ranked{Trial: id})
		}
	}
	if err != nil {
		return standings{}, err
	}
	return l.standings(ranking, of, done, whole), nil
}

// standings brings what the judge says of trials to their configurations. One at
// several loads stands with its best.
func (l runnerLab) standings(ranking Ranking, of map[core.ID]*core.Trial, done []*core.Trial, whole bool) standings {
	s := standings{lower: ranking.Lower}
	repeats := map[string][]float64{}
	for _, t := range done {
		if v, ok := ranking.Figures[t.ID]; ok {
			l.figures[t.ID] = v
		}
		// The noise is that of everything measured so far, not of these few alone.
		if v, ok := l.figures[t.ID]; ok && l.counts(t, whole) {
			key := sameLoad(t)
			repeats[key] = append(repeats[key], v)
		}
	}
	var groups [][]float64
	for _, t := range done {
		if xs := repeats[sameLoad(t)]; len(xs) > 1 && t.Repeat == 1 {
			groups = append(groups, xs)
		}
	}
	s.noise, _ = stats.PooledNoise(groups)
	for _, row := range ranking.Rows {
		t := of[row.Trial]
		if t == nil || slices.ContainsFunc(s.rows, func(r standing) bool { return r.config.Hash() == t.Setup.Config.Hash() }) {
			continue
		}
		s.rows = append(s.rows, standing{config: t.Setup.Config, trial: t.ID, value: row.Value, repeats: repeats[sameLoad(t)]})
	}
	return s
}

// sameLoad is equal for the repeats of one configuration at one load.
func sameLoad(t *core.Trial) string {
	return t.Setup.Config.Hash() + "/" + t.Load.Hash()
}

func (l runnerLab) holds(ctx context.Context, condition string, trial core.ID) (bool, error) {
	return l.Judge.Holds(ctx, condition, trial)
}

func (l runnerLab) tell(kind EventKind, text string) { l.event(Event{Kind: kind, Text: text}) }

// losing says why a candidate in the middle of its repeats is given up, "" while it
// may still be the best. A curve is measured whole: its best load may be the last.
func (l runnerLab) losing(ctx context.Context, c candidate) (string, error) {
	if len(l.judged(c.whole).Loads) > 1 {
		return "", nil
	}
	rows, err := l.compare(ctx, []core.Config{c.against, c.config}, c.whole)
	if errors.As(err, new(*VoidError)) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	if l.File.Study.Search.Screen != nil {
		return rows.screened(c), nil
	}
	return rows.raced(c), nil
}
