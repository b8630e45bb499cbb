package stations

import (
	"errors"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"quadrille/ask"
	"quadrille/cellstore/dataset"
	"quadrille/cmd/ingest/internal/job"
	"quadrille/cmd/ingest/internal/job/jobtest"
	"quadrille/cmd/ingest/internal/job/places"
	"quadrille/cmd/ingest/internal/source/isd"
	"quadrille/cmd/internal/testfile"
	"quadrille/places/stations"
	"quadrille/quadkey"
)

// The lists and observations here are hand-made, following NOAA's descriptions of the formats. None
// of them is copied from NOAA's files.
const (
	rowPole      = `"890090","99999","SOUTH POLE","AY","","NZSP","-90.000","+000.000","+2830.0","19570101","20250528"` + "\n"
	rowOld       = `"066600","99999","OLD","SZ","","","+47.000","+008.000","-0999.0","19310101","19481231"` + "\n"
	rowNowhere   = `"007018","99999","NOWHERE","","","","+00.000","+000.000","+7018.0","20110309","20130730"` + "\n"
	rowNoCountry = `"A00001","00001","SHIP","NT","","","-10.000","-170.000","","20110309","20130730"` + "\n"
)

// openStations opens the published stations.
func openStations(t *testing.T, c *dataset.Catalog) (*stations.Finder, dataset.Manifest) {
	t.Helper()
	f, g := jobtest.Open(t, c, ask.Stations)
	return f, g.Manifest
}

func TestStations(t *testing.T) {
	c := jobtest.Catalog(t)
	rep := &jobtest.Recorder{}
	path := testfile.WriteTemp(t, "isd-history.csv",
		jobtest.StationsHead+rowOld+jobtest.RowZurich+rowPole+rowNowhere+rowNowhere+rowNowhere+rowNoCountry)
	returned, err := Ingest(t.Context(), c, job.Input{Path: path, Credit: job.NOAA}, job.Options{Reporter: rep})
	if err != nil {
		t.Fatal(err)
	}
	f, m := openStations(t, c)
	if m.Generation != returned.Generation || m.SchemaVersion != stations.SchemaVersion || len(rep.Manifests) != 1 || len(rep.Notes) != 2 {
		t.Errorf("%+v, %q", m, rep.Notes)
	}
	if diff := gocmp.Diff(map[string]int64{"coordinates are exactly 0,0": 3}, m.Bad); diff != "" {
		t.Error(diff)
	}
	if m.Records["stations"] != 3 || m.Records["positions"] != 3 || m.Records["leaves"] < 1 {
		t.Error(m.Records)
	}
	if s := m.Sources[0]; s.Name != job.NOAA.Name || !s.Modified.Equal(time.Date(2025, 5, 28, 0, 0, 0, 0, time.UTC)) || s.SHA256 == "" {
		t.Errorf("%+v", s)
	}
	for point, want := range map[[2]float64]string{{47, 8}: "06660099999", {-89, 179}: "89009099999", {0, -180}: "A0000100001"} {
		got, err := f.Nearest(t.Context(), point[0], point[1])
		if err != nil || got.ID.String() != want {
			t.Errorf("%v: %s, %v", point, got.ID, err)
		}
	}
	id, err := stations.ParseID("066600-99999")
	if err != nil {
		t.Fatal(err)
	}
	record, err := f.Record(t.Context(), id, nil)
	const want = `"id":"06660099999","usaf":"066600","wban":"99999","name":"ZURICH \u003cTOWN\u003e","country":"CH","elevation_m":569,"begin":"1949-01-01","end":"2025-05-25","lat":47.383,"lon":8.567`
	if err != nil || string(record) != want {
		t.Errorf("%s, %v", record, err)
	}
}

