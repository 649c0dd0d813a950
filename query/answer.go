package query

import (
	"slices"

	"github.com/sweepbook/sweepbook/core"
)

// Answer is what a history says to one query. Tables, charts, reports and JSON are
// made of it and of nothing else.
type Answer struct {
	Query   string
	History core.History // Trials is the number of rows that were read
	Verb    string       // "max", "min", "pareto", "show", "count", "first", "last", "at", "change"
	Columns []Column
	Rows    [][]core.Value // one value a column
	// Severity is, for each row, that of the worst finding which touches its ranked
	// figures (of either trial, where a row names two), a trial behind its aggregates, or
	// with Options.Marks the measured figures that it shows; nil where nothing is ranked,
	// summed up or marked.
	Severity []core.Severity
	// Trials are, with Options.Marks, the numbers of the trials that each row stands for;
	// none where a row is an aggregate.
	Trials [][]int64
	// Groups cut Rows: one without by, else one for each combination of keys, the
	// empty ones included, in the order of the rows.
	Groups     []Group
	Considered int // trials that took part
	Excluded   Excluded
	// Undecided counts, for each field, the trials that were left out because it is
	// missing; a trial that lacks two fields is counted for both.
	Undecided   []Reason
	Ties        int // rows tied with the first of their group, summed
	EmptyGroups int
	// SoundWinner is the best row that no hard or void finding touches, nil when
	// the winner is sound itself or no row is. With by it is nil, since each group
	// has its own (see Group.Sound), but not with over, where groups compete.
	SoundWinner []core.Value
	Residue     []Residue
	Warnings    []Warning
}

// Column describes one column of an answer.
type Column struct {
	Name   string
	Unit   string
	Type   core.Type
	Better core.Better
}

// Group is a stretch of rows: Rows[First:Last].
type Group struct {
	Key         []core.Value // one value for each by
	First, Last int
	Considered  int // trials that took part in the group, also where per made them fewer rows
	Ties        int // rows tied with the first
	Empty       bool
	Simulated   bool       // all trials behind a row of aggregates were simulated
	Base        core.Value // baseline of the first row's value, after vs
	// Sound is the row that would come first if no hard or void finding touched any
	// row before it; nil when the first row is sound itself or no row is.
	Sound []core.Value
}

// Excluded counts the trials that did not take part, each once: by the first of
// status, simulated, and where or undecided that keeps it out.
type Excluded struct {
	Where, Undecided, Status, Simulated int
}

// Reason is a field that was missing, and for how many trials.
type Reason struct {
	Field  string
	Trials int
}

// Residue is a field in which trials differ that were compared as if it were one.
type Residue struct {
	Field  string
	Values []core.Value // distinct, in order; missing is one of them
	More   bool         // there are more values than were kept
}

// Warning is something that the reader of an answer must know. Its code is one of
//
//	limit        rows were cut by limit
//	no_trial     no trial qualifies, and why
//	simulated    only simulated trials qualify
//	undecided    trials were left out for want of a field
//	samples      trials without samples, or requests without a figure, that attained
//	             or goodput asked for
//	having       groups were left out by having
//	empty_group  nothing qualifies in a group
//	no_baseline  rows for which vs found no trial
//	baseline     what vs compares with is the median of several trials
//	missing      an aggregate, or the median of repeats, passed over trials without
//	             a value
//	repeats      what per made one may not be repeats, or mixes sums with medians
//	noise        how within noise came by its ties
//	members      groups that over could not score, and why
//	never        curves on which what was asked for never happens
//	open         curves that bracket it on one side only
//	later        places further along at which it is otherwise again
//	mixed        places at which a condition holds for some trials only
//	single       curves of one place
//	void, hard   such a finding touches what a row is ranked by
//	findings     the audit has findings on a trial of the answer
//	asserted     a trial rests on what a person set
type Warning struct {
	Code    string
	Message string
	Hint    string // what to do, "" none
}

// Simulated counts the trials behind the rows of aggregates, and of those the trials of
// groups in which all were simulated.
func (a *Answer) Simulated() (simulated, all int) {
	for _, g := range a.Groups {
		if g.First == g.Last {
			continue
		}
		if all += g.Considered; g.Simulated {
			simulated += g.Considered
		}
	}
	return simulated, all
}

// Column returns the index of a column by name, -1 when there is none.
func (a *Answer) Column(name string) int {
	return slices.IndexFunc(a.Columns, func(c Column) bool { return c.Name == name })
}
