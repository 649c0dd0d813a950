package store

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/sweepbook/sweepbook/core"
)

// The requests of a trial are written column by column as variable-length
// integers, since neighbours in a column are alike and compress well:
//
//	n
//	n × index    zigzag of the step from the index before, less one
//	n × due      moment, from the due moment before
//	n × sent     moment, from due
//	n × first    moment, from sent
//	n × last     moment, from first
//	n × end      moment, from last
//	n × input, cached, output, requested tokens   zigzag each
//	n × outcome
//	n × error    0 none, k the k-th distinct text, which follows where it is new
//
// A moment is 0 for NoTime, else one more than the zigzag of its distance in
// microseconds from the moment named, or from the start where that never came.
// Chunk moments are a blob of their own: n × (count, moments each from the one
// before, the first of them from the sample's first).

func zigzag(n int64) uint64   { return uint64(n)<<1 ^ uint64(n>>63) }
func unzigzag(u uint64) int64 { return int64(u>>1) ^ -int64(u&1) }

// appendMoment writes a moment and returns the base of the next one.
func appendMoment(b []byte, at, from time.Duration) []byte {
	if at == core.NoTime {
		return append(b, 0)
	}
	return binary.AppendUvarint(b, zigzag(micros(at)-micros(from))+1)
}

// micros rounds to whole microseconds; a moment that never came counts from the
// start.
func micros(d time.Duration) int64 {
	if d == core.NoTime {
		return 0
	}
	return int64(d.Round(time.Microsecond) / time.Microsecond)
}

func encodeSamples(samples []core.Sample) []byte {
	b := binary.AppendUvarint(make([]byte, 0, 24*len(samples)+8), uint64(len(samples)))
	before := -1
	for _, s := range samples {
		b = binary.AppendUvarint(b, zigzag(int64(s.Index-before-1)))
		before = s.Index
	}
	due := core.NoTime
	for _, s := range samples {
		b = appendMoment(b, s.Due, due)
		due = s.Due
	}
	for _, s := range samples {
		b = appendMoment(b, s.Sent, s.Due)
	}
	for _, s := range samples {
		b = appendMoment(b, s.First, s.Sent)
	}
	for _, s := range samples {
		b = appendMoment(b, s.Last, s.First)
	}
	for _, s := range samples {
		b = appendMoment(b, s.End, s.Last)
	}
	for _, count := range tokenColumns {
		for i := range samples {
			b = binary.AppendUvarint(b, zigzag(int64(*count(&samples[i]))))
		}
	}
	for _, s := range samples {
		b = binary.AppendUvarint(b, uint64(s.Outcome))
	}
	known := map[string]uint64{"": 0}
	for _, s := range samples {
		k, ok := known[s.Error]
		if !ok {
			k = uint64(len(known))
			known[s.Error] = k
		}
		b = binary.AppendUvarint(b, k)
		if !ok {
			b = binary.AppendUvarint(b, uint64(len(s.Error)))
			b = append(b, s.Error...)
		}
	}
	return b
}

// tokenColumns are the token counts of a sample in their order; never changed.
var tokenColumns = []func(*core.Sample) *int{
	func(s *core.Sample) *int { return &s.InputTokens },
	func(s *core.Sample) *int { return &s.CachedTokens },
	func(s *core.Sample) *int { return &s.OutputTokens },
	func(s *core.Sample) *int { return &s.RequestedOutput },
}

func encodeChunks(samples []core.Sample) []byte {
	b := make([]byte, 0, 2*chunkCount(samples))
	for _, s := range samples {
		b = binary.AppendUvarint(b, uint64(len(s.Chunks)))
		before := s.First
		for _, at := range s.Chunks {
			b = appendMoment(b, at, before)
			before = at
		}
	}
	return b
}

func chunkCount(samples []core.Sample) int {
	n := 0
	for _, s := range samples {
		n += len(s.Chunks)
	}
	return n
}

// cursor reads variable-length integers and remembers the first fault.
type cursor struct {
	b   []byte
	err error
}

func (c *cursor) fail(what string) {
	if c.err == nil {
		c.err = fmt.Errorf("%w: samples: %s", core.ErrInvalid, what)
	}
	c.b = nil
}

func (c *cursor) next() uint64 {
	u, n := binary.Uvarint(c.b)
	if n <= 0 {
		c.fail("cut short")
		return 0
	}
	c.b = c.b[n:]
	return u
}

func (c *cursor) moment(from time.Duration) time.Duration {
	u := c.next()
	if u == 0 {
		return core.NoTime
	}
	us := micros(from) + unzigzag(u-1)
	const most = int64(1<<62) / int64(time.Microsecond)
	if us >= most || us <= -most {
		c.fail("a moment out of range")
		return core.NoTime
	}
	return time.Duration(us) * time.Microsecond
}

// count reads a number of things that take at least size bytes each.
func (c *cursor) count(size int) int {
	u := c.next()
	if u > uint64(len(c.b)/size) {
		c.fail("more announced than there is")
		return 0
	}
	return int(u)
}

// decodeSamples reads what encodeSamples wrote.
func decodeSamples(b []byte) ([]core.Sample, error) {
	c := &cursor{b: b}
	samples := make([]core.Sample, c.count(12))
	before := -1
	for i := range samples {
		before += int(unzigzag(c.next())) + 1
		samples[i].Index = before
	}
	due := core.NoTime
	for i := range samples {
		due = c.moment(due)
		samples[i].Due = due
	}
	for i := range samples {
		samples[i].Sent = c.moment(samples[i].Due)
	}
	for i := range samples {
		samples[i].First = c.moment(samples[i].Sent)
	}
	for i := range samples {
		samples[i].Last = c.moment(samples[i].First)
	}
	for i := range samples {
		samples[i].End = c.moment(samples[i].Last)
	}
	for _, count := range tokenColumns {
		for i := range samples {
			*count(&samples[i]) = int(unzigzag(c.next()))
		}
	}
	for i := range samples {
		o := c.next()
		if o > uint64(core.OutcomeIncomplete) {
			c.fail("unknown outcome")
		}
		samples[i].Outcome = core.Outcome(o)
	}
	known := []string{""}
	for i := range samples {
		switch k := c.next(); {
		case k < uint64(len(known)):
			samples[i].Error = known[k]
		case k == uint64(len(known)) && c.err == nil:
			n := c.count(1)
			known = append(known, string(c.b[:n]))
			c.b = c.b[n:]
			samples[i].Error = known[k]
		default:
			c.fail("unknown error text")
		}
	}
	return samples, c.err
}

// decodeChunks adds the chunk moments to the samples that they belong to.
func decodeChunks(b []byte, samples []core.Sample) error {
	c := &cursor{b: b}
	for i := range samples {
		n := c.count(1)
		if n == 0 {
			continue
		}
		before := samples[i].First
		chunks := make([]time.Duration, n)
		for j := range chunks {
			before = c.moment(before)
			chunks[j] = before
		}
		samples[i].Chunks = chunks
	}
	return c.err
}
