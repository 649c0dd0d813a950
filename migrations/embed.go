// Package migrations holds the SQL that builds a history's schema, one file a
// version. The number at the start of a file's name is the user_version that the
// file leads to; the files are applied in order, all in one transaction, by
// package store, which alone knows what the tables mean.
//
// A file that has been released is never edited: a change is a new file.
package migrations

import "embed"

// FS holds the files 0001_*.sql, 0002_*.sql, …
//
//go:embed *.sql
var FS embed.FS
