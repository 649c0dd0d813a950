package tool

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/core/load"
)

// The tools, by the names that a trial's tool field has for them.
const (
	VLLMBench   = "vllm-bench"
	SGLangBench = "sglang-bench"
	GuideLLM    = "guidellm"
)

// Names lists the tools that Command renders.
func Names() []string { return []string{VLLMBench, GuideLLM, SGLangBench} }

// Engine is the engine whose installation brings a tool along; "" where it is a
// program of its own.
func Engine(name string) string {
	switch name {
	case VLLMBench:
		return "vllm"
	case SGLangBench:
		return "sglang"
	}
	return ""
}

// Package is the Python distribution whose version is the tool's.
func Package(name string) string {
	switch name {
	case VLLMBench:
		return "vllm"
	case SGLangBench:
		return "sglang"
	case GuideLLM:
		return "guidellm"
	case "trtllm-benchmark-serving":
		return "tensorrt_llm"
	}
	return ""
}

// Ask is one trial as a tool is asked for it.
type Ask struct {
	Tool string
	// Origin is where the tool comes from: a venv, or cmd in place of its program. A
	// version chooses between the ways in which it takes its options.
	Origin     core.Origin
	BaseURL    string
	Model      string // served id
	Checkpoint string // whose tokenizer counts the prompts
	Engine     string // that serves
	Workload   core.Workload
	Load       core.Load
	DataPath   string
	Goodput    map[string]float64 // limits in milliseconds, by figure name
}

// ResultFile is the name of the file that a rendered command writes, in the folder
// in which it is run.
const ResultFile = "result.json"

// Command renders the command exactly: the same ask gives the same words. What a
// tool cannot be asked for is core.ErrInvalid, since another load under the same
// name would be a lie.
func Command(a Ask) ([]string, error) {
	render := map[string]func(*words, Ask) error{VLLMBench: vllmBench, SGLangBench: sglangBench, GuideLLM: guidellm}[a.Tool]
	if render == nil {
		return nil, fmt.Errorf("tool %q: %w: known are %s", a.Tool, core.ErrInvalid, strings.Join(Names(), ", "))
	}
	w := &words{}
	if err := common(a); err != nil {
		return nil, fmt.Errorf("tool %s: %w", a.Tool, err)
	}
	if err := render(w, a); err != nil {
		return nil, fmt.Errorf("tool %s: %w", a.Tool, err)
	}
	return w.list, nil
}

// common checks what no tool can be asked for.
func common(a Ask) error {
	switch {
	case a.Origin.Image != "" || a.Origin.URL != "":
		return invalid("it is run from a venv or by a cmd; an image or url is none")
	case a.Workload.Turns.Kind == core.KindNumber && a.Workload.Turns.Num > 1:
		return invalid("conversations are asked by Sweepbook's own ruler alone")
	case a.Load.NumPrompts.Kind != core.KindNumber && a.Tool != GuideLLM:
		return invalid("it runs by count: give requests")
	case a.Load.DurationS.Kind == core.KindNumber && a.Tool != GuideLLM:
		return invalid("it knows no duration: give requests alone")
	}
	return nil
}

func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: %s", core.ErrInvalid, fmt.Sprintf(format, args...))
}

// words is a command that grows.
type words struct{ list []string }

func (w *words) add(list ...string) { w.list = append(w.list, list...) }

// program begins the command: the tool's own program, from its venv, or what
// stands in for it.
func (w *words) program(o core.Origin, name string) {
	switch {
	case o.Cmd != "":
		w.add(strings.Fields(o.Cmd)...)
	case o.Venv != "":
		w.add(path.Join(o.Venv, "bin", name))
	default:
		w.add(name)
	}
}

// number adds an option where there is a limit.
func (w *words) number(option string, v core.Value) {
	if v.Kind == core.KindNumber && !v.IsUnlimited() {
		w.add(option, v.String())
	}
}

// limited reports whether a load has a limit of a kind.
func limited(v core.Value) bool { return v.Kind == core.KindNumber && !v.IsUnlimited() }

func isCompletions(w core.Workload) bool { return w.Endpoint == "completions" }

// sampling are the workload's parameters that go into each request; shape is what
// else it has.
func sampling(w core.Workload) (params, shape core.Knobs) {
	params, shape = core.Knobs{}, core.Knobs{}
	for name, v := range w.Params {
		if load.IsSampling(name) {
			params[name] = v
		} else {
			shape[name] = v
		}
	}
	return params, shape
}

// onlyShape refuses parameters that a tool has no option for.
func onlyShape(shape core.Knobs, known ...string) error {
	for _, name := range shape.Names() {
		if !slices.Contains(known, name) {
			return invalid("it has no option for %s", name)
		}
	}
	return nil
}
