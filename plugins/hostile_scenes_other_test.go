//go:build !unix

package plugins_test

// playHostile: what these plugins do to files and sockets is of Unix.
func playHostile(string) bool { return false }
