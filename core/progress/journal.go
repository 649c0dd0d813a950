package progress

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// Files are where a run tells of itself.
type Files struct {
	Events string // a line each, but for progress
	State  string // replaced at every heartbeat
	Log    string // what a detached run prints
}

// FilesOf names the files of a study: in a folder runs beside the history, under the
// names of both. The key tells studies apart whose names are equal in letters.
func FilesOf(history, study, key string) Files {
	slug := strings.Trim(strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '.', r == '-', r == '_':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		}
		return '-'
	}, study), "-.")
	slug = slug[:min(len(slug), 40)]
	base := filepath.Join(filepath.Dir(history), "runs", filepath.Base(history)+"."+slug+"-"+key)
	return Files{Events: base + ".events", State: base + ".state", Log: base + ".log"}
}

// Beat is how often a journal writes the state, whether something happened or not.
const Beat = time.Second

// Journal keeps the events and the state of one run in files. A journal that cannot
// be written says so once and is silent then: a run does not hang on it.
type Journal struct {
	files Files
	now   func() time.Time
	warn  func(error)

	mu     sync.Mutex
	state  State
	events *os.File
	failed bool
	stop   chan struct{}
	done   chan struct{}
}

// NewJournal begins the files anew and the heartbeat, which goes on until Close.
func NewJournal(files Files, now func() time.Time, warn func(error)) (*Journal, error) {
	if err := os.MkdirAll(filepath.Dir(files.Events), 0o700); err != nil {
		return nil, fmt.Errorf("progress of the run: %w", err)
	}
	// Removed rather than emptied, so that who follows the run before is not led astray.
	for _, path := range []string{files.Events, files.State} {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("progress of the run: %w", err)
		}
	}
	f, err := os.OpenFile(files.Events, os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("progress of the run: %w", err)
	}
	j := &Journal{files: files, now: now, warn: warn, events: f, stop: make(chan struct{}), done: make(chan struct{})}
	go j.beat()
	return j, nil
}

// State is what the events so far come to.
func (j *Journal) State() State {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.state.clone()
}

func (s State) clone() State {
	s.Failures, s.Lanes = slices.Clone(s.Failures), slices.Clone(s.Lanes)
	return s
}

// Take records an event.
func (j *Journal) Take(e Event) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.state.Take(e)
	if e.Event == KindProgress {
		return // what is going on stands in the state alone
	}
	line, err := json.Marshal(e)
	if err == nil {
		_, err = j.events.Write(append(line, '\n'))
	}
	if err == nil && (e.Event == KindStart || e.Event == KindEnd) {
		err = j.save()
	}
	j.report(err)
}

func (j *Journal) beat() {
	defer close(j.done)
	tick := time.NewTicker(Beat)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			j.mu.Lock()
			if !j.state.Started.IsZero() {
				j.report(j.save())
			}
			j.mu.Unlock()
		case <-j.stop:
			return
		}
	}
}

// save replaces the state file. It is not forced to the disk: after a crash of the
// machine nobody runs the study, and the lock file says so.
func (j *Journal) save() error {
	j.state.Heartbeat = j.now().UTC()
	data, err := json.Marshal(j.state)
	if err != nil {
		return err
	}
	tmp := j.files.State + ".new"
	if err := os.WriteFile(tmp, append(data, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(tmp, j.files.State)
}

func (j *Journal) report(err error) {
	if err != nil && !j.failed {
		j.failed = true
		j.warn(fmt.Errorf("progress of the run cannot be kept for attach and status: %w", err))
	}
}

// Done is closed when the journal is.
func (j *Journal) Done() <-chan struct{} { return j.stop }

// Close ends the heartbeat.
func (j *Journal) Close() error {
	close(j.stop)
	<-j.done
	return j.events.Close()
}

// ReadState reads the state that a run last wrote; fs.ErrNotExist where none did.
func ReadState(files Files) (State, error) {
	var s State
	data, err := os.ReadFile(files.State)
	if err != nil {
		return s, err
	}
	if err := json.Unmarshal(data, &s); err != nil {
		return s, fmt.Errorf("%s: %w", files.State, err)
	}
	if s.Format > Format {
		return s, fmt.Errorf("%s: format %d, this Sweepbook reads up to %d; use a newer one", files.State, s.Format, Format)
	}
	return s, nil
}
