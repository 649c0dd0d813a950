package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/urfave/cli/v3"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/core/ingest"
	"github.com/sweepbook/sweepbook/store"
)

func (a *app) importOptions(cmd *cli.Command) (ingest.Options, error) {
	opt := ingest.Options{Study: cmd.String("study"), Format: cmd.String("format"), Pattern: cmd.String("pattern"), Now: a.now(), Sidecar: readMapping, YAML: readYAML, SQLite: store.OpenForeign}
	if opt.Pattern != "" {
		if err := ingest.CheckPattern(opt.Pattern); err != nil {
			return opt, usagef("import --pattern: %v", err)
		}
	}
	if path := cmd.String("mapping"); path != "" {
		data, err := os.ReadFile(path)
		if err != nil {
			return opt, fmt.Errorf("import --mapping: %w", err)
		}
		if opt.Mapping, err = readMapping(data); err != nil {
			return opt, fmt.Errorf("import --mapping %s: %w", path, err)
		}
	}
	return opt, nil
}

// readMapping reads an import.yaml. Keys that it does not know are faults.
func readMapping(data []byte) (*ingest.Mapping, error) {
	var m ingest.Mapping
	if err := yaml.UnmarshalWithOptions(data, &m, yaml.Strict()); err != nil {
		return nil, fmt.Errorf("%w: %w", core.ErrInvalid, err)
	}
	return &m, nil
}

// readYAML reads the documents of a YAML text.
func readYAML(data []byte) ([]any, error) {
	var docs []any
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	for {
		var doc any
		switch err := decoder.Decode(&doc); {
		case errors.Is(err, io.EOF):
			return docs, nil
		case err != nil:
			return nil, err
		}
		docs = append(docs, doc)
	}
}

// suggest says how files could be imported so that less is unknown.
func (a *app) suggest(ctx context.Context, cmd *cli.Command, opt ingest.Options) error {
	s, err := ingest.Suggest(ctx, cmd.Args().Slice(), opt)
	if err != nil {
		return err
	}
	if cmd.String("output") == "json" {
		return a.writeJSON(s)
	}
	fmt.Fprintf(a.stdout, "%d files hold results\n", s.Files)
	if s.Pattern != "" {
		fmt.Fprintf(a.stdout, "pattern for %d of them:\n  sweepbook import --pattern %s %s\n", s.Matches, shellWord(s.Pattern), shellLine(cmd.Args().Slice()))
		for _, name := range core.FieldNames() {
			if v, ok := s.Example[name]; ok {
				fmt.Fprintf(a.stdout, "  %s = %s  (of %s)\n", name, v, s.ExampleFile)
			}
		}
	}
	for _, l := range s.Lacking {
		fmt.Fprintf(a.stdout, "%s: %d trials without %s\n", l.File, l.Trials, strings.Join(l.Fields, ", "))
	}
	if len(s.Lacking) > 0 {
		a.hint("give what is missing with --set FIELD=VALUE, or in an import.yaml beside the files (set: {gpu: …})")
	}
	return nil
}
