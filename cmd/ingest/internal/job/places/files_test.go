package places

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"quadrille/ask"
	"quadrille/cellstore/dataset"
	"quadrille/cmd/ingest/internal/job"
	"quadrille/cmd/ingest/internal/job/jobtest"
	"quadrille/cmd/ingest/internal/source/geonames"
	"quadrille/cmd/internal/testfile"
	"quadrille/internal/testrace"
	"quadrille/internal/testseed"
	"quadrille/places"
)

// These tables are made by hand, in the layouts of GeoNames.
const (
	namesV2 = "1\t2661552\tde\tBern\t1\t\t\t\t\t\n" +
		"2\t2661552\tfra\tBerne\t\t1\t\t\t\t\n" +
		"3\t2658377\tlink\thttps://en.wikipedia.org/wiki/Thun\t\t\t\t\t\t\n" +
		"4\t2658377\tzho-Hant\t圖恩\t\t\t1\t1\t1191\t1798\n"
	namesV1    = "3\t2658377\tlink\tas in the file before\t\t\t\t\n5\t2658377\tpost\t3600\t\t\t\t\n"
	parents    = "2661551\t2661552\tADM\n2661551\t2658377\n"
	admin5     = "2661552\tA5\n"
	admin1     = "CH.BE\tBern\tBern\t2661551\nFJ.C\tCentral\tCentral\t2194371\n"
	admin2     = "CH.BE.246\tBern-Mittelland District\tBern-Mittelland District\t7285212\n"
	countries  = "#ISO\tISO3\r\nCH\tCHE\t756\tSZ\tSwitzerland\tBern\t41290\t8516543\tEU\t.ch\tCHF\tFranc\t41\t####\t^(\\d{4})$\tde-CH,fr-CH\t2658434\tDE,IT,LI,FR,AT\t\r\n"
	featuresEn = "P.PPLC\tcapital of a political entity\t\nP.PPL\tpopulated place\ta city\nnull\tnot available\t\n"
	featuresDe = "P.PPLC\tHauptstadt\t\nP.PPLX\tStadtteil\t\n"
	timeZones  = "CountryCode\tTimeZoneId\tGMT offset 1. Jan 2026\tDST offset 1. Jul 2026\trawOffset\nCH\tEurope/Zurich\t1.0\t2.0\t1.0\n"
	languages  = "ISO 639-3\tISO 639-2\tISO 639-1\tLanguage Name\nfra\tfra / fre*\tfr\tFrench\nzho\tzho / " +
		"chi*\tzh\tChinese\ngsw\tgsw\t\tSwiss German\n"
	allPlaces = jobtest.RowBern + "\n" + jobtest.RowThun + "\n" + jobtest.RowSuva + "\n"
)

// writeAll writes files with these names and texts. For names in .zip it packs the table with the
// other members of GeoNames' archives.
func writeAll(t *testing.T, files ...[2]string) (paths []string) {
	t.Helper()
	for _, f := range files {
		name, text := f[0], f[1]
		if strings.HasSuffix(name, ".zip") {
			text = zippedTable(t, strings.TrimSuffix(name, ".zip")+".txt", text)
		}
		paths = append(paths, testfile.WriteTemp(t, name, text))
	}
	return paths
}

// zippedTable packs a table with the other members that GeoNames packs.
func zippedTable(t *testing.T, member, text string) string {
	t.Helper()
	return testfile.Zip([2]string{"readme.txt", "columns:\n"}, [2]string{member, text}, [2]string{"iso-languagecodes.txt", languages})
}

// all collects a sequence that must not fail.
func all[T any](t *testing.T, seq iter.Seq2[T, error]) (list []T) {
	t.Helper()
	if seq == nil {
		return nil
	}
	for v, err := range seq {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, v)
	}
	return list
}

