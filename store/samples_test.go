package store_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/store"
)

// samples are n requests with chunks, as a run leaves them.
func samples(n int) []core.Sample {
	rng := rand.New(rand.NewPCG(1, 2))
	out := make([]core.Sample, n)
	for i := range out {
		us := func(f float64) time.Duration { return time.Duration(f) * time.Microsecond }
		s := core.Sample{Index: i, Due: us(float64(i) * 50000), InputTokens: 100 + rng.IntN(900), CachedTokens: -1, OutputTokens: 100, RequestedOutput: 100}
		s.Sent = s.Due + us(rng.Float64()*300)
		s.First = s.Sent + us(80000+rng.Float64()*40000)
		at := s.First
		for range s.OutputTokens {
			s.Chunks = append(s.Chunks, at)
			at += us(9000 + rng.Float64()*3000)
		}
		s.Last = s.Chunks[len(s.Chunks)-1]
		s.End = s.Last + us(200)
		out[i] = s
	}
	return out
}

// oddSamples have every kind of gap.
func oddSamples() []core.Sample {
	const never = core.NoTime
	return []core.Sample{
		{Index: 5, Due: 0, Sent: never, First: never, Last: never, End: 3 * time.Second, InputTokens: -1, CachedTokens: -1, OutputTokens: -1, RequestedOutput: -1,
			Outcome: core.OutcomeFailed, Error: "connection refused"},
		{Index: 3, Due: never, Sent: time.Second, First: never, Last: 2 * time.Second, End: never, Outcome: core.OutcomeIncomplete,
			Chunks: []time.Duration{time.Second, never, 500 * time.Millisecond}},
		{Index: 3, Due: -time.Second, Sent: -time.Microsecond, First: 0, Last: 0, End: 0, InputTokens: 1 << 40, Outcome: core.OutcomeFailed, Error: "connection refused"},
		{Index: -1, Due: 1000 * time.Hour, Sent: 1000 * time.Hour, Error: "ü\x00"},
	}
}

func TestSamplesRoundTrip(t *testing.T) {
	ctx := context.Background()
	db := openNew(t)
	for i, want := range [][]core.Sample{samples(100), oddSamples(), {{}}, nil} {
		trial := plain(i)
		ok(t, db.FinishTrial(ctx, trial, want))
		got, err := db.Samples(ctx, trial.ID)
		ok(t, err)
		if d := diff(want, got); d != "" {
			t.Errorf("samples %d (-saved +read):\n%s", i, d)
		}
	}
	// Finer than a microsecond is rounded, never cut off.
	trial := plain(9)
	ok(t, db.FinishTrial(ctx, trial, []core.Sample{{Sent: 1999 * time.Nanosecond}}))
	got, err := db.Samples(ctx, trial.ID)
	ok(t, err)
	if got[0].Sent != 2*time.Microsecond {
		t.Errorf("1.999 µs came back as %v", got[0].Sent)
	}
	if _, err := db.Samples(ctx, id(77)); !errors.Is(err, core.ErrNotFound) {
		t.Errorf("unknown trial: %v", err)
	}
	// Without the moments of chunks all else is the same.
	want := samples(100)
	for i := range want {
		want[i].Chunks = nil
	}
	bare, err := db.Requests(ctx, id(0), false)
	ok(t, err)
	if d := diff(want, bare); d != "" {
		t.Errorf("without chunks (-saved +read):\n%s", d)
	}
	if _, err := db.Requests(ctx, id(77), false); !errors.Is(err, core.ErrNotFound) {
		t.Errorf("unknown trial: %v", err)
	}
}

func TestImportSamples(t *testing.T) {
	ctx := context.Background()
	db := openNew(t)
	trial := plain(1)
	ok(t, db.SaveTrial(ctx, trial))
	ok(t, db.ImportSamples(ctx, trial.ID, samples(10)))
	ok(t, db.ImportSamples(ctx, trial.ID, oddSamples()))
	got, err := db.Samples(ctx, trial.ID)
	ok(t, err)
	if d := diff(oddSamples(), got); d != "" {
		t.Error(d)
	}
	if err := db.ImportSamples(ctx, id(9), samples(1)); !errors.Is(err, core.ErrNotFound) {
		t.Errorf("unknown trial: %v", err)
	}
}

func TestChunksAreBounded(t *testing.T) {
	ctx := context.Background()
	opt := options()
	opt.MaxChunks = 999
	db := openAt(t, filepath.Join(t.TempDir(), "h.db"), opt)
	trial := plain(1)
	want := samples(10) // 1000 chunks
	ok(t, db.FinishTrial(ctx, trial, want))
	got, err := db.Samples(ctx, trial.ID)
	ok(t, err)
	for i := range want {
		want[i].Chunks = nil
	}
	if d := diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestPackedText(t *testing.T) {
	for _, s := range []string{"", "x", strings.Repeat("Mean TTFT (ms): 12.5\n", 50), "\x00\xff"} {
		packed, err := store.PackText(s)
		ok(t, err)
		got, err := store.Unpack(packed)
		ok(t, err)
		if string(got) != s {
			t.Errorf("%q came back as %q", s, got)
		}
		if len(packed) > len(s)+1 {
			t.Errorf("%d bytes became %d", len(s), len(packed))
		}
	}
	for _, bad := range [][]byte{nil, {9}, {1, 0xff, 0xff}, {2}} {
		if _, err := store.Unpack(bad); !errors.Is(err, core.ErrInvalid) {
			t.Errorf("%v: %v", bad, err)
		}
	}
}

func FuzzDecodeSamples(f *testing.F) {
	for _, s := range [][]core.Sample{nil, samples(2), oddSamples()} {
		data, chunks := store.Encode(s)
		f.Add(data, chunks)
	}
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0x0f}, []byte{1})
	f.Fuzz(func(t *testing.T, data, chunks []byte) {
		got, err := store.Decode(data, chunks)
		if err != nil {
			if !errors.Is(err, core.ErrInvalid) {
				t.Errorf("error %v", err)
			}
			return
		}
		again, err := store.Decode(store.Encode(got))
		if err != nil {
			t.Fatal(err)
		}
		if d := diff(got, again); d != "" {
			t.Error(d)
		}
	})
}

