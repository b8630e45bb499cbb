package quadkey

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestExtent(t *testing.T) {
	fiji, tonga, samoa := Box{177, -19, -179, -16}, Box{-176, -21, -174, -18}, Box{-172, -14, -171, -13}
	for name, c := range map[string]struct {
		boxes []Box
		want  Box
		lon   float64
		zoom  float64
	}{
		"one":                     {[]Box{{10, 40, 20, 50}}, Box{10, 40, 20, 50}, 15, 5},
		"across":                  {[]Box{fiji}, fiji, 179, 7},
		"across and near it":      {[]Box{fiji, tonga, samoa}, Box{177, -21, -171, -13}, -177, 5},
		"in another order":        {[]Box{samoa, fiji, tonga}, Box{177, -21, -171, -13}, -177, 5},
		"one in another":          {[]Box{{-10, -10, 10, 10}, {-1, -1, 1, 1}}, Box{-10, -10, 10, 10}, 0, 5},
		"a point":                 {[]Box{{8, 47, 8, 47}}, Box{8, 47, 8, 47}, 8, 14},
		"the world and across":    {[]Box{World, fiji}, World, 0, 1},
		"both sides of the world": {[]Box{{-170, 0, 0, 1}, {-1, 0, 179, 1}}, Box{-170, 0, 179, 1}, 4.5, 1},
		"one that is no box":      {[]Box{{10, 40, 20, 50}, {0, math.NaN(), 1, 1}}, Box{10, 40, 20, 50}, 15, 5},
	} {
		var e Extent
		for _, b := range c.boxes {
			e.Add(b)
		}
		lon, lat, zoom := e.CenterAndZoom(1, 14)
		if e.box != c.want || math.Abs(lon-c.lon) > 1e-9 || zoom != c.zoom || !e.box.Contains(lon, lat) {
			t.Errorf("%s: %v, centre %v, %v at %v; want %v, %v at %v", name, e.box, lon, lat, zoom, c.want, c.lon, c.zoom)
		}
	}
	var none Extent
	if got := none.Bounds(); got != [4]float64{-180, -MaxLatitude, 180, MaxLatitude} {
		t.Error(got)
	}
	none.Add(Box{177, -89, -179, 89})
	if got := none.Bounds(); got != [4]float64{-180, -MaxLatitude, 180, MaxLatitude} {
		t.Error(got)
	}
}

// TestExtentHolds tests that an Extent contains all boxes that were added to it.
func TestExtentHolds(t *testing.T) {
	lon := rapid.OneOf(rapid.SampledFrom([]float64{-180, 180, 0, 179.5}), rapid.Float64Range(-180, 180))
	box := rapid.Custom(func(t *rapid.T) Box {
		lats := []float64{rapid.Float64Range(-90, 90).Draw(t, "lat"), rapid.Float64Range(-90, 90).Draw(t, "lat")}
		slices.Sort(lats)
		return Box{lon.Draw(t, "west"), lats[0], lon.Draw(t, "east"), lats[1]}
	})
	rapid.Check(t, func(t *rapid.T) {
		var e Extent
		boxes := rapid.SliceOfN(box, 1, 4).Draw(t, "boxes")
		for _, b := range boxes {
			e.Add(b)
		}
		if !e.box.Valid() {
			t.Fatal(e.box)
		}
		inside := func(lon float64) bool { // to within rounding
			is := east(e.box.West, lon)
			return is <= width(e.box)+1e-9 || is >= 360-1e-9
		}
		for _, b := range boxes {
			for _, part := range []float64{0, 0.25, 0.5, 1} {
				at := b.West + width(b)*part
				if at > 180 {
					at -= 360
				}
				if !inside(at) || e.box.South > b.South || e.box.North < b.North {
					t.Fatalf("%v is not in %v", b, e.box)
				}
			}
		}
	})
}
