package geonames

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"quadrille/cmd/ingest/internal/source"
	"quadrille/cmd/ingest/internal/source/delimited"
	"quadrille/cmd/ingest/internal/source/sourcetest"
)

// take reads a sequence to its end.
func take[T any](t *testing.T, seq iter.Seq2[T, error]) (records []T, bad []*source.BadRecord) {
	t.Helper()
	records, bad, err := sourcetest.All(seq)
	if err != nil {
		t.Fatal(err)
	}
	return records, bad
}

// tableCase is a text of one row and its expected result: a record, or a reason.
type tableCase[T any] struct {
	name, row string
	want      T
	reason    string
}

// testTable puts each row between two good ones, which must be read for any row between them.
func testTable[T any](t *testing.T, read func(io.Reader, string) iter.Seq2[T, error], before, after string, cases []tableCase[T]) {
	t.Helper()
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			text := "\xef\xbb\xbf" + before + "\r\n" + tc.row + "\n\n" + after
			records, bad := take(t, read(strings.NewReader(text), "test.txt"))
			want := 2
			if tc.reason == "" {
				want++
			}
			if len(records) != want {
				t.Fatalf("%d records, want %d; bad %v", len(records), want, bad)
			}
			if tc.reason == "" {
				if diff := cmp.Diff(tc.want, records[1]); diff != "" || len(bad) != 0 {
					t.Fatal(diff, bad)
				}
				return
			}
			if len(bad) != 1 || bad[0].Reason != tc.reason || bad[0].Line != 2 || bad[0].Source != "test.txt" {
				t.Fatalf("bad %v, want %s", bad, tc.reason)
			}
		})
	}
}

// common returns rows that every table refuses.
func common[T any](columns string) []tableCase[T] {
	return []tableCase[T]{
		{name: "one column", row: "x", reason: columns},
		{name: "spaces for tabs", row: "1 2 3 4", reason: columns},
		{name: "too many columns", row: strings.Repeat("1\t", 40), reason: columns},
		{name: "too long", row: strings.Repeat("x", 2*MaxLineBytes), reason: delimited.ReasonLong},
	}
}

func TestAlternateNames(t *testing.T) {
	const row = "1555\t2661552\tde\tBern\t1\t\t\t1\t1191\t"
	testTable(t, ReadAlternateNames, "1\t2\tfr\tBerne\t\t\t\t\t\t", "3\t2\tit\tBerna\t\t\t\t",
		append(common[AlternateName](delimited.ReasonColumns(8, 10)), []tableCase[AlternateName]{
			{name: "ten columns", row: row, want: AlternateName{
				ID: 1555, PlaceID: 2661552, Language: "de", Name: "Bern", Preferred: true, Historic: true, From: "1191", Line: 2}},
			{name: "eight columns", row: "4294967295\t1\tzh-Hant\t伯恩\t0\t1\t1\t", want: AlternateName{
				ID: 4294967295, PlaceID: 1, Language: "zh-Hant", Name: "伯恩", Short: true, Colloquial: true, Line: 2}},
			{
				name: "no language",
				row:  with(row, 3, ""),
				want: AlternateName{ID: 1555, PlaceID: 2661552, Name: "Bern", Preferred: true, Historic: true, From: "1191", Line: 2},
			},
			{
				name: "quotes and markup are data",
				row:  "5\t1\tlink\t \"<b>\" \t\t\t\t",
				want: AlternateName{ID: 5, PlaceID: 1, Language: "link", Name: `"<b>"`, Line: 2},
			},
			{
				name: "republican calendar",
				row:  "5\t1\tfr_1793\tA\t\t\t\t",
				want: AlternateName{ID: 5, PlaceID: 1, Language: "fr_1793", Name: "A", Line: 2},
			},
			{name: "nine columns", row: "5\t1\ten\tA\t\t\t\t\t", reason: delimited.ReasonColumns(8, 10)},
			{name: "no id", row: with(row, 1, ""), reason: reasonID},
			{name: "id 0", row: with(row, 1, "0"), reason: reasonID},
			{name: "no place", row: with(row, 2, ""), reason: reasonPlaceID},
			{name: "place of 33 bits", row: with(row, 2, "4294967296"), reason: reasonPlaceID},
			{name: "language in words", row: with(row, 3, "Swiss German"), reason: reasonLanguage},
			{name: "long language", row: with(row, 3, strings.Repeat("x", 33)), reason: reasonLanguage},
			{name: "no name", row: with(row, 4, " "), reason: reasonName},
			{name: "long name", row: with(row, 4, strings.Repeat("x", 1001)), reason: reasonLongName},
			{name: "bad UTF-8", row: with(row, 4, "Z\xfcrich"), reason: delimited.ReasonUTF8},
			{name: "flag in words", row: with(row, 5, "true"), reason: reasonFlag},
			{name: "duplicate", row: with(row, 1, "1"), reason: reasonDuplicate},
		}...))
}

