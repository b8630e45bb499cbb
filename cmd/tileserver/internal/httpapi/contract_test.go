package httpapi

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/labstack/echo/v4"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// The description of the interface is a contract: what it says is what the
// router and the handlers do, and what they do it says.

type apiDoc struct {
	t        *testing.T
	root     map[string]any
	compiler *jsonschema.Compiler
	schemas  map[string]*jsonschema.Schema
}

func readAPIDoc(t *testing.T) *apiDoc {
	t.Helper()
	res := newFixture(t, nil).get(openAPIPath)
	if res.StatusCode != 200 || res.Header.Get("Content-Type") != "application/json" || res.Header.Get("Etag") == "" {
		t.Fatalf("%s: %d %v", openAPIPath, res.StatusCode, res.Header)
	}
	root, err := jsonschema.UnmarshalJSON(strings.NewReader(body(t, res)))
	if err != nil {
		t.Fatal(err)
	}
	d := &apiDoc{t: t, root: root.(map[string]any), compiler: jsonschema.NewCompiler(), schemas: map[string]*jsonschema.Schema{}}
	strict(d.at("/components/schemas"))
	// The dialect of OpenAPI is 2020-12 with annotations.
	d.compiler.DefaultDraft(jsonschema.Draft2020)
	d.compiler.AssertFormat()
	delete(d.root, "jsonSchemaDialect")
	if err := d.compiler.AddResource("openapi.json", d.root); err != nil {
		t.Fatal(err)
	}
	return d
}

// strict closes every object that names its members.
func strict(v any) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			strict(e)
		}
	case map[string]any:
		if _, named := v["properties"].(map[string]any); named && v["additionalProperties"] == nil {
			v["additionalProperties"] = false
		}
		for _, e := range v {
			strict(e)
		}
	}
}

// at returns what a JSON pointer points to, and follows references on the way.
func (d *apiDoc) at(pointer string) any {
	d.t.Helper()
	var v any = d.root
	for part := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		part = strings.NewReplacer("~1", "/", "~0", "~").Replace(part)
		m, ok := d.follow(v).(map[string]any)
		if !ok || m[part] == nil {
			d.t.Fatalf("the document has no %s: %s is missing", pointer, part)
		}
		v = m[part]
	}
	return d.follow(v)
}

func (d *apiDoc) follow(v any) any {
	if m, ok := v.(map[string]any); ok {
		if r, ok := m["$ref"].(string); ok {
			return d.at(strings.TrimPrefix(r, "#"))
		}
	}
	return v
}

// check holds a value against the schema at a pointer.
func (d *apiDoc) check(what, pointer, value string) {
	d.t.Helper()
	s := d.schemas[pointer]
	if s == nil {
		var err error
		if s, err = d.compiler.Compile("openapi.json#" + pointer); err != nil {
			d.t.Fatalf("%s: %v", pointer, err)
		}
		d.schemas[pointer] = s
	}
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(value))
	if err != nil {
		d.t.Errorf("%s: %v: %s", what, err, value)
		return
	}
	if err := s.Validate(v); err != nil {
		d.t.Errorf("%s: %v\n%s", what, err, value)
	}
}

// operation is one method of a path.
type operation struct {
	method, path string
	pointer      string
	members      map[string]any
	parameters   []map[string]any
}

// operations are all, in a fixed order.
func (d *apiDoc) operations() (all []operation) {
	paths := d.at("/paths").(map[string]any)
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		item := paths[path].(map[string]any)
		var params []map[string]any
		list, _ := item["parameters"].([]any)
		for _, p := range list {
			params = append(params, d.follow(p).(map[string]any))
		}
		for _, method := range slices.Sorted(maps.Keys(item)) {
			if members, ok := item[method].(map[string]any); ok {
				pointer := "/paths/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(path) + "/" + method
				all = append(all, operation{strings.ToUpper(method), path, pointer, members, params})
			}
		}
	}
	return all
}

