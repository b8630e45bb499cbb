//go:build !race

package servertest_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"quadrille/cmd/tileserver/internal/httpapi"
	"quadrille/cmd/tileserver/internal/servertest"
	named "quadrille/places/names"
	"quadrille/places/search"
)

var switzerland = named.Parent{Type: "country", ID: "ch", Name: "Switzerland"}

// newPhoton returns a globe server with names and with regions around Zürich.
func newPhoton(t testing.TB, change func(*httpapi.Config)) *servertest.Server {
	t.Helper()
	g := servertest.NewGlobe(t, change)
	g.PublishRows(servertest.ZurichRegions(), servertest.Names(
		named.Feature{
			Kind:    named.Region,
			Type:    "country",
			ID:      "ch",
			Name:    "Switzerland",
			Country: "CH",
			Lat:     46.8,
			Lon:     8.2,
			Bounds:  [4]float64{5.96, 45.8, 10.49, 47.8},
			Names:   []search.Name{{Text: "Schweiz", Lang: "de"}, {Text: "Suiza", Lang: "es"}},
		},
		named.Feature{
			Kind:    named.Region,
			Type:    "state",
			ID:      "ch-zh",
			Name:    "Zürich",
			Country: "CH",
			Lat:     47.4,
			Lon:     8.6,
			Bounds:  [4]float64{8.36, 47.16, 8.98, 47.69},
			Parents: []named.Parent{switzerland}, Level: 1,
		},
		named.Feature{
			Kind:    named.Airport,
			Type:    "large_airport",
			ID:      "LSZH",
			Name:    "Zürich Airport",
			Country: "CH",
			Code:    "ZRH",
			Lat:     47.458056,
			Lon:     8.548056,
			Parents: []named.Parent{{Type: "state", ID: "ch-zh", Name: "Zürich"}, switzerland},
		},
		named.Feature{Kind: named.Airport, Type: "heliport", ID: "LSXX", Name: `Zürich "Heli" <b>`, Country: "CH", Lat: 47.4, Lon: 8.5},
	))
	return g
}

type photonFeature struct {
	Type       string
	Properties map[string]any
	Geometry   struct {
		Type        string
		Coordinates [2]float64
	}
}

// photon sends a request and decodes its answer, which must be good.
func photon(g *servertest.Server, path string, headers ...string) []photonFeature {
	g.T.Helper()
	res := g.Get(path, headers...)
	text := servertest.Body(g.T, res)
	var doc struct {
		Type     string
		Features []photonFeature
	}
	if res.StatusCode != http.StatusOK || res.Header.Get("Content-Type") != "application/json" {
		g.T.Fatalf("%s: %d %v %s", path, res.StatusCode, res.Header, text)
	}
	if err := json.Unmarshal([]byte(text), &doc); err != nil || doc.Type != "FeatureCollection" || doc.Features == nil {
		g.T.Fatalf("%s: %v: %s", path, err, text)
	}
	return doc.Features
}

// listed returns the layers and names of features as text.
func listed(features []photonFeature) string {
	var list []string
	for _, f := range features {
		list = append(list, fmt.Sprint(f.Properties["type"], " ", f.Properties["name"]))
	}
	return strings.Join(list, ", ")
}

