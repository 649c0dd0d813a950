package load

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"

	"github.com/sweepbook/sweepbook/core"
)

// The token ids of random prompts lie in a range that every current vocabulary
// has and that is clear of the special and single-byte tokens, which most
// vocabularies keep at one of their ends.
const (
	firstTokenID = 1000
	defaultVocab = 30000
)

// randomPrompts makes prompts of independent random tokens, so that no two share
// a prefix that a cache could keep.
//
// The lengths follow vllm bench serve's random data set: with range_ratio r an
// input length is uniform in [⌊n(1-r)⌋, ⌈n(1+r)⌉], an output length likewise;
// prefix_len tokens drawn once stand before every prompt and come on top of the
// input length.
//
// Note: vLLM makes runs of consecutive ids from a random start. With a small
// range of ids two of a thousand such prompts soon start alike, so ids are drawn
// one by one here. A text of n tokens is n frequent English words, each one token in
// the usual vocabularies; with a counter only those are taken that are, so that
// the length is exact. The server's count is what the sample records.
func randomPrompts(w core.Workload, seed uint64, ids bool, counter Counter) (Prompts, error) {
	input, given, err := length("input_len", w.InputLen)
	if err != nil {
		return Prompts{}, err
	}
	output, outputGiven, err := length("output_len", w.OutputLen)
	if err != nil {
		return Prompts{}, err
	}
	if !given || !outputGiven {
		return Prompts{}, fmt.Errorf("workload: %w: dataset random needs input_len and output_len", core.ErrInvalid)
	}
	ratio, err := rangeRatio(w.Params)
	if err != nil {
		return Prompts{}, err
	}
	prefixLen, err := param(w.Params, "prefix_len", 0, 0)
	if err != nil {
		return Prompts{}, err
	}
	d, err := newDrawer(w.Params, ids, counter)
	if err != nil {
		return Prompts{}, err
	}
	prefix := d.draw(stream(seed, prefixStream, 0), prefixLen)
	return Prompts{Distinct: -1, CountedBy: d.countedBy, At: func(i int) Prompt {
		r := stream(seed, promptStream, i)
		n := spread(r, input, ratio)
		p := Prompt{OutputTokens: spread(r, output, ratio)}
		return d.join(p, prefix, d.draw(r, n))
	}}, nil
}

// warmupPrompts makes prompts that are never measured: random ones with the
// lengths of the measured ones. They share nothing with them, not even the common
// prefix, so that the warm-up leaves the prefix cache as cold as it was.
func warmupPrompts(measured Prompts, seed uint64) Prompts {
	return Prompts{Distinct: -1, At: func(i int) Prompt {
		like := measured.At(i)
		d := drawer{ids: len(like.Tokens) > 0, vocab: defaultVocab, words: words}
		p := d.draw(stream(seed, warmupStream, i), max(1, like.InputTokens))
		p.OutputTokens = like.OutputTokens
		return p
	}}
}

// drawer makes random tokens, as ids or as text.
type drawer struct {
	ids       bool
	vocab     int
	words     []string
	exact     bool
	extra     int // tokens that a count adds to every text
	countedBy string
}

// newDrawer keeps, of the frequent words, those that are one token each. A
// counter that fails, or has fewer than a hundred such words, makes the lengths of
// texts estimates.
func newDrawer(params core.Knobs, ids bool, counter Counter) (*drawer, error) {
	vocab, err := param(params, "vocab_size", firstTokenID+1, defaultVocab)
	if err != nil {
		return nil, err
	}
	d := &drawer{ids: ids, vocab: vocab, words: words, countedBy: CountedByEstimate}
	switch {
	case ids:
		d.exact, d.countedBy = true, "ids"
	case counter.Name != CountedByEstimate:
		if single, extra, ok := singleTokens(counter, words); ok {
			d.words, d.extra, d.exact, d.countedBy = single, extra, true, counter.Name
		}
	}
	return d, nil
}

