package raster

import (
	"errors"
	"image"
	"image/color"
	"image/draw"
	"math"
	"sync"
	"unicode"

	"golang.org/x/image/font/gofont/gomedium"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
	"golang.org/x/text/unicode/norm"
)

// face is a font prepared for laying out names.
type face struct {
	font   *sfnt.Font
	glyphs map[rune]glyph
}

// glyph is a character of a font; its advance is in ems.
type glyph struct {
	index   sfnt.GlyphIndex
	advance float32
}

// lastRune bounds the characters that are looked up in a font. The Latin, Greek and Cyrillic
// characters in use lie below it.
const lastRune = 0x2fff

// faces parses the two fonts of names, once.
var faces = sync.OnceValues(func() (f struct{ regular, bold *face }, err error) {
	var rerr, berr error
	f.regular, rerr = parseFace(goregular.TTF)
	f.bold, berr = parseFace(gomedium.TTF)
	return f, errors.Join(rerr, berr)
})

func parseFace(ttf []byte) (*face, error) {
	font, err := sfnt.Parse(ttf)
	if err != nil {
		return nil, err
	}
	f := &face{font: font, glyphs: make(map[rune]glyph)}
	var buf sfnt.Buffer
	em := fixed.I(int(font.UnitsPerEm()))
	for r := rune(' '); r <= lastRune; r++ {
		i, err := font.GlyphIndex(&buf, r)
		if err != nil {
			return nil, err
		}
		if i == 0 {
			continue
		}
		advance, err := font.GlyphAdvance(&buf, i, em, 0)
		if err != nil {
			return nil, err
		}
		f.glyphs[r] = glyph{i, float32(advance) / float32(em)}
	}
	return f, nil
}

// likeness replaces characters that fonts often lack and that do not decompose
// into a letter and a mark.
var likeness = map[rune]rune{
	'ʻ': '\'', 'ʼ': '\'', 'ʿ': '\'', 'ʾ': '\'', '‘': '\'', '’': '\'', '′': '\'',
	'‐': '-', '‑': '-', '–': '-', '—': '-', '−': '-',
	'Ə': 'E', 'ə': 'e', 'ɓ': 'b', 'ɗ': 'd', 'Ɖ': 'D', 'ɖ': 'd', 'ƙ': 'k', 'ŋ': 'n', 'Ŋ': 'N', 'ơ': 'o', 'ư': 'u', 'ı': 'i',
}

// maxRunes bounds the characters of a name that are read.
const maxRunes = 96

// appendGlyphs appends the characters of a name. A letter with a mark that the font lacks loses the
// mark. Other characters that the font lacks are dropped. White space becomes one space.
func (f *face) appendGlyphs(dst []glyph, name []byte) []glyph {
	space := f.glyphs[' ']
	blank := true // no space at the start, nor after another
	add := func(r rune) bool {
		if unicode.IsSpace(r) {
			if !blank {
				dst = append(dst, space)
			}
			blank = true
			return true
		}
		g, ok := f.glyphs[r]
		if !ok {
			if g, ok = f.glyphs[likeness[r]]; !ok {
				return false
			}
		}
		dst = append(dst, g)
		blank = false
		return true
	}
	n := 0
	for _, r := range string(norm.NFC.Bytes(name[:min(len(name), 4*maxRunes)])) {
		if n++; n > maxRunes {
			break
		}
		if add(r) || !unicode.IsPrint(r) {
			continue
		}
		for _, part := range norm.NFD.String(string(r)) {
			if !unicode.Is(unicode.Mn, part) {
				add(part)
			}
		}
	}
	if blank && len(dst) > 0 {
		dst = dst[:len(dst)-1]
	}
	return dst
}

// Widths of names are in pixels at scale 1. Names wider than goodWidth are
// broken into lines at their spaces. No line is wider than maxWidth.
const (
	goodWidth = 76
	maxWidth  = 140
	maxLines  = 3
	leading   = 1.15 // of lines, in ems
	ascent    = 0.73 // of capitals, in ems
	descent   = 0.22
)

// MaxNameReachPx is the greatest extent of a name from its point, in pixels of a tile of 256. It is
// a third of a tile, so all names that affect the names in a tile lie in the eight tiles around it.
const MaxNameReachPx = 85

