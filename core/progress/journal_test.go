package progress_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sweepbook/sweepbook/core/progress"
)

func newJournal(t *testing.T, files progress.Files) *progress.Journal {
	t.Helper()
	j, err := progress.NewJournal(files, time.Now, func(err error) { t.Errorf("warned: %v", err) })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = j.Close() })
	return j
}

// Two studies whose names are equal in letters have files of their own, and no name
// leads out of the folder.
func TestFilesOf(t *testing.T) {
	a := progress.FilesOf("/d/history.db", "Qwen3 32B/../x", "abc")
	if want := "/d/runs/history.db.qwen3-32b-..-x-abc.events"; a.Events != want {
		t.Errorf("%s, want %s", a.Events, want)
	}
	for _, name := range []string{"../../etc", strings.Repeat("x", 500), "", "日本"} {
		f := progress.FilesOf("/d/history.db", name, "abc")
		if filepath.Dir(f.Log) != "/d/runs" || len(filepath.Base(f.Log)) > 80 {
			t.Errorf("study %q: %s", name, f.Log)
		}
	}
}

func TestFollow(t *testing.T) {
	files := progress.FilesOf(filepath.Join(t.TempDir(), "h.db"), "s", "k")
	take := func(progress.Event) {}
	if err := progress.Follow(t.Context(), files, func() bool { return true }, take); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("nobody told anything: %v", err)
	}
	j := newJournal(t, files)
	j.Take(progress.Event{Event: progress.KindStart, At: t0, Study: "s", Owner: &progress.Owner{PID: 1}})
	var seen []progress.Kind
	done := make(chan error, 1)
	go func() {
		done <- progress.Follow(t.Context(), files, func() bool { return true }, func(e progress.Event) {
			if e.Event == progress.KindProgress && len(seen) > 0 && seen[len(seen)-1] == progress.KindProgress {
				return // as often as they come
			}
			seen = append(seen, e.Event)
		})
	}()
	j.Take(progress.Event{Event: progress.KindStage, At: t0, Stage: "a"})
	j.Take(progress.Event{Event: progress.KindProgress, At: t0, Phase: "measure", Done: 1, Total: 2})
	time.Sleep(3 * progress.Beat) // the heartbeat brings the progress over
	j.Take(progress.Event{Event: progress.KindEnd, At: t0, End: &progress.End{Outcome: "done"}})
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	// Progress may also be seen before the stage's line, which is written later.
	want := []progress.Kind{progress.KindStart, progress.KindStage, progress.KindProgress, progress.KindEnd}
	var lasting []progress.Kind
	for _, k := range seen {
		if k != progress.KindProgress {
			lasting = append(lasting, k)
		}
	}
	if diff := cmp.Diff([]progress.Kind{want[0], want[1], want[3]}, lasting); diff != "" || len(lasting) == len(seen) {
		t.Errorf("events %v (-want +got, progress aside):\n%s", seen, diff)
	}
}

// A run that is killed leaves a line half written and no end.
func TestFollowOfAKilledRun(t *testing.T) {
	files := progress.FilesOf(filepath.Join(t.TempDir(), "h.db"), "s", "k")
	j := newJournal(t, files)
	j.Take(progress.Event{Event: progress.KindStart, At: t0, Study: "s"})
	f, err := os.OpenFile(files.Events, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString("{\"event\":\"warn\n\x00\x00\n{\"event\":\"warning\",\"text\":\"whole\"}\n{\"event\":\"tri"); err != nil {
		t.Fatal(err)
	}
	var said []string
	var looks atomic.Int64
	err = progress.Follow(t.Context(), files, func() bool { return looks.Add(1) < 3 }, func(e progress.Event) { said = append(said, e.Text) })
	if !errors.Is(err, progress.ErrGone) {
		t.Fatalf("error %v, want ErrGone", err)
	}
	if got := strings.Join(said, ""); got != "whole" {
		t.Errorf("what was whole is %q", got)
	}
}

// Whoever stops following does not reach the run; a run that begins anew does not
// confuse who followed the one before.
func TestFollowEndsWithItsContext(t *testing.T) {
	files := progress.FilesOf(filepath.Join(t.TempDir(), "h.db"), "s", "k")
	j := newJournal(t, files)
	j.Take(progress.Event{Event: progress.KindStart, At: t0, Study: "s"})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := progress.Follow(ctx, files, func() bool { return true }, func(progress.Event) {}); !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v", err)
	}
	s, err := progress.ReadState(files)
	if err != nil || s.Study != "s" {
		t.Fatalf("state %+v, %v", s, err)
	}
	newJournal(t, files)
	if _, err := progress.ReadState(files); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the state of the run before is still there: %v", err)
	}
}

func TestJournalGoesOnWithoutItsFolder(t *testing.T) {
	dir := t.TempDir()
	files := progress.FilesOf(filepath.Join(dir, "h.db"), "s", "k")
	warned := make(chan error, 100)
	j, err := progress.NewJournal(files, time.Now, func(err error) { warned <- err })
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Dir(files.State)); err != nil {
		t.Fatal(err)
	}
	j.Take(progress.Event{Event: progress.KindStart, At: t0, Study: "s"})
	j.Take(progress.Event{Event: progress.KindEnd, At: t0})
	if len(warned) != 1 {
		t.Errorf("%d warnings, want one", len(warned))
	}
	if s := j.State(); s.Study != "s" {
		t.Errorf("the state is lost: %+v", s)
	}
	if err := j.Close(); err != nil {
		t.Error(err)
	}
}

func TestNewerState(t *testing.T) {
	files := progress.FilesOf(filepath.Join(t.TempDir(), "h.db"), "s", "k")
	if err := os.MkdirAll(filepath.Dir(files.State), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(files.State, []byte(`{"format":99,"study":"s"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := progress.ReadState(files); err == nil || !strings.Contains(err.Error(), "newer") {
		t.Errorf("format 99: %v", err)
	}
}