// TestPlacesSource tests the input of a build from files of every kind.
func TestPlacesSource(t *testing.T) {
	paths := writeAll(t, [2]string{"places.txt", allPlaces}, [2]string{"alternateNamesV2.zip", namesV2},
		[2]string{"alternateNames.txt", namesV1},
		[2]string{"hierarchy.zip", parents}, [2]string{"adminCode5.txt", admin5}, [2]string{"admin1CodesASCII.txt", admin1},
		[2]string{"admin2Codes.txt", admin2}, [2]string{"countryInfo.txt", countries}, [2]string{"featureCodes_en.txt", featuresEn},
		[2]string{"featureCodes_de.txt", featuresDe}, [2]string{"timeZones.txt", timeZones}, [2]string{"iso-languagecodes.txt", languages})
	rep := &jobtest.Recorder{}
	j := &placesJob{ctx: t.Context(), rep: rep, tally: job.NewTally(0)}
	if err := j.recognise(placeFiles(paths...)); err != nil {
		t.Fatal(err)
	}
	if err := j.readSmall(); err != nil {
		t.Fatal(err)
	}
	src := j.source()
	var ids []uint32
	for _, p := range all(t, src.Places) {
		ids = append(ids, p.ID)
	}
	names := all(t, src.Names)
	if !slices.Equal(ids, []uint32{2661552, 2658377, 2198148}) {
		t.Error(ids)
	}
	for what, diff := range map[string]string{
		"names": gocmp.Diff([]places.AlternateName{
			{PlaceID: 2661552, Lang: "de", Name: "Bern", Preferred: true},
			{PlaceID: 2661552, Lang: "fr", Name: "Berne", Short: true},
			{PlaceID: 2658377, Lang: "link", Name: "https://en.wikipedia.org/wiki/Thun"},
			{PlaceID: 2658377, Lang: "zh-Hant", Name: "圖恩", Colloquial: true, Historic: true},
			{PlaceID: 2658377, Lang: "post", Name: "3600"},
		}, names),
		"parents": gocmp.Diff([]places.Parent{
			{Parent: 2661551, Child: 2661552, Kind: "ADM"},
			{Parent: 2661551, Child: 2658377},
		}, all(t, src.Parents)),
		"admin5": gocmp.Diff([]places.Admin5{{PlaceID: 2661552, Code: "A5"}}, all(t, src.Admin5)),
		"gazetteer": gocmp.Diff(places.Gazetteer{
			Countries: []places.Country{{
				Code: "CH", ISO3: "CHE", FIPS: "SZ", Name: "Switzerland", Capital: "Bern", Continent: "EU", TLD: ".ch",
				CurrencyCode: "CHF", CurrencyName: "Franc", Phone: "41", PostalFormat: "####", PostalPattern: `^(\d{4})$`,
				Numeric: 756, AreaKM2: 41290, Population: 8516543, Languages: []string{"de-CH", "fr-CH"},
				Neighbours: []string{"DE", "IT", "LI", "FR", "AT"}, ID: 2658434,
			}},
			Admin1: []places.Division{
				{Code: "CH.BE", Name: "Bern", ASCIIName: "Bern", ID: 2661551},
				{Code: "FJ.C", Name: "Central", ASCIIName: "Central", ID: 2194371},
			},
			Admin2: []places.Division{{Code: "CH.BE.246", Name: "Bern-Mittelland District", ASCIIName: "Bern-Mittelland District", ID: 7285212}},
			Features: []places.Feature{
				{Code: "P.PPLC", Name: "capital of a political entity"}, {Code: "P.PPL", Name: "populated place", Description: "a city"},
				{Code: "P.PPLX", Name: "Stadtteil"},
			},
		}, src.Gazetteer),
	} {
		if diff != "" {
			t.Errorf("%s: %s", what, diff)
		}
	}
	j.note(&places.Stats{})
	for _, want := range []string{
		"alternateNamesV2.zip: 4 alternate names", "alternate names in several files, taken once: 1",
		`places with a time zone that the file of time zones does not have, such as "Pacific/Fiji": 1`,
	} {
		if !slices.Contains(rep.Notes, want) {
			t.Errorf("no %q in %q", want, rep.Notes)
		}
	}
	m, err := j.manifest(places.Meta{}, &places.Stats{})
	if err != nil || len(m.Sources) != len(paths) || len(m.Bad) != 0 {
		t.Fatal(m, err)
	}
	for i, want := range []struct {
		records  int64
		modified time.Time
	}{
		{3, time.Date(2020, 1, 2, 0, 0, 0, 0, time.UTC)}, {4, testfile.ZipDate}, {2, time.Time{}}, {2, testfile.ZipDate}, {1,
			time.Time{}}, {2, time.Time{}},
		{1, time.Time{}}, {1, time.Time{}}, {2, time.Time{}}, {2, time.Time{}}, {1, time.Time{}}, {3, time.Time{}},
	} {
		if s := m.Sources[i]; s.File != filepath.Base(paths[i]) || s.Records != want.records || !s.Modified.Equal(want.modified) ||
			len(s.SHA256) != 64 {
			t.Errorf("%+v, want %+v", s, want)
		}
	}
}

