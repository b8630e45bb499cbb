//go:build !race

package servertest_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"quadrille/cmd/tileserver/internal/archive/archivetest"
	"quadrille/cmd/tileserver/internal/httpapi"
	"quadrille/cmd/tileserver/internal/servertest"
	"quadrille/internal/testrace"
)

// A tile is sent as it is stored if the client accepts its coding. After unpacking, it is the same
// for all clients.
func TestBaseMapCodings(t *testing.T) {
	testrace.SkipUnderRace(t, "one request after the other, which TestEverythingAtOnce sends at once")
	f := servertest.NewBaseMaps(t, nil)
	for stored := range servertest.ArchiveCodings {
		for accepted, want := range map[string]map[string]string{
			"":                        {},
			"gzip":                    {"plain": "gzip", "gzip": "gzip", "br": "gzip", "zstd": "gzip"},
			"br":                      {"plain": "br", "gzip": "br", "br": "br", "zstd": "br"},
			"zstd":                    {"plain": "zstd", "gzip": "zstd", "br": "zstd", "zstd": "zstd"},
			"gzip, deflate, br, zstd": {"plain": "br", "gzip": "gzip", "br": "br", "zstd": "zstd"},
			"gzip;q=0, br;q=0":        {},
			"br;q=0.1, gzip;q=0.9":    {"plain": "gzip", "gzip": "gzip", "br": "br", "zstd": "gzip"},
		} {
			for range 2 { // made, and then cached
				res := f.Get("/basemap/"+stored+"/1/0/0.mvt", "Accept-Encoding", accepted)
				if got := res.Header.Get("Content-Encoding"); res.StatusCode != 200 || got != want[stored] ||
					res.Header.Get("Vary") != "Accept-Encoding" {
					t.Errorf("%s for %q: %d, coding %q, want %q, %v", stored, accepted, res.StatusCode, got, want[stored], res.Header)
				}
				if servertest.Unpack(t, res.Header.Get("Content-Encoding"),
					servertest.Body(t, res)) != string(bytes.Repeat(servertest.CoastTile, 50)) {
					t.Errorf("%s for %q: other bytes", stored, accepted)
				}
				if again := f.Get("/basemap/"+stored+"/1/0/0.mvt", "Accept-Encoding", accepted, "If-None-Match",
					res.Header.Get("Etag")); again.StatusCode != http.StatusNotModified {
					t.Errorf("%s for %q: %d for its own tag", stored, accepted, again.StatusCode)
				}
			}
		}
	}
}

func TestBaseMapTiles(t *testing.T) {
	testrace.SkipUnderRace(t, "one request after the other, which TestEverythingAtOnce sends at once")
	f := servertest.NewBaseMaps(t, nil)
	for path, want := range map[string]string{
		"/basemap/gzip/0/0/0.mvt": "application/vnd.mapbox-vector-tile",
		"/basemap/gzip/0/0/0.pbf": "application/vnd.mapbox-vector-tile",
		"/basemap/red/0/0/0.png":  "image/png",
	} {
		res := f.Get(path, "Accept-Encoding", "gzip")
		if res.StatusCode != 200 || res.Header.Get("Content-Type") != want || res.Header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %d %v", path, res.StatusCode, res.Header)
		}
		if head := f.Do(http.MethodHead, path, "Accept-Encoding",
			"gzip"); head.Header.Get("Content-Length") != res.Header.Get("Content-Length") || servertest.Body(t, head) != "" {
			t.Errorf("HEAD %s: %v", path, head.Header)
		}
	}
	for path, want := range map[string]struct {
		status int
		typ    string
	}{
		"/basemap/none/0/0/0.mvt":   {404, "unknown-basemap"},
		"/basemap/gzip/00/0/0.mvt":  {404, "tile-outside"},
		"/basemap/gzip/0/-0/0.mvt":  {404, "tile-outside"},
		"/basemap/none.json":        {404, "unknown-basemap"},
		"/basemap/gzip.xml":         {404, "not-found"},
		"/basemap/gzip/0/0/0.png":   {404, "unknown-format"},
		"/basemap/gzip/0/0/0":       {404, "unknown-format"},
		"/basemap/gzip/0/0/0.x.mvt": {404, "unknown-format"},
		"/basemap/red/0/0/0.jpg":    {404, "unknown-format"},
		"/basemap/gzip/1/2/0.mvt":   {404, "tile-outside"},
		"/basemap/gzip/23/0/0.mvt":  {404, "tile-outside"},
		"/basemap/gzip/a/0/0.mvt":   {400, "bad-parameter"},
		"/basemap/gzip/0/0/0.mvt?a": {400, "bad-parameter"},
	} {
		if res := f.Get(path); res.StatusCode != want.status {
			t.Errorf("%s: %d, want %d", path, res.StatusCode, want.status)
		} else {
			servertest.WantProblem(t, res, want.status, want.typ)
		}
	}
	for range 2 { // failures are not cached
		servertest.WantProblem(t, f.Get("/basemap/bad/1/0/0.mvt"), 500, "basemap-damaged")
		servertest.WantProblem(t, f.Get("/basemap/bad/1/1/0.mvt", "Accept-Encoding", "br"), 500, "basemap-damaged")
	}
	for mode, statuses := range map[int][2]int{0: {204, 204}, 204: {204, 204}, 200: {200, 204}, 404: {404, 404}} {
		f := servertest.NewBaseMaps(t, func(c *httpapi.Config) { c.EmptyTile = mode })
		for i, path := range []string{"/basemap/gzip/1/0/1.mvt", "/basemap/red/5/0/1.png"} {
			for range 2 {
				if res := f.Get(path); res.StatusCode != statuses[i] || res.StatusCode < 300 && servertest.Body(t, res) != "" {
					t.Errorf("%s with %d: %d", path, mode, res.StatusCode)
				}
			}
		}
	}
}

