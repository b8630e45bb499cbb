package raster

import (
	"cmp"
	"errors"
	"fmt"
	"image"
	"image/color"
	"slices"
	"sync"

	"golang.org/x/image/vector"

	"quadrille/tiles/mvt"
)

// ErrTooComplex is returned for a tile that would take too much work to draw.
var ErrTooComplex = errors.New("the tile is too complex to be drawn: ask for fewer layers, or for the vector tile")

// ErrScale is returned for a tile whose scale is neither 1 nor 2.
var ErrScale = errors.New("the scale of an image must be 1, for 256 pixels, or 2, for 512")

// tileSize is the side of a tile at scale 1, in pixels.
const tileSize = 256

// budget bounds the pixels that all shapes of a tile at scale 1 may touch in
// total: 256 times the tile. Real tiles need less than a quarter of it.
const budget = 1 << 24

// Tile is the input of an image.
type Tile struct {
	// Zoom is the tile's zoom. Lower zooms have thinner lines and fewer names.
	Zoom int
	// Row is the tile's row, 0 in the north. It determines how many pixels a kilometre has in Web Mercator.
	Row uint32
	// PlateCarree is set if the tile is in degrees, as many of them wide as one of its zoom in Web Mercator.
	PlateCarree bool
	// Scale is 1 for 256 pixels, 2 for 512.
	Scale int
	// Land is the region type that is drawn beneath all others as the land, in the
	// style's colours for land. If it is empty, every type has its own look.
	Land string
	// Paint colours a layer by its values, if it is not nil.
	Paint *Paint
	// FillSea fills every place without a region with water, in the style's colour.
	FillSea bool
	// Vector is the vector tile: polygons and lines with their buffer. Its
	// points are not drawn.
	Vector []byte
	// Points are the point layers of the tile and of the eight around it, row
	// by row from the north-west. Points[4] is the tile's own. Each point
	// belongs only to the tile it lies in. Tiles beyond the world's north and
	// south are empty. To the east and west the world repeats.
	Points [9][]byte
}

// Paint colours the features of a layer by an attribute, in place of its style: polygons, which lie above the parts
// of countries then, or the lines or the points of a layer that has only these. Clusters of points stay as they are.
type Paint struct {
	Layer     string // of the vector tile
	Attribute string
	Colors    []color.NRGBA // opaque, or transparent for features that are not drawn
	// Class returns the index of the colour for a value, a message of package mvt, or for nil, which is none.
	Class func(value []byte) int
}

// of reports whether the layer is painted. A nil Paint has no layer.
func (p *Paint) of(layer []byte) bool { return p != nil && p.Layer == string(layer) }

// choose returns the index of the colour of a feature.
func (p *Paint) choose(v *mvt.LayerView, f mvt.Feature) (int, error) {
	var own []byte
	err := v.EachTag(f, func(key, value []byte) bool {
		if string(key) == p.Attribute {
			own = value
		}
		return own == nil
	})
	return p.Class(own), err
}

// placesType is the type of the layer to which Style.Places applies.
const placesType = "places"

// Renderer draws tiles. Any number of goroutines may use one.
type Renderer struct {
	looks map[string]*look
	other *look
	// places has two looks for each tier, the second for capitals.
	places [][2]*look
	land   palette
	style  Style
	pool   sync.Pool // of *canvas
}

// look is a Type prepared for drawing.
type look struct {
	RegionStyle
	palette palette
	face    *face
	sizes   []*look // of its names: itself, and those of Type.SmallerTexts
	count   *look   // of clusters
}

