package places

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
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
	"quadrille/cmd/ingest/internal/job/jobtest"
	"quadrille/cmd/ingest/internal/source"
	"quadrille/cmd/ingest/internal/source/geonames"
	"quadrille/cmd/internal/testfile"
	"quadrille/feature"
	"quadrille/internal/testrace"
	"quadrille/places"
	"quadrille/quadkey"
)

func placeFiles(paths ...string) (inputs []Input) {
	for _, path := range paths {
		inputs = append(inputs, Input{Input: job.Input{Path: path}})
	}
	return inputs
}

// openPlaces opens the published places.
func openPlaces(t *testing.T, c *dataset.Catalog) (*places.Finder, dataset.Manifest) {
	t.Helper()
	f, g := jobtest.Open(t, c, ask.Places)
	return f, g.Manifest
}

// Places at exactly 0, 0 are either reported or omitted.
func TestZeroPlaces(t *testing.T) {
	unknown := strings.Replace(jobtest.RowThun, "46.75118\t7.62166", "0\t0.0", 1)
	path := testfile.WriteTemp(t, "places.txt", jobtest.RowBern+"\n"+unknown+"\n")
	for drop, want := range map[bool]string{
		false: "exactly 0, 0, as many programs write unknown ones: 1, the first in " + path + ":2; --drop-zero",
		true:  "1 of 2 records are left out and not counted as bad, such as " + path + ":2: position is exactly 0, 0",
	} {
		rep := &jobtest.Recorder{}
		m, err := Ingest(t.Context(), jobtest.Catalog(t), placeFiles(path), job.Options{Reporter: rep, DropZero: drop})
		if left := m.Bad[source.ReasonAtZero]; err != nil || m.Records["places"] != 2-left || (left == 1) != drop ||
			!strings.Contains(strings.Join(rep.Notes, "\n"), want) {
			t.Errorf("%v: %v %v %q", drop, err, m, rep.Notes)
		}
	}
}

func TestPlaces(t *testing.T) {
	older := strings.Replace(strings.Replace(jobtest.RowBern, "Bern\t", "Old Bern\t", 1), "2019-09-05", "2001-01-01", 1)
	text1 := jobtest.RowBern + "\nnot a row\n" + jobtest.RowThun + "\n" + strings.Replace(jobtest.RowThun, "46.75118", "NaN", 1) + "\n"
	first, second := testfile.WriteTemp(t, "first.txt", text1), testfile.WriteTemp(t, "second.txt", older+"\n"+jobtest.RowSuva+"\n")
	c := jobtest.Catalog(t)
	rep := &jobtest.Recorder{}
	returned, err := Ingest(t.Context(), c, []Input{
		{Input: job.Input{Path: second, Credit: job.GeoNames}},
		{Input: job.Input{Path: first}},
	}, job.Options{Reporter: rep, MaxBad: 0.5})
	if err != nil {
		t.Fatal(err)
	}
	f, m := openPlaces(t, c)
	if m.Generation != returned.Generation || m.Dataset != "places" || m.SchemaVersion != places.SchemaVersion {
		t.Errorf("%+v", m)
	}
	sum := sha256.Sum256([]byte(text1))
	wantSources := []dataset.Source{
		{Name: "GeoNames", File: "second.txt", License: "CC-BY-4.0", Attribution: job.GeoNames.Attribution,
			SHA256: m.Sources[0].SHA256, Bytes: m.Sources[0].Bytes, Records: 2, Modified: time.Date(2018, 1, 1, 0, 0, 0, 0, time.UTC)},
		{Name: "first.txt", File: "first.txt", SHA256: hex.EncodeToString(sum[:]), Bytes: int64(len(text1)), Records: 2,
			Modified: time.Date(2020, 1, 2, 0, 0, 0, 0, time.UTC)},
	}
	if diff := gocmp.Diff(wantSources, m.Sources); diff != "" {
		t.Error(diff)
	}
	if diff := gocmp.Diff(map[string]int64{"places": 3}, m.Records); diff != "" {
		t.Error(diff)
	}
	if diff := gocmp.Diff(map[string]int64{"not 19 columns": 1, "latitude is not within ±90 degrees": 1}, m.Bad); diff != "" {
		t.Error(diff)
	}
	if diff := gocmp.Diff([]float64{7.44744, -18.14161, 178.44149, 46.94809}, m.Bounds); diff != "" {
		t.Error(diff)
	}
	wantNotes := []string{
		"first.txt: 2 places, and 2 bad records, the newest of 2020-01-02",
		"second.txt: 2 places, the newest of 2018-01-01",
		"rows that gave way to a newer one of the same place: 1",
	}
	if diff := gocmp.Diff(wantNotes, rep.Notes); diff != "" || len(rep.Manifests) != 1 {
		t.Errorf("published %v, notes %s", rep.Manifests, diff)
	}
	record, err := f.Place(t.Context(), 2661552)
	if err != nil || !strings.Contains(string(record), `"name":"Bern"`) || !strings.Contains(string(record), `"modified":"2019-09-05"`) {
		t.Errorf("%s, %v", record, err)
	}
	if record, err = f.Place(t.Context(), 2198148); err != nil || !strings.Contains(string(record), `"name":"Suva \"FJ\""`) {
		t.Errorf("%s, %v", record, err)
	}
}

