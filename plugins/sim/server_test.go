package sim_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// answer is what the tests read of a chunk or a whole response.
type answer struct {
	ID, Object, Model string
	Choices           []struct {
		Text         string
		Delta        struct{ Role, Content string }
		Message      struct{ Role, Content string }
		FinishReason *string `json:"finish_reason"`
	}
	Usage *usage
	Error *struct {
		Message string
		Code    int
	}
}

type usage struct {
	Prompt     int `json:"prompt_tokens"`
	Completion int `json:"completion_tokens"`
	Total      int `json:"total_tokens"`
	Details    struct {
		Cached int `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
}

// chunks splits an event stream and checks its form: data lines only, [DONE] last.
func chunks(t *testing.T, body string) []answer {
	t.Helper()
	var out []answer
	events := strings.Split(strings.TrimSuffix(body, "\n\n"), "\n\n")
	for i, e := range events {
		data, ok := strings.CutPrefix(e, "data: ")
		if !ok {
			t.Fatalf("event %q", e)
		}
		if data == "[DONE]" {
			if i != len(events)-1 {
				t.Fatalf("[DONE] is event %d of %d", i, len(events))
			}
			return out
		}
		out = append(out, decode(t, data))
	}
	t.Fatalf("no [DONE] in %q", body)
	return nil
}

func decode(t *testing.T, text string) answer {
	t.Helper()
	var a answer
	if err := json.Unmarshal([]byte(text), &a); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return a
}

func TestChatStream(t *testing.T) {
	base := startInside(t, "--time-scale", "100")
	// 8 characters are 2 tokens, the message costs 4 more.
	status, body := post(t, base+"/v1/chat/completions", `{"model":"Qwen/Qwen3-8B","messages":[{"role":"user","content":"12345678"}],
		"max_completion_tokens":5,"ignore_eos":true,"stream":true,"stream_options":{"include_usage":true},"temperature":0.7,"unknown_field":1}`)
	if status != http.StatusOK {
		t.Fatal(status, body)
	}
	got := chunks(t, body)
	if len(got) != 7 {
		t.Fatalf("%d chunks, want role, 5 tokens, usage:\n%s", len(got), body)
	}
	if d := got[0].Choices[0].Delta; d.Role != "assistant" || d.Content != "" {
		t.Errorf("first chunk %+v, want the role alone", d)
	}
	for i, c := range got[1:6] {
		if c.Choices[0].Delta.Content == "" || c.Object != "chat.completion.chunk" || c.Model != "Qwen/Qwen3-8B" || c.ID != got[0].ID {
			t.Errorf("chunk %d: %+v", i+1, c)
		}
		if last := i == 4; (c.Choices[0].FinishReason != nil) != last {
			t.Errorf("chunk %d: finish reason %v", i+1, c.Choices[0].FinishReason)
		}
	}
	if reason := *got[5].Choices[0].FinishReason; reason != "length" {
		t.Errorf("finish reason %q", reason)
	}
	if u := got[6]; len(u.Choices) != 0 || u.Usage == nil || u.Usage.Prompt != 6 || u.Usage.Completion != 5 || u.Usage.Total != 11 {
		t.Errorf("last chunk %+v usage %+v", u, u.Usage)
	}
	if got[3].Usage != nil {
		t.Error("usage on a token chunk that nobody asked for")
	}
}

func TestCompletionForms(t *testing.T) {
	base := startInside(t, "--time-scale", "1000")
	ask := func(path, body string) answer {
		t.Helper()
		status, text := post(t, base+path, body)
		if status != http.StatusOK {
			t.Fatalf("%s: %d %s", body, status, text)
		}
		return decode(t, text)
	}
	for _, tc := range []struct {
		name, prompt string
		tokens       int
	}{
		{"text", `"123456789"`, 3}, {"text of two-byte letters", `"ёёёёёёёё"`, 2}, {"ids", ids(37, 5), 37},
		{"one text in a list", `["1234"]`, 1}, {"one list in a list", `[[1,2,3]]`, 3},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a := ask("/v1/completions", `{"prompt":`+tc.prompt+`,"max_tokens":3,"ignore_eos":true}`)
			want := usage{Prompt: tc.tokens, Completion: 3, Total: tc.tokens + 3}
			if diff := cmp.Diff(want, *a.Usage); diff != "" {
				t.Error(diff)
			}
			if words := strings.Fields(a.Choices[0].Text); len(words) != 3 || a.Object != "text_completion" {
				t.Errorf("%+v", a)
			}
		})
	}
	whole := ask("/v1/chat/completions", `{"messages":[{"role":"user","content":[{"type":"text","text":"1234"}]}],"max_tokens":4,"ignore_eos":true}`)
	if m := whole.Choices[0].Message; m.Role != "assistant" || len(strings.Fields(m.Content)) != 4 || whole.Usage.Prompt != 5 {
		t.Errorf("%+v %+v", whole, whole.Usage)
	}
	if a := ask("/v1/completions", `{"prompt":"x","ignore_eos":true}`); a.Usage.Completion != 16 {
		t.Errorf("%d tokens by default, want 16", a.Usage.Completion)
	}
	_, body := post(t, base+"/v1/completions", `{"prompt":"x","max_tokens":3,"ignore_eos":true,"stream":true,"stream_options":{"continuous_usage_stats":true}}`)
	for i, c := range chunks(t, body) {
		if c.Usage == nil || c.Usage.Completion != i+1 {
			t.Errorf("chunk %d: usage %+v", i, c.Usage)
		}
	}
}

// Without ignore_eos an answer ends where seed and prompt say, and the same
// request gives the same text, alone or in a crowd, whatever the clock does.
func TestAnswersAreDeterministic(t *testing.T) {
	texts := func(base string) map[string]string {
		out := map[string]string{}
		type pair struct{ prompt, text string }
		all := make(chan pair)
		for i := range 24 {
			go func() {
				prompt := fmt.Sprintf("question %d", i)
				resp, err := http.Post(base+"/v1/completions", "application/json", strings.NewReader(`{"prompt":"`+prompt+`","max_tokens":400}`))
				if err != nil {
					t.Error(err)
					all <- pair{}
					return
				}
				_, text := readAll(t, resp)
				a := decode(t, text)
				all <- pair{prompt, *a.Choices[0].FinishReason + a.Choices[0].Text}
			}()
		}
		for range 24 {
			p := <-all
			out[p.prompt] = p.text
		}
		return out
	}
	flags := []string{"--seed", "7", "--speculative-method", "mtp", "--time-scale"}
	first := texts(startInside(t, append(flags, "1000")...))
	second := texts(startInside(t, append(flags, "300")...))
	if diff := cmp.Diff(first, second); diff != "" {
		t.Error(diff)
	}
	other := texts(startInside(t, "--seed", "8", "--time-scale", "1000"))
	if cmp.Equal(first, other) {
		t.Error("another seed gives the same answers")
	}
	stops := 0
	for _, text := range first {
		if n := len(strings.Fields(text)) - 1; n < 1 || n > 400 {
			t.Errorf("%d tokens", n)
		}
		if strings.HasPrefix(text, "stop") {
			stops++
		}
	}
	if stops == 0 || stops == len(first) {
		t.Errorf("%d of %d answers ended by themselves, want some and not all", stops, len(first))
	}
}

func TestSpeculationPutsTokensTogether(t *testing.T) {
	base := startInside(t, "--time-scale", "100", "--speculative-method", "eagle3", "--speculative-acceptance", "1")
	_, body := post(t, base+"/v1/completions", `{"prompt":"x","max_tokens":11,"ignore_eos":true,"stream":true}`)
	var sizes []int
	for _, c := range chunks(t, body) {
		sizes = append(sizes, len(strings.Fields(c.Choices[0].Text)))
	}
	// The prompt gives one token, each step then four drafts and one more.
	if diff := cmp.Diff([]int{1, 5, 5}, sizes); diff != "" {
		t.Error(diff)
	}
	if n := metric(t, base, "spec_decode_num_accepted_tokens_total"); n != 8 {
		t.Errorf("%g accepted tokens, want 8", n)
	}
}

func TestPrefixCache(t *testing.T) {
	base := startInside(t, "--time-scale", "100")
	cached := func() int {
		t.Helper()
		_, text := post(t, base+"/v1/completions", `{"prompt":`+ids(100, 1)+`,"max_tokens":2,"ignore_eos":true}`)
		return decode(t, text).Usage.Details.Cached
	}
	if n := cached(); n != 0 {
		t.Errorf("%d tokens cached on the first request", n)
	}
	if n := cached(); n != 96 {
		t.Errorf("%d tokens cached on the second request, want the 96 of six whole blocks", n)
	}
	if status, _ := post(t, base+"/reset_prefix_cache", ""); status != http.StatusOK {
		t.Error(status)
	}
	if n := cached(); n != 0 {
		t.Errorf("%d tokens cached after the reset", n)
	}
	if n := metric(t, base, "prefix_cache_hits_total"); n != 96 {
		t.Errorf("%g hits", n)
	}
	off := startInside(t, "--time-scale", "100", "--no-enable-prefix-caching")
	for range 2 {
		_, text := post(t, off+"/v1/completions", `{"prompt":`+ids(100, 1)+`,"max_tokens":2}`)
		if n := decode(t, text).Usage.Details.Cached; n != 0 {
			t.Errorf("%d tokens cached without a cache", n)
		}
	}
}

func TestRefusals(t *testing.T) {
	base := startInside(t, "--time-scale", "100", "--max-model-len", "100")
	for _, tc := range []struct {
		body   string
		status int
		says   string
	}{
		{`{`, 400, "request body"},
		{`{"model":"other","prompt":"x"}`, 404, "does not exist"},
		{`{"max_tokens":5}`, 400, "prompt: missing"},
		{`{"prompt":""}`, 400, "at least one token"},
		{`{"prompt":["a","b"]}`, 400, "one text or one list"},
		{`{"prompt":[-1]}`, 400, "negative"},
		{`{"prompt":7}`, 400, "one text or one list"},
		{`{"prompt":"x","max_tokens":0}`, 400, "at least 1"},
		{`{"prompt":"x","max_tokens":100}`, 400, "longest sequence is 100"},
		{`{"prompt":` + ids(100, 0) + `}`, 400, "longest sequence is 100"},
		{`{"prompt":"x","n":2}`, 400, "one answer"},
		{`{"prompt":"x","stream_options":{"include_usage":true}}`, 400, "only when stream"},
	} {
		status, text := post(t, base+"/v1/completions", tc.body)
		a := decode(t, text)
		if status != tc.status || a.Error == nil || a.Error.Code != status || !strings.Contains(a.Error.Message, tc.says) {
			t.Errorf("%s: %d %s, want %d with %q", tc.body, status, text, tc.status, tc.says)
		}
	}
	if status, text := post(t, base+"/v1/chat/completions", `{"messages":[]}`); status != 400 || !strings.Contains(text, "at least one") {
		t.Error(status, text)
	}
	if status, _ := get(t, base+"/v1/completions"); status != http.StatusMethodNotAllowed {
		t.Error(status)
	}
}

func TestOtherEndpoints(t *testing.T) {
	base := startInside(t, "--time-scale", "100", "--served-model-name", "mine")
	for path, says := range map[string]string{
		"/health": "", "/version": `"version":"1.0"`, "/v1/models": `"id":"mine"`, "/metrics": `sim:num_requests_running{model_name="mine"} 0`,
	} {
		if status, text := get(t, base+path); status != http.StatusOK || !strings.Contains(text, says) {
			t.Errorf("%s: %d %s", path, status, text)
		}
	}
}

// A client that goes away must not keep its seat. The answer would take several
// seconds of real time.
func TestClientThatLeaves(t *testing.T) {
	base := startInside(t, "--time-scale", "10", "--max-num-seqs", "1", "--model", "x/small-0.1B")
	resp, err := http.Post(base+"/v1/completions", "application/json", strings.NewReader(`{"prompt":"x","max_tokens":30000,"ignore_eos":true,"stream":true}`))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	for deadline := time.Now().Add(2 * time.Second); metric(t, base, "num_requests_running") != 0; {
		if time.Now().After(deadline) {
			t.Fatal("the sequence still runs")
		}
		time.Sleep(5 * time.Millisecond)
	}
	if n := metric(t, base, "kv_cache_usage_perc"); n != 0 {
		t.Errorf("share %g of the cache is still held", n)
	}
}
