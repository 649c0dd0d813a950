//go:build !unix

package sim

import "errors"

func startEscaped() (pid int, err error) {
	return 0, errors.New("sessions exist on Unix only")
}
