package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/plugins/serving"
)

// Manifest is what a file says of an engine.
type Manifest struct {
	Name    string // of the engine
	Version string // of the manifest, recorded with each trial
	Install string // how to get the engine, for people
	// Simulated marks trials as such.
	Simulated bool

	Command []part            // of the server, as a template
	Env     map[string]string // of the server, templates too
	Knobs   []Knob            // in the order in which a command gives them
	Style   Style
	// Reserved are knobs that no configuration may set, with the reason.
	Reserved map[string]string

	Health        string // path that answers 200 before anything else is asked
	Model         string // template of the served model id
	Timeout, Idle time.Duration

	VersionCommand []string
	VersionPattern *regexp.Regexp // its first group is the version

	Failures []serving.Signature
}

// Knob is one setting, given by a flag or by a variable of the environment.
type Knob struct {
	core.EngineFlag
	Env string
}

// Style is how flags are written.
type Style struct {
	Join bool   // --flag=value, else --flag value
	No   bool   // a raw switch that is false is written --no-x
	Raw  string // "kebab", "snake", or "refuse": knobs that the file does not list
}

// part is one word of a command; several make a group that is left out when one of
// its placeholders has no value.
type part struct{ words []string }

// maxSize is far above what a person writes.
const maxSize = 256 << 10

