//go:build !race

package servertest_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/paulmach/orb"

	"quadrille/cmd/tileserver/internal/httpapi"
	"quadrille/cmd/tileserver/internal/quota"
	"quadrille/cmd/tileserver/internal/servertest"
	named "quadrille/places/names"
	"quadrille/places/search"
	"quadrille/tiles/build"
)

// newNominatim returns a globe server with names and with regions around Zürich.
func newNominatim(t testing.TB, change func(*httpapi.Config)) *servertest.Server {
	t.Helper()
	g := servertest.NewGlobe(t, change)
	ch := named.Parent{Type: "country", ID: "ch", Name: "Switzerland"}
	zh := named.Parent{Type: "state", ID: "ch-zh", Name: "Zürich"}
	g.PublishRows(servertest.ZurichRegions(), servertest.Names(
		named.Feature{
			Kind:       named.Region,
			Type:       "country",
			ID:         "ch",
			Name:       "Switzerland",
			Country:    "CH",
			Lat:        46.8,
			Lon:        8.2,
			Bounds:     [4]float64{5.96, 45.8, 10.49, 47.8},
			Population: 8_484_100,
			Names:      []search.Name{{Text: "Schweiz", Lang: "de"}, {Text: "Suiza", Lang: "es"}},
		},
		named.Feature{
			Kind:    named.Region,
			Type:    "state",
			ID:      "ch-zh",
			Name:    "Zürich",
			Country: "CH",
			Code:    "CH-ZH",
			Lat:     47.4,
			Lon:     8.6,
			Bounds:  [4]float64{8.36, 47.16, 8.98, 47.69},
			Parents: []named.Parent{ch}, Level: 1,
		},
		named.Feature{
			Kind:    named.Region,
			Type:    "country",
			ID:      "fj",
			Name:    "Fiji",
			Country: "FJ",
			Lat:     -17.8,
			Lon:     178,
			Bounds:  [4]float64{177, -19, -179, -16},
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
			Parents: []named.Parent{zh, ch},
		},
		named.Feature{Kind: named.Airport, Type: "heliport", ID: "LSXX", Name: `Heli "1" <b>&</b>`, Country: "CH", Lat: 47.4, Lon: 8.5},
		named.Feature{Kind: named.Zone, ID: "Europe/Zurich", Name: "Europe/Zurich", Lat: 47.4, Lon: 8.5},
	))
	return g
}

// nominatim decodes a JSON answer.
func nominatim(g *servertest.Server, path string, into any) {
	g.T.Helper()
	res := g.Get(path)
	text := servertest.Body(g.T, res)
	if err := json.Unmarshal([]byte(text), into); err != nil || res.StatusCode != http.StatusOK {
		g.T.Fatalf("%s: %d %v %s", path, res.StatusCode, err, text)
	}
}

// nominatimResult is a result in the format json or jsonv2.
type nominatimResult struct {
	PlaceID     uint64            `json:"place_id"`
	OSMType     string            `json:"osm_type"`
	OSMID       uint64            `json:"osm_id"`
	Class       string            `json:"class"`
	Category    string            `json:"category"`
	Type        string            `json:"type"`
	AddressType string            `json:"addresstype"`
	Name        string            `json:"name"`
	DisplayName string            `json:"display_name"`
	Address     map[string]string `json:"address"`
	ExtraTags   map[string]string `json:"extratags"`
	NameDetails map[string]string `json:"namedetails"`
	BoundingBox []string          `json:"boundingbox"`
	GeoJSON     json.RawMessage   `json:"geojson"`
	Error       string            `json:"error"`
}

