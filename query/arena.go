package query

import (
	"math"

	"github.com/sweepbook/sweepbook/core"
)

// arena keeps rows packed, eight bytes a value, since with per every row has to wait
// until the last one was read. Values that are no number are NaNs of their own.
type arena struct {
	columns []int // of a row, those that are kept
	blocks  [][]uint64
	n       int // rows
	texts   []string
	index   map[string]uint64
	last    []uint64 // of each column the text kept last, which most often comes again
}

const (
	arenaRows = 1 << 12 // in a block

	packedMissing = 0x7ff8_0000_0000_0001 + iota
	packedUnset
	packedFalse
	packedTrue
	packedText = 0x7ffc_0000_0000_0000 // and the place of the text
)

// add keeps a row and gives its place.
func (a *arena) add(row []core.Value) int {
	if a.n%arenaRows == 0 {
		a.blocks = append(a.blocks, make([]uint64, 0, arenaRows*len(a.columns)))
	}
	block := a.blocks[len(a.blocks)-1]
	for i, col := range a.columns {
		block = append(block, a.pack(i, &row[col]))
	}
	a.blocks[len(a.blocks)-1] = block
	a.n++
	return a.n - 1
}

func (a *arena) pack(column int, v *core.Value) uint64 {
	switch v.Kind {
	case core.KindNumber:
		return math.Float64bits(v.Num)
	case core.KindText:
		return a.text(column, v.Text)
	case core.KindBool:
		if v.Num == 1 {
			return packedTrue
		}
		return packedFalse
	case core.KindUnset:
		return packedUnset
	}
	return packedMissing
}

func (a *arena) text(column int, s string) uint64 {
	if at := a.last[column]; at < uint64(len(a.texts)) && a.texts[at] == s {
		return packedText | at
	}
	at, ok := a.index[s]
	if !ok {
		at = uint64(len(a.texts))
		a.index[s] = at
		a.texts = append(a.texts, s)
	}
	a.last[column] = at
	return packedText | at
}

// number gives one kept number of a row by its place among the columns.
func (a *arena) number(n, place int) float64 {
	return math.Float64frombits(a.blocks[n/arenaRows][n%arenaRows*len(a.columns)+place])
}

// get writes the kept columns of a row into row.
func (a *arena) get(n int, row []core.Value) {
	width := len(a.columns)
	from := n % arenaRows * width
	for i, bits := range a.blocks[n/arenaRows][from : from+width] {
		v := &row[a.columns[i]]
		switch {
		case bits&packedText == packedText && bits>>52 == 0x7ff:
			*v = core.String(a.texts[bits&^packedText])
		case bits == packedMissing:
			*v = core.Missing()
		case bits == packedUnset:
			*v = core.Unset()
		case bits == packedFalse, bits == packedTrue:
			*v = core.Bool(bits == packedTrue)
		default:
			*v = core.Value{Kind: core.KindNumber, Num: math.Float64frombits(bits)}
		}
	}
}
