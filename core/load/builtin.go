package load

import (
	_ "embed"
	"fmt"
	"strings"
)

// builtinJSON holds forty short dialogues written for Sweepbook, in the ShareGPT
// form: a conversation workload that needs no download. It is small on purpose;
// a run of more than forty requests asks some of them again.
//
//go:embed builtin.json
var builtinJSON string

// builtinTurnsJSON holds ten dialogues of four questions and answers each.
//
//go:embed builtin_turns.json
var builtinTurnsJSON string

func builtinConversations(output int, seed uint64, counter Counter) (Prompts, error) {
	found, err := shareGPT(strings.NewReader(builtinJSON), output, counter)
	if err != nil {
		return Prompts{}, fmt.Errorf("built-in conversations: %w", err)
	}
	return shuffled(found, seed), nil
}