// TestGoldenNominatim compares whole answers in every format with golden files.
func TestGoldenNominatim(t *testing.T) {
	g := newNominatim(t, nil)
	var out bytes.Buffer
	for _, path := range []string{
		"/nominatim/search?q=zur&limit=2",
		"/nominatim/search?q=afrika",
		"/nominatim/search?q=zur&limit=1&format=json&addressdetails=1&extratags=1&namedetails=1",
		"/nominatim/search?q=zur&limit=1&format=geojson&addressdetails=1",
		"/nominatim/search?q=zur&limit=1&format=geocodejson&addressdetails=1",
		"/nominatim/search?q=zur&limit=1&format=xml&addressdetails=1&extratags=1&namedetails=1",
		"/nominatim/search?q=heli&format=xml",
		"/nominatim/search?q=heli&json_callback=my.call",
		"/nominatim/search?country=switzerland&polygon_geojson=1",
		"/nominatim/search?q=nowhere",
		"/nominatim/search?q=nowhere&format=xml",
		"/nominatim/search",
		"/nominatim/search?q=a&format=html",
		"/nominatim/reverse?lat=47.4&lon=8.5",
		"/nominatim/reverse?lat=47.4&lon=8.5&format=jsonv2&zoom=3",
		"/nominatim/reverse?lat=0&lon=-140&format=jsonv2",
		"/nominatim/reverse?lat=0&lon=-140",
		"/nominatim/reverse?lat=x&lon=8.5",
		"/nominatim/lookup?osm_ids=N2657896&format=json",
		"/nominatim/status",
		"/nominatim/status?format=xml",
	} {
		servertest.Dump(&out, path, g.Get(path))
	}
	servertest.Golden(t, "nominatim", out.Bytes())
}

