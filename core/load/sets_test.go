package load_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/core/load"
)

func TestPrefixRepetition(t *testing.T) {
	w := core.Workload{Dataset: "prefix_repetition", Endpoint: "completions", Params: core.Knobs{
		"num_prefixes": core.Number(4), "prefix_len": core.Number(6), "suffix_len": core.Number(3)}}
	p := prompts(t, w, 1, "")
	byPrefix, suffixes := map[string]int{}, map[string]bool{}
	for i, q := range take(p, 40) {
		if len(q.Tokens) != 9 || q.InputTokens != 9 || !q.Exact || q.OutputTokens != 128 {
			t.Fatalf("prompt %d: %+v", i, q)
		}
		byPrefix[fmt.Sprint(q.Tokens[:6])]++
		suffixes[fmt.Sprint(q.Tokens[6:])] = true
	}
	if len(byPrefix) != 4 || len(suffixes) != 40 {
		t.Errorf("%d prefixes, %d suffixes; want 4, 40", len(byPrefix), len(suffixes))
	}
	for prefix, n := range byPrefix {
		if n != 10 {
			t.Errorf("prefix %s %d times, want 10", prefix, n)
		}
	}
	if !cmp.Equal(take(p, 9), take(prompts(t, w, 1, ""), 9)) || cmp.Equal(take(p, 9), take(prompts(t, w, 2, ""), 9)) {
		t.Error("the prompts do not follow the seed")
	}
}

func dataFile(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestTrace(t *testing.T) {
	path := dataFile(t, "trace.jsonl", `{"timestamp": 3000, "input_length": 700, "output_length": 52, "hash_ids": [46, 47]}
{"timestamp": 1000, "input_length": 600, "output_length": 0, "hash_ids": [46, 48], "chat_id": 5}

{"timestamp": 2500, "input_length": 10, "output_length": 7}
`)
	p := prompts(t, core.Workload{Dataset: "trace", Endpoint: "completions"}, 1, path)
	if p.Distinct != 3 || p.Due(0) != 0 || p.Due(1) != 1500*time.Millisecond || p.Due(2) != 2*time.Second {
		t.Errorf("%d requests due %v %v %v", p.Distinct, p.Due(0), p.Due(1), p.Due(2))
	}
	a, b, c := p.At(0), p.At(1), p.At(2)
	if len(a.Tokens) != 600 || a.OutputTokens != 1 || len(b.Tokens) != 10 || b.OutputTokens != 7 || len(c.Tokens) != 700 || c.OutputTokens != 52 {
		t.Errorf("lengths %d/%d %d/%d %d/%d", len(a.Tokens), a.OutputTokens, len(b.Tokens), b.OutputTokens, len(c.Tokens), c.OutputTokens)
	}
	if !slices.Equal(a.Tokens[:512], c.Tokens[:512]) || slices.Equal(a.Tokens[512:520], c.Tokens[512:520]) {
		t.Error("the common block is not the same text, or the other is")
	}
	for text, want := range map[string]string{
		`{"timestamp": 1}`: "want timestamp", `{`: "line 1", "": "no request", `{"timestamp":1,"input_length":0,"output_length":1}`: "lengths 0",
	} {
		_, err := load.NewPrompts(core.Workload{Dataset: "trace"}, core.Load{}, dataFile(t, "bad.jsonl", text))
		if !errors.Is(err, core.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	if _, err := load.NewPrompts(random(1, 1, "", nil), core.Load{}, ""); err != nil {
		t.Error(err)
	}
	if _, err := load.NewPrompts(core.Workload{Dataset: "trace", InputLen: core.Number(4)}, core.Load{}, path); !errors.Is(err, core.ErrInvalid) {
		t.Errorf("a length beside the trace's: %v", err)
	}
}

func FuzzTrace(f *testing.F) {
	f.Add([]byte(`{"timestamp": 1, "input_length": 5, "output_length": 2, "hash_ids": [1, -2]}`))
	f.Add([]byte(`{"timestamp": -1e300, "input_length": 1, "output_length": 0}` + "\n" + `{"timestamp": 1e300, "input_length": 1, "output_length": 0}`))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(dir, "trace.jsonl")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		p, err := load.NewPrompts(core.Workload{Dataset: "trace"}, core.Load{}, path)
		if err != nil {
			return
		}
		for i := 1; i < p.Distinct; i++ {
			if p.Due(i) < p.Due(i-1) || p.Due(0) != 0 {
				t.Fatalf("due %v after %v", p.Due(i), p.Due(i-1))
			}
		}
	})
}

// TestRunTrace: the moments are the trace's, divided by the speed; the run ends
// with it.
func TestRunTrace(t *testing.T) {
	f := serve(t, nil)
	path := dataFile(t, "trace.jsonl", `{"timestamp": 0, "input_length": 4, "output_length": 2}
{"timestamp": 1000, "input_length": 5, "output_length": 3}
{"timestamp": 2000, "input_length": 6, "output_length": 1}
`)
	req := request(f.URL, core.Workload{Dataset: "trace", Endpoint: "completions", Params: core.Knobs{"speed": core.Number(10)}}, core.Load{})
	req.DataPath = path
	var s sink
	if err := load.Run(t.Context(), req, &s); err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(s.samples, func(a, b core.Sample) int { return a.Index - b.Index })
	for i, a := range s.samples {
		if want := time.Duration(i) * 100 * time.Millisecond; a.Due != want || a.Sent < a.Due || a.Outcome != core.OutcomeOK {
			t.Errorf("sample %+v, want due %v", a, want)
		}
	}
	if len(s.samples) != 3 {
		t.Errorf("%d samples", len(s.samples))
	}
	req.Load.RequestRate = core.Number(4)
	if err := load.Run(t.Context(), req, &s); !errors.Is(err, core.ErrInvalid) {
		t.Errorf("a rate beside a trace: %v", err)
	}
}

// talk answers with the number of messages that it was asked with.
func talk(t *testing.T, asked chan<- []map[string]any) *httptest.Server {
	t.Helper()
	var n atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var q struct{ Messages []map[string]any }
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
			t.Error(err)
		}
		asked <- q.Messages
		write(w, `{"choices":[{"delta":{"reasoning":"hm"}}]}`)
		write(w, fmt.Sprintf(`{"choices":[{"delta":{"content":"answer \"%d\""}}]}`, n.Add(1)))
		write(w, `{"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":2}}`)
		_, _ = io.WriteString(w, "data: [DONE]\n\n")
	}))
	t.Cleanup(server.Close)
	return server
}

