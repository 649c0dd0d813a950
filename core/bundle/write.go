package bundle

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/sweepbook/sweepbook/core"
)

// Write makes the bundle of a trial in a folder and returns its path. The manifest's
// Written, Host and Sweepbook are by; the rest is filled in. Where a bundle of the
// trial is there already, the error is fs.ErrExist; writing it again is not needed.
func Write(dir string, b Bundle, by Manifest) (path string, err error) {
	path = filepath.Join(dir, b.Trial.ID.String()+Suffix)
	if _, err := os.Lstat(path); err == nil {
		return "", fmt.Errorf("bundle %s: %w", path, fs.ErrExist)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("bundle of trial %s: %w", b.Trial.ID, err)
	}
	tmp, err := os.MkdirTemp(dir, ".tmp-"+b.Trial.ID.String()+"-*")
	if err != nil {
		return "", fmt.Errorf("bundle of trial %s: %w", b.Trial.ID, err)
	}
	defer func() { _ = os.RemoveAll(tmp) }() // renamed by then, unless something failed
	if err := fill(tmp, b, by); err != nil {
		return "", fmt.Errorf("bundle of trial %s: %w", b.Trial.ID, err)
	}
	if err := os.Rename(tmp, path); err != nil {
		return "", fmt.Errorf("bundle of trial %s: %w", b.Trial.ID, err)
	}
	if err := syncDir(dir); err != nil {
		return "", fmt.Errorf("bundle of trial %s: %w", b.Trial.ID, err)
	}
	return path, nil
}

// fill writes the files of a bundle, the manifest last.
func fill(dir string, b Bundle, m Manifest) error {
	m.Format, m.Trial, m.Study, m.Status, m.Requests, m.Files = Format, b.Trial.ID, b.Trial.Study, b.Trial.Status, len(b.Samples), nil
	add := func(name, what string, write func(io.Writer) error) error {
		file, err := writeFile(filepath.Join(dir, name), write)
		if err != nil {
			return err
		}
		file.What = what
		m.Files = append(m.Files, file)
		return nil
	}
	// A number is local to the history that gave it.
	trial := *b.Trial
	trial.Number = 0
	err := add(TrialFile, "the trial: what was chosen and asked, how it ended, its figures", asJSON(&trial))
	if err == nil && b.Study != nil {
		err = add(StudyFile, "the definition of its study", asJSON(b.Study))
	}
	if err == nil && len(b.Samples) > 0 {
		err = add(RequestsFile, "its requests, one a line, moments in microseconds from its start", lines(b.Samples))
	}
	if err == nil && len(b.Log) > 0 {
		err = add(LogFile, "the end of the server's log", func(w io.Writer) error { _, err := w.Write(b.Log); return err })
	}
	if err == nil {
		err = syncDir(dir)
	}
	if err != nil {
		return err
	}
	if _, err := writeFile(filepath.Join(dir, ManifestFile), asJSON(m)); err != nil {
		return err
	}
	return syncDir(dir)
}

func asJSON(v any) func(io.Writer) error {
	return func(w io.Writer) error {
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		enc.SetEscapeHTML(false)
		return enc.Encode(v)
	}
}

func lines(samples []core.Sample) func(io.Writer) error {
	return func(w io.Writer) error {
		enc := json.NewEncoder(w)
		enc.SetEscapeHTML(false)
		for _, s := range samples {
			if err := enc.Encode(s); err != nil {
				return err
			}
		}
		return nil
	}
}

// writeFile writes a file that is on the disk when it returns.
func writeFile(path string, write func(io.Writer) error) (File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return File{}, err
	}
	sum, n := sha256.New(), counter(0)
	out := bufio.NewWriterSize(f, 1<<16)
	err = write(io.MultiWriter(out, sum, &n))
	if err = errors.Join(err, out.Flush()); err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return File{}, err
	}
	return File{Name: filepath.Base(path), Bytes: int64(n), SHA256: hex.EncodeToString(sum.Sum(nil))}, nil
}

type counter int64

func (c *counter) Write(p []byte) (int, error) { *c += counter(len(p)); return len(p), nil }

func syncDir(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	err = dir.Sync()
	if errors.Is(err, fs.ErrInvalid) || errors.Is(err, errors.ErrUnsupported) {
		err = nil // not every system can
	}
	return errors.Join(err, dir.Close())
}

// TailOf is the end of a log, at most so many bytes, from the start of a line; nil
// where there is none.
func TailOf(path string, limit int64) []byte {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }() // only read
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return nil
	}
	from := max(0, info.Size()-limit)
	text, err := io.ReadAll(io.NewSectionReader(f, from, limit))
	if err != nil {
		return nil
	}
	if from > 0 {
		_, text, _ = bytes.Cut(text, []byte("\n"))
	}
	return text
}
