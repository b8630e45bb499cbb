package place_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"quadrille/cellstore"
	"quadrille/cmd/internal/catalogue"
	"quadrille/cmd/tileserver/internal/servertest"
	"quadrille/feature"
	"quadrille/places"
)

func TestNearbyQuery(t *testing.T) {
	f := servertest.New(t, nil, catalogue.Places.Name)
	for _, tt := range []struct {
		query string
		want  feature.Query
		terms []feature.Term
	}{
		{query: "", want: feature.Query{Limit: 11}},
		{"&radius=2500.5&limit=1000&class=p&code=ppLc&country=fr&min_population=5000", feature.Query{Near: &feature.Near{MaxM: 2500.5}, Limit: 1001}, []feature.Term{
			{Name: "class", Values: []string{"P"}}, {Name: "code", Values: []string{"PPLC"}}, {Name: "country", Values: []string{"FR"}},
			{Name: "population", Op: feature.OpGreaterOrEqual, Values: []string{"5000"}},
		}},
		{"&class=p,S&code=ppl,CH&country=fr,De", feature.Query{Limit: 11}, []feature.Term{
			{Name: "class", Values: []string{"P", "S"}}, {Name: "code", Values: []string{"PPL", "CH"}}, {Name: "country", Values: []string{"FR", "DE"}},
		}},
		{query: "&_=parameter&limit=1", want: feature.Query{Limit: 2}},
	} {
		if tt.want.Near == nil {
			tt.want.Near = &feature.Near{}
		}
		tt.want.Near.Lat, tt.want.Near.Lon = 48.8566, 2.3522
		if res := f.Get("/places/nearby?lat=48.8566&lon=2.3522" + tt.query); res.StatusCode != 200 {
			t.Errorf("%s: %s", tt.query, servertest.Body(t, res))
		}
		servertest.WantQuery(t, tt.query, &f.Places.Asked, tt.want, tt.terms)
	}
}

func TestNearbyNothing(t *testing.T) {
	f := servertest.New(t, nil, catalogue.Places.Name)
	const path = "/places/nearby?lat=1&lon=1"
	if got := servertest.Body(t, f.Get(path)); got != `{"places":[]}` {
		t.Error(got)
	}
	if got := servertest.Body(t, f.Get(path+"&format=geojson")); got != `{"type":"FeatureCollection","features":[]}` {
		t.Error(got)
	}
}

func TestNearbyFailures(t *testing.T) {
	f := servertest.New(t, nil, catalogue.Places.Name)
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
		f.Places.Err = fmt.Errorf("secret: %w", tt.err)
		p := servertest.WantProblem(t, f.Get("/places/nearby?lat=1&lon=1"), tt.status, tt.typ)
		if strings.Contains(p.Detail, "secret") {
			t.Errorf("internals shown: %+v", p)
		}
	}
}

func TestNearbyFormat(t *testing.T) {
	f := servertest.New(t, nil, catalogue.Places.Name)
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
