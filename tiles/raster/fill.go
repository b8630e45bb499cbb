package raster

import (
	"image"
	"image/draw"
	"math"

	"quadrille/tiles/mvt"
)

// fillLayer fills the polygons of a layer. It adds up coverages over the layer
// before it blends them with the picture, so neighbours meet exactly. Where
// regions overlap their colours mix.
func (c *canvas) fillLayer(l *layer) error {
	if _, _, err := mvt.NextLayer(l.raw, &c.view); err != nil {
		return err
	}
	c.sums = resize(c.sums, 4*c.size*c.size)
	var dirty image.Rectangle
	for i := range c.view.Len() {
		f, err := c.view.Feature(i)
		if err != nil {
			return err
		}
		if f.Type != mvt.Polygon {
			continue
		}
		r, err := c.cover(f, float64(c.size)/float64(c.view.Extent))
		if err != nil {
			return err
		}
		if r.Empty() {
			continue
		}
		if dirty.Empty() {
			c.clearSums(r)
			dirty = r
		} else if u := dirty.Union(r); u != dirty {
			c.clearSumsAround(u, dirty)
			dirty = u
		}
		var col rgb
		if l.paint == nil {
			col, err = l.colors.choose(&c.view, f)
		} else if at, perr := l.paint.choose(&c.view, f); l.paint.Colors[at].A == 0 {
			continue
		} else {
			col, err = l.colors[at], perr
		}
		if err != nil {
			return err
		}
		c.addSums(r, col)
	}
	c.blendSums(dirty, uint32(math.Round(l.fill.Opacity*255)))
	return nil
}

// cover rasterises a polygon into c.mask and returns the covered pixels. There are none if the
// polygon lies outside the tile.
func (c *canvas) cover(f mvt.Feature, scale float64) (image.Rectangle, error) {
	// Compute the bounds first, so that the cost of a small shape depends only on the pixels that
	// it covers.
	c.points = c.points[:0]
	c.path.Reset(f)
	c.ends = c.ends[:0]
	for {
		pts, closed, ok, err := c.path.Next(c.points)
		if err != nil {
			return image.Rectangle{}, err
		}
		if !ok {
			break
		}
		if closed {
			c.points = pts
			c.ends = append(c.ends, len(pts))
		}
	}
	if len(c.points) == 0 {
		return image.Rectangle{}, nil
	}
	lo, hi := c.points[0], c.points[0]
	for _, p := range c.points {
		lo.X, lo.Y = min(lo.X, p.X), min(lo.Y, p.Y)
		hi.X, hi.Y = max(hi.X, p.X), max(hi.Y, p.Y)
	}
	limit := float64(c.size)
	pixel := func(v int32, round func(float64) float64) int {
		return int(min(max(round(float64(v)*scale), 0), limit))
	}
	r := image.Rect(pixel(lo.X, math.Floor), pixel(lo.Y, math.Floor), pixel(hi.X, math.Ceil), pixel(hi.Y, math.Ceil))
	if r.Empty() {
		return r, nil
	}
	if err := c.spend(2 * r.Dx() * r.Dy()); err != nil {
		return r, err
	}

	c.raster.Reset(r.Dx(), r.Dy())
	e := edges{c: c, w: float64(r.Dx()), h: float64(r.Dy())}
	x0, y0 := float64(r.Min.X), float64(r.Min.Y)
	start := 0
	for _, end := range c.ends {
		ring := c.points[start:end]
		start = end
		prev := ring[len(ring)-1]
		ax, ay := float64(prev.X)*scale-x0, float64(prev.Y)*scale-y0
		for _, p := range ring {
			bx, by := float64(p.X)*scale-x0, float64(p.Y)*scale-y0
			e.add(ax, ay, bx, by)
			ax, ay = bx, by
		}
		if err := c.spend(e.spent); err != nil {
			return r, err
		}
		e.spent = 0
	}
	c.mask.Pix = resize(c.mask.Pix, r.Dx()*r.Dy())
	c.mask.Stride, c.mask.Rect = r.Dx(), image.Rect(0, 0, r.Dx(), r.Dy())
	c.raster.DrawOp = draw.Src
	c.raster.Draw(&c.mask, c.mask.Rect, image.Opaque, image.Point{})
	return r, nil
}

// edges feeds the edges of polygons to the rasterizer, clipped to its window of w by h pixels. An
// edge left or right of the window is moved onto the window's side. That keeps the coverage inside
// the window and protects the rasterizer's fixed-point numbers from overflow.
type edges struct {
	c     *canvas
	w, h  float64
	spent int
}

