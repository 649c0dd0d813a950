package tool

import (
	"net"
	"path/filepath"
	"strings"

	"github.com/sweepbook/sweepbook/core/ingest"
)

// Invocation is what a command that somebody typed says of itself.
type Invocation struct {
	Tool    string // "" unknown
	Program string // whose interpreter has the tool's package; "" unknown
	BaseURL string // of the server that it asks; "" unknown
	Results []Place
	Asked   ingest.Asked
}

// Place is where a command says that its result goes: one file, or files of a
// folder whose base names match a pattern; without a pattern all of them, where it
// turns out to be a folder.
type Place struct {
	Path    string
	Pattern string // "" for a file
}

// Recognise reads the words of a command, also behind env, timeout, uv and the
// like. Relative places are those of the folder dir, in which it runs.
func Recognise(argv []string, dir string) Invocation {
	at, tool := find(argv)
	if tool == "" {
		return Invocation{}
	}
	inv := Invocation{Tool: tool, Program: argv[at]}
	inv.Asked, _ = ingest.AskedBy(argv[at:])
	o := optionsOf(argv[at+1:])
	inv.BaseURL = o.server(tool)
	for _, place := range o.results(tool) {
		if !filepath.IsAbs(place.Path) {
			place.Path = filepath.Join(dir, place.Path)
		}
		inv.Results = append(inv.Results, place)
	}
	return inv
}

// find looks for the words of a tool.
func find(argv []string) (at int, tool string) {
	word := func(i int) string {
		if i < len(argv) {
			return argv[i]
		}
		return ""
	}
	for i := range argv {
		switch name := filepath.Base(argv[i]); {
		case name == "vllm" && word(i+1) == "bench" && word(i+2) == "serve":
			return i, VLLMBench
		case name == "guidellm" && (word(i+1) == "benchmark" || word(i+1) == "run"):
			return i, GuideLLM
		case strings.HasPrefix(name, "python") && word(i+1) == "-m" && strings.HasSuffix(word(i+2), "sglang.bench_serving"):
			return i, SGLangBench
		case strings.HasPrefix(name, "python") && word(i+1) == "-m" && strings.HasPrefix(word(i+2), "tensorrt_llm.") && strings.HasSuffix(word(i+2), ".benchmark_serving"):
			return i, "trtllm-benchmark-serving"
		case name == "bench_serving.py":
			return max(i-1, 0), SGLangBench
		case name == "benchmark_serving.py":
			return max(i-1, 0), VLLMBench
		}
	}
	return 0, ""
}

// options are the values of options by name, dashes between words; "" for a switch.
type options map[string][]string

func optionsOf(argv []string) options {
	o := options{}
	for i := 0; i < len(argv); i++ {
		name, ok := strings.CutPrefix(argv[i], "--")
		if !ok {
			continue
		}
		name, value, joined := strings.Cut(name, "=")
		if !joined && i+1 < len(argv) && !strings.HasPrefix(argv[i+1], "--") {
			i++
			value = argv[i]
		}
		name = strings.ReplaceAll(name, "_", "-")
		o[name] = append(o[name], value)
	}
	return o
}

func (o options) has(name string) bool { return len(o[name]) > 0 }

// last is the value that counts where an option stands several times.
func (o options) last(name, otherwise string) string {
	if list := o[name]; len(list) > 0 {
		return list[len(list)-1]
	}
	return otherwise
}

// server is the address that a tool asks; where the options leave it out, the
// tool's own default counts.
func (o options) server(tool string) string {
	if tool == GuideLLM {
		if target := o.last("target", ""); target != "" {
			return target
		}
		return pairs(o.last("backend", ""))["target"]
	}
	if base := o.last("base-url", ""); base != "" {
		return base
	}
	host, port := o.last("host", "127.0.0.1"), o.last("port", "")
	if host == "0.0.0.0" {
		host = "127.0.0.1" // SGLang's default, which is no address to ask
	}
	if port == "" {
		port = "8000"
		if backend := o.last("backend", "sglang"); tool == SGLangBench && strings.HasPrefix(backend, "sglang") {
			port = "30000"
		}
	}
	return "http://" + net.JoinHostPort(host, port)
}

// results are the files that a command says it writes.
func (o options) results(tool string) []Place {
	switch tool {
	case GuideLLM:
		return o.guidellmResults()
	case SGLangBench:
		if file := o.last("output-file", ""); file != "" {
			return []Place{{Path: file}}
		}
		return []Place{{Path: ".", Pattern: "*_[0-9][0-9][0-9][0-9]_*.jsonl"}}
	}
	if !o.has("save-result") && !o.has("append-result") && !o.has("save-detailed") {
		return nil // the printed block is all there is
	}
	dir := o.last("result-dir", ".")
	if file := o.last("result-filename", ""); filepath.IsAbs(file) {
		return []Place{{Path: file}}
	} else if file != "" {
		return []Place{{Path: filepath.Join(dir, file)}}
	}
	return []Place{{Path: dir, Pattern: "*.json"}}
}

func (o options) guidellmResults() []Place {
	var out []Place
	add := func(path string) {
		if filepath.Ext(path) == "" || filepath.Base(path) == "." {
			out = append(out, Place{Path: path, Pattern: "benchmark*.json"})
		} else {
			out = append(out, Place{Path: path})
		}
	}
	for _, value := range o["output"] {
		p := pairs(value)
		switch {
		case p["kind"] != "json":
		case p["path"] != "":
			add(p["path"])
		default:
			add(".")
		}
	}
	if path := o.last("output-path", ""); path != "" {
		add(path)
	}
	if dir := o.last("output-dir", ""); dir != "" {
		out = append(out, Place{Path: dir, Pattern: "*.json"})
	}
	if len(out) == 0 {
		add(".")
	}
	return out
}

// pairs reads "kind=json,path=x"; JSON gives none.
func pairs(text string) map[string]string {
	out := map[string]string{}
	for _, part := range strings.Split(text, ",") {
		if key, value, ok := strings.Cut(part, "="); ok {
			out[strings.TrimSpace(key)] = value
		}
	}
	return out
}
