package load_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/core/load"
)

func appendLog(t *testing.T, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = f.WriteString(text)
	}
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
}

const (
	triton  = "(EngineCore_DP0 pid=7) WARNING 11-30 21:04:00 [jit_monitor.py:103] Triton kernel JIT compilation during inference: _topk_topp_kernel. This causes a latency spike\n"
	gemm    = "[2026-11-30 21:04:01 TP0] DeepGEMM JIT code generation <gemm_fp8>: M=7138, N=576, K=7168. Please wait.\n"
	retract = "[2026-11-30 21:04:02 TP0] KV cache pool is full. Retract requests. #retracted_reqs: 1, #new_token_ratio: 0.0980 -> 0.3487\n"
	evicted = "WARNING 05-09 00:49:33 scheduler.py:1057 Sequence group 0 is preempted by PreemptionMode.RECOMPUTE mode because there is not enough KV cache space.\n"
	decode  = "[2026-11-30 21:04:03 TP0] Decode batch, #running-req: 66, token usage: 0.40, gen throughput (token/s): 2574.67\n"
)

func TestDisturbances(t *testing.T) {
	for _, tc := range []struct {
		name           string
		before, within string
		jit, preempted float64
		first          string
	}{
		{name: "quiet", before: triton + retract, within: decode + decode},
		{name: "kernels", before: triton, within: decode + triton + gemm + decode, jit: 2, first: "Triton kernel JIT compilation during inference: _topk_topp_kernel"},
		{name: "preempted", within: retract + decode + evicted, preempted: 2},
		{name: "both", within: gemm + retract, jit: 1, preempted: 1, first: "DeepGEMM JIT"},
		{name: "a line that ends within", before: triton[:40], within: triton[40:] + decode, jit: 1, first: "_topk_topp_kernel"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "server.log")
			appendLog(t, path, tc.before)
			d := load.OpenDisturbances(path)
			appendLog(t, path, tc.within)
			got := d.Close()
			if v := got["jit_compiles"]; v.Num != tc.jit || (tc.jit == 0) != v.IsMissing() {
				t.Errorf("jit_compiles %v, want %v", v, tc.jit)
			}
			if v := got["preemption_lines"]; v.Num != tc.preempted || (tc.preempted == 0) != v.IsMissing() {
				t.Errorf("preemption_lines %v, want %v", v, tc.preempted)
			}
			if !strings.Contains(got["jit_first"].Text, tc.first) {
				t.Errorf("first line %q, want %q", got["jit_first"].Text, tc.first)
			}
			if v := got["log_missed"]; !v.IsMissing() {
				t.Errorf("log_missed %v", v)
			}
		})
	}
}

// The supervisor bounds a log by cutting out its middle in place: what was read is
// not read again, and what follows is.
func TestDisturbancesOfALogThatIsCut(t *testing.T) {
	path := filepath.Join(t.TempDir(), "server.log")
	var head strings.Builder
	for i := range 4000 {
		fmt.Fprintf(&head, "loading shard %d of a model\n", i)
	}
	appendLog(t, path, head.String())
	d := load.OpenDisturbances(path)
	appendLog(t, path, triton+decode)
	time.Sleep(1500 * time.Millisecond) // one look comes in between
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	cut := string(text[:1000]) + "\n[sweepbook: bytes of this log left out here]\n" + string(text[len(text)/2:])
	if err := os.WriteFile(path, []byte(cut), 0o600); err != nil {
		t.Fatal(err)
	}
	appendLog(t, path, gemm)
	if got := d.Close(); got["jit_compiles"] != core.Number(2) || !got["log_missed"].IsMissing() {
		t.Errorf("%v, want two lines, each once", got)
	}

	d = load.OpenDisturbances(path)
	if err := os.WriteFile(path, []byte("another log\n"+triton), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := d.Close(); got["log_missed"].IsMissing() {
		t.Errorf("%v: nothing is said of a log whose end cannot be found again", got)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if got := load.OpenDisturbances(path).Close(); len(got) != 0 {
		t.Errorf("no log: %v", got)
	}
}
