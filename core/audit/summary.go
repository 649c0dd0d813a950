package audit

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sweepbook/sweepbook/core"
)

// Summary is what the rules need to know of the trials around the one they judge.
// It is read-only after Summarize and may be used by several goroutines.
type Summary struct {
	studies    map[string]*studySummary
	keys       map[*core.Trial]keys
	neighbours map[string]string // record -> what ran beside it
}

// studySummary is what is known of one study.
type studySummary struct {
	groups      map[string]*group            // by keys.asked
	votes       map[string]map[string]*votes // by keys.question, then parameter
	firstRecord map[core.ID]firstRecord
	firstRepeat map[string]firstRepeat
	ladders     map[string][]rung // by keys.ladder
	stageNaming map[uint]string   // settings that a title names -> the title
	overLimit   struct {
		first    string // record
		hits, of int
	}
	changes map[string]*sides // by tool and change
}

// keys are equal for trials that one rule or another may compare.
type keys struct {
	record   string // this record of this trial
	asked    string // model, workload, requests and seed; "" where the workload is not known
	question string // model, data set and lengths, whatever the sampling
	repeat   string // core's RepeatKey; "" where too little is known for it
	ladder   string // configuration, workload and seed: one curve of equal prompts
}

// rung is one load of a curve that asks the same prompts at each.
type rung struct {
	concurrency, ttft float64
	place             string
}

type firstRecord struct{ record, place string }

type firstRepeat struct {
	id    core.ID
	place string
	total float64
}

// Summarize looks at all trials once. Trials of other studies do no harm.
func Summarize(trials []*core.Trial) *Summary {
	s := &Summary{studies: map[string]*studySummary{}, keys: make(map[*core.Trial]keys, len(trials))}
	for _, t := range trials {
		k := keysOf(t)
		s.keys[t] = k
		if t.Status != core.StatusOK {
			continue
		}
		study := s.studies[t.Study]
		if study == nil {
			study = &studySummary{groups: map[string]*group{}, votes: map[string]map[string]*votes{}, firstRecord: map[core.ID]firstRecord{},
				firstRepeat: map[string]firstRepeat{}, ladders: map[string][]rung{}, stageNaming: map[uint]string{}, changes: map[string]*sides{}}
			s.studies[t.Study] = study
		}
		study.add(t, k)
	}
	for _, study := range s.studies {
		for _, g := range study.groups {
			g.finish()
		}
	}
	s.neighbours = neighbours(trials, s.keys)
	return s
}

func (s *Summary) keysOf(t *core.Trial) keys {
	if k, ok := s.keys[t]; ok {
		return k
	}
	return keysOf(t)
}

func keysOf(t *core.Trial) keys {
	var k keys
	k.record = string(t.ID[:])
	if len(t.Sources) > 0 {
		k.record += t.Sources[0].Key()
	}
	w, cfg := t.Workload, t.Setup.Config
	known := w.Dataset != "" || w.Name != "" || !w.InputLen.IsMissing()
	if t.Load.Seed.Kind == core.KindNumber {
		// Where the workload is not named, equal prompts show by their length.
		prompts := w.Hash()
		if !known {
			prompts = num(t.Figures["mean_input_len"])
		}
		k.ladder = cfg.Hash() + "\x00" + prompts + "\x00" + t.Load.Seed.String()
	}
	if !known {
		return k
	}
	k.question = cfg.Model + "\x00" + w.Dataset + "\x00" + w.Path + "\x00" + w.InputLen.String() + "\x00" + w.OutputLen.String() + "\x00" + w.Turns.String()
	requests := "requested " + num(t.Figures["requested"])
	if _, ok := t.Figures["requested"]; !ok {
		requests = "completed " + num(t.Figures["completed"])
	}
	k.asked = cfg.Model + "\x00" + w.Name + "\x00" + w.Hash() + "\x00" + requests + "\x00" + t.Load.Seed.String()
	loaded := !t.Load.Concurrency.IsMissing() || !t.Load.RequestRate.IsMissing()
	if cfg.Engine != "" && cfg.CommandKnown && loaded {
		k.repeat = t.RepeatKey()
	}
	return k
}

