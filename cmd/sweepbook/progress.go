package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/urfave/cli/v3"
	"golang.org/x/term"

	"github.com/sweepbook/sweepbook/core/progress"
)

// The ways to tell of a run; auto is live on a terminal, else plain.
const (
	tellAuto   = "auto"
	tellLive   = "live"
	tellPlain  = "plain"
	tellNDJSON = "ndjson"
)

func progressFlag() cli.Flag {
	return &cli.StringFlag{Name: "progress", Value: tellAuto, Usage: "`HOW` to tell of the run on stderr: auto, live (a terminal), plain (a line each) or ndjson (for programs)"}
}

// teller tells how a run goes on, as it was asked to.
type teller struct {
	app   *app
	how   string
	out   io.Writer // stderr itself
	ended func()    // stops the clock of the live view; nil without one

	mu       sync.Mutex
	state    progress.State
	screen   screen
	drawn    time.Time
	saidLeft time.Time
}

// redraw is how often the live view changes at most, and clock how often at least.
const (
	redraw = 100 * time.Millisecond
	clock  = time.Second
	// leftEvery is how often a run that prints lines says what is left.
	leftEvery = 30 * time.Second
)

// newTeller takes stderr over until end.
func (a *app) newTeller(how string) (*teller, error) {
	switch how {
	case tellAuto, "":
		how = tellPlain
		if a.terminal && a.getenv("TERM") != "dumb" {
			how = tellLive
		}
	case tellLive:
		if !a.terminal {
			return nil, usageError{hinted{fmt.Errorf("--progress live: stderr is no terminal"), "--progress plain prints lines, ndjson lines for programs"}}
		}
	case tellPlain, tellNDJSON:
	default:
		return nil, usagef("--progress %q: want auto, live, plain or ndjson", how)
	}
	t := &teller{app: a, how: how, saidLeft: a.now()}
	switch how {
	case tellNDJSON:
		t.out = a.stderr.divert(&byLine{take: t.note})
	case tellLive:
		t.out = a.stderr.divert(&byLine{take: func(line string) { t.above(line) }})
		t.screen = screen{out: t.out, size: terminalSize(t.out)}
		t.tick()
	}
	return t, nil
}

// terminalSize asks a terminal for its size each time: people change it.
func terminalSize(out io.Writer) func() (columns, rows int) {
	return func() (int, int) {
		if f, ok := out.(*os.File); ok {
			if columns, rows, err := term.GetSize(int(f.Fd())); err == nil && columns > 0 && rows > 0 {
				return columns, rows
			}
		}
		return 80, 24
	}
}

// tick keeps the clock of the live view going, and its width that of the terminal.
func (t *teller) tick() {
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(clock)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				t.above()
			case <-stop:
				return
			}
		}
	}()
	t.ended = func() { close(stop); <-done }
}

// take tells of one event.
func (t *teller) take(e progress.Event) {
	t.mu.Lock()
	t.state.Take(e)
	t.mu.Unlock()
	switch t.how {
	case tellNDJSON:
		t.json(e)
	case tellLive:
		switch e.Event {
		case progress.KindProgress, progress.KindLeft, progress.KindBest, progress.KindEnd:
			t.moving()
		case progress.KindWarning:
			t.app.warn("%s", e.Text)
		default:
			t.above(t.styled(e)...)
		}
	default:
		t.plain(e)
	}
}

func (t *teller) plain(e progress.Event) {
	switch e.Event {
	case progress.KindProgress, progress.KindBest, progress.KindEnd:
		return
	case progress.KindLeft:
		if now := t.app.now(); now.Sub(t.saidLeft) < leftEvery {
			return
		} else if e.Left.Trials > 0 {
			t.saidLeft = now
		}
	case progress.KindWarning:
		t.app.warn("%s", e.Text)
		return
	}
	for _, line := range t.styled(e) {
		fmt.Fprintln(t.app.stderr, line)
	}
}

// styled is an event as a line for people, if it is worth one.
func (t *teller) styled(e progress.Event) []string {
	line := t.app.clean(oneLine(progress.Line(e)))
	switch {
	case line == "":
		return nil
	case e.Event == progress.KindStage:
		line = t.app.color("1", line)
	}
	return []string{line}
}

// json writes an event as one line.
func (t *teller) json(e progress.Event) {
	line, err := json.Marshal(e)
	if err != nil {
		line = fmt.Appendf(nil, `{"event":"note","text":%q}`, err.Error())
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	_, _ = t.out.Write(append(line, '\n')) // nobody reads it any more
}

// note tells what else is said on stderr, so that every line there is an event.
func (t *teller) note(line string) {
	t.json(progress.Event{Event: progress.KindNote, At: t.app.now().UTC(), Text: line})
}

// moving redraws the foot for what changes often.
func (t *teller) moving() {
	t.mu.Lock()
	recent := t.app.now().Sub(t.drawn) < redraw
	t.mu.Unlock()
	if !recent {
		t.above()
	}
}

// above puts lines that stay above the foot of the live view.
func (t *teller) above(lines ...string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.how != tellLive { // it ended meanwhile
		for _, line := range lines {
			fmt.Fprintln(t.out, line)
		}
		return
	}
	t.drawn = t.app.now()
	columns, _ := t.screen.size()
	var foot []string
	if !t.state.Started.IsZero() || t.state.Phase != "" {
		foot = progress.Frame(t.state, t.drawn, columns)
	}
	for i := range foot {
		if strings.HasPrefix(foot[i], "  failed") {
			foot[i] = t.app.color("31", foot[i])
		}
	}
	t.screen.draw(lines, foot)
}

// end gives stderr back. The lines that stay are there; ndjson goes on to the last
// word of the command.
func (t *teller) end() {
	if t.ended != nil {
		t.ended()
		t.ended = nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.how == tellLive {
		t.screen.draw(nil, nil)
		t.app.stderr.divert(t.out)
		t.how = tellPlain
	}
}
