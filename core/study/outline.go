package study

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/sweepbook/sweepbook/core"
)

// Outline is what a study would do, as far as it is known before anything ran.
type Outline struct {
	Study    string
	Strategy string
	Launches []OutlineLaunch
	// Depends says what hangs on results and is therefore not listed, or not for sure.
	Depends []string
	// Parallel is how many launches may be in progress at once.
	Parallel int
	// AtMost counts the launches: those listed, each as often as it may come.
	AtMost int
	// Trials counts every trial of these launches. Stages whose condition
	// does not come true, and options equal to the best so far, run fewer.
	Trials   int
	GPUHours float64 // of all launches, from Assumed
	Assumed  string  // what GPUHours rests on
	Budget   string  // what the study may cost, and whether that ends it early; "" without one
}

// OutlineLaunch is one launch of an outline.
type OutlineLaunch struct {
	Stage, Option string
	When          string            // condition of the stage
	OnTopOf       string            // what the change is laid over, "" for a whole configuration
	Env           map[string]string // that the launch adds; no secrets
	Config        core.Config
	Argv          []string
	Trials        []string // workload and load of each
	// Benches are the commands of trials that another tool measures, beside Trials;
	// nil for those of the ruler. Further repeats have other seeds.
	Benches [][]string
	Repeats int
	// Reused names trials of other studies that a run would take over; see FindReusable.
	Reused []string
	// Times is how often the launch may come, with other settings below its change: once
	// for each configuration that a beam carries on.
	Times int

	workloads []core.NamedWorkload
}

// Durations are what an estimate rests on: seconds for one launch to become
// ready and for one trial of a workload. Zero values stand for the defaults.
type Durations struct {
	Ready time.Duration
	Trial map[string]time.Duration // by workload name
}

const (
	assumedReady = 2 * time.Minute
	assumedTrial = 2 * time.Minute
)

// NewOutline plans every launch that a study could need. A later stage is laid
// over the baseline, since the best so far is not known yet. It opens each engine
// once, to render exact commands, and closes it again.
func NewOutline(ctx context.Context, f *File, open func(ctx context.Context, engine string) (*Session, error), d Durations) (*Outline, error) {
	s := &f.Study
	o := &Outline{Study: s.Name, Strategy: cmp.Or(s.Search.Strategy, core.StrategyStaged), Parallel: s.Run.Parallel}
	base := baseline(s)
	whole := []core.NamedWorkload{*workload(s, s.DecideOn)}
	decide, screenRepeats := whole, s.Run.Repeats
	if screen := s.Search.Screen; screen != nil {
		decide, screenRepeats = []core.NamedWorkload{*workload(s, screen.Workload)}, screen.Repeats
	}
	planner := &planner{file: f, open: open, sessions: map[string]*Session{}}
	defer planner.close(context.WithoutCancel(ctx))

	add := func(l OutlineLaunch, workloads []core.NamedWorkload, repeats int) error {
		plan, err := planner.plan(ctx, l.Config)
		if err != nil {
			return err
		}
		l.workloads = workloads
		l.Argv, l.Repeats, l.Times = plan.Processes[0].Argv, repeats, max(1, l.Times)
		for _, w := range workloads {
			for _, load := range w.Loads {
				l.Trials = append(l.Trials, w.Workload.Label()+" "+load.Label())
				bench, err := f.bench(w, load, l.Config, plan.Ready)
				if err != nil {
					return err
				}
				l.Benches = append(l.Benches, bench)
				trial := assumedTrial
				if known := d.Trial[w.Workload.Name]; known > 0 {
					trial = known
				}
				o.GPUHours += trial.Hours() * float64(l.Times*repeats*max(1, s.Hardware.GPUs))
				o.Trials += l.Times * repeats
			}
		}
		ready := assumedReady
		if d.Ready > 0 {
			ready = d.Ready
		}
		o.GPUHours += ready.Hours() * float64(l.Times*max(1, s.Hardware.GPUs))
		o.AtMost += l.Times
		l.Env = plan.Processes[0].Env
		o.Launches = append(o.Launches, l)
		return nil
	}
	for _, p := range possible(s) {
		if err := add(p.OutlineLaunch, decide, screenRepeats); err != nil {
			return nil, f.Fault(p.key, err)
		}
	}
	if s.Search.Screen != nil {
		l := OutlineLaunch{Stage: inFullStage, Option: "winner", Config: base, OnTopOf: "the baseline, standing for the winner"}
		if err := add(l, whole, s.Run.Repeats); err != nil {
			return nil, err
		}
	}
	if rest := verified(s); len(rest) > 0 {
		for _, name := range s.Verify.Configs {
			l := OutlineLaunch{Stage: "verification", Option: name, Config: base}
			if name == "winner" {
				l.OnTopOf = "the baseline, standing for the winner"
			}
			if err := add(l, rest, s.Run.Repeats); err != nil {
				return nil, err
			}
		}
	}
	o.Assumed = assumption(d)
	o.Depends = depends(s)
	o.Budget = budget(s, o)
	return o, nil
}

