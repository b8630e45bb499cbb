package quadkey

import (
	"math"
	"testing"

	"quadrille/internal/must"
)

// Each tile with a point of a circle meets the circle and lies in the tiles of AppendTiles. Those
// tiles are not much larger than the circle.
func TestCircle(t *testing.T) {
	r := newRand(21)
	var apart, tried, tiles int
	for range trials(300_000) {
		lon, lat := randPoint(r)
		switch r.IntN(8) {
		case 0:
			lon = []float64{180, -180, 179.9999, -179.9999, 0}[r.IntN(5)]
		case 1:
			lat = []float64{90, -90, MaxLatitude, -MaxLatitude, 89.9999}[r.IntN(5)]
		}
		radius := math.Exp(r.Float64() * 18)
		c := CircleAround(lon, lat, radius)
		cover := c.AppendTiles(nil)
		if len(cover) == 0 || len(cover) > 4 {
			t.Fatalf("%v m around %v,%v: tiles %v", radius, lon, lat, cover)
		}
		// The point is within the radius, or just on the circle.
		bearing, far := r.Float64()*2*math.Pi, radius*math.Sqrt(r.Float64())
		if r.IntN(3) == 0 {
			far = radius
		}
		sin, cos := math.Sincos(lat * radians)
		a := far / EarthRadius
		to := math.Asin(max(-1, min(1, sin*math.Cos(a)+cos*math.Sin(a)*math.Cos(bearing))))
		along := lon + math.Atan2(math.Sin(bearing)*math.Sin(a)*cos, math.Cos(a)-sin*math.Sin(to))*degrees
		along = math.Remainder(along, 360)
		if Distance(lon, lat, along, to*degrees) > radius {
			continue
		}
		tried++
		tile, err := TileAt(along, to*degrees, uint8(r.IntN(MaxZoom+1)))
		must.Do(t, err)
		if !c.Meets(tile) {
			t.Fatalf("%v m around %v,%v: %v,%v is in tile %v, which is not met", radius, lon, lat, along, to*degrees, tile)
		}
		within := false
		cell, _ := TileAt(along, to*degrees, CellZoom)
		for _, u := range cover {
			within = within || u.Contains(cell)
		}
		if !within {
			t.Fatalf("%v m around %v,%v: %v,%v is in none of %v", radius, lon, lat, along, to*degrees, cover)
		}
		other := randTile(r, CellZoom)
		if got, want := c.MinDistance(other), other.MinDistance(lon, lat); got != want {
			t.Fatalf("%v from %v,%v: %v, want %v", other, lon, lat, got, want)
		}
		if !c.Meets(other) {
			apart++
			if d := other.MinDistance(lon, lat); d <= radius {
				t.Fatalf("%v m around %v,%v does not meet %v, which is %v m away", radius, lon, lat, other, d)
			}
		}
		if math.Abs(lat) < 70 && radius < 1e5 && math.Abs(lon) < 170 {
			tiles++
			b := cover[0].Bound()
			if width := (b.East - b.West) / 360 * 2 * math.Pi * EarthRadius * math.Cos(lat*radians); width > 1024*(radius+2000) {
				t.Fatalf("%v m around %v,%v: tile %v is %v m wide", radius, lon, lat, cover[0], width)
			}
		}
	}
	if apart < tried/4 || tiles == 0 {
		t.Errorf("of %d circles %d are apart from other tiles, %d are small", tried, apart, tiles)
	}
	whole := CircleAround(10, 20, math.Inf(1))
	if got := whole.AppendTiles(nil); len(got) != 4 || got[3] != (Tile{1, 1, 1}) || !whole.Meets(Tile{5, 3, 30}) {
		t.Errorf("the whole Earth is %v", got)
	}
}
