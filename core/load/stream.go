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
// may be nil, is called at each moment at which a chunk that carries one came.
func readStream(stream *events, s *core.Sample, a *answer, token func(now time.Duration)) error {
	finished, told := false, core.NoTime
	r := chunkReader{}
	stream.whole = r.whole
	for {
		r.known = false
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
		c, err := r.read(e.data, s)
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
			if token != nil && now != told {
				told = now
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

// chunkReader reads the chunks of one stream, each of them once.
type chunkReader struct {
	mold  mold
	chunk chunk // that whole has met
	known bool  // there is one
}

// whole reports whether data needs no further line, as the function whole does; in
// passing it reads what is a JSON object.
func (r *chunkReader) whole(data []byte) bool {
	data = bytes.TrimSpace(data)
	if r.chunk, r.known = r.mold.fits(data); r.known {
		return true
	}
	if r.chunk, r.known = scanChunk(data); r.known {
		r.mold.take(data, r.chunk)
		return true
	}
	return whole(data)
}

// read reads the data of an event and takes over its usage.
func (r *chunkReader) read(data []byte, s *core.Sample) (chunk, error) {
	if r.known {
		return r.chunk, takeUsage(r.chunk, true, data, s)
	}
	return readChunk(data, s)
}

// readChunk reads one JSON object of an answer and takes over its usage.
func readChunk(data []byte, s *core.Sample) (chunk, error) {
	c, ok := scanChunk(data)
	return c, takeUsage(c, ok, data, s)
}

// takeUsage takes over the usage of what was read from data; ok says whether that
// was a JSON object. The error that a server reports in place of an answer, whatever
// the HTTP status, is an error: {"error": …} or the older {"object": "error",
// "message": …}.
func takeUsage(c chunk, ok bool, data []byte, s *core.Sample) error {
	if ok && !c.usage && !c.failure {
		return nil
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
		return trouble(classGarbage, fmt.Errorf("unreadable chunk: %w: %s", err, oneLine(string(data[:min(len(data), 80)]))))
	}
	if c.failure {
		said := r.Error
		if len(said) == 0 || string(said) == "null" {
			said = r.Message
		}
		return trouble(classServer, errors.New(errorText(said)))
	}
	count(r.Usage, s)
	return nil
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
