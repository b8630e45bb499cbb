//go:build !race

package servertest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"quadrille/ask"
	"quadrille/cellstore"
	"quadrille/cmd/tileserver/internal/servertest"
	"quadrille/internal/testrace"
	"quadrille/places"
	"quadrille/places/airports"
)

func TestSearchQuery(t *testing.T) {
	g := servertest.NewGlobe(t, nil)
	hundred := strings.TrimSpace(strings.Repeat("abcdefghi ", 20)) + "k" // 200 characters
	g.PublishRows(servertest.Places([]places.Place{
		{ID: 1, Name: "Ann Bee", Class: "P", Lat: -1, Lon: 179},
		{ID: 2, Name: "Ann Bay", Class: "P", Population: 4, Lat: 1, Lon: 1},
		{ID: 3, Name: "北京", Class: "P", Code: "PPLC", Country: "CN", Population: 5},
		{ID: 4, Name: "北一", Class: "P", Code: "PPLC", Country: "HK", Population: 50},
		{ID: 5, Name: "北二", Class: "A", Code: "PPLC", Country: "TW", Population: 40},
		{ID: 6, Name: "北三", Class: "P", Code: "PPLC", Country: "TW", Population: 4},
		{ID: 7, Name: "北四", Class: "S", Code: "PPLC", Country: "TW", Population: 6},
		{ID: 8, Name: "北五", Class: "P", Code: "PPL", Country: "TW", Population: 7},
		{ID: 9, Name: "北六", Class: "P", Code: "PPLC", Country: "JP", Population: 8},
		{ID: 10, Name: hundred, Class: "P"},
	}, []places.AlternateName{{PlaceID: 3, Lang: "zh-Hant", Name: "北平"}}, places.Gazetteer{}))
	for query, want := range map[string][]string{
		"q=ann+b": {"Ann Bay", "Ann Bee"},
		"q=%E5%8C%97&limit=100&lang=zh-Hant&class=p,a&code=PPLC&country=cn,tw&min_population=5": {"北一", "北平", "北二"},
		"q=ann&bbox=170,-5,-170,5&lat=-1&lon=180":                                               {"Ann Bee"},
		"_unknown=1&q=" + url.QueryEscape(hundred):                                              {hundred},
	} {
		res := g.Get("/places/search?" + query)
		if got := placeNames(t, servertest.Body(t, res)); res.StatusCode != 200 || !slices.Equal(got, want) {
			t.Errorf("%s: %d, %q, want %q", query, res.StatusCode, got, want)
		}
	}
	for query, parameter := range map[string]string{
		"q=" + strings.Repeat("a", 201): "q",
		"q=a&q=b":                       "q",
		"q=a%C2%85":                     "q", // a control character of Latin 1
		"q=a%00":                        "q",
		"limit=1":                       "q",
		"q=a&limit=0":                   "limit",
		"q=a&lon=1":                     "lat",
		"q=a&lat=91&lon=0":              "lat",
		"q=a&class=PP":                  "class",
		"q=a&class=":                    "class",
		"q=a&code=a-b":                  "code",
		"q=a&country=c1":                "country",
		"q=a&country=" + strings.Repeat("ch,", 20) + "ch": "country",
		"q=a&lang=":                           "lang",
		"q=a&lang=" + strings.Repeat("a", 17): "lang",
		"q=a&min_population=-1":               "min_population",
		"q=a&format=xml":                      "format",
	} {
		if p := servertest.WantProblem(t, g.Get("/places/search?"+query), 400, "bad-parameter"); p.Parameter != parameter {
			t.Errorf("%s: %+v, want parameter %s", query, p, parameter)
		}
	}
}

