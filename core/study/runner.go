package study

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/sweepbook/sweepbook/core"
)

// Runner carries out one study. All fields but Events, Reserve and GraceTime are
// needed.
type Runner struct {
	File  *File
	Store Store
	Judge Judge
	// Fetch gets what the study needs and this machine lacks; nil gets nothing.
	Fetch Fetcher
	// Unprepared launches without looking first.
	Unprepared bool
	// Open opens an engine by name for one launch.
	Open func(ctx context.Context, engine string) (*Session, error)
	// Start starts a server process under supervision.
	Start func(ctx context.Context, spec ProcessSpec) (Process, error)
	// Reserve makes the machine's GPUs ready for a launch; nil looks after none. A
	// *core.LaunchError fails the launch and ends the run.
	Reserve func(ctx context.Context, launch core.ID, config core.Config) (*Reserved, error)
	// WorkDir holds a private folder for each launch.
	WorkDir string
	// Host names this machine in the history.
	Host string
	// Version is Sweepbook's own, with its commit; Release without it, since a
	// rebuild of one release is the same ruler.
	Version, Release string
	Now              func() time.Time
	// Events receives what happens; it may be nil.
	Events func(Event)
	// Stopping is closed when the user asked to end after the trial in progress, or
	// now where a server is still loading. Ending the context ends at once.
	Stopping <-chan struct{}
	// GraceTime is how long a server may take to end; default 30 s.
	GraceTime time.Duration

	prepared *Prepared                // before the first launch
	known    map[string][]*core.Trial // by trialKey, every attempt
	mine     map[core.ID]bool         // planned by this run
	used     time.Duration            // GPU time of ended launches, of all runs
	launched time.Time                // start of the launch in progress
	stuck    error                    // a server that could not be ended
	unfit    error                    // why the GPUs cannot be measured on
	warned   string                   // the latest warning of Reserve
	watched  []string                 // UUIDs of the GPUs of the launch in progress
	ports    portRange
}

// ErrStopped says that the user ended the run; what ended is recorded, and
// running the study again goes on.
var ErrStopped = errors.New("stopped by the user")

// ErrBudget says that the study's budget is spent.
var ErrBudget = errors.New("budget spent")

// Result is what a run found.
type Result struct {
	Baseline core.Config
	Winner   core.Config
	// Winners are the ids of the best trials on the deciding workload; several
	// when they tie; none when nothing qualifies.
	Winners []core.ID
	// Void says that nothing was decided because no figure may decide; nil otherwise.
	Void   *Void
	Ran    int // trials measured by this run
	Known  int // trials that had ended before
	Failed int // of those measured
}

// Check reports faults in a study's objective and conditions, at their line.
func Check(ctx context.Context, f *File, judge Judge) error {
	if err := judge.Check(ctx, f.Study.Objective); err != nil {
		return f.Fault("objective", err)
	}
	for i, stage := range f.Study.Stages {
		if stage.When == "" {
			continue
		}
		if err := judge.CheckCondition(ctx, stage.When); err != nil {
			return f.Fault(fmt.Sprintf("stages[%d].when", i), err)
		}
	}
	return nil
}

// Run carries out the staged search: each stage's alternatives are tried on top
// of the best configuration so far, judged on the deciding workload; then the
// baseline and the winner are verified on every workload that the study names.
// It returns what was found so far together with an error.
func (r *Runner) Run(ctx context.Context) (Result, error) {
	s := &r.File.Study
	if err := r.recall(ctx); err != nil {
		return Result{}, err
	}
	base := baseline(s)
	res := Result{Baseline: base, Winner: base}
	decide := []core.NamedWorkload{*workload(s, s.DecideOn)}

	r.event(Event{Kind: EventStage, Text: "baseline"})
	err := r.measure(ctx, &res, candidate{config: base, role: core.RoleBaseline, stage: "baseline", option: "baseline"}, decide)
	if err != nil {
		return res, err
	}
	if err := r.judge(ctx, &res, []core.Config{base}); err != nil {
		return res, err
	}
	for _, stage := range s.Stages {
		if err := r.stage(ctx, &res, stage, decide); err != nil {
			return res, err
		}
	}
	return res, r.verify(ctx, &res)
}

// baseline is the study's baseline as a whole configuration.
func baseline(s *core.Study) core.Config {
	c := core.Config{Model: s.Model, Checkpoint: s.Model, CommandKnown: true}
	return c.With(s.Baseline)
}

