package servertest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"quadrille/ask"
	"quadrille/cmd/tileserver/internal/httpapi"
	"quadrille/cmd/tileserver/internal/servertest"
	"quadrille/internal/testrace"
	"quadrille/places"
	"quadrille/tiles/build"
)

// TestGeonamesTypes tests that fields have the types of GeoNames, which clients in typed languages
// require: some numbers are strings.
func TestGeonamesTypes(t *testing.T) {
	g := servertest.NewGlobe(t, nil)
	first := func(path string) map[string]any {
		list := g.Geonames(path)["geonames"].([]any)
		return list[0].(map[string]any)
	}
	for _, tt := range []struct {
		name           string
		doc            map[string]any
		texts, numbers []string
	}{
		{"toponym", first("/findNearbyPlaceNameJSON?lat=47.4&lng=8.5"),
			[]string{"lat", "lng", "countryId", "adminCode1", "distance", "fcl", "fclName", "fcode", "fcodeName", "countryCode",
				"countryName", "adminName1", "toponymName", "name"},
			[]string{"geonameId", "population"}},
		{"zero", first("/findNearbyJSON?lat=0&lng=0"), []string{"lat", "lng", "distance"}, []string{"geonameId"}},
		{
			"record",
			g.Geonames("/getJSON?geonameId=2657896"),
			[]string{"asciiName", "continentCode", "adminCode2", "adminName2", "adminId1", "adminId2"},
			[]string{"geonameId", "elevation"},
		},
		{
			"record's zone",
			g.Geonames("/getJSON?geonameId=2657896")["timezone"].(map[string]any),
			[]string{"timeZoneId"},
			[]string{"gmtOffset", "dstOffset"},
		},
		{"time zone", g.Geonames("/timezoneJSON?lat=47.4&lng=8.5"),
			[]string{"timezoneId", "countryCode", "countryName", "time", "sunrise", "sunset"},
			[]string{"lat", "lng", "gmtOffset", "dstOffset", "rawOffset"}},
		{"country", g.Geonames("/countryCodeJSON?lat=47.4&lng=8.5"), []string{"languages", "distance", "countryCode", "countryName"}, nil},
		{
			"subdivision",
			g.Geonames("/countrySubdivisionJSON?lat=47.4&lng=8.5"),
			[]string{"countryCode", "countryName", "adminCode1", "adminName1"},
			[]string{"distance"},
		},
	} {
		for _, name := range tt.texts {
			if v, ok := tt.doc[name].(string); !ok || v == "" {
				t.Errorf("%s: %s is %v, want a string", tt.name, name, tt.doc[name])
			}
		}
		for _, name := range tt.numbers {
			if _, ok := tt.doc[name].(float64); !ok {
				t.Errorf("%s: %s is %v, want a number", tt.name, name, tt.doc[name])
			}
		}
	}
	sea := g.Geonames("/timezoneJSON?lat=0&lng=-140")
	if _, has := sea["timezoneId"]; has || sea["rawOffset"] != -9.0 {
		t.Errorf("at sea: %v", sea)
	}
}

// TestGeonamesStyles tests that each style has all members of the shorter style.
func TestGeonamesStyles(t *testing.T) {
	g := servertest.NewGlobe(t, nil)
	var last []string
	for _, style := range []string{"SHORT", "medium", "Long", "FULL"} {
		doc := g.Geonames("/getJSON?geonameId=2657896&style=" + style)
		var fields []string
		for name := range doc {
			fields = append(fields, name)
		}
		for _, name := range last {
			if !slices.Contains(fields, name) {
				t.Errorf("%s lacks %s", style, name)
			}
		}
		if len(fields) <= len(last) {
			t.Errorf("%s has %q", style, fields)
		}
		last = fields
		// An entry of a list has the same members as the answer for the place alone.
		list := g.Geonames("/searchJSON?name_equals=z%C3%BCrich&maxRows=1&style=" + style)["geonames"].([]any)
		if got, want := fmt.Sprint(list[0]), fmt.Sprint(doc); got != want {
			t.Errorf("%s: %s in a list, %s alone", style, got, want)
		}
	}
}

