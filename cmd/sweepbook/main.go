// Command sweepbook launches inference engines, benchmarks them, records every
// trial in one SQLite file and answers questions about the history.
//
// This package wires the others together and holds the command line: one file a
// command, with its flags and a few lines. Results go to stdout; progress,
// warnings and errors to stderr (ui.go has the rules).
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() { os.Exit(start()) }

// start runs the command line of this process. SIGINT, SIGTERM and SIGHUP once ask the
// command to end after what it is doing, a second time at once.
func start() int {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	stopping := make(chan struct{})
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) {
		// The terminal is gone. Under nohup that is nothing to us.
		signal.Notify(signals, syscall.SIGHUP)
	}
	a := newApp(os.Stdin, os.Stdout, os.Stderr)
	a.stopping = stopping
	go func() {
		<-signals
		if a.interrupt.Load() {
			// A run is under way: it finishes its trial first.
			a.say("sweepbook: ending after the trial in progress, or now if a server is starting; once more ends at once")
			close(stopping)
			<-signals
		}
		cancel()
	}()
	return a.run(ctx, os.Args)
}
