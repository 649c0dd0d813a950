package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/plugins"
)

func (a *app) removeEngineCommand() *cli.Command {
	return a.command(&cli.Command{
		Name: "remove", Usage: "take an engine out of the plugin folder", ArgsUsage: "ENGINE",
		Description: "Removes what `engines add` copied and its line in plugins.lock. Trials that were measured with the engine stay in the history.",
		Action:      a.removeEngineAction,
	})
}

func (a *app) removeEngineAction(ctx context.Context, cmd *cli.Command) error {
	if cmd.Args().Len() != 1 {
		return usagef("engines remove: want the name of one engine")
	}
	name := cmd.Args().First()
	if slices.Contains(builtins(), name) {
		return fmt.Errorf("engines remove: %w: engine %s is built in", core.ErrConflict, name)
	}
	dir, err := a.ownPluginFolder("remove")
	if err != nil {
		return err
	}
	removed, err := plugins.Remove(ctx, dir, name)
	found, _ := plugins.Discover(a.pluginPath()) // what it refuses is told by `engines`
	i := slices.IndexFunc(found, func(s plugins.Spec) bool { return s.Name == name })
	switch {
	case errors.Is(err, core.ErrNotFound) && i >= 0:
		return hinted{err, "it is " + found[i].File() + ", where `engines add` puts nothing: remove that file yourself"}
	case errors.Is(err, core.ErrNotFound):
		return hinted{err, "sweepbook engines lists them"}
	case err != nil:
		return err
	case len(removed) == 0:
		a.say("engine %s: its file was gone; its line in %s is, too", name, filepath.Join(dir, plugins.LockFile))
	default:
		a.say("engine %s: removed %s from %s", name, strings.Join(removed, ", "), dir)
	}
	if i >= 0 {
		a.warn("engine %s: %s is still on the plugin path, and is what runs now", name, found[i].File())
	}
	return nil
}
