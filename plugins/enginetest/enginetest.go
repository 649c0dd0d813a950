// Package enginetest is for authors and users of engines: a harness that puts any
// core.Engine behind the real wire without a process ([New]), a fake engine whose
// every answer can be chosen ([Fake]), a small HTTP server that streams like a
// serving engine ([Server]), and a suite that says whether an engine keeps the
// contract of core.Engine ([Conformance]).
//
// A test of an engine is one line:
//
//	enginetest.Conformance(t, myengine.New(), enginetest.Options{})
package enginetest

import (
	"context"
	"net"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/plugins"
)

// New returns an engine that is reached through gRPC as a plugin is, over a
// connection in memory. What is tested through it is converted to the wire and
// back. The connection closes when the test ends.
func New(t testing.TB, engine core.Engine) core.Engine {
	t.Helper()
	listener := bufconn.Listen(1 << 20)
	server := grpc.NewServer(plugins.ServerOptions()...)
	plugins.Register(server, engine)
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(listener)
	}()
	options := append(plugins.DialOptions(),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }))
	conn, err := grpc.NewClient("passthrough:///engine", options...)
	if err != nil {
		t.Fatalf("connect to the engine in memory: %v", err)
	}
	t.Cleanup(func() {
		_ = conn.Close()
		server.Stop()
		<-served
	})
	return plugins.Connect(conn)
}
