package ingest_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sweepbook/sweepbook/core/ingest"
)

func TestCorpusGolden(t *testing.T) {
	dir := shared(t, filepath.Join("corpus", "performance-lab"))
	var got strings.Builder
	files, trials := 0, 0
	err := ingest.Walk(context.Background(), []string{dir}, ingest.Options{}, func(path string, res ingest.Result) error {
		files++
		trials += len(res.Trials)
		got.WriteString("# " + filepath.Base(path) + "\n" + describeAll(res, false))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files != 10 || trials != 148 {
		t.Errorf("%d files with %d trials, want 10 with 148", files, trials)
	}
	golden(t, "corpus.txt", got.String())
}