// fits reports whether a path of the document is one of a route.
func fits(route, path string) bool {
	if route == "/*" {
		return path == "/" // of the files of the page, this is the one to know
	}
	r, p := strings.Split(route, "/"), strings.Split(path, "/")
	if len(r) != len(p) {
		return false
	}
	for i := range r {
		variable := strings.HasPrefix(r[i], ":") || r[i] == "*"
		if r[i] != p[i] && !(variable && strings.Contains(p[i], "{")) {
			return false
		}
	}
	return true
}

// Every route is described, and nothing else is.
func TestEveryRouteIsDescribed(t *testing.T) {
	f := newFixture(t, nil)
	doc := readAPIDoc(t)
	ops := doc.operations()
	e, ok := f.handler.(*echo.Echo)
	if !ok {
		t.Fatalf("the handler is a %T; let this test have its router", f.handler)
	}
	routes := e.Routes()
	for _, r := range routes {
		switch {
		case r.Method == echo.RouteNotFound, r.Method == "PROPFIND", r.Method == "REPORT", r.Method == http.MethodConnect,
			r.Method == http.MethodOptions && !strings.HasPrefix(r.Path, "/ip/headers"): // said in words
			continue
		case r.Path == "/ip/batch" && r.Method != http.MethodPost: // answers 405
			continue
		case r.Path == docsStylePath: // a part of the page
			continue
		}
		if !slices.ContainsFunc(ops, func(o operation) bool { return o.method == r.Method && fits(r.Path, o.path) }) {
			t.Errorf("%s %s is not described: add a file to cmd/tileserver/internal/apidoc/paths", r.Method, r.Path)
		}
	}
	for _, o := range ops {
		if !slices.ContainsFunc(routes, func(r *echo.Route) bool { return r.Method == o.method && fits(r.Path, o.path) }) {
			t.Errorf("%s %s is described, but there is no such route", o.method, o.path)
		}
	}
}

// TestDocumentStructure checks what a schema of OpenAPI would: that every
// reference leads somewhere, ids are unique, and parameters of paths are there.
func TestDocumentStructure(t *testing.T) {
	doc := readAPIDoc(t)
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, e := range v {
				walk(e)
			}
		case map[string]any:
			doc.follow(v)
			for _, e := range v {
				walk(e)
			}
		}
	}
	walk(doc.root)
	seen := map[any]bool{}
	for _, o := range doc.operations() {
		if id := o.members["operationId"]; seen[id] || id == "" {
			t.Errorf("%s %s: operationId %v is not unique", o.method, o.path, id)
		}
		seen[o.members["operationId"]] = true
		for _, p := range o.parameters {
			in := strings.Contains(o.path, "{"+p["name"].(string)+"}")
			if in != (p["in"] == "path") || in && p["required"] != true || p["description"] == "" || p["schema"] == nil {
				t.Errorf("%s %s: parameter %v is not whole", o.method, o.path, p["name"])
			}
		}
		if n := strings.Count(o.path, "{"); n != len(slices.DeleteFunc(slices.Clone(o.parameters), func(p map[string]any) bool { return p["in"] != "path" })) {
			t.Errorf("%s %s: %d parameters in the path are not described", o.method, o.path, n)
		}
		for status, r := range o.members["responses"].(map[string]any) {
			content, _ := doc.follow(r).(map[string]any)["content"].(map[string]any)
			for media, c := range content {
				c := c.(map[string]any)
				if example, ok := c["example"]; ok && c["schema"] != nil {
					raw, err := json.Marshal(example)
					if err != nil {
						t.Fatal(err)
					}
					if media == "application/x-ndjson" {
						raw = nil // a text of several values
					}
					if raw != nil {
						doc.check("example of "+o.path, o.pointer+"/responses/"+status+"/content/"+strings.ReplaceAll(media, "/", "~1")+"/schema", string(raw))
					}
				}
			}
		}
	}
}