func TestSearchFailures(t *testing.T) {
	testrace.SkipUnderRace(t, "one request after the other, which TestEverythingAtOnce sends at once")
	for _, path := range []string{"/places/search?q=zur", "/places/search?q=zurich&limit=5", "/places/within?bbox=0,0,1,1"} {
		servertest.WantProblem(t, servertest.NewGlobe(t, nil, ask.Boundaries.Name).Get(path), 404, "dataset-missing")
		g := servertest.NewGlobe(t, nil)
		for _, tt := range []struct {
			err    error
			status int
			typ    string
		}{
			{places.ErrQuery, 400, "bad-parameter"},
			{places.ErrQuery, 400, "bad-parameter"},
			{places.ErrTooMuchWork, 422, "search-too-wide"},
			{cellstore.ErrCorrupt, 500, "data-corrupt"},
		} {
			g.Places.ReadErr = fmt.Errorf("secret: %w", tt.err)
			if p := servertest.WantProblem(t, g.Get(path), tt.status, tt.typ); strings.Contains(p.Detail, "secret") {
				t.Errorf("internals shown: %+v", p)
			}
		}
		g.Places.ReadErr = nil
		if res := g.Get(path); res.StatusCode != 200 {
			t.Errorf("a failure was kept: %d %s", res.StatusCode, servertest.Body(t, res))
		}
	}
	// A place that was found must have a record. A missing record is reported as damage, not as a
	// place that does not exist.
	g := servertest.NewGlobe(t, nil)
	g.Places.BeforeRead = func(_ context.Context, table string, _ []byte) error {
		if table == "place_info" {
			return places.ErrNotFound
		}
		return nil
	}
	servertest.WantProblem(t, g.Get("/places/search?q=bern&limit=5"), 500, "data-corrupt")
	// A stored answer of another form is also reported as damage.
	g = servertest.NewGlobe(t, nil)
	g.PublishRows(servertest.Places(towns("Bern"), nil, places.Gazetteer{}))
	g.Places.ChangeRow = func(table string, row *cellstore.Row) {
		if table == "place_prefix" {
			row.Cells[0].Value = []byte(`{"other":[]}`)
		}
	}
	servertest.WantProblem(t, g.Get("/places/search?q=bern"), 500, "data-corrupt")
	// A search fails if a data set that it uses is published but broken.
	g = servertest.NewGlobe(t, nil)
	g.Airports.ReadErr = servertest.ErrHidden
	servertest.WantProblem(t, g.Get("/places/search?q=pdx"), 500, "data-corrupt")
	if res := g.Get("/places/search?q=portland"); res.StatusCode != 200 {
		t.Errorf("no code of an airport: %d", res.StatusCode)
	}
}

// placeNames returns the names of the places in an answer, in order.
func placeNames(t *testing.T, text string) (list []string) {
	t.Helper()
	var doc struct {
		Places []struct{ Name string }
	}
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	for _, p := range doc.Places {
		list = append(list, p.Name)
	}
	return list
}

// towns returns places whose names begin with a text. There are enough of them for a stored answer
// to this text.
func towns(beginning string) (list []places.Place) {
	for i := range uint32(11) {
		list = append(list, places.Place{ID: 100 + i, Name: beginning + string('a'+rune(i)), Class: "P", Code: "PPL", Population: int64(i)})
	}
	return list
}

func TestAirportAmongPlaces(t *testing.T) {
	g := servertest.NewGlobe(t, nil)
	list := slices.Clone(servertest.GlobeAirports)
	for code, typ := range map[string]string{
		"LON": "large_airport",
		"LIM": "large_airport",
		"BER": "medium_airport",
		"POR": "small_airport",
		"CAM": "closed",
		"STU": "medium_airport",
		"FRE": "large_airport",
		"ZZZ": "heliport",
	} {
		list = append(list, airports.Airport{
			ID:      100 + uint32(len(list)),
			Ident:   "X-" + code,
			IATA:    code,
			Name:    code + " airport",
			Type:    typ,
			Country: "XX",
			Lat:     1,
			Lon:     2,
		})
	}
	g.PublishRows(servertest.Airports(list...))
	for _, tt := range []struct {
		query string
		want  []string
	}{
		{"pdx", []string{"Portland International <Airport>"}},
		{" PDX ", []string{"Portland International <Airport>"}},
		{"lim", []string{"Lima", "LIM airport"}},
		{"ber", []string{"BER airport", "Bern"}},
		{"stu", []string{"Stuttgart", "STU airport"}},
		{"fre", []string{"FRE airport", "Freiburg im Breisgau"}},
		{"por", []string{"Portland", "Portland", "POR airport"}},
		{"cam", []string{"Cambridge", "CAM airport"}},
		{"zzz", []string{"ZZZ airport"}},
		{"zur", []string{"Zürich", "Small", "Zürich Flughafen"}},
		{"zuri", []string{"Zürich", "Zürich Flughafen"}},
		{"pdx&country=us", []string{"Portland International <Airport>"}},
		{"pdx&country=ca", nil},
		{"pdx&class=P", nil},
		{"pdx&class=S,P&code=AIRP", []string{"Portland International <Airport>"}},
		{"pdx&bbox=-123,45,-122,46", []string{"Portland International <Airport>"}},
		{"pdx&bbox=0,0,1,1", nil},
		{"pdx&min_population=1", nil},
		{"lim&limit=1", []string{"Lima"}},
		{"ber&limit=1", []string{"BER airport"}},
		{"zur&limit=2", []string{"Zürich", "Small"}},
		{"por&limit=2", []string{"Portland", "Portland"}},
	} {
		text, rest, _ := strings.Cut(tt.query, "&")
		path := "/places/search?q=" + url.QueryEscape(text)
		if rest != "" {
			path += "&" + rest
		}
		if got := placeNames(t, servertest.Body(t, g.Get(path))); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.query, got, tt.want)
		}
	}
	// The airport has the same place in a stored answer as in a searched one.
	g.PublishRows(servertest.Places(append(towns("Lon"),
		places.Place{ID: 1, Name: "London", Class: "P", Code: "PPLC", Population: 8961989},
		places.Place{ID: 2, Name: `Londrina "}{"`, Class: "P", Code: "PPL", Population: 471832},
	), nil, places.Gazetteer{}))
	if got := placeNames(t, servertest.Body(t, g.Get("/places/search?q=lon"))); len(got) != 10 ||
		!slices.Equal(got[:3], []string{"London", "LON airport", `Londrina "}{"`}) {
		t.Errorf("stored answer: %q", got)
	}
	// Without airports the same search finds the places.
	g = servertest.NewGlobe(t, nil, ask.Places.Name)
	if got := placeNames(t, servertest.Body(t, g.Get("/places/search?q=zur"))); !slices.Equal(got, []string{"Zürich", "Zürich Flughafen"}) {
		t.Errorf("without airports: %q", got)
	}
}