// For a deleted place, rows up to the day of the deletion are left out.
func TestDeletedPlaces(t *testing.T) {
	// The dates are: Bern 2019-09-05, Thun 2020-01-02, Suva 2018-01-01.
	files := writeAll(t, [2]string{"places.txt", allPlaces},
		[2]string{"deletes-2019-09-04.txt", "2661552\tBern\tdouble\n"}, [2]string{"deletes-2020-01-02.txt", "2658377\tThun\t\n9\tUnknown\t\n"},
		[2]string{"deletes-2017-01-01.txt", "2198148\tSuva\tearlier\n"},
		[2]string{"deletes-2019-01-01.txt", "2198148\tSuva\tagain\n"}, [2]string{"deletes-2016-01-01.txt", "2198148\tSuva\tearliest\n"})
	c := jobtest.Catalog(t)
	rep := &jobtest.Recorder{}
	m, err := Ingest(t.Context(), c, placeFiles(files...), job.Options{Reporter: rep})
	if err != nil {
		t.Fatal(err)
	}
	f, _ := openPlaces(t, c)
	if _, err := f.Place(t.Context(), 2661552); err != nil {
		t.Error("Bern, changed after its deletion:", err)
	}
	for _, id := range []uint32{2658377, 2198148} {
		if _, err := f.Place(t.Context(), id); !errors.Is(err, places.ErrNotFound) {
			t.Errorf("%d: %v", id, err)
		}
	}
	if !slices.Contains(rep.Notes, "rows of places that were deleted since, left out: 2") {
		t.Errorf("%q", rep.Notes)
	}
	if s := m.Sources[1]; !s.Modified.Equal(time.Date(2019, 9, 4, 0, 0, 0, 0, time.UTC)) || s.Records != 1 || m.Sources[0].Records != 3 {
		t.Errorf("%+v", m.Sources)
	}
}

// TestModifiedPlaces tests that rows in files of daily changes are treated like the rows of any
// other file.
func TestModifiedPlaces(t *testing.T) {
	newer := strings.Replace(strings.Replace(jobtest.RowBern, "Bern\t", "Bern anew\t", 1), "2019-09-05", "2026-11-20", 1)
	files := writeAll(t, [2]string{"allCountries.zip", allPlaces}, [2]string{"modifications-2026-11-20.txt", newer})
	c := jobtest.Catalog(t)
	if _, err := Ingest(t.Context(), c, placeFiles(files...), job.Options{}); err != nil {
		t.Fatal(err)
	}
	f, m := openPlaces(t, c)
	if record, err := f.Place(t.Context(), 2661552); err != nil || !strings.Contains(string(record), `"name":"Bern anew"`) ||
		m.Records["places"] != 3 {
		t.Errorf("%s, %v, %v", record, err, m.Records)
	}
}