// answered holds an answer against what the document says of its status.
func (d *apiDoc) answered(what string, o *operation, res *http.Response) {
	d.t.Helper()
	text := body(d.t, res)
	responses := o.members["responses"].(map[string]any)
	described, ok := d.follow(responses[strconv.Itoa(res.StatusCode)]).(map[string]any)
	if !ok {
		d.t.Errorf("%s: status %d is not described: %s", what, res.StatusCode, text)
		return
	}
	headers, _ := described["headers"].(map[string]any)
	for name, h := range headers {
		h := d.follow(h).(map[string]any)
		value, sent := "", len(res.Header.Values(name)) > 0
		if sent {
			value = res.Header.Values(name)[0]
		}
		if !sent && h["required"] == true {
			d.t.Errorf("%s: %d has no header %s", what, res.StatusCode, name)
		}
		if pattern, ok := h["schema"].(map[string]any)["pattern"].(string); ok && sent && !strings.Contains(value, pattern) {
			d.t.Errorf("%s: %s is %q", what, name, value)
		}
	}
	isDescribed := func(name string) bool {
		for known := range headers {
			if strings.EqualFold(known, name) {
				return true
			}
		}
		return false
	}
	for name := range res.Header {
		switch name {
		case "Content-Type", "Content-Length", "Content-Encoding", "Date", "X-Content-Type-Options", "Referrer-Policy", "Cross-Origin-Opener-Policy":
		default:
			if !isDescribed(name) {
				d.t.Errorf("%s: header %s of %d is not described", what, name, res.StatusCode)
			}
		}
	}
	content, _ := described["content"].(map[string]any)
	if o.method == http.MethodHead || content == nil {
		if text != "" {
			d.t.Errorf("%s: there is a body, which is not described: %s", what, text)
		}
		return
	}
	media, _, _ := strings.Cut(res.Header.Get("Content-Type"), ";")
	c, ok := content[media].(map[string]any)
	if !ok {
		d.t.Errorf("%s: type %q of %d is not described", what, media, res.StatusCode)
		return
	}
	if c["schema"] == nil {
		return
	}
	// The pointer leads through references to responses, which a pointer of
	// the compiler does not: take that of the schema itself.
	pointer, _ := c["schema"].(map[string]any)["$ref"].(string)
	if pointer = strings.TrimPrefix(pointer, "#"); pointer == "" {
		d.t.Errorf("%s: the schema of %s has no name", what, media)
		return
	}
	lines := []string{text}
	if media == "application/x-ndjson" {
		lines = strings.Split(strings.TrimSpace(text), "\n")
	}
	for _, line := range lines {
		d.check(what, pointer, line)
	}
}

// contractWorlds are services that between them have everything.
type contractWorlds struct {
	tiles, globe, airfield, stations, addresses *fixture
}

func newContractWorlds(t *testing.T) *contractWorlds {
	return &contractWorlds{
		tiles: &newWorld(t).fixture, globe: newGlobe(t, nil).fixture, airfield: newAirfield(t),
		stations: stationWorld(t, StationsDataset, WeatherDataset), addresses: newAddresses(t, nil),
	}
}

func (w *contractWorlds) of(path string) *fixture {
	for _, c := range []struct {
		prefix  string
		fixture *fixture
	}{
		{"/tiles/", w.tiles}, {"/g/", w.tiles}, {"/style", w.tiles}, {"/regions/", w.tiles}, {"/airports/", w.airfield},
		{"/stations/", w.stations}, {"/weather/", w.stations}, {"/ip/", w.addresses}, {"/geoip/", w.addresses}, {"/places/nearby", w.tiles},
	} {
		if strings.HasPrefix(path, c.prefix) {
			return c.fixture
		}
	}
	return w.globe
}

