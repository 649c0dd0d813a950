//go:build unix

package main

import (
	"bytes"
	"flag"
	"image/color"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
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
	if runtime.GOOS != "linux" && strings.Contains(string(text), " run acme/study.yaml") {
		t.Skip("runs need Linux")
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
	comparePictures(t, dir)
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

// comparePictures holds the pictures of the documents against those that the commands of
// a document drew under the same names. A few pixels may differ: the footer names the
// history, which is another one each time.
func comparePictures(t *testing.T, dir string) {
	shown, err := filepath.Glob("../../docs/images/*.png")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range shown {
		drawn, err := os.ReadFile(filepath.Join(dir, filepath.Base(path)))
		if err != nil {
			continue // another document's
		}
		old, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if differingPixels(t, old, drawn) <= 0.005 {
			continue
		}
		if *update {
			if err := os.WriteFile(path, drawn, 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		t.Errorf("%s is not what its command draws; look at the new one, and -update stores it", path)
	}
}

// differingPixels is the share of pixels that differ between two pictures.
func differingPixels(t *testing.T, a, b []byte) float64 {
	t.Helper()
	x, errX := png.Decode(bytes.NewReader(a))
	y, errY := png.Decode(bytes.NewReader(b))
	if errY != nil {
		t.Fatal(errY)
	}
	if errX != nil || x.Bounds() != y.Bounds() {
		return 1
	}
	n, box := 0, x.Bounds()
	for py := range box.Dy() {
		for px := range box.Dx() {
			if color.NRGBAModel.Convert(x.At(px, py)) != color.NRGBAModel.Convert(y.At(px, py)) {
				n++
			}
		}
	}
	return float64(n) / float64(box.Dx()*box.Dy())
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