// TestFuzzSeeds writes the seeds that stand in testdata, with -update.
func TestFuzzSeeds(t *testing.T) {
	dir := filepath.Join("testdata", "fuzz", "FuzzDecodeSamples")
	for name, s := range map[string][]core.Sample{"run": samples(3), "odd": oddSamples()} {
		data, chunks := store.Encode(s)
		want := "go test fuzz v1\n[]byte(" + strconv.Quote(string(data)) + ")\n[]byte(" + strconv.Quote(string(chunks)) + ")\n"
		path := filepath.Join(dir, name)
		if *update {
			ok(t, os.MkdirAll(dir, 0o755))
			ok(t, os.WriteFile(path, []byte(want), 0o644))
		}
		got, err := os.ReadFile(path)
		ok(t, err)
		if string(got) != want {
			t.Errorf("%s: samples are written differently than when this file was made; histories out there hold the old form", path)
		}
	}
}

func BenchmarkFinishTrial(b *testing.B) {
	ctx := context.Background()
	db := openNew(b)
	s := samples(1000)
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		if err := db.FinishTrial(ctx, plain(n), s); err != nil {
			b.Fatal(err)
		}
	}
	var size int64
	ok(b, db.Query(ctx, &size, "SELECT sum(length(s.data)) / count(*) FROM sample s"))
	b.ReportMetric(float64(size)/1000, "B/request")
	ok(b, db.Query(ctx, &size, "SELECT sum(length(s.data)) / count(*) FROM sample_chunk s"))
	b.ReportMetric(float64(size)/100000, "B/chunk")
}

func BenchmarkFinishTrialWithoutSamples(b *testing.B) {
	ctx := context.Background()
	db := openNew(b)
	for n := 0; b.Loop(); n++ {
		if err := db.FinishTrial(ctx, plain(n), nil); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRows(b *testing.B) {
	ctx := context.Background()
	db := openNew(b)
	const trials = 20000
	batch := make([]*core.Trial, trials)
	for n := range batch {
		batch[n] = plain(n)
		batch[n].Setup.Config.Knobs["max_num_seqs"] = core.Number(float64(n % 100))
	}
	start := time.Now()
	if _, err := db.Import(ctx, batch); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(time.Since(start).Nanoseconds())/trials, "ns/import")
	var size int64
	ok(b, db.Query(ctx, &size, "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size"))
	sel := core.Select{Columns: []string{"number", "engine", "total_tps", "success_rate", "args.max_num_seqs"},
		Where: []core.Cond{{Field: "status", Op: core.OpEq, Values: []core.Value{core.String("ok")}}}}
	for b.Loop() {
		n := 0
		for _, err := range db.Rows(ctx, sel) {
			if err != nil {
				b.Fatal(err)
			}
			n++
		}
		if n != trials {
			b.Fatalf("%d rows", n)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/trials, "ns/row")
	b.ReportMetric(float64(size)/trials, "B/trial")
}

func TestPruneSamples(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	db := openNew(t)
	for n := range 4 {
		ok(t, db.FinishTrial(ctx, plain(n), samples(400)))
	}
	ok(t, db.FinishTrial(ctx, plain(4), nil))
	before := all(t, db)
	var size, taken int64
	ok(t, db.Query(ctx, &taken, "SELECT (SELECT sum(length(data)) FROM sample WHERE trial <= 3) + (SELECT sum(length(data)) FROM sample_chunk WHERE trial <= 3)"))
	freed, err := db.PruneSamples(ctx, []core.ID{id(0), id(1), id(2), id(0), id(4), id(99)})
	ok(t, err)
	if freed != taken || freed == 0 {
		t.Errorf("freed %d bytes of %d", freed, taken)
	}
	compacted, err := db.Compact(ctx)
	ok(t, err)
	ok(t, db.Query(ctx, &size, "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size"))
	info, err := os.Stat(db.Path())
	ok(t, err)
	if compacted < freed || info.Size() != size {
		t.Errorf("the file became %d bytes smaller and has %d, %d in use", compacted, info.Size(), size)
	}
	for n := range 5 {
		got, err := db.Samples(ctx, id(n))
		ok(t, err)
		if want := map[int]int{3: 400}[n]; len(got) != want {
			t.Errorf("trial %d has %d samples, want %d", n, len(got), want)
		}
	}
	if d := diff(before, all(t, db)); d != "" {
		t.Errorf("the trials changed:\n%s", d)
	}
	ok(t, db.FinishTrial(ctx, plain(5), samples(5)))
	sound(t, db)

	if filled, err := db.FillSamples(ctx, 1, samples(7)); !filled || err != nil {
		t.Errorf("fill what is lacking: %t %v", filled, err)
	}
	for _, number := range []int64{1, 4} {
		if filled, err := db.FillSamples(ctx, number, samples(9)); filled || err != nil {
			t.Errorf("fill what is there: %t %v", filled, err)
		}
	}
	if got, err := db.Samples(ctx, id(0)); err != nil || len(got) != 7 {
		t.Errorf("%d samples %v", len(got), err)
	}
	if _, err := db.FillSamples(ctx, 77, samples(1)); !errors.Is(err, core.ErrNotFound) {
		t.Errorf("fill an unknown trial: %v", err)
	}
}
