package study

import (
	"cmp"
	"context"
	"fmt"
	"slices"
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
	// first and last number the repeats; 0 stands for the study's own, from 1 on.
	first, last int
	against     core.Config // the best so far, which a race is run against
	lane        int         // from 1 on where several are tried at once
	// whole measures on the deciding workload where the search is judged on another.
	whole bool
}

// trialKey is equal for the attempts at one planned trial.
func trialKey(t *core.Trial) string {
	return strings.Join([]string{t.Setup.Config.Hash(), t.Workload.Hash(), t.Load.Hash(), t.Setup.Tool, fmt.Sprint(t.Repeat)}, "/")
}

// recall reads what earlier runs of the study recorded.
func (r *Runner) recall(ctx context.Context) error {
	trials, err := r.Store.Trials(ctx, r.File.Study.Name)
	if err != nil {
		return fmt.Errorf("study %s: %w", r.File.Study.Name, err)
	}
	r.known, r.mine = map[string][]*core.Trial{}, map[core.ID]bool{}
	for _, t := range trials {
		key := trialKey(t)
		r.known[key] = append(r.known[key], t)
	}
	r.used = launchTime(trials)
	return nil
}

// launchTime is how long the launches of some trials held their GPUs, as far as
// their trials tell.
func launchTime(trials []*core.Trial) time.Duration {
	held := map[core.ID]time.Duration{}
	for _, t := range trials {
		if t.Launch != nil && !wasReused(t) && !t.Launch.StartedAt.IsZero() && !t.EndedAt.IsZero() {
			held[t.Launch.ID] = max(held[t.Launch.ID], t.EndedAt.Sub(t.Launch.StartedAt))
		}
	}
	var sum time.Duration
	for _, d := range held {
		sum += d
	}
	return sum
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

// done returns the trials that have ended well on a workload as the study defines
// it now, in the order of their numbers: what was measured under an earlier
// definition of the same name, or on another GPU or version, does not count.
func (r *Runner) done(w core.NamedWorkload) []*core.Trial {
	loads := map[string]bool{}
	for _, load := range w.Loads {
		loads[load.Hash()] = true
	}
	var out []*core.Trial
	for _, attempts := range r.known {
		for _, t := range attempts {
			if t.Status == core.StatusOK && t.Workload.Hash() == w.Workload.Hash() && loads[t.Load.Hash()] && t.Setup.Tool == toolOf(w) &&
				alike(t.Setup, r.planned(t.Setup.Config)) {
				out = append(out, t)
			}
		}
	}
	slices.SortFunc(out, func(a, b *core.Trial) int { return cmp.Compare(a.Number, b.Number) })
	return out
}

// alike reports whether an earlier attempt was made on the setup that is planned
// now, as far as both are known: after another version, image or GPU was chosen,
// what was measured before is another measurement.
func alike(earlier, planned core.Setup) bool {
	return sameImage(earlier.Image, planned.Image) && sameGPU(earlier.GPU, planned.GPU) &&
		(planned.EngineVersion == "" || earlier.EngineVersion == "" || sameRelease(earlier.EngineVersion, planned.EngineVersion))
}

// sameGPU compares names of GPUs, of which people write a part: H100 is the NVIDIA
// H100 80GB HBM3 that the machine reports.
func sameGPU(a, b string) bool {
	a, b = strings.ToLower(a), strings.ToLower(b)
	return strings.Contains(a, b) || strings.Contains(b, a)
}

// sameImage compares references to images. Only what was launched has a digest.
func sameImage(a, b string) bool {
	nameA, digestA, _ := strings.Cut(a, "@")
	nameB, digestB, _ := strings.Cut(b, "@")
	return a == "" || b == "" || nameA == nameB && (digestA == "" || digestB == "" || digestA == digestB)
}

// sameRelease compares versions without a leading v and without the build's own
// suffix: v0.11.0+cu128 is 0.11.0.
func sameRelease(a, b string) bool {
	release := func(v string) string {
		v, _, _ = strings.Cut(strings.TrimPrefix(v, "v"), "+")
		return v
	}
	return release(a) == release(b)
}

// settled reports whether a planned trial needs no further attempt, now that the
// given attempts were made: one ended well, it failed for a reason that lies with
// the configuration, or its retries are used up. Failures of the machine in earlier
// runs do not count: the machine may have been mended.
func (r *Runner) settled(attempts []*core.Trial) bool {
	infra := 0
	for _, t := range attempts {
		switch {
		case t.Status == core.StatusOK, t.Status == core.StatusStopped:
			return true
		case t.Status == core.StatusFailed && !t.Failure.Infra() && !r.otherGPUs(t):
			return true
		case t.Status == core.StatusFailed && r.mine[t.ID]:
			infra++
		}
	}
	return infra > r.File.Study.Run.Retries
}

// otherGPUs reports whether an engine refused to plan a failed trial for another number
// of GPUs than a launch is given now: what it refused may have been that number.
func (r *Runner) otherGPUs(t *core.Trial) bool {
	unplanned := t.Failure == core.BadArgument && t.Launch != nil && len(t.Launch.Argv) == 0
	return unplanned && t.Setup.GPUs != r.File.gpuCount(t.Setup.Simulated)
}

// trials plans every trial of a candidate that is not settled yet, in the order
// in which one launch measures them: loads of a workload first, then repeats, so
// that the repeats of one load are spread over the launch.
// The settled ones are returned beside them.
func (r *Runner) trials(c candidate, workloads []core.NamedWorkload) (out, known []*core.Trial) {
	if c.last == 0 {
		c.first, c.last = 1, r.File.Study.Run.Repeats
	}
	for repeat := c.first; repeat <= c.last; repeat++ {
		for _, w := range workloads {
			for _, load := range w.Loads {
				t := r.newTrial(c, w, load, repeat)
				var attempts []*core.Trial
				for _, earlier := range r.known[trialKey(t)] {
					// What this run has measured is never measured again by it, whatever the
					// engine says of the setup beside what was planned.
					if r.mine[earlier.ID] || alike(earlier.Setup, t.Setup) {
						attempts = append(attempts, earlier)
					}
				}
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

// planned is the setup of a configuration as far as the study says it.
func (r *Runner) planned(c core.Config) core.Setup {
	s := &r.File.Study
	origin := s.Engines[c.Engine]
	return core.Setup{Config: c, EngineVersion: origin.Version, Image: origin.Image, GPU: s.Hardware.GPU, GPUs: float64(s.Hardware.GPUs)}
}

func (r *Runner) newTrial(c candidate, named core.NamedWorkload, load core.Load, repeat int) *core.Trial {
	s, w := &r.File.Study, named.Workload
	load.Seed = core.Number(Seed(load.Seed.Num, place(s, w, load), repeat))
	version := r.Release
	if named.Tool != "" {
		version = "" // known once it runs
	}
	setup := r.planned(c.config)
	setup.Tool, setup.ToolVersion = toolOf(named), version
	return &core.Trial{
		ID: core.NewID(r.Now()), Study: s.Name, Stage: c.stage, Option: c.option, Role: c.role,
		Status: core.StatusPlanned, Repeat: repeat, Workload: w, Load: load, Host: r.Host,
		SweepbookVersion: r.Version, Figures: core.Figures{},
		Setup: setup,
	}
}

// seedStride leaves room for the repeats of one workload and load.
const seedStride = 1000

// Seed is the seed of one trial: the given one plus a number of its workload and
// load, counted from 0, and of its repeat, counted from 1. Several are measured on
// one server, and equal seeds would ask prompts that it has in its prefix cache
// already.
func Seed(given float64, place, repeat int) float64 {
	return given + float64(place*seedStride+repeat-1)
}

// place numbers the workloads and loads of a study. It is equal for all
// configurations, which are asked the same.
func place(s *core.Study, w core.Workload, load core.Load) int {
	n := 0
	for _, named := range s.Workloads {
		for _, l := range named.Loads {
			if named.Workload.Name == w.Name && l.Hash() == load.Hash() {
				return n
			}
			n++
		}
	}
	return n
}

// measure brings every trial of a candidate to its end: as many launches as it
// takes until each is settled.
func (r *Runner) measure(ctx context.Context, res *Result, c candidate, workloads []core.NamedWorkload) error {
	first := true
	for {
		trials, known := r.trials(c, workloads)
		if first {
			res.Known += len(known)
			r.tellKnown(known)
			first = false
			if len(known) > 0 && len(trials) > 0 {
				// A run that was cut off between a trial and what it decides.
				if err := r.raceKnown(ctx, c, workloads); err != nil {
					return err
				}
				trials, _ = r.trials(c, workloads)
			}
		}
		if len(trials) == 0 {
			return nil
		}
		if pruned, err := r.prune(ctx, c, trials); err != nil || pruned {
			return err
		}
		if err := r.mayGoOn(ctx); err != nil {
			return err
		}
		if n, err := r.takeOver(ctx, res, trials); err != nil {
			return err
		} else if n > 0 {
			if err := r.raceKnown(ctx, c, workloads); err != nil {
				return err
			}
			continue
		}
		if err := r.prepare(ctx); err != nil {
			return err
		}
		// Intent before each side effect: what a launch is for is recorded first.
		for _, t := range trials {
			if err := r.Store.SaveTrial(ctx, t); err != nil {
				return fmt.Errorf("record planned trial: %w", err)
			}
			r.remember(t)
			r.mine[t.ID] = true
		}
		began := r.Now()
		r.launched[trials[0].ID] = began
		err := r.launch(ctx, res, c, trials)
		r.used += r.Now().Sub(began)
		delete(r.launched, trials[0].ID)
		if err != nil {
			return err
		}
	}
}

// tellKnown says what is known already: of a launch that failed once, not of each
// of its trials.
func (r *Runner) tellKnown(known []*core.Trial) {
	failed := map[core.ID]int{}
	for _, t := range known {
		if t.Launch != nil && t.Launch.Failure != "" {
			failed[t.Launch.ID]++
		}
	}
	for _, t := range known {
		e := Event{Kind: EventKnown, Trial: t}
		if t.Launch != nil && t.Launch.Failure != "" {
			if e.Total = failed[t.Launch.ID]; e.Total == 0 {
				continue
			}
			delete(failed, t.Launch.ID)
		}
		r.event(e)
	}
}

// stopping reports whether the user asked to end.
func (r *Runner) stopping() bool {
	select {
	case <-r.Stopping:
		return true
	default:
		return false
	}
}

// measured counts the trials that held a GPU to their end, of all runs.
func (r *Runner) measured() int {
	n := 0
	for _, attempts := range r.known {
		for _, t := range attempts {
			if (t.Status == core.StatusOK || t.Status == core.StatusFailed) && !wasReused(t) {
				n++
			}
		}
	}
	return n
}

// mayGoOn stops the search between launches and trials.
func (r *Runner) mayGoOn(ctx context.Context) error {
	if ctx.Err() != nil || r.stopping() {
		return ErrStopped
	}
	if r.stuck != nil {
		return fmt.Errorf("a server could not be ended and may hold its GPU: %w", r.stuck)
	}
	if err := cmp.Or(r.unfit, r.over); err != nil {
		return err
	}
	s := &r.File.Study
	if n := r.measured(); s.Run.Trials > 0 && n+r.trying >= s.Run.Trials {
		return fmt.Errorf("%w: %d of %d trials", ErrBudget, n+r.trying, s.Run.Trials)
	}
	if s.Run.GPUHours > 0 {
		if spent := r.spent().Hours(); spent >= s.Run.GPUHours {
			return fmt.Errorf("%w: %.2f of %.2f GPU hours", ErrBudget, spent, s.Run.GPUHours)
		}
	}
	return nil
}

// spent is the GPU time of all runs, that of launches in progress included.
func (r *Runner) spent() time.Duration {
	used := r.used
	for _, began := range r.launched {
		used += r.Now().Sub(began)
	}
	return used * time.Duration(max(1, r.File.Study.Hardware.GPUs))
}

// grace is how long a server may take to end by itself.
func (r *Runner) grace() time.Duration {
	if r.GraceTime > 0 {
		return r.GraceTime
	}
	if r.File.Study.Run.StopTimeout > 0 {
		return r.File.Study.Run.StopTimeout
	}
	return 30 * time.Second
}
