package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/urfave/cli/v3"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/core/audit"
	"github.com/sweepbook/sweepbook/store"
)

// databasePath finds the history: --db, then $SWEEPBOOK_DB, then the nearest
// .sweepbook/history.db upward, then the one of the user. why names the rule.
func (a *app) databasePath(cmd *cli.Command) (path, why string, err error) {
	if p := cmd.String("db"); p != "" {
		return p, "--db", nil
	}
	if p := a.getenv("SWEEPBOOK_DB"); p != "" {
		return p, "$SWEEPBOOK_DB", nil
	}
	dir, err := os.Getwd()
	if err != nil {
		return "", "", fmt.Errorf("find history: %w", err)
	}
	for {
		p := filepath.Join(dir, ".sweepbook", "history.db")
		if _, err := os.Stat(p); err == nil {
			return p, "nearest .sweepbook folder", nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			break
		}
		dir = up
	}
	data := a.getenv("XDG_DATA_HOME")
	if data == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", "", hinted{fmt.Errorf("find history: %w", err), "name one with --db FILE"}
		}
		data = filepath.Join(home, ".local", "share")
	}
	return filepath.Join(data, "sweepbook", "history.db"), "the user's data folder", nil
}

// openRead opens an existing history for questions.
func (a *app) openRead(ctx context.Context, cmd *cli.Command) (*store.DB, error) {
	path, why, err := a.databasePath(cmd)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, hinted{fmt.Errorf("no history at %s (by %s)", path, why), "import results or run a study first, or name a history with --db FILE"}
	}
	return store.Open(ctx, path, store.Options{ReadOnly: true, MustExist: true, Now: a.now, SweepbookVersion: version()})
}

// openWrite opens the history for recording and makes it when there is none.
func (a *app) openWrite(ctx context.Context, cmd *cli.Command) (*store.DB, error) {
	path, _, err := a.databasePath(cmd)
	if err != nil {
		return nil, err
	}
	return a.openRecording(ctx, path, false)
}

// openRecording opens a history for writing: what is written is audited in the
// same transaction.
func (a *app) openRecording(ctx context.Context, path string, mustExist bool) (*store.DB, error) {
	ref, err := reference(path)
	if err != nil {
		return nil, err
	}
	return store.Open(ctx, path, store.Options{
		MustExist: mustExist, Now: a.now, SweepbookVersion: version(),
		Audit:        func(study []*core.Trial) map[core.ID][]core.Finding { return audit.Trials(study, ref) },
		AuditVersion: rulesVersion(),
		Derive:       func(t *core.Trial) { addLimits(t, ref) },
	})
}

// openCopy opens a copy of the history, or an empty one where there is none, in a
// folder of its own: a rehearsal is the real thing on other ground.
func (a *app) openCopy(ctx context.Context, cmd *cli.Command) (db *store.DB, remove func(), err error) {
	path, _, err := a.databasePath(cmd)
	if err != nil {
		return nil, nil, err
	}
	dir, err := os.MkdirTemp("", "sweepbook-rehearsal-")
	if err != nil {
		return nil, nil, fmt.Errorf("rehearsal: %w", err)
	}
	remove = func() { _ = os.RemoveAll(dir) } // a folder of the system's for such things
	copied := filepath.Join(dir, "history.db")
	if _, err := os.Stat(path); err == nil {
		original, err := a.openRead(ctx, cmd)
		if err != nil {
			remove()
			return nil, nil, err
		}
		defer original.Close()
		if err := original.Backup(ctx, copied); err != nil {
			remove()
			return nil, nil, fmt.Errorf("rehearsal: %w", err)
		}
	}
	if db, err = a.openRecording(ctx, copied, false); err != nil {
		remove()
		return nil, nil, err
	}
	return db, remove, nil
}

// self is how a person calls this program on the history in use, for hints.
func self(cmd *cli.Command) string {
	if db := cmd.String("db"); db != "" {
		return "sweepbook --db " + shellWord(db)
	}
	return "sweepbook"
}

// openExisting opens the history for changes of what is recorded.
func (a *app) openExisting(ctx context.Context, cmd *cli.Command) (*store.DB, error) {
	path, why, err := a.databasePath(cmd)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, hinted{fmt.Errorf("no history at %s (by %s)", path, why), "name a history with --db FILE"}
	}
	return a.openRecording(ctx, path, true)
}

func (a *app) whereCommand() *cli.Command {
	return a.command(&cli.Command{
		Name:  "where",
		Usage: "print which history is used, and why",
		Action: func(ctx context.Context, cmd *cli.Command) error {
			path, why, err := a.databasePath(cmd)
			if err != nil {
				return err
			}
			state := "not there yet"
			if info, err := os.Stat(path); err == nil {
				state = fmt.Sprintf("%d bytes", info.Size())
			}
			return a.table(cmd, textTable([]string{"history", "found_by", "state"}, [][]string{{path, why, state}}))
		},
	})
}

func needLinux(what string) error {
	if runtime.GOOS == "linux" {
		return nil
	}
	return hinted{fmt.Errorf("%s needs Linux; this is %s", what, runtime.GOOS), "reading a history, queries, charts and reports work here"}
}
