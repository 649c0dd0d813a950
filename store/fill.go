package store

import (
	"maps"
	"math"

	"github.com/sweepbook/sweepbook/core"
)

// importAgain records another print of a trial that is here: its source, and what
// the trial lacks.
func (w *writeTx) importAgain(number int64, record *core.Trial) (core.ImportOutcome, error) {
	s, err := w.storedBy("number", number)
	if err != nil {
		return 0, err
	}
	if late, err := w.late(s, record); late || err != nil {
		return core.ImportUpdated, err
	}
	given, err := w.asGiven(number)
	if err != nil {
		return 0, err
	}
	var own int
	if _, err := w.find([]any{&own}, "SELECT ifnull((SELECT decimals FROM source WHERE trial = ? AND seq = 0), -1)", number); err != nil {
		return 0, err
	}
	outcome := core.ImportDuplicate
	if fillIn(given, own, record) {
		outcome = core.ImportUpdated
		now, err := w.whole(number)
		if err != nil {
			return 0, err
		}
		given.Launch, given.Findings = now.Launch, now.Findings
		if s.asserted {
			err = w.relay(number, given)
		} else {
			_, err = w.put(given, s)
		}
		if err != nil {
			return 0, err
		}
	}
	added, err := w.addSources(number, record.Sources)
	if added > 0 && !s.status.Open() {
		w.touchIn(s.study, number) // a source says how finely the figures were printed
	}
	return outcome, err
}

// fillIn gives a trial, whose figures were printed with so many decimals, what it
// lacks of another print of it, and reports whether there was something. Nothing
// is taken of a print that contradicts the trial.
//
// Only what was measured and where is filled in. A second print in a summary
// stands under other headings than the first, so that study, stage, option and
// role say nothing of the trial.
func fillIn(t *core.Trial, decimals int, record *core.Trial) bool {
	if t.Status != record.Status || t.Status.Open() {
		return false
	}
	// A record that people corrected in another history does not say which of its
	// values are its source's, so that nothing is taken of it.
	if len(record.Asserted) > 0 || len(record.Assertions) > 0 {
		return false
	}
	setup, changed, ok := filledSetup(t.Setup, record.Setup)
	if !ok {
		return false
	}
	coarser := core.CoarserDecimals(decimals, sourceDecimals(record))
	figures, ok := figuresToFill(t, record, coarser, decimals)
	if !ok || (!changed && len(figures) == 0) {
		return false
	}
	filled := *t
	filled.Setup = setup
	filled.Figures, filled.Derived = maps.Clone(t.Figures), maps.Clone(t.Derived)
	maps.Copy(filled.Figures, figures)
	filled.Derive()
	if !keeps(t, &filled, coarser) {
		return false
	}
	*t = filled
	return true
}

// figuresToFill are the figures that a record gives and a trial lacks; not ok
// where one that both give differs.
//
// A latency that was printed more coarsely than the trial's own figures is left
// out, since a third print would be compared with it at their precision.
func figuresToFill(t, record *core.Trial, coarser, own int) (figures core.Figures, ok bool) {
	figures = core.Figures{}
	for name, v := range record.Figures {
		if _, derived := record.Derived[name]; derived {
			continue
		}
		if has, ok := t.Figures[name]; ok {
			if !near(has, v, coarser) {
				return nil, false
			}
			continue
		}
		if f, _ := core.LookupField(name); f.Group != core.GroupLatency || coarser == own {
			figures[name] = v
		}
	}
	return figures, true
}

func near(a, b float64, decimals int) bool { return math.Abs(a-b) <= tolerance(decimals, a) }

// keeps reports whether a trial has its own figures and status after it was
// filled: what is worked out again from new figures must come to the same. An
// estimate may give way to the measured figure.
func keeps(t, filled *core.Trial, decimals int) bool {
	for name, v := range t.Figures {
		now, ok := filled.Figures[name]
		if !ok && name == "est_e2el_ms" {
			continue
		}
		if !ok || !near(v, now, decimals) {
			return false
		}
	}
	return t.Status == filled.Status
}

// filledSetup is a setup with the versions, GPU, driver and command that another
// print of the trial knows; not ok where the two contradict each other.
func filledSetup(s, record core.Setup) (filled core.Setup, changed, ok bool) {
	a, b := &s.Config, &record.Config
	for _, same := range [][2]string{{a.Engine, b.Engine}, {a.Model, b.Model}, {a.Checkpoint, b.Checkpoint}, {s.Tool, record.Tool}} {
		if same[0] != same[1] && same[0] != "" && same[1] != "" {
			return s, false, false
		}
	}
	type member struct{ own, other *string }
	members := []member{{&s.Image, &record.Image}, {&s.GPU, &record.GPU}, {&s.Driver, &record.Driver}}
	// A version says nothing without that of which it is one.
	if a.Engine == b.Engine {
		members = append(members, member{&s.EngineVersion, &record.EngineVersion})
	}
	if s.Tool == record.Tool {
		members = append(members, member{&s.ToolVersion, &record.ToolVersion})
	}
	for _, m := range members {
		switch {
		case *m.own == *m.other || *m.other == "":
		case *m.own != "":
			return s, false, false
		default:
			*m.own, changed = *m.other, true
		}
	}
	switch {
	case s.GPUs == record.GPUs || record.GPUs == 0:
	case s.GPUs != 0:
		return s, false, false
	default:
		s.GPUs, changed = record.GPUs, true
	}
	for name, v := range a.Knobs {
		if w, given := b.Knobs[name]; given && v != w {
			return s, false, false
		}
	}
	if a.CommandKnown && b.CommandKnown && len(a.Knobs) != len(b.Knobs) {
		return s, false, false
	}
	if b.CommandKnown && !a.CommandKnown && a.Engine == b.Engine && contains(b.Knobs, a.Knobs) {
		a.Knobs, a.CommandKnown, changed = maps.Clone(b.Knobs), true, true
	}
	return s, changed, true
}

// contains reports whether all names of some settings are among others.
func contains(all, some core.Knobs) bool {
	for name := range some {
		if _, ok := all[name]; !ok {
			return false
		}
	}
	return true
}
