package plugins

import (
	"fmt"
	"math/bits"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/plugins/internal/pb"
)

func workloadToPB(w core.Workload) *pb.Workload {
	return &pb.Workload{
		Name: w.Name, Dataset: w.Dataset, Path: w.Path, Endpoint: w.Endpoint, Params: valuesToPB(w.Params),
		InputLen: valueToPB(w.InputLen), OutputLen: valueToPB(w.OutputLen), IgnoreEos: valueToPB(w.IgnoreEOS), Turns: valueToPB(w.Turns),
	}
}

func (c *check) workload(w *pb.Workload) core.Workload {
	return core.Workload{
		Name: c.text("workload.name", w.GetName(), maxName), Dataset: c.text("workload.dataset", w.GetDataset(), maxName),
		Path: c.text("workload.path", w.GetPath(), maxText), Endpoint: c.text("workload.endpoint", w.GetEndpoint(), maxText),
		Params:   c.values("workload.params", w.GetParams()),
		InputLen: c.value("workload.input_len", w.GetInputLen()), OutputLen: c.value("workload.output_len", w.GetOutputLen()),
		IgnoreEOS: c.value("workload.ignore_eos", w.GetIgnoreEos()), Turns: c.value("workload.turns", w.GetTurns()),
	}
}

func loadToPB(l core.Load) *pb.Load {
	return &pb.Load{
		Concurrency: valueToPB(l.Concurrency), RequestRate: valueToPB(l.RequestRate), Burstiness: valueToPB(l.Burstiness),
		NumPrompts: valueToPB(l.NumPrompts), DurationS: valueToPB(l.DurationS), Seed: valueToPB(l.Seed),
	}
}

func (c *check) load(l *pb.Load) core.Load {
	return core.Load{
		Concurrency: c.value("load.concurrency", l.GetConcurrency()), RequestRate: c.value("load.request_rate", l.GetRequestRate()),
		Burstiness: c.value("load.burstiness", l.GetBurstiness()), NumPrompts: c.value("load.num_prompts", l.GetNumPrompts()),
		DurationS: c.value("load.duration_s", l.GetDurationS()), Seed: c.value("load.seed", l.GetSeed()),
	}
}

func benchmarkRequestToPB(r core.BenchmarkRequest) *pb.BenchmarkRequest {
	return &pb.BenchmarkRequest{
		Trial: trialIDToPB(r.Trial), BaseUrl: r.BaseURL, Model: r.Model, Config: configToPB(r.Config), Workload: workloadToPB(r.Workload),
		Load: loadToPB(r.Load), Warmup: int64(r.Warmup), DataPath: r.DataPath,
		RequestTimeoutNs: int64(r.RequestTimeout), IdleTimeoutNs: int64(r.IdleTimeout),
	}
}

func (c *check) benchmarkRequest(r *pb.BenchmarkRequest) core.BenchmarkRequest {
	return core.BenchmarkRequest{
		Trial: trialID(c, r.GetTrial()), BaseURL: c.text("base_url", r.GetBaseUrl(), maxText), Model: c.text("model", r.GetModel(), maxText),
		Config: c.config(r.GetConfig()), Workload: c.workload(r.GetWorkload()), Load: c.load(r.GetLoad()),
		Warmup: c.number("warmup", r.GetWarmup(), 0, maxTokens), DataPath: c.text("data_path", r.GetDataPath(), maxText),
		RequestTimeout: c.span("request_timeout_ns", r.GetRequestTimeoutNs()), IdleTimeout: c.span("idle_timeout_ns", r.GetIdleTimeoutNs()),
	}
}

func outcomeToPB(o core.Outcome) pb.Outcome {
	switch o {
	case core.OutcomeOK:
		return pb.Outcome_OUTCOME_OK
	case core.OutcomeFailed:
		return pb.Outcome_OUTCOME_FAILED
	case core.OutcomeIncomplete:
		return pb.Outcome_OUTCOME_INCOMPLETE
	}
	return pb.Outcome_OUTCOME_UNSPECIFIED
}

func (c *check) outcome(o pb.Outcome) core.Outcome {
	switch o {
	case pb.Outcome_OUTCOME_OK:
		return core.OutcomeOK
	case pb.Outcome_OUTCOME_FAILED:
		return core.OutcomeFailed
	case pb.Outcome_OUTCOME_INCOMPLETE:
		return core.OutcomeIncomplete
	}
	c.fail("outcome", "%d is not known", o)
	return core.OutcomeFailed
}

func tokensToPB(n int) *int64 {
	if n == -1 {
		return nil
	}
	v := int64(n)
	return &v
}

// sampleToPB fails where a sample cannot be written at all: chunk times that go
// back, or more of them than one message holds.
func sampleToPB(s core.Sample) (*pb.Sample, error) {
	if len(s.Chunks) > maxChunks {
		return nil, fmt.Errorf("sample %d: %w: %d chunks where %d are allowed", s.Index, core.ErrInvalid, len(s.Chunks), maxChunks)
	}
	out := &pb.Sample{
		Index: int64(s.Index), DueNs: nanoseconds(s.Due), SentNs: nanoseconds(s.Sent), FirstNs: nanoseconds(s.First),
		LastNs: nanoseconds(s.Last), EndNs: nanoseconds(s.End), InputTokens: tokensToPB(s.InputTokens), CachedTokens: tokensToPB(s.CachedTokens),
		OutputTokens: tokensToPB(s.OutputTokens), RequestedOutput: tokensToPB(s.RequestedOutput), Outcome: outcomeToPB(s.Outcome), Error: prose(s.Error),
	}
	if len(s.Chunks) > 0 {
		out.ChunkDeltasNs = make([]uint64, len(s.Chunks))
	}
	var before time.Duration
	for i, at := range s.Chunks {
		if at < before {
			return nil, fmt.Errorf("sample %d: %w: chunk %d came at %v, before %v", s.Index, core.ErrInvalid, i, at, before)
		}
		out.ChunkDeltasNs[i] = uint64(at - before)
		before = at
	}
	return out, nil
}

