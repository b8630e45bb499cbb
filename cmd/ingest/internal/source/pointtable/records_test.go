package pointtable_test

import (
	"bufio"
	"encoding/hex"
	"encoding/json"
	"errors"
	"iter"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/paulmach/orb"
	"github.com/paulmach/orb/encoding/wkb"
	"github.com/paulmach/orb/encoding/wkt"
	"pgregory.net/rapid"

	"quadrille/cmd/ingest/internal/source"
	"quadrille/cmd/ingest/internal/source/pointtable"
	"quadrille/internal/must"
)

// records yields a record for each list of names and JSON values. All share their memory, as those of readers do.
func records(lists ...[]string) iter.Seq2[source.Feature, error] {
	return func(yield func(source.Feature, error) bool) {
		var members []source.Member
		var value []byte
		for i, list := range lists {
			members, value = members[:0], value[:0]
			for k := 0; k < len(list); k += 2 {
				from := len(value)
				value = append(value, list[k+1]...)
				members = append(members, source.Member{Name: list[k], Value: value[from:]})
			}
			if !yield(source.Feature{Members: members, Line: i + 1}, nil) {
				return
			}
		}
	}
}

func TestRecords(t *testing.T) {
	type told struct {
		pointtable.Columns
		emptied bool
	}
	for name, tc := range map[string]struct {
		told    told
		lists   [][]string
		columns []string
		want    []string // "lon lat members", or the fault
		notes   string
	}{
		"members of an object, and an id": {lists: [][]string{
			{"id", `"a\u0062"`, "at.lat", "47", "at.lon", `"8.5"`, "name", `"NA"`},
			{"at.lon", "8", "x", "1", "at.lat", "-47", "id", "7"},
		}, want: []string{`8.5 47 id="a\u0062" name="NA"`, `8 -47 x=1 id=7`}},
		"columns of the second record": {lists: [][]string{{"a", "1"}, {"lat", "1", "lon", "2"}},
			want: []string{"f:1: no geometry: its coordinates are empty", "2 1"}},
		"a geometry of GeoJSON": {lists: [][]string{{"_id", "5", "location", `{"type":"Point","coordinates":[8,47]}`}},
			want: []string{"8 47 _id=5"}},
		"words": {told: told{emptied: true}, lists: [][]string{
			{"key", `"k"`, "lat", "1", "lon", "2", "n", `"NULL"`, "e", `""`, "z", "null"},
			{"key", `"-"`, "lat", "1", "lon", "2"},
		}, want: []string{`2 1 key="k"`, `2 1`}, notes: `"NULL"`},
		"codes of countries": {told: told{emptied: true}, lists: [][]string{
			{"cc", `"NA"`, "lat", "1", "lon", "2", "n", `"NA"`}, {"cc", `"DE"`, "lat", "1", "lon", "2", "n", "1"},
		}, want: []string{`2 1 cc="NA"`, `2 1 cc="DE" n=1`}, notes: "1 values NA are kept"},
		"a column is taken by what it holds": {lists: [][]string{
			{"location", `"Bern"`, "x", `{"type":"LineString","coordinates":[[1,2],[3,4]]}`, "at", `{"type":"Point","coordinates":[8,47]}`},
			{"at", "null"},
		}, want: []string{`8 47 location="Bern" x={"type":"LineString","coordinates":[[1,2],[3,4]]}`, "f:2: no geometry: its coordinates are empty"}},
		"lists with the latitude first": {lists: [][]string{{"_geolocation", "[47, 8]"}, {"_geolocation", "[null, null]"}},
			want: []string{"8 47", "f:2: no geometry: its coordinates are empty"}},
		"lists with the longitude first": {lists: [][]string{{"location", "[8, 47]"}}, want: []string{"8 47"}},
		"height and accuracy":            {lists: [][]string{{"location", `"47 8 400 5"`}}, want: []string{"8 47"}},
		"other order":                    {told: told{Columns: pointtable.Columns{Order: pointtable.LonLat}}, lists: [][]string{{"geo_point_2d", "[8,47]"}}, want: []string{"8 47"}},
		"known columns":                  {columns: []string{"lat", "lon", "id"}, want: nil},
		"without any":                    {lists: [][]string{{"a", "1"}}, want: []string{`f: the columns of latitudes and longitudes are not recognized`}},
		"within a wrapper":               {told: told{Columns: pointtable.Columns{Lat: "_source.y", Lon: "_source.x"}}, lists: [][]string{{"y", "1", "x", "2"}}, want: []string{"2 1"}},
		"not recognised":                 {told: told{Columns: pointtable.Columns{Lat: "b"}}, lists: [][]string{{"a", "1"}}, want: []string{`f: there is no column "b" for --lat`}},
	} {
		r := pointtable.NewRecords(records(tc.lists...), tc.columns, "f", source.WantPoints, tc.told.Columns)
		r.Emptied = tc.told.emptied
		var got []string
		for f, err := range r.Features() {
			if err != nil {
				got = append(got, err.Error())
				continue
			}
			at := f.Geometry.(orb.Point)
			line := []string{string(must.Get(json.Marshal(at[0])).In(t)), string(must.Get(json.Marshal(at[1])).In(t))}
			for _, m := range f.Members {
				line = append(line, m.Name+"="+string(m.Value))
			}
			got = append(got, strings.Join(line, " "))
		}
		for i := range min(len(got), len(tc.want)) {
			if strings.HasPrefix(tc.want[i], "f: ") && strings.HasPrefix(got[i], tc.want[i]) {
				got[i] = tc.want[i]
			}
		}
		if d := cmp.Diff(tc.want, got); d != "" {
			t.Errorf("%s: %s", name, d)
		}
		if notes := strings.Join(r.Notes(), "\n"); !strings.Contains(notes, tc.notes) || tc.notes == "" && notes != "" {
			t.Errorf("%s: notes %q", name, notes)
		}
	}
	// Features with geometries need no columns for them, and bad records alone none at all.
	own := pointtable.NewRecords(func(yield func(source.Feature, error) bool) {
		_ = yield(source.Feature{}, &source.BadRecord{Reason: "x"}) &&
			yield(source.Feature{Geometry: orb.Point{1, 2}, Members: []source.Member{{Name: "id", Value: []byte("7")}}}, nil)
	}, nil, "f", source.WantPoints, pointtable.Columns{})
	for f, err := range own.Features() {
		if err == nil && (f.Geometry != orb.Point{1, 2} || len(f.Members) != 1) {
			t.Errorf("%+v", f)
		}
	}
	for _, err := range pointtable.NewRecords(func(yield func(source.Feature, error) bool) {
		yield(source.Feature{}, &source.BadRecord{Reason: "x"})
	}, nil, "f", source.WantPolygons, pointtable.Columns{}).Features() {
		if !errors.As(err, new(*source.BadRecord)) {
			t.Error(err)
		}
	}
	// An error of the file ends the sequence.
	broken := errors.New("broken")
	n := 0
	for _, err := range pointtable.NewRecords(func(yield func(source.Feature, error) bool) {
		_ = yield(source.Feature{Members: []source.Member{{Name: "lat", Value: []byte("1")}, {Name: "lon", Value: []byte("1")}}}, nil) &&
			yield(source.Feature{}, broken) && yield(source.Feature{}, nil)
	}, nil, "f", source.WantPoints, pointtable.Columns{}).Features() {
		if n++; n == 2 && !errors.Is(err, broken) || n > 2 {
			t.Errorf("record %d: %v", n, err)
		}
	}
}

