//go:build !linux

package serving

// commandLine cannot be read on this system.
func commandLine(int) []string { return nil }
