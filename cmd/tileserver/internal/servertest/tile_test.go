package servertest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/paulmach/orb"
	orbmvt "github.com/paulmach/orb/encoding/mvt"

	"quadrille/ask"
	"quadrille/cellstore"
	"quadrille/cmd/tileserver/internal/httpapi"
	"quadrille/cmd/tileserver/internal/servertest"
	"quadrille/places"
	"quadrille/tiles"
	"quadrille/tiles/build"
)

func TestTileEmpty(t *testing.T) {
	f := servertest.New(t, nil, servertest.DefaultDatasets...)
	for _, layers := range []string{"country", "places", "all"} {
		res := f.Get("/tiles/" + layers + "/5/1/1.mvt")
		if b := servertest.Body(t, res); res.StatusCode != http.StatusNoContent || b != "" || res.Header.Get("Content-Length") != "" {
			t.Errorf("%s: empty vector tile: %d, %q, %v; want 204 alone", layers, res.StatusCode, b, res.Header)
		}
		if res.Header.Get("Etag") == "" {
			t.Errorf("%s: empty tile without a tag", layers)
		}
		res = f.Get("/tiles/" + layers + "/5/1/1.geojson")
		if b := servertest.Body(t, res); res.StatusCode != http.StatusOK || b != `{"type":"FeatureCollection","features":[]}` {
			t.Errorf("%s: empty GeoJSON tile: %d %s", layers, res.StatusCode, b)
		}
	}
	// If one of two layers is empty, there is no stray comma.
	if b := servertest.Body(t, f.Get("/tiles/all/6/32/32.geojson")); !json.Valid([]byte(b)) || strings.Contains(b, "[,") ||
		!strings.Contains(b, "Ω") {
		t.Errorf("places only: %s", b)
	}
	if b := servertest.Body(t, f.Get("/tiles/all/7/29/49.geojson")); !json.Valid([]byte(b)) || strings.Contains(b, ",]") ||
		!strings.Contains(b, "Kansas") {
		t.Errorf("regions only: %s", b)
	}
}

// Places are a vector layer of points within the tile, with their attributes.
func TestTilePlacesLayer(t *testing.T) {
	f := servertest.New(t, nil)
	f.PublishRows(servertest.Places([]places.Place{
		{ID: 11, Class: "T", Name: `Null "Island"`, Code: "ISL"},
		{ID: 12, Class: "P", Lon: 90, Lat: -45, Name: "Zürich", Population: 400_000},
		{ID: 13, Class: "T", Lon: 179.9999999, Lat: -90, Name: "Pole", Code: "X"},
		{ID: 4_294_967_295, Class: "P", Lon: -180, Lat: 90, Name: "Other pole", Population: 9_000_000_000},
	}, nil, places.Gazetteer{}))
	res := f.Get("/tiles/places/0/0/0.mvt")
	if ct := res.Header.Get("Content-Type"); ct != "application/vnd.mapbox-vector-tile" {
		t.Errorf("content type %s", ct)
	}
	layers, err := orbmvt.Unmarshal([]byte(servertest.Body(t, res)))
	if err != nil {
		t.Fatal(err)
	}
	if len(layers) != 1 || layers[0].Name != "places" || layers[0].Version != 2 || layers[0].Extent != 4096 || len(layers[0].Features) != 4 {
		t.Fatalf("layers %+v", layers)
	}
	for i, want := range []struct {
		id    uint32
		x, y  float64
		props string
	}{
		{4_294_967_295, 0, 0, `{"id":4294967295,"name":"Other pole","population":9000000000}`},
		{12, 3072, 2622, `{"id":12,"name":"Zürich","population":400000}`},
		{11, 2048, 2048, `{"code":"ISL","id":11,"name":"Null \"Island\""}`},
		{13, 4095, 4095, `{"code":"X","id":13,"name":"Pole"}`},
	} {
		got := layers[0].Features[i]
		if p := got.Geometry.(orb.Point); p[0] != want.x || p[1] != want.y {
			t.Errorf("feature %d at %v, want %v, %v", i, p, want.x, want.y)
		}
		props := map[string]any{}
		for k, v := range got.Properties {
			if n, ok := v.(float64); ok {
				v = json.Number(fmt.Sprintf("%.0f", n))
			}
			props[k] = v
		}
		b, err := json.Marshal(props)
		if err != nil {
			t.Fatal(err)
		}
		if string(b) != want.props {
			t.Errorf("feature %d has %s, want %s", i, b, want.props)
		}
		if fmt.Sprint(got.ID) != fmt.Sprint(float64(want.id)) && fmt.Sprint(got.ID) != fmt.Sprint(want.id) {
			t.Errorf("feature %d has id %v, want %d", i, got.ID, want.id)
		}
	}
	// A tile whose column and row differ tells the two axes apart.
	layers, err = orbmvt.Unmarshal([]byte(servertest.Body(t, f.Get("/tiles/places/2/3/2.mvt"))))
	if err != nil || len(layers) != 1 {
		t.Fatal(layers, err)
	}
	if got := layers[0].Features[0].Geometry; got != (orb.Point{0, 2298}) {
		t.Errorf("Zürich is at %v of its tile", got)
	}
}