// add takes one trial in. A further record of a trial that is in already counts
// for nothing but its place.
func (s *studySummary) add(t *core.Trial, k keys) {
	if _, seen := s.firstRecord[t.ID]; seen {
		return
	}
	s.firstRecord[t.ID] = firstRecord{k.record, placeOfTrial(t)}
	if _, seen := s.firstRepeat[k.repeat]; !seen && k.repeat != "" {
		s.firstRepeat[k.repeat] = firstRepeat{t.ID, placeOfTrial(t), t.Figures["total_tps"]}
	}
	if c, known := finite(t.Load.Concurrency); known && k.ladder != "" {
		if ttft, ok := t.Figures["mean_ttft_ms"]; ok {
			s.ladders[k.ladder] = append(s.ladders[k.ladder], rung{c, ttft, placeOfTrial(t)})
		}
	}
	if over, applies := overLimit(t); applies {
		s.overLimit.of++
		if over {
			s.overLimit.hits++
			if s.overLimit.hits == 1 {
				s.overLimit.first = k.record
			}
		}
	}
	if set := namedIn(t.Stage); set != 0 {
		if _, seen := s.stageNaming[set]; !seen {
			s.stageNaming[set] = t.Stage
		}
	}
	s.addChanges(t)
	if k.asked != "" {
		g := s.groups[k.asked]
		if g == nil {
			g = &group{}
			s.groups[k.asked] = g
		}
		g.add(t)
	}
	if k.question != "" {
		s.addSampling(t, k.question)
	}
}

// placeOfTrial says where a person finds a trial: its number, else its place in a file.
func placeOfTrial(t *core.Trial) string {
	switch {
	case t.Number > 0:
		return fmt.Sprintf("#%d", t.Number)
	case len(t.Sources) > 0:
		return placeOf(t.Sources[0])
	}
	return t.ID.String()
}

// group are the trials of one study that were asked the same.
type group struct {
	inputs, outputs []float64 // mean lengths; sorted by finish
	engines         []engineInputs
}

type engineInputs struct {
	engine string
	inputs []float64
}

func (g *group) add(t *core.Trial) {
	if in, ok := t.Figures["mean_input_len"]; ok {
		g.inputs = append(g.inputs, in)
		i := slices.IndexFunc(g.engines, func(e engineInputs) bool { return e.engine == t.Setup.Config.Engine })
		if i < 0 {
			i = len(g.engines)
			g.engines = append(g.engines, engineInputs{engine: t.Setup.Config.Engine})
		}
		// What failed requests leave is judged by C2.
		if rate, known := t.Figures["success_rate"]; !known || rate >= 1 {
			g.engines[i].inputs = append(g.engines[i].inputs, in)
		}
	}
	if out, ok := t.Figures["mean_output_len"]; ok {
		g.outputs = append(g.outputs, out)
	}
}

func (g *group) finish() {
	slices.Sort(g.inputs)
	slices.Sort(g.outputs)
	for _, e := range g.engines {
		slices.Sort(e.inputs)
	}
}

