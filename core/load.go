package core

import "fmt"

// Load is how hard a server is asked. A limit that does not exist is Unlimited;
// one that is not known is missing.
type Load struct {
	Concurrency Value `json:"concurrency"`  // requests in flight at most
	RequestRate Value `json:"request_rate"` // requests per second offered
	Burstiness  Value `json:"burstiness"`   // shape of the gamma arrivals; 1 is Poisson
	NumPrompts  Value `json:"num_prompts"`  // requests to send
	DurationS   Value `json:"duration_s"`   // or seconds to run
	Seed        Value `json:"seed"`
}

// Hash is the short name of the load without its seed, since trials that differ
// in the seed alone repeat each other.
func (l Load) Hash() string {
	return shortHash(fmt.Sprintf("%s %s %s %s %s", l.Concurrency, l.RequestRate, l.Burstiness, l.NumPrompts, l.DurationS))
}

// Label is what a reader sees: "c=8", "rate=2", "c=8 rate=2", "all at once".
func (l Load) Label() string {
	var s string
	if l.Concurrency.Kind == KindNumber && !l.Concurrency.IsUnlimited() {
		s = "c=" + l.Concurrency.String()
	}
	if l.RequestRate.Kind == KindNumber && !l.RequestRate.IsUnlimited() {
		if s != "" {
			s += " "
		}
		s += "rate=" + l.RequestRate.String()
	}
	switch {
	case s != "":
		return s
	case l.RequestRate.IsUnlimited() || l.Concurrency.IsUnlimited():
		return "all at once"
	}
	return ""
}
