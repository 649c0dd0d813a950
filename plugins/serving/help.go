package serving

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/sweepbook/sweepbook/core"
)

// Problem is a flag of a command that a machine's engine does not take.
type Problem struct {
	Flag string   // as it stands in the command
	Text string   // what is wrong
	Near []string // flags that may have been meant
}

func (p Problem) String() string {
	s := p.Flag + ": " + p.Text
	if len(p.Near) > 0 {
		s += "; nearest: " + strings.Join(p.Near, ", ")
	}
	return s
}

// fewestFlags is how many flags a text must define to be the help of a server.
const fewestFlags = 5

// CheckFlags compares a command with the text that the same engine prints for
// --help, so that a misspelt or removed flag fails before anything is loaded. A
// text that is no help gives no verdict, nil.
func CheckFlags(help string, argv []string) []Problem {
	known := HelpFlags(help)
	if len(known) < fewestFlags {
		return nil
	}
	var problems []Problem
	for _, arg := range argv {
		if len(arg) < 2 || arg[0] != '-' || arg == "--" || arg[1] >= '0' && arg[1] <= '9' {
			continue
		}
		flag, _, _ := strings.Cut(arg, "=")
		if known[flag] {
			continue
		}
		if base, _, dotted := strings.Cut(flag, "."); dotted && known[base] {
			continue // --compilation-config.mode sets a part of --compilation-config
		}
		problems = append(problems, explain(flag, known))
	}
	return problems
}

func explain(flag string, known map[string]bool) Problem {
	words := func(s string) string { return strings.ReplaceAll(strings.TrimLeft(s, "-"), "_", "-") }
	var long []string
	for _, name := range slices.Sorted(maps.Keys(known)) {
		if words(name) == words(flag) {
			return Problem{flag, "this engine spells it " + name, []string{name}}
		}
		if strings.HasPrefix(name, flag) && strings.HasPrefix(flag, "--") {
			long = append(long, name)
		}
	}
	if len(long) == 1 {
		return Problem{flag, "is short for " + long[0] + ": write it out, or equal settings count as different ones", long}
	}
	return Problem{flag, "this engine has no such flag", core.NearestNames(flag, slices.Sorted(maps.Keys(known)))}
}

var (
	flagName = regexp.MustCompile(`--?[A-Za-z][A-Za-z0-9_-]*`)
	usageArg = regexp.MustCompile(`[\[|]\s*(--?[A-Za-z][A-Za-z0-9_-]*)`)
)

// HelpFlags lists the flags that a help text of argparse or click defines: those
// at the start of an indented line, and those in the brackets of the usage. Flags
// that a description only mentions do not count.
func HelpFlags(help string) map[string]bool {
	known := map[string]bool{}
	usage := false
	for line := range strings.SplitSeq(help, "\n") {
		text := strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(strings.ToLower(text), "usage:"):
			usage = true
		case text == "":
			usage = false
		}
		if usage {
			for _, m := range usageArg.FindAllStringSubmatch(text, -1) {
				known[m[1]] = true
			}
			continue
		}
		if !strings.HasPrefix(text, "-") || text == line {
			continue
		}
		// The definition ends where two blanks begin the description.
		def, _, _ := strings.Cut(text, "  ")
		for _, part := range strings.FieldsFunc(def, func(r rune) bool { return r == ',' || r == '/' || r == '|' }) {
			if name := flagName.FindString(strings.TrimSpace(part)); name != "" && strings.HasPrefix(strings.TrimSpace(part), name) {
				known[name] = true
			}
		}
	}
	return known
}

// helpCache keeps help texts by command and version: printing one takes an engine
// many seconds.
type helpCache struct {
	mu    sync.Mutex
	texts map[string]string
	fails map[string]error // a help that cannot be had costs as long as one that can
}

// helpOf returns the text in which the engine of an origin lists its flags.
func (a *Adapter) helpOf(ctx context.Context, origin core.Origin, version string) (string, error) {
	command, err := a.d.command(origin)
	if err != nil {
		return "", err
	}
	key := strings.Join(command, " ") + "\x00" + origin.Image + "\x00" + version
	a.helps.mu.Lock()
	defer a.helps.mu.Unlock()
	if text, ok := a.helps.texts[key]; ok {
		return text, nil
	}
	if err, ok := a.helps.fails[key]; ok {
		return "", err
	}
	var last error
	for _, args := range a.d.Help {
		ctx, cancel := context.WithTimeout(ctx, helpLimit)
		text, err := a.tool(ctx, command[0], append(slices.Clone(command[1:]), args...)...)
		if origin.Image != "" {
			text, err = a.inImage(ctx, origin, append(slices.Clone(command), args...))
		}
		cancel()
		if a.d.lists(HelpFlags(text)) {
			if a.helps.texts == nil {
				a.helps.texts = map[string]string{}
			}
			a.helps.texts[key] = text
			return text, nil
		}
		last = err
	}
	if last == nil {
		last = fmt.Errorf("%w: no flags in what it printed", core.ErrInvalid)
	}
	last = fmt.Errorf("help of %s: %w", a.d.Name, last)
	if a.helps.fails == nil {
		a.helps.fails = map[string]error{}
	}
	a.helps.fails[key] = last
	return "", last
}

// lists reports whether a text with these flags is the whole help: a page of it
// would make good flags look wrong.
func (d *Dialect) lists(known map[string]bool) bool {
	return len(known) >= fewestFlags && !slices.ContainsFunc(d.Always, func(flag string) bool { return !known[flag] })
}

// serverFlags cuts off the command, whose own flags ("-m", "--gpus") are not the
// server's.
func (d *Dialect) serverFlags(argv []string, origin core.Origin) []string {
	command, err := d.command(origin)
	if err != nil {
		return nil
	}
	if origin.Image == "" {
		return argv[min(len(command), len(argv)):]
	}
	if i := slices.Index(argv, "--entrypoint"); i >= 0 {
		return argv[min(len(argv), i+2+len(command)):] // entrypoint, image, rest of the command
	}
	return nil
}
