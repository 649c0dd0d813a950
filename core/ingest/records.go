package ingest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/sweepbook/sweepbook/core"
)

// maxRecord bounds one line of an export: a trial with a few million chunk
// moments. A longer one is refused by itself; the lines after it are read.
const maxRecord = 256 << 20

// readRecords reads what `sweepbook export` writes: a core.Record a line. The
// trials keep their ids, times, sources and corrections, so that a history moves
// whole.
func readRecords(in *input, out *collector) error {
	for line := 1; ; line++ {
		text, err := recordLine(in.text)
		switch {
		case errors.Is(err, errLongRecord):
			out.begin()
			out.fail(line, err.Error())
			continue
		case err != nil && !errors.Is(err, io.EOF):
			return err
		}
		if len(bytes.TrimSpace(text)) > 0 {
			readRecord(text, line, out)
		}
		if err != nil {
			if out.met == 0 && len(out.studies) == 0 {
				out.skip(0, "no record in it")
			}
			return nil
		}
	}
}

func readRecord(text []byte, line int, out *collector) {
	var rec core.Record
	err := json.Unmarshal(text, &rec)
	if err == nil && rec.Format >= 1 && rec.Study != nil && rec.Trial == nil && rec.Format <= core.RecordFormat {
		out.keepStudy(*rec.Study, line)
		return
	}
	out.begin()
	switch {
	case err != nil:
		out.fail(line, fmt.Sprintf("record: %v", err))
	case rec.Format > core.RecordFormat:
		out.fail(line, fmt.Sprintf("record of format %d: this Sweepbook reads up to %d; use a newer one", rec.Format, core.RecordFormat))
	case rec.Format < 1 || rec.Trial == nil:
		out.fail(line, "record: no sweepbook format or no trial")
	case rec.Trial.Validate() != nil:
		out.fail(line, rec.Trial.Validate().Error())
	default:
		// A number is local to the history that gave it.
		rec.Trial.Number = 0
		out.keep(rec)
	}
}

var errLongRecord = fmt.Errorf("record: longer than %d MiB", maxRecord>>20)

// recordLine reads one line of at most maxRecord bytes and passes over the rest
// of a longer one.
func recordLine(r *bufio.Reader) ([]byte, error) {
	var text []byte
	long := false
	for {
		part, err := r.ReadSlice('\n')
		if !long {
			text = append(text, part...)
			long = len(text) > maxRecord
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case long && (err == nil || errors.Is(err, io.EOF)):
			return nil, errLongRecord
		default:
			return text, err
		}
	}
}
