package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sweepbook/sweepbook/core/study"
	"github.com/sweepbook/sweepbook/plugins/serving"
	"github.com/sweepbook/sweepbook/plugins/supervise"
)

// launchMarker stands in the environment of every server that we start, so that
// what is left of a dead run can be recognised as ours.
const launchMarker = "SWEEPBOOK_LAUNCH="

// handleFile lies in the folder of a launch for as long as its server may live:
// what recovery needs when both the run and its shim died.
const handleFile = "server.json"

// serverStarter starts servers under the shim, with a study's secrets in their
// environment and nowhere else.
func serverStarter(secrets map[string]string) func(context.Context, study.ProcessSpec) (study.Process, error) {
	return func(ctx context.Context, spec study.ProcessSpec) (study.Process, error) {
		env := maps.Clone(spec.Process.Env)
		if env == nil {
			env = map[string]string{}
		}
		maps.Copy(env, secrets)
		return startServer(ctx, spec, env, slices.Sorted(maps.Keys(secrets)))
	}
}

// logFilter keeps secrets out of a server's log: the values of some variables, and
// what has the shape of a secret.
func logFilter(secrets map[string]string) supervise.Filter {
	var out bytes.Buffer
	w := serving.NewRedactor(secrets).Writer(&out)
	return func(data []byte, pause supervise.Pause) []byte {
		out.Reset()
		// A buffer takes everything.
		_, _ = w.Write(data)
		switch pause {
		case supervise.Quiet:
			_ = w.Quiet()
		case supervise.Ended:
			_ = w.Flush()
		}
		return out.Bytes()
	}
}

// startServer starts a server under the shim. Its handle is on disk before
// anything runs.
func startServer(ctx context.Context, spec study.ProcessSpec, env map[string]string, secrets []string) (study.Process, error) {
	s := supervise.Spec{
		ShimArgs: []string{"shim"}, Argv: spec.Process.Argv, Env: serverEnv(env), Dir: spec.Dir,
		LogPath: spec.LogPath, Secrets: secrets, Marker: launchMarker + spec.Launch.String(),
	}
	path := filepath.Join(spec.Dir, handleFile)
	intent, err := supervise.Intend(s)
	if err != nil {
		return nil, err
	}
	if err := saveHandle(path, intent); err != nil {
		return nil, err
	}
	p, err := supervise.Start(ctx, s)
	if err != nil {
		return nil, err
	}
	server := &supervised{Process: p, handle: path}
	if err := saveHandle(path, p.Handle()); err != nil {
		p.Kill()
		return nil, err
	}
	return server, nil
}

// supervised is a server whose handle is forgotten once nothing of it is left.
type supervised struct {
	*supervise.Process
	handle string
}

func (s *supervised) Stop(ctx context.Context, grace time.Duration) error {
	if err := s.Process.Stop(ctx, grace); err != nil {
		return err
	}
	// Who clears up beside us may have seen the end first.
	if err := os.Remove(s.handle); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("forget server: %w", err)
	}
	return nil
}

func saveHandle(path string, h supervise.Handle) error {
	data, err := json.Marshal(h)
	if err == nil {
		err = writeDurably(path, data)
	}
	if err != nil {
		return fmt.Errorf("server handle: %w", err)
	}
	return nil
}

// reap ends what dead runs of a history left behind and forgets their handles. A
// server whose run lives is left alone.
func reap(ctx context.Context, launches string) ([]supervise.Reaped, error) {
	entries, err := os.ReadDir(launches)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("launches: %w", err)
	}
	var handles []supervise.Handle
	file := map[string]string{}
	for _, entry := range entries {
		if !entry.IsDir() {
			continue // the run's log
		}
		path := filepath.Join(launches, entry.Name(), handleFile)
		data, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue // ended in order, or just now by the run that it belongs to
		}
		if err != nil {
			return nil, fmt.Errorf("server handle: %w", err)
		}
		var h supervise.Handle
		if err := json.Unmarshal(data, &h); err != nil {
			return nil, fmt.Errorf("server handle %s: %w; move it away to go on", path, err)
		}
		handles = append(handles, h)
		file[h.Marker] = path
	}
	if len(handles) == 0 {
		return nil, nil
	}
	reaped, err := supervise.Reap(ctx, handles, launchMarker)
	if err != nil {
		return reaped, err
	}
	for _, r := range reaped {
		// What was launched before the machine restarted is gone with it.
		gone := r.Skipped == "" && len(r.Left) == 0 || strings.Contains(r.Skipped, "before the machine restarted")
		if !gone {
			continue
		}
		if err := os.Remove(file[r.Handle.Marker]); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return reaped, fmt.Errorf("forget server: %w", err)
		}
	}
	return reaped, nil
}
