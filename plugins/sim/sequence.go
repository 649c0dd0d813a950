package sim

import (
	"encoding/binary"
	"hash/fnv"
	"math"
	"time"
)

// sequence is one request inside the scheduler.
type sequence struct {
	promptLen int
	outputLen int           // tokens that it will produce
	ready     time.Duration // virtual time at which the scheduler may see it
	prefix    []uint64      // chained hashes of the whole prompt blocks
	random    generator     // decides which drafts are accepted

	computed  int // tokens whose keys and values are in the cache
	generated int
	blocks    int // held
	cached    int // prompt tokens found in the prefix cache
	counted   bool
	began     bool // the first output of any kind was delivered

	sink *stream // of the HTTP handler; nil in tests
}

// total is how many tokens the sequence has so far.
func (s *sequence) total() int { return s.promptLen + s.generated }

// decoding reports whether the next step computes just the last token.
func (s *sequence) decoding() bool { return s.generated > 0 && s.total()-s.computed == 1 }

// generator is splitmix64: small, seeded, the same on every platform.
type generator uint64

func (g *generator) next() uint64 {
	*g += 0x9e3779b97f4a7c15
	z := uint64(*g)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// float is uniform in [0, 1).
func (g *generator) float() float64 { return float64(g.next()>>11) / (1 << 53) }

// accepted draws how many of n drafts hold.
func (g *generator) accepted(n int, chance float64) int {
	for i := range n {
		if g.float() >= chance {
			return i
		}
	}
	return n
}

// Natural answers are log-normal: half are longer than naturalMedian tokens.
const (
	naturalMedian = 400
	naturalSigma  = 1.0
)

// naturalLen draws the length of an answer that may end by itself.
func (g *generator) naturalLen() int {
	normal := math.Sqrt(-2*math.Log(1-g.float())) * math.Cos(2*math.Pi*g.float())
	return max(1, int(naturalMedian*math.Exp(naturalSigma*normal)))
}

// promptHasher folds tokens into one hash a block, each chained to those before,
// so that equal hashes mean equal prefixes.
type promptHasher struct {
	blocks []uint64
	sum    uint64
	fill   int
}

func (h *promptHasher) add(token uint64) {
	f := fnv.New64a()
	var b [16]byte
	binary.LittleEndian.PutUint64(b[:8], h.sum)
	binary.LittleEndian.PutUint64(b[8:], token)
	f.Write(b[:])
	h.sum = f.Sum64()
	if h.fill++; h.fill == blockTokens {
		h.blocks = append(h.blocks, h.sum)
		h.fill = 0
	}
}
