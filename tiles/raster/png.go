package raster

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"

	"github.com/klauspost/compress/zlib"
)

// These are the colour types and the signature of PNG, ISO/IEC 15948.
const (
	signature    = "\x89PNG\r\n\x1a\n"
	typePalette  = 3
	typeRGBA     = 6
	filterNone   = 0
	pngLevel     = 6 // of compression
	maxPalette   = 256
	paletteBits  = 10
	paletteSlots = 1 << paletteBits
)

// encoder writes images and reuses its memory.
//
// Rows are not filtered. Pictures of plain areas become a quarter smaller in this way than with the
// filters for photographs, and take less time.
type encoder struct {
	rows    []byte // input of the compression
	packed  bytes.Buffer
	zlib    *zlib.Writer
	indexes []uint8
	colors  [][4]uint8           // of the palette, premultiplied
	slots   [paletteSlots]uint16 // by hash: index + 1, 0 for none
}

// appendPNG appends the picture as a PNG file, with a palette if 256 colours
// are enough. It destroys the picture.
func (c *canvas) appendPNG(dst []byte) ([]byte, error) {
	e := &c.enc
	e.rows = e.rows[:0]
	depth, kind := 8, byte(typeRGBA)
	if e.index(c.pix) {
		kind = typePalette
		for depth = 1; 1<<depth < len(e.colors); depth *= 2 {
		}
		e.packIndexes(c.size, depth)
	} else {
		unmultiply(c.pix)
		for i := 0; i < len(c.pix); i += 4 * c.size {
			e.rows = append(e.rows, filterNone)
			e.rows = append(e.rows, c.pix[i:i+4*c.size]...)
		}
	}
	if err := e.compress(); err != nil {
		return dst, err
	}
	dst = append(dst, signature...)
	size := binary.BigEndian.AppendUint32(nil, uint32(c.size))
	head := append(append(size, size...), byte(depth), kind, 0, 0, 0)
	dst = appendChunk(dst, "IHDR", head)
	if kind == typePalette {
		dst = e.appendPalette(dst)
	}
	dst = appendChunk(dst, "IDAT", e.packed.Bytes())
	return appendChunk(dst, "IEND", nil), nil
}

func (e *encoder) compress() (err error) {
	e.packed.Reset()
	if e.zlib == nil {
		if e.zlib, err = zlib.NewWriterLevel(&e.packed, pngLevel); err != nil {
			return err
		}
	} else {
		e.zlib.Reset(&e.packed)
	}
	if _, err := e.zlib.Write(e.rows); err != nil {
		return err
	}
	return e.zlib.Close()
}

// packIndexes writes the rows of indexes. Small indexes share a byte.
func (e *encoder) packIndexes(width, depth int) {
	perByte := 8 / depth
	for i := 0; i < len(e.indexes); i += width {
		e.rows = append(e.rows, filterNone)
		row := e.indexes[i : i+width]
		for x := 0; x < width; x += perByte {
			var b uint8
			for _, index := range row[x : x+perByte] {
				b = b<<depth | index
			}
			e.rows = append(e.rows, b)
		}
	}
}

func (e *encoder) appendPalette(dst []byte) []byte {
	e.rows = e.rows[:0]
	var alphas [maxPalette]byte
	seen := 0 // alphas up to the last translucent one
	for i := range e.colors {
		c := e.colors[i]
		unmultiply(c[:])
		e.rows = append(e.rows, c[:3]...)
		if alphas[i] = c[3]; c[3] != 255 {
			seen = i + 1
		}
	}
	dst = appendChunk(dst, "PLTE", e.rows)
	if seen > 0 {
		dst = appendChunk(dst, "tRNS", alphas[:seen])
	}
	return dst
}

// appendChunk appends a chunk: length, name, data and the checksum of both.
func appendChunk(dst []byte, name string, data []byte) []byte {
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(data)))
	start := len(dst)
	dst = append(append(dst, name...), data...)
	return binary.BigEndian.AppendUint32(dst, crc32.ChecksumIEEE(dst[start:]))
}

// index makes a palette of the colours of a picture, in the order of occurrence, and reports
// whether 256 are enough.
func (e *encoder) index(pix []uint8) bool {
	e.indexes = resize(e.indexes, len(pix)/4)
	e.colors = e.colors[:0]
	clear(e.slots[:])
	var last [4]uint8
	for i := range e.indexes {
		p := [4]uint8(pix[4*i:])
		if i > 0 && p == last {
			e.indexes[i] = e.indexes[i-1]
			continue
		}
		last = p
		slot := binary.LittleEndian.Uint32(p[:]) * 0x9E3779B1 >> (32 - paletteBits)
		for e.slots[slot] != 0 && e.colors[e.slots[slot]-1] != p {
			slot = (slot + 1) % paletteSlots
		}
		if e.slots[slot] == 0 {
			if len(e.colors) == maxPalette {
				return false
			}
			e.colors = append(e.colors, p)
			e.slots[slot] = uint16(len(e.colors))
		}
		e.indexes[i] = uint8(e.slots[slot] - 1)
	}
	return true
}

// unmultiply divides the colours of pixels by their alpha, as PNG requires.
func unmultiply(pix []uint8) {
	for i := 0; i < len(pix); i += 4 {
		p := pix[i : i+4 : i+4]
		a := uint32(p[3])
		if a == 0 || a == 255 {
			continue
		}
		for j := range 3 {
			p[j] = uint8(min((uint32(p[j])*255+a/2)/a, 255))
		}
	}
}