// The list of GHCN hourly has ids of its own, and countries in its ids.
func TestGHCNhStations(t *testing.T) {
	const names = "GHCN_ID,LATITUDE,LONGITUDE,ELEVATION,STATE,NAME,GSN,(US)HCN_(US)CRN,WMO_ID,ICAO,ISO_CODE\n"
	const rows = "SZM00006660,47.383,8.567,-999.9,,ZURICH TOWN,GSN,,06660,,\n" +
		"USW00012345,41.5,-87.25,204.8,IL,HILL,,,72999,KXXX,US\n" +
		"KVI0000BKPR,42.5,21,546,,PRISTINA,,,,BKPR,XK\n" +
		"SZM00006661,0,0,1,,NOWHERE,,,,,\n"
	for text, notes := range map[string]int{names + rows: 0, rows: 1} {
		c, rep := jobtest.Catalog(t), &jobtest.Recorder{}
		path := testfile.WriteTemp(t, "ghcnh-station-list.csv", text)
		if _, err := Ingest(t.Context(), c, job.Input{Path: path, Credit: job.NOAA}, job.Options{Reporter: rep}); err != nil {
			t.Fatal(err)
		}
		f, m := openStations(t, c)
		if m.Records["stations"] != 3 || m.Sources[0].Name != job.GHCNh.Name || m.Bad["coordinates are exactly 0,0"] != 1 || len(rep.Notes) != notes {
			t.Errorf("%+v, %q", m, rep.Notes)
		}
		for text, want := range map[string]string{
			"szm00006660": `"id":"SZM00006660","wmo":"06660","name":"ZURICH TOWN","country":"CH","lat":47.383,"lon":8.567`,
			"USW00012345": `"id":"USW00012345","wban":"12345","wmo":"72999","name":"HILL","country":"US","state":"IL","icao":"KXXX","elevation_m":204.8,"lat":41.5,"lon":-87.25`,
			"KVI0000BKPR": `"id":"KVI0000BKPR","name":"PRISTINA","country":"XK","icao":"BKPR","elevation_m":546,"lat":42.5,"lon":21`,
		} {
			id, err := stations.ParseID(text)
			if err != nil {
				t.Fatal(err)
			}
			if record, err := f.Record(t.Context(), id, nil); err != nil || string(record) != want {
				t.Errorf("%s, %v; want %s", record, err, want)
			}
		}
	}
}

func TestStationsFailures(t *testing.T) {
	c := jobtest.Catalog(t)
	if _, err := Ingest(t.Context(), c, job.Input{Path: testfile.WriteTemp(t, "good.csv", jobtest.StationsHead+jobtest.RowZurich)},
		job.Options{}); err != nil {
		t.Fatal(err)
	}
	var tooMany *job.TooManyBadError
	for name, tc := range map[string]struct {
		text string
		is   func(error) bool
	}{
		"no header": {jobtest.RowZurich, func(err error) bool { return errors.Is(err, isd.ErrHeader) }},
		"empty":     {"", func(err error) bool { return strings.Contains(err.Error(), "isd-history.csv") }},
		"unplaced":  {jobtest.StationsHead + rowNowhere, func(err error) bool { return strings.Contains(err.Error(), "isd-history.csv") }},
		"bad rows":  {jobtest.StationsHead + jobtest.RowZurich + "x\n", func(err error) bool { return errors.As(err, &tooMany) }},
		"not a date": {
			jobtest.StationsHead + jobtest.RowZurich + strings.Replace(rowPole, "20250528", "20250532", 1),
			func(err error) bool { return errors.As(err, &tooMany) },
		},
	} {
		rep := &jobtest.Recorder{}
		_, err := Ingest(t.Context(), c, job.Input{Path: testfile.WriteTemp(t, "bad.csv", tc.text)}, job.Options{Reporter: rep})
		if err == nil || !tc.is(err) || len(rep.Manifests) != 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Ingest(t.Context(), c, job.Input{Path: filepath.Join(t.TempDir(), "none")}, job.Options{}); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if _, m := openStations(t, c); m.Generation != 1 {
		t.Errorf("generation %d is published", m.Generation)
	}
}

// TestRealStations compares the results for the whole real list with the measured distances of all
// stations.
func TestRealStations(t *testing.T) {
	const path = "../../../../../../shared/data/weather/isd-history.csv.gz"
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		t.Skip("the real list of stations is not here")
	}
	c := jobtest.Catalog(t)
	if _, err := Ingest(t.Context(), c, job.Input{Path: path, Credit: job.NOAA}, job.Options{}); err != nil {
		t.Fatal(err)
	}
	f, m := openStations(t, c)
	if diff := gocmp.Diff(map[string]int64{
		"no coordinates":              1186,
		"only one of two coordinates": 1,
		"coordinates are exactly 0,0": 379,
	}, m.Bad); diff != "" {
		t.Error(diff)
	}
	if m.Records["stations"] != 28094 {
		t.Error(m.Records)
	}
	var list []isd.Station
	file, err := job.Input{Path: path}.Open(nil, "rows")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for s, err := range isd.ReadStations(file, path) {
		if err == nil {
			list = append(list, s)
		}
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		lat, lon := math.Asin(2*rng.Float64()-1)*180/math.Pi, rng.Float64()*360-180
		got, err := f.Nearest(t.Context(), lat, lon)
		if err != nil {
			t.Fatal(err)
		}
		id, best := "", math.Inf(1)
		for i := range list {
			s := &list[i]
			// Tables store three decimals.
			d := quadkey.Distance(lon, lat, s.Lon, s.Lat)
			if key := s.USAF + s.WBAN; d < best || d == best && key < id {
				id, best = key, d
			}
		}
		if got.ID.String() != id && got.DistanceM > best {
			t.Fatalf("%v, %v: got %s at %v, want %s at %v", lat, lon, got.ID, got.DistanceM, id, best)
		}
	}
}

