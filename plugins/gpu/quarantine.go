package gpu

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sweepbook/sweepbook/core"
)

// Record says that a GPU must not be measured on, and why.
type Record struct {
	UUID   string    `json:"uuid"`
	Index  int       `json:"index"`
	Name   string    `json:"name"`
	Host   string    `json:"host"`
	BootID string    `json:"boot_id,omitempty"`
	Since  time.Time `json:"since"`
	Why    string    `json:"why"`
	PIDs   []int     `json:"pids,omitempty"` // that held it then, as far as could be seen
	Study  string    `json:"study,omitempty"`
	Launch string    `json:"launch,omitempty"`
	RunPID int       `json:"run_pid,omitempty"` // of the run that says so
}

// Quarantine is the folder of what is known of bad GPUs: a file a GPU. Every run
// of this user heeds it. GPUs have names of their own in the whole world, so a home
// folder that several machines share does no harm.
type Quarantine struct{ Dir string }

// DefaultQuarantineDir is $XDG_STATE_HOME/sweepbook/quarantine.
func DefaultQuarantineDir(getenv func(string) string) (string, error) {
	state := getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(state) {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("folder of quarantined GPUs: %w; set XDG_STATE_HOME", err)
		}
		state = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(state, "sweepbook", "quarantine"), nil
}

// Put records a GPU durably. What was recorded first stays: it says since when.
func (q Quarantine) Put(r Record) error {
	if !plainUUID(r.UUID) {
		return fmt.Errorf("quarantine: %w: UUID %q", core.ErrInvalid, r.UUID)
	}
	if err := os.MkdirAll(q.Dir, 0o700); err != nil {
		return fmt.Errorf("quarantine %s: %w", r.UUID, err)
	}
	if r.BootID == "" {
		r.BootID = bootID()
	}
	if known, ok, err := q.Get(r.UUID); err == nil && ok && known.BootID == r.BootID {
		return nil
	}
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("quarantine %s: %w", r.UUID, err)
	}
	if err := replace(q.path(r.UUID), append(data, '\n')); err != nil {
		return fmt.Errorf("quarantine %s: %w", r.UUID, err)
	}
	return nil
}

// replace writes a file as a whole or not at all.
func replace(path string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// Get reads the record of one GPU. A restart of the machine has freed its memory,
// so a record of another boot is taken away and none is found.
func (q Quarantine) Get(uuid string) (Record, bool, error) {
	if !plainUUID(uuid) {
		return Record{}, false, fmt.Errorf("quarantine: %w: UUID %q", core.ErrInvalid, uuid)
	}
	data, err := os.ReadFile(q.path(uuid))
	if errors.Is(err, fs.ErrNotExist) {
		return Record{}, false, nil
	}
	var r Record
	if err == nil {
		err = json.Unmarshal(data, &r)
	}
	if err != nil {
		// What cannot be read was put there for a reason.
		return Record{UUID: uuid, Why: "the record cannot be read: " + err.Error()}, true, nil //nolint:nilerr // it is said in the record
	}
	if now := bootID(); r.BootID != "" && now != "" && r.BootID != now && sameHost(r.Host) {
		if err := os.Remove(q.path(uuid)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return Record{}, false, fmt.Errorf("quarantine %s: %w", uuid, err)
		}
		return Record{}, false, nil
	}
	return r, true, nil
}

func sameHost(name string) bool {
	host, err := os.Hostname()
	return err == nil && host == name
}

// All lists every record, in the order of UUIDs.
func (q Quarantine) All() ([]Record, error) {
	entries, err := os.ReadDir(q.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("quarantine: %w", err)
	}
	var all []Record
	for _, entry := range entries {
		uuid, ok := strings.CutSuffix(entry.Name(), ".json")
		if !ok || !plainUUID(uuid) {
			continue
		}
		r, found, err := q.Get(uuid)
		if err != nil {
			return nil, err
		}
		if found {
			all = append(all, r)
		}
	}
	slices.SortFunc(all, func(a, b Record) int { return strings.Compare(a.UUID, b.UUID) })
	return all, nil
}

// lifted is a line of the log of lifted quarantines.
type lifted struct {
	Record
	LiftedAt time.Time `json:"lifted_at"`
	Reason   string    `json:"reason"`
}

// Lift ends the quarantine of a GPU. The reason is kept with what was recorded, in
// lifted.ndjson beside it. core.ErrNotFound: it was not quarantined.
func (q Quarantine) Lift(uuid, reason string, now time.Time) (Record, error) {
	r, ok, err := q.Get(uuid)
	if err != nil {
		return r, err
	}
	if !ok {
		return r, fmt.Errorf("GPU %s is not in quarantine: %w", uuid, core.ErrNotFound)
	}
	line, err := json.Marshal(lifted{r, now.UTC(), reason})
	if err != nil {
		return r, fmt.Errorf("lift quarantine of %s: %w", uuid, err)
	}
	f, err := os.OpenFile(filepath.Join(q.Dir, "lifted.ndjson"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = f.Write(append(line, '\n'))
		err = errors.Join(err, f.Close())
	}
	if err == nil {
		err = os.Remove(q.path(uuid))
	}
	if err != nil {
		return r, fmt.Errorf("lift quarantine of %s: %w", uuid, err)
	}
	return r, nil
}

func (q Quarantine) path(uuid string) string { return filepath.Join(q.Dir, uuid+".json") }

// bootID names this boot of the kernel; "" where the system does not say.
func bootID() string {
	data, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}
