package load

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/sweepbook/sweepbook/core"
)

// Why a request was ended from this side, as causes of its context.
var (
	// errWindow: the measured window is over.
	errWindow = errors.New("end of the measured window")
	errTotal  = errors.New("request timeout")
	errIdle   = errors.New("idle timeout")
)

const (
	maxBody     = 64 << 20 // of an answer that was not streamed
	maxErrBody  = 4 << 10  // of a refusal
	drainTime   = 200 * time.Millisecond
	idleConnAge = 2 * time.Second
)

// client sends requests of one trial.
type client struct {
	http  *http.Client
	url   string
	req   core.BenchmarkRequest
	pulse *pulse
}

func newClient(req core.BenchmarkRequest, ep endpoint) (*client, error) {
	u, err := url.Parse(req.BaseURL)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return nil, fmt.Errorf("benchmark: base URL: %w: %q is not http://host:port", core.ErrInvalid, req.BaseURL)
	}
	return &client{
		url:   address(req.BaseURL, ep),
		req:   req,
		pulse: newPulse(),
		http: &http.Client{
			// A redirect would be measured as part of the answer; it is a wrong address.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
			Transport: &http.Transport{
				// No proxy: the environment's proxy must not stand between ruler and
				// server, and would catch even loopback in some set-ups.
				Proxy:               nil,
				DialContext:         (&net.Dialer{KeepAlive: 30 * time.Second}).DialContext,
				MaxIdleConns:        0,
				MaxIdleConnsPerHost: 1 << 20,
				// Python servers drop an idle connection after 5 s. Dropping it before
				// they do keeps a request from being written into a closing one, which
				// would look like a failure of the server.
				IdleConnTimeout:    idleConnAge,
				DisableCompression: true,
			},
		},
	}, nil
}

func (c *client) close() { c.http.CloseIdleConnections() }

// send asks one request and times its answer. due is NoTime where the request is
// due when it is sent. clock is the time since the start of the measured window.
// It never fails: what goes wrong is in the sample.
func (c *client) send(ctx context.Context, j job, due time.Duration, clock func() time.Duration) core.Sample {
	s := core.Sample{
		Index: j.index, Due: due, Sent: core.NoTime, First: core.NoTime, Last: core.NoTime, End: core.NoTime,
		InputTokens: -1, CachedTokens: -1, OutputTokens: -1, RequestedOutput: j.output,
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if d := c.req.RequestTimeout; d > 0 {
		defer time.AfterFunc(d, func() { cancel(errTotal) }).Stop()
	}
	idle := &idleWatch{limit: c.req.IdleTimeout, run: c.pulse, end: func() { cancel(errIdle) }}
	idle.start()
	defer idle.stop()

	err := c.exchange(ctx, cancel, j, clock, idle, &s)
	if s.End == core.NoTime {
		s.End = clock()
	}
	if s.Due == core.NoTime {
		s.Due = s.Sent
	}
	if err == nil {
		return s
	}
	s.Outcome = core.OutcomeFailed
	switch cause := context.Cause(ctx); {
	case cause == nil:
		s.Error = oneLine(transportError(err))
	case errors.Is(cause, errTotal):
		s.Error = fmt.Sprintf("%v: no whole answer within %v", errTotal, c.req.RequestTimeout)
	case errors.Is(cause, errIdle):
		s.Error = fmt.Sprintf("%v: nothing came for %v", errIdle, c.req.IdleTimeout)
	default:
		// The window is over, or the whole run was cancelled: the run's own limit.
		s.Outcome = core.OutcomeIncomplete
	}
	return s
}

// exchange does the HTTP part of one request and fills in the sample's moments
// and counts. An answer that is not whole and good is an error.
func (c *client) exchange(ctx context.Context, cancel context.CancelCauseFunc, j job, clock func() time.Duration, idle *idleWatch, s *core.Sample) error {
	s.Sent = clock()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(j.body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "text/event-stream, application/json")
	resp, err := c.http.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	in := bufio.NewReaderSize(&watched{resp.Body, idle}, 8<<10)
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		// What was read before an error is the better part of the text.
		body, _ := io.ReadAll(io.LimitReader(in, maxErrBody))
		return fmt.Errorf("HTTP %d: %s", resp.StatusCode, errorText(body))
	}
	streamed, err := isStream(in)
	if err != nil {
		return err
	}
	if !streamed {
		return readWhole(in, clock, s)
	}
	if err := readStream(in, clock, s); err != nil {
		return err
	}
	// Reading on to the end of the body lets the connection be used again. It is
	// already there with nearly every server; one that holds it open must not hold
	// the slot.
	guard := time.AfterFunc(drainTime, func() { cancel(nil) })
	defer guard.Stop()
	_, _ = io.Copy(io.Discard, io.LimitReader(in, maxErrBody))
	return nil
}

// isStream looks at the first byte that is not a space: events cannot begin with
// a brace, and a server that passes over "stream" answers with one JSON object.
func isStream(in *bufio.Reader) (bool, error) {
	for {
		first, err := in.ReadByte()
		if err != nil {
			if errors.Is(err, io.EOF) {
				return false, errors.New("answer is empty")
			}
			return false, err
		}
		switch first {
		case ' ', '\t', '\r', '\n':
			continue
		}
		return first != '{', in.UnreadByte()
	}
}

// watched tells of every read that brought something.
type watched struct {
	in   io.Reader
	idle *idleWatch
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.in.Read(p)
	if n > 0 {
		w.idle.moved()
	}
	return n, err
}

// transportError says what went wrong without the address and ports, which would
// make every error of one kind a different text.
func transportError(err error) string {
	var op *net.OpError
	switch {
	case errors.As(err, &op) && op.Err != nil:
		return op.Op + ": " + op.Err.Error()
	case errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF):
		return "connection closed before the answer was whole"
	}
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err.Error()
	}
	return err.Error()
}
