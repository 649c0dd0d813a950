package load

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/sweepbook/sweepbook/core"
)

// oracle reads a chunk with encoding/json, by the words of scanChunk's comment.
func oracle(data []byte) (c chunk, ok bool) {
	var v any
	if json.Unmarshal(data, &v) != nil {
		return chunk{}, false
	}
	object, ok := v.(map[string]any)
	if !ok {
		return chunk{}, false
	}
	filled := func(v any) bool {
		switch v := v.(type) {
		case nil:
			return false
		case string:
			return v != ""
		case []any:
			return len(v) > 0
		case map[string]any:
			return len(v) > 0
		}
		return true
	}
	choices, _ := object["choices"].([]any)
	for _, one := range choices {
		choice, _ := one.(map[string]any)
		generated := func(v any, reasoning bool) {
			if filled(v) {
				c.token = true
				c.answer = c.answer || !reasoning
				c.reasoning = c.reasoning || reasoning
			}
		}
		generated(choice["text"], false)
		for _, key := range []string{"delta", "message"} {
			m, _ := choice[key].(map[string]any)
			for _, name := range []string{"content", "tool_calls", "function_call", "refusal"} {
				generated(m[name], false)
			}
			generated(m["reasoning"], true)
			generated(m["reasoning_content"], true)
		}
		c.finished = c.finished || choice["finish_reason"] != nil
	}
	_, c.usage = object["usage"].(map[string]any)
	c.failure = filled(object["error"]) || object["object"] == "error"
	return c, true
}

