package sim

import (
	"encoding/json"
	"strconv"
)

// vocabulary is what answers are made of; a token is a space and one word.
var vocabulary = [...]string{
	"amber", "anchor", "arrow", "autumn", "basin", "beacon", "birch", "bridge", "canal", "cedar", "cliff", "cloud", "copper",
	"coral", "crane", "delta", "drift", "ember", "fable", "falcon", "field", "flint", "forest", "garden", "glacier", "grain",
	"harbor", "hazel", "hollow", "island", "ivory", "jasper", "juniper", "kettle", "lagoon", "lantern", "ledger", "linen",
	"maple", "marble", "meadow", "mirror", "moss", "needle", "north", "oak", "orchard", "pebble", "pine", "prairie", "quartz",
	"quill", "raven", "reed", "ridge", "river", "saddle", "silver", "slate", "spruce", "stone", "summit", "thistle", "willow",
}

// answer renders one response. Frames are put together by hand, because a server
// at a high time_scale writes tens of thousands of them a second.
type answer struct {
	job     *job
	head    []byte // of each frame: up to and with the choices' opening bracket
	written int    // tokens so far
}

func newAnswer(j *job, id, model string, created int64) *answer {
	object, prefix := "text_completion", "cmpl-"
	if j.chat {
		prefix, object = "chatcmpl-", "chat.completion"
		if j.stream {
			object += ".chunk"
		}
	}
	a := &answer{job: j}
	a.head = append(a.head, `{"id":`...)
	a.head = appendString(a.head, prefix+id)
	a.head = append(a.head, `,"object":"`+object+`","created":`+strconv.FormatInt(created, 10)+`,"model":`...)
	a.head = appendString(a.head, model)
	a.head = append(a.head, `,"choices":[`...)
	return a
}

// role is the first chunk of a chat; it carries no token.
func (a *answer) role(b []byte) []byte {
	return a.frame(b, `{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}`)
}

// tokens is a chunk with the next n tokens.
func (a *answer) tokens(b []byte, n int, last bool) []byte {
	b = append(b, "data: "...)
	b = append(b, a.head...)
	if a.job.chat {
		b = append(b, `{"index":0,"delta":{"content":"`...)
	} else {
		b = append(b, `{"index":0,"text":"`...)
	}
	b = a.text(b, n)
	if a.job.chat {
		b = append(b, `"}`...)
	} else {
		b = append(b, '"')
	}
	b = append(b, `,"logprobs":null,"finish_reason":`...)
	if last {
		b = appendString(b, a.job.finish)
	} else {
		b = append(b, "null"...)
	}
	return a.end(append(b, '}'))
}

// text appends the words of the next n tokens, which need no escaping.
func (a *answer) text(b []byte, n int) []byte {
	for range n {
		b = append(b, ' ')
		b = append(b, vocabulary[a.job.words.next()%uint64(len(vocabulary))]...)
	}
	a.written += n
	return b
}

// closing is what follows the last token: the usage, where asked, and the end.
func (a *answer) closing(b []byte) []byte {
	if a.job.usage {
		b = append(b, "data: "...)
		b = append(b, a.head...)
		b = append(b, `],"usage":`...)
		b = a.usage(b)
		b = append(b, "}\n\n"...)
	}
	return append(b, "data: [DONE]\n\n"...)
}

// whole is the answer that is not streamed.
func (a *answer) whole() []byte {
	b := append([]byte(nil), a.head...)
	if a.job.chat {
		b = append(b, `{"index":0,"message":{"role":"assistant","content":"`...)
	} else {
		b = append(b, `{"index":0,"text":"`...)
	}
	b = a.text(b, a.job.seq.outputLen)
	b = append(b, '"')
	if a.job.chat {
		b = append(b, '}')
	}
	b = append(b, `,"logprobs":null,"finish_reason":`...)
	b = appendString(b, a.job.finish)
	b = append(b, `}],"usage":`...)
	b = a.usage(b)
	return append(b, '}')
}

func (a *answer) frame(b []byte, choice string) []byte {
	b = append(b, "data: "...)
	b = append(b, a.head...)
	return a.end(append(b, choice...))
}

func (a *answer) end(b []byte) []byte {
	b = append(b, ']')
	if a.job.always {
		b = append(b, `,"usage":`...)
		b = a.usage(b)
	}
	return append(b, "}\n\n"...)
}

func (a *answer) usage(b []byte) []byte {
	seq := a.job.seq
	b = append(b, `{"prompt_tokens":`...)
	b = strconv.AppendInt(b, int64(seq.promptLen), 10)
	b = append(b, `,"completion_tokens":`...)
	b = strconv.AppendInt(b, int64(a.written), 10)
	b = append(b, `,"total_tokens":`...)
	b = strconv.AppendInt(b, int64(seq.promptLen+a.written), 10)
	b = append(b, `,"prompt_tokens_details":{"cached_tokens":`...)
	b = strconv.AppendInt(b, int64(a.job.cached), 10)
	return append(b, "}}"...)
}

func appendString(b []byte, s string) []byte {
	q, err := json.Marshal(s)
	if err != nil {
		// A Go string always has a JSON form.
		panic(err)
	}
	return append(b, q...)
}
