package tool

import (
	"fmt"
	"strings"
	"time"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/core/load"
)

// End is how the run of a command ended.
type End struct {
	ExitCode    int
	Interrupted bool // a person ended it
	TimedOut    bool
	Limit       time.Duration // that it ran past
	LastLine    string        // of its output
	Notes       []string      // of what is no result of it
}

// Apply sets status and failure class of a trial. With result the trial holds
// figures that the run produced; they are kept whatever became of it, but only a
// command that ended by itself and well makes a trial that is ok.
func (e End) Apply(t *core.Trial, result bool) {
	if t.Extra == nil {
		t.Extra = map[string]core.Value{}
	}
	switch {
	case e.Interrupted:
		t.Status, t.Failure, t.FailureText = core.StatusAborted, core.Interrupted, "ended by the user"
	case e.TimedOut:
		t.Status, t.Failure, t.FailureText = core.StatusFailed, core.BenchTimeout, e.with("not finished after "+e.Limit.String())
	case e.ExitCode != 0:
		t.Status, t.Failure, t.FailureText = core.StatusFailed, core.BenchFailed, e.with(fmt.Sprintf("exit code %d", e.ExitCode))
		t.Extra["bench_exit_code"] = core.Number(float64(e.ExitCode))
	case !result:
		why := "no result was produced, though the command ended with exit code 0"
		if len(e.Notes) > 0 {
			why += "; " + strings.Join(e.Notes, "; ")
		}
		t.Status, t.Failure, t.FailureText = core.StatusFailed, core.NoResult, why
	case t.Status == "" || t.Status.Open():
		t.Status = core.StatusOK
	}
	if result && (e.Interrupted || e.TimedOut) {
		t.Extra["bench_did_not_exit"] = core.Bool(true)
	}
}

// with adds what the command said last.
func (e End) with(what string) string {
	if e.LastLine == "" {
		return what
	}
	return what + ": " + e.LastLine
}

// LastLine is the last line of a text that says something; of a progress bar that
// draws over itself the last state counts.
func LastLine(text string) string {
	for _, line := range reversed(strings.Split(text, "\n")) {
		line = strings.TrimRight(line, "\r \t")
		if i := strings.LastIndexByte(line, '\r'); i >= 0 {
			line = line[i+1:]
		}
		if line = strings.TrimSpace(line); strings.Trim(line, "=-") != "" {
			if len(line) > 500 {
				line = strings.ToValidUTF8(line[:500], "") + "…"
			}
			return line
		}
	}
	return ""
}

func reversed(lines []string) []string {
	out := make([]string, 0, len(lines))
	for i := len(lines) - 1; i >= 0; i-- {
		out = append(out, lines[i])
	}
	return out
}

// measuredShare is the least part of a command's run that its measured window must
// be for what was seen beside it to count as figures of the window.
const measuredShare = 0.9

// Observe adds what was seen of server and GPUs while a command ran for so long.
// Loading a tokenizer and warming up are in that time; where they are a good part
// of it, what was seen is kept as extra.run_… and not as a figure of the window.
func Observe(t *core.Trial, seen load.Observed, ran time.Duration) {
	if t.Extra == nil {
		t.Extra = map[string]core.Value{}
	}
	if t.Figures == nil {
		t.Figures = core.Figures{}
	}
	for name, v := range seen.Extra {
		t.Extra[name] = v
	}
	if t.Figures["duration_s"] < measuredShare*ran.Seconds() {
		for name, v := range seen.Figures {
			t.Extra["run_"+name] = core.Number(v)
		}
		if !seen.Throttled.IsMissing() {
			t.Extra["run_throttled"] = seen.Throttled
		}
		return
	}
	for name, v := range seen.Figures {
		if _, measured := t.Figures[name]; !measured {
			t.Figures.Set(name, v)
		}
	}
	t.Throttled, t.Course = seen.Throttled, seen.Course
}
