package raster

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"quadrille/internal/testrace"
	"quadrille/tiles/mvt"
)

func newRenderer(t testing.TB) *Renderer {
	t.Helper()
	r, err := New(someStyle())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// someStyle returns a style with names and with tiers of places.
func someStyle() Style {
	s := PoliticalStyle(&somePalette)
	ink := func(c uint32, size float64, ranks ...float64) TextStyle {
		return TextStyle{Size: size, Color: hex(c), Halo: somePalette.Halo, MaxRanks: ranks}
	}
	bold := func(t TextStyle) TextStyle {
		t.Bold = true
		return t
	}
	text := ink(0x242c35ff, 10.5)
	for typ, t := range map[string]TextStyle{
		"continent": bold(ink(0x44374dff, 14)), "country": bold(ink(0x44374dff, 12, 6, 18, 54, 162)),
		"timezone": ink(0x5a4f60ff, 11, 4, 12, 36, 108), "state": ink(0x5a4f60ff, 11, 0.6, 1.8, 5.4, 16.2, 48.6),
		"county": ink(0x5d5365ff, 10, 0.15, 0.45, 1.35, 4.05, 12.15, 36.45), "marine": ink(0x175675ff, 11),
		"lake":     ink(0x175675ff, 10, 0.1, 0.3, 0.9, 2.7, 8.1, 24.3),
		"places":   text,
		"airports": ink(0x1f6582ff, 9.5, 1, 3, 9, 27, 81, 243, 729),
		"points":   ink(0xb3261eff, 9.5),
	} {
		one := s.Types[typ]
		one.Text = t
		s.Types[typ] = one
	}
	s.Other.Text = ink(0x5a4f60ff, 11, 1, 3, 9, 27, 81, 243)
	s.Places = PlaceStyle{
		Tiers: []PlaceTier{
			{Turn: 2, Text: bold(ink(0x242c35ff, 11)), Radius: 2.5},
			{MinPopulation: 1e6, Turn: 2, Text: text, Radius: 2.5}, {Turn: 9, Text: text, Radius: 2},
		},
		MinGreatCapital: 2e5, GreatCapitalBonus: 2e6, MinPopulation: []float64{1e6, 5e5, 1.5e5, 5e4, 5e3},
		MinPopulationOfCapital: []float64{2e5, 2e5, 2e5, 1e5, 1e3},
		DotsFrom:               5,
	}
	return s
}

// tester is the common part of *testing.T and *rapid.T.
type tester interface {
	Helper()
	Fatal(...any)
}

// drawn draws a tile and decodes it with the standard library.
func drawn(t tester, r *Renderer, tile *Tile) *image.RGBA {
	t.Helper()
	file, err := r.AppendPNG(nil, tile)
	if err != nil {
		t.Fatal(err)
	}
	return decode(t, file)
}

func decode(t tester, file []byte) *image.RGBA {
	t.Helper()
	img, err := png.Decode(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	out := image.NewRGBA(img.Bounds())
	draw.Draw(out, out.Rect, img, image.Point{}, draw.Src)
	return out
}

// premultiplied draws a tile without encoding it.
func premultiplied(t tester, r *Renderer, tile *Tile) *image.RGBA {
	t.Helper()
	c := r.pool.Get().(*canvas)
	defer r.pool.Put(c)
	c.reset(tile.Scale)
	if err := r.draw(c, tile); err != nil {
		t.Fatal(err)
	}
	return &image.RGBA{Pix: slices.Clone(c.pix), Stride: 4 * c.size, Rect: image.Rect(0, 0, c.size, c.size)}
}

// differ counts the pixels that differ by more than a tolerance.
func differ(a, b *image.RGBA, tolerance int) (n int) {
	for i := 0; i < len(a.Pix); i += 4 {
		for j := range 4 {
			if p, q := int(a.Pix[i+j]), int(b.Pix[i+j]); max(p-q, q-p) > tolerance {
				n++
				break
			}
		}
	}
	return n
}

// plane is a drawing larger than tiles, in units of 4096 to a tile.
type plane struct {
	shapes []shape
	points []spot
}

type shape struct {
	layer, id string
	lines     bool
	left      string // of lines
	rings     [][]mvt.XY
}

type spot struct {
	layer, id, name string
	rank            int64
	at              mvt.XY
}

// window makes the tile whose corner is at x, y of the plane.
func (p *plane) window(x, y int32, zoom, scale int) *Tile {
	t := &Tile{Zoom: zoom, Scale: scale}
	var l mvt.Layer
	for i := 0; i < len(p.shapes); {
		l.Reset(p.shapes[i].layer)
		for name := p.shapes[i].layer; i < len(p.shapes) && p.shapes[i].layer == name; i++ {
			s := &p.shapes[i]
			if s.lines {
				l.Begin(0, mvt.LineString)
				l.TagString("right", s.id)
				if s.left != "" {
					l.TagString("left", s.left)
				}
			} else {
				l.Begin(0, mvt.Polygon)
				l.TagString("id", s.id)
			}
			for _, ring := range s.rings {
				moved := make([]mvt.XY, len(ring))
				for j, q := range ring {
					moved[j] = mvt.XY{X: q.X - x, Y: q.Y - y}
				}
				if s.lines {
					l.Line(moved)
				} else {
					l.Ring(moved)
				}
			}
			l.End()
		}
		t.Vector = l.AppendTo(t.Vector)
	}
	for i := range t.Points {
		x0, y0 := x+int32(i%3-1)*mvt.Extent, y+int32(i/3-1)*mvt.Extent
		for j := 0; j < len(p.points); {
			l.Reset(p.points[j].layer)
			for name := p.points[j].layer; j < len(p.points) && p.points[j].layer == name; j++ {
				s := &p.points[j]
				at := mvt.XY{X: s.at.X - x0, Y: s.at.Y - y0}
				if at.X < 0 || at.Y < 0 || at.X >= mvt.Extent || at.Y >= mvt.Extent {
					continue
				}
				l.Begin(0, mvt.Point)
				l.TagString("id", s.id)
				l.TagString("name", s.name)
				l.TagInt("rank", s.rank)
				l.Point(at)
				l.End()
			}
			t.Points[i] = l.AppendTo(t.Points[i])
		}
	}
	return t
}

var someNames = []string{"Oz", "Lilliput", "Brobdingnag", "United Kingdom of Utopia", "São Tomé", "Ünderland",
	"Llanfairpwllgwyngyllgogerychwyrndrobwllllantysiliogogogoch"}

// randomPlane returns a plane of many shapes and names around the middle.
func randomPlane(rnd *rand.Rand, shapes, points int) *plane {
	p := &plane{}
	at := func() mvt.XY {
		return mvt.XY{X: rnd.Int32N(6*mvt.Extent) - 2*mvt.Extent, Y: rnd.Int32N(6*mvt.Extent) - 2*mvt.Extent}
	}
	for i := range shapes {
		var ring []mvt.XY
		a := at()
		for range 3 + rnd.IntN(6) {
			ring = append(ring, a)
			a = mvt.XY{X: a.X + rnd.Int32N(4000) - 2000, Y: a.Y + rnd.Int32N(4000) - 2000}
		}
		p.shapes = append(p.shapes, shape{layer: "state", id: fmt.Sprint(i), rings: [][]mvt.XY{ring}})
	}
	for i := range shapes {
		left := ""
		if i%2 == 0 {
			left = "x"
		}
		line := append(slices.Clone(p.shapes[i].rings[0]), at())
		p.shapes = append(p.shapes, shape{layer: "state_line", lines: true, left: left, id: "r", rings: [][]mvt.XY{line}})
	}
	for i := range points {
		layer := "country_label"
		switch {
		case i >= points*3/4:
			layer = "airports"
		case i >= points/2:
			layer = "places"
		}
		p.points = append(p.points, spot{layer, fmt.Sprint(i), someNames[rnd.IntN(len(someNames))], rnd.Int64N(5), at()})
	}
	return p
}

// oneStep is the largest difference of a pixel that different rounding can cause: one of the 16
// steps of coverage, at the contrast of text.
const oneStep = 20

// TestSeams tests that a window across the corner of four tiles shows the same as the four tiles,
// names, dots and lines included, at both scales.
func TestSeams(t *testing.T) {
	testrace.SkipUnderRace(t, "one goroutine draws")
	r := newRenderer(t)
	rapid.Check(t, func(t *rapid.T) {
		rnd := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		p := randomPlane(rnd, rapid.IntRange(0, 8).Draw(t, "shapes"), rapid.IntRange(0, 50).Draw(t, "points"))
		scale := 1 + rapid.IntRange(0, 4).Draw(t, "scale")/4 // mostly 1
		zoom := rapid.IntRange(0, 8).Draw(t, "zoom")
		// The offset is a whole number of pixels, and of dash periods, as for tiles.
		dx, dy := 16*dashPeriod*rapid.Int32Range(1, 31).Draw(t, "dx"), 16*dashPeriod*rapid.Int32Range(1, 31).Draw(t, "dy")
		got := premultiplied(t, r, p.window(dx, dy, zoom, scale))
		want := image.NewRGBA(got.Rect)
		size := tileSize * scale
		for i := range int32(4) {
			x, y := i%2, i/2
			tile := premultiplied(t, r, p.window(x*mvt.Extent, y*mvt.Extent, zoom, scale))
			at := image.Pt((int(x)*mvt.Extent-int(dx))*size/mvt.Extent, (int(y)*mvt.Extent-int(dy))*size/mvt.Extent)
			draw.Draw(want, tile.Rect.Add(at), tile, image.Point{}, draw.Src)
		}
		if n := differ(got, want, oneStep); n > 0 {
			t.Fatalf("%d pixels differ across a corner of tiles at %d, %d", n, dx, dy)
		}
	})
}

// TestNeighboursMeet tests that the ground does not shine through where regions share an edge, in
// any direction, nor along the edges of tiles.
func TestNeighboursMeet(t *testing.T) {
	testrace.SkipUnderRace(t, "one goroutine draws")
	r := newRenderer(t)
	rapid.Check(t, func(t *rapid.T) {
		// The regions form a fan around a point, far wider than the tile.
		c := mvt.XY{X: rapid.Int32Range(0, 4096).Draw(t, "x"), Y: rapid.Int32Range(0, 4096).Draw(t, "y")}
		n := rapid.IntRange(3, 9).Draw(t, "regions")
		turn := rapid.Float64Range(0, 7).Draw(t, "turn")
		rim := func(i int) mvt.XY {
			sin, cos := math.Sincos(turn + 2*math.Pi*float64(i%n)/float64(n))
			return mvt.XY{X: c.X + int32(40000*cos), Y: c.Y + int32(40000*sin)}
		}
		p := &plane{}
		for i := range n {
			p.shapes = append(p.shapes, shape{layer: "country", id: fmt.Sprint(i), rings: [][]mvt.XY{{c, rim(i), rim(i + 1)}}})
		}
		img := premultiplied(t, r, p.window(0, 0, 4, 1))
		for i := 3; i < len(img.Pix); i += 4 {
			if img.Pix[i] != 255 {
				t.Fatalf("pixel %d, %d has alpha %d", i/4%256, i/4/256, img.Pix[i])
			}
		}
	})
}

// TestFill draws islands, holes, and islands in holes. Of a ring that extends beyond the tile only
// the part inside matters.
func TestFill(t *testing.T) {
	r := newRenderer(t)
	square := func(x0, y0, x1, y1 int32) []mvt.XY {
		return []mvt.XY{{X: x0, Y: y0}, {X: x1, Y: y0}, {X: x1, Y: y1}, {X: x0, Y: y1}}
	}
	hole := func(x0, y0, x1, y1 int32) []mvt.XY {
		s := square(x0, y0, x1, y1)
		slices.Reverse(s)
		return s
	}
	p := &plane{shapes: []shape{{layer: "country", id: "a", rings: [][]mvt.XY{
		square(-1<<30, -64, 2048, 1<<30), hole(512, 512, 1536, 1536), square(768, 768, 1280, 1280), square(3072, 3072, 1<<30, 3584),
	}}}}
	img := drawn(t, r, p.window(0, 0, 4, 1))
	for _, tt := range []struct {
		x, y int
		in   bool
	}{
		{0, 0, true}, {127, 0, true}, {128, 0, false}, {0, 255, true}, {127, 255, true}, {128, 255, false}, {255, 0, false},
		{31, 31, true}, {32, 32, false}, {47, 47, false}, {48, 48, true}, {79, 79, true}, {80, 80, false}, {95, 95, false}, {96, 96, true},
		{191, 200, false}, {192, 192, true}, {255, 223, true}, {255, 224, false},
	} {
		if a := img.RGBAAt(tt.x, tt.y).A; (a == 255) != tt.in || (a == 0) == tt.in {
			t.Errorf("pixel %d, %d has alpha %d, want inside %v", tt.x, tt.y, a, tt.in)
		}
	}
}

// TestNames tests that no name overlaps another, the first in rank is always drawn, and none
// extends beyond MaxNameReachPx.
func TestNames(t *testing.T) {
	r := newRenderer(t)
	rapid.Check(t, func(t *rapid.T) {
		p := randomPlane(rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 2)), 0, rapid.IntRange(1, 300).Draw(t, "points"))
		if rapid.Bool().Draw(t, "odd name") {
			p.points[0].name = rapid.String().Draw(t, "name")
		}
		c := new(canvas)
		c.reset(rapid.IntRange(1, 2).Draw(t, "scale"))
		tile := p.window(0, 0, 8, c.scale)
		var boxes []image.Rectangle
		for i, l := range tile.Points {
			if err := r.gather(c, l, &Tile{Zoom: 8}, float64((i%3-1)*c.size), float64((i/3-1)*c.size)); err != nil {
				t.Fatal(err)
			}
		}
		slices.SortFunc(c.names, comparePriority)
		for i := range c.names {
			n := &c.names[i]
			c.place(i)
			reach := MaxNameReachPx * c.scale
			if limit := image.Rect(-reach, -reach, reach, reach).Add(image.Pt(int(math.Floor(n.x)), int(math.Floor(n.y)))); !n.box.In(limit) {
				t.Fatalf("%q at %v, %v takes %v", n.text, n.x, n.y, n.box)
			}
		}
		for i := range c.names {
			if c.unobstructed(i) && !c.names[i].box.Empty() {
				for _, b := range boxes {
					if b.Overlaps(c.names[i].box) {
						t.Fatalf("%q at %v touches another at %v", c.names[i].text, c.names[i].box, b)
					}
				}
				boxes = append(boxes, c.names[i].box)
			}
		}
	})
}