// pin puts the generations a server has into the address of a pinned tile.
func (f *fixture) pin(call string) string {
	if !strings.HasPrefix(call, "{pinned}") {
		return call
	}
	var doc struct{ Tiles []string }
	if err := json.NewDecoder(f.get("/tiles/all.json?pinned=true").Body).Decode(&doc); err != nil || len(doc.Tiles) == 0 {
		f.t.Fatalf("no pinned address: %v, %v", doc.Tiles, err)
	}
	_, rest, _ := strings.Cut(doc.Tiles[0], "/g/")
	generations, _, _ := strings.Cut(rest, "/")
	return strings.Replace(call, "{pinned}", "/g/"+generations, 1)
}

// contractCalls are requests by the path they are for: those that the tests'
// worlds have a good answer to, and then such as go wrong. Every path has one.
var contractCalls = map[string][]string{
	"/tiles/{layers}/{z}/{x}/{y}.{format}": {"/tiles/all/5/16/11.mvt", "/tiles/country/5/16/11.pbf", "/tiles/all/5/16/11.geojson", "/tiles/all/5/16/11.png", "/tiles/country/5/0/0.mvt",
		"/tiles/planet/1/0/0.mvt", "/tiles/country:zz/1/0/0.mvt", "/tiles/country/1/9/0.mvt", "/tiles/country/1/0/0.gif", "/tiles/country/a/0/0.mvt"},
	"/tiles/{layers}/{z}/{x}/{y}@2x.png": {"/tiles/country/5/16/11@2x.png", "/tiles/country/23/0/0@2x.png"},
	"/g/{generations}/tiles/{layers}/{z}/{x}/{y}.{format}": {"{pinned}/tiles/all/5/16/11.mvt", "{pinned}/tiles/country/5/16/11.geojson", "{pinned}/tiles/country/5/0/0.mvt",
		"/g/9.9.9-00000000/tiles/all/5/16/11.mvt", "/g/x/tiles/all/5/16/11.mvt", "{pinned}/tiles/planet/1/0/0.mvt"},
	"/tiles/{layers}.json":        {"/tiles/all.json", "/tiles/all.json?pinned=true", "/tiles/places.json", "/tiles/planet.json"},
	"/style.json":                 {"/style.json", "/style.json?layers=country,places&theme=dark", "/style.json?layers=planet", "/style.json?layers=", "/style.json?theme=red"},
	"/at":                         {"/at?lat=47.4&lon=8.5&at=2026-01-15T11:30:00Z", "/at?lat=47.4&lon=8.5", "/at?lat=0&lon=-140&lang=fr", "/at?lat=47.4&lon=8.5&types=planet"},
	"/regions/at":                 {"/regions/at?lat=48&lon=6", "/regions/at?lat=48&lon=6&snap=50000", "/regions/at?lat=10&lon=-30&snap=10"},
	"/regions/within":             {"/regions/within?bbox=4,46,6,50", "/regions/within?bbox=4,46,6,50&limit=1", "/regions/within?bbox=4,46,9,50&types=country&id=el", "/regions/within?bbox=4,46,9,50&types=country&id=zz"},
	"/regions/{type}/{id}":        {"/regions/country/el", "/regions/country/el?geometry=true", "/regions/country/zz", "/regions/planet/zz"},
	"/places/nearby":              {"/places/nearby?lat=48&lon=6&limit=2", "/places/nearby?lat=48&lon=6&format=geojson", "/places/nearby?lat=48&lon=6&cursor=AAAA"},
	"/places/within":              {"/places/within?bbox=5,45,11,48.5&limit=2", "/places/within?tile=4/8/5", "/places/within?tile=4/8/5&format=geojson", "/places/within"},
	"/places/search":              {"/places/search?q=zur", "/places/search?q=zur&limit=1&lat=1&lon=2&lang=fr", "/places/search?q=pdx", "/places/search?q=kpdx&format=geojson", "/places/search?q=zur&lat=1"},
	"/places/{id}":                {"/places/2657896", "/places/2661552", "/places/1", "/places/x"},
	"/places/{id}/offset":         {"/places/2657896/offset?at=2026-07-01T12:00:00Z", "/places/2657896/offset", "/places/1/offset"},
	"/airports/{code}":            {"/airports/WLD", "/airports/WLD?local=true", "/airports/ZZZZ", "/airports/a_b"},
	"/airports/{code}/offset":     {"/airports/WLD/offset", "/airports/WLD/offset?at=2026-07-01T12:00:00Z", "/airports/ZZZZ/offset"},
	"/airports/nearby":            {"/airports/nearby?lat=48&lon=6&limit=2", "/airports/nearby?lat=48&lon=6&closed=true&format=geojson", "/airports/nearby?lat=48&lon=6&cursor=AAAA"},
	"/airports/within":            {"/airports/within?bbox=4,46,9,50&limit=2", "/airports/within?bbox=4,46,9,50&format=geojson"},
	"/stations/nearest":           {"/stations/nearest?lat=47&lon=8", "/stations/nearest?lat=47&lon=8&format=geojson"},
	"/stations/nearby":            {"/stations/nearby?lat=47&lon=8", "/stations/nearby?lat=47&lon=8&format=geojson&at=1980-01-01&country=CH"},
	"/stations/within":            {"/stations/within?bbox=7,46,9,48&limit=1", "/stations/within?bbox=7,46,9,48&format=geojson", "/stations/within?bbox=7,46,9,48&cursor=x"},
	"/stations/{id}":              {"/stations/066600-99999", "/stations/A00001-00001", "/stations/000000-00000", "/stations/x"},
	"/stations/{id}/tiles":        {"/stations/066600-99999/tiles", "/stations/000000-00000/tiles"},
	"/stations/{id}/observations": {"/stations/066600-99999/observations?limit=2", "/stations/000000-00000/observations", "/stations/066600-99999/observations?from=2"},
	"/weather/{z}/{x}/{y}.json":   {"/weather/4/8/5.json?at=2024-01-01T06:00:00Z", "/weather/0/0/0.json", "/weather/9/0/0.json", "/weather/1/0/0.xml"},
	"/ip/{addr}":                  {"/ip/" + cityIP, "/ip/" + insightIP, "/ip/" + countryIP, "/ip/" + cityIP + "?fields=city&lang=de", "/ip/10.0.0.1", "/ip/" + gapIP, "/ip/x"},
	"/ip/me":                      {"/ip/me | X-Forwarded-For: " + cityIP, "/ip/me | X-Forwarded-For: 10.1.1.1", "/ip/me?lang=_"},
	"/ip/batch":                   {"/ip/batch | Body: " + cityIP + "\n10.0.0.1\nx\n" + countryIP, "/ip/batch?lang=_ | Body: x", "/ip/batch | Body: x | Content-Encoding: br", "/ip/batch | Body: x | Content-Type: multipart/form-data; boundary=x"},
	"/ip/headers":                 {"/ip/headers", "/ip/headers | X-Forwarded-For: " + cityIP},
	"/ip/headers/{path}":          {"/ip/headers/shop/cart"},
	"/geoip/v2.1/country/{addr}":  {"/geoip/v2.1/country/" + cityIP, "/geoip/v2.1/country/x", "/geoip/v2.1/country/" + gapIP, "/geoip/v2.1/country/" + cityIP + " | Accept: text/html"},
	"/geoip/v2.1/country":         {"/geoip/v2.1/country"},
	"/geoip/v2.1/country/":        {"/geoip/v2.1/country/"},
	"/geoip/v2.1/city/{addr}":     {"/geoip/v2.1/city/" + cityIP, "/geoip/v2.1/city/" + insightIP, "/geoip/v2.1/city/10.0.0.1", "/geoip/v2.1/city/" + cityIP + " | Accept-Charset: latin1"},
	"/geoip/v2.1/city":            {"/geoip/v2.1/city"},
	"/geoip/v2.1/city/":           {"/geoip/v2.1/city/"},
	"/geoip/v2.1/insights/{addr}": {"/geoip/v2.1/insights/" + cityIP},
	"/geoip/v2.1/insights":        {"/geoip/v2.1/insights"},
	"/geoip/v2.1/insights/":       {"/geoip/v2.1/insights/"},
	"/search":                     {"/search?q=zur&type=json", "/search?q=zur&callback=cb"},
	"/searchJSON":                 {"/searchJSON?q=zur&style=FULL", "/searchJSON?country=CH&maxRows=1", "/searchJSON"},
	"/findNearby":                 {"/findNearby?lat=47.45&lng=8.55&type=json"},
	"/findNearbyJSON":             {"/findNearbyJSON?lat=47.45&lng=8.55&maxRows=3&style=FULL", "/findNearbyJSON?lat=0&lng=0&radius=1", "/findNearbyJSON"},
	"/findNearbyPlaceName":        {"/findNearbyPlaceName?lat=47.59&lng=7.9&maxRows=1&callback=cb"},
	"/findNearbyPlaceNameJSON":    {"/findNearbyPlaceNameJSON?lat=47.59&lng=7.9&localCountry=true&style=FULL", "/findNearbyPlaceNameJSON?lat=0&lng=0&radius=301"},
	"/get":                        {"/get?geonameId=2657896&type=json"},
	"/getJSON":                    {"/getJSON?geonameId=2657896", "/getJSON?geonameId=7280291", "/getJSON?geonameId=1"},
	"/timezone":                   {"/timezone?lat=47.01&lng=10.2&type=json"},
	"/timezoneJSON":               {"/timezoneJSON?lat=47.01&lng=10.2&date=2026-01-01", "/timezoneJSON?lat=-90&lng=0", "/timezoneJSON?lat=1&lng=1&date=x"},
	"/countryCode":                {"/countryCode?lat=47.03&lng=10.2", "/countryCode?lat=0&lng=-140", "/countryCode?lat=47.03&lng=10.2&type=json"},
	"/countryCodeJSON":            {"/countryCodeJSON?lat=45.7&lng=7&radius=20&lang=de", "/countryCodeJSON?lat=0&lng=-140"},
	"/countrySubdivision":         {"/countrySubdivision?lat=47.36&lng=8.55&type=json"},
	"/countrySubdivisionJSON":     {"/countrySubdivisionJSON?lat=47.36&lng=8.55&level=5", "/countrySubdivisionJSON?lat=-12.1&lng=-77", "/countrySubdivisionJSON?lat=0&lng=-140"},
	"/healthz":                    {"/healthz"},
	"/readyz":                     {"/readyz"},
	"/status":                     {"/status"},
	"/":                           {"/"},
	openAPIPath:                   {openAPIPath},
	docsPath:                      {docsPath},
}

