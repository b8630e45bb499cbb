// Package jobtest holds what the tests of several jobs need: an empty catalogue, a
// reporter that keeps what it is told, and rows of files.
package job

import (
	"archive/zip"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"quadrille/cellstore"
	"quadrille/cellstore/dataset"
	"quadrille/cellstore/pebblestore"
	"quadrille/cmd/ingest/internal/source"
	"quadrille/cmd/internal/catalogue"
)

// newCatalog is an empty catalogue.
func newCatalog(t testing.TB) *dataset.Catalog {
	t.Helper()
	return catalogIn(t, t.TempDir())
}

// catalogIn is the catalogue in a directory.
func catalogIn(t testing.TB, dir string) *dataset.Catalog {
	t.Helper()
	c, err := dataset.Open(dir, func(_, dir string, readOnly bool) (cellstore.Store, error) {
		return pebblestore.Open(dir, &pebblestore.Options{ReadOnly: readOnly})
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// openPublished opens what is published of a data set until the test ends.
func openPublished[R any](t testing.TB, c *dataset.Catalog, d catalogue.Of[R]) (R, *dataset.Generation) {
	t.Helper()
	g, err := c.OpenCurrent(t.Context(), d.Name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.Close() })
	if err := g.Manifest.CheckSchema(d.Schema); err != nil {
		t.Fatal(err)
	}
	r, err := d.Open(g)
	if err != nil {
		t.Fatal(err)
	}
	return r, g
}

// recorder keeps what a job reports.
type recorder struct {
	Silent
	mu        sync.Mutex
	stages    []string
	bad       map[string]int64
	notes     []string
	published []dataset.Manifest
}

// Progress implements Reporter.
func (r *recorder) Progress(p Progress) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := len(r.stages); n == 0 || r.stages[n-1] != p.Stage {
		r.stages = append(r.stages, p.Stage)
	}
}

// Bad implements Reporter.
func (r *recorder) Bad(reason string, count int64, _ []*source.BadRecord) {
	if r.bad == nil {
		r.bad = map[string]int64{}
	}
	r.bad[reason] = count
}

// Note implements Reporter.
func (r *recorder) Note(text string) { r.notes = append(r.notes, text) }

// Published implements Reporter.
func (r *recorder) Published(m dataset.Manifest) { r.published = append(r.published, m) }

// write writes a file of a name and returns its path.
func write(t testing.TB, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// packed dates what zipped packs.
var packed = time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC)

// zipped is a zip archive of members with these names and texts.
func zipped(t testing.TB, members ...[2]string) string {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, m := range members {
		w, err := z.CreateHeader(&zip.FileHeader{Name: m[0], Method: zip.Deflate, Modified: packed})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(m[1])); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// madeByHand is a file of a test.
func madeByHand(path string) Input {
	return Input{Path: path, Credit: Credit{Name: "By hand", License: "CC0-1.0"}}
}

// square is a GeoJSON feature: a box with a side of size degrees.
func square(id, name, more string, west, south, size float64) string {
	return fmt.Sprintf(`{"type":"Feature","properties":{"id":%q,"name":%q%s},"geometry":{"type":"Polygon","coordinates":[[[%g,%g],[%g,%g],[%g,%g],[%g,%g],[%g,%g]]]}}`,
		id, name, more, west, south, west+size, south, west+size, south+size, west, south+size, west, south)
}

// collect is the collection of GeoJSON features.
func collect(features ...string) string {
	return `{"type":"FeatureCollection","features":[` + strings.Join(features, ",") + `]}`
}

// zoneSquares are a square of Natural Earth's kind, named for one of its zones, and one of a
// zone of its own.
const zoneSquares = `{"type":"FeatureCollection","features":[
{"type":"Feature","properties":{"time_zone":"UTC+01:00","zone":1,"tz_name1st":"Africa/Algiers"},"geometry":{"type":"Polygon","coordinates":[[[0,30],[20,30],[20,60],[0,60],[0,30]]]}},
{"type":"Feature","properties":{"tzid":"Pacific/Fiji"},"geometry":{"type":"Polygon","coordinates":[[[170,-30],[180,-30],[180,0],[170,0],[170,-30]]]}}]}`

// packages is where the packages of the sample are installed.
const packages = "../../../../sample/node_modules"

// Places, as GeoNames has them.
const (
	rowBern = "2661552\tBern\tBern\tBerna,Berne\t46.94809\t7.44744\tP\tPPLC\tCH\t\tBE\t246\t351\t\t121631\t\t549\tEurope/Zurich\t2019-09-05"
	rowThun = "2658377\tThun\tThun\t\t46.75118\t7.62166\tP\tPPL\tCH\t\tBE\t\t\t\t42136\t\t-9999\tEurope/Zurich\t2020-01-02"
	rowSuva = "2198148\tSuva \"FJ\"\tSuva\t\t-18.14161\t178.44149\tP\tPPLC\tFJ\t\tC\t\t\t\t77366\t\t7\tPacific/Fiji\t2018-01-01"
)

// Airports, as OurAirports has them; RealAirports is its file.
const (
	realAirports = "../../../../../shared/data/airports/ourairports-airports.csv.gz"
	airportHead  = "id,ident,type,name,latitude_deg,longitude_deg,elevation_ft,iso_country,iso_region,municipality,scheduled_service,icao_code,iata_code,gps_code,local_code,home_link,wikipedia_link,keywords\n"
	airportBern  = `1,LSZZ,medium_airport,Bern Test,46.91,7.5,1674,CH,CH-BE,Bern,yes,LSZZ,ZZB,LSZZ,,https://example.org/,,"ZZB, Belp"` + "\n"
	airportSuva  = "2,FJ-0001,small_airport,Suva Test,-18.1,178.5,,FJ,FJ-C,,no,,,,ZZB,,,\n"
)

// Stations, as NOAA has them.
const (
	stationsHead = `"USAF","WBAN","STATION NAME","CTRY","STATE","ICAO","LAT","LON","ELEV(M)","BEGIN","END"` + "\n"
	rowZurich    = `"066600","99999","ZURICH <TOWN>","SZ","","","+47.383","+008.567","+0569.0","19490101","20250525"` + "\n"
)
