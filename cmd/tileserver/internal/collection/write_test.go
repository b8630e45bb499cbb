package collection

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"quadrille/ask"
	"quadrille/cellstore"
	"quadrille/cellstore/pebblestore"
	"quadrille/cmd/tileserver/internal/layers"
	"quadrille/cmd/tileserver/internal/listing"
	"quadrille/cmd/tileserver/internal/problems"
	"quadrille/cmd/tileserver/internal/quota"
	"quadrille/cmd/tileserver/internal/web"
	"quadrille/feature"
	"quadrille/places/live"
	"quadrille/places/points"
)

// These are the keys of the tests. Their scopes are: write all collections, write shops, read
// shops, and none.
const (
	rootKey   = "root-key"
	shopsKey  = "shops-key"
	readerKey = "reader-key"
	plainKey  = "plain-key"
)

// service serves the endpoints of collections with a live store.
type service struct {
	t        testing.TB
	store    cellstore.Store
	live     *live.Store
	handlers *Handlers
	handler  http.Handler
}

// newService serves the live collections of a directory. change may change the configuration.
func newService(t testing.TB, change func(*web.Config, *ask.Sets, *Config)) *service {
	t.Helper()
	return newServiceOn(t, t.TempDir(), nil, change)
}

func newServiceOn(t testing.TB, dir string, opts *pebblestore.Options, change func(*web.Config, *ask.Sets, *Config)) *service {
	t.Helper()
	store, err := pebblestore.Open(dir, opts)
	if err != nil {
		t.Fatal(err)
	}
	live, err := live.Open(t.Context(), store, points.LiveKind)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := live.Close(); err != nil {
			t.Error(err)
		}
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	all := quota.Scope{Write: true, Collection: quota.AnyCollection}
	shops := quota.Scope{Write: true, Collection: "shops"}
	file := strings.Join([]string{
		quota.FormatLine("root", quota.HashOf(rootKey), nil, all), quota.FormatLine("shops", quota.HashOf(shopsKey), nil, shops),
		quota.FormatLine("reader", quota.HashOf(readerKey), nil, quota.Scope{Collection: "shops"}),
		quota.FormatLine("plain", quota.HashOf(plainKey), nil),
	}, "\n")
	keys, err := quota.ReadKeys(strings.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	meter, err := quota.Open(t.Context(), quota.Options{})
	if err != nil {
		t.Fatal(err)
	}
	cfg := web.Config{
		Guard: &web.Guard{Meter: meter, Keys: func() *quota.Keys { return keys }, Anonymous: true},
		Kinds: slices.Concat(problems.Kinds, Kinds, problems.LayerProblems, problems.PointProblems, problems.RegionProblems),
	}
	sets := ask.Sets{Collections: &ask.Collections{Live: live}}
	face := Config{
		Batch: web.BatchLimits{Lines: 100_000, Bytes: 64 << 20, Timeout: 60e9},
	}
	if change != nil {
		change(&cfg, &sets, &face)
	}
	cfg.Views = ask.NewViews(sets)
	k := web.New(&cfg)
	face.MayRead = k.MayReadCollection
	s := &service{t: t, store: store, live: live, handlers: New(k, face)}
	lists := layers.New(k, layers.Config{
		Lists: []listing.Spec{List}, MayRead: face.MayRead,
	})
	s.handler = k.Handler(slices.Concat(s.handlers.Endpoints(), lists.Endpoints()))
	return s
}

// send sends a request as the owner of a key. headers are pairs of name and value.
func (s *service) send(key, method, target, body string, headers ...string) *httptest.ResponseRecorder {
	s.t.Helper()
	r := httptest.NewRequestWithContext(context.Background(), method, target, strings.NewReader(body))
	if key != "" {
		r.Header.Set("X-Api-Key", key)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, r)
	return w
}

// want checks the status and type of an answer; "" means any type.
func (s *service) want(w *httptest.ResponseRecorder, status int, typ string) {
	s.t.Helper()
	var p struct{ Type, Detail string }
	_ = json.Unmarshal(w.Body.Bytes(), &p) // a body that is no problem has no type
	if w.Code != status || typ != "" && p.Type != typ {
		s.t.Errorf("%d %s, want %d %s", w.Code, w.Body, status, typ)
	}
	if typ != "" && (p.Detail == "" || !strings.HasSuffix(p.Detail, ".")) {
		s.t.Errorf("the detail %q is no sentence", p.Detail)
	}
}

// make creates a collection and returns it.
func (s *service) make(name, description string) *live.Collection {
	s.t.Helper()
	s.want(s.send(rootKey, "PUT", "/points/"+name, description), 201, "")
	return s.live.Collection(name)
}

func pointFeature(id string, lon, lat float64, properties string) string {
	return fmt.Sprintf(`{"type":"Feature","id":%q,"geometry":{"type":"Point","coordinates":[%v,%v]},"properties":%s}`, id, lon,
		lat, properties)
}

// Every write needs a key with the scope. Nothing else permits it.
func TestWritesNeedAScope(t *testing.T) {
	s := newService(t, nil)
	s.make("shops", "")
	s.make("taxis", "")
	one := pointFeature("a", 1, 2, "{}")
	for _, tt := range []struct{ method, path, body string }{
		{"PUT", "/points/shops", ""}, {"DELETE", "/points/shops", ""}, {"POST", "/points/shops", one},
		{"PUT", "/points/shops/a", one}, {"PATCH", "/points/shops/a", `{"properties":{}}`}, {"DELETE", "/points/shops/a", ""},
	} {
		w := s.send("", tt.method, tt.path, tt.body)
		s.want(w, 401, "key-missing")
		if w.Header().Get("Www-Authenticate") == "" {
			t.Errorf("%s %s: 401 without WWW-Authenticate", tt.method, tt.path)
		}
		s.want(s.send("wrong", tt.method, tt.path, tt.body), 401, "key-unknown")
		s.want(s.send(plainKey, tt.method, tt.path, tt.body), 403, "scope-missing")
		s.want(s.send(readerKey, tt.method, tt.path, tt.body), 403, "scope-missing")
		s.want(s.send("", tt.method, tt.path, tt.body, "X-Forwarded-User", "root", "X-Scope", "write:*", "Client", rootKey, "Key",
			rootKey), 401, "key-missing")
		taxis := strings.Replace(tt.path, "shops", "taxis", 1)
		s.want(s.send(shopsKey, tt.method, taxis, tt.body), 403, "scope-missing")
	}
	s.want(s.send("", "PUT", "/points/shops/a?key="+shopsKey, one), 201, "")
	s.want(s.send("", "PUT", "/points/shops/a", one, "Authorization", "Bearer "+shopsKey), 200, "")
	s.want(s.send(shopsKey, "DELETE", "/points/shops", ""), 204, "")
}

func TestWritesWithoutKeysOrLive(t *testing.T) {
	s := newService(t, func(c *web.Config, _ *ask.Sets, _ *Config) { c.Guard = nil })
	w := s.send("", "PUT", "/points/shops", "")
	s.want(w, 403, "scope-missing")
	if !strings.Contains(w.Body.String(), "tileserver keys new NAME --keys FILE --scope write:shops") {
		t.Errorf("the refusal does not say how to make a key: %s", w.Body)
	}
	s = newService(t, func(_ *web.Config, s *ask.Sets, _ *Config) { s.Collections = nil })
	for _, method := range []string{"PUT", "POST", "DELETE"} {
		w = s.send(rootKey, method, "/points/shops", "")
		s.want(w, 405, "read-only")
		if w.Header().Get("Allow") != readMethods || !strings.Contains(w.Body.String(), "--live DIR") {
			t.Errorf("%s: Allow %q, %s", method, w.Header().Get("Allow"), w.Body)
		}
	}
	s.want(s.send(rootKey, "PUT", "/points/shops/a", pointFeature("a", 1, 2, "{}")), 405, "read-only")
}

func TestCollections(t *testing.T) {
	s := newService(t, nil)
	const description = `{"title":"Shops","licence":"CC0","private":true,"history":"720h","schema":{"price":"number","open":"boolean"}}`
	l := s.make("shops", description)
	m := l.Meta()
	if m.Title != "Shops" || !m.Private || time.Duration(m.HistoryRetention) != 720*time.Hour ||
		m.EventRetention != live.DefaultEventRetention ||
		len(l.DeclaredTypes()) != 2 {
		t.Errorf("made as %+v", m)
	}
	s.want(s.send(rootKey, "PUT", "/points/shops/x", pointFeature("x", 1, 2, `{"learned":1,"price":"2.5"}`)), 201, "")
	s.want(s.send(rootKey, "PUT", "/points/shops", description), 200, "")
	s.want(s.send(rootKey, "PUT", "/points/shops", `{"title":"Shops"}`), 409, "collection-exists")
	s.live.SetMaxCollections(1)
	s.want(s.send(rootKey, "PUT", "/points/shops", description), 200, "")
	s.want(s.send(rootKey, "PUT", "/points/more", ""), 409, "too-many-collections")
	s.live.SetMaxCollections(0)
	s.want(s.send(rootKey, "PUT", "/points/Shops", ""), 400, "bad-name")
	for _, own := range []string{"count", "events", "hooks", "nearby", "within"} {
		s.want(s.send(rootKey, "PUT", "/points/shops/"+own, pointFeature(own, 1, 2, "{}")), 405, "read-only")
		s.want(s.send(rootKey, "DELETE", "/points/shops/"+own, ""), 405, "read-only")
		s.want(s.send(rootKey, "PUT", "/points/shops/a/"+own, pointFeature("a", 1, 2, "{}")), 404, "not-found")
		encoded := fmt.Sprintf("%%%x%s", own[0], own[1:])
		s.want(s.send(rootKey, "PUT", "/points/shops/"+encoded, pointFeature(own, 1, 2, "{}")), 201, "")
	}
	s.want(s.send(rootKey, "PUT", "/points/"+strings.Repeat("a", 41), ""), 400, "bad-name")
	s.want(s.send(rootKey, "POST", "/points/other", pointFeature("x", 1, 2, "{}")), 404, "collection-not-found")
	for body, typ := range map[string]string{
		"[]": "bad-description", `{"titel":"x"}`: "bad-description", `{"history":5}`: "bad-description", `{"history":"long"}`: "bad-description",
		"{}{}":                                 "bad-description",
		"{}}":                                  "bad-description",
		"{} x":                                 "bad-description",
		`{"title":"a","title":"b"}`:            "bad-description",
		`{"Title":"a"}`:                        "bad-description",
		`{"schema":{"a":"text","a":"number"}}`: "bad-description",
		`{"schema":{"a":"text"}]}`:             "bad-description",
		"null":                                 "bad-description",
		"{\"title\":\"\xff\"}":                 "bad-description",
		`{"history":"-1h"}`:                    "bad-description",
		`{"history":"90000h"}`:                 "bad-description",
		`{"schema":{"a":"integer"}}`:           "bad-properties",
		`{"schema":{"":"text"}}`:               "bad-properties",
		`{"title":"` + strings.Repeat("x", 2000) + `"}`: "bad-description",
	} {
		s.want(s.send(rootKey, "PUT", "/points/bad", body), 400, typ)
	}
	s.want(s.send(rootKey, "PUT", "/points/bad", strings.Repeat(" ", maxBody+1)), 413, "body-too-large")
	s.want(s.send(rootKey, "DELETE", "/points/shops", ""), 204, "")
	s.want(s.send(rootKey, "DELETE", "/points/shops", ""), 404, "collection-not-found")
}

func TestPoints(t *testing.T) {
	s := newService(t, nil)
	l := s.make("shops", "")
	w := s.send(shopsKey, "PUT", "/points/shops/a%2Fb%20c", pointFeature("a/b c", 2.35, 48.85, `{"name":"x","n":1}`))
	s.want(w, 201, "")
	tag := w.Header().Get("Etag")
	var got struct {
		ID      string
		Version int64
	}
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || got.ID != "a/b c" || tag != web.VersionTag(got.Version) ||
		w.Header().Get("Cache-Control") != "private, no-store" {
		t.Errorf("%s, ETag %s, %v", w.Body, tag, w.Header())
	}
	const path = "/points/shops/a%2Fb%20c"
	s.want(s.send(shopsKey, "PUT", path, pointFeature("a/b c", 2, 48, "{}"), "If-None-Match", "*"), 412, "point-exists")
	s.want(s.send(shopsKey, "PUT", path, pointFeature("a/b c", 2, 48, "{}"), "If-Match", `"v1"`), 412, "point-changed")
	s.want(s.send(shopsKey, "PUT", path, pointFeature("a/b c", 2, 48, "{}"), "If-Match", `W/`+tag), 412, "point-changed")
	s.want(s.send(shopsKey, "PUT", path, pointFeature("a/b c", 2, 48, "{}"), "If-Match", `"v1", "v2"`), 412, "point-changed")
	s.want(s.send(shopsKey, "PUT", path, pointFeature("a/b c", 2, 48, "{}"), "If-None-Match", tag), 400, "bad-parameter")
	w = s.send(shopsKey, "PATCH", path,
		`{"properties":{"n":null,"m":[1]},"geometry":{"coordinates":[-3,4.5,100],"type":"Point"}}`, "If-Match", tag)
	s.want(w, 200, "")
	var h feature.Feature
	if err := l.Get(t.Context(), "a/b c", time.Time{}, &h); err != nil || h.Lat != 4.5 || h.Lon != -3 ||
		propertiesOf(&h) != `{"name":"x","m":[1]}` || w.Header().Get("Etag") != web.VersionTag(h.Version) {
		t.Errorf("%+v, %s, %v", h, propertiesOf(&h), err)
	}
	s.want(s.send(shopsKey, "PATCH", path, `{"ttl":3600}`), 200, "")
	if err := l.Get(t.Context(), "a/b c", time.Time{}, &h); err != nil || h.Expires.IsZero() || h.Lat != 4.5 {
		t.Errorf("%+v, %v", h, err)
	}
	s.want(s.send(shopsKey, "PATCH", path+"?expires=2090-01-02T03:04:05Z", `{}`), 200, "")
	if err := l.Get(t.Context(), "a/b c", time.Time{}, &h); err != nil || h.Expires.Year() != 2090 {
		t.Errorf("%+v, %v", h, err)
	}
	s.want(s.send(shopsKey, "PATCH", path, `{"expires":null}`), 200, "")
	if err := l.Get(t.Context(), "a/b c", time.Time{}, &h); err != nil || !h.Expires.IsZero() {
		t.Errorf("%+v, %v", h, err)
	}
	s.want(s.send(shopsKey, "DELETE", path, "", "If-Match", tag), 412, "point-changed")
	s.want(s.send(shopsKey, "DELETE", path, "", "If-Match", web.VersionTag(h.Version)), 204, "")
	s.want(s.send(shopsKey, "DELETE", path, ""), 404, "point-not-found")
	s.want(s.send(shopsKey, "PATCH", path, `{"properties":{}}`), 404, "point-not-found")
	s.want(s.send(shopsKey, "PUT", "/points/shops/a/b", pointFeature("a", 1, 2, "{}")), 404, "not-found")
	s.want(s.send(shopsKey, "PUT", "/points/shops/x?ttl=60", pointFeature("x", 1, 2, "{}")), 201, "")
	s.want(s.send(shopsKey, "PUT", "/points/shops/12",
		`{"type":"Feature","id":12,"geometry":{"type":"Point","coordinates":[1,2]}}`, "Content-Type", "application/geo+json"), 201, "")
	w = s.send("", "OPTIONS", "/points/shops/12", "")
	if w.Code != 204 || w.Header().Get("Access-Control-Allow-Methods") != "GET, HEAD, PUT, PATCH, DELETE, OPTIONS" {
		t.Errorf("preflight: %d %v", w.Code, w.Header())
	}
}

// Bodies that cannot be stored are refused, and the refusal gives the reason.
func TestHostilePoints(t *testing.T) {
	s := newService(t, nil)
	s.make("shops", `{"schema":{"price":"number"}}`)
	point := func(coordinates string) string {
		return `{"type":"Feature","geometry":{"type":"Point","coordinates":` + coordinates + `},"properties":null}`
	}
	many := `{"a":1`
	for i := range 10_000 {
		many += fmt.Sprintf(`,"p%d":%d`, i, i)
	}
	with := func(member string) string {
		return `{"type":"Feature","geometry":{"type":"Point","coordinates":[1,2]},` + member + `}`
	}
	for _, tt := range []struct{ name, body, typ, says string }{
		{"nothing", "", "bad-point", "an object"},
		{"no object", "[]", "bad-point", "an object"},
		{"cut off", `{"type":"Feature","geometry":{"type":"Poi`, "bad-point", ""},
		{"text after it", point("[1,2]") + "x", "bad-point", "the end"},
		{"no Feature", `{"type":"Point","coordinates":[1,2]}`, "bad-point", "Feature"},
		{"a collection", `{"type":"FeatureCollection","features":[]}`, "bad-point", "line of its own"},
		{"no geometry", `{"type":"Feature","properties":{}}`, "bad-point", "geometry"},
		{"null geometry", `{"type":"Feature","geometry":null}`, "bad-point", "Point"},
		{"a line", `{"type":"Feature","geometry":{"type":"LineString","coordinates":[[1,2],[3,4]]}}`, "bad-point", "Point"},
		{"coordinates twice", `{"type":"Feature","geometry":{"type":"Point","coordinates":[1,2],"coordinates":[3,4]}}`, "bad-point", ""},
		{"NaN", point("[NaN,2]"), "bad-point", ""},
		{"too large", point("[1e999,2]"), "bad-point", ""},
		{"text", point(`["1","2"]`), "bad-point", ""},
		{"hexadecimal", point("[0x1,2]"), "bad-point", ""},
		{"leading zero", point("[01,2]"), "bad-point", ""},
		{"one number", point("[1]"), "bad-point", ""},
		{"none", point("[]"), "bad-point", ""},
		{"four", point("[1,2,3,4]"), "bad-point", ""},
		{"trailing comma", point("[1,2,]"), "bad-point", ""},
		{"swapped", point("[48.85,100.5]"), "bad-point", "swapped"},
		{"outside", point("[500,500]"), "bad-point", "±90"},
		{"geometry twice", with(`"geometry":{"type":"Point","coordinates":[1,2]}`), "bad-point", "once"},
		{"escaped name twice", with(`"\u0074ype":"Feature"`), "bad-point", "once"},
		{"properties twice", with(`"properties":{},"properties":{}`), "bad-point", "once"},
		{"property twice", with(`"properties":{"a":1,"a":2}`), "bad-properties", "Two members"},
		{"10,000 properties", with(`"properties":` + many + `}`), "bad-properties", "256"},
		{"no properties", with(`"properties":[1]`), "bad-properties", ""},
		{"unbalanced", with(`"properties":{"a":[1}}`), "bad-properties", ""},
		{"unknown and broken", with(`"bbox":[1,}`), "bad-point", ""},
		{"deep", with(`"properties":{"a":` + strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000) + "}"), "bad-properties", "nested"},
		{"deep elsewhere", with(`"bbox":` + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000)), "bad-point", ""},
		{"long value", with(`"properties":{"a":"` + strings.Repeat("x", 100_000) + `"}`), "bad-properties", ""},
		{"not UTF-8", with("\"properties\":{\"a\":\"\xff\"}"), "bad-point", "UTF-8"},
		{"wrong type", with(`"properties":{"price":"dear"}`), "bad-properties", "price"},
		{"another id", with(`"id":"b"`), "bad-point", "id"},
		{"id of null", with(`"id":null`), "bad-point", "id"},
		{"expires", with(`"expires":"tomorrow"`), "bad-point", "expires"},
		{"expires of nothing", with(`"expires":""`), "bad-point", "expires"},
		{"expires of the year 1", with(`"expires":"0001-01-01T00:00:00Z"`), "bad-point", "expires"},
		{"expires of the year 1 elsewhere", with(`"expires":"0001-01-01T01:00:00+01:00"`), "bad-point", "expires"},
		{"expires of 1970", with(`"expires":"1970-01-01T00:00:00Z"`), "bad-point", "expires"},
		{"expires of a number", with(`"expires":0`), "bad-point", "expires"},
		{"ttl", with(`"ttl":-1`), "bad-point", "ttl"},
		{"long ttl", with(`"ttl":1e300`), "bad-point", "ttl"},
		{"both", with(`"ttl":1,"expires":null`), "bad-point", "not both"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := &service{t: t, handler: s.handler}
			w := s.send(shopsKey, "PUT", "/points/shops/a", tt.body)
			s.want(w, 400, tt.typ)
			if !strings.Contains(w.Body.String(), tt.says) {
				t.Errorf("%s does not say %q", w.Body, tt.says)
			}
		})
	}
	one := pointFeature("a", 1, 2, "{}")
	s.want(s.send(shopsKey, "PUT", "/points/shops/a", one+strings.Repeat(" ", maxBody)), 413, "body-too-large")
	s.want(s.send(shopsKey, "PUT", "/points/shops/a", one, "Content-Encoding", "br"), 415, "unsupported-coding")
	s.want(s.send(shopsKey, "PUT", "/points/shops/a", one, "Content-Encoding", "gzip"), 400, "bad-body")
	s.want(s.send(shopsKey, "PUT", "/points/shops/a", one, "Content-Type", "multipart/form-data; boundary=x"), 415, "unsupported-type")
	s.want(s.send(shopsKey, "PUT", "/points/shops/a%00b", one), 400, "bad-point")
	s.want(s.send(shopsKey, "PUT", "/points/shops/"+strings.Repeat("a", 257), one), 400, "bad-point")
	s.want(s.send(shopsKey, "PUT", "/points/shops/a?ttl=0", one), 400, "bad-parameter")
	s.want(s.send(shopsKey, "PUT", "/points/shops/a?ttl=1&expires=2030-01-01T00:00:00Z", one), 400, "bad-parameter")
	s.want(s.send(shopsKey, "PUT", "/points/shops/a?expires=soon", one), 400, "bad-parameter")
	for _, never := range []string{"", "0001-01-01T00:00:00Z", "1969-12-31T23:59:59Z", strings.Repeat("x", 65)} {
		s.want(s.send(shopsKey, "PUT", "/points/shops/a?expires="+never, one), 400, "bad-parameter")
	}
	for _, line := range []string{`"expires":"","type":"Feature","geometry":{"type":"Point","coordinates":[1,2]}`,
		`"patch":{"expires":""}`, `"patch":{"expires":"0001-01-01T00:00:00Z"}`} {
		if w := s.send(shopsKey, "POST", "/points/shops", `{"id":"a",`+line+"}\n"); !strings.Contains(w.Body.String(), "Set expires") {
			t.Errorf("%s: %d %s", line, w.Code, w.Body)
		}
	}
	s.want(s.send(shopsKey, "PATCH", "/points/shops/a", `{"property":1}`), 400, "bad-point")
	s.want(s.send(shopsKey, "PATCH", "/points/shops/a", `{}`), 400, "bad-point")
	if n, err := s.live.Collection("shops").Count(t.Context(), &feature.Query{}); err != nil || n != 0 {
		t.Errorf("%d points were kept, %v", n, err)
	}
}

