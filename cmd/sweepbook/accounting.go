package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/sweepbook/sweepbook/query"
)

var errNoQuestion = errors.New("query: no question given")

// accounting says in one line what an answer is made of.
func accounting(a *query.Answer) string {
	parts := []string{fmt.Sprintf("%d of %d trials considered", a.Considered, a.History.Trials)}
	for _, e := range []struct {
		n   int
		why string
	}{
		{a.Excluded.Status, "by status"}, {a.Excluded.Simulated, "simulated"},
		{a.Excluded.Where, "by where"}, {a.Excluded.Undecided, "undecided"},
	} {
		if e.n > 0 {
			parts = append(parts, fmt.Sprintf("%d left out %s", e.n, e.why))
		}
	}
	if a.Ties > 0 {
		parts = append(parts, fmt.Sprintf("%d tied", a.Ties))
	}
	if a.EmptyGroups > 0 {
		groups := "groups"
		if a.EmptyGroups == 1 {
			groups = "group"
		}
		parts = append(parts, fmt.Sprintf("%d %s without an answer", a.EmptyGroups, groups))
	}
	for _, r := range a.Residue {
		var values []string
		for i, v := range r.Values {
			if i == 4 {
				values = append(values, "…")
				break
			}
			text := v.String()
			if text == "" {
				text = "unknown"
			}
			values = append(values, text)
		}
		parts = append(parts, fmt.Sprintf("differing %s: %s", r.Field, strings.Join(values, ", ")))
	}
	return fmt.Sprintf("history %s: %s", shortID(a.History.ID), strings.Join(parts, "; "))
}

func shortID(id string) string {
	if len(id) > 8 {
		return id[:8]
	}
	return id
}
