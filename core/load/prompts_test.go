package load_test

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/core/load"
)

func seeded(seed float64) core.Load { return core.Load{Seed: core.Number(seed)} }

func random(in, out float64, endpoint string, params core.Knobs) core.Workload {
	return core.Workload{Dataset: "random", InputLen: core.Number(in), OutputLen: core.Number(out), Endpoint: endpoint, Params: params}
}

func prompts(t *testing.T, w core.Workload, seed float64, path string) load.Prompts {
	t.Helper()
	p, err := load.NewPrompts(w, seeded(seed), path)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func take(p load.Prompts, n int) []load.Prompt {
	found := make([]load.Prompt, n)
	for i := range found {
		found[i] = p.At(i)
	}
	return found
}

func TestRandomPrompts(t *testing.T) {
	p := prompts(t, random(64, 8, "completions", nil), 1, "")
	if p.Distinct != -1 {
		t.Errorf("Distinct = %d", p.Distinct)
	}
	starts := map[string]bool{}
	for i, q := range take(p, 2000) {
		if len(q.Tokens) != 64 || q.InputTokens != 64 || q.OutputTokens != 8 || q.Text != "" {
			t.Fatalf("prompt %d: %d ids, %+v", i, len(q.Tokens), q)
		}
		if lo, hi := slices.Min(q.Tokens), slices.Max(q.Tokens); lo < 1000 || hi >= 30000 {
			t.Fatalf("prompt %d: ids from %d to %d", i, lo, hi)
		}
		starts[fmt.Sprint(q.Tokens[:16])] = true
	}
	if len(starts) != 2000 {
		t.Errorf("%d different first blocks of 2000 prompts: a prefix cache would hit", len(starts))
	}
	text := prompts(t, random(50, 8, "", nil), 1, "").At(3)
	if got := len(strings.Fields(text.Text)); got != 50 || text.Tokens != nil {
		t.Errorf("text prompt of %d words, ids %v; want 50 words and no ids", got, text.Tokens)
	}
}

func TestRandomPromptsPure(t *testing.T) {
	w := random(20, 5, "", core.Knobs{"range_ratio": core.Number(0.5)})
	forward := take(prompts(t, w, 7, ""), 20)
	p := prompts(t, w, 7, "")
	for i := 19; i >= 0; i-- {
		if diff := cmp.Diff(forward[i], p.At(i)); diff != "" {
			t.Fatalf("prompt %d depends on the order of calls: %s", i, diff)
		}
	}
	if cmp.Equal(forward, take(prompts(t, w, 8, ""), 20)) {
		t.Error("another seed gave the same prompts")
	}
}

func TestRandomRangeRatio(t *testing.T) {
	w := random(100, 10, "completions", core.Knobs{"range_ratio": core.Number(0.25)})
	var ins, outs []int
	sum := 0
	for _, q := range take(prompts(t, w, 3, ""), 4000) {
		ins, outs = append(ins, len(q.Tokens)), append(outs, q.OutputTokens)
		sum += len(q.Tokens)
	}
	if lo, hi := slices.Min(ins), slices.Max(ins); lo != 75 || hi != 125 {
		t.Errorf("input lengths %d…%d, want 75…125", lo, hi)
	}
	if lo, hi := slices.Min(outs), slices.Max(outs); lo != 7 || hi != 13 {
		t.Errorf("output lengths %d…%d, want 7…13", lo, hi)
	}
	if mean := float64(sum) / 4000; math.Abs(mean-100) > 1 {
		t.Errorf("mean input length %.2f, want 100", mean)
	}
}

func TestRandomPrefix(t *testing.T) {
	p := prompts(t, random(10, 4, "completions", core.Knobs{"prefix_len": core.Number(6)}), 1, "")
	a, b := p.At(0), p.At(1)
	if len(a.Tokens) != 16 || a.InputTokens != 16 || !slices.Equal(a.Tokens[:6], b.Tokens[:6]) || slices.Equal(a.Tokens[6:], b.Tokens[6:]) {
		t.Errorf("prefix of 6 before 10: %v and %v", a.Tokens, b.Tokens)
	}
}

// say makes a text of n words, one estimated token each.
func say(n int, word string) string { return strings.TrimSpace(strings.Repeat(word+" ", n)) }

func conversation(turns ...string) string {
	var parts []string
	for _, turn := range turns {
		parts = append(parts, fmt.Sprintf(`{"from":"x","value":%q}`, turn))
	}
	return `{"id":"1","conversations":[` + strings.Join(parts, ",") + `]}`
}

func TestShareGPTFilters(t *testing.T) {
	file := "[" + strings.Join([]string{
		conversation(say(4, "kept"), say(4, "yes")),
		conversation(say(3, "short"), say(9, "a")),      // prompt under 4
		conversation(say(9, "terse"), say(3, "a")),      // output under 4
		conversation(say(1025, "long"), say(9, "a")),    // prompt over 1024
		conversation(say(1024, "edge"), say(1024, "a")), // exactly 2048
		conversation(say(1024, "over"), say(1025, "a")), // 2049 together
		conversation(say(9, "alone")),
		conversation(),
		`{"id":"other"}`,
		conversation(say(5, "three"), say(6, "a"), say(7, "b")),
	}, ",\n") + "]"
	got, err := load.ShareGPT(strings.NewReader(file), 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	var kept []string
	for _, p := range got {
		kept = append(kept, fmt.Sprintf("%s %d/%d", strings.Fields(p.Text)[0], p.InputTokens, p.OutputTokens))
	}
	if diff := cmp.Diff([]string{"kept 4/4", "edge 1024/1024", "three 5/6"}, kept); diff != "" {
		t.Error(diff)
	}
	fixed, err := load.ShareGPT(strings.NewReader(file), 2, func(s string) int { return len(strings.Fields(s)) })
	if err != nil {
		t.Fatal(err)
	}
	if len(fixed) != 5 || fixed[0].OutputTokens != 2 {
		t.Errorf("with a fixed output of 2: %d kept, %+v; want 5, whose answers are not filtered", len(fixed), fixed[0])
	}
}

func TestShareGPTShuffle(t *testing.T) {
	var all []string
	for i := range 30 {
		all = append(all, conversation(fmt.Sprintf("question number %d of many others", i), say(5, "a")))
	}
	path := filepath.Join(t.TempDir(), "conversations.json")
	if err := os.WriteFile(path, []byte("["+strings.Join(all, ",")+"]"), 0o600); err != nil {
		t.Fatal(err)
	}
	w := core.Workload{Dataset: "sharegpt"}
	p := prompts(t, w, 1, path)
	a := take(p, 30)
	if !cmp.Equal(a, take(prompts(t, w, 1, path), 30)) || cmp.Equal(a, take(prompts(t, w, 2, path), 30)) {
		t.Error("the order does not follow the seed")
	}
	if p.Distinct != 30 || p.At(30).Text != p.At(0).Text {
		t.Errorf("Distinct = %d, prompt 30 %q, prompt 0 %q", p.Distinct, p.At(30).Text, p.At(0).Text)
	}
	seen := map[string]bool{}
	for _, q := range a {
		seen[q.Text] = true
	}
	if len(seen) != 30 {
		t.Errorf("%d different prompts of 30", len(seen))
	}
}

func TestBuiltin(t *testing.T) {
	p := prompts(t, core.Workload{Dataset: "builtin"}, 0, "")
	if p.Distinct != 40 {
		t.Errorf("%d built-in dialogues within the limits, want all 40", p.Distinct)
	}
	for i, q := range take(p, 40) {
		if q.OutputTokens < 30 || q.OutputTokens > 200 {
			t.Errorf("dialogue %d asks for %d tokens", i, q.OutputTokens)
		}
	}
	if got := prompts(t, core.Workload{Dataset: "builtin", OutputLen: core.Number(16)}, 0, "").At(0).OutputTokens; got != 16 {
		t.Errorf("with output_len 16: asks for %d", got)
	}
}

func TestCustom(t *testing.T) {
	file := `{"prompt": "first one", "output_tokens": 7}` + "\r\n\n" + `{"prompt": "second", "topic": [1]}`
	got, err := load.Custom(strings.NewReader(file), 0)
	if err != nil {
		t.Fatal(err)
	}
	want := []load.Prompt{{Text: "first one", InputTokens: 2, OutputTokens: 7}, {Text: "second", InputTokens: 1, OutputTokens: 256}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	got, err = load.Custom(strings.NewReader(file), 12)
	if err != nil || got[0].OutputTokens != 12 || got[1].OutputTokens != 12 {
		t.Errorf("with output 12: %+v, %v", got, err)
	}
}

func TestDataErrors(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	set := func(name string) core.Workload { return core.Workload{Dataset: name} }
	for _, tt := range []struct {
		name, want string
		w          core.Workload
		path       string
	}{
		{"unknown dataset", `dataset: invalid: "poems"; known: random`, set("poems"), ""},
		{"no dataset", `dataset: invalid: ""`, set(""), ""},
		{"random without lengths", "needs input_len and output_len", set("random"), ""},
		{"fractional length", "input_len: invalid", random(1.5, 1, "", nil), ""},
		{"length 0", "output_len: invalid", random(1, 0, "", nil), ""},
		{"unlimited length", "output_len: invalid", random(1, math.Inf(1), "", nil), ""},
		{"ratio 1", "range_ratio: invalid", random(1, 1, "", core.Knobs{"range_ratio": core.Number(1)}), ""},
		{"small vocabulary", "vocab_size: invalid", random(1, 1, "", core.Knobs{"vocab_size": core.Number(1000)}), ""},
		{"unknown parameter", "best_of: invalid: unknown parameter", random(1, 1, "", core.Knobs{"best_of": core.Number(1)}), ""},
		{"temperature in words", "temperature: invalid", random(1, 1, "", core.Knobs{"temperature": core.String("hot")}), ""},
		{"shape of a file's prompts", "range_ratio: invalid", core.Workload{Dataset: "builtin", Params: core.Knobs{"range_ratio": core.Number(0)}}, ""},
		{"endpoint", "endpoint: invalid", random(1, 1, "embeddings", nil), ""},
		{"turns", "turns: invalid: 3", core.Workload{Dataset: "custom", Turns: core.Number(3)}, ""},
		{"no path", "dataset sharegpt needs a data file", set("sharegpt"), ""},
		{"no such file", "open data set", set("custom"), filepath.Join(dir, "absent")},
		{"not an array", "a.json: read conversations: invalid", set("sharegpt"), file("a.json", `{"a":1}`)},
		{"cut off", "b.json: read conversations: near byte", set("sharegpt"), file("b.json", "["+conversation("one two three four", "a b c d"))},
		{"wrong shape", "c.json: read conversations: near byte", set("sharegpt"), file("c.json", `[{"conversations": 4}]`)},
		{"empty file", "d.json: read conversations", set("sharegpt"), file("d.json", "")},
		{"nothing kept", "within the length limits", set("sharegpt"), file("e.json", "[]")},
		{"bad line", "f.jsonl: line 2: invalid", set("custom"), file("f.jsonl", `{"prompt":"a"}`+"\n{")},
		{"no prompt", `g.jsonl: line 1: invalid: no text under "prompt"`, set("custom"), file("g.jsonl", `{"text":"a"}`)},
		{"negative output", "output_tokens -1", set("custom"), file("h.jsonl", `{"prompt":"a","output_tokens":-1}`)},
		{"no lines", "i.jsonl: invalid: no prompt", set("custom"), file("i.jsonl", "\n\n")},
	} {
		_, err := load.NewPrompts(tt.w, core.Load{}, tt.path)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want %q in it", tt.name, err, tt.want)
			continue
		}
		if !errors.Is(err, core.ErrInvalid) && !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: %v is neither ErrInvalid nor a missing file", tt.name, err)
		}
		if strings.Contains(err.Error(), dir) && !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: %v gives a path of this machine", tt.name, err)
		}
	}
}

