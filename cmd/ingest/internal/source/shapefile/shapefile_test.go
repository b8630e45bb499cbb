package shapefile_test

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/paulmach/orb"
	"github.com/paulmach/orb/encoding/wkt"

	"quadrille/cmd/ingest/internal/source"
	"quadrille/cmd/ingest/internal/source/shapefile"
	"quadrille/cmd/ingest/internal/source/sourcetest"
	"quadrille/cmd/internal/testfile"
	"quadrille/internal/testrace"
)

func TestReadsWhatIsThere(t *testing.T) {
	path := files(t, map[string][]byte{
		"a.shp": shp(5, record(box(0, 0, 4, 4), hole(1, 1, 2, 2)), record(box(10, 0, 11, 1), box(12, 0, 13, 1)), record(box(20, 0, 21, 1))),
		"a.DBF": dbf(0, []column{
			{"NAME", 'C', 10},
			{"POP", 'N', 12},
			{"SHARE", 'F', 12},
			{"OLD", 'L', 1},
			{"SINCE", 'D', 8},
			{"NOTES", 'M', 10},
			{"NAME", 'C', 3},
		},
			[]string{"  West  ", "12", "0.50000", "T", "20200131", "7", "x"},
			[]string{"", "************", "nan", "?", "00000000", "", ""},
			[]string{"*gone", "1", "1", "N", "20200131", "", ""}),
		"a.prj": []byte(wgs84),
		"a.cpg": []byte("UTF-8\r\n"),
	})
	features, bad, err := read(path, "")
	if err != nil || bad != nil {
		t.Fatal(bad, err)
	}
	want := []source.Feature{
		{Line: 1, Geometry: orb.Polygon{box(0, 0, 4, 4), hole(1, 1, 2, 2)},
			Properties: map[string]any{"NAME": "  West", "POP": int64(12), "SHARE": 0.5, "OLD": true, "SINCE": "2020-01-31"},
			Lost:       source.Lost{Count: 1, First: "NOTES: it is in another file, or binary"}},
		{Line: 2, Geometry: orb.MultiPolygon{{box(10, 0, 11, 1)}, {box(12, 0, 13, 1)}}, Properties: map[string]any{}},
	}
	if d := cmp.Diff(want, features); d != "" {
		t.Error(d)
	}
	f, err := shapefile.Open(path, "", source.WantPolygons)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if f.Note != "" || len(f.Paths) != 4 || f.Paths[0] != path {
		t.Errorf("%q %q", f.Note, f.Paths)
	}
	for range sourcetest.Decoded(f.Features()) {
		break // leaving early is fine
	}
}

// Whole numbers beyond int64 are kept as written.
func TestLargeNumbers(t *testing.T) {
	features, bad, err := read(files(t, map[string][]byte{
		"a.shp": shp(5, record(box(0, 0, 4, 4))),
		"a.dbf": dbf(0, []column{{"BIG", 'N', 20}, {"LAST", 'N', 20}}, []string{"12345678901234567890", "-9223372036854775808"}),
	}), "")
	if err != nil || bad != nil {
		t.Fatal(bad, err)
	}
	want := map[string]any{"BIG": json.RawMessage("12345678901234567890"), "LAST": int64(math.MinInt64)}
	if d := cmp.Diff(want, features[0].Properties); d != "" {
		t.Error(d)
	}
}

// Unreadable fields do not become columns. They do not hide other fields of the same name.
func TestFieldsNotRead(t *testing.T) {
	f, err := shapefile.Open(files(t, map[string][]byte{
		"a.shp": shp(5, record(box(0, 0, 4, 4))),
		"a.dbf": dbf(0, []column{
			{"ID", 'I', 4},
			{"NAME", 'M', 10},
			{"NAME", 'C', 5},
			{"NAME", 'C', 5},
			{"LAST", 'N', 5},
		}, []string{"\x01\x02\x03\x04", "7", "one", "two", "3"}),
	}), "", source.WantPolygons)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if d := cmp.Diff([]string{"NAME", "LAST"}, f.Columns()); d != "" {
		t.Error(d)
	}
	for feature, err := range sourcetest.Decoded(f.Features()) {
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(map[string]any{"NAME": "one", "LAST": int64(3)}, feature.Properties); d != "" {
			t.Error(d)
		}
		if d := cmp.Diff(source.Lost{Count: 2, First: "ID: it is in another file, or binary"}, feature.Lost); d != "" {
			t.Error(d)
		}
	}
}

