package load

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// reply is what the ruler reads of a chunk of a stream, or of a whole answer that
// was not streamed. Everything else is passed over.
type reply struct {
	Choices []struct {
		Text         filled          `json:"text"`    // completions
		Delta        message         `json:"delta"`   // a chunk
		Message      message         `json:"message"` // a whole answer
		FinishReason json.RawMessage `json:"finish_reason"`
	} `json:"choices"`
	Usage   *usage          `json:"usage"`
	Error   json.RawMessage `json:"error"`
	Object  json.RawMessage `json:"object"`
	Message json.RawMessage `json:"message"` // beside "object": "error"
}

// message holds every field in which an engine hands out generated tokens.
// Reasoning has two spellings: vLLM renamed reasoning_content to reasoning.
type message struct {
	Content          filled `json:"content"`
	Reasoning        filled `json:"reasoning"`
	ReasoningContent filled `json:"reasoning_content"`
	ToolCalls        filled `json:"tool_calls"`
	FunctionCall     filled `json:"function_call"`
	Refusal          filled `json:"refusal"`
}

func (m message) filled() bool {
	return bool(m.Content || m.Reasoning || m.ReasoningContent || m.ToolCalls || m.FunctionCall || m.Refusal)
}

// filled reports whether a field holds anything: neither null nor an empty
// string, list or object. The text itself is of no use to a ruler.
type filled bool

func (f *filled) UnmarshalJSON(data []byte) error {
	switch string(data) {
	case `null`, `""`, `[]`, `{}`:
	default:
		*f = true
	}
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

// tokens reports whether the reply carries generated tokens. The role chunk, a
// usage chunk and a bare finish chunk do not.
func (r *reply) tokens() bool {
	for i := range r.Choices {
		c := &r.Choices[i]
		if bool(c.Text) || c.Delta.filled() || c.Message.filled() {
			return true
		}
	}
	return false
}

// finished reports whether the reply says that the answer is complete.
func (r *reply) finished() bool {
	for i := range r.Choices {
		if reason := r.Choices[i].FinishReason; len(reason) > 0 && string(reason) != "null" {
			return true
		}
	}
	return false
}

// failure gives the error that a server reports in place of an answer, whatever
// the HTTP status: {"error": …} or the older {"object": "error", "message": …}.
func (r *reply) failure() error {
	switch string(r.Error) {
	case "", `null`, `""`, `{}`:
	default:
		return errors.New("server error: " + errorText(r.Error))
	}
	if string(r.Object) == `"error"` {
		return errors.New("server error: " + errorText(r.Message))
	}
	return nil
}

// parseReply reads one JSON object that a server sent.
func parseReply(data []byte) (*reply, error) {
	var r reply
	if err := json.Unmarshal(data, &r); err != nil {
		return nil, fmt.Errorf("unreadable chunk: %w: %s", err, oneLine(string(data[:min(len(data), 80)])))
	}
	return &r, r.failure()
}

// errorText finds the sentence in what a server gives as an error: a string, an
// object with a message, or an object that holds one of these as error or detail.
func errorText(data []byte) string {
	var text string
	if json.Unmarshal(data, &text) == nil {
		return oneLine(text)
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(data, &object) == nil {
		for _, key := range []string{"message", "error", "detail"} {
			if v, ok := object[key]; ok && string(bytes.TrimSpace(v)) != "null" {
				return errorText(v)
			}
		}
	}
	return oneLine(string(data))
}

// maxErrorText bounds what a sample keeps of an error.
const maxErrorText = 300

// oneLine makes a text fit to be stored and printed: one line of printable UTF-8,
// bounded.
func oneLine(s string) string {
	s = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(s, "\ufffd"), func(r rune) bool {
		return unicode.IsSpace(r) || !unicode.IsPrint(r)
	}), " ")
	if len(s) <= maxErrorText {
		return s
	}
	cut := maxErrorText
	for !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "…"
}