func TestNominatimSearch(t *testing.T) {
	g := newNominatim(t, nil)
	country, airport := named.Number(named.Region, "country", "ch"), named.Number(named.Airport, "", "LSZH")
	excluded := strconv.FormatUint(airport, 10)
	for query, want := range map[string]string{ // addresstype of the first
		"q=switzerland":                                   "country",
		"country=switzerland":                             "country",
		"country=CH":                                      "country",
		"country=nowhere":                                 "",
		"city=zur&country=nowhere":                        "",
		"city=zur&country=zürich":                         "city",
		"country=zürich":                                  "state",
		"city=zur&country=zürich&countrycodes=fj":         "",
		"city=heli&country=sea":                           "",
		"city=zur&country=ch":                             "city",
		"city=zur&country=fj":                             "",
		"country=ch&countrycodes=fj":                      "",
		"country=ch&countrycodes=fj,ch":                   "country",
		"state=zur&country=switzerland":                   "state",
		"city=zur&country=switzerland":                    "city",
		"city=zur&street=1+bahnhofstrasse&postalcode=80":  "city",
		"street=1+bahnhofstrasse":                         "",
		"postalcode=8000":                                 "",
		"q=zurich+airport":                                "aeroway",
		"q=zurich+airport&layer=manmade":                  "aeroway",
		"q=zurich+airport&layer=address,railway":          "",
		"q=zurich+airport&exclude_place_ids=" + excluded:  "",
		"q=zurich+airport&exclude_place_ids=W" + excluded: "",
		"q=zurich+airport&exclude_place_ids=N" + excluded: "aeroway",
		"q=zur&featureType=state":                         "state",
		"q=zur&featureType=city":                          "city",
		"q=zur&featureType=country":                       "",
		"q=switzerland&countrycodes=us,ca":                "",
		"q=switzerland&countrycodes=ch,xyz":               "country",
		"q=switzerland&viewbox=9,47,8,46&bounded=1":       "country",
		"q=switzerland&viewbox=1,1,2,2&bounded=1":         "",
		"q=switzerland&viewbox=2,2,1,1":                   "country",
		"q=switzerland&limit=99999999999":                 "country",
		"q=switzerland&limit=-3":                          "country",
		"q=switzerland&email=a@b.c&unknown=1":             "country",
		"q=":                                              "",
		"q=+++":                                           "",
		"q=%E2%80%AE%00":                                  "",
		"q=Europe/Zurich":                                 "",
	} {
		var found []nominatimResult
		nominatim(g, "/nominatim/search?format=json&"+query, &found)
		got := ""
		if len(found) > 0 {
			got = found[0].AddressType
		}
		if got != want {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
	}
	var found []nominatimResult
	nominatim(g, "/nominatim/search?q=switzerland&format=json&polygon_geojson=1&polygon_threshold=0.5&extratags=1", &found)
	r := &found[0]
	if r.OSMType != "relation" || r.OSMID != country || r.PlaceID != country || r.Class != "boundary" ||
		r.Type != "administrative" || r.ExtraTags["admin_level"] != "2" ||
		!slices.Equal(r.BoundingBox, []string{"45.8000000", "47.8000000", "5.9600000", "10.4900000"}) ||
		strings.Count(string(r.GeoJSON), "[8.") != 0 || strings.Count(string(r.GeoJSON), "[10.") != 1 {
		t.Errorf("%+v %s", r, r.GeoJSON)
	}
	// Boxes cannot cross ±180°, so the box of Fiji extends around the whole world.
	nominatim(g, "/nominatim/search?q=fiji", &found)
	if b := found[0].BoundingBox; b[2] != "-180.0000000" || b[3] != "180.0000000" {
		t.Errorf("Fiji is in %v", b)
	}
	// A search for a position gives the places there.
	nominatim(g, "/nominatim/search?q=47.4,8.5&addressdetails=1", &found)
	if len(found) != 1 || found[0].Address["country_code"] != "ch" {
		t.Errorf("%+v", found)
	}
	// The language of the header applies if the parameter is absent.
	for _, query := range []string{"?q=bern | fr-CH, de;q=0.5", "?q=bern&accept-language=fr | de",
		"?q=bern | xx, ja;q=0.9, de;q=0.1, fr;q=0.5", "?q=bern&accept-language=ja,fr | de"} {
		path, header, _ := strings.Cut(query, " | ")
		res := g.Get("/nominatim/search"+path, "Accept-Language", header)
		byHeader := strings.Contains(strings.Join(res.Header["Vary"], ","), "Accept-Language")
		if text := servertest.Body(t, res); !strings.Contains(text, `"name":"Berne"`) || byHeader != (header != "de") {
			t.Errorf("%s: %v %s", query, res.Header, text)
		}
	}
}

// TestNominatimNames tests that namedetails has all stored names of places and regions.
func TestNominatimNames(t *testing.T) {
	g := newNominatim(t, nil)
	for query, want := range map[string]map[string]string{
		"q=switzerland":                       {"name": "Switzerland", "name:de": "Schweiz", "name:es": "Suiza"},
		"q=switzerland&accept-language=de":    {"name": "Switzerland", "name:de": "Schweiz", "name:es": "Suiza"},
		"q=zurich&featureType=state":          {"name": "Zürich"},
		"q=zurich+airport&accept-language=de": {"name": "Zürich Airport"},
	} {
		var found []nominatimResult
		nominatim(g, "/nominatim/search?format=jsonv2&namedetails=1&"+query, &found)
		if len(found) == 0 || !maps.Equal(found[0].NameDetails, want) {
			t.Errorf("%s: %+v, want %v", query, found, want)
		}
	}
}

// TestNominatimGeometry tests that every result has a geometry with polygon_geojson, and that
// points within the threshold of a line are removed.
func TestNominatimGeometry(t *testing.T) {
	g := newNominatim(t, nil)
	const square = `{"type":"Polygon","coordinates":[[[6.000005,47.999997],[6.000005,46.000003],[8,46.000003],[8,47.999997],[6.000005,47.999997]],[[6.999997,47.000005],[7.009996,47.010005],[7.009996,47.000005],[6.999997,47.000005]]]}`
	g.PublishRows(servertest.Regions(build.Layer{Type: "country",
		Features: []build.Feature{{ID: "ch", Name: "Switzerland", Geometry: orb.Polygon{
			{{6, 46}, {7, 46.04}, {8, 46}, {8, 48}, {7, 48.3}, {6, 48}, {6, 46}},
			{{7, 47}, {7.01, 47}, {7.01, 47.01}, {7, 47}},
		}}}}))
	for threshold, want := range map[string]int{"": 7, "0": 7, "-1": 7, "0.01": 7, "0.1": 6, "0.5": 5, "100": 7} {
		var found []nominatimResult
		nominatim(g, "/nominatim/search?q=switzerland&polygon_geojson=1&polygon_threshold="+threshold, &found)
		var shape struct{ Coordinates [][][2]float64 }
		if err := json.Unmarshal(found[0].GeoJSON, &shape); err != nil || len(shape.Coordinates) != 2 ||
			len(shape.Coordinates[0]) != want || len(shape.Coordinates[1]) != 4 {
			t.Errorf("threshold %q: %s, want %d points", threshold, found[0].GeoJSON, want)
		}
		if threshold == "0.5" && string(found[0].GeoJSON) != square {
			t.Errorf("%s", found[0].GeoJSON)
		}
	}
	const point = `{"type":"Point","coordinates":[8.55,47.36667]}`
	for query, want := range map[string]string{
		"format=xml&polygon_geojson=1":  ` geojson="` + strings.ReplaceAll(point, `"`, "&#34;") + `"`,
		"format=json&polygon_geojson=1": `"geojson":` + point,
		"format=geojson":                `"geometry":` + point,
	} {
		if text := servertest.Body(t, g.Get("/nominatim/search?q=zurich&limit=1&"+query)); !strings.Contains(text, want) {
			t.Errorf("%s: no %s in %s", query, want, text)
		}
	}
	if text := servertest.Body(t, g.Get("/nominatim/search?q=zurich&format=xml")); strings.Contains(text, "geojson") {
		t.Errorf("a geometry that nobody asked for: %s", text)
	}
}

// TestNominatimMore tests that the address for more results has the same parameters, and excludes
// the previous results.
func TestNominatimMore(t *testing.T) {
	g := newNominatim(t, nil)
	for _, query := range []string{
		"q=zur&limit=1&format=xml&addressdetails=1&accept-language=de&layer=address,manmade&extratags=1&viewbox=5,45,11,48",
		"city=zur&country=switzerland&limit=1&format=xml&dedupe=0",
	} {
		var answer struct {
			More   string `xml:"more_url,attr"`
			Places []struct {
				ID string `xml:"place_id,attr"`
			} `xml:"place"`
		}
		seen, target := "", "search?"+query
		for page := range 2 {
			answer.Places = nil
			if err := xml.Unmarshal([]byte(servertest.Body(t, g.Get("/nominatim/"+target))), &answer); err != nil {
				t.Fatal(err)
			}
			if page == 0 && len(answer.Places) != 1 || page == 1 && len(answer.Places) > 0 && answer.Places[0].ID == seen {
				t.Fatalf("%s: %+v", target, answer)
			}
			path, text, _ := strings.Cut(answer.More, "?")
			more, err := url.ParseQuery(text)
			want, _ := url.ParseQuery(query)
			if page == 0 {
				seen = answer.Places[0].ID
			}
			if err != nil || path != "search" || !strings.HasPrefix(more.Get("exclude_place_ids"), seen) {
				t.Errorf("%s: %v %s", query, err, answer.More)
			}
			if more.Del("exclude_place_ids"); more.Encode() != want.Encode() {
				t.Errorf("%s: more are at %s", query, answer.More)
			}
			target = answer.More
		}
	}
}

// TestNominatimGeocodeJSON tests that an entry is in its own section. The country and its code are
// from one region, even if the gazetteer assigns the place to another country.
func TestNominatimGeocodeJSON(t *testing.T) {
	swiss, austrian := newNominatim(t, nil), newNominatim(t, nil)
	// In this map the German area belongs to another country.
	austrian.PublishRows(servertest.Regions(build.Layer{
		Type:     "country",
		Features: []build.Feature{servertest.Region("at", "Austria", 6, 47, 15, 55)},
	}))
	for query, want := range map[string]map[string]string{
		"search?q=zurich&limit=1": {
			"type":         "city",
			"name":         "Zürich",
			"city":         "Zürich",
			"state":        "Zürich",
			"country":      "Switzerland",
			"country_code": "ch",
		},
		"search?q=zurich&featureType=state": {
			"type":         "state",
			"name":         "Zürich",
			"state":        "Zürich",
			"country":      "Switzerland",
			"country_code": "ch",
		},
		"search?q=switzerland&accept-language=de": {"type": "country", "name": "Schweiz", "country": "Schweiz", "country_code": "ch"},
		"search?q=heli": {
			"type":         "house",
			"name":         `Heli "1" <b>&</b>`,
			"country":      "Switzerland",
			"country_code": "ch",
		},
		"reverse?lat=47.37&lon=8.54": {
			"type":         "city",
			"name":         "Zürich",
			"city":         "Zürich",
			"state":        "Zürich",
			"country":      "Switzerland",
			"country_code": "ch",
		},
		"search?q=freiburg+im+breisgau": {
			"type":         "city",
			"name":         "Freiburg im Breisgau",
			"city":         "Freiburg im Breisgau",
			"state":        "Baden-Württemberg",
			"country":      "Austria",
			"country_code": "at",
		},
		"search?q=freiburg+im+breisgau&format=json": nil,
	} {
		g := swiss
		if strings.Contains(query, "freiburg") {
			g = austrian
		}
		if want == nil {
			var found []nominatimResult
			if nominatim(g, "/nominatim/"+query+"&addressdetails=1", &found); found[0].Address["country"] != "Austria" ||
				found[0].Address["country_code"] != "at" {
				t.Errorf("%s: %v", query, found[0].Address)
			}
			continue
		}
		var answer struct {
			Features []struct {
				Properties struct{ Geocoding map[string]any }
			}
		}
		nominatim(g, "/nominatim/"+query+"&format=geocodejson&addressdetails=1", &answer)
		got := map[string]string{}
		for _, key := range []string{"type", "name", "district", "city", "county", "state", "country", "country_code"} {
			if v, ok := answer.Features[0].Properties.Geocoding[key].(string); ok {
				got[key] = v
			}
		}
		if !maps.Equal(got, want) {
			t.Errorf("%s: %v, want %v", query, got, want)
		}
	}
}

// TestNominatimNamesakes tests that distant places with the same name are all found. A place that
// the sources have twice is found once.
func TestNominatimNamesakes(t *testing.T) {
	g := newNominatim(t, nil)
	var found []nominatimResult
	if nominatim(g, "/nominatim/search?q=portland", &found); len(found) != 2 || found[0].Name != found[1].Name ||
		found[0].OSMID == found[1].OSMID {
		t.Errorf("%+v", found)
	}
}

func TestNominatimReverse(t *testing.T) {
	g := newNominatim(t, nil)
	for zoom, want := range map[string]string{
		"-1": "country", "0": "country", "3": "country", "5": "state", "8": "state", "10": "city", "12": "city", "18": "city", "99": "city",
	} {
		var r nominatimResult
		nominatim(g, "/nominatim/reverse?lat=47.37&lon=8.54&format=jsonv2&zoom="+zoom, &r)
		if r.AddressType != want || r.Address["country_code"] != "ch" || want == "state" && r.Address["ISO3166-2-lvl4"] != "CH-ZH" {
			t.Errorf("zoom %s: %+v, want a %s", zoom, r, want)
		}
	}
	for _, query := range []string{"lat=0&lon=-140", "lat=91&lon=0", "lat=1&lon=181", "lat=47.4&lon=8.5&layer=poi"} {
		var r nominatimResult
		if nominatim(g, "/nominatim/reverse?format=json&"+query, &r); r.Error != "Unable to geocode" {
			t.Errorf("%s: %+v", query, r)
		}
	}
	for lat, want := range map[string]string{"-30": "place sea sea Sea of Trial", "-31": "natural water water Lake of Trial"} {
		var r nominatimResult
		nominatim(g, "/nominatim/reverse?lon=-20&format=jsonv2&extratags=1&lat="+lat, &r)
		got := strings.Join([]string{r.Category, r.Type, r.AddressType, r.Address[r.AddressType]}, " ")
		if got != want || r.Address["state"] != "" || len(r.ExtraTags) > 0 {
			t.Errorf("at sea: %s, want %s; %v", got, want, r)
		}
	}
	var r nominatimResult
	if nominatim(g, "/nominatim/reverse?lat=47.37&lon=8.54&format=jsonv2&addressdetails=0", &r); r.Address != nil {
		t.Errorf("%+v", r)
	}
}

func TestNominatimLookup(t *testing.T) {
	g := newNominatim(t, nil)
	region, airport := strconv.FormatUint(named.Number(named.Region, "state", "ch-zh"),
		10), strconv.FormatUint(named.Number(named.Airport, "", "LSZH"), 10)
	var found []nominatimResult
	nominatim(g, "/nominatim/lookup?format=json&osm_ids=W"+airport+",n2657896,R"+region+",N1,R1,W"+region+
		",X9,N99999999999999999999,,N4294967297", &found)
	var kinds []string
	for _, r := range found {
		kinds = append(kinds, r.OSMType)
	}
	if !slices.Equal(kinds, []string{"way", "node", "relation"}) {
		t.Errorf("%v", kinds)
	}
	many := ""
	for i := range 51 {
		many += "N" + strconv.Itoa(i+1) + ","
	}
	if res := g.Get("/nominatim/lookup?osm_ids=" + many); res.StatusCode != http.StatusBadRequest {
		t.Errorf("51 ids: %d", res.StatusCode)
	}
}

// TestNominatimRefuses tests that errors have Nominatim's form in each format.
func TestNominatimRefuses(t *testing.T) {
	g := newNominatim(t, nil)
	for _, path := range []string{
		"search", "search?q=a&city=b", "search?q=a&format=html", "search?q=a&viewbox=1,2,3", "search?q=a&viewbox=1,2,3,NaN",
		"search?q=a&viewbox=1,2,3,x", "search?q=a&limit=x",
		"search?q=a&layer=planet", "search?q=a&featureType=street", "search?q=a&exclude_place_ids=x",
		"search?q=a&polygon_svg=1&format=json", "search?q=a&polygon_text=1&format=xml", "search?q=a&polygon_threshold=x", "search?q=a&debug=1",
		"search?q=a&json_callback=alert(1)&format=json", "search?q=" + strings.Repeat("a", 10_000), "search?q=%ff%fe",
		"search?city=" + strings.Repeat("a", 150) + "&country=" + strings.Repeat("b", 150),
		"search?q=a&countrycodes=" + strings.Repeat("de,", 10_000), "reverse", "reverse?lat=1", "reverse?lat=NaN&lon=1",
		"reverse?lat=1&lon=Inf", "reverse?lat=1&lon=1&zoom=x", "status?format=xml",
	} {
		for _, format := range []string{"json", "jsonv2", "geojson", "geocodejson", "xml"} {
			target := "/nominatim/" + path
			if !strings.Contains(path, "format=") {
				if target += "&format=" + format; !strings.Contains(path, "?") {
					target = strings.Replace(target, "&", "?", 1)
				}
			}
			res := g.Get(target)
			text := servertest.Body(t, res)
			var e struct {
				Error struct {
					Code    int
					Message string
				}
			}
			switch {
			case res.StatusCode != http.StatusBadRequest:
				t.Errorf("%s: %d %s", target, res.StatusCode, text)
			case strings.HasPrefix(res.Header.Get("Content-Type"), "text/xml"):
				wellFormed(t, target, text)
			case strings.HasPrefix(res.Header.Get("Content-Type"), "text/plain"):
			case json.Unmarshal([]byte(text), &e) != nil || e.Error.Code != 400 || e.Error.Message == "":
				t.Errorf("%s: %s", target, text)
			}
		}
	}
	empty := servertest.New(t, nil)
	if res := empty.Get("/nominatim/search?q=a"); res.StatusCode != http.StatusNotFound ||
		!strings.Contains(servertest.Body(t, res), `{"error":{"code":404,`) {
		t.Errorf("without data: %d", res.StatusCode)
	}
	if res := empty.Get("/nominatim/status"); res.StatusCode != http.StatusInternalServerError {
		t.Errorf("status without data: %d", res.StatusCode)
	}
	if text := servertest.Body(t, empty.Get("/nominatim/status?format=json")); !strings.Contains(text, `"status":700`) {
		t.Errorf("status without data: %s", text)
	}
	keyed := servertest.New(t, servertest.NewGuarded(t, false, quota.Limits{}))
	if res := keyed.Get("/nominatim/reverse?lat=1&lon=1&format=json"); res.StatusCode != http.StatusUnauthorized ||
		!strings.Contains(servertest.Body(t, res), `{"error":{"code":401,`) {
		t.Errorf("without a key: %d", res.StatusCode)
	}
}

// wellFormed reports an error if a text is not XML.
func wellFormed(t *testing.T, what, text string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(text))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Errorf("%s: %v\n%s", what, err, text)
			return
		}
	}
}

