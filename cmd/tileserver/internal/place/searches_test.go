package place_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"quadrille/cellstore"
	"quadrille/cmd/internal/catalogue"
	"quadrille/cmd/tileserver/internal/servertest"
	"quadrille/feature"
	"quadrille/internal/testrace"
	"quadrille/places"
	"quadrille/places/search"
	"quadrille/quadkey"
)

func TestSearchQuery(t *testing.T) {
	g := servertest.NewGlobe(t, nil)
	for _, tt := range []struct {
		query string
		want  search.Query
	}{
		{"q=a+b", search.Query{Text: "a b", Limit: 10}},
		{"q=%E5%8C%97&limit=100&lang=zh-Hant&class=p,a&code=PPLC&country=cn,tw&min_population=5", search.Query{
			Text: "北", Limit: 100, Lang: "zh-Hant", Classes: []string{"P", "A"}, Codes: []string{"PPLC"}, Countries: []string{"CN", "TW", "HK", "MO"}, MinPopulation: 5}},
		{"q=a&bbox=170,-5,-170,5&lat=-1&lon=180", search.Query{
			Text: "a", Limit: 10, Box: &quadkey.Box{West: 170, South: -5, East: -170, North: 5}, Bias: true, Lat: -1, Lon: 180}},
		{"_unknown=1&q=" + strings.Repeat("a", 200), search.Query{Text: strings.Repeat("a", 200), Limit: 10}},
	} {
		if res := g.Get("/places/search?" + tt.query); res.StatusCode != 200 {
			t.Fatalf("%s: %s", tt.query, servertest.Body(t, res))
		}
		if d := cmp.Diff(tt.want, g.Places.Searched); d != "" {
			t.Errorf("%s: query differs:\n%s", tt.query, d)
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
	testrace.Plain(t, "one request after the other, which TestEverythingAtOnce sends at once")
	for _, path := range []string{"/places/search?q=zur", "/places/search?q=zurich&limit=5", "/places/within?bbox=0,0,1,1"} {
		servertest.WantProblem(t, servertest.NewGlobe(t, nil, catalogue.Boundaries.Name).Get(path), 404, "dataset-missing")
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
			g.Places.Err = fmt.Errorf("secret: %w", tt.err)
			if p := servertest.WantProblem(t, g.Get(path), tt.status, tt.typ); strings.Contains(p.Detail, "secret") {
				t.Errorf("internals shown: %+v", p)
			}
		}
		g.Places.Err = nil
		if res := g.Get(path); res.StatusCode != 200 {
			t.Errorf("a failure was kept: %d %s", res.StatusCode, servertest.Body(t, res))
		}
	}
	// A place that was found must have a record; without one it is damage, not
	// a place that does not exist.
	g := servertest.NewGlobe(t, nil)
	rows := g.Places.Gazetteer.Rows
	g.Places.Gazetteer = &servertest.Gazetteer{Rows: slices.Clone(rows)}
	for i := range g.Places.Gazetteer.Rows {
		g.Places.Gazetteer.Rows[i].ID = 0
	}
	g.Places.Completions = map[string]string{"bern": `{"other":[]}`}
	servertest.WantProblem(t, g.Get("/places/search?q=bern"), 500, "data-corrupt")
	// What is published but broken is no reason to answer without it.
	g = servertest.NewGlobe(t, nil)
	g.Airports.Err = servertest.ErrHidden
	servertest.WantProblem(t, g.Get("/places/search?q=pdx"), 500, "data-corrupt")
	if res := g.Get("/places/search?q=portland"); res.StatusCode != 200 {
		t.Errorf("no code of an airport: %d", res.StatusCode)
	}
}

// names are those of the places in an answer, in order.
func names(t *testing.T, text string) (list []string) {
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

func TestAirportAmongPlaces(t *testing.T) {
	g := servertest.NewGlobe(t, nil)
	airport := func(code, typ string) {
		g.Airports.Records[code] = fmt.Sprintf(`{"name":"%s airport","type":"%s","country":"XX","lat":1,"lon":2}`, code, typ)
	}
	for code, typ := range map[string]string{"LON": "large_airport", "LIM": "large_airport", "BER": "medium_airport", "POR": "small_airport", "CAM": "closed", "STU": "medium_airport", "FRE": "large_airport", "ZZZ": "heliport"} {
		airport(code, typ)
	}
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
		if got := names(t, servertest.Body(t, g.Get(path))); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.query, got, tt.want)
		}
	}
	// Into a stored answer it is put as into a found one.
	g.Places.Completions = map[string]string{"lon": `{"places":[{"id":1,"name":"London","population":8961989},{"id":2,"name":"Londrina \"}{\"","population":471832,"match":{"x":1}}]}`}
	if got := names(t, servertest.Body(t, g.Get("/places/search?q=lon"))); !slices.Equal(got, []string{"London", "LON airport", `Londrina "}{"`}) {
		t.Errorf("stored answer: %q", got)
	}
	// Without airports the same search finds the places.
	g = servertest.NewGlobe(t, nil, catalogue.Places.Name)
	if got := names(t, servertest.Body(t, g.Get("/places/search?q=zur"))); !slices.Equal(got, []string{"Zürich", "Zürich Flughafen"}) {
		t.Errorf("without airports: %q", got)
	}
}

