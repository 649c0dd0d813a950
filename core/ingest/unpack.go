package ingest

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/sweepbook/sweepbook/core"
)

// maxUnpacked bounds what a compressed file may become, in bytes. It is read as a
// stream, so that it costs time and no memory.
const maxUnpacked = 4 << 30

// unpack reads through gzip, and refuses other archives by name: they would need
// other programs. name loses the ending of the compression.
func unpack(r io.Reader, name string) (io.Reader, string, error) {
	br := bufio.NewReaderSize(r, 64<<10)
	head, _ := br.Peek(8)
	switch {
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b, 8}):
	case bytes.HasPrefix(head, []byte("PK")) && isOfficeName(name):
		return br, name, nil
	case bytes.HasPrefix(head, []byte("PK\x03\x04")) || bytes.HasPrefix(head, []byte("PK\x05\x06")):
		return nil, "", packed("zip archive")
	case bytes.HasPrefix(head, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		return nil, "", packed("zstd")
	case bytes.HasPrefix(head, []byte{0xfd, '7', 'z', 'X', 'Z', 0}):
		return nil, "", packed("xz")
	case bytes.HasPrefix(head, []byte("BZh")):
		return nil, "", packed("bzip2")
	default:
		return br, name, nil
	}
	z, err := gzip.NewReader(br)
	if err != nil {
		return nil, "", fmt.Errorf("gzip: %w", err)
	}
	inner := bufio.NewReaderSize(&bounded{r: z, left: maxUnpacked}, 64<<10)
	if again, _ := inner.Peek(3); bytes.HasPrefix(again, []byte{0x1f, 0x8b, 8}) {
		return nil, "", fmt.Errorf("gzip: %w: compressed twice; unpack it first", core.ErrInvalid)
	}
	if tar, _ := inner.Peek(262); len(tar) == 262 && string(tar[257:]) == "ustar" {
		return nil, "", packed("tar archive")
	}
	return inner, strings.TrimSuffix(strings.TrimSuffix(name, ".gz"), ".gzip"), nil
}

func packed(what string) error {
	return fmt.Errorf("%s: %w: unpack it first and import the files", what, core.ErrInvalid)
}

// bounded ends reading with an error where more comes than may.
type bounded struct {
	r    io.Reader
	left int64
}

var errTooLong = errors.New("gzip: unpacks to more than 4 GiB; unpack it first and import the parts that hold results")

func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errTooLong
	}
	n, err := b.r.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}
