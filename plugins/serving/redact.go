package serving

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// Redactor takes secrets out of text before it is written anywhere: the values
// that a launch was given, in the forms in which they travel, and what has the
// shape of a secret. It is safe for concurrent use.
//
// What a pattern finds is replaced by [redacted], a known value by its name in
// brackets, so that a reader still sees which secret stood there. Words such as
// max_num_batched_tokens or tokenizer are no secrets and stay.
type Redactor struct {
	forms []form // longest first
	short *regexp.Regexp
	names map[string]string // short value -> its name
	max   int               // length of the longest form
}

// form is one spelling of a secret value.
type form struct{ text, by string }

// Patterns is a Redactor that knows no values, only shapes.
var Patterns = NewRedactor(nil)

// shortSecret is the length below which a value is replaced only where it stands
// alone: shorter ones are parts of ordinary words.
const shortSecret = 8

// NewRedactor makes a redactor of secret values by their names.
func NewRedactor(secrets map[string]string) *Redactor {
	r := &Redactor{names: map[string]string{}}
	var alone []string
	for _, name := range slices.Sorted(maps.Keys(secrets)) {
		// Text is redacted line by line, so each line of a key file is a secret.
		for _, value := range strings.FieldsFunc(secrets[name], func(c rune) bool { return c == '\n' || c == '\r' }) {
			value = strings.TrimSpace(value)
			switch {
			case value == "":
			case len(value) < shortSecret:
				alone = append(alone, regexp.QuoteMeta(value))
				r.names[value] = "[" + name + "]"
			default:
				for _, text := range spellings(value) {
					r.forms = append(r.forms, form{text, "[" + name + "]"})
					r.max = max(r.max, len(text))
				}
			}
		}
	}
	// A form that holds another one must be found first.
	slices.SortStableFunc(r.forms, func(a, b form) int { return len(b.text) - len(a.text) })
	if alone != nil {
		r.short = regexp.MustCompile(`(^|[^A-Za-z0-9_])(` + strings.Join(alone, "|") + `)($|[^A-Za-z0-9_])`)
	}
	return r
}

