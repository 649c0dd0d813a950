package main

import (
	"context"
	"iter"

	"github.com/sweepbook/sweepbook/core"
)

// nothing is a history without trials.
type nothing struct{}

func (nothing) History(context.Context) (core.History, error) { return core.History{}, nil }
func (nothing) Names(context.Context) (core.Names, error)     { return core.Names{}, nil }
func (nothing) Rows(context.Context, core.Select) iter.Seq2[[]core.Value, error] {
	return func(func([]core.Value, error) bool) {}
}
func (nothing) Requests(context.Context, core.ID, bool) ([]core.Sample, error) { return nil, nil }
