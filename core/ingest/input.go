package ingest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"unicode/utf16"
	"unicode/utf8"
)

// headBytes is how much of a file decides its format.
const headBytes = 8 << 10

// input is a source of results as its format sees it: UTF-8 without byte order
// mark, read once from front to back.
type input struct {
	ctx     context.Context //nolint:containedctx // lives within one call of Read
	name    string          // base name, without the ending of a compressed file
	path    string          // as given
	onDisk  bool            // path is a file, and others may stand beside it
	text    *bufio.Reader
	opt     Options
	mapping *Mapping
}

// forced is the format that a person names, "" for detection.
func (in *input) forced() string {
	if in.opt.Format == "" && in.mapping != nil {
		return in.mapping.Format
	}
	return in.opt.Format
}

// head gives the first bytes without consuming them.
func (in *input) head() ([]byte, error) {
	head, err := in.text.Peek(headBytes)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, bufio.ErrBufferFull) {
		return nil, err
	}
	return head, nil
}

// looksLikeText refuses what holds NUL bytes, as archives, databases and pictures do.
func looksLikeText(head []byte) bool {
	return len(head) > 0 && bytes.IndexByte(head, 0) < 0
}

// decodeText gives UTF-8: it drops a byte order mark and decodes UTF-16, which
// PowerShell writes by default, with or without a mark.
func decodeText(r io.Reader) io.Reader {
	br := bufio.NewReaderSize(r, 64<<10)
	head, _ := br.Peek(64)
	switch {
	case bytes.HasPrefix(head, []byte{0xef, 0xbb, 0xbf}):
		br.Discard(3)
		return br
	case bytes.HasPrefix(head, []byte{0xff, 0xfe}):
		br.Discard(2)
		return &utf16Reader{r: br, order: binary.LittleEndian}
	case bytes.HasPrefix(head, []byte{0xfe, 0xff}):
		br.Discard(2)
		return &utf16Reader{r: br, order: binary.BigEndian}
	case everyOtherZero(head, 1):
		return &utf16Reader{r: br, order: binary.LittleEndian}
	case everyOtherZero(head, 0):
		return &utf16Reader{r: br, order: binary.BigEndian}
	}
	return br
}

// everyOtherZero recognises UTF-16 of Latin text without a mark: the bytes at
// odd (or even) places are zero and the others are not.
func everyOtherZero(head []byte, from int) bool {
	if len(head) < 8 {
		return false
	}
	for i, b := range head {
		if (i%2 == from) != (b == 0) {
			return false
		}
	}
	return true
}

// utf16Reader turns UTF-16 into UTF-8 as it is read. Half a pair becomes the
// replacement character.
type utf16Reader struct {
	r     *bufio.Reader
	order binary.ByteOrder
	out   []byte
	high  rune // a high surrogate that waits for its other half
	err   error
}

func (u *utf16Reader) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	for len(u.out) == 0 {
		if u.err != nil {
			return 0, u.err
		}
		u.fill()
	}
	n := copy(p, u.out)
	u.out = u.out[n:]
	return n, nil
}

func (u *utf16Reader) fill() {
	u.out = make([]byte, 0, 4096)
	var pair [2]byte
	for len(u.out) < 4000 {
		if _, err := io.ReadFull(u.r, pair[:]); err != nil {
			if u.high != 0 || errors.Is(err, io.ErrUnexpectedEOF) {
				u.out = utf8.AppendRune(u.out, utf8.RuneError)
			}
			if errors.Is(err, io.ErrUnexpectedEOF) {
				err = io.EOF
			}
			u.high, u.err = 0, err
			return
		}
		c := rune(u.order.Uint16(pair[:]))
		switch {
		case u.high != 0:
			r := utf16.DecodeRune(u.high, c)
			u.high = 0
			u.out = utf8.AppendRune(u.out, r)
			if r == utf8.RuneError && !utf16.IsSurrogate(c) {
				u.out = utf8.AppendRune(u.out, c)
			}
		case c >= 0xd800 && c < 0xdc00:
			u.high = c
		default:
			u.out = utf8.AppendRune(u.out, c)
		}
	}
}
