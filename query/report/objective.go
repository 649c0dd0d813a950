package report

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/query"
)

// objective is the question of a study, cut into the parts that other questions
// of the report are made of.
type objective struct {
	verb  string // max or min
	goal  string // as written, "total_tps" or "rps * 2 as twice"
	value string // "total_tps"
	name  string // of the value's column
	where string // condition, "" for none
	rest  string // the other clauses as they stand
}

// alias matches "value as name".
var alias = regexp.MustCompile(`(?s)^(.*\S)\s+as\s+(\w+|"[^"]*"|'[^']*')$`)

// clauseWords begin a clause of the language.
var clauseWords = []string{"where", "by", "per", "vs", "having", "over", "top", "prefer", "within", "order", "limit"}

// readObjective cuts the text of an objective. The language itself checks it; here
// only max and min are taken, since a report recommends one configuration.
func readObjective(q string) (objective, error) {
	parsed, err := query.Parse(q)
	if err != nil {
		return objective{}, fmt.Errorf("objective %q: %w", q, err)
	}
	o := objective{verb: parsed.Verb()}
	if o.verb != "max" && o.verb != "min" {
		return objective{}, fmt.Errorf("objective %q: %w: a report wants max or min, not %s", q, core.ErrInvalid, o.verb)
	}
	starts := clauseStarts(q)
	end := func(i int) int {
		if i+1 < len(starts) {
			return starts[i+1].at
		}
		return len(q)
	}
	for i, c := range starts {
		body := strings.TrimSpace(q[c.at+len(c.word) : end(i)])
		switch c.word {
		case o.verb:
			o.goal, o.value, o.name = body, body, body
			if m := alias.FindStringSubmatch(body); m != nil {
				o.value, o.name = m[1], strings.Trim(m[2], "\"'`")
			}
		case "where":
			o.where = body
		default:
			o.rest += " " + strings.TrimSpace(q[c.at:end(i)])
		}
	}
	return o, nil
}

type start struct {
	word string
	at   int
}

// clauseStarts finds the verb and the clause words that stand outside strings and
// brackets and not behind a dot. "order by" is one clause.
func clauseStarts(q string) []start {
	var starts []start
	depth := 0
	for i := 0; i < len(q); {
		c := q[i]
		switch {
		case c == '"' || c == '\'' || c == '`':
			i = stringEnd(q, i)
		case c == '(' || c == '[' || c == '{':
			depth++
			i++
		case c == ')' || c == ']' || c == '}':
			depth--
			i++
		case wordByte(c):
			j := i
			for j < len(q) && (wordByte(q[j]) || q[j] == '.') {
				j++
			}
			word := q[i:j]
			last := ""
			if len(starts) > 0 {
				last = starts[len(starts)-1].word
			}
			ordered := word == "by" && last == "order" && strings.TrimSpace(q[starts[len(starts)-1].at:i]) == "order"
			if len(starts) == 0 || depth == 0 && isClauseWord(word) && !ordered {
				starts = append(starts, start{word, i})
			}
			i = j
		default:
			i++
		}
	}
	return starts
}

func isClauseWord(w string) bool {
	for _, c := range clauseWords {
		if w == c {
			return true
		}
	}
	return false
}

func wordByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c >= 0x80
}

// stringEnd is the place behind the string that begins at i.
func stringEnd(q string, i int) int {
	quote := q[i]
	for j := i + 1; j < len(q); j++ {
		switch {
		case q[j] == '\\' && quote != '`':
			j++
		case q[j] == quote:
			return j + 1
		}
	}
	return len(q)
}

// ask writes the objective with further conditions.
func (o objective) ask(conds ...string) string {
	return o.verb + " " + o.goal + where(append([]string{o.where}, conds...)...) + o.rest
}

// where joins conditions; empty and repeated ones fall away, and one that holds an "or"
// gets brackets.
func where(conds ...string) string {
	var parts []string
	for _, c := range conds {
		if c = strings.TrimSpace(c); c == "" {
			continue
		}
		if len(conds) > 1 && needsBrackets(c) {
			c = "(" + c + ")"
		}
		if !slices.Contains(parts, c) {
			parts = append(parts, c)
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return " where " + strings.Join(parts, " and ")
}

// weak finds what may be an operator that binds less than "and".
var weak = regexp.MustCompile(`(^|\W)or(\W|$)|[?|]`)

// needsBrackets: an operator that binds less than "and" may stand in c.
func needsBrackets(c string) bool {
	return weak.MatchString(c)
}

// is writes "field == value".
func is(field, value string) string { return field + " == " + strconv.Quote(value) }

// limits are the figures beside the ranked one by which the objective decides, those of
// its condition and of prefer, in the order in which it names them.
func (o objective) limits() []core.Field {
	var out []core.Field
	for _, word := range words(o.where + " " + o.rest) {
		f, ok := core.LookupField(word)
		if !ok || !f.Figure() && !strings.HasPrefix(f.Name, "quality.") || f.Name == o.value || f.Name == "success_rate" {
			continue // every table has the success rate
		}
		if !slices.ContainsFunc(out, func(g core.Field) bool { return g.Name == f.Name }) {
			out = append(out, f)
		}
	}
	return out
}

// limitColumn names the column of such a figure.
func limitColumn(f core.Field) string { return "limit_" + strings.ReplaceAll(f.Name, ".", "_") }

// words are the words of a text outside of its strings, with what a dot joins to them.
func words(q string) []string {
	var out []string
	for i := 0; i < len(q); {
		switch c := q[i]; {
		case c == '"' || c == '\'' || c == '`':
			i = stringEnd(q, i)
		case wordByte(c):
			j := i
			for j < len(q) && (wordByte(q[j]) || q[j] == '.') {
				j++
			}
			out = append(out, q[i:j])
			i = j
		default:
			i++
		}
	}
	return out
}
