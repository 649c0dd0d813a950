package audit_test

import (
	"math"
	"testing"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/core/audit"
)

func TestModelLookup(t *testing.T) {
	ref := audit.DefaultReference()
	for _, c := range []struct {
		checkpoint     string
		params, active float64 // in billions; 0 is not found
		plain          bool
	}{
		{"Qwen/Qwen3-8B", 8, 0, true},
		{"Qwen/Qwen3-8B-FP8", 8, 0, false},
		{"/models/qwen3-8b", 8, 0, true},
		{"vllm-ascend/Qwen3-8B-W8A8", 8, 0, false},
		{"Qwen/Qwen3-235B-A22B-Instruct-2507-FP8", 235, 22, false},
		{"RedHatAI/Qwen3-32B-FP8-dynamic", 32, 0, false},
		{"deepseek-ai/DeepSeek-R1-0528", 671, 37, true},
		{"deepseek-ai/DeepSeek-R1-Distill-Llama-70B", 70, 0, true},
		{"deepseek-ai/DeepSeek-R1-Distill-Qwen-14B", 0, 0, false},
		{"mistralai/Mistral-7B-Instruct-v0.3", 7, 0, true},
		{"openai/gpt-oss-120b", 117, 5.1, true},
		{"zai-org/GLM-4.5-Air-FP8", 106, 12, false},
		{"zai-org/GLM-4.6", 355, 32, true},
		{"Qwen/Qwen3-8B-MyFinetune", 0, 0, false},
		{"", 0, 0, false},
	} {
		m, plain, ok := ref.Model(c.checkpoint)
		if ok != (c.params > 0) || m.Params != c.params*1e9 || m.ActiveParams != c.active*1e9 || ok && plain != c.plain {
			t.Errorf("%q: %v billion, %v active, plain %t, found %t", c.checkpoint, m.Params/1e9, m.ActiveParams/1e9, plain, ok)
		}
	}
}

func TestGPULookup(t *testing.T) {
	ref := audit.DefaultReference()
	for product, bandwidth := range map[string]float64{
		"NVIDIA H100 80GB HBM3":       3.35e12,
		"NVIDIA H100 SXM GPU":         3.35e12,
		"NVIDIA H100 PCIe":            2.0e12,
		"NVIDIA H100 NVL":             3.9e12,
		"NVIDIA H200":                 4.8e12,
		"NVIDIA A100-SXM4-80GB":       2.039e12,
		"NVIDIA A100-SXM4-40GB":       1.555e12,
		"NVIDIA A100 80GB PCIe":       1.935e12,
		"NVIDIA B200":                 8e12,
		"AMD Instinct MI300X":         5.3e12,
		"NVIDIA L4":                   0.3e12,
		"NVIDIA L40":                  0, // not L4, and not in the table
		"NVIDIA H100":                 0, // which of three?
		"NVIDIA GeForce RTX 9999":     0,
		"":                            0,
		"Simulated GPU with 1 stream": 0,
	} {
		g, ok := ref.GPU(product)
		if ok != (bandwidth > 0) || math.Abs(g.Bandwidth-bandwidth) > 1e6 {
			t.Errorf("%q: bandwidth %v, found %t, want %v", product, g.Bandwidth, ok, bandwidth)
		}
	}
}

// TestDefaultReference: every entry says where it comes from and is found by each
// of its own names.
func TestDefaultReference(t *testing.T) {
	ref := audit.DefaultReference()
	for _, m := range ref.Models {
		for _, name := range m.Names {
			if got, _, ok := ref.Model("owner/" + name); !ok || got.Params != m.Params {
				t.Errorf("model %s is not found by its name", name)
			}
		}
		if m.Source == "" || m.Dtype == "" || m.Params <= 0 || m.ActiveParams >= m.Params {
			t.Errorf("model %v: %+v", m.Names, m)
		}
	}
	for _, g := range ref.GPUs {
		for _, name := range g.Names {
			if got, ok := ref.GPU(name); !ok || got.Bandwidth != g.Bandwidth || got.FLOPS["bf16"] != g.FLOPS["bf16"] {
				t.Errorf("GPU %s is not found by its name", name)
			}
		}
		if g.Source == "" || g.Bandwidth <= 0 || g.Memory <= 0 || g.FLOPS["bf16"] <= 0 {
			t.Errorf("GPU %v: %+v", g.Names, g)
		}
	}
}

