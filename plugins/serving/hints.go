package serving

import (
	"encoding/json"
	"path"
	"regexp"
	"strings"

	"github.com/sweepbook/sweepbook/core"
)

// hints are fields of the setup that follow from the choice alone.
func hints(c core.Config, gpus int) map[string]core.Value {
	out := map[string]core.Value{}
	if gpus > 0 {
		out["gpus"] = core.Number(float64(gpus))
	}
	if dtype := weightDtype(c); dtype != "" {
		out["weight_dtype"] = core.String(dtype)
	}
	if v := c.Knobs["kv_cache_dtype"]; v.Kind == core.KindText && v.Text != "auto" {
		out["kv_dtype"] = core.String(shortDtype(v.Text))
	}
	if method := specMethod(c); method != "" {
		out["spec_method"] = core.String(method)
	}
	return out
}

// weightDtype is the number format of the weights where the choice says it: by a
// flag, or by the usual end of a checkpoint's name.
func weightDtype(c core.Config) string {
	if v := c.Knobs["quantization"]; v.Kind == core.KindText {
		return strings.ToLower(v.Text)
	}
	if v := c.Knobs["dtype"]; v.Kind == core.KindText && v.Text != "auto" {
		return shortDtype(v.Text)
	}
	m := quantised.FindStringSubmatch(path.Base(checkpointOf(c)))
	if m == nil {
		return ""
	}
	switch q := strings.ToLower(m[1]); q {
	case "awq", "w4a16":
		return "int4"
	case "w8a8":
		return "int8"
	default:
		return q
	}
}

var quantised = regexp.MustCompile(`(?i)(nvfp4|mxfp4|fp8|awq|w4a16|int4|w8a8|int8)`)

func shortDtype(s string) string {
	s = strings.TrimPrefix(strings.ToLower(s), "torch.")
	switch s {
	case "bfloat16":
		return "bf16"
	case "float16", "half":
		return "fp16"
	case "float32", "float":
		return "fp32"
	}
	if strings.HasPrefix(s, "fp8") || strings.HasPrefix(s, "float8") {
		return "fp8"
	}
	return s
}

// specMethod is who drafts; "none" where the whole choice is known and asks for
// nobody.
func specMethod(c core.Config) string {
	if v := c.Knobs["speculative_algorithm"]; v.Kind == core.KindText {
		if method := strings.ToLower(v.Text); method != "nextn" {
			return method
		}
		return "mtp"
	}
	if v, ok := c.Knobs["speculative_config"]; ok {
		var config struct {
			Method       string
			DecodingType string `json:"decoding_type"`
		}
		if json.Unmarshal([]byte(v.Text), &config) != nil {
			return ""
		}
		return strings.ToLower(config.Method + config.DecodingType)
	}
	if c.CommandKnown {
		return "none"
	}
	return ""
}
