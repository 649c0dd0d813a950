package serving

import (
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"github.com/sweepbook/sweepbook/core"
)

// command is the start of the argv up to the model. An origin has one of the
// forms; a container may have its program (docker, podman) in cmd.
func (d *Dialect) command(o core.Origin) ([]string, error) {
	forms := 0
	for _, form := range []string{o.Image, o.Venv, o.URL} {
		if form != "" {
			forms++
		}
	}
	switch {
	case o.URL != "":
		return nil, fmt.Errorf("origin: %w: url: a server that runs already cannot be launched by a study; give version, cmd, venv or image (sweepbook bench measures a running server)", core.ErrInvalid)
	case o.Image != "" && len(strings.Fields(o.Cmd)) > 1:
		return nil, fmt.Errorf("origin: %w: cmd: beside an image it is the program that runs containers, one word, got %q", core.ErrInvalid, o.Cmd)
	case forms > 1 || o.Venv != "" && o.Cmd != "":
		return nil, fmt.Errorf("origin: %w: give one of version, cmd, venv and image", core.ErrInvalid)
	case o.Image != "":
		return append([]string{d.Entrypoint}, d.ImageCommand...), nil
	case o.Venv != "":
		return d.inVenv(o.Venv), nil
	case o.Cmd != "":
		return d.fromCmd(o.Cmd), nil
	}
	return append([]string(nil), d.Command...), nil
}

// inVenv uses the environment's own executables by their full path, so that no
// activation is needed and no other environment is used by mistake.
func (d *Dialect) inVenv(venv string) []string {
	if d.Module != nil {
		return append([]string{path.Join(venv, "bin", "python3")}, d.Module...)
	}
	return append([]string{path.Join(venv, "bin", d.Command[0])}, d.Command[1:]...)
}

// fromCmd reads cmd: several words are the whole start of the command, one word
// is an executable that stands for the usual one.
func (d *Dialect) fromCmd(cmd string) []string {
	words := strings.Fields(cmd)
	if len(words) != 1 {
		return words
	}
	base := filepath.Base(words[0])
	switch {
	case strings.HasPrefix(base, "python") && d.Module != nil:
		return append(words, d.Module...)
	case base == d.Command[0] && d.Module == nil:
		return append(words, d.Command[1:]...)
	case base == d.Name:
		return append(words, "serve")
	}
	return words
}

// python is the interpreter that runs the server, from which its version is
// read; "" where only the executable's first line can tell.
func (d *Dialect) python(o core.Origin, command []string) string {
	if o.Venv != "" {
		return path.Join(o.Venv, "bin", "python3")
	}
	if strings.HasPrefix(filepath.Base(command[0]), "python") {
		return command[0]
	}
	return ""
}