// Every path answers as it is described: status, type, headers, and a body in
// which nothing is missing and nothing is unknown; so do errors, and answers to
// HEAD and to those who have the answer already.
func TestAnswersAreAsDescribed(t *testing.T) {
	doc := readAPIDoc(t)
	worlds := newContractWorlds(t)
	for _, o := range doc.operations() {
		calls := contractCalls[o.path]
		if len(calls) == 0 {
			t.Errorf("%s is never called: add requests to contractCalls", o.path)
		}
		f := worlds.of(o.path)
		for i, call := range calls {
			call = f.pin(call)
			parts := strings.Split(call, " | ")
			var headers []string
			var sent io.Reader
			for _, h := range parts[1:] {
				name, value, _ := strings.Cut(h, ": ")
				if name == "Body" {
					sent = strings.NewReader(value)
					continue
				}
				headers = append(headers, name, value)
			}
			what := o.method + " " + call
			var res *http.Response
			if sent != nil {
				res = f.postTo(parts[0], sent, headers...)
			} else {
				res = f.do(o.method, parts[0], headers...)
			}
			if first := res.StatusCode; i == 0 && first != http.StatusOK && !strings.Contains(o.path, "geoip") {
				t.Errorf("%s: %d, want a good answer first", what, first)
			}
			tag := res.Header.Get("Etag")
			doc.answered(what, &o, res)
			if tag != "" && sent == nil {
				again := f.do(o.method, parts[0], append(headers, "If-None-Match", tag)...)
				if again.StatusCode != http.StatusNotModified {
					t.Errorf("%s: %d to one who has the answer", what, again.StatusCode)
				}
				doc.answered(what+" again", &o, again)
			}
		}
	}
	// A server with no data.
	nothing := newFixture(t, nil)
	for _, o := range doc.operations() {
		if o.method == http.MethodGet {
			call, _, _ := strings.Cut(contractCalls[o.path][0], " | ")
			call = strings.ReplaceAll(call, "{pinned}", "/g/1.0.0-00000000")
			doc.answered("GET "+call+" of an empty server", &o, nothing.get(call))
		}
	}
}

