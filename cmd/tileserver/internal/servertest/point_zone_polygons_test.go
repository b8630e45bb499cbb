//go:build !race

package servertest_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"quadrille/cmd/tileserver/internal/servertest"
	"quadrille/quadkey"
	"quadrille/tiles/build"
)

type zoneArea struct {
	id, name string
	box      quadkey.Box
}

// zoneAreas are time zones as rectangles, similar to those of timezone-boundary-builder: they also
// cover waters of the country, and overlap where people use two times.
var zoneAreas = []zoneArea{
	{"america-chicago", "America/Chicago", quadkey.Box{West: -104, South: 24.8, East: -85, North: 49.2}},
	{"asia-shanghai", "Asia/Shanghai", quadkey.Box{West: 74, South: 19.8, East: 135.2, North: 50}},
	{"asia-urumqi", "Asia/Urumqi", quadkey.Box{West: 74, South: 34, East: 96, North: 49}},
	{"antarctica-mcmurdo", "Antarctica/McMurdo", quadkey.Box{West: 160, South: -90, East: 180, North: -60}},
	{"asia-atlantis", "Asia/Atlantis", quadkey.Box{West: -50, South: 30, East: -40, North: 40}}, // a zone without known offsets
}

var oceanAreas = []zoneArea{
	{"etc-gmt-plus-9", "Etc/GMT+9", quadkey.Box{West: -142.5, South: -90, East: -127.5, North: 85}},
}

// corners are zones that make the layer span the whole world.
var corners = []zoneArea{
	{"america-nuuk", "America/Nuuk", quadkey.Box{West: -180, South: 83, East: -179, North: 84}},
	{"asia-kathmandu", "Asia/Kathmandu", quadkey.Box{West: 179, South: 83, East: 180, North: 84}},
}

// newZones serves the zones and some other layers.
func newZones(t *testing.T, areas []zoneArea, others ...build.Layer) *servertest.Server {
	g := newLands(t)
	l := build.Layer{Type: "timezone"}
	for _, z := range areas {
		l.Features = append(l.Features, servertest.Region(z.id, z.name, z.box.West, z.box.South, z.box.East, z.box.North))
	}
	g.PublishRows(servertest.Regions(append(others, l)...))
	return g
}

// TestZonePolygons tests that zones of the whole world alone determine the time, and also where the
// sea is.
func TestZonePolygons(t *testing.T) {
	for _, oceans := range []bool{false, true} {
		g := newZones(t, wholeWorld(oceans), landLayer())
		for _, tt := range []struct {
			name     string
			lat, lon float64
			want     string // id, source, match, and what else there is
		}{
			{"Kansas", 38.5, -98.3, `"America/Chicago" region inside`},
			{"Xinjiang, the smaller of two", 43.8, 87.6, `"Asia/Urumqi" region inside also Asia/Shanghai`},
			{"east of it", 30, 110, `"Asia/Shanghai" region inside`},
			{"off the coast, in a zone", 24.9, -90, `"America/Chicago" region inside`},
			{"near a coast, in no zone", 24.95, -80, `"Etc/GMT+5" longitude derived nautical`},
			{"the middle of the Pacific", 0, -140, ocean(oceans)},
			{"Antarctic land in a zone", -80, 170, `"Antarctica/McMurdo" region inside`},
			{"Antarctic land in none", -80, -110, `"Etc/GMT+7" longitude derived`},
			{"land in no zone", 47, 3, `"Europe/Paris" country derived`},
			{"an island without people, in none", -53.1, 73.5, `"Etc/GMT-5" longitude derived`},
			{"a zone that the offsets lack", 35, -45, `"Etc/GMT+3" longitude derived nautical`},
		} {
			a := at(g, fmt.Sprintf("lat=%v&lon=%v", tt.lat, tt.lon))
			z := a.Timezone
			got := fmt.Sprintf("%q %s %s", z.ID, z.Source, z.Match)
			if len(z.Also) > 0 {
				got += " also " + strings.Join(z.Also, " ")
			}
			if z.Nautical {
				got += " nautical"
			}
			if got != tt.want {
				t.Errorf("%s, oceans %v: %s, want %s", tt.name, oceans, got, tt.want)
			}
			// GeoNames names no zone at sea.
			doc := g.Geonames(fmt.Sprintf("/timezoneJSON?lat=%v&lng=%v", tt.lat, tt.lon))
			if id := doc["timezoneId"]; z.Nautical && id != nil || doc["rawOffset"] == nil || z.Source == "region" && !z.Nautical && id != z.ID {
				t.Errorf("%s, oceans %v: %v", tt.name, oceans, doc)
			}
		}
	}
}

func wholeWorld(oceans bool) []zoneArea {
	areas := slices.Concat(zoneAreas, corners)
	if oceans {
		areas = append(areas, oceanAreas...)
	}
	return areas
}

func ocean(oceans bool) string {
	if oceans {
		return `"Etc/GMT+9" region inside nautical`
	}
	return `"Etc/GMT+9" longitude derived nautical`
}

// TestZonesOfAPart tests that zones of a part of the world do not determine anything outside this
// part.
func TestZonesOfAPart(t *testing.T) {
	g := newZones(t, slices.DeleteFunc(slices.Clone(zoneAreas), func(z zoneArea) bool { return z.id == "antarctica-mcmurdo" }), landLayer())
	if z := at(g, "lat=-80&lon=-110").Timezone; z.ID != "" {
		t.Errorf("Antarctica: %+v", z)
	}
	if z := at(g, "lat=0&lon=-140").Timezone; z.ID != "Etc/GMT+9" || !z.Nautical {
		t.Errorf("the sea: %+v", z)
	}
}

// TestZonesWithoutCountries tests that no point is reported as sea without countries, because a
// point outside all zones may be on land.
func TestZonesWithoutCountries(t *testing.T) {
	for _, oceans := range []bool{false, true} {
		g := newZones(t, wholeWorld(oceans))
		for _, tt := range []struct {
			name     string
			lat, lon float64
			id       string
		}{
			{"Antarctic land in no zone", -80, -110, "Etc/GMT+7"},
			{"the middle of the Pacific", 0, -140, "Etc/GMT+9"},
			{"Kansas", 38.5, -98.3, "America/Chicago"},
		} {
			if z := at(g, fmt.Sprintf("lat=%v&lon=%v", tt.lat, tt.lon)).Timezone; z.ID != tt.id || z.Nautical {
				t.Errorf("%s, oceans %v: %+v, want %s", tt.name, oceans, z, tt.id)
			}
		}
	}
}
