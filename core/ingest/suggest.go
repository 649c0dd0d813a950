package ingest

import (
	"context"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/sweepbook/sweepbook/core"
)

// Suggestion says how files could be imported so that less is unknown.
type Suggestion struct {
	// Files is how many files hold a result.
	Files int
	// Pattern takes fields from the paths of Matches of them; "" where the paths
	// tell nothing.
	Pattern string
	Matches int
	// Example is what the pattern takes from the path ExampleFile, by field.
	ExampleFile string
	Example     map[string]string
	// Lacking are the files whose trials would not know their engine, model or GPU,
	// with the pattern too.
	Lacking []Lack
}

// Lack names the fields that some trial of a file does not know.
type Lack struct {
	File   string // path as walked
	Trials int    // of the file
	Fields []string
}

// lackFields are what an answer is worth little without.
var lackFields = []string{"engine", "model", "gpu"}

// maxSuggest bounds how many paths are looked at for a pattern.
const maxSuggest = 10000

// Suggest reads files and folders as Walk does, keeps nothing, and says what their
// paths tell and what they do not know. A file that cannot be read is passed over.
func Suggest(ctx context.Context, paths []string, opt Options) (Suggestion, error) {
	var s Suggestion
	var found []string
	opt.Pattern = ""
	err := Walk(ctx, paths, opt, func(path string, res Result) error {
		if len(res.Trials) == 0 {
			return nil
		}
		s.Files++
		if len(found) < maxSuggest {
			found = append(found, path)
		}
		if lack := lackOf(path, res.Trials); len(lack.Fields) > 0 {
			s.Lacking = append(s.Lacking, lack)
		}
		return nil
	})
	if err != nil {
		return Suggestion{}, err
	}
	s.propose(found)
	return s, nil
}

func lackOf(path string, trials []*core.Trial) Lack {
	l := Lack{File: path, Trials: len(trials)}
	for _, name := range lackFields {
		if slices.ContainsFunc(trials, func(t *core.Trial) bool { return t.Value(name).IsMissing() }) {
			l.Fields = append(l.Fields, name)
		}
	}
	return l
}

// propose takes the pattern that most paths have, and strikes what it tells.
func (s *Suggestion) propose(paths []string) {
	votes := map[string]int{}
	for _, path := range paths {
		if text := patternOf(path); text != "" {
			votes[text]++
		}
	}
	best := ""
	for _, text := range slices.Sorted(maps.Keys(votes)) {
		if best == "" || votes[text] > votes[best] {
			best = text
		}
	}
	p, err := parsePattern(best)
	if best == "" || err != nil {
		return
	}
	s.Pattern = best
	for _, path := range paths {
		fields, ok := p.match(path)
		if !ok {
			continue
		}
		if s.Matches++; s.Matches == 1 {
			s.ExampleFile, s.Example = path, fields
		}
	}
	for i := range s.Lacking {
		if fields, ok := p.match(s.Lacking[i].File); ok {
			s.Lacking[i].Fields = slices.DeleteFunc(s.Lacking[i].Fields, func(name string) bool { return fields[name] != "" })
		}
	}
	s.Lacking = slices.DeleteFunc(s.Lacking, func(l Lack) bool { return len(l.Fields) == 0 })
}

// pathToken is a form in which people write a setting into a path. Group 1 is what
// stands before it, group 2 the value.
type pathToken struct {
	field string
	re    *regexp.Regexp
}

const (
	tokenStart = `(?i)((?:^|[_\-.,+ ])`
	tokenEnd   = `(?:$|[_\-.,+ ])`
)

func token(names, value string) *regexp.Regexp {
	return regexp.MustCompile(tokenStart + names + `)(` + value + `)` + tokenEnd)
}

// pathTokens are tried in this order, so that a model's name, which may hold
// dashes, comes last.
var pathTokens = []pathToken{
	{"engine", token(``, `vllm|sglang|trtllm|tensorrt-llm`)},
	{"gpu", token(`(?:\dx)?`, `(?:nvidia[-_ ])?(?:h100|h200|h20|a100|a10g?|l40s?|l4|b200|b300|gb200|v100|t4|rtx[-_ ]?\d{4}|mi\d{3}x?)(?:[-_ ](?:sxm\d?|pcie|nvl|\d+gb))*`)},
	{"tp", token(`tp[-_=]?`, `\d+`)}, {"pp", token(`pp[-_=]?`, `\d+`)}, {"dp", token(`dp[-_=]?`, `\d+`)}, {"ep", token(`ep[-_=]?`, `\d+`)},
	{"concurrency", token(`(?:c|conc|concurrency|max_concurrency|users)[-_=]?`, `\d+`)},
	{"request_rate", token(`(?:rate|request_rate|rps)[-_=]?`, `\d+(?:\.\d+)?|inf`)},
	{"input_len", token(`(?:isl|in|input|input_len)[-_=]?`, `\d+`)},
	{"output_len", token(`(?:osl|out|output|output_len)[-_=]?`, `\d+`)},
	{"seed", token(`seed[-_=]?`, `\d+`)},
	{"model", token(``, `(?:qwen|llama|meta-llama|mistral|mixtral|deepseek|gemma|phi|gpt-oss|glm|kimi|granite|nemotron|falcon|opt|minimax|internlm|smollm|olmo)[a-z0-9.\-]*[a-z0-9]`)},
}

var digits = regexp.MustCompile(`\d+`)

// patternOf turns a path into a pattern: settings become {field}, other numbers
// and parts become *, folders above the first setting are left out.
func patternOf(path string) string {
	parts := strings.Split(filepath.ToSlash(path), "/")
	used := map[string]bool{}
	first := -1
	for i, part := range parts {
		ext := ""
		if i == len(parts)-1 {
			ext = filepath.Ext(part)
			part = strings.TrimSuffix(part, ext)
		}
		text, any := partPattern(part, used)
		if any && first < 0 {
			first = i
		}
		parts[i] = text + ext
	}
	if first < 0 {
		return ""
	}
	return strings.Join(parts[first:], "/")
}

// partPattern replaces the settings in one part of a path.
func partPattern(part string, used map[string]bool) (text string, any bool) {
	type piece struct {
		text  string
		fixed bool // a field or the name before it
	}
	pieces := []piece{{text: part}}
	for _, t := range pathTokens {
		for i, p := range pieces {
			if p.fixed || used[t.field] {
				continue
			}
			m := t.re.FindStringSubmatchIndex(p.text)
			if m == nil {
				continue
			}
			used[t.field], any = true, true
			pieces = slices.Replace(pieces, i, i+1,
				piece{text: p.text[:m[2]]}, piece{text: digits.ReplaceAllString(p.text[m[2]:m[4]], "*") + "{" + t.field + "}", fixed: true}, piece{text: p.text[m[5]:]})
			break
		}
	}
	if !any {
		return "*", false
	}
	var b strings.Builder
	for _, p := range pieces {
		if p.fixed {
			b.WriteString(p.text)
		} else {
			b.WriteString(digits.ReplaceAllString(p.text, "*"))
		}
	}
	return b.String(), true
}
