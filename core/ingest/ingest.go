package ingest

import (
	"bufio"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/sweepbook/sweepbook/core"
)

// Options say how a file is read. The zero value is useful.
type Options struct {
	Study  string    // name of the study instead of the one that the source says
	Format string    // a reader's name (see Formats) instead of detection by content
	Now    time.Time // recorded as the time of the import; zero is not recorded
	// Pattern takes fields from the end of paths, "{gpu}/{model}_tp{tp}/*.json"; see
	// CheckPattern.
	Pattern string
	// Mapping says what files do not say of themselves. It outranks sidecars.
	Mapping *Mapping
	// Sidecar decodes the import.yaml that stands in the folder of a file, or above
	// it within the named folder. Nil leaves sidecars unread.
	Sidecar func(data []byte) (*Mapping, error)
	// Folder reads a folder that is one record as a whole, such as a result bundle, and
	// reports whether it is one. Nil takes no folder for one.
	Folder func(path string) (Result, bool)
	// YAML decodes the documents of a YAML text into nil, bool, numbers, string, []any
	// and map[string]any. Nil leaves YAML files unread.
	YAML func(data []byte) ([]any, error)
	// SQLite opens another program's database file so that nothing of it or beside it
	// is written. Nil refuses such files.
	SQLite func(ctx context.Context, path string) (*sql.DB, error)
}

// Result is what one file gave.
type Result struct {
	// Trials have everything but a number: id, study, status, sources, derived
	// figures. One file may print a trial twice; both records are here, with one id.
	Trials []*core.Trial
	// Samples are the single requests of trials whose source has them.
	Samples map[core.ID][]core.Sample
	// Studies are definitions of studies, which an export carries beside trials.
	Studies []core.StudyVersion
	// Quality are accuracy figures of a checkpoint, to be attached to its trials.
	Quality []Quality
	// Skipped are records or files that were understood and hold no result: a
	// placeholder, a command that crashed, content of no known kind.
	Skipped []Note
	// Errors are records that should have been read and could not be.
	Errors []Note
	// Warnings tell of something odd in records that were read: a path that
	// disagrees with its file, requests with impossible times, a column without a unit.
	Warnings []Note
	// Records counts what was met: it is always len(Trials) + Left + Rejected.
	// Left are records that are no result (their notes are in Skipped), Rejected
	// those that could not be read (in Errors). Notes end at a thousand, counts do not.
	Records, Left, Rejected int
}

// Note says something of a place in a file. Line is 1-based, 0 for the whole file.
type Note struct {
	File    string
	Line    int
	Message string
}

func (n Note) String() string {
	if n.Line == 0 {
		return n.File + ": " + n.Message
	}
	return fmt.Sprintf("%s:%d: %s", n.File, n.Line, n.Message)
}

// File reads one file, with the sidecar and the server's log or script beside it.
// An error means that the file could not be read at all; what is wrong with single
// records stands in the Result, which then still holds the good ones.
func File(ctx context.Context, path string, opt Options) (Result, error) {
	return readPath(ctx, path, &neighbourhood{opt: opt})
}

func readPath(ctx context.Context, path string, around *neighbourhood) (Result, error) {
	f, err := os.Open(path)
	if err != nil {
		return Result{}, fmt.Errorf("read results: %w", err)
	}
	defer func() { _ = f.Close() }() // only read
	if info, err := f.Stat(); err == nil && info.IsDir() {
		return Result{}, fmt.Errorf("read results: %s: %w: a folder; walk it instead", path, core.ErrInvalid)
	}
	s, err := around.of(path)
	if err != nil {
		return Result{}, fmt.Errorf("read %s: %w", filepath.Base(path), err)
	}
	return read(ctx, s, f, around.opt)
}

// Read reads one source of results to its end. name is its path or a made-up
// name: the base name goes into the trials' sources, the stem names the study
// where the text itself does not, and a pattern is matched with it.
func Read(ctx context.Context, name string, r io.Reader, opt Options) (Result, error) {
	s, err := ofName(name, opt)
	if err != nil {
		return Result{}, fmt.Errorf("read %s: %w", filepath.Base(name), err)
	}
	return read(ctx, s, r, opt)
}

func read(ctx context.Context, around *surroundings, r io.Reader, opt Options) (Result, error) {
	base := filepath.Base(around.path)
	sum := sha256.New()
	raw := &contextReader{ctx: ctx, r: io.TeeReader(r, sum)}
	fail := func(err error) (Result, error) { return Result{}, fmt.Errorf("read %s: %w", base, err) }
	plain, name, err := unpack(raw, base)
	if err != nil {
		return fail(err)
	}
	in := &input{ctx: ctx, name: name, path: around.path, onDisk: around.onDisk, text: bufio.NewReaderSize(decodeText(plain), 64<<10), opt: opt, mapping: around.mapping}
	out := &collector{file: base, around: around}

	f, err := chooseFormat(in)
	if err != nil {
		return fail(err)
	}
	if f == nil {
		out.skip(0, "unknown content: looked for "+lookedFor())
	} else if err := f.read(in, out); err != nil {
		return fail(err)
	}
	// The source is named by the whole file, so the rest is read too.
	if _, err := io.Copy(io.Discard, raw); err != nil {
		return fail(err)
	}
	return out.finish(hex.EncodeToString(sum.Sum(nil)), opt), nil
}

// stem is a file's base name without its extensions.
func stem(name string) string {
	base := filepath.Base(name)
	if trimmed := strings.TrimSuffix(base, filepath.Ext(base)); trimmed != "" {
		return trimmed
	}
	return base
}

// contextReader ends reading when the context does.
type contextReader struct {
	ctx context.Context //nolint:containedctx // lives within one call of Read
	r   io.Reader
}

func (c *contextReader) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(p)
}
