package listing

import (
	"net/http/httptest"
	"strings"
	"testing"

	"quadrille/cmd/tileserver/internal/web"
	"quadrille/places/search"
	"quadrille/tiles"
)

// A page is a member of its object or, in GeoJSON, the features of a collection.
func TestPage(t *testing.T) {
	for form, want := range map[web.Form][2]string{
		web.FormJSON: {
			`{"places":[]}`,
			`{"places":[{"a":1},{"a":2}],"next":"\"c\""}`,
		},
		web.FormGeoJSON: {
			`{"type":"FeatureCollection","features":[]}`,
			`{"type":"FeatureCollection","features":[{"type":"Feature","id":7,"geometry":{"type":"Point","coordinates":[8.5,-47]},"properties":{"a":1}},` +
				`{"type":"Feature","geometry":{"type":"Point","coordinates":[0,0]},"properties":{"a":2}}],"next":"\"c\""}`,
		},
	} {
		empty := Begin([]byte("{"), form, "places")
		if got := string(empty.End("")); got != want[0] {
			t.Errorf("an empty page is %s, want %s", got, want[0])
		}
		p := Begin([]byte("{"), form, "places")
		p.Open([]byte("7"), 8.5, -47)
		p.Body = append(p.Body, `"a":1`...)
		p.Shut()
		p.Open(nil, 0, 0)
		p.Body = append(p.Body, `"a":2`...)
		p.Shut()
		if got := string(p.End(`"c"`)); got != want[1] {
			t.Errorf("a page is %s, want %s", got, want[1])
		}
	}
}

// The parameter decides on the form, and the Accept header where there is none.
func TestFormOf(t *testing.T) {
	for _, c := range []struct {
		format, accept string
		want           *Form
	}{
		{"", "", JSON},
		{"", "application/geo+json", GeoJSON},
		{"", "application/json, application/geo+json;q=0.1", JSON},
		{"json", "application/geo+json", JSON},
		{"geojson", "application/json", GeoJSON},
		{"ndjson", "", Lines},
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.Header.Set("Accept", c.accept)
		if got := FormOf(r, c.format); got != c.want {
			t.Errorf("format %q, Accept %q: %s, want %s", c.format, c.accept, got.Name, c.want.Name)
		}
	}
}

func TestIsSearchText(t *testing.T) {
	for text, want := range map[string]bool{
		"a": true, " Zürich ": true, strings.Repeat("a", search.MaxQuery): true, strings.Repeat("ก", search.MaxQuery): true, strings.Repeat("ก", search.MaxQuery+1): false,
		"": false, " \u00a0": false, "a\nb": false, "a\x00": false, "\xff": false, strings.Repeat("a", search.MaxQuery+1): false,
	} {
		if got := IsSearchText(text); got != want {
			t.Errorf("%.20q can be searched for: %v", text, got)
		}
	}
}

func TestAppendRegion(t *testing.T) {
	for want, r := range map[string]tiles.Region{
		`{"type":"country","id":"fr","name":"\"F\""`: {Type: "country", ID: "fr", Name: `"F"`},
		`{"type":"lake","id":"x"`:                    {Type: "lake", ID: "x"},
	} {
		if got := string(AppendRegion(nil, &r)); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
