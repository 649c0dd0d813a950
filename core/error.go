package core

import "errors"

// The sentinels that cross package borders. Wrap them with the name of the
// trial, file, flag or field that they concern.
var (
	// ErrNotFound: no such trial, study, engine or file.
	ErrNotFound = errors.New("not found")
	// ErrInvalid: the input breaks a rule; the message says which.
	ErrInvalid = errors.New("invalid")
	// ErrConflict: what was asked contradicts what is recorded.
	ErrConflict = errors.New("conflict")
	// ErrHeld: another process holds what was asked for.
	ErrHeld = errors.New("held by another run")
	// ErrUnimplemented: an engine leaves this call to the host.
	ErrUnimplemented = errors.New("not implemented")
	// ErrPluginExited: the plugin process is gone.
	ErrPluginExited = errors.New("plugin exited")
)
