package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/core/study"
	"github.com/sweepbook/sweepbook/plugins"
	"github.com/sweepbook/sweepbook/plugins/serving"
)

func (a *app) prefetchCommand() *cli.Command {
	return a.command(&cli.Command{
		Name:      "prefetch",
		Usage:     "get the models and images that a study needs, while no GPU is held",
		ArgsUsage: "STUDY.yaml",
		Flags:     []cli.Flag{&cli.BoolFlag{Name: "dry-run", Usage: "only say what is here and what is missing"}},
		Action: func(ctx context.Context, cmd *cli.Command) error {
			if err := checkFormat(cmd); err != nil {
				return err
			}
			file, err := readStudy(cmd, "prefetch")
			if err != nil {
				return err
			}
			return a.prefetch(ctx, cmd, file)
		},
	})
}

func (a *app) prefetch(ctx context.Context, cmd *cli.Command, file *study.File) error {
	var fetch study.Fetcher
	if !cmd.Bool("dry-run") {
		fetch = fetcher(a.secretsOf(file.Study.Run.Secrets), a.stderr)
	}
	p, err := study.Prepare(ctx, file, a.opener(&plugins.Host{}), fetch, func(text string) { a.say("%s", text) })
	if err != nil {
		return err
	}
	var rows [][]string
	for _, n := range p.Needs {
		state := "here"
		if n.Found == "" {
			state = "missing"
		}
		rows = append(rows, []string{n.Kind, n.Name, state, n.Found})
	}
	if err := a.table(cmd, textTable([]string{"kind", "name", "state", "where"}, rows)); err != nil {
		return err
	}
	for _, note := range p.Notes {
		a.warn("%s", note)
	}
	for _, bad := range p.Refused() {
		a.warn("%s", bad)
	}
	if missing := p.Missing(); len(missing) > 0 {
		return &study.MissingError{Needs: missing}
	}
	return nil
}

// tailLimit is how much of what a fetching command prints is kept for its
// diagnosis.
const tailLimit = 64 << 10

// fetcher runs the commands that get what is missing, as a server would be run: with
// the study's secrets in the environment and nowhere else. What they print goes to
// out without secrets.
func fetcher(secrets map[string]string, out io.Writer) study.Fetcher {
	redact := serving.NewRedactor(secrets)
	return func(ctx context.Context, need core.Need) (string, error) {
		env := maps.Clone(need.Env)
		if env == nil {
			env = map[string]string{}
		}
		maps.Copy(env, secrets)
		var tail bytes.Buffer
		seen := redact.Writer(io.MultiWriter(out, &tail))
		cmd := exec.CommandContext(ctx, need.Fetch[0], need.Fetch[1:]...)
		cmd.Env = append(serverEnv(env), networkEnv()...)
		cmd.Stdout, cmd.Stderr = seen, seen
		// A helper that it left behind must not keep us waiting.
		cmd.WaitDelay = 5 * time.Second
		err := errors.Join(cmd.Run(), seen.Close())
		text := tail.String()
		if err != nil {
			err = fmt.Errorf("%s: %w", need.Fetch[0], err)
		}
		return text[max(0, len(text)-tailLimit):], err
	}
}

// networkEnv is what a download needs beside a server's environment: proxies and
// where hub and container programs are reached.
func networkEnv() []string {
	var env []string
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "HF_ENDPOINT", "DOCKER_HOST", "DOCKER_CONFIG", "XDG_RUNTIME_DIR"} {
		for _, spelled := range []string{name, strings.ToLower(name)} {
			if v, ok := os.LookupEnv(spelled); ok {
				env = append(env, spelled+"="+v)
			}
		}
	}
	return env
}

// assignments are an environment as a shell sets it, in the order of names.
func assignments(env map[string]string) []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(env)) {
		out = append(out, name+"="+env[name])
	}
	return out
}
