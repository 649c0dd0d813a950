package ingest

import (
	"regexp"
	"strings"

	"github.com/sweepbook/sweepbook/core"
)

// outline follows the headings of a text whose markup is lost: bare lines between
// results. The last two headings before a result are its stage and option. After
// a result, one further heading is a sibling option while the stage had options
// and no summary has closed it, else a new stage.
type outline struct {
	stage, option string
	role          core.Role
	twoLevel      bool      // the stage has options
	closed        bool      // a summary line or a table came since the last result
	since         []heading // headings since the last result, the last two
	last          heading
}

type heading struct {
	text     string
	level    int // of Markdown; 0 unknown
	numbered bool
}

var (
	numberedHeading = regexp.MustCompile(`^\d{1,2}(?:\.\d{1,2})*[.)]\s+(\S.*)$`)
	markdownHeading = regexp.MustCompile(`^(#{2,6})\s+(\S.*?)[\s#]*$`)
	summaryLine     = regexp.MustCompile(`(?i)^(?:итог|результат|result|summary|outcome|conclusion)\s*:\s*\S`)
	logLike         = regexp.MustCompile(`\d:\d\d|\b(?:INFO|WARNING|ERROR|DEBUG)\b|[={}\t]|://`)
)

// asHeading reports whether a line that stands alone reads as a heading.
func asHeading(text string) (heading, bool) {
	h := heading{text: text}
	if m := markdownHeading.FindStringSubmatch(text); m != nil {
		h.level, h.text = len(m[1]), strings.Trim(m[2], "*` ")
	}
	if m := numberedHeading.FindStringSubmatch(h.text); m != nil {
		h.text, h.numbered = strings.TrimSpace(m[1]), true
	}
	r := []rune(h.text)
	if len(r) == 0 || len(r) > 100 || strings.ContainsRune(".!?:;,…", r[len(r)-1]) || logLike.MatchString(h.text) {
		return heading{}, false
	}
	return h, true
}

// add places a heading.
func (o *outline) add(h heading) {
	o.role = ""
	prev := o.last
	o.last = h
	o.since = append(o.since, h)
	if len(o.since) > 2 {
		o.since = o.since[len(o.since)-2:]
	}
	switch {
	case h.numbered:
		o.since = []heading{h}
		o.setStage(h.text)
	case h.level > 0 && prev.level > 0 && h.level > prev.level && o.stage != "":
		o.setOption(h.text)
	case h.level > 0 && prev.level > 0 && h.level == prev.level && o.twoLevel:
		o.option = h.text
	case h.level > 0 && prev.level > 0:
		o.setStage(h.text)
	case len(o.since) == 2:
		o.setStage(o.since[0].text)
		o.setOption(h.text)
	case o.twoLevel && !o.closed:
		o.option = h.text
	default:
		o.setStage(h.text)
	}
}

func (o *outline) setStage(text string) {
	o.stage, o.option, o.twoLevel, o.closed = text, "", false, false
}

func (o *outline) setOption(text string) { o.option, o.twoLevel = text, true }

// divide begins a part: what follows is not under the headings before.
func (o *outline) divide() {
	*o = outline{closed: true}
}

// table ends a stage: what follows a table of results is something new.
func (o *outline) table() { o.since, o.closed = nil, true }

// result says that a block has come.
func (o *outline) result() { o.since = nil }

// marker is a line that announces a command or a result and is no heading: it
// says at most the role of what follows.
type marker uint8

const (
	noMarker      marker = iota
	markServer           // "Model serving command", "Backend parameters:"
	markResult           // "Benchmark result"
	markBenchmark        // "Benchmark script"
	markPart             // "Experiment results"
)

