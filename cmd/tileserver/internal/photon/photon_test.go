package photon

import (
	"encoding/json"
	"strings"
	"testing"

	"quadrille/cmd/tileserver/internal/geocoder"
	"quadrille/places"
	"quadrille/places/names"
)

// The regions around are told apart by their number, and a municipality by its name.
func TestAddress(t *testing.T) {
	region := func(typ, name string) names.Parent { return names.Parent{Type: typ, ID: "x1", Name: name} }
	country := names.Parent{Type: "country", ID: "ch", Name: "Switzerland"}
	for name, c := range map[string]struct {
		parents []names.Parent
		want    feature
	}{
		"nothing around":     {nil, feature{}},
		"a country":          {[]names.Parent{country}, feature{country: "Switzerland", countryCode: "CH"}},
		"three layers":       {[]names.Parent{region("ward", "W"), region("county", "C"), region("state", "S"), country}, feature{city: "W", county: "C", state: "S", country: "Switzerland", countryCode: "CH"}},
		"a municipality":     {[]names.Parent{region("municipality", "M"), region("state", "S"), country}, feature{city: "M", state: "S", country: "Switzerland", countryCode: "CH"}},
		"two of one layer":   {[]names.Parent{region("county", "C"), region("state", "S1"), region("state", "S2"), country}, feature{county: "C", state: "S2", country: "Switzerland", countryCode: "CH"}},
		"no country":         {[]names.Parent{region("county", "C"), region("state", "S")}, feature{county: "C", state: "S"}},
		"a fourth is no new": {[]names.Parent{region("e", "E"), region("d", "D"), region("c", "C"), region("b", "B"), country}, feature{city: "D", county: "C", state: "B", country: "Switzerland", countryCode: "CH"}},
	} {
		var f feature
		if f.address(c.parents); f != c.want {
			t.Errorf("%s: %+v, want %+v", name, f, c.want)
		}
	}
}

func TestPlaceTags(t *testing.T) {
	for _, c := range []struct {
		class, code string
		people      int64
		want        string
	}{
		{"P", "PPLC", 500, "place:city city"}, {"P", "PPLA", 100_000, "place:city city"}, {"P", "PPL", 10_000, "place:town city"}, {"P", "PPL", 0, "place:village city"},
		{"P", "PPLX", 900_000, "place:suburb district"}, {"P", "PPLL", 5, "place:hamlet district"}, {"A", "PCLI", 1, "place:country country"}, {"A", "ADM1", 1, "place:state state"},
		{"A", "ADM2", 1, "boundary:administrative county"}, {"A", "ADM4", 1, "boundary:administrative city"}, {"A", "ZN", 1, "boundary:administrative other"},
		{"S", "AIRP", 0, "aeroway:aerodrome house"}, {"S", "AIRH", 0, "aeroway:heliport house"}, {"S", "SCH", 0, "building:yes house"}, {"H", "STM", 0, "waterway:river other"},
		{"H", "LK", 0, "natural:water other"}, {"T", "MT", 0, "natural:peak other"}, {"T", "ISL", 0, "place:island other"}, {"V", "FRST", 0, "natural:wood other"}, {"R", "RD", 0, "highway:road street"},
		{"", "", 0, "place:locality other"},
	} {
		key, value, layer := placeTags(&places.Hit{Class: c.class, Code: c.code, Population: c.people})
		if got := key + ":" + value + " " + layer; got != c.want {
			t.Errorf("%s.%s: %s, want %s", c.class, c.code, got, c.want)
		}
	}
}

func TestParseTag(t *testing.T) {
	place := feature{key: "place", value: "city"}
	for text, passes := range map[string]bool{
		"place": true, "place:city": true, ":city": true, "place:town": false, "highway": false, "!place": false, "!highway": true, "!place:city": false, "place:!city": false,
		"place:!town": true, "highway:!city": false, ":!city": false, ":!town": true, "!:city": false, "!place:!town": true, " place : city ": true,
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
		r := geocoder.Result{Feature: names.Feature{Kind: names.Region, Type: name, ID: country, Name: name, Country: country, Lat: lat, Lon: lon, Parents: []names.Parent{{Type: country, Name: name}}}}
		of := featureOf(&r)
		if b := of.append(nil); !json.Valid(b) {
			t.Errorf("%s", b)
		}
	})
}

// A region across 180° is as wide as the world for clients, which expect west below east.
func TestExtent(t *testing.T) {
	for bounds, want := range map[[4]float64]string{
		{172.5, 18.9, -66.9, 71.4}: `"extent":[-180,71.4,180,18.9]`, {5.96, 45.8, 10.49, 47.8}: `"extent":[5.96,47.8,10.49,45.8]`, {-180, -90, 180, -60}: `"extent":[-180,-60,180,-90]`,
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
