package geonames

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"quadrille/cmd/internal/testfile"
)

// put writes a file into a temporary directory, packed according to its name. member is the name
// of an archive's member.
func put(t *testing.T, name, member, text string) string {
	t.Helper()
	switch filepath.Ext(name) {
	case ".zip":
		text = testfile.Zip([2]string{"readme.txt", "The data format is tab-delimited text\n"}, [2]string{member, text},
			[2]string{"iso-languagecodes.txt", "ISO 639-3\tISO 639-2\tISO 639-1\tLanguage Name\n"})
	case ".gz":
		text = testfile.Gzip(text)
	}
	return testfile.WriteTemp(t, filepath.FromSlash(name), text)
}

const (
	rowAlternate = "1555\t2661552\tde\tBern\t1\t\t\t1\t\t\n"
	rowPostal    = "CH\t3000\tBern\tBern\tBE\t\t246\t\t351\t46.9\t7.4\t4\n"
	rowAdmin1    = "CH.BE\tBern\tBern\t2661551\n"
)

func TestRecognise(t *testing.T) {
	places := bern + "\n"
	for _, tc := range []struct {
		file, member, text string
		want               Kind
		err                string // part of it
	}{
		// These files are recognised by their names.
		{file: "allCountries.zip", member: "allCountries.txt", text: places, want: KindPlaces},
		{file: "cities15000.txt", text: places, want: KindPlaces},
		{file: "no-country.zip", member: "no-country.txt", text: places, want: KindPlaces},
		{file: "modifications-2026-11-20.txt", text: places, want: KindPlaces},
		{file: "alternateNamesV2.zip", member: "alternateNamesV2.txt", text: rowAlternate, want: KindAlternates},
		{file: "alternateNames.txt", text: strings.TrimSuffix(rowAlternate, "\t\t\n"), want: KindAlternates},
		{file: "adminCode5.zip", member: "adminCode5.txt", text: "1\t2\n", want: KindAdmin5},
		{file: "hierarchy.zip", member: "hierarchy.txt", text: "1\t2\n", want: KindHierarchy},
		{file: "featureCodes_ru.txt", text: "P.PPL\ta\tb\n", want: KindFeatures},
		{file: "deletes-2026-11-20.txt", text: "", want: KindDeletions},
		{file: "cities500.txt", text: "all\nof\nit\nis\nbad\n" + strings.Repeat("not a row\n", 9), want: KindPlaces},
		// These files are recognised by their rows.
		{file: "NL.zip", member: "NL.txt", text: places, want: KindPlaces},
		{file: "NL.txt", text: "bad\n" + places, want: KindPlaces},
		{file: "alternatenames/NL.zip", member: "NL.txt", text: rowAlternate, want: KindAlternates},
		{file: "a.txt.gz", text: rowAlternate + rowAlternate, want: KindAlternates},
		{file: "b.txt", text: strings.TrimSuffix(rowAlternate, "\t\t\n"), want: KindAlternates},
		{file: "c.txt", text: rowAdmin1, want: KindAdmin1},
		{file: "d.txt", text: "CH.BE.246\tA\tA\t1\n", want: KindAdmin2},
		{file: "e.txt", text: "# comment\n#ISO\tISO3\r\n" + andorra + "\r\n", want: KindCountries},
		{file: "f.txt", text: "null\tnot available\t\nP.PPL\ta\tb\n", want: KindFeatures},
		{file: "g.txt", text: "1\t2\tADM\n", want: KindHierarchy},
		{file: "h.txt", text: "CountryCode\tTimeZoneId\tx\ty\tz\n", want: KindTimeZones},
		{file: "i.txt", text: "CH\tEurope/Zurich\t1\t2\t1\n", want: KindTimeZones},
		{file: "j.txt", text: "ISO 639-3\tISO 639-2\tISO 639-1\tLanguage Name\naar\taar\taa\tAfar\n", want: KindLanguages},
		{file: "k.txt", text: "5\tA place\tno longer exists\n", want: KindDeletions},
		{file: "no.txt", text: places, want: KindPlaces},
		// These files are not recognised.
		{file: "l.txt", text: "1\t2\n", err: "rows of 2 columns"},
		{file: "m.txt", text: "1\t2\t3\t4\t5\t6\t7\n", err: "--as places="},
		{file: "n.txt", text: "id,name\n1,Bern\n", err: "not columns separated by tabs"},
		{file: "o.txt", text: "\n\n", err: "has no rows"},
		{file: "p.txt", text: places + "x\ny\n", err: "its lines, such as \"x\", are not columns"},
		{file: "CH.zip", member: "CH.txt", text: rowPostal, err: "postal codes"},
		{file: "allCountries.zip", member: "allCountries.txt", text: rowPostal, err: "postal codes"},
		{file: "hierarchy.txt", text: places, err: "--as places="},
		{file: "admin2Codes.txt", text: rowAdmin1, err: "its rows are those of admin1"},
		{file: "alternateNamesModifications-2026-11-20.txt", text: rowAlternate, err: "alternateNamesV2.zip"},
		{file: "userTags.zip", member: "userTags.txt", text: "1\ttag\n", err: "leave it out"},
		{file: "readme.txt", text: "Readme\n", err: "leave it out"},
		{file: "shapes_all_low.zip", member: "shapes_all_low.txt", text: "1\t{}\n", err: "ingest boundaries"},
	} {
		t.Run(tc.file, func(t *testing.T) {
			file := put(t, tc.file, tc.member, tc.text)
			kind, err := Recognise(file, file)
			if kind != tc.want || (err == nil) != (tc.err == "") ||
				err != nil && (!strings.Contains(err.Error(), tc.err) || !strings.Contains(err.Error(), file)) {
				t.Fatalf("%q, %v; want %q, %q", kind, err, tc.want, tc.err)
			}
		})
	}
	if _, err := Recognise("none.txt", filepath.Join(t.TempDir(), "none.txt")); !os.IsNotExist(err) {
		t.Error(err)
	}
	if _, err := Recognise("NL.zip", put(t, "NL.zip", "readme.txt", "x")); err == nil {
		t.Error("an archive without a table is taken")
	}
}