func TestConversations(t *testing.T) {
	for _, history := range []string{"answer", "reference"} {
		asked := make(chan []map[string]any, 100)
		w := core.Workload{Dataset: "builtin", Turns: core.Number(3), OutputLen: core.Number(8), Params: core.Knobs{"history": core.String(history)}}
		server := talk(t, asked)
		s := run(t, request(server.URL, w, closed(1, 8)))
		server.Close() // no handler is at work any more
		close(asked)
		if len(s.samples) != 8 {
			t.Fatalf("%s: %d samples", history, len(s.samples))
		}
		var before []map[string]any
		i := 0
		for messages := range asked {
			if want := 2*(i%3) + 1; len(messages) != want {
				t.Fatalf("%s: request %d holds %d messages, want %d", history, i, len(messages), want)
			}
			if i%3 > 0 {
				if !cmp.Equal(before, messages[:len(before)]) {
					t.Errorf("%s: request %d does not begin with the one before", history, i)
				}
				answer := messages[len(messages)-2]
				if own := answer["content"] == fmt.Sprintf("answer %q", fmt.Sprint(i)); answer["role"] != "assistant" || own != (history == "answer") {
					t.Errorf("%s: request %d holds %v", history, i, answer)
				}
				if a, b := s.samples[i-1], s.samples[i]; b.Due != a.End || b.Sent < a.End {
					t.Errorf("%s: turn %d due %v, sent %v, the answer before ended %v", history, i, b.Due, b.Sent, a.End)
				}
			}
			before = messages
			i++
		}
	}
}

