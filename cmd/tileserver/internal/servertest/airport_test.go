//go:build !race

package servertest_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	orbmvt "github.com/paulmach/orb/encoding/mvt"
	"github.com/paulmach/orb/geojson"

	"quadrille/ask"
	"quadrille/cmd/tileserver/internal/servertest"
	"quadrille/internal/testrace"
	"quadrille/quadkey"
)

// TestAirportGolden compares whole answers, including headers, with golden files.
func TestAirportGolden(t *testing.T) {
	testrace.SkipUnderRace(t, "one request after the other, which TestEverythingAtOnce sends at once")
	f := servertest.NewAirfield(t)
	var out bytes.Buffer
	for _, line := range []string{
		"/airports/WLD",
		"/airports/twwl",
		"/airports/wl-0007",
		"/airports/WLD?local=true",
		"HEAD /airports/WLD",
		"/airports/nearby?lat=47.1&lon=5&limit=2",
		"/airports/nearby?lat=0&lon=-179.9&radius=50000&format=geojson",
		"/airports/nearby?lat=47&lon=5&type=medium,heliport&scheduled=false&country=ee,ws&limit=2",
		"/airports/nearby?lat=47&lon=5&scheduled=true",
		"/airports/nearby?lat=46&lon=4&type=closed&limit=1",
		"/airports/within?bbox=4,46,8,50&limit=2",
		"/airports/within?bbox=179,-1,-179,1",
		"/airports/within?bbox=4.05,46,4.12,50&closed=true&type=heliport&format=geojson",
		"/airports/within?bbox=0,0,1,1",
		"/airports/ELD/offset?at=2026-07-01T12:00:00Z",
		"/airports/eld/offset?at=1900-01-01T00:00:00%2B00:00",
		"/airports/ELD/offset",
		"/places/1/offset?at=2026-12-24T18:30:00.5%2B01:00",
		"HEAD /places/1/offset?at=2026-12-24T18:30:00Z",
		"/tiles/airports/6/32/22.geojson",
		"/tiles/airports.json",
		"/tiles/all.json",
		// These requests are refused.
		"/airports/QQQ",
		"/airports/a%20b",
		"/airports/WLD/x",
		"/airports/WLD?local=yes",
		"/airports/nearby?lat=47",
		"/airports/nearby?lat=47&lon=5&type=spaceport",
		"/airports/nearby?lat=47&lon=5&cursor=AAAA",
		"/airports/within",
		"/airports/within?bbox=1,3,2,2",
		"/airports/WLD/offset?at=yesterday",
		"/airports/WLD/offset?at=1899-12-31T23:59:59Z",
		"/airports/TWIS/offset?at=2026-07-01T12:00:00Z",
		"/airports/WL-0007/offset",
		"/places/4000000000/offset",
		"/places/x/offset",
	} {
		method, path, ok := strings.Cut(line, " ")
		if !ok {
			method, path = http.MethodGet, line
		}
		res := f.Do(method, path)
		text := res.Header.Get("Content-Encoding")
		if text != "" {
			t.Fatalf("%s: %s", line, text)
		}
		servertest.Dump(&out, line, res)
	}
	servertest.Golden(t, "airport", out.Bytes())
}

