package ingest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
)

// looksLikeJSON tells a document from a log line that begins with a bracket.
func looksLikeJSON(head []byte, _ *input) bool {
	head = bytes.TrimLeft(head, " \t\r\n")
	if len(head) < 2 {
		return false
	}
	next := bytes.TrimLeft(head[1:], " \t\r\n")
	switch head[0] {
	case '{':
		return len(next) > 0 && (next[0] == '"' || next[0] == '}')
	case '[':
		return len(next) > 0 && (next[0] == '{' || next[0] == ']')
	}
	return false
}

// objectReader hands the JSON objects of a file to their kinds.
type objectReader struct {
	in  *input
	out *collector
	// unknown are objects of no kind, and where the first stands.
	unknown, unknownLine int
	run                  *gathering // whose requests are objects of the file
	held                 string     // the file beside this one that holds its record
}

// unneeded are keys with texts of prompts and answers, which no record keeps.
func unneeded(key string) bool {
	switch key {
	case "generated_texts", "generated_text", "prompts", "texts", "cached_tokens_details":
		return true
	}
	return false
}

func readObjects(in *input, out *collector) error { return readObjectsAs(nil, in, out) }

// readObjectsAs reads every object of the file, as the forced kind or as the kind
// that its keys tell.
func readObjectsAs(forced *format, in *input, out *collector) error {
	r := &objectReader{in: in, out: out}
	kinds := formats()
	docs := newJSONReader(in.text, unneeded)
	for {
		v, line, err := docs.next()
		var broken *jsonError
		switch {
		case errors.As(err, &broken):
			out.begin()
			out.fail(broken.line, broken.message)
			continue
		case errors.Is(err, io.EOF):
			if docs.block > 0 {
				out.warn(docs.block, "a printed block stands in this file of JSON: read it with --format "+servingBlock)
			}
			return r.end(forced)
		case err != nil:
			return err
		}
		o, ok := v.(*object)
		if !ok {
			r.passOver(line)
			continue
		}
		kind := forced
		for i := range kinds {
			if kind == nil && kinds[i].is != nil && kinds[i].is(o) {
				kind = &kinds[i]
			}
		}
		switch {
		case kind != nil:
			kind.object(r, o)
		case in.mapsObject(o):
			readMappedObject(r, o)
		default:
			r.passOver(line)
		}
	}
}

// passOver notes a value that is no record of any kind.
func (r *objectReader) passOver(line int) {
	if r.unknown++; r.unknown == 1 {
		r.unknownLine = line
	}
}

// end tells once of all objects of no kind.
func (r *objectReader) end(forced *format) error {
	r.gathered()
	switch {
	case r.held != "" && r.out.met == 0:
	case r.out.met == 0:
		what := lookedFor()
		if forced != nil {
			what = forced.name
		}
		r.out.skip(0, "unknown content: JSON without a known result: looked for "+what)
	case r.unknown > 0:
		r.out.skip(r.unknownLine, fmt.Sprintf("%d JSON values of no known kind left out", r.unknown))
	}
	return nil
}

// isTwin recognises what vllm bench writes beside its result for PyTorch's
// dashboard: an entry a metric, with the same figures.
func isTwin(head []byte, in *input) bool {
	return strings.HasSuffix(in.name, ".pytorch.json") ||
		looksLikeJSON(head, in) && bytes.Contains(head, []byte(`"benchmark_values"`)) && bytes.Contains(head, []byte(`"extra_info"`))
}

func skipTwin(in *input, out *collector) error {
	out.skip(0, "twin of "+strings.TrimSuffix(in.name, ".pytorch.json")+".json for PyTorch's dashboard: it holds the same figures")
	return nil
}

// sweepPath are the folders of a sweep above a file.
func sweepPath(path string) (combination string, experiment string) {
	parts := strings.Split(filepath.ToSlash(path), "/")
	for i := len(parts) - 1; i >= 0; i-- {
		if strings.HasPrefix(parts[i], "SERVE-") {
			combination = parts[i]
			if i > 0 {
				experiment = parts[i-1]
			}
			return combination, experiment
		}
	}
	return "", ""
}
