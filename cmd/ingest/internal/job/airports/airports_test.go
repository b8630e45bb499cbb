package airports

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"quadrille/ask"
	"quadrille/cellstore/dataset"
	"quadrille/cmd/ingest/internal/job"
	"quadrille/cmd/ingest/internal/job/boundaries"
	"quadrille/cmd/ingest/internal/job/jobtest"
	placesjob "quadrille/cmd/ingest/internal/job/places"
	"quadrille/cmd/ingest/internal/job/timezones"
	"quadrille/cmd/ingest/internal/source"
	"quadrille/cmd/ingest/internal/source/ourairports"
	"quadrille/cmd/internal/testfile"
	"quadrille/feature"
	"quadrille/internal/testrace"
	"quadrille/places"
	"quadrille/places/airports"
	"quadrille/quadkey"
)

const sampleAirports = "../../../../../sample/airports.csv"

// openAirports opens the published airports.
func openAirports(t *testing.T, c *dataset.Catalog) (*airports.Finder, dataset.Manifest) {
	t.Helper()
	f, g := jobtest.Open(t, c, ask.Airports)
	return f, g.Manifest
}

func lookup(t *testing.T, f *airports.Finder, code string) map[string]any {
	t.Helper()
	var r airports.Record
	if err := f.Lookup(t.Context(), code, &r); err != nil {
		t.Fatalf("%s: %v", code, err)
	}
	var doc map[string]any
	if err := json.Unmarshal(r.JSON, &doc); err != nil {
		t.Fatal(err)
	}
	return doc
}

func TestAirports(t *testing.T) {
	path := testfile.WriteTemp(t, "airports.csv",
		jobtest.AirportHeader+jobtest.AirportBern+"junk\n"+jobtest.AirportSuva+strings.Replace(jobtest.AirportSuva,
			"2,FJ-0001", "3,FJ-0002", 1))
	c := jobtest.Catalog(t)
	rep := &jobtest.Recorder{}
	released := time.Date(2026, 5, 11, 0, 0, 0, 0, time.UTC)
	m, err := Ingest(t.Context(), c, job.Input{
		Path:   path,
		Credit: job.Credit{Name: "OurAirports", License: "public domain", Released: released},
	}, job.Options{Reporter: rep, MaxBad: 0.5})
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(map[string]int64{"airports": 3, "codes": 6}, m.Records); diff != "" {
		t.Error(diff)
	}
	if diff := gocmp.Diff(map[string]int64{"not as many columns as the header": 1}, m.Bad); diff != "" {
		t.Error(diff)
	}
	if len(m.Sources) != 1 || m.Sources[0].Name != "OurAirports" || m.Sources[0].File != "airports.csv" ||
		!m.Sources[0].Modified.Equal(released) || m.Sources[0].SHA256 == "" {
		t.Errorf("%+v", m.Sources)
	}
	wantNotes := []string{
		"1 codes belong to several airports: each finds the most important of them",
		"3 airports have no time zone: ingest places, or boundaries of type timezone, and then the airports again",
	}
	if diff := gocmp.Diff(wantNotes, rep.Notes); diff != "" {
		t.Error(diff)
	}
	f, _ := openAirports(t, c)
	bern := lookup(t, f, "zzb")
	want := map[string]any{
		"id":           1.0,
		"ident":        "LSZZ",
		"iata":         "ZZB",
		"icao":         "LSZZ",
		"gps":          "LSZZ",
		"name":         "Bern Test",
		"type":         "medium_airport",
		"municipality": "Bern",
		"country":      "CH", "region": "CH-BE", "scheduled": true, "lat": 46.91, "lon": 7.5, "elevation_m": 510.2,
		"keywords": []any{"ZZB", "Belp"}, "home": "https://example.org/",
	}
	if diff := gocmp.Diff(want, bern); diff != "" {
		t.Error(diff)
	}
}

