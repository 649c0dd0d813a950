package main

import (
	"context"
	"runtime"
	"runtime/debug"

	"github.com/urfave/cli/v3"
)

// release is set by the linker for released builds.
var release = "0.1.0-dev"

// version is what trials record as sweepbook_version: the release, with the
// commit where the build knows it.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return release
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 12 {
			return release + "+" + s.Value[:12]
		}
	}
	return release
}

func (a *app) versionCommand() *cli.Command {
	return a.command(&cli.Command{
		Name:  "version",
		Usage: "print the version of this program",
		Action: func(ctx context.Context, cmd *cli.Command) error {
			return a.table(cmd, textTable([]string{"version", "go", "platform"}, [][]string{
				{version(), runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH},
			}))
		},
	})
}