func TestGeonamesErrors(t *testing.T) {
	g := servertest.NewGlobe(t, nil)
	for path, value := range map[string]int{
		"/searchJSON":          14,
		"/searchJSON?q=%20%00": 14,
		"/searchJSON?q=" + strings.Repeat("a", 201):         21,
		"/searchJSON?q=%ff":                                 21,
		"/searchJSON?q=a&maxRows=1001":                      27,
		"/searchJSON?q=a&maxRows=-1":                        14,
		"/searchJSON?q=a&maxRows=x":                         14,
		"/searchJSON?q=a&startRow=5001":                     14,
		"/searchJSON?q=a&country=CHE":                       14,
		"/searchJSON?country=" + strings.Repeat("CH,", 21):  14,
		"/searchJSON?q=a&featureClass=PP":                   14,
		"/searchJSON?q=a&featureCode=P.PPL":                 14,
		"/searchJSON?q=a&countryBias=x":                     14,
		"/searchJSON?q=a&continentCode=EUR":                 14,
		"/searchJSON?q=a&cities=many":                       14,
		"/searchJSON?q=a&fuzzy=much":                        14,
		"/searchJSON?q=a&north=1":                           14,
		"/searchJSON?q=a&north=1&south=2&east=1&west=0":     14,
		"/search?q=a&type=rdf":                              23,
		"/findNearbyJSON":                                   14,
		"/findNearbyJSON?lat=91&lng=0":                      14,
		"/findNearbyJSON?lat=NaN&lng=0":                     14,
		"/findNearbyJSON?lat=1&lng=0x1":                     14,
		"/findNearbyJSON?lat=1&lng=1&radius=300.1":          24,
		"/findNearbyJSON?lat=1&lng=1&radius=-1":             14,
		"/findNearbyJSON?lat=1&lng=1&radius=far":            14,
		"/findNearbyPlaceNameJSON?lat=1&lng=1&cities=15000": 14,
		"/getJSON":                                  14,
		"/getJSON?geonameId=0":                      14,
		"/getJSON?geonameId=4294967296":             14,
		"/getJSON?geonameId=99":                     11,
		"/timezoneJSON?lat=1":                       14,
		"/timezoneJSON?lat=1&lng=1&date=soon":       14,
		"/timezoneJSON?lat=1&lng=1&date=1899-12-31": 14,
		"/timezoneJSON?lat=1&lng=1&date=2101-01-01": 14,
		"/timezoneJSON?lat=1&lng=1&date=" + strings.Repeat("2026-01-01,", 32): 14,
		"/countryCodeJSON?lat=0&lng=-140":                                     15,
		"/countryCodeJSON?lat=0&lng=-140&radius=301":                          24,
		"/countrySubdivisionJSON?lat=0&lng=-140":                              15,
		"/countrySubdivisionJSON?lat=47.4&lng=8.5&level=6":                    14,
		"/countrySubdivisionJSON?lat=35&lng=-100":                             15,
		"/getJSON?geonameId=2657896&callback=a(b":                             14,
		"/getJSON?geonameId=2657896&callback=.a":                              14,
		"/getJSON?geonameId=2657896&callback=1a":                              14,
		"/getJSON?geonameId=2657896&callback=" + strings.Repeat("a", 81):      14,
	} {
		g.WantGeonames(path, value)
	}
	// GeoNames ignores unknown parameters, and so do we.
	for _, path := range []string{
		"/searchJSON?q=bern&unknown=1&q=other&lang=%3Cscript%3Elong%20language%20indeed&style=HUGE&orderby=luck&%zz&operator=OR&username=a&username=b",
		"/findNearbyJSON?lat=47.4&lon=8.5&lang=local&token=x",
		"/get?geonameId=2657896",
		"/getJSON?geonameId=2657896&type=xml", // the name of the endpoint decides the form
	} {
		if doc := g.Geonames(path); doc["status"] != nil {
			t.Errorf("%s: %v", path, doc)
		}
	}
}