// TestNominatimHostile tests that the answer to any query is well-formed, and that repeated input
// is escaped.
func TestNominatimHostile(t *testing.T) {
	g := newNominatim(t, nil)
	for _, text := range []string{
		`<script>alert("1")</script>`, `'; DROP TABLE placex;--`, "\u202e\u200d\u0301", strings.Repeat("\u0301",
			90), "\U0001f600", "\ufffe", `"]]>`, "heli", "1 2 3", "a", "%", strings.Repeat("a ", 99), ",,,,", "a,b,c,d,e,f,g,h",
	} {
		for _, format := range []string{"json", "geojson", "geocodejson", "xml"} {
			target := "/nominatim/search?addressdetails=1&format=" + format + "&q=" + url.QueryEscape(text)
			res := g.Get(target)
			answer := servertest.Body(t, res)
			switch {
			case res.StatusCode != http.StatusOK:
				t.Errorf("%s: %d %s", target, res.StatusCode, answer)
			case format == "xml":
				wellFormed(t, target, answer)
				if strings.Contains(answer, "<script") || strings.Contains(answer, "<b>") {
					t.Errorf("%s: %s", target, answer)
				}
			case !json.Valid([]byte(answer)):
				t.Errorf("%s: %s", target, answer)
			}
		}
	}
	res := g.Get("/nominatim/search?q=heli&json_callback=f")
	if text := servertest.Body(t, res); !strings.HasPrefix(text, "/**/f([") || strings.Contains(text, "</b>") ||
		res.Header.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("%v %s", res.Header, text)
	}
}

// TestNominatimAtRoot tests that its paths at the root replace the server's own paths, except
// /status.
func TestNominatimAtRoot(t *testing.T) {
	g := newNominatim(t, func(cfg *httpapi.Config) { cfg.RootGeocoder = "nominatim" })
	for _, path := range []string{"/search?q=zur", "/search.php?q=zur", "/reverse?lat=47.4&lon=8.5&format=jsonv2",
		"/reverse.php?lat=47.4&lon=8.5&format=json", "/lookup?osm_ids=N2657896&format=json", "/nominatim/search?q=zur"} {
		if text := servertest.Body(t, g.Get(path)); !strings.Contains(text, `"place_id":`) {
			t.Errorf("%s: %s", path, text)
		}
	}
	for path, want := range map[string]string{
		"/status":                           `"datasets"`,
		"/status.php":                       "OK",
		"/geocode/reverse?lat=47.4&lon=8.5": `"results"`,
		"/searchJSON?q=zur":                 `"geonames"`,
	} {
		if text := servertest.Body(t, g.Get(path)); !strings.Contains(text, want) {
			t.Errorf("%s: %s", path, text)
		}
	}
}
