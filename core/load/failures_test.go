package load_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/core/load"
)

func TestFailures(t *testing.T) {
	hang := func(w http.ResponseWriter, r *http.Request) {
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}
	hijack := func(w http.ResponseWriter, text string, reset bool) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		_, _ = io.WriteString(conn, text)
		if reset {
			_ = conn.(*net.TCPConn).SetLinger(0)
		}
		_ = conn.Close()
	}
	const head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 9999\r\n\r\n"
	type answer = func(w http.ResponseWriter, r *http.Request, q asked)
	for _, tt := range []struct {
		name, want string
		answer     answer
		total      time.Duration
		idle       time.Duration
	}{
		{"HTTP 503", "http 503: engine is dead", func(w http.ResponseWriter, _ *http.Request, _ asked) {
			http.Error(w, "engine is\r\ndead", http.StatusServiceUnavailable)
		}, 0, 0},
		{"HTTP 400 with JSON", "http 400: context length is 4096", func(w http.ResponseWriter, _ *http.Request, _ asked) {
			http.Error(w, `{"error":{"message":"context length is 4096","code":400}}`, 400)
		}, 0, 0},
		{"HTTP 422 with a detail", "http 422: extra field", func(w http.ResponseWriter, _ *http.Request, _ asked) {
			http.Error(w, `{"detail":"extra field"}`, http.StatusUnprocessableEntity)
		}, 0, 0},
		{"HTTP 500 with a long body", "http 500: zzz", func(w http.ResponseWriter, _ *http.Request, _ asked) {
			http.Error(w, strings.Repeat("z", 1<<20), 500)
		}, 0, 0},
		{"redirect", "http 307: redirect", func(w http.ResponseWriter, _ *http.Request, _ asked) {
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(307)
		}, 0, 0},
		{"error inside 200", "server: engine died", func(w http.ResponseWriter, _ *http.Request, _ asked) {
			write(w, `{"choices":[{"delta":{"content":"x"}}]}`)
			write(w, `{"error":{"message":"engine died"}}`)
			write(w, "[DONE]")
		}, 0, 0},
		{"no token", "empty: answer without a token", func(w http.ResponseWriter, _ *http.Request, _ asked) { good(w, 0, 0) }, 0, 0},
		{"cut short", "cut: stream ended without", func(w http.ResponseWriter, _ *http.Request, _ asked) {
			write(w, `{"choices":[{"delta":{"content":"x"}}]}`)
		}, 0, 0},
		{"empty answer", "empty: answer is empty", func(http.ResponseWriter, *http.Request, asked) {}, 0, 0},
		{"whole answer is an error", "server: not today", func(w http.ResponseWriter, _ *http.Request, _ asked) {
			_, _ = io.WriteString(w, `{"object":"error","message":"not today"}`)
		}, 0, 0},
		{"whole answer is cut", "garbage: unreadable chunk", func(w http.ResponseWriter, _ *http.Request, _ asked) {
			_, _ = io.WriteString(w, `{"choices":[`)
		}, 0, 0},
		{"whole answer without a token", "empty: answer without a token", func(w http.ResponseWriter, _ *http.Request, _ asked) {
			_, _ = io.WriteString(w, `{"choices":[{"message":{"content":""}}],"usage":{"completion_tokens":0}}`)
		}, 0, 0},
		{"closed in the middle", "closed: connection closed before the answer was whole", func(w http.ResponseWriter, _ *http.Request, _ asked) {
			hijack(w, head+"data: {\"choices\":[{\"text\":\"x\"}]}\n\n", false)
		}, 0, 0},
		{"reset", "reset: read: read: connection reset by peer", func(w http.ResponseWriter, _ *http.Request, _ asked) { hijack(w, "", true) }, 0, 0},
		{"closed before the head", "closed: connection closed before the answer was whole", func(w http.ResponseWriter, _ *http.Request, _ asked) { hijack(w, "", false) }, 0, 0},
		{"request timeout", "timeout: no whole answer within 150ms", func(w http.ResponseWriter, r *http.Request, _ asked) {
			for r.Context().Err() == nil {
				write(w, `{"choices":[{"delta":{"content":"x"}}]}`)
				w.(http.Flusher).Flush()
				time.Sleep(5 * time.Millisecond)
			}
		}, 150 * time.Millisecond, 100 * time.Millisecond},
		{"idle before the head", "stall: no token came from the server for 1", func(_ http.ResponseWriter, r *http.Request, _ asked) { <-r.Context().Done() }, 0, 100 * time.Millisecond},
		{"idle after the head", "stall: no token came from the server for 1", func(w http.ResponseWriter, r *http.Request, _ asked) { hang(w, r) }, 0, 100 * time.Millisecond},
		{"idle after a token", "stall: nothing came for 100ms", func(w http.ResponseWriter, r *http.Request, _ asked) {
			write(w, `{"choices":[{"delta":{"content":"x"}}]}`)
			hang(w, r)
		}, 10 * time.Second, 100 * time.Millisecond},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := serve(t, tt.answer)
			req := request(f.URL, random(4, 3, "", nil), closed(1, 2))
			req.RequestTimeout, req.IdleTimeout = tt.total, tt.idle
			s := run(t, req)
			if len(s.samples) != 2 {
				t.Fatalf("%d samples", len(s.samples))
			}
			for _, a := range s.samples {
				if a.Outcome != core.OutcomeFailed || !strings.Contains(a.Error, tt.want) || len(a.Error) > 400 || strings.ContainsAny(a.Error, "\r\n") {
					t.Errorf("%s %q, want failed with %q", a.Outcome, a.Error, tt.want)
				}
				if a.Sent == core.NoTime || a.End < a.Sent {
					t.Errorf("moments of %+v", a)
				}
			}
			if n := len(f.requests()); n > 2 {
				t.Errorf("the server was asked %d times for 2 requests: one was sent again", n)
			}
			check(t, load.Figures(s.samples), map[string]float64{"completed": 0, "failed": 2, "mean_ttft_ms": missing, "rps": missing})
		})
	}
}