// New returns a renderer. Errors match ErrStyle.
func New(style Style) (*Renderer, error) {
	if err := style.check(); err != nil {
		return nil, err
	}
	fonts, err := faces()
	if err != nil {
		return nil, err
	}
	var prepare func(t RegionStyle) *look
	prepare = func(t RegionStyle) *look {
		t.Turn = cmp.Or(t.Turn, t.Order)
		l := &look{RegionStyle: t, palette: t.Fill.palette(), face: fonts.regular}
		if t.Text.Bold {
			l.face = fonts.bold
		}
		l.sizes, l.count = []*look{l}, l
		if t.Count.Size > 0 {
			t.Text, t.Count = t.Count, TextStyle{}
			l.count = prepare(t)
		}
		for _, text := range t.SmallerTexts {
			l.sizes = append(l.sizes, prepare(RegionStyle{Turn: t.Turn, Text: text, OnlyAsLand: t.OnlyAsLand}))
		}
		return l
	}
	r := &Renderer{looks: make(map[string]*look), other: prepare(style.Other), land: style.Land.palette(), style: style}
	for _, t := range style.Places.Tiers {
		disc := RegionStyle{Turn: t.Turn, Text: t.Text, Dot: style.Types[placesType].Dot}
		disc.Dot.Radius = t.Radius
		ring := disc // comes as early as great capitals do
		ring.Turn = style.Places.Tiers[0].Turn
		ring.Dot.Color, ring.Dot.Rim = disc.Dot.Rim, t.Text.Color
		r.places = append(r.places, [2]*look{prepare(disc), prepare(ring)})
	}
	for name, t := range style.Types {
		r.looks[name] = prepare(t)
	}
	r.pool.New = func() any { return new(canvas) }
	return r, nil
}

func (r *Renderer) look(name string) *look {
	if l := r.looks[name]; l != nil {
		return l
	}
	return r.other
}

// AppendPNG draws a tile and appends it to dst as a PNG file, with a palette if 256
// colours are enough. Unless FillSea is set, places where nothing is drawn are transparent.
// Errors match ErrScale, ErrTooComplex or mvt.ErrMalformed; dst is then returned
// unchanged.
func (r *Renderer) AppendPNG(dst []byte, t *Tile) ([]byte, error) {
	err := r.with(t.Scale, func(c *canvas) (err error) {
		if err = r.draw(c, t); err == nil {
			dst, err = c.appendPNG(dst)
		}
		return err
	})
	return dst, err
}

// with calls do with an empty canvas. Afterwards it clears the names, because they refer to the
// caller's bytes.
func (r *Renderer) with(scale int, do func(*canvas) error) error {
	if scale != 1 && scale != 2 {
		return fmt.Errorf("%w, not %d", ErrScale, scale)
	}
	c := r.pool.Get().(*canvas)
	defer r.pool.Put(c)
	defer func() { clear(c.names) }()
	c.reset(scale)
	return do(c)
}

// draw draws a tile's fills, then its lines, then its names.
func (r *Renderer) draw(c *canvas, t *Tile) error {
	if err := r.listLayers(c, t); err != nil {
		return err
	}
	if t.FillSea {
		c.flood(r.style.Water)
	}
	for _, l := range c.layers {
		if l.fill.Opacity > 0 && len(l.colors) > 0 {
			if err := c.fillLayer(&l); err != nil {
				return err
			}
		}
	}
	for _, l := range slices.Backward(c.layers) {
		if t.Zoom < l.BordersFromZoom && !l.land && l.paint == nil {
			continue
		}
		if err := c.strokeLayer(&l, t.Zoom); err != nil {
			return err
		}
	}
	return r.drawPoints(c, t)
}

// layer is a layer of the tile being drawn.
type layer struct {
	raw []byte
	*look
	fill   FillStyle
	colors palette
	paint  *Paint // in place of colors
	order  int
	land   bool
	inland bool // another type is the land, and its coast is the shore
}

// listLayers lists the layers of a tile from bottom to top.
func (r *Renderer) listLayers(c *canvas, t *Tile) error {
	c.layers = c.layers[:0]
	tile := t.Vector
	for {
		rest, ok, err := mvt.NextLayer(tile, &c.view)
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		name, label := typeOf(c.view.Name)
		if !label {
			l := layer{raw: tile[:len(tile)-len(rest)], look: r.look(name)}
			l.fill, l.colors, l.order = l.Fill, l.palette, l.Order
			switch {
			case name == t.Land:
				l.fill, l.colors, l.land = r.style.Land, r.land, true
			case l.OnlyAsLand:
				l.colors = nil
			case l.NoCoastOnLand:
				l.inland = t.Land != ""
			}
			if t.Paint != nil && (t.Paint.of(c.view.Name) || t.Paint.Layer == name) {
				l.order = r.style.Other.Order
			}
			if t.Paint.of(c.view.Name) {
				l.paint, l.fill = t.Paint, FillStyle{t.Paint.Colors, 1}
				l.colors = l.fill.palette()
			}
			c.layers = append(c.layers, l)
		}
		tile = rest
	}
	// The sort is stable: types with equal Order stay in the order of the tile.
	slices.SortStableFunc(c.layers, func(a, b layer) int { return cmp.Compare(a.order, b.order) })
	return nil
}

