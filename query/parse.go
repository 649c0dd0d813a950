package query

import (
	"slices"
	"strconv"
	"strings"

	"github.com/sweepbook/sweepbook/core"
)

// Query is a parsed question. Names and types of fields are not checked yet, since
// knobs are known only to a history: see Check.
type Query struct {
	text   string
	verb   string
	goals  []goal // of max and min (one) and pareto
	show   []item
	where  *expression
	by     []item
	vs     *expression
	on     []item
	having *expression
	prefer []goal
	order  []orderItem
	top    int // 0: only the ties of the best
	topOff int
	limit  int     // 0: no limit
	within float64 // fraction; 0: only exact ties
	noise  bool    // within noise
	per    string  // "setup", "config" or "": repeats are not combined

	cond   *expression // of first and last
	value  item        // of at and change
	target float64     // of at
	along  item

	over    *expression
	weights []weight // nil: none given
}

// item is an expression with the name of its column.
type item struct {
	*expression
	name string
}

type goal struct {
	item
	better core.Better
}

type orderItem struct {
	item
	desc bool
}

// String returns the text of the query as it was given.
func (q *Query) String() string { return q.text }

// Verb returns the first word: max, min, pareto, show, count, first, last, at or
// change.
func (q *Query) Verb() string { return q.verb }

// verbs maps each verb to the clauses that it takes.
var verbs = map[string][]string{
	"max":    {"where", "by", "per", "vs", "on", "having", "over", "weights", "top", "prefer", "within", "order", "limit"},
	"min":    {"where", "by", "per", "vs", "on", "having", "over", "weights", "top", "prefer", "within", "order", "limit"},
	"pareto": {"where", "by", "per", "vs", "on", "having", "order", "limit"},
	"show":   {"where", "by", "per", "vs", "on", "having", "top", "order", "limit"},
	"count":  {"where", "by", "per", "having", "order", "limit"},
	"first":  {"along", "where", "by", "per", "having", "top", "order", "limit"},
	"last":   {"along", "where", "by", "per", "having", "top", "order", "limit"},
	"at":     {"along", "where", "by", "per", "having", "order", "limit"},
	"change": {"along", "where", "by", "per", "having", "order", "limit"},
}

// verbNames lists the verbs for messages.
var verbNames = []string{"max", "min", "pareto", "show", "count", "first", "last", "at", "change"}

// clauseWords start a clause.
var clauseWords = []string{"where", "by", "per", "vs", "on", "having", "over", "top", "prefer", "within", "order",
	"limit", "along", "weights"}

// clause is a keyword with what stands behind it.
type clause struct {
	word       string
	off        int // of the keyword
	start, end int // of the body
	tokens     []token
}

// Parse reads a query. An error is a *SyntaxError.
func Parse(text string) (*Query, error) {
	tokens, err := scan(text)
	if err != nil {
		return nil, err
	}
	if len(tokens) == 0 {
		return nil, syntaxError(text, 0, "empty query: begin with max, min, pareto, show, count, first, last, at or change")
	}
	q := &Query{text: text, verb: tokens[0].text}
	takes, known := verbs[q.verb]
	if !known {
		e := syntaxError(text, tokens[0].off, "%q is no verb: begin with max, min, pareto, show, count, first, last, at or change", q.verb)
		if habit := verbHabit(q.verb); habit != "" {
			e.Msg += "; " + habit
		} else {
			e.Near = core.NearestNames(q.verb, verbNames)
		}
		return nil, e
	}
	clauses := split(text, tokens)
	seen := map[string]bool{}
	for i, c := range clauses {
		if i > 0 {
			if err := q.allowed(c, clauses[i-1].word, takes, seen); err != nil {
				return nil, err
			}
		}
		if err := q.clause(c); err != nil {
			return nil, err
		}
	}
	if err := q.complete(clauses); err != nil {
		return nil, err
	}
	return q, nil
}

// complete checks what only the whole query shows.
func (q *Query) complete(clauses []clause) error {
	if q.isCurve() && q.along.expression == nil {
		return syntaxError(q.text, clauses[0].end, "%s wants along: %s %s along concurrency", q.verb, q.verb,
			strings.TrimSpace(q.text[clauses[0].start:clauses[0].end]))
	}
	if q.over == nil {
		return nil
	}
	for _, c := range clauses {
		if c.word == "prefer" || c.word == "order" || c.word == "within" && q.noise {
			return syntaxError(q.text, c.off, "over compares groups by one score each, which %s does not apply to", c.word)
		}
	}
	return nil
}

