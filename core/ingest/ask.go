package ingest

import (
	"math"
	"path"
	"slices"
	"strings"

	"github.com/sweepbook/sweepbook/core"
)

// ask is what a source says was asked of a server: by a benchmark command, a
// named profile, an entry in a list of data sets, or a label before a block.
type ask struct {
	line     int
	text     string // for the raw text of the source
	kind     askKind
	name     string // of a profile: its heading
	tool     string
	model    string
	backend  string
	workload core.Workload
	load     core.Load
	echoed   bool     // shown by the shell that runs it
	partial  bool     // a shell variable decides some of it
	open     []string // options that it decides
	failed   bool     // it ended in a traceback without a result
	failure  string   // the traceback's last line
	answered bool     // a block was attributed to it
}

// askKind orders asks by how much they say.
type askKind uint8

const (
	askLabel askKind = iota // a label before the block
	askList                 // an entry of a list of data sets: lengths only
	askProfile
	askCommand
)

// benchFlags are the options of benchmark commands that matter here; argparse
// accepts any unambiguous beginning of one.
var benchFlags = []string{
	"num-prompts", "max-concurrency", "request-rate", "burstiness", "seed", "dataset-name", "dataset-path", "dataset",
	"random-input-len", "random-output-len", "random-input", "random-output", "random-range-ratio", "random-prefix-len",
	"sharegpt-output-len", "input-len", "output-len", "ignore-eos", "endpoint", "model", "backend", "temperature", "top-p", "top-k",
	"rate", "max-requests", "random-seed", "profile", "data", "percentile-metrics", "constraint",
}

// longFlag completes a shortened option.
func longFlag(name string) string {
	name = strings.ReplaceAll(name, "_", "-")
	if slices.Contains(benchFlags, name) {
		return name
	}
	full := ""
	for _, f := range benchFlags {
		if len(name) >= 5 && strings.HasPrefix(f, name) {
			if full != "" && !strings.HasPrefix(f, full) {
				return name
			}
			if full == "" {
				full = f
			}
		}
	}
	if full != "" {
		return full
	}
	return name
}

// newAsk reads a benchmark command.
func newAsk(cmd command) *ask {
	a := &ask{line: cmd.line, text: cmd.text, kind: askCommand, tool: cmd.tool, echoed: cmd.echoed}
	flags, _ := parseFlags(cmd.words)
	for _, f := range flags {
		a.set(longFlag(f.name), f.value, f.bare)
	}
	a.finishCommand()
	return a
}

// set takes one option or key. A value that a shell variable decides is not known.
func (a *ask) set(name, value string, bare bool) {
	if strings.Contains(value, "$") {
		a.partial = true
		a.open = append(a.open, name)
		return
	}
	v := core.ParseValue(value)
	number := func(to *core.Value) {
		if v.Kind == core.KindNumber {
			*to = v
		}
	}
	param := func(name string) {
		if a.workload.Params == nil {
			a.workload.Params = core.Knobs{}
		}
		a.workload.Params[name] = v
	}
	switch name {
	case "num-prompts", "max-requests":
		number(&a.load.NumPrompts)
	case "max-concurrency":
		number(&a.load.Concurrency)
	case "request-rate", "rate":
		number(&a.load.RequestRate)
	case "burstiness":
		number(&a.load.Burstiness)
	case "seed", "random-seed":
		number(&a.load.Seed)
	case "dataset-name":
		a.workload.Dataset = strings.ToLower(value)
	case "dataset-path", "dataset":
		a.workload.Path = path.Base(value)
		if a.workload.Dataset == "" && strings.Contains(strings.ToLower(value), "sharegpt") {
			a.workload.Dataset = "sharegpt"
		}
	case "data":
		a.guidellmData(value)
	case "random-input-len", "random-input", "input-len":
		number(&a.workload.InputLen)
	case "random-output-len", "random-output", "output-len", "sharegpt-output-len":
		number(&a.workload.OutputLen)
	case "random-range-ratio", "random-prefix-len", "temperature", "top-p", "top-k":
		param(strings.ReplaceAll(strings.TrimPrefix(name, "random-"), "-", "_"))
	case "ignore-eos":
		a.workload.IgnoreEOS = core.Bool(bare || v.True())
	case "endpoint":
		a.workload.Endpoint = value
	case "model":
		a.model = value
	case "backend":
		if strings.HasPrefix(value, "kind=") {
			a.guidellmPairs(value)
			return
		}
		a.backend = value
	case "profile", "constraint":
		a.guidellmPairs(value)
	}
}

