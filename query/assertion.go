package query

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sweepbook/sweepbook/core"
)

// restsOn lists the fields of which a derived one is made.
func restsOn(field string) []string {
	switch field {
	case "requested":
		return []string{"completed", "failed", "incomplete", "num_prompts"}
	case "success_rate":
		return []string{"requested", "completed", "failed", "incomplete", "num_prompts"}
	case "mean_input_len":
		return []string{"input_tokens", "completed"}
	case "mean_output_len":
		return []string{"output_tokens", "completed"}
	case "duration_tps":
		return []string{"input_tokens", "output_tokens", "duration_s"}
	case "est_e2el_ms":
		return []string{"mean_ttft_ms", "mean_tpot_ms", "output_tokens", "completed"}
	case "usd_per_mtok_output":
		return []string{"output_tps", "gpus"}
	case "usd_per_mtok_total":
		return []string{"total_tps", "gpus"}
	case "mbu":
		return []string{"mean_tpot_ms"}
	case "mfu":
		return []string{"input_tokens", "output_tokens", "duration_s"}
	case "joules_per_output_token":
		return []string{"energy_j", "output_tokens"}
	case "tp", "pp", "dp", "ep":
		return []string{"args." + field, "passed." + field}
	}
	if strings.HasPrefix(field, "goodput(") {
		return []string{"duration_s"}
	}
	if rate, ok := strings.CutSuffix(field, "_per_gpu"); ok {
		return append([]string{rate, "gpus"}, restsOn(rate)...)
	}
	if knob, ok := strings.CutPrefix(field, "args."); ok {
		return []string{"passed." + knob}
	}
	return nil
}

// assertions are the trials of an answer that rest on what a person set.
type assertions struct {
	trials map[restingOn]map[string]bool // how the trials are called
}

type restingOn struct{ field, asserted string }

// add notes a row when a field of the query rests on one that a person set.
func (s *assertions) add(p *plan, row []core.Value) {
	text := row[p.asserted]
	if text.Kind != core.KindText || text.Text == "" {
		return
	}
	for _, asserted := range strings.Split(text.Text, ",") {
		asserted = strings.TrimSpace(asserted)
		for field := range p.asked {
			if field != asserted && !slices.Contains(restsOn(field), asserted) {
				continue
			}
			if s.trials == nil {
				s.trials = map[restingOn]map[string]bool{}
			}
			key := restingOn{field, asserted}
			if s.trials[key] == nil {
				s.trials[key] = map[string]bool{}
			}
			s.trials[key][p.trialName(row)] = true
		}
	}
}

// addWithBaseline notes a row and the baseline that it is compared with.
func (s *assertions) addWithBaseline(p *plan, row []core.Value) {
	s.add(p, row)
	if p.vs == nil {
		return
	}
	if b := p.vs.found[p.versusKey(row)]; b != nil {
		s.merge(b.notes)
	}
}

func (s *assertions) merge(other *assertions) {
	for key, trials := range other.trials {
		if s.trials == nil {
			s.trials = map[restingOn]map[string]bool{}
		}
		if s.trials[key] == nil {
			s.trials[key] = map[string]bool{}
		}
		maps.Copy(s.trials[key], trials)
	}
}

// trialName is how a message names the trial of a row: its number, else its id.
func (p *plan) trialName(row []core.Value) string {
	if n := row[p.number]; n.Kind == core.KindNumber {
		return n.String()
	}
	return row[p.id].Text
}

func (s *assertions) warnings() []Warning {
	var keys []restingOn
	for key := range s.trials {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(a, b restingOn) int {
		return cmp.Or(cmp.Compare(a.field, b.field), cmp.Compare(a.asserted, b.asserted))
	})
	var out []Warning
	for _, key := range keys {
		var names []string
		for name := range s.trials[key] {
			names = append(names, name)
		}
		slices.SortFunc(names, func(a, b string) int {
			return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
		})
		what := fmt.Sprintf("%s rests on %s, which a person set", key.field, key.asserted)
		if key.field == key.asserted {
			what = key.field + " was set by a person"
		}
		out = append(out, Warning{Code: "asserted", Message: listTrials(names) + ": " + what,
			Hint: "sweepbook show TRIAL prints who set it, when and why"})
	}
	return out
}

// listTrials names up to five trials and counts the rest.
func listTrials(names []string) string { return listSome(names, len(names)) }

const mostListed = 5

// listSome is listTrials of n trials of which the first names are known.
func listSome(names []string, n int) string {
	switch {
	case n == 1:
		return "trial " + names[0]
	case n <= mostListed:
		return "trials " + strings.Join(names, ", ")
	default:
		return fmt.Sprintf("trials %s and %d more", strings.Join(names[:mostListed], ", "), n-mostListed)
	}
}
