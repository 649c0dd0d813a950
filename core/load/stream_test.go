package load

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sweepbook/sweepbook/core"
)

// timedLine is a line of a recorded stream and the moment at which it came.
type timedLine struct {
	AtMS float64 `json:"t_ms"`
	Line string  `json:"line"`
}

// recording plays timed lines: a line is there when it is read, and reading it
// moves the clock to its moment.
type recording struct {
	lines []timedLine
	now   time.Duration
}

func (r *recording) Read(p []byte) (int, error) {
	if len(r.lines) == 0 {
		return 0, io.EOF
	}
	line := r.lines[0]
	r.lines = r.lines[1:]
	r.now = time.Duration(math.Round(line.AtMS * 1e6))
	end := "\n"
	if strings.HasPrefix(line.Line, "data:") {
		end = "\n\n"
	}
	return copy(p, line.Line+end), nil
}

func play(t *testing.T, path string) (core.Sample, error) {
	t.Helper()
	s, _, err := playAnswer(t, path)
	return s, err
}

func playAnswer(t *testing.T, path string) (core.Sample, answer, error) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	rec := &recording{}
	for line := range strings.Lines(string(data)) {
		var timed timedLine
		if err := json.Unmarshal([]byte(line), &timed); err != nil {
			t.Fatal(err)
		}
		rec.lines = append(rec.lines, timed)
	}
	s := blank()
	a := answer{first: core.NoTime}
	err = readStream(newEvents(rec, make([]byte, 64<<10), func() time.Duration { return rec.now }), &s, &a, nil)
	return s, a, err
}

// readAll reads a whole stream into a sample.
func readAll(in io.Reader, buffer []byte, clock func() time.Duration, s *core.Sample) error {
	return readStream(newEvents(in, buffer, clock), s, &answer{first: core.NoTime}, nil)
}

func blank() core.Sample {
	return core.Sample{First: core.NoTime, Last: core.NoTime, End: core.NoTime, InputTokens: -1, CachedTokens: -1, OutputTokens: -1}
}

func ms(moments ...float64) []time.Duration {
	var ds []time.Duration
	for _, m := range moments {
		ds = append(ds, time.Duration(m*float64(time.Millisecond)))
	}
	return ds
}

func TestRecordedStreams(t *testing.T) {
	for name, want := range map[string]core.Sample{
		"role-chunk":  {First: ms(150)[0], Last: ms(180)[0], End: ms(210)[0], Chunks: ms(150, 160, 180), InputTokens: 11, CachedTokens: 8, OutputTokens: 3},
		"reasoning":   {First: ms(50)[0], Last: ms(250)[0], End: ms(252)[0], Chunks: ms(50, 70, 250), InputTokens: 5, CachedTokens: -1, OutputTokens: 41},
		"tool-call":   {First: ms(90)[0], Last: ms(130)[0], End: ms(131)[0], Chunks: ms(90, 130), InputTokens: 20, CachedTokens: -1, OutputTokens: 9},
		"completions": {First: ms(20)[0], Last: ms(30)[0], End: ms(41)[0], Chunks: ms(20, 30), InputTokens: 2, CachedTokens: -1, OutputTokens: 3},
	} {
		got, err := play(t, filepath.Join("testdata", "streams", name+".jsonl"))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	_, err := play(t, filepath.Join("testdata", "streams", "error-event.jsonl"))
	if err == nil || err.Error() != "server: out of memory in block manager" {
		t.Errorf("error event: %v", err)
	}
}

// shared finds a folder beside the repository and skips where there is none.
func shared(t *testing.T, parts ...string) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		if dir == filepath.Dir(dir) {
			t.Fatal("no go.mod above the test")
		}
		dir = filepath.Dir(dir)
	}
	path := filepath.Join(append([]string{dir, "..", "shared"}, parts...)...)
	if _, err := os.Stat(path); err != nil {
		t.Skipf("shared cases are not here: %v", err)
	}
	return path
}