func TestPlacesFailures(t *testing.T) {
	good := testfile.WriteTemp(t, "good.txt", jobtest.RowBern+"\n")
	c := jobtest.Catalog(t)
	if _, err := Ingest(t.Context(), c, placeFiles(good), job.Options{}); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name  string
		files []string
		check func(error) bool
	}{
		{"missing", []string{good, filepath.Join(t.TempDir(), "missing.txt")}, func(err error) bool { return errors.Is(err, os.ErrNotExist) }},
		{"too many bad", []string{good, testfile.WriteTemp(t, "bad.txt", jobtest.RowBern+"\nx\n")}, func(err error) bool {
			var bad *job.TooManyBadError
			return errors.As(err, &bad) && bad.Bad == 1
		}},
		{"empty", []string{testfile.WriteTemp(t, "empty.txt", "\n")}, func(err error) bool { return err != nil }},
	} {
		rep := &jobtest.Recorder{}
		_, err := Ingest(t.Context(), c, placeFiles(tc.files...), job.Options{Reporter: rep})
		if !tc.check(err) || len(rep.Manifests) != 0 {
			t.Errorf("%s: %v, published %v", tc.name, err, rep.Manifests)
		}
	}
	if _, err := Ingest(t.Context(), c, nil, job.Options{}); err == nil {
		t.Error("no files: no error")
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Ingest(cancelled, c, placeFiles(good), job.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if _, m := openPlaces(t, c); m.Generation != 1 {
		t.Errorf("generation %d is published", m.Generation)
	}
	left, err := filepath.Glob(filepath.Join(c.Dir(), ask.Places.Name, "*.tmp"))
	if err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// TestPlacesRealFiles ingests real files, which overlap and are from different years. It compares
// searches with a measurement of every place in the files.
func TestPlacesRealFiles(t *testing.T) {
	const dir = "../../../../../../shared/data/geonames/"
	files := []string{"countries/NL.zip", "countries/SG.zip", "countries/no-country.zip", "countries/LV.zip", "cities15000.zip"}
	if _, err := os.Stat(dir); err != nil {
		t.Skip("the real GeoNames files are not there:", err)
	}
	testrace.SkipUnderRace(t, "one goroutine, and much to read")
	var inputs []Input
	newest := map[uint32]geonames.Record{}
	for _, name := range files {
		inputs = append(inputs, Input{Input: job.Input{Path: dir + name, Credit: job.GeoNames}})
		f, err := source.OpenMember(dir+name, geonames.IsTableMember)
		if err != nil {
			t.Fatal(err)
		}
		for rec, err := range geonames.Read(f, name) {
			if err != nil {
				t.Fatal(err)
			}
			if old, ok := newest[rec.ID]; !ok || rec.Modified.After(old.Modified) {
				newest[rec.ID] = rec
			}
		}
		f.Close()
	}
	c := jobtest.Catalog(t)
	if _, err := Ingest(t.Context(), c, inputs, job.Options{}); err != nil {
		t.Fatal(err)
	}
	f, m := openPlaces(t, c)
	if m.Records["places"] != int64(len(newest)) || len(m.Bad) != 0 || len(m.Sources) != len(files) {
		t.Fatalf("%d places in the files; manifest: %v %v", len(newest), m.Records, m.Bad)
	}

	all := make([]geonames.Record, 0, len(newest))
	for _, rec := range newest {
		all = append(all, rec)
	}
	slices.SortFunc(all, func(a, b geonames.Record) int { return cmp.Compare(a.ID, b.ID) })
	type near struct {
		id       uint32
		distance float64
	}
	rng := rand.New(rand.NewPCG(1, 2))
	var hits []places.Hit
	for i := range 24 {
		var q places.Filter
		at := feature.NearTo(rng.Float64()*180-90, rng.Float64()*360-180, 0)
		if i%2 == 0 {
			rec := all[rng.IntN(len(all))]
			at = feature.NearTo(rec.Lat, rec.Lon, 0)
		}
		switch i % 4 {
		case 1:
			q.Countries = []string{"NL"}
		case 2:
			q.Classes, q.MinPopulation = []string{"P"}, 20000
		}
		var want []near
		for j := range all {
			r := &all[j]
			if (q.Countries == nil || r.Country == q.Countries[0]) && (q.Classes == nil || r.Class == q.Classes[0]) &&
				r.Population >= q.MinPopulation {
				round := func(v float64) float64 { return math.Round(v*1e7) / 1e7 }
				want = append(want, near{r.ID, quadkey.Distance(at.Lon, at.Lat, round(r.Lon), round(r.Lat))})
			}
		}
		slices.SortFunc(want, func(a, b near) int { return cmp.Or(cmp.Compare(a.distance, b.distance), cmp.Compare(a.id, b.id)) })
		filter, err := q.FeatureFilter()
		if err != nil {
			t.Fatal(err)
		}
		if hits, err = places.CollectHits(hits, f.Features(t.Context(), &feature.Query{Near: at, Filter: filter, Limit: 20})); err != nil {
			t.Fatal(err)
		}
		for j, h := range hits {
			if h.ID != want[j].id || h.DistanceM != want[j].distance {
				t.Fatalf("%+v: place %d is %d in %v m, want %+v", q, j, h.ID, h.DistanceM, want[j])
			}
		}
		if len(hits) != min(20, len(want)) {
			t.Fatalf("%+v: %d places", q, len(hits))
		}
	}

	for range 500 {
		rec := all[rng.IntN(len(all))]
		record, err := f.Place(t.Context(), rec.ID)
		if err != nil {
			t.Fatal(err)
		}
		var got struct {
			Name, Country, TimeZone, Modified string
			Population                        int64
		}
		if err := json.Unmarshal(record, &got); err != nil {
			t.Fatalf("%v in %s", err, record)
		}
		if got.Name != rec.Name || got.Country != rec.Country || got.TimeZone != rec.TimeZone || got.Population != rec.Population ||
			got.Modified != rec.Modified.Format(time.DateOnly) {
			t.Fatalf("%+v is %s", rec, record)
		}
	}
	counted := int64(0)
	if err := f.Counts(t.Context(), quadkey.Tile{}, func(_ string, n int64) { counted += n }); err != nil || counted != int64(len(all)) {
		t.Errorf("%d places counted in the world, %v", counted, err)
	}
}

func TestPlacesAreReproducible(t *testing.T) {
	var built []dataset.Manifest
	for i := range 2 {
		c := jobtest.Catalog(t)
		path := testfile.WriteTemp(t, "some.txt", jobtest.RowBern+"\n"+jobtest.RowThun+"\n"+jobtest.RowSuva+"\n")
		at := time.Now().Add(-time.Duration(i) * time.Hour)
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
		m, err := Ingest(t.Context(), c, placeFiles(path), job.Options{})
		if err != nil {
			t.Fatal(err)
		}
		m.Built, m.Files, m.Digest = time.Time{}, nil, ""
		built = append(built, m)
	}
	if diff := gocmp.Diff(built[0], built[1]); diff != "" {
		t.Error(diff)
	}
}
