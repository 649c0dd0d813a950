package report

import (
	"strings"

	"github.com/sweepbook/sweepbook/query/chart"
)

// leftOut says who took part in the decision, who did not and why.
func (b *builder) leftOut() error {
	b.heading(2, "What was left out, and what to beware of")
	b.add(block{paragraph: plainText("Of the question ").code(b.decision.Query).plain(":")})
	var list []text
	for _, l := range chart.Accounting(b.decision.Answer) {
		list = append(list, plainText(l))
	}
	for _, w := range b.decision.Warnings {
		if w.Hint != "" {
			list = append(list, plainText("hint: "+w.Hint))
		}
	}
	b.add(block{list: list})
	return nil
}

// failures lists every trial that ended without a result, and counts those that were
// measured again since.
func (b *builder) failures() error {
	a, err := b.ask("show number, id, stage, option, workload, load, attempt, status, failure" +
		where(b.scope, `status != "ok"`, b.unlessAgain()) + " order by number")
	if err != nil {
		return err
	}
	again := len(b.begun.again)
	if len(a.Rows) == 0 && again == 0 {
		return nil
	}
	b.heading(2, "Trials without a result")
	if again > 0 {
		b.add(block{paragraph: plainText("Interrupted and measured again since, and therefore not listed: " + plural(again, "trial") + ".")})
	}
	if len(a.Rows) == 0 {
		return nil
	}
	t := &table{columns: []column{{name: "trial", numeric: true}, {name: "stage"}, {name: "option"}, {name: "workload", short: true}, {name: "load", short: true}, {name: "attempt"},
		{name: "status"}, {name: "class"}, {name: "line"}}}
	for i := range a.Rows {
		d, err := b.details(a.text(i, "id"))
		if err != nil {
			return err
		}
		r := row{}
		for _, name := range []string{"number", "stage", "option", "workload", "load", "attempt", "status", "failure"} {
			r.cells = append(r.cells, plainText(a.text(i, name)))
		}
		t.rows = append(t.rows, row{cells: append(r.cells, codeText(d.FailureLine))})
	}
	t.dropEmpty()
	b.add(block{table: t})
	return nil
}

// dropEmpty removes the columns of which no row has a text.
func (t *table) dropEmpty() {
	var columns []column
	kept := make([]row, len(t.rows))
	for c := range t.columns {
		filled := false
		for _, r := range t.rows {
			filled = filled || !r.cells[c].empty()
		}
		if !filled {
			continue
		}
		columns = append(columns, t.columns[c])
		for i, r := range t.rows {
			kept[i].cells = append(kept[i].cells, r.cells[c])
			kept[i].best = r.best
		}
	}
	t.columns, t.rows = columns, kept
}

// reproduce gives the questions of the report, each as a command.
func (b *builder) reproduce() error {
	b.heading(2, "How to reproduce")
	if b.def != nil {
		b.add(block{paragraph: plainText("The study runs again with ").code("sweepbook run").plain(" and its study file.")})
	}
	if base := b.baseline; base != nil && (b.winner == nil || base.config != b.winner.config) {
		d, err := b.details(base.trial)
		if err != nil {
			return err
		}
		if d.Serve != "" || d.Bench != "" {
			b.add(block{paragraph: plainText("The baseline runs with these commands, the recommendation with those above:")},
				block{command: strings.TrimSpace(d.Serve + "\n" + d.Bench)})
		}
	}
	b.add(block{paragraph: plainText("Every figure above is the answer to one of these questions:")})
	var lines []string
	for _, q := range b.queries {
		lines = append(lines, "sweepbook query "+shellQuote(q))
	}
	b.add(block{command: strings.Join(lines, "\n")})
	return nil
}

// shellQuote makes one word of a text for a POSIX shell.
func shellQuote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
