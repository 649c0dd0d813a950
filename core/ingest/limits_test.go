package ingest_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/core/ingest"
)

// sized gives a text over and over, n bytes in all.
type sized struct {
	text string
	n    int64
	at   int
}

func (s *sized) Read(p []byte) (int, error) {
	if s.n <= 0 {
		return 0, io.EOF
	}
	p = p[:min(int64(len(p)), s.n)]
	for n := 0; n < len(p); {
		more := copy(p[n:], s.text[s.at:])
		s.at = (s.at + more) % len(s.text)
		n += more
	}
	s.n -= int64(len(p))
	return len(p), nil
}

const logText = "(APIServer pid=1) INFO 11-20 10:00:00 [loggers.py:118] Engine 000: Avg prompt throughput: 1.0 tokens/s, Running: 3 reqs\n" +
	"plain words of another program without any meaning for us\n"

// hugeLog is a log with one block in its middle.
func hugeLog(size int64) io.Reader {
	return io.MultiReader(&sized{text: logText, n: size / 2}, strings.NewReader("\n"+printedBlock(5, 100, 20)), &sized{text: logText, n: size / 2})
}

// watched looks at the heap while a text is read.
type watched struct {
	r     io.Reader
	every int
	reads int
	peak  uint64
}

func (w *watched) Read(p []byte) (int, error) {
	if w.reads++; w.reads%w.every == 0 {
		w.peak = max(w.peak, alive())
	}
	return w.r.Read(p)
}

// TestLongLog reads 64 MiB in constant memory; BenchmarkLongLog reads 1 GiB.
func TestLongLog(t *testing.T) {
	if testing.Short() {
		t.Skip("64 MiB of text take a second")
	}
	w := &watched{r: hugeLog(64 << 20), every: 200}
	before := alive()
	res, err := ingest.Read(context.Background(), "big.log", w, ingest.Options{})
	if err != nil || len(res.Trials) != 1 || res.Trials[0].Figures["completed"] != 5 {
		t.Fatalf("%d trials (%v)", len(res.Trials), err)
	}
	if grown := int64(w.peak) - int64(before); grown > 1<<20 {
		t.Errorf("%d KiB are held", grown>>10)
	}
}

// TestHostileJSON: length, depth and number of values do not decide how much
// memory is used; what is too much is told, and the rest of the file is read.
func TestHostileJSON(t *testing.T) {
	good := `{"backend": "x", "duration": 2.0, "completed": 1, "request_throughput": 0.5}`
	const size = 8 << 20
	for _, tt := range []struct {
		name, before, text, after string
		want                      string // the error
		trials                    int
	}{
		{"a long text", good + "\n{\"a\": \"", "0123456789abcdef", `", "b": 1}` + "\n" + good, "", 2},
		{"texts that no record needs", strings.TrimSuffix(good, "}") + `, "generated_texts": ["x"`, `, "abcdefgh"`, `]}` + "\n" + good, "", 2},
		{"brackets", good + "\n", "[", "\n" + good, "nested deeper than 64 levels", 2},
		{"a key without end", good + "\n{\"", "key ", "\n" + good, "without its closing quote", 2},
		{"a number without end", good + "\n[", "1234567890", "\n" + good, "a number of more than 400 characters", 2},
		{"documents without end", good + "\n", "{}\n", good, "", 2},
		{"one line", good + "\n", "x", "\n" + good, "of more than 400 characters", 2},
	} {
		w := &watched{r: io.MultiReader(strings.NewReader(tt.before), &sized{text: tt.text, n: size / int64(len(tt.text)) * int64(len(tt.text))}, strings.NewReader(tt.after)), every: 30}
		before := alive()
		res, err := ingest.Read(context.Background(), "x.json", w, ingest.Options{})
		if err != nil || len(res.Trials) != tt.trials {
			t.Errorf("%s: %d trials (%v), errors %v", tt.name, len(res.Trials), err, res.Errors)
			continue
		}
		if got := fmt.Sprint(res.Errors); (tt.want == "") != (len(res.Errors) == 0) || !strings.Contains(got, tt.want) {
			t.Errorf("%s: errors %s, want %q", tt.name, clipped(got), tt.want)
		}
		if grown := int64(w.peak) - int64(before); grown > 2<<20 {
			t.Errorf("%s: %d KiB are held", tt.name, grown>>10)
		}
		checkAccount(t, tt.name, res)
	}
}

func clipped(s string) string { return s[:min(len(s), 300)] }

// TestDocumentBound: more than a hundred MiB of values in one object is refused
// alone.
func TestDocumentBound(t *testing.T) {
	if testing.Short() {
		t.Skip("needs seventeen million numbers")
	}
	good := `{"backend": "x", "duration": 2.0, "completed": 1, "request_throughput": 0.5}`
	r := io.MultiReader(strings.NewReader(strings.TrimSuffix(good, "}")+`, "ttfts": [1`), &sized{text: ",1", n: 34 << 20}, strings.NewReader("]}\n"+good))
	res, err := ingest.Read(context.Background(), "x.json", r, ingest.Options{})
	if err != nil || len(res.Trials) != 1 || len(res.Errors) != 1 ||
		res.Errors[0].String() != "x.json:1: record: holds more than 128 MiB; save it without its per-request arrays" {
		t.Errorf("%d trials, errors %v (%v)", len(res.Trials), res.Errors, err)
	}
}

