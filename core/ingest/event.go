package ingest

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/sweepbook/sweepbook/core"
)

// isFlagLine: a line of options only, "--max-num-seqs=512".
func isFlagLine(text string) bool {
	word, _, _ := strings.Cut(text, " ")
	word = asciiDashes(word)
	return strings.HasPrefix(word, "--") && isFlag(word)
}

// benchOnly are options that no server has.
var benchOnly = regexp.MustCompile(`^--?(?:num[-_]prompts|dataset[-_]name|dataset[-_]path|random[-_](?:input|output)[-_]len|max[-_]concurrency|request[-_]rate|percentile[-_]metrics)(?:=|$)`)

// maxFlags bounds a list of flags, in words.
const maxFlags = 500

// flagLine adds to the list of flags that describes the server. Lines that follow
// each other are one list; another list replaces it. The list is read when a block
// needs it.
func (r *servingReader) flagLine(no int, text string) {
	if !r.inFlags {
		r.flags, r.flagsAt, r.flagsFor = nil, no, r.likelyEngine()
	}
	r.inFlags, r.flagsNew = true, true
	r.defining = nil
	words := shellWords(strings.Trim(text, "` "))
	r.flags = append(r.flags, words[:min(len(words), maxFlags-len(r.flags))]...)
}

// readFlags makes the server of the latest list of flags. A list with options of
// a benchmark describes none.
func (r *servingReader) readFlags() {
	if !r.flagsNew {
		return
	}
	r.flagsNew = false
	if !slices.ContainsFunc(r.flags, benchOnly.MatchString) {
		s := serverFromFlags(r.flagsAt, r.flags, r.flagsFor)
		r.server = &s
	}
}

// likelyEngine is what the headings say, else the document's choice.
func (r *servingReader) likelyEngine() string {
	for _, text := range []string{r.outline.option, r.outline.stage} {
		if e := engineIn(text); e != "" {
			return e
		}
	}
	return r.first
}

// command takes a recognised command.
func (r *servingReader) command(cmd command) {
	if cmd.tool == "" {
		s := newServer(cmd)
		r.server, r.flagsNew = &s, false
		if r.first == "" {
			r.first, r.firstName = s.config.Engine, s.config.Checkpoint
		}
		return
	}
	if cmd.tool == "guidellm" {
		r.facts.guidellm = true
	}
	if cmd.echoed {
		r.unanswered()
	}
	a := newAsk(cmd)
	r.name(a.model)
	r.asks.add(a)
	r.traceback = false
}

// shellLine notices the end of a command: a traceback, then the next line that
// the shell shows. Only then has the command surely failed, since a running
// benchmark prints tracebacks of single requests too.
func (r *servingReader) shellLine(no int, text string) bool {
	if strings.HasPrefix(text, "Traceback (most recent call last)") {
		r.traceback, r.failure = true, ""
		return true
	}
	shown := strings.HasPrefix(text, "+ ") || strings.HasPrefix(text, "$ ")
	if r.traceback && !shown && exceptionLine.MatchString(text) {
		r.failure = clip(text, 1000)
		return true
	}
	if shown && r.traceback {
		if n := len(r.asks.pending); n > 0 {
			a := r.asks.pending[n-1]
			a.failed, a.failure = true, r.failure
		}
		r.traceback = false
	}
	if !shown {
		return false
	}
	_, isCommand := parseCommand(no, text)
	return !isCommand
}

// exceptionLine is the last line of a traceback.
var exceptionLine = regexp.MustCompile(`^(?:[a-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Interrupt|Exit|Timeout|Failure|Warning)\b`)

// unanswered reports a command that a shell ran and that printed no result. One
// whose error is shown is a failed trial; one that merely ends is not, since the
// text may have been cut.
func (r *servingReader) unanswered() {
	n := len(r.asks.pending)
	if n == 0 {
		return
	}
	a := r.asks.pending[n-1]
	if !a.echoed || a.answered {
		return
	}
	crashed := a.failed && a.failure != ""
	a.answered, a.failed = true, true
	if crashed {
		r.crash(a)
		return
	}
	r.out.skip(a.line, fmt.Sprintf("benchmark command without a result (max_concurrency %s, num_prompts %s)", shown(a.load.Concurrency), shown(a.load.NumPrompts)))
}

