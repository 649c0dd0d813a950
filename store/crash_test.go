package store_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/store"
)

// TestKilledWriter kills a writing process again and again on one history: what
// it had acknowledged must be there, whole and once.
func TestKilledWriter(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "history.db")
	acknowledged := map[string]bool{}
	for round := range 5 {
		cmd, out := startChild(t, "write", path, nil)
		most := 2 + 4*round
		for n := 0; n < most && out.Scan(); n++ {
			acknowledged[out.Text()] = true
		}
		ok(t, cmd.Process.Kill())
		for out.Scan() { // acknowledged before it died
			acknowledged[out.Text()] = true
		}
		cmd.Wait()

		db := openAt(t, path, options())
		sound(t, db)
		seen := map[string]bool{}
		for _, trial := range all(t, db) {
			if seen[trial.ID.String()] {
				t.Errorf("round %d: trial %s twice", round, trial.ID)
			}
			seen[trial.ID.String()] = true
			if !acknowledged[trial.ID.String()] {
				continue
			}
			if s, err := db.Samples(ctx, trial.ID); err != nil || len(s) != 50 || trial.Status != core.StatusOK {
				t.Errorf("round %d: trial %s is %s with %d samples: %v", round, trial.ID, trial.Status, len(s), err)
			}
		}
		for id := range acknowledged {
			if !seen[id] {
				t.Errorf("round %d: acknowledged trial %s is gone", round, id)
			}
		}
		ok(t, db.Close())
	}
	if len(acknowledged) < 40 {
		t.Errorf("only %d trials were written", len(acknowledged))
	}
}

// TestPowerCut keeps the database and a part of its -wal file, as a power cut
// would: what is left must be whole trials.
func TestPowerCut(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	path := filepath.Join(dir, "history.db")
	db := openAt(t, path, options())
	for n := range 5 {
		ok(t, db.FinishTrial(ctx, plain(n), samples(30)))
	}
	main, err := os.ReadFile(path)
	ok(t, err)
	wal, err := os.ReadFile(path + "-wal")
	ok(t, err)
	seen := map[int]bool{}
	for part := 0; part <= 8; part++ {
		cut := filepath.Join(dir, strconv.Itoa(part)+".db")
		ok(t, os.WriteFile(cut, main, 0o600))
		ok(t, os.WriteFile(cut+"-wal", wal[:len(wal)*part/8], 0o600))
		left, err := store.Open(ctx, cut, options())
		if part == 0 && err != nil {
			continue // not even the schema was there
		}
		ok(t, err)
		sound(t, left)
		trials := all(t, left)
		for i, trial := range trials {
			if s, err := left.Samples(ctx, trial.ID); err != nil || len(s) != 30 || trial.ID != plain(i).ID {
				t.Errorf("part %d: trial %d has %d samples: %v", part, i, len(s), err)
			}
		}
		seen[len(trials)] = true
		ok(t, left.Close())
	}
	if !seen[5] || len(seen) < 3 {
		t.Errorf("numbers of trials left: %v", seen)
	}
}

