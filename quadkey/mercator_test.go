package quadkey

import (
	"errors"
	"math"
	"testing"

	"pgregory.net/rapid"
)

var (
	nan      = math.NaN()
	inf      = math.Inf(1)
	justIn   = math.Nextafter(MaxLatitude, 0)
	justOut  = math.Nextafter(MaxLatitude, 90)
	belowDeg = func(v float64) float64 { return math.Nextafter(v, -1000) }
	aboveDeg = func(v float64) float64 { return math.Nextafter(v, 1000) }
)

func TestTileAtEdges(t *testing.T) {
	const last2, last22 = 1<<2 - 1, 1<<22 - 1
	for _, tt := range []struct {
		name     string
		lon, lat float64
		want     Tile
	}{
		{"origin", 0, 0, Tile{2, 2, 2}},
		{"negative zero", math.Copysign(0, -1), math.Copysign(0, -1), Tile{22, 1 << 21, 1 << 21}},
		{"lon -180", -180, 10, Tile{2, 0, 1}},
		{"lon 180 is -180", 180, 10, Tile{2, 0, 1}},
		{"lon 180 at the deepest zoom", 180, 0, Tile{22, 0, 1 << 21}},
		{"lon just inside 180", belowDeg(180), 10, Tile{2, last2, 1}},
		{"lon just inside 180 at the deepest zoom", belowDeg(180), 0, Tile{22, last22, 1 << 21}},
		{"lon just inside -180", aboveDeg(-180), 10, Tile{2, 0, 1}},
		{"lon just west of 0", -5e-324, 0, Tile{22, 1<<21 - 1, 1 << 21}},
		{"lon just east of 0", 5e-324, 0, Tile{22, 1 << 21, 1 << 21}},
		{"lat just north of 0", 10, 5e-324, Tile{2, 2, 1}},
		{"lat just south of 0", 10, -5e-324, Tile{2, 2, 2}},
		{"north pole", 30, 90, Tile{2, 2, 0}},
		{"north pole at the deepest zoom", -180, 90, Tile{22, 0, 0}},
		{"south pole", 30, -90, Tile{2, 2, last2}},
		{"south pole, lon 180", 180, -90, Tile{22, 0, last22}},
		{"MaxLatitude", 30, MaxLatitude, Tile{22, 2446677, 0}},
		{"just inside MaxLatitude", 30, justIn, Tile{22, 2446677, 0}},
		{"just outside MaxLatitude", 30, justOut, Tile{22, 2446677, 0}},
		{"-MaxLatitude", 30, -MaxLatitude, Tile{22, 2446677, last22}},
		{"just inside -MaxLatitude", 30, -justIn, Tile{22, 2446677, last22}},
		{"just outside -MaxLatitude", 30, -justOut, Tile{22, 2446677, last22}},
		{"zoom 0", 180, -90, Tile{}},
		{"zoom 0, middle", 0, 0, Tile{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := TileAt(tt.lon, tt.lat, tt.want.Z)
			if err != nil || got != tt.want {
				t.Errorf("TileAt: %v, %v; want %v", got, err, tt.want)
			}
			cell, err := CellOf(tt.lon, tt.lat)
			if err != nil || cell.Tile().Ancestor(tt.want.Z) != tt.want.Ancestor(CellZoom) {
				t.Errorf("CellOf: %v, %v; want a relative of %v", cell.Tile(), err, tt.want)
			}
		})
	}
}

