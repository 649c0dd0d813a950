//go:build linux

package main

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sweepbook/sweepbook/plugins/serving/servingtest"
)

var (
	tortureRounds = flag.Int("rounds", 8, "rounds of TestTorture")
	tortureSeed   = flag.Uint64("torture-seed", 0, "seed of TestTorture; 0 draws one")
)

// TestTorture kills -9 parts of a run at moments drawn from a printed seed, again and
// again over one history that grows, as root and as an ordinary user, with and without
// a cgroup, and resumes. After each round every trial that was acknowledged is there
// once and as it was told, in this round and in all before; every one that was cut is
// lost or failed; nothing is left running, no GPU is held; and the file is whole by
// the checks of [ledger.check].
func TestTorture(t *testing.T) {
	seed := *tortureSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("%d rounds, seed %d: make torture ROUNDS=%d SEED=%d repeats them", *tortureRounds, seed, *tortureRounds, seed)
	k := newTorturer(t, seed)
	began := time.Now()
	for _, f := range servingtest.Fakes() {
		k.calm(f.Engine)
	}
	for i := 0; i < *tortureRounds && !t.Failed(); i++ {
		k.round(i)
		if done := i + 1; done%25 == 0 {
			t.Logf("%d rounds in %v: %s", done, time.Since(began).Round(time.Second), k.ledger)
		}
	}
	k.report(time.Since(began))
}

// victims are the parts of a run that are killed, together where there are several.
var victims = [][]string{{"core"}, {"plugin"}, {"shim"}, {"server"}, {"core", "shim"}, {"core", "plugin", "shim"}}

// torturer is a machine with one GPU, three engines and one history, and what was
// done to it.
type torturer struct {
	*machine
	rng    *rand.Rand
	ledger *ledger
	whole  map[string]time.Duration // of a run that nobody disturbs, by engine
	killed map[string]int           // by victim and engine
	under  map[string]int           // kills by setting
	fates  map[string]int           // of trials
	late   int                      // draws whose victim was gone already
}

func newTorturer(t *testing.T, seed uint64) *torturer {
	return &torturer{machine: newMachine(t), rng: rand.New(rand.NewPCG(seed, 0)), ledger: newLedger(), whole: map[string]time.Duration{},
		killed: map[string]int{}, under: map[string]int{}, fates: map[string]int{}}
}

// calm finds how long a run of an engine takes that nobody disturbs.
func (k *torturer) calm(engine string) {
	name := "calm-" + engine
	k.use(k.settings[0])
	k.study(name, engine, 1)
	began := time.Now()
	code, said := k.start("run", name+".yaml").wait(k.t)
	if code != 0 {
		k.t.Fatalf("a run that nobody disturbs ends with code %d:\n%s", code, said)
	}
	k.whole[engine] = time.Since(began)
	k.judge(name, []string{said}, 2)
	k.ledger.check(k.t, k.machine, name)
}

const tortureStudy = `study: %s
model: {name: test/model-8B}
engines: {%s: {cmd: sweepbook fake-%s}}
run: {timeouts: {ready: 30s, trial: 30s}, gpu: {free_within: 5s}}
load: {concurrency: [1, 2]}
workloads:
  chat: {dataset: random, input: 16, output: 12, requests: 4, seed: 1}
objective: max output_tps where success_rate == 1
baseline: {engine: %s, env: {SERVINGTEST_PACE: 5ms}}
`

// A study has two trials on one launch, or as many again on a second one.
const secondStage = `stages:
  - {name: next, try: [{name: other, max_num_seqs: 8}]}
`

func (k *torturer) study(name, engine string, launches int) {
	text := fmt.Sprintf(tortureStudy, name, engine, engine, engine)
	if launches > 1 {
		text += secondStage
	}
	k.write(name+".yaml", text)
}

