package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/query/chart"
)

// cost writes what a million output tokens cost, where a price is known: the trials' own
// figure, else the price of a GPU hour over the measured output rate.
func (b *builder) cost() error {
	w, err := b.costOf(b.winner)
	if err != nil || w.value.IsMissing() {
		return err
	}
	t := strongText("Cost: ").plain(money(w.value) + " per million output tokens")
	if base := b.baseline; base != nil && base.config != b.winner.config {
		before, err := b.costOf(base)
		if err != nil {
			return err
		}
		if !before.value.IsMissing() {
			t = t.plain(fmt.Sprintf(", the baseline's %s (%s)", money(before.value), percent(core.Number(w.value.Num/before.value.Num-1))))
		}
	}
	b.add(block{paragraph: t.plain(", " + w.how + ".")})
	return nil
}

type price struct {
	value core.Value
	how   string
}

func (b *builder) costOf(s *setup) (price, error) {
	a, err := b.ask("show median(usd_per_mtok_output) as usd" + where(b.scope, b.decided(), `status == "ok"`, is("setup", s.hash), b.sameLoad(s)))
	if err != nil {
		return price{}, err
	}
	if len(a.Rows) > 0 && a.get(0, "usd").Kind == core.KindNumber {
		return price{a.get(0, "usd"), "as recorded with the trials"}, nil
	}
	hour := b.opt.USDPerGPUHour
	if hour == 0 && b.def != nil {
		hour = b.def.Hardware.USDPerGPUHour
	}
	gpus := s.gpus
	if gpus.IsMissing() && b.def != nil && b.def.Hardware.GPUs > 0 {
		gpus = core.Number(float64(b.def.Hardware.GPUs))
	}
	if hour <= 0 || gpus.Kind != core.KindNumber || s.outputTPS.Kind != core.KindNumber || s.outputTPS.Num <= 0 {
		b.queries = b.queries[:len(b.queries)-1] // it gave no figure
		return price{}, nil
	}
	return price{core.Number(hour * gpus.Num / 3600 / s.outputTPS.Num * 1e6),
		fmt.Sprintf("at %s per GPU hour on this workload and load, with %s GPU", money(core.Number(hour)), gpus)}, nil
}

// sameLoad is the condition that picks a setup's load by its label.
func (b *builder) sameLoad(s *setup) string {
	if s.load.Kind != core.KindText {
		return ""
	}
	return is("load", s.load.Text)
}

func money(v core.Value) string {
	if v.Num >= 0.1 {
		return fmt.Sprintf("%.2f USD", v.Num)
	}
	return chart.Number(v.Num) + " USD"
}

// quality says whether the answers may have changed, and what is known of that.
func (b *builder) quality() error {
	w, base := b.winner, b.baseline
	if base == nil || base.config == w.config {
		return nil
	}
	changed, err := b.answersMayChange()
	if err != nil {
		return err
	}
	before, err := b.qualityOf(base.config)
	if err != nil {
		return err
	}
	after, err := b.qualityOf(w.config)
	if err != nil {
		return err
	}
	var known []string
	for _, name := range after.names {
		s := name + " " + chart.Number(after.value[name])
		if v, ok := before.value[name]; ok && v != 0 {
			s += fmt.Sprintf(" (baseline %s, %s)", chart.Number(v), percent(core.Number(after.value[name]/v-1)))
		} else {
			s += " (baseline unknown)"
		}
		known = append(known, s)
	}
	t := strongText("Quality: ")
	switch {
	case len(known) > 0:
		b.add(block{paragraph: t.plain(strings.Join(known, "; ") + ".")})
	case len(changed) > 0:
		b.qualityUnknown = true
		b.add(block{notice: strongText("Quality is not known. ").plain("The recommendation changes " + strings.Join(changed, ", ") + ", and no quality figure is attached to it. Attach one with ").
			code(fmt.Sprintf("sweepbook set quality.gsm8k=… where 'config == %q'", w.config)).plain(".")})
	default:
		b.add(block{paragraph: t.plain("engine, checkpoint and number formats are the baseline's, so the answers should be too; no quality figure is attached.")})
	}
	return nil
}

// answersMayChange lists what the winner changes that can change the answers.
func (b *builder) answersMayChange() ([]string, error) {
	fields := []string{"engine", "checkpoint", "weight_dtype", "kv_dtype"}
	for _, knob := range []string{"quantization", "kv_cache_dtype", "dtype"} {
		if slices.Contains(b.names.Knobs, knob) {
			fields = append(fields, "passed."+knob)
		}
	}
	a, err := b.ask("show config, model, " + strings.Join(fields, ", ") + where(b.scope, fmt.Sprintf("config in [%q, %q]", b.baseline.config, b.winner.config)))
	if err != nil {
		return nil, err
	}
	b.queries = b.queries[:len(b.queries)-1] // it gives no figures
	at := func(config string) int {
		return slices.IndexFunc(a.Rows, func(r []core.Value) bool { return r[0].Text == config })
	}
	i, j := at(b.baseline.config), at(b.winner.config)
	var changed []string
	for _, f := range fields {
		before, after := a.text(i, f), a.text(j, f)
		if f == "checkpoint" { // one that is not named is the model's own
			before, after = first(before, a.text(i, "model")), first(after, a.text(j, "model"))
		}
		if before != after {
			changed = append(changed, fmt.Sprintf("%s (%s to %s)", strings.TrimPrefix(f, "passed."), first(before, "unknown"), first(after, "unknown")))
		}
	}
	return changed, nil
}

type qualities struct {
	names []string
	value map[string]float64
}

// qualityOf reads the quality figures of a configuration: medians, since each belongs to
// the setup and not to one trial.
func (b *builder) qualityOf(config string) (qualities, error) {
	q := qualities{value: map[string]float64{}}
	var columns []string
	for _, name := range b.names.Quality {
		if plainName(name) {
			columns = append(columns, fmt.Sprintf("median(quality.%s) as %s", name, name))
			q.names = append(q.names, name)
		}
	}
	if len(columns) == 0 {
		return q, nil
	}
	a, err := b.ask("show " + strings.Join(columns, ", ") + where(is("config", config)))
	if err != nil {
		return q, err
	}
	q.names = slices.DeleteFunc(q.names, func(name string) bool {
		if len(a.Rows) == 0 || a.get(0, name).Kind != core.KindNumber {
			return true
		}
		q.value[name] = a.get(0, name).Num
		return false
	})
	return q, nil
}
