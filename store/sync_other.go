//go:build !unix

package store

// unsyncable: Windows cannot flush a folder and answers with an error of its own.
func unsyncable(error) bool { return true }
