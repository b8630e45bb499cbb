package stations

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"quadrille/ask"
	"quadrille/cellstore/dataset"
	"quadrille/cmd/ingest/internal/job"
	"quadrille/cmd/ingest/internal/job/jobtest"
	"quadrille/cmd/internal/testfile"
	"quadrille/places/stations"
	"quadrille/quadkey"
)

// liteFile makes a file of observations, one for each hour from the first of January on.
func liteFile(t *testing.T, name string, hours int, extra string) string {
	t.Helper()
	var text strings.Builder
	for h := range hours {
		fmt.Fprintf(&text, "%s %5d %5d %5d %5d %5d %5d %5d %5d\n",
			time.Date(2024, 1, 1, h, 0, 0, 0, time.UTC).Format("2006 01 02 15"), 10+h, -9999, 10130, 270, 50, 4, -1, -9999)
	}
	text.WriteString(extra)
	if strings.HasSuffix(name, ".gz") {
		return testfile.WriteTemp(t, name, testfile.Gzip(text.String()))
	}
	return testfile.WriteTemp(t, name, text.String())
}

func publishedList(t *testing.T) *dataset.Catalog {
	t.Helper()
	c := jobtest.Catalog(t)
	if _, err := Ingest(t.Context(), c,
		job.Input{Path: testfile.WriteTemp(t, "isd-history.csv",
			jobtest.StationsHead+jobtest.RowZurich+rowPole)}, job.Options{}); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestWeather(t *testing.T) {
	c := publishedList(t)
	rep := &jobtest.Recorder{Counts: map[string]int64{}}
	inputs := []job.Input{
		{
			Path: liteFile(t, "066600-99999-2024.gz", 48,
				"2024 13 01 00 1 1 1 1 1 1 1 1\n2024 01 03 00 9000 -9999 -9999 -9999 -9999 -9999 -9999 -9999\n"),
			Credit: job.NOAA,
		},
		// The first file already has its first hour, with another value.
		{
			Path: liteFile(t, "066600-99999-2024", 0,
				"2024 01 01 00    99 -9999 -9999 -9999 -9999 -9999 -9999 -9999\n2024 01 03 01 -9999 -9999 -9999 -9999 -9999 -9999 -9999 -9999\n"),
			Credit: job.NOAA,
		},
		{Path: liteFile(t, "890090-99999-2024.gz", 5, ""), Credit: job.NOAA},
		{Path: liteFile(t, "000000-99999-2024.gz", 5, ""), Credit: job.NOAA},
	}
	if _, err := IngestWeather(t.Context(), c, inputs, job.Options{Reporter: rep, MaxBad: 0.1}); err != nil {
		t.Fatal(err)
	}
	g, err := c.OpenCurrent(t.Context(), ask.Weather.Name)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	m := g.Manifest
	if diff := gocmp.Diff(map[string]int64{"no such date or hour": 1, reasonImpossible: 1, reasonUnknownStation: 1}, m.Bad); diff != "" {
		t.Error(diff)
	}
	if m.Records["observations"] != 53 || m.Records["stations"] != 2 || len(m.Sources) != 3 || len(rep.Notes) != 2 {
		t.Errorf("%v, %d sources, %q", m.Records, len(m.Sources), rep.Notes)
	}
	if !m.Sources[0].Modified.Equal(time.Date(2024, 1, 2, 23, 0, 0, 0, time.UTC)) {
		t.Error(m.Sources[0].Modified)
	}
	var meta stations.WeatherMeta
	if err := json.Unmarshal(m.Meta, &meta); err != nil {
		t.Fatal(err)
	}
	w, err := stations.OpenWeather(t.Context(), g.Store, meta)
	if err != nil {
		t.Fatal(err)
	}
	id, err := stations.ParseID("066600-99999")
	if err != nil {
		t.Fatal(err)
	}
	page, _, err := w.Observations(t.Context(), stations.ObservationQuery{Station: id, To: time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)}, nil)
	if err != nil || len(page) != 1 {
		t.Fatal(page, err)
	}
	const want = `{"time":"2024-01-01T00:00:00Z","temperature_c":1,"pressure_hpa":1013,"wind_speed_ms":5,"wind_direction_deg":270,"sky_code":4,"cloud_okta":4,"precipitation_1h_mm":0,"precipitation_1h_trace":true}`
	if got := string(page[0].AppendJSON(nil)); got != want {
		t.Error(got)
	}
	var tile stations.TileWeather
	if err := w.Tile(t.Context(), quadkey.Tile{}, time.Date(2024, 1, 1, 3, 30, 0, 0, time.UTC), &tile); err != nil ||
		tile.Total.Observations != 2 || len(tile.Parts) != 2 {
		t.Errorf("%+v, %v", tile, err)
	}
}

func TestWeatherFailures(t *testing.T) {
	good := liteFile(t, "066600-99999-2024.gz", 24, "")
	if _, err := IngestWeather(t.Context(), jobtest.Catalog(t), []job.Input{{Path: good}},
		job.Options{}); !errors.Is(err, dataset.ErrNoGeneration) || !strings.Contains(err.Error(), "ingest stations") {
		t.Error(err)
	}
	c := publishedList(t)
	if _, err := IngestWeather(t.Context(), c, []job.Input{{Path: good}}, job.Options{}); err != nil {
		t.Fatal(err)
	}
	packed := testfile.Read(t, good)
	cut := filepath.Join(t.TempDir(), "066600-99999-2024.gz")
	testfile.Write(t, cut, packed[:len(packed)/2])
	for name, files := range map[string][]string{
		"none":      nil,
		"name":      {good, testfile.WriteTemp(t, "observations.txt", "")},
		"truncated": {cut},
		"stations":  {testfile.WriteTemp(t, "066600-99999-2024", jobtest.StationsHead+jobtest.RowZurich)},
		"unknown":   {liteFile(t, "000000-99999-2024.gz", 5, "")},
		"empty":     {liteFile(t, "066600-99999-2024", 0, "")},
		"bad":       {liteFile(t, "066600-99999-2024", 5, "x\n")},
		"missing":   {filepath.Join(t.TempDir(), "066600-99999-2023")},
	} {
		var inputs []job.Input
		for _, f := range files {
			inputs = append(inputs, job.Input{Path: f})
		}
		rep := &jobtest.Recorder{}
		if _, err := IngestWeather(t.Context(), c, inputs, job.Options{Reporter: rep}); err == nil || len(rep.Manifests) != 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	if m, err := c.Current(t.Context(), ask.Weather.Name); err != nil || m.Generation != 1 {
		t.Error(m.Generation, err)
	}
}

// Thousands of files are one source. Its checksum depends on their checksums.
func TestManySources(t *testing.T) {
	list := func(n int, change string) []dataset.Source {
		var l sourceList
		for i := range n {
			l.add(dataset.Source{Name: "NOAA", File: fmt.Sprint(i), SHA256: change + fmt.Sprint(i), Bytes: 2, Modified: time.Unix(int64(i), 0)})
		}
		return l.list()
	}
	if got := list(maxSources, ""); len(got) != maxSources {
		t.Error(len(got))
	}
	got := list(5000, "")
	if len(got) != 1 || got[0].Bytes != 10000 || got[0].File != "5000 files" || got[0].Modified.Unix() != 4999 || len(got[0].SHA256) != 64 {
		t.Errorf("%+v", got)
	}
	if again, other := list(5000, ""), list(5000, "x"); again[0].SHA256 != got[0].SHA256 || other[0].SHA256 == got[0].SHA256 {
		t.Error("checksums")
	}
	if len(list(0, "")) != 0 {
		t.Error("sources of nothing")
	}
}
