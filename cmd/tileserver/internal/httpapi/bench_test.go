package httpapi

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/labstack/echo/v4"

	"quadrille/cmd/internal/toyworld"
)

// The benchmarks below measure the handlers without a network; those named
// HTTP with one, over a connection that stays open, server and client in one
// process. For the comparison that counts, with processes of their own, see
// cmd/bench/httpbench.

func newBenchWorld(b *testing.B) *world {
	w := newWorld(b)
	w.cfg.ResponseCacheBytes = 16 << 20
	w.handler = New(w.cfg)
	return w
}

func benchHandler(b *testing.B, h http.Handler, headers http.Header, paths ...string) {
	b.Helper()
	requests := make([]*http.Request, len(paths))
	for i, p := range paths {
		requests[i] = httptest.NewRequest("GET", p, nil)
		for name, v := range headers {
			requests[i].Header[name] = v
		}
	}
	out := &discard{header: http.Header{}}
	for _, r := range requests {
		h.ServeHTTP(out, r)
	}
	b.ReportAllocs()
	out.bytes = 0
	for i := 0; b.Loop(); i++ {
		clear(out.header)
		h.ServeHTTP(out, requests[i%len(requests)])
	}
	b.ReportMetric(float64(out.bytes)/float64(b.N), "B/answer")
}

const (
	hotMVT     = "/tiles/country/6/33/22.mvt"
	hotGeoJSON = "/tiles/country,state/11/1058/711.geojson"
)

func addressPaths() []string {
	paths := make([]string, 1000)
	for i := range paths {
		paths[i] = "/ip/" + toyworld.Address(i*31).String()
	}
	return paths
}

func BenchmarkTileKept(b *testing.B) { benchHandler(b, newBenchWorld(b).handler, nil, hotMVT) }
func BenchmarkTileKeptOGC(b *testing.B) {
	benchHandler(b, newBenchWorld(b).handler, nil, "/ogc/collections/country/tiles/WebMercatorQuad/6/22/33?f=mvt")
}
func BenchmarkTileKeptMLT(b *testing.B) {
	benchHandler(b, newBenchWorld(b).handler, nil, strings.TrimSuffix(hotMVT, ".mvt")+".mlt")
}
func BenchmarkTileKeptGzip(b *testing.B) {
	benchHandler(b, newBenchWorld(b).handler, http.Header{"Accept-Encoding": {"gzip, deflate, br"}}, hotMVT)
}
func BenchmarkTileNotModified(b *testing.B) {
	w := newBenchWorld(b)
	benchHandler(b, w.handler, http.Header{"If-None-Match": {w.get(hotMVT).Header.Get("Etag")}}, hotMVT)
}

// BenchmarkTileRead reads every tile from the store, whose blocks are cached.
func BenchmarkTileRead(b *testing.B) {
	w := newBenchWorld(b)
	w.cfg.ResponseCacheBytes = 0
	benchHandler(b, New(w.cfg), nil, hotMVT, hotGeoJSON)
}
func BenchmarkRegionsAt(b *testing.B) {
	benchHandler(b, newBenchWorld(b).handler, nil, "/regions/at?lat=47.123&lon=4.567", "/regions/at?lat=48.5&lon=6.1")
}
func BenchmarkNearby(b *testing.B) {
	benchHandler(b, newBenchWorld(b).handler, nil, "/places/nearby?lat=47.123&lon=4.567", "/places/nearby?lat=48&lon=6&class=P&country=EE")
}
func BenchmarkIP(b *testing.B) { benchHandler(b, newBenchWorld(b).handler, nil, addressPaths()...) }

// BenchmarkBareEcho is the comparator of the kept tile: echo writing the same
// bytes.
func BenchmarkBareEcho(b *testing.B) {
	benchHandler(b, bareEcho(body(b, newBenchWorld(b).get(hotMVT))), nil, hotMVT)
}

