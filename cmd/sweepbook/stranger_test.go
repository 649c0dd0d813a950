//go:build unix

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

// TestStrangersPath follows docs/plugins.md as somebody does who has nothing but it, the
// program and an empty folder: the commands of the path in Go, as they stand there, lead
// to measured trials without a network. The path of a manifest is run by TestDocuments,
// the one in Python by plugins/scaffold/check-python.sh.
func TestStrangersPath(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("runs need Linux")
	}
	text, err := os.ReadFile("../../docs/plugins.md")
	if err != nil {
		t.Fatal(err)
	}
	path := regexp.MustCompile("(?s)<!-- path: go -->\n```sh\n(.*?)```").FindSubmatch(text)
	if path == nil {
		t.Fatal("docs/plugins.md shows no path in Go")
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	caches, err := exec.Command("go", "env", "GOCACHE", "GOMODCACHE").Output()
	places := strings.Fields(string(caches))
	if err != nil || len(places) != 2 {
		t.Fatalf("go env: %q, %v", caches, err)
	}
	dir := t.TempDir()
	cmd := exec.Command("bash", "-euc", string(path[1]))
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CHECKOUT="+root, "HOME="+dir, "XDG_DATA_HOME="+filepath.Join(dir, "data"), "SWEEPBOOK_DB=", "SWEEPBOOK_PLUGIN_PATH=",
		"GOCACHE="+places[0], "GOMODCACHE="+places[1], "GOPROXY=off", "GOFLAGS=-mod=readonly", "CGO_ENABLED=0")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v:\n%s", err, out)
	}
	if !regexp.MustCompile(`(?m)^acme +baseline +ok +1\nacme +max_num_seqs=8 +ok +1$`).Match(out) {
		t.Errorf("the path does not end with two measured trials:\n%s", out)
	}
}
