package sim

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"unicode/utf8"
)

// Text has no tokenizer here: charsPerToken characters are one token, and a chat
// message costs messageTokens more for its role and its marks.
const (
	charsPerToken = 4
	messageTokens = 4
)

// apiError is the error object of the API.
type apiError struct {
	Message string `json:"message"`
	Type    string `json:"type"`
	Param   string `json:"param,omitempty"`
	Code    int    `json:"code"`
}

func (e *apiError) Error() string { return e.Message }

func badRequest(param, format string, args ...any) *apiError {
	return &apiError{fmt.Sprintf(format, args...), "BadRequestError", param, http.StatusBadRequest}
}

// generateRequest is the part of a completion request that changes the answer;
// sampling parameters are accepted and mean nothing here.
type generateRequest struct {
	Model               string          `json:"model"`
	Prompt              json.RawMessage `json:"prompt"`
	Messages            []chatMessage   `json:"messages"`
	MaxTokens           *int            `json:"max_tokens"`
	MaxCompletionTokens *int            `json:"max_completion_tokens"`
	MinTokens           int             `json:"min_tokens"`
	IgnoreEOS           bool            `json:"ignore_eos"`
	N                   *int            `json:"n"`
	Seed                int64           `json:"seed"`
	Stream              bool            `json:"stream"`
	StreamOptions       *streamOptions  `json:"stream_options"`
}

type streamOptions struct {
	IncludeUsage         bool `json:"include_usage"`
	ContinuousUsageStats bool `json:"continuous_usage_stats"`
}

type chatMessage struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
}

// job is a checked request.
type job struct {
	seq    *sequence
	words  generator // of the answer's text
	finish string    // "length" or "stop"
	chat   bool
	stream bool
	usage  bool // an extra chunk at the end
	always bool // and on every chunk
	cached int  // prompt tokens that were not computed, once known
}

// newJob checks a request and decides the answer: its length and its text follow
// from the seeds and the prompt alone.
func newJob(body []byte, chat bool, m *machine, served string) (*job, *apiError) {
	var r generateRequest
	if err := json.Unmarshal(body, &r); err != nil {
		return nil, badRequest("", "request body: %v", err)
	}
	if r.Model != "" && r.Model != served {
		return nil, &apiError{fmt.Sprintf("the model %q does not exist; this server has %q", r.Model, served), "NotFoundError", "model", http.StatusNotFound}
	}
	if r.N != nil && *r.N != 1 {
		return nil, badRequest("n", "n: one answer a request, got %d", *r.N)
	}
	if r.StreamOptions != nil && !r.Stream {
		return nil, badRequest("stream_options", "stream_options: allowed only when stream is true")
	}
	p := prompt{}
	var err *apiError
	if chat {
		err = p.addMessages(r.Messages)
	} else {
		err = p.addPrompt(r.Prompt)
	}
	if err != nil {
		return nil, err
	}
	if p.tokens == 0 {
		return nil, badRequest("prompt", "prompt: at least one token is needed")
	}
	room := m.contextLen - p.tokens
	limit := 16
	if chat {
		limit = room
	}
	if r.MaxTokens != nil {
		limit = *r.MaxTokens
	}
	if r.MaxCompletionTokens != nil {
		limit = *r.MaxCompletionTokens
	}
	if limit < 1 && room >= 1 {
		return nil, badRequest("max_tokens", "max_tokens: at least 1, got %d", limit)
	}
	if room < 1 || limit > room {
		return nil, badRequest("max_tokens", "this model's longest sequence is %d tokens: %d of the prompt and %d of the answer are too many", m.contextLen, p.tokens, max(limit, 1))
	}

	base := generator(uint64(m.seed)*0x9e3779b97f4a7c15 ^ uint64(r.Seed)<<17 ^ p.identity())
	lengths, drafts, words := generator(base.next()), generator(base.next()), generator(base.next())
	j := &job{words: words, finish: "length", chat: chat, stream: r.Stream}
	output := limit
	if !r.IgnoreEOS {
		if n := max(lengths.naturalLen(), r.MinTokens); n < limit {
			output, j.finish = n, "stop"
		}
	}
	if r.StreamOptions != nil {
		j.usage, j.always = r.StreamOptions.IncludeUsage, r.StreamOptions.ContinuousUsageStats
	}
	j.seq = &sequence{promptLen: p.tokens, outputLen: output, prefix: p.hasher.blocks, random: drafts}
	return j, nil
}

// prompt counts and hashes what is asked.
type prompt struct {
	tokens int
	hasher promptHasher
}

// identity differs for prompts that differ anywhere, the unfinished block included.
func (p *prompt) identity() uint64 { return p.hasher.sum + uint64(p.tokens) }

func (p *prompt) addToken(t uint64) {
	p.tokens++
	p.hasher.add(t)
}

func (p *prompt) addText(text string) {
	for len(text) > 0 {
		var token uint64
		for i := 0; i < charsPerToken && len(text) > 0; i++ {
			r, size := utf8.DecodeRuneInString(text)
			token = token<<16 ^ uint64(r)
			text = text[size:]
		}
		p.addToken(token)
	}
}

// addPrompt reads a text, a list of token ids, or a list of one of these.
func (p *prompt) addPrompt(raw json.RawMessage) *apiError {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || string(raw) == "null" {
		return badRequest("prompt", "prompt: missing")
	}
	switch raw[0] {
	case '"':
		var text string
		if err := json.Unmarshal(raw, &text); err != nil {
			return badRequest("prompt", "prompt: %v", err)
		}
		p.addText(text)
		return nil
	case '[':
		var ids []int64
		if err := json.Unmarshal(raw, &ids); err == nil {
			for _, id := range ids {
				if id < 0 {
					return badRequest("prompt", "prompt: token id %d is negative", id)
				}
				p.addToken(uint64(id))
			}
			return nil
		}
		var list []json.RawMessage
		if err := json.Unmarshal(raw, &list); err == nil && len(list) == 1 && (list[0][0] == '"' || list[0][0] == '[') {
			return p.addPrompt(list[0])
		}
	}
	return badRequest("prompt", "prompt: want one text or one list of token ids")
}

func (p *prompt) addMessages(messages []chatMessage) *apiError {
	if len(messages) == 0 {
		return badRequest("messages", "messages: at least one is needed")
	}
	for i, m := range messages {
		if m.Role == "" {
			return badRequest("messages", "messages[%d]: role: missing", i)
		}
		for range messageTokens {
			p.addToken(uint64(len(m.Role)))
		}
		var text string
		var parts []struct{ Text string }
		switch {
		case json.Unmarshal(m.Content, &text) == nil:
			p.addText(text)
		case json.Unmarshal(m.Content, &parts) == nil:
			for _, part := range parts {
				p.addText(part.Text)
			}
		default:
			return badRequest("messages", "messages[%d]: content: want a text or a list of text parts", i)
		}
	}
	return nil
}
