package ingest_test

import (
	"context"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"

	"github.com/sweepbook/sweepbook/core/ingest"
)

// repeated gives a text n times without holding it, and watches the heap.
type repeated struct {
	text string
	left int
	rest string
	peak uint64 // what was alive while it was read
}

func (r *repeated) Read(p []byte) (int, error) {
	if r.rest == "" {
		if r.left == 0 {
			return 0, io.EOF
		}
		if r.left--; r.left%30 == 15 {
			r.peak = max(r.peak, alive())
		}
		r.rest = r.text
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

func alive() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// TestConstantMemory reads a long log with one block in its middle, and lines,
// bars, commands and comments without end around it.
func TestConstantMemory(t *testing.T) {
	for _, tt := range []struct{ name, text string }{
		{"log", strings.Repeat("INFO 11-20 10:00:00 [loggers.py:118] Engine 000: Avg prompt throughput: 1.0 tokens/s, Running: 3 reqs\n", 100)},
		{"bar", strings.Repeat("\r 17%|█████     | 17/100 [00:00<00:02, 34.85it/s]", 200)},
		{"one line", strings.Repeat("0123456789abcdef", 600)},
		{"prose", strings.Repeat("a line of prose without an end\n", 300)},
		{"continued", strings.Repeat("--flag=1 \\\n", 900)},
		{"flags", strings.Repeat("--max-num-seqs=1\n", 600)},
		{"comments", strings.Repeat("# a comment\n", 800)},
		{"commands", strings.Repeat("vllm bench serve --num-prompts 3 --dataset-name random\n", 200)},
		{"headings", strings.Repeat("A heading\n\n", 900)},
	} {
		const times = 60 // more than half a MiB before and after
		before, after := &repeated{text: tt.text, left: times}, &repeated{text: tt.text, left: times}
		at := alive()
		res, err := ingest.Read(context.Background(), "big.log",
			io.MultiReader(before, strings.NewReader("\n"+printedBlock(5, 100, 20)), after), ingest.Options{})
		if err != nil || len(res.Trials) != 1 {
			t.Errorf("%s: %d trials (%v)", tt.name, len(res.Trials), err)
		}
		if grown := int64(max(before.peak, after.peak)) - int64(at); grown > 400<<10 {
			t.Errorf("%s: %d KiB are held", tt.name, grown>>10)
		}
	}
}

// TestEncodings: one text in the encodings and line ends of other systems gives
// the same trial at the same line.
func TestEncodings(t *testing.T) {
	text := "vllm serve demo/m1\n\n" + printedBlock(5, 100, 20)
	want := readText(t, text).Trials[0]
	bytesOf := func(big, mark bool) string {
		var b strings.Builder
		units := utf16.Encode([]rune(text))
		if mark {
			units = append([]uint16{0xfeff}, units...)
		}
		for _, u := range units {
			if big {
				b.WriteString(string([]byte{byte(u >> 8), byte(u)}))
			} else {
				b.WriteString(string([]byte{byte(u), byte(u >> 8)}))
			}
		}
		return b.String()
	}
	for name, variant := range map[string]string{
		"mark": "\ufeff" + text, "crlf": strings.ReplaceAll(text, "\n", "\r\n"), "no-break": strings.ReplaceAll(text, "     ", "\u00a0\u00a0"),
		"utf-16le": bytesOf(false, true), "utf-16be": bytesOf(true, true), "utf-16le without mark": bytesOf(false, false), "utf-16be without mark": bytesOf(true, false),
		"colours": strings.ReplaceAll(text, "demo", "\x1b[1;31mdemo\x1b[0m"), "title": "\x1b]0;a title\x07" + text, "no end": strings.TrimRight(text, "\n"),
		"indented": strings.ReplaceAll(text, "\n", "\n    "), "quoted": "> " + strings.ReplaceAll(text, "\n", "\n> "),
	} {
		res := readText(t, variant)
		if len(res.Trials) != 1 {
			t.Errorf("%s: %d trials", name, len(res.Trials))
			continue
		}
		got := *res.Trials[0]
		w := *want
		if got.Sources[0].Position != "line 3" {
			t.Errorf("%s: stands at %s", name, got.Sources[0].Position)
		}
		got.Sources, w.Sources = nil, nil
		if diff := cmp.Diff(w, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestCarriageReturns: a text with carriage returns only has one line, and yet
// each of its records has a place of its own.
func TestCarriageReturns(t *testing.T) {
	text := printedBlock(5, 100, 20) + printedBlock(6, 100, 20)
	res := readText(t, strings.ReplaceAll(text, "\n", "\r"))
	if len(res.Trials) != 2 || res.Trials[0].Sources[0].Key() == res.Trials[1].Sources[0].Key() {
		t.Errorf("%d trials", len(res.Trials))
	}
}

func TestReadErrors(t *testing.T) {
	broken := errors.New("disk is gone")
	_, err := ingest.Read(context.Background(), "x.log", io.MultiReader(strings.NewReader("a\n"), &failing{broken}), ingest.Options{})
	if !errors.Is(err, broken) {
		t.Errorf("a reader's error is lost: %v", err)
	}
	if _, err := ingest.File(context.Background(), t.TempDir(), ingest.Options{}); err == nil || !strings.Contains(err.Error(), "a folder") {
		t.Errorf("a folder read as a file: %v", err)
	}
}

type failing struct{ err error }

func (f *failing) Read([]byte) (int, error) { return 0, f.err }

func BenchmarkRead(b *testing.B) {
	text := strings.Repeat("INFO 11-20 10:00:00 [loggers.py:118] Engine 000: Avg prompt throughput: 1.0 tokens/s, Running: 3 reqs\n", 9)
	text += "plain words of another program without any meaning for us\n"
	const times = 1000
	b.ReportAllocs()
	b.SetBytes(int64(len(text) * times))
	for b.Loop() {
		if _, err := ingest.Read(context.Background(), "x.log", &repeated{text: text, left: times}, ingest.Options{}); err != nil {
			b.Fatal(err)
		}
	}
}
