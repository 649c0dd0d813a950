package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/query"
	"github.com/sweepbook/sweepbook/query/chart"
	"github.com/sweepbook/sweepbook/store"
)

func (a *app) chartCommand() *cli.Command {
	return a.command(&cli.Command{
		Name:        "chart",
		Usage:       "draw the answer to a question",
		ArgsUsage:   "[KIND] 'QUESTION'",
		Description: chartKinds(),
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "out", Aliases: []string{"o", "f"}, Usage: "picture `FILE`, .png or .svg", Value: "chart.png"},
			&cli.StringFlag{Name: "title", Usage: "`TEXT` above the picture; default says what is drawn"},
			&cli.StringFlag{Name: "x", Usage: "`COLUMN` to draw the value over or against; - for bars"},
			&cli.StringFlag{Name: "value", Usage: "`COLUMN` to draw; default the first measured one; of ecdf " + strings.Join(chart.Latencies(), ", ")},
			&cli.StringSliceFlag{Name: "label", Usage: "`COLUMN` that names a bar or line; may be given again"},
			&cli.StringFlag{Name: "point", Usage: "`COLUMN` written at the points of a frontier or scatter"},
			&cli.StringFlag{Name: "baseline", Usage: "`LABEL` of the bar that the others are compared with, where no role says it"},
			&cli.StringFlag{Name: "slo", Usage: "`LIMIT` to draw, such as 'p99_ttft_ms <= 200'"},
			&cli.IntFlag{Name: "width", Usage: "in pixels", Value: 1200},
			&cli.IntFlag{Name: "height", Usage: "in pixels; default by what is drawn"},
		},
		Action: a.chartAction,
	})
}

// chartKinds lists the kinds for the help, each with a question that it answers.
func chartKinds() string {
	var b strings.Builder
	b.WriteString("KIND is one of\n")
	for _, k := range chart.Kinds() {
		fmt.Fprintf(&b, "  %-14s%s\n  %-14ssweepbook chart %s %s\n", k.Kind, k.Shows, "", k.Kind, shellWord(k.Example))
	}
	return strings.TrimRight(b.String(), "\n")
}

func (a *app) chartAction(ctx context.Context, cmd *cli.Command) error {
	kind, text, err := chartQuestion(cmd)
	if err != nil {
		return err
	}
	opt := chart.Options{Kind: kind, Title: cmd.String("title"), Value: cmd.String("value"), X: cmd.String("x"), Label: cmd.StringSlice("label"),
		Point: cmd.String("point"), Baseline: cmd.String("baseline"), Width: cmd.Int("width"), Height: cmd.Int("height")}
	if opt.Format, err = pictureFormat("chart --out", cmd.String("out")); err != nil {
		return err
	}
	if slo := cmd.String("slo"); slo != "" {
		if opt.Limit, err = chart.ParseLimit(slo); err != nil {
			return usageError{fmt.Errorf("chart --slo: %w", err)}
		}
	}
	db, err := a.openRead(ctx, cmd)
	if err != nil {
		return err
	}
	defer db.Close()
	answer, err := answerOf(ctx, db, text, query.Options{Now: a.now(), Marks: true})
	if err != nil {
		return err
	}
	a.warnings(answer.Warnings)
	if len(answer.Rows) == 0 {
		a.fail(errors.New("chart: no trial qualifies, so there is nothing to draw"))
		return quietError{exitNothing}
	}
	if err := a.drawAnswer(ctx, db, answer, opt, cmd.String("out")); err != nil {
		return fmt.Errorf("chart: %w", err)
	}
	fmt.Fprintln(a.stdout, cmd.String("out"))
	return nil
}

// chartQuestion takes the kind off the arguments, where the first one is no question.
func chartQuestion(cmd *cli.Command) (chart.Kind, string, error) {
	args := cmd.Args().Slice()
	kind := chart.AutoKind
	if len(args) > 0 && !strings.Contains(args[0], " ") && !slices.Contains([]string{"max", "min", "pareto", "show", "count", "first", "last", "at", "change"}, args[0]) {
		var err error
		if kind, err = chart.ParseKind(args[0]); err != nil {
			return "", "", usageError{fmt.Errorf("chart: %w", err)}
		}
		args = args[1:]
	}
	if err := checkFormat(cmd); err != nil {
		return "", "", err
	}
	text := strings.TrimSpace(strings.Join(args, " "))
	if text == "" {
		example := "show option, output_tps"
		for _, k := range chart.Kinds() {
			if k.Kind == kind {
				example = k.Example
			}
		}
		return "", "", usageError{hinted{errNoQuestion, fmt.Sprintf("sweepbook chart %s %s", kind, shellWord(example))}}
	}
	return kind, text, nil
}

