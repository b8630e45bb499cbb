package pointtable_test

import (
	"bufio"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/paulmach/orb"

	"quadrille/cmd/ingest/internal/source"
	"quadrille/cmd/ingest/internal/source/pointtable"
)

// A row whose columns of positions are empty takes its position from the other ones, which is told. If they are
// empty in all of the first rows, the others are chosen.
func TestOtherColumnsOfPositions(t *testing.T) {
	for name, tc := range map[string]struct {
		head  string
		rows  []string
		taken string // the column of latitudes
		want  []string
		note  string
	}{
		"some are empty": {"n;x;y;Geo Point", []string{"a;8;47;46.5, 7.5", "b;8;47;", "c;9;48;NULL", "d;;;"}, "Geo Point",
			[]string{"7.5 46.5", "8 47", "9 48", "no geometry"}, `2 rows have no position in "Geo Point"; it is taken from "y" and "x", the first in line 3`},
		"all are empty": {"n;x;y;geo_point_2d", []string{"a;8;47;", "b;9;48;"}, "y", []string{"8 47", "9 48"}, ""},
		"all of both are empty": {"n;x;y;geo_point_2d", []string{"a;;;", "b;;;"}, "geo_point_2d",
			[]string{"no geometry", "no geometry"}, ""},
		"latitudes beside": {"n;lat;lon;Geo Point", []string{"a;47;8;46.5, 7.5", "b;;;46.5, 7.5", "c;47;;46.5, 7.5"}, "lat",
			[]string{"8 47", "7.5 46.5", "coordinates are missing"}, `1 rows have no position in "lat" and "lon"; it is taken from "Geo Point"`},
		"no latitudes": {"n;lat;lon;wkt", []string{"a;;;POINT (8 47)"}, "wkt", []string{"8 47"}, ""},
		"not a certain name": {"n;lat;lon;location", []string{"a;47;8;Bern", "b;;;46.5, 7.5"}, "lat",
			[]string{"8 47", "no geometry"}, ""},
		"not a position beside": {"n;x;y;Geo Point", []string{"a;8;47;46.5, 7.5", "b;east;north;"}, "Geo Point",
			[]string{"7.5 46.5", "coordinate is not a number"}, ""},
	} {
		text := tc.head + "\n" + strings.Join(tc.rows, "\n") + "\n"
		table := pointtable.New(bufio.NewReader(strings.NewReader(text)), "f", source.WantPoints, pointtable.Columns{})
		var lists [][]string
		names := strings.Split(tc.head, ";")
		for _, row := range tc.rows {
			var list []string
			for i, cell := range strings.Split(row, ";") {
				list = append(list, names[i], `"`+cell+`"`)
			}
			lists = append(lists, list)
		}
		found := pointtable.NewRecords(records(lists...), nil, "f", source.WantPoints, pointtable.Columns{})
		found.Emptied = true
		known := pointtable.NewRecords(records(lists...), names, "f", source.WantPoints, pointtable.Columns{})
		known.Emptied = true
		for kind, reader := range map[string]struct {
			of    func(yield func(source.Feature, error) bool)
			taken *pointtable.Columns
			notes func() []string
		}{
			"table":         {table.Features(), &table.Columns, table.Notes},
			"records":       {found.Features(), &found.Columns, found.Notes},
			"known columns": {known.Features(), &known.Columns, known.Notes},
		} {
			var got []string
			for f, err := range reader.of {
				if err != nil {
					got = append(got, err.Error())
					continue
				}
				at := f.Geometry.(orb.Point)
				got = append(got, fmt.Sprint(at[0], " ", at[1]))
			}
			for i := range min(len(got), len(tc.want)) {
				if strings.Contains(got[i], ": "+tc.want[i]) {
					got[i] = tc.want[i]
				}
			}
			if d := cmp.Diff(tc.want, got); d != "" || reader.taken.Lat != tc.taken {
				t.Errorf("%s, %s: taken %q: %s", name, kind, reader.taken.Lat, d)
			}
			note := strings.Join(reader.notes(), "\n")
			if kind != "table" { // the records here are numbered from 1
				note = strings.NewReplacer("line 2", "line 3").Replace(note)
			}
			if !strings.Contains(note, tc.note) || tc.note == "" && strings.Contains(note, "taken from") {
				t.Errorf("%s, %s: note %q", name, kind, note)
			}
		}
	}
	// Columns that are named are the only ones.
	table := pointtable.New(bufio.NewReader(strings.NewReader("x,y,Geo Point\n8,47,\n")), "f", source.WantPoints,
		pointtable.Columns{Lat: "Geo Point", Lon: "Geo Point"})
	for _, err := range table.Features() {
		if err == nil {
			t.Error("x and y are taken")
		}
	}
}
