package servertest_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"testing"

	"quadrille/cmd/tileserver/internal/servertest"
)

// In every layer, the nearest features from a feature of any layer are those from its position without itself, in
// one page as in several.
func TestNearbyFromAFeature(t *testing.T) {
	w := servertest.NewWhole(t)
	type feature struct {
		ID         any
		Properties struct{ ID, Type any }
		Geometry   struct{ Coordinates []float64 }
	}
	get := func(path string) (doc struct {
		Features []feature
		Next     string
	}) {
		t.Helper()
		res := w.Get(path)
		text := servertest.Body(t, res)
		if err := json.Unmarshal([]byte(text), &doc); err != nil || res.StatusCode != http.StatusOK {
			t.Fatalf("%s: %d %s %v", path, res.StatusCode, text, err)
		}
		return doc
	}
	name := func(layer string, f *feature) string {
		if layer == "/regions" {
			return fmt.Sprintf("%v:%v", f.Properties.Type, f.Properties.ID)
		}
		return fmt.Sprint(f.ID)
	}
	layers := map[string]string{"/places": "places:", "/airports": "airports:", "/stations": "stations:", "/points/shops": "points:shops:", "/regions": ""}
	own := 0
	for from, prefix := range layers {
		var at, position string
		if from == "/regions" {
			at, position = "country:el", middleOf(t, w.Get("/regions/country/el"))
		} else {
			f := get(from + "/nearby?lat=48&lon=6&limit=1&format=geojson").Features[0]
			at = prefix + name(from, &f)
			// Properties and GeoJSON round positions as the lists do, so distances are compared by their order alone.
			position = fmt.Sprintf("lat=%v&lon=%v", f.Geometry.Coordinates[1], f.Geometry.Coordinates[0])
		}
		for layer := range layers {
			list := layer + "/nearby?format=geojson"
			if layer == "/regions" {
				list += "&skipGeometry=true"
			}
			var want, got []string
			for _, f := range get(list + "&limit=9&" + position).Features {
				if id := name(layer, &f); layers[layer]+id != at {
					want = append(want, id)
				} else {
					own++
				}
			}
			for cursor := ""; len(got) < len(want); {
				page := get(list + "&limit=2&from=" + at + cursor)
				for _, f := range page.Features {
					got = append(got, name(layer, &f))
				}
				if cursor = "&cursor=" + url.QueryEscape(page.Next); page.Next == "" {
					break
				}
				if len(page.Features) != 2 {
					t.Fatalf("%s from %s: a page of %d", layer, at, len(page.Features))
				}
			}
			if got = got[:min(len(got), len(want))]; !slices.Equal(got, want) || len(want) == 0 {
				t.Errorf("%s from %s: %q, want %q", layer, at, got, want)
			}
		}
	}
	if own != len(layers) {
		t.Errorf("%d features were left out of their own layers, want %d", own, len(layers))
	}
}

// middleOf returns the middle of the box of a region's record.
func middleOf(t *testing.T, res *http.Response) string {
	t.Helper()
	var doc struct{ Bbox [4]float64 }
	if err := json.Unmarshal([]byte(servertest.Body(t, res)), &doc); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("lat=%v&lon=%v", (doc.Bbox[1]+doc.Bbox[3])/2, (doc.Bbox[0]+doc.Bbox[2])/2)
}

// A feature that does not exist, or that nobody may see, is told.
func TestNearbyFromNothing(t *testing.T) {
	w := servertest.NewShops(t)
	for _, tt := range []struct {
		query  string
		status int
		typ    string
	}{
		{"from=points:shops:none", 404, "point-not-found"},
		{"from=points:none:1", 404, "unknown-layer"},
		{"from=planet:1", 404, "unknown-layer"},
		{"from=points:secret:d-1", 404, "unknown-layer"},
		{"from=country:zz", 404, "region-not-found"},
		{"from=places:999999999", 404, "place-not-found"},
		{"from=country", 400, "bad-parameter"},
		{"from=points:shops", 400, "bad-parameter"},
		{"from=", 400, "bad-parameter"},
		{"from=country:el&lat=1", 400, "bad-parameter"},
		{"from=country:el&cursor=AAAA", 400, "bad-parameter"},
	} {
		for _, list := range []string{"/points/shops", "/places", "/regions"} {
			if p := servertest.WantProblem(t, w.Get(list+"/nearby?"+tt.query), tt.status, tt.typ); p.Detail == "" {
				t.Errorf("%s %s: no detail", list, tt.query)
			}
		}
	}
	// An answer from a feature that may move is not kept.
	for from, kept := range map[string]bool{"country:el": true, "points:shops:s-42": true, "points:drivers:d-1": false} {
		if res := w.Get("/points/shops/nearby?from=" + from); res.Header.Get("Etag") != "" != kept {
			t.Errorf("%s: %v", from, res.Header)
		}
	}
	// Several collections leave it out as one does.
	if got := answer(w, "/points/shops,drivers/nearby?from=points:drivers:d-1&limit=1000").Points; slices.ContainsFunc(got,
		func(p shopPoint) bool { return p.Collection == "drivers" && p.ID == "d-1" }) || len(got) != 1000 {
		t.Errorf("%d points", len(got))
	}
}
