package ingest

import (
	"math"
	"regexp"
	"strings"

	"github.com/sweepbook/sweepbook/core"
)

var percentileKey = regexp.MustCompile(`^p(\d{1,2}(?:[._]\d{1,4})?)$`)

// statNames are what tools call the statistics of one quantity.
var statNames = map[string]string{
	"mean": "mean", "avg": "mean", "average": "mean", "median": "median", "std": "std", "stddev": "std", "std_dev": "std",
	"min": "min", "minimum": "min", "max": "max", "maximum": "max",
}

// stats takes a block of statistics of one latency, {"mean": 3, "p99": 5}; scale
// makes milliseconds of its unit. What is no statistic or no finite number is
// passed over.
func (d *draft) stats(block *object, latency string, scale float64) {
	for _, key := range block.keys {
		stat, ok := statNames[key]
		if m := percentileKey.FindStringSubmatch(key); m != nil {
			q, isNumber := parseNumber(strings.ReplaceAll(m[1], "_", "."))
			stat, ok = core.PercentileName(q), isNumber && q > 0
		}
		if f, isNumber := number(block.vals[key]); ok && isNumber {
			d.put(place{kind: toFigure, name: core.LatencyName(stat, latency), scale: scale}, key, f)
		}
	}
}

// renamed is a name of a tool and ours.
type renamed struct{ theirs, ours string }

// figure records a figure of the tool's under our name.
func (d *draft) figure(name string, v any) { d.put(place{kind: toFigure, name: name}, name, v) }

// extraNumber records a number that no field means.
func (d *draft) extraNumber(name string, v any) { d.put(place{kind: toExtra, name: name}, name, v) }

// made records a figure that the source does not give and its others make, unless
// it is given; extra.recomputed names it.
func (d *draft) made(name string, v float64, ok bool) {
	if _, given := d.t.Figures[name]; given || !ok || math.IsNaN(v) || math.IsInf(v, 0) {
		return
	}
	d.t.Figures.Set(name, v)
	d.recomputedToo(name)
}

// recomputedToo adds a name to extra.recomputed.
func (d *draft) recomputedToo(names ...string) {
	if old, ok := d.t.Extra["recomputed"]; ok {
		names = append([]string{old.Text}, names...)
	}
	d.t.Extra["recomputed"] = core.String(strings.Join(names, ","))
}
