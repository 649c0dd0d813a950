package tool

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/core/ingest"
)

// Result is what a command left behind.
type Result struct {
	Trials  []*core.Trial
	Samples map[core.ID][]core.Sample
	// Notes say what was found and is no result of this run, or could not be read.
	Notes []string
}

// ReadFiles reads the files that a run wrote. What is wrong with one of them is a
// note, since another may hold the result.
func ReadFiles(ctx context.Context, fresh []Fresh, opt ingest.Options) (Result, error) {
	res := Result{Samples: map[core.ID][]core.Sample{}}
	for _, file := range fresh {
		f, err := os.Open(file.Path)
		if err != nil {
			return res, fmt.Errorf("result: %w", err)
		}
		// The folder around is not looked at: what a run is about is known here.
		read, err := ingest.Read(ctx, file.Path, f, opt)
		_ = f.Close() // only read
		if ctx.Err() != nil {
			return res, ctx.Err()
		}
		if err != nil {
			res.Notes = append(res.Notes, err.Error())
			continue
		}
		for _, t := range read.Trials {
			if lineOf(t) > file.After {
				res.Trials = append(res.Trials, t)
				res.Samples[t.ID] = read.Samples[t.ID]
			}
		}
		res.note(read)
		if len(read.Trials) == 0 && len(read.Skipped)+len(read.Errors) == 0 {
			res.Notes = append(res.Notes, filepath.Base(file.Path)+" holds no result")
		}
	}
	return res, nil
}

// ReadPrinted reads the blocks that a command printed. Before them stands the
// command itself, which says what the block leaves out.
func ReadPrinted(ctx context.Context, name, command, printed string, opt ingest.Options) (Result, error) {
	opt.Format = "serving-block"
	text := printed
	if command != "" {
		text = "$ " + command + "\n" + printed
	}
	read, err := ingest.Read(ctx, name, strings.NewReader(text), opt)
	if err != nil {
		return Result{}, err
	}
	res := Result{Trials: read.Trials, Samples: read.Samples}
	if len(read.Trials) == 0 {
		res.note(read)
	}
	return res, nil
}

func (r *Result) note(read ingest.Result) {
	for _, list := range [][]ingest.Note{read.Skipped, read.Errors} {
		for _, n := range list {
			if len(r.Notes) < 20 {
				message, _, _ := strings.Cut(n.Message, ": looked for ")
				n.Message = message
				r.Notes = append(r.Notes, n.String())
			}
		}
	}
}

// lineOf is where a record stands in its file, 0 where the position is no line.
func lineOf(t *core.Trial) int {
	if len(t.Sources) == 0 {
		return 0
	}
	n := 0
	if _, err := fmt.Sscanf(t.Sources[0].Position, "line %d", &n); err != nil {
		return 0
	}
	return n
}