func TestGeonamesFailures(t *testing.T) {
	testrace.SkipUnderRace(t, "one request after the other, which TestEverythingAtOnce sends at once")
	paths := []string{"/searchJSON?q=bern", "/searchJSON?country=CH", "/findNearbyJSON?lat=47.4&lng=8.5",
		"/findNearbyPlaceNameJSON?lat=47.4&lng=8.5", "/getJSON?geonameId=2657896"}
	g := servertest.NewGlobe(t, nil)
	for _, tt := range []struct {
		err   error
		value int
	}{
		{places.ErrTooMuchWork, 21}, {places.ErrQuery, 14}, {context.DeadlineExceeded, 13}, {errors.New("secret"),
			12}, {servertest.ErrHidden, 12},
	} {
		g.Places.ReadErr = fmt.Errorf("secret: %w", tt.err)
		for _, path := range paths {
			if m := g.WantGeonames(path, tt.value); strings.Contains(m, "secret") {
				t.Errorf("%s: internals shown: %s", path, m)
			}
		}
	}
	for _, path := range append(paths, "/countryCodeJSON?lat=1&lng=1", "/countrySubdivisionJSON?lat=1&lng=1") {
		if m := servertest.NewGlobe(t, nil, ask.Addresses.Name).WantGeonames(path, 12); !strings.Contains(m, "not published") {
			t.Errorf("%s without data: %s", path, m)
		}
	}
	if m := servertest.NewGlobe(t, nil, ask.Places.Name).WantGeonames("/timezoneJSON?lat=47.4&lng=8.5", 12); !strings.Contains(m,
		"not published") {
		t.Errorf("without time zones: %s", m)
	}
	// Nautical zones need countries, which determine whether a point is at sea.
	if doc := servertest.NewGlobe(t, nil, ask.Boundaries.Name).Geonames("/timezoneJSON?lat=0&lng=20"); doc["rawOffset"] != 1.0 {
		t.Errorf("with boundaries alone: %v", doc)
	}
	if m := servertest.NewGlobe(t, nil, ask.Addresses.Name).WantGeonames("/timezoneJSON?lat=0&lng=20", 12); !strings.Contains(m,
		"not published") {
		t.Errorf("without anything: %s", m)
	}
	if m := servertest.NewGlobe(t, nil).WantGeonames("/timezoneJSON?lat=-90&lng=0", 15); !strings.Contains(m, "no timezone information") {
		t.Errorf("land of which nothing is known: %s", m)
	}
	// Countries come from places if no boundaries are published.
	if doc := servertest.NewGlobe(t, nil, ask.Places.Name).Geonames("/countryCodeJSON?lat=47.4&lng=8.5"); doc["countryCode"] != "CH" {
		t.Errorf("without boundaries: %v", doc)
	}
	// If there are no places, the names come from boundaries.
	if doc := servertest.NewGlobe(t, nil,
		ask.Boundaries.Name).Geonames("/countryCodeJSON?lat=47.4&lng=8.5"); doc["countryName"] != "Switzerland" {
		t.Errorf("without places: %v", doc)
	}
	g = servertest.NewGlobe(t, nil)
	g.Boundaries.ReadErr = servertest.ErrHidden
	g.WantGeonames("/findNearbyPlaceNameJSON?lat=47.4&lng=8.5&localCountry=true", 12)
}

// TestGeonamesBusy tests that a server at its limit reports this both with the HTTP status and with
// GeoNames' error code.
func TestGeonamesBusy(t *testing.T) {
	g := servertest.NewGlobe(t, func(c *httpapi.Config) { c.MaxConcurrent = 1 })
	inside, leave := make(chan struct{}), make(chan struct{})
	done := make(chan struct{})
	var once sync.Once
	g.Places.BeforeRead = func(context.Context, string, []byte) error {
		once.Do(func() { close(inside); <-leave })
		return nil
	}
	go func() {
		defer close(done)
		g.Get("/getJSON?geonameId=2657896")
	}()
	<-inside
	res := g.Get("/getJSON?geonameId=2657896&callback=cb")
	if text := servertest.Body(t, res); res.StatusCode != 503 || res.Header.Get("Retry-After") == "" ||
		!strings.HasPrefix(text, "/**/cb(") || !strings.Contains(text, `"value":22`) {
		t.Errorf("%d %v %s", res.StatusCode, res.Header, text)
	}
	close(leave)
	<-done
}

