//go:build !race

package servertest_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"quadrille/ask"
	"quadrille/cellstore"
	"quadrille/cmd/tileserver/internal/servertest"
	"quadrille/places"
)

func TestNearbyQuery(t *testing.T) {
	f := servertest.New(t, nil)
	var list []places.Place
	for i, p := range []places.Place{ // the nearest first
		{Name: "a", Class: "P", Code: "PPLC", Country: "FR", Population: 5000},
		{Name: "b", Class: "P", Code: "PPLC", Country: "FR", Population: 4999},
		{Name: "c", Class: "P", Code: "PPL", Country: "DE", Population: 9000},
		{Name: "d", Class: "S", Code: "CH", Country: "FR"},
		{Name: "e", Class: "S", Code: "PPL", Country: "IT"},
		{Name: "f", Class: "T", Code: "PPL", Country: "FR"},
		{Name: "g", Class: "P", Code: "PPLA", Country: "FR", Population: 5000},
		{Name: "h", Class: "P", Code: "PPLC", Country: "FR", Population: 9000},
		{Name: "i", Class: "P", Code: "PPLC", Country: "FR", Population: 9000},
		{Name: "j", Class: "P"},
		{Name: "k", Class: "P"},
	} {
		p.ID, p.Lat, p.Lon = uint32(i+1), 48.8566+float64(i)*0.003, 2.3522 // 334 m each
		list = append(list, p)
	}
	f.PublishRows(servertest.Places(list, nil, places.Gazetteer{}))
	for query, want := range map[string][]string{
		"": strings.Split("abcdefghij", ""),
		"&radius=2500.5&limit=1000&class=p&code=ppLc&country=fr&min_population=5000": {"a", "h"},
		"&class=p,S&code=ppl,CH&country=fr,De":                                       {"c", "d"},
		"&_=parameter&limit=1":                                                       {"a"},
	} {
		res := f.Get("/places/nearby?lat=48.8566&lon=2.3522" + query)
		if got := placeNames(t, servertest.Body(t, res)); res.StatusCode != 200 || !slices.Equal(got, want) {
			t.Errorf("%s: %d, %q, want %q", query, res.StatusCode, got, want)
		}
	}
}

func TestNearbyNothing(t *testing.T) {
	f := servertest.New(t, nil, ask.Places.Name)
	const path = "/places/nearby?lat=1&lon=1&radius=1000"
	if got := servertest.Body(t, f.Get(path)); got != `{"places":[]}` {
		t.Error(got)
	}
	if got := servertest.Body(t, f.Get(path+"&format=geojson")); got != `{"type":"FeatureCollection","features":[]}` {
		t.Error(got)
	}
}

func TestNearbyFailures(t *testing.T) {
	f := servertest.New(t, nil, ask.Places.Name)
	for _, tt := range []struct {
		err    error
		status int
		typ    string
	}{
		{places.ErrCursor, 400, "bad-parameter"},
		{places.ErrQuery, 400, "bad-parameter"},
		{places.ErrCursorExpired, 410, "cursor-expired"},
		{places.ErrTooMuchWork, 422, "search-too-wide"},
		{cellstore.ErrCorrupt, 500, "data-corrupt"},
		{errors.New("secret"), 500, "internal"},
	} {
		f.Places.ReadErr = fmt.Errorf("secret: %w", tt.err)
		p := servertest.WantProblem(t, f.Get("/places/nearby?lat=1&lon=1"), tt.status, tt.typ)
		if strings.Contains(p.Detail, "secret") {
			t.Errorf("internals shown: %+v", p)
		}
	}
}

func TestNearbyFormat(t *testing.T) {
	f := servertest.New(t, nil, ask.Places.Name)
	for _, tt := range []struct {
		accept, format string
		geo            bool
	}{
		{"", "", false},
		{"*/*", "", false},
		{"application/json", "", false},
		{"application/json, application/problem+json;q=0.5", "", false},
		{"application/geo+json", "", true},
		{"Application/Geo+JSON;charset=utf-8", "", true},
		{"application/geo+json, application/json;q=0.9", "", true},
		{"application/geo+json;q=0.5, application/json", "", false},
		{"application/geo+json;q=0", "", false},
		{"text/html, application/geo+json;q=0.1, */*", "", true},
		{"application/geo+json", "json", false},
		{"application/json", "geojson", true},
	} {
		path := "/places/nearby?lat=1&lon=1"
		if tt.format != "" {
			path += "&format=" + tt.format
		}
		res := f.Get(path, "Accept", tt.accept)
		want := "application/json"
		if tt.geo {
			want = "application/geo+json"
		}
		if got := res.Header.Get("Content-Type"); got != want || res.Header.Get("Vary") != "Accept" {
			t.Errorf("Accept %q, format %q: %v, want %s", tt.accept, tt.format, res.Header, want)
		}
	}
}
