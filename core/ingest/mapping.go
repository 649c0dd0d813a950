package ingest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sweepbook/sweepbook/core"
)

// Mapping says what a file does not say of itself. It is written beside results
// as import.yaml; this package takes it decoded. The zero value says nothing.
type Mapping struct {
	// Format is a reader's name, as in Options.
	Format string `yaml:"format" json:"format,omitempty"`
	// Study names the study of every trial.
	Study string `yaml:"study" json:"study,omitempty"`
	// Pattern takes fields from paths, as in Options.
	Pattern string `yaml:"pattern" json:"pattern,omitempty"`
	// Columns gives the field of a table's column, by the column's name as it
	// stands in the table. "-" leaves the column out.
	Columns map[string]string `yaml:"columns" json:"columns,omitempty"`
	// Units gives the unit of a column: s, ms, us, ns, %, k (thousands).
	Units map[string]string `yaml:"units" json:"units,omitempty"`
	// Set gives fields for every trial. It outranks what the file says.
	Set map[string]string `yaml:"set" json:"set,omitempty"`
}

// Check reports the first thing that is wrong with the mapping: a field that does
// not exist or cannot be set, a unit, a format or a pattern.
func (m *Mapping) Check() error {
	if m == nil {
		return nil
	}
	for _, column := range slices.Sorted(maps.Keys(m.Columns)) {
		name := m.Columns[column]
		if name == "-" || name == "status" || name == "failure" {
			continue
		}
		if err := settable(name); err != nil {
			return fmt.Errorf("columns: %s: %w", column, err)
		}
	}
	for _, column := range slices.Sorted(maps.Keys(m.Units)) {
		if _, ok := units[m.Units[column]]; !ok {
			return fmt.Errorf("units: %s: %w: %q; known are %s", column, core.ErrInvalid, m.Units[column], strings.Join(slices.Sorted(maps.Keys(units)), ", "))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(m.Set)) {
		if err := settable(name); err != nil {
			return fmt.Errorf("set: %w", err)
		}
		if !setTyped(&core.Trial{}, name, m.Set[name]) {
			return fmt.Errorf("set: %s: %w: %q is no value of this field", name, core.ErrInvalid, m.Set[name])
		}
	}
	if m.Format != "" && !slices.Contains(Formats(), m.Format) {
		return unknownFormat(m.Format)
	}
	if m.Pattern != "" {
		if _, err := parsePattern(m.Pattern); err != nil {
			return err
		}
	}
	return nil
}

// units are what figures are multiplied by to come to a field's base unit: time to
// milliseconds, since every latency field counts in them; see columnScale.
var units = map[string]float64{"s": 1000, "ms": 1, "us": 1e-3, "ns": 1e-6, "%": 0.01, "k": 1000}

// settable reports whether an import may set a field, by trying a value of its type.
func settable(name string) error {
	if err := core.CheckFieldName(name); err != nil {
		return err
	}
	f, _ := core.LookupField(name)
	v := core.Number(1)
	switch f.Type {
	case core.TextType, core.VersionType:
		v = core.String("x")
	case core.BoolType:
		v = core.Bool(true)
	}
	return (&core.Trial{}).SetField(name, v)
}

// over lays one mapping over another; what m says wins.
func (m *Mapping) over(below *Mapping) *Mapping {
	if m == nil || below == nil {
		if m == nil {
			return below
		}
		return m
	}
	out := *m
	out.Format, out.Study, out.Pattern = firstOf(m.Format, below.Format), firstOf(m.Study, below.Study), firstOf(m.Pattern, below.Pattern)
	join := func(above, below map[string]string) map[string]string {
		both := maps.Clone(below)
		if both == nil {
			both = map[string]string{}
		}
		maps.Copy(both, above)
		return both
	}
	out.Columns, out.Units, out.Set = join(m.Columns, below.Columns), join(m.Units, below.Units), join(m.Set, below.Set)
	return &out
}

// apply sets the mapping's fields and study, and names them in extra.from_mapping.
func (m *Mapping) apply(t *core.Trial) (warnings []string) {
	if m == nil {
		return nil
	}
	if m.Study != "" {
		t.Study = m.Study
	}
	var set []string
	// The engine comes first, because it decides the canonical names of knobs.
	names := slices.Sorted(maps.Keys(m.Set))
	slices.SortStableFunc(names, func(a, b string) int {
		switch {
		case a == b:
			return 0
		case a == "engine":
			return -1
		case b == "engine":
			return 1
		}
		return 0
	})
	for _, name := range names {
		if setTyped(t, name, m.Set[name]) {
			set = append(set, name)
		} else {
			warnings = append(warnings, fmt.Sprintf("set %s: %q is no value of this field", name, m.Set[name]))
		}
	}
	if len(set) > 0 {
		t.Extra = setExtra(t.Extra, "from_mapping", core.String(strings.Join(set, ",")))
	}
	return warnings
}