func (c *check) sample(in *pb.Sample) core.Sample {
	s := core.Sample{
		Index: c.number("index", in.GetIndex(), 0, maxTrialSamples-1),
		Due:   c.moment("due_ns", in.DueNs), Sent: c.moment("sent_ns", in.SentNs), First: c.moment("first_ns", in.FirstNs),
		Last: c.moment("last_ns", in.LastNs), End: c.moment("end_ns", in.EndNs),
		InputTokens: c.tokens("input_tokens", in.InputTokens), CachedTokens: c.tokens("cached_tokens", in.CachedTokens),
		OutputTokens: c.tokens("output_tokens", in.OutputTokens), RequestedOutput: c.tokens("requested_output", in.RequestedOutput),
		Outcome: c.outcome(in.GetOutcome()), Error: prose(in.GetError()),
	}
	c.inOrder(s)
	if s.CachedTokens > s.InputTokens && s.InputTokens >= 0 {
		c.fail("cached_tokens", "%d of %d input tokens", s.CachedTokens, s.InputTokens)
	}
	if !c.count("chunk_deltas_ns", len(in.ChunkDeltasNs), maxChunks) || len(in.ChunkDeltasNs) == 0 {
		return s
	}
	s.Chunks = make([]time.Duration, len(in.ChunkDeltasNs))
	var at uint64
	for i, delta := range in.ChunkDeltasNs {
		sum, carry := bits.Add64(at, delta, 0)
		if carry != 0 || sum > uint64(maxMoment) {
			c.fail("chunk_deltas_ns", "longer than thirty days")
			return s
		}
		at = sum
		s.Chunks[i] = time.Duration(at)
	}
	if s.First == core.NoTime || s.Last == core.NoTime || s.Chunks[0] < s.First || time.Duration(at) > s.Last {
		c.fail("chunk_deltas_ns", "a chunk outside the time from first to last")
	}
	return s
}

// inOrder refuses a negative latency: sent, first, last and end come in this
// order where they came at all. Due may lie after sent by a clock's grain.
func (c *check) inOrder(s core.Sample) {
	before, name := core.NoTime, ""
	for _, m := range []struct {
		name string
		at   time.Duration
	}{{"sent_ns", s.Sent}, {"first_ns", s.First}, {"last_ns", s.Last}, {"end_ns", s.End}} {
		if m.at == core.NoTime {
			continue
		}
		if m.at < before {
			c.fail(m.name, "%v, before %s at %v: a negative latency", m.at, name, before)
		}
		before, name = m.at, m.name
	}
}

// batchBytes is the size at which a batch of samples is closed: far enough under
// the 4 MiB of one message that the largest sample (maxChunks deltas of at most ten
// bytes) still fits beside it.
const batchBytes = 512 << 10

// batchesToPB splits samples into messages that fit.
func batchesToPB(samples []core.Sample) ([]*pb.SampleBatch, error) {
	var out []*pb.SampleBatch
	size := batchBytes
	for _, s := range samples {
		p, err := sampleToPB(s)
		if err != nil {
			return nil, err
		}
		if size >= batchBytes || len(out[len(out)-1].Samples) >= 4096 {
			out, size = append(out, &pb.SampleBatch{}), 0
		}
		last := out[len(out)-1]
		last.Samples = append(last.Samples, p)
		size += proto.Size(p) + 4
	}
	return out, nil
}

// A tally holds a whole benchmark to its bounds: no request twice, and no more of
// them and of chunk times than a host can keep.
type tally struct {
	seen    []uint64 // one bit an index, of which there are maxTrialSamples
	chunks  int
	summary bool
}

func (t *tally) batch(c *check, in *pb.SampleBatch) []core.Sample {
	if !c.count("samples", len(in.GetSamples()), maxBatch) {
		return nil
	}
	out := make([]core.Sample, 0, len(in.GetSamples()))
	for i, p := range in.GetSamples() {
		s := c.sample(p)
		if c.err != nil {
			c.err.Field = fmt.Sprintf("samples[%d].%s", i, c.err.Field)
			return nil
		}
		t.chunks += len(s.Chunks)
		word, bit := s.Index/64, uint64(1)<<(s.Index%64)
		for word >= len(t.seen) {
			t.seen = append(t.seen, make([]uint64, word+1-len(t.seen))...)
		}
		switch {
		case t.seen[word]&bit != 0:
			c.fail("samples.index", "request %d is reported twice", s.Index)
		case t.chunks > maxTrialChunks:
			c.fail("samples", "more than %d chunk times in one trial", maxTrialChunks)
		}
		t.seen[word] |= bit
		out = append(out, s)
	}
	return out
}

func (t *tally) summaryValues(c *check, in *pb.Summary) map[string]core.Value {
	if t.summary {
		c.fail("summary", "came twice")
	}
	t.summary = true
	return c.values("summary.figures", in.GetFigures())
}
