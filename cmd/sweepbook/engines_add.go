package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/plugins"
)

func (a *app) addEngineCommand() *cli.Command {
	return a.command(&cli.Command{
		Name: "add", Usage: "install an engine plugin or manifest and pin its bytes", ArgsUsage: "PATH",
		Description: "Copies an executable sweepbook-engine-NAME or a manifest NAME.engine.yaml into the plugin folder and records its sha256 in plugins.lock there. " +
			"From then on only these bytes run. A plugin runs with your rights and is started once to prove itself: add what you trust.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "name", Usage: "engine `NAME`, where the file's name does not say it"},
		},
		Action: a.addEngineAction,
	})
}

func (a *app) addEngineAction(ctx context.Context, cmd *cli.Command) error {
	if cmd.Args().Len() != 1 {
		return usagef("engines add: want the path of one plugin or manifest")
	}
	base := filepath.Base(cmd.Args().First())
	for _, name := range builtins() {
		if cmd.String("name") == name || base == "sweepbook-engine-"+name || base == name+".engine.yaml" {
			return fmt.Errorf("engines add: %w: engine %s is built in: give yours another name", core.ErrConflict, name)
		}
	}
	if name, ok := strings.CutSuffix(base, ".engine.yaml"); ok {
		if given := cmd.String("name"); given != "" {
			name = given
		}
		if _, err := readManifest(name, cmd.Args().First(), cmd.Args().First()); err != nil {
			return err
		}
	}
	dir, err := a.ownPluginFolder("add")
	if err != nil {
		return err
	}
	in, err := (&plugins.Host{}).Install(ctx, cmd.Args().First(), dir, cmd.String("name"))
	if err != nil {
		return err
	}
	switch {
	case in.Replaced && in.Before == in.SHA256:
		a.say("engine %s: these very bytes were there already", in.Name)
	case in.Replaced && in.Before != "":
		a.say("engine %s: the one with sha256 %s was replaced", in.Name, in.Before[:12])
	case in.Replaced:
		a.say("engine %s: one that was not pinned was replaced", in.Name)
	}
	a.say("engine %s: copied to %s and pinned in %s beside it", in.Name, in.File(), plugins.LockFile)
	found, _ := plugins.Discover(a.pluginPath()) // what it refuses is told by `engines`
	for _, spec := range found {
		if spec.Name == in.Name && spec.File() != in.File() {
			a.warn("engine %s: %s comes first in SWEEPBOOK_PLUGIN_PATH, and is what runs", in.Name, spec.File())
		}
	}
	return a.table(cmd, textTable([]string{"engine", "kind", "pinned sha256"}, [][]string{{in.Name, kindOf(in.Spec), in.SHA256[:12]}}))
}

// ownPluginFolder is the folder of this user, which the plugin path ends with; those
// before it may be shared ones.
func (a *app) ownPluginFolder(verb string) (string, error) {
	path := a.pluginPath()
	if len(path) == 0 {
		return "", hinted{fmt.Errorf("engines %s: there is no plugin folder", verb), "set SWEEPBOOK_PLUGIN_PATH to a folder of yours"}
	}
	dir := path[len(path)-1]
	if !filepath.IsAbs(dir) {
		return "", fmt.Errorf("engines %s: plugin folder %q: %w: want an absolute path", verb, dir, core.ErrInvalid)
	}
	return dir, nil
}
