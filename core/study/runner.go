package study

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/sweepbook/sweepbook/core"
)

// Runner carries out one study. All fields but Events, Reserve, HoldPort and GraceTime are
// needed. Where a study has several launches in progress at once, Open and its sessions,
// Start and Reserve are used by several goroutines, Store and Judge by one at a time.
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
	// HoldPort keeps a port from other runs of this machine until release; not ok where
	// one of them has it. nil keeps none.
	HoldPort func(port int) (release func(), ok bool)
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
	// ToolVersion tells the version of a Python distribution by a program that uses
	// it, "" where it cannot; nil leaves versions of tools unknown.
	ToolVersion func(ctx context.Context, program, distribution string) string
	// GraceTime is how long a server may take to end; default 30 s.
	GraceTime time.Duration

	prepared *Prepared                // before the first launch
	known    map[string][]*core.Trial // by trialKey, every attempt
	figures  map[core.ID]float64      // the objective's value of each trial that was judged
	// racing says after a trial why the launch's others are given up, "" to go on; nil
	// where nothing races.
	racing   func(ctx context.Context) (string, error)
	mine     map[core.ID]bool      // planned by this run
	used     time.Duration         // GPU time of ended launches, of all runs
	launched map[core.ID]time.Time // start of each launch in progress, by its first trial
	trying   int                   // trials in progress
	stuck    error                 // a server that could not be ended
	unfit    error                 // why the GPUs cannot be measured on
	over     error                 // why other lanes begin nothing more
	warned   string                // the latest warning of Reserve
	ports    portRange

	// thinking is held by whoever uses the above: one at a time, however many launches
	// are in progress. Who waits for something outside lets go of it, see away.
	thinking sync.Mutex
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
	// Winners are the ids of the best trials on the deciding workload, that of the
	// winner first; several when they tie; none when nothing qualifies.
	Winners []core.ID
	// Tied are the configurations that cannot be told from the best, without the
	// winner; Basis says what that rests on.
	Tied  []core.Config
	Basis string
	// Void says that nothing was decided because no figure may decide; nil otherwise.
	Void   *Void
	Ran    int // trials measured by this run
	Known  int // trials that had ended before
	Failed int // of those measured
	Reused int // taken over from other studies
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
	// Both compare configurations that are not the best.
	key := "search.beam"
	search := f.Study.Search
	switch {
	case search.Strategy == core.StrategyModel:
		key = "search.strategy"
	case search.Screen != nil:
		key = "search.screen"
	case search.Race:
		key = "search.race"
	}
	if search.Race || search.Beam > 1 || search.Screen != nil || search.Strategy == core.StrategyModel {
		if _, err := judge.Rank(ctx, f.Study.Objective, nil); err != nil {
			return f.Fault(key, err)
		}
	}
	return nil
}

// Run carries out the search by the study's strategy, judged on the deciding
// workload; then the baseline and the winner are verified on every workload that the
// study names. It returns what was found so far together with an error.
func (r *Runner) Run(ctx context.Context) (Result, error) {
	r.thinking.Lock()
	defer r.thinking.Unlock()
	if err := r.begin(ctx); err != nil {
		return Result{}, err
	}
	res := Result{Baseline: baseline(&r.File.Study)}
	s := newSearch(&r.File.Study, runnerLab{Runner: r, res: &res, walked: map[string]bool{}})
	err := s.run(ctx)
	res.Winner, res.Void = s.best, s.void
	if err != nil {
		return res, err
	}
	if _, err := r.finish(ctx, &res, s, true); err != nil {
		return res, err
	}
	return res, r.verify(ctx, &res)
}

// begin makes known what this machine has and what earlier runs recorded.
func (r *Runner) begin(ctx context.Context) error {
	if err := r.findTools(); err != nil {
		return err
	}
	r.figures, r.launched, r.over = map[core.ID]float64{}, map[core.ID]time.Time{}, nil
	return r.recall(ctx)
}

// baseline is the study's baseline as a whole configuration.
func baseline(s *core.Study) core.Config {
	c := core.Config{Model: s.Model, Checkpoint: s.Model, CommandKnown: true}
	return c.With(s.Baseline)
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
	if r.Events == nil {
		return
	}
	if e.Kind != EventProgress { // which comes from other goroutines
		e.Spent = r.spent()
	}
	r.Events(e)
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
