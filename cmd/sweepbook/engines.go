package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/urfave/cli/v3"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/plugins"
	"github.com/sweepbook/sweepbook/plugins/manifest"
	"github.com/sweepbook/sweepbook/plugins/sglang"
	"github.com/sweepbook/sweepbook/plugins/sim"
	"github.com/sweepbook/sweepbook/plugins/trtllm"
	"github.com/sweepbook/sweepbook/plugins/vllm"
)

func (a *app) enginesCommand() *cli.Command {
	return a.command(&cli.Command{
		Name:  "engines",
		Usage: "list the engines that can be launched here",
		Commands: []*cli.Command{
			a.command(&cli.Command{
				Name: "knobs", Usage: "list the knobs of the engines side by side, or one engine's in full", ArgsUsage: "[ENGINE]",
				Action: a.knobsAction,
			}),
			a.command(&cli.Command{
				Name: "check", Usage: "find out what is installed here of an engine", ArgsUsage: "ENGINE",
				Flags: []cli.Flag{
					&cli.StringFlag{Name: "venv", Usage: "`FOLDER` of its Python environment"},
					&cli.StringFlag{Name: "cmd", Usage: "its `EXECUTABLE`"},
					&cli.StringFlag{Name: "image", Usage: "its container `IMAGE`"},
					&cli.StringFlag{Name: "version", Usage: "the `VERSION` that must be there"},
				},
				Action: a.checkEngineAction,
			}),
			a.addEngineCommand(),
			a.removeEngineCommand(),
			a.newEngineCommand(),
		},
		Action: func(ctx context.Context, cmd *cli.Command) error {
			if cmd.Args().Present() {
				return unknownCommand(ctx, cmd)
			}
			var rows [][]string
			for _, name := range builtins() {
				rows = append(rows, []string{name, "built in", "", ""})
			}
			found, refused := plugins.Discover(a.pluginPath())
			if refused != nil {
				a.warn("%v", refused)
			}
			for _, spec := range found {
				rows = append(rows, []string{spec.Name, kindOf(spec), spec.File(), spec.SHA256[:min(len(spec.SHA256), 12)]})
			}
			return a.table(cmd, textTable([]string{"engine", "kind", "path", "pinned sha256"}, rows))
		},
	})
}

func (a *app) knobsAction(ctx context.Context, cmd *cli.Command) error {
	if !cmd.Args().Present() {
		return a.table(cmd, knobsSideBySide())
	}
	if cmd.Args().Len() != 1 {
		return usagef("engines knobs: want the name of one engine, or none")
	}
	session, err := a.opener(&plugins.Host{})(ctx, cmd.Args().First())
	if err != nil {
		return err
	}
	defer func() {
		if err := session.Close(context.WithoutCancel(ctx)); err != nil {
			a.warn("engine %s: %v", cmd.Args().First(), err)
		}
	}()
	info, err := session.Info(ctx)
	if err != nil {
		return fmt.Errorf("engine %s: %w", cmd.Args().First(), err)
	}
	var rows [][]string
	for _, k := range info.Knobs {
		rows = append(rows, []string{k.Name, k.Flag, k.Type.String(), k.Default.String(), k.Doc})
	}
	return a.table(cmd, textTable([]string{"knob", "flag", "type", "default", "what"}, rows))
}

// knobsSideBySide has a row for each idea that engines share.
func knobsSideBySide() table {
	engines := core.FlagTables()
	var rows [][]string
	for _, idea := range core.Ideas() {
		row := []string{idea.Name}
		for _, engine := range engines {
			spelled := ""
			if f, ok := core.FindFlag(engine, idea.Name); ok {
				spelled = f.Spelling()
			}
			row = append(row, spelled)
		}
		rows = append(rows, append(row, idea.Doc))
	}
	return textTable(append(append([]string{"knob"}, engines...), "what"), rows)
}

func (a *app) checkEngineAction(ctx context.Context, cmd *cli.Command) error {
	if cmd.Args().Len() != 1 {
		return usagef("engines check: want the name of one engine")
	}
	session, err := a.opener(&plugins.Host{})(ctx, cmd.Args().First())
	if err != nil {
		return err
	}
	defer func() { _ = session.Close(context.WithoutCancel(ctx)) }() // nothing was launched on it
	found, err := session.Probe(ctx, core.Origin{Venv: cmd.String("venv"), Cmd: cmd.String("cmd"), Image: cmd.String("image"), Version: cmd.String("version")})
	if errors.Is(err, core.ErrUnimplemented) {
		return fmt.Errorf("engine %s: %w: its plugin does not look for what is installed (Probe)", cmd.Args().First(), core.ErrUnimplemented)
	}
	if err != nil {
		return fmt.Errorf("engine %s: %w", cmd.Args().First(), err)
	}
	return a.table(cmd, textTable([]string{"engine", "version", "command", "detail"}, [][]string{{cmd.Args().First(), found.Version, found.Command, found.Detail}}))
}

// kindOf says what an engine beside the built-in ones is made of.
func kindOf(spec plugins.Spec) string {
	if spec.Manifest != "" {
		return "manifest"
	}
	return "plugin"
}

// engineServe is the body of a plugin process of this binary: NAME for a built-in
// engine, NAME FILE SHOWN for the engine of a manifest, of which FILE is a private
// copy and SHOWN what people know it by.
func (a *app) engineServe(args []string) int {
	var engine core.Engine
	switch len(args) {
	case 1:
		engine = builtin(args[0])
	case 3:
		m, err := readManifest(args[0], args[1], args[2])
		if err != nil {
			fmt.Fprintf(a.stderr, "%s\n", a.clean(err.Error())) // the host quotes it
			return exitError
		}
		engine = manifest.New(m)
	}
	if engine == nil {
		fmt.Fprintf(a.stderr, "sweepbook: engine-serve is started by sweepbook itself\n")
		return exitUsage
	}
	plugins.Serve(engine)
	return exitOK
}

// readManifest reads the manifest of an engine from a file that people know as
// shown.
func readManifest(engine, file, shown string) (*manifest.Manifest, error) {
	m, err := manifest.Read(file, shown)
	if err == nil && m.Name != engine {
		err = fmt.Errorf("%s: %w: it describes engine %q, and its name says %q: name the file %s.engine.yaml", shown, core.ErrConflict, m.Name, engine, m.Name)
	}
	return m, err
}

// builtin makes an engine that is part of this binary, nil for other names.
func builtin(name string) core.Engine {
	switch name {
	case "sim":
		return sim.New("")
	case "vllm":
		return vllm.New()
	case "sglang":
		return sglang.New()
	case "trtllm":
		return trtllm.New()
	}
	return nil
}

func simServer(args []string, stdout, stderr io.Writer) int {
	return sim.ServerMain(args, stdout, stderr)
}
