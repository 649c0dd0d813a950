package core

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// FlagKind says what an engine's flag takes.
type FlagKind uint8

// The kinds of a flag.
const (
	TextFlag   FlagKind = iota
	NumberFlag          // any finite number
	WholeFlag           // a number without a fraction
	SizeFlag            // a whole number that may be written 32k (thousand) or 32K (1024)
	SwitchFlag          // true or false
	ListFlag            // whole numbers, "1 2 4"
	JSONFlag            // one JSON object or array as a text
)

func (k FlagKind) String() string {
	return [...]string{"text", "number", "whole number", "size", "switch", "list", "json"}[k]
}

// EngineFlag is one knob as one engine spells it. What is not in the table still
// passes through to the engine; the table adds spelling, type and range.
type EngineFlag struct {
	Name    string   // canonical knob name, "context_len"
	Flag    string   // as the engine spells it, "--max-model-len"; "" where only Path exists
	Off     string   // how a switch is turned off, "--no-enforce-eager"; "" there is no way
	Path    string   // place in TensorRT-LLM's YAML of options, "kv_cache_config.dtype"
	Aliases []string // further spellings in snake case
	Kind    FlagKind
	Min     float64  // for numbers and sizes; -Inf is none
	Max     float64  // +Inf is none
	Choices []string // only where they are the same in every version
	Default Value    // documented default; Missing where it depends
	Since   string   // first version that has it; "" not known
	Until   string   // first version that has it no longer; "" not known
	Doc     string
}

// EngineFlags lists the documented flags of an engine in the order in which a
// command gives them. An engine without a table has none.
func EngineFlags(engine string) []EngineFlag { return slices.Clone(flagTables[engine]) }

// FlagTables names the engines that have a table, in order.
func FlagTables() []string { return slices.Sorted(maps.Keys(flagTables)) }

// FindFlag returns the flag of an engine for a knob in any spelling.
func FindFlag(engine, knob string) (EngineFlag, bool) {
	name := CanonicalKnob(engine, knob)
	for _, f := range flagTables[engine] {
		if f.Name == name {
			return f, true
		}
	}
	return EngineFlag{}, false
}

// ListedKnob reports whether a knob is known at all: an idea, or a flag that the
// table of some engine lists, by its canonical name or its own.
func ListedKnob(name string) bool {
	if KnownKnob(name) {
		return true
	}
	for _, flags := range flagTables {
		for _, f := range flags {
			if f.Name == name || f.own() == name {
				return true
			}
		}
	}
	return false
}

// flagTables is never changed.
var flagTables = map[string][]EngineFlag{"vllm": vllmFlags(), "sglang": sglangFlags(), "trtllm": trtllmFlags()}

// flagAliases gives, by engine and spelling, the engine's own one. It is never
// changed.
var flagAliases = aliasesOf(flagTables)

func aliasesOf(tables map[string][]EngineFlag) map[[2]string]string {
	out := map[[2]string]string{}
	for engine, flags := range tables {
		for _, f := range flags {
			for _, alias := range f.Aliases {
				out[[2]string{engine, alias}] = f.own()
			}
		}
	}
	return out
}

// own is the engine's own flag in snake case, or its place in the options file.
func (f EngineFlag) own() string {
	if f.Flag != "" {
		return SnakeKnob(f.Flag)
	}
	return f.Path
}

// Type is the type of the knob's value.
func (f EngineFlag) Type() Type {
	switch f.Kind {
	case NumberFlag, WholeFlag, SizeFlag:
		return NumberType
	case SwitchFlag:
		return BoolType
	}
	return TextType
}

// Spelling is the flag, or the place in the options file, for people.
func (f EngineFlag) Spelling() string {
	if f.Flag != "" {
		return f.Flag
	}
	return f.Path + ":"
}

// Range says in words what a value may be: "a whole number of at least 1".
func (f EngineFlag) Range() string {
	switch f.Kind {
	case NumberFlag, WholeFlag, SizeFlag:
		what := map[FlagKind]string{NumberFlag: "a number", WholeFlag: "a whole number", SizeFlag: "a whole number (32k, 32K)"}[f.Kind]
		low, high := Number(f.Min).String(), Number(f.Max).String()
		switch {
		case !math.IsInf(f.Min, 0) && !math.IsInf(f.Max, 0):
			return what + " from " + low + " to " + high
		case !math.IsInf(f.Min, 0):
			return what + " of at least " + low
		}
		return what
	case SwitchFlag:
		return "true or false"
	case ListFlag:
		return "whole numbers such as \"1 2 4\""
	case JSONFlag:
		return "a JSON object or array"
	}
	if f.Choices != nil {
		return "one of " + strings.Join(f.Choices, ", ")
	}
	return "a text"
}

// Check gives the value that the flag takes, in its one spelling (a size as a
// number, JSON without blanks and with its keys in order), or an error that names
// knob, flag and range.
func (f EngineFlag) Check(v Value) (Value, error) {
	out, ok := f.accept(v)
	if !ok {
		got := v.String()
		if v.Kind == KindText {
			got = strconv.Quote(v.Text)
		}
		return Value{}, fmt.Errorf("knob %q (%s): %w: want %s, got %s", f.Name, f.Spelling(), ErrInvalid, f.Range(), got)
	}
	return out, nil
}