func TestDivisions(t *testing.T) {
	read := func(level int) func(io.Reader, string) iter.Seq2[Division, error] {
		return func(r io.Reader, name string) iter.Seq2[Division, error] { return ReadDivisions(r, name, level) }
	}
	const first, last = "CH.BE\tBern\tBern\t2661551", "NA.21\tKhomas\tKhomas\t3371200"
	testTable(t, read(1), first, last, append(common[Division](delimited.ReasonColumns(4)), []tableCase[Division]{
		{
			name: "a division",
			row:  "CH.ZH\tZürich\tZuerich\t2657895",
			want: Division{Code: "CH.ZH", Name: "Zürich", ASCIIName: "Zuerich", ID: 2657895, Line: 2},
		},
		{name: "no id", row: "CH.ZH\tZürich\t\t", want: Division{Code: "CH.ZH", Name: "Zürich", Line: 2}},
		{name: "ASCII name only", row: "CH.ZH\t\tZurich\t0", want: Division{Code: "CH.ZH", Name: "Zurich", ASCIIName: "Zurich", Line: 2}},
		{name: "no name", row: "CH.ZH\t\t\t1", reason: reasonName},
		{name: "long name", row: "CH.ZH\t" + strings.Repeat("x", 1001) + "\t\t1", reason: reasonLongName},
		{name: "long ASCII name", row: "CH.ZH\tx\t" + strings.Repeat("x", 1001) + "\t1", reason: reasonLongName},
		{name: "second level", row: "CH.ZH.112\tA\tA\t1", reason: reasonDivision},
		{name: "no country", row: ".ZH\tA\tA\t1", reason: reasonDivision},
		{name: "no division", row: "CH.\tA\tA\t1", reason: reasonDivision},
		{name: "country only", row: "CH\tA\tA\t1", reason: reasonDivision},
		{name: "long code", row: "CH." + strings.Repeat("x", 100) + "\tA\tA\t1", reason: reasonDivision},
		{name: "negative id", row: "CH.ZH\tA\tA\t-1", reason: reasonID},
		{name: "bad UTF-8", row: "CH.ZH\tZ\xfcrich\tA\t1", reason: delimited.ReasonUTF8},
		{name: "duplicate", row: "CH.BE\tA\tA\t1", reason: reasonDuplicateCode},
	}...))
	testTable(t, read(2), "CH.BE.246\tA\tA\t1", "CH.BE.247\tA\tA\t1", []tableCase[Division]{
		{name: "a division", row: "ZA.05.ZAR23\tA\tB\t7", want: Division{Code: "ZA.05.ZAR23", Name: "A", ASCIIName: "B", ID: 7, Line: 2}},
		{name: "first level", row: "CH.BE\tA\tA\t1", reason: reasonDivision},
		{name: "third level", row: "CH.BE.246.351\tA\tA\t1", reason: reasonDivision},
		{name: "empty part", row: "CH..246\tA\tA\t1", reason: reasonDivision},
	})
}

func TestAdmin5(t *testing.T) {
	testTable(t, ReadAdmin5, "1\tA", "3\tB", append(common[Admin5](delimited.ReasonColumns(2)), []tableCase[Admin5]{
		{name: "a code", row: "2803422\tR02", want: Admin5{ID: 2803422, Code: "R02", Line: 2}},
		{name: "no id", row: "\tR02", reason: reasonID},
		{name: "no code", row: "5\t ", reason: reasonNoCode},
		{name: "long code", row: "5\t" + strings.Repeat("x", 101), reason: reasonNoCode},
		{name: "bad UTF-8", row: "5\t\xff", reason: delimited.ReasonUTF8},
		{name: "duplicate", row: "1\tR02", reason: reasonDuplicate},
	}...))
}

