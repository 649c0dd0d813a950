package audit

import (
	"slices"
	"strings"

	"github.com/sweepbook/sweepbook/core"
)

// Rule is one test that a trial can fail.
type Rule struct {
	// ID is short and never given to another rule: "A3x".
	ID string
	// Version grows when the verdict of a rule may change, so that findings of
	// older versions can be told apart.
	Version int
	// Severity is the rule's; a finding may carry a lower or higher one in the cases
	// that Doc names.
	Severity core.Severity
	// Metrics are the fields that a finding may touch. "…_itl_ms" stands for every
	// statistic of that latency which the trial has, "*" for every figure.
	Metrics []string
	// Title is a short statement of what is wrong.
	Title string
	// Doc says what is tested, why that proves something, and what it does not.
	Doc string

	check func(x *subject) []hit
}

// hit is what a check found. Empty fields are the rule's own.
type hit struct {
	severity core.Severity
	metrics  []string
	evidence string
}

// Rules lists every rule, in the order of the documentation.
func Rules() []Rule { return slices.Clone(allRules) }

// allRules is made once and never changed.
var allRules = gatherRules()

func gatherRules() []Rule {
	var all []Rule
	for _, family := range []func() []Rule{arithmeticRules, orderRules, timestampRules, peakRules, queueingRules, clientRules, lengthRules,
		limitRules, candidateRules, attributionRules, repeatRules, conditionRules, comparisonRules, changeRules} {
		all = append(all, family()...)
	}
	slices.SortStableFunc(all, func(a, b Rule) int { return compareIDs(a.ID, b.ID) })
	return all
}

// compareIDs orders "A2" before "A14" and "A3" before "A3x".
func compareIDs(a, b string) int {
	split := func(id string) (letter string, n int, rest string) {
		letter, digits := id[:1], id[1:]
		i := 0
		for i < len(digits) && digits[i] >= '0' && digits[i] <= '9' {
			n = 10*n + int(digits[i]-'0')
			i++
		}
		return letter, n, digits[i:]
	}
	la, na, ra := split(a)
	lb, nb, rb := split(b)
	if la != lb {
		return strings.Compare(la, lb)
	}
	if na != nb {
		return na - nb
	}
	return strings.Compare(ra, rb)
}

// findings applies a rule to a trial.
func (r Rule) findings(x *subject) []core.Finding {
	var out []core.Finding
	for _, h := range r.check(x) {
		f := core.Finding{Rule: r.ID, Version: r.Version, Severity: r.Severity, Evidence: h.evidence}
		if h.severity != 0 {
			f.Severity = h.severity
		}
		metrics := h.metrics
		if metrics == nil {
			metrics = r.Metrics
		}
		f.Metrics = x.concrete(metrics)
		out = append(out, f)
	}
	return out
}

// one is the usual result of a check.
func one(evidence string) []hit { return []hit{{evidence: evidence}} }
