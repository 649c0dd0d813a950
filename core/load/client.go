package load

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"sync"
	"time"

	"github.com/sweepbook/sweepbook/core"
)

// Why a request was ended from this side, as causes of its context.
var (
	// errWindow: the measured window is over.
	errWindow = errors.New("end of the measured window")
	errTotal  = errors.New("request timeout")
)

// errDropped is what became of a request that the server took and gave up.
var errDropped = errors.New("connection closed before the answer was whole")

const (
	maxBody    = 64 << 20 // of an answer that was not streamed
	maxErrBody = 4 << 10  // of a refusal
	maxHead    = 256 << 10
	drainTime  = 200 * time.Millisecond
	// repeatWithin is how soon after a request its connection must be found closed for
	// the two to have crossed: a round trip, and what a busy machine adds to it. A
	// server that closes later has dropped the request, which is a failure.
	repeatWithin = 100 * time.Millisecond
	idleConnAge  = 2 * time.Second
	readBuffer   = 2 << 10 // of one stream; it grows for a longer line
)

// client sends requests of one phase of a trial.
type client struct {
	http    *http.Client
	url     string
	host    string // host:port
	req     core.BenchmarkRequest
	clock   func() time.Duration // since the start of the phase
	lobby   *lobby
	offset  time.Duration // of the start of the phase on the clock of the lobby
	pulse   *pulse
	self    *self
	buffers *sync.Pool
	moments *moments
}

// newTransport makes the connections of one trial: as many as there are requests
// in flight, kept between its phases.
func newTransport(l *lobby) *http.Transport {
	return &http.Transport{
		// No proxy: the environment's proxy must not stand between ruler and
		// server, and would catch even loopback in some set-ups.
		Proxy:               nil,
		DialContext:         l.dial,
		MaxIdleConns:        0,
		MaxIdleConnsPerHost: 1 << 20,
		// Python servers drop an idle connection after 5 s. Dropping it before
		// they do keeps a request from being written into a closing one, which
		// would look like a failure of the server.
		IdleConnTimeout:        idleConnAge,
		DisableCompression:     true,
		MaxResponseHeaderBytes: maxHead,
		ReadBufferSize:         2 * readBuffer,
		WriteBufferSize:        readBuffer,
	}
}

