package supervise

import "strings"

// Filter cleans what a server prints before any of it is on file. It may keep back
// the end of what it was given. What it returns is used before it is called again.
type Filter func(data []byte, pause Pause) []byte

// Pause says what a filter is given data after, or none.
type Pause uint8

// The pauses.
const (
	NoPause Pause = iota
	Quiet         // nothing came for a moment: a bar that stands still should be seen
	Ended         // nothing comes any more: nothing may be kept back
)

// NewFilter makes the filter of one server, which keeps the values of some
// variables out of the log.
type NewFilter func(secrets map[string]string) Filter

// secrets are the entries of the environment that must not reach the log.
func (s Spec) secrets() map[string]string {
	out := map[string]string{}
	for _, name := range s.Secrets {
		for _, entry := range s.Env {
			if value, ok := strings.CutPrefix(entry, name+"="); ok {
				out[name] = value
			}
		}
	}
	return out
}
