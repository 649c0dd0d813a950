package manifest

import (
	"fmt"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"

	"github.com/sweepbook/sweepbook/core"
)

// FileError is a fault of a manifest, at a line and column.
type FileError struct {
	File      string
	Line, Col int
	Msg       string
}

func (e *FileError) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %s", e.File, e.Msg)
	}
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Col, e.Msg)
}

// Unwrap makes every fault of a file core.ErrInvalid.
func (e *FileError) Unwrap() error { return core.ErrInvalid }

// A reader keeps the first fault, so that a sequence of reads needs one check at
// its end.
type reader struct {
	file string
	err  *FileError
}

func (r *reader) fail(at ast.Node, format string, args ...any) {
	if r.err != nil {
		return
	}
	r.err = &FileError{File: r.file, Msg: fmt.Sprintf(format, args...)}
	if at != nil && at.GetToken() != nil && at.GetToken().Position != nil {
		r.err.Line, r.err.Col = at.GetToken().Position.Line, at.GetToken().Position.Column
	}
}

// node is one value of the file together with its place.
type node struct {
	in  *reader
	ast ast.Node
	key string // path for messages, "ready.timeout"
}

func (n node) fail(format string, args ...any) {
	n.in.fail(n.ast, "%s: %s", n.key, fmt.Sprintf(format, args...))
}

// each hands the keys of a mapping to a function, in file order.
func (n node) each(read func(name string, at ast.Node, value node)) {
	var values []*ast.MappingValueNode
	switch m := n.ast.(type) {
	case *ast.MappingNode:
		values = m.Values
	case *ast.MappingValueNode:
		values = []*ast.MappingValueNode{m}
	default:
		n.in.fail(n.ast, "%s: want a mapping (key: value), got %s", orTop(n.key), kindName(n.ast))
		return
	}
	seen := map[string]bool{}
	for _, v := range values {
		name := scalar(v.Key)
		if seen[name] {
			n.in.fail(v.Key, "key %q stands twice", name)
		}
		seen[name] = true
		read(name, v.Key, node{n.in, v.Value, strings.TrimPrefix(n.key+"."+name, ".")})
	}
}

func orTop(key string) string {
	if key == "" {
		return "the file"
	}
	return key
}

// mapping reads a mapping whose keys are known; any other key is a fault that
// names the nearest.
func (n node) mapping(known map[string]func(node)) {
	n.each(func(name string, at ast.Node, value node) {
		if read, ok := known[name]; ok {
			read(value)
			return
		}
		names := make([]string, 0, len(known))
		for k := range known {
			names = append(names, k)
		}
		hint := ""
		if near := core.NearestNames(name, names); len(near) > 0 {
			hint = "; did you mean " + strings.Join(near, ", ") + "?"
		}
		n.in.fail(at, "unknown key %q in %s%s", name, orTop(n.key), hint)
	})
}

// list reads a list; a single text is a list of one.
func (n node) list() []node {
	seq, ok := n.ast.(*ast.SequenceNode)
	if !ok {
		if _, text := n.ast.(*ast.StringNode); text {
			return []node{n}
		}
		n.fail("want a list, got %s", kindName(n.ast))
		return nil
	}
	var out []node
	for i, v := range seq.Values {
		out = append(out, node{n.in, v, fmt.Sprintf("%s[%d]", n.key, i)})
	}
	return out
}

func (n node) isList() bool {
	_, ok := n.ast.(*ast.SequenceNode)
	return ok
}

func (n node) texts() []string {
	var out []string
	for _, item := range n.list() {
		out = append(out, item.text())
	}
	return out
}

// text reads a scalar as it is written: 0.10 stays what it is.
func (n node) text() string {
	switch n.ast.(type) {
	case *ast.MappingNode, *ast.MappingValueNode:
		n.fail(`want a text, got a mapping; a placeholder is written in quotes: "{port}"`)
		return ""
	case *ast.SequenceNode, *ast.NullNode, *ast.AliasNode, *ast.AnchorNode, *ast.TagNode, nil:
		n.fail("want a text, got %s", kindName(n.ast))
		return ""
	}
	s := scalar(n.ast)
	switch {
	case s == "":
		n.fail("it is empty")
	case strings.ContainsAny(s, "\x00\n\r"):
		n.fail("it holds a line break")
	}
	return s
}

// value reads a scalar with its own type: 512, true, "auto".
func (n node) value() core.Value {
	if s, ok := n.ast.(*ast.StringNode); ok {
		return core.String(s.Value)
	}
	return core.ParseValue(n.text())
}

func (n node) number() float64 {
	v := n.value()
	if v.Kind != core.KindNumber || v.IsUnlimited() {
		n.fail("want a number, got %q", v)
	}
	return v.Num
}

func (n node) boolean() bool {
	v := n.value()
	if v.Kind != core.KindBool {
		n.fail("want true or false, got %q", v)
	}
	return v.True()
}

// duration reads 20m, 1h30m, 90s.
func (n node) duration() time.Duration {
	const longest = 24 * time.Hour
	s := n.text()
	d, err := time.ParseDuration(s)
	if err != nil || d <= 0 || d > longest {
		n.fail("want a duration up to 24h such as 20m or 90s, got %q", s)
	}
	return d
}

func scalar(n ast.Node) string {
	switch t := n.(type) {
	case *ast.StringNode:
		return t.Value
	case *ast.LiteralNode:
		return t.Value.Value
	case nil:
		return ""
	default:
		return t.GetToken().Value
	}
}

func kindName(n ast.Node) string {
	switch n.(type) {
	case *ast.MappingNode, *ast.MappingValueNode:
		return "a mapping"
	case *ast.SequenceNode:
		return "a list"
	case *ast.AliasNode, *ast.AnchorNode, *ast.TagNode:
		return "an anchor, alias or tag: write the value here"
	case *ast.NullNode, nil:
		return "nothing"
	}
	return fmt.Sprintf("%q", scalar(n))
}