// newClient starts a phase now.
func newClient(req core.BenchmarkRequest, ep endpoint, transport *http.Transport, l *lobby) (*client, error) {
	u, err := url.Parse(req.BaseURL)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return nil, fmt.Errorf("benchmark: base URL: %w: %q is not http://host:port", core.ErrInvalid, req.BaseURL)
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	c := &client{
		url: address(req.BaseURL, ep), host: net.JoinHostPort(u.Hostname(), port),
		req: req, lobby: l,
		http: &http.Client{
			Transport: transport,
			// A redirect would be measured as part of the answer; it is a wrong address.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		buffers: &sync.Pool{New: func() any { b := make([]byte, readBuffer); return &b }},
		moments: &moments{},
	}
	c.start()
	return c, nil
}

// start sets the clock of the phase to 0.
func (c *client) start() {
	start := time.Now()
	c.clock = func() time.Duration { return time.Since(start) }
	c.offset = start.Sub(c.lobby.began)
	c.pulse = &pulse{clock: c.clock}
	c.self = newSelf(&c.lobby.delays)
}

// send asks one request and times its answer. due is NoTime where the request is
// due when it is sent. It never fails: what goes wrong is in the sample.
func (c *client) send(ctx context.Context, j job, due time.Duration, a *answer) core.Sample {
	s := core.Sample{
		Index: j.index, Due: due, Sent: core.NoTime, First: core.NoTime, Last: core.NoTime, End: core.NoTime,
		InputTokens: -1, CachedTokens: -1, OutputTokens: -1, RequestedOutput: j.output,
	}
	a.first = core.NoTime
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if d := c.req.RequestTimeout; d > 0 {
		defer time.AfterFunc(d, func() { cancel(errTotal) }).Stop()
	}
	idle := &idleWatch{limit: c.req.IdleTimeout, run: c.pulse, end: func(why stalled) { cancel(why) }}
	idle.start()
	defer idle.stop()

	err := c.exchange(ctx, cancel, j, idle, &s, a)
	if s.End == core.NoTime {
		s.End = c.clock()
	}
	if s.Due == core.NoTime {
		s.Due = s.Sent
	}
	s.Chunks = c.moments.keep(s.Chunks)
	if err == nil {
		return s
	}
	s.Outcome = core.OutcomeFailed
	var stall stalled
	switch cause := context.Cause(ctx); {
	case cause == nil:
		s.Error = failureText(err)
	case errors.Is(cause, errTotal):
		s.Error = fmt.Sprintf("%s: no whole answer within %v", classTimeout, c.req.RequestTimeout)
	case errors.As(cause, &stall):
		s.Error = failureText(trouble(classStall, stall))
	default:
		// The window is over, or the whole run was cancelled: the run's own limit.
		s.Outcome = core.OutcomeIncomplete
	}
	return s
}

// exchange does the HTTP part of one request and fills in the sample's moments
// and counts. An answer that is not whole and good is an error.
func (c *client) exchange(ctx context.Context, cancel context.CancelCauseFunc, j job, idle *idleWatch, s *core.Sample, a *answer) error {
	s.Sent = c.clock()
	asked := s.Sent
	var on *wire
	connected := func(info httptrace.GotConnInfo) {
		c.self.connect(c.clock() - asked)
		if on = wireOf(info.Conn); on != nil {
			on.writes.Store(info.Reused || on.ahead)
		}
	}
	req, err := http.NewRequestWithContext(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: connected}),
		http.MethodPost, c.url, bytes.NewReader(j.body))
	if err != nil {
		return err
	}
	Authorize(req)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "text/event-stream, application/json")
	req.Header.Set("Accept-Encoding", "identity")
	// Some servers close a connection after an answer without saying so. net/http then
	// asks again on a new one, if not a byte of an answer has come, of requests that it
	// takes for repeatable; the empty list says so and is not sent. It asks for the body
	// before, which is where a request that the server dropped while it worked on it is
	// told from one that met a closing connection.
	req.Header["Idempotency-Key"] = []string{}
	req.GetBody = func() (io.ReadCloser, error) {
		if on == nil || on.silence() > repeatWithin {
			return nil, trouble(classClosed, errDropped)
		}
		c.self.again()
		return io.NopCloser(bytes.NewReader(j.body)), nil
	}
	resp, err := c.http.Do(req)
	if on != nil {
		// Building the request and the way through net/http are the client's own time.
		// Where a connection had to be opened first, the request was sent when it began
		// to wait for it: a server that is slow to accept is slow.
		s.Sent = max(s.Sent, time.Duration(on.written.Load())-c.offset)
	}
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	// Whether a server stands still is asked of when its bytes were read: while this
	// process gets no CPU, more may have come than it knows.
	arrived, seen := c.clock, c.clock
	if on != nil {
		arrived = func() time.Duration { return time.Duration(on.read.Load()) - c.offset }
		seen = func() time.Duration { return time.Duration(on.seen.Load()) - c.offset }
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return refusal(resp)
	}
	if coding := resp.Header.Get("Content-Encoding"); coding != "" && coding != "identity" {
		return trouble(classEncoding, fmt.Errorf("the answer is compressed (%s): moments of its chunks would be those of blocks", oneLine(coding)))
	}
	buffer := c.buffers.Get().(*[]byte)
	stream := newEvents(resp.Body, *buffer, arrived)
	stream.moved = func(time.Duration) { idle.moved(seen()) }
	defer func() {
		if len(stream.buffer) <= 4*readBuffer {
			c.buffers.Put(&stream.buffer)
		}
	}()
	streamed, err := stream.opens()
	if err != nil {
		return err
	}
	if !streamed {
		err := readWhole(io.MultiReader(bytes.NewReader(stream.buffer[stream.from:stream.to]), resp.Body), arrived, s, a)
		if err == nil {
			idle.moved(seen()) // what the other requests wait behind has moved
			idle.token(seen())
		}
		return err
	}
	s.Chunks = c.moments.borrow()
	if err := readStream(stream, s, a, func(time.Duration) { idle.token(seen()) }); err != nil {
		return err
	}
	// Reading on to the end of the body lets the connection be used again. It is
	// already there with nearly every server; one that holds it open must not hold
	// the slot.
	guard := time.AfterFunc(drainTime, func() { cancel(nil) })
	defer guard.Stop()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, maxErrBody))
	return nil
}

// wireOf gives the connection of a request, below TLS.
func wireOf(conn net.Conn) *wire {
	if secure, ok := conn.(*tls.Conn); ok {
		conn = secure.NetConn()
	}
	w, _ := conn.(*wire)
	return w
}

// refusal reads an answer of another status than success. It is never asked again:
// one request is one sample, whatever Retry-After says.
func refusal(resp *http.Response) error {
	// What was read before an error is the better part of the text.
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrBody))
	text := errorText(body)
	if to := resp.Header.Get("Location"); to != "" {
		text = "redirect to another address: " + text
	}
	if after := resp.Header.Get("Retry-After"); after != "" {
		text += " (retry after " + oneLine(after) + ")"
	}
	return &classified{class(fmt.Sprintf("%s %d", classHTTP, resp.StatusCode)), errors.New(text)}
}

// opens looks at the first byte that is not a space: events cannot begin with
// a brace, and a server that passes over "stream" answers with one JSON object.
func (e *events) opens() (streamed bool, err error) {
	for {
		for i := e.from; i < e.to; i++ {
			switch e.buffer[i] {
			case ' ', '\t', '\r', '\n':
				continue
			}
			return e.buffer[i] != '{', nil
		}
		if e.err != nil {
			if errors.Is(e.err, io.EOF) {
				return false, trouble(classEmpty, errors.New("answer is empty"))
			}
			return false, e.err
		}
		if e.to-e.from > maxEvent {
			return false, errEventTooLong
		}
		e.fill()
	}
}
