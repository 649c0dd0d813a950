package bundle

import (
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
	"strings"

	"github.com/sweepbook/sweepbook/core"
)

// The bounds of what is read of foreign files.
const (
	maxManifest = 1 << 20
	maxTrial    = 64 << 20
	maxRequests = 4 << 30
)

// Is reports whether a folder is a bundle or the rest of one: by its name, or by a
// manifest in it, since people rename folders.
func Is(dir string) bool {
	if strings.HasSuffix(strings.TrimRight(dir, string(filepath.Separator)), Suffix) {
		return true
	}
	data, err := readBounded(filepath.Join(dir, ManifestFile), maxManifest)
	return err == nil && bytes.Contains(data, []byte(`"sweepbook_bundle"`))
}

// Read reads a bundle whole and checks it: everything that the manifest names is
// there and as it was written. Its log is left where it is.
func Read(dir string) (*Bundle, error) {
	b, err := read(dir)
	if err != nil {
		return nil, fmt.Errorf("bundle %s: %w", dir, err)
	}
	return b, nil
}

func read(dir string) (*Bundle, error) {
	data, err := readBounded(filepath.Join(dir, ManifestFile), maxManifest)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w; copy it again from where it was written, or remove it", ErrCut)
	}
	if err != nil {
		return nil, err
	}
	var m Manifest
	if err := json.Unmarshal(data, &m); err != nil {
		return nil, fmt.Errorf("%s: %w: %w; copy it again from where it was written", ManifestFile, core.ErrInvalid, err)
	}
	switch {
	case m.Format > Format:
		return nil, fmt.Errorf("%w: it has format %d, and this Sweepbook reads up to %d; use a newer one", core.ErrInvalid, m.Format, Format)
	case m.Format < 1:
		return nil, fmt.Errorf("%w: %s names no format", core.ErrInvalid, ManifestFile)
	}
	content := map[string][]byte{}
	for _, file := range m.Files {
		if file.Name != filepath.Base(file.Name) || file.Name == "." || file.Name == ".." || strings.ContainsAny(file.Name, `/\`) {
			return nil, fmt.Errorf("%w: %s names the file %q, which is none of the folder", core.ErrInvalid, ManifestFile, file.Name)
		}
		data, err := check(dir, file)
		if err != nil {
			return nil, err
		}
		content[file.Name] = data
	}
	return decode(m, content)
}

// check reads a file and holds it against the manifest.
func check(dir string, file File) ([]byte, error) {
	limit := int64(maxTrial)
	if file.Name == RequestsFile {
		limit = maxRequests
	}
	data, err := readBounded(filepath.Join(dir, file.Name), limit)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: %s is missing; copy the bundle again from where it was written", core.ErrInvalid, file.Name)
	}
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(data)
	if got := hex.EncodeToString(sum[:]); int64(len(data)) != file.Bytes || got != file.SHA256 {
		return nil, fmt.Errorf("%w: %s is not what was written: %d bytes with sha256 %.12s, where %s says %d with %.12s; copy the bundle again from where it was written",
			core.ErrInvalid, file.Name, len(data), got, ManifestFile, file.Bytes, file.SHA256)
	}
	return data, nil
}

func decode(m Manifest, content map[string][]byte) (*Bundle, error) {
	b := &Bundle{Trial: &core.Trial{}}
	if content[TrialFile] == nil {
		return nil, fmt.Errorf("%w: %s lists no %s", core.ErrInvalid, ManifestFile, TrialFile)
	}
	if err := json.Unmarshal(content[TrialFile], b.Trial); err != nil {
		return nil, fmt.Errorf("%s: %w: %w", TrialFile, core.ErrInvalid, err)
	}
	if err := b.Trial.Validate(); err != nil {
		return nil, fmt.Errorf("%s: %w", TrialFile, err)
	}
	if b.Trial.ID != m.Trial {
		return nil, fmt.Errorf("%w: %s is of trial %s, %s of trial %s", core.ErrInvalid, TrialFile, b.Trial.ID, ManifestFile, m.Trial)
	}
	b.Trial.Number = 0
	if text := content[StudyFile]; text != nil {
		b.Study = &core.StudyVersion{}
		if err := json.Unmarshal(text, b.Study); err != nil {
			return nil, fmt.Errorf("%s: %w: %w", StudyFile, core.ErrInvalid, err)
		}
	}
	dec := json.NewDecoder(bytes.NewReader(content[RequestsFile]))
	for {
		var s core.Sample
		err := dec.Decode(&s)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("%s: request %d: %w: %w", RequestsFile, len(b.Samples)+1, core.ErrInvalid, err)
		}
		b.Samples = append(b.Samples, s)
	}
	if len(b.Samples) != m.Requests {
		return nil, fmt.Errorf("%w: %s has %d requests, %s says %d", core.ErrInvalid, RequestsFile, len(b.Samples), ManifestFile, m.Requests)
	}
	return b, nil
}

// readBounded reads a regular file, and no link to one elsewhere.
func readBounded(path string, limit int64) ([]byte, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%w: %s is no regular file", core.ErrInvalid, filepath.Base(path))
	}
	if info.Size() > limit {
		return nil, fmt.Errorf("%w: %s has %d bytes, more than the %d that are read", core.ErrInvalid, filepath.Base(path), info.Size(), limit)
	}
	return os.ReadFile(path)
}
