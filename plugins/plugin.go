package plugins

import (
	"context"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"github.com/sweepbook/sweepbook/core"
)

// ProtocolVersion is the version of engine.proto that this package speaks.
const ProtocolVersion = 1

// The cookie tells a plugin that was started by hand from one that a host
// started, so that it can print a sentence for people. It protects nothing.
const (
	cookieName  = "SWEEPBOOK_ENGINE_PLUGIN"
	cookieValue = "b19d4f6c0f5e4d5b8f0e7a3c2d6a9e41"
)

// dirVariable names the private folder that the host made for the plugin.
const dirVariable = "SWEEPBOOK_PLUGIN_DIR"

// service is the name of the one service of a plugin.
const service = "engine"

func handshake() goplugin.HandshakeConfig {
	return goplugin.HandshakeConfig{MagicCookieKey: cookieName, MagicCookieValue: cookieValue}
}

// versions maps each protocol version to what serves it. A plugin of version N is
// kept working while N+1 is written beside it.
func versions(engine core.Engine) map[int]goplugin.PluginSet {
	return map[int]goplugin.PluginSet{ProtocolVersion: {service: &glue{engine: engine}}}
}

// glue is what go-plugin asks for on both sides.
type glue struct {
	goplugin.NetRPCUnsupportedPlugin
	engine core.Engine // nil on the host's side
}

func (g *glue) GRPCServer(_ *goplugin.GRPCBroker, s *grpc.Server) error {
	Register(s, g.engine)
	return nil
}

func (g *glue) GRPCClient(_ context.Context, _ *goplugin.GRPCBroker, conn *grpc.ClientConn) (any, error) {
	return Connect(conn), nil
}

// Serve makes the process the plugin of an engine. It is all that the main of a
// plugin calls, and the first thing: nothing may be printed on standard output
// before it. It returns when the host has ended the plugin; started by hand, it
// says what the program is for and exits with status 1.
//
// While it runs, slog's default logger writes to standard error in the form that
// the host reads, SIGINT is ignored (Ctrl-C reaches the host, which ends its
// plugins in order), and the process exits as soon as its host is gone.
func Serve(engine core.Engine) {
	if os.Getenv(cookieName) == cookieValue {
		slog.SetDefault(slog.New(logHandler(os.Stderr)))
		go watchHost(os.Stdin)
	}
	goplugin.Serve(&goplugin.ServeConfig{
		HandshakeConfig:  handshake(),
		VersionedPlugins: versions(engine),
		GRPCServer: func(opts []grpc.ServerOption) *grpc.Server {
			return grpc.NewServer(append(opts, ServerOptions()...)...)
		},
		Logger: hclog.New(&hclog.LoggerOptions{Level: hclog.Info, Output: os.Stderr, JSONFormat: true}),
	})
}

// watchHost ends the process when the lifeline does: the host holds its other end
// and is gone when it closes, whatever killed it. The answer to a dead host is
// always to stop at once, because nobody is left to take a result.
//
// Note: polling getppid would do the same a second later and not at all on
// Windows; a parent-death signal fires when the host's thread ends.
func watchHost(lifeline io.Reader) {
	_, _ = io.Copy(io.Discard, lifeline)
	// The host would have removed the plugin's private folder. The prefix is
	// checked because the variable is only a text.
	if dir := os.Getenv(dirVariable); strings.HasPrefix(filepath.Base(dir), dirPrefix) {
		_ = os.RemoveAll(dir)
	}
	os.Exit(3)
}

// logHandler writes slog records as the JSON lines of hclog.
func logHandler(w io.Writer) slog.Handler {
	return slog.NewJSONHandler(w, &slog.HandlerOptions{
		Level: slog.LevelDebug,
		ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
			if len(groups) > 0 {
				return a
			}
			switch a.Key {
			case slog.MessageKey:
				a.Key = "@message"
			case slog.LevelKey:
				return slog.String("@level", strings.ToLower(a.Value.String()))
			case slog.TimeKey:
				return slog.String("@timestamp", a.Value.Time().Format("2006-01-02T15:04:05.000000Z07:00"))
			}
			return a
		},
	})
}
