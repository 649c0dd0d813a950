package query

import (
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/conf"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/parser"
)

// expression is one value or condition: a stretch of the query and its tree. The
// tree is what the parser made, never an optimised one, because optimisers rewrite
// what errors and columns must still recognise.
type expression struct {
	query string
	off   int    // byte offset in query
	text  string // as typed, without blanks around it
	root  ast.Node
}

// parseExpression parses query[start:end]. what names it in messages ("where",
// "max").
func parseExpression(query string, start, end int, what string) (*expression, error) {
	for start < end && strings.ContainsRune(" \t\r\n", rune(query[start])) {
		start++
	}
	text := strings.TrimSpace(query[start:end])
	if text == "" {
		return nil, syntaxError(query, start, "%s wants an expression", what)
	}
	e := &expression{query: query, off: start, text: text}
	tree, err := parser.ParseWithConfig(text, parserConfig())
	if err != nil {
		return nil, e.parseError(err)
	}
	e.root = tree.Node
	return e, nil
}

// parserConfig keeps the parser from reading our functions as expr-lang's own,
// some of which take closures.
func parserConfig() *conf.Config {
	c := &conf.Config{MaxNodes: conf.DefaultMaxNodes, Functions: conf.FunctionsTable{}}
	for _, f := range functions {
		c.Functions[f.name] = nil
	}
	return c
}

func (e *expression) parseError(err error) error {
	var fe *file.Error
	if !errors.As(err, &fe) {
		return syntaxError(e.query, e.off, "%v", err)
	}
	msg := fe.Message
	off := e.byteOffset(fe.From)
	if strings.HasPrefix(msg, "invalid integer literal") {
		msg = "a whole number this large is written with an exponent: 1e20"
	}
	if token, ok := strings.CutPrefix(msg, "unexpected token "); ok {
		if token == "EOF" {
			msg = "the expression ends too early"
			if strings.HasSuffix(e.text, "%") {
				msg += ": % is the remainder of a division; a share is written as a fraction, 0.99"
			}
			return syntaxError(e.query, e.off+len(e.text), "%s", msg)
		}
		// A token prints as Kind("text").
		if _, quoted, ok := strings.Cut(token, "("); ok {
			token = strings.TrimSuffix(quoted, ")")
		}
		msg = "unexpected " + token
		if habit := e.habit(off); habit != "" {
			msg += ": " + habit
		}
	}
	return syntaxError(e.query, off, "%s", lowerFirst(msg))
}

// habit is what to write instead of the word at an offset, or of the one before it.
func (e *expression) habit(off int) string {
	before, at := e.query[e.off:off], e.query[off:e.off+len(e.text)]
	if strings.HasPrefix(at, "*") && strings.TrimSpace(before) == "" {
		return "columns are named one by one, sweepbook fields lists them; sweepbook show TRIAL prints a whole trial"
	}
	word := leadingWord(at)
	if habit := clauseHabit(word, ""); habit != "" {
		return habit
	}
	words := strings.Fields(before)
	if len(words) == 0 {
		return ""
	}
	return clauseHabit(words[len(words)-1], word)
}

func leadingWord(s string) string {
	end := strings.IndexFunc(s, func(r rune) bool { return !isWordRune(r) })
	if end < 0 {
		end = len(s)
	}
	return s[:end]
}

func lowerFirst(s string) string {
	if s == "" {
		return s
	}
	return strings.ToLower(s[:1]) + s[1:]
}

// byteOffset turns the parser's rune index within the expression into a byte
// offset within the query.
func (e *expression) byteOffset(runes int) int {
	off := 0
	for ; runes > 0 && off < len(e.text); runes-- {
		_, size := utf8.DecodeRuneInString(e.text[off:])
		off += size
	}
	return e.off + off
}

// at is the place of a node's own sign or name.
func (e *expression) at(n ast.Node) int { return e.byteOffset(n.Location().From) }

// start is the place of the leftmost part of a node.
func (e *expression) start(n ast.Node) int {
	switch n := n.(type) {
	case *ast.BinaryNode:
		return e.start(n.Left)
	case *ast.ConditionalNode:
		return e.start(n.Cond)
	case *ast.MemberNode:
		return e.start(n.Node)
	case *ast.CallNode:
		return e.start(n.Callee)
	}
	return e.at(n)
}

func (e *expression) errorf(off int, format string, args ...any) *SyntaxError {
	return syntaxError(e.query, off, format, args...)
}

// conjuncts are the conditions that stand joined by and at the top of a tree.
func conjuncts(n ast.Node) []ast.Node {
	if b, ok := n.(*ast.BinaryNode); ok && (b.Operator == "and" || b.Operator == "&&") {
		return append(conjuncts(b.Left), conjuncts(b.Right)...)
	}
	return []ast.Node{n}
}
