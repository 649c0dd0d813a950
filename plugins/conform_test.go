//go:build unix

package plugins_test

import (
	"context"
	"flag"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sweepbook/sweepbook/plugins"
	"github.com/sweepbook/sweepbook/plugins/enginetest"
)

var foreign = flag.String("plugin", "", "executable of a plugin in any language that TestPluginConforms holds to the suite")

// TestPluginConforms is for authors of plugins in other languages: make
// plugin-conform PLUGIN=path.
func TestPluginConforms(t *testing.T) {
	if *foreign == "" {
		t.Skip("no -plugin is given")
	}
	path, err := filepath.Abs(*foreign)
	if err != nil {
		t.Fatal(err)
	}
	name, ok := strings.CutPrefix(filepath.Base(path), "sweepbook-engine-")
	if !ok {
		t.Fatalf("%s is not named sweepbook-engine-NAME", path)
	}
	var log logBuffer
	c, err := (&plugins.Host{Logger: log.logger()}).Start(t.Context(), plugins.Spec{Name: name, Path: path})
	if err != nil {
		t.Fatal(err)
	}
	enginetest.Conformance(t, c, enginetest.Options{})
	if err := c.Close(context.Background()); err != nil {
		t.Error(err)
	}
	// Whoever asks it to end is obeyed: a plugin that must be killed may leave its
	// work half done.
	requireEnd(t, c, "exit status 0")
	if t.Failed() {
		t.Logf("log of the plugin:\n%s", log.String())
	}
}
