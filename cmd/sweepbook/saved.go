package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/urfave/cli/v3"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/query"
)

// Saved queries lie beside the history in queries.yaml, so that they go where it goes:
//
//	queries:
//	  best: max total_tps where success_rate == 1 and concurrency == $load by model
//
// A word behind a $ is a parameter, which "query @best load=8" fills.
type savedQueries struct {
	Queries map[string]string `yaml:"queries"`
}

var savedName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]*$`)

func (a *app) savedPath(cmd *cli.Command) (string, error) {
	path, _, err := a.databasePath(cmd)
	return filepath.Join(filepath.Dir(path), "queries.yaml"), err
}

func (a *app) readSaved(cmd *cli.Command) (s savedQueries, path string, err error) {
	if path, err = a.savedPath(cmd); err != nil {
		return s, path, err
	}
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if err == nil && len(data) > 0 {
		err = yaml.UnmarshalWithOptions(data, &s, yaml.Strict())
	}
	if err != nil {
		return s, path, fmt.Errorf("saved queries %s: %w", path, err)
	}
	if s.Queries == nil {
		s.Queries = map[string]string{}
	}
	return s, path, nil
}

// saveQuery keeps a question under a name.
func (a *app) saveQuery(cmd *cli.Command, name, text string) error {
	if !savedName.MatchString(name) {
		return usagef("query: --save %q: want a name of letters, digits, _ . and -", name)
	}
	// Parameters may stand where a number may.
	if _, err := query.Parse(query.Fill(text, func(string) string { return "0" })); err != nil {
		return err
	}
	s, path, err := a.readSaved(cmd)
	if err != nil {
		return err
	}
	before, had := s.Queries[name]
	s.Queries[name] = text
	data, err := yaml.Marshal(s)
	if err == nil {
		err = writeDurably(path, data)
	}
	if err != nil {
		return fmt.Errorf("save query %s: %w", name, err)
	}
	a.say("saved in %s; ask it with: %s query @%s%s", path, self(cmd), name, parameterUsage(text))
	if had && before != text {
		a.say("it replaces: %s", before)
	}
	return nil
}

func parameterUsage(text string) string {
	usage := ""
	for _, name := range query.Parameters(text) {
		usage += " " + name + "=…"
	}
	return usage
}

// fillSaved makes the question of "@name key=value …".
func (a *app) fillSaved(cmd *cli.Command, args []string) (string, error) {
	s, path, err := a.readSaved(cmd)
	if err != nil {
		return "", err
	}
	name := strings.TrimPrefix(args[0], "@")
	text, ok := s.Queries[name]
	if !ok {
		names := slices.Sorted(maps.Keys(s.Queries))
		hint := "sweepbook query --save NAME 'QUESTION' saves one"
		if len(names) > 0 {
			hint = "saved are: " + strings.Join(names, ", ")
		}
		return "", usageError{hinted{fmt.Errorf("query: no saved query %q in %s", name, path), hint}}
	}
	values := map[string]string{}
	wanted := query.Parameters(text)
	for _, arg := range args[1:] {
		key, value, ok := strings.Cut(arg, "=")
		if !ok || !slices.Contains(wanted, key) {
			return "", usagef("query: @%s: %q: want%s", name, arg, cmp.Or(parameterUsage(text), " nothing behind it"))
		}
		values[key] = literalText(value)
	}
	for _, key := range wanted {
		if _, given := values[key]; !given {
			return "", usagef("query: @%s wants%s: %s is not given", name, parameterUsage(text), key)
		}
	}
	return query.Fill(text, func(name string) string { return values[name] }), nil
}

// literalText is a value as the language writes it: what is no number and neither true
// nor false is text.
func literalText(s string) string {
	switch v := core.ParseValue(s); {
	case v.IsUnlimited():
		return "unlimited"
	case v.Kind == core.KindNumber:
		return "(" + strconv.FormatFloat(v.Num, 'g', -1, 64) + ")"
	case v.Kind == core.KindBool:
		return v.String()
	}
	return strconv.Quote(s)
}

// listSaved prints the saved queries.
func (a *app) listSaved(cmd *cli.Command) error {
	s, _, err := a.readSaved(cmd)
	if err != nil {
		return err
	}
	var rows [][]string
	for _, name := range slices.Sorted(maps.Keys(s.Queries)) {
		rows = append(rows, []string{"@" + name, s.Queries[name]})
	}
	return a.table(cmd, textTable([]string{"name", "query"}, rows))
}

// completeQuestion offers what may stand next in a question: verbs and saved queries
// first, then fields, knobs and the words of the language.
func (a *app) completeQuestion(ctx context.Context, cmd *cli.Command) {
	var words []string
	if !cmd.Args().Present() {
		words = query.Verbs()
		if s, _, err := a.readSaved(cmd); err == nil {
			for _, name := range slices.Sorted(maps.Keys(s.Queries)) {
				words = append(words, "@"+name)
			}
		}
	} else {
		words = append(query.Words(), core.FieldNames()...)
		// Without a history its knobs are not known, and nothing else is missing.
		if db, err := a.openRead(ctx, cmd); err == nil {
			defer db.Close()
			if names, err := db.Names(ctx); err == nil {
				for _, of := range []struct {
					prefix string
					names  []string
				}{{"args.", names.Knobs}, {"passed.", names.Knobs}, {"quality.", names.Quality}, {"extra.", names.Extra}, {"", names.Figures}} {
					for _, name := range of.names {
						words = append(words, of.prefix+name)
					}
				}
			}
		}
	}
	for _, word := range words {
		fmt.Fprintln(a.stdout, word)
	}
}