func median(sorted []float64) float64 {
	n := len(sorted)
	if n == 0 {
		return 0
	}
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// usualInput is the median prompt of the trials that were asked the same, and how
// many they are.
func (s *studySummary) usualInput(asked string) (float64, int) {
	g := s.groups[asked]
	if g == nil {
		return 0, 0
	}
	return median(g.inputs), len(g.inputs)
}

// usualOutput is the median answer likewise; of two trials the one that is not mine.
func (s *studySummary) usualOutput(asked string, mine float64) (float64, int) {
	g := s.groups[asked]
	switch {
	case g == nil:
		return 0, 0
	case len(g.outputs) == 2 && g.outputs[0] == mine:
		return g.outputs[1], 2
	case len(g.outputs) == 2:
		return g.outputs[0], 2
	}
	return median(g.outputs), len(g.outputs)
}

// prompts compares an engine's median prompt with that of the engine which has the
// most trials; other is empty where there is nothing to compare.
type prompts struct {
	mine, theirs float64
	other        string
}

func (s *studySummary) promptsOf(asked, engine string) prompts {
	g := s.groups[asked]
	if g == nil || engine == "" {
		return prompts{}
	}
	var mine, most *engineInputs
	for i := range g.engines {
		e := &g.engines[i]
		if e.engine == engine {
			mine = e
		}
		if e.engine != "" && (most == nil || len(e.inputs) > len(most.inputs)) {
			most = e
		}
	}
	if mine == nil || mine == most || len(mine.inputs) == 0 || len(most.inputs) == 0 {
		return prompts{}
	}
	return prompts{median(mine.inputs), median(most.inputs), most.engine}
}

// votes count the stated values of one parameter, in order of appearance.
type votes struct {
	values []string
	counts []int
}

func (s *studySummary) addSampling(t *core.Trial, question string) {
	for _, name := range samplingNames {
		value := sampling(t, name)
		if value == "" {
			continue
		}
		if s.votes[question] == nil {
			s.votes[question] = map[string]*votes{}
		}
		v := s.votes[question][name]
		if v == nil {
			v = &votes{}
			s.votes[question][name] = v
		}
		if i := slices.Index(v.values, value); i >= 0 {
			v.counts[i]++
		} else {
			v.values, v.counts = append(v.values, value), append(v.counts, 1)
		}
	}
}

// usualSampling is the value that most trials state, the first of equals, and how
// many trials state one.
func (s *studySummary) usualSampling(question, name string) (string, int) {
	v := s.votes[question][name]
	if v == nil {
		return "", 0
	}
	best, n := 0, 0
	for i, c := range v.counts {
		n += c
		if c > v.counts[best] {
			best = i
		}
	}
	return v.values[best], n
}

const (
	// besideAtMost is how many trials in progress at once are looked at; a source that
	// gives many one time says nothing of what ran beside what.
	besideAtMost = 16
	// namedAtMost is how many neighbours are named.
	namedAtMost = 4
)

// neighbours names for each record the trials of other launches that overlapped it on
// its host by more than a second.
func neighbours(trials []*core.Trial, byTrial map[*core.Trial]keys) map[string]string {
	type span struct {
		t          *core.Trial
		start, end time.Time
	}
	hosts := map[string][]span{}
	for _, t := range trials {
		end := t.EndedAt
		if d, ok := t.Figures["duration_s"]; end.IsZero() && ok {
			end = t.StartedAt.Add(time.Duration(d * float64(time.Second)))
		}
		if t.Host != "" && !t.StartedAt.IsZero() && !t.ZoneAssumed && end.After(t.StartedAt) && !t.Status.Open() {
			hosts[t.Host] = append(hosts[t.Host], span{t, t.StartedAt, end})
		}
	}
	beside := map[string][]string{}
	meet := func(t, other *core.Trial) {
		record := byTrial[t].record
		if name := placeOfTrial(other); len(beside[record]) <= namedAtMost && !slices.Contains(beside[record], name) {
			beside[record] = append(beside[record], name)
		}
	}
	for _, spans := range hosts {
		slices.SortStableFunc(spans, func(a, b span) int { return cmp.Compare(a.start.UnixNano(), b.start.UnixNano()) })
		var open []span // of those before, in the order of their beginnings
		for _, s := range spans {
			open = slices.DeleteFunc(open, func(o span) bool { return !s.start.Before(o.end.Add(-time.Second)) })
			for _, o := range open {
				if s.t.ID != o.t.ID && !sameLaunch(s.t, o.t) {
					meet(s.t, o.t)
					meet(o.t, s.t)
				}
			}
			open = append(open[max(0, len(open)+1-besideAtMost):], s)
		}
	}
	out := map[string]string{}
	for record, names := range beside {
		out[record] = strings.Join(names[:min(len(names), namedAtMost)], ", ")
		if len(names) > namedAtMost {
			out[record] += " and others"
		}
	}
	return out
}

func sameLaunch(a, b *core.Trial) bool {
	return a.Launch != nil && b.Launch != nil && a.Launch.ID == b.Launch.ID
}