// TestRanks: in a layer with ranks by zoom, the dot and the name of a point both follow its rank.
// Layers without ranks show all points.
func TestRanks(t *testing.T) {
	testrace.SkipUnderRace(t, "one goroutine draws")
	r := newRenderer(t)
	ranks := []int64{0, 1, 3, 8, 9, 26, 27, 1 << 40}
	for zoom := range 6 {
		for _, layer := range []string{"airports", "places"} {
			p := &plane{}
			for i, rank := range ranks {
				p.points = append(p.points, spot{layer, fmt.Sprint(rank), "X", rank, mvt.XY{X: int32(256 + 512*i), Y: 2048}})
			}
			img := drawn(t, r, p.window(0, 0, zoom, 1))
			for i, rank := range ranks {
				want := layer == "places" || float64(rank) < math.Pow(3, float64(zoom))
				x := 16 + 32*i
				if dot := img.RGBAAt(x, 128).A > 0; dot != want {
					t.Errorf("zoom %d, %s of rank %d: dot %v", zoom, layer, rank, dot)
				}
				named := false
				for j := range 10 * 12 {
					named = named || img.RGBAAt(x+5+j%10, 122+j/10).A > 0
				}
				if named != want {
					t.Errorf("zoom %d, %s of rank %d: name %v", zoom, layer, rank, named)
				}
			}
		}
	}
}