// layout breaks a name into lines. It is reused for each name.
type layout struct {
	glyphs []glyph
	lines  []textLine
	buf    sfnt.Buffer
}

// textLine is a line of glyphs; its width is in ems.
type textLine struct {
	from, to int
	width    float32
}

// breakLines lays out a name at size pixels at scale 1, with spacing in ems behind each letter. It
// returns the width and height of the block in ems. If no character of the name can be written, the
// block has no lines.
func (t *layout) breakLines(f *face, name []byte, size, spacing float64) (width, height float64) {
	t.lines = t.lines[:0]
	t.glyphs = f.appendGlyphs(t.glyphs[:0], name)
	if len(t.glyphs) == 0 {
		return 0, 0
	}
	space := f.glyphs[' ']
	space.advance += float32(spacing)
	for i := range t.glyphs {
		t.glyphs[i].advance += float32(spacing)
	}
	var total, word, longest float32
	for _, g := range t.glyphs {
		total += g.advance
		word += g.advance
		if g == space {
			word = 0
		}
		longest = max(longest, word)
	}
	n := min(math.Ceil(float64(total)*size/goodWidth), maxLines)
	limit := max(longest, total/float32(n)*1.1)
	limit = min(limit, float32(maxWidth/size))

	line := textLine{}
	brk, atBreak := -1, float32(0) // the last space of the line and the width before it
	finish := func(to, next int, w float32) {
		line.to, line.width = to, w
		t.lines = append(t.lines, line)
		line = textLine{from: next}
		brk = -1
	}
	for i, g := range t.glyphs {
		if g == space {
			brk, atBreak = i, line.width
		}
		if line.width+g.advance > limit && line.width > 0 {
			switch {
			case brk >= line.from && len(t.lines) < maxLines-1:
				rest := line.width - atBreak - space.advance
				if brk == i {
					rest = -space.advance // the space itself is added below
				}
				finish(brk, brk+1, atBreak)
				line.width = rest
			case float64(line.width+g.advance)*size > maxWidth:
				// There are no more lines or there is no more space, so the name ends here.
				t.shorten(f, &line, i, float32(maxWidth/size))
				t.lines = append(t.lines, line)
				return t.extent()
			}
		}
		line.width += g.advance
	}
	finish(len(t.glyphs), 0, line.width)
	return t.extent()
}

// shorten ends a line before glyph i with an ellipsis, within a limit.
func (t *layout) shorten(f *face, line *textLine, i int, limit float32) {
	dots := f.glyphs['…']
	for i > line.from && (line.width+dots.advance > limit || t.glyphs[i-1].index == f.glyphs[' '].index) {
		i--
		line.width -= t.glyphs[i].advance
	}
	t.glyphs = append(t.glyphs[:i], dots)
	line.to, line.width = i+1, line.width+dots.advance
}

func (t *layout) extent() (width, height float64) {
	for _, l := range t.lines {
		width = max(width, float64(l.width))
	}
	return width, ascent + descent + leading*float64(len(t.lines)-1)
}

// haloWidth is the width of halos, in pixels at scale 1.
const haloWidth = 1.4

// write draws the laid out name over the picture, in the pixels of box. The box
// has room for the halo.
func (c *canvas) write(l *look, box image.Rectangle, pad int) error {
	w, h := box.Dx(), box.Dy()
	if err := c.spend(16 * w * h); err != nil {
		return err
	}
	size := l.Text.Size * float64(c.scale)
	ppem := fixed.Int26_6(math.Round(size * 64))
	c.raster.Reset(w, h)
	for i, line := range c.text.lines {
		x := (float64(w) - (float64(line.width)-l.Text.Spacing)*size) / 2
		y := float64(pad) + (ascent+leading*float64(i))*size
		for _, g := range c.text.glyphs[line.from:line.to] {
			if err := c.glyph(l.face, g, ppem, float32(x), float32(y)); err != nil {
				return err
			}
			x += float64(g.advance) * size
		}
	}
	c.mask.Pix = resize(c.mask.Pix, w*h)
	c.mask.Stride, c.mask.Rect = w, image.Rect(0, 0, w, h)
	c.raster.DrawOp = draw.Src
	c.raster.Draw(&c.mask, c.mask.Rect, image.Opaque, image.Point{})

	c.spread(haloWidth * float64(c.scale))
	halo, ink := l.Text.Halo, l.Text.Color
	c.blendMask(&c.around, box.Min.X, box.Min.Y, rgb{halo.R, halo.G, halo.B}, uint32(halo.A))
	c.blendMask(&c.mask, box.Min.X, box.Min.Y, rgb{ink.R, ink.G, ink.B}, uint32(ink.A))
	return nil
}

