// Package shape makes areas of geometries: what is in polygons, on lines, or within a distance of
// any geometry. Edges are straight lines of longitude and latitude, as RFC 7946 says, and are never
// read the short way across ±180°. A geometry that crosses it has longitudes beyond, or is cut there.
package shape

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"math"
	"sync"

	"github.com/paulmach/orb"

	"quadrille/feature"
	"quadrille/quadkey"
	"quadrille/tiles/internal/sphere"
)

// ErrGeometry is matched by errors about a geometry that is no area. Their text says what to change.
var ErrGeometry = errors.New("the geometry cannot be used")

// refuse returns an error that matches ErrGeometry.
func refuse(format string, args ...any) error {
	return feature.Faultf(ErrGeometry, format, args...)
}

const (
	// MaxVertices bounds the positions of a geometry.
	MaxVertices = 100_000
	// MaxAround bounds the positions of a geometry with a radius, and MaxLength its length in metres.
	MaxAround = 10_000
	MaxLength = 1e10
	// mostLevel bounds the edges at one latitude, each of which a position is compared with.
	mostLevel = 10_000
	// MaxLongitude bounds longitudes in degrees: one turn beyond ±180°.
	MaxLongitude = 540
	// MaxRadius is the greatest distance in metres: half the circumference of the Earth.
	MaxRadius = math.Pi * quadkey.EarthRadius
)

// Area is the area of a geometry, including its edges. In a polygon is what its shell winds around
// and no hole does, even if the shell crosses itself. Several polygons are one area, their union.
// Positions are compared with polygons without rounding. A pole is one point, whatever its longitude.
// An Area is safe for concurrent use.
type Area struct {
	radius float64 // metres around the geometry
	chord  float64 // of the radius
	lines  bool    // there are lines or points
	balls  []ball  // around the edges, if the area has no border
	edges  []edge  // of all rings, in order
	given  int     // positions
	rings  []ring
	rows   rows
	poles  [2]bool // whether the geometry touches the south, the north pole
	parts  []part
	box    quadkey.Box // around all edges; its longitudes may be beyond ±180°
	tag    string

	polygons [][]orb.Ring
	once     sync.Once
	border   outlines
}

// edge is a straight line in degrees.
type edge struct {
	a, b orb.Point
	ring int32
}

// ring is a line of edges.
type ring struct {
	whole int // the polygon, which begins with its shell, or the line
	kind  ringKind
}

type ringKind uint8

const (
	shell ringKind = iota
	hole
	line // or a point
)

// New returns the area of what is at most radius metres from a geometry in degrees, longitude before
// latitude. With radius 0 it is the geometry itself. Distances are those of quadkey.Distance, to within a
// millimetre. Errors match ErrGeometry.
func New(g orb.Geometry, radius float64) (*Area, error) {
	if !(radius >= 0 && radius <= MaxRadius) {
		return nil, refuse("the distance must be 0 to %.0f metres", MaxRadius)
	}
	a := &Area{radius: radius, chord: sphere.ChordOf(radius)}
	if err := a.add(g); err != nil {
		return nil, err
	}
	if len(a.edges) == 0 {
		return nil, refuse("it has no positions; give it some")
	}
	if err := a.prepare(); err != nil {
		return nil, err
	}
	a.cover()
	a.tag = a.hash()
	return a, nil
}

// prepare makes what finds edges.
func (a *Area) prepare() error {
	a.rows = rowsOf(len(a.edges), func(i int32) (low, high float64) {
		e := &a.edges[i]
		return min(e.a[1], e.b[1]), max(e.a[1], e.b[1])
	})
	if a.rows.longest() > mostLevel {
		return refuse("more than %d of its edges are at one latitude; simplify it", mostLevel)
	}
	a.box = quadkey.Box{West: math.Inf(1), South: 90, East: math.Inf(-1), North: -90}
	for i := range a.edges {
		for _, p := range [2]orb.Point{a.edges[i].a, a.edges[i].b} {
			a.box = quadkey.Box{West: min(a.box.West, p[0]), South: min(a.box.South, p[1]), East: max(a.box.East, p[0]), North: max(a.box.North, p[1])}
		}
	}
	if a.HasBorder() {
		return nil
	}
	if a.radius > 0 && a.given > MaxAround {
		return refuse("with a distance it has more than %d positions; simplify it", MaxAround)
	}
	length := 0.0
	for i := range a.edges {
		b := a.edges[i].ball()
		a.balls, length = append(a.balls, b), length+2*sphere.MetresOf(b.size)
	}
	if a.radius > 0 && length > MaxLength {
		return refuse("with a distance it is longer than %.0f km; give a part of it", MaxLength/1000.0)
	}
	return nil
}

