//go:build !race

package servertest_test

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"quadrille/ask"
	"quadrille/cmd/tileserver/internal/servertest"
	"quadrille/places"
	"quadrille/places/airports"
	"quadrille/quadkey"
	"quadrille/tiles/build"
)

// lands are countries as rectangles. If several contain a point, the first one counts, so enclaves
// come before the countries around them.
var lands = []struct {
	id  string
	box quadkey.Box
}{
	{"baikonur", quadkey.Box{West: 63, South: 45.5, East: 64, North: 46.5}},
	{"bir-tawil", quadkey.Box{West: 33.2, South: 21.8, East: 34.1, North: 22.1}},
	{"ls", quadkey.Box{West: 27, South: -30.7, East: 29.4, North: -28.6}},
	{"sm", quadkey.Box{West: 12.4, South: 43.89, East: 12.52, North: 43.99}},
	{"np", quadkey.Box{West: 80, South: 26.4, East: 88.2, North: 30.4}},
	{"us", quadkey.Box{West: -125, South: 25, East: -66, North: 49}},
	{"au", quadkey.Box{West: 113, South: -39, East: 154, North: -11}},
	{"cn", quadkey.Box{West: 74, South: 20, East: 135, North: 50}},
	{"kz", quadkey.Box{West: 47, South: 41, East: 73.9, North: 55}},
	{"gl", quadkey.Box{West: -60, South: 60, East: -20, North: 83}},
	{"dz", quadkey.Box{West: -8, South: 19, East: 11, North: 37}},
	{"za", quadkey.Box{West: 17, South: -35, East: 33, North: -22}},
	{"it", quadkey.Box{West: 7.1, South: 37.1, East: 18.5, North: 47}},
	{"fr", quadkey.Box{West: -5, South: 43, East: 7, North: 51}},
	{"fr", quadkey.Box{West: -54, South: 2, East: -51.5, North: 6}},
	{"fj", quadkey.Box{West: 177, South: -19, East: 180, North: -16}},
	{"fj", quadkey.Box{West: -180, South: -19, East: -178, North: -16}},
	{"hm", quadkey.Box{West: 73, South: -54, East: 74, North: -52}},
	{"aq", quadkey.Box{West: -180, South: -90, East: 180, North: -61}},
}

func landAt(lat, lon float64) string {
	for _, l := range lands {
		if l.box.Contains(lon, lat) {
			return l.id
		}
	}
	return ""
}

// landTowns have time zones, unless their country has only one.
var landTowns = []places.Place{
	{Name: "Wichita", Country: "US", TimeZone: "America/Chicago", Lat: 37.69, Lon: -97.34},
	{Name: "Denver", Country: "US", TimeZone: "America/Denver", Lat: 39.74, Lon: -104.98},
	{Name: "Phoenix", Country: "US", TimeZone: "America/Phoenix", Lat: 33.45, Lon: -112.07},
	{Name: "Window Rock", Country: "US", TimeZone: "America/Denver", Lat: 35.68, Lon: -109.05},
	{Name: "Alice Springs", Country: "AU", TimeZone: "Australia/Darwin", Lat: -23.7, Lon: 133.88},
	{Name: "Adelaide", Country: "AU", TimeZone: "Australia/Adelaide", Lat: -34.93, Lon: 138.6},
	{Name: "Ürümqi", Country: "CN", TimeZone: "Asia/Urumqi", Lat: 43.8, Lon: 87.6},
	{Name: "Shanghai", Country: "CN", TimeZone: "Asia/Shanghai", Lat: 31.22, Lon: 121.46},
	{Name: "Kathmandu", Country: "NP", Lat: 27.7, Lon: 85.32},
	{Name: "Nuuk", Country: "GL", TimeZone: "America/Nuuk", Lat: 64.18, Lon: -51.7},
	{Name: "Baikonur", Country: "KZ", TimeZone: "Asia/Qyzylorda", Lat: 45.62, Lon: 63.31},
	{Name: "Almaty", Country: "KZ", TimeZone: "Asia/Almaty", Lat: 43.25, Lon: 76.95},
	{Name: "Cayenne", Country: "GF", Lat: 4.93, Lon: -52.33},
	{Name: "Paris", Country: "FR", Lat: 48.85, Lon: 2.35},
	{Name: "McMurdo Station", Country: "AQ", TimeZone: "Antarctica/McMurdo", Lat: -77.85, Lon: 166.67},
	{Name: "Ushuaia", Country: "AR", TimeZone: "America/Argentina/Ushuaia", Lat: -54.8, Lon: -68.3},
}

