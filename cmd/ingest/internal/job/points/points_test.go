package points

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"quadrille/ask"
	"quadrille/cellstore/dataset"
	"quadrille/cmd/ingest/internal/job"
	"quadrille/cmd/ingest/internal/job/jobtest"
	"quadrille/cmd/ingest/internal/job/places"
	"quadrille/cmd/ingest/internal/source"
	"quadrille/cmd/ingest/internal/source/columns"
	"quadrille/cmd/ingest/internal/source/pointtable"
	"quadrille/cmd/internal/testfile"
	"quadrille/feature"
	"quadrille/internal/jsontext"
	"quadrille/internal/testrace"
	"quadrille/places/live"
	"quadrille/places/points"
	"quadrille/quadkey"
)

// openPoints opens a published collection.
func openPoints(t *testing.T, c *dataset.Catalog, name string) *points.Collection {
	t.Helper()
	collection, _ := jobtest.Open(t, c, ask.CollectionOf(name))
	return collection
}

// answers returns a collection's answers: all points, the points near a position and those within a
// box.
func answers(t *testing.T, c *points.Collection) map[string][]string {
	t.Helper()
	got := map[string][]string{}
	for what, q := range map[string]feature.Query{
		"all": {}, "near": {Near: &feature.Near{Position: quadkey.Position{Lat: 46.3, Lon: 7.3}}, Limit: 5},
		"within": {In: feature.Box{West: 7.1, South: 46.1, East: 7.3, North: 46.4}},
	} {
		for f, err := range c.Features(t.Context(), &q) {
			if err != nil {
				t.Fatal(err)
			}
			got[what] = append(got[what], fmt.Sprintf("%s %v %v {%s}", f.ID, f.Lat, f.Lon, f.Properties.AppendMembers(nil)))
		}
	}
	slices.Sort(got["all"])
	return got
}

// Whatever the format and the packing, the collection is the same.
func TestPointsOfEveryFormat(t *testing.T) {
	testrace.SkipUnderRace(t, "one goroutine goes through much data")
	all := shops(500)
	want := map[string][]string{}
	for _, s := range all {
		price := ""
		if s.price != "" {
			price = `,"price":` + s.price
		}
		brand := jsontext.AppendString(nil, s.brand)
		want["all"] = append(want["all"], fmt.Sprintf(`%s %v %v {"brand":%s%s,"open":%t}`, s.id, s.lat, s.lon, brand, price, s.open))
	}
	slices.Sort(want["all"])
	shape := pointShapefile(all)
	sequence := geoFeatures(all, "\x1e")
	var golden map[string][]string
	for _, tc := range []struct {
		name    string
		content string
		layer   string
		fixed   bool // packed as it is
	}{
		{name: "comma.csv", content: "\ufeff" + table(all, ",")},
		{name: "semicolon.csv", content: table(all, ";") + ";;;;;\r\n"},
		{name: "tab.tsv", content: table(all, "\t")},
		{name: "collection.geojson", content: featureCollection(all)},
		{name: "lines.ndjson", content: geoFeatures(all, " ")},
		{name: "sequence.geojsons", content: sequence},
		{name: "one.gpkg", content: string(geoPackage(t, all, "shops"))},
		{name: "two.gpkg", content: string(geoPackage(t, all, "shops", "others")), layer: "shops"},
		{name: "shape.zip", content: zipMembers(t, shape), fixed: true},
		{name: "shapes.zip", content: zipMembers(t, map[string]string{
			"shops.shp": shape["shops.shp"], "shops.dbf": shape["shops.dbf"], "shops.cpg": "UTF-8", "other.shp": shape["shops.shp"],
		}), layer: "shops", fixed: true},
	} {
		packings := map[string]string{"": tc.content}
		if !tc.fixed {
			packings[".gz"] = testfile.Gzip(tc.content)
			packings[".zip"] = zipMembers(t, map[string]string{tc.name: tc.content, "README.md": "words"})
			packings[".alone.zip"] = zipMembers(t, map[string]string{"data": tc.content})
		}
		for packing, content := range packings {
			for _, stdin := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s%s stdin %t", tc.name, packing, stdin), func(t *testing.T) {
					c, rep := jobtest.Catalog(t), &jobtest.Recorder{}
					of := Collection{
						Name:    "shops",
						Layer:   tc.layer,
						Title:   "Shops",
						Private: true,
						Credit:  job.Credit{License: "CC0-1.0", Attribution: "Shops & Co"},
					}
					path, o := "-", job.Options{Reporter: rep, Stdin: strings.NewReader(content)}
					if !stdin {
						path = testfile.WriteTemp(t, "file", content) // the name gives no hint
					}
					m, err := Ingest(t.Context(), c, of, []string{path}, o)
					if err != nil {
						t.Fatal(err)
					}
					collection := openPoints(t, c, "shops")
					meta := *collection.Meta()
					wantMeta := live.Meta{
						SchemaVersion: points.SchemaVersion, Name: "shops", Points: 500, Bounds: [4]float64{7, 46, 7 + 24/16.0, 46 + 19/16.0},
						Schema: feature.Schema{{Name: "brand", Kind: feature.Text}, {Name: "open", Kind: feature.Boolean},
							{Name: "price", Kind: feature.Number}},
						Title: "Shops", Private: true, Licence: "CC0-1.0", Attribution: "Shops & Co",
					}
					if d := gocmp.Diff(wantMeta, meta); d != "" {
						t.Error(d)
					}
					got := answers(t, collection)
					if d := gocmp.Diff(want["all"], got["all"]); d != "" {
						t.Error(d)
					}
					if golden == nil {
						golden = got
					}
					if d := gocmp.Diff(golden, got); d != "" || len(got["near"]) != 5 ||
						!strings.HasPrefix(got["near"][0], "s-105 46.3125 7.3125 ") || len(got["within"]) != 15 {
						t.Error(got["near"], len(got["within"]), d)
					}
					src := m.Sources[0]
					if src.License != "CC0-1.0" || src.Attribution != "Shops & Co" || src.SHA256 == "" || src.Records != 500 ||
						m.Records["points"] != 500 || m.Bad != nil {
						t.Errorf("%+v", m)
					}
					if name := "file"; !stdin && src.File != name || stdin && src.File != "standard input" {
						t.Errorf("%+v", src)
					}
					if left, _ := filepath.Glob(filepath.Join(c.Dir(), "points-shops", "copy-*.tmp")); left != nil {
						t.Errorf("left behind: %q", left)
					}
				})
			}
		}
	}
}