// add appends the edges of a geometry.
func (a *Area) add(g orb.Geometry) error {
	switch g := g.(type) {
	case orb.Polygon:
		return a.addPolygon(g)
	case orb.MultiPolygon:
		return each(g, a.addPolygon)
	case orb.Collection:
		return each(g, a.add)
	case orb.LineString:
		if len(g) == 1 {
			return refuse("a line has one position; give it two, or make it a point")
		}
		return a.addLine(g)
	case orb.MultiLineString:
		return each(g, func(l orb.LineString) error { return a.add(l) })
	case orb.Point:
		return a.addLine(orb.LineString{g})
	case orb.MultiPoint:
		return each(g, func(p orb.Point) error { return a.addLine(orb.LineString{p}) })
	case nil:
		return refuse("there is none; give a polygon")
	}
	return refuse("it is a %s; give a polygon", g.GeoJSONType())
}

func each[T any](list []T, fn func(T) error) error {
	for _, v := range list {
		if err := fn(v); err != nil {
			return err
		}
	}
	return nil
}

// check returns an error unless the positions of a line or a ring can be used.
func (a *Area) check(positions []orb.Point) error {
	for _, p := range positions {
		switch lon, lat := p[0], p[1]; {
		case math.Abs(lat) <= 90 && math.Abs(lon) <= MaxLongitude:
		case math.Abs(lat) > 90 && math.Abs(lon) <= 90:
			return refuse("the position %v, %v has no latitude; write longitude before latitude", lon, lat)
		default:
			return refuse("the position %v, %v is outside the world; write longitude and latitude in degrees (WGS84)", lon, lat)
		}
	}
	if a.given += len(positions); a.given > MaxVertices {
		return refuse("it has more than %d positions; simplify it", MaxVertices)
	}
	return nil
}

func (a *Area) addLine(l orb.LineString) error {
	if err := a.check(l); err != nil || len(l) == 0 {
		return err
	}
	a.lines = true
	a.addCopies(line, 1, func(int) []orb.Point { return l })
	return nil
}

func (a *Area) addPolygon(p orb.Polygon) error {
	for i, r := range p {
		switch err := a.check(r); {
		case err != nil:
			return err
		case len(r) == 0:
			return refuse("a ring has no positions; give it some or leave it out")
		case r[0] != r[len(r)-1]:
			return refuse("a ring is not closed; repeat its first position %v, %v at its end", r[0][0], r[0][1])
		case i == 0 && isFlat(r):
			return refuse("a polygon encloses nothing; give it three positions that are not on one line")
		}
	}
	if len(p) == 0 {
		return nil
	}
	a.addCopies(shell, len(p), func(i int) []orb.Point { return p[i] })
	a.polygons = append(a.polygons, opened(p))
	return nil
}

// opened returns the rings of a polygon without the last position, which repeats the first one.
func opened(p orb.Polygon) []orb.Ring {
	open := make([]orb.Ring, len(p))
	for i, r := range p {
		open[i] = r[:len(r)-1]
	}
	return open
}

// isFlat reports whether all positions of a ring are on one line.
func isFlat(r orb.Ring) bool {
	far := r[0]
	for _, p := range r {
		if p != r[0] && far == r[0] {
			far = p
		} else if side(r[0], far, p) != 0 {
			return false
		}
	}
	return true
}

// addCopies adds a polygon or a line, and its copies that are shifted by whole turns of longitude, where
// they are between ±180°. kind is that of its first ring.
func (a *Area) addCopies(kind ringKind, rings int, at func(i int) []orb.Point) {
	west, east := math.Inf(1), math.Inf(-1)
	for _, p := range at(0) {
		west, east = min(west, p[0]), max(east, p[0])
		for i, pole := range [2]float64{-90, 90} {
			a.poles[i] = a.poles[i] || p[1] == pole
		}
	}
	whole := len(a.rings)
	for turn := math.Ceil((-180 - east) / 360); turn <= math.Floor((180-west)/360); turn++ {
		for i := range rings {
			of := ring{whole, kind}
			if i > 0 {
				of.kind = hole
			}
			a.appendRing(at(i), turn, of)
		}
		whole = len(a.rings)
	}
}