func TestFeatures(t *testing.T) {
	records, bad := take(t, ReadFeatures(strings.NewReader("null\tnot available\t\nA.ADM1\ta\tb"), "test.txt"))
	if len(records) != 1 || len(bad) != 0 || records[0].Line != 2 {
		t.Error(records, bad)
	}
	cases := append(common[Feature](delimited.ReasonColumns(3)), []tableCase[Feature]{
		{
			name: "a code",
			row:  "P.PPLC\tcapital of a political entity\t",
			want: Feature{Code: "P.PPLC", Name: "capital of a political entity", Line: 2},
		},
		{
			name: "described",
			row:  "S.BUSTN\tbus station\ta \"facility\"",
			want: Feature{Code: "S.BUSTN", Name: "bus station", Description: `a "facility"`, Line: 2},
		},
		{name: "no class", row: "PPLC\ta\tb", reason: reasonCode},
		{name: "lower case", row: "p.pplc\ta\tb", reason: reasonCode},
		{name: "no code", row: "P.\ta\tb", reason: reasonCode},
		{name: "long code", row: "P.ABCDEFGHIJK\ta\tb", reason: reasonCode},
		{name: "no name", row: "P.PPLC\t\tb", reason: reasonName},
		{name: "long description", row: "P.PPLC\ta\t" + strings.Repeat("x", 4001), reason: reasonDescription},
		{name: "bad UTF-8", row: "P.PPLC\ta\t\xff", reason: delimited.ReasonUTF8},
		{name: "duplicate", row: "A.ADM1\ta\tb", reason: reasonDuplicateCode},
	}...)
	testTable(t, ReadFeatures, "A.ADM1\ta\tb", "V.VINS\ta\tb", cases)
}

const andorra = "AD\tAND\t020\tAN\tAndorra\tAndorra la " +
	"Vella\t468\t77006\tEU\t.ad\tEUR\tEuro\t376\tAD###\t^(?:AD)*(\\d{3})$\tca\t3041565\tES,FR\t"

func TestCountries(t *testing.T) {
	const namibia = "NA\tNAM\t516\tWA\tNamibia\tWindhoek\t825418\t2448255\tAF\t.na\tNAD\tDollar\t264\t\t\ten-NA,af,de\t3355338\tZA,BW,ZM,AO\t"
	cases := append(common[Country](delimited.ReasonColumns(19)), []tableCase[Country]{
		{name: "a country", row: andorra, want: Country{
			Code: "AD", ISO3: "AND", Numeric: 20, FIPS: "AN", Name: "Andorra", Capital: "Andorra la Vella", AreaKM2: 468, Population: 77006,
			Continent: "EU", TLD: ".ad", CurrencyCode: "EUR", CurrencyName: "Euro", Phone: "376", PostalFormat: "AD###",
			PostalPattern: `^(?:AD)*(\d{3})$`, Languages: []string{"ca"}, ID: 3041565, Neighbours: []string{"ES", "FR"}, Line: 2}},
		{
			name: "little known",
			row:  "XK" + strings.Repeat("\t", 4) + "Kosovo" + strings.Repeat("\t", 14),
			want: Country{Code: "XK", Name: "Kosovo", Line: 2},
		},
		{name: "area with a fraction", row: with("XK"+strings.Repeat("\t", 18), 5, "A", 7, "1.98", 16, "sq, ,sr", 17, "0"),
			want: Country{Code: "XK", Name: "A", AreaKM2: 1.98, Languages: []string{"sq", "sr"}, Line: 2}},
		{name: "code of three", row: with(andorra, 1, "AND"), reason: reasonCountry},
		{name: "ISO3 of two", row: with(andorra, 2, "AN"), reason: reasonISO3},
		{name: "numeric in words", row: with(andorra, 3, "x"), reason: reasonNumeric},
		{name: "numeric of four", row: with(andorra, 3, "1000"), reason: reasonNumeric},
		{name: "no name", row: with(andorra, 5, " "), reason: reasonName},
		{name: "area NaN", row: with(andorra, 7, "NaN"), reason: reasonArea},
		{name: "area infinite", row: with(andorra, 7, "Inf"), reason: reasonArea},
		{name: "area negative", row: with(andorra, 7, "-1"), reason: reasonArea},
		{name: "population with commas", row: with(andorra, 8, "77,006"), reason: reasonPopulation},
		{name: "long text", row: with(andorra, 15, strings.Repeat("x", 1001)), reason: reasonLongText},
		{name: "id in words", row: with(andorra, 17, "x"), reason: reasonID},
		{name: "neighbours in words", row: with(andorra, 18, "ES,France"), reason: reasonNeighbours},
		{name: "bad UTF-8", row: with(andorra, 5, "\xff"), reason: delimited.ReasonUTF8},
		{name: "duplicate", row: with(andorra, 1, "NA"), reason: reasonDuplicateCode},
	}...)
	testTable(t, ReadCountries, namibia, with(andorra, 1, "ZZ"), cases)
	records, bad := take(t, ReadCountries(strings.NewReader("# a comment\r\n#ISO\tISO3\r\n"+andorra+"\r\n"), "test.txt"))
	if len(records) != 1 || len(bad) != 0 || records[0].Line != 3 {
		t.Error(records, bad)
	}
}

