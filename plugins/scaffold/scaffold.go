package scaffold

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/plugins/proto"
)

//go:embed all:go all:manifest all:python study.yaml.tmpl
var texts embed.FS

// Languages are those of Project.Lang.
func Languages() []string { return []string{"go", "python", "manifest"} }

// Project says what is to be made.
type Project struct {
	Name string // of the engine
	Lang string
	Dir  string // new, or empty
	// Checkout is a folder with Sweepbook's source that a Go project builds against,
	// without a network; empty leaves that to go mod tidy.
	Checkout string
}

var nameForm = regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`)

// Write makes the project and returns the paths of its files. It overwrites
// nothing: a folder that holds anything is refused.
func (p Project) Write() ([]string, error) {
	files, err := p.files()
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(p.Dir)
	switch {
	case err == nil && len(entries) > 0:
		return nil, fmt.Errorf("folder %s: %w: it is not empty", p.Dir, core.ErrConflict)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	var written []string
	for _, f := range files {
		file := filepath.Join(p.Dir, filepath.FromSlash(f.path))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return nil, err
		}
		if err := os.WriteFile(file, f.data, 0o644); err != nil {
			return nil, err
		}
		written = append(written, file)
	}
	return written, nil
}

type file struct {
	path string
	data []byte
}

func (p Project) files() ([]file, error) {
	if len(p.Name) > 40 || !nameForm.MatchString(p.Name) {
		return nil, fmt.Errorf("engine name %q: %w: want lower-case letters, digits and single dashes, a letter first", p.Name, core.ErrInvalid)
	}
	scale := ""
	if p.Lang == "manifest" {
		scale = ", time_scale: 4" // its toy is the simulator
	}
	fill := strings.NewReplacer("__SCALE__", scale, "__NAME__", p.Name, "__PACKAGE__", "sweepbook_engine_"+strings.ReplaceAll(p.Name, "-", "_"))
	var files []file
	add := func(name, from string) error {
		data, err := texts.ReadFile(from)
		if err == nil {
			files = append(files, file{fill.Replace(strings.TrimSuffix(name, ".tmpl")), []byte(fill.Replace(string(data)))})
		}
		return err
	}
	err := fs.WalkDir(texts, p.Lang, func(from string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		return add(strings.TrimPrefix(from, p.Lang+"/"), from)
	})
	if err == nil {
		err = add("study.yaml", "study.yaml.tmpl")
	}
	if err != nil {
		return nil, err
	}
	switch p.Lang {
	case "manifest":
		return files, nil
	case "python":
		return append(files, file{path.Join("src", fill.Replace("__PACKAGE__"), "engine.proto"), proto.Engine}), nil
	}
	module, err := p.goModule()
	return append(files, module...), err
}

// goModule is the go.mod, with the requirements and sums of a checkout where one is
// given: they are all that the toy needs.
func (p Project) goModule() ([]file, error) {
	const module = "github.com/sweepbook/sweepbook"
	if p.Checkout == "" {
		return []file{{"go.mod", []byte("module sweepbook-engine-" + p.Name + "\n\ngo 1.26\n")}}, nil
	}
	checkout, err := filepath.Abs(p.Checkout)
	if err != nil {
		return nil, err
	}
	theirs, err := os.ReadFile(filepath.Join(checkout, "go.mod"))
	if err != nil {
		return nil, fmt.Errorf("checkout: %w", err)
	}
	sums, err := os.ReadFile(filepath.Join(checkout, "go.sum"))
	if err != nil {
		return nil, fmt.Errorf("checkout: %w", err)
	}
	first, rest, _ := bytes.Cut(theirs, []byte("\n"))
	if strings.TrimSpace(string(first)) != "module "+module {
		return nil, fmt.Errorf("checkout %s: %w: its go.mod is not that of %s", checkout, core.ErrInvalid, module)
	}
	mod := fmt.Sprintf("module sweepbook-engine-%s\n%s\nrequire %s v0.0.0\n\nreplace %s => %q\n", p.Name, rest, module, module, checkout)
	return []file{{"go.mod", []byte(mod)}, {"go.sum", sums}}, nil
}
