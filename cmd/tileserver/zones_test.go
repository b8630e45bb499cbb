package main

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"testing"

	"quadrille/cmd/internal/programs"
	"quadrille/internal/testrace"
)

// TestTimeZonesOfRealData tests the time zones of points with real, unmodified files. The longitude
// never decides the time in a country.
func TestTimeZonesOfRealData(t *testing.T) {
	testrace.SkipUnderRace(t, "it asks one question after the other of programs that other tests run under the detector")
	const shared = "../../../shared/data"
	if _, err := os.Stat(shared); err != nil {
		t.Skipf("no real data: %v", err)
	}
	if _, err := os.Stat("/usr/share/zoneinfo/zone.tab"); err != nil {
		t.Skipf("the countries of one time zone are not known: %v", err)
	}
	dir := t.TempDir()
	ingest := programs.Ingester(t)
	ingest("--data", dir, "boundaries", "--layer", "country="+shared+"/natural-earth/50m/ne_50m_admin_0_countries.geojson.gz")
	ingest("--data", dir, "places", shared+"/geonames/cities15000.zip")
	ingest("--data", dir, "timezones")
	ingest("--data", dir, "airports", "../../sample/airports.csv")
	site, _, _ := start(t, "--data", dir)

	type answer struct {
		Regions  []struct{ Type string }
		Timezone *struct {
			ID, Source, Match string
			Nautical          bool
			DistanceM         *float64 `json:"distance_m"`
		}
	}
	ask := func(path string, lat, lon float64) (a answer) {
		res, err := http.Get(fmt.Sprintf("%s%s&lat=%v&lon=%v", site, path, lat, lon))
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		if err := json.NewDecoder(res.Body).Decode(&a); err != nil || res.StatusCode != http.StatusOK {
			t.Fatalf("%s %v, %v: %s, %v", path, lat, lon, res.Status, err)
		}
		return a
	}
	at := func(lat, lon float64) answer { return ask("/at?types=country", lat, lon) }
	for _, tt := range []struct {
		name     string
		lat, lon float64
		ids      []string // any of them; none: absent
	}{
		{"Kansas", 38.5, -98.3, []string{"America/Chicago"}},
		{"Navajo Nation", 36.2, -109.5, []string{"America/Denver"}},
		{"near Alice Springs", -24.5, 133, []string{"Australia/Darwin"}},
		{"Ürümqi", 43.8, 87.6, []string{"Asia/Urumqi", "Asia/Shanghai"}}, // sources do not agree
		{"Kathmandu", 27.72, 85.32, []string{"Asia/Kathmandu"}},
		{"the ice of Greenland", 67, -46, []string{"America/Nuuk", "America/Godthab"}},
		{"the Sahara", 24, 2, []string{"Africa/Algiers"}},
		{"Antarctica", -82, 60, nil},
		{"the middle of the Pacific", 0, -140, []string{"Etc/GMT+9"}},
		{"Heard Island", -53.1, 73.5, nil},
		{"Lesotho", -29.5, 28.2, []string{"Africa/Maseru"}},
		{"San Marino", 43.94, 12.46, []string{"Europe/San_Marino"}},
		{"French Guiana", 4.2, -53, []string{"America/Cayenne"}},
		{"Mayotte", -12.8, 45.15, []string{"Indian/Mayotte"}},
		{"Spitsbergen", 78.3, 16, []string{"Arctic/Longyearbyen"}},
		{"Taveuni, at 180 degrees", -16.85, 180, []string{"Pacific/Fiji"}},
		{"the same from the east", -16.85, -180, []string{"Pacific/Fiji"}},
	} {
		z := at(tt.lat, tt.lon).Timezone
		if (z == nil) != (tt.ids == nil) || z != nil && !slices.Contains(tt.ids, z.ID) {
			t.Errorf("%s: %+v, want one of %q", tt.name, z, tt.ids)
		}
	}
	rng := rand.New(rand.NewPCG(1, 5))
	land, absent := 0, 0
	for range 3000 {
		lat, lon := math.Asin(2*rng.Float64()-1)*180/math.Pi, 360*rng.Float64()-180
		a := at(lat, lon)
		z := a.Timezone
		inside := len(a.Regions) > 0
		switch {
		case z == nil && !inside:
			// Only inland waters outside all regions may lack a zone.
			if near := ask("/regions/at?snap=22224", lat, lon); len(near.Regions) == 0 {
				t.Errorf("%v, %v: no time zone at sea", lat, lon)
			}
		case z == nil:
			absent++
		case inside && (z.Source == "longitude" || z.Nautical), z.Nautical != (z.Source == "longitude"),
			(z.Match == "nearest") != (z.DistanceM != nil):
			t.Errorf("%v, %v: %+v", lat, lon, *z)
		}
		if inside {
			land++
		}
	}
	if land < 500 || absent == 0 || absent > land/2 { // Antarctica is a tenth of the land
		t.Errorf("%d points on land, %d of them without a time zone", land, absent)
	}
}