func TestParents(t *testing.T) {
	testTable(t, ReadParents, "1\t2\tADM", "3\t4", append(common[Parent](delimited.ReasonColumns(2, 3)), []tableCase[Parent]{
		{name: "administrative", row: "6295630\t6255146\tADM", want: Parent{Parent: 6295630, Child: 6255146, Type: "ADM", Line: 2}},
		{name: "empty type", row: "5\t6\t", want: Parent{Parent: 5, Child: 6, Line: 2}},
		{name: "no type", row: "5\t6", want: Parent{Parent: 5, Child: 6, Line: 2}},
		{name: "twice", row: "1\t2\tADM", want: Parent{Parent: 1, Child: 2, Type: "ADM", Line: 2}},
		{name: "no child", row: "5\t\tADM", reason: reasonPlaceID},
		{name: "itself", row: "5\t5\tADM", reason: reasonSelf},
		{name: "long type", row: "5\t6\t" + strings.Repeat("x", 33), reason: reasonType},
		{name: "bad UTF-8", row: "5\t6\t\xff", reason: delimited.ReasonUTF8},
	}...))
}

func TestDeletions(t *testing.T) {
	testTable(t, ReadDeletions, "1\tA\tb", "3\tC\t", append(common[Deletion](delimited.ReasonColumns(3)), []tableCase[Deletion]{
		{name: "a deletion", row: "5\tB\tno longer exists", want: Deletion{ID: 5, Name: "B", Comment: "no longer exists", Line: 2}},
		{name: "no id", row: "\tB\t", reason: reasonID},
		{name: "bad UTF-8", row: "5\t\xff\t", reason: delimited.ReasonUTF8},
	}...))
}

func TestTimeZones(t *testing.T) {
	const header = "CountryCode\tTimeZoneId\tGMT offset 1. Jan 2026\tDST offset 1. Jul 2026\trawOffset"
	records, bad := take(t, ReadTimeZones(strings.NewReader(header+"\nNP\tAsia/Kathmandu\t5.75\t5.75\t5.75\n"), "test.txt"))
	if len(records) != 1 || len(bad) != 0 {
		t.Fatal(records, bad)
	}
	testTable(t, ReadTimeZones, "CI\tAfrica/Abidjan\t0.0\t0.0\t0.0", "US\tAmerica/Adak\t-10\t-9\t-10",
		append(common[TimeZone](delimited.ReasonColumns(5)), []tableCase[TimeZone]{
			{
				name: "a zone",
				row:  "CH\tEurope/Zurich\t1.0\t2.0\t1.0",
				want: TimeZone{Country: "CH", Name: "Europe/Zurich", January: 1, July: 2, Raw: 1, Line: 2},
			},
			{name: "no country", row: "\tEurope/Zurich\t1.0\t2.0\t1.0", want: TimeZone{Name: "Europe/Zurich", January: 1, July: 2, Raw: 1, Line: 2}},
			{name: "no name", row: "CH\t\t1.0\t2.0\t1.0", reason: reasonZone},
			{name: "offset NaN", row: "CH\tEurope/Zurich\tNaN\t2.0\t1.0", reason: reasonOffset},
			{name: "offset in seconds", row: "CH\tEurope/Zurich\t1\t7200\t1", reason: reasonOffset},
			{name: "offset empty", row: "CH\tEurope/Zurich\t1\t2\t", reason: reasonOffset},
			{name: "country in words", row: "Schweiz\tEurope/Zurich\t1\t2\t1", reason: reasonCountry},
			{name: "bad UTF-8", row: "CH\t\xff\t1\t2\t1", reason: delimited.ReasonUTF8},
		}...))
}