// The bounds that are described are those that are enforced: what lies beyond
// one is refused by the name of its parameter, and what lies on it is not.
func TestBoundsAreAsDescribed(t *testing.T) {
	doc := readAPIDoc(t)
	worlds := newContractWorlds(t)
	checked := 0
	for _, o := range doc.operations() {
		if o.method == http.MethodHead || doc.refusal(&o) == "" {
			continue
		}
		f := worlds.of(o.path)
		base, _, _ := strings.Cut(f.pin(contractCalls[o.path][0]), " | ")
		for _, p := range o.parameters {
			if p["in"] != "query" {
				continue
			}
			name := p["name"].(string)
			good, bad := atBounds(p["schema"].(map[string]any), p["explode"] == false)
			for _, value := range append(bad, "a\x01b") {
				res := f.send(o.method, withQuery(base, name, &value))
				checked++
				if got := wantProblem(t, res, http.StatusBadRequest, "bad-parameter"); got.Parameter != name && got.Parameter != "lat" && got.Parameter != "tile" {
					t.Errorf("%s of %s=%q: parameter %q: %s", o.path, name, value, got.Parameter, got.Detail)
				}
			}
			for _, value := range good {
				res := f.send(o.method, withQuery(base, name, &value))
				checked++
				if text := body(t, res); res.StatusCode == http.StatusBadRequest && !strings.Contains(text, "Add l") && !strings.Contains(text, "either") {
					t.Errorf("%s of %s=%q: %s", o.path, name, value, text)
				}
			}
			if p["required"] == true {
				if got := wantProblem(t, f.send(o.method, withQuery(base, name, nil)), http.StatusBadRequest, "bad-parameter"); got.Parameter != name {
					t.Errorf("%s without %s: parameter %q", o.path, name, got.Parameter)
				}
			}
		}
	}
	if checked < 200 {
		t.Errorf("only %d values were tried", checked)
	}
}

