//go:build !race

package servertest_test

import (
	"encoding/json"
	"slices"
	"testing"

	"quadrille/cmd/tileserver/internal/servertest"
)

// Lists near a point and in a box, and the record of a place, have names in the reader's language,
// like a search. A language without names has no effect.
func TestPlaceLanguage(t *testing.T) {
	g := servertest.NewGlobe(t, nil)
	read := func(path string, headers ...string) []string {
		t.Helper()
		res := g.Get(path, headers...)
		text := servertest.Body(t, res)
		type place struct{ Name string }
		var list struct {
			place
			Places   []place
			Features []struct{ Properties place }
		}
		if err := json.Unmarshal([]byte(text), &list); err != nil || res.StatusCode != 200 {
			t.Fatalf("%s: %d %v: %s", path, res.StatusCode, err, text)
		}
		var names []string
		if list.Name != "" {
			names = append(names, list.Name)
		}
		for _, p := range list.Places {
			names = append(names, p.Name)
		}
		for _, f := range list.Features {
			names = append(names, f.Properties.Name)
		}
		return names
	}
	for _, path := range []string{
		"/places/nearby?lat=47.37&lon=8.54&class=P&limit=1", "/places/nearby?lat=47.37&lon=8.54&class=P&limit=1&format=geojson",
		"/places/within?bbox=8.5,47.3,8.6,47.4&class=P&limit=1", "/places/within?bbox=8.5,47.3,8.6,47.4&class=P&limit=1&format=geojson",
		"/places/2657896",
	} {
		sign := "&"
		if path == "/places/2657896" {
			sign = "?"
		}
		for lang, want := range map[string]string{"": "Zürich", "lang=it": "Zurigo", "lang=xx": "Zürich"} {
			query := path
			if lang != "" {
				query += sign + lang
			}
			if got := read(query); !slices.Equal(got, []string{want}) {
				t.Errorf("%s: %q, want %s", query, got, want)
			}
		}
		// Each language has a separate answer.
		own, italian := g.Get(path).Header.Get("Etag"), g.Get(path+sign+"lang=it").Header.Get("Etag")
		if own == "" || own == italian {
			t.Errorf("%s: the tag of Italian names is %q, of others %q", path, italian, own)
		}
		if p := servertest.WantProblem(t, g.Get(path+sign+"lang=d%20e"), 400, "bad-parameter"); p.Parameter != "lang" {
			t.Errorf("%s: %+v", path, p)
		}
	}
}
