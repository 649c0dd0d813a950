package core

import (
	"context"
	"time"
)

// Engine is a serving engine as Sweepbook sees it. The same interface serves in
// the same process, across the plugin wire and in tests. An engine owns no
// process: the host starts what Plan says and hands the running server to Launch.
//
// A call that an engine leaves to the host returns ErrUnimplemented; that is
// allowed for Benchmark (the host's ruler measures) and Probe.
type Engine interface {
	// Info says who the engine is and which knobs it documents.
	Info(ctx context.Context) (EngineInfo, error)
	// Probe finds out what is installed on this machine. It starts no server.
	Probe(ctx context.Context, origin Origin) (Installation, error)
	// Plan turns a configuration into exact commands. It has no side effects and
	// gives the same answer for the same request. A knob that the engine cannot
	// express is an error that names it.
	Plan(ctx context.Context, req PlanRequest) (Plan, error)
	// Launch watches a server that the host has started from the plan until it is
	// ready, and proves that it is ours. It returns when one real streamed
	// completion has come back, or with a *LaunchError.
	Launch(ctx context.Context, req LaunchRequest, progress func(Progress)) (Ready, error)
	// Benchmark measures one trial and gives its samples in batches, in the order
	// in which requests ended.
	Benchmark(ctx context.Context, req BenchmarkRequest, sink Sink) error
	// Stop asks the server to end in its own polite way. The host ends it anyway
	// after a grace time.
	Stop(ctx context.Context, req StopRequest) error
	// Diagnose reads what is left of a failed server and names the class of
	// failure with the line that proves it.
	Diagnose(ctx context.Context, req DiagnoseRequest) (Diagnosis, error)
}

// Preparer is an Engine that can tell, before any GPU is held, what a launch needs
// and this machine lacks. An engine that cannot, or a plugin that leaves it out
// (ErrUnimplemented), is launched without.
type Preparer interface {
	// Prepare looks whether a plan can be started here. It starts no server, holds
	// no GPU and fetches nothing: that is the host's, by the command of a Need. What
	// is missing is no error.
	Prepare(ctx context.Context, req PrepareRequest) (Preparation, error)
}

// PrepareRequest is a plan that was not started yet, with what it was made from.
type PrepareRequest struct {
	PlanRequest
	Plan Plan
}

// Preparation is what is known of a plan before its launch.
type Preparation struct {
	// Facts are fields of the trials that the plan would be launched for
	// ("engine_version", "gpu", "extra.checkpoint_revision").
	Facts map[string]Value
	Needs []Need    // all that was looked for, missing or not
	Flags []BadFlag // what the engine of this machine will refuse
	Notes []string  // what could not be looked at, for people
}

// Need is one thing that a launch needs.
type Need struct {
	Kind    string // "engine", "image", "model", "data"
	Name    string // "Qwen/Qwen3-8B"
	Found   string // where, or in which revision or digest; "" is missing
	Problem string // what is missing and what to do about it
	// Fetch is the command that gets it, run by the host with the environment of a
	// server, the study's secrets and Env; empty where there is none.
	Fetch  []string
	Env    map[string]string
	Denied string // what to do where access is refused
}

// BadFlag is a flag of a command that an engine does not take.
type BadFlag struct {
	Flag string // as it stands in the command, without its value
	Text string // what is wrong and what may have been meant
}

// EngineInfo says who an engine is.
type EngineInfo struct {
	Name      string     // "sim"
	Version   string     // of the adapter
	Simulated bool       // trials must be marked
	Knobs     []KnobInfo // the documented ones; other flags pass through
}

// KnobInfo documents one knob of an engine.
type KnobInfo struct {
	Name    string // canonical name
	Flag    string // as the engine spells it, "--max-num-seqs"
	Type    Type
	Default Value // documented default; Missing where it depends
	Doc     string
}

// Installation is what a Probe found.
type Installation struct {
	Version string // of the engine; "" unknown
	Command string // resolved executable
	Detail  string // one line for people
}

