package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/plugins/scaffold"
)

func (a *app) newEngineCommand() *cli.Command {
	return a.command(&cli.Command{
		Name: "new", Usage: "make the project of a new engine plugin, with a toy engine that works", ArgsUsage: "NAME",
		Description: "Writes a folder sweepbook-engine-NAME whose README says how to build, test and add the plugin. An engine whose command and flags are " +
			"all that matters needs no code: --lang manifest writes a YAML file.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "lang", Usage: "`LANGUAGE` of the plugin: " + strings.Join(scaffold.Languages(), ", "), Value: "go"},
			&cli.StringFlag{Name: "dir", Usage: "new `FOLDER` of the project (default sweepbook-engine-NAME)"},
			&cli.StringFlag{Name: "sweepbook", Usage: "build a Go plugin against this `CHECKOUT` of Sweepbook, without a network"},
		},
		Action: a.newEngineAction,
	})
}

func (a *app) newEngineAction(_ context.Context, cmd *cli.Command) error {
	p := scaffold.Project{Name: cmd.Args().First(), Lang: cmd.String("lang"), Dir: cmd.String("dir"), Checkout: cmd.String("sweepbook")}
	switch {
	case cmd.Args().Len() != 1:
		return usagef("engines new: want the name of the engine")
	case !slices.Contains(scaffold.Languages(), p.Lang):
		return usagef("engines new: --lang %s: want %s", p.Lang, strings.Join(scaffold.Languages(), ", "))
	case p.Lang != "go" && p.Checkout != "":
		return usagef("engines new: --sweepbook is for Go plugins")
	case slices.Contains(builtins(), p.Name):
		return usagef("engines new: engine %s is built in: %v", p.Name, core.ErrConflict)
	}
	if p.Dir == "" {
		p.Dir = "sweepbook-engine-" + p.Name
	}
	if p.Lang == "go" && p.Checkout == "" {
		if p.Checkout = checkoutAround(os.Executable()); p.Checkout != "" {
			a.say("built against the source of this program in %s; --sweepbook names another", p.Checkout)
		} else {
			a.hint("it is built against the published module, once go mod tidy has fetched it; --sweepbook CHECKOUT builds it against a folder with Sweepbook's source")
		}
	}
	files, err := p.Write()
	if err != nil {
		return err
	}
	var rows [][]string
	for _, f := range files {
		rows = append(rows, []string{f})
	}
	if err := a.table(cmd, textTable([]string{"file"}, rows)); err != nil {
		return err
	}
	a.hint(p.Dir + "/README.md says how to go on")
	return nil
}

// checkoutAround is the folder with Sweepbook's source in which a program was built:
// its own, or the one above where `make build` put it into bin; "" is none.
func checkoutAround(program string, err error) string {
	if err != nil {
		return ""
	}
	for _, dir := range []string{filepath.Dir(program), filepath.Dir(filepath.Dir(program))} {
		if text, err := os.ReadFile(filepath.Join(dir, "go.mod")); err == nil && strings.HasPrefix(string(text), "module github.com/sweepbook/sweepbook\n") {
			return dir
		}
	}
	return ""
}