// All invalid parameters are refused by name, before any read.
func TestAirportBadParameters(t *testing.T) {
	f := servertest.NewAirfield(t)
	const near, box, at = "/airports/nearby?lat=47&lon=5", "/airports/within?bbox=4,46,8,50", "/airports/WLD/offset?at="
	for _, tt := range []struct{ path, parameter string }{
		{"/airports/" + strings.Repeat("A", 17), "code"},
		{"/airports/%3Cb%3E", "code"},
		{"/airports/%C3%9C", "code"},
		{"/airports/W%00D/offset", "code"},
		{"/airports/WLD?local=1", "local"},
		{"/airports/WLD?local=true&local=true", "local"},
		{"/airports/WLD?%zz", ""},
		{"/airports/nearby", "lat"},
		{"/airports/nearby?lat=91&lon=5", "lat"},
		{"/airports/nearby?lat=47&lon=NaN", "lon"},
		{near + "&radius=0", "radius"},
		{near + "&radius=5km", "radius"},
		{near + "&limit=0", "limit"},
		{near + "&limit=1001", "limit"},
		{near + "&type=", "type"},
		{near + "&type=large,", "type"},
		{near + "&type=" + strings.Repeat("large,", 100), "type"},
		{near + "&type=large&type=medium", "type"},
		{near + "&country=USA", "country"},
		{near + "&country=", "country"},
		{near + "&scheduled=yes", "scheduled"},
		{near + "&closed=1", "closed"},
		{near + "&format=xml", "format"},
		{near + "&cursor=", "cursor"},
		{near + "&cursor=" + strings.Repeat("a", 600), "cursor"},
		{"/airports/within?bbox=1,2,3", "bbox"},
		{"/airports/within?bbox=1,2,3,NaN", "bbox"},
		{box + "&limit=x", "limit"},
		{box + "&type=spaceport", "type"},
		{at, "at"},
		{at + "now", "at"},
		{at + "2026-07-32", "at"},
		{at + "2026-07-01T12:00:00", "at"},
		{at + "2026-07-01T12:00:00+01:00", "at"}, // + is a blank in a query
		{at + "2101-01-01T00:00:00Z", "at"},
		{at + "0000-01-01T00:00:00Z", "at"},
		{at + "2026-07-01T12:00:00Z&at=2026-07-01T12:00:00Z", "at"},
		{at + "2026-07-01T12:00:00." + strings.Repeat("0", 100) + "Z", "at"},
		{"/places/-1/offset", "id"},
		{"/places/4294967296/offset", "id"},
		{"/places/1/offset?at=x", "at"},
	} {
		t.Run(tt.path[:min(len(tt.path), 80)], func(t *testing.T) {
			if p := servertest.WantProblem(t, f.Get(tt.path), 400, "bad-parameter"); p.Parameter != tt.parameter {
				t.Errorf("parameter %q, want %q", p.Parameter, tt.parameter)
			}
		})
	}
}

// Answers that depend only on the address and the data are revalidated by ETags that change with
// the data. Answers that depend on the clock are not cached.
func TestAirportCaching(t *testing.T) {
	testrace.SkipUnderRace(t, "one request after the other, which TestEverythingAtOnce sends at once")
	f := servertest.ServeAirfield(t, t.TempDir())
	for _, name := range []string{ask.Places.Name, ask.Airports.Name, ask.TimeZones.Name} {
		f.Republish(name)
	}
	const at = "?at=2026-07-01T12:00:00Z"
	for _, path := range []string{"/airports/WLD", "/airports/nearby?lat=1&lon=2", "/airports/within?bbox=0,0,1,1",
		"/airports/WLD/offset" + at, "/places/1/offset" + at, "/tiles/airports/6/32/22.mvt", "/tiles/airports.json"} {
		res := f.Get(path)
		etag := res.Header.Get("Etag")
		if res.StatusCode != 200 || etag == "" || !strings.Contains(res.Header.Get("Cache-Control"), "max-age=300") {
			t.Fatalf("%s: %d %v", path, res.StatusCode, res.Header)
		}
		if res := f.Get(path, "If-None-Match", etag); res.StatusCode != 304 || servertest.Body(t, res) != "" {
			t.Errorf("%s with its tag: %d", path, res.StatusCode)
		}
		if strings.HasPrefix(path, "/places") {
			f.Republish(ask.Places.Name)
		} else {
			f.Republish(ask.Airports.Name)
		}
		res = f.Get(path, "If-None-Match", etag)
		if res.StatusCode != 200 || res.Header.Get("Etag") == etag {
			t.Errorf("%s after publication: %d", path, res.StatusCode)
		}
	}
	etag := f.Get("/airports/WLD/offset" + at).Header.Get("Etag")
	f.Republish(ask.TimeZones.Name)
	if got := f.Get("/airports/WLD/offset" + at).Header.Get("Etag"); got == etag {
		t.Error("the tag of an offset does not depend on the time zones")
	}
	for _, path := range []string{"/airports/WLD?local=true", "/airports/WLD/offset", "/places/1/offset"} {
		res := f.Get(path, "If-None-Match", "*")
		if res.StatusCode != 200 || res.Header.Get("Etag") != "" || res.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %d %v", path, res.StatusCode, res.Header)
		}
	}
}

