//go:build unix

package main

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the output shown in the documents")

// TestDocuments runs every command of every console block in the documents, in
// order, and compares what it prints on stdout with what the document shows. A
// document can then not promise what the program does not do.
func TestDocuments(t *testing.T) {
	documents, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range append([]string{"../../README.md"}, documents...) {
		t.Run(filepath.Base(path), func(t *testing.T) { runDocument(t, path) })
	}
}

var consoleBlock = regexp.MustCompile("(?s)```console\n(.*?)```")

func runDocument(t *testing.T, path string) {
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	examples, err := filepath.Abs("../../examples")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(examples, filepath.Join(dir, "examples")); err != nil {
		t.Fatal(err)
	}
	got := consoleBlock.ReplaceAllStringFunc(string(text), func(block string) string {
		return "```console\n" + runBlock(t, dir, consoleBlock.FindStringSubmatch(block)[1]) + "```"
	})
	if got == string(text) {
		return
	}
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Errorf("%s shows other output than the program gives (-shown +given); -update rewrites it:\n%s", path, cmp.Diff(string(text), got))
}

// runBlock gives a block as it should be: its commands, each with its stdout.
func runBlock(t *testing.T, dir, block string) string {
	var out strings.Builder
	for line := range strings.Lines(block) {
		command, ok := strings.CutPrefix(line, "$ ")
		if !ok {
			continue
		}
		out.WriteString(line)
		if !strings.HasPrefix(command, "sweepbook ") {
			t.Errorf("a document shows another program: %s", command)
			continue
		}
		var stdout, stderr bytes.Buffer
		cmd := exec.Command("sh", "-c", command)
		cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &stdout, &stderr
		cmd.Env = append(os.Environ(), "HOME="+dir, "SWEEPBOOK_DB=", "XDG_DATA_HOME="+dir)
		if err := cmd.Run(); err != nil {
			t.Errorf("%s%v: %s", command, err, stderr.String())
		}
		out.Write(stdout.Bytes())
	}
	return out.String()
}
