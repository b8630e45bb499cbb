package boundaries

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"quadrille/ask"
	"quadrille/cellstore/dataset"
	"quadrille/cmd/ingest/internal/job"
	"quadrille/cmd/ingest/internal/job/jobtest"
	"quadrille/cmd/ingest/internal/job/places"
	"quadrille/cmd/ingest/internal/job/zonefinder"
	"quadrille/cmd/internal/testfile"
	"quadrille/internal/testrace"
	"quadrille/tiles"
	"quadrille/tiles/build"
)

// zonesOf returns a release of timezone-boundary-builder. Its zones are squares of one degree, each
// to the east of the previous one.
func zonesOf(ids ...string) string {
	var list []string
	for i, id := range ids {
		list = append(list, fmt.Sprintf(`{"type":"Feature","properties":{"tzid":%q},"geometry":{"type":"Polygon","coordinates":[[[%d,0],[%d,0],[%d,1],[%d,1],[%d,0]]]}}`, id, i, i+1, i+1, i, i))
	}
	return `{"type":"FeatureCollection","features":[` + strings.Join(list, ",\n") + `]}`
}

// zippedZones packs a release with a read-me file.
func zippedZones(t *testing.T, member, text string) string {
	t.Helper()
	return testfile.Zip([2]string{"readme.txt", "columns:\n"}, [2]string{member, text})
}

func zoneInput(path string) job.Input { return job.Input{Path: path, Credit: job.KnownCredit(path)} }

// TestZonePolygons tests that a release in any form becomes the layer timezone, in addition to the
// published layers.
func TestZonePolygons(t *testing.T) {
	testrace.SkipUnderRace(t, "it builds much data; smaller builds run under the detector")
	two := zonesOf("Europe/Zurich", "Europe/Paris")
	for _, tt := range []struct {
		name, path string
		zones      int64
	}{
		{"as downloaded", testfile.WriteTemp(t, "timezones.geojson.zip", zippedZones(t, "combined.json", two)), 2},
		{
			"with oceans",
			testfile.WriteTemp(t, "timezones-with-oceans.geojson.zip",
				zippedZones(t, "combined-with-oceans.json", zonesOf("Europe/Zurich", "Etc/GMT", "Etc/GMT-1", "Etc/UTC"))),
			4,
		},
		{"since now", testfile.WriteTemp(t, "timezones-now.geojson.zip", zippedZones(t, "combined-now.json", two)), 2},
		{"since 1970", testfile.WriteTemp(t, "timezones-1970.geojson.zip", zippedZones(t, "combined-1970.json", two)), 2},
		{"unpacked", testfile.WriteTemp(t, "combined.json", two), 2},
		{"shapefile", shapesOf(t, "timezones.shapefile.zip", "TZID", "Europe/Zurich", "Europe/Paris"), 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := jobtest.Catalog(t)
			if _, err := Ingest(t.Context(), c, []Input{layerInput("ward", "testdata/squares.geojson", "CODE")}, job.Options{}); err != nil {
				t.Fatal(err)
			}
			m, err := IngestZones(t.Context(), c, zoneInput(tt.path), job.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if m.Records["timezone"] != tt.zones || m.Records["ward"] == 0 || m.Generation != 2 {
				t.Errorf("%+v", m.Records)
			}
			src := m.Sources[len(m.Sources)-1]
			if src.License != "ODbL-1.0" || !strings.Contains(src.Attribution, "© OpenStreetMap contributors") {
				t.Errorf("%+v", src)
			}
			at := zoneNamesAt(t, c, 0.5, 0.5)
			if at != "europe-zurich Europe/Zurich" {
				t.Errorf("the zone at a point is %q", at)
			}
			if m, err = IngestZones(t.Context(), c, zoneInput(tt.path), job.Options{}); err != nil ||
				m.Records["timezone"] != tt.zones || m.Records["ward"] == 0 {
				t.Errorf("again: %+v, %v", m.Records, err)
			}
		})
	}
}

func zoneNamesAt(t *testing.T, c *dataset.Catalog, lat, lon float64) string {
	t.Helper()
	r, _ := jobtest.Open(t, c, ask.Boundaries)
	found, err := r.At(t.Context(), lat, lon, zonefinder.Layer)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, z := range found {
		names = append(names, z.ID+" "+z.Name)
	}
	return strings.Join(names, ", ")
}

