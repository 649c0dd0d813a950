package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Every file that a command makes is there whole or not at all: it is written
// under another name in the same folder and renamed.

// writeFile writes a result for people to read.
func writeFile(path string, data []byte) error {
	return replaceFile(path, 0o644, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// writeDurably writes what must outlive a crash of the machine, its name included.
func writeDurably(path string, data []byte) error {
	err := replaceFile(path, 0o600, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
	if err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// writeStream writes what is made piece by piece.
func writeStream(path string, write func(io.Writer) error) error {
	return replaceFile(path, 0o600, write)
}

// replaceable refuses to write over a history: no output is worth one.
func replaceable(path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.IsDir():
		return fmt.Errorf("%s is a folder; name a file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // only read
	const magic = "SQLite format 3\x00"
	head := make([]byte, len(magic))
	if _, err := io.ReadFull(f, head); err == nil && string(head) == magic {
		return fmt.Errorf("%s is a database; nothing is written over it: name another file", path)
	}
	return nil
}

func replaceFile(path string, mode os.FileMode, write func(io.Writer) error) error {
	if err := replaceable(path); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(tmp.Name()) }() // renamed by then, unless something failed
	if err := write(tmp); err != nil {
		return errors.Join(err, tmp.Close())
	}
	if err := errors.Join(tmp.Chmod(mode), tmp.Sync()); err != nil {
		return errors.Join(err, tmp.Close())
	}
	if err := tmp.Close(); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), path)
}
