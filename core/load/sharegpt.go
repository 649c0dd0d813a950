package load

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/sweepbook/sweepbook/core"
)

// The limits of vllm bench serve's ShareGPT filter, in tokens.
const (
	minTurnTokens     = 4
	maxQuestionTokens = 1024
	maxTurnsTokens    = 2048
)

// ShareGPT reads a ShareGPT file, a JSON array of {"conversations": [{"value": …},
// …]}, and gives the questions that vllm bench serve would keep, in file order: of
// a conversation of two turns or more the first turn is the prompt and the length
// of the second is the output asked for. Dropped are prompts under 4 tokens or
// over 1024, outputs under 4, and pairs over 2048 together. output > 0 is asked
// for instead of the answer's own length, which is then not filtered from below.
//
// count measures a text in tokens; nil is EstimateTokens. The file may be large:
// it is read as a stream and only what is kept stays in memory. Errors name the
// position in bytes.
func ShareGPT(r io.Reader, output int, count func(text string) int) ([]Prompt, error) {
	if count == nil {
		count = EstimateTokens
	}
	dec := json.NewDecoder(bufio.NewReaderSize(r, 1<<20))
	if open, err := dec.Token(); err != nil {
		return nil, fmt.Errorf("read conversations: %w: %w", core.ErrInvalid, err)
	} else if open != json.Delim('[') {
		return nil, fmt.Errorf("read conversations: %w: not a JSON array", core.ErrInvalid)
	}
	var kept []Prompt
	for dec.More() {
		var c struct {
			Conversations []struct {
				Value string `json:"value"`
			} `json:"conversations"`
		}
		if err := dec.Decode(&c); err != nil {
			return nil, fmt.Errorf("read conversations: near byte %d: %w: %w", dec.InputOffset(), core.ErrInvalid, err)
		}
		if len(c.Conversations) < 2 {
			continue
		}
		question, answer := c.Conversations[0].Value, c.Conversations[1].Value
		p := Prompt{Text: question, InputTokens: count(question), OutputTokens: output}
		if output <= 0 {
			p.OutputTokens = count(answer)
		}
		if p.InputTokens < minTurnTokens || (output <= 0 && p.OutputTokens < minTurnTokens) ||
			p.InputTokens > maxQuestionTokens || p.InputTokens+p.OutputTokens > maxTurnsTokens {
			continue
		}
		kept = append(kept, p)
	}
	if _, err := dec.Token(); err != nil {
		return nil, fmt.Errorf("read conversations: near byte %d: %w: the array does not end: %w", dec.InputOffset(), core.ErrInvalid, err)
	}
	if len(kept) == 0 {
		return nil, fmt.Errorf("read conversations: %w: no conversation of two turns is within the length limits", core.ErrInvalid)
	}
	return kept, nil
}

func shareGPTFile(path string, output int) ([]Prompt, error) {
	return fromFile("sharegpt", path, func(r io.Reader) ([]Prompt, error) { return ShareGPT(r, output, nil) })
}

// fromFile opens the data file of a data set and puts its name on errors.
func fromFile(dataset, path string, read func(io.Reader) ([]Prompt, error)) ([]Prompt, error) {
	if path == "" {
		return nil, fmt.Errorf("workload: path: %w: dataset %s needs a data file", core.ErrInvalid, dataset)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open data set: %w", err)
	}
	defer f.Close()
	found, err := read(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Base(path), err)
	}
	return found, nil
}

// shuffled puts the prompts into a seeded order; when they run out they come
// again in the same order.
//
// Note: the order is not vLLM's, whose generator is Python's: the same seed picks
// other conversations there.
func shuffled(found []Prompt, seed uint64) Prompts {
	stream(seed, shuffleStream, 0).Shuffle(len(found), func(i, j int) { found[i], found[j] = found[j], found[i] })
	return inOrder(found)
}

func inOrder(found []Prompt) Prompts {
	return Prompts{Distinct: len(found), At: func(i int) Prompt { return found[i%len(found)] }}
}