func TestGeonamesScript(t *testing.T) {
	g := servertest.NewGlobe(t, nil)
	for callback, ok := range map[string]bool{
		"cb":            true,
		"a.b.c":         true,
		"$_1":           true,
		"jQuery123_456": true,
		"a..b":          false,
		"a-b":           false,
		"":              true,
		"ä":             false,
		"a b":           false,
	} {
		res := g.Get("/countryCodeJSON?lat=47.4&lng=8.5&callback=" + url.QueryEscape(callback))
		text := servertest.Body(t, res)
		switch {
		case callback == "":
			if res.Header.Get("Content-Type") != "application/json;charset=UTF-8" {
				t.Errorf("without callback: %v", res.Header)
			}
		case ok:
			inner := strings.TrimSuffix(strings.TrimPrefix(text, "/**/"+callback+"("), ");")
			if !json.Valid([]byte(inner)) || res.Header.Get("Content-Type") != "text/javascript;charset=UTF-8" ||
				res.Header.Get("X-Content-Type-Options") != "nosniff" {
				t.Errorf("%s: %v %s", callback, res.Header, text)
			}
		case strings.Contains(text, callback+"("):
			t.Errorf("%s was taken: %s", callback, text)
		}
	}
	// With a callback, an error is also a function call.
	if text := servertest.Body(t,
		g.Get("/getJSON?geonameId=1&callback=cb")); text != `/**/cb({"status":{"message":"the geoname feature does not exist","value":11}});` {
		t.Error(text)
	}
}

func TestGeonamesQueries(t *testing.T) {
	g := servertest.NewGlobe(t, nil)
	list := []places.Place{
		{ID: 1, Name: "Abel", Class: "P", Code: "PPLC", Country: "CH", Population: 5000, Lat: 47.401, Lon: 8.5},
		{ID: 2, Name: "Abel", Class: "S", Code: "PPL", Country: "DE", Population: 4999, Lat: 47.41, Lon: 8.5},
		{ID: 3, Name: "Abelino", Class: "P", Code: "PPLA", Country: "FR", Population: 6000, Lat: 47.42, Lon: 8.5},
		{ID: 4, Name: "Abel", Class: "P", Code: "PPLX", Country: "CH", Population: 100, Lat: 0, Lon: 179},
		{ID: 5, Name: "Abel B", Class: "T", Code: "PPL", Lat: 47.43, Lon: 8.5},
	}
	g.PublishRows(servertest.Places(list, []places.AlternateName{
		{PlaceID: 1, Lang: "de", Name: "Kain"},
		{PlaceID: 1, Lang: "en", Name: "Cain"},
	}, places.Gazetteer{}))
	ids := func(path string) (list []float64) {
		for _, p := range g.Geonames(path)["geonames"].([]any) {
			list = append(list, p.(map[string]any)["geonameId"].(float64))
		}
		return list
	}
	for path, want := range map[string][]float64{
		"q=abel":                                {1, 3, 2, 4, 5},
		"name=able&lang=local&fuzzy=0.8":        {1, 3, 2, 4, 5},
		"q=able":                                nil,
		"name_equals=abel%0A&maxRows=5&lang=de": {1, 2, 4},
		"name_equals=abel&maxRows=1&startRow=1": {2},
		"name_equals=abel%0Ab":                  {5},
		"q=abel&cities=cities5000":              {1, 3},
		"q=abel&featureCode=ppl&featureCode=PPLC,PPLA&country=ch&country=DE": {1, 2},
		"q=abel&orderby=population":                  {3, 1, 2, 4, 5},
		"q=abel&west=170&south=-1&east=-170&north=1": {4},
	} {
		if got := ids("/searchJSON?" + path); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", path, got, want)
		}
	}
	for lang, want := range map[string]string{"": "Cain", "&lang=local": "Abel", "&lang=de": "Kain"} {
		first := g.Geonames("/searchJSON?name_equals=abel&maxRows=1" + lang)["geonames"].([]any)[0].(map[string]any)
		if first["name"] != want {
			t.Errorf("%q: %v, want %s", lang, first["name"], want)
		}
	}
	for path, want := range map[string][]float64{
		"/findNearbyJSON?lat=47.4&lng=8.5&radius=2.5&maxRows=3&featureClass=P&featureClass=S&featureCode=PPL": {2},
		"/findNearbyJSON?lat=47.4&lng=8.5&radius=2.5&maxRows=3":                                               {1, 2, 3},
	} {
		if got := ids(path); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", path, got, want)
		}
	}
	// maxRows=0 costs nothing, and a radius of 0 does not mean no bound.
	for _, path := range []string{"/findNearbyJSON?lat=47.4&lng=8.5&maxRows=0", "/findNearbyJSON?lat=47.4&lng=8.5&radius=0",
		"/searchJSON?q=abel&maxRows=0", "/searchJSON?country=CH&maxRows=0"} {
		if list := g.Geonames(path)["geonames"].([]any); len(list) != 0 {
			t.Errorf("%s: %v", path, list)
		}
	}
}