func (r *Runner) stage(ctx context.Context, res *Result, stage core.Stage, decide []core.NamedWorkload) error {
	r.event(Event{Kind: EventStage, Text: stage.Name})
	if stage.When != "" {
		holds, err := r.holds(ctx, res, stage.When)
		if err != nil {
			return fmt.Errorf("stage %s: %w", stage.Name, err)
		}
		if !holds {
			r.event(Event{Kind: EventDecision, Text: fmt.Sprintf("skipped: %s does not hold of the best so far", stage.When)})
			return nil
		}
	}
	configs := []core.Config{res.Winner}
	for _, option := range stage.Try {
		c := candidate{config: res.Winner.With(option.Change), role: core.RoleCandidate, stage: stage.Name, option: option.Name}
		if err := r.measure(ctx, res, c, decide); err != nil {
			return err
		}
		configs = append(configs, c.config)
	}
	before := res.Winner.Hash()
	if err := r.judge(ctx, res, configs); err != nil {
		return err
	}
	if res.Void != nil {
		r.event(Event{Kind: EventDecision, Text: "nothing is decided: " + res.Void.String()})
		return nil
	}
	if res.Winner.Hash() == before {
		r.event(Event{Kind: EventDecision, Text: "the best so far stays"})
		return nil
	}
	r.event(Event{Kind: EventDecision, Text: "new best: " + Describe(res.Winner)})
	return nil
}

// judge asks the objective over the deciding trials of some configurations. The
// first of tied configurations wins, so that a tie never replaces what is
// simpler: the best so far comes first, then the order of the file.
func (r *Runner) judge(ctx context.Context, res *Result, configs []core.Config) error {
	var among []core.ID
	config := map[core.ID]string{}
	for _, t := range r.done(*workload(&r.File.Study, r.File.Study.DecideOn)) {
		for _, c := range configs {
			if t.Setup.Config.Hash() == c.Hash() && config[t.ID] == "" {
				among = append(among, t.ID)
				config[t.ID] = c.Hash()
			}
		}
	}
	best, err := r.Judge.Best(ctx, r.File.Study.Objective, among)
	res.Winners, res.Void = best, nil
	var void *VoidError
	switch {
	case errors.As(err, &void):
		res.Void = &void.Void
	case err != nil:
		return fmt.Errorf("objective: %w", err)
	}
	for _, c := range configs {
		for _, id := range best {
			if config[id] == c.Hash() {
				res.Winner = c
				return nil
			}
		}
	}
	return nil
}

func (r *Runner) holds(ctx context.Context, res *Result, condition string) (bool, error) {
	// Of tied trials the condition is asked of the configuration that goes on.
	for _, t := range r.done(*workload(&r.File.Study, r.File.Study.DecideOn)) {
		if slices.Contains(res.Winners, t.ID) && t.Setup.Config.Hash() == res.Winner.Hash() {
			return r.Judge.Holds(ctx, condition, t.ID)
		}
	}
	return false, nil
}

func (r *Runner) verify(ctx context.Context, res *Result) error {
	s := &r.File.Study
	workloads := verified(s)
	if len(workloads) == 0 {
		return nil
	}
	r.event(Event{Kind: EventStage, Text: "verification"})
	switch {
	case res.Void != nil:
		r.event(Event{Kind: EventDecision, Text: "skipped: nothing was decided, so there is nothing to verify"})
		return nil
	case len(res.Winners) == 0:
		r.event(Event{Kind: EventDecision, Text: "skipped: nothing qualified, so there is nothing to verify"})
		return nil
	}
	for _, name := range s.Verify.Configs {
		// The baseline keeps its role on every workload: it is what "vs" compares
		// with there.
		c := candidate{config: res.Baseline, role: core.RoleBaseline, stage: "verification", option: name}
		if name == "winner" {
			c.config, c.role = res.Winner, core.RoleVerification
		}
		if err := r.measure(ctx, res, c, workloads); err != nil {
			return err
		}
	}
	return nil
}

func (r *Runner) event(e Event) {
	if r.Events != nil {
		r.Events(e)
	}
}

// Describe is a configuration in one line for people.
func Describe(c core.Config) string {
	text := c.Engine
	if c.Checkpoint != "" {
		text += " " + c.Checkpoint
	}
	if knobs := c.Knobs.String(); knobs != "" {
		text += " " + knobs
	}
	return text
}