func TestTileAddresses(t *testing.T) {
	f := servertest.New(t, nil, servertest.DefaultDatasets...)
	for _, tt := range []struct {
		path   string
		status int
		typ    string
	}{
		{"/tiles/country/0/0/0.mvt", 200, ""},
		{"/tiles/country/22/0/4194303.mvt", 204, ""},
		{"/tiles/country/22/4194303/2097152.mvt", 200, ""},
		{"/tiles/country/22/4194304/0.mvt", 404, "tile-outside"},
		{"/tiles/country/22/0/4194304.mvt", 404, "tile-outside"},
		{"/tiles/country/23/0/0.mvt", 404, "tile-outside"},
		{"/tiles/country/-1/0/0.mvt", 404, "tile-outside"},
		{"/tiles/country/3/-1/0.mvt", 404, "tile-outside"},
		{"/tiles/country/3/0/8.geojson", 404, "tile-outside"},
		{"/tiles/country/3/0/99999999999999999999999999.mvt", 404, "tile-outside"},
		{"/tiles/country/99999999999999999999999/0/0.mvt", 404, "tile-outside"},
		{"/tiles/country/00/0/0.mvt", 404, "tile-outside"}, // another spelling of a tile would be cached again
		{"/tiles/country/0/-0/0.mvt", 404, "tile-outside"},
		{"/tiles/country/3/0/01.png", 404, "tile-outside"},
		{"/ogc/tiles/WebMercatorQuad/0/00/0", 404, "tile-outside"},
		{"/ogc/tiles/WebMercatorQuad/-0/0/0", 404, "tile-outside"},
		{"/tiles/country/a/0/0.mvt", 400, "bad-parameter"},
		{"/tiles/country/3/1.5/0.mvt", 400, "bad-parameter"},
		{"/tiles/country/3/0/1.5.mvt", 400, "bad-parameter"},
		{"/tiles/country/3/0/.mvt", 400, "bad-parameter"},
		{"/tiles/country/3/0/-.mvt", 400, "bad-parameter"},
		{"/tiles/country/3/NaN/0.mvt", 400, "bad-parameter"},
		{"/tiles/country/3/+1/0.mvt", 400, "bad-parameter"},
		{"/tiles/country/3/0x1/0.mvt", 400, "bad-parameter"},
		{"/tiles/country/3/0/1@2x.mvt", 404, "unknown-format"},
		{"/tiles/country/3/%34/2.mvt", 200, ""},
		{"/tiles/country/0/0/0", 200, ""},
		{"/tiles/country/3/0/8", 404, "tile-outside"},
		{"/tiles/country/3/0/x", 400, "bad-parameter"},
		{"/tiles/country/3/0/1@2x.mlt", 404, "unknown-format"},
		{"/tiles/country/3/0/0.jpg", 404, "unknown-format"},
		{"/tiles/country/3/0/0.PNG", 404, "unknown-format"},
		{"/tiles/country/3/0/8.png", 404, "tile-outside"},
		{"/tiles/country/3/0/8@2x.png", 404, "tile-outside"},
		{"/tiles/country/3/0/@2x.png", 400, "bad-parameter"},
		{"/tiles/country/3/0/0@3x.png", 404, "unknown-format"},
		{"/tiles/country/3/0/0@2x@2x.png", 404, "unknown-format"},
		{"/tiles/county/3/0/0.png", 404, "unknown-layer"},
		{"/tiles/country:nowhere/3/0/0@2x.png", 404, "region-not-found"},
		{"/tiles/country/3/0/0.MVT", 404, "unknown-format"},
		{"/tiles/country/3/0/0.mvt/", 404, "unknown-format"},
		{"/tiles/country/3/0.mvt", 404, "not-found"},
		{"/tiles//3/0/0.mvt", 404, "unknown-layer"},
		{"/tiles/county/3/0/0.mvt", 404, "unknown-layer"},
		{"/tiles/country,/3/0/0.mvt", 404, "unknown-layer"},
		{"/tiles/country,county/3/0/0.mvt", 404, "unknown-layer"},
		{"/tiles/Country/3/0/0.mvt", 404, "unknown-layer"},
		{"/tiles/places:7/3/0/0.mvt", 404, "unknown-layer"},
		{"/tiles/country:/3/0/0.mvt", 404, "region-not-found"},
		{"/tiles/country:nowhere/3/0/0.mvt", 404, "region-not-found"},
		{"/tiles/country:..%2F/3/0/0.mvt", 404, "region-not-found"},
		{"/tiles/country%2541/3/0/0.mvt", 404, "unknown-layer"},
		{"/tiles/" + strings.Repeat("x", 2000) + "/3/0/0.mvt", 400, "bad-parameter"},
		{"/tiles/" + strings.Repeat("state,", 70) + "state/3/0/0.mvt", 400, "bad-parameter"},
	} {
		res := f.Get(tt.path)
		if tt.typ == "" {
			if b := servertest.Body(t, res); res.StatusCode != tt.status {
				t.Errorf("%s: %d %s", tt.path, res.StatusCode, b)
			}
			continue
		}
		t.Run(tt.path[:min(len(tt.path), 80)], func(t *testing.T) { servertest.WantProblem(t, res, tt.status, tt.typ) })
	}
}

