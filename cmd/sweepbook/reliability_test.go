//go:build unix

package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The tests that docs/reliability.md names are there.
func TestReliabilityNamesTests(t *testing.T) {
	text, err := os.ReadFile("../../docs/reliability.md")
	if err != nil {
		t.Fatal(err)
	}
	var sources strings.Builder
	scripts := map[string]bool{}
	err = filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && strings.HasPrefix(d.Name(), ".") && d.Name() != ".." && d.Name() != "../..":
			return fs.SkipDir
		case strings.HasSuffix(path, ".txtar"):
			scripts[d.Name()] = true
		case strings.HasSuffix(path, "_test.go"), strings.HasSuffix(path, "servingtest/behaviour.go"):
			data, err := os.ReadFile(path)
			sources.Write(data)
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	names := regexp.MustCompile("`(Test\\w+|Behaviour|\\w+\\.txtar)`").FindAllStringSubmatch(string(text), -1)
	if len(names) < 60 {
		t.Errorf("only %d names found: the pattern is wrong", len(names))
	}
	for _, m := range names {
		if !scripts[m[1]] && !strings.Contains(sources.String(), "\nfunc "+m[1]+"(t *testing.T") {
			t.Errorf("there is no %s", m[1])
		}
	}
}
