package serving

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/core/load"
)

// Ownership says whose process listens on a port.
type Ownership uint8

// The answers of PortOwner.
const (
	OwnerUnknown Ownership = iota
	OwnerOurs
	OwnerForeign
)

// ReadyCheck awaits any server of the OpenAI-compatible API. Ready means: the
// processes live, /v1/models holds the expected id, the listener belongs to our
// processes where that can be told, and one real streamed completion came back.
type ReadyCheck struct {
	Rule    core.ReadyRule
	PIDs    []int
	LogPath string
	// Health is a path that must answer 200 before anything else is asked, for
	// engines that list a model while they still load it; "" is none.
	Health string
	// MorePIDs gives processes that may hold the port beside PIDs and their
	// descendants, a container's say; nil is none.
	MorePIDs func(ctx context.Context) []int
	// Line is called for every line that the log gains; nil is no interest.
	Line func(line string)
	// Diagnose names the class of a server that ended by itself.
	Diagnose func(logTail string) core.Diagnosis
}

// tailLimit is what Diagnose is given of a log.
const tailLimit = 256 << 10

// Waits between two looks at a server that is not ready.
const (
	firstWait = 20 * time.Millisecond
	lastWait  = 500 * time.Millisecond
)

// Await returns when the server is ready, with a *core.LaunchError, or with the
// context's error.
func (c ReadyCheck) Await(ctx context.Context) error {
	client := ProbeClient()
	defer client.CloseIdleConnections()
	w := watch{check: c, log: LogFollower{Path: c.LogPath}, start: time.Now(), moved: time.Now()}
	seen, tries := "no answer yet", 0
	for wait := firstWait; ; wait = min(wait*3/2, lastWait) {
		if err := w.look(seen); err != nil {
			return err
		}
		id, err := c.servedModel(ctx, client)
		switch {
		case err != nil:
			seen = err.Error()
		case id != c.Rule.Model:
			return &core.LaunchError{Class: core.PortInUse, Line: fmt.Sprintf("%s serves %q, not %q: another server holds the port", c.Rule.BaseURL, id, c.Rule.Model)}
		case c.foreign(ctx):
			// A server that dies at this moment has a port that is nobody's of ours.
			if err := w.look(seen); err != nil {
				return err
			}
			return &core.LaunchError{Class: core.PortInUse, Line: c.Rule.BaseURL + " is answered by a process that is not of this launch"}
		default:
			again, err := c.firstCompletion(ctx, client, w.left())
			if err == nil {
				return w.look("ready")
			}
			seen = err.Error()
			if !again {
				tries++
			}
			if tries >= completionTries {
				if err := w.look(seen); err != nil {
					return err
				}
				return &core.LaunchError{Class: core.RequestsFailed, Line: seen}
			}
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// foreign reports whether the port is certainly held by a process that is not of
// this launch.
func (c ReadyCheck) foreign(ctx context.Context) bool {
	port := portOf(c.Rule.BaseURL)
	if PortOwner(c.PIDs, port) != OwnerForeign {
		return false
	}
	if c.MorePIDs == nil {
		return true
	}
	more := c.MorePIDs(ctx)
	return len(more) > 0 && PortOwner(more, port) == OwnerForeign
}

// completionTries is how often a completion may fail for another reason than a
// server that says that it is busy.
const completionTries = 3

// watch is what is known of a start: the log, and when anything last moved.
type watch struct {
	check        ReadyCheck
	log          LogFollower
	start, moved time.Time
	lastLine     string
}

// left is how much of the time limit remains; a minute where there is none.
func (w *watch) left() time.Duration {
	if w.check.Rule.Timeout <= 0 {
		return time.Minute
	}
	return min(time.Minute, w.check.Rule.Timeout-time.Since(w.start))
}

// read takes in what is new in the log.
func (w *watch) read() error {
	size := w.log.Size()
	lines, err := w.log.Next()
	if err != nil {
		return fmt.Errorf("log of the server: %w", err)
	}
	if w.log.Size() != size {
		// A progress bar moves without ending its line.
		w.moved = time.Now()
	}
	for _, line := range lines {
		w.lastLine = line
		if w.check.Line != nil {
			w.check.Line(line)
		}
	}
	return nil
}

// logBehind is how far the log may be behind the end of a server, whose output a
// supervisor copies into it. The run that asks waits for two seconds.
const logBehind = 1500 * time.Millisecond

// diagnose says why a server has ended, and waits for its last words where nothing
// before them does.
func (w *watch) diagnose() (core.Diagnosis, error) {
	for deadline := time.Now().Add(logBehind); ; time.Sleep(50 * time.Millisecond) {
		d := core.Diagnosis{Class: core.Crash}
		if w.check.Diagnose != nil {
			d = w.check.Diagnose(LogTail(w.check.LogPath, tailLimit))
		}
		told := d.Class != "" && d.Class != core.Crash && d.Class != core.UnknownFailure
		if told || w.check.Diagnose == nil || time.Now().After(deadline) {
			return d, w.read()
		}
	}
}

// look reads the log, then checks the processes and the limits.
func (w *watch) look(seen string) error {
	// Before the log is read: what a process wrote before its end is then in it, or
	// about to come.
	dead := 0
	for _, pid := range w.check.PIDs {
		if !Alive(pid) {
			dead = pid
		}
	}
	if err := w.read(); err != nil {
		return err
	}
	if dead != 0 {
		d, err := w.diagnose()
		if err != nil {
			return err
		}
		if d.Line == "" {
			d.Line = fmt.Sprintf("process %d ended before it was ready; last line of its log: %q", dead, w.lastLine)
		}
		return &core.LaunchError{Class: d.Class, Line: d.Line}
	}
	rule := w.check.Rule
	if rule.Timeout > 0 && time.Since(w.start) > rule.Timeout {
		return &core.LaunchError{Class: core.StartupTimeout, Line: fmt.Sprintf("not ready after %s: %s; last line of the log: %q", rule.Timeout, seen, w.lastLine)}
	}
	if rule.Idle > 0 && time.Since(w.moved) > rule.Idle {
		return &core.LaunchError{Class: core.StartupTimeout, Line: fmt.Sprintf("no progress for %s: %s; last line of the log: %q", rule.Idle, seen, w.lastLine)}
	}
	return nil
}

// ProbeClient never goes through a proxy, which would answer for the server.
func ProbeClient() *http.Client {
	return &http.Client{Transport: &http.Transport{Proxy: nil, MaxIdleConns: 2}}
}

// GetJSON reads one small answer.
func GetJSON(ctx context.Context, client *http.Client, address string, into any) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	load.Authorize(r)
	resp, err := client.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", address, resp.Status)
	}
	return json.NewDecoder(io.LimitReader(resp.Body, 1<<20)).Decode(into)
}

// servedModel asks the health path first.
func (c ReadyCheck) servedModel(ctx context.Context, client *http.Client) (string, error) {
	if c.Health != "" {
		if err := healthy(ctx, client, c.Rule.BaseURL+c.Health); err != nil {
			return "", err
		}
	}
	return servedModel(ctx, client, c.Rule.BaseURL, c.Rule.Model)
}

// healthy is nil when a path answers 200, whatever it says.
func healthy(ctx context.Context, client *http.Client, address string) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	load.Authorize(r)
	resp, err := client.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", address, resp.Status)
	}
	return nil
}