// canvas is the memory for drawing one tile.
type canvas struct {
	scale  int
	size   int     // pixels on a side
	budget int     // pixels that may still be touched
	pix    []uint8 // premultiplied RGBA

	sums   []uint32 // of a layer's fills: colours times coverage, coverage
	mask   image.Alpha
	around image.Alpha // mask of casings and halos
	raster vector.Rasterizer
	enc    encoder

	view   mvt.LayerView
	path   mvt.Path
	points []mvt.XY
	ends   []int // of rings among the points
	layers []layer
	names  []name
	upper  []byte       // names in capital letters
	places [][3]float64 // positions and populations of places
	text   layout
}

func (c *canvas) reset(scale int) {
	c.scale, c.size = scale, tileSize*scale
	c.budget = budget * scale * scale
	c.pix = resize(c.pix, 4*c.size*c.size)
	clear(c.pix)
}

// flood colours the whole picture.
func (c *canvas) flood(col color.NRGBA) {
	for i := 0; i < len(c.pix) && col.A > 0; i += 4 {
		c.blend(i, rgb{col.R, col.G, col.B}, uint32(col.A))
	}
}

// spend takes pixels from the tile's budget and returns ErrTooComplex when it is used up.
func (c *canvas) spend(pixels int) error {
	if c.budget -= pixels; c.budget < 0 {
		return ErrTooComplex
	}
	return nil
}

// resize returns a slice of n elements, the old one if it is large enough.
func resize[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

// clearedMask resizes a mask and makes it transparent.
func clearedMask(m *image.Alpha, w, h int) {
	m.Pix = resize(m.Pix, w*h)
	clear(m.Pix)
	m.Stride, m.Rect = w, image.Rect(0, 0, w, h)
}

// blend draws a colour over a pixel.
func (c *canvas) blend(i int, col rgb, alpha uint32) {
	p := c.pix[i : i+4 : i+4]
	if alpha >= 255 {
		p[0], p[1], p[2], p[3] = col[0], col[1], col[2], 255
		return
	}
	rest := 255 - alpha
	p[0] = uint8(div255(uint32(col[0])*alpha + uint32(p[0])*rest))
	p[1] = uint8(div255(uint32(col[1])*alpha + uint32(p[1])*rest))
	p[2] = uint8(div255(uint32(col[2])*alpha + uint32(p[2])*rest))
	p[3] = uint8(div255(255*alpha + uint32(p[3])*rest))
}

// div255 divides by 255 and rounds. It is exact for v up to 255².
func div255(v uint32) uint32 {
	v += 128
	return (v + v>>8) >> 8
}

// step rounds a coverage to one of 16 levels. The eye sees no difference, and images shrink by a
// third.
func step(cover uint32) uint32 { return (cover + 8) / 17 * 17 }

// blendMask draws a colour, whose alpha is 0 to 255, over the pixels of a mask
// whose corner is at x0, y0.
func (c *canvas) blendMask(m *image.Alpha, x0, y0 int, col rgb, alpha uint32) {
	r := m.Rect.Add(image.Pt(x0, y0)).Intersect(image.Rect(0, 0, c.size, c.size))
	for y := r.Min.Y; y < r.Max.Y; y++ {
		row := m.Pix[(y-y0)*m.Stride+r.Min.X-x0:][:r.Dx()]
		i := 4 * (y*c.size + r.Min.X)
		for x, cover := range row {
			if cover != 0 {
				c.blend(i+4*x, col, div255(step(uint32(cover))*alpha))
			}
		}
	}
}