func TestReadersAndWriters(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "history.db")
	db := openAt(t, path, options())
	opt := options()
	opt.ReadOnly = true
	reader := openAt(t, path, opt)
	const writers, each = 4, 8
	var wg sync.WaitGroup
	done := make(chan struct{})
	for w := range writers {
		wg.Go(func() {
			for n := range each {
				if err := db.FinishTrial(ctx, plain(w*each+n), samples(10)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	var reading sync.WaitGroup
	for _, from := range []*store.DB{db, reader} {
		reading.Go(func() {
			for last := 0; ; {
				h, err := from.History(ctx)
				if err != nil {
					t.Error(err)
					return
				}
				n := 0
				for row, err := range from.Rows(ctx, core.Select{Columns: []string{"number", "engine", "completed", "args.tp"}}) {
					if err != nil || row[1] != core.String("vllm") || row[3] != core.Number(2) {
						t.Errorf("row %v: %v", row, err)
						return
					}
					n++
				}
				if n < last || n < h.Trials {
					t.Errorf("%d rows after %d, history of %d", n, last, h.Trials)
				}
				last = n
				select {
				case <-done:
					return
				default:
				}
			}
		})
	}
	wg.Wait()
	close(done)
	reading.Wait()
	if h, err := reader.History(ctx); err != nil || h.Trials != writers*each {
		t.Errorf("%+v %v", h, err)
	}
	sound(t, db)
}

// Several processes make one history at once and write to it.
func TestManyProcesses(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "sub", "history.db")
	var wg sync.WaitGroup
	for range 8 {
		cmd, out := startChild(t, "many", path, nil)
		wg.Go(func() {
			if out.Scan(); out.Text() != "done" {
				t.Errorf("a process says %q", out.Text())
			}
			cmd.Wait()
		})
	}
	wg.Wait()
	db := openAt(t, path, options())
	if n := len(all(t, db)); n != 160 {
		t.Errorf("%d trials", n)
	}
	sound(t, db)
}

func TestDiskFull(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	db := openNew(t)
	ok(t, db.FinishTrial(ctx, plain(0), samples(100)))
	var pages int
	ok(t, db.Query(ctx, &pages, "PRAGMA page_count"))
	ok(t, db.LimitPages(ctx, pages+4))
	var err error
	acknowledged := 1
	for ; err == nil; acknowledged++ {
		err = db.FinishTrial(ctx, plain(acknowledged), samples(100))
	}
	acknowledged--
	if !errors.Is(err, store.ErrDiskFull) || !strings.Contains(err.Error(), "free some space") {
		t.Errorf("error %v", err)
	}
	if n := len(all(t, db)); n != acknowledged {
		t.Errorf("%d trials, %d acknowledged", n, acknowledged)
	}
	ok(t, db.LimitPages(ctx, 1<<20))
	ok(t, db.FinishTrial(ctx, plain(acknowledged), samples(100)))
	if s, err := db.Samples(ctx, plain(acknowledged).ID); err != nil || len(s) != 100 {
		t.Errorf("after space was freed: %d samples, %v", len(s), err)
	}
	sound(t, db)
}

// A cancelled write leaves nothing behind and does not spoil the next one.
func TestCancelled(t *testing.T) {
	db := openNew(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := db.SaveTrial(ctx, plain(0)); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	ctx, cancel = context.WithTimeout(context.Background(), 3*time.Millisecond)
	defer cancel()
	batch := make([]*core.Trial, 3000)
	for n := range batch {
		batch[n] = plain(n)
	}
	if _, err := db.Import(ctx, batch); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v", err)
	}
	ok(t, db.SaveTrial(context.Background(), plain(0)))
	if n := len(all(t, db)); n != 1 {
		t.Errorf("%d trials", n)
	}
	sound(t, db)
}

func TestHoldStudy(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "history.db")
	db := openAt(t, path, options())
	cmd, out := startChild(t, "hold", path, nil)
	if out.Scan(); out.Text() != "held" {
		t.Fatalf("the other process says %q", out.Text())
	}
	_, err := db.HoldStudy(ctx, "a study")
	var held *store.HeldError
	host, _ := os.Hostname()
	if !errors.Is(err, core.ErrHeld) || !errors.As(err, &held) {
		t.Fatalf("error %v", err)
	}
	if held.PID != cmd.Process.Pid || held.Host != host || held.Study != "a study" || !held.Since.Equal(options().Now()) {
		t.Errorf("holder %+v", held)
	}
	for _, want := range []string{strconv.Itoa(cmd.Process.Pid), host, "2026-11-30T13:00:00Z", "a study"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not say %s", err, want)
		}
	}
	other, err := db.HoldStudy(ctx, "another study")
	ok(t, err)
	ok(t, other())

	ok(t, cmd.Process.Kill()) // a dead process holds nothing
	cmd.Wait()
	release, err := db.HoldStudy(ctx, "a study")
	ok(t, err)
	if _, err := db.HoldStudy(ctx, "a study"); !errors.Is(err, core.ErrHeld) || !strings.Contains(err.Error(), strconv.Itoa(os.Getpid())) {
		t.Errorf("held by this process: %v", err)
	}
	text, err := os.ReadFile(store.LockPath(db.Path(), "a study"))
	ok(t, err)
	for _, want := range []string{`"boot_id"`, `"process_start"`, `"pid"`} {
		if !bytes.Contains(text, []byte(want)) {
			t.Errorf("the lock file lacks %s: %s", want, text)
		}
	}
	_, second := startChild(t, "hold", path, func(*exec.Cmd) {})
	if second.Scan(); !strings.Contains(second.Text(), "held by another run") {
		t.Errorf("the other process says %q", second.Text())
	}
	ok(t, release())
	if _, err := os.Stat(store.LockPath(db.Path(), "a study")); err == nil {
		t.Error("the lock file is left")
	}
}

func TestReapLost(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	db := openNew(t)
	statuses := []core.Status{core.StatusPlanned, core.StatusLaunching, core.StatusRunning, core.StatusOK, core.StatusRunning}
	for n, status := range statuses {
		trial := plain(n)
		trial.Status = status
		if n == 4 {
			trial.Study = "another"
		}
		ok(t, db.SaveTrial(ctx, trial))
	}
	_, err := db.Set(ctx, []core.Assertion{{Trial: plain(2).ID, Verb: "tag", New: core.String("x")}})
	ok(t, err)
	n, err := db.ReapLost(ctx, "qwen3-32b")
	ok(t, err)
	var got []core.Status
	for _, trial := range all(t, db) {
		got = append(got, trial.Status)
	}
	want := []core.Status{core.StatusPlanned, core.StatusLost, core.StatusLost, core.StatusOK, core.StatusRunning}
	if d := diff(want, got); d != "" || n != 2 {
		t.Errorf("reaped %d:\n%s", n, d)
	}
	for _, n := range []int{1, 2} { // the runner that was taken for dead
		if err := db.FinishTrial(ctx, plain(n), nil); !errors.Is(err, core.ErrConflict) {
			t.Errorf("finish lost trial %d: %v", n, err)
		}
	}
	if n, err := db.ReapLost(ctx, "qwen3-32b"); n != 0 || err != nil {
		t.Errorf("again: %d %v", n, err)
	}
}
