package load

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sweepbook/sweepbook/core"
)

func TestGPUColumns(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(shared(t, "gpu"), "query-gpu.csv"))
	if err != nil {
		t.Fatal(err)
	}
	header, line, _ := strings.Cut(strings.TrimSpace(string(data)), "\n")
	columns, err := ParseGPUColumns(header)
	if err != nil {
		t.Fatal(err)
	}
	got, err := columns.Parse(line)
	if err != nil {
		t.Fatal(err)
	}
	n := core.Number
	want := GPUReading{Index: "0", Name: "NVIDIA H200", UUID: "GPU-00000000-0000-0000-0000-000000000001", Driver: "580.159.04",
		PowerW: n(123.97), PowerLimitW: n(700), SMClockMHz: n(405), MemoryClockMHz: n(3201), MemoryUsedMiB: n(0), MemoryTotalMiB: n(143771),
		TemperatureC: n(36), UtilPercent: n(0), Reasons: n(1)}
	if got != want {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestGPUCells(t *testing.T) {
	columns, err := ParseGPUColumns("index, power.draw [W], clocks.current.sm [MHz], clocks_throttle_reasons.active")
	if err != nil {
		t.Fatal(err)
	}
	r, err := columns.Parse("3, [N/A], [Not Supported], 0x0000000000000084")
	if err != nil || r.Index != "3" || !r.PowerW.IsMissing() || !r.SMClockMHz.IsMissing() || r.Reasons != core.Number(0x84) {
		t.Errorf("%+v, %v", r, err)
	}
	for _, line := range []string{"3, 12 W", "3, twelve W, 1 MHz, 0x0", "3, -1 W, 1 MHz, 0x0", "3, 1 W, 1 MHz, 0xzz", ""} {
		if _, err := columns.Parse(line); !errors.Is(err, core.ErrInvalid) {
			t.Errorf("%q: %v", line, err)
		}
	}
	if _, err := ParseGPUColumns(`Field "clocks_event_reasons.active" is not a valid field to query.`); !errors.Is(err, core.ErrInvalid) {
		t.Errorf("an error message as header: %v", err)
	}
}

func FuzzGPUColumns(f *testing.F) {
	f.Add("index, power.draw [W], clocks_event_reasons.active", "0, 12.5 W, 0x4")
	f.Add("uuid, memory.used [MiB]", "GPU-1, [N/A]")
	f.Fuzz(func(t *testing.T, header, line string) {
		columns, err := ParseGPUColumns(header)
		if err != nil {
			return
		}
		r, err := columns.Parse(line)
		if err != nil {
			return
		}
		for _, v := range []core.Value{r.PowerW, r.PowerLimitW, r.SMClockMHz, r.MemoryUsedMiB, r.TemperatureC, r.Reasons} {
			if v.Kind == core.KindNumber && (v.Num < 0 || math.IsInf(v.Num, 0) || math.IsNaN(v.Num)) {
				t.Fatalf("%q under %q: %v", line, header, v)
			}
		}
	})
}

func near(t *testing.T, f core.Figures, name string, want, within float64) {
	t.Helper()
	if got, ok := f[name]; !ok || math.Abs(got-want) > within {
		t.Errorf("%s = %v (%t), want %v", name, got, ok, want)
	}
}

// TestTelemetryFigures plays readings of two GPUs on a false clock.
func TestTelemetryFigures(t *testing.T) {
	n := core.Number
	reading := func(id string, watts, mhz, mib float64, reasons uint64) GPUReading {
		return GPUReading{UUID: id, PowerW: n(watts), SMClockMHz: n(mhz), MemoryUsedMiB: n(mib), TemperatureC: n(watts / 10), Reasons: n(float64(reasons))}
	}
	fresh := func(t *testing.T) *Telemetry {
		ctx, cancel := context.WithCancel(t.Context())
		tel := &Telemetry{cancel: cancel, done: make(chan struct{}), start: time.Now(), gpus: map[string]*gpuTrack{}}
		go func() { <-ctx.Done(); close(tel.done) }()
		return tel
	}
	synctest.Test(t, func(t *testing.T) {
		tel := fresh(t)
		tel.take(reading("a", 999, 100, 9000, 0x40)) // before the window
		time.Sleep(time.Second)
		tel.Begin()
		for i := range 10 {
			time.Sleep(time.Second)
			tel.take(reading("a", 300, 1800, 1000, 1))
			tel.take(reading("b", 100, 1200, float64(100*i), 0))
		}
		f := tel.Stop()
		// a goes from 999 W to 300 W within the first second.
		near(t, f, "energy_j", (999+300)/2.0+9*300+10*100, 1e-6)
		near(t, f, "mean_power_w", f["energy_j"]/10, 1e-6)
		near(t, f, "sm_clock_mhz", 1500, 1e-6)
		near(t, f, "peak_memory_mib", 1900, 1e-6)
		if v, _ := tel.Throttled(); v != core.Bool(false) {
			t.Errorf("throttled %v: idleness and what was before the window do not count", v)
		}
		if v := tel.PeakTemperature(); v != n(30) {
			t.Errorf("peak temperature %v", v)
		}

		tel = fresh(t)
		time.Sleep(time.Second)
		tel.take(reading("a", 700, 1500, 0, 0x24))
		if v, why := tel.Throttled(); v != core.Bool(true) || strings.Join(why, "; ") != "power limit; software thermal slowdown" {
			t.Errorf("throttled %v by %q", v, why)
		}
		time.Sleep(time.Minute) // nvidia-smi hangs
		if f := tel.Stop(); len(f) != 1 || f["sm_clock_mhz"] != 1500 {
			t.Errorf("after a minute without a reading: %v, want no power and no energy", f)
		}
		if f := fresh(t).Stop(); len(f) != 0 {
			t.Errorf("without a reading: %v", f)
		}
	})
}

// script writes a fake nvidia-smi.
func script(t *testing.T, body string) string {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the fake nvidia-smi is a shell script")
	}
	path := filepath.Join(t.TempDir(), "nvidia-smi")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+body), 0o700); err != nil { //nolint:gosec // a test's own script
		t.Fatal(err)
	}
	return path
}