// An empty tile, a tile outside the grid, a missing data set and a failed
// store are four different answers.
func TestTileFailures(t *testing.T) {
	f := servertest.New(t, nil, ask.Boundaries.Name)
	servertest.WantProblem(t, f.Get("/tiles/places/3/0/0.mvt"), 404, "dataset-missing")
	servertest.WantProblem(t, f.Get("/tiles/country,places/3/0/0.mvt"), 404, "dataset-missing")
	for _, tt := range []struct {
		err    error
		status int
		typ    string
	}{
		{&cellstore.Error{Op: "NextEach", Table: "secret", Err: cellstore.ErrCorrupt}, 500, "data-corrupt"},
		{fmt.Errorf("secret: %w", tiles.ErrCorrupt), 500, "data-corrupt"},
		{fmt.Errorf("secret: %w", cellstore.ErrClosed), 503, "dataset-unavailable"},
		{errors.New("secret: disk on fire"), 500, "internal"},
		{fmt.Errorf("secret: %w", context.DeadlineExceeded), 503, "timeout"},
	} {
		f.Boundaries.ReadErr = tt.err
		for _, path := range []string{"/tiles/country/3/0/0.mvt", "/tiles/all/3/0/0.geojson", "/tiles/country:us/3/0/0.mvt",
			"/regions/at?lat=1&lon=1", "/regions/country/us"} {
			res := f.Get(path)
			p := servertest.WantProblem(t, res, tt.status, tt.typ)
			if strings.Contains(p.Detail+p.Title, "secret") {
				t.Errorf("%s: internals shown: %+v", path, p)
			}
			if retry := res.Header.Get("Retry-After"); (retry != "") != (tt.status == 503) {
				t.Errorf("%s: Retry-After %q with %d", path, retry, tt.status)
			}
		}
	}
	f.Boundaries.ReadErr = nil
	if res := f.Get("/tiles/country/3/4/2.mvt"); res.StatusCode != 200 {
		t.Errorf("a failure was kept: %d", res.StatusCode)
	}
}

