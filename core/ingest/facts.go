package ingest

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/sweepbook/sweepbook/core"
)

// facts are what a source states once for all its blocks.
type facts struct {
	versions map[string]string // engine -> version
	gpu      string
	gpus     float64
	model    string
	guidellm bool   // the text says that it was measured with guidellm
	banner   string // engine whose own log stands in the text
}

var (
	versionLine  = regexp.MustCompile(`^(?:[•*·-]\s*)?(?i:(vLLM|SGLang|TensorRT-LLM|TRT-LLM|MindIE))(?:\s+version)?\s*[:=]?\s+v?(\d+\.\d+[\w.+-]*)[.,;]?$`)
	guidellmWord = regexp.MustCompile(`[gG]uide(?:llm|LLM)`)
	vllmBanner   = regexp.MustCompile(`vLLM API server version v?(\d+\.\d+[\w.+-]*)`)
	gpuName      = regexp.MustCompile(`(?:NVIDIA (?:GeForce |Quadro |Tesla )?[A-Z]+[ -]?\d+[A-Za-z]*|AMD (?:Instinct )?MI\d+[A-Z]*)(?:-\w+)*(?: (?:SXM\d?|PCIe|NVL|GPU|Ti|SUPER|\d+GB|HBM\w*|Tensor|Core))*`)
	gpuCount     = regexp.MustCompile(`(?i)\b(\d{1,3})\s*(?:x|×|\*)?\s*(?:NVIDIA|AMD)\b|\b(?:NVIDIA|AMD)\b.*\s[x×*]\s*(\d{1,3})\b`)
	oneGPU       = regexp.MustCompile(`(?i)(?:^|\s)(?:один|one|single)\s+(?:NVIDIA|AMD)\b`)
	datasetItem  = regexp.MustCompile(`(?i)(\d[\d,]*)\s*(?:input|prompt|входн\S*)\s*(?:tokens?|токен\S*)\D{1,12}(\d[\d,]*)\s*(?:output|generated|выходн\S*)\s*(?:tokens?|токен\S*)`)
)

// note takes the facts that are recognised wherever they stand.
func (f *facts) note(text string) bool {
	if !f.guidellm && strings.Contains(text, "uide") {
		f.guidellm = guidellmWord.MatchString(text)
	}
	var m []string
	if len(text) < 60 {
		m = versionLine.FindStringSubmatch(text)
	}
	if m == nil && strings.Contains(text, "API server version") {
		if v := vllmBanner.FindStringSubmatch(text); v != nil {
			m, f.banner = []string{"", "vllm", v[1]}, "vllm"
		}
	}
	if m == nil {
		return false
	}
	if f.versions == nil {
		f.versions = map[string]string{}
	}
	f.versions[engineName(m[1])] = m[2]
	return true
}

// hardware takes a line under a heading that announces the hardware.
func (f *facts) hardware(text string) bool {
	name := gpuName.FindString(text)
	if name == "" {
		return false
	}
	f.gpu, f.gpus = name, 0
	if oneGPU.MatchString(text) {
		f.gpus = 1
	} else if m := gpuCount.FindStringSubmatch(text); m != nil {
		f.gpus, _ = strconv.ParseFloat(m[1]+m[2], 64)
	}
	return true
}

// engineName gives the short name of an engine.
func engineName(s string) string {
	switch strings.ToLower(s) {
	case "vllm":
		return "vllm"
	case "sglang":
		return "sglang"
	case "tensorrt-llm", "trt-llm", "trtllm":
		return "trtllm"
	case "mindie":
		return "mindie"
	}
	return ""
}

var engineWord = regexp.MustCompile(`(?i)\b(vLLM|SGLang|TensorRT-LLM|TRT-LLM|TRTLLM|MindIE)\b`)

// engineIn names the one engine that a heading speaks of; "" for none or several.
func engineIn(text string) string {
	engine := ""
	for _, m := range engineWord.FindAllString(text, -1) {
		if e := engineName(m); engine == "" {
			engine = e
		} else if e != engine {
			return ""
		}
	}
	return engine
}