var (
	engineForm = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,63}$`)
	knobForm   = regexp.MustCompile(`^[a-z][a-z0-9_]{0,63}$`)
	flagForm   = regexp.MustCompile(`^--?[A-Za-z][A-Za-z0-9_.-]*$`)
	envForm    = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	// usualVersion is the first thing in a text that looks like a version.
	usualVersion = regexp.MustCompile(`(\d+\.\d+[0-9A-Za-z.+-]*)`)
)

// Read reads a manifest. shown is its name in errors, where the file that is read
// is a private copy; empty is path.
func Read(path, shown string) (*Manifest, error) {
	if shown == "" {
		shown = path
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("engine manifest: %w", err)
	}
	defer func() { _ = f.Close() }() // only read
	data, err := io.ReadAll(io.LimitReader(f, maxSize+1))
	if err != nil {
		return nil, fmt.Errorf("engine manifest: %w", err)
	}
	return Parse(shown, data)
}

// Parse reads the text of a manifest.
func Parse(file string, data []byte) (*Manifest, error) {
	body, err := tree(file, data)
	if err != nil {
		return nil, err
	}
	r := &reader{file: file}
	m := &Manifest{Version: "1", Style: Style{Raw: "kebab"}, Model: "{checkpoint}", Timeout: 30 * time.Minute, VersionPattern: usualVersion}
	m.read(node{in: r, ast: body})
	if r.err != nil {
		return nil, r.err
	}
	return m, nil
}

func tree(file string, data []byte) (ast.Node, error) {
	switch {
	case len(data) > maxSize:
		return nil, &FileError{File: file, Msg: fmt.Sprintf("larger than %d KiB: no engine manifest", maxSize>>10)}
	case !utf8.Valid(data):
		return nil, &FileError{File: file, Msg: "not UTF-8 text: save the file as UTF-8"}
	case deep(data):
		return nil, &FileError{File: file, Msg: "brackets nested too deep"}
	}
	parsed, err := parser.ParseBytes(bytes.TrimPrefix(data, []byte("\ufeff")), 0)
	if err != nil {
		fault := &FileError{File: file, Msg: err.Error()}
		var ye yaml.Error
		if errors.As(err, &ye) {
			fault.Msg = ye.GetMessage()
			if tok := ye.GetToken(); tok != nil && tok.Position != nil {
				fault.Line, fault.Col = tok.Position.Line, tok.Position.Column
			}
		}
		return nil, fault
	}
	if len(parsed.Docs) != 1 || parsed.Docs[0].Body == nil {
		return nil, &FileError{File: file, Msg: fmt.Sprintf("want one engine in the file, found %d documents with content", len(parsed.Docs))}
	}
	return parsed.Docs[0].Body, nil
}

// deep refuses brackets that would cost the parser its stack.
func deep(data []byte) bool {
	depth := 0
	for _, c := range data {
		switch c {
		case '[', '{':
			depth++
		case ']', '}':
			depth--
		}
		if depth > 32 {
			return true
		}
	}
	return false
}

func (m *Manifest) read(root node) {
	seen := map[string]node{}
	keep := func(key string, read func(node)) func(node) {
		return func(n node) { seen[key] = n; read(n) }
	}
	root.mapping(map[string]func(node){
		"engine":          keep("engine", func(n node) { m.Name = n.text() }),
		"version":         func(n node) { m.Version = n.text() },
		"simulated":       func(n node) { m.Simulated = n.boolean() },
		"install":         func(n node) { m.Install = n.text() },
		"command":         keep("command", m.readCommand),
		"env":             func(n node) { m.readEnv(n) },
		"knobs":           func(n node) { n.each(m.readKnob) },
		"flags":           func(n node) { m.readStyle(n) },
		"reserved":        func(n node) { m.readReserved(n) },
		"ready":           func(n node) { m.readReady(n) },
		"version_command": func(n node) { m.VersionCommand = n.texts() },
		"version_pattern": func(n node) { m.VersionPattern = pattern(n) },
		"failures":        func(n node) { m.readFailures(n) },
	})
	for _, key := range []string{"engine", "command"} {
		if _, ok := seen[key]; !ok {
			root.in.fail(root.ast, "the file has no %s:", key)
		}
	}
	if n, ok := seen["engine"]; ok && !engineForm.MatchString(m.Name) {
		n.fail("%q is no engine name: want lower-case letters, digits, dots, dashes and underscores", m.Name)
	}
	if n, ok := seen["command"]; ok {
		m.checkAddress(n)
	}
}

// readCommand reads the words of the command. A list inside it is a group.
func (m *Manifest) readCommand(n node) {
	for _, item := range n.list() {
		p := part{}
		if item.isList() {
			p.words = item.texts()
		} else {
			p.words = []string{item.text()}
		}
		for _, w := range p.words {
			checkTemplate(item, w)
		}
		m.Command = append(m.Command, p)
	}
	if len(m.Command) == 0 || len(m.Command[0].words) != 1 || placeholder.MatchString(m.Command[0].words[0]) {
		n.fail("its first word is the executable")
	}
}

// checkAddress: a server that is not told its port listens on its default one,
// where it may meet another.
func (m *Manifest) checkAddress(n node) {
	var all strings.Builder
	for _, p := range m.Command {
		all.WriteString(strings.Join(p.words, " ") + " ")
	}
	for _, v := range m.Env {
		all.WriteString(v + " ")
	}
	for _, name := range []string{"{host}", "{port}"} {
		if !strings.Contains(all.String(), name) {
			n.fail("%s stands neither in the command nor in env: the server must listen where the host says", name)
		}
	}
}

func (m *Manifest) readEnv(n node) {
	m.Env = map[string]string{}
	n.each(func(name string, at ast.Node, value node) {
		switch {
		case !envForm.MatchString(name):
			n.in.fail(at, "%q is no name of an environment variable", name)
		case serving.SecretName(name):
			n.in.fail(at, "%s looks like a secret: list its name under run.secrets of the study", name)
		}
		m.Env[name] = value.text()
		checkTemplate(value, m.Env[name])
	})
}

func (m *Manifest) readKnob(name string, at ast.Node, n node) {
	k := Knob{EngineFlag: core.EngineFlag{Name: name, Min: math.Inf(-1), Max: math.Inf(1)}}
	if !knobForm.MatchString(name) {
		n.in.fail(at, "knob %q: want lower-case letters, digits and underscores", name)
	}
	var def node
	n.mapping(map[string]func(node){
		"flag":    func(n node) { k.Flag = matching(n, flagForm, "a flag such as --max-batch-size") },
		"off":     func(n node) { k.Off = matching(n, flagForm, "a flag such as --no-prefix-caching") },
		"env":     func(n node) { k.Env = matching(n, envForm, "a name of an environment variable") },
		"type":    func(n node) { k.Kind = kind(n) },
		"min":     func(n node) { k.Min = n.number() },
		"max":     func(n node) { k.Max = n.number() },
		"choices": func(n node) { k.Choices = n.texts() },
		"default": func(n node) { def = n; k.Default = n.value() },
		"since":   func(n node) { k.Since = n.text() },
		"until":   func(n node) { k.Until = n.text() },
		"doc":     func(n node) { k.Doc = n.text() },
	})
	switch {
	case (k.Flag == "") == (k.Env == ""):
		n.in.fail(at, "knob %q: give one of flag: and env:", name)
	case k.Doc == "":
		n.in.fail(at, "knob %q: give one line of doc:", name)
	case k.Env != "" && serving.SecretName(k.Env):
		n.in.fail(at, "knob %q: %s looks like a secret, and a configuration is stored and shown", name, k.Env)
	case k.Min > k.Max:
		n.in.fail(at, "knob %q: min is above max", name)
	}
	for _, other := range m.Knobs {
		if k.Flag != "" && other.Flag == k.Flag || k.Env != "" && other.Env == k.Env {
			n.in.fail(at, "knob %q: %s is that of knob %q already", name, k.Flag+k.Env, other.Name)
		}
	}
	if !k.Default.IsMissing() {
		checked, err := k.Check(k.Default)
		if err != nil {
			def.fail("the default is none of its values: %v", err)
		}
		k.Default = checked
	}
	m.Knobs = append(m.Knobs, k)
}

// Spelling is how people see the knob: its flag or its variable.
func (k Knob) Spelling() string {
	if k.Env != "" {
		return "$" + k.Env
	}
	return k.Flag
}

func matching(n node, form *regexp.Regexp, what string) string {
	s := n.text()
	if !form.MatchString(s) {
		n.fail("want %s, got %q", what, s)
	}
	return s
}

func kind(n node) core.FlagKind {
	kinds := []core.FlagKind{core.TextFlag, core.NumberFlag, core.WholeFlag, core.SizeFlag, core.SwitchFlag, core.ListFlag, core.JSONFlag}
	names := make([]string, len(kinds))
	s := n.text()
	for i, k := range kinds {
		// "whole number" is written whole in a file.
		names[i], _, _ = strings.Cut(k.String(), " ")
	}
	if i := slices.Index(names, s); i >= 0 {
		return kinds[i]
	}
	n.fail("want one of %s, got %q", strings.Join(names, ", "), s)
	return core.TextFlag
}

func (m *Manifest) readStyle(n node) {
	n.mapping(map[string]func(node){
		"join": func(n node) { m.Style.Join = n.boolean() },
		"no":   func(n node) { m.Style.No = n.boolean() },
		"raw": func(n node) {
			m.Style.Raw = n.text()
			if !slices.Contains([]string{"kebab", "snake", "refuse"}, m.Style.Raw) {
				n.fail("want kebab, snake or refuse, got %q", m.Style.Raw)
			}
		},
	})
}

func (m *Manifest) readReserved(n node) {
	m.Reserved = map[string]string{}
	n.each(func(name string, _ ast.Node, why node) { m.Reserved[core.SnakeKnob(name)] = why.text() })
}

func (m *Manifest) readReady(n node) {
	n.mapping(map[string]func(node){
		"health": func(n node) {
			if m.Health = n.text(); !strings.HasPrefix(m.Health, "/") {
				n.fail("want a path such as /health, got %q", m.Health)
			}
		},
		"model":   func(n node) { m.Model = n.text(); checkTemplate(n, m.Model) },
		"timeout": func(n node) { m.Timeout = n.duration() },
		"idle":    func(n node) { m.Idle = n.duration() },
	})
}

func pattern(n node) *regexp.Regexp {
	s := n.text()
	re, err := regexp.Compile(s)
	switch {
	case err != nil:
		n.fail("%v", err)
		return usualVersion
	case re.NumSubexp() < 1:
		n.fail("a group (…) must hold the version")
		return usualVersion
	}
	return re
}

func (m *Manifest) readFailures(n node) {
	for _, item := range n.list() {
		s := serving.Signature{}
		item.mapping(map[string]func(node){
			"class": func(n node) {
				s.Class = core.FailureClass(n.text())
				if !slices.Contains(core.FailureClasses(), s.Class) {
					n.fail("unknown failure class %q; the classes are %s", s.Class, join(core.FailureClasses()))
				}
			},
			"contains": func(n node) { s.All = n.texts() },
			"without":  func(n node) { s.None = n.texts() },
		})
		if s.Class == "" || len(s.All) == 0 {
			item.fail("a failure has a class: and what its line contains:")
		}
		m.Failures = append(m.Failures, s)
	}
}

func join(classes []core.FailureClass) string {
	var out []string
	for _, c := range classes {
		out = append(out, string(c))
	}
	return strings.Join(out, ", ")
}
