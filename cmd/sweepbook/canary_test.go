//go:build linux

package main

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestCanary runs a study whose server gives its secret away, and looks for it in
// everything that is written.
func TestCanary(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/canary", RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("HOME", env.WorkDir)
			env.Setenv("HF_HOME", filepath.Join(env.WorkDir, "hf"))
			env.Setenv("XDG_DATA_HOME", filepath.Join(env.WorkDir, "data"))
			return os.Mkdir(filepath.Join(env.WorkDir, "out"), 0o700)
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){"leaks": leaks, "logged": logged},
	})
}

// leaks fails for each file below a folder that holds a secret in any form.
func leaks(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 || args[1] == "" {
		ts.Fatalf("usage: leaks FOLDER VALUE")
	}
	value := args[1]
	quoted, err := json.Marshal(value)
	ts.Check(err)
	forms := map[string]string{
		"plain": value, "JSON": string(quoted[1 : len(quoted)-1]), "query": url.QueryEscape(value), "path": url.PathEscape(value), "hex": hex.EncodeToString([]byte(value)),
		"JSON of Python": string(bytes.ReplaceAll([]byte(value), []byte(`"`), []byte(`\"`))), "half": value[:len(value)-7], "other half": value[7:],
	}
	for i, before := range []string{"", "u", "us"} {
		// What no neighbour has a part in.
		encoded := base64.StdEncoding.EncodeToString([]byte(before + value))
		forms["base64 at "+string(rune('0'+i))] = encoded[4 : len(encoded)-4]
	}
	files := 0
	ts.Check(filepath.WalkDir(ts.MkAbs(args[0]), func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		files++
		for name, form := range forms {
			if bytes.Contains(data, []byte(form)) {
				ts.Logf("%s holds the secret (%s)", path, name)
				ts.Fatalf("a secret was written")
			}
		}
		return nil
	}))
	// The history, two logs of servers, the run's log, a report and an export.
	if files < 8 {
		ts.Fatalf("only %d files were looked through", files)
	}
}

// logged wants each pattern on a line of a server's log below a folder.
func logged(ts *testscript.TestScript, _ bool, args []string) {
	logs, err := filepath.Glob(filepath.Join(ts.MkAbs(args[0]), "launches", "*", "server.log"))
	ts.Check(err)
	var all []byte
	for _, path := range logs {
		data, err := os.ReadFile(path)
		ts.Check(err)
		all = append(all, data...)
	}
	for _, pattern := range args[1:] {
		re, err := regexp.Compile("(?m)" + pattern)
		ts.Check(err)
		if !re.Match(all) {
			ts.Logf("%s", all)
			ts.Fatalf("no line of %d logs is like %s", len(logs), pattern)
		}
	}
}
