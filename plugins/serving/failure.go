package serving

import (
	"slices"
	"strings"

	"github.com/sweepbook/sweepbook/core"
)

// Trust says how far a line proves a cause.
type Trust uint8

// The levels, the first of which wins. Among lines of one level the earliest one
// wins, because what comes after a cause is its consequence.
const (
	// Specific names its cause.
	Specific Trust = iota
	// Hardware explains whatever else went wrong, so it wins over earlier lines.
	Hardware
	// Suspicious is a cause only where nothing specific stands in the log.
	Suspicious
	// Stuck is like Suspicious, and only of a server that still runs: engines print
	// such lines while they load, too.
	Stuck
	// Wrapper says that something failed elsewhere. It never gives a class.
	Wrapper
)

// Signature ties what a log line holds to a class of failure.
type Signature struct {
	Row   int      // of the table in the documentation; 0 is none
	All   []string // each must occur in the line
	Exact bool     // the line is All[0] and nothing else
	None  []string // none may occur in the line
	// Before must occur in one of the lines before, After in one of those that
	// follow; both look as far as one traceback.
	Before, After string
	// Last demands that it is the last line of the log.
	Last  bool
	Trust Trust
	Class core.FailureClass
	// Remark says that the engine may make no more of the cause than a warning or a
	// remark. Other signatures do not look at such lines; this one then suspects.
	Remark bool
	// OutOfMemory has its class decided by the phase in which it came.
	OutOfMemory bool
	// Traceback has its proof in the last line of the traceback that follows.
	Traceback bool
}

// window is how many lines a traceback takes at most.
const window = 120

// diagnose reads the log of a server that ended before it was ready.
func (d *Dialect) diagnose(tail string) core.Diagnosis { return d.classify(tail, false, "load") }

// classify names the class of a failure and the line that proves it. Without a
// line of proof the class is unknown.
func (d *Dialect) classify(tail string, running bool, phase string) core.Diagnosis {
	lines := strings.Split(tail, "\n")
	remarks := make([]bool, len(lines))
	for i, text := range lines {
		lines[i], remarks[i] = Message(text), remark(text)
	}
	for len(lines) > 0 && lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	signatures := append(slices.Clone(d.Signatures), SharedSignatures()...)
	best, at := Signature{Trust: Wrapper + 1}, -1
	for i, text := range lines {
		if text == "" || echo(text) {
			continue
		}
		for _, s := range signatures {
			// The code that a traceback quotes names causes that did not come about.
			if remarks[i] || i > 0 && frame(lines[i-1]) && !exception(text) {
				s.Trust = max(s.Trust, Suspicious)
			}
			if remarks[i] && !s.Remark || s.Trust == Stuck && !running || !s.before(best) || !s.matches(lines, i) {
				continue
			}
			best, at = s, i
		}
	}
	if at < 0 {
		return core.Diagnosis{Class: core.UnknownFailure}
	}
	out := core.Diagnosis{Class: best.Class, Line: lines[at]}
	switch {
	case best.Trust == Wrapper:
		out.Class = core.UnknownFailure
	case best.OutOfMemory:
		out.Class = oomPhase(lines, at, phase)
	case best.Traceback:
		out.Line = exceptionAfter(lines, at)
	}
	out.Line = Patterns.String(out.Line)
	if len(out.Line) > maxLine {
		out.Line = out.Line[:maxLine] + "…"
	}
	return out
}

// frame reports whether a line of a traceback says where the code in the next one
// stands.
func frame(text string) bool {
	return strings.HasPrefix(text, `File "`) && strings.Contains(text, ", line ")
}

const maxLine = 500

// before reports whether a later line of this signature replaces an earlier find.
func (s Signature) before(found Signature) bool { return rank(s.Trust) < rank(found.Trust) }

// rank puts Hardware first.
func rank(t Trust) int {
	switch t {
	case Hardware:
		return 0
	case Specific:
		return 1
	}
	return int(t) + 1
}

func (s Signature) matches(lines []string, i int) bool {
	text := lines[i]
	if s.Exact && text != s.All[0] || s.Last && i != len(lines)-1 {
		return false
	}
	for _, part := range s.All {
		if !strings.Contains(text, part) {
			return false
		}
	}
	for _, part := range s.None {
		if strings.Contains(text, part) {
			return false
		}
	}
	has := func(part string) func(string) bool {
		return func(line string) bool { return strings.Contains(line, part) }
	}
	if s.Before != "" && !slices.ContainsFunc(lines[max(0, i-window):i], has(s.Before)) {
		return false
	}
	return s.After == "" || slices.ContainsFunc(lines[i+1:min(len(lines), i+1+window)], has(s.After))
}

// echo recognises lines in which an engine repeats what it was given. They hold
// text that a user chose, which must not decide a class.
func echo(text string) bool {
	for _, part := range []string{"non-default args", "server_args=", "args: Namespace(", "Initializing a V", "Command line:", "command: "} {
		if strings.Contains(text, part) {
			return true
		}
	}
	return false
}

// phases are progress lines and traceback frames that tell what memory ran out
// for, as engines write them.
var phases = []struct {
	part  string
	class core.FailureClass
}{
	{"_capture_generation_cuda_graphs", core.OOMGraph}, {"capture_model", core.OOMGraph}, {"Capturing CUDA graph", core.OOMGraph},
	{"Capture cuda graph begin", core.OOMGraph}, {"cuda_graph_runner", core.OOMGraph}, {"cudagraph", core.OOMGraph},
	{"profile_run", core.OOMRuntime}, {"determine_available_memory", core.OOMRuntime},
	{"initialize_kv_cache", core.OOMKV}, {"init_memory_pool", core.OOMKV}, {"KVCacheManager", core.OOMKV}, {"GPU KV cache size", core.OOMKV},
	{"KV Cache is allocated", core.OOMGraph},
	{"load_model", core.OOMWeights}, {"load_weights", core.OOMWeights}, {"Starting to load model", core.OOMWeights},
	{"Load weight begin", core.OOMWeights}, {"Loading safetensors checkpoint", core.OOMWeights}, {"Loading weights", core.OOMWeights},
	{"Load weight end", core.OOMKV}, {"Model loading took", core.OOMRuntime},
	{"Application startup complete", core.OOMRuntime}, {"fired up and ready to roll", core.OOMRuntime}, {"Decode batch", core.OOMRuntime},
	{"Prefill batch", core.OOMRuntime}, {"execute_model", core.OOMRuntime}, {"POST /v1/", core.OOMRuntime},
}

// oomPhase looks back from a line that memory ran out for the nearest sign of
// what was going on. Without one, a server that was being measured ran out of it
// at work, and one that was starting over its weights.
func oomPhase(lines []string, at int, phase string) core.FailureClass {
	for i := at; i >= 0; i-- {
		for _, p := range phases {
			if strings.Contains(lines[i], p.part) {
				return p.class
			}
		}
	}
	if phase == "measure" {
		return core.OOMRuntime
	}
	return core.OOMWeights
}

// exceptionAfter is the last line of the traceback that follows, "Error: why".
func exceptionAfter(lines []string, at int) string {
	for _, text := range lines[at+1 : min(len(lines), at+1+window)] {
		if exception(text) {
			return text
		}
	}
	return lines[at]
}

// exception recognises the line that ends a traceback, "Error: why".
func exception(text string) bool {
	name, _, ok := strings.Cut(text, ":")
	if !ok {
		name = text
	}
	return name != "" && !strings.ContainsAny(name, " /(\"") && (strings.HasSuffix(name, "Error") || strings.HasSuffix(name, "Exception"))
}
