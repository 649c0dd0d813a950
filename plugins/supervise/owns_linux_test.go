package supervise_test

import (
	"net"
	"os"
	"regexp"
	"strconv"
	"testing"

	"github.com/sweepbook/sweepbook/plugins/supervise"
)

func TestOwns(t *testing.T) {
	spec := newSpec(t, supervise.CgroupOff, "listen")
	p := start(t, spec)
	var port int
	portLine := regexp.MustCompile(`(?m)^port (\d+)$`)
	eventually(t, patience, "server listens", func() bool {
		m := portLine.FindStringSubmatch(p.LogTail(1000))
		if m != nil {
			port, _ = strconv.Atoi(m[1])
		}
		return m != nil
	})
	foreign, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer foreign.Close()
	foreignPort := foreign.Addr().(*net.TCPAddr).Port

	// Another process on another address of the same port makes the answer no.
	shared, err := net.Listen("tcp", "127.0.0.2:"+strconv.Itoa(port))
	if err != nil {
		t.Fatal(err)
	}
	check := func(what string, port, root int, want bool) {
		t.Helper()
		if got, err := supervise.Owns(port, root); err != nil || got != want {
			t.Errorf("%s: %t, %v, want %t", what, got, err, want)
		}
	}
	check("shared port", port, p.ShimPID(), false)
	shared.Close()
	check("by the shim", port, p.ShimPID(), true)
	check("by the leader", port, p.PID(), true)
	check("by the run, who is above it", port, os.Getpid(), true)
	check("foreign port", foreignPort, p.ShimPID(), false)
	check("own port", foreignPort, os.Getpid(), true)
	if err := p.Stop(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	check("after the end", port, os.Getpid(), false)
}
