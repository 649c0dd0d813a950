package plugins

import (
	"fmt"
	"math"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/sweepbook/sweepbook/core"
)

// Bounds on what may cross the border. They are far above honest use and exist so
// that a broken or hostile plugin cannot exhaust the host.
const (
	maxMessage  = 4 << 20 // bytes of one message that the host receives
	maxRequest  = 16 << 20
	maxName     = 256      // knob, field, process, model, version
	maxText     = 4 << 10  // paths, addresses, commands
	maxValue    = 64 << 10 // a text Value: some knobs hold JSON
	maxArg      = 128<<10 - 1
	maxProse    = 2 << 10 // lines for people; longer ones are cut
	maxList     = 4096
	maxKnobInfo = 8192
	maxFileData = 2 << 20
	maxBatch    = 65536
	maxChunks   = 262144 // of one sample
	maxTokens   = 1 << 40
	maxMoment   = 30 * 24 * time.Hour
	maxLogTail  = 256 << 10

	maxTrialSamples = 10_000_000
	maxTrialChunks  = 100_000_000
)

// ReplyError says that a plugin sent something that breaks a rule of the
// protocol: a negative time, a request counted twice, a path outside its folder.
// The reply is dropped whole.
type ReplyError struct {
	Engine  string // name of the engine, where known
	Call    string // "Plan", "Benchmark", …
	Field   string // as in engine.proto
	Problem string
}

func (e *ReplyError) Error() string {
	engine := "engine"
	if e.Engine != "" {
		engine += " " + e.Engine
	}
	return fmt.Sprintf("%s: bad reply to %s: %s: %s", engine, e.Call, e.Field, e.Problem)
}

// A check collects the first broken rule while a message is converted, so that
// the conversions read as plain assignments.
type check struct {
	at  string // prefix of the field, set while inside a repeated message
	err *ReplyError
}

func (c *check) fail(field, format string, args ...any) {
	if c.err == nil {
		c.err = &ReplyError{Field: c.at + field, Problem: fmt.Sprintf(format, args...)}
	}
}

// reply returns the first broken rule as an error, nil when there is none.
func (c *check) reply() error {
	if c.err == nil {
		return nil
	}
	return c.err
}

// text accepts an exact text: valid UTF-8, no NUL, at most limit bytes.
func (c *check) text(field, s string, limit int) string {
	switch {
	case len(s) > limit:
		c.fail(field, "%d bytes where %d are allowed", len(s), limit)
	case !utf8.ValidString(s):
		c.fail(field, "not UTF-8")
	case strings.IndexByte(s, 0) >= 0:
		c.fail(field, "holds a NUL byte")
	default:
		return s
	}
	return ""
}

// required accepts a text that must not be empty.
func (c *check) required(field, s string, limit int) string {
	if s == "" {
		c.fail(field, "empty")
	}
	return c.text(field, s, limit)
}

func (c *check) texts(field string, in []string, limit int) []string {
	if !c.count(field, len(in), maxList) || len(in) == 0 {
		return nil
	}
	out := make([]string, len(in))
	for i, s := range in {
		out[i] = c.text(field, s, limit)
	}
	return out
}

// environment accepts variables with portable names.
func (c *check) environment(field string, in map[string]string) map[string]string {
	if !c.count(field, len(in), maxList) || len(in) == 0 {
		return nil
	}
	out := make(map[string]string, len(in))
	for name, s := range in {
		if !variableName(name) {
			c.fail(field, "%q is no name of an environment variable", clip(clean(name), 80))
		}
		out[name] = c.text(field, s, maxArg)
	}
	return out
}

func variableName(s string) bool {
	for i, r := range s {
		letter := r == '_' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z'
		if !letter && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return s != "" && len(s) <= maxName
}

func (c *check) count(field string, n, limit int) bool {
	if n > limit {
		c.fail(field, "%d elements where %d are allowed", n, limit)
		return false
	}
	return true
}

// number accepts an integer between low and high.
func (c *check) number(field string, n, low, high int64) int {
	if n < low || n > high || n > math.MaxInt {
		c.fail(field, "%d is not between %d and %d", n, low, high)
		return 0
	}
	return int(n)
}

// span accepts a length of time from 0 to thirty days, in nanoseconds.
func (c *check) span(field string, ns int64) time.Duration {
	switch {
	case ns < 0:
		c.fail(field, "negative time")
	case ns > int64(maxMoment):
		c.fail(field, "longer than thirty days")
	default:
		return time.Duration(ns)
	}
	return 0
}

// moment accepts an offset from a trial's start; nil is core.NoTime.
func (c *check) moment(field string, ns *int64) time.Duration {
	if ns == nil {
		return core.NoTime
	}
	return c.span(field, *ns)
}

// tokens accepts a token count; nil is -1, unknown.
func (c *check) tokens(field string, n *int64) int {
	if n == nil {
		return -1
	}
	return c.number(field, *n, 0, maxTokens)
}

// class gives one of the known failure classes.
func class(s string) core.FailureClass {
	for _, known := range core.FailureClasses() {
		if string(known) == s {
			return known
		}
	}
	return core.UnknownFailure
}

// prose makes a line for people out of whatever was sent: cleaned and cut.
func prose(s string) string { return clip(clean(clip(s, 4*maxProse)), maxProse) }

// clean makes a text safe to print on a terminal: valid UTF-8, control characters
// and those that change the direction of writing as escapes.
func clean(s string) string {
	s = strings.TrimRight(strings.ToValidUTF8(s, "\uFFFD"), "\r\n")
	if strings.IndexFunc(s, unprintable) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '\t':
			b.WriteByte(' ')
		case r == '\n':
			b.WriteString(`\n`)
		case unprintable(r) && r < 0x100:
			fmt.Fprintf(&b, `\x%02x`, r)
		case unprintable(r):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

func unprintable(r rune) bool {
	if r < utf8.RuneSelf {
		return r < ' ' || r == 0x7f
	}
	return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' || unicode.Is(unicode.Bidi_Control, r)
}

// clip cuts a text to at most limit bytes at a border of characters and marks the
// cut.
func clip(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	const mark = "…"
	end := limit - len(mark)
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + mark
}