// Every accepted body is valid JSON.
func FuzzReadChange(f *testing.F) {
	f.Add(pointFeature("a", 1, 2, `{"a":[1,{"b":"c\"}"}]}`))
	f.Add(`{"id":"a","delete":true}`)
	f.Add(`{"id":1e2,"patch":{"geometry":{"type":"Point","coordinates":[1,2,3]},"ttl":5,"properties":{"a":null}}}`)
	f.Add(` { "i\u0064" : "x\ud800" , "patch" : { "expires" : null } } `)
	f.Fuzz(func(t *testing.T, text string) {
		var w live.Write
		if _, err := readChange([]byte(text), formLine, built, &w); err != nil {
			return
		}
		if w.Properties != nil {
			if _, err := feature.AppendProperties(nil, w.Properties); err != nil {
				return
			}
		}
		if !json.Valid([]byte(text)) {
			t.Errorf("%q was read as %+v", text, w)
		}
		if w.Kind == live.Put && points.CheckPosition(w.Lat, w.Lon) != nil || points.CheckID(w.ID) != nil {
			t.Errorf("%q was read as %+v", text, w)
		}
	})
}

func BenchmarkReadChange(b *testing.B) {
	text := []byte(pointFeature("vehicle-123456", 2.3522219, 48.8566140,
		`{"line":"42","operator":"Example Transit","speed":13.5,"delay":-30,"status":"on the way","route":"east"}`))
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		var w live.Write
		if _, err := readChange(text, formLine, built, &w); err != nil {
			b.Fatal(err)
		}
	}
}

