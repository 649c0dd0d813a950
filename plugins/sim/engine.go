package sim

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"runtime"
	"time"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/core/load"
	"github.com/sweepbook/sweepbook/plugins/serving"
)

// serverCommand is the hidden command under which the executable runs ServerMain.
const serverCommand = "sim-server"

// adapter is the engine side of the simulator. It holds no process: what it knows
// of a server it reads from the log and over HTTP.
type adapter struct {
	exe   string
	ruler func(context.Context, core.BenchmarkRequest, core.Sink) error
}

// New returns the engine. exe is the executable whose command sim-server is
// [ServerMain]; "" is the running one, on Linux by /proc/self/exe, so that a file
// replaced on disk cannot mix versions.
func New(exe string) core.Engine { return &adapter{exe: exe, ruler: load.Run} }

func (a *adapter) executable() (string, error) {
	switch {
	case a.exe != "":
		return a.exe, nil
	case runtime.GOOS == "linux":
		return "/proc/self/exe", nil
	}
	exe, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("own executable: %w", err)
	}
	return exe, nil
}

// Info implements core.Engine.
func (a *adapter) Info(context.Context) (core.EngineInfo, error) {
	info := core.EngineInfo{Name: "sim", Version: Version, Simulated: true}
	for _, k := range knobs() {
		info.Knobs = append(info.Knobs, core.KnobInfo{Name: k.name, Flag: "--" + k.flag, Type: k.typ, Default: k.def, Doc: k.doc})
	}
	return info, nil
}

// Probe implements core.Engine. The simulator is part of its executable, so it is
// installed wherever that exists.
func (a *adapter) Probe(_ context.Context, origin core.Origin) (core.Installation, error) {
	command, err := a.command(origin)
	if err != nil {
		return core.Installation{}, fmt.Errorf("probe sim: %w", err)
	}
	if _, err := os.Stat(command[0]); err != nil {
		return core.Installation{}, fmt.Errorf("probe sim: %w", err)
	}
	return core.Installation{Version: Version, Command: command[0], Detail: "simulated roofline of " + accelerators[0].product + " and others; no GPU needed"}, nil
}

// stopTimeout bounds the answer to /shutdown.
const stopTimeout = 2 * time.Second

// Stop implements core.Engine: it posts to /shutdown. A server that is gone
// already is no error.
func (a *adapter) Stop(ctx context.Context, req core.StopRequest) error {
	// Who answers at the port may be the server of another run, which must not be ended.
	if req.BaseURL == "" || serving.AnsweredByAnother(req.BaseURL, req.PIDs) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, stopTimeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, req.BaseURL+"/shutdown", nil)
	if err != nil {
		return fmt.Errorf("stop sim: %w", err)
	}
	client := serving.ProbeClient()
	defer client.CloseIdleConnections()
	resp, err := client.Do(r)
	if err != nil {
		if anyAlive(req.PIDs) && errors.Is(err, context.DeadlineExceeded) {
			return fmt.Errorf("stop sim: the server does not answer /shutdown: %w", err)
		}
		return nil
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("stop sim: /shutdown answers %s", resp.Status)
	}
	return nil
}

func anyAlive(pids []int) bool {
	for _, pid := range pids {
		if serving.Alive(pid) {
			return true
		}
	}
	return false
}
