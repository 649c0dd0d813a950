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
// one by one here. Without a tokenizer a text of n tokens is n frequent English
// words, each one token in the usual vocabularies; the server's count is what the
// sample records.
func randomPrompts(w core.Workload, seed uint64, ids bool) (Prompts, error) {
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
	ratio, prefixLen, vocab, err := shape(w.Params)
	if err != nil {
		return Prompts{}, err
	}
	prefix := draw(stream(seed, prefixStream, 0), prefixLen, vocab, ids)
	return Prompts{Distinct: -1, At: func(i int) Prompt {
		r := stream(seed, promptStream, i)
		n := spread(r, input, ratio)
		p := Prompt{InputTokens: prefixLen + n, OutputTokens: spread(r, output, ratio)}
		own := draw(r, n, vocab, ids)
		p.Tokens = append(append([]int(nil), prefix.Tokens...), own.Tokens...)
		p.Text = strings.TrimSpace(prefix.Text + " " + own.Text)
		return p
	}}, nil
}

// warmupPrompts makes prompts that are never measured: random ones with the
// lengths of the measured ones. They share nothing with them, not even the common
// prefix, so that the warm-up leaves the prefix cache as cold as it was.
func warmupPrompts(measured Prompts, seed uint64) Prompts {
	return Prompts{Distinct: -1, At: func(i int) Prompt {
		like := measured.At(i)
		p := draw(stream(seed, warmupStream, i), max(1, like.InputTokens), defaultVocab, len(like.Tokens) > 0)
		p.OutputTokens = like.OutputTokens
		return p
	}}
}

// draw makes n random tokens, as ids or as text.
func draw(r *rand.Rand, n, vocab int, ids bool) Prompt {
	p := Prompt{InputTokens: n}
	if ids {
		p.Tokens = make([]int, n)
		for i := range p.Tokens {
			p.Tokens[i] = firstTokenID + r.IntN(vocab-firstTokenID)
		}
		return p
	}
	words := frequentWords()
	var b strings.Builder
	b.Grow(6 * n)
	for i := range n {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(words[r.IntN(len(words))])
	}
	p.Text = b.String()
	return p
}

// spread draws a length around n. It always draws, so that the numbers after it
// do not depend on the ratio.
func spread(r *rand.Rand, n int, ratio float64) int {
	low := max(1, int(math.Floor(float64(n)*(1-ratio))))
	high := max(low, int(math.Ceil(float64(n)*(1+ratio))))
	return low + r.IntN(high-low+1)
}

func shape(params core.Knobs) (ratio float64, prefix, vocab int, err error) {
	vocab = defaultVocab
	if v, ok := params["range_ratio"]; ok {
		if v.Kind != core.KindNumber || v.Num < 0 || v.Num >= 1 {
			return 0, 0, 0, fmt.Errorf("workload: range_ratio: %w: %q is not a number from 0 to below 1", core.ErrInvalid, v)
		}
		ratio = v.Num
	}
	if v, ok := params["prefix_len"]; ok && !(v.Kind == core.KindNumber && v.Num == 0) {
		if prefix, _, err = length("prefix_len", v); err != nil {
			return 0, 0, 0, err
		}
	}
	if v, ok := params["vocab_size"]; ok {
		if vocab, _, err = length("vocab_size", v); err != nil {
			return 0, 0, 0, err
		}
		if vocab <= firstTokenID {
			return 0, 0, 0, fmt.Errorf("workload: vocab_size: %w: %d leaves no ids above %d", core.ErrInvalid, vocab, firstTokenID)
		}
	}
	return ratio, prefix, vocab, nil
}

// frequentWords are short, frequent English words.
func frequentWords() []string { return words }

// words is never changed.
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
