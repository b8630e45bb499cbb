//go:build !race

package servertest_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"quadrille/ask"
	"quadrille/cmd/internal/toyworld"
	"quadrille/cmd/tileserver/internal/servertest"
)

// ids returns the ids of the places in an answer, in order, and the cursor of the next page.
func ids(t *testing.T, text string) (list []uint32, next string) {
	t.Helper()
	var doc struct {
		Places []struct{ ID uint32 }
		Next   string
	}
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	for _, p := range doc.Places {
		list = append(list, p.ID)
	}
	return list, doc.Next
}

// TestWithinReal tests that pages of the world contain every place once, and that a tile has the
// places of its children.
func TestWithinReal(t *testing.T) {
	w := servertest.NewWorld(t)
	within := func(query string) (all []uint32) {
		for cursor := ""; ; {
			page, next := ids(t, servertest.Body(t, w.Get("/places/within?"+query+cursor)))
			all = append(all, page...)
			if next == "" {
				return all
			}
			cursor = "&cursor=" + next
		}
	}
	world := within("bbox=-180,-90,180,90&limit=700")
	seen := slices.Clone(world)
	slices.Sort(seen)
	if len(world) != toyworld.PlaceCount || len(slices.Compact(seen)) != toyworld.PlaceCount {
		t.Fatalf("%d places, %d of them different", len(world), len(slices.Compact(seen)))
	}
	if piece := within("tile=0/0/0&limit=1000"); !slices.Equal(piece, world) {
		t.Error("the tile of the world has other places than its box, or in another order")
	}
	sorted := func(list []uint32) []uint32 { slices.Sort(list); return list }
	for _, filter := range []string{"", "&class=S", "&class=P&country=EE&min_population=5000"} {
		var children []uint32
		for i := range 4 {
			children = append(children, within(fmt.Sprintf("tile=7/%d/%d%s&limit=300", 64+2+i%2, 44+i/2, filter))...)
		}
		parent := within("tile=6/33/22" + filter + "&limit=1000")
		if len(parent) == 0 || !slices.Equal(sorted(parent), sorted(children)) {
			t.Errorf("%q: %d in the tile, %d in its children", filter, len(parent), len(children))
		}
	}
}

// TestPointReal tests that each part of an answer about a point equals the answer of the endpoint
// for this part.
func TestPointReal(t *testing.T) {
	w := servertest.NewWorld(t)
	for _, q := range []struct{ lat, lon float64 }{{47.1, 4.5}, {48.7, 7.2}, {46.01, 5.9}, {0, 179.5}} {
		var at struct {
			Regions  []struct{ ID string }
			Timezone struct{ ID, Source string }
			Place    struct{ ID uint32 }
			Missing  []string
		}
		if err := json.Unmarshal([]byte(servertest.Body(t, w.Get(fmt.Sprintf("/at?lat=%v&lon=%v", q.lat, q.lon)))), &at); err != nil {
			t.Fatal(err)
		}
		var regions struct{ Regions []struct{ ID string } }
		if err := json.Unmarshal([]byte(servertest.Body(t, w.Get(fmt.Sprintf("/regions/at?lat=%v&lon=%v", q.lat, q.lon)))),
			&regions); err != nil {
			t.Fatal(err)
		}
		nearest, _ := ids(t, servertest.Body(t, w.Get(fmt.Sprintf("/places/nearby?lat=%v&lon=%v&class=P&limit=1", q.lat, q.lon))))
		if !slices.Equal(at.Regions, regions.Regions) || len(nearest) != 1 || nearest[0] != at.Place.ID {
			t.Errorf("%v: %+v, %+v, %v", q, at, regions, nearest)
		}
		zone := "Europe/Zurich"
		if q.lon > 90 {
			zone = "" // no place of the country
		}
		if at.Timezone.ID != zone || !slices.Equal(at.Missing, []string{ask.TimeZones.Name, ask.Airports.Name, ask.Stations.Name}) {
			t.Errorf("%v: %+v", q, at)
		}
		var near struct{ Geonames []struct{ GeonameID uint32 } }
		if err := json.Unmarshal([]byte(servertest.Body(t,
			w.Get(fmt.Sprintf("/findNearbyPlaceNameJSON?lat=%v&lng=%v&maxRows=1", q.lat, q.lon)))), &near); err != nil {
			t.Fatal(err)
		}
		if reached := q.lon < 90; reached != (len(near.Geonames) == 1) || reached && near.Geonames[0].GeonameID != at.Place.ID {
			t.Errorf("%v: findNearbyPlaceName has %+v, /at %d", q, near, at.Place.ID)
		}
	}
	for path, want := range map[string]string{
		"/countryCode?lat=47.1&lng=4.5":             "WL\n",
		"/countryCode?lat=48.7&lng=7.2":             "EL\n",
		"/countryCode?lat=0&lng=-179.5":             "IS\n",
		"/countryCode?lat=20&lng=20":                "ERR:15:no country code found\n",
		"/countryCode?lat=45.99&lng=4.5":            "ERR:15:no country code found\n",
		"/countryCode?lat=45.99&lng=4.5&radius=2":   "WL\n",
		"/countryCode?lat=45.99&lng=4.5&radius=250": "WL\n",
	} {
		if got := servertest.Body(t, w.Get(path)); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}
