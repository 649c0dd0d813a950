package ingest

import "regexp"

// secretNames end the name of an option, variable or key that holds a secret.
// "tokens" are counts and "Inter-token Latency" is a heading: only a name that
// ends in "token" counts.
const secretNames = `(?:api[-_]?keys?|access[-_]?key|secret|secret[-_]key|passw(?:or)?d|[-_]token|credentials?)`

const secretValue = `("[^"]*"|'[^']*'|[^\s"',;]+)`

// secrets are masked in everything that is kept, the raw text of a source
// included, since a history is copied and shared. Group 1 stays.
var secrets = []struct {
	find *regexp.Regexp
	with string
}{
	{regexp.MustCompile(`(?i)((?:^|[\s"'])--?[a-z][\w-]*` + secretNames + `(?:=|\s+))` + secretValue), "${1}***"},
	{regexp.MustCompile(`(?i)((?:^|[\s"'])--?` + secretNames + `(?:=|\s+))` + secretValue), "${1}***"},
	{regexp.MustCompile(`(?i)(\b\w*` + secretNames + `=)` + secretValue), "${1}***"},
	{regexp.MustCompile(`(?i)("[\w-]*` + secretNames + `"\s*:\s*)` + secretValue), "${1}***"},
	{regexp.MustCompile(`(?i)(\bbearer\s+)([\w.~+/=-]{6,})`), "${1}***"},
	{regexp.MustCompile(`(\b[a-z][a-z0-9+.-]*://[^\s/:@]*:)([^\s/@]+)@`), "${1}***@"},
	{regexp.MustCompile(`()\b(?:(?:hf|nvapi|ghp|gho|glpat)[_-]|sk-)[A-Za-z0-9_-]{16,}`), "***"},
}

// maskSecrets replaces the values of secrets by asterisks.
func maskSecrets(s string) string {
	for _, secret := range secrets {
		s = secret.find.ReplaceAllString(s, secret.with)
	}
	return s
}
