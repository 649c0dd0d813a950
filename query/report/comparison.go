package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/core/stats"
	"github.com/sweepbook/sweepbook/query"
)

// Comparison is what can be said of side B beside side A: every metric that both have,
// on each workload and load that both were measured on, and what else differs.
type Comparison struct {
	A           ComparedSide `json:"a"`
	B           ComparedSide `json:"b"`
	Metrics     []Compared   `json:"metrics"`
	Along       []Along      `json:"along,omitempty"` // of a comparison along a curve
	Differences []Difference `json:"differences"`
	Warnings    []string     `json:"warnings"`
	History     core.History `json:"history"`
}

// ComparedSide says which trials stood on a side.
type ComparedSide struct {
	Name      string  `json:"name"`
	Condition string  `json:"condition"` // of the query language, which picks them
	Trials    []int64 `json:"trials"`    // numbers of those that were compared
	Failed    int     `json:"failed"`    // trials of the condition that ended without a result
}

// Compared is one metric on one workload at one load. Base and Value are the medians of
// BaseN trials of A and N trials of B, in the metric's unit.
type Compared struct {
	Workload string      `json:"workload"`
	Load     string      `json:"load"`
	At       core.Value  `json:"at,omitzero"` // the place on the curve, along one
	Metric   string      `json:"metric"`
	Unit     string      `json:"unit"`
	Better   core.Better `json:"better"` // 1 higher, -1 lower, 0 neither
	stats.Comparison
	// SeverityA and SeverityB are those of the worst audit finding that touches the
	// metric on either side. A figure with a void or hard finding must not be believed,
	// whatever the comparison says.
	SeverityA core.Severity `json:"severity_a"`
	SeverityB core.Severity `json:"severity_b"`
}

// Doubtful reports whether a void or hard finding touches the metric on a side.
func (c Compared) Doubtful() bool { return max(c.SeverityA, c.SeverityB) >= core.SeverityHard }

// Gain is how much better B is, as a fraction: positive is better, or more where
// neither direction is. It is missing where A is 0.
func (c Compared) Gain() core.Value {
	return gain(core.Number(c.Value), core.Number(c.Base), c.Better)
}

// GainText is the gain as people read it, "-5.00 %", or "" where it is missing.
func (c Compared) GainText() string { return percent(c.Gain()) }

// Difference is one field in which the sides differ.
type Difference struct {
	// Kind is setup, knob, version, tool, workload, load or environment.
	Kind  string       `json:"kind"`
	Field string       `json:"field"`
	A     []core.Value `json:"a"` // distinct values of the side; a missing one is not known
	B     []core.Value `json:"b"`
}

func (d Difference) String() string {
	return fmt.Sprintf("%s: %s against %s", d.Field, valueList(d.A), valueList(d.B))
}

func valueList(vs []core.Value) string {
	var parts []string
	for _, v := range vs {
		parts = append(parts, first(v.String(), "unknown"))
	}
	return strings.Join(parts, ", ")
}

// severityNote is "void: A", "hard: A, B" or nothing.
func (c Compared) severityNote() string {
	worst := max(c.SeverityA, c.SeverityB)
	if worst < core.SeverityHard {
		return ""
	}
	var sides []string
	if c.SeverityA == worst {
		sides = append(sides, "A")
	}
	if c.SeverityB == worst {
		sides = append(sides, "B")
	}
	return worst.String() + ": " + strings.Join(sides, ", ")
}

// Rows are all comparisons as a table for programs: figures unrounded, ratios and
// gains as fractions, what does not exist missing.
func (c *Comparison) Rows() (columns []query.Column, rows [][]core.Value) {
	text := func(name string) { columns = append(columns, query.Column{Name: name, Type: core.TextType}) }
	num := func(name string) { columns = append(columns, query.Column{Name: name, Type: core.NumberType}) }
	text("workload")
	text("load")
	text("metric")
	text("unit")
	for _, name := range []string{"a", "b", "ratio", "low", "high", "gain"} {
		num(name)
	}
	text("verdict")
	text("tier")
	for _, name := range []string{"confidence", "p", "n_a", "n_b"} {
		num(name)
	}
	text("findings")
	for _, m := range c.Metrics {
		some := func(has bool, v float64) core.Value {
			if !has {
				return core.Missing()
			}
			return core.Number(v)
		}
		tested := m.Tier == stats.TierRank || m.Tier == stats.TierPooled
		rows = append(rows, []core.Value{
			core.OptionalText(m.Workload), core.OptionalText(m.Load), core.String(m.Metric), core.OptionalText(m.Unit),
			core.Number(m.Base), core.Number(m.Value), some(m.Ratio > 0, m.Ratio), some(m.Ratio > 0, m.Low), some(m.Ratio > 0, m.High), m.Gain(),
			core.String(string(m.Verdict)), core.String(string(m.Tier)),
			some(m.Confidence > 0, m.Confidence), some(tested, m.P), core.Number(float64(m.BaseN)), core.Number(float64(m.N)), core.OptionalText(m.severityNote()),
		})
	}
	return columns, rows
}

