package store

import (
	"errors"
	"fmt"
	"time"

	"modernc.org/sqlite"

	"github.com/sweepbook/sweepbook/core"
)

// ErrDiskFull: the disk, or the limit set on the file, leaves no room. What was
// acknowledged is kept; reading goes on, and writing works again once there is
// room.
var ErrDiskFull = errors.New("disk full")

// ErrBusy: another process has been writing for longer than a writer waits. What
// was to be written is not; repeat it later.
var ErrBusy = errors.New("history is busy")

// ErrUnknown: the disk failed while a write was being made durable. What was to be
// written is in the file or it is not, and which of the two may change once more when
// the file is opened anew. Open it again and read before anything is repeated.
var ErrUnknown = errors.New("outcome unknown")

// SchemaError refuses a history that a newer program wrote. The file is as it
// was. It unwraps to core.ErrInvalid.
type SchemaError struct {
	Path      string
	Found     int // version of the file
	Supported int // newest version known here
}

func (e *SchemaError) Error() string {
	return fmt.Sprintf("open history %s: it has schema version %d and this sweepbook knows up to %d; use a newer sweepbook",
		e.Path, e.Found, e.Supported)
}

func (e *SchemaError) Unwrap() error { return core.ErrInvalid }

// HeldError says who holds a study. It unwraps to core.ErrHeld.
type HeldError struct {
	Study string
	PID   int
	Host  string
	Since time.Time // zero when the holder has not said yet
}

func (e *HeldError) Error() string {
	if e.PID == 0 {
		return fmt.Sprintf("study %s: %v", e.Study, core.ErrHeld)
	}
	return fmt.Sprintf("study %s: %v: process %d on %s since %s", e.Study, core.ErrHeld, e.PID, e.Host,
		e.Since.UTC().Format(time.RFC3339))
}

func (e *HeldError) Unwrap() error { return core.ErrHeld }

// The primary result codes of SQLite that people can act on.
const (
	codeBusy     = 5
	codeReadOnly = 8
	codeIOErr    = 10
	codeCorrupt  = 11
	codeFull     = 13
	codeCantOpen = 14
	codeNotADB   = 26
)

// codeShmSize is an extended code: the file that all who have a history open share
// could not be made large enough.
const codeShmSize = 19<<8 | codeIOErr

// sqliteCode gives the primary result code of an error of SQLite, 0 of others.
func sqliteCode(err error) int {
	var e *sqlite.Error
	if errors.As(err, &e) {
		return e.Code() & 0xff
	}
	return 0
}

// explain names the history in what SQLite reports of it, and says what to do.
func (db *DB) explain(err error) error {
	if sqliteCode(err) == 0 {
		return err
	}
	return fmt.Errorf("history %s: %w", db.path, translate(err))
}

// translate says in our words what SQLite reports, and what to do.
func translate(err error) error {
	var e *sqlite.Error
	if errors.As(err, &e) && e.Code() == codeShmSize {
		return fmt.Errorf("%w, or the disk fails: its -shm file cannot be made; free some space and repeat: %w", ErrDiskFull, err)
	}
	switch sqliteCode(err) {
	case codeFull:
		return fmt.Errorf("%w: free some space and repeat: %w", ErrDiskFull, err)
	case codeBusy:
		return fmt.Errorf("%w: another process has been writing to it for more than 10 s: %w", ErrBusy, err)
	case codeIOErr:
		return fmt.Errorf("the disk fails; look into the system's log, then run `sweepbook db check`: %w", err)
	case codeCorrupt:
		return fmt.Errorf("the file is damaged, or the disk cannot read it: copy it away, then try `sweepbook db check` or restore a backup: %w", err)
	case codeNotADB:
		return fmt.Errorf("%w: not a Sweepbook history: %w", core.ErrInvalid, err)
	}
	return err
}
