package supervise

import (
	"time"

	"golang.org/x/sys/unix"
)

// The pipes of the shim. The control pipe carries one Spec and then commands, in
// gob, because arguments and environment need not be UTF-8 and must arrive as
// they are; that it ends means that the run is dead. The environment travels in
// it rather than in the shim's own, so that no secret stands in a second process.
// The status pipe carries events as JSON lines, among which a panic of the shim
// can be told apart.
const (
	controlFD = 3
	statusFD  = 4
)

// command is one message from the run to the shim.
type command struct {
	Spec  *Spec
	Op    op
	Grace time.Duration
}

type op string

const (
	opStop op = "stop" // TERM, Grace, KILL
	opKill op = "kill"
	opLost op = "lost" // never sent: the lifeline ended
)

// event is one line from the shim to the run.
type event struct {
	Event   string   `json:"event"` // started, exited, clean, error
	Message string   `json:"message,omitempty"`
	Started *started `json:"started,omitempty"`
	Code    int      `json:"code"`
	Outcome *Outcome `json:"outcome,omitempty"`
}

// started is what the shim adds to the Handle of the run.
type started struct {
	PID      int    `json:"pid"`
	PIDStart uint64 `json:"pid_start"`
	Cgroup   string `json:"cgroup"`
	LogPipe  uint64 `json:"log_pipe"`
}

// growPipe gives a pipe a mebibyte, as slack for bursts; the system may refuse.
func growPipe(fd int) {
	_, _ = unix.FcntlInt(uintptr(fd), unix.F_SETPIPE_SZ, 1<<20)
}
