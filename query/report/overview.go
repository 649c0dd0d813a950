package report

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/sweepbook/sweepbook/core"
)

func isNotFound(err error) bool { return errors.Is(err, core.ErrNotFound) }

// title writes the name and settles on what the decision is made.
func (b *builder) title() error {
	life, err := b.ask("show count() as trials, count(status == \"ok\") as ok, min(started_at) as first, max(started_at) as last" + where(b.scope))
	if err != nil {
		return err
	}
	if len(life.Rows) == 0 || life.count(0, "trials") == 0 {
		return b.noTrials()
	}
	b.life = life
	b.r.Title = "Study " + b.study
	if b.study == "" {
		b.r.Title = "All trials of a history"
	}
	b.heading(1, b.r.Title)
	if err := b.countSimulated(); err != nil {
		return err
	}
	if err := b.readBegun(); err != nil {
		return err
	}
	return b.chooseWorkload()
}

// simulatedNote is what chart says below its own pictures.
const simulatedNote = "simulated: no GPU was measured"

// countSimulated finds out whether the study's figures come from a simulator: a picture
// is passed on without the text beside it, and must say so itself.
func (b *builder) countSimulated() error {
	a, err := b.ask("show count() as trials, count(simulated) as simulated" + where(b.scope, `status == "ok"`))
	if err != nil {
		return err
	}
	b.queries = b.queries[:len(b.queries)-1] // it gives no figure
	if len(a.Rows) == 0 {
		return nil
	}
	switch n, all := a.count(0, "simulated"), a.count(0, "trials"); n {
	case 0:
	case all:
		b.simulated = simulatedNote
	default:
		b.simulated = fmt.Sprintf("simulated: %d of the %d trials of the study", n, all)
	}
	return nil
}

// overview says which study, on what, when, from which history.
func (b *builder) overview() error {
	life := b.life
	env, err := b.ask("show count() as trials" + where(b.scope) +
		" by model, engine, engine_version, gpu, gpus, driver, tool, tool_version, sweepbook_version")
	if err != nil {
		return err
	}
	b.heading(2, "The study")
	model := strings.Join(env.distinct("model"), ", ")
	hardware := hardware(env)
	if b.def != nil {
		model = first(b.def.Model, model)
		if hw := b.def.Hardware; hw.GPU != "" {
			hardware = first(hardware, fmt.Sprintf("%d × %s", max(hw.GPUs, 1), hw.GPU))
		}
	}
	facts := [][2]string{
		{"model", model},
		{"hardware", hardware},
		{"engines", pairs(env, "engine", "engine_version")},
		{"measured with", pairs(env, "tool", "tool_version")},
		{"trials", fmt.Sprintf("%d, of which %d ok", life.count(0, "trials"), life.count(0, "ok"))},
		{"measured", span2(life.get(0, "first"), life.get(0, "last"))},
		{"history", fmt.Sprintf("%s, %s in all", life.History.ID, plural(life.History.Trials, "trial"))},
		{"recorded by", prefixed("Sweepbook ", strings.Join(env.distinct("sweepbook_version"), ", "))},
		{"reported", b.reported()},
	}
	t := &table{columns: []column{{name: ""}, {name: ""}}}
	for _, f := range facts {
		if f[1] != "" {
			t.rows = append(t.rows, row{cells: []text{plainText(f[0]), plainText(f[1])}})
		}
	}
	b.add(block{table: t})
	return nil
}

func (b *builder) noTrials() error {
	names, err := b.ask("count by study")
	if err != nil {
		return err
	}
	known := names.distinct("study")
	if len(known) == 0 {
		return fmt.Errorf("%w: the history has no trial of it and no named study", core.ErrNotFound)
	}
	return fmt.Errorf("%w: the history has %s", core.ErrNotFound, strings.Join(known, ", "))
}

func (b *builder) reported() string {
	var s []string
	if !b.opt.Now.IsZero() {
		s = append(s, b.opt.Now.UTC().Format("2006-01-02 15:04 UTC"))
	}
	if b.opt.Version != "" {
		s = append(s, "by Sweepbook "+b.opt.Version)
	}
	return strings.Join(s, " ")
}

// chooseWorkload settles what the decision is made on.
func (b *builder) chooseWorkload() error {
	if b.def != nil {
		b.decideOn = b.def.DecideOn
	}
	b.decideOn = first(b.opt.DecideOn, b.decideOn)
	var err error
	if b.decideOn == "" {
		if _, b.decideOn, err = b.most("workload"); err != nil {
			return err
		}
	}
	if b.def == nil && b.opt.Objective == "" {
		// A load that all options share stands out; of full curves none does, and
		// then the objective ranks over all loads.
		b.decideLoad, _, err = b.most("load", b.decided())
	}
	return err
}

// most is the value of a field that the most measured trials have, alone or, as
// the second result, the first of those that do.
func (b *builder) most(field string, conds ...string) (alone, first string, err error) {
	a, err := b.ask("show count() as trials" + where(append([]string{b.scope, `status == "ok"`}, conds...)...) + " by " + field)
	if err != nil {
		return "", "", err
	}
	most := 0
	for i := range a.Rows {
		switch n := a.count(i, "trials"); {
		case a.text(i, field) == "" || n < most:
		case n > most:
			alone, first, most = a.text(i, field), a.text(i, field), n
		default:
			alone = ""
		}
	}
	return alone, first, nil
}

// decided is the condition that picks the trials that may be compared: those of
// the deciding workload, at the deciding load where there is one.
func (b *builder) decided() string {
	var conds []string
	if b.decideOn != "" {
		conds = append(conds, is("workload", b.decideOn))
	}
	if b.decideLoad != "" {
		conds = append(conds, is("load", b.decideLoad))
	}
	return strings.Join(conds, " and ")
}

func first(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

func prefixed(prefix, s string) string {
	if s == "" {
		return ""
	}
	return prefix + s
}

// hardware is "1 × NVIDIA H100 80GB HBM3, driver 550.54".
func hardware(env *rows) string {
	var out []string
	seen := map[string]bool{}
	for i := range env.Rows {
		s := env.text(i, "gpu")
		if s == "" {
			continue
		}
		if n := env.text(i, "gpus"); n != "" {
			s = n + " × " + s
		}
		if d := env.text(i, "driver"); d != "" {
			s += ", driver " + d
		}
		if !seen[s] {
			seen[s] = true
			out = append(out, s)
		}
	}
	return strings.Join(out, "; ")
}

// pairs is "vllm 0.11.0, sglang 0.5.5".
func pairs(env *rows, name, version string) string {
	var out []string
	seen := map[string]bool{"": true}
	for i := range env.Rows {
		s := env.text(i, name)
		if s != "" {
			s = strings.TrimSpace(s + " " + env.text(i, version))
		}
		if !seen[s] {
			seen[s] = true
			out = append(out, s)
		}
	}
	return strings.Join(out, ", ")
}

// moment writes seconds since 1970 as UTC.
func moment(v core.Value) string {
	if v.Kind != core.KindNumber || math.Abs(v.Num) > 2e11 {
		return ""
	}
	return time.Unix(int64(v.Num), 0).UTC().Format("2006-01-02 15:04")
}

func span2(from, to core.Value) string {
	a, z := moment(from), moment(to)
	switch a {
	case "":
		return ""
	case z:
		return a + " UTC"
	}
	return a + " to " + z + " UTC"
}
