package core

import (
	"encoding/json"
	"fmt"
	"time"
)

// Record is one whole trial, or the definition of a study, as it travels between
// histories: a line of an export.
type Record struct {
	Format  int           `json:"sweepbook"` // RecordFormat
	Study   *StudyVersion `json:"study,omitempty"`
	Trial   *Trial        `json:"trial,omitempty"`
	Samples []Sample      `json:"samples,omitempty"`
}

// StudyVersion is the resolved object of a study as it was at a time.
type StudyVersion struct {
	Name     string          `json:"name"`
	At       time.Time       `json:"at"`
	Resolved json.RawMessage `json:"resolved"` // a Study
}

// RecordFormat is the version of Record that this code writes and reads.
const RecordFormat = 1

// sampleJSON is a sample on paper: moments in microseconds, absent where they
// never came; counts absent where unknown.
type sampleJSON struct {
	Index     int     `json:"i"`
	Due       *int64  `json:"due,omitempty"`
	Sent      *int64  `json:"sent,omitempty"`
	First     *int64  `json:"first,omitempty"`
	Last      *int64  `json:"last,omitempty"`
	End       *int64  `json:"end,omitempty"`
	Chunks    []int64 `json:"chunks,omitempty"`
	Input     *int    `json:"in,omitempty"`
	Cached    *int    `json:"cached,omitempty"`
	Output    *int    `json:"out,omitempty"`
	Requested *int    `json:"asked,omitempty"`
	Outcome   string  `json:"outcome"`
	Error     string  `json:"error,omitempty"`
}

// MarshalJSON writes a sample with moments in µs. Chunk moments are differences
// from the one before, the first from 0.
func (s Sample) MarshalJSON() ([]byte, error) {
	p := sampleJSON{Index: s.Index, Due: micros(s.Due), Sent: micros(s.Sent), First: micros(s.First), Last: micros(s.Last), End: micros(s.End),
		Input: known(s.InputTokens), Cached: known(s.CachedTokens), Output: known(s.OutputTokens), Requested: known(s.RequestedOutput),
		Outcome: s.Outcome.String(), Error: s.Error}
	var before int64
	for _, c := range s.Chunks {
		at := c.Microseconds()
		p.Chunks = append(p.Chunks, at-before)
		before = at
	}
	return json.Marshal(p)
}

// UnmarshalJSON reads what MarshalJSON writes.
func (s *Sample) UnmarshalJSON(data []byte) error {
	var p sampleJSON
	if err := json.Unmarshal(data, &p); err != nil {
		return err
	}
	*s = Sample{Index: p.Index, Due: moment(p.Due), Sent: moment(p.Sent), First: moment(p.First), Last: moment(p.Last), End: moment(p.End),
		InputTokens: count(p.Input), CachedTokens: count(p.Cached), OutputTokens: count(p.Output), RequestedOutput: count(p.Requested), Error: p.Error}
	for _, o := range []Outcome{OutcomeOK, OutcomeFailed, OutcomeIncomplete} {
		if o.String() == p.Outcome {
			s.Outcome = o
			var at int64
			for _, d := range p.Chunks {
				at += d
				s.Chunks = append(s.Chunks, time.Duration(at)*time.Microsecond)
			}
			return nil
		}
	}
	return fmt.Errorf("sample %d: %w: outcome %q", p.Index, ErrInvalid, p.Outcome)
}

func micros(d time.Duration) *int64 {
	if d == NoTime {
		return nil
	}
	us := d.Microseconds()
	return &us
}

func moment(us *int64) time.Duration {
	if us == nil {
		return NoTime
	}
	return time.Duration(*us) * time.Microsecond
}

func known(n int) *int {
	if n < 0 {
		return nil
	}
	return &n
}

func count(n *int) int {
	if n == nil {
		return -1
	}
	return *n
}
