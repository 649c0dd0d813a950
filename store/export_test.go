package store

import (
	"context"
	"io/fs"

	"github.com/sweepbook/sweepbook/core"
)

// OpenIn opens with another schema, or on a pretended network file system.
func OpenIn(ctx context.Context, path string, opt Options, schema fs.FS, network string) (*DB, error) {
	return open(ctx, path, opt, environment{schema, func(string) (string, bool) { return network, network != "" }})
}

// LockPath is where the lock of a study lies.
var LockPath = lockPath

// AuditAtMost sets up to how many trials a study is audited as a whole.
func (db *DB) AuditAtMost(n int) { db.maxAudited = n }

// LimitPages bounds the database file, which is how a full disk looks to SQLite.
func (db *DB) LimitPages(ctx context.Context, n int) error {
	_, err := db.writer.ExecContext(ctx, "PRAGMA max_page_count = "+itoa(int64(n)))
	return err
}

// Exec changes the file behind the store's back.
func (db *DB) Exec(ctx context.Context, text string, args ...any) error {
	_, err := db.writer.ExecContext(ctx, text, args...)
	return err
}

// Query reads one value with plain SQL, as people do with the views.
func (db *DB) Query(ctx context.Context, dest any, text string, args ...any) error {
	return db.reader.QueryRowContext(ctx, text, args...).Scan(dest)
}

// Decode reads encoded samples and chunks.
func Decode(data, chunks []byte) ([]core.Sample, error) {
	samples, err := decodeSamples(data)
	if err == nil {
		err = decodeChunks(chunks, samples)
	}
	return samples, err
}

// Encode is the way back.
func Encode(samples []core.Sample) (data, chunks []byte) {
	return encodeSamples(samples), encodeChunks(samples)
}

// Unpack reads a packed blob.
var Unpack = unpack

// PackText packs a short text.
func PackText(s string) ([]byte, error) { return new(packer).text(s) }
