//go:build !linux

package store

// remoteFS knows the file systems of Linux only, where studies run.
func remoteFS(string) (kind string, remote bool) { return "", false }
