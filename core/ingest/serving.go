package ingest

import (
	"errors"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/sweepbook/sweepbook/core"
)

// servingReader reads text with printed blocks: it turns lines into events, lets
// them accumulate to a context, and makes a trial of each block in that context.
type servingReader struct {
	in  *input
	out *collector

	block     *block  // the open one
	beside    *beside // or several, side by side
	study     string
	titled    bool // the first line has been judged
	terminal  bool // a captured terminal or log: bare lines are no headings
	outline   outline
	facts     facts
	asks      asks
	names     []string // models named with their owner, for paths and copies
	server    *server
	first     string   // engine of the first server command: the document's choice
	firstName string   // and its checkpoint
	flags     []string // the latest bare list of flags
	flagsAt   int      // its first line
	flagsFor  string   // engine that its headings suggest
	flagsNew  bool     // it has not been read yet
	inFlags   bool     // it may go on in the next line
	profile   string   // named before the block
	defining  *ask     // the profile whose keys are being read
	comment   []string
	gap       bool // a blank line since the last comment
	expect    expectation
	printed   printed
	traceback bool
	failure   string // its last line
	joined    line   // the first line of a command that goes on
	body      []byte // its text so far
	joining   bool
	para      paragraph
	tried     []core.Config
}

// printed is what a tool prints before its block.
type printed struct {
	limit, rate, burstiness string
	progressTotal           float64
	errors                  []string // of single requests
}

func readServingBlocks(in *input, out *collector) error {
	r := &servingReader{in: in, out: out, study: stem(in.name)}
	lines := &lineReader{r: in.text}
	found := false
	for {
		l, err := lines.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		found = found || isHeader(l.text)
		r.line(l)
	}
	r.end()
	if !found {
		out.skip(0, "no result found: looked for "+lookedFor())
	}
	return nil
}

// line hands a line to the open block or to the context.
func (r *servingReader) line(l line) {
	if r.beside != nil && r.beside.take(l) {
		return
	}
	if r.beside != nil {
		r.finishBeside()
	}
	if r.block == nil {
		r.outside(l)
		return
	}
	switch r.block.take(l, isEvent) {
	case blockEnds:
		r.finishBlock()
	case blockOver:
		rest := append(slices.Clip(r.block.foreign), l)
		r.finishBlock()
		for _, l := range rest {
			r.line(l)
		}
	}
}

// open begins a block, or several that stand side by side.
func (r *servingReader) open(l line) {
	if b := newBeside(l); b != nil {
		r.beside = b
		for range b.blocks {
			r.out.begin()
		}
		return
	}
	r.out.begin()
	r.block = newBlock(l)
}

// finishBeside finishes blocks that stood side by side, from left to right. They
// answer what was asked before the first of them.
func (r *servingReader) finishBeside() {
	b := r.beside
	r.beside = nil
	for _, one := range b.blocks {
		r.block = one
		r.finishBlock()
	}
}

// isEvent: a line that ends a block which has no closing ruler.
func isEvent(l line) bool {
	if strings.HasPrefix(l.text, "+ ") || strings.HasPrefix(l.text, "$ ") || strings.HasPrefix(l.text, "#") || isFlagLine(l.text) {
		return true
	}
	_, ok := parseCommand(l.no, l.text)
	return ok
}

