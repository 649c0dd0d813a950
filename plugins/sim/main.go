package sim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/sweepbook/sweepbook/core"
)

// Version of the simulated engine: it changes when the same requests give other
// figures.
const Version = "1.0"

// escapedFlag makes the process the child that --fault-setsid-child starts.
const escapedFlag = "--escaped-child"

// escapedLife bounds that child, so that a test that forgets it leaves nothing.
const escapedLife = 10 * time.Minute

// ServerMain runs the simulated server until it is stopped, and returns the exit
// status: 0 stopped as asked, 1 failed, 2 wrong usage. Results of --help and
// --version go to stdout, the log to stderr.
func ServerMain(args []string, stdout, stderr io.Writer) int {
	if len(args) == 1 && args[0] == escapedFlag {
		signal.Ignore(syscall.SIGTERM, os.Interrupt)
		time.Sleep(escapedLife)
		return 0
	}
	s, given, err := parseFlags(args)
	switch {
	case errors.Is(err, errHelp):
		fmt.Fprint(stdout, usage())
		return 0
	case errors.Is(err, errVersion):
		fmt.Fprintf(stdout, "%s %s\n", program, Version)
		return 0
	case err != nil:
		fmt.Fprintf(stderr, "usage: %s --model MODEL [flags]\n%s: error: %v\n", program, program, err)
		return 2
	}

	ctx, stop := context.WithCancelCause(context.Background())
	defer stop(nil)
	signals := make(chan os.Signal, 1)
	if s.faults.ignoreTerm {
		signal.Ignore(syscall.SIGTERM)
		signal.Notify(signals, os.Interrupt)
	} else {
		signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	}
	defer signal.Stop(signals)
	go func() {
		select {
		case <-signals:
			stop(context.Canceled)
		case <-ctx.Done():
		}
	}()

	log := &logger{w: stderr}
	if err := serve(ctx, stop, s, given, log); err != nil {
		log.print("ERROR", "%v", err)
		return 1
	}
	log.print("INFO", "stopped")
	return 0
}

// serve goes through the phases of a start and answers until ctx ends.
func serve(ctx context.Context, stop context.CancelCauseFunc, s settings, given core.Knobs, log *logger) error {
	log.print("INFO", "%s version %s", program, Version)
	log.object("passed", given)
	address := net.JoinHostPort(s.host, strconv.Itoa(s.port))
	// A port that is taken is found before the weights load; the server itself
	// listens only when it is ready, as engines do.
	if l, err := net.Listen("tcp", address); err != nil {
		return fmt.Errorf("cannot listen on %s: %w", address, err)
	} else if err := l.Close(); err != nil {
		return fmt.Errorf("cannot listen on %s: %w", address, err)
	}
	if s.faults.setsidChild {
		pid, err := startEscaped()
		if err != nil {
			return fmt.Errorf("fault: start a child in its own session: %w", err)
		}
		log.print("WARN", "fault: child in its own session, pid %d", pid)
	}

	began := time.Now()
	simulated := func() float64 { return time.Since(began).Seconds() * s.timeScale }
	// sleep reports whether the server is still wanted afterwards.
	sleep := func(seconds float64) bool {
		sleepUntil(ctx, time.Now().Add(time.Duration(seconds/s.timeScale*float64(time.Second))))
		return ctx.Err() == nil
	}
	log.print("INFO", "phase: loading weights of %s", s.model)
	m, err := newMachine(s)
	if err != nil {
		return err
	}
	log.object("resolved", m.resolved(s))
	log.object("facts", m.facts)
	if s.faults.neverReady {
		<-ctx.Done()
		return nil
	}
	if !sleep(m.loadSeconds() + s.faults.slowReady) {
		return nil
	}
	log.print("INFO", "weights loaded: %.2f s after start, %s", simulated(), gib(m.roof.weightBytes))
	log.print("INFO", "KV cache: %d blocks of %d tokens", m.blocks, blockTokens)
	log.print("INFO", "phase: capturing graphs")
	if !sleep(m.captureSeconds()) {
		return nil
	}

	listener, err := net.Listen("tcp", address)
	if err != nil {
		return fmt.Errorf("cannot listen on %s: %w", address, err)
	}
	sv := &server{m: m, engine: newEngine(m, s.timeScale), served: s.servedName, faults: s.faults, log: log,
		start: time.Now(), stop: stop, stopping: ctx.Done()}
	web := &http.Server{Handler: sv.handler(), ReadHeaderTimeout: 10 * time.Second}
	var group sync.WaitGroup
	group.Go(func() { sv.engine.run(ctx) })
	group.Go(func() {
		if err := web.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			stop(fmt.Errorf("serve %s: %w", listener.Addr(), err))
		}
	})
	log.print("INFO", "ready: %.2f s after start, listening on http://%s", simulated(), listener.Addr())
	<-ctx.Done()

	cause := context.Cause(ctx)
	if !errors.Is(cause, errCrash) {
		// The answer to /shutdown itself goes out; streams were ended by stopping.
		grace, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
		_ = web.Shutdown(grace)
		cancel()
	}
	_ = web.Close()
	group.Wait()
	if errors.Is(cause, errCrash) {
		return fmt.Errorf("engine core died: illegal memory access (simulated) after %d answers", sv.answered.Load())
	}
	if !errors.Is(cause, context.Canceled) {
		return cause
	}
	return nil
}

// logger writes the server's log, one line an entry.
type logger struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *logger) print(level, format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	fmt.Fprintf(l.w, "%s %-5s %s\n", time.Now().UTC().Format("2006-01-02T15:04:05.000Z"), level, fmt.Sprintf(format, args...))
}

// object writes "name: {json}", which the adapter reads back.
func (l *logger) object(name string, v any) {
	text, err := json.Marshal(v)
	if err != nil {
		// Knobs and facts are plain values.
		panic(err)
	}
	l.print("INFO", "%s: %s", name, text)
}
