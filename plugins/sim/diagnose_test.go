package sim_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/sweepbook/sweepbook/core"
)

func TestDiagnose(t *testing.T) {
	const stamp = "2026-11-30T21:00:00.000Z "
	for _, tc := range []struct {
		name string
		req  core.DiagnoseRequest
		want core.Diagnosis
	}{
		{"cause before consequence", core.DiagnoseRequest{LogTail: stamp + "ERROR engine core died: x\n" + stamp + "ERROR engine core died: y\n", ExitCode: 1},
			core.Diagnosis{Class: core.Crash, Line: "engine core died: x"}},
		{"the more certain one", core.DiagnoseRequest{LogTail: "panic: late\n" + stamp + "ERROR KV cache too small: z\n", ExitCode: 2},
			core.Diagnosis{Class: core.OOMKV, Line: "KV cache too small: z"}},
		{"colours", core.DiagnoseRequest{LogTail: "\x1b[31m" + stamp + "ERROR no such checkpoint: \"a\"\x1b[0m\n", ExitCode: 1},
			core.Diagnosis{Class: core.ModelNotFound, Line: `no such checkpoint: "a"`}},
		{"a name that sounds like a cause", core.DiagnoseRequest{LogTail: stamp + `INFO  passed: {"model":"CUDA out of memory of weights"}` + "\n", ExitCode: 0},
			core.Diagnosis{Class: core.UnknownFailure, Line: "exit status 0 and no line that explains it"}},
		{"address in use", core.DiagnoseRequest{LogTail: stamp + "ERROR cannot listen on 127.0.0.1:1: listen tcp 127.0.0.1:1: bind: address already in use\n", ExitCode: 1},
			core.Diagnosis{Class: core.PortInUse, Line: "cannot listen on 127.0.0.1:1: listen tcp 127.0.0.1:1: bind: address already in use"}},
		{"address of another machine", core.DiagnoseRequest{LogTail: stamp + "ERROR cannot listen on 1.2.3.4:1: bind: cannot assign requested address\n", ExitCode: 1},
			core.Diagnosis{Class: core.BadArgument, Line: "cannot listen on 1.2.3.4:1: bind: cannot assign requested address"}},
		{"host memory", core.DiagnoseRequest{LogTail: "fatal error: runtime: out of memory\n\nruntime stack:\n", ExitCode: 2},
			core.Diagnosis{Class: core.HostResources, Line: "fatal error: runtime: out of memory"}},
		{"usage without a log", core.DiagnoseRequest{ExitCode: 2}, core.Diagnosis{Class: core.BadArgument, Line: "exit status 2"}},
		{"killed", core.DiagnoseRequest{ExitCode: 137, Phase: "measure"}, core.Diagnosis{Class: core.UnknownFailure, Line: "ended by signal 9"}},
		{"silent while measured", core.DiagnoseRequest{ExitCode: -1, Phase: "measure"}, core.Diagnosis{Class: core.Hang, Line: "the server runs and its log says nothing"}},
		{"silent while loading", core.DiagnoseRequest{ExitCode: -1, Phase: "load"}, core.Diagnosis{Class: core.StartupTimeout, Line: "the server runs and is not ready"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := newEngine().Diagnose(context.Background(), tc.req)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
