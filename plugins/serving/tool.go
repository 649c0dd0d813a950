package serving

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strings"
	"time"
)

// toolRunner runs a short helper program and returns what it printed. It is a
// value of the adapter, so that tests need no docker and no GPU.
type toolRunner func(ctx context.Context, name string, args ...string) (string, error)

// toolLimit bounds what a helper may print.
const toolLimit = 8 << 20

// runTool ends a program that does not end in time, and does not wait for what it
// may have left behind with its output open: a hung driver must not hang us.
func runTool(ctx context.Context, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.WaitDelay = 2 * time.Second
	var out, diag bounded
	cmd.Stdout, cmd.Stderr = &out, &diag
	err := cmd.Run()
	text := out.String()
	if err != nil {
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		if said := strings.TrimSpace(diag.String()); said != "" {
			lines := strings.Split(said, "\n")
			err = fmt.Errorf("%w: %s", err, lines[len(lines)-1])
			text += "\n" + said
		}
		return text, fmt.Errorf("%s: %w", name, err)
	}
	return text, nil
}

// bounded keeps the beginning of what is written.
type bounded struct{ bytes.Buffer }

func (b *bounded) Write(p []byte) (int, error) {
	if room := toolLimit - b.Len(); room > 0 {
		b.Buffer.Write(p[:min(len(p), room)])
	}
	return len(p), nil
}
