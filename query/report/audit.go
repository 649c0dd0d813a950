package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sweepbook/sweepbook/core"
)

// found is what one rule says at one severity over the trials of a study.
type found struct {
	rule     string
	severity core.Severity
	trials   []string // numbers
	metrics  []string
	evidence string // of the winner's or baseline's trial, else of the first
	decided  bool   // the evidence is of one of these
}

// audit writes the void and hard findings with their evidence, and counts the rest.
func (b *builder) audit() error {
	a, err := b.ask("show number, id, config, findings" + where(b.scope, "findings > 0") + " order by number")
	if err != nil {
		return err
	}
	b.heading(2, "What the audit found")
	if len(a.Rows) == 0 {
		b.add(block{paragraph: plainText("Nothing: no trial of the study has a finding.")})
		return nil
	}
	all, accepted, err := b.findings(a)
	if err != nil {
		return err
	}
	if len(all)+accepted == 0 {
		b.add(block{paragraph: plainText("There are findings on " + plural(len(a.Rows), "trial") + " of the study; ").code("sweepbook audit").plain(" lists them.")})
		return nil
	}
	grave := slices.DeleteFunc(slices.Clone(all), func(f found) bool { return f.severity < core.SeverityHard })
	if len(grave) == 0 {
		b.add(block{paragraph: plainText("No void or hard finding.")})
	} else {
		b.add(block{paragraph: plainText("A void figure must not decide anything; a hard finding says that a figure cannot be right as labelled. Each touches the named figures only.")},
			block{table: b.findingTable(grave)})
	}
	b.add(b.counted(all, accepted)...)
	return nil
}

// findings gathers what Details know of the trials, by rule and severity, the gravest
// and most frequent first. accepted counts what people have acknowledged.
func (b *builder) findings(a *rows) (all []found, accepted int, err error) {
	byRule := map[string]*found{}
	for i := range a.Rows {
		d, err := b.details(a.text(i, "id"))
		if err != nil {
			return nil, 0, err
		}
		config := a.text(i, "config")
		decided := b.winner != nil && config == b.winner.config || b.baseline != nil && config == b.baseline.config
		for _, f := range d.Findings {
			if !f.Counts() {
				accepted++
				continue
			}
			key := fmt.Sprint(f.Rule, f.Severity)
			g := byRule[key]
			if g == nil {
				g = &found{rule: f.Rule, severity: f.Severity}
				byRule[key] = g
			}
			if n := a.text(i, "number"); !slices.Contains(g.trials, n) {
				g.trials = append(g.trials, n)
			}
			for _, m := range f.Metrics {
				if !slices.Contains(g.metrics, m) {
					g.metrics = append(g.metrics, m)
				}
			}
			if g.evidence == "" || decided && !g.decided {
				g.evidence, g.decided = "#"+a.text(i, "number")+": "+f.Evidence, decided
			}
		}
	}
	for _, g := range byRule {
		all = append(all, *g)
	}
	slices.SortFunc(all, func(f, g found) int {
		return cmp.Or(cmp.Compare(g.severity, f.severity), cmp.Compare(len(g.trials), len(f.trials)), cmp.Compare(f.rule, g.rule))
	})
	return all, accepted, nil
}

func (b *builder) findingTable(list []found) *table {
	t := &table{columns: []column{{name: "severity", short: true}, {name: "rule"}, {name: "trials"}, {name: "touches"}, {name: "evidence"}}}
	for _, f := range list {
		rule := strongText(f.rule)
		if title := b.opt.RuleTitles[f.rule]; title != "" {
			rule = rule.plain(" " + title)
		}
		t.rows = append(t.rows, row{cells: []text{plainText(f.severity.String()), rule, plainText(trialList(f.trials)), codeText(figureList(f.metrics)), plainText(f.evidence)}})
	}
	return t
}

// trialList is "#4, #9"; of many, how many.
func trialList(numbers []string) string {
	const most = 8
	if len(numbers) > most {
		return fmt.Sprintf("%d trials: #%s, …", len(numbers), strings.Join(numbers[:most], ", #"))
	}
	return "#" + strings.Join(numbers, ", #")
}

// figureList names what a finding touches, without the rates per GPU that follow.
func figureList(metrics []string) string {
	list := slices.DeleteFunc(slices.Clone(metrics), func(m string) bool { return strings.HasSuffix(m, "_per_gpu") })
	if slices.Contains(list, "*") {
		return "every figure"
	}
	const most = 6
	if len(list) > most {
		return strings.Join(list[:most], ", ") + fmt.Sprintf(" and %d more", len(list)-most)
	}
	return strings.Join(list, ", ")
}

// counted is a sentence on the findings that forbid nothing.
func (b *builder) counted(all []found, accepted int) []block {
	bySeverity := map[core.Severity][]string{}
	for _, f := range all {
		if f.severity < core.SeverityHard {
			bySeverity[f.severity] = append(bySeverity[f.severity], fmt.Sprintf("%s on %s", f.rule, plural(len(f.trials), "trial")))
		}
	}
	var parts []string
	for _, s := range slices.Backward(slices.Sorted(maps.Keys(bySeverity))) {
		parts = append(parts, fmt.Sprintf("%s: %s", s, strings.Join(bySeverity[s], ", ")))
	}
	if accepted > 0 {
		parts = append(parts, "acknowledged: "+plural(accepted, "finding"))
	}
	if parts == nil {
		return nil
	}
	return []block{{paragraph: plainText("The rest, counted: " + strings.Join(parts, "; ") + ".")}}
}
