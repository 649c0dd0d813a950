package study

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"

	"github.com/sweepbook/sweepbook/core"
)

// FileError is a fault in a study file, at a line and column.
type FileError struct {
	File      string
	Line, Col int
	Msg       string
	Cause     error // what the message says, where another package found it
}

func (e *FileError) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %s", e.File, e.Msg)
	}
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Col, e.Msg)
}

// Unwrap makes every fault of a file core.ErrInvalid and keeps its cause.
func (e *FileError) Unwrap() []error {
	if e.Cause == nil {
		return []error{core.ErrInvalid}
	}
	return []error{core.ErrInvalid, e.Cause}
}

// node is one value of the file together with its place. Reads collect the first
// error in the reader, so that a sequence of reads needs one check at its end.
type node struct {
	in  *reader
	ast ast.Node
	key string // path for messages, "run.timeouts.ready"
}

type reader struct {
	file string
	err  error
}

func (r *reader) fail(at ast.Node, format string, args ...any) {
	if r.err != nil {
		return
	}
	e := &FileError{File: r.file, Msg: fmt.Sprintf(format, args...)}
	if at != nil && at.GetToken() != nil && at.GetToken().Position != nil {
		e.Line, e.Col = at.GetToken().Position.Line, at.GetToken().Position.Column
	}
	r.err = e
}

func (n node) fail(format string, args ...any) { n.in.fail(n.ast, format, args...) }

// pair is one key of a mapping.
type pair struct {
	name  string
	at    ast.Node
	value node
}

