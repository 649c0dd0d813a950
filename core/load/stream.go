package load

import (
	"bytes"
	"encoding/json"
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

// answer is what is read of one answer beside its sample.
type answer struct {
	first time.Duration // of the tokens that are not reasoning; NoTime when none came
	tail  tail
	keep  bool   // the text is needed for the next turn
	text  []byte // as escaped in JSON
}

// readStream reads a streamed answer into a sample.
//
// First is the first chunk that carries a token: text, reasoning, a tool call;
// never the role chunk. Last is the last such chunk, so that a late usage chunk
// does not lengthen the latency. Token counts are the server's last usage and stay
// unknown without one: a chunk may hold several tokens or a part of one, so that
// counting chunks would give a number that looks like tokens and is not.
//
// An error event inside a 200, a stream that ends early and an answer without a
// token are errors, even when usage counts the end-of-sequence token. token, which
// may be nil, is called at each chunk that carries one.
func readStream(stream *events, s *core.Sample, a *answer, token func(now time.Duration)) error {
	finished := false
	for {
		e, err := stream.next()
		now := stream.now
		if errors.Is(err, io.EOF) {
			s.End = now
			if !finished {
				return trouble(classCut, errCutShort)
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
			return trouble(classServer, errors.New(errorText(e.data)))
		}
		if len(e.data) == 0 {
			continue
		}
		c, err := readChunk(e.data, s)
		if err != nil {
			s.End = now
			return err
		}
		if c.token {
			if s.First == core.NoTime {
				s.First = now
			}
			s.Last = now
			s.Chunks = append(s.Chunks, now)
			a.take(c, now)
			if token != nil {
				token(now)
			}
		}
		finished = finished || c.finished
	}
}

func (a *answer) take(c chunk, now time.Duration) {
	if c.answer && a.first == core.NoTime {
		a.first = now
	}
	if len(c.text) > 0 {
		a.tail.add(c.text)
		if a.keep && c.answer && !c.reasoning {
			a.text = append(a.text, c.text...)
		}
	}
}

// readChunk reads one JSON object of an answer and takes over its usage. The
// error that a server reports in place of an answer, whatever the HTTP status, is
// an error: {"error": …} or the older {"object": "error", "message": …}.
func readChunk(data []byte, s *core.Sample) (chunk, error) {
	c, ok := scanChunk(data)
	if ok && !c.usage && !c.failure {
		return c, nil
	}
	var r struct {
		Usage   *usage          `json:"usage"`
		Error   json.RawMessage `json:"error"`
		Message json.RawMessage `json:"message"` // beside "object": "error"
	}
	if err := json.Unmarshal(data, &r); err != nil || !ok {
		if err == nil {
			err = errors.New("not a JSON object")
		}
		return c, trouble(classGarbage, fmt.Errorf("unreadable chunk: %w: %s", err, oneLine(string(data[:min(len(data), 80)]))))
	}
	if c.failure {
		said := r.Error
		if len(said) == 0 || string(said) == "null" {
			said = r.Message
		}
		return c, trouble(classServer, errors.New(errorText(said)))
	}
	count(r.Usage, s)
	return c, nil
}

func whetherTokens(s *core.Sample) error {
	if s.First != core.NoTime {
		return nil
	}
	if s.OutputTokens > 0 {
		return trouble(classEmpty, fmt.Errorf("%w (the server counts %d)", errNoToken, s.OutputTokens))
	}
	return trouble(classEmpty, errNoToken)
}

// readWhole reads an answer that came as one JSON object. Nothing is known of its
// first token: only the end-to-end latency is measured.
func readWhole(in io.Reader, clock func() time.Duration, s *core.Sample, a *answer) error {
	body, err := io.ReadAll(io.LimitReader(in, maxBody+1))
	s.End = clock()
	switch {
	case err != nil:
		return err
	case len(body) > maxBody:
		return trouble(classTooLong, fmt.Errorf("answer is longer than %d MiB", maxBody>>20))
	}
	c, err := readChunk(bytes.TrimSpace(body), s)
	if err != nil {
		return err
	}
	if !c.token {
		return whetherTokens(s)
	}
	s.Last = s.End
	a.take(c, s.End)
	a.first = core.NoTime
	return nil
}

// usage is the server's token count. A field that is absent or null is unknown.
type usage struct {
	PromptTokens     *int `json:"prompt_tokens"`
	CompletionTokens *int `json:"completion_tokens"`
	PromptDetails    *struct {
		CachedTokens *int `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
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
