package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sweepbook/sweepbook/core"
)

// knobs finds out in which knobs, engines and checkpoints the configurations of
// the study differ, so that one without an option's name can be told from others:
// "sglang max_num_seqs=512". What all have in common is left out.
func (b *builder) knobs() error {
	names, err := b.src.Names(b.ctx)
	if err != nil {
		return fmt.Errorf("read names: %w", err)
	}
	b.names = names
	fields := []string{"engine", "checkpoint"}
	for _, k := range names.Knobs {
		if plainName(k) {
			fields = append(fields, "passed."+k)
		}
	}
	a, err := b.ask("show count() as n" + where(b.scope) + " by config, model, " + strings.Join(fields, ", "))
	if err != nil {
		return err
	}
	b.queries = b.queries[:len(b.queries)-1] // it gives labels, no figures
	rowOf := map[string]int{}
	for i := range a.Rows {
		rowOf[a.text(i, "config")] = i
	}
	b.passed = map[string]string{}
	b.chose = map[string]attributes{}
	for config, i := range rowOf {
		var parts []string
		chose := attributes{}
		b.chose[config] = chose
		engine := a.text(i, "engine")
		for _, f := range fields {
			knob, isKnob := strings.CutPrefix(f, "passed.")
			v := a.get(i, f)
			set := v.Kind == core.KindNumber || v.Kind == core.KindText || v.Kind == core.KindBool
			// Own spellings of a mapped knob repeat the common one.
			alias := isKnob && core.CanonicalKnob(engine, knob) != knob
			differs := slices.ContainsFunc(slices.Collect(maps.Values(rowOf)), func(j int) bool { return !a.get(j, f).Equal(v) })
			// The plain checkpoint of a model is no choice.
			plain := f == "engine" || f == "checkpoint" && v.Text == a.text(i, "model")
			if set && !alias && v.String() != "" && !plain {
				chose[f] = v
			}
			switch {
			case !set || alias || v.String() == "":
			case isKnob && differs:
				parts = append(parts, knob+"="+v.String())
			case f == "engine", differs:
				parts = append(parts, v.String())
			}
		}
		b.passed[config] = strings.Join(parts, " ")
	}
	b.disambiguate()
	return nil
}

// disambiguate drops a description that several configurations share.
func (b *builder) disambiguate() {
	times := map[string]int{}
	for _, s := range b.passed {
		times[s]++
	}
	for config, s := range b.passed {
		if times[s] > 1 {
			delete(b.passed, config)
		}
	}
}

// plainName: a knob that can be written behind "passed." as it is.
func plainName(s string) bool {
	for i := range len(s) {
		if !wordByte(s[i]) || s[i] >= 0x80 || i == 0 && s[i] >= '0' && s[i] <= '9' {
			return false
		}
	}
	return s != ""
}