// guidellmPairs reads what guidellm since 0.7 packs into one option:
// "kind=concurrent,streams=8", "kind=max_requests,count=100",
// "kind=openai_http,target=http://…,model=org/m".
func (a *ask) guidellmPairs(value string) {
	requests := strings.HasPrefix(value, "kind=max_requests,")
	for _, part := range strings.Split(value, ",") {
		key, v, _ := strings.Cut(part, "=")
		switch {
		case key == "streams" || key == "max_concurrency":
			a.set("max-concurrency", v, false)
		case key == "rate" && !strings.HasPrefix(value, "kind=max_"):
			a.set("request-rate", v, false)
		case key == "count" && requests:
			a.set("num-prompts", v, false)
		case key == "model":
			a.model = v
		}
	}
}

// guidellmData reads guidellm's --data: "prompt_tokens=512,output_tokens=128", or a file.
func (a *ask) guidellmData(value string) {
	if !strings.Contains(value, "=") {
		a.set("dataset-path", value, false)
		return
	}
	for _, part := range strings.Split(value, ",") {
		switch key, n, _ := strings.Cut(part, "="); strings.TrimSpace(key) {
		case "prompt_tokens":
			a.set("input-len", n, false)
		case "output_tokens":
			a.set("output-len", n, false)
		}
	}
}

// says reports whether the ask states anything that a trial can use.
func (a *ask) says() bool {
	return a.workload.Dataset != "" || a.fixed() || !a.load.NumPrompts.IsMissing()
}

// finishCommand states what the absence of options means: no limit.
func (a *ask) finishCommand() {
	if a.workload.Dataset == "" && a.workload.InputLen.Kind == core.KindNumber {
		a.workload.Dataset = "random"
	}
	if a.load.Concurrency.IsMissing() && a.tool != "guidellm" && !slices.Contains(a.open, "max-concurrency") {
		a.load.Concurrency = core.Unlimited()
	}
	if a.load.RequestRate.IsMissing() && a.tool != "guidellm" && !slices.Contains(a.open, "request-rate") {
		a.load.RequestRate = core.Unlimited()
	}
	a.workload.Name = workloadName(a.workload)
}

// workloadName is "sharegpt", "random 4000/200", "random 32000".
func workloadName(w core.Workload) string {
	in, out := w.InputLen, w.OutputLen
	switch {
	case in.Kind == core.KindNumber && out.Kind == core.KindNumber:
		return w.Dataset + " " + in.String() + "/" + out.String()
	case in.Kind == core.KindNumber:
		return w.Dataset + " " + in.String()
	}
	return w.Dataset
}

// measured is what a block says that an ask must fit.
type measured struct {
	completed, meanIn, meanOut float64
}

// sharegptLongest is above the mean prompt of any ShareGPT run: the samplers
// drop prompts of more than 1024 tokens.
const sharegptLongest = 1100

// fits reports whether a block can be the answer to an ask, and how far its mean
// token counts are from the asked lengths (relative; 0 where no length is fixed).
// A chat template adds a few tokens to each prompt; answers may end early, but an
// answer of less than a quarter of its length belongs to another ask.
func (a *ask) fits(m measured) (misfit float64, ok bool) {
	if n := a.load.NumPrompts; n.Kind == core.KindNumber && m.completed > n.Num {
		return 0, false
	}
	in, out := a.workload.InputLen, a.workload.OutputLen
	if in.Kind != core.KindNumber {
		return 0, a.workload.Dataset != "sharegpt" || m.meanIn <= sharegptLongest
	}
	if ratio, ok := a.workload.Params["range_ratio"]; ok && ratio.Kind == core.KindNumber {
		// Lengths are drawn between ratio × length and length, or around it.
		return 0, m.meanIn <= 2*in.Num+30
	}
	gap := math.Abs(m.meanIn - in.Num)
	if gap > max(0.05*in.Num, 30) {
		return 0, false
	}
	misfit = gap / in.Num
	if out.Kind == core.KindNumber && out.Num > 0 {
		if m.meanOut > 1.01*out.Num || m.meanOut < 0.25*out.Num {
			return 0, false
		}
		misfit += math.Abs(m.meanOut-out.Num) / out.Num
	}
	return misfit, true
}

// fixed reports whether the ask states the length of its prompts.
func (a *ask) fixed() bool { return a.workload.InputLen.Kind == core.KindNumber }

// maxAsks bounds how many asks are remembered: the latest.
const maxAsks = 64

// asks are what the source has said so far, in its order.
type asks struct {
	list []*ask
	// pending are the commands since the last block: a single one, or one echoed
	// by a shell, belongs to the block that follows.
	pending []*ask
}