func TestTileAtRefuses(t *testing.T) {
	for _, tt := range []struct {
		name     string
		lon, lat float64
		z        uint8
		want     error
	}{
		{"NaN lon", nan, 0, 3, ErrCoordinate},
		{"NaN lat", 0, nan, 3, ErrCoordinate},
		{"+Inf lon", inf, 0, 3, ErrCoordinate},
		{"-Inf lon", -inf, 0, 3, ErrCoordinate},
		{"+Inf lat", 0, inf, 3, ErrCoordinate},
		{"-Inf lat", 0, -inf, 3, ErrCoordinate},
		{"lon above 180", aboveDeg(180), 0, 3, ErrCoordinate},
		{"lon below -180", belowDeg(-180), 0, 3, ErrCoordinate},
		{"lat above 90", 0, aboveDeg(90), 3, ErrCoordinate},
		{"lat below -90", 0, belowDeg(-90), 3, ErrCoordinate},
		{"huge", 1e308, -1e308, 3, ErrCoordinate},
		{"zoom 23", 0, 0, MaxZoom + 1, ErrTile},
		{"zoom 255", 0, 0, 255, ErrTile},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got, err := TileAt(tt.lon, tt.lat, tt.z); !errors.Is(err, tt.want) || got != (Tile{}) {
				t.Errorf("TileAt: %v, %v; want %v", got, err, tt.want)
			}
			if tt.want != ErrCoordinate {
				return
			}
			if err := CheckCoordinate(tt.lon, tt.lat); !errors.Is(err, ErrCoordinate) {
				t.Errorf("CheckCoordinate: %v", err)
			}
			if got, err := CellOf(tt.lon, tt.lat); !errors.Is(err, ErrCoordinate) || got != 0 {
				t.Errorf("CellOf: %v, %v", got, err)
			}
			if _, err := CoverCircle(tt.lon, tt.lat, 1, 1); !errors.Is(err, ErrCoordinate) {
				t.Errorf("CoverCircle: %v", err)
			}
		})
	}
	for _, z := range []uint8{0, MaxZoom} {
		if _, err := TileAt(1, 1, z); err != nil {
			t.Errorf("zoom %d: %v", z, err)
		}
	}
}

func TestProject(t *testing.T) {
	for _, tt := range []struct {
		name           string
		lon, lat, x, y float64
	}{
		{"north-west corner", -180, MaxLatitude, 0, 0},
		{"south-east corner", 180, -MaxLatitude, 1, 1},
		{"origin", 0, 0, 0.5, 0.5},
		{"poles are clamped", 90, 90, 0.75, 0},
		{"south pole", -90, -90, 0.25, 1},
		{"unwrapped east", 270, 0, 1.25, 0.5},
		{"unwrapped west", -270, 0, -0.25, 0.5},
	} {
		if x, y := Project(tt.lon, tt.lat); x != tt.x || y != tt.y {
			t.Errorf("%s: %v, %v; want %v, %v", tt.name, x, y, tt.x, tt.y)
		}
	}
	if x, y := Project(nan, nan); !math.IsNaN(x) || !math.IsNaN(y) {
		t.Errorf("NaN: %v, %v", x, y)
	}
	for _, tt := range []struct{ x, y, lon, lat float64 }{
		{0, 0, -180, MaxLatitude}, {1, 1, 180, -MaxLatitude}, {0.5, 0.5, 0, 0},
		{1.25, -3, 270, MaxLatitude}, {0, 7, -180, -MaxLatitude},
	} {
		if lon, lat := Unproject(tt.x, tt.y); lon != tt.lon || lat != tt.lat {
			t.Errorf("Unproject(%v, %v) = %v, %v; want %v, %v", tt.x, tt.y, lon, lat, tt.lon, tt.lat)
		}
	}
	rapid.Check(t, func(rt *rapid.T) {
		lon := rapid.Float64Range(-180, 180).Draw(rt, "lon")
		lat := rapid.Float64Range(-MaxLatitude, MaxLatitude).Draw(rt, "lat")
		x, y := Project(lon, lat)
		if !(x >= 0 && x <= 1 && y >= 0 && y <= 1) {
			rt.Fatalf("%v, %v leaves the unit square", x, y)
		}
		if math.Abs(y-refMercatorY(lat)) > 1e-14 {
			rt.Fatalf("y = %v, by the textbook %v", y, refMercatorY(lat))
		}
		lon2, lat2 := Unproject(x, y)
		if math.Abs(lon-lon2) > 1e-13 || math.Abs(lat-lat2) > 1e-13 {
			rt.Fatalf("%v, %v comes back as %v, %v", lon, lat, lon2, lat2)
		}
	})
}

