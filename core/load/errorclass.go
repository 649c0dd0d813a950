package load

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"strings"
	"syscall"

	"github.com/sweepbook/sweepbook/core"
)

// class is the first word of a failed sample's Error: what kind of failure it
// was, in words that do not change.
type class string

const (
	classHTTP     class = "http"     // a status other than 2xx; the number follows: "http 503: …"
	classServer   class = "server"   // an error in place of tokens, inside a 200
	classEmpty    class = "empty"    // an answer without a token, or without anything
	classCut      class = "cut"      // the stream ended before it said that it is complete
	classGarbage  class = "garbage"  // bytes that are no answer
	classTooLong  class = "too long" // an event or answer beyond every bound
	classEncoding class = "encoding" // a compressed answer, which nobody asked for
	classRefused  class = "refused"  // nobody listens
	classReset    class = "reset"    // the connection was reset
	classClosed   class = "closed"   // the connection was closed before the answer was whole
	classTLS      class = "tls"      // no trust, or no TLS on the other side
	classNetwork  class = "network"  // any other failure to reach the server
	classStall    class = "stall"    // nothing moved for the idle limit
	classTimeout  class = "timeout"  // the whole answer took longer than its limit
	classSession  class = "session"  // an earlier turn of the conversation failed
)

// ErrorClass gives the class of a failed sample's Error: http, server, empty, cut,
// garbage, too long, encoding, refused, reset, closed, tls, network, stall,
// timeout or session; "" where it has none, as in imported samples.
func ErrorClass(text string) string {
	word, _, ok := strings.Cut(text, ":")
	if !ok {
		return ""
	}
	if strings.HasPrefix(word, string(classHTTP)+" ") {
		return string(classHTTP)
	}
	switch class(word) {
	case classServer, classEmpty, classCut, classGarbage, classTooLong, classEncoding, classRefused, classReset,
		classClosed, classTLS, classNetwork, classStall, classTimeout, classSession:
		return word
	}
	return ""
}

// ErrorClasses counts the failed samples by class; those without one are under "".
func ErrorClasses(samples []core.Sample) map[string]int {
	counts := map[string]int{}
	for _, s := range samples {
		if s.Outcome == core.OutcomeFailed {
			counts[ErrorClass(s.Error)]++
		}
	}
	return counts
}

// classified is an error whose class is known where it arose.
type classified struct {
	class class
	err   error
}

func (c *classified) Error() string { return string(c.class) + ": " + c.err.Error() }
func (c *classified) Unwrap() error { return c.err }

func trouble(c class, err error) error { return &classified{c, err} }

// failureText says what went wrong, its class first, and without the address and
// ports, which would make every error of one kind a different text.
func failureText(err error) string {
	var known *classified
	if errors.As(err, &known) {
		return oneLine(known.Error())
	}
	var op *net.OpError
	what := err
	var u *url.Error
	switch {
	case errors.As(err, &op) && op.Err != nil:
		what = fmt.Errorf("%s: %w", op.Op, op.Err)
	case errors.As(err, &u):
		what = u.Err
	}
	c := classOf(err)
	if c == classClosed {
		what = errDropped
	}
	return oneLine(string(c) + ": " + what.Error())
}

func classOf(err error) class {
	var (
		record    tls.RecordHeaderError
		alert     tls.AlertError
		verify    *tls.CertificateVerificationError
		authority x509.UnknownAuthorityError
		host      x509.HostnameError
		op        *net.OpError
	)
	switch {
	case errors.As(err, &record), errors.As(err, &alert), errors.As(err, &verify), errors.As(err, &authority), errors.As(err, &host),
		strings.Contains(err.Error(), "tls: "), strings.Contains(err.Error(), "HTTP response to HTTPS client"):
		return classTLS
	case errors.Is(err, errEventTooLong):
		return classTooLong
	case errors.Is(err, syscall.ECONNREFUSED):
		return classRefused
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return classReset
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF), strings.Contains(err.Error(), "server closed idle connection"):
		return classClosed
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, syscall.ETIMEDOUT):
		return classTimeout
	case errors.As(err, &op):
		return classNetwork
	case strings.Contains(err.Error(), "malformed"), strings.Contains(err.Error(), "invalid"), strings.Contains(err.Error(), "exceeded"),
		strings.Contains(err.Error(), "unsupported"), strings.Contains(err.Error(), "bad "):
		return classGarbage // net/http has no types for what it cannot read
	}
	return classNetwork
}
