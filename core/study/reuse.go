package study

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/sweepbook/sweepbook/core"
)

// The extras of a trial that was not measured in its study: a sentence for people, and
// the id of the trial that was.
const (
	ReusedFrom = "reused_from"
	ReusedID   = "reused_id"
)

// wasReused reports whether a trial was taken over from another study.
func wasReused(t *core.Trial) bool { _, ok := t.Extra[ReusedID]; return ok }

// notThis is why a trial is no candidate for reuse at all.
const notThis = "another measurement"

// reusable says why a trial of another study cannot stand for a planned one, "" where it
// can. Nothing that is not known counts as equal.
func reusable(old, planned *core.Trial, now time.Time, maxAge time.Duration) string {
	a, b := old.Setup, planned.Setup
	equal := func(what, a, b string) string {
		switch {
		case a == "" || b == "":
			return what + " is not known"
		case a != b:
			return what + " differs"
		}
		return ""
	}
	sum := func(t *core.Trial, name string) string { return t.Extra[name].String() }
	switch {
	case old.Status != core.StatusOK || wasReused(old):
		return notThis
	case a.Config.Hash() != b.Config.Hash() || old.Workload.Hash() != planned.Workload.Hash() || old.Load.Hash() != planned.Load.Hash():
		return notThis
	case a.Tool != b.Tool || b.ToolVersion != "" && a.ToolVersion != b.ToolVersion:
		return "another ruler"
	case old.StartedAt.IsZero() || now.Sub(old.StartedAt) > maxAge || old.StartedAt.After(now):
		return "too old"
	case !sameImage(a.Image, b.Image) || (a.Image == "") != (b.Image == ""):
		return "another image"
	case b.GPUs > 0 && a.GPUs > 0 && a.GPUs != b.GPUs:
		return "another number of GPUs"
	case sum(old, "data_sha256") != sum(planned, "data_sha256"):
		return "other data"
	case sum(old, "checkpoint_revision") != sum(planned, "checkpoint_revision"):
		return "another revision of the checkpoint"
	case slices.ContainsFunc(old.Findings, func(f core.Finding) bool { return f.Counts() && f.Severity >= core.SeverityHard }):
		return "the audit doubts it"
	}
	return cmp.Or(equal("engine version", a.EngineVersion, b.EngineVersion), equal("GPU", a.GPU, b.GPU), equal("host", old.Host, planned.Host))
}

// here makes of a planned trial what it would be on this machine, as far as is known
// before a launch.
func (r *Runner) here(planned *core.Trial) *core.Trial {
	t := *planned
	t.Extra = nil
	facts := r.foretold(t.Setup.Config)
	if v := facts["engine_version"]; v.Text != "" {
		t.Setup.EngineVersion = v.Text
	}
	if v := facts["gpu"]; v.Text != "" {
		t.Setup.GPU = v.Text
	}
	r.trace(&t)
	return &t
}

// takeOver records for planned trials what other studies measured of the same, and
// returns how many it found. Each of theirs stands for one repeat at most, the youngest
// first.
func (r *Runner) takeOver(ctx context.Context, res *Result, trials []*core.Trial) (int, error) {
	rules := r.File.Study.Run
	if !rules.Reuse || len(trials) == 0 || trials[0].Stage == confirmation {
		return 0, nil // a confirmation is there for fresh figures
	}
	if err := r.prepare(ctx); err != nil {
		return 0, err
	}
	theirs, err := r.Store.Equal(ctx, r.File.Study.Name, r.Host, trials[0].Setup.Config.Hash())
	if err != nil {
		return 0, fmt.Errorf("trials of other studies: %w", err)
	}
	youngest(theirs)
	taken := map[core.ID]bool{}
	for _, attempts := range r.known {
		for _, t := range attempts {
			if id, err := core.ParseID(t.Extra[ReusedID].Text); err == nil {
				taken[id] = true
			}
		}
	}
	n, refused := 0, ""
	for _, t := range trials {
		i := slices.IndexFunc(theirs, func(old *core.Trial) bool {
			why := reusable(old, r.here(t), r.Now(), rules.MaxAge)
			if why != "" && why != notThis && refused == "" {
				refused = origin(old) + ": " + why
			}
			return !taken[old.ID] && why == ""
		})
		if i < 0 {
			continue
		}
		taken[theirs[i].ID] = true
		if err := r.adoptTrial(ctx, t, theirs[i]); err != nil {
			return n, err
		}
		res.Reused++
		n++
	}
	if n == 0 && refused != "" {
		r.event(Event{Kind: EventDecision, Text: "not taken over: " + refused})
	}
	return n, nil
}

