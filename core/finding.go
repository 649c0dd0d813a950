package core

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
}

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
func (t *Trial) Severity(metric string) Severity {
	var worst Severity
	for _, f := range t.Findings {
		if f.Touches(metric) {
			worst = max(worst, f.Severity)
		}
	}
	return worst
}
