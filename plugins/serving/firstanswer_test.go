package serving_test

import (
	"strings"
	"testing"

	"github.com/sweepbook/sweepbook/plugins/serving"
)

// An answer that is accepted holds a text and the end mark.
func FuzzFirstAnswer(f *testing.F) {
	f.Add("data: {\"choices\":[{\"text\":\" a\"}]}\n\ndata: [DONE]\n\n")
	f.Add(": ping\n\ndata: {\"choices\":[]}\n\ndata:[DONE]\n")
	f.Add("data: {\"error\":{\"message\":\"x\"}}\n\n")
	f.Add("data: {\n\n")
	f.Add("event: x\r\ndata: {\"choices\":[{\"text\":\"\"}]} \r\n\r\n")
	f.Fuzz(func(t *testing.T, body string) {
		err := serving.ReadFirstAnswer(strings.NewReader(body))
		if err == nil && (!strings.Contains(body, "[DONE]") || !strings.Contains(strings.ToLower(body), "text")) {
			t.Errorf("accepted %q", body)
		}
	})
}
