package load

// tail keeps the end of an answer's text, so that a loop in it can be noticed
// without keeping the text.
type tail struct {
	buffer [tailBytes]byte
	next   int
	seen   int
}

const (
	tailBytes = 512
	// A loop is a unit that fills the end of the answer at least four times over and
	// at least 192 bytes: no list, table or poem in ordinary text is that uniform.
	loopTimes = 4
	loopBytes = 192
)

func (t *tail) add(text []byte) {
	if len(text) > tailBytes {
		t.seen += len(text) - tailBytes
		text = text[len(text)-tailBytes:]
	}
	t.seen += len(text)
	for len(text) > 0 {
		n := copy(t.buffer[t.next:], text)
		text = text[n:]
		t.next = (t.next + n) % tailBytes
	}
}

// loops reports whether the end of the text repeats one unit. known is false for
// a text too short to tell.
func (t *tail) loops() (loops, known bool) {
	n := min(t.seen, tailBytes)
	if n < loopBytes {
		return false, false
	}
	// The text backwards, so that its period from the end is that of a prefix.
	var back [tailBytes]byte
	for i := range n {
		back[i] = t.buffer[(t.next-1-i+tailBytes)%tailBytes]
	}
	// borders[i] is the longest proper border of back[:i+1]; i+1-borders[i] is its
	// period (Knuth, Morris and Pratt).
	var borders [tailBytes]int
	for i := 1; i < n; i++ {
		k := borders[i-1]
		for k > 0 && back[i] != back[k] {
			k = borders[k-1]
		}
		if back[i] == back[k] {
			k++
		}
		borders[i] = k
		if length := i + 1; length >= loopBytes && (length-k)*loopTimes <= length {
			return true, true
		}
	}
	return false, true
}
