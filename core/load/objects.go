package load

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"github.com/sweepbook/sweepbook/core"
)

// place is where an object lies in a file.
type place struct{ from, length int64 }

// maxObject bounds one conversation of a file.
const maxObject = 64 << 20

// indexObjects finds the objects of a JSON array by counting braces outside of
// strings, a hundred times faster than reading them. What an object holds is
// checked when it is read.
func indexObjects(r io.Reader) ([]place, error) {
	in := bufio.NewReaderSize(r, 1<<20)
	var (
		found         []place
		at, from      int64
		depth         int
		quoted, slash bool
		opened, ended bool
	)
	for {
		block, err := in.Peek(1)
		if len(block) > 0 {
			block, _ = in.Peek(in.Buffered())
		}
		for _, c := range block {
			switch {
			case quoted:
				switch {
				case slash:
					slash = false
				case c == '\\':
					slash = true
				case c == '"':
					quoted = false
				}
			case c == '"':
				quoted = true
			case c == '{' || c == '[':
				if depth == 0 && (opened || c != '[') {
					return nil, fmt.Errorf("%w: not a JSON array", core.ErrInvalid)
				}
				if depth == 1 {
					from = at
				}
				opened = true
				depth++
			case c == '}' || c == ']':
				depth--
				if depth == 1 && c == '}' {
					if at+1-from > maxObject {
						return nil, fmt.Errorf("near byte %d: %w: a conversation longer than %d MiB", from, core.ErrInvalid, maxObject>>20)
					}
					found = append(found, place{from, at + 1 - from})
				}
				if depth < 0 {
					return nil, fmt.Errorf("near byte %d: %w: %q closes nothing", at, core.ErrInvalid, c)
				}
				ended = depth == 0
			case !opened && c > ' ' && c != 0xEF && c != 0xBB && c != 0xBF:
				return nil, fmt.Errorf("%w: not a JSON array", core.ErrInvalid)
			}
			at++
		}
		_, _ = in.Discard(len(block))
		switch {
		case errors.Is(err, io.EOF) && !opened:
			return nil, fmt.Errorf("%w: not a JSON array", core.ErrInvalid)
		case errors.Is(err, io.EOF) && !ended:
			return nil, fmt.Errorf("near byte %d: %w: the array does not end", at, core.ErrInvalid)
		case errors.Is(err, io.EOF):
			return found, nil
		case err != nil:
			return nil, err
		}
	}
}
