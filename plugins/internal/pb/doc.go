// Package pb is the generated Go form of plugins/proto/engine.proto. Only
// convert.go, client.go and server.go of package plugins touch it; everything
// else speaks in the types of package core.
package pb
