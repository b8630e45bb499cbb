//go:build !race

package tiles_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/paulmach/orb"

	"quadrille/internal/tilestest"
	"quadrille/quadkey"
	"quadrille/tiles"
	"quadrille/tiles/build"
	"quadrille/tiles/internal/grid"
	"quadrille/tiles/internal/layout"
)

// blob returns an irregular closed ring around a position.
func blob(rnd *rand.Rand, lon, lat, size float64, n int) orb.Polygon {
	var ring orb.Ring
	for i := range n {
		a := 2 * math.Pi * float64(i) / float64(n)
		d := size * (0.4 + 0.6*rnd.Float64())
		ring = append(ring, orb.Point{lon + d*math.Cos(a)/math.Max(0.05, math.Cos(lat*math.Pi/180)), max(-90, min(90, lat+d*math.Sin(a)))})
	}
	return orb.Polygon{append(ring, ring[0])}
}

// toyLayer returns a small world with every awkward case: neighbours, an enclave, islands, land
// across ±180°, a polar continent, and land that crosses the limits of the tiles.
func toyLayer() build.Layer {
	rnd := rand.New(rand.NewPCG(21, 22))
	l := build.Layer{Type: "land"}
	add := func(id string, g orb.Geometry) {
		l.Features = append(l.Features, build.Feature{ID: id, Name: "The " + id, Geometry: g})
	}
	add("west", orb.Polygon{{
		{10, 10},
		{10.21, 10.03},
		{10.17, 10.2},
		{10.3, 10.31},
		{10.02, 10.4},
		{10, 10},
	}, {{10.05, 10.1}, {10.1, 10.1}, {10.1, 10.15}, {10.05, 10.1}}})
	add("east", orb.Polygon{{{10.21, 10.03}, {10.5, 9.97}, {10.45, 10.35}, {10.3, 10.31}, {10.17, 10.2}, {10.21, 10.03}}})
	add("enclave", orb.Polygon{{{10.05, 10.1}, {10.1, 10.1}, {10.1, 10.15}, {10.05, 10.1}}})
	add("dateline", tilestest.Square(179.7, -17, 180.4, -16.4))
	add("fjords", blob(rnd, 20, 70, 0.6, 200))
	add("islands", orb.MultiPolygon{blob(rnd, 25, 70.5, 0.02, 9), blob(rnd, -170, 20, 0.03, 9), blob(rnd, 180, -16, 0.05, 12)})
	add("arctic", blob(rnd, -40, 85, 0.7, 60))
	add("hat", tilestest.Square(60, 84.9, 75, 89.9))
	var ring orb.Ring
	for lon := -180.0; lon < 180; lon += 5 {
		ring = append(ring, orb.Point{lon, -86.5 + 2*rnd.Float64()})
	}
	add("ice", orb.Polygon{append(ring, ring[0])})
	add("big", blob(rnd, -60, -20, 5, 40))
	return l
}

// borderLine is an edge of a border in degrees.
type borderLine struct {
	lon0, lat0, lon1, lat1 float64
	length                 float64 // metres between its ends
	e                      grid.Edge
	lat                    func(y float64) float64
}

// lines returns the edges of each region.
func (w *storedWorld) lines() [][]borderLine {
	out := make([][]borderLine, len(w.ids))
	plateLat := func(y float64) float64 { return 90 - y/grid.WorldSize*360 }
	for i := range w.ids {
		add := func(edges []grid.Edge, lat func(y float64) float64) {
			for _, e := range edges {
				l := borderLine{e: e, lat: lat, lon0: float64(e.A.X)/grid.WorldSize*360 - 180, lon1: float64(e.B.X)/grid.WorldSize*360 - 180}
				l.lat0, l.lat1 = lat(float64(e.A.Y)), lat(float64(e.B.Y))
				l.length = quadkey.Distance(l.lon0, l.lat0, l.lon1, l.lat1)
				out[i] = append(out[i], l)
			}
		}
		add(w.edges[i], layout.MercatorLat)
		add(w.caps[i][0], plateLat)
		add(w.caps[i][1], plateLat)
	}
	return out
}

// metresOfArc returns the length in metres of an angle in degrees.
func metresOfArc(degrees float64) float64 { return degrees * math.Pi / 180 * quadkey.EarthRadius }

