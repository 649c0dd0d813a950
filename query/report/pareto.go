package report

import (
	"fmt"

	"github.com/sweepbook/sweepbook/core"
)

// pareto writes the trials that no other beats in both throughput and latency: what else
// may be chosen when the objective is not all that counts.
func (b *builder) pareto() error {
	if b.winner == nil {
		return nil
	}
	a, second, err := b.front()
	if err != nil || a == nil {
		return err
	}
	t := &table{columns: []column{{name: "trial", numeric: true}, {name: "configuration"}, {name: header(b.obj.name, b.unit()), numeric: true}, {name: header(second, a.Columns[1].Unit), numeric: true}}}
	for i := range a.Rows {
		config := a.text(i, "config")
		t.rows = append(t.rows, row{best: config == b.winner.config, cells: []text{plainText(a.text(i, "number")), codeText(b.configName(config)), number(a.Rows[i][0]), number(a.Rows[i][1])}})
	}
	b.heading(2, "Throughput against latency")
	b.add(block{paragraph: plainText("No qualified trial beats these in both. Figures that a void or hard finding touches are left out: ").code(a.Query).plain(".")}, block{table: t})
	return nil
}

// front asks for the front of the objective and the first latency that enough trials
// have; of an objective that is a latency, for throughput. It is nil where there is no
// second figure.
func (b *builder) front() (a *rows, second string, err error) {
	goals := []string{"min mean_tpot_ms", "min mean_e2el_ms", "min est_e2el_ms", "min mean_ttft_ms"}
	if b.better() == core.LowerBetter {
		goals = []string{"max total_tps", "max output_tps"}
	}
	for _, g := range goals {
		name := g[len("min "):]
		if name == b.obj.value {
			continue
		}
		conditions := []string{b.scope, b.decided(), b.obj.where, b.loadOfWinner(), fmt.Sprintf("sound(%s)", name)}
		if f, ok := core.LookupField(b.obj.value); ok && f.Measured() {
			conditions = append(conditions, fmt.Sprintf("sound(%s)", b.obj.value))
		}
		a, err = b.ask(fmt.Sprintf("pareto %s %s, %s", b.obj.verb, b.obj.value, g) + where(conditions...))
		if err != nil {
			return nil, "", err
		}
		if a.Considered >= 2 {
			return a, name, nil
		}
		b.queries = b.queries[:len(b.queries)-1]
	}
	return nil, "", nil
}
