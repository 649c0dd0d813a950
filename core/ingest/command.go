package ingest

import (
	"path"
	"regexp"
	"strings"
)

// command is a recognised command line: a server or a benchmark.
type command struct {
	line   int
	text   string // on one line
	engine string // of a server: "vllm", "sglang", "trtllm", …; "" for a benchmark
	tool   string // of a benchmark: "vllm-bench", "sglang-bench", …; "" for a server
	echoed bool   // shown by a shell that runs it ("+ …" of bash -x)
	env    []string
	image  string
	words  []string // after the command's own words
}

// prompt is what a shell shows before a command. The root prompt "#" is left to
// comments.
var prompt = regexp.MustCompile(`^(?:\([\w.-]+\)\s*)?(?:[\w.-]+@[\w.:~/-]+[$#%]|\$|%|\++)\s+`)

// parseCommand recognises a server or benchmark command at the start of a text.
// Prose that happens to begin with a command's name is refused.
func parseCommand(no int, text string) (command, bool) {
	if !mayBeCommand(text) {
		return command{}, false
	}
	cmd := command{line: no, echoed: strings.HasPrefix(text, "+")}
	text = strings.Trim(text, "` \t")
	text = strings.TrimSpace(text[len(prompt.FindString(text)):])
	cmd.text = text
	words := shellWords(text)
	for len(words) > 0 && isAssignment(words[0]) {
		cmd.env, words = append(cmd.env, words[0]), words[1:]
	}
	if len(words) == 0 {
		return command{}, false
	}
	limit := 1
	if isWrapper(path.Base(words[0])) {
		limit = len(words)
	}
	for i := range limit {
		if cmd.match(words[i:]) {
			return cmd, cmd.plausible()
		}
		cmd.wrapped(words[i])
	}
	return command{}, false
}

// mayBeCommand is a cheap first look.
func mayBeCommand(text string) bool {
	for _, name := range []string{"vllm", "sglang", "trtllm", "tensorrt_llm", "mindie", "guidellm", "bench"} {
		if strings.Contains(text, name) {
			return true
		}
	}
	return false
}

var assignment = regexp.MustCompile(`^[A-Za-z_]\w*=`)

func isAssignment(word string) bool { return assignment.MatchString(word) }

// isWrapper: a command that starts another one.
func isWrapper(name string) bool {
	switch name {
	case "sudo", "env", "nohup", "time", "exec", "timeout", "numactl", "taskset", "stdbuf", "docker", "podman",
		"nerdctl", "srun", "mpirun", "kubectl", "uv", "uvx", "poetry", "accelerate", "nice":
		return true
	}
	return false
}

// wrapped notes what a wrapper's word says of the command inside.
func (c *command) wrapped(word string) {
	switch {
	case isAssignment(word):
		c.env = append(c.env, word)
	case strings.Contains(word, "vllm-openai") || strings.Contains(word, "lmsysorg/sglang") || strings.Contains(word, "tensorrt-llm/release"):
		c.image = word
	}
}

// match looks for a command's own words at the start of words.
func (c *command) match(words []string) bool {
	at := func(i int) string {
		if i < len(words) {
			return words[i]
		}
		return ""
	}
	set := func(engine, tool string, n int) bool {
		c.engine, c.tool, c.words = engine, tool, words[n:]
		return true
	}
	name := path.Base(at(0))
	switch {
	case name == "vllm" && at(1) == "serve":
		return set("vllm", "", 2)
	case name == "vllm" && at(1) == "bench" && at(2) == "serve":
		return set("", "vllm-bench", 3)
	case name == "sglang" && at(1) == "serve":
		return set("sglang", "", 2)
	case name == "trtllm-serve" && at(1) == "serve":
		return set("trtllm", "", 2)
	case name == "trtllm-serve":
		return set("trtllm", "", 1)
	case name == "mindie" && at(1) == "serve":
		return set("mindie", "", 2)
	case name == "guidellm" && at(1) == "benchmark" && at(2) == "run":
		return set("", "guidellm", 3)
	case name == "guidellm" && (at(1) == "benchmark" || at(1) == "run"):
		return set("", "guidellm", 2)
	case strings.Contains(at(0), "vllm/vllm-openai"):
		c.image = at(0)
		return set("vllm", "", 1)
	case strings.HasSuffix(name, ".py"):
		return c.script(at(0), words[1:])
	case strings.HasPrefix(name, "python"):
		return c.python(words[1:])
	}
	return false
}

// python matches "python -m module …" and "python script.py …".
func (c *command) python(words []string) bool {
	for len(words) > 0 && strings.HasPrefix(words[0], "-") && words[0] != "-m" {
		words = words[1:]
	}
	if len(words) == 0 {
		return false
	}
	if words[0] != "-m" {
		return c.script(words[0], words[1:])
	}
	if len(words) < 2 {
		return false
	}
	c.words = words[2:]
	switch module := words[1]; {
	case module == "vllm.entrypoints.openai.api_server":
		c.engine = "vllm"
	case module == "sglang.launch_server":
		c.engine = "sglang"
	case module == "sglang.bench_serving":
		c.tool = "sglang-bench"
	case strings.HasPrefix(module, "tensorrt_llm.") && strings.HasSuffix(module, ".benchmark_serving"):
		c.tool = "trtllm-benchmark-serving"
	default:
		return false
	}
	return true
}

func (c *command) script(file string, words []string) bool {
	c.words = words
	switch name := path.Base(file); {
	case name == "benchmark_serving.py" && (strings.Contains(file, "tensorrt_llm") || strings.Contains(file, "trtllm")):
		c.tool = "trtllm-benchmark-serving"
	case name == "benchmark_serving.py":
		c.tool = "vllm-bench"
	case name == "bench_serving.py":
		c.tool = "sglang-bench"
	default:
		return false
	}
	return true
}

// plausible refuses a sentence that begins with a command's name: a command has
// options only, or one name of a model that looks like one.
func (c *command) plausible() bool {
	flags, rest := parseFlags(c.words)
	if c.tool != "" {
		return len(rest) == 0 || len(flags) > 0
	}
	switch len(rest) {
	case 0:
		return len(flags) > 0
	case 1:
		return strings.ContainsAny(rest[0], "/.-_$0123456789") || len(flags) > 0
	}
	return len(flags) >= len(rest)
}
