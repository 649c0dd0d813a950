package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/store"
)

// benchUnits are the figures that a line of the Go benchmark format gives, each
// with the unit it has there and which way is better.
var benchUnits = []struct{ figure, unit, better string }{
	{"total_tps", "total-tok/s", "higher"}, {"output_tps", "output-tok/s", "higher"}, {"rps", "req/s", "higher"}, {"goodput_rps", "good-req/s", "higher"},
	{"success_rate", "success-ratio", "higher"},
	{"mean_ttft_ms", "mean-ttft-ms", "lower"}, {"p99_ttft_ms", "p99-ttft-ms", "lower"}, {"mean_tpot_ms", "mean-tpot-ms", "lower"}, {"p99_tpot_ms", "p99-tpot-ms", "lower"},
	{"mean_itl_ms", "mean-itl-ms", "lower"}, {"mean_e2el_ms", "mean-e2el-ms", "lower"}, {"p99_e2el_ms", "p99-e2el-ms", "lower"},
	{"joules_per_output_token", "J/tok", "lower"},
}

// exportGoBench writes a line for each trial with figures in the format of Go
// benchmarks, which benchstat reads. Repeats of one configuration and load have one
// name, so that benchstat takes them as samples of it; its parts are keys to
// compare by, as `benchstat -col /config`.
func (a *app) exportGoBench(ctx context.Context, db *store.DB, where string, w io.Writer) error {
	out := bufio.NewWriter(w)
	for _, u := range benchUnits {
		fmt.Fprintf(out, "Unit %s better=%s\n", u.unit, u.better)
	}
	left, err := eachMeasured(ctx, db, where, a.now(), func(t *core.Trial) error {
		fmt.Fprintf(out, "%s\t%d", benchName(t), max(1, int64(t.Figures["completed"])))
		for _, u := range benchUnits {
			if v, ok := t.Figures[u.figure]; ok {
				fmt.Fprintf(out, "\t%s %s", strconv.FormatFloat(v, 'g', -1, 64), u.unit)
			}
		}
		_, err := fmt.Fprintln(out)
		return err
	})
	if err != nil {
		return err
	}
	a.sayLeft("gobench", left)
	return out.Flush()
}

// benchName is the name of a trial's configuration, workload and load.
func benchName(t *core.Trial) string {
	var b strings.Builder
	b.WriteString("BenchmarkServing")
	for _, part := range [][2]string{
		{"study", t.Study}, {"engine", t.Setup.Config.Engine}, {"model", t.Setup.Config.Model}, {"gpu", t.Value("gpu").String()}, {"gpus", t.Value("gpus").String()},
		{"config", t.Value("config").String()}, {"workload", t.Value("workload").String()}, {"load", t.Load.Label()},
	} {
		if part[1] != "" {
			b.WriteString("/" + part[0] + "=" + benchWord(part[1]))
		}
	}
	return b.String()
}

// benchWord makes a text one word of a name: a blank would end the name, a slash
// its part. A number behind a dash at the end of a name would be read as the number
// of processors.
func benchWord(s string) string {
	return strings.Map(func(c rune) rune {
		switch {
		case c <= ' ' || c == 0x7f || c == '/':
			return '_'
		case c == '-':
			return '.'
		}
		return c
	}, s)
}
