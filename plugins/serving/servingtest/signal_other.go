//go:build !unix

package servingtest

import "os"

// signalOf: there are no signals on this system.
func signalOf(*os.ProcessState) int { return 0 }