// FuzzScanChunk holds the one-pass reader against encoding/json.
func FuzzScanChunk(f *testing.F) {
	for _, seed := range []string{
		`{"choices":[{"index":0,"delta":{"content":" word"},"logprobs":null,"finish_reason":null}],"usage":null}`,
		`{"choices":[{"delta":{"role":"assistant","content":""}}]}`,
		`{"choices":[{"delta":{"reasoning_content":"hm","tool_calls":[{"function":{"arguments":"{\"a\":"}}]},"finish_reason":"stop"}]}`,
		`{"choices":[{"text":"\ud83d\ude00 \u0041\n"}]}`,
		` {"choices" : [ ] , "usage" : {"prompt_tokens":1,"completion_tokens":2} } `,
		`{"error":{"message":"x"}}`, `{"object":"error","message":"x"}`, `{"error":""}`, `[1,2]`, `{"a":1e5,"b":-0.5,"c":[[],{}]}`,
		`{"choices":[{"text":"a"}`, `{"a":01}`, `{"a":1.}`, `{"a":"\x"}`, "{\"a\":\"\n\"}", `{"choices":[{"finish_reason":false,"text":[ ]}]}`, `{"choices":{"text":"a"}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got, ok := scanChunk(data)
		want, valid := oracle(data)
		if ok != valid {
			t.Fatalf("%q: read %t, valid %t", data, ok, valid)
		}
		// A key that is given twice counts with any of its values here, with the last
		// in encoding/json; no engine writes that.
		if !ok || twice(data) {
			return
		}
		text := got.text
		got.text, got.textAt = nil, 0
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("%q:\n got %+v\nwant %+v", data, got, want)
		}
		if text != nil {
			var s string
			if err := json.Unmarshal([]byte(`"`+string(text)+`"`), &s); err != nil || unescape(text) != s && !strings.Contains(s, "\ufffd") {
				t.Fatalf("text %q: %v; %q, want %q", text, err, unescape(text), s)
			}
		}
	})
}

// FuzzMold holds a chunk that has the shape of another against reading it.
func FuzzMold(f *testing.F) {
	const chunk = `{"choices":[{"index":0,"delta":{"content":" word"},"finish_reason":null}]}`
	for _, other := range []string{
		chunk, `{"choices":[{"index":0,"delta":{"content":"x"},"finish_reason":null}]}`, `{"choices":[{"index":0,"delta":{"content":""},"finish_reason":null}]}`,
		`{"choices":[{"index":0,"delta":{"content":"\"},"finish_reason":null}]}`, `{"choices":[{"index":0,"delta":{"content":"a\"b\\u00e9"},"finish_reason":null}]}`,
		`{"choices":[{"index":0,"delta":{"content":"a","role":"b"},"finish_reason":null}]}`, `{"choices":[{"index":0,"delta":{"content":"x"},"finish_reason":"stop"}]}`,
		`{"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":null},{"delta":{"content":"b"},"finish_reason":null}]}`,
		`{"choices":[{"index":0,"delta":{"content":`,
	} {
		f.Add([]byte(chunk), []byte(other))
	}
	f.Fuzz(func(t *testing.T, first, second []byte) {
		c, ok := scanChunk(first)
		if !ok {
			return
		}
		var m mold
		m.take(first, c)
		got, fits := m.fits(second)
		if !fits {
			return
		}
		want, ok := scanChunk(second)
		want.textAt = got.textAt // of the mold
		if !ok || !reflect.DeepEqual(got, want) {
			t.Fatalf("%q after %q:\n got %+v\nwant %+v, %t", second, first, got, want, ok)
		}
	})
}

// TestMoldFits: chunks that differ in their text alone are not read twice.
func TestMoldFits(t *testing.T) {
	const from = `{"choices":[{"delta":{"content":" word"},"finish_reason":null}]}`
	var m mold
	if _, fits := m.fits([]byte(from)); fits {
		t.Error("something fits a mold of nothing")
	}
	c, _ := scanChunk([]byte(from))
	m.take([]byte(from), c)
	for text, want := range map[string]bool{`x`: true, ` a longer word`: true, `\n`: true, `"`: false, ``: false, `\`: false, "\n": false} {
		c, fits := m.fits([]byte(strings.Replace(from, " word", text, 1)))
		if fits != want || fits && (string(c.text) != text || !c.token || !c.answer || c.finished) {
			t.Errorf("%q: fits %t, want %t: %+v", text, fits, want, c)
		}
	}
	const usage = `{"choices":[{"delta":{"content":"a"}}],"usage":{"completion_tokens":1}}`
	c, _ = scanChunk([]byte(usage))
	m.take([]byte(usage), c)
	if _, fits := m.fits([]byte(usage)); fits {
		t.Error("a chunk with usage is passed over unread")
	}
}

// twice reports whether any object of the data gives a key twice, or one with an
// escape in it.
func twice(data []byte) bool {
	keys := strings.Count(string(data), `":`) + strings.Count(string(data), `" `)
	var count func(v any) int
	count = func(v any) (n int) {
		switch v := v.(type) {
		case []any:
			for _, e := range v {
				n += count(e)
			}
		case map[string]any:
			n = len(v)
			for _, e := range v {
				n += count(e)
			}
		}
		return n
	}
	var v any
	_ = json.Unmarshal(data, &v)
	return keys != count(v) || strings.Contains(string(data), `\u`)
}

func TestUnescapeHalves(t *testing.T) {
	// A character that two chunks brought in halves.
	if got := unescape([]byte(`a\ud83d` + `\ude00\n\"\\\/b`)); got != "a😀\n\"\\/b" {
		t.Errorf("%q", got)
	}
	if got := unescape([]byte(`\ud83d x \u00e9`)); got != "\ufffd x é" {
		t.Errorf("%q", got)
	}
}

func TestLoops(t *testing.T) {
	prose := "Resting does two things at once. The yeast keeps eating sugars and gives off gas, so the loaf grows lighter, and the gluten strands that you pulled " +
		"tight while kneading relax, so the dough can stretch instead of tearing. Skip the rest and you get a dense loaf that springs back when you shape it."
	code := "if err != nil {\n\treturn nil, err\n}\nfor i := range n {\n\tif a[i] != b[i] {\n\t\treturn i, nil\n\t}\n}\nif err := f(); err != nil {\n\treturn 0, err\n}\nreturn -1, nil\n" +
		"func (c *cursor) next() (row, bool) {\n\tif c.at >= len(c.rows) {\n\t\treturn row{}, false\n\t}\n\tc.at++\n\treturn c.rows[c.at-1], true\n}\n"
	for name, tt := range map[string]struct {
		text         string
		loops, known bool
	}{
		"short":                {"abc", false, false},
		"prose":                {prose, false, true},
		"prose twice":          {prose + prose, false, true},
		"code":                 {code, false, true},
		"one character":        {strings.Repeat("!", 300), true, true},
		"a sentence":           {prose + strings.Repeat(" I am sorry, I cannot do that.", 12), true, true},
		"starts well":          {strings.Repeat(prose, 3) + strings.Repeat("\\n\\n", 100), true, true},
		"looped and recovered": {strings.Repeat("na ", 200) + prose + code, false, true},
		"a list":               {"1. apples\n2. pears\n3. plums\n4. cherries\n5. grapes\n6. figs\n7. dates\n8. lemons\n9. limes\n10. oranges\n11. bananas\n12. kiwis\n13. mangos\n14. melons\n15. peaches\n16. nuts\n17. quinces\n18. raspberries\n19. blueberries\n20. cranberries\n", false, true},
	} {
		for _, size := range []int{1, 7, 1000} {
			var end tail
			for rest := tt.text; rest != ""; {
				n := min(size, len(rest))
				end.add([]byte(rest[:n]))
				rest = rest[n:]
			}
			if loops, known := end.loops(); loops != tt.loops || known != tt.known {
				t.Errorf("%s in pieces of %d: loops %t, known %t; want %t, %t", name, size, loops, known, tt.loops, tt.known)
			}
		}
	}
}

func TestAnswerOnlyTokens(t *testing.T) {
	s := blank()
	a := answer{first: core.NoTime, keep: true}
	now := ms(0)[0]
	text := `data: {"choices":[{"delta":{"reasoning":"hm \n"}}]}` + "\n\n" + `data: {"choices":[{"delta":{"content":"\"Hi\""}}]}` + "\n\n" + word + end
	e := newEvents(&byByte{[]byte(text)}, make([]byte, 32), nil)
	e.clock = func() time.Duration { now += ms(1)[0]; return now }
	if err := readStream(e, &s, &a, nil); err != nil {
		t.Fatal(err)
	}
	if a.first <= s.First || a.first >= s.Last {
		t.Errorf("first %v, first of the answer %v, last %v", s.First, a.first, s.Last)
	}
	if got := unescape(a.text); got != `"Hi"x` {
		t.Errorf("text %q, want the answer without its reasoning", got)
	}
}
