package serving

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
)

// LogFollower reads a growing log line by line without holding it open, so that
// the file may be rotated or not exist yet.
type LogFollower struct {
	Path   string
	offset int64
	rest   []byte // of a line whose end was not there yet
}

// Size is how much of the log was read so far.
func (f *LogFollower) Size() int64 { return f.offset }

// followLimit bounds what one call reads, and so the longest line.
const followLimit = 1 << 20

// Next returns the whole lines that were added since the last call; none is no
// error. A file that became shorter is read from its start.
func (f *LogFollower) Next() ([]string, error) {
	file, err := os.Open(f.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // only read
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() < f.offset {
		f.offset, f.rest = 0, nil
	}
	added, err := io.ReadAll(io.NewSectionReader(file, f.offset, min(info.Size()-f.offset, followLimit)))
	if err != nil {
		return nil, err
	}
	f.offset += int64(len(added))
	text := append(f.rest, added...)
	end := bytes.LastIndexByte(text, '\n') + 1
	if end == 0 && len(text) > followLimit {
		end = len(text)
	}
	f.rest = bytes.Clone(text[end:])
	if end == 0 {
		return nil, nil
	}
	return strings.Split(strings.TrimSuffix(string(text[:end]), "\n"), "\n"), nil
}

// LogTail returns the last bytes of a log, from the start of a line; "" when
// there is none.
func LogTail(path string, limit int64) string {
	file, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer func() { _ = file.Close() }() // only read
	info, err := file.Stat()
	if err != nil {
		return ""
	}
	from := max(0, info.Size()-limit)
	text, err := io.ReadAll(io.NewSectionReader(file, from, limit))
	if err != nil {
		return ""
	}
	if from > 0 {
		text = text[bytes.IndexByte(text, '\n')+1:]
	}
	return string(text)
}
