package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/sweepbook/sweepbook/query"
)

// The rules of the terminal. stdout carries results and nothing else. stderr
// carries everything that is said about them: errors and warnings begin with
// "sweepbook: ", lower case, without a full stop; what to do about them follows
// in lines that begin with "hint: ". Progress is drawn on a terminal only.
// Colour is used nowhere but there, and not under NO_COLOR.

// hinted is an error with advice.
type hinted struct {
	err  error
	hint string
}

func (h hinted) Error() string { return h.err.Error() }
func (h hinted) Unwrap() error { return h.err }

func (a *app) fail(err error) {
	fmt.Fprintf(a.stderr, "sweepbook: %s\n", a.clean(err.Error()))
	var h hinted
	if errors.As(err, &h) {
		a.hint(h.hint)
	}
}

func (a *app) hint(text string) { fmt.Fprintf(a.stderr, "hint: %s\n", a.clean(text)) }

func (a *app) warn(format string, args ...any) {
	fmt.Fprintf(a.stderr, "sweepbook: warning: %s\n", a.clean(fmt.Sprintf(format, args...)))
}

func (a *app) say(format string, args ...any) {
	fmt.Fprintln(a.stderr, a.clean(fmt.Sprintf(format, args...)))
}

// warnings says what an answer rests on. Formats that carry warnings themselves
// need them here no less: a pipe hides them.
func (a *app) warnings(ws []query.Warning) {
	for _, w := range ws {
		a.warn("%s", w.Message)
		if w.Hint != "" {
			a.hint(w.Hint)
		}
	}
}

// clean keeps control characters of foreign text away from the terminal.
func (a *app) clean(s string) string {
	return strings.Map(func(r rune) rune {
		if (r < 0x20 && r != '\n' && r != '\t') || r == 0x7f || (r >= 0x80 && r < 0xa0) {
			return '�'
		}
		return r
	}, s)
}

func (a *app) color(code, text string) string {
	if !a.terminal || a.getenv("NO_COLOR") != "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}
