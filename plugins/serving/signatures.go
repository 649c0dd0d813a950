package serving

import "github.com/sweepbook/sweepbook/core"

// SharedSignatures are failures of what every engine stands on: CUDA, NCCL, the
// model hub, sockets, the host.
func SharedSignatures() []Signature { return shared }

// Says is the usual signature: a line that holds these parts.
func Says(row int, class core.FailureClass, parts ...string) Signature {
	return Signature{Row: row, Class: class, All: parts}
}

// Wraps is a line that only says that something else failed.
func Wraps(row int, parts ...string) Signature {
	return Signature{Row: row, Trust: Wrapper, Class: core.UnknownFailure, All: parts}
}

// With changes the trust.
func (s Signature) With(t Trust) Signature {
	s.Trust = t
	return s
}

// OrRemark lets a line that is a mere warning or remark prove it, too.
func (s Signature) OrRemark() Signature {
	s.Remark = true
	return s
}

// shared is never changed.
var shared = []Signature{
	{Row: 1, All: []string{"CUDA out of memory. Tried to allocate"}, None: []string{"Capture cuda graph failed", "insufficient GPU memory"}, OutOfMemory: true},
	{All: []string{"CUDA error: out of memory"}, OutOfMemory: true},

	Says(18, core.BadArgument, "error: unrecognized arguments:"),
	Says(0, core.BadArgument, "error: argument -"),
	Says(0, core.BadArgument, "error: the following arguments are required"),
	Says(0, core.BadArgument, "Error: No such option"),
	Says(0, core.BadArgument, "Error: Invalid value for"),
	Says(0, core.BadArgument, "validation error for ").With(Suspicious),
	Says(0, core.BadArgument, "validation errors for ").With(Suspicious),

	Says(33, core.Unsupported, "OutOfResources: out of resource: shared memory"),

	Says(34, core.Auth, "You are trying to access a gated repo"),
	Says(34, core.Auth, "GatedRepoError"),
	Says(34, core.Auth, "Cannot access gated repo for url"),
	Says(35, core.ModelNotFound, "LocalEntryNotFoundError"),
	Says(35, core.ModelNotFound, "cannot find the requested files in the local cache"),
	Says(35, core.ModelNotFound, "OfflineModeIsEnabled"),
	Says(36, core.ModelNotFound, "RepositoryNotFoundError"),
	Says(36, core.ModelNotFound, "RevisionNotFoundError"),
	Says(36, core.ModelNotFound, "is not a valid model identifier"),
	Says(36, core.ModelNotFound, "CacheNotFound: Cache directory not found"),
	Says(0, core.Download, "Max retries exceeded with url", "huggingface.co"),
	Says(0, core.Download, "Read timed out", "huggingface.co"),
	// The hub's client says so before it tries again.
	Says(0, core.Download, "thrown while requesting ").With(Suspicious),
	Says(0, core.Auth, "403 Client Error: Forbidden for url"),
	Says(0, core.Download, "couldn't connect to", "huggingface.co"),
	Says(0, core.Download, "Consistency check failed", "file should be of size"),
	Says(0, core.Download, "429 Client Error"),

	Says(38, core.PortInUse, "[Errno 98]"),
	Says(38, core.PortInUse, "Address already in use"),
	Says(38, core.PortInUse, "address already in use"),
	Says(38, core.PortInUse, "error while attempting to bind on address"),
	Says(39, core.PortInUse, "EADDRINUSE"),

	// torch says some of these in a UserWarning alone and goes on without a GPU.
	Says(42, core.Driver, "Error 803: system has unsupported display driver").OrRemark(),
	Says(43, core.Driver, "Error 804: forward compatibility was attempted").OrRemark(),
	Says(44, core.Driver, "Error 802: system not yet initialized").OrRemark(),
	Says(0, core.Driver, "CUDA driver version is insufficient for CUDA runtime version").OrRemark(),
	Says(0, core.Driver, "no CUDA-capable device is detected"),
	Says(0, core.Driver, "Found no NVIDIA driver on your system").OrRemark(),
	Says(45, core.Driver, "libcuda.so.1: cannot open shared object file"),
	Says(46, core.Driver, "uncorrectable ECC error encountered").With(Hardware),
	Says(47, core.Driver, "CUDA error: unspecified launch failure").With(Hardware),
	Says(48, core.Driver, "NVRM: Xid").With(Hardware),
	Says(48, core.Driver, "GPU requires reset").With(Hardware),
	Says(0, core.Driver, "GPU is lost").With(Hardware),

	Says(50, core.HostResources, "ncclShmOpen"),
	Says(50, core.HostResources, "/dev/shm", "No space left on device"),
	Says(0, core.HostResources, "Cannot allocate memory"),
	Says(0, core.HostResources, "std::bad_alloc"),
	Says(0, core.HostResources, "Too many open files"),
	Says(0, core.HostResources, "Out of memory: Killed process"),
	{All: []string{"No space left on device"}, None: []string{"/dev/shm"}, Class: core.DiskFull},
	Says(0, core.DiskFull, "Not enough free disk space to download"),
	Says(49, core.NCCL, "NCCL error: unhandled system error"),
	Says(49, core.NCCL, "NCCL error: unhandled cuda error"),
	Says(49, core.NCCL, "NCCL error: remote process exited"),
	Says(51, core.Hang, "Watchdog caught collective operation timeout: WorkNCCL("),

	Says(53, core.Crash, "Ninja build failed"),
	Says(53, core.Crash, "CalledProcessError", "ninja"),
	Says(53, core.Crash, "fatal error: curand_kernel.h"),
	Says(53, core.Crash, "Could not find nvcc"),
	Says(54, core.Crash, "CUDA error: an illegal memory access was encountered"),
	Says(0, core.Crash, "Fatal Python error: "),
	Says(0, core.Crash, "CUDA error: device-side assert triggered"),
	Says(0, core.Crash, "ModuleNotFoundError: No module named"),

	// Lines of a router around several servers, which may stand in a log of ours.
	{Row: 71, All: []string{"Shard ", " failed to start"}, Trust: Wrapper},
	{Row: 71, All: []string{"Shard ", " crashed"}, Trust: Wrapper},
}
