//go:build unix

package plugins_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"google.golang.org/grpc"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/plugins"
	"github.com/sweepbook/sweepbook/plugins/enginetest"
)

// The bodies of the plugins that hostile_process_test.go starts.

// victim names what a hostile plugin is after.
const victim = "SWEEPBOOK_TEST_VICTIM"

func playHostile(name string) bool {
	switch name {
	case "drip": // a handshake that never ends, a byte at a time
		fmt.Print("1|1|unix|/tmp/")
		for {
			fmt.Print("x")
			time.Sleep(20 * time.Millisecond)
		}
	case "drip-whole": // one that ends
		greet := listenPlain(filepath.Join(os.Getenv("PLUGIN_UNIX_SOCKET_DIR"), "s"))
		for _, b := range []byte(greet) {
			_, _ = os.Stdout.Write([]byte{b})
			time.Sleep(time.Millisecond)
		}
		_, _ = io.Copy(io.Discard, os.Stdin)
	case "linked-socket": // a link in the right folder, to a socket elsewhere
		elsewhere := filepath.Join(os.Getenv(victim), "s")
		link := filepath.Join(os.Getenv("PLUGIN_UNIX_SOCKET_DIR"), "s")
		greet := listenPlain(elsewhere)
		if err := os.Symlink(elsewhere, link); err != nil {
			panic(err)
		}
		fmt.Print(strings.Replace(greet, elsewhere, link, 1))
		_, _ = io.Copy(io.Discard, os.Stdin)
	case "swapped-folder": // its private folder becomes a link to somebody's files
		greet := listenPlain(filepath.Join(os.Getenv("PLUGIN_UNIX_SOCKET_DIR"), "s"))
		fmt.Print(greet)
		_, _ = io.Copy(io.Discard, os.Stdin)
		dir := os.Getenv("SWEEPBOOK_PLUGIN_DIR")
		if err := os.Rename(dir, dir+"-was"); err != nil {
			panic(err)
		}
		if err := os.Symlink(os.Getenv(victim), dir); err != nil {
			panic(err)
		}
		_ = os.RemoveAll(dir + "-was")
	case "heir": // serves from a process that outlives it
		heir := exec.Command(os.Args[0])
		heir.Env = append(os.Environ(), scenario+"=heir-server")
		heir.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		heir.Stdout, heir.Stderr = os.Stdout, os.Stderr
		if err := heir.Start(); err != nil {
			panic(err)
		}
		fmt.Fprintf(os.Stderr, "heir %d\n", heir.Process.Pid)
		_, _ = io.Copy(io.Discard, os.Stdin)
	case "heir-server":
		fmt.Print(listenPlain(filepath.Join(os.Getenv("PLUGIN_UNIX_SOCKET_DIR"), "s")))
		time.Sleep(time.Minute)
	case "hang-up": // closes the connection in the midst of a trial, and lives on
		path := filepath.Join(os.Getenv("PLUGIN_UNIX_SOCKET_DIR"), "s")
		l, err := net.Listen("unix", path)
		if err != nil {
			panic(err)
		}
		s := grpc.NewServer()
		engine := scripted()
		ruler := engine.BenchmarkFn
		engine.BenchmarkFn = func(ctx context.Context, req core.BenchmarkRequest, sink core.Sink) error {
			time.AfterFunc(50*time.Millisecond, s.Stop)
			return ruler(ctx, req, sink)
		}
		plugins.Register(s, engine)
		fmt.Printf("1|1|unix|%s|grpc\n", path)
		go func() { _ = s.Serve(l) }()
		_, _ = io.Copy(io.Discard, os.Stdin)
	case "replaces-itself": // while it runs, the file that it was started from changes
		plugins.Serve(&enginetest.Fake{ProbeFn: func(context.Context, core.Origin) (core.Installation, error) {
			path := os.Getenv(victim)
			err := os.Chmod(path, 0o700)
			if err == nil {
				err = os.WriteFile(path, []byte("#!/bin/sh\nexit 9\n"), 0o700)
			}
			return core.Installation{Version: "2"}, err
		}})
	case "bytes": // as many lines as possible, none of them UTF-8
		plugins.Serve(&enginetest.Fake{ProbeFn: func(context.Context, core.Origin) (core.Installation, error) {
			flood := strings.Repeat("\xff\n", 1<<15)
			for range 64 {
				_, _ = os.Stderr.WriteString(flood)
			}
			return core.Installation{Version: "1"}, nil
		}})
	default:
		return false
	}
	return true
}

// listenPlain serves as servePlain does and returns the handshake, unsaid.
func listenPlain(path string) string {
	l, err := net.Listen("unix", path)
	if err != nil {
		panic(err)
	}
	s := grpc.NewServer()
	plugins.Register(s, scripted())
	go func() { _ = s.Serve(l) }()
	return fmt.Sprintf("1|1|unix|%s|grpc\n", path)
}
