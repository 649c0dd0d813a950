// Package scaffold makes the project of a new engine plugin: a toy engine that
// builds, passes the conformance suite and serves, in Go, in Python or as a manifest.
// Its texts lie in the folders of those names; __NAME__ and __PACKAGE__ stand for the engine's name
// as it is written and as a language can write it.
package scaffold
