package load

import "bytes"

// mold is the shape that the chunks of one stream share. An engine writes the same
// bytes around each token, so that a chunk which differs from an earlier one in its
// text alone need not be read again: what was found in that one holds for it.
type mold struct {
	before, after []byte // the text, with their quotes
	chunk         chunk  // without its text
}

// take keeps the shape of a chunk that was read from data. One without a text, or
// with something in it that has to be read each time, has no shape to keep.
func (m *mold) take(data []byte, c chunk) {
	if c.text == nil || c.usage || c.failure {
		return
	}
	m.before = append(m.before[:0], data[:c.textAt]...)
	m.after = append(m.after[:0], data[c.textAt+len(c.text):]...)
	m.chunk = c
	m.chunk.text = nil
}

// fits gives the chunk that data is, where it has this shape and a text that is one
// JSON string.
func (m *mold) fits(data []byte) (c chunk, ok bool) {
	from, to := len(m.before), len(data)-len(m.after)
	if from == 0 || from >= to || !bytes.HasSuffix(data, m.after) || !bytes.HasPrefix(data, m.before) {
		return chunk{}, false
	}
	s := scan{data: data, at: from - 1}
	if !s.str() || s.at != to+1 {
		return chunk{}, false
	}
	c = m.chunk
	c.text = data[from:to]
	return c, true
}
