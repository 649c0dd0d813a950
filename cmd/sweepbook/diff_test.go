package main

import (
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/query"
	"github.com/sweepbook/sweepbook/store"
)

// One question of one history has one answer, whichever way it is read: trial by trial
// in memory, which is the reference; by the numbers of what trials share, with the rest
// only of the answer's rows, as every command reads it; half of the questions also by
// columns from the store alone, and some at a moment of their own.
//
// The test asks some pairs of history and question; make fuzz-diff N=1000000 asks many,
// with other seeds, a shard on each processor. FUZZ_SEED=… asks again from a seed that
// was printed. A seed that ever showed a fault stays in diffSeeds.
func TestAnswersDoNotDepend(t *testing.T) {
	t.Parallel()
	pairs, shards, seed := 1000, 1, uint64(1)
	if s := os.Getenv("FUZZ_DIFF"); s != "" {
		var err error
		if pairs, err = strconv.Atoi(s); err != nil {
			t.Fatal(err)
		}
		shards, seed = runtime.GOMAXPROCS(0), uint64(time.Now().UnixNano())
	}
	if s := os.Getenv("FUZZ_SEED"); s != "" {
		var err error
		if seed, err = strconv.ParseUint(s, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d pairs in %d shards, seeds from %d", pairs, shards, seed)
	for _, s := range diffSeeds {
		diffHistory(t, s, diffEach)
	}
	histories := int64((pairs + diffEach - 1) / diffEach)
	var next, answered, refused atomic.Int64
	start := time.Now()
	t.Run("shards", func(t *testing.T) {
		for range shards {
			t.Run("shard", func(t *testing.T) {
				t.Parallel()
				for i := next.Add(1) - 1; i < histories; i = next.Add(1) - 1 {
					a, r := diffHistory(t, seed+uint64(i), diffEach)
					a, r = answered.Add(a), refused.Add(r)
					if (a+r)%10_000 == 0 || i == histories-1 {
						t.Logf("%d pairs: %d answered alike, %d refused alike, %.0f a second", a+r, a, r, float64(a+r)/time.Since(start).Seconds())
					}
				}
			})
		}
	})
	if answered.Load() < int64(pairs/2) {
		t.Errorf("only %d of %d questions were answered: the generator says nothing", answered.Load(), pairs)
	}
}

// diffEach is how many questions a history is asked: making it costs about fifty.
const diffEach = 250

// diffSeeds are seeds of histories that are asked every time.
var diffSeeds = []uint64{7, 20261201, 1796095669015874897}

// diffHistory makes the history of a seed and asks it n questions in all ways.
func diffHistory(t *testing.T, seed uint64, n int) (answered, refused int64) {
	t.Helper()
	ctx := t.Context()
	r := rand.New(rand.NewPCG(seed, 1))
	dir, err := os.MkdirTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir) // a million pairs are thousands of histories
	db, err := store.Open(ctx, filepath.Join(dir, "a.db"), store.Options{Now: func() time.Time { return diffNow }, User: "someone", SweepbookVersion: "0.1.0"})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	whole := memory{columns: map[string][]core.Value{}, samples: diffFill(t, db, r)}
	for trial, err := range db.AllTrials(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		whole.trials = append(whole.trials, trial)
	}
	if whole.names, err = db.Names(ctx); err != nil {
		t.Fatal(err)
	}
	if whole.history, err = db.History(ctx); err != nil {
		t.Fatal(err)
	}
	err = db.Snapshot(ctx, func(reading *store.Reading) error {
		for range n {
			text := question(r)
			opt := query.Options{Now: diffNow, Marks: r.IntN(4) == 0}
			want, wantErr := query.Run(ctx, whole, text, opt)
			ways := []query.Source{reading}
			switch r.IntN(20) {
			case 0:
				ways = append(ways, db)
			case 1, 2, 3, 4, 5, 6, 7, 8, 9, 10:
				ways = append(ways, columnsOnly{reading})
			}
			for _, src := range ways {
				got, err := query.Run(ctx, src, text, opt)
				if fmt.Sprint(err) != fmt.Sprint(wantErr) {
					t.Fatalf("seed %d, %T: %s\n  error %v, in memory %v", seed, src, text, err, wantErr)
				}
				if !reflect.DeepEqual(got, want) {
					t.Fatalf("seed %d, %T: %s\n(-in memory +read):\n%s", seed, src, text, cmp.Diff(want, got))
				}
			}
			if wantErr != nil {
				refused++
			} else {
				answered++
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return answered, refused
}

var diffNow = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)

// columnsOnly hides that a source knows what trials share.
type columnsOnly struct{ query.Source }

// memory is a history of whole trials: every column is core.Trial.Value, and the
// samples are as they were made.
type memory struct {
	trials  []*core.Trial
	names   core.Names
	history core.History
	samples map[core.ID][]core.Sample
	columns map[string][]core.Value // that were asked for
}

func (m memory) History(context.Context) (core.History, error) { return m.history, nil }
func (m memory) Names(context.Context) (core.Names, error)     { return m.names, nil }
func (m memory) Requests(_ context.Context, id core.ID, _ bool) ([]core.Sample, error) {
	return m.samples[id], nil
}

func (m memory) Rows(_ context.Context, sel core.Select) iter.Seq2[[]core.Value, error] {
	return func(yield func([]core.Value, error) bool) {
		columns := make([][]core.Value, len(sel.Columns))
		for i, name := range sel.Columns {
			columns[i] = m.column(name)
		}
		row := make([]core.Value, len(columns))
		for at := range m.trials {
			for i, values := range columns {
				row[i] = values[at]
			}
			if !yield(row, nil) {
				return
			}
		}
	}
}

func (m memory) column(name string) []core.Value {
	values, ok := m.columns[name]
	if !ok {
		for _, t := range m.trials {
			values = append(values, t.Value(name))
		}
		m.columns[name] = values
	}
	return values
}