// built is the time in tests that need a fixed time.
var built = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// A live point is sent with the tag that writes return and accept.
func TestPointTag(t *testing.T) {
	s := newService(t, nil)
	s.make("shops", `{"history":"1h"}`)
	const path = "/points/shops/a"
	properties := `{"text":"` + strings.Repeat("x", 5000) + `"}`
	tag := s.send(rootKey, "PUT", path, pointFeature("a", 2, 48, properties)).Header().Get("Etag")
	for _, method := range []string{"GET", "HEAD"} {
		w := s.send("", method, path, "", "Accept-Encoding", "gzip, br")
		if h := w.Header(); w.Code != 200 || h.Get("Etag") != tag || h.Get("Cache-Control") != "no-store" || h.Get("Content-Encoding") != "" {
			t.Errorf("%s: %d %v, want the tag %s", method, w.Code, h, tag)
		}
		for _, match := range []string{tag, "W/" + tag, `"v1", ` + tag, "*"} {
			w := s.send("", method, path, "", "If-None-Match", match)
			if w.Code != 304 || w.Body.Len() > 0 || w.Header().Get("Etag") != tag {
				t.Errorf("%s with %s: %d %v", method, match, w.Code, w.Header())
			}
		}
	}
	for _, other := range []string{"?fields=text", "?at=" + strconv.FormatInt(time.Now().Add(time.Hour).UnixMilli(), 10)} {
		if w := s.send("", "GET", path+other, "", "If-None-Match", tag); w.Code != 200 || w.Header().Get("Etag") != "" {
			t.Errorf("%s: %d %v", other, w.Code, w.Header())
		}
	}
	s.want(s.send(rootKey, "PUT", path, pointFeature("a", 2, 49, "{}"), "If-Match", tag), 200, "")
	w := s.send("", "GET", path, "", "If-None-Match", tag)
	if s.want(w, 200, ""); w.Header().Get("Etag") == tag {
		t.Error("the tag is that of the point as it was")
	}
	s.want(s.send(rootKey, "DELETE", path, ""), 204, "")
	s.want(s.send("", "GET", path, "", "If-None-Match", tag), 404, "point-not-found")
	w = s.send(rootKey, "PUT", path, `{"type":"Feature","geometry":{"type":"Point","coordinates":[47,122]}}`)
	if !strings.Contains(w.Body.String(), `swapped? Give longitude, then latitude."`) {
		t.Errorf("a likely swap: %s", w.Body)
	}
}

