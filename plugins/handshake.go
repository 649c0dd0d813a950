package plugins

import (
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// ErrVersion says that host and plugin speak no common protocol version.
var ErrVersion = errors.New("no common protocol version")

// maxHandshake is the longest handshake line: a certificate takes about 1 KiB.
const maxHandshake = 8 << 10

// A greeting is a plugin's handshake line, taken apart.
type greeting struct {
	network, address string
	tls              bool // the plugin sent a certificate
}

// parseGreeting reads the line before go-plugin does, for three reasons: the
// errors can say what to do; a plugin cannot send the host to an address
// elsewhere; and a plugin without a certificate is known before the host dials.
func parseGreeting(line, socketDir string) (greeting, error) {
	parts := strings.Split(strings.TrimSpace(line), "|")
	if len(parts) < 5 || !digits(parts[0]) || !digits(parts[1]) {
		return greeting{}, fmt.Errorf("printed %q on standard output before the handshake: a plugin must print nothing there; logs go to standard error",
			clip(clean(line), 200))
	}
	if parts[0] != "1" {
		return greeting{}, fmt.Errorf("%w: the plugin speaks version %s of go-plugin's own protocol, Sweepbook version 1", ErrVersion, parts[0])
	}
	if v, err := strconv.Atoi(parts[1]); err != nil || v != ProtocolVersion {
		return greeting{}, fmt.Errorf("%w: the plugin speaks version %s of the engine protocol, Sweepbook version %d: install a plugin made for this version", ErrVersion, clip(parts[1], 20), ProtocolVersion)
	}
	if parts[4] != "grpc" {
		return greeting{}, fmt.Errorf("handshake offers %q where only grpc is spoken", clip(clean(parts[4]), 40))
	}
	g := greeting{network: parts[2], address: parts[3], tls: len(parts) > 5 && len(parts[5]) > 50}
	if err := g.check(socketDir); err != nil {
		return greeting{}, err
	}
	return g, nil
}

func digits(s string) bool {
	return s != "" && !slices.ContainsFunc([]byte(s), func(b byte) bool { return b < '0' || b > '9' })
}

func (g greeting) check(socketDir string) error {
	switch {
	case g.network == "unix" && filepath.Dir(filepath.Clean(g.address)) == filepath.Clean(socketDir):
		return nil
	case g.network == "tcp" && runtime.GOOS == "windows" && g.tls:
		host, _, err := net.SplitHostPort(g.address)
		if err == nil && net.ParseIP(host).IsLoopback() {
			return nil
		}
	}
	return fmt.Errorf("handshake names %s %q: a plugin must listen on a unix socket in the folder that PLUGIN_UNIX_SOCKET_DIR names", clip(clean(g.network), 20), clip(clean(g.address), 200))
}
