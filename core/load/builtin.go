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

func builtinConversations(output int) ([]Prompt, error) {
	found, err := ShareGPT(strings.NewReader(builtinJSON), output, nil)
	if err != nil {
		return nil, fmt.Errorf("built-in conversations: %w", err)
	}
	return found, nil
}