func TestEstimateTokens(t *testing.T) {
	for _, tt := range []struct {
		text string
		want int
	}{
		{"", 0},
		{"  \t ", 0},
		{"The quick brown fox jumps over the lazy dog.", 10},
		{"12345", 3},
		{"a, b", 3},
		{"你好世界", 4},
		{"Привет", 2},
		{"one\n\ntwo", 3},
	} {
		if got := load.EstimateTokens(tt.text); got != tt.want {
			t.Errorf("EstimateTokens(%q) = %d, want %d", tt.text, got, tt.want)
		}
	}
}

func FuzzShareGPT(f *testing.F) {
	f.Fuzz(func(t *testing.T, data []byte) {
		found, err := load.ShareGPT(strings.NewReader(string(data)), 0, nil)
		if (err == nil) != (len(found) > 0) {
			t.Fatalf("%d prompts and error %v", len(found), err)
		}
		for _, p := range found {
			if p.InputTokens < 4 || p.OutputTokens < 4 || p.InputTokens > 1024 || p.InputTokens+p.OutputTokens > 2048 {
				t.Fatalf("kept %d/%d", p.InputTokens, p.OutputTokens)
			}
		}
	})
}

func FuzzCustom(f *testing.F) {
	f.Fuzz(func(t *testing.T, data []byte) {
		found, err := load.Custom(strings.NewReader(string(data)), 0)
		if (err == nil) != (len(found) > 0) {
			t.Fatalf("%d prompts and error %v", len(found), err)
		}
		for _, p := range found {
			if p.Text == "" || p.OutputTokens < 1 {
				t.Fatalf("kept %+v", p)
			}
		}
	})
}
