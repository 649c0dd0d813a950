//go:build linux && (amd64 || arm64)

package load

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"time"
)

// stamps reads a TCP connection together with the kernel's date of its bytes
// (SO_TIMESTAMPNS, which TCP knows since Linux 4.14).
type stamps struct {
	conn  *net.TCPConn
	raw   syscall.RawConn
	ready func(fd uintptr) bool

	// Of the read in progress.
	into    []byte
	control [64]byte
	n, oobn int
	err     error
}

// newStamps gives nil where the kernel gives no dates.
func newStamps(conn net.Conn) *stamps {
	tcp, ok := conn.(*net.TCPConn)
	if !ok {
		return nil
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return nil
	}
	var refused error
	err = raw.Control(func(fd uintptr) {
		refused = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_TIMESTAMPNS, 1)
	})
	if err != nil || refused != nil {
		return nil
	}
	s := &stamps{conn: tcp, raw: raw}
	s.ready = s.receive // made once, as a method value is an allocation
	return s
}

func (s *stamps) receive(fd uintptr) (done bool) {
	for {
		s.n, s.oobn, _, _, s.err = syscall.Recvmsg(int(fd), s.into, s.control[:], 0)
		if !errors.Is(s.err, syscall.EINTR) {
			return s.err != syscall.EAGAIN //nolint:errorlint // the bare number, for every read
		}
	}
}

// read is Read of a connection. at is the zero time where the kernel did not say.
func (s *stamps) read(p []byte) (n int, at time.Time, err error) {
	if len(p) == 0 {
		return 0, time.Time{}, nil
	}
	s.into = p
	err = s.raw.Read(s.ready)
	s.into = nil
	switch {
	case err != nil: // closed, or a deadline; already a *net.OpError
		return 0, time.Time{}, err
	case s.err != nil:
		return 0, time.Time{}, &net.OpError{Op: "read", Net: "tcp", Source: s.conn.LocalAddr(), Addr: s.conn.RemoteAddr(), Err: os.NewSyscallError("read", s.err)}
	case s.n == 0:
		return 0, time.Time{}, io.EOF
	}
	return s.n, dateOf(s.control[:s.oobn]), nil
}

// dateOf reads a control message by hand, as syscall's parser allocates: a header
// of 16 bytes with length, level and type, then seconds and nanoseconds.
func dateOf(control []byte) time.Time {
	const header = syscall.SizeofCmsghdr
	if len(control) < header+16 {
		return time.Time{}
	}
	order := binary.NativeEndian
	if level, kind := order.Uint32(control[8:]), order.Uint32(control[12:]); level != syscall.SOL_SOCKET || kind != syscall.SCM_TIMESTAMPNS {
		return time.Time{}
	}
	return time.Unix(int64(order.Uint64(control[header:])), int64(order.Uint64(control[header+8:])))
}