func (as *asks) add(a *ask) {
	as.list = append(as.list, a)
	if len(as.list) > maxAsks {
		as.list = slices.Delete(as.list, 0, 1)
	}
	if a.kind == askCommand {
		as.pending = append(as.pending, a)
		if len(as.pending) > maxAsks {
			as.pending = slices.Delete(as.pending, 0, 1)
		}
	}
}

// onlyModel is the model that every benchmark command so far names, "" where
// they differ or name none: a block whose own command is not shown was asked for
// by one of their kind.
func (as *asks) onlyModel() (model string) {
	for _, a := range as.list {
		if a.kind != askCommand || a.model == "" {
			continue
		}
		if model != "" && a.model != model {
			return ""
		}
		model = a.model
	}
	return model
}

// direct gives the command whose output the next block is, or nil where the
// commands before it are a list of examples.
func (as *asks) direct() *ask {
	if len(as.pending) == 0 {
		return nil
	}
	last := as.pending[len(as.pending)-1]
	if last.partial {
		return nil
	}
	if last.echoed {
		return last
	}
	for _, a := range as.pending[:len(as.pending)-1] {
		if !a.failed {
			return nil
		}
	}
	return last
}

// choose gives the ask that a block answers, or nil. What stands directly before
// the block narrows: a label, a profile's name, a command that was run.
func (as *asks) choose(m measured, label labelHint, profile string) *ask {
	usable := func(a *ask) bool {
		_, ok := a.fits(m)
		return ok && !a.failed && a.says()
	}
	if label.dataset != "" {
		return as.labelled(m, label)
	}
	if profile != "" {
		for _, a := range slices.Backward(as.list) {
			if a.kind == askProfile && sameName(a.name, profile) && usable(a) {
				return a
			}
		}
	}
	if a := as.direct(); a != nil && usable(a) {
		return a
	}
	if a := as.nearest(m, func(a *ask) bool { return a.fixed() }); a != nil {
		return a
	}
	var partial *ask
	for _, a := range slices.Backward(as.list) {
		switch {
		case a.fixed() || !usable(a):
		case !a.partial:
			return a
		case partial == nil:
			partial = a
		}
	}
	return partial
}

// labelled gives the ask that a label like "random 32K input" means; where the
// source states none of that length, the label itself is all that is known.
func (as *asks) labelled(m measured, label labelHint) *ask {
	if len(label.inputLens) == 0 {
		for _, a := range slices.Backward(as.list) {
			if a.workload.Dataset == label.dataset && !a.failed {
				if n := a.load.NumPrompts; n.Kind != core.KindNumber || m.completed <= n.Num {
					return a
				}
			}
		}
		return &ask{kind: askLabel, workload: core.Workload{Name: label.dataset, Dataset: label.dataset}}
	}
	found := as.nearest(m, func(a *ask) bool { return a.fixed() && a.workload.Dataset == label.dataset })
	if found != nil {
		return found
	}
	w := core.Workload{Dataset: label.dataset}
	for _, n := range label.inputLens {
		if w.InputLen.IsMissing() || math.Abs(n-m.meanIn) < math.Abs(w.InputLen.Num-m.meanIn) {
			w.InputLen = core.Number(n)
		}
	}
	w.Name = workloadName(w)
	return &ask{kind: askLabel, workload: w}
}

// nearest gives the fitting ask with the smallest misfit (in whole percents, as
// less says nothing), then the one that says most, then the latest.
func (as *asks) nearest(m measured, among func(*ask) bool) *ask {
	var best *ask
	var bestMisfit float64
	for _, a := range slices.Backward(as.list) {
		misfit, ok := a.fits(m)
		if !ok || a.failed || !among(a) {
			continue
		}
		misfit = math.Round(misfit * 100)
		if best == nil || misfit < bestMisfit || misfit == bestMisfit && a.kind > best.kind {
			best, bestMisfit = a, misfit
		}
	}
	return best
}

// sameName reports whether two names of a profile mean the same one, though a
// language inflects words and one of the two may say more: each word of the
// definition begins like some word of the use.
func sameName(definition, use string) bool {
	words := strings.Fields(strings.ToLower(definition))
	uses := strings.Fields(strings.ToLower(use))
	for _, w := range words {
		if !slices.ContainsFunc(uses, func(u string) bool { return wordStem(u) == wordStem(w) }) {
			return false
		}
	}
	return len(words) > 0
}

func wordStem(w string) string {
	r := []rune(w)
	return string(r[:min(5, len(r))])
}
