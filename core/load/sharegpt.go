package load

import (
	"bufio"
	"encoding/json"
	"errors"
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

// dialogue is one conversation of a ShareGPT file.
type dialogue struct {
	Conversations []struct {
		From  string `json:"from"`
		Value string `json:"value"`
	} `json:"conversations"`
}

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
	counter := Estimate()
	if count != nil {
		counter = Counter{Name: "given", Count: func(text string) (int, error) { return count(text), nil }}
	}
	return shareGPT(r, output, counter)
}

func shareGPT(r io.Reader, output int, counter Counter) ([]Prompt, error) {
	var kept []Prompt
	err := eachConversation(r, func(c dialogue) error {
		p, ok, err := firstQuestion(c, output, counter)
		if ok {
			kept = append(kept, p)
		}
		return err
	})
	if err == nil && len(kept) == 0 {
		err = errNoConversation
	}
	if err != nil {
		return nil, err
	}
	return kept, nil
}

var errNoConversation = fmt.Errorf("read conversations: %w: none is within the length limits", core.ErrInvalid)

// eachConversation reads a ShareGPT file as a stream.
func eachConversation(r io.Reader, each func(dialogue) error) error {
	dec := json.NewDecoder(bufio.NewReaderSize(r, 1<<20))
	if open, err := dec.Token(); err != nil {
		return fmt.Errorf("read conversations: %w: %w", core.ErrInvalid, err)
	} else if open != json.Delim('[') {
		return fmt.Errorf("read conversations: %w: not a JSON array", core.ErrInvalid)
	}
	for dec.More() {
		var c dialogue
		if err := dec.Decode(&c); err != nil {
			return fmt.Errorf("read conversations: near byte %d: %w: %w", dec.InputOffset(), core.ErrInvalid, err)
		}
		if err := each(c); err != nil {
			return fmt.Errorf("read conversations: near byte %d: %w", dec.InputOffset(), err)
		}
	}
	if _, err := dec.Token(); err != nil {
		return fmt.Errorf("read conversations: near byte %d: %w: the array does not end: %w", dec.InputOffset(), core.ErrInvalid, err)
	}
	return nil
}

// firstQuestion applies the filter to the first two turns.
func firstQuestion(c dialogue, output int, counter Counter) (p Prompt, ok bool, err error) {
	if len(c.Conversations) < 2 {
		return Prompt{}, false, nil
	}
	return pair(c.Conversations[0].Value, c.Conversations[1].Value, output, counter)
}

// pair makes a prompt of a question whose answer is known, where the filter keeps
// it. A text that cannot be counted, such as a picture in base64, is no question.
func pair(question, answer string, output int, counter Counter) (p Prompt, ok bool, err error) {
	p = Prompt{Text: question, Exact: counter.exact(), OutputTokens: output}
	if p.InputTokens, err = counter.Count(question); err == nil && output <= 0 {
		p.OutputTokens, err = counter.Count(answer)
	}
	switch {
	case errors.Is(err, core.ErrInvalid):
		return Prompt{}, false, nil
	case err != nil:
		return Prompt{}, false, err
	}
	if p.InputTokens < minTurnTokens || (output <= 0 && p.OutputTokens < minTurnTokens) ||
		p.InputTokens > maxQuestionTokens || p.InputTokens+p.OutputTokens > maxTurnsTokens {
		return Prompt{}, false, nil
	}
	return p, true, nil
}

// enoughPrompts is how many prompts are made for a load that ends by time.
const enoughPrompts = 20_000

// shareGPTPrompts takes conversations in a seeded order until there are as many
// prompts as the load can use, which is what vllm bench serve does: a file of
// hundreds of megabytes is indexed, not held, and only what is used is counted.
//
// Note: the order is not vLLM's, whose generator is Python's: the same seed picks
// other conversations there.
func shareGPTPrompts(path string, output, need int, seed uint64, counter Counter) (Prompts, error) {
	if need < 0 {
		need = enoughPrompts
	}
	kept, err := fromFile(shareGPTSet, path, func(f *os.File) (kept []Prompt, err error) {
		err = inSeededOrder(f, seed, func(c dialogue) (bool, error) {
			p, ok, err := firstQuestion(c, output, counter)
			if ok {
				kept = append(kept, p)
			}
			return len(kept) < need, err
		})
		if err == nil && len(kept) == 0 {
			err = errNoConversation
		}
		return kept, err
	})
	if err != nil {
		return Prompts{}, err
	}
	return inOrder(kept), nil
}

// inSeededOrder reads the conversations of a file in a seeded order while more is
// wanted.
func inSeededOrder(f *os.File, seed uint64, each func(dialogue) (more bool, err error)) error {
	index, err := indexObjects(f)
	if err != nil {
		return fmt.Errorf("read conversations: %w", err)
	}
	stream(seed, shuffleStream, 0).Shuffle(len(index), func(i, j int) { index[i], index[j] = index[j], index[i] })
	for _, at := range index {
		data := make([]byte, at.length)
		if _, err := f.ReadAt(data, at.from); err != nil {
			return fmt.Errorf("read conversations: at byte %d: %w", at.from, err)
		}
		var c dialogue
		if err := json.Unmarshal(data, &c); err != nil {
			return fmt.Errorf("read conversations: near byte %d: %w: %w", at.from, core.ErrInvalid, err)
		}
		more, err := each(c)
		if err != nil {
			return fmt.Errorf("read conversations: near byte %d: %w", at.from, err)
		}
		if !more {
			break
		}
	}
	return nil
}

// fromFile opens the data file of a data set and puts its name on errors.
func fromFile(dataset, path string, read func(*os.File) ([]Prompt, error)) ([]Prompt, error) {
	if path == "" {
		return nil, fmt.Errorf("workload: path: %w: dataset %s needs a data file", core.ErrInvalid, dataset)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open data set: %w", err)
	}
	defer func() { _ = f.Close() }() // only read
	found, err := read(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Base(path), err)
	}
	return found, nil
}

// shuffled puts the prompts into a seeded order; when they run out they come
// again in the same order.
func shuffled(found []Prompt, seed uint64) Prompts {
	stream(seed, shuffleStream, 0).Shuffle(len(found), func(i, j int) { found[i], found[j] = found[j], found[i] })
	return inOrder(found)
}

func inOrder(found []Prompt) Prompts {
	return Prompts{Distinct: len(found), At: func(i int) Prompt { return found[i%len(found)] }}
}
