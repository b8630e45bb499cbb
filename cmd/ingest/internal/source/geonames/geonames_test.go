package geonames

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"quadrille/cmd/ingest/internal/source"
	"quadrille/cmd/ingest/internal/source/delimited"
	"quadrille/cmd/ingest/internal/source/sourcetest"
	"quadrille/cmd/internal/testfile"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

const bern = "2661552\tBern\tBern\tBRN,Berna,Berne\t46.94809\t7.44744\tP\tPPLC\tCH\t\tBE\t246\t351\t\t121631\t\t549\tEurope/Zurich\t2019-09-05"

// with returns a row with some of its columns, counted from 1, replaced.
func with(row string, columns ...any) string {
	f := strings.Split(row, "\t")
	for i := 0; i < len(columns); i += 2 {
		f[columns[i].(int)-1] = columns[i+1].(string)
	}
	return strings.Join(f, "\t")
}

func read(text string) (records []Record, bad []*source.BadRecord, err error) {
	return sourcetest.All(Read(strings.NewReader(text), "test.txt"))
}

func TestRecord(t *testing.T) {
	records, bad, err := read(bern + "\n")
	if err != nil || len(bad) != 0 {
		t.Fatal(bad, err)
	}
	dem := 549
	want := []Record{{
		ID: 2661552, Name: "Bern", ASCIIName: "Bern", AlternateNames: "BRN,Berna,Berne", Lat: 46.94809, Lon: 7.44744,
		Class: "P", Code: "PPLC", Country: "CH", Admin1: "BE", Admin2: "246", Admin3: "351", Population: 121631,
		DEM: &dem, TimeZone: "Europe/Zurich", Modified: time.Date(2019, 9, 5, 0, 0, 0, 0, time.UTC), Line: 1,
	}}
	if diff := cmp.Diff(want, records); diff != "" {
		t.Error(diff)
	}
}

func TestColumns(t *testing.T) {
	for _, tc := range []struct {
		name, row string
		reason    string // empty: the row is good
		name2     string // its name then
	}{
		{name: "as it is", row: bern, name2: "Bern"},
		{name: "quotes are data", row: with(bern, 2, `"Bern`, 4, `a "b`), name2: `"Bern`},
		{name: "carriage return", row: bern + "\r", name2: "Bern"},
		{name: "no name", row: with(bern, 2, ""), name2: "Bern"},
		{name: "no ASCII name either", row: with(bern, 2, " ", 3, ""), name2: "BRN"},
		{name: "nothing to call it", row: with(bern, 2, "", 3, " ", 4, ", ,"), reason: reasonName},
		{name: "nearly empty", row: "1\tX\t\t\t0\t-0.0\t\t\t\t\t\t\t\t\t\t\t\t\t", name2: "X"},
		{name: "heights unknown", row: with(bern, 16, "-9999", 17, "-9999"), name2: "Bern"},
		{name: "pole and dateline", row: with(bern, 5, "-90", 6, "180"), name2: "Bern"},
		{name: "18 columns", row: strings.TrimSuffix(bern, "\t2019-09-05"), reason: delimited.ReasonColumns(19)},
		{name: "20 columns", row: bern + "\t", reason: delimited.ReasonColumns(19)},
		{name: "spaces for tabs", row: strings.ReplaceAll(bern, "\t", " "), reason: delimited.ReasonColumns(19)},
		{name: "bad UTF-8", row: with(bern, 2, "Z\xfcrich"), reason: delimited.ReasonUTF8},
		{name: "no id", row: with(bern, 1, ""), reason: reasonID},
		{name: "id 0", row: with(bern, 1, "0"), reason: reasonID},
		{name: "id of 33 bits", row: with(bern, 1, "4294967296"), reason: reasonID},
		{name: "negative id", row: with(bern, 1, "-5"), reason: reasonID},
		{name: "latitude NaN", row: with(bern, 5, "NaN"), reason: reasonLat},
		{name: "latitude over 90", row: with(bern, 5, "90.0000001"), reason: reasonLat},
		{name: "latitude empty", row: with(bern, 5, ""), reason: reasonLat},
		{name: "longitude infinite", row: with(bern, 6, "-Inf"), reason: reasonLon},
		{name: "longitude over 180", row: with(bern, 6, "181"), reason: reasonLon},
		{name: "longitude with comma", row: with(bern, 6, "7,44"), reason: reasonLon},
		{name: "two classes", row: with(bern, 7, "PP"), reason: reasonClass},
		{name: "digit for a class", row: with(bern, 7, "1"), reason: reasonClass},
		{name: "code with a dot", row: with(bern, 8, "P.PL"), reason: reasonCode},
		{name: "long code", row: with(bern, 8, "ABCDEFGHIJK"), reason: reasonCode},
		{name: "country of three letters", row: with(bern, 9, "CHE"), reason: reasonCountry},
		{name: "country with a digit", row: with(bern, 9, "C1"), reason: reasonCountry},
		{name: "Namibia", row: with(bern, 9, "NA"), name2: "Bern"},
		{name: "negative population", row: with(bern, 15, "-1"), reason: reasonPopulation},
		{name: "population in words", row: with(bern, 15, "many"), reason: reasonPopulation},
		{name: "elevation in feet", row: with(bern, 16, "10 ft"), reason: reasonElevation},
		{name: "dem out of range", row: with(bern, 17, "99999999999"), reason: reasonElevation},
		{name: "date of 31 February", row: with(bern, 19, "2019-02-31"), reason: reasonModified},
		{name: "too long", row: with(bern, 4, strings.Repeat("x", MaxLineBytes)), reason: delimited.ReasonLong},
	} {
		t.Run(tc.name, func(t *testing.T) {
			after := with(bern, 1, "7", 2, "after")
			records, bad, err := read(tc.row + "\n\n" + after)
			if err != nil {
				t.Fatal(err)
			}
			if tc.reason == "" {
				if len(bad) != 0 || len(records) != 2 || records[0].Name != tc.name2 {
					t.Fatalf("%d records, the first %+v, bad %v", len(records), records, bad)
				}
			} else if len(bad) != 1 || bad[0].Reason != tc.reason || bad[0].Line != 1 || bad[0].Source != "test.txt" || len(records) != 1 {
				t.Fatalf("%d records, bad %v, want %s", len(records), bad, tc.reason)
			}
			if last := records[len(records)-1]; last.Name != "after" || last.Line != 3 {
				t.Fatalf("the row after it is %+v", last)
			}
		})
	}
}