func TestMerge(t *testing.T) {
	base := audit.DefaultReference()
	mine := audit.Reference{
		Models: []audit.Model{{Names: []string{"qwen3-8b"}, Params: 8.2e9}, {Names: []string{"House-7B"}, Params: 7e9}},
		GPUs:   []audit.GPU{{Names: []string{"H100 80GB HBM3"}, Bandwidth: 1e12}},
	}
	merged := base.Merge(mine)
	if m, _, ok := merged.Model("Qwen/Qwen3-8B"); !ok || m.Params != 8.2e9 {
		t.Errorf("an entry of the user does not replace: %+v", m)
	}
	if m, _, ok := merged.Model("us/House-7B-FP8"); !ok || m.Params != 7e9 {
		t.Errorf("an entry of the user is not added: %+v", m)
	}
	if g, _ := merged.GPU("NVIDIA H100 80GB HBM3"); g.Bandwidth != 1e12 {
		t.Errorf("a GPU of the user does not replace: %+v", g)
	}
	if m, _, _ := base.Model("Qwen/Qwen3-8B"); m.Params != 8e9 {
		t.Error("Merge changed the table it was called on")
	}
	if len(merged.Models) != len(base.Models)+1 {
		t.Errorf("%d models after adding one and replacing one of %d", len(merged.Models), len(base.Models))
	}
}

