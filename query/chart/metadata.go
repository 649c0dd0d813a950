package chart

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"html"
	"image"
	colors "image/color"
	"image/png"
	"strconv"
	"strings"
	"unicode"
)

// metadata says inside the file what the picture was made from, so that a picture that
// was passed on can be made again.
func (f *Figure) metadata() [][2]string {
	var out [][2]string
	add := func(name, value string) {
		if value = plainLine(value); value != "" {
			out = append(out, [2]string{name, value})
		}
	}
	add("Title", f.Title)
	add("Software", "Sweepbook")
	add("Query", f.Query)
	add("Chart", string(f.Kind))
	if f.From.ID != "" {
		add("History", fmt.Sprintf("%s, %d trials", f.From.ID, f.From.Trials))
	}
	add("Trials", numberList(f.Trials))
	return out
}

// plainLine is a text without line ends and what XML does not allow.
func plainLine(s string) string {
	return strings.Join(strings.FieldsFunc(strings.ToValidUTF8(s, "\uFFFD"), func(r rune) bool {
		return unicode.IsControl(r) || unicode.IsSpace(r) || r == '\uFFFE' || r == '\uFFFF'
	}), " ")
}

// numberList is "1-4, 7, 9-12".
func numberList(ns []int64) string {
	var parts []string
	for i := 0; i < len(ns); {
		j := i
		for j+1 < len(ns) && ns[j+1] == ns[j]+1 {
			j++
		}
		part := strconv.FormatInt(ns[i], 10)
		if j > i {
			part += "-" + strconv.FormatInt(ns[j], 10)
		}
		parts = append(parts, part)
		i = j + 1
	}
	return strings.Join(parts, ", ")
}

// finishPNG writes the picture with a palette, which a third of the bytes suffices for,
// and puts the metadata behind its header.
func finishPNG(data []byte, f *Figure) ([]byte, error) {
	img, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("write chart: %w", err)
	}
	var b bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.DefaultCompression}).Encode(&b, paletted(img)); err != nil {
		return nil, fmt.Errorf("write chart: %w", err)
	}
	const header = 8 + 4 + 4 + 13 + 4 // signature and IHDR
	out := bytes.NewBuffer(make([]byte, 0, b.Len()+1024))
	out.Write(b.Bytes()[:header])
	for _, m := range f.metadata() {
		writeText(out, m[0], m[1])
	}
	out.Write(b.Bytes()[header:])
	return out.Bytes(), nil
}

// writeText writes a tEXt chunk, or an iTXt one for what Latin-1 does not hold.
func writeText(out *bytes.Buffer, key, value string) {
	kind, body := "tEXt", key+"\x00"+value
	if strings.IndexFunc(value, func(r rune) bool { return r > unicode.MaxASCII }) >= 0 {
		kind, body = "iTXt", key+"\x00\x00\x00\x00\x00"+value
	}
	var size [4]byte
	binary.BigEndian.PutUint32(size[:], uint32(len(body)))
	out.Write(size[:])
	out.WriteString(kind + body)
	binary.BigEndian.PutUint32(size[:], crc32.ChecksumIEEE([]byte(kind+body)))
	out.Write(size[:])
}

// paletted gives a picture at most 256 colours, of which the edges of letters and
// markers alone are rounded: a colour of many pixels stays as it is.
func paletted(img image.Image) image.Image {
	box := img.Bounds()
	type rgb [3]uint8
	at := func(x, y int) rgb {
		c := colors.NRGBAModel.Convert(img.At(x, y)).(colors.NRGBA)
		return rgb{c.R, c.G, c.B}
	}
	if m, ok := img.(*image.NRGBA); ok {
		at = func(x, y int) rgb { return rgb(m.Pix[m.PixOffset(x, y):]) }
	} else if m, ok := img.(*image.RGBA); ok { // opaque throughout
		at = func(x, y int) rgb { return rgb(m.Pix[m.PixOffset(x, y):]) }
	}
	// Colours in the order in which they come, each with a number. Neighbours are mostly
	// equal, which spares the look-up.
	number, count := map[rgb]int{}, []int{}
	var known []rgb
	pixels := make([]int, 0, box.Dx()*box.Dy())
	for y := box.Min.Y; y < box.Max.Y; y++ {
		for x := box.Min.X; x < box.Max.X; x++ {
			c := at(x, y)
			if n := len(pixels); n == 0 || known[pixels[n-1]] != c {
				i, ok := number[c]
				if !ok {
					i = len(known)
					number[c], known, count = i, append(known, c), append(count, 0)
				}
				pixels = append(pixels, i)
			} else {
				pixels = append(pixels, pixels[n-1])
			}
			count[pixels[len(pixels)-1]]++
		}
	}
	for bits := uint(0); bits < 6; bits++ {
		index, to := map[rgb]uint8{}, make([]uint8, len(known))
		var palette colors.Palette
		for i, c := range known {
			if count[i] <= 300 && bits > 0 {
				for k := range c {
					c[k] = uint8(min(int(c[k])>>bits<<bits+1<<bits/2, 255))
				}
			}
			at, ok := index[c]
			if !ok {
				at = uint8(len(palette))
				index[c] = at
				palette = append(palette, colors.NRGBA{R: c[0], G: c[1], B: c[2], A: 255})
			}
			to[i] = at
		}
		if len(palette) > 256 {
			continue
		}
		out := image.NewPaletted(image.Rect(0, 0, box.Dx(), box.Dy()), palette)
		for i, p := range pixels {
			out.Pix[i] = to[p]
		}
		return out
	}
	return img
}

const fontName = "SweepbookRoboto"

// finishSVG gives the picture its size, its metadata and the font of its letters.
func finishSVG(text string, f *Figure, w, h int, used map[rune]bool) ([]byte, error) {
	font, err := subset(used)
	if err != nil {
		return nil, err
	}
	head, body, _ := strings.Cut(text, ">")
	var b strings.Builder
	fmt.Fprintf(&b, "%s width=\"%d\" height=\"%d\" role=\"img\"><title>%s</title>\n<metadata>\n", head, w, h, html.EscapeString(plainLine(orName(f.Title, f.Value))))
	for _, m := range f.metadata() {
		fmt.Fprintf(&b, "%s: %s\n", m[0], html.EscapeString(m[1]))
	}
	fmt.Fprintf(&b, "</metadata>\n<style>@font-face{font-family:%s;src:url(data:font/ttf;base64,%s) format(\"truetype\")} text{font-family:%s,Roboto,sans-serif !important;font-kerning:none;font-variant-ligatures:none}</style>\n",
		fontName, base64.StdEncoding.EncodeToString(font), fontName)
	b.WriteString(body)
	return []byte(b.String()), nil
}