// round is one study that is killed once or more and resumed until it is finished.
func (k *torturer) round(i int) {
	t := k.t
	setting := k.settings[k.rng.IntN(len(k.settings))]
	engine := servingtest.Fakes()[k.rng.IntN(len(servingtest.Fakes()))].Engine
	launches := 1 + k.rng.IntN(4)/3 // most rounds are short
	k.use(setting)
	name := fmt.Sprintf("round-%d", i)
	k.study(name, engine, launches)
	var told, done []string
	kills := 0
	for run := 0; ; run++ {
		if run == 12 {
			t.Fatalf("%s %v: not finished after %d runs:\n%s", name, done, run, strings.Join(told, "\n---\n"))
		}
		began := time.Now()
		r := k.start("run", name+".yaml")
		var struck []string
		// The first run is killed; the one that resumes is, one time in four, again.
		if kills == 0 || run < 8 && k.rng.IntN(4) == 0 {
			struck = victims[k.rng.IntN(len(victims))]
			at := time.Duration(k.rng.Int64N(int64(launches) * int64(k.whole[engine])))
			if k.strike(r, struck, at) {
				kills++
				k.killed[strings.Join(struck, "+")+" "+engine]++
				k.under[setting.name]++
				done = append(done, fmt.Sprintf("%v of %s killed after %v %s", struck, engine, at, setting.name))
			} else {
				k.late++
				struck = nil
			}
		}
		code, said := r.wait(t)
		told = append(told, said)
		if struck == nil && len(told) == 1 {
			// A whole run, on a machine that may be slower or faster by now.
			k.whole[engine] = (k.whole[engine] + time.Since(began)/time.Duration(launches)) / 2
		}
		if struck != nil {
			// With both gone, only the next start can know of the server.
			if !slices.Contains(struck, "core") || !slices.Contains(struck, "shim") {
				k.gone(strings.Join(done, "; "))
			}
			continue
		}
		// 3: a server that was killed has failed for good, and nothing else was tried.
		if code != 0 && code != exitNothing {
			t.Errorf("%s %v: a run that nobody killed ends with code %d:\n%s", name, done, code, strings.Join(told, "\n---\n"))
		}
		if kills > 0 || t.Failed() {
			break
		}
		// Its victim was not there any more: another moment is drawn, on another study.
		k.gone(name + " undisturbed")
		k.judge(name, told, 2*launches)
		k.ledger.check(t, k.machine, name)
		name, told = fmt.Sprintf("round-%d-%d", i, run), nil
		k.study(name, engine, launches)
	}
	k.gone(strings.Join(done, "; ") + "; resumed")
	k.judge(name, told, 2*launches)
	k.ledger.check(t, k.machine, name)
	if t.Failed() {
		t.Logf("%s: %s", name, strings.Join(done, "; "))
	}
}

// strike kills the victims at their moment, or as soon after it as all are there. It
// reports false when the run ended before.
func (k *torturer) strike(r *running, parts []string, at time.Duration) bool {
	time.Sleep(at)
	for !ended(r.cmd.Process.Pid) {
		if pids := k.find(parts, r.cmd.Process.Pid); pids != nil {
			struck := false
			for _, pid := range pids {
				struck = syscall.Kill(pid, syscall.SIGKILL) == nil || struck
			}
			return struck
		}
		time.Sleep(5 * time.Millisecond)
	}
	return false
}

// find looks for the parts of a run among the living; nil where one is missing.
func (k *torturer) find(parts []string, core int) []int {
	living := k.processes()
	var pids []int
	for _, part := range parts {
		found := 0
		for pid, text := range living {
			_, args, _ := strings.Cut(text, " ")
			is := false
			switch part {
			case "core":
				is = pid == core
			case "plugin":
				is = strings.HasPrefix(args, "engine-serve")
			case "shim":
				is = strings.HasPrefix(args, "shim")
			case "server":
				is = strings.HasPrefix(args, "fake-") && strings.Contains(args, "--port")
			}
			if is {
				found = pid
			}
			if is && part == "server" {
				k.confined(pid)
			}
		}
		if found == 0 {
			return nil
		}
		pids = append(pids, found)
	}
	// Which of them dies first is a matter of chance as well.
	k.rng.Shuffle(len(pids), func(i, j int) { pids[i], pids[j] = pids[j], pids[i] })
	return pids
}

// report tells the figures.
func (k *torturer) report(took time.Duration) {
	total := 0
	for _, parts := range victims {
		victim := strings.Join(parts, "+")
		var list []string
		for _, f := range servingtest.Fakes() {
			n := k.killed[victim+" "+f.Engine]
			total += n
			list = append(list, fmt.Sprintf("%s %d", f.Engine, n))
		}
		k.t.Logf("killed %-16s %s", victim, strings.Join(list, ", "))
	}
	k.t.Logf("%d kills in %v, %d draws came too late; kills %s; trials: %s; %s", total, took.Round(time.Second), k.late,
		counts(k.under), counts(k.fates), k.ledger)
}

func counts(of map[string]int) string {
	var list []string
	for name, n := range of {
		list = append(list, fmt.Sprintf("%s %d", name, n))
	}
	slices.Sort(list)
	return strings.Join(list, ", ")
}

// write makes a file of the machine for the user of the round.
func (m *machine) write(name, text string) {
	path := filepath.Join(m.dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		m.t.Fatal(err)
	}
	if err := os.Chown(path, m.now.uid, -1); err != nil {
		m.t.Fatal(err)
	}
}