func TestLanguages(t *testing.T) {
	records, bad := take(t, ReadLanguages(strings.NewReader("ISO 639-3\tISO 639-2\tISO 639-1\tLanguage "+
		"Name\naar\taar\taa\tAfar\n"), "test.txt"))
	if len(records) != 1 || len(bad) != 0 {
		t.Fatal(records, bad)
	}
	testTable(t, ReadLanguages, "aar\taar\taa\tAfar", "zxx\t\t\tNo linguistic content",
		append(common[Language](delimited.ReasonColumns(4)), []tableCase[Language]{
			{
				name: "two codes of ISO 639-2",
				row:  "zho\tzho / chi*\tzh\tChinese",
				want: Language{ISO3: "zho", ISO2: []string{"zho", "chi"}, ISO1: "zh", Name: "Chinese", Line: 2},
			},
			{
				name: "a family",
				row:  "\tafa\t\tAfro-Asiatic languages",
				want: Language{ISO2: []string{"afa"}, Name: "Afro-Asiatic languages", Line: 2},
			},
			{name: "no name", row: "aaa\t\t\t", reason: reasonName},
			{name: "code in words", row: "a b\t\t\tA", reason: reasonLanguage},
			{name: "bad UTF-8", row: "aaa\t\t\t\xff", reason: delimited.ReasonUTF8},
		}...))
}

// TestTablesEnd tests that every table yields the error of its reader last, and that the reading
// stops when the caller leaves the loop.
func TestTablesEnd(t *testing.T) {
	broken := errors.New("broken")
	for name, read := range tables {
		r := io.MultiReader(strings.NewReader("x\nx\n"), iotestErr{broken})
		var n int
		var last error
		for err := range read(r) {
			n, last = n+1, err
		}
		if n != 3 || !errors.Is(last, broken) {
			t.Errorf("%s: %d yielded, the last %v", name, n, last)
		}
		n = 0
		for range read(strings.NewReader("x\nx\n")) {
			n++
			break
		}
		if n != 1 {
			t.Errorf("%s: %d yielded", name, n)
		}
	}
}

type iotestErr struct{ err error }

func (r iotestErr) Read([]byte) (int, error) { return 0, r.err }

// tables are all readers except the reader of places, with checks of the invariants of their
// records.
var tables = map[string]func(io.Reader) iter.Seq[error]{
	"alternates": table(ReadAlternateNames, func(a AlternateName) bool {
		return a.ID != 0 && a.PlaceID != 0 && a.Name != "" && len(a.Name) <= maxName && isLanguage(a.Language)
	}),
	"admin1": table(func(r io.Reader, name string) iter.Seq2[Division, error] { return ReadDivisions(r, name, 1) }, func(d Division) bool {
		return levelOf(d.Code) == 1 && d.Name != ""
	}),
	"admin2": table(func(r io.Reader, name string) iter.Seq2[Division, error] { return ReadDivisions(r, name, 2) }, func(d Division) bool {
		return levelOf(d.Code) == 2 && d.Name != ""
	}),
	"admin5": table(ReadAdmin5, func(a Admin5) bool { return a.ID != 0 && a.Code != "" }),
	"countries": table(ReadCountries,
		func(c Country) bool { return isCountry(c.Code) && c.Name != "" && c.AreaKM2 >= 0 && c.Population >= 0 }),
	"features":  table(ReadFeatures, func(f Feature) bool { return isFeature(f.Code) && f.Name != "" }),
	"parents":   table(ReadParents, func(p Parent) bool { return p.Parent != 0 && p.Child != 0 && p.Parent != p.Child }),
	"deletions": table(ReadDeletions, func(d Deletion) bool { return d.ID != 0 }),
	"zones":     table(ReadTimeZones, func(z TimeZone) bool { return z.Name != "" && z.Raw >= -24 && z.Raw <= 24 }),
	"languages": table(ReadLanguages, func(l Language) bool { return l.Name != "" && isLanguage(l.ISO1) }),
}

var errInvalid = errors.New("a record that is not valid")

func table[T any](read func(io.Reader, string) iter.Seq2[T, error], valid func(T) bool) func(io.Reader) iter.Seq[error] {
	return func(r io.Reader) iter.Seq[error] {
		return func(yield func(error) bool) {
			for rec, err := range read(r, "test") {
				if err == nil && !valid(rec) {
					err = fmt.Errorf("%w: %+v", errInvalid, rec)
				}
				if !yield(err) {
					return
				}
			}
		}
	}
}