// TestZonePolygonsRefused tests that a file that is not such a release is refused with the reason,
// and the published generation stays.
func TestZonePolygonsRefused(t *testing.T) {
	c := jobtest.Catalog(t)
	if _, err := IngestZones(t.Context(), c,
		zoneInput(testfile.WriteTemp(t, "timezones.geojson.zip", zippedZones(t, "combined.json", zonesOf("Europe/Zurich")))),
		job.Options{}); err != nil {
		t.Fatal(err)
	}
	whole := testfile.Read(t, testfile.WriteTemp(t, "a.zip", zippedZones(t, "combined.json", zonesOf("Europe/Zurich", "Europe/Paris"))))
	for _, tt := range []struct{ name, path, want string }{
		{"truncated", testfile.WriteTemp(t, "timezones.geojson.zip", string(whole[:len(whole)/2])), "it may be truncated: fetch it again"},
		{
			"cut JSON",
			testfile.WriteTemp(t, "timezones.geojson.zip", zippedZones(t, "combined.json", zonesOf("Europe/Zurich", "Europe/Paris")[:200])),
			"it is truncated: fetch it again",
		},
		{"of neither", testfile.WriteTemp(t, "timezones.geojson.zip", zippedZones(t, "notes.txt", "none")), "without a shapefile"},
		{"unknown", testfile.WriteTemp(t, "combined.json", zonesOf("Europe/Zurich", "Europe/Atlantis")),
			"if it is a new one, update the program"},
		{
			"areas",
			testfile.WriteTemp(t, "zones.geojson",
				`{"type":"Feature","properties":{"tz_name1st":"Europe/Zurich","time_zone":"UTC+01:00"},"geometry":{"type":"Polygon","coordinates":[[[0,0],[1,0],[1,1],[0,0]]]}}`),
			`there is no column "tzid" for the id`,
		},
	} {
		_, err := IngestZones(t.Context(), c, zoneInput(tt.path), job.Options{MaxBad: 0.01})
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
	rep := &jobtest.Recorder{}
	m, err := IngestZones(t.Context(), c,
		zoneInput(testfile.WriteTemp(t, "combined.json", zonesOf("Europe/Zurich", "Europe/Atlantis"))), job.Options{MaxBad: 0.5,
			Reporter: rep})
	if err != nil || m.Records["timezone"] != 1 || len(m.Bad) != 1 {
		t.Errorf("%+v, %v", m, err)
	}
}

// TestLayersGone tests that a job reports, before it begins, the published layers that it leaves
// out.
func TestLayersGone(t *testing.T) {
	c := jobtest.Catalog(t)
	ward := layerInput("ward", "testdata/squares.geojson", "CODE")
	if _, err := Ingest(t.Context(), c, []Input{ward}, job.Options{}); err != nil {
		t.Fatal(err)
	}
	zones := zoneInput(testfile.WriteTemp(t, "timezones.geojson.zip", zippedZones(t, "combined.json", zonesOf("Europe/Zurich"))))
	rep := &jobtest.Recorder{}
	if _, err := IngestZones(t.Context(), c, zones, job.Options{Reporter: rep}); err != nil || len(rep.Notes) != 0 {
		t.Fatalf("%q, %v", rep.Notes, err)
	}
	if _, err := Ingest(t.Context(), c, []Input{ward}, job.Options{Reporter: rep}); err != nil {
		t.Fatal(err)
	}
	const want = "published layers that are not named, and will be gone: timezone; ingest boundaries --keep carries them " +
		"over, and ingest rollback boundaries brings generation 2 back"
	if len(rep.Notes) != 5 || rep.Notes[0] != want {
		t.Errorf("%q", rep.Notes)
	}
}

// TestKeepZones tests that a job with other sources keeps zones that a user has added, instead of
// its own areas.
func TestKeepZones(t *testing.T) {
	testrace.SkipUnderRace(t, "it builds much data; smaller builds run under the detector")
	c := jobtest.Catalog(t)
	areas := layerInput("timezone", testfile.WriteTemp(t, "areas.geojson", jobtest.ZoneSquares), "")
	ward := layerInput("ward", "testdata/squares.geojson", "CODE")
	keep := func() []Input {
		t.Helper()
		inputs, err := KeepZones(t.Context(), c, []Input{areas, ward})
		if err != nil || len(inputs) != 2 {
			t.Fatalf("%+v, %v", inputs, err)
		}
		return inputs
	}
	if _, err := Ingest(t.Context(), c, keep(), job.Options{}); err != nil {
		t.Fatal(err)
	}
	if in := keep(); in[0].kept || in[1].kept {
		t.Errorf("areas of one offset are kept: %+v", in)
	}
	// The credit of the zones alone may belong to another layer.
	other := layerInput("district", "testdata/squares.geojson", "CODE")
	other.Credit = job.ZoneBorders
	if _, err := Ingest(t.Context(), c, append(keep(), other), job.Options{}); err != nil {
		t.Fatal(err)
	}
	if in := keep(); in[0].kept || in[1].kept {
		t.Errorf("areas of one offset are kept for the credit of another layer: %+v", in)
	}
	zones := zoneInput(testfile.WriteTemp(t, "timezones.geojson.zip", zippedZones(t, "combined.json", zonesOf("Europe/Zurich"))))
	if _, err := IngestZones(t.Context(), c, zones, job.Options{}); err != nil {
		t.Fatal(err)
	}
	m, err := Ingest(t.Context(), c, keep(), job.Options{})
	if err != nil || m.Records["timezone"] != 1 || m.Records["ward"] == 0 {
		t.Errorf("%+v, %v", m, err)
	}
	if got := zoneNamesAt(t, c, 0.5, 0.5); got != "europe-zurich Europe/Zurich" {
		t.Errorf("the zone at a point is %q", got)
	}
	if dir, err := filepath.Glob(filepath.Join(c.Dir(), "boundaries", "*", layersDir, "timezone"+layerSuffix)); err != nil || len(dir) == 0 {
		t.Errorf("%q, %v", dir, err)
	}
}

// TestZoneOfOverlap: where zones overlap, ingest uses the more local one, like the server.
func TestZoneOfOverlap(t *testing.T) {
	c := jobtest.Catalog(t)
	square := func(id string, west, east int) string {
		return fmt.Sprintf(`{"type":"Feature","properties":{"tzid":%q},"geometry":{"type":"Polygon","coordinates":[[[%d,0],[%d,0],[%d,4],[%d,4],[%d,0]]]}}`, id, west, east, east, west, west)
	}
	zones := `{"type":"FeatureCollection","features":[` + square("Asia/Shanghai", 0, 4) + "," + square("Asia/Urumqi", 0, 2) + `]}`
	if _, err := IngestZones(t.Context(), c, zoneInput(testfile.WriteTemp(t, "combined.json", zones)), job.Options{}); err != nil {
		t.Fatal(err)
	}
	z, err := zonefinder.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	for lon, want := range map[float64]string{1: "Asia/Urumqi", 3: "Asia/Shanghai"} {
		if zone, how, err := z.Find(t.Context(), 2, lon, "CN"); err != nil || zone != want || how != "region" {
			t.Errorf("at %v: %s by %s, %v, want %s", lon, zone, how, err, want)
		}
	}
}

// TestZoneOfOcean tests that a zone that is drawn over the sea is for ships. Airports and networks
// there do not get that zone.
func TestZoneOfOcean(t *testing.T) {
	c := jobtest.Catalog(t)
	if _, err := IngestZones(t.Context(), c,
		zoneInput(testfile.WriteTemp(t, "combined-with-oceans.json", zonesOf("Etc/GMT", "Europe/Paris"))), job.Options{}); err != nil {
		t.Fatal(err)
	}
	zoneAt := func(lon float64) string {
		t.Helper()
		z, err := zonefinder.Open(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		defer z.Close()
		zone, how, err := z.Find(t.Context(), 0.5, lon, "CH")
		if err != nil {
			t.Fatal(err)
		}
		return zone + " " + how
	}
	if got := zoneAt(1.5); got != "Europe/Paris region" {
		t.Errorf("on land: %q", got)
	}
	if got := zoneAt(0.5); got != " " {
		t.Errorf("at sea, with nothing near: %q", got)
	}
	bern := strings.Replace(jobtest.RowBern, "46.94809\t7.44744", "0.6\t0.5", 1)
	if _, err := places.Ingest(t.Context(), c, []places.Input{{Input: job.Input{
		Path:   testfile.WriteTemp(t, "places.txt", bern),
		Credit: job.GeoNames,
	}}}, job.Options{}); err != nil {
		t.Fatal(err)
	}
	if got := zoneAt(0.5); got != "Europe/Zurich nearest" {
		t.Errorf("at sea, near a place: %q", got)
	}
}

// TestZonesKeepTheBudget tests that adding zones keeps the published tile budget.
func TestZonesKeepTheBudget(t *testing.T) {
	testrace.SkipUnderRace(t, "it builds much data; smaller builds run under the detector")
	zones := zoneInput(testfile.WriteTemp(t, "combined.json", zonesOf("Europe/Zurich")))
	ward := layerInput("ward", "testdata/squares.geojson", "CODE")
	budgetOf := func(m dataset.Manifest, err error) int64 {
		t.Helper()
		var meta tiles.Meta
		if err == nil {
			err = json.Unmarshal(m.Meta, &meta)
		}
		if err != nil {
			t.Fatal(err)
		}
		return meta.TileBudget
	}
	for _, published := range []int64{0, 90_000} {
		c := jobtest.Catalog(t)
		if _, err := Ingest(t.Context(), c, []Input{ward}, job.Options{TileBudget: &published}); err != nil {
			t.Fatal(err)
		}
		if got := budgetOf(IngestZones(t.Context(), c, zones, job.Options{})); got != published {
			t.Errorf("the budget is %d, want the %d published", got, published)
		}
		other := int64(80_000)
		if got := budgetOf(IngestZones(t.Context(), c, zones, job.Options{TileBudget: &other})); got != other {
			t.Errorf("the budget is %d, want the %d given", got, other)
		}
		if got := budgetOf(Ingest(t.Context(), c, []Input{ward}, job.Options{})); got != build.DefaultTileBudget {
			t.Errorf("nothing is kept: the budget is %d, want the default", got)
		}
	}
	if got := budgetOf(IngestZones(t.Context(), jobtest.Catalog(t), zones, job.Options{})); got != build.DefaultTileBudget {
		t.Errorf("nothing is published: the budget is %d, want the default", got)
	}
}
