package servingtest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sweepbook/sweepbook/core"
)

// starts are how a serve command of each engine begins.
var starts = map[string]string{"vllm": "vllm serve", "sglang": "python3 -m sglang.launch_server", "trtllm": "trtllm-serve"}

// SeedCommands reads the serve commands of one engine out of the three tuning
// documents, as words: whole commands, lists of parameters and comments that name
// the parameters of a variant. Without the documents the test is skipped.
func SeedCommands(t testing.TB, engine string) [][]string {
	t.Helper()
	var commands [][]string
	for _, path := range seedFiles(t) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(string(text), "\n")
		for i := 0; i < len(lines); i++ {
			line := strings.TrimSpace(lines[i])
			switch {
			case strings.HasPrefix(line, starts[engine]):
				for strings.HasSuffix(line, `\`) && i+1 < len(lines) {
					i++
					line = strings.TrimSuffix(line, `\`) + lines[i]
				}
				commands = append(commands, strings.Fields(line))
			case strings.Contains(line, "`"+starts[engine]):
				_, rest, _ := strings.Cut(line, "`")
				commands = append(commands, strings.Fields(strings.TrimSuffix(rest, "`")))
			case strings.HasPrefix(line, "# --") && engine == "sglang":
				commands = append(commands, strings.Fields(starts[engine]+" --model-path Qwen/Qwen3-8B-FP8 "+line[2:]))
			case parameter(line) && (i == 0 || !strings.HasSuffix(lines[i-1], `\`)):
				var flags []string
				for ; i < len(lines) && parameter(strings.TrimSpace(lines[i])); i++ {
					flags = append(flags, strings.TrimSpace(lines[i]))
				}
				if list := strings.Join(flags, " "); strings.Contains(list, "--context-length") == (engine == "sglang") && engine != "trtllm" {
					model := " Qwen/Qwen3.5-9B "
					if engine == "sglang" {
						model = " --model-path" + model
					}
					commands = append(commands, strings.Fields(starts[engine]+model+list))
				}
			}
		}
	}
	return commands
}

// parameter tells a flag from the rulers of a result block.
func parameter(line string) bool {
	return len(line) > 2 && strings.HasPrefix(line, "--") && line[2] >= 'a' && line[2] <= 'z'
}

func seedFiles(t testing.TB) []string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		if filepath.Dir(dir) == dir {
			t.Fatal("no go.mod above the test")
		}
		dir = filepath.Dir(dir)
	}
	files, err := filepath.Glob(filepath.Join(dir, "..", "shared", "seeds", "*_*.txt"))
	if err != nil || len(files) < 3 {
		t.Skip("the three tuning documents are not beside the repository")
	}
	return files
}

// ConfigOf turns the words of a serve command into the configuration that it
// states.
func ConfigOf(t testing.TB, engine string, words []string) core.Config {
	t.Helper()
	c := core.Config{Engine: engine, Knobs: core.Knobs{}, CommandKnown: true}
	words = words[len(strings.Fields(starts[engine])):]
	for i := 0; i < len(words); i++ {
		if !strings.HasPrefix(words[i], "--") {
			c.Checkpoint = words[i]
			continue
		}
		flag, value, joined := strings.Cut(words[i], "=")
		if !joined && i+1 < len(words) && !strings.HasPrefix(words[i+1], "--") {
			i++
			value, joined = words[i], true
		}
		v := core.Bool(true)
		if joined {
			v = core.ParseValue(value)
		}
		if flag == "--model" || flag == "--model-path" {
			c.Checkpoint = value
			continue
		}
		name, v := core.CanonicalSetting(engine, flag, v)
		c.Knobs[name] = v
	}
	return c
}

// Words normalises a command for comparison: without address and port, --x=y as
// two words, and SGLang's --model under its main name.
func Words(argv []string) []string {
	var out []string
	for _, arg := range argv {
		if flag, value, ok := strings.Cut(arg, "="); ok && strings.HasPrefix(arg, "--") {
			out = append(out, flag, value)
			continue
		}
		if arg == "--model" {
			arg = "--model-path"
		}
		out = append(out, arg)
	}
	for i := 0; i+1 < len(out); i++ {
		if out[i] == "--host" || out[i] == "--port" {
			out = append(out[:i], out[i+2:]...)
			i--
		}
	}
	return out
}
