package gpu

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sweepbook/sweepbook/core"
)

// Owner is who holds a GPU or a block of ports.
type Owner struct {
	PID   int       `json:"pid"`
	Study string    `json:"study"`
	Since time.Time `json:"since"`
}

// Locks is a folder of lock files, one for each GPU and each block of ports. The
// kernel gives a lock back when its process dies, however it dies.
type Locks struct{ Dir string }

// DefaultLockDir is in the machine's temporary folder: a lock means this machine
// and ends with its boot.
//
// Note: not $XDG_RUNTIME_DIR. That is removed when its user's last session ends,
// while a run that was left behind under nohup goes on, and a second run would then
// find no lock.
func DefaultLockDir() string {
	return filepath.Join(os.TempDir(), fmt.Sprintf("sweepbook-%d", os.Getuid()))
}

// HeldError says who holds what was asked for. It is core.ErrHeld.
type HeldError struct {
	What string
	By   Owner // zero where the holder has not said yet
}

func (e *HeldError) Error() string {
	if e.By.PID == 0 {
		return e.What + " is held by another run"
	}
	return fmt.Sprintf("%s is held by study %q, process %d, since %s", e.What, e.By.Study, e.By.PID, e.By.Since.Format(time.RFC3339))
}

// Is makes a HeldError core.ErrHeld.
func (e *HeldError) Is(target error) bool { return target == core.ErrHeld }

// Hold takes the lock of a name, such as a UUID, until release is called or the
// process ends. The error is a *HeldError where another run has it.
func (l Locks) Hold(name, what string, me Owner) (release func(), err error) {
	if err := l.prepare(); err != nil {
		return nil, err
	}
	text, err := json.Marshal(me)
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", what, err)
	}
	release, held, err := lockFile(l.path(name), text)
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", what, err)
	}
	if release == nil {
		e := &HeldError{What: what}
		_ = json.Unmarshal(held, &e.By) // what cannot be read is left out
		return nil, e
	}
	return release, nil
}

// Holder tells who holds a name now, without taking it; false for nobody.
func (l Locks) Holder(name string) (Owner, bool, error) {
	var by Owner
	text, held, err := peekFile(l.path(name))
	if err != nil || !held {
		return by, false, err
	}
	_ = json.Unmarshal(text, &by) // what cannot be read is left out
	return by, true, nil
}

// Others lists the GPUs that runs other than a process's own hold now, each with who
// does. What cannot be read is left out.
func (l Locks) Others(pid int) []string {
	files, err := os.ReadDir(l.Dir)
	if err != nil {
		return nil
	}
	var out []string
	for _, f := range files {
		name, lock := strings.CutSuffix(f.Name(), ".lock")
		if !lock || !strings.HasPrefix(name, "GPU-") {
			continue
		}
		if by, held, err := l.Holder(name); err == nil && held && by.PID != 0 && by.PID != pid {
			out = append(out, fmt.Sprintf("study %q, process %d on %s", by.Study, by.PID, name))
		}
	}
	return out
}

func (l Locks) path(name string) string { return filepath.Join(l.Dir, name+".lock") }

// prepare makes the folder and checks that it is ours alone: in a folder for all,
// another user could have made it first and lead our writing astray.
func (l Locks) prepare() error {
	if err := os.MkdirAll(l.Dir, 0o700); err != nil {
		return fmt.Errorf("folder of GPU locks: %w", err)
	}
	info, err := os.Lstat(l.Dir)
	if err != nil {
		return fmt.Errorf("folder of GPU locks: %w", err)
	}
	if !info.IsDir() || info.Mode()&fs.ModeSymlink != 0 || !ownedByUs(info) || !private(info) {
		return fmt.Errorf("folder of GPU locks %s: %w: it must be a folder of this user with mode 0700; set SWEEPBOOK_LOCK_DIR to another", l.Dir, core.ErrInvalid)
	}
	return nil
}

// sorted is the order in which several GPUs are locked, the same for every run.
func sorted(devices []Device) []Device {
	out := slices.Clone(devices)
	slices.SortFunc(out, func(a, b Device) int { return strings.Compare(a.UUID, b.UUID) })
	return out
}