// TestSearchKept tests that an answer to a search with only a text is made once per generation. A
// new generation of airports matters only if the text may be a code.
func TestSearchKept(t *testing.T) {
	g := servertest.NewGlobe(t, nil)
	read := func(path string, headers ...string) (*http.Response, int64) {
		before := g.Places.Reads.Load()
		res := g.Get(path, headers...)
		return res, g.Places.Reads.Load() - before
	}
	for _, path := range []string{"/places/search?q=bern", "/places/search?q=stuttgart"} {
		first, n := read(path)
		if n == 0 {
			t.Fatal("nothing was read")
		}
		second, n := read(path)
		if n != 0 {
			t.Errorf("%s: read again", path)
		}
		a, b := servertest.Body(t, first), servertest.Body(t, second)
		tag := first.Header.Get("Etag")
		if a != b || tag == "" || tag != second.Header.Get("Etag") || second.Header.Get("Vary") != "Accept" {
			t.Errorf("%s: answers differ: %v %s, %v %s", path, first.Header, a, second.Header, b)
		}
		if res, n := read(path, "If-None-Match", tag); n != 0 || res.StatusCode != http.StatusNotModified {
			t.Errorf("%s: %d with its tag, %d reads", path, res.StatusCode, n)
		}
		g.Publish(ask.Airports.Name)
		g.Poll()
		res, n := read(path, "If-None-Match", tag)
		if code := path == "/places/search?q=bern"; code != (n > 0) || code != (res.StatusCode == 200) {
			t.Errorf("%s: %d and %d reads after airports were published", path, res.StatusCode, n)
		}
		g.Publish(ask.Places.Name)
		g.Poll()
		if res, n := read(path, "If-None-Match", tag); n == 0 || res.StatusCode != 200 {
			t.Errorf("%s: %d and %d reads after places were published", path, res.StatusCode, n)
		}
	}
}

// TestSearchSameForms tests that the stored answer and the general search give the same answer to
// the same question.
func TestSearchSameForms(t *testing.T) {
	g := servertest.NewGlobe(t, nil)
	for _, q := range []string{"zur", "z%C3%BCr", "port", "pdx", "nothing", "a+b"} {
		if a, b := servertest.Body(t, g.Get("/places/search?q="+q)), servertest.Body(t, g.Get("/places/search?limit=10&q="+q)); a != b {
			t.Errorf("%s: %s and %s", q, a, b)
		}
	}
}

func TestWithinPlacesQuery(t *testing.T) {
	g := servertest.NewGlobe(t, nil)
	for query, want := range map[string][]string{
		"bbox=5,45,11,48.5": {"Zürich", "Bern", "Freiburg im Breisgau", "Zürich Flughafen", "Switzerland"},
		"tile=3/4/2&limit=1000&class=p,s&code=PPLA,ppla2,airp&country=ch,GB&min_population=7": {"Zürich", "Cambridge"},
	} {
		res := g.Get("/places/within?" + query)
		if got := placeNames(t, servertest.Body(t, res)); res.StatusCode != 200 || !slices.Equal(got, want) {
			t.Errorf("%s: %d, %q, want %q", query, res.StatusCode, got, want)
		}
	}
	for _, tile := range []string{"", "1", "1/1", "1/1/2", "1/1/1/1", "23/0/0", "-1/0/0", "a/b/c", "1/1/"} {
		if p := servertest.WantProblem(t, g.Get("/places/within?tile="+tile), 400, "bad-parameter"); p.Parameter != "tile" {
			t.Errorf("%q: %+v", tile, p)
		}
	}
	// The joined pages equal the whole list.
	whole := placeNames(t, servertest.Body(t, g.Get("/places/within?bbox=-180,-90,180,90&limit=1000")))
	var paged []string
	for cursor := ""; ; {
		text := servertest.Body(t, g.Get("/places/within?bbox=-180,-90,180,90&limit=3"+cursor))
		paged = append(paged, placeNames(t, text)...)
		var doc struct{ Next string }
		if err := json.Unmarshal([]byte(text), &doc); err != nil {
			t.Fatal(err)
		}
		if doc.Next == "" {
			break
		}
		cursor = "&cursor=" + doc.Next
	}
	if !slices.Equal(whole, paged) || len(whole) != len(servertest.GlobePlaces) {
		t.Errorf("%q in pages, %q in one piece", paged, whole)
	}
}