func (q *Query) allowed(c clause, before string, takes []string, seen map[string]bool) error {
	switch {
	case seen[c.word]:
		return syntaxError(q.text, c.off, "%s stands twice", c.word)
	case c.word == "on" && before != "vs":
		return syntaxError(q.text, c.off, "on belongs right behind the condition of vs")
	case !slices.Contains(takes, c.word):
		return syntaxError(q.text, c.off, "%s takes no %s", q.verb, c.word)
	case c.word == "along" && before != q.verb:
		return syntaxError(q.text, c.off, "along belongs right behind what %s asks for", q.verb)
	case c.word == "weights" && before != "over":
		return syntaxError(q.text, c.off, "weights belongs right behind over")
	}
	seen[c.word] = true
	return nil
}

// split cuts the tokens at the clause keywords. The first clause is the verb's.
func split(text string, tokens []token) []clause {
	clauses := []clause{{word: tokens[0].text, off: tokens[0].off, start: tokens[0].end()}}
	for i := 1; i < len(tokens); i++ {
		t := tokens[i]
		last := &clauses[len(clauses)-1]
		isWord := t.kind == wordToken && t.depth == 0 && tokens[i-1].text != "." && slices.Contains(clauseWords, t.text)
		if !isWord || (t.text == "by" && last.word == "order" && len(last.tokens) == 0) {
			last.tokens = append(last.tokens, t)
			continue
		}
		last.end = t.off
		clauses = append(clauses, clause{word: t.text, off: t.off, start: t.end()})
	}
	clauses[len(clauses)-1].end = len(text)
	return clauses
}

func (q *Query) clause(c clause) (err error) {
	for _, t := range c.tokens {
		lower := strings.ToLower(t.text)
		if t.kind == wordToken && t.depth == 0 && lower != t.text && slices.Contains(clauseWords, lower) {
			return syntaxError(q.text, t.off, "keywords are written small: %s", lower)
		}
	}
	switch c.word {
	case "max", "min":
		var it item
		if it, err = q.item(c, true); err == nil {
			q.goals = []goal{{it, direction(c.word)}}
		}
	case "pareto":
		q.goals, err = q.goalList(c)
		if err == nil && len(q.goals) < 2 {
			err = syntaxError(q.text, c.off, "pareto wants two goals or more: pareto max a, min b")
		}
	case "show":
		q.show, err = q.items(c, true)
	case "count":
		if len(c.tokens) > 0 {
			err = syntaxError(q.text, c.tokens[0].off, "count takes no value: write count where …")
		}
	case "first", "last", "at", "change":
		err = q.curveVerb(c)
	case "along":
		q.along, err = q.item(c, false)
	case "per":
		q.per, err = q.unit(c)
	case "over":
		q.over, err = parseExpression(q.text, c.start, c.end, c.word)
	case "weights":
		q.weights, err = q.weightList(c)
	case "where":
		q.where, err = parseExpression(q.text, c.start, c.end, c.word)
	case "by":
		q.by, err = q.items(c, false)
	case "vs":
		q.vs, err = parseExpression(q.text, c.start, c.end, c.word)
	case "on":
		q.on, err = q.items(c, false)
	case "having":
		q.having, err = parseExpression(q.text, c.start, c.end, c.word)
	case "prefer":
		q.prefer, err = q.goalList(c)
	case "order":
		q.order, err = q.orderList(c)
	case "top":
		q.topOff = c.off
		q.top, err = q.count(c)
	case "limit":
		q.limit, err = q.count(c)
	case "within":
		err = q.tolerance(c)
	default:
		err = syntaxError(q.text, c.off, "%s does not fit here", c.word)
	}
	return err
}

func direction(word string) core.Better {
	if word == "min" {
		return core.LowerBetter
	}
	return core.HigherBetter
}

// parts cuts a clause at its top-level commas.
func (c clause) parts() []clause {
	part := clause{word: c.word, off: c.off, start: c.start}
	var all []clause
	for _, t := range c.tokens {
		if t.text == "," && t.depth == 0 && t.kind == symbolToken {
			part.end = t.off
			all = append(all, part)
			part = clause{word: c.word, off: c.off, start: t.end()}
			continue
		}
		part.tokens = append(part.tokens, t)
	}
	part.end = c.end
	return append(all, part)
}