// TestSearchKept: an answer to a text alone is made once per generation, and
// airports count only where the text may be a code.
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
		g.Publish(catalogue.Airports.Name)
		if err := g.Config.Airports.Poll(t.Context()); err != nil {
			t.Fatal(err)
		}
		res, n := read(path, "If-None-Match", tag)
		if code := path == "/places/search?q=bern"; code != (n > 0) || code != (res.StatusCode == 200) {
			t.Errorf("%s: %d and %d reads after airports were published", path, res.StatusCode, n)
		}
		g.Publish(catalogue.Places.Name)
		g.Poll()
		if res, n := read(path, "If-None-Match", tag); n == 0 || res.StatusCode != 200 {
			t.Errorf("%s: %d and %d reads after places were published", path, res.StatusCode, n)
		}
	}
}

// TestSearchSameForms: the stored answer's address and the general one agree
// where they answer the same question.
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
	important := feature.Order{Importance: true}
	for _, tt := range []struct {
		query string
		want  feature.Query
		terms []feature.Term
	}{
		{query: "bbox=1,2,3,4", want: feature.Query{In: feature.Box{West: 1, South: 2, East: 3, North: 4}, Order: important, Limit: 11}},
		{"tile=3/4/2&limit=1000&class=p,s&code=ppl&country=fr,DE&min_population=7", feature.Query{In: feature.Tile{Z: 3, X: 4, Y: 2}, Order: important, Limit: 1001}, []feature.Term{
			{Name: "class", Values: []string{"P", "S"}}, {Name: "code", Values: []string{"PPL"}}, {Name: "country", Values: []string{"FR", "DE"}},
			{Name: "population", Op: feature.OpGreaterOrEqual, Values: []string{"7"}},
		}},
	} {
		if res := g.Get("/places/within?" + tt.query); res.StatusCode != 200 {
			t.Fatalf("%s: %s", tt.query, servertest.Body(t, res))
		}
		servertest.WantQuery(t, tt.query, &g.Places.Asked, tt.want, tt.terms)
	}
	for _, tile := range []string{"", "1", "1/1", "1/1/2", "1/1/1/1", "23/0/0", "-1/0/0", "a/b/c", "1/1/"} {
		if p := servertest.WantProblem(t, g.Get("/places/within?tile="+tile), 400, "bad-parameter"); p.Parameter != "tile" {
			t.Errorf("%q: %+v", tile, p)
		}
	}
	// Page by page it is the same as in one piece.
	whole := names(t, servertest.Body(t, g.Get("/places/within?bbox=-180,-90,180,90&limit=1000")))
	var paged []string
	for cursor := ""; ; {
		text := servertest.Body(t, g.Get("/places/within?bbox=-180,-90,180,90&limit=3"+cursor))
		paged = append(paged, names(t, text)...)
		var doc struct{ Next string }
		if err := json.Unmarshal([]byte(text), &doc); err != nil {
			t.Fatal(err)
		}
		if doc.Next == "" {
			break
		}
		cursor = "&cursor=" + doc.Next
	}
	if !slices.Equal(whole, paged) || len(whole) != len(g.Places.Gazetteer.Rows) {
		t.Errorf("%q in pages, %q in one piece", paged, whole)
	}
}
