package study

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sweepbook/sweepbook/core"
)

// answerLimit is how long an engine may take over a question that needs no work of a
// server. Plugins answer in milliseconds, on a busy machine in seconds: one that takes
// this long hangs, and would keep its launch and its GPUs for ever.
const answerLimit = time.Minute

// ask puts a question to an engine, while other lanes go on.
func (r *Runner) ask(ctx context.Context, engine, question string, put func(context.Context) error) error {
	limited, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	var err error
	r.away(func() { err = put(limited) })
	if err != nil && ctx.Err() == nil && limited.Err() != nil {
		return fmt.Errorf("engine %s: no answer to %s within %s", engine, question, answerLimit)
	}
	return err
}

// diagnose asks the engine what its log says; what was seen from outside stands
// when the log says nothing specific, or the engine nothing in time.
func (r *Runner) diagnose(ctx context.Context, srv *server, phase string, class core.FailureClass, seen string) *core.LaunchError {
	ctx, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	d, err := srv.session.Diagnose(ctx, core.DiagnoseRequest{LogTail: srv.proc.LogTail(256 << 10), ExitCode: srv.proc.ExitCode(), Phase: phase})
	if err != nil || d.Class == "" || d.Class == core.UnknownFailure {
		return &core.LaunchError{Class: class, Line: seen}
	}
	return &core.LaunchError{Class: d.Class, Line: d.Line}
}

// planError: what an engine cannot express is the configuration's fault.
func planError(err error) error {
	if errors.Is(err, core.ErrInvalid) {
		return &core.LaunchError{Class: core.BadArgument, Line: err.Error()}
	}
	return err
}