// TestSharedCase31 holds the streams of the shared case against its figures.
func TestSharedCase31(t *testing.T) {
	dir := shared(t, "cases", "31-which-chunk-is-the-first-token")
	data, err := os.ReadFile(filepath.Join(dir, "expected.json"))
	if err != nil {
		t.Fatal(err)
	}
	var cases map[string]struct {
		TTFT   float64 `json:"ttft_ms"`
		Tokens float64 `json:"output_tokens"`
		TPOT   float64 `json:"tpot_ms"`
		TTFO   float64 `json:"ttfo_ms"`
		E2EL   float64 `json:"e2el_ms"`
		Status string  `json:"status"`
		Error  string  `json:"error_contains"`
	}
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	if len(cases) != 4 {
		t.Fatalf("%d streams", len(cases))
	}
	for name, want := range cases {
		s, a, err := playAnswer(t, filepath.Join(dir, name))
		if ttfo := float64(a.first) / 1e6; want.TTFO != 0 && math.Abs(ttfo-want.TTFO) > 5e-7 {
			t.Errorf("%s: first token that is not reasoning at %v ms, want %v", name, ttfo, want.TTFO)
		}
		if want.Status == "failed" {
			if err == nil || !strings.Contains(err.Error(), want.Error) {
				t.Errorf("%s: error %v, want %q in it", name, err, want.Error)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		f := Figures([]core.Sample{s})
		check := func(field string, want float64) {
			if got, ok := f[field]; want != 0 && (!ok || math.Abs(got-want) > 5e-7) {
				t.Errorf("%s: %s = %v (%t), want %v", name, field, got, ok, want)
			}
		}
		check("mean_ttft_ms", want.TTFT)
		check("output_tokens", want.Tokens)
		check("mean_tpot_ms", want.TPOT)
		check("mean_e2el_ms", want.E2EL)
	}
}

func read(text string) (core.Sample, error) {
	s := blank()
	now := time.Duration(0)
	err := readAll(strings.NewReader(text), make([]byte, 16), func() time.Duration { now++; return now }, &s)
	return s, err
}

const (
	word   = `data: {"choices":[{"delta":{"content":"x"}}]}` + "\n\n"
	stop   = `data: {"choices":[{"delta":{},"finish_reason":"stop"}]}` + "\n\n"
	counts = `data: {"choices":[],"usage":{"prompt_tokens":4,"completion_tokens":1}}` + "\n\n"
	end    = "data: [DONE]\n\n"
)

func TestStreamEnds(t *testing.T) {
	for _, tt := range []struct {
		name, text, fault string
		tokens, chunks    int
	}{
		{"whole", word + stop + counts + end, "", 1, 1},
		{"no usage: unknown, not counted", word + word + stop + end, "", -1, 2},
		{"usage null", word + `data: {"choices":[],"usage":null}` + "\n\n" + end, "", -1, 1},
		{"[DONE] without finish reason", word + end, "", -1, 1},
		{"finish reason without [DONE]", word + stop, "", -1, 1},
		{"usage before finish", word + counts + stop, "", 1, 1},
		{"neither", word + counts, "stream ended without", 1, 1},
		{"nothing but comments", ": ping\n\n: ping\n\n", "stream ended without", -1, 0},
		{"nothing", "", "stream ended without", -1, 0},
		{"no token", stop + end, "answer without a token", -1, 0},
		{"no token, counted", stop + counts + end, "answer without a token (the server counts 1)", 1, 0},
		{"empty text", `data: {"choices":[{"text":""}]}` + "\n\n" + end, "answer without a token", -1, 0},
		{"error in words", `data: {"error": "no more blocks"}` + "\n\n" + end, "server: no more blocks", -1, 0},
		{"older error", `data: {"object":"error","message":"too long","code":400}` + "\n\n", "server: too long", -1, 0},
		{"named event", word + "event: error\ndata: it broke\n\n" + end, "server: it broke", -1, 1},
		{"error null", `data: {"error":null,"choices":[{"text":"a"}]}` + "\n\n" + end, "", -1, 1},
		{"not JSON", word + "data: {\"choices\":[\n\n" + end, "unreadable chunk", -1, 1},
		{"CRLF", strings.ReplaceAll(word+counts+end, "\n", "\r\n"), "", 1, 1},
		{"no blank lines", strings.ReplaceAll(word+word+counts+end, "\n\n", "\n"), "", 1, 2},
		{"space before the line's end", "data: {\"choices\":[{\"text\":\"a\"}]} \n\ndata: [DONE] \n\n", "", -1, 1},
		{"no space after the colon", "data:{\"choices\":[{\"text\":\"a\"}]}\n\ndata:[DONE]\n\n", "", -1, 1},
		{"several lines", "data: {\"choices\":[{\ndata: \"text\":\"a\"}]}\n\n" + end, "", -1, 1},
		{"ids and retry", "id: 7\nretry: 10\nevent: message\n" + word + end, "", -1, 1},
		{"after [DONE]", word + end + word, "", -1, 1},
		{"byte order mark", "\ufeff" + word + end, "", -1, 1},
		{"end without a newline", word + "data: [DONE]", "", -1, 1},
		{"negative counts", word + `data: {"choices":[],"usage":{"completion_tokens":-3}}` + "\n\n" + end, "", -1, 1},
		{"message object", `data: {"message":{"content":"a"},"choices":[{"text":"a"}]}` + "\n\n" + end, "", -1, 1},
	} {
		s, err := read(tt.text)
		switch {
		case tt.fault == "" && err != nil:
			t.Errorf("%s: %v", tt.name, err)
		case tt.fault != "" && (err == nil || !strings.Contains(err.Error(), tt.fault)):
			t.Errorf("%s: error %v, want %q in it", tt.name, err, tt.fault)
		}
		if s.OutputTokens != tt.tokens || len(s.Chunks) != tt.chunks {
			t.Errorf("%s: %d tokens in %d chunks, want %d in %d", tt.name, s.OutputTokens, len(s.Chunks), tt.tokens, tt.chunks)
		}
		if s.End == core.NoTime {
			t.Errorf("%s: no End", tt.name)
		}
	}
}

func TestLongLines(t *testing.T) {
	long := `data: {"choices":[{"text":"` + strings.Repeat("y", 1<<20) + `"}]}` + "\n\n"
	if s, err := read(long + end); err != nil || len(s.Chunks) != 1 {
		t.Errorf("a line of 1 MiB: %d chunks, %v", len(s.Chunks), err)
	}
	if _, err := read("data: " + strings.Repeat("y", maxEvent+1)); !errors.Is(err, errEventTooLong) {
		t.Errorf("a line above the limit: %v", err)
	}
	if _, err := read(strings.Repeat("data: "+strings.Repeat("y", 1<<20)+"\n", 9)); !errors.Is(err, errEventTooLong) {
		t.Errorf("an event above the limit: %v", err)
	}
}

func TestOneLine(t *testing.T) {
	for in, want := range map[string]string{
		"a\n\tb\x00c":             "a b c",
		"\xff":                    "\ufffd",
		strings.Repeat("é", 400):  strings.Repeat("é", 150) + "…",
		strings.Repeat("ab", 150): strings.Repeat("ab", 150),
	} {
		if got := oneLine(in); got != want {
			t.Errorf("oneLine(%q) = %q, want %q", in, got, want)
		}
	}
}

// FuzzEvents feeds the reader any bytes, once whole and once byte by byte: what
// it reads must not depend on how the bytes came.
func FuzzEvents(f *testing.F) {
	f.Fuzz(func(t *testing.T, data []byte) {
		whole := allEvents(t, bytes.NewReader(data), 64<<10, data)
		single := allEvents(t, &byByte{data}, 16, data)
		if diff := cmp.Diff(whole, single); diff != "" {
			t.Fatal(diff)
		}
	})
}

func allEvents(t *testing.T, in io.Reader, buffer int, data []byte) (found []string) {
	e := newEvents(in, make([]byte, buffer), func() time.Duration { return 0 })
	for {
		got, err := e.next()
		if err != nil {
			if !errors.Is(err, io.EOF) {
				t.Fatal(err)
			}
			return found
		}
		if bytes.ContainsAny([]byte(got.name), "\n") || len(got.data) > len(data) {
			t.Fatalf("event %q with %d bytes of data from %d bytes", got.name, len(got.data), len(data))
		}
		found = append(found, got.name+"|"+string(got.data))
	}
}

type byByte struct{ data []byte }

func (b *byByte) Read(p []byte) (int, error) {
	if len(b.data) == 0 {
		return 0, io.EOF
	}
	p[0] = b.data[0]
	b.data = b.data[1:]
	return 1, nil
}

// FuzzStream holds what a sample promises against any bytes that a server sends.
func FuzzStream(f *testing.F) {
	f.Fuzz(func(t *testing.T, text string) {
		s, err := read(text)
		if err == nil && (len(s.Chunks) == 0 || s.First == core.NoTime) {
			t.Fatal("a good answer without a token")
		}
		if len(s.Chunks) > 0 && (s.First != s.Chunks[0] || s.Last != s.Chunks[len(s.Chunks)-1]) {
			t.Fatalf("first %v, last %v, chunks %v", s.First, s.Last, s.Chunks)
		}
		if s.OutputTokens < -1 || s.InputTokens < -1 || s.CachedTokens < -1 {
			t.Fatalf("counts %d %d %d", s.InputTokens, s.CachedTokens, s.OutputTokens)
		}
		if err != nil && strings.ContainsAny(oneLine(err.Error()), "\n\r\x00") {
			t.Fatalf("error of several lines: %q", err)
		}
		if err == nil && s.Inverted() {
			t.Fatalf("moments go back: %+v", s)
		}
	})
}

// BenchmarkChunk is what one chunk of a stream costs.
func BenchmarkChunk(b *testing.B) {
	chunk := "data: " + `{"id":"chatcmpl-9c1d","object":"chat.completion.chunk","created":1764000000,"model":"org/model-8b","choices":[{"index":0,"delta":{"content":" word"},"logprobs":null,"finish_reason":null}]}` + "\n\n"
	b.SetBytes(int64(len(chunk)))
	b.ReportAllocs()
	text := strings.NewReader(strings.Repeat(chunk, b.N) + end)
	s := blank()
	start := time.Now()
	if err := readAll(text, make([]byte, 8<<10), func() time.Duration { return time.Since(start) }, &s); err != nil || len(s.Chunks) != b.N {
		b.Fatal(len(s.Chunks), err)
	}
}