// If a place has several rows, in one file or in several, the row with the latest date counts, and
// among equal dates the last row of the file named first. Repeated rows are reported, and do not
// make the job fail, however many there are.
func TestPlacesGivenAgain(t *testing.T) {
	rng := testseed.Rand(t)
	type latest struct {
		date, file int
		name       string
	}
	want := map[uint32]latest{}
	var files []Input
	var again, replaced int64
	for file := range 3 {
		var rows []string
		seen := map[uint32]bool{}
		for line := range 200 {
			id, date := 1+rng.Uint32N(150), 1+rng.IntN(4)
			f := strings.Split(jobtest.RowBern, "\t")
			f[0], f[1], f[18] = strconv.Itoa(int(id)), fmt.Sprintf("P%d-%d", file, line), fmt.Sprintf("2026-01-%02d", date)
			rows = append(rows, strings.Join(f, "\t"))
			w, known := want[id]
			if known {
				replaced++
			}
			if seen[id] {
				again++
			}
			seen[id] = true
			if !known || date > w.date || date == w.date && file == w.file {
				want[id] = latest{date, file, f[1]}
			}
		}
		files = append(files, placeFiles(writeAll(t, [2]string{"rows.txt", strings.Join(rows, "\n")})...)...)
	}
	c, rep := jobtest.Catalog(t), &jobtest.Recorder{}
	m, err := Ingest(t.Context(), c, files, job.Options{Reporter: rep})
	if err != nil || m.Bad["id occurred before in this file: its latest row counts"] != again || m.Records["places"] != int64(len(want)) {
		t.Fatal(err, m.Bad, m.Records, again)
	}
	if note := fmt.Sprintf("rows that gave way to a newer one of the same place: %d", replaced); !slices.Contains(rep.Notes, note) {
		t.Errorf("%q, want %s", rep.Notes, note)
	}
	f, _ := openPlaces(t, c)
	for id, w := range want {
		var got places.Record
		if err := f.Record(t.Context(), id, &got); err != nil || got.Name != w.name {
			t.Errorf("place %d is %q, want %q, %v", id, got.Name, w.name, err)
		}
	}
}

// Unusable rows are counted by reason. Rows that look odd but are valid are accepted.
func TestBadPlaces(t *testing.T) {
	row := func(columns ...string) string {
		f := strings.Split(jobtest.RowBern, "\t")
		for i := 0; i < len(columns); i += 2 {
			f[slices.Index([]string{"id", "name", "ascii", "alternates", "lat", "lon", "class", "code", "country"}, columns[i])] = columns[i+1]
		}
		return strings.Join(f, "\t")
	}
	rows := []string{
		row(), row("id", "1", "name", `"Quoted`, "alternates", `"a,b"c`), row("id", "2", "country", "NA"), row("id", "3", "lat",
			"-90", "lon", "-180"),
		row("id", "4", "name", "<script>", "ascii", `\u0000`),
		"", "one column", jobtest.RowBern + "\textra", row("id", ""), row("id", "0"), row("id", "x"), row("id", "1"), row("id", "5",
			"name", "Z\xfcrich"),
		row("id", "6", "lat", "90.1"), row("id", "7", "lon", "-180.1"), row("id", "8", "lat", "NaN"), row("id", "9", "country", "CHE"),
		row("id", "10", "name", strings.Repeat("x", 1001)), row("id", "11", "alternates", strings.Repeat("x", geonames.MaxLineBytes)),
	}
	c := jobtest.Catalog(t)
	path := writeAll(t, [2]string{"CH.zip", strings.Join(rows, "\r\n")})
	m, err := Ingest(t.Context(), c, placeFiles(path...), job.Options{MaxBad: 0.8})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]int64{
		"not 19 columns": 2,
		"id is not a number from 1 to 4294967295":                3,
		"id occurred before in this file: its latest row counts": 1,
		"not UTF-8":                          1,
		"latitude is not within ±90 degrees": 2, "longitude is not within ±180 degrees": 1, "country is not two letters A to Z": 1,
		"cannot be stored": 1, "line is too long": 1,
	}
	if diff := gocmp.Diff(want, m.Bad); diff != "" || m.Records["places"] != 5 || m.Sources[0].Records != 5 {
		t.Error(diff, m.Records)
	}
	f, _ := openPlaces(t, c)
	record, err := f.Place(t.Context(), 1)
	var got struct{ Name string }
	if err != nil || json.Unmarshal(record, &got) != nil || got.Name != "Bern" {
		t.Errorf("%s, %v", record, err)
	}
}