// TestLayout tests the written characters of a name, line by line.
func TestLayout(t *testing.T) {
	fonts, err := faces()
	if err != nil {
		t.Fatal(err)
	}
	back := map[glyph]rune{}
	for r, g := range fonts.regular.glyphs {
		if old, ok := back[g]; !ok || r < old {
			back[g] = r
		}
	}
	for _, tt := range []struct{ name, want string }{
		{"", ""},
		{"Zürich", "Zürich"},
		{"Zu\u0308rich", "Zürich"},
		{"Kraków", "Kraków"},
		{"Đà Nẵng", "Đà Nang"},
		{"Hawaiʻi", "Hawai'i"},
		{"Bakı Şəhəri", "Bakı Şeheri"},
		{"Москва", "Москва"},
		{"北京", ""},
		{"北京 Beijing", "Beijing"},
		{" a\t\n b\x00\u202e ", "a b"},
		{"\xff\xfe", ""},
		{"Bosnia and Herzegovina", "Bosnia and|Herzegovina"},
		{"Saint Helena, Ascension and Tristan da Cunha", "Saint Helena,|Ascension and|Tristan da Cunha"},
		{strings.Repeat("n", 60), "nnnnnnnnnnnnnnnnnnnnn…"},
		{strings.Repeat("long name ", 20), "long name long name long|name long name long name|long name long name lon…"},
	} {
		var l layout
		l.breakLines(fonts.regular, []byte(tt.name), 11, 0)
		var lines []string
		for _, line := range l.lines {
			var b strings.Builder
			for _, g := range l.glyphs[line.from:line.to] {
				b.WriteRune(back[g])
			}
			lines = append(lines, b.String())
			var width float32
			for _, g := range l.glyphs[line.from:line.to] {
				width += g.advance
			}
			if math.Abs(float64(width-line.width)) > 1e-4 || width*11 > maxWidth+0.01 {
				t.Errorf("%q: line %q is %v wide, said to be %v", tt.name, b.String(), width*11, line.width*11)
			}
		}
		if got := strings.Join(lines, "|"); got != tt.want {
			t.Errorf("%q is written %q, want %q", tt.name, got, tt.want)
		}
	}
	// Spacing adds room behind each letter. A line that gets too long is broken.
	var l layout
	for name, want := range map[string]struct{ letters, lines int }{"Zürich": {6, 1}, "New Zealand": {7, 2}} {
		tight, _ := l.breakLines(fonts.regular, []byte(name), 11, 0)
		wide, _ := l.breakLines(fonts.regular, []byte(name), 11, 0.3)
		if len(l.lines) != want.lines || want.lines == 1 && math.Abs(wide-tight-0.3*float64(want.letters)) > 1e-5 {
			t.Errorf("%s: %v ems, and %v in %d lines with spacing", name, tight, wide, len(l.lines))
		}
	}
}