// fields are airports.
var fields = []airports.Airport{
	{Name: "Pituffik", Country: "GL", TimeZone: "America/Thule", Lat: 76.53, Lon: -68.7},
	{Name: "Los Angeles", Country: "US", TimeZone: "America/Los_Angeles", Lat: 33.94, Lon: -118.41},
	{Name: "Aswan", Country: "EG", TimeZone: "Africa/Cairo", Lat: 23.96, Lon: 32.82},
}

var landCountries = map[string]string{
	"NP": "Asia/Kathmandu",
	"DZ": "Africa/Algiers",
	"LS": "Africa/Maseru",
	"ZA": "Africa/Johannesburg",
	"SM": "Europe/San_Marino",
	"IT": "Europe/Rome",
	"FR": "Europe/Paris", "GF": "America/Cayenne", "FJ": "Pacific/Fiji",
}

// landLayer returns the lands as boundaries.
func landLayer() build.Layer {
	l := build.Layer{Type: "country"}
	for _, c := range lands {
		l.Features = append(l.Features, servertest.Region(c.id, c.id, c.box.West, c.box.South, c.box.East, c.box.North))
	}
	return l
}

var landRows = sync.OnceValue(func() []*servertest.Rows {
	names := map[string]bool{"Etc/GMT+9": true} // which a map of zones may have
	list, near := slices.Clone(landTowns), slices.Clone(fields)
	for i := range list {
		list[i].ID, list[i].Class = uint32(i+1), "P"
		names[list[i].TimeZone] = true
	}
	for i := range near {
		near[i].ID, near[i].Ident, near[i].Type = uint32(i+1), fmt.Sprint("X", i), airports.Large
		names[near[i].TimeZone] = true
	}
	for _, z := range landCountries {
		names[z] = true
	}
	delete(names, "")
	return []*servertest.Rows{
		servertest.Regions(landLayer()), servertest.Places(list, nil, places.Gazetteer{}), servertest.Airports(near...),
		servertest.Zones(slices.Sorted(maps.Keys(names)), landCountries),
	}
})

// newLands serves the lands and landTowns.
func newLands(t *testing.T) *servertest.Server {
	g := servertest.NewGlobe(t, nil, ask.Stations.Name)
	g.PublishRows(landRows()...)
	return g
}

