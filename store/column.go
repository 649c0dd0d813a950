package store

import (
	"strings"

	"github.com/sweepbook/sweepbook/core"
)

// column is one column of the table trial that holds a plain member of a trial.
type column struct {
	name string
	get  func(*core.Trial) any
	set  func(*core.Trial, any)
}

// trialColumns are the columns of trial beside its number and what refers to
// other tables. The figures follow the fixed members.
func trialColumns() []column {
	text := func(name string, at func(*core.Trial) *string) column {
		return column{name, func(t *core.Trial) any { return optText(*at(t)) }, func(t *core.Trial, x any) { *at(t) = asText(x) }}
	}
	number := func(name string, at func(*core.Trial) *core.Value) column {
		return column{name, func(t *core.Trial) any { return optNumber(*at(t)) }, func(t *core.Trial, x any) { *at(t) = asNumber(x) }}
	}
	count := func(name string, at func(*core.Trial) *int) column {
		return column{name, func(t *core.Trial) any { return optInt(*at(t)) }, func(t *core.Trial, x any) { *at(t) = int(asInt(x)) }}
	}
	list := func(name string, at func(*core.Trial) *[]string) column {
		return column{name, func(t *core.Trial) any { return optText(strings.Join(*at(t), ",")) },
			func(t *core.Trial, x any) { *at(t) = splitList(asText(x)) }}
	}
	cols := []column{
		{"id", func(t *core.Trial) any { return t.ID[:] }, func(t *core.Trial, x any) { t.ID = asID(x) }},
		text("study", func(t *core.Trial) *string { return &t.Study }),
		text("stage", func(t *core.Trial) *string { return &t.Stage }),
		text("option", func(t *core.Trial) *string { return &t.Option }),
		text("role", func(t *core.Trial) *string { return (*string)(&t.Role) }),
		text("status", func(t *core.Trial) *string { return (*string)(&t.Status) }),
		text("failure", func(t *core.Trial) *string { return (*string)(&t.Failure) }),
		text("failure_text", func(t *core.Trial) *string { return &t.FailureText }),
		count("attempt", func(t *core.Trial) *int { return &t.Attempt }),
		count("repeat", func(t *core.Trial) *int { return &t.Repeat }),
		text("host", func(t *core.Trial) *string { return &t.Host }),
		{"started_at", func(t *core.Trial) any { return optTime(t.StartedAt) }, func(t *core.Trial, x any) { t.StartedAt = asTime(x) }},
		{"ended_at", func(t *core.Trial) any { return optTime(t.EndedAt) }, func(t *core.Trial, x any) { t.EndedAt = asTime(x) }},
		{"zone_assumed", func(t *core.Trial) any { return boolInt(t.ZoneAssumed) }, func(t *core.Trial, x any) { t.ZoneAssumed = asInt(x) != 0 }},
		list("tag", func(t *core.Trial) *[]string { return &t.Tags }),
		list("asserted", func(t *core.Trial) *[]string { return &t.Asserted }),
		text("sweepbook_version", func(t *core.Trial) *string { return &t.SweepbookVersion }),
		{"findings", func(t *core.Trial) any { return int64(t.CountFindings()) }, func(*core.Trial, any) {}}, // what counts may be less, see put
		{"load", func(t *core.Trial) any { return optText(t.Load.Label()) }, func(*core.Trial, any) {}},
		number("concurrency", func(t *core.Trial) *core.Value { return &t.Load.Concurrency }),
		number("request_rate", func(t *core.Trial) *core.Value { return &t.Load.RequestRate }),
		number("burstiness", func(t *core.Trial) *core.Value { return &t.Load.Burstiness }),
		number("num_prompts", func(t *core.Trial) *core.Value { return &t.Load.NumPrompts }),
		number("load_duration_s", func(t *core.Trial) *core.Value { return &t.Load.DurationS }),
		number("seed", func(t *core.Trial) *core.Value { return &t.Load.Seed }),
		{"throttled", func(t *core.Trial) any { return optBool(t.Throttled) }, func(t *core.Trial, x any) { t.Throttled = asBool(x) }},
	}
	for _, name := range fixedFigures {
		cols = append(cols, column{name,
			func(t *core.Trial) any {
				if v, ok := t.Figures[name]; ok {
					return v
				}
				return nil
			},
			func(t *core.Trial, x any) {
				if v, ok := asFloat(x); ok {
					t.Figures[name] = v
				}
			}})
	}
	return cols
}

// fixedFigures are the figures with a column of their own, isFixed the same as a
// set. Neither is ever changed.
var (
	fixedFigures = func() (names []string) {
		for _, f := range core.Fields() {
			if f.Figure() {
				names = append(names, f.Name)
			}
		}
		return names
	}()
	isFixed = func() map[string]bool {
		set := map[string]bool{}
		for _, name := range fixedFigures {
			set[name] = true
		}
		return set
	}()
)

func optInt(n int) any {
	if n == 0 {
		return nil
	}
	return int64(n)
}

func splitList(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, ",")
}

// The statements over all columns, made once and never changed.
var (
	columns = trialColumns()

	refColumns = []string{"setup", "workload", "launch", "derivation", "fingerprint", "verdict", "load_point", "context"}

	columnNames = func() []string {
		names := append([]string(nil), refColumns...)
		for _, c := range columns {
			names = append(names, c.name)
		}
		return names
	}()

	insertTrialSQL = "INSERT INTO trial (" + strings.Join(columnNames, ", ") + ") VALUES (?" +
		strings.Repeat(", ?", len(columnNames)-1) + ")"

	updateTrialSQL = "UPDATE trial SET (" + strings.Join(columnNames, ", ") + ") = (?" +
		strings.Repeat(", ?", len(columnNames)-1) + ") WHERE number = ?"

	selectTrialSQL = "SELECT number, " + strings.Join(columnNames, ", ") + " FROM trial"
)
