package plugins

import (
	"context"
	"errors"

	"google.golang.org/grpc/codes"

	"github.com/sweepbook/sweepbook/core"
)

// codeOf and sentinelOf are the two halves of how core's sentinels cross the wire.
// Codes that gRPC itself makes in the course of a call are left out on purpose,
// except Unimplemented, which means the same from both.
func codeOf(err error) codes.Code {
	switch {
	case errors.Is(err, core.ErrInvalid):
		return codes.InvalidArgument
	case errors.Is(err, core.ErrNotFound):
		return codes.NotFound
	case errors.Is(err, core.ErrUnimplemented):
		return codes.Unimplemented
	case errors.Is(err, core.ErrConflict):
		return codes.FailedPrecondition
	case errors.Is(err, core.ErrHeld):
		return codes.AlreadyExists
	case errors.Is(err, context.DeadlineExceeded):
		return codes.DeadlineExceeded
	case errors.Is(err, context.Canceled):
		return codes.Canceled
	}
	return codes.Unknown
}

func sentinelOf(code codes.Code) error {
	switch code {
	case codes.InvalidArgument:
		return core.ErrInvalid
	case codes.NotFound:
		return core.ErrNotFound
	case codes.Unimplemented:
		return core.ErrUnimplemented
	case codes.FailedPrecondition:
		return core.ErrConflict
	case codes.AlreadyExists:
		return core.ErrHeld
	case codes.DeadlineExceeded:
		return context.DeadlineExceeded
	case codes.Canceled:
		return context.Canceled
	}
	return nil
}

// A remoteError is an error of the engine as it arrived: its own text, and the
// sentinel that it wrapped on the other side.
type remoteError struct {
	text string
	is   error
}

func (e *remoteError) Error() string { return e.text }

func (e *remoteError) Unwrap() error { return e.is }