func TestShapes(t *testing.T) {
	nan, open := math.NaN(), orb.Ring{{0, 0}, {0, 1}, {1, 1}, {1, 0}}
	bowTie := orb.Ring{{0, 0}, {1, 1}, {1, 0}, {0, 1}, {0, 0}}
	null := []byte{0, 0, 0, 0}
	many := record(box(0, 0, 1, 1))
	binary.LittleEndian.PutUint32(many[40:], 1<<31)
	rings := record(box(0, 0, 1, 1))
	binary.LittleEndian.PutUint32(rings[36:], 1<<31)
	back := record(box(0, 0, 1, 1), box(2, 0, 3, 1))
	binary.LittleEndian.PutUint32(back[48:], 11)
	multi := func(ps ...orb.Polygon) orb.Geometry { return source.JoinPolygons(ps) }
	for name, tc := range map[string]struct {
		content []byte
		want    orb.Geometry
		note    string // repair, or bad record
	}{
		"with heights":          {typed(15, box(0, 0, 1, 1)), orb.Polygon{box(0, 0, 1, 1)}, ""},
		"with measures":         {typed(25, box(0, 0, 1, 1)), orb.Polygon{box(0, 0, 1, 1)}, ""},
		"hole before its shell": {record(hole(1, 1, 2, 2), box(0, 0, 4, 4)), orb.Polygon{box(0, 0, 4, 4), hole(1, 1, 2, 2)}, ""},
		"hole of the second shell": {
			record(box(9, 0, 10, 1), box(0, 0, 4, 4), hole(1, 1, 2, 2)),
			multi(orb.Polygon{box(9, 0, 10, 1)}, orb.Polygon{box(0, 0, 4, 4), hole(1, 1, 2, 2)}),
			"",
		},
		"island in a lake": {
			record(box(0, 0, 9, 9), hole(1, 1, 8, 8), box(2, 2, 7, 7), hole(3, 3, 4, 4)),
			multi(orb.Polygon{box(0, 0, 9, 9), hole(1, 1, 8, 8)}, orb.Polygon{box(2, 2, 7, 7), hole(3, 3, 4, 4)}),
			"",
		},
		"hole with its shell's corner": {record(box(0, 0, 9, 9), hole(0, 0, 1, 1)), orb.Polygon{box(0, 0, 9, 9), hole(0, 0, 1, 1)}, ""},
		"hole touching with all corners": {
			record(box(0, 0, 2, 2), orb.Ring{{1, 0}, {2, 1}, {1, 2}, {0, 1}, {1, 0}}),
			orb.Polygon{box(0, 0, 2, 2), {{1, 0}, {2, 1}, {1, 2}, {0, 1}, {1, 0}}},
			"",
		},
		"hole outside": {
			record(box(0, 0, 1, 1), hole(5, 5, 6, 6)),
			multi(orb.Polygon{box(0, 0, 1, 1)}, orb.Polygon{hole(5, 5, 6, 6)}),
			source.RepairRewound,
		},
		"hole around its shell": {
			record(box(1, 1, 2, 2), hole(0, 0, 4, 4)),
			orb.Polygon{hole(0, 0, 4, 4), box(1, 1, 2, 2)},
			source.RepairRewound,
		},
		"hole that sticks out": {
			record(box(70, 0, 74, 4), hole(73, 1, 76, 3)),
			orb.Polygon{box(70, 0, 74, 4), hole(73, 1, 76, 3)},
			source.RepairAstray,
		},
		"hole that sticks out by rounding": {
			record(box(0, 0, 4, 4), hole(1, 1, 4.000001, 3)),
			orb.Polygon{box(0, 0, 4, 4), hole(1, 1, 4.000001, 3)},
			"",
		},
		"hole in two shells that touch": {
			record(box(0, 0, 4, 4), box(4, 0, 8, 4), hole(3, 1, 6, 3)),
			multi(orb.Polygon{box(0, 0, 4, 4)}, orb.Polygon{box(4, 0, 8, 4), hole(3, 1, 6, 3)}),
			"",
		},
		"hole beside its shell, touching": {
			record(box(0, 0, 4, 4), hole(3.999999, 0, 5, 4)),
			multi(orb.Polygon{box(0, 0, 4, 4)}, orb.Polygon{hole(3.999999, 0, 5, 4)}),
			source.RepairRewound,
		},
		"hole astray beside shells that overlap": {
			record(box(0, 0, 4, 4), hole(9, 9, 10, 10), box(1, 1, 3, 3)),
			multi(orb.Polygon{box(0, 0, 4, 4)}, orb.Polygon{box(1, 1, 3, 3)}, orb.Polygon{hole(9, 9, 10, 10)}),
			source.RepairRewound,
		},
		"one shell of three the wrong way": {
			record(box(0, 0, 4, 4), box(1, 1, 3, 3), hole(10, 0, 14, 4), box(11, 1, 13, 3)),
			multi(orb.Polygon{box(0, 0, 4, 4)}, orb.Polygon{box(1, 1, 3, 3)}, orb.Polygon{hole(10, 0, 14, 4), box(11, 1, 13, 3)}),
			source.RepairRewound,
		},
		"one ring the wrong way": {record(hole(0, 0, 1, 1)), orb.Polygon{hole(0, 0, 1, 1)}, ""},
		"all the wrong way": {
			record(hole(0, 0, 9, 9), box(1, 1, 8, 8), hole(2, 2, 3, 3)),
			multi(orb.Polygon{hole(0, 0, 9, 9), box(1, 1, 8, 8)}, orb.Polygon{hole(2, 2, 3, 3)}),
			source.RepairRewound,
		},
		"none clockwise, nested": {
			record(hole(20, 0, 21, 1), hole(0, 0, 9, 9), hole(1, 1, 8, 8), hole(2, 2, 3, 3)),
			multi(orb.Polygon{hole(0, 0, 9, 9), hole(1, 1, 8, 8)}, orb.Polygon{hole(20, 0, 21, 1)}, orb.Polygon{hole(2, 2, 3, 3)}),
			"",
		},
		"open":                            {record(open), orb.Polygon{append(open[:4:4], orb.Point{0, 0})}, source.RepairClosed},
		"crossing itself":                 {record(bowTie), orb.Polygon{bowTie}, ""},
		"crossing itself, beside another": {record(box(5, 5, 6, 6), bowTie), multi(orb.Polygon{box(5, 5, 6, 6)}, orb.Polygon{bowTie}), ""},
		"crossing itself, in another":     {record(bowTie, box(-1, -1, 6, 6)), orb.Polygon{box(-1, -1, 6, 6), bowTie}, ""},
		"a flat ring left out":            {record(box(0, 0, 1, 1), orb.Ring{{0, 0}, {1, 1}, {0, 0}}), orb.Polygon{box(0, 0, 1, 1)}, ""},
		"across the antimeridian": {
			record(orb.Ring{{179, 0}, {179, 4}, {-177, 4}, {-177, 0}, {179, 0}}, orb.Ring{{-179, 1}, {-178, 1}, {-178, 2}, {-179, 2}, {-179, 1}}),
			orb.Polygon{{{179, 0}, {179, 4}, {-177, 4}, {-177, 0}, {179, 0}}, {{-179, 1}, {-178, 1}, {-178, 2}, {-179, 2}, {-179, 1}}},
			"",
		},
		"beyond 180": {
			record(box(179, 0, 182, 1)),
			orb.Polygon{{{179, 0}, {179, 1}, {182, 1}, {182, 0}, {179, 0}}},
			"",
		},
		"wider than half the globe": {
			record(box(-100, 0, 100, 4), hole(-99, 1, 99, 3)),
			orb.Polygon{box(-100, 0, 100, 4), hole(-99, 1, 99, 3)},
			"",
		},
		"null":                   {null, nil, "1: no geometry"},
		"no rings":               {record(), nil, "1: no geometry no rings"},
		"a point among polygons": {append([]byte{1, 0, 0, 0}, make([]byte, 16)...), nil, "1: geometry is not a polygon Point"},
		"only flat rings":        {record(orb.Ring{{0, 0}, {1, 1}, {0, 0}}), nil, "1: rings of fewer than four points"},
		"not a number": {
			record(orb.Ring{{0, 0}, {nan, 1}, {1, 1}, {0, 0}}),
			nil,
			"1: coordinate is not a number [NaN, 1]",
		},
		"infinite": {
			record(orb.Ring{{0, 0}, {math.Inf(1), 1}, {1, 1}, {0, 0}}),
			nil,
			"1: coordinate is not a number [+Inf, 1]",
		},
		"no data": {
			record(orb.Ring{{0, 0}, {-1e39, 1}, {1, 1}, {0, 0}}),
			nil,
			"1: coordinate outside the world; degrees expected, longitude first [-1e+39, 1]",
		},
		"metres": {
			record(box(500000, 4649776, 500100, 4649876)),
			nil,
			"1: coordinate outside the world; degrees expected, longitude first [500000, 4649776]",
		},
		"cut short":          {record(box(0, 0, 1, 1))[:60], nil, "1: record is damaged 1 rings of 5 points in 60 bytes"},
		"cut in its head":    {record(box(0, 0, 1, 1))[:40], nil, "1: record is damaged polygon of 40 bytes"},
		"too many points":    {many, nil, "1: too many vertices 2147483648"},
		"too many rings":     {rings, nil, "1: record is damaged 2147483648 rings of 5 points in 128 bytes"},
		"rings out of order": {back, nil, "1: record is damaged rings do not follow each other"},
	} {
		t.Run(name, func(t *testing.T) {
			path := files(t, map[string][]byte{"a.shp": shp(5, tc.content, record(box(50, 50, 51, 51))), "a.dbf": named("one", "two")})
			features, bad, err := read(path, "")
			if err != nil {
				t.Fatal(err)
			}
			if n := len(features); n == 0 || features[n-1].Properties["NAME"] != "two" || features[n-1].Line != 2 {
				t.Fatalf("the next record is not read: %v", features)
			}
			if tc.want == nil && strings.HasPrefix(tc.note, "1: ") {
				if d := cmp.Diff([]string{tc.note}, bad); d != "" || len(features) != 1 {
					t.Error(d)
				}
				return
			}
			if bad != nil || len(features) != 2 || features[0].Repair != tc.note {
				t.Fatalf("%q %+v", bad, features)
			}
			if d := cmp.Diff(tc.want, features[0].Geometry); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestRefusesWholeFiles(t *testing.T) {
	good, table := shp(5, record(box(0, 0, 1, 1))), named("one")
	edit := func(b []byte, at int, with ...byte) []byte {
		b = append([]byte(nil), b...)
		copy(b[at:], with)
		return b
	}
	for name, tc := range map[string]struct {
		files map[string][]byte
		want  string
	}{
		"empty":               {map[string][]byte{"a.shp": nil}, "not a shapefile"},
		"another format":      {map[string][]byte{"a.shp": []byte(strings.Repeat("<html>", 50))}, "not a shapefile; name a .shp file"},
		"points":              {map[string][]byte{"a.shp": shp(1)}, "holds points; regions need polygons"},
		"patches":             {map[string][]byte{"a.shp": shp(31)}, "surfaces in space"},
		"unknown shapes":      {map[string][]byte{"a.shp": shp(99)}, "shapes of type 99"},
		"truncated":           {map[string][]byte{"a.shp": good[:150]}, "should have 236 bytes and has 150: it is truncated"},
		"no length":           {map[string][]byte{"a.shp": edit(good, 24, 0, 0, 0, 0)}, "no content"},
		"record too long":     {map[string][]byte{"a.shp": edit(good, 104, 0, 1, 0, 0)}, "record 1: content of 131072 bytes, with 128 left"},
		"record too short":    {map[string][]byte{"a.shp": edit(good, 104, 0, 0, 0, 1)}, "record 1: content of 2 bytes"},
		"record out of order": {map[string][]byte{"a.shp": edit(good, 100, 0, 0, 0, 7)}, "record 1: is numbered 7: the records are not in order"},
		"index of another": {
			map[string][]byte{"a.shp": good, "a.shx": shx(shp(5, record(box(0, 0, 1, 1)[:3])))},
			"record 1: content of 128 bytes, by the .shx of 96",
		},
		"index beyond": {
			map[string][]byte{"a.shp": good, "a.shx": edit(shx(good), 100, 0, 1, 0, 0)},
			"record 1: .shx has it at byte 131072 of 236",
		},
		"index overlaps": {
			map[string][]byte{"a.shp": good, "a.shx": edit(append(shx(good), shx(good)[100:]...), 24, 0, 0, 0, 58)},
			"record 2: .shx has records that overlap",
		},
		"index truncated":    {map[string][]byte{"a.shp": good, "a.shx": shx(good)[:104]}, ".shx: should have 108 bytes and has 104"},
		"no index":           {map[string][]byte{"a.shp": good, "a.shx": []byte("x")}, ".shx: not a shapefile"},
		"rest of a record":   {map[string][]byte{"a.shp": edit(append(good, 0, 0, 0, 2), 24, 0, 0, 0, 120)}, "record 2: is truncated"},
		"too few rows":       {map[string][]byte{"a.shp": good, "a.dbf": named()}, ".dbf: ends after 0 rows"},
		"too many rows":      {map[string][]byte{"a.shp": good, "a.dbf": named("a", "b")}, "1 shapes, and 2 rows"},
		"table truncated":    {map[string][]byte{"a.shp": good, "a.dbf": table[:70]}, "1 rows need 86 bytes and there are 70"},
		"table without head": {map[string][]byte{"a.shp": good, "a.dbf": table[:20]}, ".dbf: is truncated"},
		"table of dBase 7":   {map[string][]byte{"a.shp": good, "a.dbf": edit(table, 0, 4)}, "version 0x04"},
		"fields without end": {map[string][]byte{"a.shp": good, "a.dbf": edit(table, 64, 'x')}, "no end"},
		"fields too wide":    {map[string][]byte{"a.shp": good, "a.dbf": edit(table, 48, 200)}, "fields of 201 bytes in rows of 21"},
		"row damaged":        {map[string][]byte{"a.shp": good, "a.dbf": edit(table, 65, 'x')}, "row 1: begins with 0x78"},
		"rows of nothing":    {map[string][]byte{"a.shp": good, "a.dbf": edit(table, 10, 0, 0)}, "rows of 0"},
		"unknown encoding":   {map[string][]byte{"a.shp": good, "a.dbf": table, "a.cpg": []byte("KLINGON")}, `"KLINGON", which is not known`},
		"unknown code page":  {map[string][]byte{"a.shp": good, "a.dbf": edit(table, 29, 0x86)}, "code page 737"},
		"huge .prj":          {map[string][]byte{"a.shp": good, "a.prj": make([]byte, 1<<20)}, ".prj of more than"},
		"projected":          {map[string][]byte{"a.shp": good, "a.prj": []byte(utm)}, `coordinates are in "WGS_1984_UTM_Zone_33N"; convert`},
	} {
		t.Run(name, func(t *testing.T) {
			path := files(t, tc.files)
			features, _, err := read(path, "")
			if err == nil || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), path) {
				t.Errorf("%v, %v; want %q", features, err, tc.want)
			}
		})
	}
	lines := files(t, map[string][]byte{"a.shp": shp(13)})
	if _, err := shapefile.Open(lines, "", source.WantPoints); err == nil ||
		!strings.Contains(err.Error(), "holds lines; a collection needs points") {
		t.Errorf("lines as points: %v", err)
	}
	if _, err := shapefile.Open(filepath.Join(t.TempDir(), "none.shp"), "", source.WantPolygons); !os.IsNotExist(err) {
		t.Error(err)
	}
	path := files(t, map[string][]byte{"a.shp": good})
	if _, err := shapefile.Open(path, "layer", source.WantPolygons); err == nil || !strings.Contains(err.Error(), "without layers") {
		t.Error(err)
	}
	f, err := shapefile.Open(path, "", source.WantPolygons)
	if err != nil || !strings.Contains(f.Note, "has no .prj") {
		t.Error(f, err)
	}
	f.Close()
}

const utm = `PROJCS["WGS_1984_UTM_Zone_33N",` + wgs84 +
	`,PROJECTION["Transverse_Mercator"],PARAMETER["False_Easting",500000.0],UNIT["Meter",1.0]]`

// TestIndex reads a file that was edited in place by its .shx: remains of old records lie between
// the records, and the first record was written last.
func TestIndex(t *testing.T) {
	b := shp(5, record(box(0, 0, 1, 1)), record(box(5, 5, 6, 6)), record(box(7, 7, 8, 8)))
	index := shx(b)
	moved := append(append(append([]byte(nil), b[:236]...), "remains of"...), b[236:]...)
	binary.BigEndian.PutUint32(moved[24:], uint32(len(moved)/2))
	entry := func(i int) []byte { return index[100+8*i : 108+8*i] }
	for i := 1; i < 3; i++ {
		binary.BigEndian.PutUint32(entry(i), binary.BigEndian.Uint32(entry(i))+5)
	}
	want := []orb.Geometry{orb.Polygon{box(0, 0, 1, 1)}, orb.Polygon{box(5, 5, 6, 6)}, orb.Polygon{box(7, 7, 8, 8)}}
	check := func(path string, want ...orb.Geometry) {
		t.Helper()
		features, _, err := read(path, "")
		var got []orb.Geometry
		for _, f := range features {
			got = append(got, f.Geometry)
		}
		if d := cmp.Diff(want, got); err != nil || d != "" {
			t.Error(err, d)
		}
	}
	check(files(t, map[string][]byte{"a.shp": moved, "a.shx": index}), want...)
	check(testfile.WriteTemp(t, "a.zip", archive("a.shx", index, "a.shp", moved)), want...)
	if _, _, err := read(files(t, map[string][]byte{"a.shp": moved}), ""); err == nil ||
		!strings.Contains(err.Error(), "put the .shx that belongs to it beside it") {
		t.Error(err)
	}
	first := append([]byte(nil), entry(0)...)
	copy(entry(0), entry(2))
	copy(entry(2), first)
	check(files(t, map[string][]byte{"a.shp": moved, "a.shx": index}), want[2], want[1], want[0])
	if _, _, err := read(testfile.WriteTemp(t, "a.zip", archive("a.shp", moved, "a.shx", index)), ""); err == nil ||
		!strings.Contains(err.Error(), "unpack the archive") {
		t.Error(err)
	}
	clear(entry(1))
	_, bad, err := read(files(t, map[string][]byte{"a.shp": moved, "a.shx": index}), "")
	if d := cmp.Diff([]string{"2: no geometry"}, bad); err != nil || d != "" {
		t.Error(err, d)
	}
}

func TestArchives(t *testing.T) {
	testrace.SkipUnderRace(t, "one goroutine goes through much data")
	a, b := shp(5, record(box(0, 0, 1, 1))), shp(5, record(box(5, 5, 6, 6)))
	one := archive("README.html", []byte("hello"), "data/Regions.SHP", a, "data/Regions.dbf", named("Zürich"), "data/Regions.cpg",
		[]byte("utf8"),
		"data/Regions.shx", shx(a), "__MACOSX/data/._Regions.shp", []byte("shadow"), "other/Regions.dbf", named("wrong", "table"))
	features, _, err := read(testfile.WriteTemp(t, "a.zip", one), "")
	if err != nil || len(features) != 1 || features[0].Properties["NAME"] != "Zürich" {
		t.Fatal(features, err)
	}
	two := testfile.WriteTemp(t, "two.zip", archive("a.shp", a, "b.shp", b))
	if _, _, err := read(two, ""); err == nil || !strings.Contains(err.Error(), `2 shapefiles, ["a" "b"]; choose one as `+two+`#a`) {
		t.Error(err)
	}
	if features, _, err := read(two, "b"); err != nil || !cmp.Equal(features[0].Geometry, orb.Geometry(orb.Polygon{box(5, 5, 6, 6)})) {
		t.Error(features, err)
	}
	if _, _, err := read(two, "c"); err == nil || !strings.Contains(err.Error(), `without a shapefile "c"; it has ["a" "b"]`) {
		t.Error(err)
	}

	long := make([][]byte, 4000)
	for i := range long {
		long[i] = record(box(0, 0, 1, 1))
	}
	bomb := func() []byte { // far more than a shapefile could be packed
		members := archive("a.shp", a, "a.dbf", make([]byte, 17<<20))
		return members
	}()
	sealed := archive("a.shp", a)
	sealed[6] |= 1 // the flag in the member's head, and in the directory
	sealed[strings.Index(string(sealed), "PK\x01\x02")+8] |= 1
	method := archive("a.shp", a)
	method[8] = 99
	method[strings.Index(string(method), "PK\x01\x02")+10] = 99
	flipped := archive("a.shp", shp(5, long...))
	flipped[len(flipped)/3] ^= 0xFF
	for name, tc := range map[string]struct {
		content []byte
		want    string
	}{
		"nothing":        {archive(), "without a shapefile"},
		"other files":    {archive("a.txt", a), "without a shapefile"},
		"tricks":         {archive("../../a.shp", a, "/etc/b.shp", a), "without a shapefile"},
		"twice":          {archive("a.shp", a, "a.shp", b), "2 shapefiles"},
		"table twice":    {archive("a.shp", a, "a.dbf", named("a"), "a.DBF", named("b")), "twice"},
		"truncated":      {one[:len(one)-40], "truncated"},
		"only its begin": {one[:30], "truncated"},
		"bomb":           {bomb, "unpacks to too many bytes"},
		"encrypted":      {sealed, "is encrypted"},
		"odd method":     {method, "method other than deflate (99)"},
		"damaged":        {flipped, "record "},
	} {
		t.Run(name, func(t *testing.T) {
			path := testfile.WriteTemp(t, "a.zip", tc.content)
			if features, _, err := read(path, ""); err == nil || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), path) {
				t.Errorf("%d features, %v; want %q", len(features), err, tc.want)
			}
		})
	}
}

