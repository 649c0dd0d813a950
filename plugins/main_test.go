package plugins_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/sweepbook/sweepbook/core"
	"github.com/sweepbook/sweepbook/plugins"
	"github.com/sweepbook/sweepbook/plugins/enginetest"
)

// scenario is the variable under which the test binary is a plugin, good or bad,
// or a host that will be killed.
const scenario = "SWEEPBOOK_TEST_SCENARIO"

func TestMain(m *testing.M) {
	name := os.Getenv(scenario)
	if name == "" {
		os.Exit(m.Run())
	}
	play(name)
	os.Exit(0)
}

func play(name string) {
	serve := func() { plugins.Serve(scripted()) }
	if engine, ok := strings.CutPrefix(name, "named-"); ok {
		plugins.Serve(&enginetest.Fake{Name: engine})
		return
	}
	if playHostile(name) {
		return
	}
	switch name {
	case "ok":
		serve()
	case "fake":
		plugins.Serve(&enginetest.Fake{})
	case "other-name":
		plugins.Serve(&enginetest.Fake{Name: "other"})
	case "hang":
		_, _ = io.Copy(io.Discard, os.Stdin)
	case "noise":
		fmt.Println("hello \x1b[31mfrom a library")
		serve()
	case "exit":
	case "exit-reason":
		fmt.Fprintln(os.Stderr, "libcuda.so.1: cannot open shared object file")
		os.Exit(127)
	case "panic":
		panic("boom at start")
	case "version":
		fmt.Println("1|3|unix|/tmp/x|grpc|")
		_, _ = io.Copy(io.Discard, os.Stdin)
	case "elsewhere":
		fmt.Println("1|1|tcp|127.0.0.1:80|grpc|" + strings.Repeat("A", 60))
		_, _ = io.Copy(io.Discard, os.Stdin)
	case "outside":
		fmt.Println("1|1|unix|/tmp/elsewhere.sock|grpc|")
		_, _ = io.Copy(io.Discard, os.Stdin)
	case "huge-line":
		fmt.Println(strings.Repeat("x", 1<<20))
		_, _ = io.Copy(io.Discard, os.Stdin)
	case "closed-stdout":
		_ = os.Stdout.Close()
		_, _ = io.Copy(io.Discard, os.Stdin)
	case "no-accept":
		l, _ := net.Listen("unix", filepath.Join(os.Getenv("PLUGIN_UNIX_SOCKET_DIR"), "s"))
		fmt.Printf("1|1|unix|%s|grpc|\n", l.Addr())
		_, _ = io.Copy(io.Discard, os.Stdin)
	case "grandchild":
		// setsid leaves the process group, and the copy of standard output and error
		// keeps the pipes open.
		cmd := exec.Command("setsid", "sleep", "20")
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		if err := cmd.Start(); err != nil {
			panic(err)
		}
		fmt.Fprintf(os.Stderr, "grandchild %d\n", cmd.Process.Pid)
		serve()
	case "child":
		cmd := exec.Command("sleep", "20")
		if err := cmd.Start(); err != nil {
			panic(err)
		}
		fmt.Fprintf(os.Stderr, "child %d\n", cmd.Process.Pid)
		serve()
	case "evil-log":
		fmt.Fprintln(os.Stderr, `{"@message": 5, "@level": [], "@timestamp": {}}`)
		fmt.Fprintln(os.Stderr, `{"@message":"loud","@level":"warn","@timestamp":7,"n":{"a":1}}`)
		fmt.Fprintln(os.Stderr, "esc \x1b]0;title\x07")
		fmt.Fprintln(os.Stderr, strings.Repeat("y", 1<<20))
		serve()
	case "plain":
		servePlain()
	case "host":
		beHost()
	case "installer":
		if _, err := (&plugins.Host{}).Install(context.Background(), os.Args[1], os.Args[2], ""); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	case "remover":
		if _, err := plugins.Remove(context.Background(), os.Args[2], os.Args[1]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

// scripted is an engine that is told what to do by what it is asked.
func scripted() *enginetest.Fake {
	return &enginetest.Fake{
		ProbeFn: func(ctx context.Context, o core.Origin) (core.Installation, error) {
			switch {
			case o.Cmd != "": // the value of a variable
				v, ok := os.LookupEnv(o.Cmd)
				return core.Installation{Version: v, Detail: fmt.Sprint(ok)}, nil
			case o.Image == "log":
				slog.Info("probing", "image", o.Image)
				fmt.Println("printed while serving")
				return core.Installation{}, nil
			}
			panic("boom in probe: " + o.Version)
		},
		BenchmarkFn: func(ctx context.Context, _ core.BenchmarkRequest, sink core.Sink) error {
			s := core.Sample{First: core.NoTime, Last: core.NoTime, InputTokens: -1, CachedTokens: -1, OutputTokens: -1, RequestedOutput: -1, Outcome: core.OutcomeFailed}
			if err := sink.Samples([]core.Sample{s}); err != nil {
				return err
			}
			<-ctx.Done()
			return ctx.Err()
		},
	}
}

// servePlain is a plugin as another language would write it: bare gRPC, without
// certificates, without go-plugin's services.
func servePlain() {
	l, err := net.Listen("unix", filepath.Join(os.Getenv("PLUGIN_UNIX_SOCKET_DIR"), "s"))
	if err != nil {
		panic(err)
	}
	s := grpc.NewServer()
	plugins.Register(s, scripted())
	fmt.Printf("1|1|unix|%s|grpc\n", l.Addr())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	_ = s.Serve(l)
}

// beHost starts a plugin, says which, and waits to be killed.
func beHost() {
	exe, err := os.Executable()
	if err != nil {
		panic(err)
	}
	c, err := (&plugins.Host{}).Start(context.Background(), plugins.Spec{Name: "fake", Path: exe, ExtraEnv: []string{scenario + "=ok"}})
	if err != nil {
		panic(err)
	}
	dir, err := c.Probe(context.Background(), core.Origin{Cmd: "SWEEPBOOK_PLUGIN_DIR"})
	if err != nil {
		panic(err)
	}
	fmt.Printf("%d %s\n", c.PID(), dir.Version)
	time.Sleep(time.Minute)
}