// A replaced file gives another answer. A file that is truncated in place gives errors, except for
// tiles in the cache.
func TestBaseMapReplaced(t *testing.T) {
	f := servertest.NewBaseMaps(t, nil)
	const kept = "/basemap/gzip/0/0/0.mvt"
	before := f.Get(kept)
	path := filepath.Join(f.Dir, "gzip.pmtiles")
	p := archivetest.PMTiles{Internal: archivetest.Gzip, Tiles: archivetest.Gzip, Type: 1}
	archivetest.Write(t, path, p.Bytes([]archivetest.Tile{{Data: archivetest.Pack(archivetest.Gzip, archivetest.Vector("new"))}}))
	f.Look()
	after := f.Get(kept)
	if servertest.Body(t, after) != string(archivetest.Vector("new")) || after.Header.Get("Etag") == before.Header.Get("Etag") {
		t.Errorf("after the file was replaced: %v", after.Header)
	}
	if err := os.Truncate(path, 130); err != nil {
		t.Fatal(err)
	}
	if res := f.Get(kept); res.StatusCode != 200 {
		t.Errorf("a tile that is kept: %d", res.StatusCode)
	}
	servertest.WantProblem(t, f.Get(kept, "Accept-Encoding", "br"), http.StatusServiceUnavailable, "basemap-changing")
	f.Look()
	var status struct {
		BaseMaps []struct{ Name, State string }
	}
	if err := json.Unmarshal([]byte(servertest.Body(t, f.Get("/status"))), &status); err != nil || len(status.BaseMaps) != 6 {
		t.Fatal(status, err)
	}
	for _, m := range status.BaseMaps {
		if want := map[bool]string{true: "damaged", false: "serving"}[m.Name == "gzip"]; m.State != want {
			t.Errorf("%s is %s", m.Name, m.State)
		}
	}
	if page := servertest.Body(t, f.Get("/status", "Accept", "text/html")); !strings.Contains(page, "Base maps") ||
		strings.Contains(page, "<img") || strings.Contains(page, `="javascript:`) {
		t.Errorf("the page of the status: %s", page)
	}
}

