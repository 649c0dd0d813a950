package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/urfave/cli/v3"
	"golang.org/x/term"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/core/study"
	"github.com/sweepbook/sweepbook/query"
)

// Exit codes; the README lists them.
const (
	exitOK          = 0
	exitError       = 1
	exitUsage       = 2
	exitNothing     = 3   // no trial qualifies
	exitCheckFailed = 4   // audit --fail-on, compare --fail-on
	exitHeld        = 5   // the study is held by another run
	exitInterrupted = 130 // ended by a signal
)

// app is one invocation: its streams and what it takes from the environment.
type app struct {
	stdin    io.Reader
	stdout   io.Writer
	stderr   *outlet
	terminal bool // stderr is a terminal: progress may be drawn
	getenv   func(string) string
	now      func() time.Time
	args     []string // the command line in progress
	// stopping is closed when the user asked to end soon; interrupt says that the
	// command in progress listens to it.
	stopping  chan struct{}
	interrupt atomic.Bool
}

func newApp(stdin io.Reader, stdout, stderr io.Writer) *app {
	a := &app{stdin: stdin, stdout: stdout, stderr: &outlet{w: stderr}, getenv: os.Getenv, now: time.Now, stopping: make(chan struct{})}
	if f, ok := stderr.(*os.File); ok {
		a.terminal = term.IsTerminal(int(f.Fd()))
	}
	return a
}

// usageError is a wrong use of the command line: exit code 2.
type usageError struct{ err error }

func (e usageError) Error() string { return e.err.Error() }
func (e usageError) Unwrap() error { return e.err }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// quietError ends with a code after everything was said already.
type quietError struct{ code int }

func (e quietError) Error() string { return fmt.Sprintf("exit code %d", e.code) }

// run parses and carries out one command line and returns the exit code.
func (a *app) run(ctx context.Context, args []string) int {
	if hidden, ok := a.hidden(args); ok {
		return hidden
	}
	a.args = args
	err := a.root().Run(ctx, args)
	if err == nil {
		return exitOK
	}
	var quiet quietError
	if errors.As(err, &quiet) {
		return quiet.code
	}
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		err = hinted{errors.New("interrupted"), "what was acknowledged before is recorded; repeating the command is safe"}
	}
	a.fail(err)
	return codeOf(ctx, err)
}

func codeOf(ctx context.Context, err error) int {
	var usage usageError
	switch {
	case errors.As(err, &usage), query.IsUsage(err):
		return exitUsage
	case errors.Is(err, core.ErrHeld):
		return exitHeld
	case errors.Is(err, study.ErrStopped), ctx.Err() != nil:
		return exitInterrupted
	}
	return exitError
}

// command sets on every command what the library does not inherit: usage errors
// come back as errors, lists are not split at commas, and an argument that is no
// subcommand is an error instead of a silent help page.
func (a *app) command(c *cli.Command) *cli.Command {
	c.OnUsageError = func(_ context.Context, cmd *cli.Command, err error, _ bool) error {
		if flag, unknown := strings.CutPrefix(err.Error(), "flag provided but not defined: -"); unknown {
			return unknownFlag(cmd, flag)
		}
		return usagef("%s%v", at(cmd), err)
	}
	c.DisableSliceFlagSeparator = true
	c.HideHelpCommand = true
	c.Reader, c.Writer, c.ErrWriter = a.stdin, a.stdout, a.stderr
	c.ExitErrHandler = func(context.Context, *cli.Command, error) {}
	if len(c.Commands) > 0 && c.Action == nil {
		c.Action = unknownCommand
	}
	return c
}

// at names a command at the beginning of a message, which the program's own name
// goes before.
func at(cmd *cli.Command) string {
	_, below, found := strings.Cut(cmd.FullName(), " ")
	if !found {
		return ""
	}
	return below + ": "
}

// unknownFlag answers a mistyped flag, or a word that begins with a dash.
func unknownFlag(cmd *cli.Command, flag string) error {
	var names []string
	for _, command := range cmd.Lineage() {
		for _, f := range command.VisibleFlags() {
			names = append(names, f.Names()[0]) // without the letter that stands for it
		}
	}
	if near := core.NearestNames(flag, names); len(flag) > 1 && len(near) > 0 {
		return usagef("%sunknown flag --%s; nearest: --%s", at(cmd), flag, strings.Join(near, ", --"))
	}
	return usageError{hinted{errors.New(at(cmd) + "unknown flag -" + flag), "what begins with a dash and is no flag goes after --"}}
}

// unknownCommand answers a mistyped command; without any argument it shows help.
func unknownCommand(_ context.Context, cmd *cli.Command) error {
	if !cmd.Args().Present() {
		return cli.ShowSubcommandHelp(cmd)
	}
	var names []string
	for _, c := range cmd.Commands {
		if !c.Hidden {
			names = append(names, c.Name)
		}
	}
	msg := fmt.Sprintf("%sno command %q", at(cmd), cmd.Args().First())
	if near := core.NearestNames(cmd.Args().First(), names); len(near) > 0 {
		msg += "; nearest: " + strings.Join(near, ", ")
	}
	return usageError{hinted{errors.New(msg), "run " + cmd.FullName() + " --help for the list"}}
}

// root builds the command tree afresh: the library keeps state in it.
func (a *app) root() *cli.Command {
	return a.command(&cli.Command{
		Name:  "sweepbook",
		Usage: "launch, measure, record and question LLM serving",
		// "sweepbook completion bash" prints what a shell has to read.
		EnableShellCompletion: true,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "db", Usage: "history `FILE`; default $SWEEPBOOK_DB, then the nearest .sweepbook/history.db"},
			&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Value: "table", Usage: "`FORMAT`: table, json, ndjson, csv or md"},
			&cli.StringFlag{Name: "log-level", Value: "warn", Usage: "`LEVEL` of the run log: debug, info, warn or error"},
		},
		Commands: []*cli.Command{
			a.runCommand(), a.attachCommand(), a.stopCommand(), a.statusCommand(), a.planCommand(), a.confirmCommand(), a.benchCommand(), a.recordCommand(), a.importCommand(), a.queryCommand(), a.chartCommand(), a.reportCommand(),
			a.compareCommand(), a.auditCommand(), a.showCommand(), a.listCommand(), a.whyCommand(), a.setCommand(), a.tagCommand(), a.noteCommand(), a.retractCommand(),
			a.deleteCommand(), a.fieldsCommand(), a.enginesCommand(), a.gpuCommand(), a.exportCommand(), a.dbCommand(),
			a.demoCommand(), a.prefetchCommand(), a.whereCommand(), a.versionCommand(),
		},
	})
}
