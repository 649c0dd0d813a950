package gpu_test

import (
	"bufio"
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/plugins/gpu"
	"github.com/sweepbook/sweepbook/plugins/gpu/gputest"
)

func two() []gputest.GPU { return []gputest.GPU{{UUID: gputest.UUID(1)}, {UUID: gputest.UUID(2)}} }

// fast is nvidia-smi of the machine. What hangs is given less time than in earnest.
func fast(m *gputest.Machine) gpu.SMI { return gpu.SMI{Command: m.Path, Limit: 5 * time.Second} }

func TestDevices(t *testing.T) {
	m := gputest.Install(t, gputest.State{GPUs: []gputest.GPU{{UUID: gputest.UUID(1), Used: "1024 MiB"}, {UUID: gputest.UUID(2), Name: "NVIDIA H100 80GB HBM3", Used: "[N/A]", MIG: true}}})
	got, err := fast(m).Devices(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []gpu.Device{
		{Index: 0, UUID: gputest.UUID(1), Name: "NVIDIA H200", Driver: "580.159.04", UsedMiB: core.Number(1024), TotalMiB: core.Number(143771)},
		{Index: 1, UUID: gputest.UUID(2), Name: "NVIDIA H100 80GB HBM3", Driver: "580.159.04", TotalMiB: core.Number(143771)},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestHolders(t *testing.T) {
	m := gputest.Install(t, gputest.State{Apps: []gputest.App{
		{PID: 4711, UUID: gputest.UUID(1), Name: "python3, with a comma", Used: "512 MiB"},
		{PID: 4712, UUID: gputest.UUID(2), Name: "[Not Found]", Used: "[N/A]"},
	}})
	got, err := fast(m).Holders(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []gpu.Holder{
		{PID: 4711, UUID: gputest.UUID(1), Name: "python3, with a comma", UsedMiB: core.Number(512)},
		{PID: 4712, UUID: gputest.UUID(2), Name: "[Not Found]"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if text := got[0].String() + "; " + got[1].String(); text != "pid 4711 (python3, with a comma) with 512 MiB; pid 4712 ([Not Found])" {
		t.Error(text)
	}
}

func TestOddNvidiaSMI(t *testing.T) {
	for _, tc := range []struct {
		fault string
		is    error
		says  string
	}{
		{"garbage", core.ErrInvalid, "no header"},
		{"empty", core.ErrInvalid, "printed nothing"},
		{"error", nil, "couldn't communicate with the NVIDIA driver"},
		{"no-devices", nil, "No devices were found"},
		{"hang", gpu.ErrHung, "does not answer within 300ms"},
	} {
		t.Run(tc.fault, func(t *testing.T) {
			m := gputest.Install(t, gputest.State{Fault: tc.fault})
			smi := fast(m)
			if tc.fault == "hang" {
				smi.Limit = 300 * time.Millisecond
			}
			_, err := smi.Devices(t.Context())
			if err == nil || !strings.Contains(err.Error(), tc.says) || (tc.is != nil && !errors.Is(err, tc.is)) {
				t.Errorf("error %v, want %q", err, tc.says)
			}
		})
	}
	_, err := gpu.SMI{Command: filepath.Join(t.TempDir(), "nvidia-smi")}.Devices(t.Context())
	if !errors.Is(err, exec.ErrNotFound) {
		t.Errorf("no nvidia-smi: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := fast(gputest.Install(t, gputest.State{Fault: "hang"})).Devices(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("the caller's end: %v", err)
	}
}

func TestChoose(t *testing.T) {
	all := []gpu.Device{{Index: 0, UUID: "GPU-aaaa1"}, {Index: 1, UUID: "GPU-aaaa2"}, {Index: 2, UUID: "GPU-bbbb3"}}
	for _, tc := range []struct {
		name    string
		wanted  []string
		visible string
		set     bool
		want    string
		fault   string
	}{
		{name: "all", want: "0 1 2"},
		{name: "visible", visible: "2, 0", set: true, want: "2 0"},
		{name: "visible by UUID", visible: "GPU-bbbb3", set: true, want: "2"},
		{name: "none visible", visible: "", set: true},
		{name: "none visible by number", visible: "-1", set: true},
		{name: "visible until the first unknown", visible: "1,7,0", set: true, want: "1"},
		{name: "wanted over visible", wanted: []string{"1"}, visible: "0", set: true, want: "1"},
		{name: "twice", wanted: []string{"1", "GPU-aaaa2"}, want: "1"},
		{name: "beginning of a UUID", wanted: []string{"GPU-b"}, want: "2"},
		{name: "ambiguous", wanted: []string{"GPU-aaaa"}, fault: "2 begin so"},
		{name: "unknown", wanted: []string{"3"}, fault: `no GPU "3" here`},
		{name: "no UUID at all", wanted: []string{"GPU-"}, fault: `no GPU "GPU-" here`},
		{name: "a part", wanted: []string{"MIG-1234-5678"}, want: "-1"},
		{name: "a way out", wanted: []string{"MIG-../../etc"}, fault: "no GPU"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := gpu.Choose(all, tc.wanted, tc.visible, tc.set)
			if tc.fault != "" {
				if err == nil || !strings.Contains(err.Error(), tc.fault) {
					t.Errorf("error %v, want %q", err, tc.fault)
				}
				return
			}
			var indexes []string
			for _, d := range got {
				indexes = append(indexes, core.Number(float64(d.Index)).String())
			}
			if text := strings.Join(indexes, " "); err != nil || text != tc.want {
				t.Errorf("%q, %v, want %q", text, err, tc.want)
			}
		})
	}
}

// Another process holds the lock: who it is can be told, and its death frees it.
func TestLockIsOfTheProcess(t *testing.T) {
	locks := gpu.Locks{Dir: filepath.Join(t.TempDir(), "locks")}
	uuid := gputest.UUID(1)
	other := exec.Command(os.Args[0], "hold", locks.Dir, uuid)
	out, err := other.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = other.Process.Kill(); _ = other.Wait() })
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "held\n" {
		t.Fatalf("%q, %v", line, err)
	}
	_, err = locks.Hold(uuid, "GPU 0", gpu.Owner{PID: os.Getpid(), Study: "mine"})
	var held *gpu.HeldError
	if !errors.As(err, &held) || !errors.Is(err, core.ErrHeld) || held.By.PID != other.Process.Pid {
		t.Fatalf("error %v", err)
	}
	for _, part := range []string{"GPU 0 is held", `study "the other"`, "since 2026-12-01T02:00:00Z"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q lacks %q", err, part)
		}
	}
	if by, yes, err := locks.Holder(uuid); err != nil || !yes || by.Study != "the other" {
		t.Errorf("holder %+v, %t, %v", by, yes, err)
	}
	_ = other.Process.Kill()
	_ = other.Wait()
	if _, yes, err := locks.Holder(uuid); err != nil || yes {
		t.Errorf("held after the death of its holder: %v", err)
	}
	release, err := locks.Hold(uuid, "GPU 0", gpu.Owner{PID: os.Getpid(), Study: "mine"})
	if err != nil {
		t.Fatal(err)
	}
	release()
}

func TestLockFolderMustBeOurs(t *testing.T) {
	dir := t.TempDir()
	open, link := filepath.Join(dir, "open"), filepath.Join(dir, "link")
	for _, err := range []error{os.Mkdir(open, 0o700), os.Chmod(open, 0o777), os.Mkdir(filepath.Join(dir, "real"), 0o700), os.Symlink("real", link)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, bad := range []string{open, link} {
		if _, err := (gpu.Locks{Dir: bad}).Hold("GPU-1", "it", gpu.Owner{}); err == nil || !strings.Contains(err.Error(), "SWEEPBOOK_LOCK_DIR") {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

func TestQuarantine(t *testing.T) {
	q := gpu.Quarantine{Dir: filepath.Join(t.TempDir(), "q")}
	uuid := gputest.UUID(1)
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 12, 1, 3, 0, 0, 0, time.UTC)
	if _, found, err := q.Get(uuid); found || err != nil {
		t.Fatalf("found %t, %v", found, err)
	}
	first := gpu.Record{UUID: uuid, Name: "NVIDIA H200", Host: host, Since: now, Why: "memory stayed", PIDs: []int{7}}
	if err := q.Put(first); err != nil {
		t.Fatal(err)
	}
	if err := q.Put(gpu.Record{UUID: uuid, Host: host, Since: now.Add(time.Hour), Why: "still"}); err != nil {
		t.Fatal(err)
	}
	r, found, err := q.Get(uuid)
	if err != nil || !found || r.Why != "memory stayed" || !r.Since.Equal(now) {
		t.Errorf("%+v, %t, %v: the first record must stay", r, found, err)
	}
	if all, err := q.All(); err != nil || len(all) != 1 {
		t.Errorf("%v, %v", all, err)
	}
	if _, err := q.Lift(uuid, "driver loaded again", now); err != nil {
		t.Fatal(err)
	}
	if _, found, _ := q.Get(uuid); found {
		t.Error("still there after it was lifted")
	}
	log, err := os.ReadFile(filepath.Join(q.Dir, "lifted.ndjson"))
	if err != nil || !strings.Contains(string(log), "driver loaded again") || !strings.Contains(string(log), "memory stayed") {
		t.Errorf("log %q, %v", log, err)
	}
	if _, err := q.Lift(uuid, "again", now); !errors.Is(err, core.ErrNotFound) {
		t.Errorf("lifted twice: %v", err)
	}
	for _, bad := range []string{"../x", "", "GPU-/x"} {
		if err := q.Put(gpu.Record{UUID: bad}); !errors.Is(err, core.ErrInvalid) {
			t.Errorf("UUID %q: %v", bad, err)
		}
	}
	// What was recorded before the machine restarted is over.
	if err := q.Put(gpu.Record{UUID: uuid, Host: host, BootID: "another", Since: now}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat("/proc/sys/kernel/random/boot_id"); err == nil {
		if _, found, err := q.Get(uuid); found || err != nil {
			t.Errorf("a record of another boot counts: %v", err)
		}
	}
	// A damaged record is no reason to use the GPU.
	if err := os.WriteFile(filepath.Join(q.Dir, uuid+".json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if r, found, err := q.Get(uuid); !found || err != nil || !strings.Contains(r.Why, "cannot be read") {
		t.Errorf("damaged: %+v, %t, %v", r, found, err)
	}
}

func guard(t *testing.T, m *gputest.Machine) *gpu.Guard {
	t.Helper()
	dir := t.TempDir()
	g := &gpu.Guard{
		SMI: fast(m), Locks: gpu.Locks{Dir: filepath.Join(dir, "locks")}, Quarantine: gpu.Quarantine{Dir: filepath.Join(dir, "q")},
		Study: "mine", MaxUsedMiB: 1024, Now: time.Now, LookupEnv: func(string) (string, bool) { return "", false },
		Patience: gpu.Patience{Before: time.Millisecond, After: time.Millisecond},
	}
	t.Cleanup(g.Close)
	return g
}

func TestReserve(t *testing.T) {
	foreign := []gputest.App{{PID: 4711, UUID: gputest.UUID(1), Name: "python3", Used: "20000 MiB"}}
	full := []gputest.GPU{{UUID: gputest.UUID(1), Used: "20010 MiB"}, {UUID: gputest.UUID(2)}}
	for _, tc := range []struct {
		name   string
		state  gputest.State
		change func(*gpu.Guard)
		class  core.FailureClass
		says   string // of the refusal
		unsure string
		check  func(*testing.T, *gpu.Reservation)
	}{
		{name: "clean", state: gputest.State{GPUs: two()}, check: func(t *testing.T, r *gpu.Reservation) {
			if len(r.Devices) != 2 || r.Ports != 23000 || len(r.Names) != 0 || len(r.Neighbours) != 0 {
				t.Errorf("%+v", r)
			}
		}},
		{name: "second GPU by UUID", state: gputest.State{GPUs: two()}, change: func(g *gpu.Guard) { g.Wanted = []string{gputest.UUID(2)} },
			check: func(t *testing.T, r *gpu.Reservation) {
				if len(r.Devices) != 1 || r.Ports != 23100 || len(r.Names) != 1 || r.Names[0] != "1" {
					t.Errorf("%+v", r)
				}
			}},
		{name: "full", state: gputest.State{GPUs: full, Apps: foreign}, class: core.GPUDirty, says: "20010 MiB in use, above run.gpu.max_used_mib 1024: held by pid 4711 (python3) with 20000 MiB"},
		{name: "full, nobody seen", state: gputest.State{GPUs: full}, class: core.GPUDirty, says: "no process that nvidia-smi shows"},
		{name: "full, but another GPU", state: gputest.State{GPUs: full, Apps: foreign}, change: func(g *gpu.Guard) { g.Wanted = []string{"1"} }},
		{name: "full and allowed", state: gputest.State{GPUs: full, Apps: foreign}, change: func(g *gpu.Guard) { g.Neighbours = true },
			check: func(t *testing.T, r *gpu.Reservation) {
				if len(r.Neighbours) != 1 || r.Neighbours[0].PID != 4711 {
					t.Errorf("%+v", r)
				}
			}},
		{name: "a small neighbour is told", state: gputest.State{GPUs: two(), Apps: foreign},
			check: func(t *testing.T, r *gpu.Reservation) {
				if len(r.Neighbours) != 1 {
					t.Errorf("%+v", r)
				}
			}},
		{name: "hangs", state: gputest.State{Fault: "hang"}, change: func(g *gpu.Guard) { g.SMI.Limit = 200 * time.Millisecond }, class: core.Driver, says: "does not answer"},
		{name: "garbage", state: gputest.State{Fault: "garbage"}, unsure: "no header"},
		{name: "no driver", state: gputest.State{Fault: "error"}, unsure: "couldn't communicate"},
		{name: "missing", change: func(g *gpu.Guard) { g.SMI.Command += "-absent" }, unsure: "no nvidia-smi"},
		{name: "memory not told", state: gputest.State{GPUs: []gputest.GPU{{UUID: gputest.UUID(1), Used: "[N/A]"}}}, unsure: "does not tell the memory"},
		{name: "a part of a GPU", state: gputest.State{GPUs: []gputest.GPU{{UUID: gputest.UUID(1), Used: "90000 MiB", MIG: true}}},
			change: func(g *gpu.Guard) { g.Wanted = []string{"MIG-0000-1111"} }, unsure: "MIG-0000-1111",
			check: func(t *testing.T, r *gpu.Reservation) {
				if len(r.Names) != 1 || r.Names[0] != "MIG-0000-1111" {
					t.Errorf("%+v", r)
				}
			}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := guard(t, gputest.Install(t, tc.state))
			if tc.change != nil {
				tc.change(g)
			}
			r, err := g.Reserve(t.Context(), "", false)
			if tc.class != "" {
				var refused *core.LaunchError
				if !errors.As(err, &refused) || refused.Class != tc.class || !strings.Contains(refused.Line, tc.says) {
					t.Errorf("error %v, want %s: %q", err, tc.class, tc.says)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(r.Unsure, tc.unsure) || (tc.unsure == "") != (r.Unsure == "") {
				t.Errorf("unsure %q, want %q", r.Unsure, tc.unsure)
			}
			if tc.check != nil {
				tc.check(t, r)
			}
		})
	}
}

// Two runs: on one GPU the second is told who has it; on two GPUs they get ports of
// their own, even where both call theirs number 0.
func TestTwoRuns(t *testing.T) {
	a := guard(t, gputest.Install(t, gputest.State{GPUs: two()}))
	a.Wanted = []string{"0"}
	ra, err := a.Reserve(t.Context(), "", false)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := a.Reserve(t.Context(), "", false); err != nil || again.Ports != ra.Ports {
		t.Errorf("the second launch of a run: %+v, %v", again, err)
	}
	b := guard(t, gputest.Install(t, gputest.State{GPUs: two()}))
	b.Locks = a.Locks
	if _, err := b.Reserve(t.Context(), "", false); !errors.Is(err, core.ErrHeld) || !strings.Contains(err.Error(), `GPU 0 (`+gputest.UUID(1)+`) is held by study "mine"`) {
		t.Errorf("error %v", err)
	}
	b.Close()
	b.Wanted = []string{"1"}
	rb, err := b.Reserve(t.Context(), "", false)
	if err != nil || rb.Ports == ra.Ports {
		t.Fatalf("%+v beside %+v: %v", rb, ra, err)
	}
	c := guard(t, gputest.Install(t, gputest.State{GPUs: []gputest.GPU{{UUID: gputest.UUID(3)}}}))
	c.Locks = a.Locks
	rc, err := c.Reserve(t.Context(), "", false)
	if err != nil || rc.Ports == ra.Ports || rc.Ports == rb.Ports {
		t.Errorf("%+v beside %+v and %+v: %v", rc, ra, rb, err)
	}
	a.Close()
	if _, held, err := a.Locks.Holder(gputest.UUID(1)); held || err != nil {
		t.Errorf("held after the end: %v", err)
	}
}

func TestProve(t *testing.T) {
	before := gputest.State{GPUs: []gputest.GPU{{UUID: gputest.UUID(1), Used: "300 MiB"}, {UUID: gputest.UUID(2)}}, Apps: []gputest.App{{PID: 1, UUID: gputest.UUID(1), Name: "Xorg", Used: "300 MiB"}}}
	used := func(first string, apps ...gputest.App) gputest.State {
		return gputest.State{GPUs: []gputest.GPU{{UUID: gputest.UUID(1), Used: first}, {UUID: gputest.UUID(2)}}, Apps: apps}
	}
	for _, tc := range []struct {
		name   string
		after  gputest.State
		marked []string
		port   bool // still taken
		says   string
		dirty  int
	}{
		{name: "clean", after: before},
		{name: "a little more", after: used("700 MiB")},
		{name: "memory stays", after: used("41000 MiB", gputest.App{PID: 77, UUID: gputest.UUID(1), Name: "VLLM::EngineCore", Used: "40700 MiB"}),
			says: "41000 MiB of GPU 0 (" + gputest.UUID(1) + ") are in use, 300 before the launch: held by pid 77 (VLLM::EngineCore) with 40700 MiB", dirty: 1},
		{name: "a neighbour grew", after: used("5000 MiB", gputest.App{PID: 1, UUID: gputest.UUID(1), Name: "Xorg", Used: "5000 MiB"})},
		{name: "hangs", after: gputest.State{Fault: "hang"}, says: "does not answer", dirty: 2},
		{name: "garbage", after: gputest.State{Fault: "garbage"}, says: "cannot be told", dirty: 2},
		{name: "not told any more", after: used("[N/A]"), says: "does not tell any more", dirty: 1},
		{name: "GPU has fallen off the bus", after: gputest.State{GPUs: []gputest.GPU{{UUID: gputest.UUID(1)}}}, says: "not listed by nvidia-smi any more", dirty: 2},
		{name: "process left", after: before, marked: []string{"78 (python)"}, says: "processes of it are left: 78 (python)", dirty: 2},
		{name: "port taken", after: before, port: true, says: "still taken", dirty: 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := gputest.Install(t, before)
			g := guard(t, m)
			g.Marked = func(core.ID) ([]string, error) { return tc.marked, nil }
			r, err := g.Reserve(t.Context(), "", false)
			if err != nil {
				t.Fatal(err)
			}
			m.Set(tc.after)
			if tc.after.Fault == "hang" {
				g.SMI.Limit = 200 * time.Millisecond
			}
			port := 0
			if tc.port {
				l, err := net.Listen("tcp", "127.0.0.1:0")
				if err != nil {
					t.Fatal(err)
				}
				defer l.Close()
				port = l.Addr().(*net.TCPAddr).Port
			}
			launch := core.NewID(time.Now())
			err = g.Prove(t.Context(), launch, port, r)
			all, listErr := g.Quarantine.All()
			if listErr != nil || len(all) != tc.dirty {
				t.Errorf("in quarantine: %+v, %v, want %d", all, listErr, tc.dirty)
			}
			if tc.says == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("error %v, want %q", err, tc.says)
			}
			if all[0].Launch != launch.String() || all[0].RunPID != os.Getpid() || all[0].Study != "mine" {
				t.Errorf("record %+v", all[0])
			}
			// Whoever comes next is refused, whatever the memory is then.
			m.Set(before)
			g.SMI.Limit = 5 * time.Second
			_, err = g.Reserve(t.Context(), "", false)
			var refused *core.LaunchError
			if !errors.As(err, &refused) || refused.Class != core.GPUDirty || !strings.Contains(refused.Line, "quarantine since") {
				t.Errorf("next launch: %v", err)
			}
		})
	}
}

// Memory comes free some time after its process has ended.
func TestProveWaits(t *testing.T) {
	holder := exec.Command("sleep", "60")
	if err := holder.Start(); err != nil {
		t.Skipf("no sleep here: %v", err)
	}
	m := gputest.Install(t, gputest.State{GPUs: two()})
	g := guard(t, m)
	g.Patience.After = time.Minute
	r, err := g.Reserve(t.Context(), "", false)
	if err != nil {
		t.Fatal(err)
	}
	m.Set(gputest.State{GPUs: two(), Apps: []gputest.App{{PID: holder.Process.Pid, UUID: gputest.UUID(1), Name: "sleep", Used: "9000 MiB", Living: true}}})
	time.AfterFunc(700*time.Millisecond, func() { _ = holder.Process.Kill(); _ = holder.Wait() })
	began := time.Now()
	if err := g.Prove(t.Context(), core.NewID(time.Now()), 0, r); err != nil {
		t.Error(err)
	}
	if took := time.Since(began); took < 700*time.Millisecond {
		t.Errorf("proved after %v, when the memory was still in use", took)
	}
}

// Launches that are in progress at once have GPUs of their own, and what one gives
// back the next one gets.
func TestShares(t *testing.T) {
	four := gputest.State{}
	for i := range 4 {
		four.GPUs = append(four.GPUs, gputest.GPU{UUID: gputest.UUID(i + 1)})
	}
	m := gputest.Install(t, four)
	g := guard(t, m)
	g.Parallel, g.PerLaunch = 2, 1
	g.Wanted = []string{"3", "1", "0"}
	reserve := func() *gpu.Reservation {
		t.Helper()
		r, err := g.Reserve(t.Context(), "", false)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	first, second := reserve(), reserve()
	if got := strings.Join(append(first.Names, second.Names...), " "); got != "3 1" || first.Ports == 0 || first.Ports != second.Ports {
		t.Errorf("GPUs %q, ports %d and %d; want 3 1 and one block", got, first.Ports, second.Ports)
	}
	if _, err := g.Reserve(t.Context(), "", false); err == nil || !strings.Contains(err.Error(), "2 launches have all") {
		t.Errorf("a third launch: %v", err)
	}
	if _, held, _ := g.Locks.Holder(gputest.UUID(1)); held {
		t.Error("a GPU that no launch can get is held")
	}
	g.Release(first)
	g.Release(first)
	if third := reserve(); strings.Join(third.Names, " ") != "3" {
		t.Errorf("after a release: GPUs %v", third.Names)
	}

	for _, tc := range []struct {
		parallel, each int
		fault          string
	}{
		{2, 2, "2 launches of 2 GPUs each (hardware.gpus) need 4, and there are 3"},
		{2, 0, "hardware.gpus is missing: how many of the 3 GPUs"},
	} {
		other := guard(t, m)
		other.Parallel, other.PerLaunch, other.Wanted = tc.parallel, tc.each, g.Wanted
		if _, err := other.Reserve(t.Context(), "", false); err == nil || !strings.Contains(err.Error(), tc.fault) {
			t.Errorf("%d of %d: %v, want %q", tc.parallel, tc.each, err, tc.fault)
		}
	}
	// Where nobody can tell which GPUs there are, none can be given away.
	blind := guard(t, gputest.Install(t, gputest.State{Fault: "error"}))
	blind.Parallel, blind.PerLaunch = 2, 1
	if _, err := blind.Reserve(t.Context(), "", false); err == nil || !strings.Contains(err.Error(), "which GPUs are here cannot be told") {
		t.Errorf("without nvidia-smi: %v", err)
	}
}

// A share whose GPU is full goes back.
func TestShareOfAFullGPU(t *testing.T) {
	m := gputest.Install(t, gputest.State{GPUs: []gputest.GPU{{UUID: gputest.UUID(1), Used: "20000 MiB"}, {UUID: gputest.UUID(2)}}})
	g := guard(t, m)
	g.Parallel, g.PerLaunch = 2, 1
	for range 2 {
		var refused *core.LaunchError
		if _, err := g.Reserve(t.Context(), "", false); !errors.As(err, &refused) || refused.Class != core.GPUDirty {
			t.Fatalf("a full GPU: %v", err)
		}
	}
}