func TestRecogniseRealFiles(t *testing.T) {
	const dir = "../../../../../../shared/data/geonames"
	if _, err := os.Stat(dir); err != nil {
		t.Skip("the real GeoNames files are not there:", err)
	}
	for name, want := range map[string]Kind{
		"cities15000.zip": KindPlaces, "cities1000-2010.zip": KindPlaces, "countries/SG.zip": KindPlaces, "countries/no-country.zip": KindPlaces,
		"meta/admin1CodesASCII.txt": KindAdmin1, "meta/admin2Codes.txt": KindAdmin2, "meta/adminCode5.txt": KindAdmin5,
		"meta/countryInfo.txt": KindCountries, "meta/featureCodes_en.txt": KindFeatures, "meta/timeZones.txt": KindTimeZones,
		"meta/iso-languagecodes.txt": KindLanguages,
	} {
		file := filepath.Join(dir, name)
		if kind, err := Recognise(file, file); kind != want || err != nil {
			t.Errorf("%s: %q, %v", name, kind, err)
		}
		// This is the same file with an uninformative name, and two columns do not identify its
		// kind.
		f := testfile.Read(t, file)
		unnamed := filepath.Join(t.TempDir(), "x")
		testfile.Write(t, unnamed, f)
		if kind, err := Recognise(unnamed, unnamed); want != KindAdmin5 && (kind != want || err != nil) || want == KindAdmin5 && err == nil {
			t.Errorf("%s by its rows: %q, %v", name, kind, err)
		}
	}
}

func TestParseKind(t *testing.T) {
	for _, k := range kinds {
		if got, err := ParseKind(strings.ToUpper(string(k.kind))); got != k.kind || err != nil {
			t.Errorf("%s: %q, %v", k.kind, got, err)
		}
	}
	if k, err := ParseKind("postal codes"); err == nil || !strings.Contains(err.Error(), "alternatenames") {
		t.Error(k, err)
	}
}

func TestDeletionDate(t *testing.T) {
	for _, name := range []string{"deletes-2026-11-20.txt", "x/Deletes-2026-11-20.txt.gz"} {
		if on, err := DeletionDate(name); err != nil || !on.Equal(time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)) {
			t.Error(name, on, err)
		}
	}
	for _, name := range []string{"deletes.txt", "deletes-2026-11-31.txt", "2026-11-20.txt", "deletes-20261120.txt"} {
		if on, err := DeletionDate(name); err == nil || !strings.Contains(err.Error(), "deletes-YYYY-MM-DD.txt") {
			t.Error(name, on, err)
		}
	}
}

func FuzzLook(f *testing.F) {
	f.Add([]byte(bern + "\n#\n\xef\xbb\xbf"))
	f.Add([]byte(rowAlternate + rowPostal + rowAdmin1))
	f.Add([]byte("1\t2\n1\t2\tADM\n" + andorra))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := look(bytes.NewReader(text), "file")
		if err != nil {
			t.Fatal(err)
		}
		votes := 0
		for _, n := range s.votes {
			votes += n
		}
		if votes > s.rows || s.rows > sampleRows {
			t.Fatalf("%+v", s)
		}
		if kind, err := s.kind("file"); (kind == "") == (err == nil) || kind == postalCodes {
			t.Fatalf("%q, %v", kind, err)
		}
	})
}
