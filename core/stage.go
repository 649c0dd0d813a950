package core

// Stage is one step of a staged search: alternatives tried on top of the best
// configuration so far.
type Stage struct {
	Name string `json:"name"`
	// When is a condition on the best trial so far; an empty one always holds.
	When string   `json:"when,omitempty"`
	Try  []Option `json:"try"`
}

// Option is one alternative of a stage: a partial configuration laid over the
// best so far.
type Option struct {
	Name   string `json:"name"` // "engine=sglang", "context_len=40960 chunked_prefill=true"
	Change Config `json:"change"`
}
