package study

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/sweepbook/sweepbook/core"
)

// Fetcher runs the command of a need and returns the end of what it printed.
type Fetcher func(ctx context.Context, need core.Need) (tail string, err error)

// Prepared is what is known of a study and this machine before the first launch.
type Prepared struct {
	Needs []core.Need // all that was looked for, missing or not, each once
	Notes []string    // what could not be looked at

	facts map[string]map[string]core.Value // fields of the setup, by engine
	flags map[string][]core.BadFlag        // by engine
	extra map[string]map[string]core.Value // of trials, by engine and checkpoint
	sums  map[string]core.Value            // SHA-256 of the data, by workload
}

// Missing lists what a launch needs and this machine lacks.
func (p *Prepared) Missing() []core.Need {
	return slices.DeleteFunc(slices.Clone(p.Needs), func(n core.Need) bool { return n.Found != "" })
}

// Refused says which flags of the study the engines of this machine will not take.
func (p *Prepared) Refused() []string {
	var out []string
	for _, engine := range slices.Sorted(maps.Keys(p.flags)) {
		for _, bad := range p.flags[engine] {
			out = append(out, engine+": "+bad.Text)
		}
	}
	return out
}

// MissingError lists everything that a study needs and this machine lacks.
type MissingError struct{ Needs []core.Need }

func (e *MissingError) Error() string {
	text := "this machine lacks what the study needs:"
	for _, n := range e.Needs {
		text += fmt.Sprintf("\n  %s %s: %s", n.Kind, n.Name, n.Problem)
	}
	return text
}

// Prepare looks for everything that the launches of a study may need, while no GPU
// is held. With a fetcher it gets what an engine knows a command for; tell hears of
// each. What is missing in the end is no error.
func Prepare(ctx context.Context, f *File, open func(ctx context.Context, engine string) (*Session, error), fetch Fetcher, tell func(string)) (*Prepared, error) {
	data, sums, err := lookForData(ctx, f)
	if err != nil {
		return nil, err
	}
	plans := &planner{file: f, open: open, sessions: map[string]*Session{}}
	defer plans.close(context.WithoutCancel(ctx))
	failed := map[string]string{} // what could not be fetched, and why
	for {
		p := &Prepared{sums: sums, facts: map[string]map[string]core.Value{}, flags: map[string][]core.BadFlag{}, extra: map[string]map[string]core.Value{}}
		by, err := p.look(ctx, plans)
		if err != nil {
			return nil, err
		}
		fetched := false
		for i := range p.Needs {
			need := &p.Needs[i]
			key := need.Kind + " " + need.Name
			why, tried := failed[key]
			if need.Found == "" && !tried && fetch != nil && len(need.Fetch) > 0 {
				tell("fetch " + key)
				tail, err := fetch(ctx, *need)
				switch {
				case ctx.Err() != nil:
					return nil, ctx.Err()
				case err != nil:
					why = refusal(ctx, by[key], *need, tail, err)
				default:
					fetched, why = true, "" // whether it is there now shows at the next look
				}
				failed[key], tried = why, true
			}
			if tried && need.Found == "" && why != "" {
				need.Problem = why
			}
		}
		if !fetched {
			p.Needs = append(p.Needs, data...)
			return p, nil
		}
	}
}

// look asks the engines about every launch that the search may come to. It returns
// who needs what.
func (p *Prepared) look(ctx context.Context, plans *planner) (map[string]*Session, error) {
	by := map[string]*Session{}
	for _, launch := range possible(&plans.file.Study) {
		c := launch.Config
		plan, err := plans.plan(ctx, c)
		session, opened := plans.sessions[c.Engine]
		if !opened {
			return nil, err
		}
		preparer, ok := session.Engine.(core.Preparer)
		if !ok || err != nil {
			// What cannot be planned fails as its launch, with a class.
			continue
		}
		found, err := preparer.Prepare(ctx, core.PrepareRequest{PlanRequest: plans.file.planRequest(c, portBase(plans.file), plans.file.Local.GPUs, ""), Plan: plan})
		switch {
		case errors.Is(err, core.ErrUnimplemented):
			continue
		case err != nil:
			return nil, fmt.Errorf("engine %s: prepare: %w", c.Engine, err)
		}
		p.add(c, found)
		for _, need := range found.Needs {
			key := need.Kind + " " + need.Name
			i := slices.IndexFunc(p.Needs, func(n core.Need) bool { return n.Kind == need.Kind && n.Name == need.Name })
			switch {
			case i < 0:
				p.Needs = append(p.Needs, need)
			case p.Needs[i].Found != "" && need.Found == "":
				// One launch needs more of it than another: the weights, say.
				p.Needs[i] = need
			default:
				continue
			}
			by[key] = session
		}
	}
	return by, nil
}

// portBase stands for the port of a launch of which only the command is of interest.
func portBase(f *File) int { return cmp.Or(f.Local.PortBase, defaultPortBase) }

