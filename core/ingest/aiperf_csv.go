package ingest

import (
	"bytes"
	"encoding/csv"
	"errors"
	"io"
	"strings"
)

// The CSV of AIPerf and GenAI-Perf has a line a metric: a table of statistics,
// then one of single values. Both have two decimals, so that the JSON beside it
// counts.

// isAIPerfCSV knows the head of the first table.
func isAIPerfCSV(head []byte, _ *input) bool {
	line, _, _ := bytes.Cut(head, []byte("\n"))
	return bytes.HasPrefix(line, []byte("Metric,avg,")) || bytes.HasPrefix(line, []byte(`"Metric","avg",`))
}

// maxMetrics bounds the lines of a file of metrics.
const maxMetrics = 2000

func readAIPerfCSV(in *input, out *collector) error {
	json := strings.TrimSuffix(in.name, ".csv") + ".json"
	if f := in.sibling(json); f != nil && json != in.name {
		_ = f.Close() // only looked for
		out.skip(0, "read with "+json+" beside it: import that, or the folder")
		return nil
	}
	out.begin()
	if phase := phaseFolder(in); phase != "" {
		out.leave(1, "phase "+phase+" of a run: the run's own summary counts")
		return nil
	}
	metrics, raw, err := aiperfTable(in.text)
	if err != nil {
		out.fail(1, err.Error())
		return nil
	}
	tool := "genai-perf"
	if strings.HasSuffix(in.name, "_aiperf.csv") {
		tool = "aiperf"
	}
	d := newDraft("aiperf-csv", tool, 1)
	d.aiperf(func(tag string) *object { return metrics.sub(tag) })
	if len(d.t.Figures) == 0 {
		out.leave(1, "table of metrics without one that is known")
		return nil
	}
	d.add(out, raw)
	out.records[len(out.records)-1].src.Decimals = 2
	return nil
}

// aiperfTable reads both tables: a block of statistics for each tag.
func aiperfTable(r io.Reader) (metrics *object, raw string, err error) {
	metrics = &object{}
	var text strings.Builder
	rows := csv.NewReader(io.TeeReader(io.LimitReader(r, maxDocument), &limitedText{to: &text}))
	rows.FieldsPerRecord, rows.LazyQuotes = -1, true
	var names []string
	for n := 0; n < maxMetrics; n++ {
		row, err := rows.Read()
		switch {
		case errors.Is(err, io.EOF):
			return metrics, maskSecrets(text.String()), nil
		case err != nil:
			return nil, "", err
		case len(row) < 2:
			continue
		case row[0] == "Metric":
			names = row[1:]
			if row[1] == "Value" {
				names = []string{"avg"}
			}
			continue
		case row[0] == "Endpoint" || row[0] == "GPU":
			names = nil // of the GPUs, a line each
		}
		if names == nil {
			continue
		}
		name, unit, _ := strings.Cut(strings.TrimSuffix(strings.TrimSpace(row[0]), ")"), "(")
		block := &object{}
		block.set("unit", unit)
		for i, cell := range row[1:] {
			if f, ok := parseNumber(strings.ReplaceAll(strings.TrimSpace(cell), ",", "")); ok && i < len(names) {
				block.set(names[i], f)
			}
		}
		metrics.set(aiperfTag(name), block)
	}
	return metrics, maskSecrets(text.String()), nil
}

// aiperfTag gives the tag of a metric's title.
func aiperfTag(title string) string {
	switch tag := snakeLabel(title); tag {
	case "total_input_sequence_length":
		return "total_isl"
	case "total_output_sequence_length":
		return "total_osl"
	default:
		return tag
	}
}

// limitedText keeps the first maxRaw bytes of what is written.
type limitedText struct{ to *strings.Builder }

func (l *limitedText) Write(p []byte) (int, error) {
	if room := maxRaw - l.to.Len(); room > 0 {
		l.to.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}
