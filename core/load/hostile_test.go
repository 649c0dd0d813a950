package load_test

import (
	"compress/gzip"
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/core/load"
)

// rawServer answers each connection by its own means, below HTTP. The request's
// head and body are read first.
func rawServer(t *testing.T, answer func(conn net.Conn)) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				_, _ = conn.Read(make([]byte, 64<<10))
				answer(conn)
			}()
		}
	}()
	return "http://" + listener.Addr().String()
}

const streamHead = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"

func closedBy(conn net.Conn) bool {
	_ = conn.SetReadDeadline(time.Now().Add(10 * time.Second))
	_, err := conn.Read(make([]byte, 1))
	return err != nil
}

// TestHostileServers: what a server does wrong ends the request with its class, in
// time, and the connection with it.
func TestHostileServers(t *testing.T) {
	token := "data: " + `{"choices":[{"delta":{"content":"x"}}]}` + "\n\n"
	drip := func(conn net.Conn, text string) {
		for {
			for _, b := range []byte(text) {
				if _, err := conn.Write([]byte{b}); err != nil {
					return
				}
				time.Sleep(5 * time.Millisecond)
			}
		}
	}
	for _, tt := range []struct {
		name, class, text string
		url               string
	}{
		{"stall", "stall", "nothing came for 200ms", rawServer(t, func(c net.Conn) { _, _ = io.WriteString(c, streamHead+token); closedBy(c) })},
		{"half-open: never answers", "stall", "no token came from the server for 2", rawServer(t, func(c net.Conn) { closedBy(c) })},
		{"slow-loris in the head", "stall", "no token came", rawServer(t, func(c net.Conn) {
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\n")
			drip(c, "X-A: aaaaaaaa\r\n")
		})},
		{"slow-loris in the body", "stall", "nothing came", rawServer(t, func(c net.Conn) {
			_, _ = io.WriteString(c, streamHead+token+"data: ")
			drip(c, "x")
		})},
		{"slow-loris in a whole answer", "stall", "no token came", rawServer(t, func(c net.Conn) {
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\n\r\n{\"choices\":[")
			drip(c, " ")
		})},
		{"reset", "reset", "connection reset by peer", rawServer(t, func(c net.Conn) {
			_, _ = io.WriteString(c, streamHead+token)
			time.Sleep(20 * time.Millisecond)
			_ = c.(*net.TCPConn).SetLinger(0)
		})},
		{"closed in the head", "closed", "connection closed", rawServer(t, func(c net.Conn) { _, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n") })},
		{"closed in a chunk", "closed", "connection closed", rawServer(t, func(c net.Conn) {
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nff\r\n"+token)
		})},
		{"garbage instead of HTTP", "garbage", "malformed HTTP", rawServer(t, func(c net.Conn) { _, _ = io.WriteString(c, "\x00\x01garbage\r\n\r\n") })},
		{"garbage SSE", "garbage", "unreadable chunk", rawServer(t, func(c net.Conn) { _, _ = io.WriteString(c, streamHead+token+"data: \x00\xff{{{\n\n") })},
		{"garbage without an event", "cut", "stream ended without", rawServer(t, func(c net.Conn) { _, _ = io.WriteString(c, streamHead+strings.Repeat("\xde\xad\xbe\xef\n", 1000)) })},
		{"garbage chunk size", "garbage", "invalid", rawServer(t, func(c net.Conn) {
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n")
		})},
		{"endless head", "garbage", "exceeded", rawServer(t, func(c net.Conn) {
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\n")
			for i := range 200_000 {
				if _, err := fmt.Fprintf(c, "X-%d: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n", i); err != nil {
					return
				}
			}
		})},
		{"a line of 100 MB", "too long", "longer than 4 MiB", rawServer(t, func(c net.Conn) {
			_, _ = io.WriteString(c, streamHead+token+"data: ")
			for range 100 {
				if _, err := io.WriteString(c, strings.Repeat("y", 1<<20)); err != nil {
					return
				}
			}
		})},
		{"100 MB without a line", "too long", "longer than 4 MiB", rawServer(t, func(c net.Conn) {
			_, _ = io.WriteString(c, streamHead)
			for range 100 {
				if _, err := io.WriteString(c, strings.Repeat(" ", 1<<20)); err != nil {
					return
				}
			}
		})},
		{"TLS where none is", "tls", "HTTP response to HTTPS client", strings.Replace(rawServer(t, func(c net.Conn) { _, _ = io.WriteString(c, "HTTP/1.1 400 Bad Request\r\n\r\n") }), "http:", "https:", 1)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			req := request(tt.url, random(4, 3, "", nil), closed(1, 1))
			req.IdleTimeout = 10 * time.Second // a busy machine takes its time to fill a line
			if tt.class == "stall" {
				req.IdleTimeout = 200 * time.Millisecond
			}
			start := time.Now()
			a := run(t, req).samples[0]
			if a.Outcome != core.OutcomeFailed || load.ErrorClass(a.Error) != tt.class || !strings.Contains(a.Error, tt.text) || strings.ContainsAny(a.Error, "\r\n\x00") {
				t.Errorf("%s %q, want class %q with %q", a.Outcome, a.Error, tt.class, tt.text)
			}
			if took := time.Since(start); took > 5*time.Second {
				t.Errorf("took %v", took)
			}
		})
	}
}

// TestPingsForEver: a server that says it is alive and generates nothing is a
// stall in the end.
func TestPingsForEver(t *testing.T) {
	t.Parallel()
	url := rawServer(t, func(c net.Conn) {
		_, _ = io.WriteString(c, streamHead)
		for {
			if _, err := io.WriteString(c, ": ping\n\n"); err != nil {
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
	})
	req := request(url, random(4, 3, "", nil), closed(1, 1))
	req.IdleTimeout = 250 * time.Millisecond // far above what a busy machine delays a ping
	start := time.Now()
	a := run(t, req).samples[0]
	if took := time.Since(start); load.ErrorClass(a.Error) != "stall" || took < 2*time.Second || took > 20*time.Second {
		t.Errorf("%q after %v", a.Error, took)
	}
}

func TestRefusals(t *testing.T) {
	for _, tt := range []struct {
		name, want string
		answer     func(w http.ResponseWriter)
	}{
		{"429 with Retry-After", "http 429: slow down (retry after 7)", func(w http.ResponseWriter) {
			w.Header().Set("Retry-After", "7")
			http.Error(w, "slow down", http.StatusTooManyRequests)
		}},
		{"503 with Retry-After", "http 503: loading (retry after Fri, 31 Dec 1999 23:59:59 GMT)", func(w http.ResponseWriter) {
			w.Header().Set("Retry-After", "Fri, 31 Dec 1999 23:59:59 GMT")
			http.Error(w, "loading", http.StatusServiceUnavailable)
		}},
		{"redirect", "http 302: redirect to another address", func(w http.ResponseWriter) {
			w.Header().Set("Location", "http://192.0.2.1/elsewhere")
			w.WriteHeader(http.StatusFound)
		}},
		{"gzip", "encoding: the answer is compressed (gzip)", func(w http.ResponseWriter) {
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			write(z, `{"choices":[{"delta":{"content":"x"}}]}`)
			_ = z.Close()
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := serve(t, func(w http.ResponseWriter, r *http.Request, _ asked) {
				if r.Header.Get("Accept-Encoding") != "identity" {
					t.Errorf("Accept-Encoding: %s", r.Header.Get("Accept-Encoding"))
				}
				tt.answer(w)
			})
			start := time.Now()
			s := run(t, request(f.URL, random(4, 3, "", nil), closed(2, 6)))
			if n := len(f.requests()); n != 6 || time.Since(start) > 2*time.Second {
				t.Errorf("asked %d times in %v: a refusal is not asked again, and not waited for", n, time.Since(start))
			}
			for _, a := range s.samples {
				if a.Outcome != core.OutcomeFailed || !strings.HasPrefix(a.Error, tt.want) {
					t.Errorf("%q, want %q", a.Error, tt.want)
				}
			}
		})
	}
}

func TestTLS(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { good(w, 1, 0) }))
	server.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	a := run(t, request(server.URL, random(4, 3, "", nil), closed(1, 1))).samples[0]
	if load.ErrorClass(a.Error) != "tls" || !strings.Contains(a.Error, "certificate") {
		t.Errorf("%q", a.Error)
	}
}

// TestHostileMemory: a hundred streams of endless lines do not fill the memory.
func TestHostileMemory(t *testing.T) {
	block := strings.Repeat("y", 64<<10)
	url := rawServer(t, func(c net.Conn) {
		_, _ = io.WriteString(c, streamHead+"data: ")
		for {
			if _, err := io.WriteString(c, block); err != nil {
				return
			}
		}
	})
	var peak atomic.Uint64
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(5 * time.Millisecond):
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				peak.Store(max(peak.Load(), m.HeapAlloc))
			}
		}
	}()
	s := run(t, request(url, random(4, 3, "", nil), closed(8, 100)))
	if diff := cmp.Diff(map[string]int{"too long": 100}, load.ErrorClasses(s.samples)); diff != "" {
		t.Error(diff)
	}
	// Eight lines of 4 MiB in buffers that double, and what was not collected yet.
	if mib := peak.Load() >> 20; mib > 400 {
		t.Errorf("%d MiB of heap", mib)
	}
}