// TestPNG tests that the standard library decodes our files to the same picture, at every depth of
// palette.
func TestPNG(t *testing.T) {
	testrace.SkipUnderRace(t, "one goroutine draws")
	for _, colors := range []int{1, 2, 3, 4, 5, 16, 17, 255, 256, 257, 5000} {
		rnd := rand.New(rand.NewPCG(uint64(colors), 3))
		c := new(canvas)
		c.reset(1)
		want := image.NewRGBA(image.Rect(0, 0, 256, 256))
		for i := range 256 * 256 {
			k := rnd.IntN(colors)
			if i < colors {
				k = i
			}
			col := color.RGBA{uint8(k * 7), uint8(k >> 3), uint8(k), 255}
			if k%3 == 0 {
				col = color.RGBA{uint8(k), uint8(k), uint8(k >> 8), uint8(k%2) * 255}
				if col.A == 0 {
					col = color.RGBA{}
				}
			}
			copy(c.pix[4*i:], []byte{col.R, col.G, col.B, col.A})
			copy(want.Pix[4*i:], []byte{col.R, col.G, col.B, col.A})
		}
		file, err := c.appendPNG([]byte("before"))
		if err != nil {
			t.Fatal(err)
		}
		got := decode(t, bytes.TrimPrefix(file, []byte("before")))
		if n := differ(got, want, 0); n > 0 {
			t.Errorf("%d colours: %d pixels differ", colors, n)
		}
	}
}

