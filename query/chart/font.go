package chart

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"

	gochart "github.com/wcharczuk/go-chart/v2"
	"github.com/wcharczuk/go-chart/v2/roboto"
)

// An SVG only names its font, and a viewer without it takes another one, whose letters
// are wider than the layout allows. So an SVG gets the built-in font itself, cut down to
// the letters that it uses. Kerning is left out, as it is in the PNG.

var errFont = errors.New("built-in font: unexpected layout")

// subset is the built-in font with the given letters only, in TrueType format.
func subset(used map[rune]bool) ([]byte, error) {
	font, err := gochart.GetDefaultFont()
	if err != nil {
		return nil, fmt.Errorf("chart font: %w", err)
	}
	tables, err := fontTables(roboto.Roboto)
	if err != nil {
		return nil, err
	}
	g := &glyphs{loca: tables["loca"], glyf: tables["glyf"], long: binary.BigEndian.Uint16(tables["head"][50:]) == 1, index: map[int]int{}}
	if err := g.add(0); err != nil {
		return nil, err
	}
	letters := slices.DeleteFunc(slices.Sorted(maps.Keys(used)), func(r rune) bool { return r > 0xfffe || font.Index(r) == 0 })
	ids := make([]int, len(letters))
	for i, r := range letters {
		old := int(font.Index(r))
		if err := g.add(old); err != nil {
			return nil, err
		}
		ids[i] = g.index[old]
	}
	out := map[string][]byte{}
	for _, name := range []string{"OS/2", "cvt ", "fpgm", "prep", "name"} {
		if t, ok := tables[name]; ok {
			out[name] = t
		}
	}
	out["glyf"], out["loca"] = g.write()
	out["head"] = slices.Clone(tables["head"])
	binary.BigEndian.PutUint32(out["head"][8:], 0)
	binary.BigEndian.PutUint16(out["head"][50:], 1)
	out["maxp"] = slices.Clone(tables["maxp"])
	binary.BigEndian.PutUint16(out["maxp"][4:], uint16(len(g.order)))
	out["hhea"] = slices.Clone(tables["hhea"])
	measured := int(binary.BigEndian.Uint16(tables["hhea"][34:]))
	binary.BigEndian.PutUint16(out["hhea"][34:], uint16(len(g.order)))
	out["hmtx"] = g.metrics(tables["hmtx"], measured)
	out["cmap"] = charMap(letters, ids)
	out["post"] = slices.Concat([]byte{0, 3, 0, 0}, tables["post"][4:32])
	return joinTables(out), nil
}

// fontTables cuts a TrueType file into its tables.
func fontTables(file []byte) (map[string][]byte, error) {
	tables := map[string][]byte{}
	for i := range int(binary.BigEndian.Uint16(file[4:])) {
		entry := file[12+16*i:]
		from, size := binary.BigEndian.Uint32(entry[8:]), binary.BigEndian.Uint32(entry[12:])
		if uint64(from)+uint64(size) > uint64(len(file)) {
			return nil, errFont
		}
		tables[string(entry[:4])] = file[from : from+size]
	}
	for name, least := range map[string]int{"head": 54, "maxp": 6, "hhea": 36, "hmtx": 4, "post": 32, "loca": 4, "glyf": 10} {
		if len(tables[name]) < least {
			return nil, errFont
		}
	}
	return tables, nil
}

// glyphs are those that are kept, in the order of their new numbers.
type glyphs struct {
	loca, glyf []byte
	long       bool
	order      []int
	index      map[int]int
}

func (g *glyphs) outline(old int) ([]byte, error) {
	at := func(i int) int {
		if g.long {
			return int(binary.BigEndian.Uint32(g.loca[4*i:]))
		}
		return 2 * int(binary.BigEndian.Uint16(g.loca[2*i:]))
	}
	width := 2
	if g.long {
		width = 4
	}
	if old < 0 || (old+2)*width > len(g.loca) {
		return nil, errFont
	}
	from, to := at(old), at(old+1)
	if from > to || to > len(g.glyf) {
		return nil, errFont
	}
	return g.glyf[from:to], nil
}

// add keeps a glyph and those that it is put together from.
func (g *glyphs) add(old int) error {
	if _, ok := g.index[old]; ok {
		return nil
	}
	outline, err := g.outline(old)
	if err != nil {
		return err
	}
	g.index[old] = len(g.order)
	g.order = append(g.order, old)
	for _, at := range components(outline) {
		if err := g.add(int(binary.BigEndian.Uint16(outline[at:]))); err != nil {
			return err
		}
	}
	return nil
}

