// Package jobtest has helpers for the tests of several jobs: an empty catalogue, a reporter that
// records, and rows of files.
package jobtest

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"quadrille/ask"
	"quadrille/cellstore"
	"quadrille/cellstore/dataset"
	"quadrille/cellstore/pebblestore"
	"quadrille/cmd/ingest/internal/job"
	"quadrille/cmd/ingest/internal/source"
)

// Catalog returns an empty catalogue.
func Catalog(t testing.TB) *dataset.Catalog {
	t.Helper()
	return CatalogIn(t, t.TempDir())
}

// CatalogIn returns the catalogue in a directory.
func CatalogIn(t testing.TB, dir string) *dataset.Catalog {
	t.Helper()
	c, err := dataset.Open(dir, func(_, dir string, readOnly bool) (cellstore.Store, error) {
		return pebblestore.Open(dir, &pebblestore.Options{ReadOnly: readOnly})
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Open opens the published generation of a data set until the test ends.
func Open[R any](t testing.TB, c *dataset.Catalog, d *ask.DatasetOf[R]) (R, *dataset.Generation) {
	t.Helper()
	g, err := c.OpenCurrent(t.Context(), d.Name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = g.Close() }) // only read
	if err := g.Manifest.CheckSchema(d.Schema); err != nil {
		t.Fatal(err)
	}
	r, err := d.Open(g)
	if err != nil {
		t.Fatal(err)
	}
	return r, g
}

// Recorder records the reports of a job.
type Recorder struct {
	job.SilentReporter
	mu        sync.Mutex
	Stages    []string
	Counts    map[string]int64
	Notes     []string
	Manifests []dataset.Manifest
}

// Progress implements Reporter.
func (r *Recorder) Progress(p job.Progress) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := len(r.Stages); n == 0 || r.Stages[n-1] != p.Stage {
		r.Stages = append(r.Stages, p.Stage)
	}
}

// BadRecords implements Reporter.
func (r *Recorder) BadRecords(reason string, count int64, _ []*source.BadRecord) {
	if r.Counts == nil {
		r.Counts = map[string]int64{}
	}
	r.Counts[reason] = count
}

// Note implements Reporter.
func (r *Recorder) Note(text string) { r.Notes = append(r.Notes, text) }

// Published implements Reporter.
func (r *Recorder) Published(m dataset.Manifest) { r.Manifests = append(r.Manifests, m) }

// Input returns a file of a test as an input.
func Input(path string) job.Input {
	return job.Input{Path: path, Credit: job.Credit{Name: "By hand", License: "CC0-1.0"}}
}

// Square returns a GeoJSON feature: a box with a side of size degrees.
func Square(id, name, more string, west, south, size float64) string {
	return fmt.Sprintf(`{"type":"Feature","properties":{"id":%q,"name":%q%s},"geometry":{"type":"Polygon","coordinates":[[[%g,%g],[%g,%g],[%g,%g],[%g,%g],[%g,%g]]]}}`,
		id, name, more, west, south, west+size, south, west+size, south+size, west, south+size, west, south)
}

// FeatureCollection returns a FeatureCollection of GeoJSON features.
func FeatureCollection(features ...string) string {
	return `{"type":"FeatureCollection","features":[` + strings.Join(features, ",") + `]}`
}

// ZoneSquares are two squares: one like Natural Earth's, named after one of its zones, and
// one that is a zone.
const ZoneSquares = `{"type":"FeatureCollection","features":[
{"type":"Feature","properties":{"time_zone":"UTC+01:00","zone":1,"tz_name1st":"Africa/Algiers"},"geometry":{"type":"Polygon","coordinates":[[[0,30],[20,30],[20,60],[0,60],[0,30]]]}},
{"type":"Feature","properties":{"tzid":"Pacific/Fiji"},"geometry":{"type":"Polygon","coordinates":[[[170,-30],[180,-30],[180,0],[170,0],[170,-30]]]}}]}`

// PackagesDir is the directory in which the packages of the sample are installed.
const PackagesDir = "../../../../../sample/node_modules"

// These are rows of places in the format of GeoNames.
const (
	RowBern = "2661552\tBern\tBern\tBerna,Berne\t46.94809\t7.44744\tP\tPPLC\tCH\t\tBE\t246\t351\t\t121631\t\t549\tEurope/Zurich\t2019-09-05"
	RowThun = "2658377\tThun\tThun\t\t46.75118\t7.62166\tP\tPPL\tCH\t\tBE\t\t\t\t42136\t\t-9999\tEurope/Zurich\t2020-01-02"
	RowSuva = "2198148\tSuva \"FJ\"\tSuva\t\t-18.14161\t178.44149\tP\tPPLC\tFJ\t\tC\t\t\t\t77366\t\t7\tPacific/Fiji\t2018-01-01"
)

// These are rows of airports in the format of OurAirports; RealAirports is the real file.
const (
	RealAirports  = "../../../../../../shared/data/airports/ourairports-airports.csv.gz"
	AirportHeader = "id,ident,type,name,latitude_deg,longitude_deg,elevation_ft,iso_country,iso_region,municipality,scheduled_service,icao_code,iata_code,gps_code,local_code,home_link,wikipedia_link,keywords\n"
	AirportBern   = `1,LSZZ,medium_airport,Bern Test,46.91,7.5,1674,CH,CH-BE,Bern,yes,LSZZ,ZZB,LSZZ,,https://example.org/,,"ZZB, Belp"` + "\n"
	AirportSuva   = "2,FJ-0001,small_airport,Suva Test,-18.1,178.5,,FJ,FJ-C,,no,,,,ZZB,,,\n"
)

// These are rows of stations in the format of NOAA.
const (
	StationsHead = `"USAF","WBAN","STATION NAME","CTRY","STATE","ICAO","LAT","LON","ELEV(M)","BEGIN","END"` + "\n"
	RowZurich    = `"066600","99999","ZURICH <TOWN>","SZ","","","+47.383","+008.567","+0569.0","19490101","20250525"` + "\n"
)
