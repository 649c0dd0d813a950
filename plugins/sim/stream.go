package sim

import "sync"

// stream carries what the engine delivers to the handler of one request. The
// engine never waits for a slow client: what piles up is written in one go.
type stream struct {
	signal chan struct{} // holds one mark while there is something to take

	mu     sync.Mutex
	events []event
}

// event is one output of the engine: tokens that came together.
type event struct {
	tokens int
	cached int // prompt tokens found in the prefix cache
	last   bool
}

func newStream() *stream { return &stream{signal: make(chan struct{}, 1)} }

func (s *stream) push(e event) {
	s.mu.Lock()
	s.events = append(s.events, e)
	s.mu.Unlock()
	select {
	case s.signal <- struct{}{}:
	default:
	}
}

// take returns what has come since, in the given slice's place.
func (s *stream) take(into []event) []event {
	s.mu.Lock()
	defer s.mu.Unlock()
	into = append(into[:0], s.events...)
	s.events = s.events[:0]
	return into
}
