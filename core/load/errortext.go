package load

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode"
	"unicode/utf8"
)

// errorText finds the sentence in what a server gives as an error: a string, an
// object with a message, or an object that holds one of these as error or detail.
func errorText(data []byte) string {
	var text string
	if json.Unmarshal(data, &text) == nil {
		return oneLine(text)
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(data, &object) == nil {
		for _, key := range []string{"message", "error", "detail"} {
			if v, ok := object[key]; ok && string(bytes.TrimSpace(v)) != "null" {
				return errorText(v)
			}
		}
	}
	return oneLine(string(data))
}

// maxErrorText bounds what a sample keeps of an error.
const maxErrorText = 300

// oneLine makes a text fit to be stored and printed: one line of printable UTF-8,
// bounded.
func oneLine(s string) string {
	s = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(s, "\ufffd"), func(r rune) bool {
		return unicode.IsSpace(r) || !unicode.IsPrint(r)
	}), " ")
	if len(s) <= maxErrorText {
		return s
	}
	cut := maxErrorText
	for !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "…"
}
