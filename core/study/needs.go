package study

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/sweepbook/sweepbook/core"
)

// Store is what a run needs of the history.
type Store interface {
	// Trials returns every trial of a study, in the order of their numbers.
	Trials(ctx context.Context, study string) ([]*core.Trial, error)
	// Equal returns the trials of other studies that ended well on a host with a
	// configuration, by its hash; in any order.
	Equal(ctx context.Context, study, host, config string) ([]*core.Trial, error)
	// SaveTrial inserts or updates a trial that has not ended.
	SaveTrial(ctx context.Context, t *core.Trial) error
	// FinishTrial records the end of a trial with its samples, all or nothing.
	// core.ErrConflict: the trial had ended already.
	FinishTrial(ctx context.Context, t *core.Trial, samples []core.Sample) error
}

// Judge answers the study's own questions, which are queries.
type Judge interface {
	// Check reports a fault in an objective, with its position.
	Check(ctx context.Context, objective string) error
	// CheckCondition reports a fault in a condition.
	CheckCondition(ctx context.Context, condition string) error
	// Best answers an objective over the given trials only: the ids of the
	// winning trials, several for a tie, none when nothing qualifies. A *VoidError
	// says that trials qualify and that none of their figures may decide.
	Best(ctx context.Context, objective string, among []core.ID) ([]core.ID, error)
	// Rank answers an objective over the given trials, the repeats of a configuration
	// taken together: all that qualify, best first. A *VoidError as of Best;
	// ErrUnranked, also for no trials, where the objective says itself what ties.
	Rank(ctx context.Context, objective string, among []core.ID) (Ranking, error)
	// Holds reports whether a condition is true of a trial.
	Holds(ctx context.Context, condition string, trial core.ID) (bool, error)
}

// Ranking is what an objective says of some trials.
type Ranking struct {
	Rows    []Ranked            // best first
	Figures map[core.ID]float64 // of each trial that qualifies alone
	Lower   bool                // the lowest value is the best
}

// Ranked is one configuration at one load: a trial that stands for its repeats, and
// their common value.
type Ranked struct {
	Trial core.ID
	Value float64
}

// ErrUnranked says that an objective gives winners but no order of the others.
var ErrUnranked = errors.New("the objective has clauses of its own for groups or ties (by, top, within, prefer, limit), so that only the best are known")

// Void is why nothing could be decided: the audit voids every figure that could.
type Void struct {
	Trials int      // that qualify
	Rules  []string // that void them, with their titles: "E7 dummy weights"
}

func (v Void) String() string {
	return fmt.Sprintf("the audit voids every figure that could decide (%d trials): %s", v.Trials, strings.Join(v.Rules, ", "))
}

// VoidError is Void as a judge's answer.
type VoidError struct{ Void }

func (e *VoidError) Error() string { return e.String() }

// Process is a supervised server tree.
type Process interface {
	PID() int
	Done() <-chan struct{}
	ExitCode() int // -1 while running, 128+n for a signal
	LogTail(n int) string
	// Stop ends the tree: politely first, then for certain. It returns when
	// nothing of the tree is left.
	Stop(ctx context.Context, grace time.Duration) error
}

// ProcessSpec is a process to start under supervision.
type ProcessSpec struct {
	Launch  core.ID
	Process core.Process
	Dir     string // private folder of the launch
	LogPath string
}

// Session is an engine that was opened for one launch, a plugin process as a
// rule.
type Session struct {
	core.Engine
	SHA256 string // of the executable
	Close  func(ctx context.Context) error
}

// Event is one step of a run.
type Event struct {
	Kind    EventKind
	Text    string
	Lane    int         // which of the launches that are in progress at once, from 1 on; 0 where there is one
	Trial   *core.Trial // for trial events; of EventLaunch the first
	Done    int         // requests, for EventProgress; trials, for EventTrial
	Total   int
	Elapsed time.Duration
	// Tokens are those of the answers that have ended, for EventProgress of a
	// measurement by the ruler; Elapsed is the time since it began.
	Tokens int
	// Spent is the GPU time of all runs of the study so far: not known to EventProgress.
	Spent time.Duration
}

// EventKind tells the steps of a run apart.
type EventKind uint8

// The steps of a run.
const (
	EventStage EventKind = iota + 1
	EventLaunch
	EventReady
	EventProgress
	EventTrial
	EventFailed // a launch failed, and with it Total trials, of which Trial is one
	EventKnown  // a trial that had ended before; of a failed launch once, with Total
	EventDecision
	EventWarning
	EventStopped // a server and its engine have ended, which took Elapsed
)
