package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/sweepbook/sweepbook/core"
)

// owner is what the holder of a study writes into the lock file: enough to know
// for certain which process it is, since process ids are used again.
type owner struct {
	Study   string    `json:"study"`
	Host    string    `json:"host"`
	BootID  string    `json:"boot_id,omitempty"`
	PID     int       `json:"pid"`
	Started string    `json:"process_start,omitempty"` // in the system's own clock ticks
	Since   time.Time `json:"since"`
}

// HoldStudy makes the caller the only runner of a study on this history until
// release is called or the process ends, however it ends. Where another holds it
// the error is a *HeldError that says who. The lock is a file beside the
// database, never the database itself.
func (db *DB) HoldStudy(ctx context.Context, name string) (release func() error, err error) {
	if db.writer == nil {
		return nil, fmt.Errorf("hold study %s: %w: history %s is open for reading only", name, core.ErrInvalid, db.path)
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("hold study %s: %w", name, err)
	}
	host, _ := os.Hostname()
	me := owner{Study: name, Host: host, BootID: bootID(), PID: os.Getpid(), Started: processStart(), Since: db.opt.Now().UTC()}
	text, err := json.Marshal(me)
	if err != nil {
		return nil, fmt.Errorf("hold study %s: %w", name, err)
	}
	release, held, err := lockFile(lockPath(db.path, name), append(text, '\n'))
	if err != nil {
		return nil, fmt.Errorf("hold study %s: %w", name, err)
	}
	if release == nil {
		e := &HeldError{Study: name}
		var by owner
		if json.Unmarshal(held, &by) == nil {
			e.PID, e.Host, e.Since = by.PID, by.Host, by.Since
		}
		return nil, e
	}
	return release, nil
}

// lockPath names the lock of a study. The name of a study may hold anything, so
// that its hash stands for it.
func lockPath(db, study string) string { return db + "." + StudyKey(study) + ".lock" }

// StudyKey stands for the name of a study in the names of files.
func StudyKey(study string) string {
	sum := sha256.Sum256([]byte(study))
	return hex.EncodeToString(sum[:6])
}
