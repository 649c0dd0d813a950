package store

import (
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"hash"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/sweepbook/sweepbook/core"
)

// Typed values lie in three columns: kind (that of core.Kind, whose numbers are
// part of the schema), num (of a number or boolean; +Inf is unlimited) and text.

func packValue(v core.Value) (kind int64, num, text any) {
	switch v.Kind {
	case core.KindNumber:
		if math.IsNaN(v.Num) {
			return int64(core.KindMissing), nil, nil
		}
		return int64(core.KindNumber), v.Num, nil
	case core.KindText:
		return int64(core.KindText), nil, v.Text
	case core.KindBool:
		return int64(core.KindBool), v.Num, nil
	}
	return int64(v.Kind), nil, nil
}

func unpackValue(kind int64, num sql.NullFloat64, text sql.NullString) core.Value {
	switch core.Kind(kind) {
	case core.KindNumber:
		return core.Number(num.Float64)
	case core.KindText:
		return core.String(text.String)
	case core.KindBool:
		return core.Bool(num.Float64 == 1)
	case core.KindUnset:
		return core.Unset()
	}
	return core.Missing()
}

// The columns of one kind hold NULL for what is not known.

func optText(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func optCount(n float64) any {
	if n == 0 {
		return nil
	}
	return n
}

func optNumber(v core.Value) any {
	if v.Kind != core.KindNumber || math.IsNaN(v.Num) {
		return nil
	}
	return v.Num
}

func optBool(v core.Value) any {
	if v.Kind != core.KindBool {
		return nil
	}
	return int64(v.Num)
}

func optTime(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UnixMicro()
}

func boolInt(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// The way back, from what the driver gives.

func asText(x any) string {
	switch x := x.(type) {
	case string:
		return x
	case []byte:
		return string(x)
	}
	return ""
}

func asFloat(x any) (float64, bool) {
	switch x := x.(type) {
	case float64:
		return x, true
	case int64:
		return float64(x), true
	}
	return 0, false
}

func asCount(x any) float64 { f, _ := asFloat(x); return f }

func asInt(x any) int64 { f, _ := x.(int64); return f }

func asNumber(x any) core.Value {
	if f, ok := asFloat(x); ok {
		return core.Number(f)
	}
	return core.Missing()
}

func asBool(x any) core.Value {
	if n, ok := x.(int64); ok {
		return core.Bool(n != 0)
	}
	return core.Missing()
}

func asTime(x any) time.Time {
	if n, ok := x.(int64); ok {
		return time.UnixMicro(n).UTC()
	}
	return time.Time{}
}

func asID(x any) core.ID {
	var id core.ID
	if b, ok := x.([]byte); ok && len(b) == len(id) {
		copy(id[:], b)
	}
	return id
}

// digest names the exact content of what is stored once. The short hashes of
// package core are for people: they leave out what does not distinguish a choice
// (a workload's name, the kind of a value), which must still come back.
type digest struct{ h hash.Hash }

func newDigest(table string) digest {
	d := digest{sha256.New()}
	d.text(table)
	return d
}

func (d digest) number(n uint64) {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], n)
	d.h.Write(b[:])
}

func (d digest) text(texts ...string) {
	for _, s := range texts {
		d.number(uint64(len(s)))
		d.h.Write([]byte(s))
	}
}

func (d digest) float(fs ...float64) {
	for _, f := range fs {
		d.number(math.Float64bits(f))
	}
}

func (d digest) value(vs ...core.Value) {
	for _, v := range vs {
		d.number(uint64(v.Kind))
		d.float(v.Num)
		d.text(v.Text)
	}
}

func (d digest) pairs(m map[string]string) {
	d.number(uint64(len(m)))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		d.text(k, m[k])
	}
}

func (d digest) sum() []byte { return d.h.Sum(nil)[:16] }
