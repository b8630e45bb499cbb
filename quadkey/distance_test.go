package quadkey

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestDistance(t *testing.T) {
	const quarter = math.Pi / 2 * EarthRadius
	for _, tt := range []struct {
		name                   string
		lon1, lat1, lon2, lat2 float64
		want                   float64
	}{
		{"nothing", 13, 52, 13, 52, 0},
		{"180 is -180", 180, 12, -180, 12, 0},
		{"the north pole is one point", 12, 90, -77, 90, 0},
		{"the south pole is one point", 180, -90, 0, -90, 0},
		{"pole to equator", 5, 90, 99, 0, quarter},
		{"pole to pole", 5, 90, 99, -90, 2 * quarter},
		{"antipodes on the equator", 0, 0, 180, 0, 2 * quarter},
		{"antipodes", -60, 30, 120, -30, 2 * quarter},
		{"a degree along a meridian", 7, 10, 7, 11, quarter / 90},
		{"a degree across 180", 179.5, 0, -179.5, 0, quarter / 90},
		{"over the pole", 0, 89.5, 180, 89.5, quarter / 90},
		{"Nashville to Los Angeles", -86.67, 36.12, -118.40, 33.94, 2886448.43},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := Distance(tt.lon1, tt.lat1, tt.lon2, tt.lat2); math.Abs(got-tt.want) > 0.01 || tt.want == 0 && got != 0 {
				t.Errorf("%v, want %v", got, tt.want)
			}
		})
	}
}

func TestDistanceAgainstVectors(t *testing.T) {
	var worst float64
	rapid.Check(t, func(rt *rapid.T) {
		lon1, lat1 := drawLon(rt, "lon1"), drawLat(rt, "lat1")
		lon2, lat2 := drawLon(rt, "lon2"), drawLat(rt, "lat2")
		switch rapid.IntRange(0, 3).Draw(rt, "place") {
		case 0: // near each other
			step := math.Pow(10, -rapid.Float64Range(0, 12).Draw(rt, "digits"))
			lon2, lat2 = max(-180, min(180, lon1+step)), max(-90, min(90, lat1-step))
		case 1: // near antipodes
			step := math.Pow(10, -rapid.Float64Range(0, 12).Draw(rt, "digits"))
			lon2, lat2 = lon1-180, max(-90, min(90, step-lat1))
			if lon1 < 0 {
				lon2 = lon1 + 180
			}
		}
		got := Distance(lon1, lat1, lon2, lat2)
		if !(got >= 0 && got <= math.Pi*EarthRadius) {
			rt.Fatalf("%v is no distance", got)
		}
		if back := Distance(lon2, lat2, lon1, lat1); back != got {
			rt.Fatalf("%v there, %v back", got, back)
		}
		off := math.Abs(got - refDistance(lon1, lat1, lon2, lat2))
		if worst = max(worst, off); off > 3e-8 {
			rt.Fatalf("%v, by vectors %v", got, refDistance(lon1, lat1, lon2, lat2))
		}
	})
	t.Logf("at most %.2g m from the distance by vectors", worst)
}

func TestMinDistanceEdges(t *testing.T) {
	const degree = math.Pi / 180 * EarthRadius
	world := Tile{}
	for _, tt := range []struct {
		name     string
		tile     Tile
		lon, lat float64
		want     float64
	}{
		{"the world holds everything", world, 180, 90, 0},
		{"inside", Tile{1, 1, 0}, 10, 10, 0},
		{"on the corner", Tile{1, 1, 1}, 0, 0, 0},
		{"beyond MaxLatitude, in an edge tile", Tile{3, 4, 0}, 10, 89, 0},
		{"at the pole, from any edge tile", Tile{5, 7, 0}, 150, 90, 0},
		{"at the other pole", Tile{5, 7, 31}, -150, -90, 0},
		{"near the pole, in another sector", Tile{3, 4, 0}, -170, 89, degree},
		{"across 180", Tile{3, 0, 4}, 179, -10, degree * 0.984807},
		{"lon 180 is the west edge", Tile{3, 0, 4}, 180, -10, 0},
		{"lon -180 is the east edge", Tile{3, 7, 4}, -180, -10, 0},
		{"due north", Tile{1, 1, 1}, 50, 7, 7 * degree},
		{"due south of the whole top half", Tile{1, 0, 0}, -90, -30, 30 * degree},
		{"from the pole to the second row", Tile{2, 1, 1}, 0, 90, (90 - 66.51326044311186) * degree},
		{"from the opposite pole", Tile{2, 1, 0}, 0, -90, (90 + 66.51326044311186) * degree},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := tt.tile.MinDistance(tt.lon, tt.lat)
			if math.Abs(got-tt.want) > 20 {
				t.Errorf("%v, want %v", got, tt.want)
			}
			if ref := refMinDistance(tt.tile, tt.lon, tt.lat); got > ref || ref-got > 22e-6 {
				t.Errorf("%v, by walking the outline %v", got, ref)
			}
		})
	}
	for _, tile := range []Tile{world, {5, 7, 3}} {
		for _, p := range [][2]float64{{nan, 0}, {0, nan}, {nan, nan}} {
			if got := tile.MinDistance(p[0], p[1]); !math.IsNaN(got) {
				t.Errorf("%v from %v: %v, want NaN", tile, p, got)
			}
		}
	}
}

