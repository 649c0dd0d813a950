//go:build linux

package main

import (
	"encoding/csv"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sweepbook/sweepbook/plugins/gpu"
	"github.com/sweepbook/sweepbook/plugins/gpu/gputest"
	"github.com/sweepbook/sweepbook/plugins/serving/servingtest"
)

var (
	killCount = flag.Int("kills", 6, "kills of TestKills")
	killSeed  = flag.Uint64("kills-seed", 0, "seed of TestKills; 0 draws one")
)

// TestKills kills -9 a part of a run at a moment drawn from a printed seed, again
// and again on one history, and resumes it: every trial that was acknowledged is
// there once and as it was told, every one that was cut is lost or failed, nothing
// is left running, no GPU is held, and the file is whole.
func TestKills(t *testing.T) {
	seed := *killSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("%d kills, seed %d: repeat with -kills=%d -kills-seed=%d", *killCount, seed, *killCount, seed)
	k := newKiller(t, rand.New(rand.NewPCG(seed, 0)))
	for i := 0; i < *killCount && !t.Failed(); i++ {
		k.round(i)
	}
	k.report()
}

// victims are the parts of a run that are killed.
var victims = []string{"core", "plugin", "shim", "server"}

// killer is a machine with one GPU, three engines and one history.
type killer struct {
	t      *testing.T
	rng    *rand.Rand
	dir    string
	smi    *gputest.Machine
	whole  map[string]time.Duration // of a run that nobody disturbs, by engine
	killed map[string]int           // by victim and engine
	fates  map[string]int           // of trials
	late   int                      // draws whose victim was gone already
	took   time.Duration
}

func newKiller(t *testing.T, rng *rand.Rand) *killer {
	k := &killer{t: t, rng: rng, dir: t.TempDir(), whole: map[string]time.Duration{}, killed: map[string]int{}, fates: map[string]int{},
		smi: gputest.Install(t, gputest.State{GPUs: []gputest.GPU{{UUID: gputest.UUID(1)}}})}
	if err := os.WriteFile(filepath.Join(k.dir, "local.yaml"), fmt.Appendf(nil, "ports: %d\n", testPorts()), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for pid, text := range k.processes() {
			t.Errorf("left at the end: %d %s", pid, text)
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	})
	return k
}

// calm is how long a run of an engine takes that nobody disturbs.
func (k *killer) calm(engine string) time.Duration {
	if d, known := k.whole[engine]; known {
		return d
	}
	name := "calm-" + engine
	k.study(name, engine)
	began := time.Now()
	code, said := k.run(name).wait(k.t)
	if code != 0 {
		k.t.Fatalf("a run that nobody disturbs ends with code %d:\n%s", code, said)
	}
	k.whole[engine] = time.Since(began)
	k.judge(name, []string{said})
	return k.whole[engine]
}

const killsStudy = `study: %s
model: {name: test/model-8B}
engines: {%s: {cmd: sweepbook fake-%s}}
run: {timeouts: {ready: 30s, trial: 30s}, gpu: {free_within: 5s}}
load: {concurrency: [1, 2]}
workloads:
  chat: {dataset: random, input: 16, output: 12, requests: 4, seed: 1}
objective: max output_tps where success_rate == 1
baseline: {engine: %s, env: {SERVINGTEST_PACE: 5ms}}
stages:
  - {name: next, try: [{name: other, max_num_seqs: 8}]}
`

// planned is how many trials such a study has: two configurations, two loads.
const planned = 4

func (k *killer) study(name, engine string) {
	text := fmt.Sprintf(killsStudy, name, engine, engine, engine)
	if err := os.WriteFile(filepath.Join(k.dir, name+".yaml"), []byte(text), 0o600); err != nil {
		k.t.Fatal(err)
	}
}

// running is a run in progress.
type running struct {
	cmd  *exec.Cmd
	said *os.File
}

func (k *killer) command(args ...string) *exec.Cmd {
	cmd := exec.Command("sweepbook", append([]string{"--db", "history.db"}, args...)...)
	cmd.Dir = k.dir
	cmd.Env = append(os.Environ(), "HOME="+k.dir, "XDG_STATE_HOME=", "XDG_DATA_HOME="+filepath.Join(k.dir, "data"), "TMPDIR="+k.dir,
		"SWEEPBOOK_LOCK_DIR="+filepath.Join(k.dir, "locks"), "PATH="+filepath.Dir(k.smi.Path)+":"+os.Getenv("PATH"))
	return cmd
}