func TestConnectionRefused(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := listener.Addr().String()
	_ = listener.Close()
	req := request("http://"+addr, random(4, 2, "", nil), closed(2, 4))
	req.Warmup = 1
	s := run(t, req)
	for _, a := range s.samples {
		if a.Outcome != core.OutcomeFailed || a.Error != "refused: dial: connect: connection refused" {
			t.Errorf("%s %q", a.Outcome, a.Error)
		}
	}
	told := false
	for _, p := range s.progress {
		told = told || strings.Contains(p.Message, "1 of 1 warm-up requests failed: refused: dial")
	}
	if len(s.samples) != 4 || !told {
		t.Errorf("%d samples, progress %+v", len(s.samples), s.progress)
	}
}

// TestClosedConnections: a server that closes a connection after each answer, unsaid,
// when the next request is already on its way, fails none; the request is asked again.
func TestClosedConnections(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	const body = `data: {"choices":[{"delta":{"content":"x"},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n"
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				in := bufio.NewReader(conn)
				r, err := http.ReadRequest(in)
				if err != nil {
					return
				}
				_, _ = io.Copy(io.Discard, r.Body)
				fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nKeep-Alive: timeout=5\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
				_, _ = in.Peek(1)
			}()
		}
	}()
	var s sink
	if err := load.Run(t.Context(), request("http://"+listener.Addr().String(), random(4, 1, "", nil), closed(2, 20)), &s); err != nil {
		t.Fatal(err)
	}
	for _, a := range s.samples {
		if a.Outcome != core.OutcomeOK || a.Sent > a.First {
			t.Errorf("%+v", a)
		}
	}
	if len(s.samples) != 20 {
		t.Errorf("%d samples", len(s.samples))
	}
}

// TestDroppedRequests: a server that takes a request on a connection which it has
// answered on, works on it and closes, has failed it. It is not asked again.
func TestDroppedRequests(t *testing.T) {
	t.Parallel()
	var number, dropped atomic.Int32
	f := serve(t, func(w http.ResponseWriter, _ *http.Request, _ asked) {
		if number.Add(1)%3 != 0 {
			good(w, 1, 0)
			return
		}
		dropped.Add(1)
		time.Sleep(300 * time.Millisecond)
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		_ = conn.Close()
	})
	s := run(t, request(f.URL, random(4, 1, "", nil), closed(1, 10)))
	for _, a := range s.samples {
		if a.Outcome == core.OutcomeFailed && load.ErrorClass(a.Error) != "closed" {
			t.Error(a.Error)
		}
	}
	if n := len(f.requests()); n != 10 {
		t.Errorf("the server was asked %d times for 10 requests", n)
	}
	check(t, load.Figures(s.samples), map[string]float64{"completed": float64(10 - dropped.Load()), "failed": float64(dropped.Load())})
}

// TestCommentsKeepAlive: pings move the stream although no token comes.
func TestCommentsKeepAlive(t *testing.T) {
	t.Parallel()
	f := serve(t, func(w http.ResponseWriter, _ *http.Request, _ asked) {
		for range 16 {
			_, _ = io.WriteString(w, ": ping\n\n")
			w.(http.Flusher).Flush()
			time.Sleep(60 * time.Millisecond)
		}
		good(w, 2, 0)
	})
	req := request(f.URL, random(4, 2, "", nil), closed(1, 1))
	req.IdleTimeout = 700 * time.Millisecond
	if a := run(t, req).samples[0]; a.Outcome != core.OutcomeOK || a.First < 900*time.Millisecond {
		t.Errorf("%+v", a)
	}
}

func TestNotStreamed(t *testing.T) {
	f := serve(t, func(w http.ResponseWriter, _ *http.Request, _ asked) {
		time.Sleep(20 * time.Millisecond)
		_, _ = io.WriteString(w, "\n "+`{"choices":[{"message":{"role":"assistant","content":"whole"},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":7}}`)
	})
	s := run(t, request(f.URL, random(4, 7, "", nil), closed(1, 3)))
	for _, a := range s.samples {
		if a.Outcome != core.OutcomeOK || a.First != core.NoTime || a.Last != a.End || a.OutputTokens != 7 || a.Chunks != nil {
			t.Errorf("%+v", a)
		}
	}
	f2 := load.Figures(s.samples)
	check(t, f2, map[string]float64{"completed": 3, "mean_ttft_ms": missing, "mean_tpot_ms": missing, "output_tokens": 21})
	if f2["mean_e2el_ms"] < 20 {
		t.Errorf("mean_e2el_ms = %v", f2["mean_e2el_ms"])
	}
}
