package ingest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sweepbook/sweepbook/core"
)

// trial makes a trial of a block in the context that stands before it.
func (r *servingReader) trial(b *block) (*core.Trial, core.Source) {
	r.readFlags()
	label := strings.Join(r.comment, " ")
	hint := readLabel(label)
	a := r.asks.choose(b.measured(), hint, r.profile)
	if a == nil {
		a = &ask{kind: askLabel}
	}
	a.answered = true
	guidellm := r.isGuidellm(b)

	t := &core.Trial{
		Study: r.study, Stage: maskSecrets(r.outline.stage), Role: r.outline.role, Status: core.StatusOK,
		Workload: a.workload, Figures: b.figures, Extra: b.extra,
	}
	t.Workload.Params = maps.Clone(a.workload.Params)
	t.Setup = r.setup(b, a, label, t.Extra)
	t.Setup.Tool = toolOf(b, a, guidellm)
	r.load(t, b, a, hint, guidellm)
	if guidellm {
		renameTPOT(t)
	}
	if len(b.absent) > 0 {
		if guidellm {
			for i, name := range b.absent {
				b.absent[i] = strings.Replace(name, "_tpot_ms", "_tpot_incl_first_ms", 1)
			}
		}
		t.Extra["not_available"] = core.String(strings.Join(b.absent, ","))
	}
	if len(r.printed.errors) > 0 {
		t.Extra["errors"] = core.String(maskSecrets(strings.Join(r.printed.errors, "; ")))
	}
	if b.truncated {
		t.Extra["truncated"] = core.Bool(true)
	}
	t.Option = maskSecrets(r.optionName(t.Setup.Config, label, t.Role))

	decimals := b.decimals
	if decimals < 0 {
		decimals = 2
	}
	return t, core.Source{
		Position: fmt.Sprintf("line %d", b.line), Format: servingBlock, Tool: t.Setup.Tool, Decimals: decimals,
		Raw: r.raw(b, a),
	}
}

// isGuidellm: the block counts latency in seconds, or the text speaks of guidellm
// and shows no other tool.
func (r *servingReader) isGuidellm(b *block) bool {
	if b.seconds {
		return true
	}
	if !r.facts.guidellm || b.sglang || b.trtllm {
		return false
	}
	return !slices.ContainsFunc(r.asks.list, func(a *ask) bool { return a.kind == askCommand && a.tool != "guidellm" })
}

func toolOf(b *block, a *ask, guidellm bool) string {
	switch {
	case guidellm:
		return "guidellm"
	case b.sglang:
		return "sglang-bench"
	case a.tool != "":
		return a.tool
	case b.trtllm:
		return "trtllm-benchmark-serving"
	}
	return "vllm-bench" // whose form this is
}

// renameTPOT keeps guidellm's time per output token, which has the first token in
// it, apart from the quantity that every other tool means.
func renameTPOT(t *core.Trial) {
	for name, v := range t.Figures {
		if stat, ok := strings.CutSuffix(name, "_tpot_ms"); ok {
			t.Extra[stat+"_tpot_incl_first_ms"] = core.Number(v)
			delete(t.Figures, name)
		}
	}
}

