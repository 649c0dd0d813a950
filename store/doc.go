// Package store keeps a history of trials in one SQLite file behind plain Go
// types: whole [core.Trial] values go in and come out, and a [core.Select] is
// answered with rows of only the columns asked for. It is the only package that
// knows the schema; the SQL that builds it lies in package migrations.
//
// The meaning of every column is core.Trial.Value: a field read through
// [DB.Rows] equals that method on the trial read whole, and a test holds the two
// together.
//
// # Writing
//
// There is one writing connection, every write is one immediate transaction, and
// a call that has returned without error is on the disk (WAL, synchronous FULL).
// An error of a commit means that the outcome is unknown: look before you repeat.
// The row of a trial is its effective state. What people set, tag or retract is
// laid over what the source gave, which is kept beside it from the first
// assertion on, so that it can be undone.
//
// # Auditing
//
// What the audit says of a trial depends on the trials around it. Where a history
// is opened with [Options.Audit], every transaction that touches a study renews
// the findings of the whole study before it commits, so that nobody reads a trial
// that was not judged, or was judged by neighbours that are gone. What people
// acknowledge is kept beside the findings and outlives them.
//
// # Reading
//
// Readers have a pool of their own that cannot write. A history in a folder that
// may not be written, on a network file system or of an older schema is read
// through SQLite's immutable mode or a private copy.
//
// # Files
//
// SQLite takes its locks per process and file, so nothing in this process may
// open the database, its -wal or its -shm file except through SQLite. The one
// exception is the private copy, which is made only where nobody here can write.
package store
