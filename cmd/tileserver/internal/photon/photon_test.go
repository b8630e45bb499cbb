package photon

import (
	"encoding/json"
	"strings"
	"testing"

	"quadrille/ask/geocoder"
	"quadrille/places"
	"quadrille/places/names"
)

// TestLayers tests that featureOf derives the layer from the OpenStreetMap tags, which are the same
// as in the imitation of Nominatim.
func TestLayers(t *testing.T) {
	for _, c := range []struct {
		class, code string
		want        string
	}{
		{"P", "PPLC", "place:city city"}, {"P", "PPL", "place:village city"}, {"P", "PPLX", "place:suburb district"}, {"P", "PPLL",
			"place:hamlet district"},
		{"A", "PCLI", "place:country country"}, {"A", "ADM1", "place:state state"}, {"A", "ADM2",
			"boundary:administrative county"}, {"A", "ADM4", "boundary:administrative city"},
		{"A", "ZN", "boundary:administrative other"}, {"S", "AIRP", "aeroway:aerodrome house"}, {"S", "AIRH",
			"aeroway:heliport house"}, {"S", "SCH", "building:yes house"},
		{"H", "STM", "waterway:river other"}, {"T", "ISL", "place:island other"}, {"R", "RD", "highway:road street"}, {"L", "LCTY",
			"place:locality other"},
	} {
		f := featureOf(&geocoder.Result{Feature: names.Feature{Kind: geocoder.Place}, Place: places.Hit{Class: c.class, Code: c.code}})
		if got := f.key + ":" + f.value + " " + f.layer; got != c.want {
			t.Errorf("%s.%s: %s, want %s", c.class, c.code, got, c.want)
		}
	}
}

func TestParseTag(t *testing.T) {
	place := feature{key: "place", value: "city"}
	for text, passes := range map[string]bool{
		"place":          true,
		"place:city":     true,
		":city":          true,
		"place:town":     false,
		"highway":        false,
		"!place":         false,
		"!highway":       true,
		"!place:city":    false,
		"place:!city":    false,
		"place:!town":    true,
		"highway:!city":  false,
		":!city":         false,
		":!town":         true,
		"!:city":         false,
		"!place:!town":   true,
		" place : city ": true,
	} {
		tag, exclude, ok := parseTag(text)
		f := filter{tags: []tagFilter{tag}}
		if exclude {
			f = filter{noTags: []tagFilter{tag}}
		}
		if !ok || f.passes(&place) != passes {
			t.Errorf("%q: %+v exclude %v, %v", text, tag, exclude, ok)
		}
	}
	for _, text := range []string{"", "!", ":", "a:", "a:b:c", "::", "a:!", "!:"} {
		if _, _, ok := parseTag(text); ok {
			t.Errorf("%q is a filter", text)
		}
	}
}

// Whatever a name holds, the feature is JSON.
func FuzzFeature(f *testing.F) {
	f.Add("Zürich", "ch", 8.5, 47.4)
	f.Add("\u202e\"<b>\x00\xff", "", -180.0, -90.0)
	f.Fuzz(func(t *testing.T, name, country string, lon, lat float64) {
		if !(lon >= -180 && lon <= 180 && lat >= -90 && lat <= 90) {
			t.Skip()
		}
		r := geocoder.Result{Feature: names.Feature{
			Kind:    names.Region,
			Type:    name,
			ID:      country,
			Name:    name,
			Country: country,
			Lat:     lat,
			Lon:     lon,
			Parents: []names.Parent{{Type: country, Name: name}},
		}}
		of := featureOf(&r)
		if b := of.append(nil); !json.Valid(b) {
			t.Errorf("%s", b)
		}
	})
}

// A region across ±180° gets the width of the world, because clients expect that west is less than
// east.
func TestExtent(t *testing.T) {
	for bounds, want := range map[[4]float64]string{
		{172.5, 18.9, -66.9, 71.4}: `"extent":[-180,71.4,180,18.9]`,
		{5.96, 45.8, 10.49, 47.8}:  `"extent":[5.96,47.8,10.49,45.8]`,
		{-180, -90, 180, -60}:      `"extent":[-180,-60,180,-90]`,
	} {
		f := feature{bounds: bounds}
		if got := string(f.append(nil)); !strings.Contains(got, want) {
			t.Errorf("%v: %s", bounds, got)
		}
	}
	var none feature
	if got := string(none.append(nil)); strings.Contains(got, "extent") {
		t.Errorf("%s", got)
	}
}