// TestMinDistanceBendsPolewards tests that the nearest point of a meridian is not at the
// viewpoint's latitude.
func TestMinDistanceBendsPolewards(t *testing.T) {
	tile := Tile{2, 2, 1} // 0° to 90° east, 0° to 66.5° north
	const lon, lat = -60, 45
	nearest := math.Atan(math.Tan(lat*radians)/math.Cos(60*radians)) * degrees // 63.4° north
	want, naive := Distance(lon, lat, 0, nearest), Distance(lon, lat, 0, lat)
	got := tile.MinDistance(lon, lat)
	if got > want || want-got > 22e-6 {
		t.Errorf("%v, want %v", got, want)
	}
	if naive-got < 200e3 {
		t.Errorf("the nearest point is %v m away, and one at the same latitude only %v", got, naive)
	}
}

// TestMinDistanceIsLowerBound tests points of tiles, most on their outlines.
func TestMinDistanceIsLowerBound(t *testing.T) {
	r := newRand(4)
	for range trials(400_000) {
		tile := randTile(r, MaxZoom)
		lon, lat := randPoint(r)
		if r.IntN(3) == 0 { // from nearby
			lon, lat = randIn(r, tile)
			lat = max(-90, min(90, lat+r.NormFloat64()*math.Pow(10, -float64(r.IntN(8)))))
		}
		bound := tile.MinDistance(lon, lat)
		for range 4 {
			x, y := randIn(r, tile)
			if d := Distance(lon, lat, x, y); !(bound <= d) {
				t.Fatalf("(%v, %v) is %v m from (%v, %v), which %v has, but MinDistance is %v", lon, lat, d, x, y, tile, bound)
			}
		}
	}
}

// TestMinDistanceOfOwnTile tests that the distance to the point's own tile is 0, on every edge.
func TestMinDistanceOfOwnTile(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		lon, lat := drawLon(rt, "lon"), drawLat(rt, "lat")
		tile, err := TileAt(lon, lat, rapid.Uint8Range(0, MaxZoom).Draw(rt, "z"))
		if err != nil {
			rt.Fatal(err)
		}
		if d := tile.MinDistance(lon, lat); d != 0 {
			rt.Fatalf("%v m from %v, where it is", d, tile)
		}
	})
}

// TestMinDistanceNests tests that a child is never nearer than its parent, as best-first search
// requires.
func TestMinDistanceNests(t *testing.T) {
	r := newRand(5)
	for range trials(50_000) {
		tile := randTile(r, MaxZoom-1)
		lon, lat := randPoint(r)
		d := tile.MinDistance(lon, lat)
		for _, child := range tile.Children() {
			if c := child.MinDistance(lon, lat); c < d-1e-6 {
				t.Fatalf("(%v, %v): %v m from %v, %v m from its parent", lon, lat, c, child, d)
			}
		}
	}
}

func TestMinDistanceIsTight(t *testing.T) {
	n := trials(4000)
	r := newRand(6)
	var worst, sum float64
	for range n {
		tile := randTile(r, CellZoom)
		lon, lat := randPoint(r)
		got, ref := tile.MinDistance(lon, lat), refMinDistance(tile, lon, lat)
		if got > ref || ref-got > 22e-6 {
			t.Fatalf("(%v, %v) to %v: %v m, by walking the outline %v", lon, lat, tile, got, ref)
		}
		worst = max(worst, ref-got)
		sum += ref - got
	}
	t.Logf("below the distance to the outline by %.2g m on average, at most %.2g m", sum/float64(n), worst)
}
