package query

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/sweepbook/sweepbook/core"
)

// Explanation is how a query was answered.
type Explanation struct {
	Query   string
	Reads   []Read
	Steps   []Step
	Unread  []string // columns that only the rows of the answer got
	Looks   [][]string
	Columns []string
	Answer  *Answer
}

// Read is one walk over trials.
type Read struct {
	For       string // what it was for
	Statement string // "" where the source does not say
	Plan      []string
}

// Step is what one clause did.
type Step struct {
	Clause string
	Left   int // trials or, behind the rows of a group, rows that are left behind it
	Why    string
}

// Explain answers a query and tells how: what was read of the history, and how many
// trials each clause left.
func Explain(ctx context.Context, src Source, text string, opt Options) (*Explanation, error) {
	q, names, err := prepare(ctx, src, text, &opt)
	if err != nil {
		return nil, err
	}
	p, err := q.plan(names, opt, func(p *plan) { p.from(ctx, src) })
	if err != nil {
		return nil, err
	}
	p.counted = &judgement{}
	for class := range p.counted.of {
		p.counted.of[class] = make([]verdictOf, len(p.where))
	}
	a, err := p.run(ctx, src)
	if err != nil {
		return nil, err
	}
	x := &Explanation{Query: q.text, Answer: a}
	sel, _ := p.selection()
	x.Columns, x.Looks = sel.Columns, sel.Looks
	for _, col := range p.late {
		x.Unread = append(x.Unread, p.columns[col])
	}
	first := "every trial"
	if p.vs != nil && p.early {
		first = "every trial, twice: the baseline is needed first"
	}
	if err := x.read(ctx, p, first, sel); err != nil {
		return nil, err
	}
	if len(p.late) > 0 && len(a.Rows) > 0 {
		later := core.Select{Columns: append([]string{"number"}, x.Unread...),
			Where: []core.Cond{{Field: "number", Op: core.OpIn, Values: []core.Value{core.Number(1)}}}}
		if err := x.read(ctx, p, "the rows of the answer, by their numbers", later); err != nil {
			return nil, err
		}
	}
	x.steps(p)
	return x, nil
}

func (x *Explanation) read(ctx context.Context, p *plan, what string, sel core.Select) error {
	r := Read{For: what}
	if p.shared != nil {
		var err error
		if r.Statement, r.Plan, err = p.shared.Statement(ctx, sel); err != nil {
			return fmt.Errorf("explain: %w", err)
		}
	}
	x.Reads = append(x.Reads, r)
	return nil
}

// judgement counts what each conjunct of where came to, for real trials and for
// simulated ones that stand apart.
type judgement struct{ of [2][]verdictOf }

// verdictOf counts the trials that a conjunct was the first to leave out: as false, or
// of those that no conjunct is false for, as undecided.
type verdictOf struct{ no, undecided int }

func (j *judgement) judge(class int, conds []conjunct, row []core.Value, n int) {
	first := -1
	for _, c := range conds {
		switch c.cond(row) {
		case no:
			j.of[class][c.at].no += n
			return
		case undecided:
			if first < 0 {
				first = c.at
			}
		}
	}
	if first >= 0 {
		j.of[class][first].undecided += n
	}
}

// steps follows the trials through the clauses.
func (x *Explanation) steps(p *plan) {
	a := x.Answer
	left := a.History.Trials
	step := func(clause, why string, gone int) {
		left -= gone
		x.Steps = append(x.Steps, Step{clause, left, why})
	}
	step("history", "", 0)
	if p.unretracted && a.Excluded.Status > 0 {
		step("status", fmt.Sprintf("%d are retracted", a.Excluded.Status), a.Excluded.Status)
	}
	if p.okOnly {
		step("status", fmt.Sprintf("%d have another status than ok", a.Excluded.Status), a.Excluded.Status)
	}
	if a.Excluded.Simulated > 0 {
		step("simulated", fmt.Sprintf("%d simulated ones stand aside", a.Excluded.Simulated), a.Excluded.Simulated)
	}
	whole, open := 0, 0
	// With per, conditions on what was measured judge the combined rows, after the others.
	order := p.where
	if p.q.per != "" {
		order = slices.Concat(p.filters, p.judged)
	}
	for _, c := range order {
		v := p.counted.of[0][c.at]
		if sim := p.counted.of[1][c.at]; a.Excluded.Simulated == 0 { // they answer, or there are none
			v.no, v.undecided = v.no+sim.no, v.undecided+sim.undecided
		}
		var why []string
		if v.no > 0 {
			why = append(why, fmt.Sprintf("false for %d", v.no))
		}
		if v.undecided > 0 {
			why = append(why, fmt.Sprintf("undecided for %d", v.undecided))
		}
		whole, open = whole+v.no, open+v.undecided
		step("where "+c.text, strings.Join(why, ", "), v.no+v.undecided)
	}
	if rest := a.Excluded.Where - whole; rest > 0 {
		step("weights", fmt.Sprintf("%d have a member that weights does not name", rest), rest)
	}
	if rest := a.Excluded.Undecided - open; rest > 0 {
		step(p.q.verb, fmt.Sprintf("%d lack what it ranks", rest), rest)
	}
	row := func(clause string, n int, why string) { x.Steps = append(x.Steps, Step{clause, n, why}) }
	if p.q.per != "" {
		row("per "+p.q.per, len(p.stands), "sets of repeats were judged")
	}
	if len(p.by) > 0 || p.q.having != nil {
		why := ""
		if a.EmptyGroups > 0 {
			why = fmt.Sprintf("nothing qualifies in %d", a.EmptyGroups)
		}
		row("groups", len(a.Groups), why)
	}
	row("answer", len(a.Rows), "rows")
}

// String is the explanation as text.
func (x *Explanation) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "query     %s\n", x.Query)
	for _, r := range x.Reads {
		fmt.Fprintf(&b, "read      %s\n", r.For)
		if r.Statement != "" {
			fmt.Fprintf(&b, "  SQL     %s\n", r.Statement)
		}
		for _, line := range r.Plan {
			fmt.Fprintf(&b, "  plan    %s\n", line)
		}
	}
	// Note: a condition pushed into SQL would save little, since what it leaves out has
	// to be counted all the same.
	fmt.Fprintf(&b, "narrowed  the columns, not the trials, since each is counted: %s\n", strings.Join(x.Columns, ", "))
	for _, look := range x.Looks {
		fmt.Fprintf(&b, "          one number for %s\n", strings.Join(look, ", "))
	}
	if len(x.Unread) > 0 {
		fmt.Fprintf(&b, "          later, of the answer's rows: %s\n", strings.Join(x.Unread, ", "))
	}
	width := 0
	for _, s := range x.Steps {
		width = max(width, len(s.Clause))
	}
	for i, s := range x.Steps {
		head := "          "
		if i == 0 {
			head = "trials    "
		}
		line := fmt.Sprintf("%s%-*s  %d", head, width, s.Clause, s.Left)
		if s.Why != "" {
			line += "  " + s.Why
		}
		b.WriteString(line + "\n")
	}
	return b.String()
}