func TestErrorClass(t *testing.T) {
	for text, want := range map[string]string{
		"http 503: full": "http", "too long: x": "too long", "stall: nothing": "stall", "": "", "Internal Server Error": "",
		"httpx 503: x": "", "aiohttp: x": "",
	} {
		if got := load.ErrorClass(text); got != want {
			t.Errorf("ErrorClass(%q) = %q, want %q", text, got, want)
		}
	}
}

// TestSelf: the record says how late and how busy the client was.
func TestSelf(t *testing.T) {
	f := serve(t, func(w http.ResponseWriter, r *http.Request, q asked) {
		write(w, `{"choices":[{"delta":{"reasoning_content":"hm"}}]}`)
		w.(http.Flusher).Flush()
		time.Sleep(20 * time.Millisecond)
		for range 60 {
			write(w, `{"choices":[{"delta":{"content":"over "}}]}`)
		}
		write(w, "[DONE]")
	})
	s := &summed{}
	l := core.Load{RequestRate: core.Number(100), NumPrompts: core.Number(20)}
	if err := load.Run(t.Context(), request(f.URL, random(4, 2, "", nil), l), s); err != nil {
		t.Fatal(err)
	}
	for name, span := range map[string][2]float64{
		"client_lag_p99_ms": {0, 200}, "client_late_share": {0, 1}, "client_cpu_share": {1e-6, 1}, "client_sched_p99_ms": {0, 500}, "connect_p99_ms": {0, 200},
		"degenerate_share": {1, 1}, "mean_ttfo_ms": {20, 300}, "p99_ttfo_ms": {20, 500},
	} {
		if v := s.extra[name]; v.Kind != core.KindNumber || v.Num < span[0] || v.Num > span[1] {
			t.Errorf("%s = %v, want from %g to %g", name, v, span[0], span[1])
		}
	}
}