// Leftovers of a killed run are removed, whatever the directory's name.
func TestPointsAfterKill(t *testing.T) {
	c := jobtest.CatalogIn(t, filepath.Join(t.TempDir(), "[data]"))
	left := filepath.Join(c.Dir(), "points-shops", "copy-1.tmp")
	testfile.Write(t, left, "")
	if _, err := Ingest(t.Context(), c, Collection{Name: "shops"}, []string{testfile.WriteTemp(t, "p.csv", "id,lat,lon\n1,2,3\n")},
		job.Options{}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(left); !os.IsNotExist(err) {
		t.Errorf("it is still there: %v", err)
	}
}

// A shapefile is found with its companion files.
func TestPointsOfShapefile(t *testing.T) {
	dir := t.TempDir()
	for name, text := range pointShapefile(shops(20)) {
		testfile.Write(t, filepath.Join(dir, name), text)
	}
	c := jobtest.Catalog(t)
	m, err := Ingest(t.Context(), c, Collection{Name: "shops"}, []string{filepath.Join(dir, "shops.shp")}, job.Options{})
	if err != nil || m.Records["points"] != 20 || len(m.Sources) != 4 {
		t.Fatal(err, m)
	}
	testfile.Write(t, filepath.Join(dir, "shops.prj"), `PROJCS["CH1903+ / LV95"]`)
	_, err = Ingest(t.Context(), c, Collection{Name: "shops"}, []string{filepath.Join(dir, "shops.shp")}, job.Options{})
	if err == nil || !strings.Contains(err.Error(), "ogr2ogr -t_srs EPSG:4326 out.shp") {
		t.Error(err)
	}
}

// pointShapefileOf writes a shapefile of points with a table of its own, and returns its path.
func pointShapefileOf(t *testing.T, fields []dbaseField, rows ...[]string) string {
	t.Helper()
	dir := t.TempDir()
	parts := pointShapefile(shops(len(rows)))
	parts["shops.dbf"] = dbaseTable(fields, rows)
	for name, text := range parts {
		testfile.Write(t, filepath.Join(dir, name), text)
	}
	return filepath.Join(dir, "shops.shp")
}

// Whole numbers beyond int64 are exact, as a property and as an id.
func TestPointsLargeNumbers(t *testing.T) {
	path := pointShapefileOf(t, []dbaseField{{"id", 'N', 20}, {"big", 'N', 20}},
		[]string{"12345678901234567890", "-9999999999999999999"}, []string{"7", "9007199254740993"})
	c := jobtest.Catalog(t)
	if _, err := Ingest(t.Context(), c, Collection{Name: "shops"}, []string{path}, job.Options{}); err != nil {
		t.Fatal(err)
	}
	want := []string{`12345678901234567890 46 7 {"big":-9999999999999999999}`, `7 46.0625 7 {"big":9007199254740993}`}
	if d := gocmp.Diff(want, answers(t, openPoints(t, c, "shops"))["all"]); d != "" {
		t.Error(d)
	}
}

// An unreadable field is neither a property nor an id.
func TestPointsFieldsNotRead(t *testing.T) {
	path := pointShapefileOf(t, []dbaseField{{"ID", 'I', 4}, {"NOTES", 'M', 10}, {"NAME", 'C', 5}},
		[]string{"\x01\x02\x03\x04", "1", "one"}, []string{"\x05\x02\x03\x04", "", "two"})
	c, rep := jobtest.Catalog(t), &jobtest.Recorder{}
	if _, err := Ingest(t.Context(), c, Collection{Name: "shops"}, []string{path}, job.Options{Reporter: rep}); err != nil {
		t.Fatal(err)
	}
	want := []string{`1 46 7 {"name":"one"}`, `2 46.0625 7 {"name":"two"}`}
	if d := gocmp.Diff(want, answers(t, openPoints(t, c, "shops"))["all"]); d != "" {
		t.Error(d)
	}
	lost := "warning: 3 properties of 2 features are not kept; the first is " + path + `:1: "ID: it is in another file, or binary"`
	if !slices.Contains(rep.Notes, lost) {
		t.Errorf("%q", rep.Notes)
	}
	_, err := Ingest(t.Context(), c, Collection{Name: "shops", Told: columns.Told{ID: "NOTES"}}, []string{path}, job.Options{})
	if err == nil || !strings.Contains(err.Error(), `there is no column "NOTES" for the id; there are "NAME"`) {
		t.Error(err)
	}
}

// Losses of a refused record are not counted: the whole record is dropped.
func TestPointsLostOfRefused(t *testing.T) {
	path := pointShapefileOf(t, []dbaseField{{"id", 'C', 5}, {"NOTES", 'M', 10}},
		[]string{"\x02", "1"}, []string{"", "2"}, []string{"a", "3"}, []string{"b", ""})
	c, rep := jobtest.Catalog(t), &jobtest.Recorder{}
	m, err := Ingest(t.Context(), c, Collection{Name: "shops"}, []string{path}, job.Options{Reporter: rep, MaxBad: 0.9})
	if err != nil || m.Records["points"] != 2 {
		t.Fatal(m.Records, err)
	}
	lost := "warning: 1 properties of 1 features are not kept; the first is " + path + `:3: "NOTES: it is in another file, or binary"`
	if !slices.Contains(rep.Notes, lost) {
		t.Errorf("%q", rep.Notes)
	}
}

// TestPointsColumns reads files whose columns are given by flags, and files without such flags.
func TestPointsColumns(t *testing.T) {
	document := func(id, properties string) string {
		return `{"type":"Feature",` + id + `"properties":` + properties + `,"geometry":{"type":"Point","coordinates":[7,46]}}`
	}
	for name, tc := range map[string]struct {
		files []string
		of    Collection
		want  []string
		notes []string
	}{
		"told": {
			files: []string{"ref,label,name,north,east,lat\nA,One,old,46,7,x\n"},
			of:    Collection{Told: columns.Told{ID: "ref", Name: "label"}, Columns: pointtable.Columns{Lat: "north", Lon: "east"}},
			want:  []string{`A 46 7 {"name":"One","lat":"x"}`},
		},
		"numbers over all files": {
			files: []string{"lat,lon,n\n1,1,1\n2,2,2\n", "LATITUDE,LONG,n\n3,3,3\n"},
			want:  []string{`1 1 1 {"n":1}`, `2 2 2 {"n":2}`, `3 3 3 {"n":3}`},
			notes: []string{"3 points have no id and got the number of their record; --id names the property that is the id"},
		},
		"well-known text": {files: []string{"id,wkt\na,POINT (7 46)\nb,SRID=4326;point z(8 47 5)\n"}, want: []string{"a 46 7 {}", "b 47 8 {}"}},
		"pairs":           {files: []string{"id;location\na;46,7\nb;(47, 8)\n"}, want: []string{"a 46 7 {}", "b 47 8 {}"}},
		"declared": {
			files: []string{"id,lat,lon,zip,tags,since\na,46,7,08001,x; y,2026-01-31\nb,47,8,8002,,2026-01-31T12:00:00+01:00\n"},
			of:    Collection{PropertyTypes: feature.Schema{{Name: "tags", Kind: feature.Texts}, {Name: "zip", Kind: feature.Text}}},
			want: []string{
				`a 46 7 {"zip":"08001","tags":["x","y"],"since":"2026-01-31T00:00:00Z"}`, `b 47 8 {"zip":"8002","since":"2026-01-31T11:00:00Z"}`,
			},
		},
		"decimal commas": {
			files: []string{"id;lat;lon;price\na;46;7;1,5\nb;47;8;2\n"}, want: []string{`a 46 7 {"price":1.5}`, `b 47 8 {"price":2}`},
			notes: []string{`: "price": its numbers have decimal commas, as "1,5"`},
		},
		"few decimal commas": {
			files: []string{"id;lat;lon;price\na;46;7;1,5\nb;47;8;2\nc;47;8;3\n"}, want: []string{`a 46 7 {"price":"1,5"}`, `b 47 8 {"price":"2"}`, `c 47 8 {"price":"3"}`},
			notes: []string{`warning: the numbers of "price" have decimal commas, so it is text; --decimal=, makes them numbers`},
		},
		"ids of features": {
			files: []string{document(`"id":5,`, `{"id":"own","n":1}`), document("", `{"id":"own","n":[1,{"a":null}]}`), document("", `null`)},
			want:  []string{`3 46 7 {}`, `5 46 7 {"id":"own","n":1}`, `own 46 7 {"n":[1,{"a":null}]}`},
			notes: []string{"1 points have no id and got the number of their record; --id names the property that is the id"},
		},
		"told of features": {
			files: []string{document(`"id":5,`, `{"name":"old","label":"One","ref":7}`)},
			of:    Collection{Told: columns.Told{ID: "ref", Name: "label"}},
			want:  []string{`7 46 7 {"name":"One"}`},
		},
		"codes": {
			files: []string{"id,lat,lon,n\na,46,7,10E2\nb,47,8,12E4\n"},
			want:  []string{`a 46 7 {"n":"10E2"}`, `b 47 8 {"n":"12E4"}`},
		},
		"lines in quotes": {files: []string{"id,lat,lon,note\na,46,7,\"two\nlines\"\n"}, want: []string{`a 46 7 {"note":"two\u000alines"}`}},
	} {
		t.Run(name, func(t *testing.T) {
			var paths []string
			for i, text := range tc.files {
				paths = append(paths, testfile.WriteTemp(t, fmt.Sprint(i), text))
			}
			c, rep := jobtest.Catalog(t), &jobtest.Recorder{}
			tc.of.Name = "mine"
			if _, err := Ingest(t.Context(), c, tc.of, paths, job.Options{Reporter: rep}); err != nil {
				t.Fatal(err)
			}
			if d := gocmp.Diff(tc.want, answers(t, openPoints(t, c, "mine"))["all"]); d != "" {
				t.Error(d)
			}
			for _, note := range tc.notes {
				// The path of a file may come before it.
				if !slices.ContainsFunc(rep.Notes, func(of string) bool { return strings.HasSuffix(of, note) }) {
					t.Errorf("no %q among %q", note, rep.Notes)
				}
			}
		})
	}
}

// The report names the place near a position, which shows how the position was read.
func TestPointsNearPlace(t *testing.T) {
	c, rep := jobtest.Catalog(t), &jobtest.Recorder{}
	if _, err := places.Ingest(t.Context(), c, []places.Input{{Input: job.Input{
		Path:   testfile.WriteTemp(t, "places.txt", jobtest.RowBern),
		Credit: job.GeoNames,
	}}}, job.Options{}); err != nil {
		t.Fatal(err)
	}
	text := "id;location\nx;\na;[7.5, 46.9480]\nb;[8, 47]\n"
	if _, err := Ingest(t.Context(), c, Collection{Name: "mine"}, []string{testfile.WriteTemp(t, "file", text)},
		job.Options{Reporter: rep, MaxBad: 0.5}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`file: positions from "location" in the order lon-lat, id from "id" (by its name)`,
		"the first position is latitude 46.948, longitude 7.5, 4 km from Bern, CH"} {
		if !slices.Contains(rep.Notes, want) {
			t.Errorf("no %q among %q", want, rep.Notes)
		}
	}
}

// TestPointsGuessedID tests that a column that looks like ids is not used as such if two points
// have the same value in it.
func TestPointsGuessedID(t *testing.T) {
	testrace.SkipUnderRace(t, "one goroutine goes through much data")
	keyed := func(id string) string {
		path := testfile.WriteTemp(t, "keyed.gpkg", string(geoPackage(t, shops(2), "shops")))
		db, err := sql.Open("sqlite", path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := db.Exec(`ALTER TABLE shops RENAME TO old;
CREATE TABLE shops (nr INTEGER PRIMARY KEY, geom POINT, ` + id + ` TEXT);
INSERT INTO shops SELECT 7 + rowid, geom, id FROM old`); err != nil {
			t.Fatal(err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		b := testfile.Read(t, path)
		return string(b)
	}
	const unkeyed = "2 points have no id and got the number of their record; --id names the property that is the id"
	for name, tc := range map[string]struct {
		files []string
		want  []string
		note  string
	}{
		"unique": {files: []string{"code,lat,lon\nA,1,1\n", "code,lat,lon\nB,bad,1\nB,2,2\n"}, want: []string{"A 1 1 {}", "B 2 2 {}"}},
		"repeated": {
			files: []string{"code,lat,lon\nA,1,1\nA,2,2\n"},
			want:  []string{`1 1 1 {"code":"A"}`, `2 2 2 {"code":"A"}`},
			note:  `"code" is no id: 1 of 2 records lack one or repeat one, the first is FILE0:3`,
		},
		"in two files": {
			files: []string{"Code,lat,lon\nA,1,1\n", "Code,lat,lon\nA,2,2\n"},
			want:  []string{`1 1 1 {"Code":"A"}`, `2 2 2 {"Code":"A"}`},
			note:  `"Code" is no id: 1 of 2 records lack one or repeat one, the first is FILE1:2`,
		},
		"empty": {files: []string{"ident,lat,lon\nA,1,1\n,2,2\n"}, want: []string{`1 1 1 {"ident":"A"}`, "2 2 2 {}"}, note: unkeyed},
		"of a shape": {
			files: []string{zipMembers(t, pointShapefile(shops(2)))},
			want: []string{`s-000 46 7 {"brand":"Alpha \u0026 Co","open":false}`,
				`s-001 46.0625 7 {"brand":"Bravo; \"B\"","price":0.25,"open":true}`},
		},
		"key": {
			files: []string{keyed("id")},
			want:  []string{`8 46 7 {"id":"s-000"}`, `9 46.0625 7 {"id":"s-001"}`},
			note:  `0: id from "nr" (the primary key)`,
		},
		"keys of two": {
			files: []string{keyed("id"), strings.ReplaceAll(keyed("id"), "s-00", "t-00")},
			want:  []string{`s-000 46 7 {"nr":8}`, `s-001 46.0625 7 {"nr":9}`, `t-000 46 7 {"nr":8}`, `t-001 46.0625 7 {"nr":9}`},
			note:  `"nr" is no id: 2 of 4 records lack one or repeat one, the first is FILE1:1`,
		},
		"keys called id": {
			files: []string{strings.ReplaceAll(keyed("code"), "nr", "id"), strings.ReplaceAll(keyed("code"), "nr", "id")},
			want: []string{`1 46 7 {"id":8,"code":"s-000"}`, `2 46.0625 7 {"id":9,"code":"s-001"}`, `3 46 7 {"id":8,"code":"s-000"}`,
				`4 46.0625 7 {"id":9,"code":"s-001"}`},
			note: `"id" is no id: 2 of 4 records lack one or repeat one, the first is FILE1:1`,
		},
		"nothing other": {
			files: []string{keyed("code"), keyed("code")},
			want: []string{`1 46 7 {"nr":8,"code":"s-000"}`, `2 46.0625 7 {"nr":9,"code":"s-001"}`, `3 46 7 {"nr":8,"code":"s-000"}`,
				`4 46.0625 7 {"nr":9,"code":"s-001"}`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var paths []string
			for i, text := range tc.files {
				paths = append(paths, testfile.WriteTemp(t, fmt.Sprint(i), text))
				tc.note = strings.ReplaceAll(tc.note, fmt.Sprint("FILE", i), paths[i])
			}
			c, rep := jobtest.Catalog(t), &jobtest.Recorder{}
			if _, err := Ingest(t.Context(), c, Collection{Name: "mine"}, paths, job.Options{Reporter: rep, MaxBad: 0.34}); err != nil {
				t.Fatal(err)
			}
			if d := gocmp.Diff(tc.want, answers(t, openPoints(t, c, "mine"))["all"]); d != "" {
				t.Error(d)
			}
			if tc.note != "" && !slices.Contains(rep.Notes, tc.note) {
				t.Errorf("no %q among %q", tc.note, rep.Notes)
			}
		})
	}
}

// Words for an empty value do not affect a type. They are reported, and can be set by --empty. In
// files with a null of their own such words are ordinary values unless --empty is given.
func TestEmptyValues(t *testing.T) {
	table := "id,lat,lon,price,note\na,1,1,9.5,x\nb,2,2,NULL,-\nc,3,3,7,?\n"
	geo := `{"type":"Feature","id":"a","geometry":{"type":"Point","coordinates":[1,1]},"properties":{"note":"-","path":"\\N"}}`
	gpkg := string(geoPackage(t, []shop{{id: "a", brand: "-", lat: 1, lon: 1}}, "shops"))
	for name, tc := range map[string]struct {
		text  string
		empty []string
		want  []string
		note  string
	}{
		"table": {
			table,
			nil,
			[]string{`a 1 1 {"price":9.5,"note":"x"}`, `b 2 2 {}`, `c 3 3 {"price":7,"note":"?"}`},
			`2 values are a word for an empty one and are left out ("-" 1, "NULL" 1), the first in line 3`,
		},
		"other words": {
			table,
			[]string{"NULL", "?"},
			[]string{`a 1 1 {"price":9.5,"note":"x"}`, `b 2 2 {"note":"-"}`, `c 3 3 {"price":7}`},
			`("?" 1, "NULL" 1)`,
		},
		"no words": {table, []string{}, []string{`b 2 2 {"price":"NULL","note":"-"}`}, ""},
		"GeoJSON":  {geo, nil, []string{`a 1 1 {"note":"-","path":"\\N"}`}, ""},
		"told": {
			geo,
			[]string{`\N`, "-"},
			[]string{`a 1 1 {}`},
			`2 values are a word for an empty one and are left out ("-" 1, "\\N" 1), the first in line 1`,
		},
		"GeoPackage": {gpkg, []string{"-"}, nil, `1 values are a word for an empty one`},
	} {
		c, rep := jobtest.Catalog(t), &jobtest.Recorder{}
		_, err := Ingest(t.Context(), c, Collection{Name: "mine", Empty: tc.empty}, []string{testfile.WriteTemp(t, "file", tc.text)},
			job.Options{Reporter: rep})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got, notes := answers(t, openPoints(t, c, "mine"))["all"], strings.Join(rep.Notes, "\n")
		for _, want := range tc.want {
			if !slices.Contains(got, want) {
				t.Errorf("%s: %q, want %s", name, got, want)
			}
		}
		if !strings.Contains(notes, tc.note) || tc.note == "" && strings.Contains(notes, "--empty") {
			t.Errorf("%s: %s", name, notes)
		}
	}
}

// Positions at exactly 0, 0 are reported, or left out and counted separately.
func TestZeroPositions(t *testing.T) {
	path := testfile.WriteTemp(t, "stops.csv", "stop_id,stop_lat,stop_lon\na,0,1\nb,0.0,-0\nc,0,0\nd,0.0000001,0\n")
	c, rep := jobtest.Catalog(t), &jobtest.Recorder{}
	m, err := Ingest(t.Context(), c, Collection{Name: "mine"}, []string{path}, job.Options{Reporter: rep})
	want := "warning: positions that are exactly 0, 0, as many programs write unknown ones: 2, the first in " + path +
		":3; --drop-zero leaves them out"
	if err != nil || m.Records["points"] != 4 || !slices.Contains(rep.Notes, want) {
		t.Errorf("%v %v %q", err, m.Records, rep.Notes)
	}
	rep = &jobtest.Recorder{}
	m, err = Ingest(t.Context(), c, Collection{Name: "mine"}, []string{path}, job.Options{Reporter: rep, DropZero: true})
	if err != nil || m.Records["points"] != 2 || m.Bad[source.ReasonAtZero] != 2 || len(rep.Notes) != 3 ||
		!strings.HasPrefix(rep.Notes[2], "2 of 4 records are left out and not counted as bad, such as "+path+":3: position is exactly 0, 0") {
		t.Errorf("%v %v %v %q", err, m.Records, m.Bad, rep.Notes)
	}
	path = testfile.WriteTemp(t, "most.csv", "stop_id,stop_lat,stop_lon\na,0,0\nb,0.0,-0\nc,0,1\n")
	if m, err = Ingest(t.Context(), c, Collection{Name: "mine"}, []string{path}, job.Options{DropZero: true}); err != nil ||
		m.Records["points"] != 1 {
		t.Error(err, m.Records)
	}
	path = testfile.WriteTemp(t, "all.csv", "stop_id,stop_lat,stop_lon\na,0,0\n")
	if _, err = Ingest(t.Context(), c, Collection{Name: "mine"}, []string{path}, job.Options{DropZero: true}); err == nil ||
		!strings.Contains(err.Error(), "hold no points") {
		t.Error(err)
	}
}

// TestPointsToldColumns tests the ids and names that columns tell, in tables and in GeoJSON.
func TestPointsToldColumns(t *testing.T) {
	geo := func(properties string) string {
		return `{"type":"Feature","properties":{` + properties + `},"geometry":{"type":"Point","coordinates":[7,46]}}` + "\n"
	}
	for name, tc := range map[string]struct {
		text string
		told columns.Told
		want []string
		note string
	}{
		"joined": {"S,C,lat,lon,Street,No\n01,003,46,7,Hill,4\n01,005,46,7,Dale,\n", columns.Told{ID: "s+c", Name: "Street+No"}, []string{
			`01003 46 7 {"S":"01","C":"003","Street":"Hill","No":4,"name":"Hill 4"}`, `01005 46 7 {"S":"01","C":"005","Street":"Dale","name":"Dale"}`},
			`name from "Street+No" (as told), id from "S+C" (as told)`},
		"a name of a table": {"ID,Name,lat,lon\na,A,46,7\n", columns.Told{}, []string{`a 46 7 {"name":"A"}`},
			`name from "Name" (by its name), id from "ID" (by its name)`},
		"a name of GeoJSON": {geo(`"id":"a","Title":"A"`) + geo(`"id":"b","Title":"B"`), columns.Told{},
			[]string{`a 46 7 {"name":"A"}`, `b 46 7 {"name":"B"}`}, `name from "Title" (by its name)`},
		"titles": {geo(`"id":"a","Title":"Mr"`) + geo(`"id":"b","Title":"Mr"`), columns.Told{},
			[]string{`a 46 7 {"Title":"Mr"}`, `b 46 7 {"Title":"Mr"}`}, ""},
		"case of GeoJSON": {geo(`"Ref":"a"`) + geo(`"Ref":"b"`), columns.Told{ID: "ref"}, []string{`a 46 7 {}`, `b 46 7 {}`}, ""},
		"joined in GeoJSON": {geo(`"n":1,"m":"x"`) + geo(`"n":2,"m":"x"`), columns.Told{ID: "m+n"},
			[]string{`x1 46 7 {"n":1,"m":"x"}`, `x2 46 7 {"n":2,"m":"x"}`}, ""},
	} {
		c, rep := jobtest.Catalog(t), &jobtest.Recorder{}
		if _, err := Ingest(t.Context(), c, Collection{Name: "mine", Told: tc.told}, []string{testfile.WriteTemp(t, "file", tc.text)},
			job.Options{Reporter: rep}); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if d := gocmp.Diff(tc.want, answers(t, openPoints(t, c, "mine"))["all"]); d != "" {
			t.Errorf("%s: %s", name, d)
		}
		if !strings.Contains(strings.Join(rep.Notes, "\n"), tc.note) {
			t.Errorf("%s: %q", name, rep.Notes)
		}
	}
	// A record that has a name keeps it beside the column that is the name of others.
	late := geo(`"id":"z","Title":"T","name":"own"`)
	text := strings.Builder{}
	for i := range maxLearned {
		text.WriteString(geo(fmt.Sprintf(`"id":"%d","Title":"T %d"`, i, i)))
	}
	c := jobtest.Catalog(t)
	if _, err := Ingest(t.Context(), c, Collection{Name: "mine"}, []string{testfile.WriteTemp(t, "file", text.String()+late)}, job.Options{}); err != nil {
		t.Fatal(err)
	}
	if all := answers(t, openPoints(t, c, "mine"))["all"]; !slices.Contains(all, `z 46 7 {"Title":"T","name":"own"}`) ||
		!slices.Contains(all, `5 46 7 {"name":"T 5"}`) {
		t.Errorf("%.300q", all)
	}
}

// A searchable collection without names is reported.
func TestSearchWithoutNames(t *testing.T) {
	for head, want := range map[string]string{
		"lat,lon,Store Name,Owner's full name": `"Store Name" looks like one: give --name='Store Name'`,
		"lat,lon,city,label":                   "",
		"lat,lon,city,Bezeichnung":             "",
		"lat,lon,city,x":                       "--name says which property it is",
		"lat,lon,NAME,Store Name":              "",
		"lat,lon,name,Store Name":              "",
	} {
		for _, search := range []bool{true, false} {
			rep := &jobtest.Recorder{}
			of := Collection{Name: "mine", Search: search}
			if _, err := Ingest(t.Context(), jobtest.Catalog(t), of, []string{testfile.WriteTemp(t, "file", head+"\n1,1,a,b\n")},
				job.Options{Reporter: rep}); err != nil {
				t.Fatal(err)
			}
			notes := strings.Join(rep.Notes, "\n")
			if got := strings.Contains(notes, "it will find none of them; "+want); got != (search && want != "") {
				t.Errorf("%s: %s", head, notes)
			}
		}
	}
}

// Users' files in shared/cases give the intended points, with or without a flag.
func TestCasesOfTables(t *testing.T) {
	const cases = "../../../../../../shared/cases/"
	if _, err := os.Stat(cases + "points-2"); err != nil {
		t.Skip("no shared/cases/points-2")
	}
	for file, tc := range map[string]struct {
		of     Collection
		points int64
		want   []string
		note   string
	}{
		"places-2/geosparql-crs84-prefix.csv": {points: 3, want: []string{`1 47.37 8.54 {"name":"Zürich"}`}},
		"places-2/gnis-unknown-is-zero.tsv": {
			of:     Collection{Columns: pointtable.Columns{Lat: "prim_lat_dec", Lon: "prim_long_dec"}},
			points: 8,
			note:   "unknown ones: 2,",
		},
		"points-2/gtfs-stops-three-at-0-0.csv": {points: 43, note: "unknown ones: 3,"},
		"points-2/mysql-backslash-n-in-values.tsv": {
			points: 3,
			want:   []string{`4 19.44 -99.14 {}`, `1 41.38 2.17 {"name":"A","price":9.5}`},
			note:   `("\\N" 2)`,
		},
		"points-2/house-numbers-12A-dropped.csv": {
			points: 1000,
			want:   []string{`998 47.0998 8.0998 {"number":"998A","street":"Main St"}`},
			note:   `"number" is text, since 5 of its 1000 values`,
		},
		"points-2/excel-ansi-one-umlaut-row-lost.csv":     {points: 300, note: "Bäckerei Müller"},
		"points-2/adjacent-stray-quotes-one-row-lost.csv": {points: 3, want: []string{`1 48.1 11.1 {"name":"\"Hirsch"}`}},
		"points-2/ais-day-ships-repeat-times-without-zone.csv": {
			of:     Collection{Told: columns.Told{ID: "MMSI"}, Repeated: KeepLast},
			points: 3,
			note:   "4 records have the id of another one, of which the last counts",
		},
		"points-2/store-locator-store-name.csv": {of: Collection{Search: true}, points: 4, note: `give --name='Store Name'`},
	} {
		tc.of.Name = "mine"
		c, rep := jobtest.Catalog(t), &jobtest.Recorder{}
		m, err := Ingest(t.Context(), c, tc.of, []string{cases + file}, job.Options{Reporter: rep})
		if err != nil || m.Records["points"] != tc.points {
			t.Errorf("%s: %v %v", file, err, m.Records)
			continue
		}
		got := answers(t, openPoints(t, c, "mine"))["all"]
		for _, want := range tc.want {
			if !slices.Contains(got, want) {
				t.Errorf("%s: %.600q, want %s", file, got, want)
			}
		}
		if notes := strings.Join(rep.Notes, "\n"); !strings.Contains(notes, tc.note) {
			t.Errorf("%s: %s", file, notes)
		}
	}
}

// Text that is not UTF-8 is read in the encoding of --encoding. Without that flag it is read as
// windows-1252 if it can be in that encoding, with a note.
func TestEncodings(t *testing.T) {
	rows := strings.Repeat("x;46;7\n", 100)
	feature := `{"type":"Feature","geometry":{"type":"Point","coordinates":[7,46]},"properties":{"name":"`
	for name, tc := range map[string]struct {
		text, encoding, want, note string
	}{
		"windows-1252": {
			text: "name;lat;lon\n" + rows + "B\xe4ck \x96 M\xfcller;46;7\n",
			want: "Bäck – Müller",
			note: `: is not UTF-8 and is read as windows-1252, such as "Bäck – Müller;46;7"`,
		},
		"header":  {text: "name;lat;lon;H\xf6he\n" + "x;46;7;B\xe4ck\n", want: "Bäck", note: "read as windows-1252"},
		"gzip":    {text: testfile.Gzip("name;lat;lon\nB\xe4ck;46;7\n"), want: "Bäck", note: "read as windows-1252"},
		"GeoJSON": {text: feature + "B\xe4ck\"}}", want: "Bäck", note: "read as windows-1252"},
		"one bad row": {
			text: "name;lat;lon\nZürich;46;7\nKöln;46;7\nB\xe4ck;46;7\n",
			want: "",
			note: "--encoding NAME of ingest boundaries, enrich and points says what it is",
		},
		"UTF-8 by mark": {text: "\ufeffname;lat;lon\n" + rows + "B\xe4ck;46;7\n", want: "", note: ""},
		"named UTF-8":   {text: "name;lat;lon\n" + rows + "B\xe4ck;46;7\n", encoding: "utf-8", want: "", note: ""},
		"named":         {text: "name;lat;lon\nB\x84ck;46;7\n", encoding: "cp850", want: "Bäck", note: ""},
		"UTF-16": {
			text:     "n\x00a\x00m\x00e\x00,\x00l\x00a\x00t\x00,\x00l\x00o\x00n\x00\n\x00B\x00\xe4\x00c\x00k\x00,\x004\x006\x00,\x007\x00\n\x00",
			encoding: "utf-16le",
			want:     "Bäck",
			note:     "",
		},
		"UTF-16 by its letters": {
			text: "n\x00a\x00m\x00e\x00,\x00l\x00a\x00t\x00,\x00l\x00o\x00n\x00\n\x00B\x00\xe4\x00c\x00k\x00,\x004\x006\x00,\x007\x00\n\x00",
			want: "Bäck",
			note: "",
		},
		"UTF-16 and another": {
			text:     "\xfe\xff\x00n\x00a\x00m\x00e\x00,\x00l\x00a\x00t\x00,\x00l\x00o\x00n\x00\n\x00B\x00\xe4\x00c\x00k\x00,\x004\x006\x00,\x007\x00\n",
			encoding: "windows-1252",
			want:     "Bäck",
			note:     "begins like text in UTF-16 and is read as that, not as the windows-1252 of --encoding",
		},
		"wrong": {
			text:     "name;lat;lon\nB\x81ck;46;7\n",
			encoding: "windows-1252",
			want:     "B\uFFFDck",
			note:     "1 characters are not in the encoding",
		},
		"a mark first": {
			text:     "\ufeffname;lat;lon\nBäck;46;7\n",
			encoding: "windows-1252",
			want:     "Bäck",
			note:     "begins with the byte order mark of UTF-8 and is read as that, not as the windows-1252 of --encoding",
		},
		"mark, GeoJSON": {text: "\ufeff" + feature + "Bäck\"}}", encoding: "850", want: "Bäck", note: "not as the 850 of --encoding"},
		"named GeoJSON": {text: feature + "B\x84ck\"}}", encoding: "850", want: "Bäck", note: ""},
	} {
		c, rep := jobtest.Catalog(t), &jobtest.Recorder{}
		of := Collection{Name: "mine", Encoding: tc.encoding}
		_, err := Ingest(t.Context(), c, of, []string{testfile.WriteTemp(t, "file", tc.text)}, job.Options{Reporter: rep, MaxBad: 0.5})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got, notes := strings.Join(answers(t, openPoints(t, c, "mine"))["all"], "\n"), strings.Join(rep.Notes, "\n")
		if !strings.Contains(got, `"`+tc.want) || tc.want == "" && strings.Contains(got, "ck") ||
			!strings.Contains(notes, tc.note) || tc.note == "" && strings.Contains(notes, "--encoding") {
			t.Errorf("%s: %.300q\n%s", name, got, notes)
		}
		if n := strings.Count(notes, "windows-1252"); n > 1 {
			t.Errorf("%s: told %d times", name, n)
		}
	}
	_, err := Ingest(t.Context(), jobtest.Catalog(t), Collection{Name: "mine", Encoding: "klingon"},
		[]string{testfile.WriteTemp(t, "file", "lat,lon\n1,1\n")}, job.Options{})
	if err == nil || !strings.Contains(err.Error(), "name one such as windows-1252") {
		t.Error(err)
	}
}

// Of several records with the same id, in all files together, the first or the last counts. With
// that option the others are not bad records.
func TestRepeated(t *testing.T) {
	head := "MMSI,lat,lon\n"
	paths := []string{testfile.WriteTemp(t, "a.csv", head+"1,1,1\n2,1,1\n1,2,2\n"), testfile.WriteTemp(t, "b.csv", head+"1,3,3\n3,1,1\n")}
	of := Collection{Name: "mine", Told: columns.Told{ID: "MMSI"}}
	for repeated, want := range map[Repeated]struct {
		point, note string
	}{
		KeepFirst: {"1 1 1 {}", "2 records have the id of another one, of which the first counts, and are left out, one in " +
			paths[0] + ":4"},
		KeepLast: {"1 3 3 {}", "2 records have the id of another one, of which the last counts, and are left out, one in " +
			paths[0] + ":2"},
	} {
		of.Repeated = repeated
		c, rep := jobtest.Catalog(t), &jobtest.Recorder{}
		m, err := Ingest(t.Context(), c, of, paths, job.Options{Reporter: rep})
		if err != nil || m.Records["points"] != 3 || m.Bad != nil || !slices.Contains(rep.Notes, want.note) {
			t.Fatalf("%s: %v %v %q", repeated, err, m, rep.Notes)
		}
		if got := answers(t, openPoints(t, c, "mine"))["all"]; !slices.Contains(got, want.point) {
			t.Errorf("%s: %q", repeated, got)
		}
	}
	of.Repeated = RefuseRepeated
	if _, err := Ingest(t.Context(), jobtest.Catalog(t), of, paths, job.Options{MaxBad: 0.1}); err == nil ||
		!strings.Contains(err.Error(), "--repeated last") {
		t.Error(err)
	}
}

// One text among the numbers of a column makes it text, however late it comes: no value is dropped
// because of a wrong guess. The change is reported.
func TestPointsOddValues(t *testing.T) {
	text := strings.Builder{}
	text.WriteString("id,lat,lon,number\n")
	for i := range 5000 {
		fmt.Fprintf(&text, "%d,46,7,%d\n", i, 10+i)
	}
	text.WriteString("late,46,7,998A\n")
	path := testfile.WriteTemp(t, "file.csv", text.String())
	want := `"number" is text, since 1 of its 5001 values are not of the type number, the first "998A" in ` + path +
		":5002; --type=number=number makes them bad records"
	c, rep := jobtest.Catalog(t), &jobtest.Recorder{}
	m, err := Ingest(t.Context(), c, Collection{Name: "mine"}, []string{path}, job.Options{Reporter: rep})
	if err != nil || m.Records["points"] != 5001 || m.Bad != nil || !slices.Contains(rep.Notes, want) {
		t.Errorf("%v %v %q", err, m.Records, rep.Notes)
	}
	got := answers(t, openPoints(t, c, "mine"))["all"]
	if !slices.Contains(got, `late 46 7 {"number":"998A"}`) || !slices.Contains(got, `98 46 7 {"number":"108"}`) {
		t.Errorf("%.500q", got)
	}
	server, rep := &liveServer{}, &jobtest.Recorder{}
	if err := IntoLive(t.Context(), Collection{Name: "mine"}, []string{path}, server.target(t),
		job.Options{Reporter: rep}); err != nil || !slices.Contains(rep.Notes, want) || len(server.lines) != 5001 {
		t.Errorf("%v %q %d", err, rep.Notes, len(server.lines))
	}
}

// Users' files in shared/cases give the intended points.
func TestPointsCases(t *testing.T) {
	const cases = "../../../../../../shared/cases/points/"
	if _, err := os.Stat(cases); err != nil {
		t.Skip("the cases are not there: ", err)
	}
	for name, want := range map[string]struct {
		of     Collection
		points int64
		bad    int64
		note   string
		// example is the text of a bad record after the name of the file. With an example all
		// records may be bad.
		example string
	}{
		"stray-quotes-998-of-1000-rows-vanish.csv": {
			points: 1000,
			note:   "1 rows have a quote that stands for itself and is read as text, the first in line 2",
		},
		"inch-marks-in-two-rows-first-one-dropped.csv": {points: 1000},
		"excel-tab-delimited-quoted.tsv":               {points: 3},
		"tsv-quoted-line-break.tsv":                    {points: 2, note: "1 rows go over several lines, between quotes, the first in line 2"},
		"excel-sep-line.csv":                           {points: 1},
		"header-cell-with-line-break.csv":              {points: 1, note: "properties: id no number, name text"},
		"coordinates-json-array-lon-lat.csv":           {points: 2, note: "the first position is latitude 48.353802, longitude 11.7861"},
		"coordinates-array-us-wrong-advice.csv":        {points: 3, note: "the first position is latitude 39.86, longitude -104.67"},
		"opendatasoft-geo_point_2d.csv": {
			of:     Collection{Columns: pointtable.Columns{Lat: "geo_point_2d", Lon: "geo_point_2d"}},
			points: 2,
			note:   "the first position is latitude 44.8404, longitude -0.5805",
		},
		"socrata-location-wkt.csv":             {points: 5},
		"postgis-ewkb-hex.csv":                 {points: 6, bad: 1},
		"codes-like-10E2.csv":                  {points: 2, note: "properties: n text, name text"},
		"times-with-space-pandas.csv":          {points: 2, note: "properties: name text, updated time"},
		"lat-and-lon_deg-and-x-mixed-pair.csv": {points: 2, note: `latitude from "lat", longitude from "lon_deg"`},
		"guessed-id-code-not-unique.csv":       {points: 4, note: "properties: code text, name text"},
		"duplicate-id-wrong-line.geojson":      {points: 6, bad: 8, example: `:3: id was given before: "1"`},
	} {
		t.Run(name, func(t *testing.T) {
			c, rep, max := jobtest.Catalog(t), &examples{}, 0.2
			if want.example != "" {
				max = 1
			}
			want.of.Name = "mine"
			m, err := Ingest(t.Context(), c, want.of, []string{cases + name}, job.Options{Reporter: rep, MaxBad: max})
			if err != nil {
				t.Fatal(err)
			}
			bad := int64(0)
			for _, n := range m.Bad {
				bad += n
			}
			if m.Records["points"] != want.points || bad != want.bad ||
				!slices.ContainsFunc(rep.Notes, func(n string) bool { return strings.HasSuffix(n, want.note) }) {
				t.Errorf("%v %v %q", m.Records, m.Bad, rep.Notes)
			}
			if want.example != "" && !slices.Contains(rep.first, cases+name+want.example) {
				t.Errorf("%q", rep.first)
			}
		})
	}
}

// examples keeps the first bad record of each reason.
type examples struct {
	jobtest.Recorder
	first []string
}

func (e *examples) BadRecords(reason string, count int64, records []*source.BadRecord) {
	e.Recorder.BadRecords(reason, count, records)
	e.first = append(e.first, records[0].Error())
}

// Unusable records are counted and omitted.
func TestPointsBadRecords(t *testing.T) {
	testrace.SkipUnderRace(t, "one goroutine goes through much data")
	const head = "id,lat,lon,n\n"
	long := strings.Repeat("x", 70_000)
	document := func(geometry string) string {
		return `{"type":"FeatureCollection","features":[{"type":"Feature","id":"bad","properties":{},"geometry":` + geometry + `},
{"type":"Feature","id":"good","properties":{"n":1},"geometry":{"coordinates":[7,46],"type":"Point"}}]}`
	}
	type test struct {
		text   string
		types  feature.Schema
		reason string
		at     string
		apart  bool // left out and not bad
	}
	tests := map[string]test{
		"latitude":     {text: head + "bad,95,170,1\ngood,46,7,1\n", reason: reasonRange, at: ":2: "},
		"longitude":    {text: head + "bad,5,-181,1\ngood,46,7,1\n", reason: reasonRange},
		"swapped":      {text: head + "bad,150,-33,1\ngood,46,7,1\n", reason: reasonSwapped},
		"not a number": {text: head + "bad,north,7,1\ngood,46,7,1\n", reason: source.ReasonNotANumber},
		"hexadecimal":  {text: head + "bad,0x10,7,1\ngood,46,7,1\n", reason: source.ReasonNotANumber},
		"missing":      {text: head + "bad,46,,1\ngood,46,7,1\n", reason: pointtable.ReasonNoPosition},
		"none":         {text: head + "bad,,,1\ngood,46,7,1\n", reason: source.ReasonNoGeometry, apart: true},
		"null":         {text: head + "bad,NA,NA,1\ngood,46,7,1\n", reason: source.ReasonNoGeometry, apart: true},
		"no id":        {text: head + ",46,7,1\ngood,46,7,1\n", reason: source.ReasonNoID},
		"repeated":     {text: head + "good,46,7,1\ngood,46.5,7.5,2\n", reason: reasonRepeated, at: ":3: "},
		"same place":   {text: head + "good,46,7,1\ngood,46,7,2\n", reason: reasonRepeated, at: ":3: "},
		"control":      {text: head + "b\aad,46,7,1\ngood,46,7,1\n", reason: reasonID},
		"long id":      {text: head + strings.Repeat("b", 257) + ",46,7,1\ngood,46,7,1\n", reason: reasonID},
		"too large":    {text: head + "bad,46,7," + long + "\ngood,46,7,1\n", reason: reasonProperties},
		"type": {
			text:   head + "bad,46,7,one\ngood,46,7,1\n",
			types:  feature.Schema{{Name: "n", Kind: feature.Number}},
			reason: reasonType,
			at:     ":2: ",
		},
		"columns":  {text: head + "bad,46,7\ngood,46,7,1\n", reason: "not as many columns as the header"},
		"encoding": {text: head + "bad,46,7,\x81\ngood,46,7,1\n", reason: "not UTF-8"},
		"not text": {text: "id,wkt,n\nbad,\"LINESTRING(0 0,1 1)\",1\ngood,POINT(7 46),1\n", reason: source.ReasonNotAPoint},
		"nested": {
			text: strings.Replace(document(`{"type":"Point","coordinates":[1,1]}`), `{}`,
				`{"a":`+strings.Repeat("[", 40)+strings.Repeat("]", 40)+`}`, 1),
			reason: reasonProperties,
		},
		"large feature": {
			text:   strings.Replace(document(`{"type":"Point","coordinates":[1,1]}`), `{}`, `{"a":"`+strings.Repeat("x", 300_000)+`"}`, 1),
			reason: source.ReasonTooLarge,
		},
		"one line": {
			text:   strings.ReplaceAll(strings.Replace(document(`{"type":"Point","coordinates":[7,46]}`), "bad", "good", 1), "\n", ""),
			reason: reasonRepeated,
			at:     "feature number 2",
		},
	}
	for name, expires := range map[string]string{
		"expires of nothing":            `""`,
		"expires of the year 1":         `"0001-01-01T00:00:00Z"`,
		"expires of a number":           `0`,
		"expires of a day there is not": `"2090-02-30"`,
	} {
		text := strings.Replace(document(`{"type":"Point","coordinates":[1,1]}`), `"properties"`, `"expires":`+expires+`,"properties"`, 1)
		tests[name] = test{text: text, reason: reasonExpires}
	}
	for name, geometry := range map[string][2]string{
		"none":           {`null`, source.ReasonNoGeometry},
		"empty":          {`{"type":"Point","coordinates":[]}`, source.ReasonNoGeometry},
		"line":           {`{"type":"LineString","coordinates":[[1,1],[2,2]]}`, source.ReasonNotAPoint},
		"several points": {`{"type":"MultiPoint","coordinates":[[1,1],[2,2]]}`, source.ReasonNotAPoint},
		"no points":      {`{"type":"MultiPoint","coordinates":[]}`, source.ReasonNoGeometry},
		"nesting":        {`{"type":"Point","coordinates":[[1,1]]}`, source.ReasonWrongNesting},
		"one number":     {`{"type":"Point","coordinates":[1]}`, source.ReasonWrongNesting},
		"text":           {`{"type":"Point","coordinates":["1","1"]}`, source.ReasonNotANumber},
		"NaN":            {`{"type":"Point","coordinates":[NaN,1]}`, source.ReasonNotANumber},
		"range":          {`{"type":"Point","coordinates":[181,1]}`, reasonRange},
		"swap":           {`{"type":"Point","coordinates":[-33,151]}`, reasonSwapped},
	} {
		tests["geometry "+name] = test{text: document(geometry[0]), reason: geometry[1], apart: geometry[1] == source.ReasonNoGeometry}
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			c, rep := jobtest.Catalog(t), &examples{}
			path := testfile.WriteTemp(t, "file", tc.text)
			of := Collection{Name: "mine", PropertyTypes: tc.types}
			m, err := Ingest(t.Context(), c, of, []string{path}, job.Options{Reporter: rep, MaxBad: 0.67})
			if err != nil {
				t.Fatal(err)
			}
			if m.Bad[tc.reason] != 1 {
				t.Errorf("%v, want %q: %q", m.Bad, tc.reason, rep.first)
			}
			if tc.apart {
				if want := "1 of 2 records are left out and not counted as bad, such as " + path + ":"; !slices.ContainsFunc(rep.Notes,
					func(n string) bool { return strings.HasPrefix(n, want) && strings.Contains(n, tc.reason) }) || rep.Counts != nil {
					t.Errorf("%q %v", rep.Notes, rep.Counts)
				}
				if m, err := Ingest(t.Context(), c, of, []string{path}, job.Options{}); err != nil || m.Records["points"] != 1 {
					t.Error(m, err)
				}
				return
			}
			if !slices.ContainsFunc(rep.first, func(text string) bool {
				return strings.HasPrefix(text, path+":") && strings.Contains(text, tc.reason) && strings.Contains(text, tc.at)
			}) {
				t.Errorf("%q", rep.first)
			}
			if n := openPoints(t, c, "mine").Meta().Points; n != 1 {
				t.Errorf("%d points", n)
			}
			// More bad records than MaxBad fail the job, and the published generation stays.
			_, err = Ingest(t.Context(), c, of, []string{path}, job.Options{MaxBad: 0.2})
			var many *job.TooManyBadError
			if !errors.As(err, &many) {
				t.Error(err)
			}
			if m, err := c.Current(t.Context(), "points-mine"); err != nil || m.Generation != 1 {
				t.Error(m.Generation, err)
			}
		})
	}
}

// Files without points fail with advice and publish nothing.
func TestPointsRefusesFiles(t *testing.T) {
	rows := func(row string, n int) string { return "id,lat,lon\n" + strings.Repeat(row, n) }
	unnumbered := func(row string, n int) string { return "n,Rechtswert,Hochwert\n" + strings.Repeat(row, n) }
	polygon := string(geoPackage(t, nil))
	for name, tc := range map[string]struct {
		texts []string
		of    Collection
		want  string
	}{
		"no columns": {
			texts: []string{unnumbered("1,1,1\n", 1)},
			want:  `name them by --lat COLUMN and --lon COLUMN, the same for one that has positions, of "n", "Rechtswert", "Hochwert"`,
		},
		"one column": {
			texts: []string{rows("a,1,1\n", 1)},
			of:    Collection{Columns: pointtable.Columns{Lat: "lat", Lon: "lat"}},
			want:  `"1" in the column "lat"; name others by --lat and --lon`,
		},
		"towns": {texts: []string{"id,location\na,Bern\n"}, want: `"Bern" in the column "location"; name others by --lat and --lon`},
		"wrong column": {
			texts: []string{rows("a,1,1\n", 1)},
			of:    Collection{Columns: pointtable.Columns{Lat: "north"}},
			want:  `no column "north" for --lat; there are "id", "lat", "lon"`,
		},
		"wrong name": {
			texts: []string{string(geoPackage(t, shops(1), "s"))},
			of:    Collection{Told: columns.Told{Name: "label"}},
			want:  `no column "label" for the name; there are "id", "brand", "price", "open"`,
		},
		"two columns":  {texts: []string{"id,lat,lon,a,a\n"}, want: `two columns are called "a"`},
		"empty":        {texts: []string{""}, want: "is empty"},
		"header alone": {texts: []string{"id,lat,lon\n"}, want: "hold no points"},
		"open quote":   {texts: []string{"\"id,lat,lon\n1,1,1\n"}, want: "it should be the names of the columns"},
		"array":        {texts: []string{"[1,2]"}, want: "is a list of numbers; make it a list of objects"},
		"other JSON":   {texts: []string{`{"a":1}`}, want: `are not recognized by their names; name them by --lat COLUMN and --lon COLUMN, the same for one that has positions, of "a"`},
		"no geometries": {
			texts: []string{`{"type":"Feature","geometry":null}`},
			want:  "1 of 1 records are bad (100%; --max-bad tolerates 10%), such as ",
		},
		"topology": {texts: []string{`{"type":"Topology"}`}, want: "TopoJSON"},
		"cut off":  {texts: []string{`{"type":"FeatureCollection","features":[{"type":"Fea`}, want: "truncated"},
		"projected": {
			texts: []string{`{"type":"FeatureCollection","crs":{"properties":{"name":"EPSG:2056"}},"features":[]}`},
			want:  "ogr2ogr -t_srs EPSG:4326",
		},
		"binary":       {texts: []string{"\x00\x01\x02"}, want: "neither a table"},
		"UTF-32":       {texts: []string{"\xff\xfe\x00\x00d\x00\x00\x00"}, want: "iconv"},
		"gz of shapes": {texts: []string{testfile.Gzip(pointShapefile(nil)["shops.shp"])}, want: "into one .zip"},
		"no layer":     {texts: []string{polygon}, want: "no layer of points"},
		"several":      {texts: []string{string(geoPackage(t, nil, "a", "b"))}, want: `2 layers of points, ["a" "b"]; choose one as `},
		"packed layers": {
			texts: []string{testfile.Gzip(string(geoPackage(t, nil, "a", "b")))},
			want:  `2 layers of points, ["a" "b"]; choose one as `,
		},
		"mixed": {texts: []string{rows("a,1,1\n", 1), featureCollection(shops(1))}, want: "publish them as two collections"},
		"swapped": {
			texts: []string{"id,lat,lon\n" + strings.Repeat("a,151.2,-33.8\n", 200)},
			want:  `latitudes and longitudes are swapped in 100 of the first 100 records: give --lat="lon" --lon="lat"`,
		},
		"swapped lists": {
			texts: []string{"id;p\n" + strings.Repeat("a;[-33.8,151.2]\n", 200)},
			of:    Collection{Columns: pointtable.Columns{Lat: "p", Lon: "p"}},
			want:  "swapped in 100 of the first 100 records: give --axis-order lat-lon",
		},
		"swapped pairs": {texts: []string{"id;location\na;151.2,-33.8\n"}, want: "seem to be swapped: give --axis-order lon-lat"},
		"few swapped": {
			texts: []string{rows("a,151.2,-33.8\n", 3)},
			want:  `in 3 of them latitude and longitude seem to be swapped: give --lat="lon" --lon="lat"`,
		},
		"GeoJSON swapped": {
			texts: []string{strings.Repeat(`{"type":"Feature","geometry":{"type":"Point","coordinates":[-33,151]}}`, 200)},
			want:  "put the longitude first in the coordinates of ",
		},
		"repeated": {texts: []string{rows("a,1,1\n", 3)}, want: "name it by --id"},
		"name":     {texts: []string{rows("a,1,1\n", 1)}, of: Collection{Name: "My shops"}, want: "name of a collection is not valid"},
	} {
		t.Run(name, func(t *testing.T) {
			var paths []string
			for i, text := range tc.texts {
				paths = append(paths, testfile.WriteTemp(t, fmt.Sprint("file", i), text))
			}
			if tc.of.Name == "" {
				tc.of.Name = "mine"
			}
			c := jobtest.Catalog(t)
			_, err := Ingest(t.Context(), c, tc.of, paths, job.Options{MaxBad: 0.1})
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%v; want %q", err, tc.want)
			}
			if _, err := c.Current(t.Context(), "points-mine"); !errors.Is(err, dataset.ErrNoGeneration) {
				t.Error(err)
			}
		})
	}
	c := jobtest.Catalog(t)
	if _, err := Ingest(t.Context(), c, Collection{Name: "mine"},
		[]string{"-", "-"}, job.Options{Stdin: strings.NewReader(rows("a,1,1\n", 1))}); err == nil || !strings.Contains(err.Error(), "once") {
		t.Error(err)
	}
}

// TestRealPoints reads a real table, with the columns of its publisher.
func TestRealPoints(t *testing.T) {
	testrace.SkipUnderRace(t, "one goroutine goes through much data")
	if _, err := os.Stat(jobtest.RealAirports); err != nil {
		t.Skip("the file of OurAirports is not there: ", err)
	}
	c, rep := jobtest.Catalog(t), &jobtest.Recorder{}
	m, err := Ingest(t.Context(), c, Collection{Name: "airports"}, []string{jobtest.RealAirports}, job.Options{Reporter: rep})
	if err != nil {
		t.Fatal(err)
	}
	if m.Records["points"] < 70_000 || m.Bad != nil {
		t.Errorf("%+v", m)
	}
	collection := openPoints(t, c, "airports")
	for f, err := range collection.Features(t.Context(), &feature.Query{
		Near:  &feature.Near{Position: quadkey.Position{Lat: 47.4581, Lon: 8.5481}},
		Limit: 1,
	}) {
		if err != nil || !strings.Contains(string(f.Properties.AppendMembers(nil)), `"ident":"LSZH"`) {
			t.Errorf("%v %+v", err, f)
		}
	}
	if f, _ := collection.Meta().Schema.Lookup("elevation_ft"); f.Kind != feature.Number {
		t.Errorf("%+v", collection.Meta().Schema)
	}
	if !slices.ContainsFunc(rep.Notes, func(n string) bool {
		return strings.HasSuffix(n, `latitude from "latitude_deg", longitude from "longitude_deg", id from "id" (by its name)`)
	}) {
		t.Errorf("%q", rep.Notes)
	}
}

// A --type for a property that no file has is an error. For tables the error comes before any row
// is read.
func TestPointsTypeOfNothing(t *testing.T) {
	const line = `{"type":"Feature","id":"a","properties":{"name":"A","n":1},"geometry":{"type":"Point","coordinates":[7,46]}}`
	of := Collection{Name: "mine", PropertyTypes: feature.Schema{{Name: "zipp", Kind: feature.Text}}}
	want := `there is no property "zipp" for --type: the properties are ["n" "name"]`
	for _, text := range []string{"id,lat,lon,name,n\na,x,y,z\n", line} {
		_, err := Ingest(t.Context(), jobtest.Catalog(t), of, []string{testfile.WriteTemp(t, "file", text)}, job.Options{})
		if err == nil || err.Error() != want {
			t.Errorf("%v", err)
		}
		server := &liveServer{}
		err = IntoLive(t.Context(), of, []string{testfile.WriteTemp(t, "file", text)}, server.target(t), job.Options{})
		if err == nil || err.Error() != want || server.there {
			t.Errorf("%v", err)
		}
	}
	_, err := Ingest(t.Context(), jobtest.Catalog(t), of, []string{testfile.WriteTemp(t, "file", "id,lat,lon\na,1,1\n")}, job.Options{})
	if err == nil || err.Error() != `there is no property "zipp" for --type: the properties are []` {
		t.Error(err)
	}
	// It is enough if one of several files has the property. Its values may be empty.
	_, err = Ingest(t.Context(), jobtest.Catalog(t), of, []string{
		testfile.WriteTemp(t, "a", "id,lat,lon\na,1,1\n"),
		testfile.WriteTemp(t, "b", "id,lat,lon,zipp\nb,1,1,\n"),
	}, job.Options{})
	if err != nil {
		t.Error(err)
	}
}
