package sim

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/sweepbook/sweepbook/core"
)

// knob is one setting of the server: its canonical name, its flag, what values
// it takes and where a value goes. The table of knobs is the one place that the
// command line, Info and Plan are made from.
type knob struct {
	name    string // canonical
	flag    string // without dashes
	typ     core.Type
	whole   bool // a number without a fraction
	min     float64
	max     float64
	choices []string
	def     core.Value // Missing where it depends on the model or GPU
	doc     string
	set     func(*settings, core.Value)
}

const noMax = math.MaxInt32

// settings are the resolved flags of a server. Zero means "not given" for the
// fields whose default depends on the model.
type settings struct {
	model, servedName, revision, host string
	port                              int

	contextLen, maxNumSeqs, maxBatchedTokens int
	chunkedPrefill, prefixCaching            bool
	kvCacheDtype, quantization               string
	memoryUtilization                        float64
	specMethod                               string
	specTokens                               int
	specAcceptance                           float64
	gpu                                      string
	tp                                       int
	seed                                     int64
	timeScale                                float64

	faults faults
}

// faults are what goes wrong on purpose. The zero value is a healthy server.
type faults struct {
	oomAtLoad, neverReady, ignoreTerm, setsidChild bool
	slowReady                                      float64 // simulated seconds more until ready
	crashAfter, stallAfter                         int     // requests answered before; 0 is never
	refuseShare, errorIn200                        float64 // of the requests
}

func intKnob(name, flag string, def core.Value, min float64, doc string, set func(*settings, int)) knob {
	return knob{name: name, flag: flag, typ: core.NumberType, whole: true, min: min, max: noMax, def: def, doc: doc,
		set: func(s *settings, v core.Value) { set(s, int(v.Num)) }}
}

func floatKnob(name, flag string, def, min, max float64, doc string, set func(*settings, float64)) knob {
	return knob{name: name, flag: flag, typ: core.NumberType, min: min, max: max, def: core.Number(def), doc: doc,
		set: func(s *settings, v core.Value) { set(s, v.Num) }}
}

func boolKnob(name, flag string, def bool, doc string, set func(*settings, bool)) knob {
	return knob{name: name, flag: flag, typ: core.BoolType, def: core.Bool(def), doc: doc,
		set: func(s *settings, v core.Value) { set(s, v.True()) }}
}

func textKnob(name, flag string, def core.Value, choices []string, doc string, set func(*settings, string)) knob {
	return knob{name: name, flag: flag, typ: core.TextType, choices: choices, def: def, doc: doc,
		set: func(s *settings, v core.Value) { set(s, v.Text) }}
}

