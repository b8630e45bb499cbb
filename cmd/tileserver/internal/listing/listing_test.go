package listing

import (
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"quadrille/feature"
	"quadrille/internal/jsontext"
	"quadrille/places/search"
	"quadrille/quadkey"
	"quadrille/tiles"
)

// A list is a member of its object or, in GeoJSON, the features of a collection.
func TestPage(t *testing.T) {
	for form, want := range map[*Format][2]string{
		JSON: {
			`{"places":[]}`,
			`{"places":[{"a":1},{"a":2}],"next":"\"c\""}`,
		},
		GeoJSON: {
			`{"type":"FeatureCollection","features":[]}`,
			`{"type":"FeatureCollection","features":[{"type":"Feature","id":7,"geometry":{"type":"Point","coordinates":[8.5,-47]},"properties":{"a":1}},` +
				`{"type":"Feature","geometry":{"type":"Point","coordinates":[0,0]},"properties":{"a":2}}],"next":"\"c\""}`,
		},
	} {
		list := List{Spec: &Spec{Name: "places"}, Writer: feature.Writer{GeoJSON: form.GeoJSON, NumericIDs: true}}
		if got := written(t, form.Name, list, ""); got != want[0] {
			t.Errorf("an empty list is %s, want %s", got, want[0])
		}
		if got := written(t, form.Name, list, `"c"`,
			feature.Feature{ID: "7", Number: 7, Position: quadkey.Position{Lat: -47, Lon: 8.5}, Properties: compact(t, `{"a":1}`)},
			feature.Feature{Properties: compact(t, `{"a":2}`)}); got != want[1] {
			t.Errorf("a list is %s, want %s", got, want[1])
		}
	}
	dst := []byte(`{"places":[`)
	for _, item := range []string{"1", "2"} {
		dst = append(jsontext.Next(dst), item...)
	}
	if got := string(End(dst, "c")); got != `{"places":[1,2],"next":"c"}` {
		t.Error(got)
	}
}

// TestFormOf tests that the parameter format selects the form of a list, or the header Accept if
// there is no such parameter.
func TestFormOf(t *testing.T) {
	csv := Formats[slices.IndexFunc(Formats, func(f *Format) bool { return f.Name == "csv" })]
	for _, c := range []struct {
		format, accept string
		want           *Format
	}{
		{"", "", JSON},
		{"", "application/geo+json", GeoJSON},
		{"", "application/json, application/geo+json;q=0.1", JSON},
		{"", "*/*", JSON},
		{"", "application/geo+json;q=0", JSON},
		{"", "application/geo+json, application/json", GeoJSON},
		{"", "application/json, application/geo+json, application/problem+json", JSON}, // from a generated client
		{"", "application/json;q=0.5, Application/Geo+JSON;q=0.6, */*", GeoJSON},
		{"", "application/geo+json;q=0.5, application/json;q=0.6", JSON},
		{"json", "application/geo+json", JSON},
		{"geojson", "application/json", GeoJSON},
		{"ndjson", "", Lines},
		{"", "application/x-ndjson", Lines},
		{"", "Text/CSV;charset=utf-8, application/json;q=0.9", csv},
		{"", "text/csv;q=0.1, */*", csv},
		{"", "application/json, application/geo+json, application/x-ndjson, text/csv", JSON},
		{"", "text/csv;q=0", JSON},
		{"csv", "application/json", csv},
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.Header.Set("Accept", c.accept)
		if got := FormatOf(r, c.format); got != c.want {
			t.Errorf("format %q, Accept %q: %s, want %s", c.format, c.accept, got.Name, c.want.Name)
		}
	}
}

func TestIsSearchText(t *testing.T) {
	for text, want := range map[string]bool{
		"a":        true,
		" Zürich ": true,
		strings.Repeat("a", search.MaxQueryChars):   true,
		strings.Repeat("ก", search.MaxQueryChars):   true,
		strings.Repeat("ก", search.MaxQueryChars+1): false,
		"":        false,
		" \u00a0": false,
		"a\nb":    false,
		"a\x00":   false,
		"\xff":    false,
		strings.Repeat("a", search.MaxQueryChars+1): false,
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
