package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sweepbook/sweepbook/core"
)

// curve is one configuration over the loads of one workload.
type curve struct {
	config string
	name   string
	stops  []stop     // by load, never empty
	best   core.Value // of the objective
}

// stop is all trials of a curve at one load, as rows of the answer.
type stop struct {
	load             [2]core.Value // concurrency and request rate
	measured, failed []int
}

// loadAxes are the fields that a curve may go over, in the order of stop.load.
var loadAxes = [2]string{"concurrency", "request_rate"}

// curvesOf sorts the trials of a workload into curves along a field, in the order of
// their first trials. A configuration of which nothing was measured has none.
func (b *builder) curvesOf(a *rows, workload, along string) []*curve {
	configs := map[string][]int{}
	var order []string
	for i := range a.Rows {
		if a.text(i, "workload") != workload {
			continue
		}
		config := a.text(i, "config")
		if configs[config] == nil {
			order = append(order, config)
		}
		configs[config] = append(configs[config], i)
	}
	var out []*curve
	for _, config := range order {
		out = append(out, b.curvesOfConfig(a, configs[config], along)...)
	}
	return out
}

// curvesOfConfig makes one curve of the trials of a configuration, or several where they
// do not belong on one: see splits.
func (b *builder) curvesOfConfig(a *rows, trials []int, along string) []*curve {
	by := splits(a, trials, along)
	of := map[string]*curve{}
	var out []*curve
	for _, i := range trials {
		if !measuredOK(a, i) {
			continue
		}
		key, name := "", b.label(&setup{config: a.text(i, "config"), engine: a.text(i, "engine")})
		for _, field := range by {
			key += fmt.Sprintf("%q ", a.text(i, field))
			name += ", " + field + " " + first(a.text(i, field), "unknown")
		}
		c := of[key]
		if c == nil {
			c = &curve{config: a.text(i, "config"), name: name}
			of[key] = c
			out = append(out, c)
		}
		s := c.at(a, i)
		s.measured = append(s.measured, i)
		if v := a.get(i, "objective"); b.above(v, c.best) {
			c.best = v
		}
	}
	for _, i := range trials {
		if measuredOK(a, i) || len(out) == 0 {
			continue
		}
		key := ""
		for _, field := range by {
			key += fmt.Sprintf("%q ", a.text(i, field))
		}
		c := of[key]
		if c == nil {
			c = out[0] // of a server that never came up the setup is not wholly known
		}
		s := c.at(a, i)
		s.failed = append(s.failed, i)
	}
	for _, c := range out {
		first := slices.Index(loadAxes[:], along)
		slices.SortStableFunc(c.stops, func(s, t stop) int {
			return compareLoads([2]core.Value{s.load[first], s.load[1-first]}, [2]core.Value{t.load[first], t.load[1-first]})
		})
	}
	return out
}

// splits lists the fields that tell the curves of a configuration apart. Trials of other
// setups never share a curve. Other fields split only where trials at one place differ in
// them: the other field of the load, and the option that an import without a command
// gives, since its label may then be all that tells two configurations apart.
func splits(a *rows, trials []int, along string) []string {
	var by []string
	for _, field := range []string{"setup", loadAxes[0], loadAxes[1], "burstiness", "option"} {
		at := map[core.Value]core.Value{}
		for _, i := range trials {
			if !measuredOK(a, i) || field == along || field == "option" && !a.get(i, "launch").IsMissing() {
				continue
			}
			place, v := a.get(i, along), a.get(i, field)
			if field == "setup" {
				place = core.Missing()
			}
			if was, ok := at[place]; ok && was != v {
				by = append(by, field)
				break
			}
			at[place] = v
		}
	}
	return by
}

func measuredOK(a *rows, i int) bool { return a.text(i, "status") == string(core.StatusOK) }

// at finds the stop of a trial.
func (c *curve) at(a *rows, i int) *stop {
	load := [2]core.Value{a.get(i, loadAxes[0]), a.get(i, loadAxes[1])}
	at := slices.IndexFunc(c.stops, func(s stop) bool { return s.load == load })
	if at < 0 {
		at = len(c.stops)
		c.stops = append(c.stops, stop{load: load})
	}
	return &c.stops[at]
}

// places counts the values of a field at which something was measured.
func (c *curve) places(along string) int {
	seen := map[core.Value]bool{}
	for _, s := range c.stops {
		if v := s.load[slices.Index(loadAxes[:], along)]; v.Kind == core.KindNumber && s.measured != nil {
			seen[v] = true
		}
	}
	return len(seen)
}

// failure is "failed: oom_kv" of the trials without a result, each kind once.
func (s *stop) failure(a *rows) string {
	var kinds []string
	for _, i := range s.failed {
		kind := a.text(i, "status")
		if class := a.text(i, "failure"); class != "" {
			kind += ": " + class
		}
		if !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	out := strings.Join(kinds, ", ")
	if len(s.measured) > 0 && out != "" {
		out = fmt.Sprintf("%d of %d %s", len(s.failed), len(s.failed)+len(s.measured), out)
	}
	return out
}
