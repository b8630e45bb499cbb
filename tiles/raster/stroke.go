package raster

import (
	"image/color"
	"math"

	"quadrille/tiles/mvt"
)

// strokeLayer draws the lines of a layer, coasts beneath borders.
func (c *canvas) strokeLayer(l *layer, zoom int) error {
	if _, _, err := mvt.NextLayer(l.raw, &c.view); err != nil {
		return err
	}
	if l.paint != nil {
		return c.strokePainted(l, zoom)
	}
	for _, coast := range []bool{true, false} {
		style := l.Border
		if coast {
			style = l.Coast
		}
		if style.Width > 0 && (!coast || l.land || !l.OnlyAsLand && !l.inland) {
			if err := c.strokeLines(style, zoom, func(f mvt.Feature) bool {
				return (c.view.StringTag(f, "left") == nil || c.view.StringTag(f, "right") == nil) == coast
			}); err != nil {
				return err
			}
		}
	}
	return nil
}

// strokePainted draws the lines of a layer of lines at full strength, those of one colour together.
func (c *canvas) strokePainted(l *layer, zoom int) error {
	style := l.Coast // a line has no region on either side
	style.GrowsFromZoom, style.LightFromZoom = zoom-5, 0
	for i, col := range l.paint.Colors {
		if style.Color = col; col.A == 0 {
			continue
		}
		if err := c.strokeLines(style, zoom, func(f mvt.Feature) bool {
			at, err := l.paint.choose(&c.view, f)
			return err == nil && at == i
		}); err != nil {
			return err
		}
	}
	return nil
}

// strength returns a line's share of its full width and darkness at a zoom. At full strength,
// borders of small regions would cover a map of the world at low zooms.
func (l *LineStyle) strength(zoom int) float64 {
	return min(max(0.5+0.1*float64(zoom-l.GrowsFromZoom), 0.5), 1)
}

// strokeLines draws the lines for which of returns true.
func (c *canvas) strokeLines(style LineStyle, zoom int, of func(f mvt.Feature) bool) error {
	strength := style.strength(zoom)
	if style.LightFromZoom > 0 && zoom >= style.LightFromZoom {
		strength /= 2
	}
	k := float64(c.scale) * strength
	p := pen{c: c, inner: style.Width / 2 * k, outer: (style.Width/2 + style.Casing) * k}
	if style.Casing == 0 {
		p.outer = 0
	}
	scale := float64(c.size) / float64(c.view.Extent)
	drawn := false
	for i := range c.view.Len() {
		f, err := c.view.Feature(i)
		if err != nil {
			return err
		}
		if f.Type != mvt.LineString || !of(f) {
			continue
		}
		if !drawn {
			drawn = true
			p.lift()
		}
		c.path.Reset(f)
		for {
			pts, _, ok, err := c.path.Next(c.points[:0])
			if err != nil {
				return err
			}
			if !ok {
				break
			}
			c.points = pts
			for j := 1; j < len(pts); j++ {
				a, b := pts[j-1], pts[j]
				draw := p.segment
				if style.Dashed {
					draw = p.dashes
				}
				if err := draw(float64(a.X)*scale, float64(a.Y)*scale, float64(b.X)*scale, float64(b.Y)*scale); err != nil {
					return err
				}
			}
		}
	}
	if drawn {
		p.lay(fade(style.Color, strength), fade(style.CasingColor, strength))
	}
	return nil
}

// pen strokes segments with round ends. The coverage of a pixel depends on the distance of its
// middle to the nearest segment, so the order of segments and their joins do not matter.
type pen struct {
	c            *canvas
	inner, outer float64 // half the widths of the line and of its casing, 0 for none
}

// lift begins a new stroke.
func (p *pen) lift() {
	clearedMask(&p.c.mask, p.c.size, p.c.size)
	if p.outer > 0 {
		clearedMask(&p.c.around, p.c.size, p.c.size)
	}
}

// lay blends the stroke onto the picture.
func (p *pen) lay(line, casing color.NRGBA) {
	if p.outer > 0 {
		p.c.blendMask(&p.c.around, 0, 0, rgb{casing.R, casing.G, casing.B}, uint32(casing.A))
	}
	p.c.blendMask(&p.c.mask, 0, 0, rgb{line.R, line.G, line.B}, uint32(line.A))
}

// Dashes follow the pixels of a segment's longer axis. A tile has a whole number of periods, so
// dashes are the same in every tile.
const (
	dashPeriod = 8
	dash       = 5
)

// dashes strokes a segment as dashes.
func (p *pen) dashes(ax, ay, bx, by float64) error {
	from, to := ax, bx
	if math.Abs(by-ay) > math.Abs(bx-ax) {
		from, to = ay, by
	}
	if from > to {
		ax, ay, bx, by, from, to = bx, by, ax, ay, to, from
	}
	size := float64(p.c.size)
	period := dashPeriod * float64(p.c.scale)
	for at := math.Floor(max(from, -size)/period) * period; at < min(to, 2*size); at += period {
		start, end := max(at, from), min(at+period*dash/dashPeriod, to)
		if start >= end && from != to {
			continue
		}
		t, u := (start-from)/max(to-from, 1e-9), (end-from)/max(to-from, 1e-9)
		if err := p.segment(ax+t*(bx-ax), ay+t*(by-ay), ax+u*(bx-ax), ay+u*(by-ay)); err != nil {
			return err
		}
	}
	return nil
}

func (p *pen) segment(ax, ay, bx, by float64) error {
	size := float64(p.c.size)
	reach := max(p.inner, p.outer) + 0.5
	left, right := min(ax, bx)-reach, max(ax, bx)+reach
	top, bottom := min(ay, by)-reach, max(ay, by)+reach
	if right <= 0 || bottom <= 0 || left >= size || top >= size {
		return p.c.spend(1)
	}
	left, right, top, bottom = max(left, 0), min(right, size), max(top, 0), min(bottom, size)
	length := math.Hypot(bx-ax, by-ay)
	var ux, uy float64
	if length > 0 {
		ux, uy = (bx-ax)/length, (by-ay)/length
	}
	touched := 1
	for y := int(top); y < int(math.Ceil(bottom)); y++ {
		py := float64(y) + 0.5 - ay
		x0, x1 := left, right
		// Only the pixels near the line through the segment are visited.
		if math.Abs(uy) > 1e-3 {
			middle, half := ax+py*ux/uy, reach/math.Abs(uy)
			x0, x1 = max(x0, middle-half-1), min(x1, middle+half+1)
		}
		if x0 >= x1 {
			touched++
			continue
		}
		from, to := int(x0), int(math.Ceil(x1))
		touched += to - from
		i := y * p.c.size
		for x := from; x < to; x++ {
			px := float64(x) + 0.5 - ax
			t := min(max(px*ux+py*uy, 0), length)
			dx, dy := px-t*ux, py-t*uy
			d := dx*dx + dy*dy
			if d >= reach*reach {
				continue
			}
			d = math.Sqrt(d)
			thicken(&p.c.mask.Pix[i+x], p.inner+0.5-d)
			if p.outer > 0 {
				thicken(&p.c.around.Pix[i+x], p.outer+0.5-d)
			}
		}
	}
	return p.c.spend(touched)
}

// thicken raises a pixel's coverage to v, 0 to 1.
func thicken(pix *uint8, v float64) {
	if v > 0 {
		*pix = max(*pix, uint8(min(v, 1)*255+0.5))
	}
}

func fade(c color.NRGBA, strength float64) color.NRGBA {
	c.A = uint8(math.Round(float64(c.A) * strength))
	return c
}
