package core

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"time"
)

// ID names a trial or a launch everywhere and for ever: a UUIDv7 for what was
// run here, a UUIDv8 of its fingerprint for what was imported, so that two
// machines give one imported trial one id (RFC 9562).
type ID [16]byte

// NewID returns a UUIDv7 of the given time: ids made later sort later.
func NewID(now time.Time) ID {
	var id ID
	rand.Read(id[:])
	var ms [8]byte
	binary.BigEndian.PutUint64(ms[:], uint64(now.UnixMilli()))
	copy(id[:6], ms[2:])
	id[6] = id[6]&0x0f | 0x70
	id[8] = id[8]&0x3f | 0x80
	return id
}

// HashID returns the UUIDv8 of a text: equal text, equal id.
func HashID(text string) ID {
	sum := sha256.Sum256([]byte(text))
	var id ID
	copy(id[:], sum[:16])
	id[6] = id[6]&0x0f | 0x80
	id[8] = id[8]&0x3f | 0x80
	return id
}

// ParseID reads the 36-character form.
func ParseID(s string) (ID, error) {
	var id ID
	if len(s) != 36 || s[8] != '-' || s[13] != '-' || s[18] != '-' || s[23] != '-' {
		return ID{}, fmt.Errorf("id %q: %w: want the 36 characters of a UUID", s, ErrInvalid)
	}
	plain := s[0:8] + s[9:13] + s[14:18] + s[19:23] + s[24:]
	if _, err := hex.Decode(id[:], []byte(plain)); err != nil {
		return ID{}, fmt.Errorf("id %q: %w: %w", s, ErrInvalid, err)
	}
	return id, nil
}

// IsZero reports whether the id was never set.
func (id ID) IsZero() bool { return id == ID{} }

func (id ID) String() string {
	h := hex.EncodeToString(id[:])
	return h[0:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

// MarshalText writes the 36-character form, "" for the zero id.
func (id ID) MarshalText() ([]byte, error) {
	if id.IsZero() {
		return nil, nil
	}
	return []byte(id.String()), nil
}

// UnmarshalText reads the 36-character form; "" is the zero id.
func (id *ID) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*id = ID{}
		return nil
	}
	parsed, err := ParseID(string(text))
	if err == nil {
		*id = parsed
	}
	return err
}

// shortHash is the 12-character name of a configuration, setup or workload.
func shortHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:6])
}