// PATCH with application/merge-patch+json has the meaning of RFC 7396. A PATCH with JSON of another
// type replaces each member of the properties as a whole.
func TestMergePatch(t *testing.T) {
	s := newService(t, nil)
	l := s.make("shops", "")
	const was = `{"address":{"city":"Bonn","zip":"53111"},"n":1}`
	for _, tt := range []struct {
		kind, body string
		status     int
		want       string
		lon        float64
	}{
		{"application/merge-patch+json", `{"properties":{"address":{"zip":"53113"}}}`, 200, `{"address":{"city":"Bonn","zip":"53113"},"n":1}`, 1},
		{
			"application/merge-patch+json",
			`{"properties":{"address":{"city":null,"x":{"y":null}}}}`,
			200,
			`{"address":{"zip":"53111","x":{}},"n":1}`,
			1,
		},
		{"application/merge-patch+json", `{"properties":null}`, 200, `{}`, 1},
		{"application/merge-patch+json", `{}`, 200, was, 1},
		{"application/merge-patch+json", `{"geometry":{"coordinates":[3,4]}}`, 200, was, 3},
		{"application/merge-patch+json", `{"geometry":{"type":"Point"}}`, 200, was, 1},
		{"application/merge-patch+json", `{"geometry":null}`, 400, was, 1},
		{"application/merge-patch+json", `{"geometry":{"coordinates":null}}`, 400, was, 1},
		{"application/merge-patch+json", `{"type":null}`, 400, was, 1},
		{"application/merge-patch+json", `{"id":"b"}`, 400, was, 1},
		{"application/merge-patch+json", `["c"]`, 400, was, 1},
		{"application/merge-patch+json", `null`, 400, was, 1},
		{"application/json-patch+json", `[]`, 415, was, 1},
		{"text/csv", `{}`, 415, was, 1},
		{"application/json", `{"properties":{"address":{"zip":"53113"},"n":null}}`, 200, `{"address":{"zip":"53113"}}`, 1},
		{"", `{"properties":{"address":{"zip":"53113"}}}`, 200, `{"address":{"zip":"53113"},"n":1}`, 1},
		{"application/json", `{"properties":null}`, 400, was, 1},
	} {
		if w := s.send(shopsKey, "PUT", "/points/shops/a", pointFeature("a", 1, 2, was)); w.Code > 201 {
			t.Fatal(w.Code, w.Body)
		}
		w := s.send(shopsKey, "PATCH", "/points/shops/a", tt.body, "Content-Type", tt.kind)
		var h feature.Feature
		if err := l.Get(t.Context(), "a", time.Time{}, &h); err != nil || w.Code != tt.status || propertiesOf(&h) != tt.want || h.Lon != tt.lon {
			t.Errorf("%s %s: %d %s: %s at %v, want %d %s", tt.kind, tt.body, w.Code, w.Body, propertiesOf(&h), h.Lon, tt.status, tt.want)
		}
	}
	s.want(s.send(shopsKey, "PUT", "/points/shops/a", pointFeature("a", 1, 2, was), "Content-Type",
		"application/merge-patch+json"), 415, "unsupported-type")
}

