package supervise

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/sweepbook/sweepbook/core"
)

// DefaultGrace is how long a server may take to end after TERM where Spec.Grace
// is zero.
const DefaultGrace = 2 * time.Second

// ErrUnsupported is what every call answers on a system other than Linux.
var ErrUnsupported = errors.New("supervision of servers needs Linux: run, bench and shim work there only")

// CgroupMode says whether the server may get a cgroup of its own.
type CgroupMode string

const (
	// CgroupAuto makes a cgroup where the system lets us, and does without where
	// it does not.
	CgroupAuto CgroupMode = ""
	// CgroupOff never makes one.
	CgroupOff CgroupMode = "off"
)

// Spec is one server to be started.
type Spec struct {
	Exe      string   // of the shim; "" is /proc/self/exe, the binary that runs now even if its file was replaced
	ShimArgs []string // what makes Exe call ShimMain, ["shim"]

	Argv []string // of the server; a name without slash is looked up in the PATH of Env
	Env  []string // the server's whole environment beside Marker; nothing of the host is added
	Dir  string   // its working directory; "" is the caller's

	// LogPath is where stdout and stderr go. A file that exists is replaced; what is
	// no regular file, as a terminal, is written through without bounds; "" discards.
	LogPath string
	Log     LogLimits // bounds of that file
	// Secrets name entries of Env whose values the shim's filter keeps out of the log.
	Secrets []string

	// Marker is one environment entry, "SWEEPBOOK_LAUNCH=<launch id>", that the
	// server and all it forks carry. It must be unique to the launch: recovery
	// takes a process that carries it for ours.
	Marker string
	// Grace is how long TERM may take before KILL when nobody says otherwise: the
	// run has died, or the server's first process has ended and left others.
	Grace  time.Duration
	Cgroup CgroupMode
}

// LogLimits bound a log file: its first Head bytes are kept, and of the rest the
// end. The file never grows beyond Head + Tail and one line that counts what was
// left out; no less than three eighths of Tail are always there.
type LogLimits struct {
	Head int64 // bytes; 0 is 16 MiB
	Tail int64 // bytes; 0 is 64 MiB, less than 4 KiB is 4 KiB
}

const (
	defaultHead = 16 << 20
	defaultTail = 64 << 20
)

func (l LogLimits) withDefaults() LogLimits {
	if l.Head == 0 {
		l.Head = defaultHead
	}
	if l.Tail == 0 {
		l.Tail = defaultTail
	}
	return l
}

// resolved checks a spec and returns it with its defaults and absolute paths, so
// that the shim, which works in another directory, reads the same thing.
func (s Spec) resolved() (Spec, error) {
	key, id, ok := strings.Cut(s.Marker, "=")
	switch {
	case len(s.Argv) == 0 || s.Argv[0] == "":
		return s, fmt.Errorf("start server: %w: empty command", core.ErrInvalid)
	case !ok || key == "" || id == "":
		return s, fmt.Errorf("start server: %w: marker %q: want NAME=<launch id>", core.ErrInvalid, s.Marker)
	case s.Cgroup != CgroupAuto && s.Cgroup != CgroupOff:
		return s, fmt.Errorf("start server: %w: cgroup mode %q: want auto (empty) or %q", core.ErrInvalid, s.Cgroup, CgroupOff)
	case s.Grace < 0 || s.Log.Head < 0 || s.Log.Tail < 0:
		return s, fmt.Errorf("start server: %w: negative grace time or log limit", core.ErrInvalid)
	}
	for _, entry := range s.Env {
		if name, _, _ := strings.Cut(entry, "="); name == key {
			return s, fmt.Errorf("start server: %w: %s is set in the environment of the server; it belongs to the marker alone", core.ErrInvalid, key)
		}
	}
	var err error
	if s.Exe == "" {
		s.Exe = "/proc/self/exe"
	} else if strings.Contains(s.Exe, "/") {
		if s.Exe, err = filepath.Abs(s.Exe); err != nil {
			return s, fmt.Errorf("start server: shim: %w", err)
		}
	}
	if s.Grace == 0 {
		s.Grace = DefaultGrace
	}
	s.Log = s.Log.withDefaults()
	if s.Dir, err = filepath.Abs(s.Dir); err != nil {
		return s, fmt.Errorf("start server: folder: %w", err)
	}
	if s.LogPath != "" {
		if s.LogPath, err = filepath.Abs(s.LogPath); err != nil {
			return s, fmt.Errorf("start server: log file: %w", err)
		}
	}
	return s, nil
}
