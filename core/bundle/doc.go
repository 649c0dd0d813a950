// Package bundle reads and writes result bundles: one trial as a folder that says by
// itself what it is, for histories, machines and people that share a file system and
// no database.
//
// A bundle is there whole or not at all. Its files are written under a hidden name
// and forced to the disk, MANIFEST.json with their sizes and sums last, and only then
// the folder gets its name. What has no manifest was cut off. docs/bundles.md has the
// schema; [Format] is its version.
package bundle
