package load

import (
	"context"
	"net"
	"sync"
	"time"
)

// lobby keeps connections that were opened before the measured window, so that the
// first burst of a load measures the server and not a thousand handshakes of this
// machine. A connection that is asked for when none is left is opened then.
type lobby struct {
	dialer net.Dialer
	began  time.Time // what its connections count moments from
	delays delays

	mu      sync.Mutex
	address string
	waiting []net.Conn
}

const (
	maxLobby   = 1024 // connections opened ahead
	lobbyDoors = 32   // of them at a time
	lobbyTime  = 5 * time.Second
)

// fill opens n connections to a host and port. What cannot be opened is left to
// the requests, which then say why.
func (l *lobby) fill(ctx context.Context, address string, n int) {
	ctx, cancel := context.WithTimeout(ctx, lobbyTime)
	defer cancel()
	l.mu.Lock()
	l.address = address
	l.mu.Unlock()
	doors := make(chan struct{}, lobbyDoors)
	var all sync.WaitGroup
	for range min(n, maxLobby) {
		doors <- struct{}{}
		if ctx.Err() != nil {
			break
		}
		all.Go(func() {
			conn, err := l.dialWire(ctx, "tcp", address, true)
			<-doors
			if err != nil {
				cancel() // the others would fail too
				return
			}
			l.mu.Lock()
			defer l.mu.Unlock()
			l.waiting = append(l.waiting, conn)
		})
	}
	all.Wait()
}

// dial gives a connection that waits, else a new one.
func (l *lobby) dial(ctx context.Context, network, address string) (net.Conn, error) {
	l.mu.Lock()
	if n := len(l.waiting); n > 0 && address == l.address {
		conn := l.waiting[n-1]
		l.waiting = l.waiting[:n-1]
		l.mu.Unlock()
		return conn, nil
	}
	l.mu.Unlock()
	return l.dialWire(ctx, network, address, false)
}

// close closes what nobody took.
func (l *lobby) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, conn := range l.waiting {
		_ = conn.Close()
	}
	l.waiting = nil
}