// TestGeonamesOrder tests that the preferred country comes first, and that pages are parts of the
// whole list.
func TestGeonamesOrder(t *testing.T) {
	g := servertest.NewGlobe(t, nil)
	ids := func(path string) (list []float64) {
		for _, p := range g.Geonames(path)["geonames"].([]any) {
			list = append(list, p.(map[string]any)["geonameId"].(float64))
		}
		return list
	}
	for _, query := range []string{"featureClass=P", "featureClass=P&countryBias=CH", "name=b&countryBias=CH",
		"featureClass=P&orderby=population", "featureClass=P&orderby=elevation", "continentCode=EU&featureClass=P", "q=port"} {
		whole := ids("/searchJSON?" + query)
		var paged []float64
		for start := 0; start < len(whole)+2; start += 2 {
			paged = append(paged, ids(fmt.Sprintf("/searchJSON?%s&maxRows=2&startRow=%d", query, start))...)
		}
		if !slices.Equal(whole, paged) || len(whole) == 0 {
			t.Errorf("%s: %v in one piece, %v in pages", query, whole, paged)
		}
	}
	if got := ids("/searchJSON?featureClass=P&countryBias=ch"); got[0] != 2657896 || got[1] != 2661552 || got[2] != 3936456 {
		t.Errorf("countryBias: %v", got)
	}
	if got := ids("/searchJSON?featureClass=P&orderby=elevation"); got[0] != 2657896 {
		t.Errorf("by elevation: %v", got)
	}
	if got := ids("/searchJSON?adminCode2=112&country=CH"); !slices.Equal(got, []float64{2657896}) {
		t.Errorf("by adminCode2: %v", got)
	}
}

func TestGeonamesMethods(t *testing.T) {
	g := servertest.NewGlobe(t, nil)
	for _, name := range []string{"search", "findNearby", "findNearbyPlaceName", "get", "timezone", "countryCode", "countrySubdivision"} {
		for _, path := range []string{"/" + name, "/" + name + "JSON"} {
			query := path + "?lat=47.4&lng=8.5&geonameId=2657896&q=bern"
			get, head := g.Get(query), g.Do(http.MethodHead, query)
			if head.StatusCode != 200 || servertest.Body(t, head) != "" ||
				head.Header.Get("Content-Length") != get.Header.Get("Content-Length") || get.Header.Get("Content-Length") == "" {
				t.Errorf("%s: HEAD %d %v, GET %v", path, head.StatusCode, head.Header, get.Header)
			}
			if tag := get.Header.Get("Etag"); (name == "timezone") == (tag != "") {
				t.Errorf("%s: tag %q", path, tag)
			} else if tag != "" {
				if res := g.Get(query, "If-None-Match", tag); res.StatusCode != http.StatusNotModified {
					t.Errorf("%s: %d with its tag", path, res.StatusCode)
				}
			}
			if res := g.Do(http.MethodPost, path); res.StatusCode != http.StatusMethodNotAllowed {
				t.Errorf("POST %s: %d", path, res.StatusCode)
			}
		}
	}
}

// TestGeonamesCount tests that a client which pages by the count does not stop at the first page.
func TestGeonamesCount(t *testing.T) {
	g := servertest.NewGlobe(t, nil)
	for path, want := range map[string]float64{
		"/searchJSON?featureClass=P&maxRows=2":              3,
		"/searchJSON?featureClass=P&maxRows=2&startRow=2":   5,
		"/searchJSON?featureClass=P&maxRows=100":            8,
		"/searchJSON?featureClass=P&maxRows=8":              8,
		"/searchJSON?featureClass=P&maxRows=0":              0,
		"/searchJSON?adminCode1=01&maxRows=2":               2,
		"/searchJSON?continentCode=EU&maxRows=2&startRow=2": 6,
	} {
		if got := g.Geonames(path)["totalResultsCount"]; got != want {
			t.Errorf("%s: %v, want %v", path, got, want)
		}
	}
}

