package supervise

// Handle is what recovery needs to know of a launch, as plain data to be stored:
// first as Intend gives it, before anything is started, then as Process.Handle
// gives it. A process is acted on only when its number and its start time agree,
// because numbers are used again.
type Handle struct {
	BootID       string `json:"boot_id"`       // of the kernel; a handle of another boot names nothing that lives
	PIDNamespace string `json:"pid_namespace"` // in which the numbers hold, as in a container
	Marker       string `json:"marker"`        // the environment entry, NAME=<launch id>
	NotBefore    uint64 `json:"not_before"`    // nothing of the launch started earlier; clock ticks since boot

	CorePID   int    `json:"core_pid"` // the run that holds the lifeline
	CoreStart uint64 `json:"core_start"`
	ShimPID   int    `json:"shim_pid,omitempty"`
	ShimStart uint64 `json:"shim_start,omitempty"`
	PID       int    `json:"pid,omitempty"` // the server's first process
	PIDStart  uint64 `json:"pid_start,omitempty"`

	Cgroup string `json:"cgroup,omitempty"` // absolute path of the folder
	// LogPipe is the inode of the pipe that the server writes its output to. A
	// process that renames itself may overwrite its environment and with it the
	// marker (setproctitle does), but it still holds this pipe.
	LogPipe uint64 `json:"log_pipe,omitempty"`
}

// ProcInfo is one process as it was seen.
type ProcInfo struct {
	PID     int    `json:"pid"`
	PPID    int    `json:"ppid"`
	Start   uint64 `json:"start"` // clock ticks since boot
	State   string `json:"state"` // one letter of proc(5): R S D Z T …
	Command string `json:"command,omitempty"`
	Marker  string `json:"marker,omitempty"` // where it was found by its marker

	group, session, threads int
}

// Outcome is how a server ended.
type Outcome struct {
	// ExitCode of the server's first process: its status, 128+n for signal n, -1
	// while it runs. When the shim was lost the status is lost with it and 137
	// stands for the KILL that ended the tree.
	ExitCode int `json:"exit_code"`
	// Killed are the processes that did not end by themselves or by TERM, at most
	// 64 of KilledCount.
	Killed      []ProcInfo `json:"killed,omitempty"`
	KilledCount int        `json:"killed_count"`
	// Left are processes that even KILL did not end in time. The GPU may still be
	// held by them.
	Left []ProcInfo `json:"left,omitempty"`
	// LogLeftOut bytes fell out of the middle of the log by its limits; LogLost
	// bytes never reached the file because the disk was slow or full.
	LogLeftOut int64 `json:"log_left_out"`
	LogLost    int64 `json:"log_lost"`
	// ShimLost says that the shim died before the server and the run had to end
	// the tree; ShimOutput is what it printed, a panic usually.
	ShimLost   bool   `json:"shim_lost"`
	ShimOutput string `json:"shim_output,omitempty"`
}

// Reaped is what Reap did about one handle.
type Reaped struct {
	Handle Handle `json:"handle"`
	// Skipped says why nothing was done: another boot, a run that is alive.
	Skipped     string     `json:"skipped,omitempty"`
	Killed      []ProcInfo `json:"killed,omitempty"` // at most 64 of KilledCount
	KilledCount int        `json:"killed_count"`
	Left        []ProcInfo `json:"left,omitempty"` // survived KILL
}
