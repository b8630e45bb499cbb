package tiles

import (
	"math"
	"slices"
	"testing"

	"quadrille/quadkey"
)

func TestOverlap(t *testing.T) {
	for _, c := range []struct {
		box    quadkey.Box
		bounds [4]float64
		want   [4]float64
	}{
		{quadkey.World, [4]float64{1, 2, 3, 4}, [4]float64{1, 2, 3, 4}},
		{quadkey.World, [4]float64{170, 2, -170, 4}, [4]float64{-180, 2, 180, 4}},
		{quadkey.Box{West: 2, South: 3, East: 5, North: 6}, [4]float64{1, 2, 3, 4}, [4]float64{2, 3, 3, 4}},
		{quadkey.Box{West: 0, South: 0, East: 2, North: 3}, [4]float64{1, 2, 3, 4}, [4]float64{1, 2, 2, 3}},
		{quadkey.Box{West: 175, South: 0, East: -175, North: 3}, [4]float64{170, 2, -170, 4}, [4]float64{175, 2, -175, 3}},
		{quadkey.Box{West: 160, South: 0, East: -160, North: 3}, [4]float64{170, 2, -170, 4}, [4]float64{170, 2, -170, 3}},
		{quadkey.Box{West: 175, South: 0, East: -100, North: 3}, [4]float64{170, 2, -170, 4}, [4]float64{175, 2, -170, 3}},
		{quadkey.Box{West: -175, South: 0, East: 175, North: 3}, [4]float64{170, 2, -170, 4}, [4]float64{-175, 2, 175, 3}},
		{quadkey.Box{West: -175, South: 0, East: 0, North: 3}, [4]float64{-180, -90, 180, 4}, [4]float64{-175, 0, 0, 3}},
	} {
		if got := ClipBounds(c.box, boxOf(c.bounds)); got != boxOf(c.want) {
			t.Errorf("%v of %v: %v, want %v", c.box, c.bounds, got, c.want)
		}
	}
}

// TestWidened tests that widened never makes a box smaller, even if the margin reaches round the
// world.
func TestWidened(t *testing.T) {
	for _, c := range []struct {
		bounds [4]float64
		want   quadkey.Box
	}{
		{[4]float64{1, 2, 3, 4}, quadkey.Box{West: 0, South: 1, East: 4, North: 5}},
		{[4]float64{170, 2, -170, 89.5}, quadkey.Box{West: 169, South: 1, East: -169, North: 90}},
		{[4]float64{11, 2, 10, 4}, quadkey.Box{West: -180, South: 1, East: 180, North: 5}},
	} {
		if got := widened(c.bounds, 1); got != c.want {
			t.Errorf("%v: %v, want %v", c.bounds, got, c.want)
		}
	}
}

func FuzzPositions(f *testing.F) {
	f.Add([]byte(`{"type":"Polygon","coordinates":[[[-1.5,2],[0.1234567,-0.5],[180,90],[-1.5,2]]]}`))
	f.Add([]byte("--1..2[9999999999999999,"))
	f.Fuzz(func(t *testing.T, b []byte) {
		_, _ = eachPosition(b, func(lon, lat float64) bool {
			if math.IsNaN(lon) || math.IsInf(lat, 0) {
				t.Fatal(lon, lat)
			}
			return false
		})
	})
}

func TestPositions(t *testing.T) {
	var got [][2]float64
	_, err := eachPosition([]byte(`{"type":"Polygon","coordinates":[[[-1.5,2],[0.1234567,-0.5],[180,90]]]}`), func(lon, lat float64) bool {
		got = append(got, [2]float64{lon, lat})
		return false
	})
	if want := [][2]float64{{-1.5, 2}, {0.1234567, -0.5}, {180, 90}}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v", got, err)
	}
}
