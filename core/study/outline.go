package study

import (
	"context"
	"fmt"
	"regexp"
	"time"

	"github.com/sweepbook/sweepbook/core"
)

// Outline is what a study would do, as far as it is known before anything ran.
type Outline struct {
	Study    string
	Launches []OutlineLaunch
	// Trials counts every trial of the listed launches. Stages whose condition
	// does not come true, and options equal to the best so far, run fewer.
	Trials   int
	GPUHours float64 // of all launches, from Assumed
	Assumed  string  // what GPUHours rests on
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
	Repeats       int
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
	o := &Outline{Study: s.Name}
	base := baseline(s)
	decide := []core.NamedWorkload{*workload(s, s.DecideOn)}
	planner := &planner{file: f, open: open, sessions: map[string]*Session{}}
	defer planner.close(context.WithoutCancel(ctx))

	add := func(l OutlineLaunch, workloads []core.NamedWorkload) error {
		plan, err := planner.plan(ctx, l.Config)
		if err != nil {
			return err
		}
		l.Argv, l.Repeats = plan.Processes[0].Argv, s.Run.Repeats
		for _, w := range workloads {
			for _, load := range w.Loads {
				l.Trials = append(l.Trials, w.Workload.Label()+" "+load.Label())
				trial := assumedTrial
				if known := d.Trial[w.Workload.Name]; known > 0 {
					trial = known
				}
				o.GPUHours += trial.Hours() * float64(s.Run.Repeats*max(1, s.Hardware.GPUs))
				o.Trials += s.Run.Repeats
			}
		}
		ready := assumedReady
		if d.Ready > 0 {
			ready = d.Ready
		}
		o.GPUHours += ready.Hours() * float64(max(1, s.Hardware.GPUs))
		l.Env = plan.Processes[0].Env
		o.Launches = append(o.Launches, l)
		return nil
	}
	for _, p := range possible(s) {
		if err := add(p.OutlineLaunch, decide); err != nil {
			return nil, f.Fault(p.key, err)
		}
	}
	if rest := verified(s); len(rest) > 0 {
		for _, name := range s.Verify.Configs {
			l := OutlineLaunch{Stage: "verification", Option: name, Config: base}
			if name == "winner" {
				l.OnTopOf = "the baseline, standing for the winner"
			}
			if err := add(l, rest); err != nil {
				return nil, err
			}
		}
	}
	o.Assumed = assumption(d)
	return o, nil
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
	for i, stage := range s.Stages {
		for j, option := range stage.Try {
			under, onTopOf := standIn(s, i, base)
			cfg := under.With(option.Change)
			if cfg.Hash() == base.Hash() {
				continue
			}
			out = append(out, possibleLaunch{
				OutlineLaunch{Stage: stage.Name, Option: option.Name, When: stage.When, Config: cfg, OnTopOf: onTopOf},
				fmt.Sprintf("stages[%d].try[%d]", i, j),
			})
		}
	}
	return out
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