// glyph adds the outline of a character to the rasterizer.
func (c *canvas) glyph(f *face, g glyph, ppem fixed.Int26_6, x, y float32) error {
	segments, err := f.font.LoadGlyph(&c.text.buf, g.index, ppem, nil)
	if err != nil {
		return err
	}
	at := func(p fixed.Point26_6) (float32, float32) { return x + float32(p.X)/64, y + float32(p.Y)/64 }
	for _, s := range segments {
		ax, ay := at(s.Args[0])
		switch s.Op {
		case sfnt.SegmentOpMoveTo:
			c.raster.ClosePath()
			c.raster.MoveTo(ax, ay)
		case sfnt.SegmentOpLineTo:
			c.raster.LineTo(ax, ay)
		case sfnt.SegmentOpQuadTo:
			bx, by := at(s.Args[1])
			c.raster.QuadTo(ax, ay, bx, by)
		case sfnt.SegmentOpCubeTo:
			bx, by := at(s.Args[1])
			dx, dy := at(s.Args[2])
			c.raster.CubeTo(ax, ay, bx, by, dx, dy)
		}
	}
	c.raster.ClosePath()
	return nil
}

// spread writes c.mask, widened by a number of pixels, into c.around.
func (c *canvas) spread(width float64) {
	w, h := c.mask.Rect.Dx(), c.mask.Rect.Dy()
	clearedMask(&c.around, w, h)
	reach := int(width + 0.5)
	var kernel [(2*5 + 1) * (2*5 + 1)]uint32
	side := 2*reach + 1
	for i := range side * side {
		d := math.Hypot(float64(i%side-reach), float64(i/side-reach))
		kernel[i] = uint32(math.Round(min(max(width+0.5-d, 0), 1) * 255))
	}
	for y := range h {
		for x := range w {
			cover := uint32(c.mask.Pix[y*w+x])
			if cover == 0 {
				continue
			}
			for ky := max(y-reach, 0); ky <= min(y+reach, h-1); ky++ {
				k := kernel[(ky-y+reach)*side:]
				for kx := max(x-reach, 0); kx <= min(x+reach, w-1); kx++ {
					p := &c.around.Pix[ky*w+kx]
					*p = max(*p, uint8(div255(cover*k[kx-x+reach])))
				}
			}
		}
	}
}

// DrawText draws a line of text, at on its base line and at most width pixels wide; a longer one ends in an
// ellipsis. Characters that the font lacks are left out. It returns the width of the line.
func DrawText(dst draw.Image, at image.Point, text string, size float64, bold bool, ink color.Color, width int) (int, error) {
	fonts, err := faces()
	if err != nil {
		return 0, err
	}
	f := fonts.regular
	if bold {
		f = fonts.bold
	}
	c := new(canvas)
	c.text.glyphs = f.appendGlyphs(nil, []byte(text))
	line, limit := textLine{to: len(c.text.glyphs)}, float32(float64(width)/size)
	for i, g := range c.text.glyphs {
		if line.width+g.advance > limit {
			c.text.shorten(f, &line, i, limit)
			break
		}
		line.width += g.advance
	}
	taken := int(math.Ceil(float64(line.width) * size))
	top := int(math.Ceil(size)) // capitals may have marks
	box := image.Rect(0, 0, taken, top+int(math.Ceil(descent*size)))
	c.raster.Reset(box.Dx(), box.Dy())
	x := 0.0
	for _, g := range c.text.glyphs[line.from:line.to] {
		if err := c.glyph(f, g, fixed.Int26_6(math.Round(size*64)), float32(x), float32(top)); err != nil {
			return 0, err
		}
		x += float64(g.advance) * size
	}
	c.mask = *image.NewAlpha(box)
	c.raster.DrawOp = draw.Src
	c.raster.Draw(&c.mask, box, image.Opaque, image.Point{})
	draw.DrawMask(dst, box.Add(at).Sub(image.Pt(0, top)), image.NewUniform(ink), image.Point{}, &c.mask, image.Point{}, draw.Over)
	return taken, nil
}