func TestFIPS10(t *testing.T) {
	for fips, iso := range map[string]string{
		"SZ": "CH",
		"GM": "DE",
		"CH": "CN",
		"AS": "AU",
		"AU": "AT",
		"SF": "ZA",
		"RS": "RU",
		"RI": "RS",
		"KS": "KR",
		"KN": "KP",
		"UK": "GB",
		"WQ": "UM",
		"WA": "NA",
		"WE": "PS",
		"GZ": "PS",
	} {
		if got := isoByFIPS10[fips]; got != iso {
			t.Errorf("%s is %q, want %s", fips, got, iso)
		}
	}
	n := 0
	for pair := range strings.FieldsSeq(fips10ToISO) {
		if n++; len(pair) != 4 || pair != strings.ToUpper(pair) {
			t.Errorf("%q", pair)
		}
	}
	if n != len(isoByFIPS10) {
		t.Errorf("%d pairs, %d codes", n, len(isoByFIPS10))
	}
}

// NOAA's list has ISO country codes among its FIPS ones. If the two readings differ, the places
// around a station decide.
func TestStationsCountry(t *testing.T) {
	c := jobtest.Catalog(t)
	asISO := strings.Replace(jobtest.RowZurich, `"SZ"`, `"CH"`, 1)
	far := strings.NewReplacer(`"066600"`, `"545110"`, `"SZ"`, `"CH"`, "+47.383", "+39.933", "+008.567", "+116.283").Replace(jobtest.RowZurich)
	list := job.Input{Path: testfile.WriteTemp(t, "isd-history.csv", jobtest.StationsHead+asISO+far), Credit: job.NOAA}
	check := func(zurich, beijing string) {
		t.Helper()
		if _, err := Ingest(t.Context(), c, list, job.Options{}); err != nil {
			t.Fatal(err)
		}
		f, _ := openStations(t, c)
		for text, want := range map[string]string{"066600-99999": zurich, "545110-99999": beijing} {
			id, err := stations.ParseID(text)
			if err != nil {
				t.Fatal(err)
			}
			record, err := f.Record(t.Context(), id, nil)
			if err != nil || !strings.Contains(string(record), `"country":"`+want+`"`) {
				t.Errorf("%s: %s, %v; want %s", text, record, err, want)
			}
		}
	}
	check("CN", "CN") // read as FIPS, the list's standard
	bern := job.Input{Path: testfile.WriteTemp(t, "places.txt", jobtest.RowBern), Credit: job.GeoNames}
	if _, err := places.Ingest(t.Context(), c, []places.Input{{Input: bern}}, job.Options{}); err != nil {
		t.Fatal(err)
	}
	check("CH", "CN")
}