// An answer that needs a missing data set names it; an answer that does not need it is complete.
func TestAirportMissingData(t *testing.T) {
	const at = "?at=2026-07-01T12:00:00Z"
	for _, tt := range []struct {
		missing string
		paths   []string // answered 404
		fine    []string
	}{
		{ask.Airports.Name, []string{
			"/airports/WLD",
			"/airports/nearby?lat=1&lon=2",
			"/airports/within?bbox=0,0,1,1",
			"/airports/WLD/offset" + at,
			"/airports/WLD/offset",
			"/tiles/airports/1/0/0.mvt",
		},
			[]string{"/places/1/offset", "/tiles/all/1/0/0.geojson"}},
		{ask.TimeZones.Name, []string{"/airports/WLD/offset" + at, "/airports/WLD/offset", "/places/1/offset", "/airports/WLD?local=true"},
			[]string{"/airports/WLD", "/airports/nearby?lat=1&lon=2", "/places/1"}},
		{ask.Places.Name, []string{"/places/1/offset"}, []string{"/airports/WLD/offset", "/airports/WLD?local=true", "/tiles/all/1/0/0.geojson"}},
	} {
		t.Run(tt.missing, func(t *testing.T) {
			f := servertest.NewAirfield(t, tt.missing)
			for _, path := range tt.paths {
				servertest.WantProblem(t, f.Get(path), 404, "dataset-missing")
			}
			for _, path := range tt.fine {
				if res := f.Get(path); res.StatusCode != 200 {
					t.Errorf("%s: %d %s", path, res.StatusCode, servertest.Body(t, res))
				}
			}
			if res := f.Get("/readyz"); res.StatusCode != 200 {
				t.Errorf("not ready: %s", servertest.Body(t, res))
			}
			if b := servertest.Body(t, f.Get("/status")); !strings.Contains(b, `{"name":"`+tt.missing+`","state":"missing"`) ||
				strings.Count(b, `"state":"serving"`) != 2 {
				t.Error(b)
			}
		})
	}
}

// The joined pages of both searches equal the unpaged answer.
func TestAirportPages(t *testing.T) {
	testrace.SkipUnderRace(t, "one request after the other, which TestEverythingAtOnce sends at once")
	f := servertest.NewAirfield(t)
	type page struct {
		Airports []struct {
			ID        uint32
			Lat, Lon  float64
			DistanceM *float64 `json:"distance_m"`
			Type      string
		}
		Next string
	}
	read := func(path string) (p page) {
		t.Helper()
		res := f.Get(path)
		if err := json.Unmarshal([]byte(servertest.Body(t, res)), &p); err != nil || res.StatusCode != 200 {
			t.Fatal(res.StatusCode, err)
		}
		return p
	}
	for _, path := range []string{"/airports/nearby?lat=48&lon=5", "/airports/nearby?lat=48&lon=5&type=small",
		"/airports/within?bbox=4,46,6,50", "/airports/within?bbox=-180,-90,180,90&closed=true"} {
		var all, paged []uint32
		for _, a := range read(path + "&limit=1000").Airports {
			all = append(all, a.ID)
			if near := strings.Contains(path, "nearby"); near != (a.DistanceM != nil) {
				t.Fatalf("%s: distance %v", path, a.DistanceM)
			} else if near && quadkey.Distance(5, 48, a.Lon, a.Lat)-*a.DistanceM > 0.1 {
				t.Errorf("%+v", a)
			}
		}
		for cursor := ""; ; {
			p := read(path + "&limit=17" + cursor)
			for _, a := range p.Airports {
				paged = append(paged, a.ID)
			}
			if p.Next == "" {
				break
			}
			cursor = "&cursor=" + p.Next
		}
		if diff := cmp.Diff(all, paged); diff != "" || len(all) < 100 {
			t.Errorf("%s: %d, %s", path, len(all), diff)
		}
	}
	// A cursor is valid only for its query and generation.
	p := read("/airports/nearby?lat=48&lon=5&limit=3")
	servertest.WantProblem(t, f.Get("/airports/nearby?lat=48&lon=6&limit=3&cursor="+p.Next), 400, "bad-parameter")
	servertest.WantProblem(t, f.Get("/airports/within?bbox=4,46,6,50&cursor="+p.Next), 400, "bad-parameter")
	servertest.WantProblem(t, f.Get("/places/nearby?lat=48&lon=5&limit=3&cursor="+p.Next), 400, "bad-parameter")
}

