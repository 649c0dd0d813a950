package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/store"
)

// makeHistory writes a history of n trials through the store, the same one for the
// same n but for the ids that the store gives to the history itself. It audits
// nothing: the findings are made up like the figures, so that a million trials take
// minutes.
func makeHistory(ctx context.Context, path string, n int, progress func(done int)) error {
	at := time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)
	db, err := store.Open(ctx, path, store.Options{Now: func() time.Time { return at }, User: "generator", SweepbookVersion: "0.1.0"})
	if err != nil {
		return err
	}
	defer db.Close()
	const batch = 10_000
	trials := make([]*core.Trial, 0, batch)
	var launch *core.Launch
	for i := range n {
		if i%trialsOfLaunch == 0 {
			launch = launchOf(i / trialsOfLaunch)
		}
		trials = append(trials, trialOf(i, launch))
		if len(trials) < batch && i < n-1 {
			continue
		}
		outcomes, err := db.Import(ctx, trials)
		if err != nil {
			return err
		}
		for k, o := range outcomes {
			if o != core.ImportNew {
				return fmt.Errorf("trial %d was not new: outcome %d", i+1-len(trials)+k, o)
			}
		}
		progress(i + 1)
		trials = trials[:0]
	}
	return db.Close()
}

// A made-up history is written as a sweep writes one: configuration after
// configuration, each launched once a workload, and on each launch every load with its
// repeats.
const (
	repeatsOfLoad     = 5
	loadsOfLaunch     = 8
	launchesOfConfig  = 5
	trialsOfLaunch    = repeatsOfLoad * loadsOfLaunch
	studiesOfHistory  = 40
	secondsOfMadeTest = 60
)

// random is a source for one made-up thing, the same for the same kind and number.
func random(kind string, n int) *rand.Rand {
	seed := uint64(n) * 0x9e3779b97f4a7c15
	for _, b := range []byte(kind) {
		seed = seed*1099511628211 + uint64(b)
	}
	return rand.New(rand.NewPCG(seed, 20261201))
}

func pick[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

func setupOf(config int) core.Setup {
	r := random("config", config)
	engine := pick(r, "vllm", "vllm", "sglang", "trtllm")
	model := pick(r, "Qwen/Qwen3-32B", "meta-llama/Llama-3.1-8B-Instruct", "meta-llama/Llama-3.3-70B-Instruct", "deepseek-ai/DeepSeek-V3", "openai/gpt-oss-120b")
	knobs := core.Knobs{
		"max_num_seqs":       core.Number(pick(r, 64.0, 128, 256, 512, 1024)),
		"max_batched_tokens": core.Number(pick(r, 2048.0, 4096, 8192, 16384)),
		"chunked_prefill":    core.Bool(r.IntN(2) == 0),
		"tp":                 core.Number(pick(r, 1.0, 2, 4, 8)),
		"kv_cache_dtype":     core.String(pick(r, "auto", "fp8")),
		// What makes configurations many: a setting of many values, as a search tries it.
		"context_len": core.Number(float64(4096 + 16*config)),
	}
	if r.IntN(3) == 0 {
		delete(knobs, "max_batched_tokens")
	}
	s := core.Setup{
		Config:        core.Config{Engine: engine, Model: model, Checkpoint: model + pick(r, "", "-FP8", "-AWQ"), CommandKnown: r.IntN(10) > 0, Knobs: knobs},
		EngineVersion: pick(r, "0.9.2", "0.10.1", "0.11.0", "0.11.1rc1"),
		GPU:           pick(r, "NVIDIA H100 80GB HBM3", "NVIDIA H200", "NVIDIA B200"), GPUs: knobs["tp"].Num, Nodes: 1,
		Driver: pick(r, "550.54.15", "570.86.10"), WeightDtype: pick(r, "bf16", "fp8"), Tool: pick(r, "sweepbook", "vllm-bench"), ToolVersion: pick(r, "0.1.0", "0.2.0"),
	}
	if r.IntN(20) == 0 {
		s.Config.Engine, s.Tool, s.Simulated = "sim", "sweepbook", true
	}
	return s
}

func workloadOf(launch int) core.Workload {
	switch launch % launchesOfConfig {
	case 0:
		return core.Workload{Name: "sharegpt", Dataset: "sharegpt", Turns: core.Number(1)}
	case 1:
		return core.Workload{Name: "short", Dataset: "random", InputLen: core.Number(128), OutputLen: core.Number(4), IgnoreEOS: core.Bool(true)}
	case 2:
		return core.Workload{Name: "medium", Dataset: "random", InputLen: core.Number(2000), OutputLen: core.Number(100), IgnoreEOS: core.Bool(true)}
	case 3:
		return core.Workload{Name: "long", Dataset: "random", InputLen: core.Number(4000), OutputLen: core.Number(200), IgnoreEOS: core.Bool(true)}
	}
	return core.Workload{Name: "very-long", Dataset: "random", InputLen: core.Number(32000), OutputLen: core.Number(100), IgnoreEOS: core.Bool(true)}
}

func loadOf(n int) core.Load {
	l := core.Load{Concurrency: core.Number(float64(int(1) << (n % loadsOfLaunch))), RequestRate: core.Unlimited(), NumPrompts: core.Number(500), Seed: core.Number(42)}
	if n%loadsOfLaunch == loadsOfLaunch-1 {
		l.Concurrency, l.RequestRate, l.Burstiness = core.Missing(), core.Number(16), core.Number(1)
	}
	return l
}

// madeID is a UUIDv7 of a made-up moment, in the order of the trials.
func madeID(kind byte, n int, at time.Time) core.ID {
	var id core.ID
	ms := uint64(at.UnixMilli())
	for i := range 6 {
		id[i] = byte(ms >> (8 * (5 - i)))
	}
	id[6], id[8], id[9] = 0x70, 0x80, kind
	for i := range 4 {
		id[12+i] = byte(n >> (8 * (3 - i)))
	}
	return id
}

func startOf(n int) time.Time {
	return time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(n) * secondsOfMadeTest * time.Second)
}

