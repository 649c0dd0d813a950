//go:build unix

package main

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"os/signal"
	"time"
)

// holdDB is another program that writes to a history and does not come to an end:
// holddb FILE, until it is interrupted.
func holdDB() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	db, err := sql.Open("sqlite", os.Args[1])
	if err == nil {
		db.SetMaxOpenConns(1)
		_, err = db.ExecContext(ctx, "PRAGMA busy_timeout = 30000")
	}
	if err == nil {
		_, err = db.ExecContext(ctx, "BEGIN IMMEDIATE")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	select {
	case <-ctx.Done():
	case <-time.After(5 * time.Minute):
	}
	return 0
}
