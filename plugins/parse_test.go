package plugins

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/plugins/internal/pb"
)

func TestGreeting(t *testing.T) {
	g, err := parseGreeting("1|1|unix|/d/s|grpc|"+strings.Repeat("A", 900)+"|true\n", "/d/")
	if want := (greeting{network: "unix", address: "/d/s", tls: true}); err != nil || g != want {
		t.Errorf("got %+v, %v", g, err)
	}
	if g, err := parseGreeting("1|1|unix|/d/s|grpc", "/d"); err != nil || g.tls {
		t.Errorf("without a certificate: %+v, %v", g, err)
	}
	for line, want := range map[string]string{
		"":                               `printed ""`,
		"1|1|unix|/d/s":                  "printed",
		"x|1|unix|/d/s|grpc":             "printed",
		"2|1|unix|/d/s|grpc":             "go-plugin's own protocol",
		"1|2|unix|/d/s|grpc":             "version 2",
		"1|99999999999999999999|u|/|g":   "version 99999999999999999999",
		"1|1|unix|/d/s|netrpc":           "only grpc",
		"1|1|unix|/d/../e/s|grpc":        "must listen",
		"1|1|unix|/d/e/s|grpc":           "must listen",
		"1|1|unix|/d|grpc":               "must listen",
		"1|1|tcp|10.0.0.1:80|grpc|":      "must listen",
		"1|1|\x1b[2J|\x1b]0;x\x07|grpc|": `\\x1b`,
	} {
		if _, err := parseGreeting(line, "/d"); err == nil || !strings.Contains(err.Error(), want) || strings.ContainsRune(err.Error(), '\x1b') {
			t.Errorf("%q gives %v, want %q", line, err, want)
		}
	}
}

func FuzzGreeting(f *testing.F) {
	for _, s := range []string{"1|1|unix|/d/s|grpc|AAAA|true", "1|3|tcp|:1|grpc", "hello", "||||||", "1|1|unix|/d/\x00|grpc"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, line string) {
		g, err := parseGreeting(line, "/d")
		if err == nil && (g.network != "unix" || filepath.Dir(filepath.Clean(g.address)) != "/d") {
			t.Errorf("%q leads to %+v", line, g)
		}
		if err != nil && (len(err.Error()) > 2000 || strings.ContainsFunc(err.Error(), unprintable)) {
			t.Errorf("%q gives an error that cannot be shown: %q", line, err)
		}
	})
}