// Brief is the table for people: rounded figures with n, the change in percent with
// its interval, the verdict. Workload and load stand in it where there are several.
func (c *Comparison) Brief() (columns []query.Column, rows [][]core.Value) {
	several := slices.ContainsFunc(c.Metrics, func(m Compared) bool {
		return m.Workload != c.Metrics[0].Workload || m.Load != c.Metrics[0].Load
	})
	names := []string{"metric", "A", "B", "change", "interval", "verdict", "by", "findings"}
	if several {
		names = append([]string{"workload", "load"}, names...)
	}
	for _, name := range names {
		columns = append(columns, query.Column{Name: name, Type: core.TextType})
	}
	for _, m := range c.Metrics {
		figure := func(v float64, n int) string {
			s := withUnit(core.Number(v), unitBeside(m.Metric, m.Unit))
			if n > 1 && m.Tier != stats.TierCounted {
				s += fmt.Sprintf(" (n=%d)", n)
			}
			return s
		}
		cells := []string{m.Metric, figure(m.Base, m.BaseN), figure(m.Value, m.N), "", "", verdictText(m.Verdict), string(m.Tier), m.severityNote()}
		if m.Ratio > 0 {
			cells[3] = percent(core.Number(m.Ratio - 1))
			if m.Tier != stats.TierExact {
				cells[4] = interval(m.Comparison)
			}
		}
		if several {
			cells = append([]string{m.Workload, m.Load}, cells...)
		}
		row := make([]core.Value, len(cells))
		for i, s := range cells {
			row[i] = core.OptionalText(s)
		}
		rows = append(rows, row)
	}
	return columns, rows
}

// interval is "+1.2 … +3.4 % (95 %)", the change of the ratio.
func interval(c stats.Comparison) string {
	if !(c.Ratio > 0) {
		return ""
	}
	s := fmt.Sprintf("%+.2f … %+.2f %%", 100*(c.Low-1), 100*(c.High-1))
	if c.Confidence > 0 {
		return s + fmt.Sprintf(" (%.3g %%)", 100*c.Confidence)
	}
	return s + " (assumed)"
}

func verdictText(v stats.Verdict) string { return strings.ReplaceAll(string(v), "_", " ") }

// Summary is one sentence: how many metrics are better, worse, and so on.
func (c *Comparison) Summary() string {
	n := map[stats.Verdict]int{}
	doubtful := 0
	for _, m := range c.Metrics {
		n[m.Verdict]++
		if m.Doubtful() {
			doubtful++
		}
	}
	var parts []string
	for _, v := range []stats.Verdict{stats.Better, stats.Worse, stats.Differs, stats.Same, stats.CannotTell} {
		if n[v] > 0 {
			parts = append(parts, fmt.Sprintf("%s in %d", verdictText(v), n[v]))
		}
	}
	s := fmt.Sprintf("B against A over %s: %s", plural(len(c.Metrics), "figure"), strings.Join(parts, ", "))
	if doubtful > 0 {
		s += fmt.Sprintf("; void or hard findings touch %d", doubtful)
	}
	return s
}

// Regressions are the metrics in which B is worse by more than limit, a fraction, and
// by more than noise explains: a loss that cannot be told from noise is none. Standard
// deviations, extremes and peaks, which single requests decide, are left out, and so are
// metrics that a void or hard finding touches, since they must not be believed; the
// second result lists those of the latter that would have been regressions.
func (c *Comparison) Regressions(limit float64) (found, doubtful []Compared) {
	for _, m := range c.Metrics {
		loss := m.Gain()
		if m.Verdict != stats.Worse || loss.Kind == core.KindNumber && -loss.Num <= limit || ofSingleRequests(m.Metric) {
			continue
		}
		if m.Doubtful() {
			doubtful = append(doubtful, m)
			continue
		}
		found = append(found, m)
	}
	return found, doubtful
}

// ofSingleRequests: a figure that one request or one second can make.
func ofSingleRequests(metric string) bool {
	for _, prefix := range []string{"std_", "min_", "max_", "peak_"} {
		if strings.HasPrefix(metric, prefix) {
			return true
		}
	}
	return false
}

// unitBeside is the unit, unless the name says it.
func unitBeside(name, unit string) string {
	if strings.HasSuffix(name, "_"+unit) {
		return ""
	}
	return unit
}