// pictureFormat reads the format off a file's name.
func pictureFormat(flag, file string) (chart.Format, error) {
	switch filepath.Ext(file) {
	case ".png":
		return chart.PNG, nil
	case ".svg":
		return chart.SVG, nil
	}
	return 0, usagef("%s %q: want a file name that ends in .png or .svg", flag, file)
}

// drawAnswer draws an answer, or the single requests of its trials, into a file.
func (a *app) drawAnswer(ctx context.Context, db *store.DB, answer *query.Answer, opt chart.Options, out string) error {
	if err := a.aboutTrials(ctx, db, answer, &opt); err != nil {
		return err
	}
	var f chart.Figure
	var err error
	if opt.Kind.FromSamples() {
		sets, missing, err := requestsOf(ctx, db, answer)
		if err != nil {
			return err
		}
		if len(missing) > 0 {
			opt.Notes = append(opt.Notes, "single requests are not kept of "+missing)
		}
		f, err = chart.FromRequests(answer, sets, opt)
		if err != nil {
			return err
		}
	} else if f, err = chart.FromAnswer(answer, opt); err != nil {
		return err
	}
	picture, err := chart.Render(f)
	if err != nil {
		return err
	}
	return writeFile(out, picture)
}

// noGPU is the footer of a picture of simulated trials alone.
const noGPU = "simulated: no GPU was measured"

// aboutTrials tells a picture of the trials that it draws which repeat each other and
// whether they were simulated.
func (a *app) aboutTrials(ctx context.Context, db *store.DB, answer *query.Answer, opt *chart.Options) error {
	drawn := map[int64]bool{}
	first, last := int64(math.MaxInt64), int64(0)
	for _, row := range answer.Trials {
		for _, n := range row {
			drawn[n] = true
			first, last = min(first, n), max(last, n)
		}
	}
	if len(drawn) == 0 {
		if simulated, all := answer.Simulated(); simulated > 0 && simulated == all {
			opt.Notes = append(opt.Notes, noGPU)
		}
		return nil
	}
	text := fmt.Sprintf("show number, simulated, setup, workload, load where number >= %d and number <= %d", first, last)
	all, err := answerOf(ctx, db, text, query.Options{Now: a.now()})
	if err != nil {
		return err
	}
	simulated := 0
	opt.Repeats = map[int64]string{}
	for _, row := range all.Rows {
		n := int64(row[0].Num)
		if !drawn[n] {
			continue
		}
		if row[1].True() {
			simulated++
		}
		opt.Repeats[n] = fmt.Sprintf("%s\x00%s\x00%s", row[2], row[3], row[4])
	}
	switch simulated {
	case 0:
	case len(drawn):
		opt.Notes = append(opt.Notes, noGPU)
	default:
		opt.Notes = append(opt.Notes, fmt.Sprintf("simulated: %d of the %d trials drawn", simulated, len(drawn)))
	}
	return nil
}

// mostSampled is of how many trials a picture shows single requests.
const mostSampled = 50

// requestsOf reads the requests of the trials of an answer, and names those of which
// none are kept.
func requestsOf(ctx context.Context, db *store.DB, answer *query.Answer) (sets []chart.Requests, missing string, err error) {
	var lacking []string
	seen := map[int64]bool{}
	for i, numbers := range answer.Trials {
		for _, n := range numbers {
			if seen[n] {
				continue
			}
			if seen[n] = true; len(seen) > mostSampled {
				return nil, "", hinted{fmt.Errorf("the question answers with more than %d trials, of which single requests cannot be told apart", mostSampled), "narrow it with where, or take the best with max"}
			}
			t, err := db.Trial(ctx, fmt.Sprint(n))
			if err != nil {
				return nil, "", err
			}
			samples, err := db.Samples(ctx, t.ID)
			if err != nil {
				return nil, "", err
			}
			if len(samples) == 0 {
				lacking = append(lacking, fmt.Sprint(n))
				continue
			}
			sets = append(sets, chart.Requests{Row: i, Trial: n, Samples: samples, MeanPower: t.Value("mean_power_w"), Course: t.Course})
		}
	}
	switch {
	case len(seen) == 0:
		return nil, "", hinted{errors.New("the rows of this question are no trials, of which single requests could be read"), "show number where …"}
	case len(sets) == 0:
		return nil, "", hinted{fmt.Errorf("trial %s: no single requests are kept (%w)", strings.Join(lacking[:min(len(lacking), 5)], ", "), core.ErrNotFound), "they are kept of trials that Sweepbook ran, and of imports that hold them, until db prune --samples"}
	case len(lacking) == 0:
		return sets, "", nil
	}
	return sets, fmt.Sprintf("%d of %d trials: %s", len(lacking), len(seen), strings.Join(lacking[:min(len(lacking), 8)], ", ")), nil
}