func TestTimeZoneOnLand(t *testing.T) {
	g := newLands(t)
	for _, tt := range []struct {
		name       string
		lat, lon   float64
		id, source string
	}{
		{"Kansas", 38.5, -98.3, "America/Chicago", "place"},
		{"Navajo Nation", 36.2, -109.5, "America/Denver", "place"},
		{"the desert, nearest to an airport", 35, -117, "America/Los_Angeles", "airport"},
		{"south of Alice Springs", -25.3, 131, "Australia/Darwin", "place"},
		{"Turpan", 42.95, 89.2, "Asia/Urumqi", "place"},
		{"a village of Nepal", 28.5, 83.5, "Asia/Kathmandu", "country"},
		{"the ice of Greenland", 67, -46, "America/Nuuk", "place"},
		{"far north of it, by an airport", 78, -59, "America/Thule", "airport"},
		{"Antarctica, by a station", -78, 160, "Antarctica/McMurdo", "place"},
		{"Antarctica, far from all", -75, 0, "", ""},
		{"the South Pole", -90, 0, "", ""},
		{"the Sahara", 24, 2, "Africa/Algiers", "country"},
		{"the middle of the Pacific", 0, -140, "Etc/GMT+9", "longitude"},
		{"the sea at 180 degrees", -30, 180, "Etc/GMT+12", "longitude"},
		{"Heard Island", -53.1, 73.5, "", ""},
		{"a region that is no country", 46.2, 63.9, "Asia/Qyzylorda", "place"},
		{"land of nobody, near an airport of a neighbour", 21.95, 33.6, "Africa/Cairo", "airport"},
		{"a border", 49, -80, "America/Chicago", "place"},
		{"an enclave", -29.5, 28.2, "Africa/Maseru", "country"},
		{"what is around it", -28.5, 28.2, "Africa/Johannesburg", "country"},
		{"San Marino", 43.94, 12.46, "Europe/San_Marino", "country"},
		{"its neighbour", 43.94, 12.6, "Europe/Rome", "country"},
		{"180 degrees from the west", -17, 180, "Pacific/Fiji", "country"},
		{"and from the east", -17, -180, "Pacific/Fiji", "country"},
		{"France", 47, 3, "Europe/Paris", "country"},
		{"what maps draw as France", 3, -53, "America/Cayenne", "country"},
	} {
		a := at(g, fmt.Sprintf("lat=%v&lon=%v", tt.lat, tt.lon))
		if a.Timezone.ID != tt.id || a.Timezone.Source != tt.source {
			t.Errorf("%s: %+v, want %q of %q", tt.name, a.Timezone, tt.id, tt.source)
		}
		// The GeoNames endpoint gives the same result, except for the names of zones at sea.
		path := fmt.Sprintf("/timezoneJSON?lat=%v&lng=%v", tt.lat, tt.lon)
		switch tt.source {
		case "":
			g.WantGeonames(path, 15)
		case "longitude":
			if doc := g.Geonames(path); doc["timezoneId"] != nil || doc["rawOffset"] == nil {
				t.Errorf("%s: %v", tt.name, doc)
			}
		default:
			if doc := g.Geonames(path); doc["timezoneId"] != tt.id {
				t.Errorf("%s: %v", tt.name, doc)
			}
		}
	}
	for id, want := range map[int]string{
		9:  `"timezone_source":"country","timezone":"Asia/Kathmandu"`,
		13: `"timezone_source":"country","timezone":"America/Cayenne"`,
		1:  `{"id":1,"timezone":"America/Chicago"`,
	} {
		if text := servertest.Body(t, g.Get(fmt.Sprintf("/places/%d/offset", id))); !strings.Contains(text, want) {
			t.Errorf("place %d: %s", id, text)
		}
	}
}

// TestTimeZoneOnLandProperty tests that the longitude never decides the zone on land. The zone is
// that of the country, or the nearest one in the country.
func TestTimeZoneOnLandProperty(t *testing.T) {
	g := newLands(t)
	rapid.Check(t, func(rt *rapid.T) {
		l := rapid.SampledFrom(lands).Draw(rt, "land")
		lat := rapid.Float64Range(l.box.South, l.box.North).Draw(rt, "lat")
		lon := rapid.Float64Range(l.box.West, l.box.East).Draw(rt, "lon")
		z := at(g, fmt.Sprintf("lat=%v&lon=%v", lat, lon)).Timezone
		if z.Source == "longitude" || z.Nautical {
			rt.Fatalf("%v, %v: %+v", lat, lon, z)
		}
		id := landAt(lat, lon)
		if len(id) != 2 || id == "fr" {
			return // the country is not that of the region
		}
		const grid = 1e-4 // to which borders are rounded, at most
		for _, d := range [][2]float64{{-grid, -grid}, {-grid, grid}, {grid, -grid}, {grid, grid}} {
			if landAt(lat+d[0], lon+d[1]) != id {
				return
			}
		}
		code, best, want := "", math.Pi*quadkey.EarthRadius, ""
		if len(id) == 2 {
			code = strings.ToUpper(id)
		}
		if code == "AQ" {
			best = 300_000
		}
		consider := func(country, zone string, atLat, atLon float64) {
			if d := quadkey.Distance(lon, lat, atLon, atLat); country == code && zone != "" && d < best {
				best, want = d, zone
			}
		}
		for _, r := range landTowns {
			consider(r.Country, r.TimeZone, r.Lat, r.Lon)
		}
		for _, r := range fields {
			consider(r.Country, r.TimeZone, r.Lat, r.Lon)
		}
		if only := landCountries[code]; only != "" {
			want = only
		}
		if z.ID != want {
			rt.Fatalf("%v, %v: %+v, want %q", lat, lon, z, want)
		}
	})
}