func (e *edges) add(ax, ay, bx, by float64) {
	e.spent++
	if ay == by || max(ay, by) <= 0 || min(ay, by) >= e.h {
		return
	}
	at := func(y float64) float64 { return ax + (bx-ax)*((y-ay)/(by-ay)) }
	cx, cy, dx, dy := ax, ay, bx, by
	switch {
	case cy < 0:
		cx, cy = at(0), 0
	case cy > e.h:
		cx, cy = at(e.h), e.h
	}
	switch {
	case dy < 0:
		dx, dy = at(0), 0
	case dy > e.h:
		dx, dy = at(e.h), e.h
	}
	e.split(cx, cy, dx, dy, 0)
}

// split cuts an edge where it crosses the left side, then the right one.
func (e *edges) split(ax, ay, bx, by float64, side int) {
	if side < 2 {
		x := e.w * float64(side)
		if (ax < x) == (bx < x) {
			e.split(ax, ay, bx, by, side+1)
			return
		}
		y := ay + (by-ay)*((x-ax)/(bx-ax))
		e.split(ax, ay, x, y, side+1)
		e.split(x, y, bx, by, side+1)
		return
	}
	ax, bx = min(max(ax, 0), e.w), min(max(bx, 0), e.w)
	e.spent += int(math.Abs(by-ay)+math.Abs(bx-ax)) + 1
	e.c.raster.MoveTo(float32(ax), float32(ay))
	if n := math.Ceil(math.Abs(by-ay) / stride); n > 1 {
		for i := 1.0; i < n; i++ {
			e.c.raster.LineTo(float32(ax+(bx-ax)*i/n), float32(ay+(by-ay)*i/n))
		}
	}
	e.c.raster.LineTo(float32(bx), float32(by))
}

// stride is the number of rows of an edge that are passed to the rasterizer at a time. The
// rasterizer computes an edge's place in each row from the rounded place in the row before. Over a
// whole tile the error would reach half a pixel, and would differ in the next tile.
const stride = 8

// clearSums clears the sums of some pixels.
func (c *canvas) clearSums(r image.Rectangle) {
	for y := r.Min.Y; y < r.Max.Y; y++ {
		clear(c.sums[4*(y*c.size+r.Min.X) : 4*(y*c.size+r.Max.X)])
	}
}

// clearSumsAround clears the sums of the pixels in outer that are not in inner.
// inner lies inside outer.
func (c *canvas) clearSumsAround(outer, inner image.Rectangle) {
	c.clearSums(image.Rect(outer.Min.X, outer.Min.Y, outer.Max.X, inner.Min.Y))
	c.clearSums(image.Rect(outer.Min.X, inner.Max.Y, outer.Max.X, outer.Max.Y))
	c.clearSums(image.Rect(outer.Min.X, inner.Min.Y, inner.Min.X, inner.Max.Y))
	c.clearSums(image.Rect(inner.Max.X, inner.Min.Y, outer.Max.X, inner.Max.Y))
}

// addSums adds a shape of one colour to the sums. c.mask has its coverage of the pixels r.
func (c *canvas) addSums(r image.Rectangle, col rgb) {
	red, green, blue := uint32(col[0]), uint32(col[1]), uint32(col[2])
	for y := r.Min.Y; y < r.Max.Y; y++ {
		row := c.mask.Pix[(y-r.Min.Y)*c.mask.Stride:][:r.Dx()]
		sums := c.sums[4*(y*c.size+r.Min.X):][:4*len(row)]
		for x, m := range row {
			if m == 0 {
				continue
			}
			s := sums[4*x : 4*x+4 : 4*x+4]
			cover := uint32(m)
			s[0] += cover * red
			s[1] += cover * green
			s[2] += cover * blue
			s[3] += cover
		}
	}
}

// nearlyFull is the sum of coverages from which a pixel counts as fully covered. It is less than
// 255 because the coverage of each region in a pixel is rounded down.
const nearlyFull = 252

// blendSums blends the sums with the picture.
func (c *canvas) blendSums(r image.Rectangle, opacity uint32) {
	for y := r.Min.Y; y < r.Max.Y; y++ {
		for i := 4 * (y*c.size + r.Min.X); i < 4*(y*c.size+r.Max.X); i += 4 {
			s := c.sums[i : i+4 : i+4]
			cover := s[3]
			if cover == 0 {
				continue
			}
			half := cover / 2
			col := rgb{uint8((s[0] + half) / cover), uint8((s[1] + half) / cover), uint8((s[2] + half) / cover)}
			alpha := opacity
			if cover < nearlyFull {
				alpha = div255(step(cover) * opacity)
			}
			c.blend(i, col, alpha)
		}
	}
}
