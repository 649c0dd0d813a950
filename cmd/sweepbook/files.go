package main

import (
	"errors"
	"io"
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

// writeDurably writes what must outlive a crash of the machine.
func writeDurably(path string, data []byte) error {
	return replaceFile(path, 0o600, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// writeStream writes what is made piece by piece.
func writeStream(path string, write func(io.Writer) error) error {
	return replaceFile(path, 0o600, write)
}

func replaceFile(path string, mode os.FileMode, write func(io.Writer) error) error {
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
