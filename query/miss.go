package query

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/sweepbook/sweepbook/core"
)

// miss counts the trials that fail one conjunct, and remembers the one that fails
// this conjunct alone and by least.
type miss struct {
	trials  int
	gap     float64
	nearest []core.Value   // the row, nil for none
	texts   map[string]int // of a comparison with a text: what trials have instead, and how many
}

// maxTexts bounds the different texts that are remembered.
const maxTexts = 200

// see notes what a trial has instead of the text that a condition wants.
func (m *miss) see(c conjunct, row []core.Value, n int) {
	if c.cmp != "==" || c.kids[1].lit == nil || c.kids[1].lit.Kind != core.KindText {
		return
	}
	v := c.kids[0].val(row)
	if _, ok := m.texts[v.Text]; v.Kind != core.KindText || !ok && len(m.texts) == maxTexts {
		return
	}
	if m.texts == nil {
		m.texts = map[string]int{}
	}
	m.texts[v.Text] += n
}

// meant lists the texts that a mistaken one may mean: those that hold it, else the
// nearest.
func (m *miss) meant(c conjunct) string {
	want := c.kids[1].lit.Text
	var all, near []string
	for text := range m.texts {
		all = append(all, text)
		if want != "" && (strings.Contains(strings.ToLower(text), strings.ToLower(want)) || text != "" && strings.Contains(strings.ToLower(want), strings.ToLower(text))) {
			near = append(near, text)
		}
	}
	slices.Sort(all)
	if near == nil && len(want) > 2 {
		near = core.NearestNames(want, all)
	}
	slices.SortFunc(near, func(a, b string) int { return cmp.Or(m.texts[b]-m.texts[a], strings.Compare(a, b)) })
	var parts []string
	for _, text := range near[:min(3, len(near))] {
		parts = append(parts, fmt.Sprintf("%q in %s", text, trials(m.texts[text])))
	}
	return strings.Join(parts, ", ")
}

// countMisses notes which conditions a row fails that stands for n trials. Those that
// need samples come last and are not asked where another fails.
func (e *evaluation) countMisses(conds []conjunct, row []core.Value, n int) {
	failed, only := 0, -1
	for _, c := range conds {
		if c.reads && failed > 0 {
			break
		}
		switch c.cond(row) {
		case no:
			e.misses[c.at].trials += n
			if len(e.p.late) == 0 {
				e.misses[c.at].see(c, row, n)
			}
			failed, only = failed+1, c.at
		case undecided:
			failed++
		}
	}
	if failed != 1 || only < 0 || e.p.where[only].cmp == "" || len(e.p.late) > 0 {
		return
	}
	kids := e.p.where[only].kids
	l, r := kids[0].val(row), kids[1].val(row)
	gap := arithmetic("-", l, r)
	if gap.Kind != core.KindNumber {
		return
	}
	m, distance := &e.misses[only], math.Abs(gap.Num)
	if m.nearest == nil || distance < m.gap || (distance == m.gap && e.p.tieBreak(row, m.nearest) < 0) {
		m.gap, m.nearest = distance, e.p.keepRow(row)
	}
}