// TestTableGone tests that a missing table is answered as damage. If other programs may remove
// generations, it is answered as a temporary failure.
func TestTableGone(t *testing.T) {
	for remote, want := range map[bool]int{false: 500, true: 503} {
		f := servertest.New(t, func(c *httpapi.Config) { c.Remote = remote }, servertest.DefaultDatasets...)
		gone := &cellstore.Error{Op: "Get", Table: "secret", Err: cellstore.ErrTableNotFound}
		f.Boundaries.ReadErr, f.Places.ReadErr, f.Addresses.ReadErr = gone, gone, gone
		for _, path := range []string{"/tiles/country/3/0/0.mvt", "/places/nearby?lat=1&lon=1", "/ip/1.2.3.4", "/geoip/v2.1/city/1.2.3.4"} {
			res := f.Get(path)
			b := servertest.Body(t, res)
			if res.StatusCode != want || (res.Header.Get("Retry-After") != "") != remote || strings.Contains(b, "secret") {
				t.Errorf("%s, remote %v: %d %s, Retry-After %q", path, remote, res.StatusCode, b, res.Header.Get("Retry-After"))
			}
		}
	}
}

// A matching ETag gives a 304 without a read. The ETag depends on generation, layers, tile, format
// and coding.
func TestTileRevalidation(t *testing.T) {
	f := servertest.New(t, nil, servertest.DefaultDatasets...)
	const path = "/tiles/country,places/3/4/2.mvt"
	etag := f.Get(path).Header.Get("Etag")
	seen := map[string]string{etag: path}
	for _, other := range []string{
		"/tiles/country/3/4/2.mvt", "/tiles/places/3/4/2.mvt", "/tiles/country,places/3/4/3.mvt",
		"/tiles/country,places/4/4/2.mvt", "/tiles/country,places/3/4/2.geojson", path + " gzip",
	} {
		p, gz, _ := strings.Cut(other, " ")
		tag := f.Get(p, "Accept-Encoding", gz).Header.Get("Etag")
		if was, ok := seen[tag]; ok || len(tag) != 18 || tag[0] != '"' {
			t.Errorf("tag %s of %s is that of %s", tag, other, was)
		}
		seen[tag] = other
	}
	if got := f.Get("/tiles/places,country/3/4/2.pbf").Header.Get("Etag"); got != etag {
		t.Errorf("the same tile in other words has tag %s, want %s", got, etag)
	}

	// A new process with the same data gives the same ETags.
	f.Config.ResponseCacheBytes = 0
	f.Serve()
	f.Get(path) // resolves the layers
	reads := f.Boundaries.Reads.Load() + f.Places.Reads.Load()
	for _, inm := range []string{etag, "W/" + etag, `"x", ` + etag, "*"} {
		res := f.Get(path, "If-None-Match", inm)
		if b := servertest.Body(t, res); res.StatusCode != http.StatusNotModified || b != "" || res.Header.Get("Etag") != etag ||
			res.Header.Get("Cache-Control") == "" || res.Header.Get("Vary") == "" || res.Header.Get("Content-Type") != "" {
			t.Errorf("If-None-Match %s: %d %v %q", inm, res.StatusCode, res.Header, b)
		}
	}
	if got := f.Boundaries.Reads.Load() + f.Places.Reads.Load(); got != reads {
		t.Errorf("304 cost %d reads", got-reads)
	}
	for _, inm := range []string{`"x"`, strings.Trim(etag, `"`), ""} {
		if res := f.Get(path, "If-None-Match", inm); res.StatusCode != http.StatusOK {
			t.Errorf("If-None-Match %s: %d, want 200", inm, res.StatusCode)
		}
	}

	f.Publish(ask.Places.Name)
	f.Poll()
	if res := f.Get(path, "If-None-Match", etag); res.StatusCode != http.StatusOK {
		t.Errorf("old tag after new places: %d, want 200", res.StatusCode)
	}
	country := f.Get("/tiles/country/3/4/2.mvt").Header.Get("Etag")
	if seen[country] != "/tiles/country/3/4/2.mvt" {
		t.Error("new places changed the tag of a tile without them")
	}
	f.Publish(ask.Boundaries.Name)
	f.Poll()
	if got := f.Get("/tiles/country/3/4/2.mvt").Header.Get("Etag"); got == country {
		t.Error("new boundaries did not change the tag")
	}
}

