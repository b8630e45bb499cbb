//go:build !race

package tiles_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/paulmach/orb"
	"github.com/paulmach/orb/planar"

	"quadrille/feature"
	"quadrille/internal/must"
	"quadrille/quadkey"
	"quadrille/tiles"
	"quadrille/tiles/build"
	"quadrille/tiles/internal/grid"
	"quadrille/tiles/shape"
)

// streams are lines for distances: one crosses ±180°, one goes up to where tiles end.
func streams() build.Layer {
	rnd := rand.New(rand.NewPCG(31, 32))
	l := build.Layer{Type: "stream"}
	add := func(id string, lon, lat, dLon, dLat float64) {
		var line orb.LineString
		for range 40 {
			line = append(line, orb.Point{lon, lat})
			lon, lat = lon+dLon*(rnd.Float64()-0.2), min(85, lat+dLat*(rnd.Float64()-0.3))
		}
		l.Features = append(l.Features, build.Feature{ID: id, Name: id, Geometry: line})
	}
	add("west", 10, 10, 0.05, 0.03)
	add("dateline", 179.5, -17, 0.05, 0.02)
	add("north", 20, 84.5, 1, 0.2)
	add("long", -60, -20, 1, 0.5)
	return l
}

// reachOf is a slow judge of whether a region is within some metres of a geometry. It may not know.
type reachOf struct {
	metres   func(at orb.Point) float64 // to the border or the line
	inside   func(at orb.Point) bool
	vertices []orb.Point
	error    float64 // of metres
}

// inputLines returns the edges of lines as they were given. The grid rounds them by up to a metre.
func inputLines(l build.Layer, ids []string) (list [][]borderLine) {
	for _, id := range ids {
		i := slices.IndexFunc(l.Features, func(f build.Feature) bool { return f.ID == id })
		line := l.Features[i].Geometry.(orb.LineString)
		var edges []borderLine
		for i, b := range line[1:] {
			a := line[i]
			y := func(lat float64) int32 { return int32((90 - lat) / 360 * grid.WorldSize) }
			edges = append(edges, borderLine{
				lon0: a[0], lat0: a[1], lon1: b[0], lat1: b[1], length: quadkey.Distance(a[0], a[1], b[0], b[1]),
				e: grid.Edge{A: grid.Pt(0, y(a[1])), B: grid.Pt(0, y(b[1]))}, lat: func(y float64) float64 { return 90 - y/grid.WorldSize*360 },
			})
		}
		list = append(list, edges)
	}
	return list
}

// judge compares points of the geometry. The distance of a point from a region changes by no more than the point moves.
func (r *reachOf) judge(g orb.Geometry, metres float64) (meets, known bool) {
	known = true
	var along func(a, b orb.Point)
	along = func(a, b orb.Point) {
		if meets {
			return
		}
		m := orb.Point{(a[0] + b[0]) / 2, (a[1] + b[1]) / 2}
		if r.inside(m) {
			meets = true
			return
		}
		widest := 1.0
		if a[1]*b[1] > 0 {
			widest = math.Cos(min(math.Abs(a[1]), math.Abs(b[1])) * math.Pi / 180)
		}
		half := (math.Abs(a[0]-b[0])*widest + math.Abs(a[1]-b[1])) / 2 * 111_195
		tolerance := r.error
		switch d := r.metres(m); {
		case d <= metres-tolerance:
			meets = true
		case d > metres+half+tolerance:
		case half < tolerance:
			known = false
		default:
			along(a, m)
			along(m, b)
		}
	}
	rings := func(p orb.Polygon) {
		for _, ring := range p {
			for i := range len(ring) - 1 {
				along(ring[i], ring[i+1])
			}
		}
		for _, v := range r.vertices {
			for turn := -360.0; turn <= 360; turn += 360 {
				meets = meets || planar.PolygonContains(p, orb.Point{v[0] + turn, v[1]})
			}
		}
	}
	switch g := g.(type) {
	case orb.Point:
		along(g, g)
	case orb.MultiPoint:
		for _, p := range g {
			along(p, p)
		}
	case orb.LineString:
		for i := range len(g) - 1 {
			along(g[i], g[i+1])
		}
	case orb.Polygon:
		rings(g)
	case orb.MultiPolygon:
		for _, p := range g {
			rings(p)
		}
	}
	return meets, known || meets
}

// drawReach returns a random geometry near a position. It may go beyond ±180°, and up to a pole.
func drawReach(rnd *rand.Rand, lon, lat float64) orb.Geometry {
	size := []float64{1e-3, 0.05, 1, 5}[rnd.IntN(4)]
	at := func() orb.Point {
		return orb.Point{lon + size*rnd.NormFloat64()/max(0.05, math.Cos(lat*math.Pi/180)), max(-90, min(90, lat+size*rnd.NormFloat64()))}
	}
	lon, lat = at()[0], at()[1]
	ring := func() orb.Polygon { return blob(rnd, at()[0], at()[1], size, 3+rnd.IntN(9)) }
	switch rnd.IntN(5) {
	case 0:
		return at()
	case 1:
		return orb.MultiPoint{at(), at(), at()}
	case 2:
		return ring()
	case 3:
		return orb.MultiPolygon{ring(), ring()}
	}
	line := orb.LineString{at(), at()}
	for range rnd.IntN(6) {
		line = append(line, at())
	}
	return line
}