func launchOf(n int) *core.Launch {
	r := random("launch", n)
	s := setupOf(n / launchesOfConfig)
	resolved := core.Knobs{"block_size": core.Number(16), "gpu_memory_utilization": core.Number(0.9)}
	if r.IntN(2) == 0 {
		resolved["max_batched_tokens"] = core.Number(8192)
	}
	return &core.Launch{ID: madeID(1, n, startOf(n*trialsOfLaunch)), Setup: s, Argv: []string{s.Config.Engine, "serve", s.Config.Checkpoint, "--port", "8000"},
		Resolved: resolved, StartedAt: startOf(n * trialsOfLaunch), LoadS: core.Number(20 + 40*r.Float64()), ReadyS: core.Number(70 + 60*r.Float64()),
		CompileWarm: core.Bool(r.IntN(4) > 0), Host: fmt.Sprintf("node-%d", 1+r.IntN(16))}
}

func trialOf(n int, launch *core.Launch) *core.Trial {
	r := random("trial", n)
	of := n / trialsOfLaunch
	config := of / launchesOfConfig
	point := n % trialsOfLaunch / repeatsOfLoad
	t := &core.Trial{
		ID: madeID(2, n, startOf(n)), Study: fmt.Sprintf("study-%02d", config%studiesOfHistory), Stage: pick(random("stage", config), "engine", "quantization", "batching"),
		Option: fmt.Sprintf("context_len=%d", 4096+16*config), Role: core.RoleCandidate, Status: core.StatusOK, Attempt: 1, Repeat: 1 + n%repeatsOfLoad,
		Setup: launch.Setup, Workload: workloadOf(of), Load: loadOf(point), Launch: launch, Host: launch.Host,
		StartedAt: startOf(n), EndedAt: startOf(n).Add(secondsOfMadeTest * time.Second),
		Figures: core.Figures{},
	}
	if config%studiesOfHistory == config%100 {
		t.Role = core.RoleBaseline
	}
	if r.IntN(10) == 0 {
		t.Extra = map[string]core.Value{"note": core.String(pick(r, "warm", "cold", "quiet machine"))}
	}
	switch r.IntN(100) {
	case 0, 1, 2:
		t.Status, t.Failure, t.FailureText = core.StatusFailed, pick(r, core.OOMKV, core.Crash, core.StartupTimeout), "CUDA out of memory"
		return t
	case 3:
		t.Status = pick(r, core.StatusStopped, core.StatusPlanned, core.StatusLost)
		return t
	}
	madeFigures(t, r, config, of, point)
	madeFindings(t, r)
	return t
}

