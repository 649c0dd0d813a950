package plugins

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/hashicorp/go-hclog"
)

const (
	maxLogLine  = 4 << 10 // of a plugin's log, in the host's log
	maxLogTotal = 8 << 20 // of one plugin; what comes later is counted only
	lineCost    = 100     // bytes that the host's log spends on a line beside its text
	maxLogAttrs = 32
)

// A pluginLog takes what a plugin writes to its standard error and output,
// forwards it to the host's logger and remembers how it ended.
//
// Note: go-plugin can read standard error itself, but a JSON line whose "@message"
// is no string makes it panic in the host, so it is never given the stream.
type pluginLog struct {
	out *slog.Logger

	mu      sync.Mutex
	total   int
	dropped int
	panicky bool   // the rest of the output is a stack trace
	panic   string // first line of a panic
	last    string // last line of all
}

// follow reads lines until the stream ends. However long a line is, only its
// start is kept, and the stream is always drained, so that the plugin never waits.
func (l *pluginLog) follow(r io.Reader, stream string) {
	in := bufio.NewReaderSize(r, 16<<10)
	for {
		line, rest, err := shortLine(in, maxLogLine)
		if len(line) > 0 {
			l.line(line, rest, stream)
		}
		if err != nil {
			return
		}
	}
}

// shortLine reads a line and returns at most limit bytes of it without its end,
// and how many bytes more it had.
func shortLine(in *bufio.Reader, limit int) (line []byte, rest int, err error) {
	for {
		part, err := in.ReadSlice('\n')
		part = bytes.TrimRight(part, "\r\n")
		keep := min(len(part), limit-len(line))
		line = append(line, part[:keep]...)
		rest += len(part) - keep
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, rest, err
		}
	}
}

func (l *pluginLog) line(line []byte, rest int, stream string) {
	level, text, attrs := parseLine(line)
	text = clip(clean(text), maxLogLine)
	if rest > 0 {
		attrs = append(attrs, slog.Int("cut_bytes", rest))
	}
	attrs = append(attrs, slog.String("stream", stream))

	l.mu.Lock()
	if !l.panicky && (strings.HasPrefix(text, "panic: ") || strings.HasPrefix(text, "fatal error: ")) {
		l.panicky, l.panic = true, text
	}
	if l.panicky {
		level = slog.LevelError
	}
	l.last = text
	l.total += lineCost + len(text)
	for _, a := range attrs {
		l.total += len(a.Key) + len(a.Value.String())
	}
	full := l.total > maxLogTotal
	if full {
		l.dropped++
	}
	l.mu.Unlock()
	if !full {
		l.out.LogAttrs(context.Background(), level, text, attrs...)
	}
}

// lastWords are the first line of a panic, if there was one, and the last line.
func (l *pluginLog) lastWords() (panicked, last string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.panic, l.last
}

// end says what was left out.
func (l *pluginLog) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.dropped > 0 {
		l.out.Warn("plugin log is cut: it wrote too much", "limit_bytes", maxLogTotal, "dropped_lines", l.dropped)
	}
}

// parseLine reads a line of hclog JSON, or a plain one with a level in brackets.
func parseLine(line []byte) (slog.Level, string, []slog.Attr) {
	var fields map[string]any
	if len(line) > 0 && line[0] == '{' && json.Unmarshal(line, &fields) == nil {
		message, isText := fields["@message"].(string)
		level, hasLevel := fields["@level"].(string)
		if isText && hasLevel {
			return levelOf(level), message, logAttrs(fields)
		}
	}
	text := string(line)
	for _, name := range []string{"TRACE", "DEBUG", "INFO", "WARN", "ERROR"} {
		if strings.HasPrefix(text, "["+name+"]") {
			return levelOf(name), text, nil
		}
	}
	return slog.LevelDebug, text, nil
}

func levelOf(name string) slog.Level {
	switch strings.ToLower(name) {
	case "info":
		return slog.LevelInfo
	case "warn", "warning":
		return slog.LevelWarn
	case "error":
		return slog.LevelError
	}
	return slog.LevelDebug
}

func logAttrs(fields map[string]any) []slog.Attr {
	var out []slog.Attr
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if strings.HasPrefix(name, "@") {
			continue
		}
		if len(out) == maxLogAttrs {
			break
		}
		out = append(out, slog.String(clip(clean(name), 80), clip(clean(fmt.Sprint(fields[name])), 512)))
	}
	return out
}

// lineWriter is the end of go-plugin's own forwarding of standard output and
// error, which a Go plugin switches to once it serves.
type lineWriter struct {
	log    *pluginLog
	stream string
	mu     sync.Mutex
	part   []byte
}

func (w *lineWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for rest := p; len(rest) > 0; {
		line, after, whole := bytes.Cut(rest, []byte{'\n'})
		w.part = append(w.part, line[:min(len(line), maxLogLine-len(w.part))]...)
		if whole {
			if len(w.part) > 0 {
				w.log.line(w.part, 0, w.stream)
			}
			w.part = w.part[:0]
		}
		rest = after
	}
	return len(p), nil
}

// quietLogger gives go-plugin an hclog whose every line is a debug line of ours:
// what it reports as an error (a plugin that was killed) is often what was meant,
// and what is truly wrong is returned as an error.
func quietLogger(out *slog.Logger) hclog.Logger {
	l := hclog.NewInterceptLogger(&hclog.LoggerOptions{Name: "go-plugin", Level: hclog.Debug, Output: io.Discard})
	l.RegisterSink(debugSink{out})
	return l
}

type debugSink struct{ out *slog.Logger }

func (s debugSink) Accept(_ string, level hclog.Level, msg string, args ...any) {
	if level >= hclog.Debug {
		s.out.Debug(clip(clean(msg), maxLogLine), args...)
	}
}
