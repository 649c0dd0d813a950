package ingest

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/sweepbook/sweepbook/core"
)

// format is one kind of content. A new kind is one more entry in formats.
type format struct {
	name     string
	looksFor string // completes "looked for …"
	// match reports whether the content is of this kind, from its first bytes
	// (UTF-8) and the file's base name.
	match func(head []byte, name string) bool
	read  func(in *input, out *collector) error
}

// formats lists the kinds in the order in which they are tried: text that is
// nothing more special comes last.
func formats() []format {
	return []format{
		{
			name:     "records",
			looksFor: `exports of sweepbook ("sweepbook":1 in each line)`,
			match: func(head []byte, _ string) bool {
				return bytes.HasPrefix(bytes.TrimLeft(head, " \t\r\n"), []byte(`{"sweepbook":`))
			},
			read: readRecords,
		},
		{
			name:     "serving-block",
			looksFor: `printed "Serving Benchmark Result" blocks (vllm bench serve, sglang.bench_serving, TensorRT-LLM benchmark_serving, guidellm reprints)`,
			match:    func(head []byte, _ string) bool { return looksLikeText(head) },
			read:     readServingBlocks,
		},
	}
}

// chooseFormat gives the forced format, the one that matches, or nil.
func chooseFormat(in *input) (*format, error) {
	all := formats()
	if in.opt.Format != "" {
		var names []string
		for i := range all {
			if all[i].name == in.opt.Format {
				return &all[i], nil
			}
			names = append(names, all[i].name)
		}
		return nil, fmt.Errorf("format %q: %w: known are %s", in.opt.Format, core.ErrInvalid, strings.Join(names, ", "))
	}
	head, err := in.head()
	if err != nil {
		return nil, err
	}
	for i := range all {
		if all[i].match(head, in.name) {
			return &all[i], nil
		}
	}
	return nil, nil
}

func lookedFor() string {
	var what []string
	for _, f := range formats() {
		what = append(what, f.looksFor)
	}
	return strings.Join(what, "; ")
}
