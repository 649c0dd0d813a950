package ingest

import (
	"bytes"
	"errors"
	"io"
	"strings"
)

// isTRTLLMBenchText knows the printed report by its rulers, where they stand in
// the first part of the text.
func isTRTLLMBenchText(head []byte, _ *input) bool {
	return looksLikeText(head) && bytes.Contains(head, []byte("\n= ")) &&
		(bytes.Contains(head, []byte("= PYTORCH BACKEND")) || bytes.Contains(head, []byte("= TRT ENGINE")) ||
			bytes.Contains(head, []byte("= TENSORRT BACKEND")) || bytes.Contains(head, []byte("= PERFORMANCE OVERVIEW")))
}

// readTRTLLMBenchText makes a trial of each printed report: its lines are those of
// the file's keys, so that both give one trial.
func readTRTLLMBenchText(in *input, out *collector) error {
	lines := &lineReader{r: in.text}
	r := &objectReader{in: in, out: out}
	report, figures := &object{}, false
	var raw strings.Builder
	end := func() {
		if figures {
			n := len(out.records)
			readTRTLLMBench(r, report)
			for i := range out.records[n:] {
				src := &out.records[n+i].src
				src.Format, src.Raw, src.Decimals = "trtllm-bench-text", maskSecrets(raw.String()), 4
			}
		}
		report, figures = &object{}, false
		raw.Reset()
	}
	for {
		l, err := lines.next()
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if err != nil {
			break
		}
		text := strings.TrimSpace(l.text)
		section := strings.HasPrefix(text, "= ")
		if section && (strings.HasSuffix(text, " BACKEND") || strings.HasSuffix(text, " ENGINE")) {
			end()
		}
		if report.line == 0 && section {
			report.line = l.no
		}
		if report.line == 0 {
			continue
		}
		figures = figures || section && strings.HasPrefix(text, "= PERFORMANCE")
		if raw.Len() < maxRaw {
			raw.WriteString(clip(text, 1000) + "\n")
		}
		trtllmLine(report, text)
	}
	end()
	if out.met == 0 {
		out.skip(0, "no report of trtllm-bench in it")
	}
	return nil
}
