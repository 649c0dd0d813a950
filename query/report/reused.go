package report

import "slices"

// reusedName is the extra by which a run names what it took over of another study.
const reusedName = "reused_from"

// reused names the trials that were not measured in this study: their figures are those
// of another one, on an equal setup, at another time.
func (b *builder) reused() error {
	if !slices.Contains(b.names.Extra, reusedName) {
		return nil
	}
	a, err := b.ask("show number, option, workload, load, extra." + reusedName + " as origin" + where(b.scope, "known(extra."+reusedName+")") + " order by number")
	if err != nil || len(a.Rows) == 0 {
		return err
	}
	t := &table{columns: []column{{name: "trial", numeric: true}, {name: "option"}, {name: "workload", short: true}, {name: "load", short: true}, {name: "taken over from"}}}
	for i := range a.Rows {
		r := row{}
		for _, name := range []string{"number", "option", "workload", "load", "origin"} {
			r.cells = append(r.cells, plainText(a.text(i, name)))
		}
		t.rows = append(t.rows, r)
	}
	b.heading(2, "Taken over from other studies")
	b.add(block{notice: strongText(plural(len(a.Rows), "trial")).plain(" of this study: not measured for it. The figures are those of an equal setup, workload and load on the same machine, with the date on which they were measured.")}, block{table: t})
	return nil
}
