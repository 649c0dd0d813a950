package main

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/core/study"
)

// progress tells a person how a run goes on: lines for what happened, and on a
// terminal one line that is drawn over for what is going on.
type progress struct {
	app   *app
	mu    sync.Mutex
	drawn int // width of the line being drawn over
	last  time.Time
}

func newProgress(a *app) *progress { return &progress{app: a} }

// redraw is how often the moving line changes.
const redraw = 100 * time.Millisecond

func (p *progress) event(e study.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e.Kind {
	case study.EventStage:
		p.erase()
		fmt.Fprintln(p.app.stderr, p.app.color("1", p.app.clean("stage "+e.Text)))
	case study.EventLaunch:
		p.line("  launch %s (%d trials)", e.Text, e.Total)
	case study.EventReady:
		p.line("  ready after %s", e.Elapsed.Round(10*time.Millisecond))
	case study.EventFailed:
		p.line("  launch %s", launchText(e.Trial, e.Total))
	case study.EventKnown:
		if e.Total > 0 {
			p.line("  known  launch %s", launchText(e.Trial, e.Total))
			return
		}
		p.line("  known  %s", trialText(e.Trial))
	case study.EventTrial:
		p.line("  trial  %s", trialText(e.Trial))
	case study.EventDecision:
		p.line("  %s", e.Text)
	case study.EventWarning:
		p.erase()
		p.app.warn("%s", e.Text)
	case study.EventProgress:
		p.moving(e)
	}
}

func (p *progress) moving(e study.Event) {
	if !p.app.terminal || time.Since(p.last) < redraw {
		return
	}
	p.last = time.Now()
	text := "  … " + e.Text
	if e.Total > 0 {
		const width = 20
		full := min(width, width*e.Done/e.Total)
		text = fmt.Sprintf("  … %s [%s%s] %d/%d", e.Text, strings.Repeat("#", full), strings.Repeat("-", width-full), e.Done, e.Total)
	}
	text = p.app.clean(oneLine(text))
	runes := []rune(text)
	runes = runes[:min(len(runes), 100)]
	p.erase()
	fmt.Fprint(p.app.stderr, string(runes))
	p.drawn = len(runes)
}

func (p *progress) erase() {
	if p.drawn > 0 {
		fmt.Fprintf(p.app.stderr, "\r%s\r", strings.Repeat(" ", p.drawn))
		p.drawn = 0
	}
}

func (p *progress) line(format string, args ...any) {
	p.erase()
	p.app.say(format, args...)
}

func (p *progress) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.erase()
}

// launchText is a launch that failed, and with it as many trials.
func launchText(t *core.Trial, trials int) string {
	s := "s"
	if trials == 1 {
		s = ""
	}
	return fmt.Sprintf("%s: %d trial%s (%s) %s", t.Status, trials, s, t.Failure, t.FailureText)
}

func trialText(t *core.Trial) string {
	text := fmt.Sprintf("%d %s %s", t.Number, t.Workload.Label(), t.Load.Label())
	if t.Repeat > 1 {
		text += fmt.Sprintf(" repeat %d", t.Repeat)
	}
	if t.Status != core.StatusOK {
		text += fmt.Sprintf(": %s", t.Status)
		if t.Failure != "" {
			text += fmt.Sprintf(" (%s) %s", t.Failure, t.FailureText)
		}
		return text
	}
	for _, name := range []string{"total_tps", "mean_ttft_ms", "mean_tpot_ms", "success_rate"} {
		if v, ok := t.Figures[name]; ok {
			f, _ := core.LookupField(name)
			text += fmt.Sprintf("  %s %.4g %s", name, v, f.Unit)
		}
	}
	return strings.TrimRight(text, " ")
}