func TestTileCompression(t *testing.T) {
	f := servertest.New(t, nil, ask.Boundaries.Name)
	f.PublishRows(servertest.Regions(wavy))
	const path = "/tiles/country/1/0/0.mvt"
	large := servertest.Body(t, f.Get(path))
	readsBefore := f.Boundaries.Reads.Load()
	f.Serve() // with empty caches
	f.Boundaries.Reads.Store(0)
	for _, tt := range []struct {
		accept, want string
	}{
		{"", ""}, {"gzip", "gzip"}, {"gzip, deflate, br", "br"}, {"gzip, deflate, br, zstd", "br"}, {"br;q=0.5, GZIP;q=1",
			"gzip"}, {"br;q=1, GZIP;q=0.5", "br"}, {"gzip;q=0", ""},
		{"gzip; q=0.000", ""}, {"*", "gzip"}, {"*;q=0", ""}, {"identity", ""}, {"*, gzip;q=0", ""}, {"deflate, br", "br"}, {"zstd", "zstd"},
		{"x-gzip", "gzip"}, {"gzip;q=nonsense", "gzip"},
	} {
		for _, cached := range []bool{false, true} {
			res := f.Get(path, "Accept-Encoding", tt.accept)
			b := servertest.Body(t, res)
			if res.Header.Get("Content-Length") != fmt.Sprint(len(b)) || res.Header.Get("Vary") != "Accept-Encoding" {
				t.Errorf("%q: headers %v of %d bytes", tt.accept, res.Header, len(b))
			}
			if got := res.Header.Get("Content-Encoding"); got != tt.want {
				t.Errorf("%q (cached: %v): content encoding %q", tt.accept, cached, got)
			}
			if servertest.Unpack(t, res.Header.Get("Content-Encoding"), b) != large {
				t.Errorf("%q: other bytes", tt.accept)
			}
		}
	}
	if got := f.Boundaries.Reads.Load(); got != 4*readsBefore {
		t.Errorf("%d reads of one tile in four codings, want %d for each", got, readsBefore)
	}
	if res := f.Get("/tiles/country/5/10/15.mvt", "Accept-Encoding", "gzip"); res.Header.Get("Content-Encoding") != "" ||
		res.Header.Get("Vary") != "" {
		t.Errorf("small body: %v", res.Header)
	}
	// The answer to HEAD has the same headers as that to GET.
	get, head := f.Get(path, "Accept-Encoding", "gzip"), f.Do("HEAD", path, "Accept-Encoding", "gzip")
	if b := servertest.Body(t, head); b != "" || fmt.Sprint(get.Header) != fmt.Sprint(head.Header) {
		t.Errorf("HEAD: %v %q, GET: %v", head.Header, b, get.Header)
	}
}

// wavy is a country around a smaller one. Its border takes kilobytes in tiles.
var wavy = func() build.Layer {
	var ring orb.Ring
	for i := range 720 {
		a := float64(i) * math.Pi / 360
		r := 30 + 3*math.Sin(a*40) + 0.1*math.Sin(a*300)
		ring = append(ring, orb.Point{-70 + r*math.Cos(a), 30 + r*math.Sin(a)})
	}
	return build.Layer{Type: "country", Features: []build.Feature{{ID: "wv", Name: "Wavy", Geometry: orb.Polygon{append(ring, ring[0])}}}}
}()

