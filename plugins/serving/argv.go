package serving

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/sweepbook/sweepbook/core"
)

// rendered are knobs as an engine takes them: flags, and what goes to its file of
// options. One setting stands in one of the two, never in both: which of them
// wins has changed between versions of TensorRT-LLM.
type rendered struct {
	argv    []string
	options optionTree
}

var knobForm = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.-]*$`)

// render gives the known flags in the order of the table, then the raw ones in
// the order of their names.
func (d *Dialect) render(knobs core.Knobs, version string) (rendered, error) {
	table := core.EngineFlags(d.Name)
	given := map[string]core.Value{} // by canonical name
	spelled := map[string]string{}
	var raw []string
	for _, name := range knobs.Names() {
		if why := d.whyReserved(name); why != "" {
			return rendered{}, fmt.Errorf("knob %q: %w: no configuration may set it: %s", name, core.ErrInvalid, why)
		}
		canonical, v := core.CanonicalSetting(d.Name, name, knobs[name])
		if why := d.whyReserved(core.OwnKnob(d.Name, canonical)); why != "" {
			return rendered{}, fmt.Errorf("knob %q: %w: no configuration may set it: %s", name, core.ErrInvalid, why)
		}
		if v.Kind == core.KindUnset {
			continue
		}
		if other, twice := spelled[canonical]; twice {
			return rendered{}, fmt.Errorf("knob %q: %w: it is the same as %q; give one", name, core.ErrInvalid, other)
		}
		spelled[canonical], given[canonical] = name, v
		if !slices.ContainsFunc(table, func(f core.EngineFlag) bool { return f.Name == canonical }) {
			raw = append(raw, canonical)
		}
	}
	out := rendered{options: optionTree{}}
	for _, flag := range table {
		v, ok := given[flag.Name]
		if !ok {
			continue
		}
		v, err := flag.Check(v)
		if err == nil {
			err = flag.ForVersion(version)
		}
		if err == nil {
			err = d.known(&out, flag, v)
		}
		if err != nil {
			return rendered{}, err
		}
	}
	for _, name := range raw {
		if err := d.raw(&out, name, given[name]); err != nil {
			return rendered{}, fmt.Errorf("knob %q: %w", name, err)
		}
	}
	return out, d.oneHome(&out)
}

// known renders a value that the table has accepted.
func (d *Dialect) known(out *rendered, flag core.EngineFlag, v core.Value) error {
	if err := printable(v); err != nil {
		return fmt.Errorf("knob %q (%s): %w", flag.Name, flag.Spelling(), err)
	}
	switch {
	case flag.Path != "":
		if err := out.options.set(flag.Path, optionOf(flag.Kind, v)); err != nil {
			return fmt.Errorf("knob %q (%s): %w", flag.Name, flag.Spelling(), err)
		}
	case flag.Kind == core.SwitchFlag && v.True():
		out.argv = append(out.argv, flag.Flag)
	case flag.Kind == core.SwitchFlag && flag.Off != "":
		out.argv = append(out.argv, flag.Off)
	case flag.Kind == core.SwitchFlag && flag.Default == v:
		// The engine has no way to say it, and it is what holds without the flag.
	case flag.Kind == core.SwitchFlag:
		return fmt.Errorf("knob %q (%s): %w: the engine has no way to turn it off: leave it out", flag.Name, flag.Flag, core.ErrInvalid)
	case flag.Kind == core.ListFlag:
		out.argv = append(append(out.argv, flag.Flag), strings.Fields(v.Text)...)
	default:
		out.argv = d.pair(out.argv, flag.Flag, v.String())
	}
	return nil
}

// pair writes a flag with its value. A value that looks like a flag is joined in
// any case; a negative number is none.
func (d *Dialect) pair(argv []string, flag, value string) []string {
	looksLikeFlag := len(value) > 1 && value[0] == '-' && (value[1] < '0' || value[1] > '9')
	if d.Join || looksLikeFlag {
		return append(argv, flag+"="+value)
	}
	return append(argv, flag, value)
}

// raw renders a knob that no table knows, so that a new flag of an engine never
// waits for us.
func (d *Dialect) raw(out *rendered, name string, v core.Value) error {
	if !knobForm.MatchString(name) {
		return fmt.Errorf("%w: a flag has letters, digits, dots and underscores", core.ErrInvalid)
	}
	if err := printable(v); err != nil {
		return err
	}
	for _, idea := range core.Ideas() {
		if idea.Name == name && idea.Own[d.Name] == "" && len(idea.Own) > 0 {
			return fmt.Errorf("%w: %s has no flag for this idea (%s)", core.ErrInvalid, d.Name, idea.Doc)
		}
	}
	if d.OptionsFlag != "" && strings.Contains(name, ".") {
		// extra_llm_api_options.x is x at the top of the file; other dotted names are
		// places in it.
		path := strings.TrimPrefix(name, core.SnakeKnob(d.OptionsFlag)+".")
		return out.options.set(path, optionOf(rawKind(v), v))
	}
	words := strings.ReplaceAll(name, "-", "_")
	if !d.Underline {
		words = strings.ReplaceAll(words, "_", "-")
	}
	switch {
	case v.True():
		out.argv = append(out.argv, "--"+words)
	case v.Kind == core.KindBool && d.NoForm:
		out.argv = append(out.argv, "--no-"+words)
	case v.Kind == core.KindBool:
		return fmt.Errorf("%w: %s has no form for a switch that is off: leave the knob out", core.ErrInvalid, d.Name)
	case v.Kind == core.KindNumber && v.IsUnlimited():
		return fmt.Errorf("%w: %s knows no \"unlimited\": leave the knob out", core.ErrInvalid, d.Name)
	default:
		out.argv = d.pair(out.argv, "--"+words, v.String())
	}
	return nil
}

// rawKind guesses what a value without a table is.
func rawKind(v core.Value) core.FlagKind {
	switch {
	case v.Kind == core.KindNumber:
		return core.NumberFlag
	case v.Kind == core.KindBool:
		return core.SwitchFlag
	case strings.HasPrefix(v.Text, "{"), strings.HasPrefix(v.Text, "["):
		return core.JSONFlag
	}
	return core.TextFlag
}

func printable(v core.Value) error {
	switch v.Kind {
	case core.KindMissing:
		return fmt.Errorf("%w: it has no value", core.ErrInvalid)
	case core.KindText:
		if strings.ContainsAny(v.Text, "\x00\n\r") {
			return fmt.Errorf("%w: a value holds no line break", core.ErrInvalid)
		}
		if Patterns.String(v.Text) != v.Text {
			return fmt.Errorf("%w: its value looks like a secret, and a configuration is stored and shown", core.ErrInvalid)
		}
	}
	return nil
}

// memoryFraction is the one flag whose idea also lives in the options file.
const memoryFraction, memoryPath = "--free_gpu_memory_fraction", "kv_cache_config.free_gpu_memory_fraction"

// oneHome moves the memory fraction into the options file as soon as that gives
// kv_cache_config. Older versions let the file replace the whole object and would
// lose the flag; newer ones let the flag win. In one place both agree.
func (d *Dialect) oneHome(out *rendered) error {
	if _, ok := out.options["kv_cache_config"]; !ok {
		return nil
	}
	for i, arg := range out.argv {
		value, ok := strings.CutPrefix(arg, memoryFraction+"=")
		if !ok {
			continue
		}
		if err := out.options.set(memoryPath, number(value)); err != nil {
			return fmt.Errorf("knob %q (%s): %w", "free_gpu_memory_fraction", memoryFraction, err)
		}
		out.argv = slices.Delete(out.argv, i, i+1)
		return nil
	}
	return nil
}
