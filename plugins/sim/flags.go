package sim

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/sweepbook/sweepbook/core"
)

// program is the name in the server's messages.
const program = "sweepbook sim-server"

// errHelp and errVersion ask for a text instead of a server.
var (
	errHelp    = errors.New("help asked")
	errVersion = errors.New("version asked")
)

// placeKnobs are the flags that say where a server runs. They are no knobs of a
// configuration, so Info and Plan never offer them.
func placeKnobs() []knob {
	return []knob{
		textKnob("model", "model", core.Missing(), nil, "checkpoint; its name gives size and weight format", func(s *settings, t string) { s.model = t }),
		textKnob("served_model_name", "served-model-name", core.Missing(), nil, "model id of the API; default: the checkpoint", func(s *settings, t string) { s.servedName = t }),
		textKnob("revision", "revision", core.Missing(), nil, "of the checkpoint; printed only", func(s *settings, t string) { s.revision = t }),
		textKnob("host", "host", core.String("127.0.0.1"), nil, "address to listen on", func(s *settings, t string) { s.host = t }),
		{name: "port", flag: "port", typ: core.NumberType, whole: true, max: 65535, def: core.Number(8000), doc: "port to listen on; 0 takes a free one",
			set: func(s *settings, v core.Value) { s.port = int(v.Num) }},
	}
}

// parseFlags reads a command line: "--flag value", "--flag=value", underscores
// for dashes, "--no-flag" for a boolean. given holds what was passed, by
// canonical name. An error is worded as argparse words it, and asks for exit
// status 2.
func parseFlags(args []string) (s settings, given core.Knobs, err error) {
	table := append(placeKnobs(), knobs()...)
	byFlag := map[string]knob{}
	for _, k := range table {
		byFlag[k.flag] = k
		if !k.def.IsMissing() {
			k.set(&s, k.def)
		}
	}
	given = core.Knobs{}
	var unknown []string
	for i := 0; i < len(args); i++ {
		word, value, joined := strings.Cut(args[i], "=")
		if word == "-h" || word == "--help" {
			return s, given, errHelp
		}
		if word == "--version" {
			return s, given, errVersion
		}
		flag, dashed := strings.CutPrefix(strings.ReplaceAll(word, "_", "-"), "--")
		k, known := byFlag[flag]
		negated := false
		if !known && strings.HasPrefix(flag, "no-") {
			k, known = byFlag[flag[len("no-"):]]
			known = known && k.typ == core.BoolType
			negated = known
		}
		if !dashed || !known {
			unknown = append(unknown, args[i])
			continue
		}
		if k.typ == core.BoolType {
			if joined {
				return s, given, fmt.Errorf("argument --%s: ignored explicit argument '%s'", flag, value)
			}
			v := core.Bool(!negated)
			given[k.name] = v
			k.set(&s, v)
			continue
		}
		if !joined {
			if i+1 == len(args) || strings.HasPrefix(args[i+1], "--") {
				return s, given, fmt.Errorf("argument --%s: expected one argument", flag)
			}
			i++
			value = args[i]
		}
		v, err := k.parse(value)
		if err != nil {
			return s, given, fmt.Errorf("argument --%s: %w", flag, err)
		}
		given[k.name] = v
		k.set(&s, v)
	}
	if len(unknown) > 0 {
		return s, given, fmt.Errorf("unrecognized arguments: %s", strings.Join(unknown, " "))
	}
	if s.model == "" {
		return s, given, errors.New("the following arguments are required: --model")
	}
	for _, name := range []string{"speculative_tokens", "speculative_acceptance"} {
		// Ignoring them would record a setting that was never in force.
		if _, ok := given[name]; ok && s.specMethod == "none" {
			return s, given, fmt.Errorf("argument --%s: needs --speculative-method", strings.ReplaceAll(name, "_", "-"))
		}
	}
	if s.servedName == "" {
		s.servedName = s.model
	}
	return s, given, nil
}

// parse reads a flag's text as the knob's type.
func (k knob) parse(text string) (core.Value, error) {
	v := core.String(text)
	if k.typ == core.NumberType {
		f, err := strconv.ParseFloat(text, 64)
		switch {
		case err != nil && k.whole:
			return v, fmt.Errorf("invalid int value: '%s'", text)
		case err != nil:
			return v, fmt.Errorf("invalid float value: '%s'", text)
		}
		if v = core.Number(f); v.IsMissing() {
			return v, fmt.Errorf("invalid float value: '%s'", text)
		}
	}
	return v, k.check(v)
}

// usage is the text of --help.
func usage() string {
	var b strings.Builder
	fmt.Fprintf(&b, "usage: %s --model MODEL [flags]\n\nSimulates a serving engine and answers its HTTP API. Every SECONDS is simulated.\n\nflags:\n", program)
	for _, k := range append(placeKnobs(), knobs()...) {
		name := "--" + k.flag
		switch k.typ {
		case core.BoolType:
			name += ", --no-" + k.flag
		case core.NumberType:
			name += " NUMBER"
		default:
			name += " TEXT"
		}
		fmt.Fprintf(&b, "  %s\n        %s", name, k.doc)
		if !k.def.IsMissing() {
			fmt.Fprintf(&b, " (default %s)", k.def)
		}
		b.WriteByte('\n')
	}
	b.WriteString("  --version\n        print the version and exit\n")
	return b.String()
}
