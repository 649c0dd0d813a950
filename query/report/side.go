package report

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/query"
)

// Side names the trials that stand on one side of a comparison, as a person types
// them: a number ("12", "#12"), an id or its beginning, the hash of a setup or a
// configuration, a condition, or a question with max or min, whose winners are taken.
type Side struct {
	Trials string
	Name   string // heading; "" is Trials
}

var (
	numberRef = regexp.MustCompile(`^#?(\d+)$`)
	hashRef   = regexp.MustCompile(`^[0-9a-f]{4}[0-9a-f-]*$`)
)

// side is a Side that was read.
type side struct {
	*rows
	name      string
	condition string
	index     map[string]int // of columns
	ok        []int          // rows with status ok
	open      int            // rows that have not ended
	failed    int            // rows that ended otherwise
}

// conditions gives what a side may mean, the likeliest first.
func (s Side) conditions(ctx context.Context, src query.Source, now time.Time) ([]string, error) {
	text := strings.TrimSpace(s.Trials)
	if text == "" {
		return nil, fmt.Errorf("compare: %w: nothing is named: want a trial's number or id, a setup, a configuration or a condition", core.ErrInvalid)
	}
	hash := ""
	if ref := strings.ToLower(text); hashRef.MatchString(ref) {
		hash = fmt.Sprintf("config == %q or setup == %q or id startsWith %q", ref, ref, ref)
	}
	if m := numberRef.FindStringSubmatch(text); m != nil {
		out := []string{"number == " + m[1]}
		if hash != "" {
			out = append(out, hash) // a hash may happen to have digits only
		}
		return out, nil
	}
	if hash != "" {
		return []string{hash}, nil
	}
	if verb, _, _ := strings.Cut(text, " "); verb == "max" || verb == "min" {
		a, err := query.Run(ctx, src, text, query.Options{Now: now})
		if err != nil {
			return nil, fmt.Errorf("compare: %w", err)
		}
		winners := &rows{a}
		var ids []string
		for _, id := range winners.distinct("id") {
			ids = append(ids, fmt.Sprintf("%q", id))
		}
		if len(ids) == 0 {
			return nil, fmt.Errorf("compare: %w: no trial answers %q", core.ErrNotFound, text)
		}
		return []string{"id in [" + strings.Join(ids, ", ") + "]"}, nil
	}
	return []string{text}, nil
}

// read asks for the trials of a side, with the columns given.
func (s Side) read(ctx context.Context, src query.Source, now time.Time, columns []string) (*side, error) {
	conditions, err := s.conditions(ctx, src, now)
	if err != nil {
		return nil, err
	}
	out := &side{name: first(s.Name, strings.TrimSpace(s.Trials))}
	for _, c := range conditions {
		// A mistake is shown in the condition alone, not behind all the columns.
		if err := check(ctx, src, "count where "+c); err != nil {
			return nil, fmt.Errorf("compare %s: %w", out.name, err)
		}
		// show gives trials of every status, so that the failed ones can be counted.
		out.rows, err = ask(ctx, src, "show "+strings.Join(columns, ", ")+" where "+c, now)
		if err != nil {
			return nil, fmt.Errorf("compare: %w", err)
		}
		out.condition = c
		if len(out.Rows) > 0 {
			break
		}
	}
	if len(out.Rows) == 0 {
		return nil, fmt.Errorf("compare %s: %w: no trial of the history is meant", out.name, core.ErrNotFound)
	}
	out.index = map[string]int{}
	for i, c := range out.Columns {
		out.index[c.Name] = i
	}
	for i := range out.Rows {
		switch status := core.Status(out.value(i, "status").Text); {
		case status == core.StatusOK:
			out.ok = append(out.ok, i)
		case status.Open():
			out.open++
		default:
			out.failed++
		}
	}
	if len(out.ok) == 0 {
		return nil, fmt.Errorf("compare %s: %w: none of its trials has a result", out.name, core.ErrNotFound)
	}
	return out, nil
}

func check(ctx context.Context, src query.Source, text string) error {
	q, err := query.Parse(text)
	if err != nil {
		return err
	}
	names, err := src.Names(ctx)
	if err != nil {
		return fmt.Errorf("read names: %w", err)
	}
	return q.Check(names)
}

// value is get by an index of the columns, of which a comparison has many.
func (s *side) value(row int, name string) core.Value {
	i, ok := s.index[name]
	if !ok {
		return core.Missing()
	}
	return s.Rows[row][i]
}

// values are the known numbers of a field over some rows.
func (s *side) values(rows []int, name string) []float64 {
	var out []float64
	for _, i := range rows {
		if v := s.value(i, name); v.Kind == core.KindNumber && !v.IsUnlimited() {
			out = append(out, v.Num)
		}
	}
	return out
}

// severity is that of the worst finding on a metric over some rows.
func (s *side) severity(rows []int, metric string) core.Severity {
	var worst core.Severity
	for _, i := range rows {
		if v := s.value(i, "severity."+metric); v.Kind == core.KindNumber {
			worst = max(worst, core.Severity(v.Num))
		}
	}
	return worst
}

// loadPoint is what is compared at once: one workload at one load.
type loadPoint struct {
	workload, load string
	along          core.Value
	concurrency    core.Value // for the order
	rate           core.Value
	rows           []int
}

func (c loadPoint) key() string { return fmt.Sprintf("%q %q %v", c.workload, c.load, c.along) }

// points groups the measured trials of a side by workload and load, or by workload and
// the field along; a trial of which the field is not known is passed over.
func (s *side) points(along string) []loadPoint {
	var out []loadPoint
	for _, i := range s.ok {
		c := loadPoint{workload: s.value(i, "workload").String(), load: s.value(i, "load").String(), concurrency: s.value(i, "concurrency"),
			rate: s.value(i, "request_rate"), rows: []int{i}}
		if along != "" {
			c.along = s.value(i, along)
			if c.along.IsMissing() {
				continue
			}
			c.load = along + "=" + c.along.String()
		}
		at := slices.IndexFunc(out, func(o loadPoint) bool { return o.key() == c.key() })
		if at < 0 {
			out = append(out, c)
			continue
		}
		out[at].rows = append(out[at].rows, i)
	}
	return out
}