func (f EngineFlag) accept(v Value) (Value, bool) {
	switch f.Kind {
	case SizeFlag:
		if n, ok := parseSize(v); ok {
			v = Number(n)
		}
		fallthrough
	case WholeFlag, NumberFlag:
		ok := v.Kind == KindNumber && !math.IsInf(v.Num, 0) && v.Num >= f.Min && v.Num <= f.Max && (f.Kind == NumberFlag || v.Num == math.Trunc(v.Num))
		return v, ok
	case SwitchFlag:
		return v, v.Kind == KindBool
	case ListFlag:
		return listValue(v)
	case JSONFlag:
		text, ok := canonicalObject(v.Text)
		return String(text), ok && v.Kind == KindText
	}
	// A text may look like a number or a switch ("--tokenizer-mode 1").
	switch v.Kind {
	case KindNumber, KindBool:
		v = String(v.String())
	case KindText:
	default:
		return v, false
	}
	return v, v.Text != "" && (f.Choices == nil || slices.Contains(f.Choices, v.Text))
}

// ForVersion says whether a version of the engine has the flag. A version that is
// not known has it.
func (f EngineFlag) ForVersion(version string) error {
	switch {
	case !releaseForm.MatchString(version):
	case f.Until != "" && !releaseBefore(version, f.Until):
		return fmt.Errorf("knob %q (%s): %w: removed in version %s, this is %s", f.Name, f.Spelling(), ErrInvalid, f.Until, version)
	case f.Since != "" && releaseBefore(version, f.Since):
		return fmt.Errorf("knob %q (%s): %w: came with version %s, this is %s", f.Name, f.Spelling(), ErrInvalid, f.Since, version)
	}
	return nil
}

// CanonicalSetting gives the one name and value of a setting however it was
// spelled: no_x true is x false, 32k is 32000, JSON has one form. What the table
// does not know keeps its value.
func CanonicalSetting(engine, flag string, v Value) (string, Value) {
	name := SnakeKnob(flag)
	if positive, ok := strings.CutPrefix(name, "no_"); ok && v.Kind == KindBool {
		if f, known := FindFlag(engine, positive); known && f.Off != "" {
			return f.Name, Bool(!v.True())
		}
	}
	if f, known := FindFlag(engine, name); known {
		if out, ok := f.accept(v); ok {
			return f.Name, out
		}
	}
	return CanonicalKnob(engine, name), v
}

var sizeForm = regexp.MustCompile(`^(\d+(?:\.\d+)?)([kKmMgGtT])$`)

// parseSize reads 25.6k and 32K: small letters count in thousands, large ones in
// 1024 and take no fraction.
func parseSize(v Value) (float64, bool) {
	m := sizeForm.FindStringSubmatch(v.Text)
	if v.Kind != KindText || m == nil {
		return 0, false
	}
	n, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		return 0, false
	}
	power := strings.IndexByte("kmgt", strings.ToLower(m[2])[0]) + 1
	if strings.ToLower(m[2]) == m[2] {
		return math.Round(n * math.Pow(1000, float64(power))), true
	}
	return n * math.Pow(1024, float64(power)), n == math.Trunc(n)
}

// listValue reads "1 2 4", "1,2,4", "[1, 2, 4]" or a single number.
func listValue(v Value) (Value, bool) {
	if v.Kind == KindNumber {
		v = String(v.String())
	}
	if v.Kind != KindText {
		return v, false
	}
	items := strings.FieldsFunc(strings.Trim(v.Text, "[]"), func(r rune) bool { return r == ' ' || r == ',' })
	for _, item := range items {
		if _, err := strconv.ParseUint(item, 10, 63); err != nil {
			return v, false
		}
	}
	return String(strings.Join(items, " ")), len(items) > 0
}

// canonicalObject gives equal JSON objects and arrays one spelling.
func canonicalObject(text string) (string, bool) {
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil || dec.More() {
		return text, false
	}
	switch v.(type) {
	case map[string]any, []any:
	default:
		return text, false
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if enc.Encode(v) != nil {
		return text, false
	}
	return strings.TrimSuffix(out.String(), "\n"), true
}

var releaseForm = regexp.MustCompile(`^v?(\d+(?:\.\d+)*)(?:\.?(a|b|rc)\.?(\d+))?`)

// releaseBefore orders the releases of two versions. A pre-release comes before
// its release; what is no version is before nothing.
func releaseBefore(a, b string) bool {
	ma, mb := releaseForm.FindStringSubmatch(a), releaseForm.FindStringSubmatch(b)
	if ma == nil || mb == nil {
		return false
	}
	x, y := strings.Split(ma[1], "."), strings.Split(mb[1], ".")
	for i := range max(len(x), len(y)) {
		if p, q := segment(x, i), segment(y, i); p != q {
			return p < q
		}
	}
	if ma[2] != mb[2] {
		// "" is the release itself, after a, b and rc.
		return ma[2] != "" && (mb[2] == "" || ma[2] < mb[2])
	}
	p, _ := strconv.Atoi(ma[3])
	q, _ := strconv.Atoi(mb[3])
	return p < q
}

func segment(parts []string, i int) int {
	if i >= len(parts) {
		return 0
	}
	n, _ := strconv.Atoi(parts[i])
	return n
}