// propertiesOf returns the properties of a point as an object.
func propertiesOf(f *feature.Feature) string {
	return "{" + string(f.Properties.AppendMembers(nil)) + "}"
}

// The server sets the time of a write. The answer to a Feature with a time reports that this time
// was ignored, both alone and in a batch.
func TestTimeOfFeatureIsTold(t *testing.T) {
	s := newService(t, nil)
	s.make("shops", "")
	for member, ignored := range map[string]string{
		`"time":"2026-11-27T12:10:00Z"`: "time", `"timestamp":1764300000`: "timestamp", `"fixed":"2026-11-27 12:10:00Z"`: "fixed",
		`"when":{"start":"2026"}`: "when", `"x":1,"time":{"date":"2026-11-27"},"y":"2026-11-27"`: "time",
		`"bbox":[1,2,1,2]`: "", `"time":null`: "", `"note":"at noon"`: "", `"expires":"2090-11-27T12:10:00Z"`: "",
	} {
		text := `{"type":"Feature","id":"a",` + member +
			`,"geometry":{"type":"Point","coordinates":[8,47]},"properties":{"time":"2026-11-27T12:10:00Z"}}`
		for _, w := range []*httptest.ResponseRecorder{
			s.send(shopsKey, "PUT", "/points/shops/a", text),
			s.send(shopsKey, "POST", "/points/shops", text, "Content-Type", "application/x-ndjson"),
		} {
			var got struct{ ID, Ignored string }
			if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Code > 201 || got.ID != "a" || got.Ignored != ignored ||
				strings.Contains(w.Body.String(), "ignored") != (ignored != "") {
				t.Errorf("%s: %d %s, %v; want %q", member, w.Code, w.Body, err, ignored)
			}
		}
	}
}