// TestGeonamesOffshore tests that answers at sea do not name the zones that a map draws over the
// sea.
func TestGeonamesOffshore(t *testing.T) {
	g := servertest.NewGlobe(t, nil)
	at := g.Geonames("/timezoneJSON?lat=30&lng=-66.1&radius=1")
	if at["timezoneId"] != nil && at["countryCode"] == nil {
		t.Errorf("%v", at)
	}
	at = g.Geonames("/timezoneJSON?lat=10&lng=-75")
	if at["timezoneId"] != nil || at["rawOffset"] != -5.0 {
		t.Errorf("%v", at)
	}
	if at = g.Geonames("/timezoneJSON?lat=20&lng=80"); at["timezoneId"] != "Asia/Kolkata" {
		t.Errorf("a zone that is one: %v", at)
	}
}

// with returns the places of the globe and of more. A place in more replaces the one with the same
// id.
func with(more ...places.Place) *servertest.Rows {
	return servertest.Places(append(slices.Clone(servertest.GlobePlaces), more...), servertest.GlobeNames, servertest.GlobeGazetteer)
}

// TestGeonamesShore tests places on coasts, because coasts are drawn coarsely.
func TestGeonamesShore(t *testing.T) {
	g := servertest.NewGlobe(t, nil)
	g.PublishRows(with(places.Place{ID: 5128581, Name: "Harbour", Country: "US", Class: "P", Code: "PPL", Lat: 40, Lon: -60}))
	if at := g.Geonames("/countryCodeJSON?lat=40.01&lng=-60"); at["countryCode"] != "US" || at["distance"] != "0" {
		t.Errorf("%v", at)
	}
	g.WantGeonames("/countryCodeJSON?lat=40.1&lng=-60", 15)
}

// TestGeonamesSmallRegions tests regions of type state that are smaller than GeoNames' divisions,
// or have another name. They get the division of the nearest place inside them.
func TestGeonamesSmallRegions(t *testing.T) {
	g := servertest.NewGlobe(t, nil)
	// Portland is in Oregon.
	portland := servertest.GlobePlaces[slices.IndexFunc(servertest.GlobePlaces, func(p places.Place) bool { return p.ID == 5746545 })]
	portland.Admin1, portland.Modified = "07", servertest.BuildDate
	at := func(division string) map[string]any {
		gazetteer := servertest.GlobeGazetteer
		gazetteer.Admin1 = append(slices.Clone(gazetteer.Admin1), places.Division{Code: "US.07", Name: division})
		g.PublishRows(servertest.Places(append(slices.Clone(servertest.GlobePlaces), portland), nil, gazetteer))
		return g.Geonames("/countrySubdivisionJSON?lat=45.5&lng=-122.6")
	}
	if at := at("Cascadia"); at["adminCode1"] != "07" || at["adminName1"] != "Cascadia" {
		t.Errorf("%v", at)
	}
	oregon := at("State of Oregon")
	codes, _ := oregon["codes"].([]any)
	if oregon["adminCode1"] != "07" || oregon["adminName1"] != "State of Oregon" || len(codes) != 1 ||
		codes[0].(map[string]any)["code"] != "OR" {
		t.Errorf("%v", oregon)
	}
}

// TestGeonamesNoLetters tests that a search for a name without letters finds no place and is not an
// error.
func TestGeonamesNoLetters(t *testing.T) {
	g := servertest.NewGlobe(t, nil)
	for _, path := range []string{"/searchJSON?q=---", "/searchJSON?q=---&countryBias=CH&maxRows=2"} {
		if at := g.Geonames(path); at["totalResultsCount"] != 0.0 {
			t.Errorf("%s: %v", path, at)
		}
	}
	if text := servertest.Body(t, g.Get("/places/search?q=---")); !strings.Contains(text, `"parameter":"q"`) ||
		strings.Contains(text, "secret") {
		t.Error(text)
	}
}