// knobs returns the table, in the order of the documentation.
func knobs() []knob {
	none := core.Missing()
	return []knob{
		intKnob("context_len", "max-model-len", none, 1, "longest sequence (prompt and answer) in tokens; default: what model and memory allow",
			func(s *settings, n int) { s.contextLen = n }),
		intKnob("max_num_seqs", "max-num-seqs", core.Number(256), 1, "requests that decode together",
			func(s *settings, n int) { s.maxNumSeqs = n }),
		intKnob("max_batched_tokens", "max-num-batched-tokens", core.Number(8192), 16, "tokens computed in one step",
			func(s *settings, n int) { s.maxBatchedTokens = n }),
		boolKnob("chunked_prefill", "enable-chunked-prefill", false, "a long prompt is computed in pieces between decode steps; without it prompts go first and decode waits",
			func(s *settings, b bool) { s.chunkedPrefill = b }),
		boolKnob("enable_prefix_caching", "enable-prefix-caching", true, "whole blocks of prompts seen before are not computed again",
			func(s *settings, b bool) { s.prefixCaching = b }),
		textKnob("kv_cache_dtype", "kv-cache-dtype", core.String("auto"), []string{"auto", "bf16", "fp8"}, "number format of the KV cache; auto is bf16",
			func(s *settings, t string) { s.kvCacheDtype = t }),
		textKnob("quantization", "quantization", none, []string{"fp8"}, "weight quantization applied at load; a checkpoint whose name ends in -FP8 has it already",
			func(s *settings, t string) { s.quantization = t }),
		floatKnob("gpu_memory_utilization", "gpu-memory-utilization", 0.9, 0.01, 1, "share of the GPU's whole memory for weights and KV cache",
			func(s *settings, f float64) { s.memoryUtilization = f }),
		textKnob("speculative_method", "speculative-method", core.String("none"), []string{"none", "eagle3", "mtp", "ngram"}, "who drafts the tokens that a step verifies",
			func(s *settings, t string) { s.specMethod = t }),
		intKnob("speculative_tokens", "speculative-tokens", core.Number(4), 1, "drafted tokens a step",
			func(s *settings, n int) { s.specTokens = n }),
		floatKnob("speculative_acceptance", "speculative-acceptance", 0.75, 0, 1, "chance that a drafted token is accepted when those before it were",
			func(s *settings, f float64) { s.specAcceptance = f }),
		textKnob("gpu", "gpu", core.String(accelerators[0].product), nil, "simulated GPU: "+strings.Join(acceleratorNames(), ", "),
			func(s *settings, t string) { s.gpu = t }),
		intKnob("tp", "tensor-parallel-size", core.Number(1), 1, "GPUs that share each layer",
			func(s *settings, n int) { s.tp = n }),
		intKnob("seed", "seed", core.Number(0), 0, "seed of answer lengths, drafts and texts",
			func(s *settings, n int) { s.seed = int64(n) }),
		floatKnob("time_scale", "time-scale", 1, 0.001, 1e6, "simulated seconds per real second",
			func(s *settings, f float64) { s.timeScale = f }),
		boolKnob("fault_oom_at_load", "fault-oom-at-load", false, "run out of memory while the weights load",
			func(s *settings, b bool) { s.faults.oomAtLoad = b }),
		boolKnob("fault_never_ready", "fault-never-ready", false, "load for ever, in silence",
			func(s *settings, b bool) { s.faults.neverReady = b }),
		floatKnob("fault_slow_ready", "fault-slow-ready", 0, 0, noMax, "simulated seconds that the start takes longer",
			func(s *settings, f float64) { s.faults.slowReady = f }),
		intKnob("fault_crash_after", "fault-crash-after", core.Number(0), 0, "end the process after so many answers, the readiness probe's included; 0 is never",
			func(s *settings, n int) { s.faults.crashAfter = n }),
		intKnob("fault_stall_after", "fault-stall-after", core.Number(0), 0, "move no token any more after so many answers; 0 is never",
			func(s *settings, n int) { s.faults.stallAfter = n }),
		floatKnob("fault_refuse_share", "fault-refuse-share", 0, 0, 1, "share of the requests that get HTTP 503, evenly spread",
			func(s *settings, f float64) { s.faults.refuseShare = f }),
		floatKnob("fault_error_in_200", "fault-error-in-200", 0, 0, 1, "share of the requests whose HTTP 200 holds an error, evenly spread",
			func(s *settings, f float64) { s.faults.errorIn200 = f }),
		boolKnob("fault_ignore_term", "fault-ignore-term", false, "neither SIGTERM nor /shutdown ends the server",
			func(s *settings, b bool) { s.faults.ignoreTerm = b }),
		boolKnob("fault_setsid_child", "fault-setsid-child", false, "start a child in a session of its own that outlives the server",
			func(s *settings, b bool) { s.faults.setsidChild = b }),
	}
}

// own is the flag as a canonical name would be written, the second spelling
// under which Plan finds a knob ("max_model_len" for context_len).
func (k knob) own() string { return core.SnakeKnob(k.flag) }

// check says what is wrong with a value, in words that follow the knob's name.
func (k knob) check(v core.Value) error {
	switch k.typ {
	case core.NumberType:
		if v.Kind != core.KindNumber {
			return fmt.Errorf("want a number, got %s", describe(v))
		}
		if k.whole && v.Num != math.Trunc(v.Num) {
			return fmt.Errorf("want a whole number, got %s", v)
		}
		if v.Num < k.min || v.Num > k.max {
			if k.max == noMax {
				return fmt.Errorf("want a number of at least %s, got %s", plain(k.min), v)
			}
			return fmt.Errorf("want a number from %s to %s, got %s", plain(k.min), plain(k.max), v)
		}
	case core.BoolType:
		if v.Kind != core.KindBool {
			return fmt.Errorf("want true or false, got %s", describe(v))
		}
	case core.TextType:
		if v.Kind != core.KindText {
			return fmt.Errorf("want a text, got %s", describe(v))
		}
		if k.choices != nil && !slices.Contains(k.choices, v.Text) {
			return fmt.Errorf("want one of %s, got %q", strings.Join(k.choices, ", "), v.Text)
		}
		if k.name == "gpu" {
			if _, ok := findAccelerator(v.Text); !ok {
				return fmt.Errorf("want one of %s, got %q", strings.Join(acceleratorNames(), ", "), v.Text)
			}
		}
	}
	return nil
}

// argv renders a value that check has passed.
func (k knob) argv(v core.Value) []string {
	switch {
	case k.typ != core.BoolType:
		return []string{"--" + k.flag, v.String()}
	case v.True():
		return []string{"--" + k.flag}
	}
	return []string{"--no-" + k.flag}
}

func describe(v core.Value) string {
	switch v.Kind {
	case core.KindMissing:
		return "nothing"
	case core.KindText:
		return fmt.Sprintf("the text %q", v.Text)
	}
	return v.String()
}

func plain(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }
