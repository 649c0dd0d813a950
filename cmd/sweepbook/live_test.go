//go:build linux

package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// tty is enough of a terminal to see what is drawn: it wraps at its width, breaks its
// lines anew when that changes, and knows CR, LF, up, erase below, and colours. What
// it does not know it remembers as a fault.
type tty struct {
	columns int
	lines   []string // logical ones, each of single-width ASCII or the mark of a cut
	line    int      // of the cursor
	column  int      // in the logical line
	rest    string
	faults  []string
}

func (v *tty) feed(text string) {
	v.rest += text
	for v.rest != "" {
		n := v.step()
		if n == 0 {
			return // in the midst of a sequence
		}
		v.rest = v.rest[n:]
	}
}

var csi = regexp.MustCompile(`^\x1b\[([0-9;]*)([A-Za-z])`)

func (v *tty) step() int {
	if len(v.lines) == 0 {
		v.lines = []string{""}
	}
	switch c := v.rest[0]; c {
	case '\r':
		v.column -= v.column % v.columns
		return 1
	case '\n':
		if v.line++; v.line == len(v.lines) {
			v.lines = append(v.lines, "")
		}
		v.column = 0
		return 1
	case 0x1b:
		m := csi.FindStringSubmatch(v.rest)
		if m == nil {
			if len(v.rest) > 12 {
				v.faults = append(v.faults, fmt.Sprintf("%q", v.rest[:12]))
				return 1
			}
			return 0
		}
		switch m[2] {
		case "A":
			n, _ := strconv.Atoi(m[1])
			v.up(n)
		case "J":
			v.lines = v.lines[:v.line+1]
			v.lines[v.line] = v.lines[v.line][:min(v.column, len(v.lines[v.line]))]
		case "m":
		default:
			v.faults = append(v.faults, m[0])
		}
		return len(m[0])
	default:
		size := 1
		if strings.HasPrefix(v.rest, "…") {
			size, c = len("…"), '~'
		} else if c >= 0x80 && len(v.rest) < 4 {
			return 0
		}
		text := v.lines[v.line]
		for len(text) < v.column {
			text += " "
		}
		v.lines[v.line] = text[:v.column] + string(rune(c)) + text[min(len(text), v.column+1):]
		v.column++
		return size
	}
}

// up moves the cursor by rows as they are now broken.
func (v *tty) up(n int) {
	row := v.column / v.columns
	for ; n > 0; n-- {
		if row > 0 {
			row--
		} else if v.line > 0 {
			v.line--
			row = max(0, len(v.lines[v.line])-1) / v.columns
		}
	}
	v.column = row * v.columns
}

func openTTY(t *testing.T) (master, slave *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("no pseudo-terminals here: %v", err)
	}
	t.Cleanup(func() { _ = master.Close() })
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no pseudo-terminals here: %v", err)
	}
	return master, slave
}

var drawnHead = regexp.MustCompile(`: \d measured`)

const liveStudy = `study: live
model: {name: Qwen/Qwen3-8B}
hardware: {gpu: NVIDIA H100 80GB HBM3, gpus: 1}
engines: {sim: {}}
run: {timeouts: {ready: 30s, trial: 60s}}
load: {concurrency: 4}
workloads:
  chat: {dataset: random, input: 64, output: 300, requests: 32, seed: 1}
objective: max output_tps where success_rate == 1
baseline: {engine: sim, time_scale: 10}
stages:
  - {name: next, try: [{max_num_seqs: 2}, {name: too long, fault_oom_at_load: true}, {max_num_seqs: 8, chunked_prefill: true, max_batched_tokens: 2048}]}
`

// TestLiveView looks at a run on a terminal of 80 columns that becomes 50 and then 120
// wide: what goes on is drawn in place, what happened stays above it, each once, and
// at the end nothing of the drawing is left.
func TestLiveView(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{"study.yaml": liveStudy, "local.yaml": fmt.Sprintf("ports: %d\n", testPorts())} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	master, slave := openTTY(t)
	view := &tty{columns: 80}
	resize := func(columns int) {
		view.columns = columns
		if err := unix.IoctlSetWinsize(int(master.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 40, Col: uint16(columns)}); err != nil {
			t.Fatal(err)
		}
	}
	resize(80)
	cmd := exec.Command("sweepbook", "--db", "h.db", "run", "study.yaml")
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = dir, slave, slave, slave
	cmd.Env = append(os.Environ(), "HOME="+dir, "XDG_DATA_HOME="+dir, "TERM=xterm", "SWEEPBOOK_DB=")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = slave.Close()
	var drawn strings.Builder // every state of the foot
	var mu sync.Mutex
	done := make(chan struct{})
	go func() {
		defer close(done)
		buf := make([]byte, 64<<10)
		for {
			n, err := master.Read(buf)
			mu.Lock()
			view.feed(string(bytes.ReplaceAll(buf[:n], []byte("\r\n"), []byte("\n"))))
			foot := strings.Join(view.lines[max(0, len(view.lines)-8):], "\n")
			drawn.WriteString(foot + "\n")
			if heads := len(drawnHead.FindAllString(strings.Join(view.lines, "\n"), -1)); heads > 1 && cmd.ProcessState == nil && !strings.Contains(foot, "trials measured") {
				view.faults = append(view.faults, fmt.Sprintf("the head is drawn %d times at %d columns:\n%s", heads, view.columns, foot))
			}
			mu.Unlock()
			if err != nil {
				return // EIO: nobody has the terminal open any more
			}
		}
	}()
	for _, columns := range []int{50, 120} {
		time.Sleep(1500 * time.Millisecond)
		mu.Lock()
		resize(columns)
		mu.Unlock()
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	<-done
	for _, fault := range view.faults {
		t.Error(fault)
	}
	all := strings.Join(view.lines, "\n")
	for pattern, want := range map[string]int{
		`(?m)^study live: at most 4 trials, about `:    1,
		`(?m)^stage baseline$`:                         1,
		`(?m)^stage next$`:                             1,
		`(?m)^  trial  \d chat c=4 +total_tps`:         3,
		`(?m)^  launch failed: 1 trial \(oom_weights`:  1,
		`(?m)^winner +sim `:                            1,
		`measured, at most|  best |  failed |\[#*-*\]`: 0,
	} {
		if got := len(regexp.MustCompile(pattern).FindAllString(all, -1)); got != want {
			t.Errorf("%d of %q, want %d:\n%s", got, pattern, want, all)
		}
	}
	for _, pattern := range []string{
		`live, next: \d measured, .*at most \d left, about \d+ (s|min)`,
		`measure \[#+-*\] \d+/32  [\d.e+]+ tok/s`,
		`best    max output_tps = \d`,
		`failed  too long chat c=4: oom_weights  `,
	} {
		if !regexp.MustCompile(pattern).MatchString(drawn.String()) {
			t.Errorf("never drawn: %q", pattern)
		}
	}
	if t.Failed() {
		_, _ = io.WriteString(os.Stderr, all)
	}
}
