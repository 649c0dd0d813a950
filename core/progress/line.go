package progress

import (
	"fmt"
	"strings"
	"time"

	"github.com/sweepbook/sweepbook/core"
)

// Line says an event in one line for people; "" for what is not worth one. Warnings
// and notes are said by who hears of them first.
func Line(e Event) string {
	text := line(e)
	if e.Lane == 0 || text == "" {
		return text
	}
	if e.Event == KindTrial && e.Trial.Option != "" { // the line of its launch may be far above
		text += "  (" + e.Trial.Option + ")"
	}
	return fmt.Sprintf("  [%d] %s", e.Lane, strings.TrimLeft(text, " "))
}

func line(e Event) string {
	switch e.Event {
	case KindStart:
		return startText(e)
	case KindStage:
		return "stage " + e.Stage
	case KindLaunch:
		return fmt.Sprintf("  launch %s (%d trials)", e.Config, e.Trials)
	case KindReady:
		if e.Ready != nil {
			return fmt.Sprintf("  ready after %s", seconds(*e.Ready).Round(10*time.Millisecond))
		}
	case KindFailed:
		return "  launch " + launchText(e)
	case KindKnown:
		if e.Trials > 0 {
			return "  known  launch " + launchText(e)
		}
		return "  known  " + TrialText(e.Trial)
	case KindTrial:
		return "  trial  " + TrialText(e.Trial)
	case KindLeft:
		if e.Left != nil && e.Left.Trials > 0 {
			return "  left   " + LeftText(*e.Left)
		}
	case KindEnding:
		return "  asked to end after the trial in progress"
	case KindDecision:
		return "  " + e.Text
	case KindEnd:
		if e.End != nil {
			return "ended: " + EndText(*e.End)
		}
	}
	return ""
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// startText is the estimate.
func startText(e Event) string {
	text := "study " + e.Study
	if e.Left == nil || e.Left.Trials == 0 {
		return text
	}
	text += fmt.Sprintf(": at most %d trials, about %s, %s", e.Left.Trials, About(seconds(e.Left.Seconds)), GPUHours(e.Left.GPUHours))
	if e.Left.Budget {
		text += ", ended by its budget"
	}
	if e.Left.Assumed != "" {
		text += " (" + e.Left.Assumed + ")"
	}
	return text
}

// LeftText is what is left in a few words.
func LeftText(l Left) string {
	if l.Trials == 0 {
		return "nothing"
	}
	text := fmt.Sprintf("at most %d trials, about %s", l.Trials, About(seconds(l.Seconds)))
	if l.Budget {
		text += " until the budget is spent"
	}
	return text
}

// EndText is how a run ended, in a line.
func EndText(e End) string {
	switch {
	case e.Winner != "":
		return e.Outcome + ", winner " + e.Winner
	case e.Error != "":
		return e.Outcome + ", " + e.Error
	}
	return e.Outcome
}

// GPUHours shows GPU hours in hours, or minutes where they are few.
func GPUHours(h float64) string {
	if h < 0.1 {
		return fmt.Sprintf("%.2g GPU minutes", 60*h)
	}
	return fmt.Sprintf("%.1f GPU hours", h)
}

// About shows a duration as exactly as an estimate deserves.
func About(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Round(time.Second)/time.Second))
	case d < 90*time.Minute:
		return fmt.Sprintf("%d min", int(d.Round(time.Minute)/time.Minute))
	case d < 48*time.Hour:
		return fmt.Sprintf("%.1f h", d.Hours())
	}
	return fmt.Sprintf("%.1f days", d.Hours()/24)
}

// launchText is a launch that failed, and with it as many trials.
func launchText(e Event) string {
	s := "s"
	if e.Trials == 1 {
		s = ""
	}
	return fmt.Sprintf("%s: %d trial%s (%s) %s", e.Trial.Status, e.Trials, s, e.Trial.Failure, e.Trial.FailureText)
}

// TrialText is a trial in a line.
func TrialText(t *Trial) string {
	text := strings.TrimSpace(t.Workload + " " + t.Load)
	if t.Number > 0 { // else it is recorded nowhere
		text = strings.TrimSpace(fmt.Sprintf("%d %s", t.Number, text))
	}
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
