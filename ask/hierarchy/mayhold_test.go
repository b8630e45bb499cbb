package hierarchy

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"quadrille/internal/must"
	"quadrille/places"
	"quadrille/places/names"
	"quadrille/places/search"
)

// hitOf returns a place as the index of names has it.
func hitOf(p *places.Place) *search.Hit {
	return &search.Hit{
		ID: p.ID, Lat: int32(p.Lat * unitsPerDegree), Lon: int32(p.Lon * unitsPerDegree), Country: p.Country, Admin1: p.Admin1,
	}
}

// TestMayHoldIsNeverWrong tests that MayHold excludes no place that is in a region by its row or on the
// map, and most others.
func TestMayHoldIsNeverWrong(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 2))
	list := make([]places.Place, 400)
	for i := range list {
		list[i] = places.Place{
			Name:    fmt.Sprint("P", i),
			Country: []string{"US", "CA", "VA", ""}[rng.IntN(4)],
			Admin1:  []string{"MI", "WI", "08", ""}[rng.IntN(4)],
			Admin2:  []string{"163", "115", "037", ""}[rng.IntN(4)],
			Lat:     41.9 + 2*rng.Float64()*rng.Float64(),
			Lon:     -83.5 + rng.NormFloat64(),
		}
	}
	v := world(t, list...)
	region := func(typ, id string, bounds ...float64) names.Feature {
		f := names.Feature{Kind: names.Region, Type: typ, ID: id, Country: "US"}
		copy(f.Bounds[:], bounds)
		return f
	}
	regions := []names.Feature{
		region(Country, "us", -95, 42, -83, 48), region(Country, "ca", -83, 42, -75, 48), region(Country, "va", -90, 44, -89.9, 44.1),
		region(State, "us-mi", -88, 42, -83, 48), region(State, "us-wi", -95, 42, -88, 48), region(State, "ca-on", -83, 42, -79, 48),
		region(County, "26163", -84, 42, -83, 43), region(County, "26115", -85, 42, -84, 43), region(County, "55037", -89, 45, -88, 46),
		region("lake", "erie", -83.5, 42, -82.5, 42.2), region("lake", "erie"), region(names.Admin1Type, "US.MI"), region(Country, "us"),
	}
	var in, may int
	for i := range list {
		var hit places.Hit
		must.Do(t, v.Places.Hit(t.Context(), list[i].ID, &hit))
		for k := range regions {
			r := &regions[k]
			is := must.Get(v.InRegions(t.Context(), &hit, []names.Parent{{Type: r.Type, ID: r.ID}})).In(t) ||
				r.Bounds == [4]float64{} && Holds(r, &hit)
			held := MayHold(r, hitOf(&list[i]))
			if is && !held {
				t.Errorf("%+v is in %s %s", list[i], r.Type, r.ID)
			}
			if r.Type == County || r.Type == names.Admin1Type {
				in, may = in+boolean(is), may+boolean(held)
			}
		}
	}
	if in < 50 || may > 2*in {
		t.Errorf("%d places are in counties, %d may be", in, may)
	}
}

func boolean(is bool) int {
	if is {
		return 1
	}
	return 0
}

// TestMayHoldAroundTheWorld tests MayHold at ±180° and at a pole, and for wide regions.
func TestMayHoldAroundTheWorld(t *testing.T) {
	for _, c := range []struct {
		west, south, east, north float64
		lat, lon                 float64
		want                     bool
	}{
		{170, -10, -170, 10, 0, 179, true},
		{170, -10, -170, 10, 0, -180, true},
		{170, -10, -170, 10, 0, -169.99, true},
		{170, -10, -170, 10, 0, 169.99, true},
		{170, -10, -170, 10, 0, 0, false},
		{170, -10, -170, 10, 11, 179, false},
		{179, 0, 180, 1, 0.5, -179.99, true},
		{-180, 0, -179, 1, 0.5, 179.99, true},
		{-180, 0, -179, 1, 0.5, 178, false},
		{-180, -90, 180, -60, -90, 77, true},
		{-180, -90, 180, -60, -50, 77, false},
		{-170, 0, 170, 1, 0.5, 160, true},
		{-170, 0, 170, 1, 0.5, 179, false},
		{10, 89, 20, 90, 89.99, 24, true}, // as far as ParentsOf looks
		{10, 50, 20, 51, 51.04, 15, true},
		{10, 50, 20, 51, 51.2, 15, false},
	} {
		r := names.Feature{Kind: names.Region, Type: County, ID: "x", Bounds: [4]float64{c.west, c.south, c.east, c.north}}
		p := places.Place{Lat: c.lat, Lon: c.lon}
		if got := MayHold(&r, hitOf(&p)); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}
