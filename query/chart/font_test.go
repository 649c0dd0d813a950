package chart

import (
	"encoding/binary"
	"testing"
)

// TestSubset holds the font of an SVG against the rules of the format: checksums, a
// glyph for each letter, outlines and advances as in the whole font.
func TestSubset(t *testing.T) {
	letters := map[rune]bool{}
	for _, r := range "Aé†Жfi 0模" {
		letters[r] = true
	}
	file, err := subset(letters)
	if err != nil {
		t.Fatal(err)
	}
	if sum := checksum(file); sum != 0xb1b0afba {
		t.Errorf("checksum of the file: %x", sum)
	}
	tables, err := fontTables(file)
	if err != nil {
		t.Fatal(err)
	}
	for i := range int(binary.BigEndian.Uint16(file[4:])) {
		entry := file[12+16*i:]
		name := string(entry[:4])
		want := binary.BigEndian.Uint32(entry[4:])
		table := append([]byte(nil), tables[name]...)
		if name == "head" {
			copy(table[8:], []byte{0, 0, 0, 0})
		}
		if got := checksum(table); got != want {
			t.Errorf("checksum of %s: %x, want %x", name, got, want)
		}
	}
	// 8 letters that the font has, é with its two parts, and the sign for none.
	if n := binary.BigEndian.Uint16(tables["maxp"][4:]); n < 9 || n > 12 {
		t.Errorf("%d glyphs", n)
	}
	fc, _ := newFace()
	units := float64(binary.BigEndian.Uint16(tables["head"][18:]))
	seen := 0
	for r := range letters {
		id := glyphOf(tables["cmap"], r)
		if r == '模' {
			if id != 0 {
				t.Error("a glyph for a letter that the font lacks")
			}
			continue
		}
		seen++
		if id == 0 {
			t.Errorf("%q has no glyph", r)
			continue
		}
		from, to := binary.BigEndian.Uint32(tables["loca"][4*id:]), binary.BigEndian.Uint32(tables["loca"][4*id+4:])
		if (to > from) != (r != ' ') {
			t.Errorf("%q: outline of %d bytes", r, to-from)
		}
		advance := float64(binary.BigEndian.Uint16(tables["hmtx"][4*id:])) / units
		if d := advance - fc.em(r); d > 0.001 || d < -0.001 {
			t.Errorf("%q is %g wide, want %g", r, advance, fc.em(r))
		}
	}
	if seen != 8 {
		t.Errorf("%d letters looked at", seen)
	}
}

// glyphOf reads a table of format 4 as a viewer does.
func glyphOf(cmap []byte, r rune) int {
	sub := cmap[binary.BigEndian.Uint32(cmap[8:]):]
	u := func(at int) int { return int(binary.BigEndian.Uint16(sub[at:])) }
	n := u(6) / 2
	for i := range n {
		end, start, delta := u(14+2*i), u(16+2*n+2*i), u(16+4*n+2*i)
		if int(r) <= end {
			if int(r) < start {
				return 0
			}
			return (int(r) + delta) & 0xffff
		}
	}
	return 0
}

func TestNumberList(t *testing.T) {
	for _, c := range []struct {
		ns   []int64
		want string
	}{{nil, ""}, {[]int64{7}, "7"}, {[]int64{1, 2, 3, 7, 9, 10}, "1-3, 7, 9-10"}} {
		if got := numberList(c.ns); got != c.want {
			t.Errorf("%v: %q, want %q", c.ns, got, c.want)
		}
	}
}

// TestPlacedLabelsStayApart: no label lies on a marker, on a line or on another label.
func TestPlacedLabelsStayApart(t *testing.T) {
	fc, _ := newFace()
	p := newPlacer(fc, box{x0: 0, y0: 0, x1: 300, y1: 200})
	p.take(100, 100, 5)
	p.takeLine(100, 100, 200, 60)
	markers := len(p.taken)
	var put []box
	for range 30 {
		if b, ok := p.put("FP8 online", 100, 100, 8, 12); ok {
			put = append(put, b)
		}
	}
	if len(put) < 3 || p.left != 30-len(put) {
		t.Errorf("%d labels, %d left out", len(put), p.left)
	}
	for i, b := range put {
		if !b.inside(p.within) {
			t.Errorf("label %d leaves the plot: %+v", i, b)
		}
		for _, m := range p.taken[:markers] {
			if b.meets(m) {
				t.Errorf("label %d lies on a marker", i)
			}
		}
		for _, o := range put[i+1:] {
			if b.meets(o) {
				t.Errorf("labels lie on one another: %+v %+v", b, o)
			}
		}
	}
}
