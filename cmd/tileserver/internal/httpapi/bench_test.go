package httpapi_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/labstack/echo/v4"

	"quadrille/cmd/internal/toyworld"
	"quadrille/cmd/tileserver/internal/httpapi"
	"quadrille/cmd/tileserver/internal/servertest"
)

func addressPaths() []string {
	paths := make([]string, 1000)
	for i := range paths {
		paths[i] = "/ip/" + toyworld.Address(i*31).String()
	}
	return paths
}

func BenchmarkTileKept(b *testing.B) {
	servertest.BenchHandler(b, servertest.NewBenchWorld(b).Handler, nil, servertest.HotMVT)
}

func BenchmarkTileKeptOGC(b *testing.B) {
	servertest.BenchHandler(b, servertest.NewBenchWorld(b).Handler, nil, "/ogc/collections/country/tiles/WebMercatorQuad/6/22/33?f=mvt")
}

func BenchmarkTileKeptMLT(b *testing.B) {
	servertest.BenchHandler(b, servertest.NewBenchWorld(b).Handler, nil, strings.TrimSuffix(servertest.HotMVT, ".mvt")+".mlt")
}

func BenchmarkTileKeptGzip(b *testing.B) {
	servertest.BenchHandler(b, servertest.NewBenchWorld(b).Handler, http.Header{"Accept-Encoding": {"gzip, deflate, br"}}, servertest.HotMVT)
}

func BenchmarkTileNotModified(b *testing.B) {
	w := servertest.NewBenchWorld(b)
	servertest.BenchHandler(b, w.Handler, http.Header{"If-None-Match": {w.Get(servertest.HotMVT).Header.Get("Etag")}}, servertest.HotMVT)
}

// BenchmarkTileRead reads every tile from the store, whose blocks are cached.
func BenchmarkTileRead(b *testing.B) {
	w := servertest.NewBenchWorld(b)
	w.Config.ResponseCacheBytes = 0
	servertest.BenchHandler(b, httpapi.New(w.Config), nil, servertest.HotMVT, servertest.HotGeoJSON)
}

func BenchmarkRegionsAt(b *testing.B) {
	servertest.BenchHandler(b, servertest.NewBenchWorld(b).Handler, nil, "/regions/at?lat=47.123&lon=4.567", "/regions/at?lat=48.5&lon=6.1")
}

func BenchmarkNearby(b *testing.B) {
	servertest.BenchHandler(b, servertest.NewBenchWorld(b).Handler, nil, "/places/nearby?lat=47.123&lon=4.567",
		"/places/nearby?lat=48&lon=6&class=P&country=EE")
}

func BenchmarkIP(b *testing.B) {
	servertest.BenchHandler(b, servertest.NewBenchWorld(b).Handler, nil, addressPaths()...)
}

// BenchmarkBareEcho is the baseline for the cached tile: echo writes the same bytes.
func BenchmarkBareEcho(b *testing.B) {
	servertest.BenchHandler(b, bareEcho(servertest.Body(b, servertest.NewBenchWorld(b).Get(servertest.HotMVT))), nil, servertest.HotMVT)
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

func BenchmarkHTTPTile(b *testing.B) {
	benchHTTP(b, servertest.NewBenchWorld(b).Handler, servertest.HotMVT)
}

func BenchmarkHTTPTileBare(b *testing.B) {
	benchHTTP(b, bareEcho(servertest.Body(b, servertest.NewBenchWorld(b).Get(servertest.HotMVT))), servertest.HotMVT)
}

func BenchmarkHTTPIP(b *testing.B) {
	benchHTTP(b, servertest.NewBenchWorld(b).Handler, addressPaths()...)
}

func BenchmarkHTTPIPBare(b *testing.B) {
	benchHTTP(b, bareEcho(servertest.Body(b, servertest.NewBenchWorld(b).Get(addressPaths()[0]))), addressPaths()...)
}

// benchGlobe returns a server with a response cache, on which a search for "sant" finds ten places.
func benchGlobe(b *testing.B) *servertest.Server {
	g := servertest.NewGlobe(b, func(c *httpapi.Config) { c.ResponseCacheBytes = 16 << 20 })
	list := slices.Clone(servertest.GlobePlaces)
	for i := range list {
		list[i].Name = "Santa " + list[i].Name
	}
	g.PublishRows(servertest.Places(list, nil, servertest.GlobeGazetteer))
	return g
}

const hotSearch = "/places/search?q=sant"

func BenchmarkSearchKept(b *testing.B) {
	servertest.BenchHandler(b, benchGlobe(b).Handler, nil, hotSearch)
}

func BenchmarkSearchKeptGzip(b *testing.B) {
	servertest.BenchHandler(b, benchGlobe(b).Handler, http.Header{"Accept-Encoding": {"gzip, deflate, br"}}, hotSearch)
}

func BenchmarkSearchBare(b *testing.B) {
	servertest.BenchHandler(b, bareEcho(servertest.Body(b, benchGlobe(b).Get(hotSearch))), nil, hotSearch)
}

func BenchmarkHTTPSearch(b *testing.B) { benchHTTP(b, benchGlobe(b).Handler, hotSearch) }

func BenchmarkHTTPSearchBare(b *testing.B) {
	benchHTTP(b, bareEcho(servertest.Body(b, benchGlobe(b).Get(hotSearch))), hotSearch)
}

func BenchmarkAt(b *testing.B) {
	servertest.BenchHandler(b, servertest.NewBenchWorld(b).Handler, nil, "/at?lat=47.123&lon=4.567",
		"/at?lat=48.5&lon=6.1&at=2026-07-01T12:00:00Z")
}

func BenchmarkGeonamesNearby(b *testing.B) {
	servertest.BenchHandler(b, servertest.NewBenchWorld(b).Handler, nil, "/findNearbyPlaceNameJSON?lat=47.123&lng=4.567")
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