// TestConversationsTogether: sessions run side by side, each in order, and a
// session holds its slot for all its turns.
func TestConversationsTogether(t *testing.T) {
	f := serve(t, nil)
	f.pause = 5 * time.Millisecond
	w := core.Workload{Dataset: "builtin", Turns: core.Number(4), OutputLen: core.Number(3), Params: core.Knobs{"think_s": core.Number(0.02)}}
	s := run(t, request(f.URL, w, closed(3, 24)))
	if len(s.samples) != 24 || f.most.Load() != 3 {
		t.Errorf("%d samples, %d in flight", len(s.samples), f.most.Load())
	}
	for i := 1; i < len(s.samples); i++ {
		if a, b := s.samples[i-1], s.samples[i]; i%4 > 0 && b.Sent < a.End+20*time.Millisecond {
			t.Errorf("turn %d sent %v, the answer before ended %v", i, b.Sent, a.End)
		}
	}
	// At a rate of requests, conversations begin at a quarter of it.
	l := core.Load{RequestRate: core.Number(40), Burstiness: core.Unlimited(), NumPrompts: core.Number(8)}
	s = run(t, request(f.URL, w, l))
	if s.samples[0].Due != 100*time.Millisecond || s.samples[4].Due != 200*time.Millisecond {
		t.Errorf("conversations due %v and %v", s.samples[0].Due, s.samples[4].Due)
	}
}

// TestConversationFails: turns that cannot be asked have failed too.
func TestConversationFails(t *testing.T) {
	n := 0
	f := serve(t, func(w http.ResponseWriter, _ *http.Request, _ asked) {
		if n++; n == 2 {
			http.Error(w, "full", http.StatusServiceUnavailable)
			return
		}
		good(w, 2, 0)
	})
	s := run(t, request(f.URL, core.Workload{Dataset: "builtin", Turns: core.Number(4)}, closed(1, 8)))
	var got []string
	for _, a := range s.samples {
		got = append(got, a.Outcome.String()+" "+load.ErrorClass(a.Error))
	}
	want := []string{"ok ", "failed http", "failed session", "failed session", "ok ", "ok ", "ok ", "ok "}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	check(t, load.Figures(s.samples), map[string]float64{"requested": 8, "completed": 5, "failed": 3})
	if diff := cmp.Diff(map[string]int{"http": 1, "session": 2}, load.ErrorClasses(s.samples)); diff != "" {
		t.Error(diff)
	}
}

func TestShareGPTConversations(t *testing.T) {
	turn := func(from, value string) string { return fmt.Sprintf(`{"from":%q,"value":%q}`, from, value) }
	q, a := say(5, "question"), say(6, "answer")
	path := dataFile(t, "talk.json", "["+strings.Join([]string{
		`{"conversations":[` + strings.Join([]string{turn("system", "be brief"), turn("human", q), turn("gpt", a), turn("human", q), turn("gpt", a)}, ",") + `]}`,
		`{"conversations":[` + strings.Join([]string{turn("human", q), turn("human", q), turn("gpt", a), turn("gpt", a)}, ",") + `]}`,
		`{"conversations":[` + strings.Join([]string{turn("human", q), turn("gpt", a)}, ",") + `]}`,
		`{"conversations":[` + strings.Join([]string{turn("human", q), turn("gpt", a), turn("human", "no"), turn("gpt", a)}, ",") + `]}`,
	}, ",")+"]")
	p := prompts(t, core.Workload{Dataset: "sharegpt", Turns: core.Number(2)}, 1, path)
	if p.Distinct != 2 || p.Turns != 2 || !p.OwnAnswers {
		t.Fatalf("%+v", p)
	}
	want := []load.Turn{{Role: "system", Text: "be brief"}, {Role: "user", Text: q}, {Role: "assistant", Text: a}}
	if diff := cmp.Diff(want, p.At(1).History); diff != "" {
		t.Error(diff)
	}
	if p.At(0).InputTokens != 5 || p.At(1).InputTokens != 5+6+5 {
		t.Errorf("lengths %d and %d", p.At(0).InputTokens, p.At(1).InputTokens)
	}
}

