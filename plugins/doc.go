// Package plugins is the border between Sweepbook and its engines. An engine runs
// in a process of its own and is reached over gRPC (plugins/proto/engine.proto)
// with the handshake of hashicorp/go-plugin; built-in engines are the same binary
// executed again.
//
// An engine author implements core.Engine and calls [Serve] in main. The program
// uses a [Host]: [Host.Start] gives a [Client], which is a core.Engine again, so
// that nothing beyond this package can tell an engine in another process from one
// in this process. plugins/enginetest holds a harness and a conformance suite.
//
// Three rules shape the code. What a plugin sends is hostile until checked
// (check.go, convert.go). No wait on a plugin is without a limit (process.go,
// Client.Close). A dead plugin is one error, core.ErrPluginExited, made in one
// place (Client.fail). A plugin runs with the rights of its user all the same:
// nothing here contains a program that means harm to the machine.
package plugins