// TestAirportTiles tests that both formats of a tile show the same airports, whether the tile also
// has places or not.
func TestAirportTiles(t *testing.T) {
	f := servertest.NewAirfield(t)
	deep, err := quadkey.TileAt(5, 47, 16)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{
		"/tiles/airports/0/0/0",
		"/tiles/airports/6/32/22",
		"/tiles/places,airports/7/65/44",
		"/tiles/airports,places/" + deep.String(),
		"/tiles/all/3/4/2",
	} {
		fc, err := geojson.UnmarshalFeatureCollection([]byte(servertest.Body(t, f.Get(path+".geojson"))))
		if err != nil {
			t.Fatal(path, err)
		}
		text := servertest.Body(t, f.Get(path+".mvt"))
		layers, err := orbmvt.Unmarshal([]byte(text))
		if err != nil {
			t.Fatal(path, err)
		}
		var geo, vec []string
		for _, x := range fc.Features {
			if x.Properties["type"] != nil {
				geo = append(geo, fmt.Sprint(x.ID, x.Properties["name"], x.Properties["type"], x.Properties["scheduled"], x.Properties["iata"]))
			}
			if x.Properties["type"] == "closed" {
				t.Errorf("%s: %v is closed", path, x.ID)
			}
		}
		for _, l := range layers {
			for _, x := range l.Features {
				if l.Name == "airports" {
					vec = append(vec, fmt.Sprint(x.Properties["id"], x.Properties["name"], x.Properties["type"], x.Properties["scheduled"],
						x.Properties["iata"]))
				}
			}
		}
		if diff := cmp.Diff(geo, vec); diff != "" || len(geo) == 0 {
			t.Errorf("%s: %d airports: %s", path, len(geo), diff)
		}
	}
	if res := f.Get("/tiles/airports/6/32/22.png"); res.StatusCode != 200 {
		t.Errorf("picture: %d", res.StatusCode)
	}
	if res := f.Get("/tiles/airports/15/1/1.mvt"); res.StatusCode != http.StatusNoContent {
		t.Errorf("empty tile: %d", res.StatusCode)
	}
}

// FuzzAirportRequest sends any path and query below the new endpoints: answers must be well-formed,
// and there must be no server error.
func FuzzAirportRequest(f *testing.F) {
	for _, seed := range []string{"airports/WLD", "airports/WLD/offset?at=2026-07-01T12:00:00Z",
		"airports/nearby?lat=1&lon=2&type=large", "airports/within?bbox=1,2,3,4",
		"places/1/offset", "airports/%ff", "airports//offset", "airports/WLD/offset/", "airports/nearby/offset",
		"airports/within?bbox=170,-90,-170,90&closed=true&cursor=QQ"} {
		f.Add(seed)
	}
	air := servertest.NewAirfield(f)
	f.Fuzz(func(t *testing.T, target string) {
		r, err := http.NewRequest(http.MethodGet, "/"+target, nil)
		if err != nil {
			t.Skip()
		}
		w := &recording{header: http.Header{}, status: 200}
		air.Handler.ServeHTTP(w, r)
		ct := w.header.Get("Content-Type")
		if w.status >= 500 || w.status >= 400 && (ct != "application/problem+json" || !json.Valid(w.body.Bytes())) ||
			w.status == 200 && strings.HasSuffix(ct, "json") && !json.Valid(w.body.Bytes()) {
			t.Fatalf("%d %s %s", w.status, ct, w.body.Bytes())
		}
	})
}

// recording is a ResponseWriter that records the answer.
type recording struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (r *recording) Header() http.Header { return r.header }

func (r *recording) WriteHeader(status int) { r.status = status }

func (r *recording) Write(b []byte) (int, error) { return r.body.Write(b) }