func FuzzLogLine(f *testing.F) {
	for _, s := range []string{
		`{"@message":5,"@level":[],"@timestamp":{}}`, `{"@message":"m","@level":"warn","a":{"b":null}}`, "[ERROR] x", "panic: y", "{", "\x1b[31m", `{"@message":"a\nb","@level":"info"}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		var out bytes.Buffer
		l := &pluginLog{out: slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug}))}
		l.follow(bytes.NewReader(in), "stderr")
		if lines, most := bytes.Count(out.Bytes(), []byte{'\n'}), bytes.Count(in, []byte{'\n'})+1; lines > most {
			t.Errorf("%d lines of a plugin became %d of ours", most, lines)
		}
	})
}

// TestLogIsBounded writes more than a plugin may log.
func TestLogIsBounded(t *testing.T) {
	var out bytes.Buffer
	l := &pluginLog{out: slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug}))}
	line := strings.Repeat("x", 2000) + "\n"
	l.follow(io.LimitReader(repeating(line), maxLogTotal*3/2), "stderr")
	l.end()
	if out.Len() > maxLogTotal*5/4 || !strings.Contains(out.String(), "plugin log is cut") {
		t.Errorf("%d bytes were logged; the end is %q", out.Len(), out.String()[max(0, out.Len()-200):])
	}
}

// repeating is an endless reader of one text.
type repeating string

func (r repeating) Read(p []byte) (int, error) { return copy(p, r), nil }

func TestShortLine(t *testing.T) {
	in := bufio.NewReaderSize(strings.NewReader("ab\r\n"+strings.Repeat("x", 100)+"\n\nlast"), 16)
	for _, want := range []struct {
		line string
		rest int
		err  error
	}{{"ab", 0, nil}, {"xxxxx", 95, nil}, {"", 0, nil}, {"last", 0, io.EOF}, {"", 0, io.EOF}} {
		line, rest, err := shortLine(in, 5)
		if string(line) != want.line || rest != want.rest || !errors.Is(err, want.err) {
			t.Errorf("got %q, %d, %v, want %+v", line, rest, err, want)
		}
	}
}

func TestAllowedEnv(t *testing.T) {
	in := []string{"PATH=/bin", "HF_TOKEN=s", "HF_HUB_TOKEN=s", "HF_HUB_OFFLINE=1", "LC_ALL=C", "NVIDIA_API_KEY=s", "=C:=x", "PATHX=n", "MY_TOKEN=t", "EMPTY"}
	got := allowedEnv(in, append(slices.Clone(defaultEnv), "MY_TOKEN"))
	if diff := cmp.Diff([]string{"PATH=/bin", "HF_HUB_OFFLINE=1", "LC_ALL=C", "MY_TOKEN=t"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestLineWriter(t *testing.T) {
	var out bytes.Buffer
	w := &lineWriter{log: &pluginLog{out: slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug}))}, stream: "stdout"}
	for _, part := range []string{"he", "llo\nsec", "ond\n\n", strings.Repeat("z", 3*maxLogLine), "\nrest"} {
		if n, err := w.Write([]byte(part)); n != len(part) || err != nil {
			t.Fatal(n, err)
		}
	}
	if got := strings.Count(out.String(), "\n"); got != 3 || !strings.Contains(out.String(), "msg=hello") || !strings.Contains(out.String(), "msg=second") {
		t.Errorf("%d lines: %.300s", got, out.String())
	}
}

func TestDiscover(t *testing.T) {
	good, second, open := t.TempDir(), t.TempDir(), t.TempDir()
	write := func(dir, name string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"), mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write(good, "sweepbook-engine-alpha", 0o755)
	write(good, "sweepbook-engine-UPPER", 0o755)
	write(good, "sweepbook-engine-", 0o755)
	write(good, "sweepbook-engine-plain", 0o644)
	write(good, "sweepbook-engine-shared", 0o777)
	write(good, "README", 0o644)
	write(good, "alpha.engine.yaml", 0o644)
	write(good, "UP.engine.yaml", 0o644)
	write(second, "sweepbook-engine-alpha", 0o755)
	beta := write(second, "sweepbook-engine-beta.v2", 0o700)
	if err := os.Mkdir(filepath.Join(good, "sweepbook-engine-folder"), 0o755); err != nil {
		t.Fatal(err)
	}
	loose := write(open, "sweepbook-engine-loose", 0o755)
	if err := os.Symlink(loose, filepath.Join(good, "sweepbook-engine-link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(beta, filepath.Join(good, "sweepbook-engine-fine")); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(open, 0o777); err != nil {
		t.Fatal(err)
	}
	specs, err := Discover([]string{good, "", second, open, filepath.Join(good, "missing"), "relative"})
	program, perr := self()
	if perr != nil {
		t.Fatal(perr)
	}
	want := []Spec{
		{Name: "alpha", Path: program, Args: []string{"engine-serve", "alpha"}, Manifest: filepath.Join(good, "alpha.engine.yaml")},
		{Name: "fine", Path: filepath.Join(good, "sweepbook-engine-fine")},
		{Name: "beta.v2", Path: beta},
	}
	if diff := cmp.Diff(want, specs); diff != "" {
		t.Error(diff)
	}
	for _, refused := range []string{
		`engine name "UPPER"`, `engine name ""`, "engine-plain: invalid: not executable", "engine-shared: invalid", "engine-folder: invalid: not a file",
		"sweepbook-engine-link: invalid: " + open, "engine-loose: invalid: " + open, `plugin path "relative"`, `engine name "UP"`,
		"sweepbook-engine-alpha: conflict: engine alpha is " + filepath.Join(good, "alpha.engine.yaml") + " already",
	} {
		if err == nil || !strings.Contains(err.Error(), refused) {
			t.Errorf("the error lacks %q: %v", refused, err)
		}
	}
}

func TestBuiltin(t *testing.T) {
	for _, name := range []string{"", "a/b", `a\b`, "..", "-x", "A", "a b", strings.Repeat("a", 65)} {
		if _, err := Builtin(name); !errors.Is(err, core.ErrInvalid) {
			t.Errorf("Builtin(%q): %v", name, err)
		}
	}
	spec, err := Builtin("vllm")
	if err != nil || !filepath.IsAbs(spec.Path) || !slices.Equal(spec.Args, []string{"engine-serve", "vllm"}) {
		t.Errorf("got %+v, %v", spec, err)
	}
}

func TestUnchanged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	for name, swap := range map[string]func() error{
		"written to": func() error { return os.WriteFile(path, []byte("longer than before"), 0o755) },
		"replaced": func() error {
			if err := os.WriteFile(path+".new", []byte("before"), 0o755); err != nil {
				return err
			}
			return os.Rename(path+".new", path)
		},
	} {
		if err := os.WriteFile(path, []byte("before"), 0o755); err != nil {
			t.Fatal(err)
		}
		exe, err := openExecutable(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := exe.unchanged(path); err != nil {
			t.Error(err)
		}
		if err := swap(); err != nil {
			t.Fatal(err)
		}
		if err := exe.unchanged(path); !errors.Is(err, ErrPinned) {
			t.Errorf("%s: %v", name, err)
		}
		_ = exe.file.Close()
	}
}

// FuzzReply feeds any bytes as an event of a benchmark: no panic, and what reaches
// the sink keeps the order of times.
func FuzzReply(f *testing.F) {
	for _, m := range []*pb.BenchmarkResponse{
		batch(sound(func(*pb.Sample) {})),
		batch(sound(func(s *pb.Sample) { s.SentNs = ns(-5) })),
		{Event: &pb.BenchmarkResponse_Summary{Summary: &pb.Summary{Figures: map[string]*pb.Value{"x": number(1)}}}},
		{Event: &pb.BenchmarkResponse_Progress{Progress: &pb.Progress{Phase: "measure", Done: 1, Total: 2}}},
	} {
		data, err := proto.Marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var m pb.BenchmarkResponse
		if proto.Unmarshal(data, &m) != nil {
			return
		}
		var sink sinkLog
		if err := (&Client{}).deliver(t.Context(), &m, &tally{}, &sink); err != nil && len(sink.samples) > 0 {
			t.Errorf("samples of a bad batch reached the sink: %v", err)
		}
		for _, s := range sink.samples {
			for _, pair := range [][2]time.Duration{{s.Sent, s.First}, {s.First, s.Last}, {s.Last, s.End}, {s.Sent, s.End}} {
				if pair[0] != core.NoTime && pair[1] != core.NoTime && pair[1] < pair[0] {
					t.Errorf("a negative latency in %+v", s)
				}
			}
			if !slices.IsSorted(s.Chunks) || s.Index < 0 || s.OutputTokens < -1 {
				t.Errorf("got %+v", s)
			}
		}
	})
}
