package report

import (
	"cmp"
	"fmt"
	"slices"
)

// spot is a workload at a load, a column of the table of what was measured.
type spot struct{ workload, load string }

// gaps writes which configurations were never measured on which workload and load: what
// the report cannot know.
func (b *builder) gaps() error {
	a, err := b.ask(`show count(status == "ok") as ok, count() as n, min(number) as number` + where(b.scope, `status != "retracted"`) + " by config, workload, load")
	if err != nil {
		return err
	}
	var spots []spot
	var configs []string
	begun := map[string]float64{}
	cells := map[string]map[spot]int{} // row of the answer
	for i := range a.Rows {
		config, at := a.text(i, "config"), spot{a.text(i, "workload"), a.text(i, "load")}
		if cells[config] == nil {
			cells[config] = map[spot]int{}
			configs = append(configs, config)
			begun[config] = a.get(i, "number").Num
		}
		begun[config] = min(begun[config], a.get(i, "number").Num)
		cells[config][at] = i
		if !slices.Contains(spots, at) {
			spots = append(spots, at)
		}
	}
	slices.SortStableFunc(configs, func(c, d string) int {
		return cmp.Or(b.rankOf(c)-b.rankOf(d), cmp.Compare(begun[c], begun[d]))
	})
	spots = b.plannedSpots(spots)
	never := 0
	for _, c := range configs {
		for _, at := range spots {
			if _, ok := cells[c][at]; !ok {
				never++
			}
		}
	}
	b.heading(2, "What was never measured")
	if left := b.leftParts(30); len(left) > 0 {
		b.add(block{paragraph: plainText("The study plans more than it has measured:")}, block{list: left})
	}
	switch {
	case never == 0 && b.left.empty():
		b.add(block{paragraph: plainText("Nothing: every configuration has a trial on every workload and load.")})
		return nil
	case never == 0:
		b.add(block{paragraph: plainText("Every configuration that was tried has a trial on every workload and load.")})
		return nil
	}
	const mostRows, mostColumns = 30, 10
	what := "workload"
	for i, at := range spots {
		if slices.ContainsFunc(spots[:i], func(s spot) bool { return s.workload == at.workload }) {
			what = "load"
		}
	}
	about := plainText(fmt.Sprintf("%s on %s: %d of %d have no trial. Numbers count trials with a result.",
		plural(len(configs), "configuration"), plural(len(spots), what), never, len(configs)*len(spots)))
	if len(configs) > mostRows || len(spots) > mostColumns {
		about = about.plain(fmt.Sprintf(" The table shows the first %d and %d.", min(len(configs), mostRows), min(len(spots), mostColumns)))
	}
	t := &table{columns: []column{{name: "configuration"}}}
	loads := map[string]int{}
	for _, at := range spots {
		loads[at.workload]++
	}
	spots = spots[:min(len(spots), mostColumns)]
	for _, at := range spots {
		name := first(at.workload, "no workload")
		if loads[at.workload] > 1 {
			name += " " + first(at.load, "unknown load")
		}
		t.columns = append(t.columns, column{name: name, short: true})
	}
	for _, c := range configs[:min(len(configs), mostRows)] {
		r := row{best: b.winner != nil && c == b.winner.config, cells: []text{codeText(first(b.passed[c], c))}}
		for _, at := range spots {
			r.cells = append(r.cells, b.gapCell(a, cells[c], at))
		}
		t.rows = append(t.rows, r)
	}
	b.add(block{paragraph: about}, block{table: t})
	return nil
}

func (b *builder) gapCell(a *rows, of map[spot]int, at spot) text {
	i, ok := of[at]
	switch {
	case !ok:
		return plainText("never")
	case a.count(i, "ok") == 0:
		return plainText("failed")
	}
	return plainText(a.text(i, "ok"))
}

// rankOf puts the baseline first and the winner second.
func (b *builder) rankOf(config string) int {
	switch {
	case b.baseline != nil && config == b.baseline.config:
		return 0
	case b.winner != nil && config == b.winner.config:
		return 1
	}
	return 2
}

// plannedSpots adds what the study's definition plans and nobody measured, and puts the
// deciding workload first.
func (b *builder) plannedSpots(spots []spot) []spot {
	if b.def != nil {
		for _, w := range b.def.Workloads {
			loads := w.Loads
			if loads == nil {
				if !slices.ContainsFunc(spots, func(s spot) bool { return s.workload == w.Workload.Label() }) {
					spots = append(spots, spot{workload: w.Workload.Label()})
				}
				continue
			}
			for _, l := range loads {
				if at := (spot{w.Workload.Label(), l.Label()}); !slices.Contains(spots, at) {
					spots = append(spots, at)
				}
			}
		}
	}
	order := b.workloadOrder()
	slices.SortStableFunc(spots, func(s, t spot) int {
		return cmp.Or(order(s.workload)-order(t.workload), cmp.Compare(s.workload, t.workload), compareLabels(s.load, t.load))
	})
	return spots
}