func bareEcho(text string) http.Handler {
	b := []byte(text)
	e := echo.New()
	e.Logger.SetOutput(io.Discard)
	h := func(c echo.Context) error {
		c.Response().Header().Set(echo.HeaderContentLength, strconv.Itoa(len(b)))
		return c.Blob(http.StatusOK, "application/vnd.mapbox-vector-tile", b)
	}
	e.GET("/tiles/:layers/:z/:x/:file", h)
	e.GET("/ip/:addr", h)
	e.GET("/places/search", h)
	return e
}

func BenchmarkHTTPTile(b *testing.B) { benchHTTP(b, newBenchWorld(b).handler, hotMVT) }
func BenchmarkHTTPTileBare(b *testing.B) {
	benchHTTP(b, bareEcho(body(b, newBenchWorld(b).get(hotMVT))), hotMVT)
}
func BenchmarkHTTPIP(b *testing.B) { benchHTTP(b, newBenchWorld(b).handler, addressPaths()...) }
func BenchmarkHTTPIPBare(b *testing.B) {
	benchHTTP(b, bareEcho(body(b, newBenchWorld(b).get(addressPaths()[0]))), addressPaths()...)
}

// benchGlobe keeps a stored answer of ten places for "sant".
func benchGlobe(b *testing.B) *globe {
	g := newGlobe(b, func(c *Config) { c.ResponseCacheBytes = 16 << 20 })
	var list []string
	for i := range 10 {
		r := g.places.gazetteer.rows[i]
		list = append(list, "{"+string(r.members())+`,"match":{"kind":"prefix","highlight":[0,3]}}`)
	}
	g.places.completions = map[string]string{"sant": `{"places":[` + strings.Join(list, ",") + "]}"}
	return g
}

const hotSearch = "/places/search?q=sant"

func BenchmarkSearchKept(b *testing.B) { benchHandler(b, benchGlobe(b).handler, nil, hotSearch) }
func BenchmarkSearchKeptGzip(b *testing.B) {
	benchHandler(b, benchGlobe(b).handler, http.Header{"Accept-Encoding": {"gzip, deflate, br"}}, hotSearch)
}
func BenchmarkSearchBare(b *testing.B) {
	benchHandler(b, bareEcho(body(b, benchGlobe(b).get(hotSearch))), nil, hotSearch)
}
func BenchmarkHTTPSearch(b *testing.B) { benchHTTP(b, benchGlobe(b).handler, hotSearch) }
func BenchmarkHTTPSearchBare(b *testing.B) {
	benchHTTP(b, bareEcho(body(b, benchGlobe(b).get(hotSearch))), hotSearch)
}
func BenchmarkAt(b *testing.B) {
	benchHandler(b, newBenchWorld(b).handler, nil, "/at?lat=47.123&lon=4.567", "/at?lat=48.5&lon=6.1&at=2026-07-01T12:00:00Z")
}
func BenchmarkGeonamesNearby(b *testing.B) {
	benchHandler(b, newBenchWorld(b).handler, nil, "/findNearbyPlaceNameJSON?lat=47.123&lng=4.567")
}

// benchHTTP sends requests one after another over one connection.
func benchHTTP(b *testing.B, h http.Handler, paths ...string) {
	b.Helper()
	s := httptest.NewServer(h)
	defer s.Close()
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.URL, "http://"))
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close()
	requests := make([][]byte, len(paths))
	for i, p := range paths {
		requests[i] = fmt.Appendf(nil, "GET %s HTTP/1.1\r\nHost: a\r\n\r\n", p)
	}
	r := bufio.NewReaderSize(conn, 64<<10)
	total := 0
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if _, err := conn.Write(requests[i%len(requests)]); err != nil {
			b.Fatal(err)
		}
		size := -1
		for {
			line, err := r.ReadSlice('\n')
			if err != nil {
				b.Fatal(err)
			}
			if v, ok := bytes.CutPrefix(line, []byte("Content-Length: ")); ok {
				if size, err = strconv.Atoi(string(bytes.TrimSpace(v))); err != nil {
					b.Fatal(err)
				}
			}
			if len(line) == 2 {
				break
			}
		}
		if _, err := r.Discard(size); err != nil {
			b.Fatal(err)
		}
		total += size
	}
	b.ReportMetric(float64(total)/float64(b.N), "B/answer")
}