// Airports at exactly 0, 0 are reported, or left out with DropZero.
func TestZeroAirports(t *testing.T) {
	path := testfile.WriteTemp(t, "airports.csv",
		jobtest.AirportHeader+jobtest.AirportBern+strings.Replace(jobtest.AirportSuva, "-18.1,178.5", "0,0", 1))
	for drop, want := range map[bool]string{
		false: "exactly 0, 0, as many programs write unknown ones: 1, the first in " + path + ":3; --drop-zero",
		true:  "1 of 2 records are left out and not counted as bad, such as " + path + ":3: position is exactly 0, 0",
	} {
		rep := &jobtest.Recorder{}
		m, err := Ingest(t.Context(), jobtest.Catalog(t), job.Input{Path: path}, job.Options{Reporter: rep, DropZero: drop})
		if left := m.Bad[source.ReasonAtZero]; err != nil || m.Records["airports"] != 2-left || (left == 1) != drop ||
			!strings.Contains(strings.Join(rep.Notes, "\n"), want) {
			t.Errorf("%v: %v %v %q", drop, err, m, rep.Notes)
		}
	}
}

func TestAirportZones(t *testing.T) {
	testrace.SkipUnderRace(t, "it builds much data; smaller builds run under the detector")
	row := func(id int, country string, lat, lon float64) string {
		return fmt.Sprintf("%d,X-%04d,small_airport,Field %d,%v,%v,,%s,,,no,,,,,,,\n", id, id, id, lat, lon, country)
	}
	path := testfile.WriteTemp(t, "airports.csv", jobtest.AirportHeader+
		row(1, "CH", 46.9, 7.5)+ // by Bern
		row(2, "FJ", -18.1, 178.5)+ // in the zone of Fiji, by Suva
		row(3, "DZ", 31, 2)+ // in the square, far from all places
		row(4, "", 0, -30)+ // nowhere
		row(5, "FR", 46.8, 7.5)+ // no place of its country is near
		row(6, "LI", 47.0, 9.0)) // a place of its country is, but not the nearest
	c := jobtest.Catalog(t)
	layer := boundaries.Input{Type: "timezone", Input: jobtest.Input(testfile.WriteTemp(t, "zones.geojson", jobtest.ZoneSquares))}
	if _, err := boundaries.Ingest(t.Context(), c, []boundaries.Input{layer}, job.Options{}); err != nil {
		t.Fatal(err)
	}
	vaduz := "3042030\tVaduz\tVaduz\t\t47.14151\t9.52154\tP\tPPLC\tLI\t\t11\t\t\t\t5197\t\t455\tEurope/Vaduz\t2019-09-05"
	near := strings.Replace(strings.Replace(jobtest.RowThun, "46.75118\t7.62166", "47.0\t9.01", 1), "2658377", "5", 1)
	wrong := strings.Replace(strings.Replace(jobtest.RowThun, "Europe/Zurich", "Mars/Base", 1), "46.75118\t7.62166", "46.9\t7.5", 1)
	text := strings.Join([]string{
		jobtest.RowBern,
		vaduz,
		near,
		wrong,
		strings.Replace(jobtest.RowSuva, "Pacific/Fiji", "Pacific/Nauru", 1),
	}, "\n")
	if _, err := placesjob.Ingest(t.Context(), c, []placesjob.Input{{Input: job.Input{
		Path:   testfile.WriteTemp(t, "places.txt", text),
		Credit: job.GeoNames,
	}}}, job.Options{}); err != nil {
		t.Fatal(err)
	}
	rep := &jobtest.Recorder{}
	m, err := Ingest(t.Context(), c, job.Input{Path: path}, job.Options{Reporter: rep})
	if err != nil {
		t.Fatal(err)
	}
	f, _ := openAirports(t, c)
	for code, want := range map[string]string{
		"X-0001": "Europe/Zurich nearest", "X-0002": "Pacific/Fiji region", "X-0003": "Africa/Algiers region",
		"X-0004": "<nil> <nil>", "X-0005": "Europe/Zurich nearest", "X-0006": "Europe/Vaduz nearest",
	} {
		doc := lookup(t, f, code)
		if got := fmt.Sprint(doc["timezone"], " ", doc["timezone_source"]); got != want {
			t.Errorf("%s: %s, want %s", code, got, want)
		}
	}
	wantNotes := []string{
		"3 airports have the time zone of the nearest place, 2 that of their region",
		"1 airports have no time zone: no place within 200 km has one",
	}
	if diff := gocmp.Diff(wantNotes, rep.Notes); diff != "" {
		t.Error(diff)
	}
	// A country with one zone needs no place. Places of a neighbour count only if the country has
	// none, and distant places never count.
	if _, err := timezones.Ingest(t.Context(), c, job.Options{}); err != nil {
		t.Fatal(err)
	}
	far := testfile.WriteTemp(t, "far.csv",
		jobtest.AirportHeader+row(1, "CH", 46.9, 7.5)+row(2, "FJ", -18.1, 178.5)+row(3, "DZ", 31, 2)+row(5, "FR", 46.8, 7.5)+
			row(7, "CH", 31, 2)+row(8, "US", 46.8, 7.5)+row(9, "DE", 47.5, 21)+row(10, "FJ", -40, 170)+row(11, "JP", 46.9, 7.6))
	if _, err := Ingest(t.Context(), c, job.Input{Path: far}, job.Options{}); err != nil {
		t.Fatal(err)
	}
	f, _ = openAirports(t, c)
	rules, _ := jobtest.Open(t, c, ask.TimeZones)
	only, err := rules.CountryZone(t.Context(), "CH")
	if err != nil {
		t.Fatal(err)
	}
	for code, want := range map[string][2]string{ // with the table of countries, and without
		"X-0001": {"Europe/Zurich country", "Europe/Zurich nearest"}, "X-0002": {"Pacific/Fiji region", "Pacific/Fiji region"},
		"X-0003": {"Africa/Algiers country", "Africa/Algiers region"}, "X-0005": {"Europe/Paris country", "Europe/Zurich nearest"},
		"X-0007": {"Europe/Zurich country", "Africa/Algiers region"}, "X-0008": {"Europe/Zurich nearest", "Europe/Zurich nearest"},
		"X-0009": {"<nil> <nil>", "<nil> <nil>"},
		"X-0010": {"Pacific/Fiji country", "<nil> <nil>"},
		"X-0011": {"Asia/Tokyo country", "Europe/Zurich nearest"},
	} {
		doc, i := lookup(t, f, code), 0
		if only == "" {
			i = 1
		}
		if got := fmt.Sprint(doc["timezone"], " ", doc["timezone_source"]); got != want[i] {
			t.Errorf("%s: %s, want %s", code, got, want[i])
		}
	}
	// The source of a derived time zone is credited.
	if !slices.ContainsFunc(m.Sources, func(s dataset.Source) bool {
		return s.Name == "GeoNames" && s.Attribution != "" && s.File == ""
	}) {
		t.Errorf("%+v", m.Sources)
	}
}