const smiHeader = "index, uuid, power.draw [W], clocks.current.sm [MHz], memory.used [MiB], temperature.gpu, clocks_event_reasons.active"

func TestTelemetryProcess(t *testing.T) {
	settle := func(tel *Telemetry, ok func() bool) bool {
		for range 2000 {
			if ok() {
				return true
			}
			time.Sleep(10 * time.Millisecond)
		}
		return false
	}
	t.Run("reads", func(t *testing.T) {
		t.Parallel()
		args := filepath.Join(t.TempDir(), "args")
		tel := StartTelemetry(t.Context(), TelemetrySource{GPUs: []string{"GPU-1", "GPU-2"}, Command: script(t, fmt.Sprintf(`echo "$@" >%q
echo "%s"
while :; do echo "0, GPU-1, 250.00 W, 1700 MHz, 4096 MiB, 60, 0x0000000000000004"; sleep 0.05; done
`, args, smiHeader))})
		if !settle(tel, func() bool { return tel.readings() > 0 }) {
			t.Fatal("no reading")
		}
		time.Sleep(200 * time.Millisecond)
		f := tel.Stop()
		near(t, f, "mean_power_w", 250, 1)
		near(t, f, "sm_clock_mhz", 1700, 0)
		near(t, f, "peak_memory_mib", 4096, 0)
		if v, _ := tel.Throttled(); v != core.Bool(true) || tel.Err() != nil {
			t.Errorf("throttled %v, %v", v, tel.Err())
		}
		if data, _ := os.ReadFile(args); !strings.Contains(string(data), "--loop-ms=1000") || !strings.Contains(string(data), "--id=GPU-1,GPU-2") {
			t.Errorf("asked with %s", data)
		}
	})
	t.Run("older driver", func(t *testing.T) {
		t.Parallel()
		tel := StartTelemetry(t.Context(), TelemetrySource{Command: script(t, `case "$*" in *clocks_event*) echo 'Field "clocks_event_reasons.active" is not a valid field to query.'; exit 2;; esac
echo "`+strings.Replace(smiHeader, "event", "throttle", 1)+`"
while :; do echo "0, GPU-1, 100 W, 900 MHz, 1 MiB, 40, 0x08"; sleep 0.05; done
`)})
		if !settle(tel, func() bool { return tel.readings() > 0 }) {
			t.Fatalf("no reading: %v", tel.Err())
		}
		tel.Stop()
		if v, why := tel.Throttled(); v != core.Bool(true) || why[0] != "hardware slowdown" {
			t.Errorf("%v %q", v, why)
		}
	})
	for name, body := range map[string]string{
		"hangs":            "trap '' TERM; exec sleep 600\n",
		"hangs in a child": "sleep 5 & wait\n",
		"talks for ever":   "yes 'x' | tr -d '\\n'\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tel := StartTelemetry(t.Context(), TelemetrySource{Command: script(t, body)})
			time.Sleep(100 * time.Millisecond)
			start := time.Now()
			if f := tel.Stop(); len(f) != 0 || time.Since(start) > stopGrace+time.Second {
				t.Errorf("%v after %v", f, time.Since(start))
			}
		})
	}
	t.Run("fails", func(t *testing.T) {
		t.Parallel()
		tel := StartTelemetry(t.Context(), TelemetrySource{Command: script(t, "echo 'NVIDIA-SMI has failed' >&2; exit 9\n")})
		if !settle(tel, func() bool { return tel.Err() != nil }) || !strings.Contains(tel.Err().Error(), "NVIDIA-SMI has failed") {
			t.Errorf("%v", tel.Err())
		}
		tel.Stop()
	})
	t.Run("absent", func(t *testing.T) {
		t.Parallel()
		tel := StartTelemetry(t.Context(), TelemetrySource{Command: filepath.Join(t.TempDir(), "absent")})
		if !settle(tel, func() bool { return tel.Err() != nil }) {
			t.Error("no error")
		}
		if f := tel.Stop(); len(f) != 0 {
			t.Errorf("%v", f)
		}
	})
}
