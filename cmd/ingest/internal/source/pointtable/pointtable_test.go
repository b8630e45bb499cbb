package pointtable_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/paulmach/orb"

	"quadrille/cmd/ingest/internal/source"
	"quadrille/cmd/ingest/internal/source/pointtable"
)

// point is a row that was read as a point.
type point struct {
	ID         string
	Lat, Lon   float64
	Properties []byte
	Line       int
}

func points(table *pointtable.Table) iter.Seq2[point, error] {
	return func(yield func(point, error) bool) {
		for f, err := range table.Features() {
			p := point{ID: f.ID, Line: f.Line}
			if at, ok := f.Geometry.(orb.Point); ok {
				p.Lat, p.Lon = at[1], at[0]
			}
			for _, m := range f.Members {
				if m.Name == "id" {
					p.ID = strings.Trim(string(m.Value), `"`)
					continue
				}
				p.Properties = append(append(strconv.AppendQuote(append(p.Properties, ','), m.Name), ':'), m.Value...)
			}
			if p.Properties != nil {
				p.Properties[0] = '{'
				p.Properties = append(p.Properties, '}')
			}
			if !yield(p, err) {
				return
			}
		}
	}
}

func read(text string, told pointtable.Columns) (found []point, taken pointtable.Columns, bad []string, err error) {
	table := pointtable.New(bufio.NewReader(strings.NewReader(text)), "f", source.WantPoints, told)
	for p, e := range points(table) {
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
		"code;geo_lat;geo_long;id":             {Lat: "geo_lat", Lon: "geo_long"},
		"osm_id\tlat\tlon\tname, with a comma": {Lat: "lat", Lon: "lon"},
		"\"Key\", latitude , longitude":        {Lat: "latitude", Lon: "longitude"},
		"location,geometry,lat":                {Lat: "geometry", Lon: "geometry"},
		"location,name":                        {Lat: "location", Lon: "location"},
		"@id,@lat,@lon":                        {Lat: "@lat", Lon: "@lon"},
		"Latitude (deg),LONGITUDE [°],Stop ID": {Lat: "Latitude (deg)", Lon: "LONGITUDE [°]"},
		"Decimal Latitude,decimal-longitude":   {Lat: "Decimal Latitude", Lon: "decimal-longitude"},
		"lat,lon_deg,x":                        {Lat: "lat", Lon: "lon_deg"},
		"lon,x,y,lat_deg,lon_deg,stop_lat":     {Lat: "lat_deg", Lon: "lon_deg"},
		"lat,x,y":                              {Lat: "y", Lon: "x"},
		"x,y,Geo Point":                        {Lat: "Geo Point", Lon: "Geo Point"},
		"lat,lon,Geo Point":                    {Lat: "lat", Lon: "lon"},
		"id,Koordinaten":                       {Lat: "Koordinaten", Lon: "Koordinaten"},
		"lat (rad),lon (rad),Geo Point 2D":     {Lat: "Geo Point 2D", Lon: "Geo Point 2D"},
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
		"c,47,8,old,,\n", pointtable.Columns{})
	if err != nil {
		t.Fatal(err)
	}
	want := []point{
		{ID: "a", Lat: 47, Lon: 8, Properties: []byte(`{"label":"A \"b\""}`), Line: 2},
		{ID: "c", Lat: 47, Lon: 8, Properties: []byte(`{"name":"old"}`), Line: 6},
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

// TestQuotes tests that the first row decides how a table separates and quotes its fields. Rows for
// which this must be guessed are reported.
func TestQuotes(t *testing.T) {
	for text, want := range map[string]struct {
		properties string
		notes      []string
	}{
		"\"the\nname\";lat;lon\n\"A, \"\"b\"\"\";1;2\n": {
			`{"the name":"A, \"b\""}`,
			[]string{"f: 1 rows go over several lines, between quotes, the first in line 1"},
		},
		"lat\tlon\tname\n1\t2\t\"A \"\"b\"\"\"\n": {`{"name":"A \"b\""}`, nil},
		"sep=;\nlat;lon;name,n\n1;2;A,b\n":        {`{"name,n":"A,b"}`, nil},
		"lat,lon,name\n1,2,\"A\n1,2,b\n": {
			`{"name":"\"A"}`,
			[]string{"f: 1 rows have a quote that stands for itself and is read as text, the first in line 2"},
		},
		"lat,lon,name\n1,2,\"A\nb\"\n1,2,\"\nA\"\n": {
			`{"name":"A\u000ab"}`,
			[]string{"f: 2 rows go over several lines, between quotes, the first in line 2"},
		},
		"lat\tlon\tname\r1\t2\tA\r": {`{"name":"A"}`, nil},
		"name\tlat\tlon\n\"A\" b\t1\t2\n\t\t\n\"c\td\t1\t2\n": {
			`{"name":"\"A\" b"}`,
			[]string{"f: 1 rows have a quote that stands for itself and is read as text, the first in line 2"},
		},
	} {
		table := pointtable.New(bufio.NewReader(strings.NewReader(text)), "f", source.WantPoints, pointtable.Columns{})
		first := ""
		for p, err := range points(table) {
			if err == nil && first == "" {
				first = string(p.Properties)
			}
		}
		if first != want.properties || !slices.Equal(table.Notes(), want.notes) {
			t.Errorf("%q: %s %q", text, first, table.Notes())
		}
	}
}

// TestPositions tests that the text of a cell shows in which form, and in which order, it has a
// position.
func TestPositions(t *testing.T) {
	for cell, want := range map[string]string{
		"46, 7":                 "46 7 lat-lon",
		"(46, 7)":               "46 7 lat-lon",
		"46 7":                  "46 7 lat-lon",
		"46;7":                  "46 7 lat-lon",
		"[7, 46]":               "46 7 lon-lat",
		"[7,46,450.5]":          "46 7 lon-lat",
		"1 High St\n(46, 7)":    "46 7 lat-lon",
		"Main St\nX (46, 7)":    "46 7 lat-lon",
		"point(7 46)":           "46 7 ",
		"POINT Z (7 46 5)":      "46 7 ",
		"MULTIPOINT((7 46))":    "46 7 ",
		"MULTIPOINT (7 46)":     "46 7 ",
		"SRID=4326;POINT(7 46)": "46 7 ",
		"<http://www.opengis.net/def/crs/OGC/1.3/CRS84> POINT(7 46)":   "46 7 ",
		"<https://www.opengis.net/def/crs/EPSG/0/4326>Point (46 7)":    "46 7 ",
		"<http://www.opengis.net/def/crs/EPSG/0/4258> POINT(46 7)":     "46 7 ",
		"<http://www.opengis.net/def/crs/EPSG/0/7084> POINT(7 46)":     "46 7 ",
		"<urn:ogc:def:crs:EPSG::4326> POINT(46 7)":                     "46 7 ",
		"<http://www.wikidata.org/entity/Q2> Point(7 46)":              "46 7 ",
		`{"type":"Point","coordinates":[7,46,1]}`:                      "46 7 ",
		`{"coordinates":[[7,46]],"type":"MultiPoint"}`:                 "46 7 ",
		"01010000000000000000001C400000000000004740":                   "46 7 ",
		"0101000020E61000000000000000001c400000000000004740":           "46 7 ",
		"00000000014" + "01C0000000000004047000000000000":              "46 7 ",
		"01040000000100000001010000000000000000001C400000000000004740": "46 7 ",

		"":                          source.ReasonNoGeometry,
		`\N`:                        source.ReasonNoGeometry,
		"Bern":                      pointtable.ReasonNoPosition,
		"POINT EMPTY":               source.ReasonNoGeometry,
		"46":                        pointtable.ReasonNoPosition,
		"46,7,1":                    pointtable.ReasonNoPosition,
		"46,5, 7,5":                 pointtable.ReasonNoPosition,
		"46, x":                     source.ReasonNotANumber,
		"LINESTRING(7 46,8 46)":     source.ReasonNotAPoint,
		"MULTIPOINT((7 46),(8 46))": source.ReasonNotAPoint,
		`{"type":"LineString","coordinates":[[7,46],[8,46]]}`: source.ReasonNotAPoint,
		`{"type":"Point"}`:                                                   source.ReasonDamaged,
		`{"type":"Point","coordinates":[]}`:                                  source.ReasonNoGeometry,
		`{"type":"Point"`:                                                    source.ReasonDamaged,
		"SRID=3857;POINT(7 46)":                                              pointtable.ReasonSystem,
		"SRID=x;POINT(7 46)":                                                 pointtable.ReasonSystem,
		"<http://www.wikidata.org/entity/Q405> Point(7 46)":                  pointtable.ReasonSystem + `: "http://www.wikidata.org/entity/Q405"`,
		"<http://www.opengis.net/def/crs/EPSG/0/3857> POINT(7 46)":           pointtable.ReasonSystem,
		"<http://www.opengis.net/def/crs/OGC/1.3/CRS27> POINT(7 46)":         pointtable.ReasonSystem,
		"<http://example.org/CRS84> POINT(7 46)":                             pointtable.ReasonSystem,
		"<> POINT(7 46)":                                                     pointtable.ReasonSystem,
		"<http://www.opengis.net/def/crs/EPSG/0/4326> LINESTRING(46 7,46 8)": source.ReasonNotAPoint,
		"<http://www.opengis.net/def/crs/EPSG/0/4326>":                       pointtable.ReasonNoPosition,
		"<b>":               pointtable.ReasonSystem,
		"<7 46":             pointtable.ReasonSystem,
		"POINT(7 46 5 1 2)": source.ReasonNotAPoint,
		"0101000020110F00000000000000001c400000000000004740":     pointtable.ReasonSystem,
		"0102000000000000000000000000000000000000000000000000":   source.ReasonNotAPoint,
		"010400000000000000000000000000000000000000000000000000": source.ReasonNoGeometry,
		"0101000000000000000000f87f000000000000f87f":             source.ReasonNoGeometry,
		"0901000000000000000000f87f000000000000f87f":             source.ReasonDamaged,
	} {
		text := "n,geo_point_2d\n1,\"" + strings.ReplaceAll(cell, `"`, `""`) + "\"\n"
		found, taken, bad, err := read(text, pointtable.Columns{})
		got := strings.Join(bad, "")
		if len(found) == 1 {
			got = fmt.Sprint(found[0].Lat, found[0].Lon, " ", taken.Order)
		}
		if err != nil || got != want && !(len(found) == 0 && strings.Contains(got, ": "+want)) {
			t.Errorf("%q: %q %v, want %q", cell, got, err, want)
		}
	}
	// The caller may specify the order.
	for order, want := range map[string]float64{pointtable.LatLon: 7, pointtable.LonLat: 46} {
		for _, cell := range []string{"[7,46]", "7,46"} {
			found, taken, bad, err := read("n;p\n1;"+cell+"\n", pointtable.Columns{Lat: "p", Lon: "p", Order: order})
			if err != nil || bad != nil || found[0].Lat != want || taken.Order != order {
				t.Errorf("%s %s: %+v %v %v", cell, order, found, bad, err)
			}
		}
	}
}

// A column of codes is recognised by whole values, and not by the first letters of codes.
func TestCodesOfManyRows(t *testing.T) {
	const head, row = "id,lat,lon,country\n", "1,1,1,CH\n"
	for cut := range len(row) {
		text := strings.Repeat(" ", cut) + head + strings.Repeat(row, 64<<10/len(row)) + "2,2,2,NA\n"
		table := pointtable.New(bufio.NewReaderSize(strings.NewReader(text), 128<<10), "f", source.WantPoints, pointtable.Columns{})
		last := ""
		for p, err := range points(table) {
			if err != nil {
				t.Fatal(err)
			}
			last = string(p.Properties)
		}
		if last != `{"country":"NA"}` {
			t.Errorf("%d before it: %s", cut, last)
		}
	}
}

// Words for an empty value are not used as values, ids or coordinates, and are counted. A word that
// may be a value is kept, such as the name of a town or a code of two letters.
func TestEmptyWords(t *testing.T) {
	head := "id,lat,lon,price,town,country\n"
	for _, tc := range []struct {
		rows  string
		told  *source.Words
		want  string
		notes []string
	}{
		{head + "1,1,1,\\N,NULL,n/a\n2,2,2,null,N/A,-\n3,3,3,NaN,#N/A,None\n", nil, `  `,
			[]string{`f: 9 values are a word for an empty one and are left out ("#N/A" 1, "-" 1, "N/A" 1, "NULL" 1, "NaN" 1, "None" 1, "\\N" 1, "n/a" 1, "null" 1), the first in line 2; --empty says which words are`}},
		{head + "1,1,1,-1,Nan,CH\n2,2,2,--,none,NA\n3,3,3,N,Na,ZA\n", nil,
			`{"price":"-1","town":"Nan","country":"CH"} {"price":"--","town":"none","country":"NA"} {"price":"N","town":"Na","country":"ZA"}`,
			[]string{`f: 1 values NA are kept, as their columns have codes of two letters ("country" 1), the first in line 3; --empty NA takes them for empty ones`}},
		{head + "1,1,1,NA,NA,CH\n2,2,2,,Bern,NA\n", source.NewWords("NA"), `{"country":"CH"} {"town":"Bern"}`, []string{
			`f: 3 values are a word for an empty one and are left out ("NA" 3), the first in line 2; --empty says which words are`}},
		{head + "1,1,1,NULL,-,\n", source.NewWords(), `{"price":"NULL","town":"-"}`, nil},
		{head + "1,1,1,?,k. A.,\n", source.NewWords("?", "k. A."), ``, []string{
			`f: 2 values are a word for an empty one and are left out ("?" 1, "k. A." 1), the first in line 2; --empty says which words are`}},
	} {
		var got []string
		table := pointtable.New(bufio.NewReader(strings.NewReader(tc.rows)), "f", source.WantPoints, pointtable.Columns{Empty: tc.told})
		for p, err := range points(table) {
			if err != nil {
				t.Error(err)
			}
			got = append(got, string(p.Properties))
		}
		if strings.Join(got, " ") != tc.want || !slices.Equal(table.Notes(), tc.notes) {
			t.Errorf("%q: %q %q", tc.rows, got, table.Notes())
		}
	}
	// These rows test coordinates and ids.
	for row, want := range map[string]string{
		"1,null,NAN":    source.ReasonNoGeometry,
		"1,-,none":      source.ReasonNoGeometry,
		"1,NULL,8.5":    pointtable.ReasonNoPosition,
		"1,8.5,\\N":     pointtable.ReasonNoPosition,
		"1,nothing,8.5": source.ReasonNotANumber,
	} {
		if _, _, bad, err := read("id,lat,lon\n"+row+"\n", pointtable.Columns{}); err != nil || len(bad) != 1 ||
			!strings.Contains(bad[0], ": "+want) {
			t.Errorf("%s: %q %v", row, bad, err)
		}
	}
}

// TestStrayQuotes tests that a stray quote in each of two near rows does not join these rows, even
// in tables with few columns. In contrast, a text in correct quotes may have lines with as many
// columns as the table.
func TestStrayQuotes(t *testing.T) {
	for text, want := range map[string]string{
		"id,name,lat,lon\n1,\"Hirsch,48.1,11.1\n2,Post\",48.2,11.2\n3,Adler,48.3,11.3\n":          "48.1 48.2 48.3",
		"id,name,lat,lon\n1,\"Hirsch,48.1,11.1\n2,Lamm,,\n3,Krone,48.25,11\n4,Post\",48.2,11.2\n": "48.1 bad 48.25 48.2",
		"name,wkt\n\"Hirsch,POINT(11.1 48.1)\nPost\",POINT(11.2 48.2)\n":                          "48.1 48.2",
		"lat;lon;name\n48.1;11.1;\"Hirsch\n48.2;11.2;Post\"\n":                                    "48.1 48.2",
		"name\tlat\tlon\n\"Hirsch\t48.1\t11.1\nPost\"\t48.2\t11.2\n":                              "48.1 48.2",
		"id,name,lat,lon\n1,\"Hirsch, Hof,\nEingang 2,\n links\",48.1,11.1\n2,Post,48.2,11.2\n":   "48.1 48.2",
		"id,lat,lon,note\n1,48.1,11.1,\"see\n2,x,y,z\"\n2,48.2,11.2,\n":                           "48.1 48.2",
		"id,lat,lon,note\n1,48.1,11.1,\"first\nsecond\"\n2,48.2,11.2,\n":                          "48.1 48.2",
		"id,name,lat,lon\n1,\"a,48.3,11.1\n2,b,48.4,11.2\n\",48.1,11.1\n2,Post,48.2,11.2\n":       "48.1 48.2", // a table in a cell
	} {
		var got []string
		for p, err := range points(pointtable.New(bufio.NewReader(strings.NewReader(text)), "f", source.WantPoints, pointtable.Columns{})) {
			if err != nil {
				got = append(got, "bad")
				continue
			}
			got = append(got, fmt.Sprint(p.Lat))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// TestOrderOfLookedAt tests that positions in text that is only read ahead do not affect the
// detected order of latitude and longitude.
func TestOrderOfLookedAt(t *testing.T) {
	found, taken, bad, err := read("id;name;p\n1;\"a;[11.1, 48.3]\n2;b;[11.2, 48.4]\n\";48.1 11.1\n2;Post;48.2 11.2\n",
		pointtable.Columns{Lat: "p", Lon: "p"})
	if err != nil || len(bad) > 0 || len(found) != 2 || taken.Order != pointtable.LatLon {
		t.Errorf("%v, %q, %q, %v", found, taken.Order, bad, err)
	}
}

// Well-known text that is too long makes only its row bad.
func TestLongPosition(t *testing.T) {
	for _, long := range []string{
		"POINT(" + strings.Repeat("7 ", 100_000),
		"<http://example.org/" + strings.Repeat("x", 1_000_000) + "> POINT(7 46)",
	} {
		found, _, bad, err := read("n,wkt\n1,"+long+"\n2,POINT(7 46)\n", pointtable.Columns{})
		if err != nil || len(found) != 1 || len(bad) != 1 || len(bad[0]) > 500 {
			t.Errorf("%d bytes: %d points, %.200q %v", len(long), len(found), bad, err)
		}
	}
}

// Positions in a coordinate system that nearly equals WGS84 are used, and one note reports this.
func TestSystems(t *testing.T) {
	table := pointtable.New(bufio.NewReader(strings.NewReader("wkt\nSRID=4326;POINT(1 2)\nSRID=0;POINT(1 "+
		"2)\nSRID=4283;POINT(1 2)\nSRID=3857;POINT(1 2)\nSRID=4269;POINT(1 2)\nSRID=0;POINT(1 2)\n")), "f", source.WantPoints, pointtable.Columns{})
	n := 0
	for _, err := range points(table) {
		if err == nil {
			n++
		}
	}
	if want := []string{"f: coordinates are in EPSG:4283 and taken as WGS84, from which they differ by a few metres at most"}; n != 5 || !slices.Equal(table.Notes(), want) {
		t.Errorf("%d points, %q", n, table.Notes())
	}
}

func FuzzTable(f *testing.F) {
	f.Add("id,lat,lon,a\nx,1,2,\"y\nz\"\n")
	f.Add("wkt\n<http://www.opengis.net/def/crs/EPSG/0/4326> POINT(46 7)\n<http://www.wikidata.org/entity/Q405> Point(1 2)\n<> <\n")
	f.Add("wkt\ta\nPOINT(1 2)\t\nSRID=4326;POINT Z (1 2 3)\tx\nPOINT\n")
	f.Add("location;n\n(1,2);\n1,2,3;4\n")
	f.Add("lat,lat,\n1")
	f.Add("point\n[1,2,3]\n0101000020E61000000000000000001c400000000000004740\n{\"type\":\"Point\",\"coordinates\":[1,2]}\nSRID=0;POINT(1 2)\n")
	f.Fuzz(func(t *testing.T, text string) {
		for _, told := range []pointtable.Columns{{}, {Lat: "a", Lon: "a"}} {
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
