package core

import "time"

// Assertion is what a person added or corrected. It is laid over the source's
// value and never replaces it, so that it can be undone.
type Assertion struct {
	ID    int64     `json:"id"`
	Trial ID        `json:"trial"`
	Verb  string    `json:"verb"` // set, tag, note, retract
	Field string    `json:"field,omitempty"`
	Old   Value     `json:"old"`
	New   Value     `json:"new"`
	When  time.Time `json:"when"`
	By    string    `json:"by"`
	Why   string    `json:"why,omitempty"` // the expression as typed, or a reason
}
