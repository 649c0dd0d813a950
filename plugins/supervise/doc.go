// Package supervise starts server processes so that nothing of them outlives
// the run that wanted them. A server that keeps a GPU after its run has died
// spoils every trial after it, so each way of dying has its own answer:
//
//	the run ends a server      Process.Stop: TERM to its first process, a grace time, then KILL for the whole tree
//	the run dies (kill -9)     the shim reads end of file on its lifeline and ends the tree
//	the shim dies              the run reads end of file on the status pipe and ends the tree
//	both die                   Reap, at the next start or by "sweepbook gpu reap"
//	the machine restarts       nothing is left; a Handle of another boot is never acted on
//
// The shim is this same binary, executed again as "sweepbook shim" in a session
// of its own. It is a child subreaper, so that whatever the server forks,
// however it detaches itself, is reparented to the shim and never to init: when
// the shim has no child left, nothing is left. Where it may, it also starts the
// server in a cgroup v2 of its own, whose cgroup.kill is the one way to end a
// tree that works without the shim and against any race.
//
//	core ── control pipe (Spec, stop, kill; its end is the lifeline) ──> shim ──> server ──> …
//	core <── status pipe (started, exited, clean) ────────────────────── shim <── stdout, stderr
//
// The server writes into a pipe that the shim empties into a bounded file (see
// LogLimits), so that neither a slow disk nor a full one ever blocks a server,
// and no pipe to the run can.
//
// Three things are outside its reach: a process that another daemon starts on
// the server's behalf (docker, systemd-run), which is nobody's descendant here;
// a process stuck in the kernel, which no signal ends (it is reported); and a
// run that is stopped rather than dead.
//
// Supervision needs Linux. Elsewhere the package builds and every call answers
// with an error that says so.
package supervise