// refusal is the pointer to what a path says of parameters that are not valid,
// "" where it ignores them.
func (d *apiDoc) refusal(o *operation) string {
	r, _ := o.members["responses"].(map[string]any)["400"].(map[string]any)
	s, _ := r["$ref"].(string)
	if !strings.Contains(s, "bad-parameter") {
		return ""
	}
	return s
}

// send is do, with an empty body where one is read.
func (f *fixture) send(method, path string) *http.Response {
	if method == http.MethodPost {
		return f.postTo(path, strings.NewReader(""))
	}
	return f.do(method, path)
}

func (f *fixture) postTo(path string, sent io.Reader, headers ...string) *http.Response {
	r := httptest.NewRequest(http.MethodPost, path, sent)
	r.RemoteAddr = "198.51.100.7:4000"
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	f.handler.ServeHTTP(w, r)
	return w.Result()
}

// withQuery is a request with another value of a parameter, or without it.
func withQuery(request, name string, value *string) string {
	path, query, _ := strings.Cut(request, "?")
	q, _ := url.ParseQuery(query)
	q.Del(name)
	if value != nil {
		q.Set(name, *value)
	}
	return path + "?" + q.Encode()
}

// atBounds are values of a schema that are just allowed, and such as just are
// not.
func atBounds(schema map[string]any, list bool) (good, bad []string) {
	number := func(v any) (float64, bool) {
		n, ok := v.(json.Number)
		f, err := n.Float64()
		return f, ok && err == nil
	}
	text := func(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }
	if list {
		items := schema["items"].(map[string]any)
		bad = append(bad, "")
		if _, boxed := number(schema["minItems"]); boxed && items["type"] == "number" {
			return good, append(bad, "1,2,3", "1,2,3,4,5", "1,2,3,x", "1,91,2,92")
		}
		_, no := atBounds(items, false)
		if most, ok := number(schema["maxItems"]); ok {
			bad = append(bad, strings.Repeat("x,", int(most))+"x")
		}
		return good, append(bad, slices.DeleteFunc(no, func(s string) bool { return s == "" })...)
	}
	for _, word := range sliceOf(schema["enum"]) {
		good = append(good, word.(string))
	}
	if len(good) > 0 {
		bad = append(bad, "nonsense")
	}
	if low, ok := number(schema["minimum"]); ok {
		good, bad = append(good, text(low)), append(bad, text(low-1), "x", "0x1", "")
	}
	if high, ok := number(schema["maximum"]); ok {
		good, bad = append(good, text(high)), append(bad, text(high+max(1, high/1e6)))
	}
	if schema["type"] == "integer" {
		bad = append(bad, "1.5")
	}
	if most, ok := number(schema["maxLength"]); ok {
		bad = append(bad, strings.Repeat("x", int(most)+1))
	}
	if schema["pattern"] != nil {
		bad = append(bad, "_!_", "")
	}
	if least, ok := number(schema["minLength"]); ok && least > 0 {
		bad = append(bad, "")
	}
	return good, bad
}

