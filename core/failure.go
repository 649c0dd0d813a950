package core

// FailureClass says why a launch or trial failed. The empty class is none.
type FailureClass string

// The classes. A class of the infrastructure is retried, one of the
// configuration is not, because it would fail again.
const (
	OOMWeights     FailureClass = "oom_weights"
	OOMKV          FailureClass = "oom_kv"
	OOMGraph       FailureClass = "oom_graph"
	OOMRuntime     FailureClass = "oom_runtime"
	HostResources  FailureClass = "host_resources"
	BadArgument    FailureClass = "bad_argument"
	Unsupported    FailureClass = "unsupported"
	ModelNotFound  FailureClass = "model_not_found"
	Download       FailureClass = "download"
	Auth           FailureClass = "auth"
	PortInUse      FailureClass = "port_in_use"
	Driver         FailureClass = "driver"
	NCCL           FailureClass = "nccl"
	Crash          FailureClass = "crash"
	StartupTimeout FailureClass = "startup_timeout"
	Hang           FailureClass = "hang"
	Stalled        FailureClass = "stalled"
	GPUDirty       FailureClass = "gpu_dirty"
	PluginCrash    FailureClass = "plugin_crash"
	RequestsFailed FailureClass = "requests_failed"
	BenchFailed    FailureClass = "bench_failed"
	BenchTimeout   FailureClass = "bench_timeout"
	NoResult       FailureClass = "no_result"
	DiskFull       FailureClass = "disk_full"
	ClientFailure  FailureClass = "client"
	Interrupted    FailureClass = "interrupted"
	UnknownFailure FailureClass = "unknown"
)

// FailureClasses lists every class in the order of the documentation.
func FailureClasses() []FailureClass {
	return []FailureClass{
		OOMWeights, OOMKV, OOMGraph, OOMRuntime, HostResources, BadArgument, Unsupported, ModelNotFound,
		Download, Auth, PortInUse, Driver, NCCL, Crash, StartupTimeout, Hang, Stalled, GPUDirty, PluginCrash,
		RequestsFailed, BenchFailed, BenchTimeout, NoResult, DiskFull, ClientFailure, Interrupted, UnknownFailure,
	}
}

// Infra reports whether the class lies with the machine rather than with the
// chosen configuration, so that another attempt may succeed.
func (f FailureClass) Infra() bool {
	switch f {
	case Download, PortInUse, Driver, NCCL, GPUDirty, PluginCrash, DiskFull, ClientFailure, Interrupted:
		return true
	}
	return false
}