// Regions and lines within a distance of points, lines and polygons, and those that a line crosses, are those of a slow
// judge: on both sides of ±180° and at the poles as well.
func TestReach(t *testing.T) {
	r, store, _ := buildReader(t, toyLayer(), streams())
	n := 60
	if testing.Short() {
		n = 20
	}
	for _, typ := range []string{"land", "stream"} {
		ref := newStoredWorld(t, store, typ)
		lines, rounding := ref.lines(), 0.01
		if typ == "stream" {
			lines, rounding = inputLines(streams(), ref.ids), 3
		}
		l := layerOf(t, r, typ)
		rnd := rand.New(rand.NewPCG(41, uint64(len(typ))))
		met, apart, unknown := 0, 0, 0
		for range n {
			lon, lat := ref.vertex(rnd)
			g := drawReach(rnd, lon, lat)
			metres := []float64{0, 1, 800, 30_000, 400_000}[rnd.IntN(5)]
			if g.Dimensions() == 2 && metres == 0 { // ground that is shared, which other tests judge
				metres = 5
			}
			in, err := shape.New(g, metres)
			if err != nil {
				continue // too large, or no polygon
			}
			got := strings.Fields(listed(t, l, feature.Query{In: in, Detail: feature.WithoutGeometry}))
			for i, id := range ref.ids {
				judge := reachOf{
					error:  rounding,
					metres: func(at orb.Point) float64 { return bruteNearest(lines[i], at[0], at[1]) },
					inside: func(at orb.Point) bool { return typ == "land" && holds(t, r, typ, id, at) },
				}
				for _, b := range lines[i] {
					judge.vertices = append(judge.vertices, orb.Point{b.lon0, b.lat0})
				}
				want, known := judge.judge(g, metres)
				switch there := slices.Contains(got, id); {
				case !known:
					unknown++
				case there != want:
					t.Errorf("%s %s within %v m of %v: %v, want %v", typ, id, metres, g, there, want)
				case want:
					met++
				default:
					apart++
				}
			}
		}
		if t.Logf("%s: %d met, %d apart, %d not known", typ, met, apart, unknown); met < n/3 || apart < n/3 || unknown > n {
			t.Errorf("%s: %d met, %d apart, %d not known", typ, met, apart, unknown)
		}
	}
}

func holds(t *testing.T, r *tiles.Reader, typ, id string, at orb.Point) bool {
	lon := math.Remainder(at[0], 360)
	return slices.ContainsFunc(must.Get(r.At(t.Context(), at[1], lon, typ)).In(t), func(r tiles.Region) bool { return r.ID == id })
}

// A line that only touches a border, or runs along it, meets both sides; a position does, too. A region meets what lies in it, and
// what it lies in.
func TestReachTouches(t *testing.T) {
	square := func(id string, w, s, e, n float64) build.Feature {
		return build.Feature{ID: id, Name: id, Geometry: orb.Polygon{{{w, s}, {e, s}, {e, n}, {w, n}, {w, s}}}}
	}
	r, _, _ := buildReader(t, build.Layer{Type: "zone", Features: []build.Feature{
		square("a", 0, 0, 11.25, 11.25), square("b", 11.25, 0, 22.5, 11.25), square("east", 170, 0, 180, 10), square("west", -180, 0, -170, 10),
		square("cap", -180, 85.5, 180, 90), square("dot", 40, 40, 40.01, 40.01),
	}})
	l := layerOf(t, r, "zone")
	degree := quadkey.EarthRadius * math.Pi / 180
	for _, c := range []struct {
		g      orb.Geometry
		metres float64
		want   string
	}{
		{orb.LineString{{11.25, 1}, {11.25, 2}}, 0, "a b"},
		{orb.LineString{{11.25, -20}, {11.25, 0}}, 0, "a b"},
		{orb.LineString{{3, 3}, {4, 4}}, 0, "a"},
		{orb.LineString{{3, 3}, {13, 4}}, 0, "a b"},
		{orb.LineString{{30, 3}, {31, 3}}, 0, ""},
		{orb.Point{23.5, 0}, degree + 1, "b"},
		{orb.Point{23.5, 0}, degree - 1, ""},
		{orb.Point{-179, 5}, degree, "east west"},
		{orb.Point{181, 5}, degree + 3, "east west"},
		{orb.Point{181, 5}, degree * 0.9, "west"},
		{orb.LineString{{179, 5}, {181, 5}}, 0, "east west"},
		{orb.Point{17, 90}, 0, "cap"},
		{orb.Point{17, 85}, degree / 2 * 1.001, "cap"},
		{orb.Point{17, 85}, degree / 2 * 0.999, ""},
		{orb.LineString{{17, 84}, {17, 90}}, 0, "cap"},
		{orb.Polygon{{{39, 39}, {42, 39}, {42, 42}, {39, 42}, {39, 39}}}, 10, "dot"},
		{orb.Polygon{{{4, 4}, {5, 4}, {5, 5}, {4, 4}}}, 10, "a"},
		{orb.MultiPoint{{40.005, 40.005}, {5, 5}, {100, -80}}, 1, "a dot"},
		{orb.Collection{orb.LineString{{3, 3}, {4, 4}}, orb.Polygon{{{39, 39}, {42, 39}, {42, 42}, {39, 39}}}}, 0, "a dot"},
		{orb.Point{0, -90}, degree * 90.1, "a b east west"},
	} {
		in := must.Get(shape.New(c.g, c.metres)).In(t)
		got := strings.Fields(listed(t, l, feature.Query{In: in, Detail: feature.WithoutGeometry}))
		slices.Sort(got)
		if fmt.Sprint(got) != fmt.Sprint(strings.Fields(c.want)) {
			t.Errorf("within %.0f m of %v: %v, want %s", c.metres, c.g, got, c.want)
		}
	}
}
