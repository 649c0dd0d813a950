package core

import "time"

// NoTime marks a moment that never came: the first token of a request that
// produced none. It is not 0, which is the start of the trial.
const NoTime time.Duration = -1 << 62

// Outcome is how one request ended.
type Outcome uint8

const (
	// OutcomeOK: the answer came whole and holds at least one token.
	OutcomeOK Outcome = iota
	// OutcomeFailed: an error, or an answer without a token.
	OutcomeFailed
	// OutcomeIncomplete: cut off by the run's own limit; neither good nor bad.
	OutcomeIncomplete
)

func (o Outcome) String() string {
	switch o {
	case OutcomeOK:
		return "ok"
	case OutcomeFailed:
		return "failed"
	case OutcomeIncomplete:
		return "incomplete"
	}
	return "unknown"
}

// Sample is one request of a trial. Moments are offsets from the trial's start
// on the monotonic clock; NoTime where the moment never came.
type Sample struct {
	Index int           // position in the schedule, from 0
	Due   time.Duration // when the schedule wanted it sent
	Sent  time.Duration
	First time.Duration // first chunk that carries a token
	Last  time.Duration // last chunk that carries a token
	End   time.Duration // the stream is closed, or the error was seen
	// Chunks are the moments of all chunks that carry tokens, First included.
	Chunks []time.Duration

	InputTokens     int // as the server counts; -1 unknown
	CachedTokens    int // of the input, from a prefix cache; -1 unknown
	OutputTokens    int // -1 unknown
	RequestedOutput int // -1 where nothing was asked

	Outcome Outcome
	Error   string // one line, for OutcomeFailed
}