// setup says what was measured: the server's configuration as the label before
// the block corrects it, and the stated versions and hardware.
func (r *servingReader) setup(b *block, a *ask, label string, extra map[string]core.Value) core.Setup {
	s := core.Setup{GPU: r.facts.gpu, GPUs: r.facts.gpus}
	if r.server != nil {
		s.Config = r.server.config
		s.Config.Knobs = maps.Clone(s.Config.Knobs)
		s.Config.Env = maps.Clone(s.Config.Env)
		s.Image = r.server.image
		if r.server.isFlags {
			r.stateModel(&s.Config)
		}
	} else if b.backend == "sglang" || b.backend == "sglang-native" {
		s.Config.Engine = "sglang" // a protocol that only SGLang speaks
	} else {
		s.Config.Engine = r.facts.banner
	}
	cfg := &s.Config
	cfg.Checkpoint = maskSecrets(cfg.Checkpoint)
	if cfg.Checkpoint != "" {
		cfg.Model = modelOf(cfg.Checkpoint, append([]string{a.model}, r.names...)...)
	} else if cfg.Model == "" && !strings.Contains(a.model, "$") {
		cfg.Model = a.model
	}
	if changed := applyLabel(cfg, label, attentionWords.MatchString(r.outline.stage+" "+r.outline.option)); changed != "" {
		extra["label_overrides"] = core.String(maskSecrets(changed))
	}
	for name, v := range cfg.Knobs {
		if v.Kind == core.KindText {
			cfg.Knobs[name] = core.String(maskSecrets(v.Text))
		}
	}
	s.EngineVersion = r.facts.versions[cfg.Engine]
	s.WeightDtype = weightDtype(*cfg)
	s.SpecMethod = specMethod(*cfg)
	if v := cfg.Knobs["kv_cache_dtype"]; v.Kind == core.KindText && v.Text != "auto" {
		s.KVDtype = v.Text
	}
	for _, text := range []string{r.outline.option, r.outline.stage} {
		if e := engineIn(text); e != "" {
			if cfg.Engine != "" && e != cfg.Engine {
				extra["heading_engine"] = core.String(e)
			}
			break
		}
	}
	named := a.model
	if named == "" {
		named = r.asks.onlyModel()
	}
	if named != "" && named != cfg.Checkpoint && cfg.Checkpoint != "" {
		extra["bench_model"] = core.String(named)
	}
	if backend := firstOf(b.backend, a.backend); backend != "" {
		extra["bench_backend"] = core.String(backend)
	}
	return s
}

// stateModel gives the model to a bare list of flags: what the text states, else
// the base model of the first server command; which checkpoint of it was loaded
// is then not known.
func (r *servingReader) stateModel(cfg *core.Config) {
	if cfg.Checkpoint != "" {
		return
	}
	switch stated := r.facts.model; {
	case stated == "":
		cfg.Model = baseModel(r.firstName)
	case strings.Contains(stated, "/"):
		cfg.Checkpoint = stated
	default:
		cfg.Model = modelOf(stated, r.names...)
	}
}

// applyLabel lays a label of flags, or the bare name of an attention backend,
// over the shown command, because one command often stands for several blocks. A
// label that names a speculative setting names all of them: those of the command
// that it leaves out were at their defaults. It says what the command had otherwise.
func applyLabel(cfg *core.Config, label string, aboutAttention bool) (changed string) {
	set := core.Knobs{}
	flags, rest := parseFlags(shellWords(label))
	switch {
	case len(flags) > 0 && len(rest) == 0:
		set = serverConfig(cfg.Engine, flags).Knobs
	case isAttentionBackend(label):
		if _, given := cfg.Knobs["attention_backend"]; given || aboutAttention {
			set["attention_backend"] = core.String(strings.ToLower(label))
		}
	}
	if len(set) == 0 {
		return ""
	}
	before := maps.Clone(cfg.Knobs)
	if cfg.Knobs == nil {
		cfg.Knobs = core.Knobs{}
	}
	speculative := func(name string, _ core.Value) bool { return strings.HasPrefix(name, "speculative_") }
	for name := range set {
		if speculative(name, core.Value{}) {
			maps.DeleteFunc(cfg.Knobs, speculative)
			break
		}
	}
	maps.Copy(cfg.Knobs, set)
	if before == nil {
		return ""
	}
	return difference(before, cfg.Knobs)
}

// difference says how to come from one set of knobs to another: "a=2 -b".
func difference(from, to core.Knobs) string {
	var parts []string
	for _, name := range to.Names() {
		if v, ok := from[name]; !ok || v != to[name] {
			parts = append(parts, name+"="+to[name].String())
		}
	}
	for _, name := range from.Names() {
		if _, ok := to[name]; !ok {
			parts = append(parts, "-"+name)
		}
	}
	return strings.Join(parts, " ")
}

