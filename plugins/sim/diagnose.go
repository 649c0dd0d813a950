package sim

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"github.com/sweepbook/sweepbook/core"
)

// symptom ties the start of a log message to a class. Matching the start keeps
// text that a user chose, such as a model's name, from deciding a class.
type symptom struct {
	start, also string // also must occur somewhere in the message
	class       core.FailureClass
}

// symptoms in order of trust: of two in one log the one higher up wins, and of
// two equal ones the earlier line.
var symptoms = []symptom{
	{"CUDA out of memory", "of weights", core.OOMWeights},
	{"KV cache too small", "", core.OOMKV},
	{"KV cache format", "not supported", core.Unsupported},
	{"tensor parallel size", "not supported", core.Unsupported},
	{"no such checkpoint", "", core.ModelNotFound},
	{"no such GPU", "", core.BadArgument},
	{program + ": error: ", "", core.BadArgument},
	{"cannot listen on ", "assign requested address", core.BadArgument},
	{"cannot listen on ", "no such host", core.BadArgument},
	{"cannot listen on ", "permission denied", core.BadArgument},
	{"cannot listen on ", "", core.PortInUse},
	{"fatal error: runtime: out of memory", "", core.HostResources},
	{"fatal error: runtime: cannot allocate memory", "", core.HostResources},
	{"runtime: failed to create new OS thread", "", core.HostResources},
	{"fault: the engine core makes no further step", "", core.Stalled},
	{"engine core died", "", core.Crash},
	{"panic: ", "", core.Crash},
	{"fatal error: ", "", core.Crash},
	{"serve ", "", core.Crash},
}

// Diagnose implements core.Engine.
func (a *adapter) Diagnose(_ context.Context, req core.DiagnoseRequest) (core.Diagnosis, error) {
	if d, ok := diagnoseLog(req.LogTail); ok {
		return d, nil
	}
	switch code := req.ExitCode; {
	case code == -1 && req.Phase == "measure":
		return core.Diagnosis{Class: core.Hang, Line: "the server runs and its log says nothing"}, nil
	case code == -1 && req.Phase != "stop":
		return core.Diagnosis{Class: core.StartupTimeout, Line: "the server runs and is not ready"}, nil
	case code == 2:
		return core.Diagnosis{Class: core.BadArgument, Line: "exit status 2"}, nil
	case code > 128:
		return core.Diagnosis{Class: core.UnknownFailure, Line: fmt.Sprintf("ended by signal %d", code-128)}, nil
	}
	return core.Diagnosis{Class: core.UnknownFailure, Line: fmt.Sprintf("exit status %d and no line that explains it", req.ExitCode)}, nil
}

// diagnoseLog looks for symptoms only; the exit status is a hint, not evidence.
func diagnoseLog(tail string) (core.Diagnosis, bool) {
	lines := strings.Split(tail, "\n")
	for i, line := range lines {
		lines[i] = message(line)
	}
	for _, s := range symptoms {
		for _, line := range lines {
			if strings.HasPrefix(line, s.start) && strings.Contains(line, s.also) {
				return core.Diagnosis{Class: s.class, Line: line}, true
			}
		}
	}
	return core.Diagnosis{}, false
}

var (
	escapeCodes = regexp.MustCompile("\x1b\\[[0-9;]*[A-Za-z]")
	logPrefix   = regexp.MustCompile(`^\d{4}-\d\d-\d\dT[0-9:.]+Z [A-Z]+ +`)
)

// message is a log line without colours, time and level.
func message(line string) string {
	line = strings.TrimSpace(escapeCodes.ReplaceAllString(line, ""))
	return logPrefix.ReplaceAllString(line, "")
}