// TestGeonamesConditionsFirst tests that conditions are applied before the limit.
func TestGeonamesConditionsFirst(t *testing.T) {
	g := servertest.NewGlobe(t, nil)
	var rows []places.Place
	for i := range uint32(2500) {
		rows = append(rows, places.Place{
			ID:         i + 1,
			Name:       "Town",
			Country:    "US",
			Class:      "P",
			Code:       "PPL",
			Population: 9000 - int64(i),
			Admin1:     "ME",
		})
	}
	rows[2400].Admin1 = "WY"
	g.PublishRows(servertest.Places(rows, nil, places.Gazetteer{}))
	at := g.Geonames("/searchJSON?country=US&adminCode1=WY")
	if list := at["geonames"].([]any); at["totalResultsCount"] != 1.0 || len(list) != 1 || list[0].(map[string]any)["geonameId"] != 2401.0 {
		t.Errorf("%v", at)
	}
}

// A search that reaches the limit of work before it finds a place does not answer that there is
// none.
func TestGeonamesTooWide(t *testing.T) {
	testrace.SkipUnderRace(t, "one request after the other, which TestEverythingAtOnce sends at once")
	f := servertest.NewGlobe(t, nil)
	var rows []places.Place
	for i := range uint32(2 * 3_000) {
		rows = append(rows, places.Place{ID: i + 1, Name: "Place", Country: "CH", Class: "P", Code: "PPL", Admin1: "ZH", Lat: 47, Lon: 8})
	}
	f.PublishRows(servertest.Places(rows, nil, places.Gazetteer{}))
	for query, want := range map[string]string{
		"adminCode2=q1":                    `"value":14`,
		"country=CH&adminCode5=q1":         `"value":14`,
		"country=NO&adminCode5=q1":         `"totalResultsCount":0`,
		"country=CH&maxRows=1":             `"geonameId"`,
		"adminCode2=q1&countryBias=NO":     `"value":14`,
		"name=Nowhere&adminCode2=q1":       `"totalResultsCount":0`,
		"adminCode1=ZH&maxRows=1&lang=xyz": `"geonameId"`,
	} {
		if got := servertest.Body(t, f.Get("/searchJSON?"+query)); !strings.Contains(got, want) {
			t.Errorf("%s: %.200s, want %s", query, got, want)
		}
	}
}

// TestGeonamesISODivisions tests that a division has the ISO code of the region that contains the
// place, if both have the same name. If GeoNames' code is the ISO code, it is used.
func TestGeonamesISODivisions(t *testing.T) {
	g := servertest.NewGlobe(t, nil)
	for _, c := range []struct{ country, admin1, name, region, iso string }{
		{"PE", "15", "Lima", "pe-lma", "LMA"},
		{"PE", "15", "LÍMA", "pe-lma", "LMA"},
		{"PE", "15", "Limabamba", "pe-lma", ""}, // another name
		{"PE", "15", "", "pe-lma", ""},
		{"PE", "15", "Lima", "pe-lima-region", ""}, // no code
		{"PE", "15", "Lima", "per-500", ""},
		{"EC", "15", "Lima", "pe-lma", ""},
		{"LI", "11", "Lima", "pe-lma", "11"},
		{"GB", "ENG", "England", "gb-ken", "ENG"},
		{"CH", "00", "Lima", "ch-li", ""},
	} {
		gazetteer := servertest.GlobeGazetteer
		if c.name != "" {
			gazetteer.Admin1 = append(slices.Clone(gazetteer.Admin1), places.Division{Code: c.country + "." + c.admin1, Name: c.name})
		}
		callao := places.Place{
			ID:      3946083,
			Name:    "Callao",
			Country: c.country,
			Class:   "P",
			Code:    "PPLA",
			Admin1:  c.admin1,
			Lat:     -12.05,
			Lon:     -77.1,
		}
		g.PublishRows(servertest.Places([]places.Place{callao}, nil, gazetteer), servertest.Regions(build.Layer{
			Type: "state", Features: []build.Feature{servertest.Region(c.region, "Provincia de Lima", -77.2, -12.1, -77, -12)},
		}))
		iso := ""
		if codes, ok := g.Geonames("/getJSON?geonameId=3946083")["adminCodes1"].(map[string]any); ok {
			iso = codes["ISO3166_2"].(string)
		}
		if iso != c.iso {
			t.Errorf("%+v: %q of %v", c, iso, g.Geonames("/getJSON?geonameId=3946083"))
		}
	}
}
