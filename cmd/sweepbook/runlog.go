package main

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"

	"github.com/urfave/cli/v3"
)

// logFile keeps what the engines' plugins log during a run: one file beside the
// launches, begun anew by each run and bounded.
type logFile struct {
	*os.File
	level slog.Level

	mu   sync.Mutex
	left int // bytes that may still be written
}

// maxRunLog bounds the log of one run.
const maxRunLog = 16 << 20

func runLog(cmd *cli.Command, dir string) (*logFile, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(cmd.String("log-level"))); err != nil {
		return nil, usagef("--log-level %q: want debug, info, warn or error", cmd.String("log-level"))
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("run log: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(dir, "run.log"), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("run log: %w", err)
	}
	return &logFile{File: f, level: level, left: maxRunLog}, nil
}

// Write drops what goes beyond the bound.
func (l *logFile) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(p) > l.left {
		return len(p), nil
	}
	l.left -= len(p)
	return l.File.Write(p)
}
