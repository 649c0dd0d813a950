package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/core/audit"
	"github.com/sweepbook/sweepbook/core/study"
	"github.com/sweepbook/sweepbook/store"
)

// checkAccepted refuses rules that the audit does not have.
func checkAccepted(file *study.File) error {
	var known []string
	for _, r := range audit.Rules() {
		known = append(known, r.ID)
	}
	for _, rule := range file.Study.Accept {
		if !slices.Contains(known, rule) {
			return hinted{file.Fault("accept", fmt.Errorf("%w: the audit has no rule %q", core.ErrInvalid, rule)), "sweepbook audit --rules lists them"}
		}
	}
	return nil
}

// accept acknowledges what a study accepts of the audit, on each of its trials. A
// finding stays in the history and bars nothing; who takes the rule out of the file
// later takes it back with audit unack.
func accept(ctx context.Context, db *store.DB, s *core.Study) error {
	if len(s.Accept) == 0 {
		return nil
	}
	trials, err := runStore{DB: db}.Trials(ctx, s.Name)
	if err != nil {
		return fmt.Errorf("study %s: %w", s.Name, err)
	}
	for _, rule := range s.Accept {
		var ids []core.ID
		for _, t := range trials {
			open := func(f core.Finding) bool { return f.Rule == rule && f.Counts() }
			if slices.ContainsFunc(t.Findings, open) {
				ids = append(ids, t.ID)
			}
		}
		if len(ids) == 0 {
			continue
		}
		if _, err := db.Acknowledge(ctx, rule, ids, "accepted by the study file"); err != nil {
			return fmt.Errorf("study %s: accept: %w", s.Name, err)
		}
	}
	return nil
}

// voidRules names the rules that void some trials, in the order of the audit.
func voidRules(ctx context.Context, db *store.DB, ids []core.ID) ([]string, error) {
	trials, err := db.TrialsByID(ctx, ids)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, r := range audit.Rules() {
		voids := func(f core.Finding) bool { return f.Rule == r.ID && f.Counts() && f.Severity == core.SeverityVoid }
		if slices.ContainsFunc(trials, func(t *core.Trial) bool { return slices.ContainsFunc(t.Findings, voids) }) {
			out = append(out, r.ID+" "+r.Title)
		}
	}
	return out, nil
}