// singleTokens gives the words that are one token each, after a blank and at the
// start of a text. Halves of a list are counted at once, as most words are.
func singleTokens(counter Counter, list []string) (single []string, extra int, ok bool) {
	extra, err := counter.Count("")
	if err != nil {
		return nil, 0, false
	}
	var keep func(list []string) error
	keep = func(list []string) error {
		n, err := counter.Count(strings.Join(list, " "))
		alone, err2 := counter.Count(list[0])
		switch {
		case err != nil:
			return err
		case err2 != nil:
			return err2
		case n-extra == len(list) && alone-extra == 1:
			single = append(single, list...)
			return nil
		case len(list) == 1:
			return nil
		}
		if err := keep(list[:len(list)/2]); err != nil {
			return err
		}
		return keep(list[len(list)/2:])
	}
	if err := keep(list); err != nil || len(single) < 100 {
		return nil, 0, false
	}
	return single, extra, true
}

// draw makes n random tokens.
func (d *drawer) draw(r *rand.Rand, n int) Prompt {
	p := Prompt{InputTokens: n}
	if d.ids {
		p.Tokens = make([]int, n)
		for i := range p.Tokens {
			p.Tokens[i] = firstTokenID + r.IntN(d.vocab-firstTokenID)
		}
		return p
	}
	var b strings.Builder
	b.Grow(6 * n)
	for i := range n {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(d.words[r.IntN(len(d.words))])
	}
	p.Text = b.String()
	return p
}

// join puts parts behind each other into p.
func (d *drawer) join(p Prompt, parts ...Prompt) Prompt {
	var texts []string
	for _, part := range parts {
		p.InputTokens += part.InputTokens
		p.Tokens = append(p.Tokens, part.Tokens...)
		if part.Text != "" {
			texts = append(texts, part.Text)
		}
	}
	p.Text = strings.Join(texts, " ")
	p.Exact = d.exact
	if !d.ids {
		p.InputTokens += d.extra
	}
	return p
}

// spread draws a length around n. It always draws, so that the numbers after it
// do not depend on the ratio.
func spread(r *rand.Rand, n int, ratio float64) int {
	low := max(1, int(math.Floor(float64(n)*(1-ratio))))
	high := max(low, int(math.Ceil(float64(n)*(1+ratio))))
	return low + r.IntN(high-low+1)
}

func rangeRatio(params core.Knobs) (float64, error) {
	v, ok := params["range_ratio"]
	if !ok {
		return 0, nil
	}
	if v.Kind != core.KindNumber || v.Num < 0 || v.Num >= 1 {
		return 0, fmt.Errorf("workload: range_ratio: %w: %q is not a number from 0 to below 1", core.ErrInvalid, v)
	}
	return v.Num, nil
}

// words are short, frequent English words. The list is never changed.
var words = strings.Fields(`
the of and to in is was for on that with as by at from his her they this have but not are had were been
one all would there their what when more time only into some could them year other than then now look come over think also back after
use two how our work first well way even new want because any these give day most find here thing many tell very
hand high keep last let long great own part place small large next early young important few public bad same able best better
house water name world school state family student group country problem fact right case week company system program question
government number night point home room mother area money story month lot study book eye job word business issue side kind
head service friend father power hour game line end member law car city community team minute idea body information nothing
morning evening north south east west river mountain road bridge garden window door table chair letter paper picture music song
voice sound light dark red green blue white black yellow summer winter spring fall snow rain wind cloud star moon sun sea
land tree flower grass stone bread milk coffee tea sugar salt fish bird horse dog cat farm field market shop street corner
open close start stop run walk turn move stand sit read write speak listen learn teach build break carry send receive buy sell
answer ask begin believe bring call change choose consider continue create cut decide describe develop draw drive eat enter expect
explain fall feel follow forget grow happen hear help hold hope include increase join know lead leave like live lose love make
mean measure meet need offer pass pay plan play produce provide pull push put raise reach remember report return save say see seem
serve set show sing sleep smile spend stay support take talk throw touch travel try understand visit wait wash watch win wish wonder`)