// bruteNearest returns the distance in metres to the nearest edge. It samples every edge that may
// matter and refines around the least sample.
func bruteNearest(lines []borderLine, lon, lat float64) float64 {
	best := math.Inf(1)
	for _, l := range lines {
		if metresOfArc(math.Abs(l.lat0-lat)) < best {
			best = min(best, quadkey.Distance(lon, lat, l.lon0, l.lat0))
		}
	}
	for _, l := range lines {
		if metresOfArc(min(math.Abs(l.lat0-lat), math.Abs(l.lat1-lat))-math.Abs(l.lat1-l.lat0)) > best {
			continue
		}
		if math.Abs(l.lon1-l.lon0) < 1 &&
			min(quadkey.Distance(lon, lat, l.lon0, l.lat0), quadkey.Distance(lon, lat, l.lon1, l.lat1)) > best+l.length*1.1 {
			continue
		}
		n := 16 + int(math.Abs(l.lon1-l.lon0)*16)
		f := func(t float64) float64 {
			return quadkey.Distance(lon, lat, l.lon0+t*(l.lon1-l.lon0), l.lat(float64(l.e.A.Y)+t*float64(l.e.B.Y-l.e.A.Y)))
		}
		least, at := 0, f(0)
		for k := 1; k <= n; k++ {
			if d := f(float64(k) / float64(n)); d < at {
				least, at = k, d
			}
		}
		lo, hi := math.Max(0, float64(least-1)/float64(n)), math.Min(1, float64(least+1)/float64(n))
		for range 60 {
			a, b := lo+(hi-lo)/3, hi-(hi-lo)/3
			if f(a) < f(b) {
				hi = b
			} else {
				lo = a
			}
		}
		best = min(best, f((lo+hi)/2))
	}
	return best
}

// compareNearest compares Nearest at a point with brute force.
func compareNearest(t *testing.T, r *tiles.Reader, ref *storedWorld, lines [][]borderLine, lon, lat, radius float64) tiles.MatchKind {
	t.Helper()
	got, err := r.Nearest(context.Background(), lat, lon, radius, ref.typ)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) == 0 || got[0].Truncated {
		t.Fatalf("lon %v lat %v: %+v", lon, lat, got)
	}
	if got[0].Kind == tiles.MatchInside {
		at, err := r.At(context.Background(), lat, lon, ref.typ)
		if err != nil || len(at) != len(got) {
			t.Fatalf("lon %v lat %v: %+v, %v at the point", lon, lat, got, at)
		}
		return tiles.MatchInside
	}
	want := make([]float64, len(lines))
	best, id := math.Inf(1), ""
	for i := range lines {
		want[i] = bruteNearest(lines[i], lon, lat)
		if d := want[i]; d < best {
			best, id = d, ref.ids[i]
		}
	}
	const tolerance = 0.001
	switch {
	case got[0].Kind == tiles.MatchNone:
		if best < radius-tolerance {
			t.Fatalf("lon %v lat %v radius %v: nothing, want %s at %v m", lon, lat, radius, id, best)
		}
	case math.Abs(got[0].DistanceM-best) > tolerance:
		t.Fatalf("lon %v lat %v: %s at %v m, want %s at %v m", lon, lat, got[0].ID, got[0].DistanceM, id, best)
	case got[0].ID != id:
		// Two regions share the nearest part of a border, or nearly do.
		for i, d := range want {
			if ref.ids[i] == got[0].ID && d > best+2*tolerance {
				t.Fatalf("lon %v lat %v: %s, want %s: %v m and %v m", lon, lat, got[0].ID, id, d, best)
			}
		}
	}
	return got[0].Kind
}

// testNearest compares n points near borders.
func testNearest(t *testing.T, r *tiles.Reader, ref *storedWorld, n int) {
	lines := ref.lines()
	rnd := rand.New(rand.NewPCG(23, 24))
	var kinds [3]int
	for range n {
		lon, lat := ref.vertex(rnd)
		// The points are metres, a kilometre, or tens of kilometres away.
		reach := []float64{1e-4, 0.02, 0.3}[rnd.IntN(3)]
		lat = max(-90, min(90, lat+reach*rnd.NormFloat64()))
		lon = math.Remainder(lon+reach*rnd.NormFloat64()/max(0.01, math.Cos(lat*math.Pi/180)), 360)
		radius := []float64{tiles.MaxSnapM, tiles.MaxSnapM, 5000, 50}[rnd.IntN(4)]
		kinds[compareNearest(t, r, ref, lines, lon, lat, radius)]++
	}
	for k, found := range kinds {
		if found < n/25 {
			t.Errorf("%v: only %d points", tiles.MatchKind(k), found)
		}
	}
}