// components are the places at which a composite glyph names its parts.
func components(outline []byte) []int {
	if len(outline) < 10 || int16(binary.BigEndian.Uint16(outline)) >= 0 {
		return nil
	}
	const words, scale, more, xy, matrix = 1, 8, 32, 64, 128
	var places []int
	for at := 10; at+4 <= len(outline); {
		flags := binary.BigEndian.Uint16(outline[at:])
		places = append(places, at+2)
		at += 6
		if flags&words != 0 {
			at += 2
		}
		switch {
		case flags&scale != 0:
			at += 2
		case flags&xy != 0:
			at += 4
		case flags&matrix != 0:
			at += 8
		}
		if flags&more == 0 {
			break
		}
	}
	return places
}

func (g *glyphs) write() (glyf, loca []byte) {
	for _, old := range g.order {
		loca = binary.BigEndian.AppendUint32(loca, uint32(len(glyf)))
		outline, _ := g.outline(old) // add has read it
		outline = slices.Clone(outline)
		for _, at := range components(outline) {
			binary.BigEndian.PutUint16(outline[at:], uint16(g.index[int(binary.BigEndian.Uint16(outline[at:]))]))
		}
		glyf = append(glyf, outline...)
		for len(glyf)%4 != 0 {
			glyf = append(glyf, 0)
		}
	}
	return glyf, binary.BigEndian.AppendUint32(loca, uint32(len(glyf)))
}

func (g *glyphs) metrics(hmtx []byte, measured int) []byte {
	var out []byte
	for _, old := range g.order {
		// Glyphs behind the last measured one share its advance.
		i := min(old, measured-1)
		out = append(out, hmtx[4*i:4*i+2]...)
		if bearing := 4*measured + 2*(old-measured); old >= measured && bearing+2 <= len(hmtx) {
			out = append(out, hmtx[bearing:bearing+2]...)
		} else {
			out = append(out, hmtx[4*i+2:4*i+4]...)
		}
	}
	return out
}

// charMap is a table of format 4 with a segment a letter.
func charMap(letters []rune, ids []int) []byte {
	n := len(letters) + 1
	be := binary.BigEndian
	table := func(value func(i int) uint16) (out []byte) {
		for i := range n {
			out = be.AppendUint16(out, value(i))
		}
		return out
	}
	code := func(i int) uint16 {
		if i == n-1 {
			return 0xffff
		}
		return uint16(letters[i])
	}
	power, log := 1, 0
	for power*2 <= n {
		power, log = power*2, log+1
	}
	var sub []byte
	for _, v := range []int{4, 16 + 8*n, 0, 2 * n, 2 * power, log, 2 * (n - power)} {
		sub = be.AppendUint16(sub, uint16(v))
	}
	sub = append(sub, table(code)...)
	sub = be.AppendUint16(sub, 0)
	sub = append(sub, table(code)...)
	sub = append(sub, table(func(i int) uint16 {
		if i == n-1 {
			return 1
		}
		return uint16(ids[i]) - uint16(letters[i])
	})...)
	sub = append(sub, table(func(int) uint16 { return 0 })...)
	head := []byte{0, 0, 0, 1, 0, 3, 0, 1, 0, 0, 0, 12}
	return append(head, sub...)
}

// joinTables writes a TrueType file with its checksums.
func joinTables(tables map[string][]byte) []byte {
	names := slices.Sorted(maps.Keys(tables))
	power, log := 1, 0
	for power*2 <= len(names) {
		power, log = power*2, log+1
	}
	be := binary.BigEndian
	file := []byte{0, 1, 0, 0}
	for _, v := range []int{len(names), 16 * power, log, 16 * (len(names) - power)} {
		file = be.AppendUint16(file, uint16(v))
	}
	at := len(file) + 16*len(names)
	var body []byte
	head := 0
	for _, name := range names {
		t := tables[name]
		if name == "head" {
			head = at + len(body)
		}
		file = append(file, name...)
		file = be.AppendUint32(file, checksum(t))
		file = be.AppendUint32(file, uint32(at+len(body)))
		file = be.AppendUint32(file, uint32(len(t)))
		body = append(body, t...)
		for len(body)%4 != 0 {
			body = append(body, 0)
		}
	}
	file = append(file, body...)
	const magic = 0xb1b0afba
	be.PutUint32(file[head+8:], magic-checksum(file))
	return file
}

func checksum(data []byte) uint32 {
	var sum uint32
	for i := 0; i < len(data); i += 4 {
		var word [4]byte
		copy(word[:], data[i:])
		sum += binary.BigEndian.Uint32(word[:])
	}
	return sum
}
