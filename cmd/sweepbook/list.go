package main

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/query"
	"github.com/sweepbook/sweepbook/store"
)

func (a *app) listCommand() *cli.Command {
	return a.command(&cli.Command{
		Name:      "list",
		Usage:     "list trials, or studies with --studies",
		ArgsUsage: "[CONDITION]",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "studies", Usage: "one line a study"},
			&cli.IntFlag{Name: "limit", Value: 100, Usage: "the last `N` trials; 0 is all"},
		},
		Action: func(ctx context.Context, cmd *cli.Command) error {
			if err := checkFormat(cmd); err != nil {
				return err
			}
			db, err := a.openRead(ctx, cmd)
			if err != nil {
				return err
			}
			defer db.Close()
			columns := "number, study, stage, option, status, engine, workload, load, total_tps, success_rate"
			if cmd.Bool("studies") {
				columns = "study, count() as trials, min(started_at) as first, max(started_at) as last"
			}
			text := "show " + columns
			if cmd.Args().Present() {
				text += " where " + strings.Join(cmd.Args().Slice(), " ")
			}
			limit := cmd.Int("limit")
			switch {
			case cmd.Bool("studies"):
				text += " by study"
			case limit < 0:
				return usagef("list: --limit %d: want a number of trials, or 0 for all", limit)
			case limit > 0:
				text += fmt.Sprintf(" order by number desc limit %d", limit)
			default:
				text += " order by number"
			}
			var answer *query.Answer
			all := 0
			err = db.Snapshot(ctx, func(r *store.Reading) error {
				var src query.Source = r
				if limit > 0 && !cmd.Bool("studies") && !cmd.Args().Present() {
					// Without a condition the last trials are known by their numbers.
					if src, err = lastOf(ctx, r, limit); err != nil {
						return err
					}
				}
				if answer, err = query.Run(ctx, src, text, query.Options{Now: a.now()}); err != nil {
					return err
				}
				all = answer.Considered
				if src != query.Source(r) {
					h, err := r.History(ctx)
					all = h.Trials
					return err
				}
				return nil
			})
			if err != nil {
				return err
			}
			if limit > 0 && !cmd.Bool("studies") {
				slices.Reverse(answer.Rows)
				if n := len(answer.Rows); n == limit && all > n {
					a.say("the last %d of %d trials; --limit 0 lists all", n, all)
				}
			}
			return a.table(cmd, table{answer.Columns, answer.Rows})
		},
	})
}

// lastOf is the history without all but its last n trials.
func lastOf(ctx context.Context, r *store.Reading, n int) (query.Source, error) {
	first, err := r.NumberFromEnd(ctx, n)
	return since{r, first}, err
}

// since is a history from one number on.
type since struct {
	query.Source
	number int64
}

func (s since) Rows(ctx context.Context, sel core.Select) iter.Seq2[[]core.Value, error] {
	from := core.Cond{Field: "number", Op: core.OpGe, Values: []core.Value{core.Number(float64(s.number))}}
	sel.Where = append(slices.Clone(sel.Where), from)
	return s.Source.Rows(ctx, sel)
}

func (a *app) fieldsCommand() *cli.Command {
	return a.command(&cli.Command{
		Name:      "fields",
		Usage:     "list what a query can name, with unit and definition",
		ArgsUsage: "[WORD]",
		Action: func(ctx context.Context, cmd *cli.Command) error {
			if err := checkFormat(cmd); err != nil {
				return err
			}
			var rows [][]string
			add := func(f core.Field) {
				word := cmd.Args().First()
				if word == "" || strings.Contains(f.Name+" "+f.Doc+" "+string(f.Group), word) {
					rows = append(rows, []string{f.Name, string(f.Group), f.Type.String(), f.Unit, better(f.Better), f.Doc})
				}
			}
			for _, f := range core.Fields() {
				add(f)
			}
			// Knobs and extras are known once a history has recorded them.
			if db, err := a.openRead(ctx, cmd); err == nil {
				defer db.Close()
				names, err := db.Names(ctx)
				if err != nil {
					return err
				}
				for _, of := range []struct {
					prefix string
					names  []string
				}{{"args.", names.Knobs}, {"quality.", names.Quality}, {"extra.", names.Extra}} {
					for _, name := range of.names {
						if f, ok := core.LookupField(of.prefix + name); ok {
							add(f)
						}
					}
				}
			}
			for _, f := range core.RequestFields() {
				add(core.Field{Name: f.Name, Type: core.NumberType, Unit: f.Unit, Better: f.Better, Group: "in attained()", Doc: "of one request: " + f.Doc})
			}
			return a.table(cmd, textTable([]string{"field", "group", "type", "unit", "better", "definition"}, rows))
		},
	})
}

func better(b core.Better) string {
	switch b {
	case core.HigherBetter:
		return "higher"
	case core.LowerBetter:
		return "lower"
	}
	return ""
}
