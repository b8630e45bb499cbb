package pointtable_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"quadrille/cmd/ingest/internal/source"
	"quadrille/cmd/ingest/internal/source/pointtable"
)

func read(text string, told pointtable.Columns) (found []source.Point, taken pointtable.Columns, bad []string, err error) {
	table := pointtable.New(bufio.NewReader(strings.NewReader(text)), "f", told)
	for p, e := range table.Points() {
		var record *source.BadRecord
		switch {
		case e == nil:
			found = append(found, p)
		case errors.As(e, &record):
			bad = append(bad, record.Error())
		default:
			err = e
		}
	}
	return found, table.Columns, bad, err
}

func TestColumns(t *testing.T) {
	for head, want := range map[string]pointtable.Columns{
		"x,y":                                  {Lat: "y", Lon: "x"},
		"Y,X,LATITUDE,lng":                     {Lat: "LATITUDE", Lon: "lng"},
		"code;geo_lat;geo_long;id":             {ID: "id", Lat: "geo_lat", Lon: "geo_long"},
		"osm_id\tlat\tlon\tname, with a comma": {ID: "osm_id", Lat: "lat", Lon: "lon"},
		"\"Key\", latitude , longitude":        {ID: "Key", Lat: "latitude", Lon: "longitude"},
		"location,geometry,lat":                {Lat: "geometry", Lon: "geometry"},
		"location,name":                        {Lat: "location", Lon: "location"},
	} {
		_, taken, bad, err := read("\ufeff"+head+"\n", pointtable.Columns{})
		if err != nil || bad != nil || taken != want {
			t.Errorf("%q: %+v, %v %v", head, taken, bad, err)
		}
	}
}

func TestRows(t *testing.T) {
	found, _, bad, err := read("id,lat,lon,name,,label\n"+
		"a, 47 , 8 ,,x,\"A \"\"b\"\"\"\n"+ // a column without a name
		",,,,,\n"+ // as spreadsheets write
		"\n"+
		"b,47;8,,,,\n"+
		"c,47,8,old,,\n", pointtable.Columns{Name: "label"})
	if err != nil {
		t.Fatal(err)
	}
	want := []source.Point{
		{ID: "a", Lat: 47, Lon: 8, Properties: []byte(`{"name":"A \"b\""}`), Line: 2},
		{ID: "c", Lat: 47, Lon: 8, Line: 6},
	}
	wantBad := []string{`f:5: coordinate is not a number: "47;8"`}
	if d := cmp.Diff(want, found) + cmp.Diff(wantBad, bad); d != "" {
		t.Error(d)
	}
	// The last cells of a row between tabs may be empty.
	found, _, bad, err = read("lat\tlon\ta\tb\n1\t2\t\t\n", pointtable.Columns{})
	if err != nil || bad != nil || len(found) != 1 || found[0].Lon != 2 {
		t.Error(found, bad, err)
	}
}

// What a table is written by shows in its first row, and is told where it was guessed.
func TestQuotes(t *testing.T) {
	for text, want := range map[string]struct {
		properties string
		notes      []string
	}{
		"\"the\nname\";lat;lon\n\"A, \"\"b\"\"\";1;2\n":       {`{"the name":"A, \"b\""}`, []string{"f: 1 rows go over several lines, between quotes, the first in line 1"}},
		"lat\tlon\tname\n1\t2\t\"A \"\"b\"\"\"\n":             {`{"name":"A \"b\""}`, nil},
		"sep=;\nlat;lon;name,n\n1;2;A,b\n":                    {`{"name,n":"A,b"}`, nil},
		"lat,lon,name\n1,2,\"A\n1,2,b\n":                      {`{"name":"\"A"}`, []string{"f: 1 rows have a quote that stands for itself and is read as text, the first in line 2"}},
		"lat,lon,name\n1,2,\"A\nb\"\n1,2,\"\nA\"\n":           {`{"name":"A\u000ab"}`, []string{"f: 2 rows go over several lines, between quotes, the first in line 2"}},
		"lat\tlon\tname\r1\t2\tA\r":                           {`{"name":"A"}`, nil},
		"name\tlat\tlon\n\"A\" b\t1\t2\n\t\t\n\"c\td\t1\t2\n": {`{"name":"\"A\" b"}`, []string{"f: 1 rows have a quote that stands for itself and is read as text, the first in line 2"}},
	} {
		table := pointtable.New(bufio.NewReader(strings.NewReader(text)), "f", pointtable.Columns{})
		first := ""
		for p, err := range table.Points() {
			if err == nil && first == "" {
				first = string(p.Properties)
			}
		}
		if first != want.properties || !slices.Equal(table.Notes(), want.notes) {
			t.Errorf("%q: %s %q", text, first, table.Notes())
		}
	}
}

func FuzzTable(f *testing.F) {
	f.Add("id,lat,lon,a\nx,1,2,\"y\nz\"\n")
	f.Add("wkt\ta\nPOINT(1 2)\t\nSRID=4326;POINT Z (1 2 3)\tx\nPOINT\n")
	f.Add("location;n\n(1,2);\n1,2,3;4\n")
	f.Add("lat,lat,\n1")
	f.Fuzz(func(t *testing.T, text string) {
		for _, told := range []pointtable.Columns{{}, {Name: "a"}} {
			found, _, _, _ := read(text, told)
			for _, p := range found {
				if math.IsNaN(p.Lat-p.Lat) || math.IsNaN(p.Lon-p.Lon) || p.Line < 2 {
					t.Fatalf("%+v", p)
				}
				if len(p.Properties) > 0 && !json.Valid(p.Properties) {
					t.Fatalf("%q", p.Properties)
				}
			}
		}
	})
}