func TestUnknownHeights(t *testing.T) {
	records, _, err := read(with(bern, 16, "-9999", 17, "-9999") + "\n" + with(bern, 1, "2", 16, "0", 17, "-3"))
	if err != nil || len(records) != 2 {
		t.Fatal(records, err)
	}
	if r := records[0]; r.Elevation != nil || r.DEM != nil {
		t.Errorf("-9999 gives %v, %v", r.Elevation, r.DEM)
	}
	if r := records[1]; r.Elevation == nil || *r.Elevation != 0 || r.DEM == nil || *r.DEM != -3 {
		t.Errorf("0 and -3 give %v, %v", r.Elevation, r.DEM)
	}
}

func TestDuplicates(t *testing.T) {
	records, bad, err := read(bern + "\n" + with(bern, 1, "9") + "\n" + with(bern, 2, "again"))
	if err != nil || len(records) != 3 || len(bad) != 0 {
		t.Fatal(records, bad, err)
	}
	for i := range records {
		var bad *source.BadRecord
		if is := errors.As(records[i].Repeated("f"), &bad); is != (i == 2) || is && (bad.Line != 3 || !IsRepeated(bad) || bad.Source != "f") {
			t.Errorf("row %d: %v", i, bad)
		}
	}
	if IsRepeated(&source.BadRecord{Reason: reasonDuplicate}) {
		t.Error("what is no row of places is excused")
	}
}

func TestIDSetAgainstMap(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var s IDSet
		want := map[uint32]bool{}
		for _, id := range rapid.SliceOf(rapid.OneOf(rapid.Uint32Range(0, 200), rapid.Uint32Range(4000, 4200), rapid.Uint32())).Draw(rt, "ids") {
			if s.Add(id) == want[id] {
				rt.Fatalf("id %d was in the set: %v", id, want[id])
			}
			want[id] = true
		}
	})
}

func TestReadError(t *testing.T) {
	broken := errors.New("broken")
	r := io.MultiReader(strings.NewReader(bern+"\n"+bern[:20]), iotest.ErrReader(broken))
	var n int
	var last error
	for _, err := range Read(r, "test.txt") {
		n++
		last = err
	}
	if n != 2 || !errors.Is(last, broken) {
		t.Fatalf("%d yielded, the last %v", n, last)
	}
}