// budget says what a study may cost, of all its runs, and whether an outline of it costs
// more.
func budget(s *core.Study, o *Outline) string {
	var limits []string
	if s.Run.GPUHours > 0 {
		limits = append(limits, fmt.Sprintf("%g GPU hours", s.Run.GPUHours))
	}
	if s.Run.Trials > 0 {
		limits = append(limits, fmt.Sprintf("%d trials", s.Run.Trials))
	}
	if len(limits) == 0 {
		return ""
	}
	text := "budget: " + strings.Join(limits, ", ")
	if s.Run.GPUHours > 0 && o.GPUHours > s.Run.GPUHours || s.Run.Trials > 0 && o.Trials > s.Run.Trials {
		text += "; it may end the study before all of this is done"
	}
	return text
}

// possibleLaunch is a launch that a search may come to, and the key of the file that
// asks for it.
type possibleLaunch struct {
	OutlineLaunch
	key string
}

// possible lists the launches of the search: the baseline, and each option on top of
// what stands in for the best so far.
func possible(s *core.Study) []possibleLaunch {
	base := baseline(s)
	out := []possibleLaunch{{OutlineLaunch{Stage: "baseline", Option: "baseline", Config: base}, "baseline"}}
	if known, ok := newStrategy(s).(each); ok {
		for i, c := range known.cells {
			key := "search.matrix"
			if s.Search.Strategy == core.StrategyList {
				key = fmt.Sprintf("search.configs[%d]", i)
			}
			if c.config.Hash() != base.Hash() {
				out = append(out, possibleLaunch{OutlineLaunch{Stage: known.stage, Option: c.name, Config: c.config}, key})
			}
		}
		return out
	}
	if s.Search.Strategy == core.StrategyModel {
		return append(out, byAxis(s, base)...)
	}
	times := 1 // how many configurations go on to a stage
	for i, stage := range s.Stages {
		for j, option := range stage.Try {
			under, onTopOf := standIn(s, i, base)
			cfg := under.With(option.Change)
			if cfg.Hash() == base.Hash() {
				continue
			}
			out = append(out, possibleLaunch{
				OutlineLaunch{Stage: stage.Name, Option: option.Name, When: stage.When, Config: cfg, OnTopOf: onTopOf, Times: times},
				fmt.Sprintf("stages[%d].try[%d]", i, j),
			})
		}
		times = min(max(1, s.Search.Beam), times*(1+len(stage.Try)))
	}
	return out
}

// byAxis lists what the strategy model begins with, laid over the baseline.
func byAxis(s *core.Study, base core.Config) []possibleLaunch {
	var out []possibleLaunch
	for _, axis := range axesOf(s) {
		for _, v := range axis.Values {
			c := base.With(v.Change)
			excluded := slices.ContainsFunc(s.Search.Exclude, func(x core.Config) bool { return covers(x, c) })
			if c.Hash() == base.Hash() || excluded || s.Search.Samples > 0 && len(out) == s.Search.Samples {
				continue
			}
			out = append(out, possibleLaunch{OutlineLaunch{Stage: axis.Name, Option: v.Name, Config: c, OnTopOf: "the baseline, standing for the best so far"}, "search.matrix"})
		}
	}
	return out
}