// TestShapes tests that the shapes in a column are the same in every spelling.
func TestShapes(t *testing.T) {
	want := orb.MultiPolygon{{{{0, 0}, {1, 0}, {1, 1.5}, {0, 0}}}, {{{2, -0.25}, {3, 0}, {3, 1}, {2, -0.25}}}}
	text := wkt.MarshalString(want)
	binary := hex.EncodeToString(must.Get(wkb.Marshal(want)).In(t))
	for _, cell := range []string{
		text, strings.ToLower(text), "SRID=4326;" + text, binary, strings.ToUpper(binary),
		"MULTIPOLYGON Z (((0 0 9, 1 0 9,1 1.5 9,0 0 9)),((2 -0.25 1,3 0 1,3 1 1,2 -0.25 1)))",
		`{"type":"MultiPolygon","coordinates":[[[[0,0],[1,0],[1,1.5],[0,0]]],[[[2,-0.25],[3,0],[3,1],[2,-0.25]]]]}`,
	} {
		in := "id;geometry\n1;" + `"` + strings.ReplaceAll(cell, `"`, `""`) + "\"\n2;\n3;nonsense\n"
		var got []orb.Geometry
		var bad []string
		for f, err := range pointtable.New(bufio.NewReader(strings.NewReader(in)), "f", source.WantPolygons, pointtable.Columns{}).Features() {
			if err != nil {
				bad = append(bad, err.Error())
				continue
			}
			if got = append(got, f.Geometry); len(f.Members) != 1 || f.Members[0].Name != "id" {
				t.Errorf("%s: %+v", cell, f)
			}
		}
		if len(got) != 1 || !orb.Equal(got[0], want) || len(bad) != 2 {
			t.Errorf("%s: %v, %q", cell, got, bad)
		}
	}
}

// TestAnyShape tests that any text is a shape or refused.
func TestAnyShape(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		word := rapid.SampledFrom([]string{"POLYGON", "LINESTRING", "MULTIPOLYGON", "GEOMETRYCOLLECTION", "POINT", " ", "Z", "EMPTY", "(", "((", ")", "))",
			",", "1 2", "1", "1e999", "nan", ";", "SRID=1", "{", "}", `"type":"Polygon"`, "00", "01"})
		cell := strings.Join(rapid.SliceOfN(word, 0, 12).Draw(r, "cell"), "")
		p := pointtable.NewRecords(records([]string{"geometry", string(must.Get(json.Marshal(cell)).In(t))}), nil, "f", source.WantPolygons,
			pointtable.Columns{})
		for f, err := range p.Features() {
			if (f.Geometry == nil) == (err == nil) {
				r.Errorf("%q: %v, %v", cell, f.Geometry, err)
			}
		}
	})
}