// After any fault in one of the files, the published generation stays.
func TestPlacesFailuresOfFiles(t *testing.T) {
	good := writeAll(t, [2]string{"good.txt", allPlaces})[0]
	c := jobtest.Catalog(t)
	if _, err := Ingest(t.Context(), c, placeFiles(good), job.Options{}); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "other-name.txt")
	if err := os.Symlink(good, link); err != nil {
		link = good // where there are no links
	}
	file := func(name, text string) string { return writeAll(t, [2]string{name, text})[0] }
	whole := zippedTable(t, "alternateNamesV2.txt", strings.Repeat(namesV2, 1000))
	for _, tc := range []struct {
		name   string
		inputs []Input
		maxBad float64
		want   string
	}{
		{"nothing", nil, 0, "name at least one"},
		{"no places", placeFiles(file("countryInfo.txt", countries)), 0, "no file of places"},
		{
			"one day's changes",
			placeFiles(file("modifications-2026-11-20.txt", jobtest.RowBern), file("deletes-2026-11-20.txt", "1\tA\t\n")),
			0,
			"name the whole file beside it",
		},
		{
			"one day's changes as places",
			[]Input{{Input: job.Input{Path: file("Modifications-2026-11-20.txt.gz", jobtest.RowBern)}, Kind: geonames.KindPlaces}},
			0,
			"one day's changes",
		},
		{"named twice", placeFiles(good, good), 0, "named twice"},
		{"linked", placeFiles(good, link), 0, "named twice"},
		{"twice as something else", append(placeFiles(good), Input{Input: job.Input{Path: good}, Kind: geonames.KindAdmin5}), 0, "named twice"},
		{"unknown", placeFiles(good, file("a.txt", "1\t2\n")), 0, "--as"},
		{"postal codes", placeFiles(file("CH.zip", "CH\t3000\tBern\tBern\tBE\t\t246\t\t351\t46.9\t7.4\t4\n")), 0, "postal codes"},
		{"a directory", placeFiles(t.TempDir()), 0, "not a regular file"},
		{"a CSV file", placeFiles(file("a.csv", "id,name\n1,Bern\n")), 0, "separated by tabs"},
		{
			"deletions of no day",
			append(placeFiles(good), Input{Input: job.Input{Path: file("gone.txt", "1\tA\t\n")}, Kind: geonames.KindDeletions}),
			0,
			"deletes-YYYY-MM-DD.txt",
		},
		{
			"wrong kind",
			append(placeFiles(good), Input{Input: job.Input{Path: file("x.txt", namesV2)}, Kind: geonames.KindHierarchy}),
			0.5,
			"4 of 4 records are bad",
		},
		{
			"wrong kind, tolerated",
			append(placeFiles(good), Input{Input: job.Input{Path: file("x.txt", namesV2)}, Kind: geonames.KindHierarchy}),
			1,
			"none of its rows is one of parents",
		},
		{"too many bad divisions", placeFiles(good, file("admin1CodesASCII.txt", admin1+"CH\tx\ty\t1\n")), 0.2, "1 of 3 records are bad"},
		{"too many bad names", placeFiles(good, file("alternateNamesV2.txt", namesV2+"x\n")), 0.1, "1 of 5 records are bad"},
		{"truncated", placeFiles(good, testfile.WriteTemp(t, "alternateNamesV2.zip", whole[:len(whole)/2])), 1, "zip"},
		{"damaged", placeFiles(good, testfile.WriteTemp(t, "alternateNamesV2.zip", damaged(whole))), 1, "alternateNamesV2.zip"},
		{
			"two tables",
			placeFiles(good, testfile.WriteTemp(t, "both.zip", testfile.Zip([2]string{"NL.txt", jobtest.RowBern},
				[2]string{"BE.txt", jobtest.RowBern}))),
			0,
			"holds both",
		},
		{"empty", placeFiles(good, file("allCountries.txt", "")), 0, ""},
		{"no places left", placeFiles(file("places.txt", jobtest.RowBern), file("deletes-2026-01-01.txt", "2661552\tBern\t\n")), 0, "no places"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			rep := &jobtest.Recorder{}
			before := currentGeneration(t, c)
			_, err := Ingest(t.Context(), c, tc.inputs, job.Options{Reporter: rep, MaxBad: tc.maxBad})
			if tc.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Fatalf("%v, want %q", err, tc.want)
			}
			if after := currentGeneration(t, c); after != before || len(rep.Manifests) != 0 {
				t.Fatalf("generation %d is published, before it was %d", after, before)
			}
		})
	}
	left, err := filepath.Glob(filepath.Join(c.Dir(), ask.Places.Name, "*.tmp"))
	if err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// damaged changes a byte within the table of an archive.