// servedModel returns the wanted id when /v1/models has it, else the first one.
func servedModel(ctx context.Context, client *http.Client, base, want string) (string, error) {
	var list struct{ Data []struct{ ID string } }
	if err := GetJSON(ctx, client, base+"/v1/models", &list); err != nil {
		return "", err
	}
	if len(list.Data) == 0 {
		return "", errors.New("/v1/models is empty")
	}
	for _, m := range list.Data {
		if m.ID == want {
			return want, nil
		}
	}
	return list.Data[0].ID, nil
}

// ServerVersion asks GET /version; "" when the server does not say.
func ServerVersion(ctx context.Context, base string) string {
	client := ProbeClient()
	defer client.CloseIdleConnections()
	var v struct{ Version string }
	if GetJSON(ctx, client, base+"/version", &v) != nil {
		return ""
	}
	return v.Version
}

// AnsweredByAnother reports whether the port of a base URL is certainly held by a process
// that is none of some, nor of theirs.
func AnsweredByAnother(base string, pids []int) bool {
	return len(pids) > 0 && PortOwner(pids, portOf(base)) == OwnerForeign
}

func portOf(base string) int {
	u, err := url.Parse(base)
	if err != nil {
		return 0
	}
	port, _ := strconv.Atoi(u.Port())
	return port
}

// firstCompletion streams one short answer. again says that the server asks for
// patience (503) or cannot be reached, which a start may do for long.
func (c ReadyCheck) firstCompletion(ctx context.Context, client *http.Client, limit time.Duration) (again bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, max(limit, time.Second))
	defer cancel()
	body, err := json.Marshal(map[string]any{"model": c.Rule.Model, "prompt": "Ready?", "max_tokens": 4, "temperature": 0, "stream": true})
	if err != nil {
		return false, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.Rule.BaseURL+"/v1/completions", strings.NewReader(string(body)))
	if err != nil {
		return false, err
	}
	r.Header.Set("Content-Type", "application/json")
	load.Authorize(r)
	resp, err := client.Do(r)
	if err != nil {
		return true, fmt.Errorf("first completion: %w", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 512))
		return resp.StatusCode == http.StatusServiceUnavailable, fmt.Errorf("first completion: %s: %s", resp.Status, strings.TrimSpace(string(text)))
	}
	if err := ReadFirstAnswer(resp.Body); err != nil {
		return false, fmt.Errorf("first completion: %w", err)
	}
	return false, nil
}
