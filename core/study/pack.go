package study

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/sweepbook/sweepbook/core"
)

// checkParallel refuses what cannot be done in several lanes.
func (f *File) checkParallel(root node) {
	s := &f.Study
	if s.Run.Parallel < 2 {
		return
	}
	refuse := func(why string) { root.in.fail(f.places["run.parallel"], "run.parallel: %s", why) }
	switch {
	case s.Search.Race:
		refuse("a race puts each candidate against those before it; leave out search.race or this")
	case s.Search.Screen != nil:
		refuse("a screened candidate is put against those before it; leave out search.screen or this")
	case s.Search.Strategy == core.StrategyModel:
		refuse("the strategy model needs the result of each launch before the next; choose another or leave this out")
	}
	for name, e := range s.Engines {
		if e.URL != "" {
			refuse(fmt.Sprintf("engine %s is one running server (engines.%s.url), which cannot be measured twice at once", name, name))
		}
	}
	if root.in.err != nil {
		return
	}
	for _, launch := range possible(s) {
		if _, named := launch.Config.Env[visibleGPUs]; named {
			root.in.fail(f.places[launch.key], "%s: env.%s names GPUs, and run.parallel gives each launch GPUs of its own; leave out one of them", launch.key, visibleGPUs)
			return
		}
	}
}

// visibleGPUs is the variable by which a configuration names its GPUs itself.
const visibleGPUs = "CUDA_VISIBLE_DEVICES"

// pack tries candidates in so many lanes at once, each on GPUs of its own. What fails
// in one lane for a reason that would meet every launch ends the others after the
// trial in progress.
func (l runnerLab) pack(ctx context.Context, lanes int, cs []candidate) error {
	var queue, again []candidate
	for _, c := range cs {
		same := func(q candidate) bool { return q.config.Hash() == c.config.Hash() }
		if slices.ContainsFunc(queue, same) {
			again = append(again, c) // it is known once the first has ended
		} else {
			queue = append(queue, c)
		}
	}
	var all sync.WaitGroup
	for lane := range min(lanes, len(queue)) {
		all.Go(func() {
			l.thinking.Lock()
			defer l.thinking.Unlock()
			for len(queue) > 0 && l.over == nil {
				c := queue[0]
				queue, c.lane = queue[1:], lane+1
				if err := l.one(ctx, c); err != nil && l.over == nil {
					l.over = err
				}
			}
		})
	}
	l.away(all.Wait)
	if l.over != nil {
		return l.over
	}
	for _, c := range again {
		if err := l.one(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

// away waits for something outside of this process, while other lanes go on.
func (r *Runner) away(wait func()) {
	r.thinking.Unlock()
	defer r.thinking.Lock()
	wait()
}

// back does something of ours in the middle of a wait.
func (r *Runner) back(do func()) {
	r.thinking.Lock()
	defer r.thinking.Unlock()
	do()
}