// PlanRequest is a configuration bound to a place on this machine.
type PlanRequest struct {
	Config  Config
	Origin  Origin
	Host    string   // address to listen on, "127.0.0.1"
	Port    int      // allotted by the host
	GPUs    []string // UUIDs or indexes
	WorkDir string   // private folder of the launch
	// ModelPath is where the checkpoint lies on this machine, a folder that is loaded
	// in its place and served under its name; "" loads it by name.
	ModelPath string
}

// Plan is what the host starts. One process today; several, with their
// dependencies, for disaggregated serving.
type Plan struct {
	Processes []Process
	Ready     ReadyRule
	// SetupHints are facts that the plan already knows ("weight_dtype": "fp8",
	// "gpu": …), by field name.
	SetupHints map[string]Value
}

// Process is one server process of a plan.
type Process struct {
	Name  string
	Argv  []string
	Env   map[string]string // beside the allow-listed environment of the host
	Files []PlanFile        // written before the start, relative to WorkDir
	GPUs  []string
	After []string // names of processes that must be ready first
}

// PlanFile is a file that the host writes into the launch's folder.
type PlanFile struct {
	Path string
	Data []byte
}

// ReadyRule says how long a server may take and how it is reached.
type ReadyRule struct {
	BaseURL string        // "http://127.0.0.1:21000"
	Model   string        // served model id
	Timeout time.Duration // cap from the start
	Idle    time.Duration // without any progress in log or probe; 0 is no watchdog
}

// LaunchRequest hands a started server to its engine.
type LaunchRequest struct {
	Plan    Plan
	PIDs    []int  // leader of each process, in plan order
	LogPath string // where the output goes
}

// Progress is one step of a launch or benchmark, for people and watchdogs.
type Progress struct {
	Phase   string // "load", "compile", "ready", "warm-up", "measure"
	Message string
	Done    int // requests ended, for "measure"
	Total   int
}

// Ready is a server that answers.
type Ready struct {
	BaseURL  string
	Model    string
	Version  string // of the engine, as the server says
	Resolved Knobs  // settings read back, by canonical name
	LoadS    Value  // weights loaded, seconds after start
	Facts    map[string]Value
}

// BenchmarkRequest is one trial to be measured.
type BenchmarkRequest struct {
	Trial    ID
	BaseURL  string
	Model    string
	Config   Config // of the launched server
	Workload Workload
	Load     Load
	Warmup   int // requests that come before and never count
	// DataPath is the data set file on this machine, where the workload has one.
	DataPath string
	// RequestTimeout ends one request; IdleTimeout ends a request whose stream
	// moves nothing. Zero is none.
	RequestTimeout time.Duration
	IdleTimeout    time.Duration
}

// Sink receives what a benchmark produces. A sink's error ends the benchmark.
type Sink interface {
	Samples(batch []Sample) error
	Progress(p Progress)
	// Summary receives the tool's own figures, which go to extra.*, once at most.
	Summary(extra map[string]Value)
}

// StopRequest names the server to end.
type StopRequest struct {
	// BaseURL is where the server answers; empty where another process has its port, so
	// that nothing may be asked there.
	BaseURL string
	PIDs    []int
	Grace   time.Duration
}

// DiagnoseRequest is what is left of a failed server.
type DiagnoseRequest struct {
	LogTail  string // the end of the bounded log, at most 256 KiB
	ExitCode int    // -1 still running, 128+n for a signal
	Phase    string // "start", "load", "measure", "stop"
}

// Diagnosis is a failure class and the line that proves it.
type Diagnosis struct {
	Class FailureClass
	Line  string
}

// LaunchError is why a server did not become ready.
type LaunchError struct {
	Class FailureClass
	Line  string // of the log, or what was seen
}

func (e *LaunchError) Error() string {
	if e.Line == "" {
		return string(e.Class)
	}
	return string(e.Class) + ": " + e.Line
}