func TestEmptyTile(t *testing.T) {
	r := newRenderer(t)
	for _, scale := range []int{1, 2} {
		file, err := r.AppendPNG(nil, &Tile{Scale: scale})
		if err != nil {
			t.Fatal(err)
		}
		img := decode(t, file)
		if len(file) > 160 || img.Rect.Dx() != 256*scale || slices.ContainsFunc(img.Pix, func(b uint8) bool { return b != 0 }) {
			t.Errorf("scale %d: %d bytes, %v, or not transparent", scale, len(file), img.Rect)
		}
	}
}

// TestConcurrent tests that goroutines which draw the same tile get the same bytes.
func TestConcurrent(t *testing.T) {
	r := newRenderer(t)
	tile := sampleMap().window(0, 0, 5, 1)
	want, err := r.AppendPNG(nil, tile)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 3 {
				got, err := r.AppendPNG(nil, tile)
				if err != nil || !bytes.Equal(got, want) {
					t.Errorf("other bytes: %v", err)
				}
			}
		})
	}
	wg.Wait()
}

func TestErrors(t *testing.T) {
	testrace.SkipUnderRace(t, "one goroutine draws")
	r := newRenderer(t)
	for _, scale := range []int{-1, 0, 3} {
		if out, err := r.AppendPNG([]byte("x"), &Tile{Scale: scale}); !errors.Is(err, ErrScale) || string(out) != "x" {
			t.Errorf("scale %d: %v", scale, err)
		}
	}
	for _, tile := range []Tile{{Vector: []byte{0x1a}}, {Points: [9][]byte{8: {0x1a, 5}}}} {
		tile.Scale = 1
		if _, err := r.AppendPNG(nil, &tile); !errors.Is(err, mvt.ErrMalformed) {
			t.Errorf("%+v: %v, want malformed", tile, err)
		}
	}
	// These tiles have few bytes but need much work: squares over squares, lines to and fro, and
	// edges that pass a thousand rows each.
	many := &plane{}
	for range 500 {
		many.shapes = append(many.shapes, shape{
			layer: "country",
			rings: [][]mvt.XY{{{X: -9, Y: -9}, {X: 5000, Y: -9}, {X: 5000, Y: 5000}, {X: -9, Y: 5000}}},
		})
	}
	zigzag := make([]mvt.XY, 50000)
	for i := range zigzag {
		zigzag[i] = mvt.XY{X: int32(i%2) * 4096, Y: int32(i%3) * 2000}
	}
	for _, p := range []*plane{
		many,
		{shapes: []shape{{layer: "country", rings: [][]mvt.XY{zigzag}}}},
		{shapes: []shape{{layer: "country_line", lines: true, left: "x", rings: [][]mvt.XY{zigzag}}}},
	} {
		if _, err := r.AppendPNG(nil, p.window(0, 0, 4, 1)); !errors.Is(err, ErrTooComplex) {
			t.Errorf("%v, want %v", err, ErrTooComplex)
		}
	}
	// The renderer still works after the error.
	if _, err := r.AppendPNG(nil, &Tile{Scale: 1}); err != nil {
		t.Error(err)
	}
}

