package ingest

import (
	"regexp"
	"strings"
)

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

// secretSigns are parts of which every text with a secret has one, in lower case.
var secretSigns = []string{
	"key", "secret", "passw", "credential", "bearer", "://", "hf_", "hf-", "nvapi", "ghp_", "ghp-", "gho_", "gho-", "glpat", "sk-",
}

// mayHoldSecret is a cheap first look; "output_tokens" stands in every result.
func mayHoldSecret(s string) bool {
	s = strings.ToLower(s)
	for _, sign := range secretSigns {
		if strings.Contains(s, sign) {
			return true
		}
	}
	for rest := s; ; {
		i := strings.Index(rest, "token")
		if i < 0 {
			return false
		}
		before := i > 0 && (rest[i-1] == '_' || rest[i-1] == '-')
		if rest = rest[i+len("token"):]; before && !strings.HasPrefix(rest, "s") {
			return true
		}
	}
}

// maskSecrets replaces the values of secrets by asterisks.
func maskSecrets(s string) string {
	if !mayHoldSecret(s) {
		return s
	}
	for _, secret := range secrets {
		s = secret.find.ReplaceAllString(s, secret.with)
	}
	return s
}
