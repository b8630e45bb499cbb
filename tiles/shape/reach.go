package shape

import (
	"math"

	"github.com/paulmach/orb"

	"quadrille/feature"
	"quadrille/quadkey"
	"quadrille/tiles/internal/sphere"
)

// lineWidth is the distance in metres within which a line or a point without a distance is met: grids and numbers
// are rounded, so that hardly any line would end on another.
const lineWidth = 1e-3

// curve is a line in longitude and a second coordinate: the latitude or, with mercator, the height on the map of
// Web Mercator. Both are in radians.
type curve struct {
	a, b     orb.Point
	atA, atB sphere.Vec
	mercator bool
	bend     float64 // bounds the distance on the unit sphere from the chord between its ends
}

func newCurve(a, b orb.Point, atA, atB sphere.Vec, mercator bool) curve {
	c := curve{a, b, atA, atB, mercator, 0}
	widest := 1.0
	if a[1] > 0 == (b[1] > 0) {
		y := min(math.Abs(a[1]), math.Abs(b[1]))
		if widest = math.Cos(y); mercator {
			widest = 1 / math.Cosh(y)
		}
	}
	// An arc γ(t) with t from 0 to 1 stays within max|γ″|/8. On the map |γ″| ≤ cos φ·(|λ′|+|ψ′|)², and in degrees
	// |γ″| ≤ φ′² + 2|φ′λ′| + cos φ·λ′².
	dx, dy := math.Abs(b[0]-a[0]), math.Abs(b[1]-a[1])
	if c.bend = (dy*dy + 2*dx*dy + widest*dx*dx) / 8; mercator {
		c.bend = widest * (dx + dy) * (dx + dy) / 8
	}
	return c
}

// curveOf returns the curve of a line.
func curveOf(l *feature.Line) curve {
	point := func(p quadkey.Position) orb.Point {
		at := orb.Point{p.Lon * math.Pi / 180, p.Lat * math.Pi / 180}
		if l.Mercator {
			at[1] = math.Asinh(math.Tan(at[1]))
		}
		return at
	}
	return newCurve(point(l.A), point(l.B), sphere.At(l.A.Lon, l.A.Lat), sphere.At(l.B.Lon, l.B.Lat), l.Mercator)
}

func (e *edge) curve() curve {
	const radians = math.Pi / 180
	return newCurve(orb.Point{e.a[0] * radians, e.a[1] * radians}, orb.Point{e.b[0] * radians, e.b[1] * radians},
		sphere.At(e.a[0], e.a[1]), sphere.At(e.b[0], e.b[1]), false)
}

func (c *curve) halves() (curve, curve) {
	m := orb.Point{(c.a[0] + c.b[0]) / 2, (c.a[1] + c.b[1]) / 2}
	at := sphere.On(m[0], math.Sin(m[1]), math.Cos(m[1]))
	if c.mercator {
		at = sphere.On(m[0], math.Tanh(m[1]), 1/math.Cosh(m[1]))
	}
	return newCurve(c.a, m, c.atA, at, c.mercator), newCurve(m, c.b, at, c.atB, c.mercator)
}

// closer reports whether two curves have points within a distance in space, to a millimetre.
func closer(c, d *curve, chord float64) bool {
	const millimetre = 1e-3 / quadkey.EarthRadius
	between, bend := sphere.Between(c.atA, c.atB, d.atA, d.atB), c.bend+d.bend
	switch {
	case between-bend > chord:
		return false
	case between+bend <= chord, bend < millimetre:
		return between <= chord
	}
	if d.bend > c.bend {
		c, d = d, c
	}
	first, second := c.halves()
	return closer(&first, d, chord) || closer(&second, d, chord)
}

// reaches reports whether a line has a point in the area, if it is in the cells of a part, and how many edges it was
// compared with.
func (a *Area) reaches(p *part, l *feature.Line) (in bool, work int) {
	const slack = 1e-13
	if len(a.polygons) > 0 {
		work = len(a.rows.at(l.A.Lat))
		if a.inside(l.A.Lon, l.A.Lat) {
			return true, work + 1
		}
	}
	c := curveOf(l)
	middle, size := c.atA.Mid(c.atB), c.atA.To(c.atB)/2+c.bend
	chord := sphere.ChordOf(max(a.radius, lineWidth))
	for _, i := range p.edges {
		work++
		if b := &a.balls[i]; middle.To(b.middle)-size-b.size > chord+slack {
			continue
		}
		if e := a.edges[i].curve(); closer(&c, &e, chord) {
			return true, work
		}
	}
	return false, work + 1
}

// setAnchors gives each part the first positions of lines and shells in its cells.
func (a *Area) setAnchors() {
	ring := int32(-1)
	for i := range a.edges {
		e := &a.edges[i]
		if e.ring == ring {
			continue
		}
		ring = e.ring
		// Of the copies of a line by whole turns, one has its beginning here.
		cell, err := quadkey.CellOf(e.a[0], e.a[1])
		if at := a.from(cell); err == nil && a.rings[ring].kind != hole && at < len(a.parts) {
			a.parts[at].anchors = append(a.parts[at].anchors, quadkey.Position{Lat: e.a[1], Lon: e.a[0]})
		}
	}
}