func TestStyle(t *testing.T) {
	for name, spoil := range map[string]func(*RegionStyle){
		"wide border": func(t *RegionStyle) { t.Border.Width = 8 },
		"casing":      func(t *RegionStyle) { t.Coast = LineStyle{Width: 2, Casing: 3} },
		"negative":    func(t *RegionStyle) { t.Coast.Width = -1 },
		"huge text":   func(t *RegionStyle) { t.Text.Size = 40 },
		"NaN":         func(t *RegionStyle) { t.Fill.Opacity = math.NaN() },
		"dot":         func(t *RegionStyle) { t.Dot.Radius = 100 },
	} {
		s := PoliticalStyle(&somePalette)
		c := s.Types["country"]
		spoil(&c)
		s.Types["country"] = c
		if _, err := New(s); !errors.Is(err, ErrStyle) || !strings.Contains(err.Error(), "country") {
			t.Errorf("%s: %v, want an error naming the type", name, err)
		}
		other := PoliticalStyle(&somePalette)
		spoil(&other.Other)
		if _, err := New(other); !errors.Is(err, ErrStyle) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// somePalette is the palette of the tests.
var somePalette = Palette{
	Water: hex(0xb7d9e9ff),
	Land:  []color.NRGBA{hex(0xf6edd1ff), hex(0xfbdccbff), hex(0xdeefd4ff), hex(0xecddf4ff), hex(0xf3d3d4ff), hex(0xc8e5daff)},
	StateTints: []color.NRGBA{
		hex(0xffffffff), hex(0xe8e8e8ff), hex(0xd0d0d0ff), hex(0xb8b8b8ff), hex(0xa0a0a0ff), hex(0x888888ff),
	},
	StateTintStrength: 0.16, Lake: hex(0xb7d9e9ff), River: hex(0x7fb2cfff), Urban: hex(0xd8cbc1ff),
	Coast: hex(0x4f7a94ff), Country: hex(0x74667fff), State: hex(0x9f95a7ff), County: hex(0xbdb6c3ff), Other: hex(0x7a6d93ff),
	Halo: hex(0xfffffff0), Dot: hex(0x46545fff), Rim: hex(0xffffffff), Airport: hex(0x1f6582ff), Point: hex(0xb3261eff),
}

func hex(c uint32) color.NRGBA {
	return color.NRGBA{R: uint8(c >> 24), G: uint8(c >> 16), B: uint8(c >> 8), A: uint8(c)}
}

// regionTile returns a tile that one feature of a layer partly covers.
func regionTile(typ, id string, mapColor any) *Tile {
	var l mvt.Layer
	l.Reset(typ)
	l.Begin(7, mvt.Polygon)
	l.TagString("id", id)
	switch v := mapColor.(type) {
	case int:
		l.TagInt("map_color", int64(v))
	case string:
		l.TagString("map_color", v)
	}
	l.Ring([]mvt.XY{{X: -64, Y: -64}, {X: 2048, Y: -64}, {X: 2048, Y: 4160}, {X: -64, Y: 4160}})
	l.End()
	return &Tile{Zoom: 5, Scale: 1, Vector: l.AppendTo(nil)}
}

// TestColours tests that a region has the colour of its map_color, or without a valid one the
// colour of its id. The number of its feature does not matter. Ids spread over all colours.
func TestColours(t *testing.T) {
	testrace.SkipUnderRace(t, "one goroutine goes through much data")
	r := newRenderer(t)
	at := func(tile *Tile) color.RGBA { return drawn(t, r, tile).RGBAAt(64, 128) }
	for n := range 13 {
		want := somePalette.Land[n%6]
		if got := at(regionTile("country", "ch", n)); got != (color.RGBA{want.R, want.G, want.B, 255}) {
			t.Errorf("number %d: %v, want %v", n, got, want)
		}
	}
	for _, bad := range []any{nil, -1, "mauve"} {
		if got, want := at(regionTile("country", "ch", bad)), at(regionTile("country", "ch", nil)); got != want {
			t.Errorf("number %v: %v, want %v", bad, got, want)
		}
	}
	seen := map[color.RGBA]int{}
	for i := range 600 {
		seen[at(regionTile("country", fmt.Sprintf("us-%03d", i), nil))]++
	}
	for c, n := range seen {
		if n < 60 || len(seen) != 6 {
			t.Errorf("%d colours; %d of 600 regions have %v", len(seen), n, c)
		}
	}
}

// placeTile returns a tile with one place in its middle.
func placeTile(zoom int, code string, population int64) *Tile {
	var l mvt.Layer
	l.Reset("places")
	l.Begin(1, mvt.Point)
	l.TagString("code", code)
	l.TagInt("population", population)
	l.TagString("name", "X")
	l.Point(mvt.XY{X: 2048, Y: 2048})
	l.End()
	tile := &Tile{Zoom: zoom, Scale: 1}
	tile.Points[4] = l.AppendTo(nil)
	return tile
}

// TestPlaces: villages appear at their zoom, and great capitals at the first one. Capitals have a
// ring. A dot without a name appears at a later zoom.
func TestPlaces(t *testing.T) {
	testrace.SkipUnderRace(t, "one goroutine draws")
	r := newRenderer(t)
	for _, tt := range []struct {
		code       string
		population int64
		from       int
	}{
		{"PPL", 0, 5}, {"PPL", 4999, 5}, {"PPL", 50_000, 3}, {"PPL", 1_000_000, 0}, {"PPLC", 200_000, 0}, {"PPLC", 100_000,
			3}, {"PPLC", 499, 5}, {"PPLC", 50, 5},
	} {
		for zoom := range 7 {
			at := drawn(t, r, placeTile(zoom, tt.code, tt.population)).RGBAAt(128, 128)
			if (at.A > 0) != (zoom >= tt.from) {
				t.Errorf("%s of %d at zoom %d: %v", tt.code, tt.population, zoom, at)
			}
			if want := map[string]color.NRGBA{"PPL": somePalette.Dot, "PPLC": somePalette.Rim}[tt.code]; at.A > 0 && at.R != want.R {
				t.Errorf("%s: the dot is %v", tt.code, at)
			}
		}
	}
}

// TestLands tests that time zones on top of other land are drawn only as borders.
func TestLands(t *testing.T) {
	r := newRenderer(t)
	tile := regionTile("timezone", "x", 0)
	if got := drawn(t, r, tile).RGBAAt(64, 128); got.A != 0 {
		t.Errorf("over other land: %v", got)
	}
	tile.Land = "timezone"
	if got := drawn(t, r, tile).RGBAAt(64, 128); got.A != 255 {
		t.Errorf("as land: %v", got)
	}
}

// TestFirst tests that borders of small regions appear at their zoom, or at any zoom if their type
// is the land.
func TestFirst(t *testing.T) {
	r := newRenderer(t)
	p := &plane{shapes: []shape{{
		layer: "county_line",
		id:    "a",
		left:  "b",
		lines: true,
		rings: [][]mvt.XY{{{X: 2048, Y: -64}, {X: 2048, Y: 4160}}},
	}}}
	for _, tt := range []struct {
		zoom  int
		land  string
		drawn bool
	}{{7, "country", false}, {8, "country", true}, {0, "county", true}} {
		tile := p.window(0, 0, tt.zoom, 1)
		tile.Land = tt.land
		if got := drawn(t, r, tile).RGBAAt(128, 128); (got.A > 0) != tt.drawn {
			t.Errorf("zoom %d on %s: %v", tt.zoom, tt.land, got)
		}
	}
}

// TestGround tests that the sea is drawn if the tile has FillSea set and the style has water. Any type
// may be the land.
func TestGround(t *testing.T) {
	plain := somePalette
	plain.Water = color.NRGBA{}
	over, err := New(PoliticalStyle(&plain))
	if err != nil {
		t.Fatal(err)
	}
	painted := newRenderer(t)
	water, land := color.RGBA{0xb7, 0xd9, 0xe9, 255}, color.RGBA{0xf6, 0xed, 0xd1, 255}
	for _, tt := range []struct {
		name         string
		r            *Renderer
		sea          bool
		land         string
		want, beside color.RGBA
	}{
		{"sea", painted, true, "county", land, water},
		{"no sea", painted, false, "county", land, color.RGBA{}},
		{"transparent water", over, true, "county", land, color.RGBA{}},
	} {
		tile := regionTile("county", "x", 0)
		tile.FillSea, tile.Land = tt.sea, tt.land
		img := drawn(t, tt.r, tile)
		if got, beside := img.RGBAAt(64, 128), img.RGBAAt(192, 128); got != tt.want || beside != tt.beside {
			t.Errorf("%s: %v and %v, want %v and %v", tt.name, got, beside, tt.want, tt.beside)
		}
	}
	tile := regionTile("state", "x", 0)
	if got := drawn(t, painted, tile).RGBAAt(64, 128); got.A == 255 || got.A == 0 {
		t.Errorf("a state that is not the land has alpha %d", got.A)
	}
}

func FuzzRender(f *testing.F) {
	r := newRenderer(f)
	sample := sampleMap().window(0, 0, 5, 1)
	f.Add(sample.Vector, sample.Points[4], uint8(5))
	f.Add([]byte{}, []byte{}, uint8(0))
	huge := &plane{shapes: []shape{
		{layer: "lake", rings: [][]mvt.XY{{{X: math.MinInt32, Y: math.MaxInt32}, {X: math.MaxInt32, Y: 1}, {X: 0, Y: math.MinInt32}}}},
		{layer: "x_line", lines: true, rings: [][]mvt.XY{{{X: math.MinInt32, Y: math.MaxInt32}, {X: math.MaxInt32, Y: math.MinInt32}}}},
	}}
	f.Add(huge.window(0, 0, 5, 1).Vector, sample.Vector, uint8(255))
	f.Fuzz(func(t *testing.T, vector, points []byte, zoom uint8) {
		tile := &Tile{Zoom: int(zoom), Scale: 1, Vector: vector}
		for i := range tile.Points {
			tile.Points[i] = points
		}
		file, err := r.AppendPNG(nil, tile)
		if err != nil {
			if !errors.Is(err, mvt.ErrMalformed) && !errors.Is(err, ErrTooComplex) {
				t.Fatal(err)
			}
			return
		}
		again, err := r.AppendPNG(nil, tile)
		if err != nil || !bytes.Equal(file, again) {
			t.Fatalf("drawn again it differs: %v", err)
		}
		if _, err := png.Decode(bytes.NewReader(file)); err != nil {
			t.Fatal(err)
		}
	})
}
