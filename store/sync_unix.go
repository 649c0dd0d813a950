//go:build unix

package store

import (
	"errors"
	"syscall"
)

func unsyncable(err error) bool { return errors.Is(err, syscall.EINVAL) }