// TestBaseMapTexts tests that the server does not trust texts of archives, which come from third
// parties.
func TestBaseMapTexts(t *testing.T) {
	testrace.SkipUnderRace(t, "one request after the other, which TestEverythingAtOnce sends at once")
	f := servertest.NewBaseMaps(t, nil)
	var doc struct {
		Name, Description, Attribution string
		Tiles                          []string
		VectorLayers                   []struct {
			ID     string
			Fields map[string]string
		} `json:"vector_layers"`
	}
	text := servertest.Body(t, f.Get("/basemap/gzip.json"))
	if err := json.Unmarshal([]byte(text), &doc); err != nil || strings.ContainsAny(text, "<>") {
		t.Fatalf("%v: %s", err, text)
	}
	if want := `&amp;me <a href="https://example.org/?a=1&amp;b=%3C" target="_blank" rel="noopener">them</a>`; doc.Attribution != strings.ReplaceAll(want, "%3C", "&lt;") && doc.Attribution != want {
		t.Errorf("attribution %s", doc.Attribution)
	}
	if len(doc.Tiles) != 1 || doc.Tiles[0] != "http://example.com/basemap/gzip/{z}/{x}/{y}.mvt" || len(doc.VectorLayers) != 2 ||
		strings.ContainsAny(doc.Name, "\x00\u202e") {
		t.Errorf("%+v", doc)
	}
}

// Base maps are drawn below the borders, and regions do not cover them.
func TestBaseMapStyle(t *testing.T) {
	testrace.SkipUnderRace(t, "one request after the other, which TestEverythingAtOnce sends at once")
	f := servertest.NewBaseMaps(t, nil)
	type layer struct{ ID, Type, Source string }
	var style struct {
		Sources map[string]struct {
			Type, URL string
			TileSize  int
		}
		Layers []layer
	}
	ask := func(query string) {
		t.Helper()
		style.Sources, style.Layers = nil, nil
		if err := json.Unmarshal([]byte(servertest.Body(t, f.Get("/style.json?layers=country&"+query))), &style); err != nil {
			t.Fatal(err)
		}
	}
	ask("basemap=gzip,red&names=false")
	want := []layer{
		{"background", "background", ""},
		{"basemap:gzip:water_fill", "fill", "basemap:gzip"}, {"basemap:gzip:water_line", "line",
			"basemap:gzip"}, {"basemap:gzip:roads_line", "line", "basemap:gzip"},
		{"basemap:red", "raster", "basemap:red"}, {"country_line", "line", "quadrille"},
		{"country_disputed", "line", "quadrille"}, {"country_coast", "line", "quadrille"},
	}
	if fmt.Sprint(style.Layers) != fmt.Sprint(want) {
		t.Errorf("layers\n%v, want\n%v", style.Layers, want)
	}
	if s := style.Sources["basemap:red"]; len(style.Sources) != 3 || s.Type != "raster" || s.TileSize != 256 ||
		s.URL != "http://example.com/basemap/red.json" {
		t.Errorf("sources %+v", style.Sources)
	}
	if ask(""); len(style.Sources) != 7 {
		t.Errorf("all: %+v", style.Sources)
	}
	if ask("basemap=none"); len(style.Sources) != 1 || style.Layers[1].ID != "country" {
		t.Errorf("none: %+v", style)
	}
	servertest.WantProblem(t, f.Get("/style.json?basemap=gzip,nowhere"), 400, "bad-parameter")
}

func TestBaseMapMetrics(t *testing.T) {
	testrace.SkipUnderRace(t, "one request after the other, which TestEverythingAtOnce sends at once")
	f := servertest.NewBaseMaps(t, nil)
	f.Get("/basemap/bad/1/0/0.mvt")
	for range 2 {
		f.Get("/basemap/red/0/0/0.png")
	}
	f.Look()
	for name, want := range map[string]float64{
		`quadrille_basemap_read_failures_total{basemap=bad}`:  1,
		`quadrille_basemap_damaged{basemap=bad}`:              1,
		`quadrille_basemap_stale{basemap=red}`:                0,
		`quadrille_response_cache_hits_total{cache=basemaps}`: 1,
	} {
		if got, ok := f.Scrape()[name]; !ok || got != want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
}

func BenchmarkBaseMapKept(b *testing.B) {
	f := servertest.NewBaseMaps(b, func(c *httpapi.Config) { c.ResponseCacheBytes = 16 << 20 })
	servertest.BenchHandler(b, f.Handler, http.Header{"Accept-Encoding": {"gzip"}}, "/basemap/gzip/1/0/0.mvt")
}

func BenchmarkBaseMapRead(b *testing.B) {
	f := servertest.NewBaseMaps(b, func(c *httpapi.Config) { c.ResponseCacheBytes = 0 })
	servertest.BenchHandler(b, f.Handler, http.Header{"Accept-Encoding": {"gzip"}}, "/basemap/gzip/1/0/0.mvt")
}