func TestNearest(t *testing.T) {
	r, store, _ := buildReader(t, toyLayer())
	ref := newStoredWorld(t, store, "land")
	testNearest(t, r, ref, 500)
	lines := ref.lines()
	for _, p := range [][2]float64{
		{180, -16.9},
		{-180, -16.2},
		{179.6, -16.5},
		{0, 90},
		{70, 90},
		{180, -90},
		{-40, quadkey.MaxLatitude},
		{62, 84.6},
		{59, 85.3},
		{-40, 86.1},
	} {
		compareNearest(t, r, ref, lines, p[0], p[1], tiles.MaxSnapM)
	}
}

// TestNearestAnswers tests ties, order, types, limits and refusals.
func TestNearestAnswers(t *testing.T) {
	r, store, _ := buildReader(t,
		build.Layer{Type: "land", Features: []build.Feature{
			{ID: "b", Name: "B", Geometry: tilestest.Square(1, 0, 2, 1)},
			{ID: "a", Geometry: tilestest.Square(1, 1, 2, 2)},
		}},
		build.Layer{Type: "zone", Features: []build.Feature{{ID: "z", Geometry: tilestest.Square(0, 0, 3, 3)}}},
		build.Layer{Type: "far", Features: []build.Feature{{ID: "f", Geometry: tilestest.Square(50, 50, 56.25, 51)}}})
	ctx := context.Background()
	// The point is 0.1° west of the common corner of both lands.
	got, err := r.Nearest(ctx, 1, 0.9, 20_000)
	if err != nil {
		t.Fatal(err)
	}
	text := ""
	for _, m := range got {
		text += fmt.Sprintf("%s:%s %v %.0f; ", m.Type, m.ID, m.Kind, m.DistanceM)
	}
	if want := "land:a snapped 11118; zone:z inside 0; far: none 0; "; text != want {
		t.Errorf("%s, want %s", text, want)
	}
	if got, _ := r.Nearest(ctx, 0.5, 0.9, 20_000, "land"); len(got) != 1 || got[0].ID != "b" || got[0].Name != "B" {
		t.Errorf("%+v", got)
	}
	if got, _ := r.Nearest(ctx, 1, 0.9, 11_100, "land"); len(got) != 1 || got[0].Kind != tiles.MatchNone {
		t.Errorf("beyond the radius: %+v", got)
	}
	// A point on the border that neither region owns snaps to one of the regions, at distance 0.
	if got, _ := r.Nearest(ctx, 50.5, 56.25, 0, "far"); len(got) != 1 || got[0].Kind != tiles.MatchSnapped || got[0].DistanceM != 0 {
		t.Errorf("on a border: %+v", got)
	}
	for _, radius := range []float64{-1, math.NaN(), math.Inf(1), tiles.MaxSnapM + 1} {
		if _, err := r.Nearest(ctx, 0, 0, radius); !errors.Is(err, quadkey.ErrRadius) {
			t.Errorf("radius %v: %v", radius, err)
		}
	}
	if _, err := r.Nearest(ctx, 0, 0, 1, "sea"); !errors.Is(err, tiles.ErrUnknownType) {
		t.Errorf("unknown type: %v", err)
	}
	if _, err := r.Nearest(ctx, math.NaN(), 0, 1); !errors.Is(err, quadkey.ErrCoordinate) {
		t.Errorf("no latitude: %v", err)
	}
	// In the open sea a few seeks find that there is nothing.
	before := store.Stats().Seeks
	if _, err := r.Nearest(ctx, 30, -40, tiles.MaxSnapM, "land"); err != nil {
		t.Fatal(err)
	}
	if seeks := store.Stats().Seeks - before; seeks > 6 {
		t.Errorf("%d seeks at sea", seeks)
	}
}

// TestNearestGivesUp tests that Nearest marks its answer as truncated if the search would read too
// much.
func TestNearestGivesUp(t *testing.T) {
	// The ring of land is just out of reach, where tiles are smallest.
	var outer, inner orb.Ring
	for i := range 720 {
		a := float64(i) * math.Pi / 360
		for _, c := range []struct {
			ring *orb.Ring
			d    float64
		}{{&outer, 0.48}, {&inner, 0.4515}} {
			lat := 84.4 + c.d*math.Sin(a)
			*c.ring = append(*c.ring, orb.Point{30 + c.d*math.Cos(a)/math.Cos(lat*math.Pi/180), lat})
		}
	}
	r, _, _ := buildReader(t, build.Layer{
		Type:     "land",
		Features: []build.Feature{{ID: "a", Geometry: orb.Polygon{append(outer, outer[0]), append(inner, inner[0])}}},
	})
	m, err := r.NearestOfRows(context.Background(), 84.4, 30, tiles.MaxSnapM, "land", 40)
	if err != nil || m.Kind != tiles.MatchNone || !m.Truncated || m.Type != "land" {
		t.Errorf("%+v, %v", m, err)
	}
}
