package study

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/sweepbook/sweepbook/core"
)

// candidate is a configuration to be measured and why.
type candidate struct {
	config core.Config
	role   core.Role
	stage  string
	option string
}

// trialKey is equal for the attempts at one planned trial.
func trialKey(t *core.Trial) string {
	return strings.Join([]string{t.Setup.Config.Hash(), t.Workload.Hash(), t.Load.Hash(), fmt.Sprint(t.Repeat)}, "/")
}

// recall reads what earlier runs of the study recorded.
func (r *Runner) recall(ctx context.Context) error {
	trials, err := r.Store.Trials(ctx, r.File.Study.Name)
	if err != nil {
		return fmt.Errorf("study %s: %w", r.File.Study.Name, err)
	}
	r.known = map[string][]*core.Trial{}
	for _, t := range trials {
		key := trialKey(t)
		r.known[key] = append(r.known[key], t)
	}
	return nil
}

// remember keeps a trial among the attempts of its plan, in place of what was
// known of the same trial.
func (r *Runner) remember(t *core.Trial) {
	attempts := r.known[trialKey(t)]
	for i, earlier := range attempts {
		if earlier.ID == t.ID {
			attempts[i] = t
			return
		}
	}
	r.known[trialKey(t)] = append(attempts, t)
}

// done returns the trials that have ended well on a workload.
func (r *Runner) done(workload string) []*core.Trial {
	var out []*core.Trial
	for _, attempts := range r.known {
		for _, t := range attempts {
			if t.Status == core.StatusOK && t.Workload.Name == workload {
				out = append(out, t)
			}
		}
	}
	return out
}

// settled reports whether a planned trial needs no further attempt, now that the
// given attempts were made: one ended well, it failed for a reason that lies with
// the configuration, or its retries are used up.
func (r *Runner) settled(attempts []*core.Trial) bool {
	infra := 0
	for _, t := range attempts {
		switch {
		case t.Status == core.StatusOK, t.Status == core.StatusStopped:
			return true
		case t.Status == core.StatusFailed && !t.Failure.Infra():
			return true
		case t.Status == core.StatusFailed:
			infra++
		}
	}
	return infra > r.File.Study.Run.Retries
}

// trials plans every trial of a candidate that is not settled yet, in the order
// in which one launch measures them: loads of a workload first, then repeats, so
// that the repeats of one load are spread over the launch.
// The settled ones are returned beside them.
func (r *Runner) trials(c candidate, workloads []core.NamedWorkload) (out, known []*core.Trial) {
	s := &r.File.Study
	for repeat := 1; repeat <= s.Run.Repeats; repeat++ {
		for _, w := range workloads {
			for _, load := range w.Loads {
				t := r.newTrial(c, w.Workload, load, repeat)
				attempts := r.known[trialKey(t)]
				if r.settled(attempts) {
					known = append(known, attempts[len(attempts)-1])
					continue
				}
				t.Attempt = 1
				for _, earlier := range attempts {
					if earlier.Status == core.StatusPlanned {
						// Its launch never began: the plan is taken up, not repeated.
						t.ID, t.Number, t.Attempt = earlier.ID, earlier.Number, earlier.Attempt
					} else {
						t.Attempt = max(t.Attempt, earlier.Attempt+1)
					}
				}
				out = append(out, t)
			}
		}
	}
	return out, known
}

func (r *Runner) newTrial(c candidate, w core.Workload, load core.Load, repeat int) *core.Trial {
	s := &r.File.Study
	if load.Seed.Kind == core.KindNumber {
		// Each repeat asks fresh prompts of the same workload, so that a warm
		// prefix cache cannot flatter the later ones.
		load.Seed = core.Number(load.Seed.Num + float64(repeat-1))
	}
	return &core.Trial{
		ID: core.NewID(r.Now()), Study: s.Name, Stage: c.stage, Option: c.option, Role: c.role,
		Status: core.StatusPlanned, Repeat: repeat, Workload: w, Load: load, Host: r.Host,
		SweepbookVersion: r.Version, Figures: core.Figures{},
		Setup: core.Setup{Config: c.config, Tool: "sweepbook", ToolVersion: r.Version,
			GPU: s.Hardware.GPU, GPUs: float64(s.Hardware.GPUs), Image: s.Engines[c.config.Engine].Image},
	}
}

// measure brings every trial of a candidate to its end: as many launches as it
// takes until each is settled.
func (r *Runner) measure(ctx context.Context, res *Result, c candidate, workloads []core.NamedWorkload) error {
	first := true
	for {
		if err := r.mayGoOn(ctx); err != nil {
			return err
		}
		trials, known := r.trials(c, workloads)
		if first {
			res.Known += len(known)
			for _, t := range known {
				r.event(Event{Kind: EventKnown, Trial: t})
			}
			first = false
		}
		if len(trials) == 0 {
			return nil
		}
		// Intent before each side effect: what a launch is for is recorded first.
		for _, t := range trials {
			if err := r.Store.SaveTrial(ctx, t); err != nil {
				return fmt.Errorf("record planned trial: %w", err)
			}
			r.remember(t)
		}
		began := r.Now()
		err := r.launch(ctx, res, c, trials)
		r.used += r.Now().Sub(began)
		if err != nil {
			return err
		}
	}
}

// mayGoOn stops the search between launches and trials.
func (r *Runner) mayGoOn(ctx context.Context) error {
	if ctx.Err() != nil {
		return ErrStopped
	}
	select {
	case <-r.Stopping:
		return ErrStopped
	default:
	}
	s := &r.File.Study
	if s.Run.GPUHours > 0 {
		spent := r.used.Hours() * float64(max(1, s.Hardware.GPUs))
		if spent >= s.Run.GPUHours {
			return fmt.Errorf("%w: %.2f of %.2f GPU hours", ErrBudget, spent, s.Run.GPUHours)
		}
	}
	return nil
}

// grace is how long a server may take to end by itself.
func (r *Runner) grace() time.Duration {
	if r.GraceTime > 0 {
		return r.GraceTime
	}
	return 30 * time.Second
}