func (p *Prepared) add(c core.Config, found core.Preparation) {
	facts, extra := map[string]core.Value{}, map[string]core.Value{}
	for name, v := range found.Facts {
		if rest, ok := strings.CutPrefix(name, "extra."); ok {
			extra[rest] = v
		} else {
			facts[name] = v
		}
	}
	if p.facts[c.Engine] == nil {
		p.facts[c.Engine] = facts
	}
	p.extra[loads(c)] = extra
	for _, bad := range found.Flags {
		if !slices.Contains(p.flags[c.Engine], bad) {
			p.flags[c.Engine] = append(p.flags[c.Engine], bad)
		}
	}
	for _, note := range found.Notes {
		if !slices.Contains(p.Notes, note) {
			p.Notes = append(p.Notes, note)
		}
	}
}

// loads names what a configuration loads, by whom.
func loads(c core.Config) string {
	return c.Engine + " " + cmp.Or(c.Checkpoint, c.Model) + "@" + c.Revision
}

// refusal says why something could not be fetched: the engine knows the words of
// what it stands on.
func refusal(ctx context.Context, engine *Session, need core.Need, tail string, err error) string {
	d, derr := engine.Diagnose(ctx, core.DiagnoseRequest{LogTail: tail, ExitCode: 1, Phase: "load"})
	switch {
	case derr != nil || d.Class == "" || d.Class == core.UnknownFailure:
		lines := strings.Split(strings.TrimSpace(tail), "\n")
		return fmt.Sprintf("it could not be fetched: %s: %v", lines[len(lines)-1], err)
	case need.Denied != "" && (d.Class == core.Auth || d.Class == core.ModelNotFound):
		return need.Denied + " (" + d.Line + ")"
	}
	return fmt.Sprintf("it could not be fetched (%s): %s", d.Class, d.Line)
}

// lookForData finds the data files of the workloads and takes their sums.
func lookForData(ctx context.Context, f *File) (needs []core.Need, sums map[string]core.Value, err error) {
	sums = map[string]core.Value{}
	done := map[string]core.Value{}
	for _, w := range f.Study.Workloads {
		path := f.DataPath(w.Workload)
		if path == "" {
			continue
		}
		sum, known := done[path]
		if !known {
			need := core.Need{Kind: "data", Name: w.Workload.Path}
			text, err := sha256Of(ctx, path)
			switch {
			case ctx.Err() != nil:
				return nil, nil, ctx.Err()
			case err != nil:
				need.Problem = fmt.Sprintf("%v: put it there, or set data_dir in local.yaml", err)
			default:
				need.Found, sum = path+" sha256:"+text, core.String(text)
			}
			done[path] = sum
			needs = append(needs, need)
		}
		sums[w.Workload.Name] = sum
	}
	return needs, sums, nil
}

func sha256Of(ctx context.Context, path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = file.Close() }() // only read
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return "", fmt.Errorf("%s is no file", path)
	}
	sum := sha256.New()
	for {
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		switch _, err := io.CopyN(sum, file, 64<<20); {
		case errors.Is(err, io.EOF):
			return hex.EncodeToString(sum.Sum(nil)), nil
		case err != nil:
			return "", fmt.Errorf("read data: %w", err)
		}
	}
}

// prepare looks once, before the first launch of a run; what is known already needs
// nothing.
func (r *Runner) prepare(ctx context.Context) error {
	if r.prepared != nil || r.Unprepared {
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stopping := r.Stopping // of this run; the next one may have another
	go func() {
		select {
		case <-stopping:
			cancel()
		case <-ctx.Done():
		}
	}()
	p, err := Prepare(ctx, r.File, r.Open, r.Fetch, func(text string) { r.event(Event{Kind: EventDecision, Text: text}) })
	switch {
	case ctx.Err() != nil:
		return ErrStopped
	case err != nil:
		return err
	}
	for _, note := range p.Notes {
		r.event(Event{Kind: EventDecision, Text: note})
	}
	for _, bad := range p.Refused() {
		r.event(Event{Kind: EventWarning, Text: bad})
	}
	if missing := p.Missing(); len(missing) > 0 {
		return &MissingError{missing}
	}
	r.prepared = p
	return nil
}

// foretold are the facts of a launch that are known before it.
func (r *Runner) foretold(c core.Config) map[string]core.Value {
	if r.prepared == nil {
		return nil
	}
	return r.prepared.facts[c.Engine]
}

// refused says which flag of a command the engine of this machine will not take.
func (r *Runner) refused(c core.Config, argv []string) error {
	if r.prepared == nil {
		return nil
	}
	for _, bad := range r.prepared.flags[c.Engine] {
		for _, arg := range argv {
			if arg == bad.Flag || strings.HasPrefix(arg, bad.Flag+"=") {
				return &core.LaunchError{Class: core.BadArgument, Line: bad.Text}
			}
		}
	}
	return nil
}

// trace adds to a trial what its data and its checkpoint were.
func (r *Runner) trace(t *core.Trial) {
	if r.prepared == nil {
		return
	}
	if t.Extra == nil {
		t.Extra = map[string]core.Value{}
	}
	maps.Copy(t.Extra, r.prepared.extra[loads(t.Setup.Config)])
	if sum := r.prepared.sums[t.Workload.Name]; !sum.IsMissing() {
		t.Extra["data_sha256"] = sum
	}
}