// madeFigures gives a trial figures that hang together: the faster the setup and the
// higher the load, the more tokens a second and the longer the waits.
func madeFigures(t *core.Trial, r *rand.Rand, config, launch, point int) {
	set := func(name string, v float64) { t.Figures.Set(name, math.Round(v*1e4)/1e4) }
	speed := (0.5 + random("speed", config).Float64()) * t.Setup.GPUs * (0.98 + 0.04*r.Float64())
	in, out := 220.0, 180.0
	if l := t.Workload.InputLen; l.Kind == core.KindNumber {
		in, out = l.Num, t.Workload.OutputLen.Num
	}
	load := math.Pow(2, float64(point))
	requests, completed := t.Load.NumPrompts.Num, t.Load.NumPrompts.Num
	if r.IntN(12) == 0 {
		completed -= float64(1 + r.IntN(20))
	}
	rate := speed * 40 * load / (load + 24) / (1 + (in+8*out)/2000)
	duration := completed / rate
	if r.IntN(10) > 0 {
		set("completed", completed)
		set("failed", requests-completed)
	} else {
		// Its source states neither how many requests were asked nor how many failed.
		t.Load.NumPrompts = core.Missing()
		set("completed", completed)
	}
	set("duration_s", duration)
	// Prompts are drawn at random, so that no two trials have the same counts.
	set("input_tokens", math.Round(completed*in*(0.9+0.2*r.Float64())))
	set("output_tokens", math.Round(completed*out*(0.9+0.2*r.Float64())))
	set("rps", rate)
	set("output_tps", rate*out)
	set("input_tps", rate*in)
	set("total_tps", math.Round(rate*(in+out)*10)/10)
	set("mean_concurrency", load*0.9)
	set("peak_concurrency", load)
	latency := func(name string, mean float64) {
		for _, s := range []struct {
			stat  string
			times float64
		}{{"mean", 1}, {"median", 0.9}, {"std", 0.4}, {"min", 0.3}, {"max", 5}, {"p90", 1.6}, {"p95", 2}, {"p99", 3.5}} {
			set(s.stat+"_"+name+"_ms", mean*s.times*(0.95+0.1*r.Float64()))
		}
	}
	latency("ttft", 20+in/50/speed*math.Sqrt(load))
	latency("tpot", 6+load/8/speed)
	if r.IntN(3) > 0 {
		latency("itl", 6+load/8/speed)
	}
	if r.IntN(4) > 0 {
		latency("e2el", 20+in/50/speed*math.Sqrt(load)+(6+load/8/speed)*out)
	}
	if !t.Setup.Simulated && r.IntN(3) > 0 {
		power := t.Setup.GPUs * (350 + 300*r.Float64())
		set("mean_power_w", power)
		set("energy_j", power*duration)
		set("sm_clock_mhz", 1700+200*r.Float64())
		set("peak_memory_mib", t.Setup.GPUs*(60000+15000*r.Float64()))
	}
}

func madeFindings(t *core.Trial, r *rand.Rand) {
	switch k := r.IntN(200); {
	case k < 1:
		t.Findings = []core.Finding{{Rule: "A3x", Version: 1, Severity: core.SeverityVoid, Metrics: []string{"*"}, Evidence: "tokens per second differ from tokens / duration by 31 %"}}
	case k < 5:
		t.Findings = []core.Finding{{Rule: "A1", Version: 1, Severity: core.SeverityHard, Metrics: []string{"total_tps", "output_tps"}, Evidence: "output_tps 2101 < total_tps 1980"}}
	case k < 25:
		t.Findings = []core.Finding{{Rule: "B4", Version: 1, Severity: core.SeverityNote, Metrics: []string{"p99_ttft_ms"}, Evidence: "500 requests say little of a p99"}}
	case k < 45:
		t.Findings = []core.Finding{{Rule: "C2", Version: 1, Severity: core.SeverityInfo, Metrics: nil, Evidence: "the prompts repeat"}}
	}
}