// Many requests for one tile make it once. A client that disconnects does not stop this for the
// others.
func TestTileShared(t *testing.T) {
	f := servertest.New(t, nil, ask.Boundaries.Name)
	const path = "/tiles/country/3/4/2.mvt"
	want := servertest.Body(t, f.Get(path))
	readsBefore := f.Boundaries.Reads.Load()
	f.Serve() // with empty caches
	f.Boundaries.Reads.Store(0)
	enter, leave := make(chan struct{}), make(chan struct{})
	var once sync.Once
	f.Boundaries.BeforeRead = func(ctx context.Context, _ string, _ []byte) error {
		once.Do(func() { close(enter) })
		<-leave
		return ctx.Err()
	}
	first, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	ask := func(ctx context.Context, check bool) {
		defer wg.Done()
		r, err := http.NewRequestWithContext(ctx, "GET", path, nil)
		if err != nil {
			t.Error(err)
			return
		}
		w := &recorder{header: http.Header{}}
		f.Handler.ServeHTTP(w, r)
		if check && (w.status != 200 || w.body.String() != want) {
			t.Errorf("%d %s", w.status, w.body.String())
		}
	}
	wg.Add(1)
	go ask(first, false)
	<-enter
	wg.Add(8)
	for range 8 {
		go ask(context.Background(), true)
	}
	cancel()
	time.Sleep(10 * time.Millisecond) // lets the others queue up; the result does not depend on it
	close(leave)
	wg.Wait()
	if got := f.Boundaries.Reads.Load(); got != readsBefore {
		t.Errorf("%d reads of the tile, want the %d of one that is made once", got, readsBefore)
	}
}

// recorder is a ResponseWriter with little overhead.
type recorder struct {
	header http.Header
	body   bytes.Buffer
	status int
}

func (w *recorder) Header() http.Header { return w.header }

func (w *recorder) WriteHeader(s int) { w.status = s }

func (w *recorder) Write(b []byte) (int, error) {
	return w.body.Write(b)
}

// TestSwapUnderLoad makes twenty swaps under load: no request fails, and no body mixes two
// generations or has the ETag of another generation.
func TestSwapUnderLoad(t *testing.T) {
	f := servertest.New(t, func(c *httpapi.Config) { c.ResponseCacheBytes = 64 << 10 })
	// A region and a place in every requested tile have the generation as their name.
	generation := func(n int) []*servertest.Rows {
		return []*servertest.Rows{
			servertest.Regions(build.Layer{
				Type:     "country",
				Features: []build.Feature{servertest.Region("aa", fmt.Sprint("Boundaries ", n), -180, 84.9, -179.9, 85)},
			}),
			servertest.Places([]places.Place{{
				ID:    2988507,
				Name:  fmt.Sprint("Places ", n),
				Class: "P",
				Code:  "PPLC",
				Lat:   84.95,
				Lon:   -179.95,
			}}, nil, places.Gazetteer{}),
		}
	}
	f.PublishRows(generation(1)...)
	var mu sync.Mutex
	bodies := map[string]string{} // by path and tag
	stop := make(chan struct{})
	var requests atomic.Int64
	var wg sync.WaitGroup
	for worker := range 4 {
		wg.Go(func() {
			for i := worker; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				path := fmt.Sprintf("/tiles/all/%d/0/0.geojson", i%12)
				if i%7 == 0 {
					path = "/places/2988507"
				}
				r, err := http.NewRequest("GET", path, nil)
				if err != nil {
					t.Error(err)
					return
				}
				w := &recorder{header: http.Header{}}
				f.Handler.ServeHTTP(w, r)
				if w.status != 200 {
					t.Errorf("%s: %d %s", path, w.status, w.body.String())
					return
				}
				requests.Add(1)
				key := path + w.header.Get("Etag")
				mu.Lock()
				if was, ok := bodies[key]; ok && was != w.body.String() {
					t.Errorf("one tag, two bodies: %s: %s and %s", key, was, w.body.String())
				}
				bodies[key] = w.body.String()
				mu.Unlock()
			}
		})
	}
	for n := 2; n <= 11; n++ {
		for _, rows := range generation(n) {
			f.PublishRows(rows)
		}
	}
	close(stop)
	wg.Wait()
	if b := servertest.Body(t, f.Get("/tiles/all/1/0/0.geojson")); !strings.Contains(b, "Boundaries 11") || !strings.Contains(b, "Places 11") {
		t.Errorf("after ten more of each: %s, want those of number 11", b)
	}
	t.Logf("%d requests", requests.Load())
}