// crash makes a failed trial of a command that ended in an error.
func (r *servingReader) crash(a *ask) {
	r.readFlags()
	b := emptyBlock(a.line)
	t := &core.Trial{
		Study: r.study, Stage: maskSecrets(r.outline.stage), Role: r.outline.role, Status: core.StatusFailed,
		Failure: failureOf("", a.failure, true), FailureText: maskSecrets(a.failure),
		Workload: a.workload, Load: a.load, Figures: b.figures, Extra: b.extra,
	}
	t.Workload.Params = maps.Clone(a.workload.Params)
	t.Setup = r.setup(b, a, "", t.Extra)
	t.Setup.Tool = a.tool
	b.keep(a.failure)
	r.out.begin()
	r.out.add(t, core.Source{Position: fmt.Sprintf("line %d", a.line), Format: servingBlock, Tool: a.tool, Decimals: 2, Raw: r.raw(b, a)})
}

func shown(v core.Value) string {
	if v.IsMissing() {
		return "unknown"
	}
	return v.String()
}

// profileLine reads one key of a profile's definition. The heading before it
// names the profile.
func (r *servingReader) profileLine(no int, key, value string) {
	if r.defining == nil || key == "dataset_name" {
		r.defining = &ask{line: no, kind: askProfile, name: r.outline.last.text}
		r.asks.add(r.defining)
	}
	a := r.defining
	a.text += key + ": " + value + "\n"
	names := map[string]string{
		"dataset_name": "dataset-name", "dataset_input_tokens": "input-len", "dataset_output_tokens": "output-len", "dataset_seed": "seed",
		"request_rate": "request-rate", "total_requests": "num-prompts", "max_concurrency": "max-concurrency",
	}
	a.set(names[key], value, false)
	a.workload.Name = workloadName(a.workload)
}

var namespaceItem = regexp.MustCompile(`(\w+)=('[^']*'|"[^"]*"|[^,()\s]+)`)

// namespace reads the arguments that Python's argparse prints. They complete the
// command before them, where there is one.
func (r *servingReader) namespace(no int, text, args string) {
	var a *ask
	if n := len(r.asks.pending); n > 0 && !r.asks.pending[n-1].answered {
		a = r.asks.pending[n-1]
	} else {
		a = &ask{line: no, kind: askCommand, tool: "vllm-bench", text: clip(text, 4000)}
	}
	for _, m := range namespaceItem.FindAllStringSubmatch(args, -1) {
		value := strings.Trim(m[2], `'"`)
		if value == "None" {
			continue
		}
		name := strings.ReplaceAll(m[1], "_", "-")
		if strings.HasPrefix(name, "random-") && a.workload.Dataset != "random" {
			continue // defaults of a data set that is not used
		}
		if name == "temperature" || strings.HasPrefix(name, "top-") || name == "sharegpt-output-len" {
			continue
		}
		a.set(name, value, false)
	}
	if a.line == no {
		if a.workload.Dataset == "random" {
			for _, m := range namespaceItem.FindAllStringSubmatch(args, -1) {
				if name := strings.ReplaceAll(m[1], "_", "-"); name == "random-input-len" || name == "random-output-len" {
					a.set(name, m[2], false)
				}
			}
		}
		a.finishCommand()
		r.name(a.model)
		r.asks.add(a)
	}
}

// progress reads the total of a progress bar.
func (r *servingReader) progress(text string) bool {
	var m []string
	if strings.Contains(text, "%|") {
		m = progressBar.FindStringSubmatch(text)
	}
	if m == nil {
		return strings.Contains(text, "it/s]") || strings.Contains(text, "s/it]")
	}
	r.printed.progressTotal, _ = parseNumber(m[1])
	return true
}

// finishBlock makes a trial of the open block, or says why it is none.
func (r *servingReader) finishBlock() {
	b := r.block
	r.block = nil
	if why, broken := b.refusal(); why != "" {
		if broken {
			r.out.fail(b.line, why)
		} else {
			r.out.leave(b.line, why)
		}
		r.comment = nil
		return
	}
	for _, unread := range b.unread {
		r.out.skip(b.line, "row left out: value is no number: "+unread)
	}
	t, src := r.trial(b)
	r.out.add(t, src)
	r.asks.pending = nil
	r.outline.result()
	r.printed = printed{}
	r.comment, r.gap, r.inFlags, r.traceback = nil, false, false, false
}
