package features

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/paulmach/orb"
	"github.com/paulmach/orb/encoding/wkb"
	"pgregory.net/rapid"

	"quadrille/cmd/ingest/internal/job"
	"quadrille/cmd/ingest/internal/job/jobtest"
	"quadrille/cmd/ingest/internal/source"
	"quadrille/cmd/ingest/internal/source/format"
	"quadrille/cmd/ingest/internal/source/geojson"
	"quadrille/cmd/internal/testfile"
	"quadrille/internal/must"
)

// chosen returns the lines of the features of files that fulfil a condition, and the bad ones as negative numbers.
func chosen(t testing.TB, where string, o format.Options, paths ...string) (lines []int, notes string, err error) {
	var w Where
	if err := w.UnmarshalText([]byte(where)); err != nil {
		return nil, "", err
	}
	var rep jobtest.Recorder
	s, err := New(t.Context(), &rep, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	s.Selection = Select(w)
	for _, path := range paths {
		o.Want, o.Said = source.WantPoints, &geojson.Said{}
		f, err := s.Open(job.Input{Path: path}, o)
		if err != nil {
			t.Fatal(err)
		}
		err = f.Read("reading", func(l *format.Layer, _ func()) error {
			for f, err := range l.Features {
				var bad *source.BadRecord
				switch {
				case errors.As(err, &bad):
					lines = append(lines, -bad.Line)
				case err != nil:
					return err
				default:
					lines = append(lines, f.Line)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return lines, strings.ReplaceAll(strings.Join(rep.Notes, "; "), filepath.Dir(paths[0])+"/", ""), s.Selection.Err()
}

// --where means the same in every format. In tables, where all values are texts, the literal tells how they are compared.
func TestWhereOfEveryFormat(t *testing.T) {
	table := "name,lat,lon,code,n,open,when\noak,1,1,007,12,TRUE,2026-01-31\nelm,2,2,7,9,false,2026-02-01\nash,3,3,,,,\nyew,,,7,100,true,\nfir,91,1,7,5,,\n"
	point := func(id, properties string) string {
		return fmt.Sprintf(`{"type":"Feature"%s,"properties":%s,"geometry":{"type":"Point","coordinates":[1,1]}}`+"\n", id, properties)
	}
	features := point(`,"id":"oak"`, `{"kind":"tr\u0065e","n":12,"address":{"city":"Bern"},"tags":["a","b"]}`) +
		point(`,"id":7`, `{"kind":"bush","n":"12","address":null}`) +
		point("", `{"kind":null,"n":NaN,"x.y":1}`) +
		point("", `{"kind":"bush","kind":"tree","n":1e1}`) +
		`{"type":"Feature","properties":{"kind":"tree"},"geometry":null}` + "\n"
	records := `[{"id":1,"lat":1,"lon":1,"a":{"b":"x"}},{"id":2,"lat":1,"lon":1,"a":{"b":"y"}}]`
	for _, tc := range []struct {
		name, text, where string
		want              []int
	}{
		{"a.csv", table, "code = '007'", []int{2}},
		{"a.csv", table, "code = 7", []int{3, -5, 6}},
		{"a.csv", table, "n > 9", []int{2, -5}},
		{"a.csv", table, "n BETWEEN 9 AND 12", []int{2, 3}},
		{"a.csv", table, "n = '12'", []int{2}},
		{"a.csv", table, "open = TRUE", []int{2, -5}},
		{"a.csv", table, "open IS NULL AND name LIKE 'a%'", []int{4}},
		{"a.csv", table, "when >= DATE('2026-02-01')", []int{3}},
		{"a.csv", table, "CASEI(name) IN (CASEI('OAK'), 'elm')", []int{2, 3}},
		{"a.geojson", features, "kind = 'tree'", []int{1, 4, 5}},
		{"a.geojson", features, "kind <> 'tree'", []int{2}},
		{"a.geojson", features, "n = 12", []int{1}},
		{"a.geojson", features, "n IS NULL", []int{3, 5}},
		{"a.geojson", features, "n <= 10.0", []int{4}},
		{"a.geojson", features, "address.city = 'Bern'", []int{1}},
		{"a.geojson", features, "x.y = 1", []int{3}},
		{"a.geojson", features, "tags = 'b'", []int{1}},
		{"a.geojson", features, "A_CONTAINS(tags, ('a', 'b'))", []int{1}},
		{"a.geojson", features, "id = 'oak' OR id = '7'", []int{1, 2}},
		{"a.json", records, "a.b = 'y'", []int{1}},
		{"a.json", records, "id = 1", []int{1}},
	} {
		lines, notes, err := chosen(t, tc.where, format.Options{}, testfile.WriteTemp(t, tc.name, tc.text))
		if err != nil || !slices.Equal(lines, tc.want) {
			t.Errorf("%s, %s: lines %d, want %d; %v", tc.name, tc.where, lines, tc.want, err)
		}
		if !strings.Contains(notes, " records are left out by --where") {
			t.Errorf("%s, %s: %q", tc.name, tc.where, notes)
		}
	}
}

// Files without a feature for --where are no error beside others; without any, the error says what the files have.
func TestWhereWithoutFeatures(t *testing.T) {
	a := testfile.WriteTemp(t, "a.csv", "id,lat,lon,subtype,closed\n1,1,1,county,\n2,2,2,region,\n")
	b := testfile.WriteTemp(t, "b.csv", "id,lat,lon,country\n1,1,1,QD\n")
	for where, want := range map[string]struct{ note, err string }{
		"subtype = 'county'":                  {"a.csv: 1 of 2 records are left out by --where", ""},
		"country = 'QD'":                      {"a.csv: 2 of 2 records are left out by --where", ""},
		"closed IS NULL AND country IS NULL":  {"b.csv: 1 of 1 records", ""},
		"subtypee = 'county'":                 {"", `no record has "subtypee"; there are "subtype", "closed", "country", "id"`},
		"subtype = 'County'":                  {"", `--where "subtype = 'County'" leaves out all 3 records; subtype is "county" in the first that has it`},
		"closed = 'yes'":                      {"", "leaves out all 3 records"},
		"lat > 1":                             {"", "lat is a part of the position, and no property; --bbox W,S,E,N takes what lies in a box"},
		"subtype = 'county' OR a.b = 'q'":     {"", `no record has "a.b"`},
		"country = 'QD' AND closed IS NULL":   {"", ""},
		"subtype IS NULL AND country <> 'QD'": {"", "leaves out all"},
	} {
		_, notes, err := chosen(t, where, format.Options{}, a, b)
		if (err == nil) != (want.err == "") || err != nil && !strings.Contains(err.Error(), want.err) {
			t.Errorf("%s: %v, want %q", where, err, want.err)
		}
		if !strings.Contains(notes, want.note) {
			t.Errorf("%s: %q, want %q", where, notes, want.note)
		}
	}
}

// What cannot be a condition is refused before a file is opened, with what to type.
func TestWhereIsRefused(t *testing.T) {
	for where, want := range map[string]string{
		"subtype = county":                      `county is a property there; if it is a text, give --where "subtype = 'county'"`,
		"subtype=county":                        `give --where "subtype='county'"`,
		`subtype = "county"`:                    `give --where "subtype = 'county'"`,
		"a = b AND c IN (d, e)":                 `b, d, e is a property there; if it is a text, give --where "a = 'b' AND c IN ('d', 'e')"`,
		"name LIKE Z%":                          "filters do not calculate",
		"name = New York":                       "text in single quotes, such as 'New'",
		"subtype == 'county'":                   "= is not expected here",
		"subtype":                               "is not expected after the property subtype",
		" ":                                     "the filter is empty",
		"TRUE":                                  "names no property",
		"S_INTERSECTS(geometry, BBOX(1,2,3,4))": "give the box by --bbox W,S,E,N",
		"a = 1 OR S_INTERSECTS(g, BBOX(1,2,3,4))": "give the box by --bbox W,S,E,N",
		"CASEI(a) = CASEI(b)":                     "two properties are compared",
	} {
		var w Where
		err := w.UnmarshalText([]byte(where))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", where, err, want)
		}
	}
	var w Where
	if err := w.UnmarshalText(nil); err != nil || Select(w).IsSet() {
		t.Error(err)
	}
}

// tree is a row of a Parquet file.
type tree struct {
	Geometry []byte   `parquet:"geometry"`
	Kind     *string  `parquet:"kind,optional"`
	N        *int32   `parquet:"n,optional"`
	Big      uint64   `parquet:"big"`
	Price    *float64 `parquet:"price,optional"`
	Open     *bool    `parquet:"open,optional"`
	Day      int32    `parquet:"day,date"`
	Place    struct {
		City string `parquet:"city"`
	} `parquet:"place"`
	Names struct {
		Common map[string]string `parquet:"common"`
	} `parquet:"names"`
}

// Row groups that are not read have no feature that fulfils the condition, whatever their values.
func TestRowGroupsChangeNothing(t *testing.T) {
	at, err := wkb.Marshal(orb.Point{1, 2}, binary.LittleEndian)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "trees.parquet")
	texts := rapid.SampledFrom([]string{"", "a", "ab", "b", "é", "éa", "\xe9", "z\xff", "z\U0010ffff", "\u2028", "\"\\", "10", "9", "\ufffd", "\x00"})
	skipped := 0
	rapid.Check(t, func(r *rapid.T) {
		var rows []tree
		for i := range rapid.IntRange(1, 40).Draw(r, "rows") {
			row := tree{Geometry: at, Big: uint64(rapid.SampledFrom([]int64{-1, 0, 1, math.MinInt64}).Draw(r, "big")), Day: int32(i)}
			row.Place.City = texts.Draw(r, "city")
			row.Names.Common = map[string]string{"de": texts.Draw(r, "de")}
			if rapid.Bool().Draw(r, "has kind") {
				kind := texts.Draw(r, "kind")
				row.Kind = &kind
			}
			if n := int32(rapid.IntRange(-3, 3).Draw(r, "n")); n != 0 {
				price := rapid.SampledFrom([]float64{math.NaN(), math.Inf(1), math.Copysign(0, -1), 0, 0.1, -1e300}).Draw(r, "price")
				open := n > 0
				row.N, row.Price, row.Open = &n, &price, &open
			}
			rows = append(rows, row)
		}
		slices.SortFunc(rows, func(a, b tree) int { return bytes.Compare([]byte(a.Place.City), []byte(b.Place.City)) })
		var b bytes.Buffer
		w := parquet.NewGenericWriter[tree](&b, parquet.MaxRowsPerRowGroup(rapid.Int64Range(1, 8).Draw(r, "group")),
			parquet.KeyValueMetadata("geo", `{"version":"1.1.0","primary_column":"geometry","columns":{"geometry":{"encoding":"WKB","geometry_types":[]}}}`))
		if _, err := w.Write(rows); err != nil {
			r.Fatal(err)
		}
		if err := errors.Join(w.Close(), os.WriteFile(path, b.Bytes(), 0o600)); err != nil {
			r.Fatal(err)
		}
		for range 10 {
			var where string
			for i := range rapid.IntRange(1, 3).Draw(r, "conditions") {
				if i > 0 {
					where += rapid.SampledFrom([]string{" AND ", " OR ", " AND NOT "}).Draw(r, "join")
				}
				text := "'" + strings.ToValidUTF8(texts.Draw(r, "text"), "\ufffd") + "'"
				number := rapid.SampledFrom([]string{"-2", "0", "0.1", "2", "18446744073709551615", "1e300"}).Draw(r, "number")
				where += rapid.SampledFrom([]string{
					"kind = " + text, "place.city = " + text, "place.city < " + text, "place.city >= " + text, "kind IN ('a', " + text + ")",
					"name:de = " + text, "n > " + number, "n = " + number, "n BETWEEN -2 AND " + number, "big > " + number, "price <= " + number, "price = " + number,
					"open = TRUE", "open = FALSE", "kind IS NULL", "CASEI(kind) = CASEI('AB')", "kind LIKE 'a%'", "day < DATE('1970-01-09')", "day = '1970-01-03'",
					"kind = " + number, "n = " + text,
				}).Draw(r, "condition")
			}
			lines, notes, _ := chosen(t, where, format.Options{}, path)
			all := format.Options{}
			all.Style.IsTime = func(string) bool { return false } // so that all are read
			want, without, _ := chosen(t, where, all, path)
			if !slices.Equal(lines, want) || strings.Contains(without, "row groups") {
				r.Fatalf("%s: %d, want %d", where, lines, want)
			}
			if strings.Contains(notes, "row groups have no record for --where") {
				skipped++
				if a, b := counts(notes), counts(without); a != b {
					r.Fatalf("%s: %s, want %s", where, a, b)
				}
			}
		}
	})
	if skipped < 10 {
		t.Errorf("row groups were skipped %d times", skipped)
	}
}

// counts returns the note with the numbers of records.
func counts(notes string) string {
	for note := range strings.SplitSeq(notes, "; ") {
		if strings.HasSuffix(note, "left out by --where") {
			return note
		}
	}
	return ""
}

// --where takes columns of Overture Maps by the names in the file, and by those of the properties that they become.
func TestWhereOfRenamedColumns(t *testing.T) {
	type names struct {
		Primary string            `parquet:"primary"`
		Common  map[string]string `parquet:"common"`
	}
	type row struct {
		Geometry []byte `parquet:"geometry"`
		Names    names  `parquet:"names"`
	}
	type named struct {
		Geometry []byte `parquet:"geometry"`
		Name     string `parquet:"name"`
		Names    names  `parquet:"names"`
	}
	at := must.Get(wkb.Marshal(orb.Point{1, 2}, binary.LittleEndian)).In(t)
	write := func(name string, write func(path string) error) string {
		path := filepath.Join(t.TempDir(), name)
		must.Do(t, write(path))
		return path
	}
	geo := parquet.KeyValueMetadata("geo", `{"version":"1.1.0","primary_column":"geometry","columns":{"geometry":{"encoding":"WKB","geometry_types":[]}}}`)
	renamed := write("a.parquet", func(path string) error {
		return parquet.WriteFile(path, []row{{at, names{"Oak", map[string]string{"de": "Eiche"}}}, {at, names{"Elm", map[string]string{}}}}, geo,
			parquet.MaxRowsPerRowGroup(1))
	})
	kept := write("b.parquet", func(path string) error {
		return parquet.WriteFile(path, []named{{at, "x", names{"Oak", nil}}, {at, "Oak", names{"Elm", nil}}}, geo)
	})
	for _, tc := range []struct {
		path, where string
		want        int // features
		err         string
	}{
		{renamed, "names.primary = 'Oak'", 1, ""},
		{renamed, "name = 'Oak'", 1, ""},
		{renamed, "names.primary = 'Oak' AND name = 'Oak'", 1, ""},
		{renamed, "names.primary = 'Ash'", 0, "leaves out all 2 records"},
		{renamed, "names.common.de = 'Eiche'", 1, ""},
		{renamed, "names.common.de IS NULL", 1, ""},
		{renamed, "names.common.fr = 'Ch\u00eane'", 0, "no record has \"names.common.fr\""},
		{renamed, "names.second = 'Oak'", 0, "no record has \"names.second\""},
		{kept, "names.primary = 'Oak'", 1, ""},
		{kept, "name = 'Oak'", 1, ""},
	} {
		lines, _, err := chosen(t, tc.where, format.Options{}, tc.path)
		if len(lines) != tc.want || (tc.err == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), tc.err) {
			t.Errorf("%s: %d features, %v", tc.where, len(lines), err)
		}
	}
}
