package load

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/sweepbook/sweepbook/core"
)

// conversations makes prompts that are the turns of conversations: of each
// conversation with at least that many questions the first ones are asked, one
// after the other. Each question and its answer must pass the filter of single
// questions. path "" is the built-in set.
//
// history says what a later turn holds: "answer" (the default), what the server
// itself said before, as a chat does and as a prefix cache can use; or
// "reference", what the data set says, which gives every engine the same prompts.
// think_s is the time between an answer and the next question.
func conversations(w core.Workload, path string, turns, output int, seed uint64, counter Counter) (Prompts, error) {
	p := Prompts{Turns: turns}
	switch v := w.Params["history"]; v {
	case core.Missing(), core.String("answer"):
		p.OwnAnswers = true
	case core.String("reference"):
	default:
		return Prompts{}, fmt.Errorf("workload: history: %w: %q; known: answer, reference", core.ErrInvalid, v)
	}
	if v, ok := w.Params["think_s"]; ok {
		if v.Kind != core.KindNumber || v.Num < 0 || v.Num > maxSetting {
			return Prompts{}, fmt.Errorf("workload: think_s: %w: %q is not a number of seconds", core.ErrInvalid, v)
		}
		p.Think = time.Duration(v.Num * float64(time.Second))
	}
	var found [][]Prompt
	keep := func(c dialogue) error {
		talk, ok, err := talkOf(c, turns, output, counter)
		if ok {
			found = append(found, talk)
		}
		return err
	}
	if path == "" && w.Dataset == builtinSet {
		if err := eachConversation(strings.NewReader(builtinTurnsJSON), keep); err != nil {
			return Prompts{}, fmt.Errorf("built-in conversations: %w", err)
		}
		stream(seed, shuffleStream, 0).Shuffle(len(found), func(i, j int) { found[i], found[j] = found[j], found[i] })
	} else if _, err := fromFile(shareGPTSet, path, func(f *os.File) ([]Prompt, error) {
		return nil, inSeededOrder(f, seed, func(c dialogue) (bool, error) {
			err := keep(c)
			return len(found) < enoughPrompts/turns+1, err
		})
	}); err != nil {
		return Prompts{}, err
	}
	if len(found) == 0 {
		return Prompts{}, fmt.Errorf("workload: turns: %w: no conversation of %d questions is within the length limits", core.ErrInvalid, turns)
	}
	p.Distinct = len(found) * turns
	p.At = func(i int) Prompt { return found[i/turns%len(found)][i%turns] }
	return p, nil
}

// talkOf gives the first questions of a conversation, with what was said before
// each. A conversation whose speakers do not take turns is not one.
func talkOf(c dialogue, turns, output int, counter Counter) (talk []Prompt, ok bool, err error) {
	var history []Turn
	said := c.Conversations
	if len(said) > 0 && roleOf(said[0].From) == "system" {
		history = append(history, Turn{"system", said[0].Value})
		said = said[1:]
	}
	before := 0
	for k := range turns {
		if len(said) < 2*k+2 || roleOf(said[2*k].From) != "user" || roleOf(said[2*k+1].From) != "assistant" {
			return nil, false, nil
		}
		p, ok, err := pair(said[2*k].Value, said[2*k+1].Value, output, counter)
		if err != nil || !ok {
			return nil, false, err
		}
		p.History = history[:len(history):len(history)]
		history = append(history, Turn{"user", said[2*k].Value}, Turn{"assistant", said[2*k+1].Value})
		before, p.InputTokens = before+p.InputTokens+p.OutputTokens, before+p.InputTokens
		p.Exact = false // what the server answers is not known before
		talk = append(talk, p)
	}
	return talk, true, nil
}

// roleOf reads the names that ShareGPT files give to speakers.
func roleOf(from string) string {
	switch from {
	case "human", "user":
		return "user"
	case "gpt", "chatgpt", "assistant", "bot":
		return "assistant"
	case "system":
		return "system"
	}
	return ""
}
