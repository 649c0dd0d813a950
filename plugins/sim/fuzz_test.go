package sim_test

import (
	"strings"
	"testing"

	"github.com/sweepbook/sweepbook/plugins/sim"
)

// A request that is accepted asks for a possible answer, and always for the same.
func FuzzRequest(f *testing.F) {
	for _, s := range []string{
		`{"prompt":"hello","max_tokens":5}`, `{"prompt":[1,2,3],"ignore_eos":true}`, `{"prompt":[[9]]}`, `{"prompt":["x"],"stream":true,"stream_options":{}}`,
		`{"messages":[{"role":"user","content":"x"}]}`, `{"messages":[{"role":"user","content":[{"type":"text","text":"x"}]}],"max_completion_tokens":3,"min_tokens":2}`,
		`{"prompt":null}`, `{"prompt":[1.5]}`, `{"prompt":"\ud800"}`, `{"prompt":"x","max_tokens":-9223372036854775808,"seed":-1}`,
	} {
		f.Add([]byte(s), false)
		f.Add([]byte(s), true)
	}
	f.Fuzz(func(t *testing.T, body []byte, chat bool) {
		in, out, err := sim.CheckRequest(body, chat)
		if err != nil {
			if err.Error() == "" {
				t.Error("an error without words")
			}
			return
		}
		if in < 1 || out < 1 || in+out > 40960 {
			t.Errorf("%d tokens in, %d out", in, out)
		}
		if in2, out2, err := sim.CheckRequest(body, chat); in2 != in || out2 != out || err != nil {
			t.Errorf("again: %d, %d, %v; before: %d, %d", in2, out2, err, in, out)
		}
	})
}

// A command line that is accepted names a model; one that is not says why.
func FuzzFlags(f *testing.F) {
	f.Add("--model\nx-8B\n--port=1\n--enable_chunked_prefill")
	f.Add("--no-enable-prefix-caching\n--model=x\n--seed\n-1")
	f.Add("--model\n--model")
	f.Add("--=\n-\n--no-\n=")
	f.Add("--time-scale\n1e999\n--model\na")
	f.Fuzz(func(t *testing.T, text string) {
		given, err := sim.ParseFlags(strings.Split(text, "\n"))
		if err == nil && given["model"].Text == "" {
			t.Errorf("accepted without a model: %v", given)
		}
	})
}

// A message never grows and never keeps colours.
func FuzzMessage(f *testing.F) {
	f.Add("2026-11-30T21:00:00.000Z ERROR x")
	f.Add("\x1b[1;31mred\x1b[0m")
	f.Add("\x1b[\x1b[31mm")
	f.Fuzz(func(t *testing.T, line string) {
		if got := sim.Message(line); len(got) > len(line) {
			t.Errorf("%q became %q", line, got)
		}
	})
}
