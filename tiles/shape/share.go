package shape

import (
	"math"

	"github.com/paulmach/orb"

	"quadrille/quadkey"
	"quadrille/tiles/internal/grid"
	"quadrille/tiles/internal/layout"
)

// Measure is the size of an area, of polygons, and of what they share, in square metres.
type Measure struct {
	Area, Polygons, Shared float64
	Positions              int // of the polygons and of the area, which are compared
}

// Measure compares the area with polygons, such as those of a region. Other geometries share nothing. Areas are those
// on a sphere with the radius quadkey.EarthRadius, between borders that are rounded to the grid of 2²⁵ steps
// around the equator, 1.2 m. Errors match ErrGeometry. Without HasBorder all are 0.
func (a *Area) Measure(g orb.Geometry) (m Measure, err error) {
	b, err := a.outlines()
	if err != nil || !a.HasBorder() {
		return m, err
	}
	o := grid.NewOutliner()
	drawn, positions, err := draw(o, g)
	if err != nil {
		return m, err
	}
	m.Area, m.Polygons, m.Positions = squareMetres(b.plate), squareMetres(drawn), positions+len(b.drawn)
	shared, err := o.Shared(b.drawn, drawn)
	if err != nil {
		return m, refuse("%s", err)
	}
	m.Shared = squareMetres(shared)
	return m, nil
}

// draw draws polygons in plate carrée, and returns the number of their positions.
func draw(o *grid.Outliner, g orb.Geometry) (drawn []grid.Edge, positions int, err error) {
	var list orb.MultiPolygon
	switch g := g.(type) {
	case orb.Polygon:
		list = orb.MultiPolygon{g}
	case orb.MultiPolygon:
		list = g
	}
	var open [][]orb.Ring
	for _, p := range list {
		open = append(open, opened(p))
		for _, r := range p {
			positions += len(r)
		}
	}
	if drawn, err = layout.Outline(o, open, layout.PlateCarree); err != nil {
		err = refuse("%s", err)
	}
	return drawn, positions, err
}

// Covers reports whether polygons are in those of the area as a whole, on the grid of Measure. No polygon is in a line. With a radius
// it cannot tell. Errors match ErrGeometry.
func (a *Area) Covers(g orb.Geometry) (bool, error) {
	if a.radius > 0 {
		return false, refuse("what is within a distance holds no region as a whole; ask for what meets it, or give a polygon")
	}
	if _, err := a.outlines(); err != nil {
		return false, err
	}
	o := grid.NewOutliner()
	drawn, _, err := draw(o, g)
	if err != nil {
		return false, err
	}
	if len(drawn) == 0 {
		return false, refuse("lines are not compared so; ask for what meets the polygon")
	}
	rest, err := o.Minus(drawn, a.border.plate)
	if err != nil {
		return false, refuse("%s", err)
	}
	return len(rest) == 0, nil
}

// squareMetres returns the area of a chain in plate carrée. By Green's theorem it is R²∮sin φ dλ: sin φ and λ are
// the coordinates of the equal-area cylindrical projection (Snyder, "Map Projections", 1987, page 76). Along a
// straight edge the mean of sin φ is that of its middle times sin(δ)/δ for half its height δ.
func squareMetres(chain []grid.Edge) (sum float64) {
	const unit = 2 * math.Pi / grid.WorldSize
	for _, e := range chain {
		mean := math.Sin(math.Pi/2 - (float64(e.A.Y)+float64(e.B.Y))/2*unit)
		if half := (float64(e.B.Y) - float64(e.A.Y)) / 2 * unit; half != 0 {
			mean *= math.Sin(half) / half
		}
		sum += (float64(e.B.X) - float64(e.A.X)) * unit * mean
	}
	return sum * quadkey.EarthRadius * quadkey.EarthRadius
}