func (k *killer) run(name string) *running {
	k.t.Helper()
	said, err := os.CreateTemp(k.dir, name+"-*.said")
	if err != nil {
		k.t.Fatal(err)
	}
	r := &running{k.command("run", name+".yaml"), said}
	r.cmd.Stdout, r.cmd.Stderr = said, said
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := r.cmd.Start(); err != nil {
		k.t.Fatal(err)
	}
	return r
}

// wait waits for the end of a run and returns its exit code and what it said.
func (r *running) wait(t *testing.T) (int, string) {
	t.Helper()
	limit := time.AfterFunc(2*time.Minute, func() {
		t.Error("a run does not end")
		_ = r.cmd.Process.Kill()
	})
	err := r.cmd.Wait()
	limit.Stop()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	text, err := os.ReadFile(r.said.Name())
	if err = errors.Join(err, r.said.Close(), os.Remove(r.said.Name())); err != nil {
		t.Fatal(err)
	}
	return r.cmd.ProcessState.ExitCode(), string(text)
}

// processes lists what is alive of this machine: what has its folder as its home,
// works in it, or carries the marker of one of its launches.
func (k *killer) processes() map[int]string {
	out := map[int]string{}
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		pid, _ := strconv.Atoi(filepath.Base(dir))
		command, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
		if len(command) == 0 || pid == os.Getpid() {
			continue
		}
		environ, _ := os.ReadFile(filepath.Join(dir, "environ"))
		cwd, _ := os.Readlink(filepath.Join(dir, "cwd"))
		if strings.Contains("\x00"+string(environ), "\x00HOME="+k.dir+"\x00") || strings.HasPrefix(cwd, k.dir) || k.launched(string(environ)) {
			out[pid] = strings.ReplaceAll(string(command), "\x00", " ")
		}
	}
	return out
}

// launched reports whether an environment carries the marker of a launch of this
// machine: it is all that a shim has.
func (k *killer) launched(environ string) bool {
	for entry := range strings.SplitSeq(environ, "\x00") {
		if launch, ok := strings.CutPrefix(entry, launchMarker); ok {
			_, err := os.Stat(filepath.Join(k.dir, "launches", launch))
			return err == nil
		}
	}
	return false
}

// find looks for the victim among the living; 0 for none.
func (k *killer) find(victim string, core int) int {
	if victim == "core" {
		return core
	}
	for pid, text := range k.processes() {
		_, args, _ := strings.Cut(text, " ")
		switch victim {
		case "plugin":
			if strings.HasPrefix(args, "engine-serve") {
				return pid
			}
		case "shim":
			if strings.HasPrefix(args, "shim") {
				return pid
			}
		case "server":
			if strings.HasPrefix(args, "fake-") && !strings.HasPrefix(args, "fake-nvidia-smi") {
				return pid
			}
		}
	}
	return 0
}

// round is one kill and the resumption after it.
func (k *killer) round(i int) {
	t := k.t
	engine := servingtest.Fakes()[k.rng.IntN(len(servingtest.Fakes()))].Engine
	victim := victims[k.rng.IntN(len(victims))]
	whole := k.calm(engine)
	began := time.Now()
	var r *running
	var at time.Duration
	var name string
	for try := 0; ; try++ {
		if try == 20 {
			t.Fatalf("kill %d: no %s of %s was met in %d draws", i, victim, engine, try)
		}
		at = time.Duration(k.rng.Int64N(int64(whole)))
		name = fmt.Sprintf("kill-%d-%d", i, try)
		k.study(name, engine)
		r = k.run(name)
		if k.strike(r, victim, at) {
			break
		}
		// Its victim was not there any more: another moment is drawn.
		k.late++
		if code, said := r.wait(t); code != 0 {
			t.Fatalf("%s, which nobody killed, ends with code %d:\n%s", name, code, said)
		}
	}
	_, said := r.wait(t)
	k.gone(fmt.Sprintf("%s: %s of %s killed after %v", name, victim, engine, at))
	told := []string{said}
	for resumed := 0; ; resumed++ {
		code, said := k.run(name).wait(t)
		told = append(told, said)
		// 3: a server that was killed has failed for good, and nothing else was tried.
		if code == 0 || code == exitNothing {
			break
		}
		if resumed == 3 {
			t.Fatalf("%s: %s of %s killed after %v: cannot be resumed, code %d:\n%s", name, victim, engine, at, code, strings.Join(told, "\n---\n"))
		}
	}
	k.gone(name + " resumed")
	k.judge(name, told)
	k.killed[victim+" "+engine]++
	k.took += time.Since(began)
}