// depends says in sentences what of a search hangs on results.
func depends(s *core.Study) []string {
	var out []string
	if s.Search.Beam > 1 && len(s.Stages) > 1 {
		out = append(out, fmt.Sprintf("beam: up to %d configurations go on from stage to stage, and each option is tried on top of each", s.Search.Beam))
	}
	if n := secondLaunches(s); n > 0 {
		out = append(out, fmt.Sprintf("second look: each earlier choice is tried against its alternatives again, %d launches a pass at most, until a pass changes nothing; not counted", n))
	}
	if s.Search.Strategy == core.StrategyModel {
		text := fmt.Sprintf("model: then one after the other of the %d configurations of the matrix, as long as one is expected to gain more than %.2g %%", len(matrix(s)), 100*cmp.Or(s.Search.MinGain, minGain))
		if s.Search.Samples > 0 {
			text += fmt.Sprintf(", %d candidates in all", s.Search.Samples)
		}
		out = append(out, text+"; not counted")
	}
	if screen := s.Search.Screen; screen != nil {
		out = append(out, fmt.Sprintf("screen: a candidate is measured on %s until it is surely worse or better than the best so far; counted with all %d repeats", screen.Workload, screen.Repeats))
	}
	if s.Search.Race {
		out = append(out, "race: a candidate that surely loses is not repeated; counted in full")
	}
	return out
}

// secondLaunches is how many launches a pass of the second look takes at most: for
// each stage its options and none of them, but for the one that was chosen.
func secondLaunches(s *core.Study) int {
	n := 0
	if s.Search.SecondLook {
		for _, stage := range s.Stages {
			n += len(stage.Try)
		}
	}
	return n
}

var engineCondition = regexp.MustCompile(`^\s*engine\s*==\s*["']([^"']+)["']\s*$`)

// standIn is what a stage's changes are laid over as long as the best so far is
// not known: the baseline, or for a stage that waits for another engine the first
// earlier option that brings that engine.
func standIn(s *core.Study, stage int, base core.Config) (core.Config, string) {
	if stage == 0 {
		return base, "the baseline"
	}
	if m := engineCondition.FindStringSubmatch(s.Stages[stage].When); m != nil && m[1] != base.Engine {
		for _, earlier := range s.Stages[:stage] {
			for _, option := range earlier.Try {
				if option.Change.Engine == m[1] {
					return base.With(option.Change), "the option " + option.Name + ", standing for the best so far"
				}
			}
		}
	}
	return base, "the baseline, standing for the best so far"
}

func assumption(d Durations) string {
	if d.Ready > 0 || len(d.Trial) > 0 {
		return "durations seen in this history, else 2 minutes a launch and 2 minutes a trial"
	}
	return "2 minutes a launch and 2 minutes a trial: nothing of this kind was measured here yet"
}

// planner makes plans, with one open engine for each name.
type planner struct {
	file     *File
	open     func(ctx context.Context, engine string) (*Session, error)
	sessions map[string]*Session
}

func (p *planner) plan(ctx context.Context, c core.Config) (core.Plan, error) {
	session, ok := p.sessions[c.Engine]
	if !ok {
		var err error
		if session, err = p.open(ctx, c.Engine); err != nil {
			return core.Plan{}, fmt.Errorf("engine %s: %w", c.Engine, err)
		}
		p.sessions[c.Engine] = session
	}
	base := p.file.Local.PortBase
	if base == 0 {
		base = defaultPortBase
	}
	plan, err := session.Plan(ctx, p.file.planRequest(c, base, p.file.Local.GPUs, ""))
	if err != nil {
		return core.Plan{}, err
	}
	if len(plan.Processes) == 0 {
		return core.Plan{}, fmt.Errorf("engine %s plans no process", c.Engine)
	}
	return plan, nil
}

func (p *planner) close(ctx context.Context) {
	for _, session := range p.sessions {
		// Nothing was launched on it; a plugin that will not end is killed by its
		// host, and there is nothing to report to.
		_ = session.Close(ctx)
	}
}