// TestTileAtAgreesWithBound checks, however near a point is to an edge, that three answers agree:
// the tile of the point, the integer part of its projection and the degrees of the tile's bound.
func TestTileAtAgreesWithBound(t *testing.T) {
	r := newRand(3)
	check := func(lon, lat float64, z uint8) {
		t.Helper()
		tile, err := TileAt(lon, lat, z)
		if err != nil || !tile.Valid() || tile.Z != z {
			t.Fatalf("(%v, %v) at %d: %v, %v", lon, lat, z, tile, err)
		}
		if !refHolds(tile, lon, lat) {
			t.Fatalf("(%v, %v) is in %v, whose bound is %v", lon, lat, tile, tile.Bound())
		}
		x, y := Project(lon, lat)
		n := float64(uint32(1) << z)
		if lon == 180 {
			x = 0
		}
		if want := (Tile{z, uint32(x * n), min(uint32(y*n), 1<<z-1)}); tile != want {
			t.Fatalf("(%v, %v) is in %v but projects into %v", lon, lat, tile, want)
		}
	}
	for range trials(150_000) {
		lon, lat := randPoint(r)
		check(lon, lat, uint8(r.IntN(MaxZoom+1)))

		// The points are on and around a corner, where rounding decides.
		b := randTile(r, MaxZoom).Bound()
		z := uint8(r.IntN(MaxZoom + 1))
		check(b.West, b.North, z)
		check(b.West, b.North, MaxZoom)
		for range 3 {
			lon, lat := b.West, b.North
			for range r.IntN(5) {
				lat = math.Nextafter(lat, float64(r.IntN(2)*180-90))
				lon = math.Nextafter(lon, float64(r.IntN(2)*360-180))
			}
			check(lon, lat, z)
			check(lon, lat, MaxZoom)
		}
	}
}

// TestRowEdges visits every row edge of the cell grid.
func TestRowEdges(t *testing.T) {
	before := 90.0
	for y := uint32(1); y < 1<<CellZoom; y++ {
		tile := Tile{CellZoom, y, y}
		b := tile.Bound()
		if b.North >= before {
			t.Fatalf("row %d begins at %v, not south of %v", y, b.North, before)
		}
		before = b.North
		if got, err := TileAt(b.West, b.North, CellZoom); err != nil || got != tile {
			t.Fatalf("north-west corner of %v is in %v, %v", tile, got, err)
		}
		nw := Tile{CellZoom, y - 1, y - 1}
		if got, err := TileAt(belowDeg(b.West), aboveDeg(b.North), CellZoom); err != nil || got != nw {
			t.Fatalf("just outside the north-west corner of %v is in %v, %v", tile, got, err)
		}
		if above := nw.Bound(); above.South != b.North || above.East != b.West {
			t.Fatalf("%v and %v do not share their corner: %v, %v", nw, tile, above, b)
		}
	}
}

// TestZoomsNest tests that the tile of a point at a lower zoom is the ancestor of the one at a
// higher.
func TestZoomsNest(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		lon, lat := drawLon(rt, "lon"), drawLat(rt, "lat")
		deep, err := TileAt(lon, lat, MaxZoom)
		if err != nil {
			rt.Fatal(err)
		}
		for z := range uint8(MaxZoom) {
			if got, err := TileAt(lon, lat, z); err != nil || got != deep.Ancestor(z) {
				rt.Fatalf("zoom %d: %v, %v; want %v", z, got, err, deep.Ancestor(z))
			}
		}
		if cell, err := CellOf(lon, lat); err != nil || cell.Tile() != deep.Ancestor(CellZoom) {
			rt.Fatalf("cell %v, %v; want %v", cell.Tile(), err, deep.Ancestor(CellZoom))
		}
	})
}
