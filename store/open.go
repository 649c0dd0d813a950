package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"sync"
	"time"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/migrations"
)

// Options say how a history is opened. The zero value opens for writing and
// creates what is not there.
type Options struct {
	// ReadOnly never writes, migrates or creates.
	ReadOnly bool
	// MustExist makes a missing or empty file an error instead of a new history.
	MustExist bool
	// Now is the clock; nil is time.Now.
	Now func() time.Time
	// User is recorded with assertions and deletions; empty is the user of the
	// operating system.
	User string
	// SweepbookVersion is recorded when a history is made and with trials that
	// carry none.
	SweepbookVersion string
	// MaxChunks is up to how many chunk moments of one trial are kept; 0 is a
	// million, negative is none. Beyond it a trial keeps its requests only.
	MaxChunks int
	// Audit says what may not be believed of the trials of one study ("" is that
	// of all trials without one); nil is no audit, and then findings are what the
	// caller gives. Every transaction that adds, corrects or deletes a trial that
	// has ended audits its study as a whole before it commits, and replaces the
	// findings of all trials in it; the Findings of trials that were handed in are
	// then those. The trials come in order of their numbers, without samples,
	// assertions and the text of sources; they share settings and must not be
	// changed. It is called by one goroutine at a time, during a write, and must
	// not use the history. In a study of more than 20,000 trials only those that the
	// transaction touched are given: DB.Reaudit does the whole.
	Audit func(study []*core.Trial) map[core.ID][]core.Finding
	// Derive adds the figures that need more than a trial itself to be worked out,
	// and says in its Derived how. It is called of every trial that is written,
	// after its own Derive; nil adds none.
	Derive func(t *core.Trial)
	// AuditVersion is that of Audit's rules as a whole, 1 or more. See
	// DB.AuditVersion.
	AuditVersion int
}

// DB is an open history. Its methods may be called from several goroutines.
type DB struct {
	path    string // as stored, symbolic links resolved
	opt     Options
	version int // of the schema that is read and written
	found   int // of the file, which differs for a private copy of an older one

	writer *sql.DB // nil when read-only
	reader *sql.DB
	// readDSN is how the file is read, for connections of their own.
	readFile string
	readMode []param
	private  string // folder of a private copy, removed at Close

	maxAudited int // see defaultMaxAudited

	turn  chan struct{} // holds one token: whose turn it is to write
	state writerState   // guarded by turn

	closing sync.Once
	closed  error
}

// environment is what a test replaces: where the schema comes from and which
// file systems are remote.
type environment struct {
	schema fs.FS
	remote func(dir string) (kind string, remote bool)
}

// Open opens the history at path, or makes it. A file that is no history, that
// another program owns or that has a newer schema is refused and left byte for
// byte as it was. An older schema is backed up beside the file and migrated,
// unless opt.ReadOnly, which reads it through a migrated private copy.
func Open(ctx context.Context, path string, opt Options) (*DB, error) {
	return open(ctx, path, opt, environment{migrations.FS, remoteFS})
}

func open(ctx context.Context, path string, opt Options, env environment) (*DB, error) {
	if err := setDriver(); err != nil {
		return nil, fmt.Errorf("open history: %w", err)
	}
	if opt.Now == nil {
		opt.Now = time.Now
	}
	if opt.User == "" {
		opt.User = osUser()
	}
	steps, err := readSteps(env.schema)
	if err != nil {
		return nil, err
	}
	path, err = realPath(path)
	if err != nil {
		return nil, fmt.Errorf("open history: %w", err)
	}
	db := &DB{path: path, opt: opt, maxAudited: defaultMaxAudited, turn: make(chan struct{}, 1)}
	if err := db.open(ctx, env, steps); err != nil {
		db.Close()
		return nil, err
	}
	return db, nil
}