// load says how hard the server was asked. Most certain is what the block prints,
// then what the tool printed before it, a label, the command or profile. A vllm
// bench that prints its peak concurrency prints its limits too where it has any.
func (r *servingReader) load(t *core.Trial, b *block, a *ask, hint labelHint, guidellm bool) {
	l := a.load
	if guidellm {
		if n, ok := parseNumber(b.limit); ok {
			t.Extra["printed_max_concurrency"] = core.Number(n)
			if _, given := t.Figures["peak_concurrency"]; !given {
				t.Figures.Set("peak_concurrency", n)
			}
		}
		if l.Concurrency.IsMissing() && !l.RequestRate.IsMissing() {
			l.Concurrency = core.Unlimited()
		}
		t.Load = l
		return
	}
	_, printsPeak := t.Figures["peak_concurrency"]
	printsLimits := printsPeak && t.Setup.Tool == "vllm-bench"
	if v, ok := firstLimit(b.limit, r.printed.limit); ok {
		l.Concurrency = v
	} else if hint.concurrency > 0 {
		l.Concurrency = core.Number(hint.concurrency)
	} else if l.Concurrency.IsMissing() && printsLimits {
		l.Concurrency = core.Unlimited()
	}
	if v, ok := firstLimit(b.rate, r.printed.rate); ok {
		l.RequestRate = v
	} else if l.RequestRate.IsMissing() && printsLimits {
		l.RequestRate = core.Unlimited()
	}
	if n, ok := parseNumber(r.printed.burstiness); ok && !l.RequestRate.IsUnlimited() {
		l.Burstiness = core.Number(n)
	}
	// A label that changes the load stands for another command than the shown one,
	// whose number of requests then counts only where it agrees with the block.
	if hint.concurrency > 0 && a.load.Concurrency != core.Number(hint.concurrency) &&
		l.NumPrompts.Kind == core.KindNumber && l.NumPrompts.Num != t.Figures["completed"] {
		l.NumPrompts = core.Missing()
	}
	t.Load = l
	if n := r.printed.progressTotal; n > 0 {
		t.Extra["progress_total"] = core.Number(n)
	}
}

// firstLimit reads the first printed limit; "inf" and "not set" are no limit.
func firstLimit(texts ...string) (core.Value, bool) {
	for _, s := range texts {
		switch strings.ToLower(s) {
		case "":
			continue
		case "inf", "infinity", "none", "unlimited":
			return core.Unlimited(), true
		}
		if n, ok := parseNumber(s); ok && n > 0 {
			return core.Number(n), true
		}
	}
	return core.Value{}, false
}

func firstOf(texts ...string) string {
	for _, s := range texts {
		if s != "" {
			return s
		}
	}
	return ""
}

// maxTried bounds how many configurations are compared with: the latest.
const maxTried = 256

// optionName says what distinguishes a trial in its stage: its label, its
// sub-heading, its role, else what it changes in the most similar configuration
// before it.
func (r *servingReader) optionName(cfg core.Config, label string, role core.Role) string {
	name := firstOf(label, r.outline.option)
	if name == "" {
		switch role {
		case core.RoleBaseline:
			name = "baseline"
		case core.RoleVerification:
			name = "optimized"
		}
	}
	closest, fewest := "", -1
	for _, old := range slices.Backward(r.tried) {
		n := 0
		var parts []string
		if old.Engine != cfg.Engine {
			n += 100
			parts = append(parts, "engine="+cfg.Engine)
		}
		if old.Checkpoint != cfg.Checkpoint {
			parts = append(parts, "checkpoint="+cfg.Checkpoint)
		}
		if d := difference(old.Knobs, cfg.Knobs); d != "" {
			parts = append(parts, d)
			n += strings.Count(d, " ")
		}
		if n += len(parts); fewest < 0 || n < fewest {
			closest, fewest = strings.Join(parts, " "), n
		}
	}
	if fewest != 0 {
		r.tried = append(r.tried, cfg)
		if len(r.tried) > maxTried {
			r.tried = slices.Delete(r.tried, 0, 1)
		}
	}
	return firstOf(name, closest)
}

// raw is the source text of a record: the commands that speak for it, the label,
// the block.
func (r *servingReader) raw(b *block, a *ask) string {
	var out strings.Builder
	for _, text := range []string{r.serverText(), a.text} {
		if text != "" {
			out.WriteString(strings.TrimSpace(text) + "\n")
		}
	}
	for _, c := range r.comment {
		out.WriteString("# " + c + "\n")
	}
	out.WriteString(b.raw.String())
	return maskSecrets(strings.TrimRight(out.String(), "\n") + "\n")
}

func (r *servingReader) serverText() string {
	if r.server == nil {
		return ""
	}
	return r.server.text
}