// strike kills the victim at its moment, or as soon after it as there is one. It
// reports false when the run ended before.
func (k *killer) strike(r *running, victim string, at time.Duration) bool {
	time.Sleep(at)
	for !ended(r.cmd.Process.Pid) {
		if pid := k.find(victim, r.cmd.Process.Pid); pid != 0 {
			return syscall.Kill(pid, syscall.SIGKILL) == nil
		}
		time.Sleep(2 * time.Millisecond)
	}
	return false
}

// ended reports whether a child that nobody has waited for has ended.
func ended(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || strings.Contains(string(stat), ") Z ")
}

// gone waits until nothing of the machine runs and nobody holds its GPU.
func (k *killer) gone(when string) {
	k.t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for {
		left := k.processes()
		if len(left) == 0 {
			break
		}
		if time.Now().After(deadline) {
			k.t.Fatalf("%s: still running: %v", when, left)
		}
		time.Sleep(20 * time.Millisecond)
	}
	if by, held, err := (gpu.Locks{Dir: filepath.Join(k.dir, "locks")}).Holder(gputest.UUID(1)); held || err != nil {
		k.t.Errorf("%s: the GPU is held by %+v, %v", when, by, err)
	}
	if bad, err := (gpu.Quarantine{Dir: filepath.Join(k.dir, ".local", "state", "sweepbook", "quarantine")}).All(); len(bad) > 0 || err != nil {
		k.t.Errorf("%s: in quarantine: %+v, %v", when, bad, err)
	}
}

var acknowledged = regexp.MustCompile(`(?m)^  trial  (\d+) \S+ c=\d+(.*)$`)

// judge reads the history of a study that is finished and holds it against what its
// runs had told.
func (k *killer) judge(name string, told []string) {
	t := k.t
	t.Helper()
	if out, err := k.command("db", "check").CombinedOutput(); err != nil || string(out) != "ok\n" {
		t.Errorf("%s: db check: %s %v", name, out, err)
	}
	out, err := k.command("-o", "csv", "query", fmt.Sprintf("show number, option, concurrency, attempt, status, failure where study == %q order by number", name)).Output()
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	rows, err := csv.NewReader(strings.NewReader(string(out))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	rows = rows[1:]
	status, settled, attempts := map[string]string{}, map[string]int{}, map[string]bool{}
	for _, row := range rows {
		number, plan, state := row[0], row[1]+" c="+row[2], row[4]
		k.fates[strings.TrimSuffix(state+" "+row[5], " ")]++
		if status[number] != "" || attempts[plan+row[3]] {
			t.Errorf("%s: trial %s (%s, attempt %s) is there twice", name, number, plan, row[3])
		}
		status[number], attempts[plan+row[3]] = state, true
		switch state {
		case "ok":
			settled[plan]++
		case "failed":
			if !slices.Contains([]string{"plugin_crash", "interrupted", "port_in_use"}, row[5]) {
				settled[plan]++
			}
		case "lost":
		default:
			t.Errorf("%s: trial %s (%s) is %s", name, number, plan, state)
		}
	}
	for plan, n := range settled {
		if n != 1 {
			t.Errorf("%s: %s is settled %d times", name, plan, n)
		}
	}
	if len(settled) != planned {
		t.Errorf("%s: %d of %d planned trials are settled: %v", name, len(settled), planned, rows)
	}
	for _, text := range told {
		for _, m := range acknowledged.FindAllStringSubmatch(text, -1) {
			want := "ok"
			if strings.HasPrefix(m[2], ": ") {
				want, _, _ = strings.Cut(strings.TrimPrefix(m[2], ": "), " ")
			}
			if status[m[1]] != want {
				t.Errorf("%s: trial %s was told as %s and is %q in the history", name, m[1], want, status[m[1]])
			}
			k.fates["acknowledged"]++
		}
	}
	if t.Failed() {
		t.Logf("history of %s:\n%s\nits runs said:\n%s", name, out, strings.Join(told, "\n---\n"))
	}
}

// report tells the figures.
func (k *killer) report() {
	total := 0
	for _, victim := range victims {
		var parts []string
		for _, f := range servingtest.Fakes() {
			n := k.killed[victim+" "+f.Engine]
			total += n
			parts = append(parts, fmt.Sprintf("%s %d", f.Engine, n))
		}
		k.t.Logf("killed %-6s %s", victim, strings.Join(parts, ", "))
	}
	var fates []string
	for fate := range k.fates {
		fates = append(fates, fmt.Sprintf("%s %d", fate, k.fates[fate]))
	}
	slices.Sort(fates)
	k.t.Logf("%d kills in %v, %d draws came too late; trials: %s", total, k.took.Round(time.Second), k.late, strings.Join(fates, ", "))
}