// TestLastLine tests last lines without a line end. Such a line is read like any other, or refused
// if it is too long.
func TestLastLine(t *testing.T) {
	long := strings.Repeat("x", 3*MaxLineBytes)
	for text, want := range map[string][2]int{ // good, bad
		"": {}, "\n": {}, "\n\n": {}, bern: {1, 0}, bern + "\n": {1, 0}, long: {0, 1}, bern + "\n" + long: {1, 1},
		long + "\n": {0, 1}, long + "\n" + bern: {1, 1}, strings.Repeat("x", MaxLineBytes): {0, 1},
		strings.Repeat("x", MaxLineBytes-1) + "\n": {0, 1},
	} {
		records, bad, err := read(text)
		if err != nil || len(records) != want[0] || len(bad) != want[1] {
			t.Errorf("%d bytes, %.20q…: %d good, bad %v, %v", len(text), text, len(records), bad, err)
		}
	}
}

func TestStopsWhenAsked(t *testing.T) {
	for _, text := range []string{bern + "\n" + bern, "x\nx\n"} {
		n := 0
		for range Read(strings.NewReader(text), "test.txt") {
			n++
			break
		}
		if n != 1 {
			t.Fatal(n)
		}
	}
}

func TestMember(t *testing.T) {
	for name, want := range map[string]bool{
		"SG.txt": true, "cities1000.txt": true, "dir/SG.TXT": true, "readme.txt": false, "README.TXT": false,
		"x/readme.txt": false, "SG.csv": false, "__MACOSX/._SG.txt": false, "txt": false,
	} {
		if IsTableMember(name) != want {
			t.Errorf("IsTableMember(%q) is %v", name, !want)
		}
	}
}

// The table is read from a zip archive in any order of members.
func TestArchive(t *testing.T) {
	table, readme := [2]string{"XX.txt", bern + "\n"}, [2]string{"readme.txt", bern + "\nThe data format is tab-delimited text\n"}
	for _, order := range [][][2]string{{readme, table}, {table, readme}} {
		path := testfile.WriteTemp(t, "XX.zip", testfile.Zip(order...))
		f, err := source.OpenMember(path, IsTableMember)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, err := range Read(f, path) {
			if err != nil {
				t.Error(err)
			}
			n++
		}
		if n != 1 {
			t.Errorf("%v: %d rows", order, n)
		}
		f.Close()
	}
}

func TestRealFiles(t *testing.T) {
	const dir = "../../../../../../shared/data/geonames"
	if _, err := os.Stat(dir); err != nil {
		t.Skip("the real GeoNames files are not there:", err)
	}
	for name, want := range map[string]int{
		"cities15000.zip": 32847, "cities5000.zip": 52124, "cities1000-2010.zip": 99824,
		"countries/NL.zip": 22822, "countries/LV.zip": 9344, "countries/SG.zip": 1911, "countries/no-country.zip": 6643,
	} {
		f, err := source.OpenMember(filepath.Join(dir, name), IsTableMember)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, err := range Read(f, name) {
			if err != nil {
				t.Error(err)
			}
			n++
		}
		f.Close()
		if n != want {
			t.Errorf("%s: %d rows, want %d", name, n, want)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(bern + "\n"))
	f.Add([]byte("\xef\xbb\xbf" + bern + "\r\n\n\t\t\n"))
	f.Add([]byte(with(bern, 5, "NaN") + "\n" + with(bern, 2, "\xff")))
	f.Fuzz(func(t *testing.T, text []byte) {
		lines := bytes.Count(text, []byte{'\n'}) + bytes.Count(text, []byte{'\r'}) + 1
		n := 0
		for rec, err := range Read(bytes.NewReader(text), "fuzz") {
			n++
			var bad *source.BadRecord
			if err != nil && !errors.As(err, &bad) {
				t.Fatal(err)
			}
			if err == nil && (rec.ID == 0 || rec.Name == "" || !(rec.Lat >= -90 && rec.Lat <= 90) || !(rec.Lon >= -180 && rec.Lon <= 180) ||
				rec.Population < 0 || rec.Line < 1 || rec.Line > lines) {
				t.Fatalf("%+v", rec)
			}
		}
		if n > lines {
			t.Fatalf("%d yielded from %d lines", n, lines)
		}
	})
}

func BenchmarkRead(b *testing.B) {
	var text bytes.Buffer
	const rows = 10000
	for i := range rows {
		text.WriteString(with(bern, 1, fmt.Sprint(i+1)) + "\n")
	}
	b.SetBytes(int64(text.Len()))
	b.ReportAllocs()
	var total int64
	for b.Loop() {
		for rec, err := range Read(bytes.NewReader(text.Bytes()), "bench") {
			if err != nil {
				b.Fatal(err)
			}
			total += rec.Population
		}
	}
	if total == 0 {
		b.Fatal("nothing read")
	}
	b.ReportMetric(float64(rows)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}