func TestCompressed(t *testing.T) {
	zip := func(data []byte) []byte {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		w.Write(data)
		w.Close()
		return b.Bytes()
	}
	text := []byte("vllm serve demo/m1\n" + printedBlock(5, 100, 20))
	res, err := ingest.Read(t.Context(), "run.log.gz", bytes.NewReader(zip(text)), ingest.Options{})
	if err != nil || len(res.Trials) != 1 {
		t.Fatalf("%d trials (%v)", len(res.Trials), err)
	}
	tr := res.Trials[0]
	plain, err := ingest.Read(t.Context(), "run.log", bytes.NewReader(text), ingest.Options{})
	if err != nil || plain.Trials[0].ID != tr.ID || tr.Study != "run" || tr.Sources[0].File != "run.log.gz" || tr.Sources[0].SHA256 == plain.Trials[0].Sources[0].SHA256 {
		t.Errorf("study %s, source %+v (%v)", tr.Study, tr.Sources[0].File, err)
	}
	whole := zip(text)
	for _, tt := range []struct {
		name string
		data []byte
		want string
	}{
		{"twice.gz", zip(zip(text)), "read twice.gz: gzip: invalid: compressed twice; unpack it first"},
		{"cut.gz", whole[:len(whole)/2], "read cut.gz: unexpected EOF"},
		{"head.gz", whole[:5], "read head.gz: gzip: unexpected EOF"},
		{"a.zip", []byte("PK\x03\x04 and more"), "read a.zip: zip archive: invalid: unpack it first and import the files"},
		{"a.zst", []byte("\x28\xb5\x2f\xfd and more"), "read a.zst: zstd: invalid: unpack it first and import the files"},
		{"a.xz", []byte("\xfd7zXZ\x00 and more"), "read a.xz: xz: invalid: unpack it first and import the files"},
		{"a.tgz", zip(append(append(make([]byte, 257), "ustar"...), make([]byte, 300)...)), "read a.tgz: tar archive: invalid: unpack it first and import the files"},
	} {
		if _, err := ingest.Read(t.Context(), tt.name, bytes.NewReader(tt.data), ingest.Options{}); err == nil || err.Error() != tt.want {
			t.Errorf("%s: %v, want %s", tt.name, err, tt.want)
		}
	}
	if _, err := ingest.Read(t.Context(), "a.zip", bytes.NewReader([]byte("PK\x03\x04")), ingest.Options{}); !errors.Is(err, core.ErrInvalid) {
		t.Errorf("not an invalid input: %v", err)
	}
}

// TestNotesAreBounded: a million broken lines are counted and not kept.
func TestNotesAreBounded(t *testing.T) {
	res, err := ingest.Read(context.Background(), "x.csv", io.MultiReader(strings.NewReader("engine,total_tps\n"), &sized{text: "vllm\n", n: 5 * 50000}), ingest.Options{})
	if err != nil || res.Rejected != 50000 || len(res.Errors) != 1000 {
		t.Errorf("%d rejected, %d notes (%v)", res.Rejected, len(res.Errors), err)
	}
}

// TestCompanionIsBounded: only the beginning of a companion is read.
func TestCompanionIsBounded(t *testing.T) {
	dir := t.TempDir()
	data, err := os.ReadFile(filepath.Join(lab, "plain", "result.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "result.json"), data, 0o644); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(filepath.Join(dir, "server.log"))
	if err != nil {
		t.Fatal(err)
	}
	io.WriteString(f, "INFO 11-20 10:00:00 [api_server.py:1] vLLM API server version 0.11.0\n")
	io.Copy(f, &sized{text: logText, n: 2 << 20})
	io.WriteString(f, "INFO 11-20 10:00:00 [utils.py:1] non-default args: {'model': 'demo/late'}\n")
	f.Close()
	res, err := ingest.File(t.Context(), filepath.Join(dir, "result.json"), ingest.Options{})
	if err != nil || len(res.Trials) != 1 {
		t.Fatal(err)
	}
	if got := values(res.Trials[0], "engine", "engine_version", "checkpoint"); got != "vllm | 0.11.0 | " {
		t.Errorf("got %s", got)
	}
}

// BenchmarkLongLog reads a log of 1 GiB with one block.
func BenchmarkLongLog(b *testing.B) {
	const size = 1 << 30
	b.ReportAllocs()
	b.SetBytes(size)
	for b.Loop() {
		w := &watched{r: hugeLog(size), every: 4000}
		before := alive()
		res, err := ingest.Read(context.Background(), "big.log", w, ingest.Options{})
		if err != nil || len(res.Trials) != 1 {
			b.Fatal(err)
		}
		b.ReportMetric(float64(int64(w.peak)-int64(before))/1024, "KiB-held")
	}
}

// BenchmarkJSONLines reads result lines of sglang.bench_serving.
func BenchmarkJSONLines(b *testing.B) {
	data, err := os.ReadFile(filepath.Join("testdata", "fixtures", "sglang-lines.jsonl"))
	if err != nil {
		b.Fatal(err)
	}
	line, _, _ := strings.Cut(string(data), "\n")
	line = strings.Replace(line, `"api_key": "sk-aaaaaaaaaaaaaaaaaaaa", `, "", 1) // masking is slow and rare
	const lines = 2000
	b.ReportAllocs()
	b.SetBytes(int64(len(line)+1) * lines)
	for b.Loop() {
		if res, err := ingest.Read(context.Background(), "x.jsonl", &sized{text: line + "\n", n: int64(len(line)+1) * lines}, ingest.Options{}); err != nil || len(res.Trials) != lines {
			b.Fatal(err)
		}
	}
}
