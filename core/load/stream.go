package load

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/sweepbook/sweepbook/core"
)

var (
	errNoToken  = errors.New("answer without a token")
	errCutShort = errors.New("stream ended without [DONE] or a finish reason")
)

// readStream reads a streamed answer into a sample.
//
// First is the first chunk that carries a token: text, reasoning, a tool call;
// never the role chunk. Last is the last such chunk, so that a late usage chunk
// does not lengthen the latency. Token counts are the server's last usage and stay
// unknown without one: a chunk may hold several tokens or a part of one, so that
// counting chunks would give a number that looks like tokens and is not.
//
// An error event inside a 200, a stream that ends early and an answer without a
// token are errors, even when usage counts the end-of-sequence token.
func readStream(in *bufio.Reader, clock func() time.Duration, s *core.Sample) error {
	stream, finished := newEvents(in), false
	for {
		e, err := stream.next()
		now := clock()
		if errors.Is(err, io.EOF) {
			s.End = now
			if !finished {
				return errCutShort
			}
			return whetherTokens(s)
		}
		if err != nil {
			s.End = now
			return err
		}
		if string(e.data) == "[DONE]" {
			s.End = now
			return whetherTokens(s)
		}
		if e.name == "error" {
			s.End = now
			return errors.New("server error: " + errorText(e.data))
		}
		if len(e.data) == 0 {
			continue
		}
		r, err := parseReply(e.data)
		if err != nil {
			s.End = now
			return err
		}
		if r.tokens() {
			if s.First == core.NoTime {
				s.First = now
			}
			s.Last = now
			s.Chunks = append(s.Chunks, now)
		}
		finished = finished || r.finished()
		count(r.Usage, s)
	}
}

func whetherTokens(s *core.Sample) error {
	if s.First != core.NoTime {
		return nil
	}
	if s.OutputTokens > 0 {
		return fmt.Errorf("%w (the server counts %d)", errNoToken, s.OutputTokens)
	}
	return errNoToken
}

// readWhole reads an answer that came as one JSON object. Nothing is known of its
// first token: only the end-to-end latency is measured.
func readWhole(in *bufio.Reader, clock func() time.Duration, s *core.Sample) error {
	body, err := io.ReadAll(io.LimitReader(in, maxBody))
	s.End = clock()
	if err != nil {
		return err
	}
	r, err := parseReply(body)
	if err != nil {
		return err
	}
	count(r.Usage, s)
	if !r.tokens() {
		return whetherTokens(s)
	}
	s.Last = s.End
	return nil
}

// count takes over what a usage says; a later one replaces an earlier.
func count(u *usage, s *core.Sample) {
	if u == nil {
		return
	}
	take := func(to *int, from *int) {
		if from != nil && *from >= 0 {
			*to = *from
		}
	}
	take(&s.InputTokens, u.PromptTokens)
	take(&s.OutputTokens, u.CompletionTokens)
	if u.PromptDetails != nil {
		take(&s.CachedTokens, u.PromptDetails.CachedTokens)
	}
}