func TestAirportsFailures(t *testing.T) {
	c := jobtest.Catalog(t)
	good := testfile.WriteTemp(t, "good.csv", jobtest.AirportHeader+jobtest.AirportBern)
	if _, err := Ingest(t.Context(), c, job.Input{Path: good}, job.Options{}); err != nil {
		t.Fatal(err)
	}
	const own = "ident,type,name,latitude_deg,longitude_deg,tz\n"
	for name, tt := range map[string]struct {
		path string
		want string
	}{
		"missing":      {filepath.Join(t.TempDir(), "missing.csv"), "no such file"},
		"empty":        {testfile.WriteTemp(t, "empty.csv", ""), "empty"},
		"header only":  {testfile.WriteTemp(t, "head.csv", jobtest.AirportHeader), "no airports"},
		"other table":  {testfile.WriteTemp(t, "other.csv", "id,name\n1,2\n"), `no column "ident"`},
		"too many bad": {testfile.WriteTemp(t, "bad.csv", jobtest.AirportHeader+jobtest.AirportBern+"x\n"), "of 2 records are bad"},
		"tz":           {testfile.WriteTemp(t, "tz.csv", own+"A,closed,B,1,2,Europe/Zürich\n"), "no time zone of the IANA database"},
		"bad UTF-8":    {testfile.WriteTemp(t, "utf.csv", own+"A,closed,B\xff,1,2,\n"), "not UTF-8"},
		"latitude":     {testfile.WriteTemp(t, "lat.csv", own+"A,closed,B,91,2,\n"), "latitude"},
		"not gzip":     {testfile.WriteTemp(t, "cut.csv.gz", "\x1f\x8b\x08"), "gzip"},
	} {
		rep := &jobtest.Recorder{}
		_, err := Ingest(t.Context(), c, job.Input{Path: tt.path}, job.Options{Reporter: rep})
		if err == nil || !strings.Contains(err.Error(), tt.want) || len(rep.Manifests) != 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Ingest(cancelled, c, job.Input{Path: good}, job.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	// The sources of time zones must be readable.
	dir := filepath.Join(c.Dir(), ask.Places.Name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	testfile.Write(t, filepath.Join(dir, "CURRENT"), "garbage")
	if _, err := Ingest(t.Context(), c, job.Input{Path: good}, job.Options{}); err == nil ||
		!strings.Contains(err.Error(), "the published places") {
		t.Errorf("damaged places: %v", err)
	}
	if _, m := openAirports(t, c); m.Generation != 1 {
		t.Errorf("generation %d is published", m.Generation)
	}
}

// The sample is readable, has all time zones itself and finds the expected airports.
func TestSampleAirports(t *testing.T) {
	c := jobtest.Catalog(t)
	rep := &jobtest.Recorder{}
	m, err := Ingest(t.Context(), c, job.Input{Path: sampleAirports, Credit: job.SampleAirportsCredit}, job.Options{Reporter: rep})
	if err != nil {
		t.Fatal(err)
	}
	if m.Records["airports"] < 200 || len(rep.Notes) != 0 {
		t.Errorf("%v, notes %q", m.Records, rep.Notes)
	}
	f, _ := openAirports(t, c)
	for code, want := range map[string][2]string{
		"SFO": {"San Francisco International Airport", "America/Los_Angeles"}, "EGLL": {"London Heathrow Airport", "Europe/London"},
		"ZRH": {"Zurich Airport", "Europe/Zurich"}, "pdx": {"Portland International Airport", "America/Los_Angeles"},
		"WDH": {"Hosea Kutako International Airport", "Africa/Windhoek"},
	} {
		doc := lookup(t, f, code)
		if doc["name"] != want[0] || doc["timezone"] != want[1] || doc["scheduled"] != true {
			t.Errorf("%s: %v", code, doc)
		}
	}
	hits, err := list(t, f, airports.Filter{}, feature.Query{Near: feature.NearTo(51.5, -0.12, 0), Limit: 1})
	if err != nil || len(hits) != 1 || !strings.Contains(string(hits[0].JSON), `"iata":"LCY"`) {
		t.Errorf("nearest to London: %+v, %v", hits, err)
	}
}

// list returns the airports that pass a filter.
func list(t *testing.T, f *airports.Finder, of airports.Filter, q feature.Query) (hits []places.Hit, err error) {
	t.Helper()
	if q.Filter, err = of.FeatureFilter(); err != nil {
		t.Fatal(err)
	}
	return places.CollectHits(nil, f.Features(t.Context(), &q))
}

// The facts in the sample agree with the real file: the position within 5 km, and the ICAO code.
func TestSampleFacts(t *testing.T) {
	file, err := source.OpenMember(jobtest.RealAirports, ourairports.IsTableMember)
	if errors.Is(err, os.ErrNotExist) {
		t.Skip("the real file is not here")
	}
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	byIATA := map[string]ourairports.Record{}
	for rec, err := range ourairports.Read(file, jobtest.RealAirports) {
		if err != nil {
			t.Fatal(err)
		}
		byIATA[rec.IATA] = rec
	}
	sample, err := source.Open(sampleAirports)
	if err != nil {
		t.Fatal(err)
	}
	defer sample.Close()
	for rec, err := range ourairports.Read(sample, sampleAirports) {
		if err != nil {
			t.Fatal(err)
		}
		want, ok := byIATA[rec.IATA]
		if !ok {
			t.Errorf("%s is in no other list", rec.IATA)
			continue
		}
		if d := quadkey.Distance(rec.Lon, rec.Lat, want.Lon, want.Lat); d > 5000 {
			t.Errorf("%s is %.1f km from where it should be", rec.IATA, d/1000)
		}
		if want.ICAO != "" && rec.ICAO != want.ICAO {
			t.Errorf("%s: ICAO %s, want %s", rec.IATA, rec.ICAO, want.ICAO)
		}
		if feet := want.ElevationFt; feet != nil && (*feet-*rec.ElevationFt > 100 || *rec.ElevationFt-*feet > 100) {
			t.Errorf("%s: elevation %v, want %v", rec.IATA, *rec.ElevationFt, *feet)
		}
	}
}

// TestRealAirports ingests the airports of the real file that have scheduled service, with the time
// zones of the real places.
func TestRealAirports(t *testing.T) {
	const cities = "../../../../../../shared/data/geonames/cities15000.zip"
	for _, path := range []string{jobtest.RealAirports, cities} {
		if _, err := os.Stat(path); err != nil {
			t.Skip("the real files are not here")
		}
	}
	testrace.SkipUnderRace(t, "one goroutine, and much to read")
	path := jobtest.RealAirports
	if os.Getenv("QUADRILLE_FULL") == "" {
		path = scheduledOnly(t)
	}
	c := jobtest.Catalog(t)
	if _, err := placesjob.Ingest(t.Context(), c, []placesjob.Input{{Input: job.Input{Path: cities, Credit: job.GeoNames}}},
		job.Options{}); err != nil {
		t.Fatal(err)
	}
	rep := &jobtest.Recorder{}
	m, err := Ingest(t.Context(), c, job.Input{Path: path, Credit: job.OurAirports}, job.Options{Reporter: rep})
	if err != nil {
		t.Fatal(err)
	}
	if len(m.Bad) != 0 || m.Records["airports"] < 4400 {
		t.Errorf("%+v", m)
	}
	f, _ := openAirports(t, c)
	for code, want := range map[string]string{
		"SFO": "America/Los_Angeles", "KSFO": "America/Los_Angeles", "LIM": "America/Lima", "ZRH": "Europe/Zurich", "DEL": "Asia/Kolkata",
		"PER": "Australia/Perth", "APW": "Pacific/Apia", "SVO": "Europe/Moscow", "KTM": "Asia/Kathmandu", "WDH": "Africa/Windhoek",
	} {
		if doc := lookup(t, f, code); doc["timezone"] != want || doc["timezone_source"] != "nearest" {
			t.Errorf("%s: %v", code, doc)
		}
	}
	// The zones of the sample and the derived zones must have the same offsets.
	sample, err := source.Open(sampleAirports)
	if err != nil {
		t.Fatal(err)
	}
	defer sample.Close()
	at := time.Date(2026, 7, 1, 0, 0, 0, 0, time.UTC)
	offset := func(zone any) int {
		loc, err := time.LoadLocation(fmt.Sprint(zone))
		if err != nil {
			t.Fatal(err)
		}
		_, s := at.In(loc).Zone()
		return s
	}
	different := 0
	for rec, err := range ourairports.Read(sample, sampleAirports) {
		if err != nil {
			t.Fatal(err)
		}
		var r airports.Record
		if err := f.Lookup(t.Context(), rec.IATA, &r); errors.Is(err, airports.ErrNotFound) {
			continue // it has no scheduled service at present
		} else if err != nil {
			t.Fatal(err)
		}
		doc := lookup(t, f, rec.IATA)
		if zone := doc["timezone"]; zone == nil || offset(zone) != offset(rec.TimeZone) {
			different++
			t.Logf("%s: %v, the sample says %s", rec.IATA, zone, rec.TimeZone)
		}
	}
	if different > 8 {
		t.Errorf("%d of the sample's airports have clocks that differ", different)
	}
	hits, err := list(t, f, airports.Filter{Countries: []string{"FJ"}, Types: []string{airports.Large, airports.Medium}}, feature.Query{
		In: feature.Box{West: 177, South: -25, East: -179, North: -15}, Order: feature.Order{Importance: true}, Limit: 10,
	})
	if err != nil || len(hits) < 2 || !strings.Contains(string(hits[0].JSON), `"iata":"NAN"`) {
		t.Errorf("Fiji: %d, %v", len(hits), err)
	}
}

// scheduledOnly writes the header and the rows of airports with scheduled
// service.
func scheduledOnly(t *testing.T) string {
	t.Helper()
	f, err := source.Open(jobtest.RealAirports)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var text strings.Builder
	for n := 0; ; n++ {
		line, err := f.Reader().ReadString('\n')
		if n == 0 || strings.Contains(line, `"yes"`) {
			text.WriteString(line)
		}
		if err != nil {
			break
		}
	}
	return testfile.WriteTemp(t, "airports.csv", text.String())
}
