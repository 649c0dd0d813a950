package study

import "math"

// blame says which two values of a matrix do not go together, from what failed and what
// worked, and which value works with none.
type blame struct {
	fine   map[pairing]bool // seen to work
	guilt  map[pairing]float64
	failed [][]int
}

// pairing is a value of an axis with one of an earlier axis, or with itself.
type pairing struct{ axis, value, other, otherValue int }

const (
	// suspicion is how probable it is that two values of which nothing is known fail.
	suspicion = 0.03
	// weight is how much more probable a fault is that explains a further failure.
	weight = 20
)

func newBlame() blame {
	return blame{fine: map[pairing]bool{}, guilt: map[pairing]float64{}}
}

// pairings lists each value of a place by itself and each two of them.
func pairings(at []int) []pairing {
	var out []pairing
	for i, a := range at {
		for j, b := range at[:i+1] {
			out = append(out, pairing{i, a, j, b})
		}
	}
	return out
}

// clear takes over that a place works.
func (b blame) clear(at []int) {
	for _, p := range pairings(at) {
		b.fine[p] = true
	}
}

// settle divides the guilt of each failure among the pairs in it that were not seen to
// work: those that many failures have in common bear nearly all of it.
func (b blame) settle() {
	count := map[pairing]int{}
	for _, at := range b.failed {
		for _, p := range pairings(at) {
			if !b.fine[p] {
				count[p]++
			}
		}
	}
	for _, at := range b.failed {
		sum := 0.0
		for _, p := range pairings(at) {
			if n := count[p]; n > 0 {
				sum += math.Pow(weight, float64(min(n, 50)))
			}
		}
		for _, p := range pairings(at) {
			if n := count[p]; n > 0 {
				b.guilt[p] = max(b.guilt[p], math.Pow(weight, float64(min(n, 50)))/sum)
			}
		}
	}
}

// works is how probable it is that a place works.
func (b blame) works(at []int) float64 {
	ok := 1.0
	for _, p := range pairings(at) {
		if !b.fine[p] {
			ok *= 1 - max(suspicion, b.guilt[p])
		}
	}
	return ok
}