// spellings are the forms in which a value travels: as it is, inside JSON, in an
// URL, in base64 at each of the three places where it may begin, and in hex.
func spellings(value string) []string {
	out := []string{value, url.QueryEscape(value), url.PathEscape(value), hex.EncodeToString([]byte(value)), strings.ToUpper(hex.EncodeToString([]byte(value)))}
	// Python leaves a blank of an URL no plus and the signs of HTML as they are.
	out = append(out, strings.ReplaceAll(url.QueryEscape(value), "+", "%20"))
	for _, html := range []bool{true, false} {
		var quoted strings.Builder
		enc := json.NewEncoder(&quoted)
		enc.SetEscapeHTML(html)
		if enc.Encode(value) == nil {
			text := strings.TrimSuffix(quoted.String(), "\n")
			out = append(out, text[1:len(text)-1])
		}
	}
	for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for before := range 3 {
			// Characters that mix bits of the value with its neighbours are left out.
			text := encoding.EncodeToString(append(make([]byte, before), value...))
			from := (before*8 + 5) / 6
			to := (before + len(value)) * 8 / 6
			out = append(out, text[from:min(to, len(text))])
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// secretWords end the name of a flag, field or variable that holds a secret. A
// following letter makes another word of it: tokens, tokenizer, keys of a cache.
const secretWords = `(?:api[_-]?keys?|(?:hf|auth|access|refresh|bearer|hub|huggingface|session|id)[_-]?token|client[_-]?secret|secret(?:[_-]?(?:access[_-]?)?key)?|password|passwd|access[_-]?key(?:[_-]?id)?|private[_-]?key|credentials?|ssl[_-]keyfile(?:[_-]password)?)`

// value is what a secret looks like behind its name: quoted, or up to a blank or
// a sign that ends it. What is plainly no secret stays readable.
const quotedOrBare = `("(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|[^\s"',;)\]}&]+)`

var (
	// --api-key=x, "api_key": "x", 'api_key': 'x', api_key='x', HF_TOKEN=x, ?access_token=x, X-Api-Key: x
	named = regexp.MustCompile(`(?i)((?:^|[^a-z0-9])(?:[a-z0-9]+[_-])*` + secretWords + `["']?\s*[=:]\s*)` + quotedOrBare)
	// --api-key x, also as a list of words prints it: '--api-key', 'x'
	flagged = regexp.MustCompile(`(?i)((?:^|[\s"'\[(])--?(?:[a-z0-9]+[_-])*` + secretWords + `["']?(?:,\s*|\s+))` + quotedOrBare)
	// Variables in capitals: NGC_TOKEN=x, MY_SECRET_2=x.
	variable = regexp.MustCompile(`((?:^|[^A-Za-z0-9_])[A-Z0-9_]*(?:TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?|API_?KEY|ACCESS_KEY|PRIVATE)(?:_[A-Z0-9_]*)?["']?\s*[=:]\s*)` + quotedOrBare)
	userinfo = regexp.MustCompile(`([A-Za-z][A-Za-z0-9+.-]*://)[^\s/@"']+@`)
	bearer   = regexp.MustCompile(`(?i)\b(bearer|basic)(\s+|%20)[A-Za-z0-9._~+/=-]{8,}`)
	// Keys with a well-known beginning.
	shaped = regexp.MustCompile(`\b(?:hf_[A-Za-z0-9]{20,}|sk-[A-Za-z0-9_-]{16,}|nvapi-[A-Za-z0-9_-]{20,}|gh[pousr]_[A-Za-z0-9]{30,}|AKIA[0-9A-Z]{16}|eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{5,})`)
)

const redacted = "[redacted]"

// String returns the text without secrets. It is idempotent.
func (r *Redactor) String(s string) string {
	for _, f := range r.forms {
		s = strings.ReplaceAll(s, f.text, f.by)
	}
	if r.short != nil {
		// Twice, since two values may share the character between them.
		for range 2 {
			s = r.short.ReplaceAllStringFunc(s, r.alone)
		}
	}
	s = shaped.ReplaceAllString(s, redacted)
	s = bearer.ReplaceAllString(s, "${1}${2}"+redacted)
	s = userinfo.ReplaceAllString(s, "${1}"+redacted+"@")
	s = replaceNamed(flagged, replaceNamed(named, s))
	return replaceNamed(variable, s)
}

// spans finds the known values and the shaped keys in a text, as places.
func (r *Redactor) spans(s string) [][]int {
	out := shaped.FindAllStringIndex(s, -1)
	for _, f := range r.forms {
		for from := 0; ; {
			i := strings.Index(s[from:], f.text)
			if i < 0 {
				break
			}
			out = append(out, []int{from + i, from + i + len(f.text)})
			from += i + 1
		}
	}
	return out
}

// begun is how long the end of a text is that may be the beginning of a known value.
func (r *Redactor) begun(s string) int {
	longest := 0
	look := func(value string) {
		for n := min(len(value)-1, len(s)); n > longest; n-- {
			if strings.HasSuffix(s, value[:n]) {
				longest = n
			}
		}
	}
	for _, f := range r.forms {
		look(f.text)
	}
	for value := range r.names {
		look(value)
	}
	return longest
}

func (r *Redactor) alone(match string) string {
	m := r.short.FindStringSubmatch(match)
	return m[1] + r.names[m[2]] + m[3]
}

// replaceNamed replaces the value behind a telling name and keeps its quotes.
func replaceNamed(pattern *regexp.Regexp, s string) string {
	return pattern.ReplaceAllStringFunc(s, func(match string) string {
		m := pattern.FindStringSubmatch(match)
		name, value := m[1], m[2]
		quote := ""
		if value[0] == '"' || value[0] == '\'' {
			quote, value = value[:1], value[1:len(value)-1]
		}
		if noSecret(value) {
			return match
		}
		return name + quote + redacted + quote
	})
}

// noSecret recognises what stands behind a telling name and tells nothing.
func noSecret(value string) bool {
	switch strings.ToLower(value) {
	case "", "none", "null", "nil", "true", "false", "unset":
		return true
	}
	return strings.HasPrefix(value, "[") || strings.HasPrefix(value, "--") || strings.Trim(value, "*.x") == ""
}

// SecretName reports whether a variable of this name holds a secret.
func SecretName(name string) bool { return secretName.MatchString(strings.ToUpper(name)) }

var secretName = regexp.MustCompile(`(?:^|_)(?:[A-Z0-9]*TOKEN|AUTHTOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?|API_?KEYS?|[A-Z0-9]*APIKEY|ACCESS_KEY(?:_ID)?|PRIVATE_KEY)(?:_|$)|^AWS_(?:ACCESS|SECRET|SESSION)`)

// Argv returns a command without secrets, also where flag and value are two
// elements.
func (r *Redactor) Argv(argv []string) []string {
	out := make([]string, len(argv))
	for i, arg := range argv {
		out[i] = r.String(arg)
		if i > 0 && strings.HasPrefix(argv[i-1], "-") && secretFlag.MatchString(argv[i-1]) && !noSecret(arg) && out[i] == arg {
			out[i] = redacted
		}
	}
	return out
}

var secretFlag = regexp.MustCompile(`(?i)^--?(?:[a-z0-9]+[_-])*` + secretWords + `$`)

// Env returns an environment without secrets: by the names of the variables and
// by the values.
func (r *Redactor) Env(env map[string]string) map[string]string {
	out := make(map[string]string, len(env))
	for name, value := range env {
		if out[name] = r.String(value); SecretName(name) && value != "" {
			out[name] = redacted
		}
	}
	return out
}