// The size in a member's header may be false. Reading stops at a size that no real file of this
// compressed size has.
func TestLyingArchive(t *testing.T) {
	testrace.SkipUnderRace(t, "one goroutine goes through much data")
	b := archive("a.shp", append(shp(5, record(box(0, 0, 1, 1))), make([]byte, 17<<20)...))
	at := strings.Index(string(b), "PK\x01\x02")
	binary.LittleEndian.PutUint32(b[at+24:], 236) // unpacked size
	features, _, err := read(testfile.WriteTemp(t, "a.zip", b), "")
	if len(features) > 1 || err != nil && !strings.Contains(err.Error(), "zip") {
		t.Error(len(features), err)
	}
}

func TestEncodings(t *testing.T) {
	for _, tc := range []struct {
		page     string
		language byte
		bytes    string
		want     string
	}{
		{"", 0, "S\xe3o Tom\xe9", "São Tomé"},
		{"", 0, "Forl\xec", "Forlì"}, {"1252", 0, "Cant\xf9", "Cantù"}, {"", 0, "Per\xfa\x00", "Perú"},
		{"", 0, "Z\xc3\xbcrich", "Zürich"}, // valid UTF-8 throughout
		{"LDID/87", 0, "Tentud\xeda", "Tentudía"},
		{"ldid/201", 0, "\xcc\xee\xf1\xea\xe2\xe0", "Москва"},
		{"", 0x57, "S\xe3o", "São"},
		{"", 0x03, "\x8aibenik", "Šibenik"},
		{"", 0x65, "\x8c\xae\xe1\xaa\xa2\xa0", "Москва"},
		{"", 0xC9, "\xcc\xee\xf1\xea\xe2\xe0", "Москва"},
		{"", 0x01, "Z\x81rich", "Zürich"},
		{"", 0x13, "\x93\x8c\x8b\x9e", "東京"},
		{"UTF-8", 0x57, "Z\xc3\xbcrich", "Zürich"},
		{"utf8\n", 0, "Zürich", "Zürich"},
		{"\ufeffUTF-8", 0, "Zürich", "Zürich"},
		{"65001", 0, "Zürich", "Zürich"},
		{"ISO-8859-1", 0, "S\xe3o", "São"},
		{"ISO 88591", 0, "S\xe3o", "São"},
		{"88592", 0, "\xb9", "š"},
		{"ISO-8859-15", 0, "\xa4", "€"},
		{"1252", 0, "\x80", "€"},
		{"ANSI 1251", 0, "\xcc", "М"},
		{"CP1250", 0, "\x8a", "Š"},
		{"windows-1252", 0, "\x80", "€"},
		{"OEM 437", 0, "Z\x81rich", "Zürich"},
		{"Big5", 0, "\xa5\x78", "台"},
		{"932", 0, "\x93\x8c", "東"},
		{"UTF-8", 0, "bad \xff byte", "bad ÿ byte"},                      // noted, see TestCharsetNotes
		{"UTF-8", 0, "12345678901234567ü\xe6\x9d", "12345678901234567ü"}, // cut off by the width
		{"UTF-8", 0, "end\x00junk", "end"},
	} {
		content := map[string][]byte{"a.shp": shp(5, record(box(0, 0, 1, 1))), "a.dbf": dbf(tc.language, nameOnly, []string{tc.bytes})}
		if tc.page != "" {
			content["a.cpg"] = []byte(tc.page)
		}
		features, _, err := read(files(t, content), "")
		if err != nil || features[0].Properties["NAME"] != tc.want {
			t.Errorf("%q %#x %q: %v, %v; want %q", tc.page, tc.language, tc.bytes, features, err, tc.want)
		}
	}
}