func (db *DB) open(ctx context.Context, env environment, steps []step) error {
	exists, size, err := db.stat()
	if err != nil {
		return err
	}
	kind, remote := env.remote(existingDir(db.path))
	if remote && !db.opt.ReadOnly {
		return fmt.Errorf("open history %s: %w: it lies on a network file system (%s), where SQLite cannot be written safely; "+
			"give a path on a local disk with --db and share results as exports", db.path, core.ErrInvalid, kind)
	}
	if !exists {
		if err := db.create(ctx, steps); err != nil {
			return fmt.Errorf("create history %s: %w", db.path, err)
		}
		if exists, size, err = db.stat(); err != nil {
			return err
		}
		if !exists {
			return fmt.Errorf("create history %s: %w: a link that leads nowhere", db.path, core.ErrInvalid)
		}
	}
	if size > 0 {
		if err := db.inspect(ctx, remote, steps); err != nil {
			return err
		}
	}
	if db.opt.ReadOnly {
		return db.openReader(ctx, remote, steps)
	}
	return db.openWriter(ctx, steps)
}

// stat looks at the file without opening it.
func (db *DB) stat() (exists bool, size int64, err error) {
	must := db.opt.ReadOnly || db.opt.MustExist
	info, err := os.Stat(db.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if must {
			return false, 0, fmt.Errorf("open history %s: %w", db.path, core.ErrNotFound)
		}
		return false, 0, nil
	case err != nil:
		return false, 0, fmt.Errorf("open history: %w", err)
	case !info.Mode().IsRegular():
		return false, 0, fmt.Errorf("open history %s: %w: not a regular file", db.path, core.ErrInvalid)
	case info.Size() == 0 && must:
		return false, 0, fmt.Errorf("open history %s: %w: the file is empty; restore a backup, or remove it to begin a new history",
			db.path, core.ErrInvalid)
	}
	return true, info.Size(), nil
}

// inspect refuses what is not ours to open, before anything is written.
func (db *DB) inspect(ctx context.Context, remote bool, steps []step) error {
	h, err := peek(ctx, db.path, remote)
	if err != nil {
		return fmt.Errorf("open history %s: %w", db.path, err)
	}
	switch {
	case h.pages == 0:
		return fmt.Errorf("open history %s: %w: not a Sweepbook history: too short for a database", db.path, core.ErrInvalid)
	case h.application == 0 && h.version == 0 && h.tables == 0:
		// What a crash between the making of the file and of its schema leaves.
		if db.opt.ReadOnly || db.opt.MustExist {
			return fmt.Errorf("open history %s: %w: the database is empty; restore a backup, or remove it to begin a new history",
				db.path, core.ErrInvalid)
		}
	case h.application != applicationID:
		return fmt.Errorf("open history %s: %w: a SQLite database of another program (application id %#x)",
			db.path, core.ErrInvalid, uint32(h.application))
	case h.version > len(steps):
		return &SchemaError{Path: db.path, Found: h.version, Supported: len(steps)}
	case h.version < 1:
		return fmt.Errorf("open history %s: %w: schema version %d", db.path, core.ErrInvalid, h.version)
	}
	db.found = h.version
	return nil
}

func (db *DB) openWriter(ctx context.Context, steps []step) error {
	writer, err := openPool(db.path, nil, writerPragmas())
	if err != nil {
		return fmt.Errorf("open history %s: %w", db.path, err)
	}
	writer.SetMaxOpenConns(1)
	writer.SetMaxIdleConns(1)
	db.writer = writer
	if err := db.migrate(ctx, steps); err != nil {
		return err
	}
	db.found, db.version = len(steps), len(steps)
	db.readFile, db.readMode = db.path, []param{{"mode", "ro"}}
	return db.openPoolOfReaders(ctx)
}

func (db *DB) openReader(ctx context.Context, remote bool, steps []step) error {
	p, err := placeToRead(ctx, db.path, remote)
	if err != nil {
		return fmt.Errorf("open history %s: %w", db.path, err)
	}
	db.readFile, db.readMode, db.private = p.file, p.mode, p.private
	if db.found < len(steps) {
		if err := db.readOlder(ctx, steps); err != nil {
			return fmt.Errorf("open history %s: read schema %d: %w", db.path, db.found, err)
		}
	}
	db.version = len(steps)
	return db.openPoolOfReaders(ctx)
}