func damaged(archive string) string {
	b := []byte(archive)
	i := bytes.Index(b, []byte("alternateNamesV2.txt")) + 60
	b[i] ^= 0x55
	return string(b)
}

func currentGeneration(t *testing.T, c *dataset.Catalog) uint64 {
	t.Helper()
	g, err := c.OpenCurrent(t.Context(), ask.Places.Name)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	return g.Manifest.Generation
}

// stopper ends the context when a stage begins, or at the latest when the last stage begins. Names
// are indexed while tiles are built, and their stages are reported only if they take longer.
type stopper struct {
	job.SilentReporter
	stage, last string
	stop        context.CancelFunc
}

func (s *stopper) Progress(p job.Progress) {
	if p.Stage == s.stage || p.Stage == s.last {
		s.stop()
	}
}

// A job interrupted at any stage leaves the published generation and nothing else. If it is run
// again, it gives the same result.
func TestPlacesInterrupted(t *testing.T) {
	files := placeFiles(writeAll(t, [2]string{"places.txt", allPlaces}, [2]string{"alternateNamesV2.zip", namesV2},
		[2]string{"hierarchy.txt", parents}, [2]string{"admin1CodesASCII.txt", admin1})...)
	c := jobtest.Catalog(t)
	first, err := Ingest(t.Context(), c, files[:1], job.Options{})
	if err != nil {
		t.Fatal(err)
	}
	stages := &jobtest.Recorder{}
	whole, err := Ingest(t.Context(), jobtest.Catalog(t), files, job.Options{Reporter: stages})
	if err != nil {
		t.Fatal(err)
	}
	for _, stage := range stages.Stages {
		ctx, cancel := context.WithCancel(t.Context())
		_, err := Ingest(ctx, c, files, job.Options{Reporter: &stopper{stage: stage, last: stages.Stages[len(stages.Stages)-1], stop: cancel}})
		cancel()
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("%s: %v", stage, err)
		}
		infos, err := c.List(t.Context())
		if err != nil || len(infos) != 1 || infos[0].Generation != first.Generation || !infos[0].Current {
			t.Fatalf("%s: %+v, %v", stage, infos, err)
		}
		if err := c.Verify(t.Context(), ask.Places.Name, first.Generation, nil); err != nil {
			t.Fatalf("%s: %v", stage, err)
		}
	}
	again, err := Ingest(t.Context(), c, files, job.Options{})
	if err != nil {
		t.Fatal(err)
	}
	again.Generation, again.Built, again.Files, again.Digest, again.Predecessor = whole.Generation, whole.Built, whole.Files, whole.Digest, nil
	if diff := gocmp.Diff(whole, again); diff != "" {
		t.Error(diff)
	}
}