func (a *Area) appendRing(r []orb.Point, turn float64, of ring) {
	number := int32(len(a.rings))
	a.rings = append(a.rings, of)
	prev := shifted(r[0], turn)
	if of.kind == line { // a point is an edge of no length
		a.edges = append(a.edges, edge{prev, prev, number})
	}
	for _, p := range r[1:] {
		p = shifted(p, turn)
		if p != prev {
			a.edges = append(a.edges, edge{prev, p, number})
		}
		prev = p
	}
}

// shifted returns a position whose longitude has turns added. A longitude of seven decimals, as points
// have, gets the number that these decimals are read as.
func shifted(p orb.Point, turns float64) orb.Point {
	const decimals = 1e7
	if turns != 0 {
		exact := math.Round(p[0]*decimals)/decimals == p[0]
		if p[0] += 360 * turns; exact {
			p[0] = math.Round(p[0]*decimals) / decimals
		}
	}
	return p
}

func (a *Area) hash() string {
	h := sha256.New()
	var b [36]byte
	put := func(i int, v float64) { binary.BigEndian.PutUint64(b[8*i:], math.Float64bits(v)) }
	put(0, a.radius)
	h.Write(b[:8])
	for i := range a.edges {
		e := &a.edges[i]
		put(0, e.a[0])
		put(1, e.a[1])
		put(2, e.b[0])
		put(3, e.b[1])
		binary.BigEndian.PutUint32(b[32:], uint32(e.ring)<<2|uint32(a.rings[e.ring].kind)) //nolint:gosec // a number of a ring
		h.Write(b[:])
	}
	return "geometry " + hex.EncodeToString(h.Sum(nil)[:16])
}

// String implements feature.Area. It differs for geometries with other positions.
func (a *Area) String() string { return a.tag }

// SquareDegrees implements feature.Ground. It adds the radius to a box around the geometry.
func (a *Area) SquareDegrees() float64 {
	wider := 2 * a.radius / quadkey.EarthRadius * 180 / math.Pi
	return min(360, a.box.East-a.box.West+wider) * min(180, a.box.North-a.box.South+wider)
}

// Contains reports whether a valid position is in the area.
func (a *Area) Contains(at quadkey.Position) bool {
	cell, err := quadkey.CellOf(at.Lon, at.Lat)
	i := a.from(cell)
	return err == nil && i < len(a.parts) && a.parts[i].Contains(cell) && a.holds(&a.parts[i], at)
}

// holds reports whether a position in the cells of a part is in the area.
func (a *Area) holds(p *part, at quadkey.Position) bool {
	if p.whole || a.inside(at.Lon, at.Lat) {
		return true
	}
	if a.radius == 0 {
		return false
	}
	from := sphere.At(at.Lon, at.Lat)
	for _, i := range p.edges {
		if e := &a.edges[i]; e.a != e.b {
			if a.isNear(i, from, a.chord) {
				return true
			}
		} else if from.To(a.balls[i].middle) <= a.chord+1e-9 && quadkey.Distance(at.Lon, at.Lat, e.a[0], e.a[1]) <= a.radius {
			return true
		}
	}
	return false
}

// inside reports whether a position is in a polygon or on a line.
func (a *Area) inside(lon, lat float64) bool {
	if math.Abs(lat) == 90 {
		return lat < 0 && a.poles[0] || lat > 0 && a.poles[1]
	}
	in, whole := false, -1
	for run := a.rows.at(lat); len(run) > 0; {
		number := a.edges[run[0]].ring
		winding, on := 0, false
		for ; len(run) > 0 && a.edges[run[0]].ring == number; run = run[1:] {
			turn, touches := a.edges[run[0]].winding(lon, lat)
			winding, on = winding+turn, on || touches
		}
		r := a.rings[number]
		if r.whole != whole {
			if in {
				return true
			}
			whole = r.whole
		}
		switch r.kind {
		case shell:
			in = on || winding != 0
		case hole:
			in = in && (on || winding == 0)
		case line:
			in = on
		}
	}
	return in
}

var _ feature.Ground = (*Area)(nil)