// pairs returns the keys of a mapping in file order; anything else is a fault.
func (n node) pairs() []pair {
	var values []*ast.MappingValueNode
	switch m := unwrap(n.ast).(type) {
	case nil, *ast.NullNode:
		return nil
	case *ast.MappingNode:
		values = m.Values
	case *ast.MappingValueNode:
		values = []*ast.MappingValueNode{m}
	default:
		n.fail("%s: want a mapping (key: value), got %s", n.key, kindName(m))
		return nil
	}
	var out []pair
	seen := map[string]bool{}
	for _, v := range values {
		name := scalarText(v.Key)
		if seen[name] {
			n.in.fail(v.Key, "key %q stands twice", name)
		}
		seen[name] = true
		out = append(out, pair{name, v.Key, node{n.in, v.Value, join(n.key, name)}})
	}
	return out
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// mapping reads a mapping whose keys are known: each key found is handed to its
// function, any other is a fault that names the nearest.
func (n node) mapping(known map[string]func(node)) {
	for _, p := range n.pairs() {
		if read, ok := known[p.name]; ok {
			read(p.value)
			continue
		}
		names := make([]string, 0, len(known))
		for name := range known {
			names = append(names, name)
		}
		n.in.fail(p.at, "unknown key %q%s%s", p.name, within(n.key), didYouMean(p.name, names))
	}
}

func within(key string) string {
	if key == "" {
		return ""
	}
	return " in " + key
}

func didYouMean(name string, known []string) string {
	if near := core.NearestNames(name, known); len(near) > 0 {
		return "; did you mean " + strings.Join(near, ", ") + "?"
	}
	return ""
}

// items returns the elements of a list.
func (n node) items() []node {
	seq, ok := unwrap(n.ast).(*ast.SequenceNode)
	if !ok {
		n.fail("%s: want a list, got %s", n.key, kindName(n.ast))
		return nil
	}
	var out []node
	for i, v := range seq.Values {
		out = append(out, node{n.in, v, fmt.Sprintf("%s[%d]", n.key, i)})
	}
	return out
}

func (n node) isList() bool {
	_, ok := unwrap(n.ast).(*ast.SequenceNode)
	return ok
}

// unwrap passes over anchors and tags.
func unwrap(n ast.Node) ast.Node {
	switch t := n.(type) {
	case *ast.AnchorNode:
		return unwrap(t.Value)
	case *ast.TagNode:
		return unwrap(t.Value)
	}
	return n
}

func scalarText(n ast.Node) string {
	switch t := unwrap(n).(type) {
	case *ast.StringNode:
		return t.Value
	case *ast.LiteralNode:
		return t.Value.Value
	case *ast.NullNode:
		return ""
	case nil:
		return ""
	default:
		return t.GetToken().Value
	}
}

func (n node) isScalar() bool {
	switch unwrap(n.ast).(type) {
	case *ast.AliasNode:
		n.fail("%s: aliases are not read; write the value here", n.key)
	case *ast.MappingNode, *ast.MappingValueNode, *ast.SequenceNode:
		return false
	}
	return true
}

// text reads a scalar as it is written: 0.11.0 and 0.11 stay what they are.
func (n node) text() string {
	if !n.isScalar() {
		n.fail("%s: want a text, got %s", n.key, kindName(n.ast))
		return ""
	}
	return scalarText(n.ast)
}

func (n node) texts() []string {
	var out []string
	for _, item := range n.items() {
		out = append(out, item.text())
	}
	return out
}

// value reads a scalar with its own type: 512, true, "auto", unlimited.
func (n node) value() core.Value {
	if !n.isScalar() {
		n.fail("%s: want a single value, got %s", n.key, kindName(n.ast))
		return core.Missing()
	}
	if s, ok := unwrap(n.ast).(*ast.StringNode); ok {
		if s.Value == "unlimited" || s.Value == "inf" {
			return core.Unlimited()
		}
		return core.String(s.Value)
	}
	return core.ParseValue(scalarText(n.ast))
}

// number reads a finite number.
func (n node) number() float64 {
	f, err := strconv.ParseFloat(n.text(), 64)
	if err != nil || math.IsNaN(f) || math.IsInf(f, 0) || f < 0 {
		n.fail("%s: want a number of at least 0, got %q", n.key, n.text())
	}
	return f
}

// share reads a share of one: 0.005, 0.5%.
func (n node) share() float64 {
	text, percent := strings.CutSuffix(n.text(), "%")
	f, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if percent {
		f /= 100
	}
	if err != nil || !(f > 0 && f < 1) {
		n.fail("%s: want a share such as 0.5%% or 0.005, got %q", n.key, n.text())
	}
	return f
}

// maxCount is what no request, token or repeat count of a study comes near.
const maxCount = 100_000_000

// count reads a whole number of at least low.
func (n node) count(low int) int {
	i, err := strconv.Atoi(n.text())
	if err != nil || i < low || i > maxCount {
		n.fail("%s: want a whole number of at least %d, got %q", n.key, low, n.text())
	}
	return i
}

// limit reads a positive number or unlimited.
func (n node) limit() core.Value {
	v := n.value()
	if v.Kind != core.KindNumber || v.Num <= 0 {
		n.fail("%s: want a positive number or unlimited, got %q", n.key, n.text())
	}
	return v
}

// duration reads 20m, 1h30m, 90s.
func (n node) duration() time.Duration {
	d, err := time.ParseDuration(n.text())
	if err != nil || d <= 0 {
		n.fail("%s: want a duration such as 20m or 90s, got %q", n.key, n.text())
	}
	return d
}

// age reads 14d, 36h.
func (n node) age() time.Duration {
	days, inDays := strings.CutSuffix(n.text(), "d")
	if i, err := strconv.Atoi(days); inDays && err == nil && i > 0 && i <= 36500 {
		return time.Duration(i) * 24 * time.Hour
	}
	d, err := time.ParseDuration(n.text())
	if err != nil || d <= 0 {
		n.fail("%s: want an age such as 14d or 36h, got %q", n.key, n.text())
	}
	return d
}

func (n node) boolean() bool {
	v := n.value()
	if v.Kind != core.KindBool {
		n.fail("%s: want true or false, got %q", n.key, n.text())
	}
	return v.True()
}

func kindName(n ast.Node) string {
	switch unwrap(n).(type) {
	case *ast.MappingNode, *ast.MappingValueNode:
		return "a mapping"
	case *ast.SequenceNode:
		return "a list"
	case *ast.NullNode, nil:
		return "nothing"
	}
	return fmt.Sprintf("%q", scalarText(n))
}
