package serving_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/sweepbook/sweepbook/plugins/serving"
)

func TestLogFollowerSeesRotation(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	f := serving.LogFollower{Path: path}
	steps := []struct {
		text string
		want []string
	}{{"", nil}, {"one\ntw", []string{"one"}}, {"one\ntwo\nthree\n", []string{"two", "three"}}, {"one\ntwo\nthree\n", nil}, {"new\n", []string{"new"}}}
	if lines, err := f.Next(); err != nil || lines != nil {
		t.Errorf("a log that does not exist: %v, %v", lines, err)
	}
	for i, s := range steps {
		write(s.text)
		lines, err := f.Next()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(s.want, lines); diff != "" {
			t.Errorf("step %d: %s", i, diff)
		}
	}
}
