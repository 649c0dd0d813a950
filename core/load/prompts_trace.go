package load

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/sweepbook/sweepbook/core"
)

// traceLine is one request of a trace: when it came, how long it was, and the
// blocks of its prompt, equal numbers for equal text.
type traceLine struct {
	Timestamp *float64 `json:"timestamp"`
	Input     *int     `json:"input_length"`
	Output    *int     `json:"output_length"`
	Blocks    []int    `json:"hash_ids"`
}

// traceEntry is a line without what does not matter.
type traceEntry struct {
	due           time.Duration
	input, output int
	blocks        []int
}

// tracePrompts replays a trace: a JSONL file of {"timestamp": 27482,
// "input_length": 6955, "output_length": 52, "hash_ids": [46, 47]} lines, the form
// of the Mooncake traces. Timestamps are milliseconds, or time_unit_s seconds; the
// first request is due at 0, and the lines are put in order of time. Prompts are
// random tokens of the given length. hash_ids name the blocks of block_size (512)
// tokens that a prompt begins with: requests that share them share that text, and
// what a prefix cache can keep is as in the original. An output length of 0 is
// asked as 1.
func tracePrompts(w core.Workload, path string, seed uint64, ids bool, counter Counter) (Prompts, error) {
	for name, v := range map[string]core.Value{"input_len": w.InputLen, "output_len": w.OutputLen} {
		if _, set, err := length(name, v); err != nil || set {
			return Prompts{}, fmt.Errorf("workload: %s: %w: a trace has its own lengths", name, core.ErrInvalid)
		}
	}
	block, err := param(w.Params, "block_size", 1, 512)
	if err != nil {
		return Prompts{}, err
	}
	unit := 1e-3
	if v, ok := w.Params["time_unit_s"]; ok {
		if v.Kind != core.KindNumber || !(v.Num > 0) || v.Num > maxSetting {
			return Prompts{}, fmt.Errorf("workload: time_unit_s: %w: %q is not a number of seconds above 0", core.ErrInvalid, v)
		}
		unit = v.Num
	}
	d, err := newDrawer(w.Params, ids, counter)
	if err != nil {
		return Prompts{}, err
	}
	var entries []traceEntry
	if _, err := fromFile(traceSet, path, func(f *os.File) (none []Prompt, err error) {
		entries, err = readTrace(f, unit)
		return nil, err
	}); err != nil {
		return Prompts{}, err
	}
	return Prompts{
		Distinct: len(entries), CountedBy: d.countedBy,
		Due: func(i int) time.Duration { return entries[i].due },
		At: func(i int) Prompt {
			e := entries[i%len(entries)]
			var parts []Prompt
			left := e.input
			for _, b := range e.blocks {
				if n := min(block, left); n > 0 {
					parts = append(parts, d.draw(stream(seed, prefixStream, b), n))
					left -= n
				}
			}
			parts = append(parts, d.draw(stream(seed, promptStream, i), left))
			return d.join(Prompt{OutputTokens: max(1, e.output)}, parts...)
		},
	}, nil
}

// readTrace reads a trace and puts it in order of time.
func readTrace(r io.Reader, unit float64) ([]traceEntry, error) {
	in := bufio.NewReaderSize(r, 1<<16)
	var found []traceEntry
	var stamps []float64
	for number := 1; ; number++ {
		line, readErr := in.ReadBytes('\n')
		if readErr != nil && !errors.Is(readErr, io.EOF) {
			return nil, fmt.Errorf("line %d: %w", number, readErr)
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			var v traceLine
			err := json.Unmarshal(line, &v)
			switch {
			case err != nil:
			case v.Timestamp == nil || v.Input == nil || v.Output == nil:
				err = errors.New("want timestamp, input_length and output_length")
			case *v.Input < 1 || *v.Input > maxLength || *v.Output < 0 || *v.Output > maxLength:
				err = fmt.Errorf("lengths %d and %d", *v.Input, *v.Output)
			}
			if err != nil {
				return nil, fmt.Errorf("line %d: %w: %w", number, core.ErrInvalid, err)
			}
			found = append(found, traceEntry{input: *v.Input, output: *v.Output, blocks: v.Blocks})
			stamps = append(stamps, *v.Timestamp)
		}
		if readErr != nil {
			break
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("%w: no request in it", core.ErrInvalid)
	}
	first := slices.Min(stamps)
	for i := range found {
		found[i].due = seconds((stamps[i] - first) * unit)
	}
	slices.SortStableFunc(found, func(a, b traceEntry) int { return int(min(max(a.due-b.due, -1), 1)) })
	return found, nil
}