// TestLimits: by hand, with 36 layers × 8 heads × 128 × 2 × 2 B = 147456 B of KV
// cache a token. Decoding are 15.311/s × 199 × 10 ms = 30.469 requests of 1100 tokens:
// 4.9421 GB beside 16 GB of weights in 10 ms.
func TestLimits(t *testing.T) {
	ref := audit.DefaultReference()
	near := func(v core.Value, want float64) bool {
		if want == 0 {
			return v.IsMissing()
		}
		return v.Kind == core.KindNumber && math.Abs(v.Num/want-1) < 1e-4
	}
	tokens := 1.2e6 / 65.3125
	for _, c := range []struct {
		name     string
		edit     func(*core.Trial)
		mbu, mfu float64
	}{
		{"as it is", nil, (16e9 + 4.94211e9) / 0.01 / 3.35e12, tokens * 16e9 / 989e12},
		{"two GPUs", edits(knob("tp", core.Number(2)), func(t *core.Trial) { t.Setup.GPUs = 2 }), (16e9 + 4.94211e9) / 0.01 / 6.7e12, tokens * 16e9 / 989e12 / 2},
		{"two copies", edits(knob("dp", core.Number(2)), func(t *core.Trial) { t.Setup.GPUs = 2 }), (16e9 + 4.94211e9/2) / 0.01 / 3.35e12, tokens * 16e9 / 989e12 / 2},
		{"half cached", figure("cached_tokens", 5e5), (16e9 + 4.94211e9) / 0.01 / 3.35e12, 7e5 / 65.3125 * 16e9 / 989e12},
		{"fp8 on its own units", func(t *core.Trial) { t.Setup.WeightDtype = "fp8" }, (8e9 + 4.94211e9) / 0.01 / 3.35e12, tokens * 16e9 / 1979e12},
		{"fp8 cache", func(t *core.Trial) { t.Setup.KVDtype = "fp8_e5m2" }, (16e9 + 4.94211e9/2) / 0.01 / 3.35e12, tokens * 16e9 / 989e12},
		{"int4 is computed as bf16", func(t *core.Trial) { t.Setup.WeightDtype = "awq" }, (4e9 + 4.94211e9) / 0.01 / 3.35e12, tokens * 16e9 / 989e12},
		{"speculation, three tokens a step", edits(speculation(4), figure("accept_len", 3)), (16e9 + 4.94211e9) / 0.03 / 3.35e12, tokens * 16e9 / 989e12},
		{"speculation, unknown acceptance", speculation(4), 0, tokens * 16e9 / 989e12},
		{"speculation not known", func(t *core.Trial) { t.Setup.SpecMethod = "" }, 0, tokens * 16e9 / 989e12},
		{"parallelism not known", func(t *core.Trial) { t.Setup.Config.CommandKnown, t.Setup.GPUs = false, 0 }, 0, 0},
		{"number format not known", func(t *core.Trial) { t.Setup.WeightDtype = "house" }, 0, 0},
		{"size not known", func(t *core.Trial) { t.Setup.Config.Model, t.Setup.Config.Checkpoint = "a/b", "a/b" }, 0, 0},
		{"GPU not known", func(t *core.Trial) { t.Setup.GPU = "" }, 0, 0},
		{"engine whose defaults are not known", func(t *core.Trial) { t.Setup.Config.Engine, t.Setup.GPUs = "house", 0 }, 0, 0},
		{"no duration", func(t *core.Trial) { delete(t.Figures, "duration_s") }, 16e9 / 0.01 / 3.35e12, 0},
	} {
		tr := trial(c.name, c.edit)
		mbu, mfu := audit.Limits(tr, ref)
		if !near(mbu.Value, c.mbu) || !near(mfu.Value, c.mfu) {
			t.Errorf("%s: mbu %v, mfu %v, want %.6f, %.6f", c.name, mbu, mfu, c.mbu, c.mfu)
		}
		if (mbu.How == "") != mbu.Value.IsMissing() || (mfu.How == "") != mfu.Value.IsMissing() {
			t.Errorf("%s: explained by %q and %q", c.name, mbu.How, mfu.How)
		}
	}
}

// TestParallelism: how many GPUs share one copy of the weights, by what the floor
// of a step comes to.
func TestParallelism(t *testing.T) {
	model := func(t *core.Trial) {
		t.Setup.Config.Model, t.Setup.Config.Checkpoint, t.Setup.WeightDtype = "deepseek-ai/DeepSeek-R1", "deepseek-ai/DeepSeek-R1", ""
		t.Setup.GPU, t.Setup.GPUs = "NVIDIA H200", 8
	}
	engine := func(name string) func(*core.Trial) { return func(t *core.Trial) { t.Setup.Config.Engine = name } }
	for _, c := range []struct {
		name   string
		edit   func(*core.Trial)
		shards float64
	}{
		{"tensor parallel", knob("tp", core.Number(8)), 8},
		{"data parallel copies", edits(knob("tp", core.Number(2)), knob("dp", core.Number(4))), 2},
		{"experts over all ranks", edits(knob("dp", core.Number(8)), knob("enable_expert_parallel", core.Bool(true))), 8},
		{"pipeline stages follow each other", edits(knob("tp", core.Number(4)), knob("pp", core.Number(2))), 4},
		{"attention ranks within tensor parallel", edits(engine("sglang"), knob("tp", core.Number(8)), knob("dp", core.Number(8)), knob("enable_dp_attention", core.Bool(true))), 8},
	} {
		mbu, _ := audit.Limits(trial(c.name, edits(model, c.edit)), audit.DefaultReference())
		want := 37e9 / 0.01 / (4.8e12 * c.shards)
		if math.Abs(mbu.Value.Num/want-1) > 1e-9 {
			t.Errorf("%s: mbu %v, want %v (%s)", c.name, mbu.Value, want, mbu.How)
		}
	}
}
