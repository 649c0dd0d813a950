package query_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/sweepbook/sweepbook/query"
)

func TestParameters(t *testing.T) {
	for text, want := range map[string]string{
		"max total_tps where model == $model and concurrency <= $c or tp == $c": "model c",
		`max x where a == "$no" and b == '$no' and c == $yes_1`:                 "yes_1",
		"max x where a == `$no": "no", // never closed, so that no text begins
		"max $ x":               "", "": "", "$": "",
	} {
		if got := strings.Join(query.Parameters(text), " "); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
	got := query.Fill(`max total_tps where a == $a and b == "$a" by $b$a`, func(name string) string { return "<" + name + ">" })
	if want := `max total_tps where a == <a> and b == "$a" by <b><a>`; got != want {
		t.Errorf("filled: %s", got)
	}
}

// Every word that is offered has a place in the language.
func TestWords(t *testing.T) {
	for _, verb := range query.Verbs() {
		if _, err := query.Parse(verb); err != nil && strings.Contains(err.Error(), "is no verb") {
			t.Error(err)
		}
	}
	if words := query.Words(); !slices.Contains(words, "where") || !slices.Contains(words, "median(") || slices.Contains(words, "attained") {
		t.Errorf("words %q", words)
	}
}

// The help names every verb, clause and function.
func TestHelp(t *testing.T) {
	for _, word := range append(query.Verbs(), query.Words()...) {
		if !strings.Contains(query.Help, strings.TrimSuffix(word, "(")) {
			t.Errorf("help does not name %s", word)
		}
	}
	for _, line := range strings.Split(query.Help, "\n") {
		if len(line) > 140 {
			t.Errorf("a line of %d characters: %s", len(line), line)
		}
	}
}
