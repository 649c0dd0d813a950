package sim

import (
	"slices"
	"time"
)

// delivery is what one step produced for one sequence. No tokens and not last
// means that its prompt has begun to be computed.
type delivery struct {
	seq    *sequence
	tokens int
	last   bool
}

// counters are what the scheduler has done since its start.
type counters struct {
	Steps, Preemptions                  int
	PromptTokens, GenerationTokens      int
	CacheQueries, CacheHits             int // prompt tokens asked and found
	Drafts, DraftTokens, AcceptedTokens int
	Finished                            int
}

// scheduler is the continuous batcher. It knows virtual time only, and what it
// does follows from the requests and the times at which they are ready.
type scheduler struct {
	m       *machine
	waiting []*sequence // in order of arrival, preempted ones first
	running []*sequence // in order of admission
	used    int         // KV blocks held
	cache   *prefixCache
	count   counters
}

func newScheduler(m *machine) *scheduler { return &scheduler{m: m, cache: newPrefixCache()} }

// submit queues a sequence.
func (d *scheduler) submit(s *sequence) { d.waiting = append(d.waiting, s) }

// drop forgets a sequence whose client is gone.
func (d *scheduler) drop(s *sequence) {
	same := func(t *sequence) bool { return t == s }
	d.waiting = slices.DeleteFunc(d.waiting, same)
	d.running = slices.DeleteFunc(d.running, same)
	d.release(s)
}

// next returns the earliest moment, not before now, at which a step has work.
func (d *scheduler) next(now time.Duration) (at time.Duration, ok bool) {
	switch {
	case len(d.running) > 0:
		return now, true
	case len(d.waiting) > 0:
		return max(now, d.waiting[0].ready), true
	}
	return 0, false
}

// step computes one step that begins at now. What it delivers comes at its end.
func (d *scheduler) step(now time.Duration) (time.Duration, []delivery) {
	var b batch
	var out []delivery
	if d.m.chunked {
		preempted := d.advanceAll(&b, &out)
		if !preempted {
			d.admit(now, &b, &out)
		}
	} else {
		d.admit(now, &b, &out)
		if b.prefillTokens == 0 {
			d.advanceAll(&b, &out)
		}
	}
	if b.sequences == 0 {
		return 0, nil
	}
	d.count.Steps++
	for _, e := range out {
		if e.last {
			d.finish(e.seq)
		}
	}
	return d.m.roof.step(b), out
}

// advanceAll gives every running sequence its part of the step, the oldest
// first, and takes blocks from the youngest when the cache is full.
func (d *scheduler) advanceAll(b *batch, out *[]delivery) (preempted bool) {
	for i := 0; i < len(d.running); i++ {
		s := d.running[i]
		left := d.m.budget - b.prefillTokens - b.decodeTokens
		if left <= 0 {
			break
		}
		tokens := min(s.total()-s.computed, left)
		if s.decoding() {
			tokens = min(1+min(d.m.roof.drafts, s.outputLen-s.generated-1), left)
		}
		for !d.hold(s, s.computed+tokens) {
			victim := d.running[len(d.running)-1]
			d.preempt(victim)
			preempted = true
			if victim == s {
				return true
			}
		}
		d.advance(s, tokens, b, out)
	}
	return preempted
}

// admit lets waiting sequences in while there are seats, blocks and budget.
func (d *scheduler) admit(now time.Duration, b *batch, out *[]delivery) {
	for len(d.waiting) > 0 && len(d.running) < d.m.maxSeqs {
		s := d.waiting[0]
		left := d.m.budget - b.prefillTokens - b.decodeTokens
		if s.ready > now || left <= 0 {
			return
		}
		cached := 0
		if d.m.caching {
			// The last token is always computed: it gives the next one.
			cached = min(d.cache.match(s.prefix), (s.total()-1)/blockTokens) * blockTokens
		}
		tokens := s.total() - cached
		if d.m.chunked {
			tokens = min(tokens, left)
		} else if tokens > left && b.sequences > 0 {
			return
		}
		// A small reserve keeps those that decode from preempting at once.
		reserve := d.m.blocks / 100
		if len(d.running) == 0 {
			reserve = 0
		}
		if d.used+blocksFor(s.total()+1)+reserve > d.m.blocks && len(d.running) > 0 {
			return
		}
		d.hold(s, s.total())
		d.waiting = d.waiting[1:]
		d.running = append(d.running, s)
		s.computed = cached
		if !s.counted {
			s.counted, s.cached = true, cached
			d.count.PromptTokens += s.promptLen
			d.count.CacheQueries += s.promptLen
			d.count.CacheHits += cached
		}
		d.advance(s, tokens, b, out)
	}
}

// advance computes some tokens of a sequence and notes what comes out.
func (d *scheduler) advance(s *sequence, tokens int, b *batch, out *[]delivery) {
	b.sequences++
	b.contextTokens += float64(s.computed + tokens)
	b.pairs += float64(tokens) * (float64(s.computed) + float64(tokens)/2)
	emitted := 0
	if s.decoding() {
		b.decodeTokens += tokens
		hits := s.random.accepted(tokens-1, d.m.acceptance)
		emitted = 1 + hits
		s.computed += emitted
		if d.m.roof.drafts > 0 {
			d.count.Drafts++
			d.count.DraftTokens += tokens - 1
			d.count.AcceptedTokens += hits
		}
	} else {
		b.prefillTokens += tokens
		s.computed += tokens
		if s.computed == s.total() {
			emitted = 1
			if d.m.caching {
				d.cache.insert(s.prefix)
				d.cache.trim(d.m.blocks - d.used)
			}
		}
	}
	s.generated += emitted
	d.count.GenerationTokens += emitted
	if emitted > 0 || !s.began {
		*out = append(*out, delivery{s, emitted, s.generated >= s.outputLen})
	}
	s.began = true
}

// hold makes sure that a sequence has blocks for so many tokens.
func (d *scheduler) hold(s *sequence, tokens int) bool {
	more := blocksFor(tokens) - s.blocks
	if more <= 0 {
		return true
	}
	if d.used+more > d.m.blocks {
		return false
	}
	s.blocks += more
	d.used += more
	d.cache.trim(d.m.blocks - d.used)
	return true
}

func (d *scheduler) release(s *sequence) {
	d.used -= s.blocks
	s.blocks = 0
}

// preempt takes a sequence's blocks away; it will be computed again, answer so
// far included.
func (d *scheduler) preempt(s *sequence) {
	d.count.Preemptions++
	d.release(s)
	s.computed = 0
	d.running = d.running[:len(d.running)-1]
	d.waiting = slices.Insert(d.waiting, 0, s)
}

func (d *scheduler) finish(s *sequence) {
	d.count.Finished++
	d.release(s)
	d.running = slices.DeleteFunc(d.running, func(t *sequence) bool { return t == s })
}

func blocksFor(tokens int) int { return (tokens + blockTokens - 1) / blockTokens }
