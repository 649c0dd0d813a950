package audit_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/core/ingest"
)

var update = flag.Bool("update", false, "write golden files and the table of rules anew")

// repository gives the folder that holds go.mod.
func repository(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		up := filepath.Dir(dir)
		if up == dir {
			t.Fatal("no go.mod above the test")
		}
		dir = up
	}
}

// shared gives a folder of the material beside the repository, or skips the test.
func shared(t testing.TB, name string) string {
	t.Helper()
	dir := filepath.Join(repository(t), "..", "shared", name)
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("%s is not beside the repository", filepath.Join("shared", name))
	}
	return dir
}

func read(t testing.TB, path string) []*core.Trial {
	t.Helper()
	res, err := ingest.File(context.Background(), path, ingest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return res.Trials
}

// block is one printed block of the three reports, by document and place in it.
type block struct {
	id    string // "001-04"
	trial *core.Trial
}

var documents = []struct {
	id, report, example string
	blocks              int
}{
	{"000", "000_31084286601db8cc.txt", "qwen3-8b-latency.log", 25},
	{"001", "001_88681084640b87c0.txt", "qwen3.5-9b-throughput.log", 24},
	{"003", "003_1ca70e27a8e9ad1f.txt", "qwen3-32b-throughput.log", 13},
}

// reports reads the three reports themselves; examples reads the logs that come
// with the program and hold the same 62 blocks.
func reports(t testing.TB) []block {
	return blocks(t, shared(t, "seeds"), func(i int) string { return documents[i].report })
}

func examples(t testing.TB) []block {
	return blocks(t, filepath.Join(repository(t), "examples", "imported"), func(i int) string { return documents[i].example })
}

func blocks(t testing.TB, dir string, name func(int) string) []block {
	t.Helper()
	var all []block
	for i, d := range documents {
		trials := read(t, filepath.Join(dir, name(i)))
		if len(trials) != d.blocks {
			t.Fatalf("%s: %d blocks, want %d", name(i), len(trials), d.blocks)
		}
		for j, tr := range trials {
			all = append(all, block{fmt.Sprintf("%s-%02d", d.id, j+1), tr})
		}
	}
	return all
}

func trialsOf(bs []block) []*core.Trial {
	var ts []*core.Trial
	for _, b := range bs {
		ts = append(ts, b.trial)
	}
	return ts
}
