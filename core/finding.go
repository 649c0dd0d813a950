package core

import "time"

// Severity orders findings by what they forbid.
type Severity uint8

const (
	// SeverityInfo states a fact that helps to read the figures.
	SeverityInfo Severity = iota + 1
	// SeverityNote asks to look closer; the figure may be ranked.
	SeverityNote
	// SeverityHard says that the figure cannot be right as labelled.
	SeverityHard
	// SeverityVoid says that the figure must not decide anything.
	SeverityVoid
)

func (s Severity) String() string {
	switch s {
	case SeverityInfo:
		return "info"
	case SeverityNote:
		return "note"
	case SeverityHard:
		return "hard"
	case SeverityVoid:
		return "void"
	}
	return "unknown"
}

// Finding is what the audit says of one trial. It touches named metrics only, so
// that a wrong peak never condemns a sound throughput.
type Finding struct {
	Rule     string   `json:"rule"`
	Version  int      `json:"version"`
	Severity Severity `json:"severity"`
	Metrics  []string `json:"metrics,omitempty"` // "*" touches every figure
	Evidence string   `json:"evidence"`          // the figures that show it

	// Ack is the reason that a person gave for accepting what the rule says of
	// this trial; empty is not acknowledged. An acknowledged finding stays on
	// record and no longer counts: neither in Trial.Severity nor in the field
	// findings. AckBy and AckAt say who did so and when, where that is known.
	Ack   string    `json:"ack,omitempty"`
	AckBy string    `json:"ack_by,omitempty"`
	AckAt time.Time `json:"ack_at,omitzero"`
}

// Counts reports whether nobody has acknowledged the finding.
func (f Finding) Counts() bool { return f.Ack == "" }

// Touches reports whether the finding concerns a metric.
func (f Finding) Touches(metric string) bool {
	for _, m := range f.Metrics {
		if m == metric || m == "*" {
			return true
		}
	}
	return false
}

// Severity is that of the worst finding which touches a metric, 0 for none.
// Acknowledged findings do not count.
func (t *Trial) Severity(metric string) Severity {
	var worst Severity
	for _, f := range t.Findings {
		if f.Counts() && f.Touches(metric) {
			worst = max(worst, f.Severity)
		}
	}
	return worst
}

// CountFindings is how many findings count: those that nobody has acknowledged.
func (t *Trial) CountFindings() int {
	n := 0
	for _, f := range t.Findings {
		if f.Counts() {
			n++
		}
	}
	return n
}