func sliceOf(v any) []any { list, _ := v.([]any); return list }

// The page holds every operation and schema, and nothing that could run.
func TestDocsPage(t *testing.T) {
	f := newFixture(t, func(cfg *Config) { cfg.Version = `<script>"&`; cfg.PublicURL = "https://maps.example.org/q" })
	res := f.get(docsPath)
	page := body(t, res)
	if res.StatusCode != 200 || !strings.HasPrefix(res.Header.Get("Content-Type"), "text/html") || !strings.Contains(res.Header.Get("Content-Security-Policy"), "default-src 'none'") {
		t.Errorf("%d %v", res.StatusCode, res.Header)
	}
	for _, o := range readAPIDoc(t).operations() {
		if o.method != http.MethodHead && !strings.Contains(page, ">"+o.path+"<") {
			t.Errorf("%s is not on the page", o.path)
		}
	}
	for _, no := range []string{"<script", "ZgotmplZ", "style=", "curl http://127.0.0.1", "curl 'http://127.0.0.1", "curl &#39;http://127.0.0.1", "javascript:"} {
		if strings.Contains(page, no) {
			t.Errorf("the page has %q", no)
		}
	}
	if !strings.Contains(page, "https://maps.example.org/q/places/nearby?") {
		t.Error("examples do not use the public address")
	}
	if css := f.get(docsStylePath); css.StatusCode != 200 || !bytes.Contains([]byte(body(t, css)), []byte("--ink")) {
		t.Errorf("style: %d", css.StatusCode)
	}
	if !strings.Contains(body(t, f.get(openAPIPath)), `"servers":[{"url":"https://maps.example.org/q"}]`) {
		t.Error("the document does not have the public address")
	}
}
