package core_test

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/sweepbook/sweepbook/core"
)

// The tables agree with the one-name rule: each row has its canonical name, no name
// or spelling stands twice, and what is documented as default is accepted.
func TestFlagTables(t *testing.T) {
	if got := core.FlagTables(); !slices.Equal(got, []string{"sglang", "trtllm", "vllm"}) {
		t.Fatalf("tables %v", got)
	}
	for _, engine := range core.FlagTables() {
		seen := map[string]bool{}
		for _, f := range core.EngineFlags(engine) {
			own := core.SnakeKnob(f.Flag)
			if f.Flag == "" {
				own = f.Path
			}
			for _, name := range append([]string{own}, f.Aliases...) {
				if got := core.CanonicalKnob(engine, name); got != f.Name {
					t.Errorf("%s %s: CanonicalKnob(%s) = %s", engine, f.Name, name, got)
				}
				if seen[name] {
					t.Errorf("%s: %s stands twice", engine, name)
				}
				seen[name] = true
			}
			if (f.Flag == "") == (f.Path == "") || f.Doc == "" {
				t.Errorf("%s %s: want one of flag and path, and a line of documentation", engine, f.Name)
			}
			if !f.Default.IsMissing() {
				if v, err := f.Check(f.Default); err != nil || v != f.Default {
					t.Errorf("%s %s: default %v: %v, %v", engine, f.Name, f.Default, v, err)
				}
			}
			if !core.ListedKnob(f.Name) || !core.ListedKnob(own) {
				t.Errorf("%s: %s is not listed", engine, f.Name)
			}
		}
	}
	// The same quantity nowhere: memory fractions have no common name.
	for engine, name := range map[string]string{"vllm": "gpu_memory_utilization", "sglang": "mem_fraction_static", "trtllm": "free_gpu_memory_fraction"} {
		if f, ok := core.FindFlag(engine, name); !ok || f.Name != name || f.Min != 0 || f.Max != 1 {
			t.Errorf("%s: %+v", engine, f)
		}
	}
}

func TestEqualSpellingsGiveOneSetting(t *testing.T) {
	num, text := core.Number, core.String
	for _, tc := range []struct {
		engine, flag string
		v            core.Value
		name         string
		want         core.Value
	}{
		{"vllm", "--max-num-seqs", num(512), "max_num_seqs", num(512)}, {"vllm", "max_num_seqs", num(512), "max_num_seqs", num(512)},
		{"vllm", "--max-model-len", text("32k"), "context_len", num(32000)}, {"vllm", "--max_model_len", text("32K"), "context_len", num(32768)},
		{"vllm", "max_num_batched_tokens", text("25.6k"), "max_batched_tokens", num(25600)}, {"vllm", "max_num_batched_tokens", text("2.5K"), "max_batched_tokens", text("2.5K")},
		{"vllm", "--no-enable-prefix-caching", core.Bool(true), "enable_prefix_caching", core.Bool(false)},
		{"vllm", "no_enable_chunked_prefill", core.Bool(true), "chunked_prefill", core.Bool(false)},
		{"vllm", "no_such_thing", core.Bool(true), "no_such_thing", core.Bool(true)},
		{"vllm", "speculative-config", text(`{"b": 1.50, "a": "<x>"}`), "speculative_config", text(`{"a":"<x>","b":1.50}`)},
		{"sglang", "--cuda-graph-bs", text("[1, 2,4]"), "cuda_graph_bs", text("1 2 4")}, {"sglang", "cuda_graph_bs", num(8), "cuda_graph_bs", text("8")},
		{"sglang", "--expert-parallel-size", num(2), "ep", num(2)}, {"sglang", "speculative_algo", text("EAGLE"), "speculative_algorithm", text("EAGLE")},
		{"trtllm", "moe_expert_parallel_size", num(2), "ep", num(2)}, {"trtllm", "kv_cache_config.dtype", text("fp8"), "kv_cache_dtype", text("fp8")},
		{"trtllm", "kv_cache_config.free_gpu_memory_fraction", num(0.8), "free_gpu_memory_fraction", num(0.8)},
		{"vllm", "tokenizer_mode", num(1), "tokenizer_mode", text("1")}, {"other", "--x-y", num(1), "x_y", num(1)},
	} {
		name, v := core.CanonicalSetting(tc.engine, tc.flag, tc.v)
		if name != tc.name || v != tc.want {
			t.Errorf("%s %s %v: %s = %v, want %s = %v", tc.engine, tc.flag, tc.v, name, v, tc.name, tc.want)
		}
	}
}

func TestFlagCheck(t *testing.T) {
	for _, tc := range []struct {
		engine, name string
		v            core.Value
		says         string
	}{
		{"vllm", "max_num_seqs", core.Number(0), "a whole number of at least 1"}, {"vllm", "max_num_seqs", core.Number(math.Inf(1)), "unlimited"},
		{"vllm", "gpu_memory_utilization", core.Number(1.01), "a number from 0 to 1"}, {"vllm", "enforce_eager", core.String("yes"), "true or false"},
		{"vllm", "speculative_config", core.String("3"), "JSON object or array"}, {"vllm", "speculative_config", core.String("{} {}"), "JSON"},
		{"vllm", "scheduling_policy", core.String("lifo"), "one of fcfs, priority"}, {"vllm", "dtype", core.String(""), "a text"}, {"vllm", "dtype", core.Unset(), "a text"},
		{"sglang", "cuda_graph_bs", core.String("1 -2"), "whole numbers"}, {"sglang", "cuda_graph_bs", core.String(""), "whole numbers"}, {"sglang", "tp", core.Bool(true), "--tp-size"},
	} {
		f, ok := core.FindFlag(tc.engine, tc.name)
		if !ok {
			t.Fatalf("%s has no %s", tc.engine, tc.name)
		}
		if _, err := f.Check(tc.v); !errors.Is(err, core.ErrInvalid) || !strings.Contains(err.Error(), tc.says) || !strings.Contains(err.Error(), f.Spelling()) {
			t.Errorf("%s=%v: %v", tc.name, tc.v, err)
		}
	}
}

func TestFlagVersions(t *testing.T) {
	f, _ := core.FindFlag("vllm", "max_num_partial_prefills")
	for version, gone := range map[string]bool{"": false, "0.26.9": false, "0.27.0rc1": false, "0.27.0": true, "v0.27.0.post1": true, "0.27": true, "0.100.0": true, "1.0": true, "nightly": false} {
		if err := f.ForVersion(version); (err != nil) != gone {
			t.Errorf("%q: %v", version, err)
		}
	}
	f = core.EngineFlag{Name: "x", Flag: "--x", Since: "1.2.0rc1"}
	for version, there := range map[string]bool{"": true, "1.2.0rc0": false, "1.2.0b3": false, "1.2.0rc1": true, "1.2.0": true, "1.1.9": false, "nightly": true} {
		if err := f.ForVersion(version); (err == nil) != there {
			t.Errorf("%q: %v", version, err)
		}
	}
}