func TestPhotonSearch(t *testing.T) {
	g := newPhoton(t, nil)
	for query, want := range map[string]string{
		"q=z%C3%BCr":    "city Zürich, house Zürich Airport, house Zürich Flughafen, state Zürich, house Zürich \"Heli\" <b>",
		"q=zurich":      "city Zürich, house Zürich Airport, state Zürich, house Zürich Flughafen, house Zürich \"Heli\" <b>",
		"q=zur&limit=1": "city Zürich", "q=zur&limit=0": "city Zürich", "q=zur&limit=-5": "city Zürich", "q=switzerland": "country Switzerland",
		"q=switzerland&dedupe=0":                            "country Switzerland, country Switzerland",
		"q=switzerland&dedupe=no":                           "country Switzerland, country Switzerland",
		"q=zur&layer=city":                                  "city Zürich",
		"q=zur&layer=state":                                 "state Zürich",
		"q=zur&layer=state&layer=city":                      "city Zürich, state Zürich",
		"q=zur&layer=street":                                "",
		"q=port&layer=city":                                 "city Portland, city Portland",
		"q=zur&osm_tag=place:city":                          "city Zürich",
		"q=zur&osm_tag=place":                               "city Zürich, state Zürich",
		"q=zur&osm_tag=:aerodrome":                          "house Zürich Airport, house Zürich Flughafen",
		"q=zur&osm_tag=!place":                              "house Zürich Airport, house Zürich Flughafen, house Zürich \"Heli\" <b>",
		"q=zur&osm_tag=!place&osm_tag=:!aerodrome":          "house Zürich \"Heli\" <b>",
		"q=zur&osm_tag=place:!state":                        "city Zürich",
		"q=zur&osm_tag=place:city&osm_tag=aeroway:heliport": "city Zürich, house Zürich \"Heli\" <b>",
		"q=zur&osm_tag=highway":                             "",
		"q=zur&include=osm.place":                           "city Zürich, state Zürich",
		"q=zur&include=osm.place.city,osm.aeroway.heliport": "city Zürich, house Zürich \"Heli\" <b>",
		"q=zur&include=osm.place&exclude=osm.place.city":    "state Zürich", "q=zur&include=food.pizza": "",
		"q=bern&countrycode=CH":                "city Bern",
		"q=bern&countrycode=ch&countrycode=DE": "city Bern",
		"q=bern&countrycode=DE":                "",
		"q=bern&countrycode=CHE":               "",
		"q=bern&bbox=7,46,8,47":                "city Bern", "q=bern&bbox=8,47,7,46": "city Bern", "q=bern&bbox=1,46,2,47": "",
		"q=bern&lat=47&lon=7&zoom=12&location_bias_scale=0.1":                             "city Bern",
		"q=bern&zoom=99&suggest_addresses=true&debug=1&geometry=0&lang=default&key=x&_=7": "city Bern",
		"q=-": "", "q=nothing%20at%20all": "", "q=47.37,%208.54": "", "q=a%00b": "", "q=%ff%fe%20x": "",
	} {
		if got := listed(photon(g, "/photon/api?"+query)); got != want {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
	}
}

// TestPhotonBias tests the parameters on which the bias depends. At a zoom that shows the whole
// world, the centre has no meaning.
func TestPhotonBias(t *testing.T) {
	g := newPhoton(t, nil)
	const near = "&lat=43.66&lon=-70.26" // the smaller of two
	for query, want := range map[string]string{
		"": "Oregon", near: "Maine", near + "&zoom=5": "Maine", near + "&zoom=4": "Oregon", near + "&zoom=-3": "Oregon",
		near + "&location_bias_scale=1": "Oregon", near + "&location_bias_scale=0.9": "Maine",
	} {
		if got := photon(g, "/photon/api?q=portland"+query)[0].Properties["state"]; got != want {
			t.Errorf("%q: the first is in %v, want %s", query, got, want)
		}
	}
}

func TestPhotonLanguage(t *testing.T) {
	g := newPhoton(t, nil)
	name := func(path string, headers ...string) any {
		list := photon(g, path, headers...)
		return list[0].Properties["name"]
	}
	for _, c := range []struct{ query, header, want string }{
		{"", "", "Zürich"}, {"&lang=it", "", "Zurigo"}, {"&lang=IT", "", "Zurigo"}, {"", "it", "Zurigo"}, {"", "it-CH,en;q=0.5",
			"Zurigo"}, {"", "ja,it;q=0.5,fr;q=0.2", "Zurigo"}, {"&lang=ja,it", "", "Zurigo"}, {"", "en;q=0.4, it;q=0.9", "Zurigo"},
		{"", "*", "Zürich"}, {"", ";;,q=x", "Zürich"}, {"&lang=default", "it", "Zürich"}, {"&lang=fr", "it", "Zurich"}, {"&lang=ja",
			"", "Zürich"},
	} {
		for _, path := range []string{"/photon/api?q=zurich&limit=1", "/photon/reverse?lat=47.4&lon=8.5"} {
			if got := name(path+c.query, "Accept-Language", c.header); got != c.want {
				t.Errorf("%s%s, header %q: %v", path, c.query, c.header, got)
			}
		}
	}
	first, second := g.Get("/photon/api?q=zurich", "Accept-Language", "it"), g.Get("/photon/api?q=zurich", "Accept-Language", "fr")
	if first.Header.Get("Etag") == second.Header.Get("Etag") || first.Header.Get("Vary") != "Accept-Language, Accept-Encoding" {
		t.Errorf("one entity tag for two languages, or none to tell them apart: %v %v", first.Header, second.Header)
	}
	if vary := g.Get("/photon/api?q=bern&lang=de", "Accept-Language", "it").Header.Get("Vary"); strings.Contains(vary, "Language") {
		t.Errorf("Vary: %s", vary)
	}
}

// TestPhotonCountry tests that the country's name comes from the region that contains the feature,
// because the region has languages that the gazetteer lacks. If the feature is a country itself,
// that name is the feature's own.
func TestPhotonCountry(t *testing.T) {
	g := newPhoton(t, nil)
	for path, want := range map[string]string{
		"/photon/api?q=bern":                       "Switzerland",
		"/photon/api?q=bern&lang=es":               "Suiza",
		"/photon/api?q=bern&lang=de":               "Schweiz",
		"/photon/api?q=bern&lang=ja":               "Switzerland",
		"/photon/reverse?lat=47.4&lon=8.5&lang=es": "Suiza", "/photon/reverse?lat=47.4&lon=8.5&layer=state&lang=es": "Suiza",
		"/photon/api?q=portland&lang=es": "United States", // nothing knows it in Spanish
	} {
		if got := photon(g, path)[0].Properties["country"]; got != want {
			t.Errorf("%s: %v, want %s", path, got, want)
		}
	}
	for _, lang := range []string{"default", "de", "es", "fr"} {
		for _, f := range photon(g, "/photon/api?q=switzerland&dedupe=0&lang="+lang) {
			if p := f.Properties; p["type"] == "country" && p["country"] != p["name"] {
				t.Errorf("%s: %v", lang, p)
			}
		}
	}
}

func TestPhotonReverse(t *testing.T) {
	g := newPhoton(t, nil)
	for query, want := range map[string]string{
		"lat=47.4&lon=8.5": "city Zürich", "lat=47.4&lon=8.5&radius=0.1&distance_sort=true&query_string_filter=osm_key:highway": "city Zürich",
		"lat=47.4&lon=8.5&layer=state":                  "state Zürich",
		"lat=47.4&lon=8.5&layer=country&limit=5":        "country Switzerland",
		"lat=47.4&lon=8.5&layer=house":                  "",
		"lat=47.4&lon=8.5&osm_tag=!place:city":          "state Zürich",
		"lat=0&lon=-140":                                "",
		"lat=47.4&lon=8.5&radius=99999&limit=2":         "city Zürich, city Freiburg im Breisgau",
		"lat=-0&lon=180":                                "",
		"lat=-30&lon=-20":                               "other Sea of Trial",
		"lat=-30&lon=-20&layer=state":                   "",
		"lat=-30&lon=-20&layer=other&osm_tag=place:sea": "other Sea of Trial",
	} {
		if got := listed(photon(g, "/photon/reverse?"+query)); got != want {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
	}
	for _, f := range photon(g, "/photon/reverse?lat=47.4&lon=8.5&radius=99999&limit=9&layer=city") {
		if p := f.Properties; p["city"] != p["name"] {
			t.Errorf("in the city of another: %v", p)
		}
	}
	p := photon(g, "/photon/reverse?lat=47.4&lon=8.5")[0].Properties
	if p["city"] != "Zürich" || p["state"] != "Zürich" || p["country"] != "Switzerland" || p["countrycode"] != "CH" ||
		p["osm_id"] != 2657896.0 {
		t.Errorf("%v", p)
	}
}

func TestPhotonRefusals(t *testing.T) {
	g := newPhoton(t, nil)
	for _, c := range []struct{ path, word string }{
		{"/photon/api", "q parameter is required"}, {"/photon/api?q=%20",
			"q parameter"}, {"/photon/api?q=" + strings.Repeat("a", 10_000), "too long"},
		{"/photon/api?q=" + url.QueryEscape(strings.Repeat("\u0301", 5000)), "too long"},
		{"/photon/api?q=a&lat=1", "'lon'"}, {"/photon/api?q=a&lon=1", "'lat'"}, {"/photon/api?q=a&lat=NaN&lon=1",
			"'lat'"}, {"/photon/api?q=a&lat=1&lon=1e999", "'lon'"},
		{"/photon/api?q=a&lat=91&lon=1", "'lat'"}, {"/photon/api?q=a&lat=&lon=", "'lat'"}, {"/photon/api?q=a&limit=x",
			"'limit'"}, {"/photon/api?q=a&limit=99999999999", "'limit'"},
		{"/photon/api?q=a&zoom=1.5", "'zoom'"}, {
			"/photon/api?q=a&location_bias_scale=inf",
			"'location_bias_scale'",
		}, {"/photon/api?q=a&layer=planet", "house, street"},
		{
			"/photon/api?q=a&lang=english",
			"Language is not supported",
		}, {"/photon/api?q=a&lang=e%22", "Language"}, {"/photon/api?q=a&lang=", "Language"}, {"/photon/api?q=a&lang=de,english", "Language"},
		{"/photon/api?q=a&osm_tag=a:b:c", "osm_tag"}, {"/photon/api?q=a&osm_tag=", "osm_tag"}, {"/photon/api?q=a&osm_tag=a:",
			"osm_tag"}, {"/photon/api?q=a&osm_tag=!", "osm_tag"},
		{"/photon/api?q=a&bbox=1,2,3", "bbox"}, {"/photon/api?q=a&bbox=1,2,3,x", "bbox"}, {"/photon/api?q=a&bbox=1,2,3,91",
			"Invalid bounds"}, {"/photon/api?q=a&bbox=NaN,2,3,4", "bbox"},
		{"/photon/api?q=a&include=food", "include"}, {"/photon/api?q=a&exclude=a.b,", "exclude"}, {"/photon/api?q=a&geometry=true",
			"Geometry"}, {"/photon/api?q=a&radius=1", "radius"},
		{"/photon/api?q=a" + strings.Repeat("&layer=city", 51), "Too many"}, {"/photon/api?q=a&<script>=1", "Unknown query parameter"},
		{"/photon/reverse", "'lat'"}, {"/photon/reverse?lat=1", "'lon'"}, {"/photon/reverse?lat=x&lon=1",
			"'lat'"}, {"/photon/reverse?lat=1&lon=181", "'lon'"},
		{"/photon/reverse?lat=1&lon=1&radius=0", "'radius'"}, {"/photon/reverse?lat=1&lon=1&radius=NaN",
			"'radius'"}, {"/photon/reverse?lat=1&lon=1&q=a", "'q'"},
	} {
		res := g.Get(c.path)
		text := servertest.Body(t, res)
		var doc map[string]string
		if err := json.Unmarshal([]byte(text), &doc); err != nil || res.StatusCode != http.StatusBadRequest || len(doc) != 1 ||
			!strings.Contains(doc["message"], c.word) || len(text) > 1000 {
			t.Errorf("%.100s: %d %v %s", c.path, res.StatusCode, err, text)
		}
	}
	// Errors that Photon does not have keep their usual status and text.
	nothing := servertest.New(t, nil)
	if res := nothing.Get("/photon/api?q=a"); res.StatusCode != http.StatusNotFound ||
		!strings.HasPrefix(servertest.Body(t, res), `{"message":"`) {
		t.Errorf("without data: %d", res.StatusCode)
	}
}

// TestPhotonNumbersAreNominatims tests that the ids in Photon's answers are also valid in a lookup
// of Nominatim.
func TestPhotonNumbersAreNominatims(t *testing.T) {
	g := newPhoton(t, nil)
	for _, f := range photon(g, "/photon/api?q=zur&limit=50") {
		p := f.Properties
		path := fmt.Sprintf("/nominatim/lookup?format=jsonv2&osm_ids=%s%.0f", p["osm_type"], p["osm_id"])
		var found []map[string]any
		if text := servertest.Body(t, g.Get(path)); json.Unmarshal([]byte(text), &found) != nil || len(found) != 1 ||
			found[0]["name"] != p["name"] {
			t.Errorf("%v: %s: %s", p, path, text)
		}
	}
}

// A filter finds nothing that the search does not find without the filter, and removes no feature
// that meets it.
func TestPhotonFiltersAgree(t *testing.T) {
	g := newPhoton(t, nil)
	random := rand.New(rand.NewPCG(1, 2))
	queries := []string{"z", "zur", "port", "b", "s", "f", "null", "zürich"}
	for range 300 {
		base := "/photon/api?limit=50&dedupe=0&q=" + url.QueryEscape(queries[random.IntN(len(queries))])
		everything := photon(g, base)
		key, value := "place", "city"
		if len(everything) > 0 {
			p := everything[random.IntN(len(everything))].Properties
			key, value = p["osm_key"].(string), p["osm_value"].(string)
		}
		layer := []string{"house", "city", "state", "country", "other"}[random.IntN(5)]
		fits := map[string]func(p map[string]any) bool{
			"layer=" + layer:                         func(p map[string]any) bool { return p["type"] == layer },
			"osm_tag=" + key:                         func(p map[string]any) bool { return p["osm_key"] == key },
			"osm_tag=" + key + ":" + value:           func(p map[string]any) bool { return p["osm_key"] == key && p["osm_value"] == value },
			"osm_tag=!" + key + ":" + value:          func(p map[string]any) bool { return p["osm_key"] != key || p["osm_value"] != value },
			"osm_tag=" + key + ":!" + value:          func(p map[string]any) bool { return p["osm_key"] == key && p["osm_value"] != value },
			"osm_tag=:" + value:                      func(p map[string]any) bool { return p["osm_value"] == value },
			"exclude=osm." + key + "&layer=" + layer: func(p map[string]any) bool { return p["osm_key"] != key && p["type"] == layer },
		}
		for filter, fit := range fits {
			var want []photonFeature
			for _, f := range everything {
				if fit(f.Properties) {
					want = append(want, f)
				}
			}
			if got := photon(g, base+"&"+filter); listed(got) != listed(want) {
				t.Fatalf("%s&%s: %s, want %s", base, filter, listed(got), listed(want))
			}
		}
	}
}

// With Photon at the root, its paths have Photon's answers, and our own endpoints keep their
// documented addresses.
func TestPhotonAtRoot(t *testing.T) {
	g := newPhoton(t, func(cfg *httpapi.Config) { cfg.RootGeocoder = "photon" })
	for _, path := range []string{"/api?q=bern", "/api/?q=bern", "/reverse?lat=47&lon=7.5&layer=city",
		"/reverse/?lat=47&lon=7.5&layer=city", "/photon/api?q=bern", "/photon/api/?q=bern", "/photon/reverse?lat=47&lon=7.5&layer=city"} {
		if got := listed(photon(g, path)); got != "city Bern" {
			t.Errorf("%s: %s", path, got)
		}
	}
	if text := servertest.Body(t, g.Get("/geocode/reverse?lat=47&lon=7.5")); !strings.HasPrefix(text, `{"results":[`) {
		t.Errorf("our own: %s", text)
	}
	own := newPhoton(t, nil)
	if text := servertest.Body(t, own.Get("/reverse?lat=47&lon=7.5")); !strings.HasPrefix(text, `{"results":[`) {
		t.Errorf("our own at the root: %s", text)
	}
	if res := own.Get("/api?q=bern"); res.StatusCode != http.StatusNotFound {
		t.Errorf("/api without Photon at the root: %d", res.StatusCode)
	}
}

// TestGoldenPhoton compares whole answers with golden files, because clients rely on their form.
func TestGoldenPhoton(t *testing.T) {
	g := newPhoton(t, nil)
	var out bytes.Buffer
	for _, path := range []string{
		"/photon/api?q=zur", "/photon/api?q=switzerland&lang=de", "/photon/api?q=portland", "/photon/api?q=null",
		"/photon/api?q=nothing", "/photon/reverse?lat=47.4&lon=8.5&limit=3",
		"/photon/reverse?lat=47.4&lon=8.5&layer=country&layer=state&limit=9", "/photon/api?q=a&lang=english", "/photon/reverse?lat=1",
	} {
		servertest.Dump(&out, path, g.Get(path))
	}
	servertest.Golden(t, "photon", out.Bytes())
}
