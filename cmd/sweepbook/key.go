package main

import (
	"context"
	"fmt"

	"github.com/urfave/cli/v3"

	"github.com/sweepbook/sweepbook/core/load"
)

// A key is named by its variable: on a command line it would stand in the history of
// the shell, in the list of processes and in the record of the trial.

func keyFlag() cli.Flag {
	return &cli.StringFlag{Name: "api-key-env", Usage: "environment `VARIABLE` that holds the server's API key"}
}

// withKey gives what is asked under the context the server's key, where one is named,
// and tells what must not be repeated.
func (a *app) withKey(ctx context.Context, cmd *cli.Command) (context.Context, map[string]string, error) {
	secrets := environmentSecrets()
	name := cmd.String("api-key-env")
	if name == "" {
		return ctx, secrets, nil
	}
	key := a.getenv(name)
	if key == "" {
		return ctx, nil, usageError{hinted{fmt.Errorf("%s --api-key-env %s: no such variable is set", cmd.Name, name), "the name of a variable is wanted, not the key itself"}}
	}
	secrets[name] = key
	return load.WithKey(ctx, key), secrets, nil
}
