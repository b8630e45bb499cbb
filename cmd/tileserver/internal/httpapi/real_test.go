package httpapi_test

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	orbmvt "github.com/paulmach/orb/encoding/mvt"
	"github.com/paulmach/orb/geojson"

	"quadrille/cmd/internal/toyworld"
	"quadrille/cmd/tileserver/internal/servertest"
	"quadrille/internal/testrace"
	"quadrille/quadkey"
)

func TestRealAnswers(t *testing.T) {
	testrace.SkipUnderRace(t, "one request after the other, which TestEverythingAtOnce sends at once")
	w := servertest.NewWorld(t)
	for _, tt := range []struct{ path, want string }{
		{
			"/regions/at?lat=47&lon=4.5",
			`{"lat":47,"lon":4.5,"regions":[{"type":"country","id":"wl","name":"Westland"},{"type":"state","id":"wl-s","name":"South Westland"}]}`,
		},
		{"/regions/at?lat=47&lon=4.5&types=state", `{"lat":47,"lon":4.5,"regions":[{"type":"state","id":"wl-s","name":"South Westland"}]}`},
		{"/regions/at?lat=0&lon=180", `{"lat":0,"lon":180,"regions":[{"type":"country","id":"is","name":"Islands"}]}`},
		{"/regions/at?lat=0&lon=-179.5", `{"lat":0,"lon":-179.5,"regions":[{"type":"country","id":"is","name":"Islands"}]}`},
		{"/regions/at?lat=0&lon=0", `{"lat":0,"lon":0,"regions":[]}`},
	} {
		if got := servertest.Body(t, w.Get(tt.path)); got != tt.want {
			t.Errorf("%s\n got %s\nwant %s", tt.path, got, tt.want)
		}
	}

	var record struct {
		Type, ID, Name string
		Geometry       *geojson.Geometry
	}
	if err := json.Unmarshal([]byte(servertest.Body(t, w.Get("/regions/country/el?geometry=true"))), &record); err != nil {
		t.Fatal(err)
	}
	if record.Name != `East<land> & "Co"` || record.Geometry == nil || record.Geometry.Type != "Polygon" {
		t.Errorf("record %+v", record)
	}
	if b := servertest.Body(t, w.Get("/regions/country/el")); strings.Contains(b, "coordinates") || !json.Valid([]byte(b)) {
		t.Errorf("record without geometry: %s", b)
	}
	servertest.WantProblem(t, w.Get("/regions/country/xx"), 404, "region-not-found")
	servertest.WantProblem(t, w.Get("/regions/planet/xx"), 404, "unknown-layer")
	servertest.WantProblem(t, w.Get("/places/4000000000"), 404, "place-not-found")

	// Both formats of a tile name the same regions.
	for _, path := range []string{"/tiles/country,state/5/16/11", "/tiles/all/9/263/178", "/tiles/country:wl,state:wl-n/6/32/22",
		"/tiles/all/15/16930/11400"} {
		fc, err := geojson.UnmarshalFeatureCollection([]byte(servertest.Body(t, w.Get(path+".geojson"))))
		if err != nil {
			t.Fatal(err)
		}
		layers, err := orbmvt.Unmarshal([]byte(servertest.Body(t, w.Get(path+".mvt"))))
		if err != nil {
			t.Fatal(err)
		}
		var geo, vec []string
		for _, f := range fc.Features {
			if f.Geometry.GeoJSONType() != "Point" {
				geo = append(geo, fmt.Sprint(f.Properties["type"], ":", f.Properties["id"]))
			}
		}
		for _, l := range layers {
			for _, f := range l.Features {
				if l.Name != "places" {
					vec = append(vec, fmt.Sprint(l.Name, ":", f.Properties["id"]))
				}
			}
		}
		slices.Sort(geo)
		slices.Sort(vec)
		// A vector tile has a buffer, so it may contain additional regions.
		for _, id := range geo {
			if !slices.Contains(vec, id) {
				t.Errorf("%s: GeoJSON has %v, the vector tile %v", path, geo, vec)
			}
		}
		if len(geo) == 0 {
			t.Errorf("%s: no regions", path)
		}
	}

	var nearby struct {
		Places []struct {
			ID        uint32
			Lat, Lon  float64
			Distance  float64 `json:"distance_m"`
			Class     string
			CountryIn string `json:"country"`
		}
		Next string
	}
	if err := json.Unmarshal([]byte(servertest.Body(t, w.Get("/places/nearby?lat=48&lon=6&limit=25&class=P&country=WS"))),
		&nearby); err != nil {
		t.Fatal(err)
	}
	if len(nearby.Places) != 25 || nearby.Next == "" {
		t.Fatalf("%d places, next %q", len(nearby.Places), nearby.Next)
	}
	last := -1.0
	for _, p := range nearby.Places {
		if d := quadkey.Distance(6, 48, p.Lon, p.Lat); math.Abs(d-p.Distance) > 0.1 || d < last-0.1 || p.Class != "P" || p.CountryIn != "WS" {
			t.Errorf("%+v is %f m away", p, d)
		}
		last = p.Distance
	}
	first := nearby.Places[24].ID
	if err := json.Unmarshal([]byte(servertest.Body(t,
		w.Get("/places/nearby?lat=48&lon=6&limit=25&class=P&country=WS&cursor="+nearby.Next))), &nearby); err != nil {
		t.Fatal(err)
	}
	if nearby.Places[0].ID == first || nearby.Places[0].Distance < last {
		t.Errorf("second page begins with %+v", nearby.Places[0])
	}
	servertest.WantProblem(t, w.Get("/places/nearby?lat=48&lon=6&cursor=AAAA"), 400, "bad-parameter")

	if b := servertest.Body(t, w.Get("/places/1")); !strings.Contains(b, `"name":"Place 1 – \"Ü\""`) {
		t.Errorf("place: %s", b)
	}
	for i := range 50 {
		a := toyworld.Address(i * 37)
		var answer struct {
			IP, Source string
			Country    struct {
				ISOCode string `json:"iso_code"`
			}
			Traits struct{ Network string }
		}
		b := servertest.Body(t, w.Get("/ip/"+a.String()))
		if err := json.Unmarshal([]byte(b), &answer); err != nil || answer.IP != a.String() || answer.Source != "toy ip" ||
			answer.Country.ISOCode == "" || answer.Traits.Network == "" {
			t.Fatalf("%s: %v %s", a, err, b)
		}
	}
	servertest.WantProblem(t, w.Get("/ip/11.0.15.1"), 404, "address-not-found")
	servertest.WantProblem(t, w.Get("/ip/127.0.0.1"), 404, "address-reserved")
}

// TestHotAllocations tests that our code allocates almost nothing to serve a cached tile.
func TestHotAllocations(t *testing.T) {
	testrace.SkipUnderRace(t, "it makes pools forget, and forgetting allocates")
	w := servertest.NewWorld(t)
	w.Config.ResponseCacheBytes = 1 << 20
	w.Serve()
	r := httptest.NewRequest("GET", "/tiles/country,state/5/16/11.mvt", nil)
	out := &servertest.DiscardWriter{Headers: http.Header{}}
	w.Handler.ServeHTTP(out, r)
	if n := testing.AllocsPerRun(500, func() {
		clear(out.Headers)
		w.Handler.ServeHTTP(out, r)
	}); n > 1 {
		t.Errorf("%v allocations for a kept tile", n)
	}
	r = httptest.NewRequest("GET", "/ip/"+toyworld.Address(42).String(), nil)
	if n := testing.AllocsPerRun(500, func() {
		clear(out.Headers)
		w.Handler.ServeHTTP(out, r)
	}); n > 6 {
		t.Errorf("%v allocations for an address", n)
	}
}