// Guesses about texts, and contradictions to the .cpg, are reported with the first example.
func TestCharsetNotes(t *testing.T) {
	const umlaut, latin = "Zürich", "S\xe3o"
	for _, tc := range []struct {
		page  string
		names []string
		want  string // the last name
		note  string
	}{
		{"", []string{"Bern"}, "Bern", ""},
		{"UTF-8", []string{umlaut}, umlaut, ""},
		{"1252", []string{latin}, "São", ""},
		{"", []string{"Bern", umlaut}, umlaut, `has no .cpg, and its text is read as UTF-8, such as that of row 2, NAME "Zürich"`},
		{"", []string{umlaut, latin}, "São", `read as the table says or as Latin-1, which UTF-8 it is not: row 2, NAME "S\xe3o"`},
		{
			"UTF-8",
			[]string{umlaut, latin, latin},
			"São",
			`its .cpg says UTF-8, which most of its text is not, such as that of row 2, NAME "S\xe3o"`,
		},
		{
			"UTF-8",
			[]string{umlaut, umlaut, latin},
			"S\ufffdo",
			`its .cpg says UTF-8, which 1 of 3 texts are not, the first in row 3, NAME "S\xe3o"`,
		},
		{
			"1252",
			[]string{"Bern", umlaut},
			"ZÃ¼rich",
			`its .cpg says "1252", and its text might all be UTF-8, such as that of row 2, NAME "Zürich"`,
		},
	} {
		var records [][]byte
		var rows [][]string
		for _, name := range tc.names {
			records = append(records, record(box(0, 0, 1, 1)))
			rows = append(rows, []string{name})
		}
		content := map[string][]byte{"a.shp": shp(5, records...), "a.dbf": dbf(0, nameOnly, rows...), "a.prj": []byte(wgs84)}
		if tc.page != "" {
			content["a.cpg"] = []byte(tc.page)
		}
		path := files(t, content)
		f, err := shapefile.Open(path, "", source.WantPolygons)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(f.Note, tc.note) || (f.Note == "") != (tc.note == "") || len(f.Paths) != len(content) {
			t.Errorf("%q %q: %q %q", tc.page, tc.names, f.Note, f.Paths)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
		features, _, err := read(path, "")
		if err != nil || features[len(features)-1].Properties["NAME"] != tc.want {
			t.Errorf("%q %q: %v %v", tc.page, tc.names, features, err)
		}
	}
}

// Users' files in shared/cases give the intended names.
func TestCharsetCases(t *testing.T) {
	const cases = "../../../../../../shared/cases/tiles/"
	if _, err := os.Stat(cases); err != nil {
		t.Skip("the cases are not there: ", err)
	}
	for name, want := range map[string]string{
		"cpg_LDID_87":                "Tentudía",
		"latin1_names_cpg_says_utf8": "Tentudía",
		"utf8_names_without_cpg":     "Māngere-Ōtāhuhu",
	} {
		features, _, err := read(cases+name+".shp", "")
		if err != nil || !slices.ContainsFunc(features, func(f source.Feature) bool {
			return slices.Contains(slices.Collect(maps.Values(f.Properties)), any(want))
		}) {
			t.Errorf("%s: %v %v", name, features, err)
		}
	}
}

// The rings of the file in shared/cases make the same polygons as GDAL's, with one exception: if
// all rings of the feature run anticlockwise, a ring inside another is a hole.
func TestRingCases(t *testing.T) {
	const file = "../../../../../../shared/cases/tiles/ring_directions.shp"
	if _, err := os.Stat(file); err != nil {
		t.Skip("the cases are not there: ", err)
	}
	features, bad, err := read(file, "")
	if err != nil || len(bad) != 1 {
		t.Fatal(bad, err)
	}
	got := map[string]string{}
	for _, f := range features {
		got[fmt.Sprint(f.Properties["CODE"])] = strings.Trim(wkt.MarshalString(f.Geometry), "MULTIPOYGN()") + f.Repair
	}
	for code, want := range map[string]string{
		"ccw-shell-": "0 0,4 0,4 4,0 4,0 0),(1 1,1 3,3 3,3 1,1 1" + source.RepairRewound,
		"both-cw":    "10 0,10 4,14 4,14 0,10 0)),((11 1,11 3,13 3,13 1,11 1",
		"both-ccw":   "20 0,24 0,24 4,20 4,20 0),(21 1,23 1,23 3,21 3,21 1",
		"normal":     "30 0,30 4,34 4,34 0,30 0),(31 1,33 1,33 3,31 3,31 1",
		"hole-first": "40 0,40 4,44 4,44 0,40 0),(41 1,43 1,43 3,41 3,41 1",
		"hole-outsi": "50 0,50 4,54 4,54 0,50 0)),((60 1,62 1,62 3,60 3,60 1" + source.RepairRewound,
		"hole-stick": "70 0,70 4,74 4,74 0,70 0),(73 1,76 1,76 3,73 3,73 1" + source.RepairAstray,
		"hole-share": "80 0,80 4,84 4,84 0,80 0),(80 1,82 1,82 3,80 3,80 1",
		"two-touchi": "90 0,90 2,92 2,92 0,90 0)),((92 0,92 2,94 2,94 0,92 0",
		"island":     "100 0,100 6,106 6,106 0,100 0),(101 1,105 1,105 5,101 5,101 1)),((102 2,102 4,104 4,104 2,102 2",
		"after-null": "110 0,110 1,111 1,111 0,110 0",
	} {
		if got[code] != want {
			t.Errorf("%s: %s; want %s", code, got[code], want)
		}
	}
}

// TestWideText tests text fields wider than 255 bytes, as Clipper writes them.
func TestWideText(t *testing.T) {
	text := strings.Repeat("x", 600)
	path := files(t, map[string][]byte{
		"a.shp": shp(5, record(box(0, 0, 1, 1))),
		"a.dbf": dbf(0, []column{{"TEXT", 'C', 600}, {"N", 'N', 4}}, []string{text, "7"}),
	})
	features, _, err := read(path, "")
	if err != nil || features[0].Properties["TEXT"] != text || features[0].Properties["N"] != int64(7) {
		t.Error(features, err)
	}
}

func TestSystems(t *testing.T) {
	for text, want := range map[string]string{
		wgs84: "",
		`GEOGCS["GCS_North_American_1983",DATUM["D_North_American_1983",SPHEROID["GRS_1980",6378137,298.257222101]],PRIMEM["Greenwich",0],UNIT["Degree",0.017453292519943295]]`:                                                                                                                                                                                        "",
		`GEOGCS["ETRS89",DATUM["European_Terrestrial_Reference_System_1989",SPHEROID["GRS 1980",6378137,298.257222101]],PRIMEM["Greenwich",0],UNIT["degree",0.0174532925199433]]`:                                                                                                                                                                                      "",
		`GEOGCRS["WGS 84",ENSEMBLE["World Geodetic System 1984 ensemble",MEMBER["World Geodetic System 1984 (Transit)"],ELLIPSOID["WGS 84",6378137,298.257223563,LENGTHUNIT["metre",1]]],PRIMEM["Greenwich",0,ANGLEUNIT["degree",0.0174532925199433]],CS[ellipsoidal,2],AXIS["geodetic latitude (Lat)",north],ANGLEUNIT["degree",0.0174532925199433],ID["EPSG",4326]]`: "",
		wgs84 + `,VERTCS["EGM96",VDATUM["EGM96_Geoid"],UNIT["Meter",1.0]]`: "",
		"\n " + strings.ReplaceAll(wgs84, ",", ",\r\n  "):                  "",
		strings.NewReplacer("[", "(", "]", ")").Replace(wgs84):             "",
		utm:                                  `"WGS_1984_UTM_Zone_33N"`,
		`PROJCS["Lambert \r\n",GEOGCS["x"]]`: `"Lambert`,
		strings.NewReplacer("WGS_1984", "NTF", "6378137.0,298.257223563",
			"6378249.2,293.466021").Replace(wgs84): `"GCS_NTF", on a datum of its own; convert`,
		strings.ReplaceAll(wgs84, `"Greenwich",0.0`, `"Paris",2.33`):                           `meridian of "Paris"`,
		strings.ReplaceAll(wgs84, `"Degree",0.0174532925199433`, `"Grad",0.01570796326794897`): `in "Grad"`,
		strings.ReplaceAll(wgs84, `"Degree",0.0174532925199433`, `"Degree",x`):                 `"Degree"`,
		`GEOCCS["WGS 84",DATUM["WGS_1984"]]`:                                                   `"WGS 84"`,
		`LOCAL_CS["site"]`:                                                                     `"site"`,
		`GEOGCS["no datum"]`:                                                                   `"no datum"`,
		"EPSG:4326":                                                                            "not well-known text",
		"<html>":                                                                               "not well-known text",
		wgs84[:100]:                                                                            "not well-known text",
		wgs84 + "x":                                                                            "more after its end",
		strings.Repeat("A[", 100):                                                              "nested more than",
		`A["x`:                                                                                 "cut off",
	} {
		_, _, err := read(files(t, map[string][]byte{"a.shp": shp(5, record(box(0, 0, 1, 1))), "a.prj": []byte(text)}), "")
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v; want %q", text, err, want)
		}
	}
}

// The parts of a line shape are its lines, unchanged.
func TestLines(t *testing.T) {
	lines := typed(3, orb.Ring{{1, 1}, {2, 2}}, orb.Ring{{3, 3}, {4, 5}, {6, 7}})
	f, err := shapefile.Open(files(t, map[string][]byte{"a.shp": shp(3, lines)}), "", source.WantPolygons)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var got []orb.Geometry
	for feature, err := range sourcetest.Decoded(f.Features()) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, feature.Geometry)
	}
	if d := cmp.Diff([]orb.Geometry{orb.MultiLineString{{{1, 1}, {2, 2}}, {{3, 3}, {4, 5}, {6, 7}}}}, got); d != "" {
		t.Error(d)
	}
}
