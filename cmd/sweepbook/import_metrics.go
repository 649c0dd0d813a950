package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/core/ingest"
	"github.com/sweepbook/sweepbook/core/load"
)

// snapshots are two scrapes of a server's metrics around one result.
type snapshots struct {
	names         string // of the files, for the record
	before, after map[string]float64
}

// readSnapshots reads the files of --metrics-before and --metrics-after; nil where
// neither is given.
func readSnapshots(cmd *cli.Command) (*snapshots, error) {
	paths := []string{cmd.String("metrics-before"), cmd.String("metrics-after")}
	switch {
	case paths[0] == "" && paths[1] == "":
		return nil, nil
	case paths[0] == "" || paths[1] == "":
		return nil, usagef("import: --metrics-before and --metrics-after belong together: what the server did is the difference")
	case cmd.Bool("suggest"):
		return nil, usagef("import --suggest records nothing: leave out --metrics-before and --metrics-after")
	case cmd.Args().Len() != 1:
		return nil, usagef("import --metrics-before: the snapshots belong to one result: import its file alone")
	}
	if info, err := os.Stat(cmd.Args().First()); err == nil && info.IsDir() {
		return nil, usagef("import --metrics-before: the snapshots belong to one result: name its file instead of the folder %s", cmd.Args().First())
	}
	s := &snapshots{names: filepath.Base(paths[0]) + ", " + filepath.Base(paths[1])}
	for i, flag := range []string{"--metrics-before", "--metrics-after"} {
		found, err := readSnapshot(paths[i])
		if err != nil {
			return nil, fmt.Errorf("import %s %s: %w", flag, paths[i], err)
		}
		if i == 0 {
			s.before = found
		} else {
			s.after = found
		}
	}
	return s, nil
}

func readSnapshot(path string) (map[string]float64, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // only read
	found, err := load.ParseMetrics(f)
	if err == nil && len(found) == 0 {
		err = fmt.Errorf("%w: it holds no Prometheus metrics; save the server's /metrics page", core.ErrInvalid)
	}
	return found, err
}

// complete gives the one trial of a file what the server counted while it ran. A
// figure that the file gives itself stays.
func (s *snapshots) complete(a *app, res ingest.Result) error {
	if s == nil {
		return nil
	}
	for _, t := range res.Trials {
		if t.ID != res.Trials[0].ID {
			return hinted{fmt.Errorf("import --metrics-before: %s holds more than one result, and the snapshots belong to one", sourceName(t)),
				"save the result in a file of its own, or import without the snapshots"}
		}
	}
	figures, cached := load.ServerFigures(s.before, s.after)
	// Two moments, both outside of the load, show no peak of it.
	delete(figures, "kv_cache_peak")
	if cached.Kind == core.KindNumber {
		figures.Set("cached_tokens", cached.Num)
	}
	back := load.WentBack(s.before, s.after)
	if len(back) > 0 {
		a.warn("counters that are lower after than before count as unknown (the server began anew, or the two files are swapped): %s", strings.Join(back, ", "))
	}
	if len(figures) == 0 && len(back) == 0 {
		a.warn("the snapshots %s hold no counter that is known and grew: nothing is taken of them", s.names)
	}
	queries, _ := load.PrefixCacheTokens(s.before, s.after)
	for _, t := range res.Trials {
		s.lay(a, t, figures, queries, back)
	}
	return nil
}

// lay records the figures in a trial, and whence they are.
func (s *snapshots) lay(a *app, t *core.Trial, figures core.Figures, queries core.Value, back []string) {
	if t.Figures == nil {
		t.Figures = core.Figures{}
	}
	if t.Extra == nil {
		t.Extra = map[string]core.Value{}
	}
	for name, v := range figures {
		if _, given := t.Figures[name]; !given {
			t.Figures.Set(name, v)
		}
	}
	t.Extra["server_metrics"] = core.String(s.names)
	if len(back) > 0 {
		t.Extra["server_metrics_reset"] = core.String(strings.Join(back, ", "))
	}
	if queries.Kind != core.KindNumber {
		return
	}
	t.Extra["prefix_cache_queries"] = queries
	// A warm-up or a chat template adds some; another run's snapshots are far off.
	if asked, ok := t.Figures["input_tokens"]; ok && math.Abs(queries.Num-asked) > asked/10 {
		a.warn("%s: the server looked up %.0f prompt tokens between the snapshots, the result has %.0f: the server did other work too, or they are of another run",
			sourceName(t), queries.Num, asked)
	}
}
