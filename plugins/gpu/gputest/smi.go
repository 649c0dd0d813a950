// Package gputest is a fake nvidia-smi for tests: it prints what a real one prints
// for the GPUs of a file, or hangs, fails and prints nonsense as real ones do. A test
// binary becomes it through [Main]; [Install] puts it on a path.
package gputest

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// State is what the fake machine looks like now.
type State struct {
	GPUs []GPU
	Apps []App
	// Fault is what goes wrong: "hang", "garbage", "error" (no driver), "empty",
	// "no-devices", or "" for nothing.
	Fault string
}

// GPU is one GPU of the fake machine. A figure is printed as it is written here:
// "120 MiB" is what a real one says, "[N/A]" and "[Insufficient Permissions]" too.
type GPU struct {
	UUID string
	Name string // "NVIDIA H200" where it is empty
	Used string // "0 MiB" where it is empty
	MIG  bool
}

// App is a process that has memory. It counts only while the process lives, if
// Living is set: then its memory is added to the GPU's.
type App struct {
	PID    int
	UUID   string
	Name   string
	Used   string // "[N/A]", "1024 MiB"
	Living bool
}

// stateEnv names the file of the state.
const stateEnv = "GPUTEST_STATE"

// UUID is the n-th GPU's.
func UUID(n int) string { return fmt.Sprintf("GPU-00000000-0000-0000-0000-%012d", n) }

// Main is the process of the fake: nvidia-smi's arguments, its exit status.
func Main(args []string) int {
	data, err := os.ReadFile(os.Getenv(stateEnv))
	var s State
	if err == nil {
		err = json.Unmarshal(data, &s)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "fake nvidia-smi:", err)
		return 2
	}
	switch s.Fault {
	case "hang":
		time.Sleep(time.Minute)
		return 1
	case "garbage":
		fmt.Printf("\x00\xff\xfe~~ 42,,, NVIDIA\n<<<\n")
		return 0
	case "empty":
		return 0
	case "error":
		fmt.Println("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the latest NVIDIA driver is installed and running.")
		return 9
	case "no-devices":
		fmt.Println("No devices were found")
		return 6
	}
	var fields, format, ids, query string
	loop := false
	for _, arg := range args {
		name, value, _ := strings.Cut(arg, "=")
		switch name {
		case "--query-gpu", "--query-compute-apps":
			query, fields = name, value
		case "--format":
			format = value
		case "--id", "-i":
			ids = value
		case "--loop-ms":
			loop = true
		default:
			fmt.Printf("Invalid combination of input arguments. Please run 'nvidia-smi -h' for help.\n")
			return 1
		}
	}
	if query == "" {
		fmt.Println("the fake answers queries only")
		return 1
	}
	for first := true; ; first = false {
		s.print(query, strings.Split(fields, ","), format, ids, first)
		if !loop {
			return 0
		}
		time.Sleep(200 * time.Millisecond)
	}
}

// headers are the names that the header gives to fields that the query calls
// otherwise.
var headers = map[string]string{
	"memory.used": "memory.used [MiB]", "memory.total": "memory.total [MiB]", "power.draw": "power.draw [W]", "power.limit": "power.limit [W]",
	"clocks.sm": "clocks.current.sm [MHz]", "clocks.mem": "clocks.current.memory [MHz]", "used_memory": "used_gpu_memory [MiB]",
	"utilization.gpu": "utilization.gpu [%]",
}

func (s State) print(query string, fields []string, format, ids string, first bool) {
	if first && !strings.Contains(format, "noheader") {
		var names []string
		for _, f := range fields {
			name := headers[f]
			if name == "" {
				name = f
			}
			names = append(names, name)
		}
		fmt.Println(strings.Join(names, ", "))
	}
	plain := func(v string) string {
		if strings.Contains(format, "nounits") && !strings.HasPrefix(v, "[") {
			v, _, _ = strings.Cut(v, " ")
		}
		return v
	}
	var rows []map[string]string
	if query == "--query-gpu" {
		for i, g := range s.GPUs {
			if ids != "" && !slices.Contains(strings.Split(ids, ","), g.UUID) && !slices.Contains(strings.Split(ids, ","), strconv.Itoa(i)) {
				continue
			}
			rows = append(rows, s.row(i, g))
		}
	} else {
		for _, a := range s.Apps {
			if !a.Living || alive(a.PID) {
				rows = append(rows, map[string]string{"pid": strconv.Itoa(a.PID), "gpu_uuid": a.UUID, "process_name": a.Name, "used_memory": a.Used})
			}
		}
	}
	for _, row := range rows {
		var cells []string
		for _, f := range fields {
			v, ok := row[f]
			if !ok {
				v = "[N/A]"
			}
			if f == "name" || f == "process_name" {
				cells = append(cells, v)
				continue
			}
			cells = append(cells, plain(v))
		}
		fmt.Println(strings.Join(cells, ", "))
	}
}

func (s State) row(i int, g GPU) map[string]string {
	name, mig, used := g.Name, "Disabled", g.Used
	if name == "" {
		name = "NVIDIA H200"
	}
	if g.MIG {
		mig = "Enabled"
	}
	if used == "" {
		used = "0 MiB"
	}
	if n, err := strconv.Atoi(strings.TrimSuffix(used, " MiB")); err == nil {
		for _, a := range s.Apps {
			if m, err := strconv.Atoi(strings.TrimSuffix(a.Used, " MiB")); err == nil && a.Living && a.UUID == g.UUID && alive(a.PID) {
				n += m
			}
		}
		used = fmt.Sprintf("%d MiB", n)
	}
	return map[string]string{
		"index": strconv.Itoa(i), "uuid": g.UUID, "name": name, "driver_version": "580.159.04", "memory.used": used, "memory.total": "143771 MiB",
		"power.draw": "123.97 W", "power.limit": "700.00 W", "clocks.sm": "405 MHz", "clocks.mem": "3201 MHz", "temperature.gpu": "36",
		"utilization.gpu": "0 %", "clocks_event_reasons.active": "0x0000000000000001", "mig.mode.current": mig,
	}
}

// alive reports whether a process is there and no zombie.
func alive(pid int) bool {
	p, err := os.FindProcess(pid)
	if err != nil || errors.Is(p.Signal(syscall.Signal(0)), os.ErrProcessDone) {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || !strings.Contains(string(stat), ") Z ")
}

// Machine is a fake machine of a test.
type Machine struct {
	t     testing.TB
	Path  string // of the executable nvidia-smi
	state string
}

// Install makes an nvidia-smi in a folder of its own out of this test binary, which
// must hand its arguments to [Main] when the first one is "fake-nvidia-smi".
func Install(t testing.TB, s State) *Machine {
	t.Helper()
	dir := t.TempDir()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	m := &Machine{t: t, Path: filepath.Join(dir, "nvidia-smi"), state: filepath.Join(dir, "state.json")}
	script := fmt.Sprintf("#!/bin/sh\nexport %s='%s'\nexec '%s' fake-nvidia-smi \"$@\"\n", stateEnv, m.state, exe)
	if err := os.WriteFile(m.Path, []byte(script), 0o755); err != nil { //nolint:gosec // it must be executable
		t.Fatal(err)
	}
	m.Set(s)
	return m
}

// Set changes what the machine looks like.
func (m *Machine) Set(s State) {
	m.t.Helper()
	data, err := json.Marshal(s)
	if err == nil {
		err = os.WriteFile(m.state+".new", data, 0o600)
	}
	if err == nil {
		err = os.Rename(m.state+".new", m.state)
	}
	if err != nil {
		m.t.Fatal(err)
	}
}