// TestShareGPTWanted: no more is counted than the load can use, and the same
// prompts come first whatever the number.
func TestShareGPTWanted(t *testing.T) {
	var all []string
	for i := range 200 {
		all = append(all, conversation(fmt.Sprintf("question number %d of many others", i), say(5, "a")))
	}
	path := dataFile(t, "c.json", "\ufeff [ "+strings.Join(all, " ,\n ")+" ]\n")
	counted := 0
	counter := load.Counter{Name: "given", Count: func(text string) (int, error) { counted++; return load.EstimateTokens(text), nil }}
	l := core.Load{NumPrompts: core.Number(10), Seed: core.Number(4)}
	few, err := load.PromptsCountedBy(counter, core.Workload{Dataset: "sharegpt"}, l, path)
	if err != nil {
		t.Fatal(err)
	}
	if few.Distinct != 10 || counted != 20 || few.CountedBy != "given" || !few.At(0).Exact {
		t.Errorf("%d prompts, %d texts counted by %s", few.Distinct, counted, few.CountedBy)
	}
	l.NumPrompts = core.Number(100)
	many, err := load.PromptsCountedBy(counter, core.Workload{Dataset: "sharegpt"}, l, path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(take(few, 10), take(many, 10)); diff != "" {
		t.Error(diff)
	}
}

// TestRandomTextIsExact: with a vocabulary a random text has exactly the tokens
// that were asked for.
func TestRandomTextIsExact(t *testing.T) {
	tok, err := load.LoadTokenizer(small(t, nil))
	if err != nil {
		t.Fatal(err)
	}
	// The small vocabulary has too few whole words: this counter has them all but
	// some, so that both ways are taken.
	odd := func(word string) bool { return len(word) == 5 }
	counter := load.Counter{Name: "given", Count: func(text string) (int, error) {
		n := 2 // special tokens around a text
		for _, word := range strings.Fields(text) {
			n++
			if odd(word) {
				n++
			}
		}
		return n, nil
	}}
	p, err := load.PromptsCountedBy(counter, random(50, 4, "", nil), core.Load{}, "")
	if err != nil {
		t.Fatal(err)
	}
	for i, q := range take(p, 50) {
		if n, _ := counter.Count(q.Text); n != 52 || q.InputTokens != 52 || !q.Exact {
			t.Fatalf("prompt %d has %d tokens, said %d (%t): %q", i, n, q.InputTokens, q.Exact, q.Text)
		}
	}
	p, err = load.PromptsCountedBy(tok.Counter(), random(50, 4, "", nil), core.Load{}, "")
	if err != nil || p.At(0).Exact || p.CountedBy != load.CountedByEstimate {
		t.Errorf("a vocabulary without words: %+v counted by %s, %v", p.At(0), p.CountedBy, err)
	}
}

func TestPresets(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range load.Presets() {
		if seen[p.Name] || p.Doc == "" {
			t.Errorf("preset %+v", p)
		}
		seen[p.Name] = true
		path := ""
		if p.Workload.Dataset == "sharegpt" {
			path = dataFile(t, "s.json", "["+conversation(say(5, "q"), say(5, "a"))+"]")
		}
		if _, err := load.NewPrompts(p.Workload, p.Load, path); err != nil {
			t.Errorf("%s: %v", p.Name, err)
		}
	}
	for name, want := range map[string]string{"throughput": "random 1024/128 rate=1000 n=1000 seed=42", "long-context": "random 32000/100 rate=1 n=100 seed=42",
		"generation": "random 1000/2000 rate=1 n=200 seed=42", "short": "random 128/4 rate=unlimited n=1000 seed=42", "sharegpt": "sharegpt / rate=1000 n=1000 seed=",
		"sharegpt-4": "sharegpt / rate=unlimited n=100 seed="} {
		i := slices.IndexFunc(load.Presets(), func(p load.Preset) bool { return p.Name == name })
		p := load.Presets()[i]
		got := fmt.Sprintf("%s %s/%s rate=%s n=%s seed=%s", p.Workload.Dataset, p.Workload.InputLen, p.Workload.OutputLen, p.Load.RequestRate, p.Load.NumPrompts, p.Load.Seed)
		if got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

// TestPromptCounter: the record says what counted the prompts.
func TestPromptCounter(t *testing.T) {
	usage := `{"choices":[],"usage":{"prompt_tokens":12,"completion_tokens":2}}`
	bare := `{"choices":[],"usage":{"completion_tokens":2}}`
	server := func(last string, tokenize int) string {
		mux := http.NewServeMux()
		mux.HandleFunc("/v1/", func(w http.ResponseWriter, _ *http.Request) {
			write(w, `{"choices":[{"text":"a","delta":{"content":"a"}}]}`)
			write(w, last)
			write(w, "[DONE]")
		})
		if tokenize > 0 {
			mux.HandleFunc("POST /tokenize", func(w http.ResponseWriter, r *http.Request) {
				var q struct{ Model, Prompt string }
				if err := json.NewDecoder(r.Body).Decode(&q); err != nil || q.Model != "m" {
					t.Errorf("%+v, %v", q, err)
				}
				w.WriteHeader(tokenize)
				fmt.Fprintf(w, `{"count":%d,"max_model_len":4096,"tokens":[]}`, len(strings.Fields(q.Prompt)))
			})
		}
		s := httptest.NewServer(mux)
		t.Cleanup(s.Close)
		return s.URL
	}
	for _, tt := range []struct {
		name, url, endpoint string
		ruler               load.Ruler
		w                   core.Workload
		counter, lengths    string
		input               float64
	}{
		{"usage", server(usage, 0), "chat", load.Ruler{}, random(9, 2, "chat", nil), "usage", "estimate", 24},
		{"no usage", server(bare, 0), "chat", load.Ruler{}, random(9, 2, "chat", nil), "estimate", "estimate", missing},
		{"ids without usage", server(bare, 0), "completions", load.Ruler{}, random(9, 2, "completions", nil), "ids", "ids", 18},
		{"by the server", server(bare, 200), "completions", load.Ruler{AskServer: true}, core.Workload{Dataset: "builtin", Endpoint: "completions"}, "server", "server", missing},
		{"server offers none", server(bare, 0), "chat", load.Ruler{AskServer: true}, core.Workload{Dataset: "builtin"}, "estimate", "estimate", missing},
		{"server refuses", server(usage, 500), "chat", load.Ruler{AskServer: true}, core.Workload{Dataset: "builtin"}, "usage", "estimate", 24},
	} {
		s := &summed{}
		if err := tt.ruler.Run(t.Context(), request(tt.url, tt.w, closed(1, 2)), s); err != nil {
			t.Fatal(err)
		}
		if got := s.extra["prompt_counter"]; got != core.String(tt.counter) {
			t.Errorf("%s: prompt_counter %v, want %s", tt.name, got, tt.counter)
		}
		if got := s.extra["prompt_length_counter"]; got != core.String(tt.lengths) {
			t.Errorf("%s: prompt_length_counter %v, want %s", tt.name, got, tt.lengths)
		}
		f := load.Figures(s.samples)
		if tt.counter == "server" {
			if f["input_tokens"] == 0 {
				t.Errorf("%s: no input tokens", tt.name)
			}
			continue
		}
		check(t, f, map[string]float64{"input_tokens": tt.input})
	}
}

// summed is a sink that keeps the summary too.
type summed struct {
	sink
	extra map[string]core.Value
}

func (s *summed) Summary(extra map[string]core.Value) { s.extra = extra }

// TestCheckpointTokenizer: a local checkpoint brings its tokenizer; one that
// cannot be followed is told and not used.
func TestCheckpointTokenizer(t *testing.T) {
	f := serve(t, nil)
	good := small(t, nil)
	bad := small(t, object{"normalizer": object{"type": "Lowercase"}})
	for path, want := range map[string]string{good: load.CountedByTokenizer, bad: load.CountedByEstimate} {
		req := request(f.URL, core.Workload{Dataset: "builtin", OutputLen: core.Number(2)}, closed(1, 1))
		req.Config.Checkpoint = filepath.Dir(path)
		s := &summed{}
		if err := load.Run(t.Context(), req, s); err != nil {
			t.Fatal(err)
		}
		if got := s.extra["prompt_length_counter"]; got != core.String(want) {
			t.Errorf("counted by %v, want %s", got, want)
		}
		if told := strings.Contains(s.progress[0].Message, "Lowercase"); told != (want == load.CountedByEstimate) {
			t.Errorf("progress %+v", s.progress[0])
		}
	}
}
