package plugins

import (
	"context"
	"fmt"
	"time"

	"github.com/sweepbook/sweepbook/core"
)

// holdTime is how long a change of a plugin folder waits for another one. Each
// takes milliseconds: what runs a plugin is done before.
const holdTime = 30 * time.Second

// hold keeps other changes out of a plugin folder until release is called. Readers
// need no lock: every file of the folder is replaced whole.
func hold(ctx context.Context, dir string) (release func(), err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, holdTime, fmt.Errorf("plugin folder %s: %w: another process has been changing it for %v", dir, core.ErrHeld, holdTime))
	defer cancel()
	for {
		release, err := tryHold(dir)
		if err != nil {
			return nil, fmt.Errorf("lock plugin folder: %w", err)
		}
		if release != nil {
			return release, nil
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(10 * time.Millisecond):
		}
	}
}
