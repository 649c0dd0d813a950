package audit

import (
	"slices"

	"github.com/sweepbook/sweepbook/core"
)

// Trials audits trials as a whole: it summarizes them, then judges each. Trials of
// several studies may be given at once; each is judged within its own. A trial
// without findings has no entry. Two records of one trial share an id and so an
// entry, in which each finding stands once.
func Trials(trials []*core.Trial, ref Reference) map[core.ID][]core.Finding {
	s := Summarize(trials)
	out := map[core.ID][]core.Finding{}
	for _, t := range trials {
		for _, f := range Trial(t, s, ref) {
			if !slices.ContainsFunc(out[t.ID], func(g core.Finding) bool { return g.Rule == f.Rule && slices.Equal(g.Metrics, f.Metrics) }) {
				out[t.ID] = append(out[t.ID], f)
			}
		}
	}
	return out
}

// Trial judges one trial. The summary should have been made of trials that include
// it; a nil summary leaves out every rule that compares. Findings come in the order
// of [Rules].
func Trial(t *core.Trial, s *Summary, ref Reference) []core.Finding {
	if t.Status.Open() || t.Status == core.StatusRetracted || len(t.Figures) == 0 {
		return nil
	}
	x := newSubject(t, s, ref)
	var out []core.Finding
	for _, r := range allRules {
		out = append(out, r.findings(x)...)
	}
	return out
}
