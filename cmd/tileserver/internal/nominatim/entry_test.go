package nominatim

import (
	"testing"

	"quadrille/ask/geocoder"
	"quadrille/places"
	"quadrille/places/names"
)

// Places with the same name in one state are different places if they are far apart. If they are
// near each other, they are records of the same place.
func TestNamesakes(t *testing.T) {
	village := func(id uint32, lat float64, state string) entry {
		return newEntry(&geocoder.Result{
			Feature: names.Feature{
				Kind:    geocoder.Place,
				Name:    "Springfield",
				Country: "US",
				Lat:     lat,
				Lon:     -80,
				Parents: []names.Parent{{Type: "state", Name: state}, {Type: "country", ID: "us", Name: "United States"}},
			},
			Place: places.Hit{ID: id, Class: "P", Code: "PPL"},
		})
	}
	first := village(1, 39, "Ohio")
	for name, c := range map[string]struct {
		other entry
		same  bool
	}{
		"itself":           {village(1, 41, "Ohio"), true},
		"near":             {village(2, 39.1, "Ohio"), true},
		"far":              {village(2, 40, "Ohio"), false},
		"in another state": {village(2, 39, "Kentucky"), false},
	} {
		if first.looksLike(&c.other) != c.same || c.other.looksLike(&first) != c.same {
			t.Errorf("%s: same %v, want %v", name, !c.same, c.same)
		}
	}
}

// TestLayers tests that newEntry derives the layer, by which requests filter, from the tags.
func TestLayers(t *testing.T) {
	for code, want := range map[string]string{
		"P.PPL":  "place city address",
		"P.PPLX": "place suburb address",
		"A.ADM1": "boundary state address",
		"A.ZN":   "boundary boundary address",
		"S.AIRP": "aeroway aeroway manmade",
		"S.RSTN": "railway railway railway",
		"S.SCH":  "building building poi", "H.LK": "natural natural natural", "T.ISL": "place place natural", "R.RD": "highway highway manmade",
	} {
		e := newEntry(&geocoder.Result{
			Feature: names.Feature{Kind: geocoder.Place, Population: 200_000},
			Place:   places.Hit{Class: code[:1], Code: code[2:], Population: 200_000},
		})
		if got := e.class + " " + e.addressType + " " + e.layer; got != want {
			t.Errorf("%s: %s, want %s", code, got, want)
		}
	}
}
