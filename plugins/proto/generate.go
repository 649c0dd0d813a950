// Package proto holds engine.proto, the wire form of core.Engine, and the command
// that generates package plugins/internal/pb from it. The generated code is
// committed. After a change of engine.proto run, in the root of the repository,
//
//	go generate ./plugins/proto
//
// which builds buf and both generators from source at pinned versions; the first
// run takes some minutes. Fields are only added, never renumbered: a change
// that breaks old plugins needs a folder and a protocol version of its own.
package proto

//go:generate go run github.com/bufbuild/buf/cmd/buf@v1.75.0 generate

import _ "embed"

// Engine is engine.proto, which plugins in other languages make their stubs from.
//
//go:embed engine.proto
var Engine []byte