// Words of the two languages met in such lines, by what they announce.
var (
	partWords   = regexp.MustCompile(`(?i)^(?:результаты (?:эксперимент\S*|измерен\S*|тест\S*)|(?:experiment(?:al)?|test|measurement)? ?results)$`)
	resultWords = regexp.MustCompile(`(?i)^(?:результат\S*\s.*бенчмарк\S*.*|(?:baseline |optimi[sz]ed |tuned )?benchmark results?(?: after optimi[sz]ation)?)$`)
	serverWords = regexp.MustCompile(`(?i)^(?:(?:базов\S+\s+)?(?:скрипт|команда|параметры)\s+(?:обслуживания|бэкенда|сервера|запуска).*|(?:baseline |optimi[sz]ed |tuned )?(?:model |backend |engine )?(?:serving|server|backend|launch|serve) (?:script|command|parameters|arguments|flags)(?: after optimi[sz]ation)?)$`)
	benchWords  = regexp.MustCompile(`(?i)^(?:(?:скрипт|команда|методика|профили|набор данных)\s+бенчмарка.*|benchmark (?:script|command|method|profiles|data ?sets?))$`)
	baseWords   = regexp.MustCompile(`(?i)(?:^|\s)(?:базов|baseline)`)
	tunedWords  = regexp.MustCompile(`(?i)после оптимизации|optimi[sz]ed|after optimi[sz]ation|(?:^|\s)tuned`)
)

// markerOf classifies a line. Roles: a base configuration is the baseline, what
// is measured "after optimisation" is a verification, because it was chosen
// before and is measured again.
func markerOf(text string) (marker, core.Role) {
	text = strings.TrimSpace(strings.TrimLeft(strings.TrimRight(text, ": "), "#* "))
	if len([]rune(text)) > 60 {
		return noMarker, ""
	}
	var kind marker
	switch {
	case partWords.MatchString(text):
		return markPart, ""
	case serverWords.MatchString(text):
		kind = markServer
	case resultWords.MatchString(text):
		kind = markResult
	case benchWords.MatchString(text):
		return markBenchmark, ""
	default:
		return noMarker, ""
	}
	switch {
	case tunedWords.MatchString(text):
		return kind, core.RoleVerification
	case baseWords.MatchString(text):
		return kind, core.RoleBaseline
	}
	return kind, ""
}

// apply lets a marker set the role: a server marker always says it anew, a result
// marker only where it speaks of one.
func (o *outline) apply(kind marker, role core.Role) {
	if kind == markServer || kind == markResult && role != "" {
		o.role = role
	}
}

// navigation is what the frame of a web page leaves before the title.
func navigation(text string) bool {
	switch strings.ToLower(strings.TrimRight(text, " .")) {
	case "перейти к содержанию", "skip to content", "skip to main content", "table of contents", "содержание":
		return true
	}
	return false
}

// labelHint is what a comment before a block says of workload and load.
type labelHint struct {
	dataset     string
	inputLens   []float64 // possible readings, 4K is 4000 or 4096
	concurrency float64   // 0 unknown
}

var (
	randomLabel = regexp.MustCompile(`(?i)\brandom\b\D{0,3}(\d+)\s*(k\b)?`)
	batchLabel  = regexp.MustCompile(`(?i)\b(?:bs|batch size|concurrency|max[_-]concurrency)\s*[=: ]\s*(\d+)`)
)

func readLabel(text string) labelHint {
	var h labelHint
	if strings.HasPrefix(text, "-") {
		return h
	}
	if m := batchLabel.FindStringSubmatch(text); m != nil {
		h.concurrency, _ = parseNumber(m[1])
	}
	if m := randomLabel.FindStringSubmatch(text); m != nil {
		n, _ := parseNumber(m[1])
		h.dataset, h.inputLens = "random", []float64{n}
		if m[2] != "" {
			h.inputLens = []float64{n * 1000, n * 1024}
		}
	} else if strings.Contains(strings.ToLower(text), "sharegpt") {
		h.dataset = "sharegpt"
	}
	return h
}

// attentionBackends are labels that name one ("# triton").
func isAttentionBackend(word string) bool {
	switch strings.ToLower(word) {
	case "triton", "flashinfer", "fa2", "fa3", "fa4", "flash_attn", "flashmla", "cutlass_mla", "trtllm_mha", "trtllm_mla",
		"torch_native", "torch_sdpa", "xformers", "aiter", "ascend":
		return true
	}
	return false
}

var attentionWords = regexp.MustCompile(`(?i)attention|внимани`)
