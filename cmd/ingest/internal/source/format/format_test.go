package format

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/paulmach/orb"

	"quadrille/cmd/ingest/internal/source"
	"quadrille/cmd/ingest/internal/source/geojson"
	"quadrille/cmd/ingest/internal/source/osm"
	"quadrille/cmd/ingest/internal/source/pointtable"
	"quadrille/cmd/ingest/internal/source/sourcetest"
	"quadrille/cmd/internal/testfile"
)

// samples returns the small files of a format below testdata, in the folder with its name.
func samples(t testing.TB, f *Format) []string {
	words := strings.Fields(strings.ToLower(f.Name))
	found, err := filepath.Glob("testdata/" + words[len(words)-1] + ".*")
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// headOf returns the beginning of a sample.
func headOf(t testing.TB, path string) *Head {
	text := testfile.Read(t, path)
	return &Head{Bytes: text, Text: text}
}

// faults returns the faults of a table: formats that cannot be distinguished or read.
func faults(t testing.TB, table []*Format) (faults []string) {
	fault := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	for i, f := range table {
		if slices.ContainsFunc(table[:i], func(other *Format) bool { return other.Name == f.Name }) {
			fault("%s is in the table twice: leave one row out", f.Name)
		}
		if len(f.Contents) == 0 || (f.Read == nil) == (f.Open == nil) {
			fault("%s: give it what it Gives, and either Read or Open", f.Name)
		}
		if f.Matches == nil && slices.ContainsFunc(table[:i], func(other *Format) bool { return other.Matches == nil }) {
			fault("%s: give it an Is; one format alone can be what no other is", f.Name)
		}
		paths := samples(t, f)
		if len(paths) == 0 {
			fault("%s: put a small file of it into testdata, called by the last word of its name", f.Name)
		}
		for _, path := range paths {
			head := headOf(t, path)
			packed, err := source.IsArchive(path)
			if err != nil {
				t.Fatal(err)
			}
			for _, other := range table {
				claims := !packed && other.Matches != nil && other.Matches(head)
				switch own := other == f; {
				case !own && claims:
					fault("%s is claimed by %s, too: its Is must tell it from %s", path, other.Name, f.Name)
				case own && !packed && !claims && f.Matches != nil:
					fault("%s is not claimed by %s: correct its Is", path, f.Name)
				}
			}
		}
	}
	return faults
}

// Every file has one format, recognised by its beginning.
func TestTable(t *testing.T) {
	for _, fault := range faults(t, table) {
		t.Error(fault)
	}
	greedy := &Format{
		Name:     "greedy GeoJSON",
		Contents: shapes,
		Matches:  func(h *Head) bool { return len(h.Text) > 0 && h.Text[0] == '{' },
		Read:     geoJSON.Read,
	}
	for name, tc := range map[string]struct {
		more *Format
		want string
	}{
		"twice":  {table[0], "a table is in the table twice"},
		"greedy": {greedy, "testdata/topojson.json is claimed by greedy GeoJSON, too"},
		"second": {&Format{Name: "a list", Contents: shapes, Read: geoJSON.Read}, "a list: give it an Is"},
		"no sample": {
			&Format{Name: "a list", Contents: shapes, Matches: begins("#"), Read: geoJSON.Read},
			"a list: put a small file of it into testdata",
		},
		"unreadable": {&Format{Name: "a list", Contents: shapes, Matches: begins("#")}, "either Read or Open"},
	} {
		if found := faults(t, append(slices.Clone(table), tc.more)); !slices.ContainsFunc(found,
			func(fault string) bool { return strings.Contains(fault, tc.want) }) {
			t.Errorf("%s: %q, want %q", name, found, tc.want)
		}
	}
}

// open reads the features of a file.
func open(t *testing.T, path string, o Options) (features []source.Feature, f *File, err error) {
	o.Said, o.Tags = &geojson.Said{}, []osm.Tag{{Key: "id"}}
	o.Copy = func(r io.Reader, _ string, _ bool) (string, error) {
		text, err := io.ReadAll(r)
		if err != nil {
			return "", err
		}
		copied := filepath.Join(t.TempDir(), "copy")
		return copied, os.WriteFile(copied, text, 0o600)
	}
	if f, err = Open(path, "", o); err != nil {
		return nil, f, err
	}
	err = f.ReadLayer(context.Background(), func(l *Layer) error {
		for feature, err := range sourcetest.Decoded(l.Features) {
			if err != nil {
				return err
			}
			features = append(features, feature)
		}
		return nil
	})
	return features, f, err
}

// TestSamples reads the samples of each format: plain, compressed and in an archive. Those with the
// wanted kind of content, points or polygons, are read, and the others are refused.
func TestSamples(t *testing.T) {
	for _, format := range table {
		for _, path := range samples(t, format) {
			text := string(testfile.Read(t, path))
			paths := []string{path}
			if format.Parts == "" {
				paths = append(paths, testfile.WriteTemp(t, "packed.gz", testfile.Gzip(text)),
					testfile.WriteTemp(t, "packed.zip", testfile.Zip([2]string{"readme.md", "-"}, [2]string{filepath.Base(path), text})))
			}
			read, bad := 0, (*source.BadRecord)(nil)
			for _, want := range []source.Want{source.WantPoints, source.WantPolygons} {
				for _, path := range paths {
					features, f, err := open(t, path, Options{Want: want})
					switch {
					// It has geometries of the other kind.
					case errors.Is(err, pointtable.ErrColumns), errors.As(err, &bad) && bad.Reason == source.ReasonNotAPoint:
					case err != nil && format.gives(want) && format.Parts == "":
						t.Errorf("%s of %s: %v", want, path, err)
					case err == nil && f.Format != format:
						t.Errorf("%s of %s are read as %s, not %s", want, path, f.Format.Name, format.Name)
					case err == nil && !format.gives(want):
						t.Errorf("%s has no %s and is read", path, want)
					}
					for _, feature := range features {
						_, isPoint := feature.Geometry.(orb.Point)
						if feature.ID == "" && feature.Properties["id"] == nil && format.Parts == "" || feature.Line == 0 ||
							!isPoint && feature.Geometry == nil {
							t.Errorf("%s: %+v", path, feature)
						}
					}
					read += len(features)
				}
			}
			if read == 0 {
				t.Errorf("%s: nothing was read", path)
			}
		}
	}
}

// Formats that can only be detected by reading are recognised, and missing layers are refused.
func TestOpen(t *testing.T) {
	polygons := [2]string{"a.geojson", string(testfile.Read(t, "testdata/geojson.json"))}
	beside := testfile.WriteTemp(t, "a.zip", testfile.Zip([2]string{"a.gpkg", "SQLite format 3\x00"}, polygons))
	pad := strings.Repeat(" ", headBytes)
	late := `{"arcs":[[[0,0],[1,0],[1,1],[0,0]]],"objects":{"x":{"type":"Polygon","arcs":[[0]]}},"pad":"` + strings.Repeat(" ",
		headBytes) + `","type":"Topology"}`
	for name, tc := range map[string]struct {
		path    string
		options Options
		format  string
		err     string
	}{
		"late topology":        {testfile.WriteTemp(t, "a.json", late), Options{Want: source.WantPolygons}, "TopoJSON", ""},
		"object of a late one": {testfile.WriteTemp(t, "a.json", late) + "#x", Options{Want: source.WantPolygons}, "TopoJSON", ""},
		"late topology for points": {
			testfile.WriteTemp(t, "a.json", late),
			Options{Want: source.WantPoints},
			"",
			"is TopoJSON, not GeoJSON; convert it by: ogr2ogr out.geojson",
		},
		"late records":      {testfile.WriteTemp(t, "a.json", `{"pad":"`+pad+`","lat":1,"lon":2}`), Options{Want: source.WantPoints}, "JSON records", ""},
		"late list":         {testfile.WriteTemp(t, "a.json", `{"pad":"`+pad+`","data":[{"lat":1,"lon":2}]}`), Options{Want: source.WantPoints}, "JSON records", ""},
		"named late list":   {testfile.WriteTemp(t, "a.json", `{"pad":"`+pad+`","data":[{"lat":1,"lon":2}]}`) + "#data", Options{Want: source.WantPoints}, "JSON records", ""},
		"late GeoJSON":      {testfile.WriteTemp(t, "a.json", `{"geometry":{"coordinates":[1,2],"type":"Point"},"pad":"`+pad+`","type":"Feature"}`), Options{Want: source.WantPoints}, "GeoJSON", ""},
		"a list of records": {"testdata/records.json#data", Options{Want: source.WantPoints}, "JSON records", ""},
		"no list of them":   {"testdata/records.json#rows", Options{Want: source.WantPoints}, "JSON records", `its member "rows" is no list of objects`},
		"bad among features": {
			testfile.WriteTemp(t, "a.json", `{"a":1}`+"\n"+`{"type":"Feature","geometry":null}`),
			Options{Want: source.WantPoints}, "GeoJSON", "not a feature",
		},
		"property called type": {
			testfile.WriteTemp(t, "a.json", `{"properties":{"type":"Topology"},"type":"Feature","geometry":null}`),
			Options{Want: source.WantPolygons},
			"GeoJSON",
			"",
		},
		"layer of none": {
			"testdata/geojson.json#parks",
			Options{Want: source.WantPoints},
			"",
			`is GeoJSON, which has no layers such as "parks"; name the file alone`,
		},
		"object":       {"testdata/topojson.json#parks", Options{Want: source.WantPolygons}, "TopoJSON", ""},
		"other object": {"testdata/topojson.json#lakes", Options{Want: source.WantPolygons}, "TopoJSON", ""},
		"layer of a table": {
			testfile.WriteTemp(t, "a.csv", "id,lat,lon\n1,2,3\n") + "#parks",
			Options{Want: source.WantPoints},
			"",
			`is a table, which has no layers such as "parks"`,
		},
		"beside a GeoPackage": {beside, Options{Want: source.WantPolygons}, "GeoJSON", ""},
		"points beside one":   {beside, Options{Want: source.WantPoints}, "", "holds both"},
		"binary": {
			testfile.WriteTemp(t, "a", "\x01\x00\x02"),
			Options{Want: source.WantPoints},
			"",
			"is neither a table, GeoJSON, JSON records, KML, GPX, data of OpenStreetMap, a GeoPackage, Parquet, a shapefile nor a workbook",
		},
		"encoding": {
			testfile.WriteTemp(t, "a", "x"),
			Options{Want: source.WantPoints, Encoding: "klingon"},
			"",
			"--encoding \"klingon\" is not known",
		},
		"UTF-16": {testfile.WriteTemp(t, "a", "\xff\xfe{\x00"), Options{Want: source.WantPolygons}, "", "it is truncated"},
		"part": {
			testfile.WriteTemp(t, "a.gz", testfile.Gzip(string(testfile.Read(t, "testdata/shapefile.shp")))),
			Options{Want: source.WantPoints},
			"",
			"a shapefile is several files: pack the .shp, .shx, .dbf, .prj and .cpg into one .zip",
		},
		"folder of others": {
			filepath.Dir(testfile.WriteTemp(t, "a.parquet", "id,lat,lon\n1,2,3\n")),
			Options{Want: source.WantPoints},
			"",
			"are not read together if they are a table, like ",
		},
		"folder without any": {
			filepath.Dir(testfile.WriteTemp(t, "a.csv", "id,lat,lon\n1,2,3\n")),
			Options{Want: source.WantPoints},
			"",
			"no file is there or matches that has points",
		},
		"other archive": {
			testfile.WriteTemp(t, "a.zip", testfile.Zip([2]string{"a", ""}, [2]string{"b", ""})),
			Options{Want: source.WantPolygons},
			"",
			"without a shapefile, and no member of it is of a format expected here",
		},
	} {
		_, f, err := open(t, tc.path, tc.options)
		if tc.err == "" && err != nil || tc.err != "" && (err == nil || !strings.Contains(err.Error(), tc.err)) {
			t.Errorf("%s: %v, want %q", name, err, tc.err)
		}
		if tc.err != "" && strings.Contains(tc.err, "layers such as") && f.Format != nil {
			t.Errorf("%s is refused only once it is read", name)
		}
		if tc.format != "" && (f == nil || f.Format.Name != tc.format) {
			t.Errorf("%s: %+v", name, f)
		}
	}
}

// FuzzOpen: any file is either recognised or refused, and the error has its name.
func FuzzOpen(f *testing.F) {
	for _, format := range table {
		for _, path := range samples(f, format) {
			f.Add(testfile.Read(f, path))
		}
	}
	f.Add([]byte("\x1f\x8b"))
	f.Fuzz(func(t *testing.T, text []byte) {
		path := filepath.Join(t.TempDir(), "file")
		testfile.Write(t, path, text)
		for _, want := range []source.Want{source.WantPoints, source.WantPolygons} {
			if _, err := Open(path, "", Options{
				Want: want,
				Said: &geojson.Said{},
				Copy: func(io.Reader, string, bool) (string, error) { return path, nil },
			}); err != nil && !strings.Contains(err.Error(), path) {
				t.Errorf("%s: %v", want, err)
			}
		}
	})
}

// docs/files.md names the endings of all formats.
func TestDocumented(t *testing.T) {
	page := string(testfile.Read(t, "../../../../../docs/files.md"))
	for _, f := range table {
		for _, extension := range f.Extensions {
			if !strings.Contains(page, "`"+extension+"`") {
				t.Errorf("docs/files.md has no `%s` of %s: add it to the table there", extension, f.Name)
			}
		}
	}
}

// Columns that a file declares to be times without a zone become times. Texts that look like them stay.
func TestDeclaredTimes(t *testing.T) {
	const text = `"2024-01-01T12:00:05"`
	f := &File{Format: table[slices.IndexFunc(table, func(f *Format) bool { return f.Name == "Parquet" })]}
	f.Style.Zone = time.FixedZone("", 3600)
	l := &Layer{Times: []string{"at"}, Features: func(yield func(source.Feature, error) bool) {
		yield(source.Feature{Members: []source.Member{{Name: "at", Value: []byte(text)}, {Name: "note", Value: []byte(text)}}}, nil)
	}}
	f.spell(l)
	for read, err := range l.Features {
		if at, note := string(read.Members[0].Value), string(read.Members[1].Value); err != nil ||
			at != `"2024-01-01T12:00:05+01:00"` || note != text {
			t.Errorf("%s, %s, %v", at, note, err)
		}
	}
}
