package layout

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"quadrille/quadkey"
	"quadrille/tiles/internal/grid"
)

// TestFixed tests that AppendFixed writes numbers without trailing zeros, and that they parse back
// to the same value.
func TestFixed(t *testing.T) {
	for _, c := range []struct {
		v        float64
		decimals int
		want     string
	}{
		{0, 7, "0"}, {-0.00000001, 7, "0"}, {1, 0, "1"}, {-1.5, 1, "-1.5"}, {179.99999999, 7, "180"}, {0.05, 2, "0.05"}, {-180, 6,
			"-180"}, {12.3456789, 3, "12.346"},
	} {
		if got := string(AppendFixed(nil, c.v, c.decimals)); got != c.want {
			t.Errorf("%v with %d decimals: %s, want %s", c.v, c.decimals, got, c.want)
		}
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		decimals := rnd.IntN(8)
		v := math.Round((rnd.Float64()*360-180)*pow10[decimals]) / pow10[decimals]
		text := AppendFixed(nil, v, decimals)
		if got, n, ok := ParseFixed(append(slices.Clone(text), ',')); !ok || n != len(text) || got != v {
			t.Fatalf("%s is read as %v, %d, %v", text, got, n, ok)
		}
	}
	for _, bad := range []string{"-", ".", "x", "1.123456789", "1234567890123456"} {
		if v, _, ok := ParseFixed([]byte(bad)); ok {
			t.Errorf("%s is read as %v", bad, v)
		}
	}
}

// TestProjections tests that each projection has an inverse, and that all projections have the same
// width of the world and the same poles.
func TestProjections(t *testing.T) {
	for lat := -85.0; lat <= 85; lat += 2.5 {
		if got := MercatorLat(MercatorY(lat)); math.Abs(got-lat) > 1e-9 {
			t.Errorf("latitude %v comes back as %v", lat, got)
		}
	}
	for _, c := range []struct {
		p        Projection
		lon, lat float64
		want     grid.Point
	}{
		{Mercator, -180, quadkey.MaxLatitude, grid.Pt(0, 0)},
		{Mercator, 0, 0, grid.Pt(grid.WorldSize/2, grid.WorldSize/2)},
		{Mercator, 180, -quadkey.MaxLatitude, grid.Pt(grid.WorldSize, grid.WorldSize)},
		{Mercator, 0, 90, grid.Pt(grid.WorldSize/2, -grid.RimUnits)},
		{PlateCarree, -180, 90, grid.Pt(0, 0)},
		{PlateCarree, 90, -90, grid.Pt(grid.WorldSize/4*3, grid.WorldSize/2)},
	} {
		if got := c.p.Point(c.lon, c.lat); got != c.want {
			t.Errorf("%v, %v is at %v, want %v", c.lon, c.lat, got, c.want)
		}
	}
	if NorthCap.Y1 < int32(PlateCarreeY(quadkey.MaxLatitude)) || SouthCap.Y0 > int32(math.Ceil(PlateCarreeY(-quadkey.MaxLatitude))) {
		t.Errorf("the caps %v and %v do not reach the tiles", NorthCap.Box, SouthCap.Box)
	}
}

// TestRowTile tests that RowTile returns the tile of each key, and that the rows of tiles come
// before those of the polar caps.
func TestRowTile(t *testing.T) {
	for _, tile := range []quadkey.Tile{{}, {Z: 1, X: 1, Y: 1}, {Z: 13, X: 8191, Y: 8191}} {
		key := tile.Key()
		if got, ok := RowTile(key[:]); !ok || got != tile {
			t.Errorf("the row of %v is that of %v, %v", tile, got, ok)
		}
		for _, c := range PolarCaps {
			if string(key[:]) >= string(c.Key) {
				t.Errorf("the row of %v comes after that of a cap", tile)
			}
		}
	}
	for _, c := range PolarCaps {
		if tile, ok := RowTile(c.Key); ok {
			t.Errorf("the row of a cap is that of %v", tile)
		}
	}
}

// Ids of features are exact in JavaScript, never 0, and differ by type and id.
func TestFeatureID(t *testing.T) {
	seen := map[uint64]string{}
	for _, name := range [][2]string{{"country", "fr"}, {"country", "f"}, {"countr", "yfr"}, {"state", "fr"}, {"", ""}} {
		id := FeatureID(name[0], name[1])
		if before, known := seen[id]; known || id == 0 || id >= 1<<53 {
			t.Errorf("%q has the id %d, as has %q", name, id, before)
		}
		seen[id] = name[0] + ":" + name[1]
	}
	if MergedID("fr") != "~fr" || IDPattern.MatchString(MergedID("fr")) {
		t.Error("a region may be called like a polygon of several")
	}
}

func TestWitnesses(t *testing.T) {
	var b []byte
	all := []Witness{WitnessAt(-180, -90), WitnessAt(180, 90), {lon: -1, lat: -1, Inside: true}, WitnessAt(8.5, 47.4)}
	for _, w := range all {
		b = w.AppendTo(b)
	}
	if got, err := ParseWitnesses(b); err != nil || !slices.Equal(got, all) {
		t.Errorf("%v, %v", got, err)
	}
	if lon, lat := all[3].Degrees(); lon != 8.5 || lat != 47.4 {
		t.Errorf("%v, %v", lon, lat)
	}
	if got, err := ParseWitnesses(b[1:]); err == nil {
		t.Errorf("half of one is read as %v", got)
	}
}

// TestGeometry tests the conversion of rings to GeoJSON: its shells run the opposite way to those
// of the grid, and repeat the first point.
func TestGeometry(t *testing.T) {
	shell := []grid.Point{grid.Pt(0, 0), grid.Pt(grid.WorldSize/2, 0), grid.Pt(grid.WorldSize/2, grid.WorldSize/4)}
	const one = `[[[-180,90],[0,0],[0,90],[-180,90]]]`
	for want, polys := range map[string][]grid.Polygon{
		`{"type":"Polygon","coordinates":` + one + `}`:                    {{shell}},
		`{"type":"MultiPolygon","coordinates":[` + one + `,` + one + `]}`: {{shell}, {shell}},
	} {
		if got := string(AppendMultiPolygon(nil, polys, PlateCarreePosition)); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	if got := string(AppendSquare(nil,
		quadkey.Tile{Z: 1})); got != `{"type":"Polygon","coordinates":[[[-180,0],[0,0],[0,85.051],[-180,85.051],[-180,0]]]}` {
		t.Errorf("a quarter of the world is %s", got)
	}
	if got := string(AppendFeatureHead(nil, "country", "fr", `F "`,
		2)); got != `{"type":"Feature","id":"country:fr","properties":{"type":"country","id":"fr","name":"F \"","merged":2},"geometry":` {
		t.Errorf("a feature begins %s", got)
	}
}

// TestPositions tests that a position does not depend on those written before.
func TestPositions(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	var w Positions
	for range 20_000 {
		z := rnd.IntN(grid.MaxZoom + 1)
		p := grid.Pt(rnd.Int32N(grid.WorldSize), (rnd.Int32N(3000)-1000)<<rnd.IntN(14))
		w.SetZoom(z)
		want := string(AppendDegrees(nil, float64(p.X)/grid.WorldSize*360-180, MercatorLat(float64(p.Y)), decimalsAt(z)))
		if got := string(w.Append(nil, p)); got != want {
			t.Fatalf("%v at zoom %d: %s, want %s", p, z, got, want)
		}
	}
}