// outside joins continued commands and opens blocks.
func (r *servingReader) outside(l line) {
	if isHeader(l.text) {
		r.endJoin()
		r.endParagraph()
		r.titled = true
		r.progress(l.text)
		r.open(l)
		return
	}
	more := strings.HasSuffix(l.text, `\`)
	if !more && !r.joining {
		r.event(l)
		return
	}
	if !r.joining {
		r.joined, r.joining, r.body = l, true, r.body[:0]
	}
	if body := strings.TrimSpace(strings.TrimRight(l.text, `\`)); len(r.body)+len(body) < maxCommand {
		r.body = append(append(r.body, body...), ' ')
	}
	if !more {
		r.endJoin()
	}
}

// maxCommand bounds a command that goes on over lines, in bytes.
const maxCommand = 16 << 10

func (r *servingReader) endJoin() {
	if r.joining {
		r.joining = false
		r.joined.text = strings.TrimSpace(string(r.body))
		r.event(r.joined)
	}
}

var (
	preamble     = regexp.MustCompile(`^(Traffic request rate|Maximum request concurrency|Burstiness factor):\s*(\S+)`)
	progressBar  = regexp.MustCompile(`\d{1,3}%\|.*?\| *\d+/(\d+) \[`)
	profileKey   = regexp.MustCompile(`^(dataset_name|dataset_input_tokens|dataset_output_tokens|dataset_seed|request_rate|total_requests|max_concurrency)\s*:\s*(\S+)$`)
	profileName  = regexp.MustCompile(`(?i)^(?:профиль|profile)\s*:?\s+(\S.*)$`)
	requestError = regexp.MustCompile(`^Error (\d{1,4}): (\S.*)$`)
	errorCount   = regexp.MustCompile(`^Error type: (\S.*?), Count: (\d+) requests?$`)
	namespace    = regexp.MustCompile(`^Namespace\((.*)\)$`)
	inlineFact   = regexp.MustCompile(`(?i)^(модель|model|оборудование|hardware|gpus?)\s*:\s*(\S.*)$`)
)

// event says what a line outside of blocks means.
func (r *servingReader) event(l line) {
	text := l.text
	switch {
	case text == "":
		r.gap = true
		r.endParagraph()
		return
	case len(text) <= 4 && isDigits(text), strings.HasPrefix(text, "```"):
		r.endParagraph() // a gutter of line numbers, a fence
		return
	case !r.titled && navigation(text):
		return
	case strings.HasPrefix(text, "#") && markdownHeading.FindString(text) == "":
		r.endParagraph()
		if cmd, ok := parseCommand(l.no, strings.TrimLeft(text, "# ")); ok {
			r.comment = nil
			r.command(cmd) // behind the prompt of root, or noted by a person
			return
		}
		r.commentLine(text)
		return
	}
	comment := r.comment
	r.comment = nil
	if !r.titled && len(comment) == 1 && r.gap {
		r.titleOf(comment[0])
	}
	if strings.HasPrefix(text, "+ ") || l.prefixed || r.progress(text) {
		r.terminal = true
	}
	if r.special(l) {
		r.endParagraph()
		r.titled = true
		return
	}
	r.inFlags, r.defining = false, nil
	if r.para.lines == 0 {
		r.para.first = clip(text, 200)
	} else {
		r.titled = true // a paragraph, not a title
	}
	r.para.lines++
	r.para.last = clip(text, 200)
	if markdownHeading.FindString(text) != "" {
		r.endParagraph()
	}
}

// special takes what is recognised by its form: commands, flags, keys, facts,
// markers. The rest is headings and prose.
func (r *servingReader) special(l line) bool {
	text := l.text
	if isFlagLine(text) {
		r.flagLine(l.no, text)
		return true
	}
	r.inFlags = false
	if m := profileKey.FindStringSubmatch(text); m != nil {
		r.endParagraph() // it names the profile
		r.profileLine(l.no, m[1], m[2])
		return true
	}
	r.defining = nil
	if r.shellLine(l.no, text) {
		return true
	}
	if cmd, ok := parseCommand(l.no, text); ok {
		r.command(cmd)
		return true
	}
	if m := preamble.FindStringSubmatch(text); m != nil {
		switch m[1] {
		case "Traffic request rate":
			r.printed.rate = m[2]
		case "Maximum request concurrency":
			r.printed.limit = m[2]
		default:
			r.printed.burstiness = m[2]
		}
		return true
	}
	if strings.HasPrefix(text, "Error ") && r.errorLine(text) {
		return true
	}
	if m := namespace.FindStringSubmatch(text); m != nil {
		r.namespace(l.no, text, m[1])
		return true
	}
	if r.facts.note(text) {
		return true
	}
	if l.prefixed || len(text) > maxStatement {
		return false // no fact or announcement of a person
	}
	if a, ok := parseDataset(l.no, text); ok {
		r.asks.add(a)
		return true
	}
	if m := inlineFact.FindStringSubmatch(text); m != nil && r.fact(factHeading(m[1]), m[2]) {
		return true
	}
	return r.announcement(text)
}

// errorLine takes what tools print of failed requests before their block.
func (r *servingReader) errorLine(text string) bool {
	said := ""
	if m := requestError.FindStringSubmatch(text); m != nil {
		said = clip(m[2], 200)
	} else if m := errorCount.FindStringSubmatch(text); m != nil {
		said = clip(m[1], 60) + " ×" + m[2]
	}
	if said != "" && len(r.printed.errors) < 5 {
		r.printed.errors = append(r.printed.errors, said)
	}
	return said != ""
}

// maxStatement is longer (in bytes) than any line that states a fact or announces
// a command or result.
const maxStatement = 300

// announcement takes lines that stand between headings and results.
func (r *servingReader) announcement(text string) bool {
	if summaryLine.MatchString(text) {
		r.endParagraph()
		r.outline.closed = true
		return true
	}
	if m := profileName.FindStringSubmatch(text); m != nil && len(strings.Fields(text)) <= 8 && !strings.HasSuffix(text, ".") && r.titled {
		r.profile = m[1]
		return true
	}
	kind, role := markerOf(text)
	switch kind {
	case noMarker:
		return false
	case markPart:
		r.endParagraph()
		r.outline.divide()
		r.profile = ""
	default:
		r.endParagraph()
		r.outline.apply(kind, role)
	}
	return true
}

// end closes what is open at the end of the text.
func (r *servingReader) end() {
	r.endJoin()
	if r.beside != nil {
		r.finishBeside()
	}
	if r.block != nil {
		r.block.truncated = true
		r.finishBlock()
	}
	r.endParagraph()
	r.unanswered()
}
