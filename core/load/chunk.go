package load

import "bytes"

// chunk is what the ruler reads of one JSON object of a stream. Everything else
// is passed over.
type chunk struct {
	text      []byte // first generated text, still escaped as in JSON; nil when none
	textAt    int    // where that begins
	token     bool   // some field holds generated tokens
	answer    bool   // … that are not reasoning
	reasoning bool   // … that are
	finished  bool   // a finish_reason is given
	usage     bool   // usage is an object
	failure   bool   // error is given, or object is "error"
}

// scanChunk reads a chunk in one pass without building anything, as this runs for
// every token. ok is false when data is not one valid JSON object; the error is
// then for a slower reader to find.
//
// A field carries tokens when it is neither null nor an empty string, list or
// object. Reasoning has two spellings: vLLM renamed reasoning_content to reasoning.
func scanChunk(data []byte) (c chunk, ok bool) {
	s := scan{data: data}
	s.space()
	ok = s.object(func(key []byte) bool {
		switch string(key) {
		case "choices":
			return s.array(func() bool { return s.choice(&c) })
		case "usage":
			c.usage = s.peek() == '{'
		case "error":
			filled, ok := s.filled()
			c.failure = c.failure || filled
			return ok
		case "object":
			from := s.at
			ok := s.value(0)
			c.failure = c.failure || string(s.data[from:s.at]) == `"error"`
			return ok
		}
		return s.value(0)
	})
	s.space()
	return c, ok && s.at == len(s.data)
}

func (s *scan) choice(c *chunk) bool {
	if s.peek() != '{' {
		return s.value(0)
	}
	return s.object(func(key []byte) bool {
		switch string(key) {
		case "text": // completions
			return s.generated(c, false)
		case "delta", "message": // a chunk, or a whole answer
			if s.peek() == '{' {
				return s.object(func(key []byte) bool { return s.message(c, key) })
			}
		case "finish_reason":
			null := bytes.HasPrefix(s.data[s.at:], []byte("null"))
			c.finished = c.finished || !null
		}
		return s.value(0)
	})
}

// message reads the fields in which engines hand out generated tokens.
func (s *scan) message(c *chunk, key []byte) bool {
	switch string(key) {
	case "content", "tool_calls", "function_call", "refusal":
		return s.generated(c, false)
	case "reasoning", "reasoning_content":
		return s.generated(c, true)
	}
	return s.value(0)
}

func (s *scan) generated(c *chunk, reasoning bool) bool {
	from := s.at
	filled, ok := s.filled()
	if !filled || !ok {
		return ok
	}
	c.token = true
	c.answer = c.answer || !reasoning
	c.reasoning = c.reasoning || reasoning
	if s.data[from] == '"' && c.text == nil {
		c.text, c.textAt = s.data[from+1:s.at-1], from+1
	}
	return true
}

// filled passes over a value and reports whether it holds anything.
func (s *scan) filled() (filled, ok bool) {
	from := s.at
	ok = s.value(0)
	if !ok {
		return false, false
	}
	switch v := s.data[from:s.at]; v[0] {
	case 'n':
		return false, true
	case '"':
		return len(v) > 2, true
	case '[', '{':
		return len(bytes.TrimSpace(v[1:len(v)-1])) > 0, true
	}
	return true, true
}