// TestPlacesRealTables ingests the real files that come with the places, and hand-made names and
// parents.
func TestPlacesRealTables(t *testing.T) {
	const dir = "../../../../../../shared/data/geonames/"
	if _, err := os.Stat(dir); err != nil {
		t.Skip("the real GeoNames files are not there:", err)
	}
	files := []string{
		dir + "cities15000.zip", dir + "countries/NL.zip", dir + "meta/countryInfo.txt", dir + "meta/admin1CodesASCII.txt",
		dir + "meta/admin2Codes.txt", dir + "meta/adminCode5.txt", dir + "meta/featureCodes_en.txt", dir + "meta/timeZones.txt",
		dir + "meta/iso-languagecodes.txt",
	}
	files = append(files, writeAll(t,
		[2]string{"alternateNamesV2.zip", "1\t2759794\tde\tAmsterdam\t1\t\t\t\t\t\n2\t2759794\tla\tAmstelodamum\t\t\t\t1\t\t\n"},
		[2]string{"hierarchy.txt", "2749879\t2759794\tADM\n"})...)
	testrace.SkipUnderRace(t, "one goroutine, and much to read")
	const stored = 55436
	var inputs []Input
	for _, f := range files {
		inputs = append(inputs, Input{Input: job.Input{Path: f, Credit: job.GeoNames}})
	}
	c := jobtest.Catalog(t)
	if _, err := Ingest(t.Context(), c, inputs, job.Options{}); err != nil {
		t.Fatal(err)
	}
	_, m := openPlaces(t, c)
	if len(m.Bad) != 0 || m.Records["places"] != stored || m.Records["names"] != 2 || m.Records["parents"] != 1 {
		t.Errorf("%v, bad %v", m.Records, m.Bad)
	}
	rows := map[string]int64{
		"cities15000.zip": 32847, "NL.zip": 22822, "countryInfo.txt": 252, "admin1CodesASCII.txt": 3865, "admin2Codes.txt": 45785,
		"adminCode5.txt": 75995, "featureCodes_en.txt": 680, "timeZones.txt": 418, "iso-languagecodes.txt": 7929,
		"alternateNamesV2.zip": 2, "hierarchy.txt": 1,
	}
	for i, s := range m.Sources {
		if s.File != filepath.Base(files[i]) || s.Records != rows[s.File] || s.License != "CC-BY-4.0" ||
			s.Attribution != "GeoNames" || s.Bytes == 0 || s.SHA256 == "" {
			t.Errorf("%+v", s)
		}
		delete(rows, s.File)
	}
	if len(rows) != 0 {
		t.Errorf("no sources: %v", slices.Sorted(maps.Keys(rows)))
	}
	if newest := m.Sources[1].Modified; !newest.Equal(time.Date(2023, 11, 16, 0, 0, 0, 0, time.UTC)) {
		t.Error(newest)
	}
}

func TestHeldIsBounded(t *testing.T) {
	var h smallRows
	for range maxSmallRows {
		if err := h.add("a code", "a name"); err != nil {
			t.Fatal(err)
		}
	}
	if err := h.add("one more"); !errors.Is(err, errTooMuchSmall) {
		t.Error(err)
	}
	h = smallRows{}
	var err error
	for text, n := strings.Repeat("x", 1<<20), 0; err == nil && n <= maxSmallBytes>>20; n++ {
		err = h.add(text)
	}
	if !errors.Is(err, errTooMuchSmall) {
		t.Error(err)
	}
}