func FuzzTables(f *testing.F) {
	f.Add([]byte("1555\t2661552\tde\tBern\t1\t\t\t1\t1191\t\n1\t2\t\tx\t\t\t\t"))
	f.Add([]byte("CH.BE\tBern\tBern\t2661551\nCH.BE.246\tA\tA\t1\r\n"))
	f.Add([]byte("\xef\xbb\xbf#\n" + andorra + "\n\n" + andorra))
	f.Add([]byte("null\tnot available\t\nP.PPL\ta\tb\n1\t2\tADM\n1\t2\n"))
	f.Add([]byte("CH\tEurope/Zurich\t1.0\t2.0\t1.0\nzho\tzho / chi*\tzh\tChinese"))
	f.Fuzz(func(t *testing.T, text []byte) {
		lines := bytes.Count(text, []byte{'\n'}) + bytes.Count(text, []byte{'\r'}) + 1
		for name, read := range tables {
			n := 0
			for err := range read(bytes.NewReader(text)) {
				n++
				var bad *source.BadRecord
				if err != nil && (!errors.As(err, &bad) || bad.Line < 1 || bad.Line > lines) {
					t.Fatalf("%s: %v", name, err)
				}
			}
			if n > lines {
				t.Fatalf("%s: %d yielded from %d lines", name, n, lines)
			}
		}
	})
}

// TestDateAgainstTime compares date with package time, which is slower.
func TestDateAgainstTime(t *testing.T) {
	check := func(rt *rapid.T, s string) {
		want, err := time.Parse(time.DateOnly, s)
		if got, ok := date(s); ok != (err == nil) || ok && !got.Equal(want) {
			rt.Fatalf("%q: %v, %v; want %v, %v", s, got, ok, want, err)
		}
	}
	rapid.Check(t, func(rt *rapid.T) {
		d := func(most int) int { return rapid.IntRange(0, most).Draw(rt, "number") }
		check(rt, fmt.Sprintf("%04d-%02d-%02d", d(9999), d(13), d(32)))
		check(rt, rapid.StringMatching(`[0-9+ -]{4}-[0-9 -]{2}-[0-9a ]{2}`).Draw(rt, "text"))
	})
	for y := 1896; y <= 2004; y++ {
		for m := range 14 {
			for day := range 33 {
				s := fmt.Sprintf("%04d-%02d-%02d", y, m, day)
				want, err := time.Parse(time.DateOnly, s)
				if got, ok := date(s); ok != (err == nil) || ok && !got.Equal(want) {
					t.Fatalf("%q: %v, %v", s, got, ok)
				}
			}
		}
	}
}

func TestHeights(t *testing.T) {
	for _, want := range []int{-501, -500, -499, -1, 0, 1, 8849, 9499, 9500, 99999} {
		if got, ok := metres(fmt.Sprint(want)); !ok || *got != want {
			t.Errorf("%d: %v", want, got)
		}
	}
}

func TestRealTables(t *testing.T) {
	const dir = "../../../../../../shared/data/geonames/meta"
	if _, err := os.Stat(dir); err != nil {
		t.Skip("the real GeoNames files are not there:", err)
	}
	for _, tc := range []struct {
		table, file string
		rows        int
	}{
		{"admin1", "admin1CodesASCII.txt", 3865}, {"admin2", "admin2Codes.txt", 45785}, {"admin5", "adminCode5.txt", 75995},
		{"countries", "countryInfo.txt", 252}, {"features", "featureCodes_en.txt", 680},
		{"zones", "timeZones.txt", 418}, {"languages", "iso-languagecodes.txt", 7929},
	} {
		f, err := source.Open(filepath.Join(dir, tc.file))
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for err := range tables[tc.table](f) {
			if err != nil {
				t.Errorf("%s: %v", tc.file, err)
			}
			n++
		}
		f.Close()
		if n != tc.rows {
			t.Errorf("%s: %d rows, want %d", tc.file, n, tc.rows)
		}
	}
}

func BenchmarkReadAlternateNames(b *testing.B) {
	var text bytes.Buffer
	const rows = 10000
	for i := range rows {
		fmt.Fprintf(&text, "%d\t%d\tzh-Hant\tSome name of a place\t1\t\t\t\t\t\n", i+1, i/3+1)
	}
	b.SetBytes(int64(text.Len()))
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		for _, err := range ReadAlternateNames(bytes.NewReader(text.Bytes()), "bench") {
			if err != nil {
				b.Fatal(err)
			}
			n++
		}
		if n != rows {
			b.Fatal(n)
		}
	}
	b.ReportMetric(float64(rows)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}
