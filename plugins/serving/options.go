package serving

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sweepbook/sweepbook/core"
)

// optionTree is a file of options: nested mappings with scalars and lists.
type optionTree map[string]any

// number is a scalar that is written as it is.
type number string

// optionOf turns a checked value into what the file holds.
func optionOf(kind core.FlagKind, v core.Value) any {
	switch kind {
	case core.SwitchFlag:
		return v.True()
	case core.NumberFlag, core.WholeFlag, core.SizeFlag:
		return number(v.String())
	case core.ListFlag:
		var list []any
		for _, item := range strings.Fields(v.Text) {
			list = append(list, number(item))
		}
		return list
	case core.JSONFlag:
		dec := json.NewDecoder(strings.NewReader(v.Text))
		dec.UseNumber()
		var x any
		if dec.Decode(&x) == nil {
			return x
		}
	}
	return v.String()
}

// set places a value at a dotted path. Two settings of one place, or a setting
// inside of a scalar, are errors.
func (t optionTree) set(path string, v any) error {
	node := map[string]any(t)
	parts := strings.Split(path, ".")
	for i, key := range parts {
		if key == "" {
			return fmt.Errorf("%w: %q is no path of options", core.ErrInvalid, path)
		}
		if i == len(parts)-1 {
			return merge(node, key, v, path)
		}
		next, ok := node[key]
		if !ok {
			next = map[string]any{}
			node[key] = next
		}
		m, ok := next.(map[string]any)
		if !ok {
			return fmt.Errorf("%w: %s is given both as a value and as a mapping", core.ErrInvalid, strings.Join(parts[:i+1], "."))
		}
		node = m
	}
	return nil
}

func merge(node map[string]any, key string, v any, path string) error {
	old, taken := node[key]
	if !taken {
		node[key] = v
		return nil
	}
	into, ok1 := old.(map[string]any)
	from, ok2 := v.(map[string]any)
	if !ok1 || !ok2 {
		return fmt.Errorf("%w: %s is given twice", core.ErrInvalid, path)
	}
	for _, k := range slices.Sorted(maps.Keys(from)) {
		if err := merge(into, k, from[k], path+"."+k); err != nil {
			return err
		}
	}
	return nil
}

// yaml writes the tree in block style with its keys in order.
func (t optionTree) yaml() []byte {
	var b strings.Builder
	writeMapping(&b, t, 0)
	return []byte(b.String())
}

func writeMapping(b *strings.Builder, m map[string]any, depth int) {
	for _, key := range slices.Sorted(maps.Keys(m)) {
		fmt.Fprintf(b, "%s%s:", strings.Repeat("  ", depth), scalar(key))
		if child, ok := m[key].(map[string]any); ok && len(child) > 0 {
			b.WriteByte('\n')
			writeMapping(b, child, depth+1)
			continue
		}
		fmt.Fprintf(b, " %s\n", flow(m[key]))
	}
}

// flow writes a scalar, a list or an empty mapping on one line. A list of
// mappings takes the form of JSON, which is YAML too.
func flow(v any) string {
	switch v := v.(type) {
	case []any:
		items := make([]string, len(v))
		for i, x := range v {
			items[i] = flow(x)
		}
		return "[" + strings.Join(items, ", ") + "]"
	case map[string]any:
		var items []string
		for _, key := range slices.Sorted(maps.Keys(v)) {
			items = append(items, scalar(key)+": "+flow(v[key]))
		}
		return "{" + strings.Join(items, ", ") + "}"
	case string:
		return scalar(v)
	case json.Number:
		return decimal(v)
	case nil:
		return "null"
	}
	return fmt.Sprint(v)
}

// decimal writes a number without an exponent that lacks its point: YAML 1.1
// reads 1e-5 as a text.
func decimal(n json.Number) string {
	if f, err := n.Float64(); err == nil && strings.ContainsAny(string(n), "eE") {
		return core.Number(f).String()
	}
	return string(n)
}

// scalar quotes a text unless it is plainly a word that YAML takes for nothing
// else.
func scalar(s string) string {
	plain := s != ""
	for i, c := range s {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_'
		plain = plain && (letter || i > 0 && (c >= '0' && c <= '9' || strings.ContainsRune("-./", c)))
	}
	switch strings.ToLower(s) {
	case "true", "false", "yes", "no", "on", "off", "null", "y", "n":
		plain = false
	}
	if plain {
		return s
	}
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	// A text always has a JSON form.
	_ = enc.Encode(s)
	return strings.TrimSuffix(b.String(), "\n")
}