// item reads "value" or "value as name".
func (q *Query) item(c clause, named bool) (item, error) {
	end, name := c.end, ""
	if n := len(c.tokens); named && n >= 1 {
		for i, t := range c.tokens {
			if t.kind != wordToken || t.text != "as" || t.depth != 0 || (i > 0 && c.tokens[i-1].text == ".") {
				continue
			}
			if i+2 != n {
				return item{}, syntaxError(q.text, t.off, "as wants one name at the end of the column")
			}
			switch last := c.tokens[n-1]; last.kind {
			case wordToken:
				name = last.text
			case textToken:
				name = last.text[1 : len(last.text)-1]
			default:
				return item{}, syntaxError(q.text, last.off, "as wants a name")
			}
			end = t.off
		}
	}
	e, err := parseExpression(q.text, c.start, end, c.word)
	if err != nil {
		return item{}, err
	}
	if name == "" {
		name = e.text
	}
	return item{e, name}, nil
}

func (q *Query) items(c clause, named bool) ([]item, error) {
	var items []item
	for _, part := range c.parts() {
		it, err := q.item(part, named)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(items, func(o item) bool { return o.name == it.name }) {
			return nil, syntaxError(q.text, it.off, "%s stands twice in %s", it.name, c.word)
		}
		items = append(items, it)
	}
	return items, nil
}

func (q *Query) goalList(c clause) ([]goal, error) {
	var goals []goal
	for _, part := range c.parts() {
		if len(part.tokens) == 0 || (part.tokens[0].text != "max" && part.tokens[0].text != "min") {
			off := part.start
			if len(part.tokens) > 0 {
				off = part.tokens[0].off
			}
			return nil, syntaxError(q.text, off, "a goal of %s begins with max or min", c.word)
		}
		word := part.tokens[0]
		part.word, part.start, part.tokens = word.text, word.end(), part.tokens[1:]
		it, err := q.item(part, false)
		if err != nil {
			return nil, err
		}
		goals = append(goals, goal{it, direction(word.text)})
	}
	return goals, nil
}

func (q *Query) orderList(c clause) ([]orderItem, error) {
	if len(c.tokens) == 0 || c.tokens[0].text != "by" {
		return nil, syntaxError(q.text, c.off, "order wants by: order by total_tps desc")
	}
	c.start, c.tokens = c.tokens[0].end(), c.tokens[1:]
	c.word = "order by"
	var order []orderItem
	for _, part := range c.parts() {
		var o orderItem
		if n := len(part.tokens); n > 1 {
			last, before := part.tokens[n-1], part.tokens[n-2]
			if (last.text == "asc" || last.text == "desc") && last.kind == wordToken && before.text != "." {
				o.desc = last.text == "desc"
				part.end = last.off
			}
		}
		it, err := q.item(part, false)
		if err != nil {
			return nil, err
		}
		o.item = it
		order = append(order, o)
	}
	return order, nil
}

// count reads the whole number of top and limit.
func (q *Query) count(c clause) (int, error) {
	if len(c.tokens) == 1 && c.tokens[0].kind == numberToken {
		if n, err := strconv.Atoi(c.tokens[0].text); err == nil && n > 0 {
			return n, nil
		}
	}
	off := c.off
	if len(c.tokens) > 0 {
		off = c.tokens[0].off
	}
	return 0, syntaxError(q.text, off, "%s wants a whole number above 0", c.word)
}

// unit reads the word of per.
func (q *Query) unit(c clause) (string, error) {
	if len(c.tokens) == 1 && (c.tokens[0].text == "setup" || c.tokens[0].text == "config") {
		return c.tokens[0].text, nil
	}
	off := c.off
	if len(c.tokens) > 0 {
		off = c.tokens[0].off
	}
	err := syntaxError(q.text, off, "per wants setup or config, whose repeats it combines")
	if len(c.tokens) > 0 {
		switch word := c.tokens[0].text; {
		case word == "gpu" || word == "gpus":
			err.Msg += "; a rate for each GPU is output_tps_per_gpu, or total_tps / gpus"
		case word == "dollar" || word == "usd" || word == "token":
			err.Msg += "; money and energy are fields: usd_per_mtok_output, joules_per_output_token"
		default:
			if _, ok := core.LookupField(word); ok {
				err.Msg += "; groups are made by: by " + word
			}
		}
	}
	return "", err
}

// tolerance reads a percentage or noise.
func (q *Query) tolerance(c clause) error {
	if len(c.tokens) == 1 && c.tokens[0].text == "noise" {
		q.noise = true
		return nil
	}
	if len(c.tokens) == 2 && c.tokens[0].kind == numberToken && c.tokens[1].text == "%" {
		if p, err := strconv.ParseFloat(c.tokens[0].text, 64); err == nil && p > 0 && p < 100 {
			q.within = p / 100
			return nil
		}
	}
	off := c.off
	if len(c.tokens) > 0 {
		off = c.tokens[0].off
	}
	return syntaxError(q.text, off, "within wants a percentage between 0%% and 100%%: within 2%%, or noise")
}
