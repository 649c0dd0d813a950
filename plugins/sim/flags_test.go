package sim_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/sweepbook/sweepbook/plugins/sim"
)

func TestUsage(t *testing.T) {
	for _, tc := range []struct {
		name   string
		args   []string
		code   int
		stdout string
		stderr string
	}{
		{"unknown flag", []string{"--model", "Qwen/Qwen3-8B", "--max-num-seq", "3", "--x=1"}, 2, "", "error: unrecognized arguments: --max-num-seq 3 --x=1"},
		{"stray word", []string{"--model", "Qwen/Qwen3-8B", "serve"}, 2, "", "unrecognized arguments: serve"},
		{"no model", nil, 2, "", "required: --model"},
		{"no value", []string{"--model"}, 2, "", "argument --model: expected one argument"},
		{"flag for a value", []string{"--model", "--port", "1"}, 2, "", "argument --model: expected one argument"},
		{"not a number", []string{"--model", "x-8B", "--max-num-seqs", "many"}, 2, "", "argument --max-num-seqs: invalid int value: 'many'"},
		{"not a float", []string{"--model", "x-8B", "--time-scale", "NaN"}, 2, "", "argument --time-scale: invalid float value: 'NaN'"},
		{"out of range", []string{"--model", "x-8B", "--fault-refuse-share", "1.5"}, 2, "", "from 0 to 1, got 1.5"},
		{"unknown choice", []string{"--model", "x-8B", "--quantization=int4"}, 2, "", `argument --quantization: want one of fp8, got "int4"`},
		{"value for a switch", []string{"--model", "x-8B", "--enable_chunked_prefill=1"}, 2, "", "ignored explicit argument '1'"},
		{"negated number", []string{"--model", "x-8B", "--no-seed"}, 2, "", "unrecognized arguments: --no-seed"},
		{"help", []string{"--help"}, 0, "--max-num-batched-tokens NUMBER", ""},
		{"version", []string{"--version"}, 0, "sim-server 1.0", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			if code := sim.ServerMain(tc.args, &stdout, &stderr); code != tc.code {
				t.Errorf("exit status %d, want %d", code, tc.code)
			}
			if !strings.Contains(stdout.String(), tc.stdout) || !strings.Contains(stderr.String(), tc.stderr) {
				t.Errorf("stdout %q, stderr %q", stdout.String(), stderr.String())
			}
		})
	}
}

// What a start can fail of before it serves: status 1 and a line for each.
func TestStartsThatFail(t *testing.T) {
	for _, tc := range []struct {
		name  string
		flags []string
		says  string
	}{
		{"weights", []string{"--model", "Qwen/Qwen3-235B-A22B"}, "CUDA out of memory (simulated): 437.91 GiB of weights"},
		{"weights for the memory share", []string{"--model", "Qwen/Qwen3-8B", "--gpu-memory-utilization", "0.1"}, "CUDA out of memory"},
		{"KV cache", []string{"--model", "Qwen/Qwen3-32B", "--max-model-len", "100000"}, "KV cache too small: one sequence of 100000 tokens needs 24.41 GiB"},
		{"unknown checkpoint", []string{"--model", "acme/nameless"}, `no such checkpoint: "acme/nameless"`},
		{"8-bit cache without 8-bit units", []string{"--model", "Qwen/Qwen3-8B", "--gpu", "A100", "--kv-cache-dtype", "fp8"}, "not supported on NVIDIA A100"},
		{"odd parallelism", []string{"--model", "Qwen/Qwen3-8B", "--tensor-parallel-size", "3"}, "tensor parallel size 3 is not supported"},
		{"address", []string{"--model", "Qwen/Qwen3-8B", "--host", "192.0.2.1"}, "cannot listen on 192.0.2.1:0"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var log bytes.Buffer
			if code := sim.ServerMain(append(tc.flags, "--port", "0", "--time-scale", "1000"), &log, &log); code != 1 {
				t.Errorf("exit status %d", code)
			}
			if !strings.Contains(log.String(), tc.says) {
				t.Errorf("log does not say %q:\n%s", tc.says, log.String())
			}
		})
	}
}