func (db *DB) openPoolOfReaders(ctx context.Context) error {
	reader, err := openPool(db.readFile, db.readMode, readerPragmas())
	if err != nil {
		return fmt.Errorf("open history %s: %w", db.path, err)
	}
	reader.SetMaxOpenConns(8) // a walk holds one, and its body may ask for more
	reader.SetMaxIdleConns(4)
	db.reader = reader
	if err := reader.PingContext(ctx); err != nil {
		return fmt.Errorf("open history %s: %w", db.path, translate(err))
	}
	return nil
}

// Close ends all connections; the last writer folds the -wal file into the
// database. It may be called twice.
func (db *DB) Close() error {
	db.closing.Do(func() {
		var errs []error
		if db.reader != nil {
			errs = append(errs, db.reader.Close())
		}
		if db.writer != nil {
			db.turn <- struct{}{} // a write that is under way ends first
			db.state.close()
			<-db.turn
			errs = append(errs, db.writer.Close())
		}
		if db.private != "" {
			errs = append(errs, os.RemoveAll(db.private))
		}
		if err := errors.Join(errs...); err != nil {
			db.closed = fmt.Errorf("close history %s: %w", db.path, err)
		}
	})
	return db.closed
}

// Path is the absolute path of the history, symbolic links resolved.
func (db *DB) Path() string { return db.path }

// SchemaVersion is the schema of the file: lower than SupportedSchema where an
// older one is read without migrating it.
func (db *DB) SchemaVersion() int { return db.found }

// SupportedSchema is the newest schema that this program knows.
func SupportedSchema() int {
	steps, err := readSteps(migrations.FS)
	if err != nil {
		return 0
	}
	return len(steps)
}

// FileInfo is what can be said of a history's file without opening it for use.
type FileInfo struct {
	Path          string // absolute, symbolic links resolved
	Size          int64  // bytes, without what the -wal file holds
	WAL           int64  // bytes of the -wal file
	SchemaVersion int    // 0 for an empty file
	History       bool   // it is a history, of this or a newer schema
	Network       string // kind of network file system; "" is a local disk
}

// Inspect looks at a file and changes nothing. A missing file is
// core.ErrNotFound; a file that is no SQLite database is core.ErrInvalid.
func Inspect(ctx context.Context, path string) (FileInfo, error) {
	if err := setDriver(); err != nil {
		return FileInfo{}, fmt.Errorf("inspect history: %w", err)
	}
	path, err := realPath(path)
	if err != nil {
		return FileInfo{}, fmt.Errorf("inspect history: %w", err)
	}
	db := &DB{path: path}
	exists, size, err := db.stat()
	if err != nil {
		return FileInfo{}, err
	}
	if !exists {
		return FileInfo{}, fmt.Errorf("inspect history %s: %w", path, core.ErrNotFound)
	}
	info := FileInfo{Path: path, Size: size}
	if wal, err := os.Stat(path + "-wal"); err == nil {
		info.WAL = wal.Size()
	}
	kind, remote := remoteFS(filepath.Dir(path))
	if remote {
		info.Network = kind
	}
	if size == 0 {
		return info, nil
	}
	h, err := peek(ctx, path, remote)
	if err != nil {
		return FileInfo{}, fmt.Errorf("inspect history %s: %w", path, err)
	}
	info.SchemaVersion, info.History = h.version, h.application == applicationID
	return info, nil
}

// realPath makes a path absolute and resolves symbolic links, so that all who
// open one file agree on its name and on the names of the locks beside it.
func realPath(path string) (string, error) {
	if path == "" {
		return "", fmt.Errorf("%w: no path", core.ErrInvalid)
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	if real, err := filepath.EvalSymlinks(abs); err == nil {
		return real, nil
	}
	if dir, err := filepath.EvalSymlinks(filepath.Dir(abs)); err == nil {
		return filepath.Join(dir, filepath.Base(abs)), nil
	}
	return abs, nil
}

// existingDir is the nearest folder above path that is there.
func existingDir(path string) string {
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(dir); err == nil || dir == filepath.Dir(dir) {
			return dir
		}
	}
}

func osUser() string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	return "unknown"
}