// parseDataset reads an entry of a list of data sets, "2000 input tokens, 100
// output tokens". Fixed lengths mean random prompts.
func parseDataset(no int, text string) (*ask, bool) {
	if !strings.Contains(text, "oken") && !strings.Contains(text, "окен") {
		return nil, false
	}
	m := datasetItem.FindStringSubmatch(text)
	if m == nil {
		return nil, false
	}
	in, okIn := parseNumber(m[1])
	out, okOut := parseNumber(m[2])
	if !okIn || !okOut {
		return nil, false
	}
	w := core.Workload{Dataset: "random", InputLen: core.Number(in), OutputLen: core.Number(out)}
	w.Name = workloadName(w)
	return &ask{line: no, kind: askList, workload: w}, true
}

var quantSuffix = regexp.MustCompile(`(?i)[-_.](?:fp8(?:[-_](?:dynamic|block|kv))?|awq|gptq(?:[-_]int[48])?|int[48]|w4a16|w8a8|nvfp4|fp4|mxfp4|bnb[-_]4bit)$`)

// baseModel is a checkpoint's name without its quantization.
func baseModel(checkpoint string) string {
	return quantSuffix.ReplaceAllString(checkpoint, "")
}

// modelOf names the base model of a checkpoint: another name of it in the source
// that also gives the owner (a served path or a requantized copy has none of its
// own), else the checkpoint's own name.
func modelOf(checkpoint string, others ...string) string {
	base := baseModel(checkpoint)
	for _, other := range others {
		if strings.Contains(other, "/") && !strings.HasPrefix(other, "/") && strings.EqualFold(lastPart(baseModel(other)), lastPart(base)) {
			return baseModel(other)
		}
	}
	return base
}

func lastPart(name string) string {
	return name[strings.LastIndexByte(name, '/')+1:]
}

// weightDtype is the number format of a checkpoint's weights where its name or
// the command says so. Plain Qwen3 checkpoints are published in bf16; of other
// plain names nothing is known.
func weightDtype(cfg core.Config) string {
	if v := cfg.Knobs["quantization"]; v.Kind == core.KindText {
		return strings.ToLower(v.Text)
	}
	if v := cfg.Knobs["dtype"]; v.Kind == core.KindText && v.Text != "auto" {
		return map[string]string{"bfloat16": "bf16", "float16": "fp16", "half": "fp16", "float32": "fp32"}[v.Text]
	}
	name := strings.ToLower(lastPart(cfg.Checkpoint))
	for _, q := range []struct{ part, dtype string }{
		{"nvfp4", "nvfp4"}, {"mxfp4", "mxfp4"}, {"fp8", "fp8"}, {"awq", "int4"}, {"w4a16", "int4"}, {"int4", "int4"},
		{"w8a8", "int8"}, {"int8", "int8"}, {"gptq", ""}, {"gguf", ""}, {"bnb", ""},
	} {
		if strings.Contains(name, q.part) {
			return q.dtype
		}
	}
	if strings.HasPrefix(cfg.Checkpoint, "Qwen/Qwen3") && quantSuffix.FindString(cfg.Checkpoint) == "" {
		return "bf16"
	}
	return ""
}

// specMethod is the speculative decoding method that the command asks for; "none"
// where the whole command of a known engine is known and asks for none.
func specMethod(cfg core.Config) string {
	if v := cfg.Knobs["speculative_algorithm"]; v.Kind == core.KindText {
		if method := strings.ToLower(v.Text); method != "nextn" {
			return method
		}
		return "mtp"
	}
	if v := cfg.Knobs["speculative_config"]; v.Kind == core.KindText {
		if m := specMethodKey.FindStringSubmatch(v.Text); m != nil {
			return strings.ToLower(m[1])
		}
		return ""
	}
	switch cfg.Engine {
	case "vllm", "sglang", "trtllm":
		if cfg.CommandKnown {
			return "none"
		}
	}
	return ""
}

var specMethodKey = regexp.MustCompile(`"(?:method|decoding_type)"\s*:\s*"([^"]+)"`)
