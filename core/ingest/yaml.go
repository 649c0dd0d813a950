package ingest

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"

	"github.com/sweepbook/sweepbook/core"
)

// YAML is decoded by the caller (Options.YAML) and then read like JSON: the same
// kinds of objects, by the same keys.

// maxYAML bounds a YAML file, in bytes. Reports are a few hundred KiB.
const maxYAML = 8 << 20

// reportKeys begin the lines at the margin of a benchmark report of llm-d, of any
// version and in any order.
var reportKeys = regexp.MustCompile(`(?m)\A(?:\s*(?:#[^\n]*|---)\r?\n|\s*\n)*(?:version|run|scenario|results|metrics|metadata):`)

func looksLikeReportYAML(head []byte, _ *input) bool {
	return looksLikeText(head) && reportKeys.Match(head) && bytes.Contains(head, []byte(":"))
}

// readYAML reads the documents of a file as the kinds that their keys tell.
func readYAML(in *input, out *collector) error {
	if in.opt.YAML == nil {
		out.skip(0, "unknown content: YAML is not read here")
		return nil
	}
	data, err := io.ReadAll(io.LimitReader(in.text, maxYAML+1))
	switch {
	case err != nil:
		return err
	case len(data) > maxYAML:
		return fmt.Errorf("YAML: %w: longer than %d MiB", core.ErrInvalid, maxYAML>>20)
	}
	docs, err := in.yaml(data)
	if err != nil {
		out.begin()
		out.fail(0, err.Error())
		return nil
	}
	r := &objectReader{in: in, out: out}
	kinds := formats()
	for _, doc := range docs {
		o, ok := doc.(*object)
		at := slices.IndexFunc(kinds, func(f format) bool { return ok && f.is != nil && f.is(o) })
		if at < 0 {
			r.passOver(1)
			continue
		}
		kinds[at].object(r, o)
	}
	return r.end(nil)
}

// yaml decodes a text into what the readers of JSON take.
func (in *input) yaml(data []byte) ([]any, error) {
	if in.opt.YAML == nil {
		return nil, fmt.Errorf("YAML: %w: not read here", core.ErrInvalid)
	}
	docs, err := in.opt.YAML(data)
	if err != nil {
		return nil, fmt.Errorf("YAML: %w: %w", core.ErrInvalid, err)
	}
	room := maxYAMLValues
	for i := range docs {
		if docs[i], err = plainValue(docs[i], 0, &room); err != nil {
			return nil, fmt.Errorf("YAML: %w: %w", core.ErrInvalid, err)
		}
	}
	return docs, nil
}

// maxYAMLValues bounds the values of a YAML text, which references may multiply.
const maxYAMLValues = 1 << 20

// plainValue makes numbers float64, maps *object and lists of numbers []float64.
func plainValue(v any, depth int, room *int) (any, error) {
	if *room--; *room < 0 {
		return nil, fmt.Errorf("more than %d values", maxYAMLValues)
	}
	if depth > maxDepth {
		return nil, fmt.Errorf("nested deeper than %d levels", maxDepth)
	}
	switch v := v.(type) {
	case nil, bool, float64:
		return v, nil
	case string:
		return clip(v, maxText), nil
	case int:
		return float64(v), nil
	case int64:
		return float64(v), nil
	case uint64:
		return float64(v), nil
	case float32:
		return float64(v), nil
	case map[string]any:
		o := &object{line: 1}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			inner, err := plainValue(v[key], depth+1, room)
			if err != nil {
				return nil, err
			}
			o.set(clip(key, 1000), inner)
		}
		return o, nil
	case []any:
		return plainList(v, depth, room)
	case fmt.Stringer:
		return clip(v.String(), maxText), nil
	}
	return nil, nil // a key that is no text, and the like
}

func plainList(list []any, depth int, room *int) (any, error) {
	out, numbers := make([]any, len(list)), make([]float64, 0, len(list))
	for i := range list {
		inner, err := plainValue(list[i], depth+1, room)
		if err != nil {
			return nil, err
		}
		out[i] = inner
		if f, ok := inner.(float64); ok {
			numbers = append(numbers, f)
		}
	}
	if len(numbers) == len(list) && len(list) > 0 {
		return numbers, nil
	}
	return out, nil
}

// isoDuration reads "PT49.97S", seconds as llm-d reports write a duration.
func isoDuration(s string) (seconds float64, ok bool) {
	m := durationText.FindStringSubmatch(s)
	if m == nil {
		return 0, false
	}
	for i, scale := range []float64{3600, 60, 1} {
		if m[i+1] != "" {
			f, err := strconv.ParseFloat(m[i+1], 64)
			if err != nil {
				return 0, false
			}
			seconds, ok = seconds+f*scale, true
		}
	}
	return seconds, ok
}

var durationText = regexp.MustCompile(`^PT(?:(\d+(?:\.\d+)?)H)?(?:(\d+(?:\.\d+)?)M)?(?:(\d+(?:\.\d+)?)S)?$`)
