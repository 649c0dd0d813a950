package ingest

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/sweepbook/sweepbook/core"
)

// pathPattern takes fields from the end of a path:
//
//	{gpu}/{model}_tp{tp}_c{concurrency}/*.json
//
// {field} stands for text within one part of the path, {} for text that is
// nothing, * and ? are as in a shell. The pattern has as many parts as it names;
// folders above them do not matter.
type pathPattern struct {
	text   string
	parts  int
	re     *regexp.Regexp
	fields []string // of the groups
}

var placeholder = regexp.MustCompile(`\{([^{}]*)\}`)

// CheckPattern reports whether a pattern can be used: its fields exist and may be
// set, each once.
func CheckPattern(text string) error {
	_, err := parsePattern(text)
	return err
}

func parsePattern(text string) (*pathPattern, error) {
	p := &pathPattern{text: text}
	slashed := strings.Trim(filepath.ToSlash(text), "/")
	wrong := func(err error) error { return fmt.Errorf("pattern %q: %w", text, err) }
	if slashed == "" || len(slashed) > 1000 {
		return nil, wrong(fmt.Errorf("%w: want a path with {field} in it", core.ErrInvalid))
	}
	p.parts = strings.Count(slashed, "/") + 1
	var re strings.Builder
	re.WriteString("^")
	last := 0
	for _, at := range placeholder.FindAllStringSubmatchIndex(slashed, -1) {
		re.WriteString(globPart(slashed[last:at[0]]))
		last = at[1]
		name := strings.TrimSpace(slashed[at[2]:at[3]])
		if name == "" {
			re.WriteString(`[^/]*?`)
			continue
		}
		if other, ok := settingNames[name]; ok {
			name = other
		}
		if err := settable(name); err != nil {
			return nil, wrong(err)
		}
		if slices.Contains(p.fields, name) {
			return nil, wrong(fmt.Errorf("%w: {%s} stands twice", core.ErrInvalid, name))
		}
		p.fields = append(p.fields, name)
		if f, _ := core.LookupField(name); f.Type == core.NumberType {
			re.WriteString(`(\d+(?:\.\d+)?|inf|unlimited|none)`)
		} else {
			re.WriteString(`([^/]+?)`)
		}
	}
	re.WriteString(globPart(slashed[last:]) + "$")
	if len(p.fields) == 0 {
		return nil, wrong(fmt.Errorf("%w: no {field} in it", core.ErrInvalid))
	}
	if strings.ContainsAny(placeholder.ReplaceAllString(slashed, ""), "{}") {
		return nil, wrong(fmt.Errorf("%w: a brace without its partner", core.ErrInvalid))
	}
	var err error
	if p.re, err = regexp.Compile(re.String()); err != nil {
		return nil, wrong(err)
	}
	return p, nil
}

// globPart turns shell wildcards into an expression that stays within one part.
func globPart(text string) string {
	text = regexp.QuoteMeta(text)
	text = strings.ReplaceAll(text, `\*`, `[^/]*`)
	return strings.ReplaceAll(text, `\?`, `[^/]`)
}

// match gives the fields of a path.
func (p *pathPattern) match(path string) (map[string]string, bool) {
	parts := strings.Split(filepath.ToSlash(path), "/")
	if len(parts) < p.parts {
		return nil, false
	}
	m := p.re.FindStringSubmatch(strings.Join(parts[len(parts)-p.parts:], "/"))
	if m == nil {
		return nil, false
	}
	out := map[string]string{}
	for i, name := range p.fields {
		out[name] = m[i+1]
	}
	return out, true
}

// apply sets the fields of the path. What the file itself says of its load and
// lengths counts more, because the tool wrote it; a disagreement is told. Of the
// rest (GPU, model, engine, stage …) the path counts more, because a person named
// it and the file knows at most what a client was told; only a fuller form of the
// same name stays.
func (p *pathPattern) apply(t *core.Trial, path string) (warnings []string) {
	fields, ok := p.match(path)
	if !ok {
		return []string{fmt.Sprintf("the path does not match the pattern %s: no field is taken from it", p.text)}
	}
	var taken []string
	for _, name := range p.fields {
		text := fields[name]
		if text == "none" {
			text = "unlimited"
		}
		f, _ := core.LookupField(name)
		old := t.Value(name)
		stated := f.Group == core.GroupAsked || f.Group == core.GroupLoad || f.Measured()
		if stated && !old.IsMissing() {
			if old.String() != setting(text).String() {
				warnings = append(warnings, fmt.Sprintf("the path says %s=%s, the file %s: the file counts", name, text, old))
			}
			continue
		}
		if known := strings.ToLower(old.String()); !stated && known != "" && strings.Contains(known, strings.ToLower(text)) {
			continue // "h100" is said more fully already
		}
		if !setTyped(t, name, text) {
			warnings = append(warnings, fmt.Sprintf("the path says %s=%s, which is no value of this field", name, text))
			continue
		}
		taken = append(taken, name)
	}
	if len(taken) > 0 {
		t.Extra = setExtra(t.Extra, "from_path", core.String(strings.Join(taken, ",")))
	}
	return warnings
}
