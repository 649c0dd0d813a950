package load

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/sweepbook/sweepbook/core"
)

// defaultOutput is what is asked for where neither the workload nor the line says
// (vllm bench serve --custom-output-len).
const defaultOutput = 256

// Custom reads a JSONL file of prompts: one {"prompt": "…", "output_tokens": 128}
// a line, kept in file order, since who wrote the file chose it. Blank lines are
// passed over, other keys too. output > 0 stands above every output_tokens; a line
// without either asks for 256. Errors name the line.
func Custom(r io.Reader, output int) ([]Prompt, error) { return custom(r, output, Estimate()) }

func custom(r io.Reader, output int, counter Counter) ([]Prompt, error) {
	in := bufio.NewReaderSize(r, 1<<16)
	var found []Prompt
	for number := 1; ; number++ {
		line, readErr := in.ReadBytes('\n')
		if readErr != nil && !errors.Is(readErr, io.EOF) {
			return nil, fmt.Errorf("line %d: %w", number, readErr)
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			p, err := customLine(line, output, counter)
			if err != nil {
				return nil, fmt.Errorf("line %d: %w: %w", number, core.ErrInvalid, err)
			}
			found = append(found, p)
		}
		if readErr != nil {
			break
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("%w: no prompt in it", core.ErrInvalid)
	}
	return found, nil
}

func customLine(line []byte, output int, counter Counter) (Prompt, error) {
	var v struct {
		Prompt       string `json:"prompt"`
		OutputTokens *int   `json:"output_tokens"`
	}
	if err := json.Unmarshal(line, &v); err != nil {
		return Prompt{}, err
	}
	if v.Prompt == "" {
		return Prompt{}, errors.New(`no text under "prompt"`)
	}
	n, err := counter.Count(v.Prompt)
	if err != nil {
		return Prompt{}, err
	}
	p := Prompt{Text: v.Prompt, InputTokens: n, Exact: counter.exact(), OutputTokens: defaultOutput}
	switch {
	case output > 0:
		p.OutputTokens = output
	case v.OutputTokens != nil && (*v.OutputTokens < 1 || *v.OutputTokens > maxLength):
		return Prompt{}, fmt.Errorf("output_tokens %d is not from 1 to %d", *v.OutputTokens, maxLength)
	case v.OutputTokens != nil:
		p.OutputTokens = *v.OutputTokens
	}
	return p, nil
}

func customFile(path string, output int, counter Counter) ([]Prompt, error) {
	return fromFile(customSet, path, func(f *os.File) ([]Prompt, error) { return custom(f, output, counter) })
}