// youngest puts the trials measured last first.
func youngest(trials []*core.Trial) {
	slices.SortFunc(trials, func(a, b *core.Trial) int {
		return cmp.Or(b.StartedAt.Compare(a.StartedAt), cmp.Compare(a.Number, b.Number))
	})
}

// adoptTrial records a trial of another study as one of this one, with when and how it
// was measured, and from where it is.
func (r *Runner) adoptTrial(ctx context.Context, t, from *core.Trial) error {
	t.Status, t.Setup, t.Load, t.Launch = core.StatusOK, from.Setup, from.Load, from.Launch
	t.StartedAt, t.EndedAt, t.SweepbookVersion = from.StartedAt, from.EndedAt, from.SweepbookVersion
	t.Figures, t.Throttled, t.Quality = maps.Clone(from.Figures), from.Throttled, maps.Clone(from.Quality)
	t.Extra = maps.Clone(from.Extra)
	if t.Extra == nil {
		t.Extra = map[string]core.Value{}
	}
	t.Extra[ReusedFrom], t.Extra[ReusedID] = core.String(origin(from)), core.String(from.ID.String())
	if err := r.Store.FinishTrial(context.WithoutCancel(ctx), t, nil); err != nil {
		return fmt.Errorf("record trial %s: %w", t.ID, err)
	}
	r.remember(t)
	r.event(Event{Kind: EventDecision, Text: fmt.Sprintf("%s: taken over from %s", Describe(t.Setup.Config), origin(from))})
	return nil
}

// origin names a trial of another study.
func origin(t *core.Trial) string {
	name := fmt.Sprintf("trial %d", t.Number)
	if t.Study != "" {
		name += " of study " + t.Study
	}
	return name + ", measured " + t.StartedAt.UTC().Format("2006-01-02 15:04")
}

// FindReusable adds to an outline which trials a run on a host would take over from
// other studies, by what the study file says of versions and GPUs.
func (o *Outline) FindReusable(ctx context.Context, f *File, store Store, host string, now time.Time) error {
	s := &f.Study
	if !s.Run.Reuse {
		return nil
	}
	r := &Runner{File: f, Host: host, Now: func() time.Time { return now }}
	for i := range o.Launches {
		l := &o.Launches[i]
		theirs, err := store.Equal(ctx, s.Name, host, l.Config.Hash())
		if err != nil {
			return fmt.Errorf("trials of other studies: %w", err)
		}
		youngest(theirs)
		for _, named := range l.workloads {
			for _, load := range named.Loads {
				planned := r.newTrial(candidate{config: l.Config}, named, load, 1)
				n := 0
				for _, old := range theirs {
					// What the file does not say is known once a run has looked.
					p := *planned
					p.Setup.ToolVersion = ""
					p.Setup.EngineVersion, p.Setup.GPU = cmp.Or(p.Setup.EngineVersion, old.Setup.EngineVersion), cmp.Or(p.Setup.GPU, old.Setup.GPU)
					p.Extra = old.Extra
					if n < l.Repeats && reusable(old, &p, now, s.Run.MaxAge) == "" {
						n++
						l.Reused = append(l.Reused, fmt.Sprintf("%s, if the engine is %s and the GPU %s here too", origin(old), old.Setup.EngineVersion, old.Setup.GPU))
					}
				}
			}
		}
	}
	return nil
}
