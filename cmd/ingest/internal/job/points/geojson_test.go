package points

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"errors"
	"io"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"quadrille/cmd/ingest/internal/job"
	"quadrille/cmd/ingest/internal/job/features"
	"quadrille/cmd/ingest/internal/job/jobtest"
	"quadrille/cmd/ingest/internal/source"
	"quadrille/cmd/ingest/internal/source/columns"
	"quadrille/cmd/ingest/internal/source/format"
	"quadrille/cmd/ingest/internal/source/geojson"
	"quadrille/cmd/internal/testfile"
)

// readPoints reads all of a text as GeoJSON, byte by byte if slow.
func readPoints(text string, names columns.Told, slow bool) (found []record, bad []string, err error) {
	in := io.Reader(strings.NewReader(text))
	if slow {
		in = iotest.OneByteReader(in)
	}
	j, f := &pointsJob{of: Collection{Told: names}}, &pointFile{File: &features.File{File: &format.File{Path: "f"}}}
	for p, e := range j.records(f, &format.Layer{Features: geojson.Read(in, "f", nil)}) {
		var record *source.BadRecord
		switch {
		case e == nil:
			p.Properties = bytes.Clone(p.Properties)
			found = append(found, p)
		case errors.As(e, &record):
			bad = append(bad, record.Error())
		default:
			err = e
		}
	}
	return found, bad, err
}

func TestPointsOfGeoJSON(t *testing.T) {
	const point = `{"type":"Point","coordinates":[8.5,47.25,400]}`
	at := func(id, properties string, line int) record {
		p := record{ID: id, Lat: 47.25, Lon: 8.5, Line: line}
		if properties != "" {
			p.Properties = []byte(properties)
		}
		return p
	}
	for name, tc := range map[string]struct {
		text  string
		names columns.Told
		want  []record
		bad   []string
	}{
		"as spelt": {
			text: `{"type":"Feature","properties":{ "a" : [1, {"b":"\u00e9"}] ,"n":1.50},"geometry":` + point + `}`,
			want: []record{at("", `{"a":[1, {"b":"\u00e9"}],"n":1.50}`, 1)},
		},
		"members in any order": {
			text: "{\"features\":[\n{\"geometry\":{\"coordinates\":[[8.5,47.25]],\"type\":\"MultiPoint\"},\"id\":7,\"type\":\"Feature\"}],\"type\":\"FeatureCollection\"}",
			want: []record{at("7", "", 2)},
		},
		"property id": {
			text: `{"type":"Feature","properties":{"id":"own"},"geometry":` + point +
				`} {"type":"Feature","properties":{"a":1,"id":2,"b":3},"geometry":` + point + `}`,
			want: []record{at("own", "", 1), at("2", `{"a":1,"b":3}`, 1)},
		},
		"id of no kind": {
			text: `{"type":"Feature","properties":{"id":[1]},"geometry":` + point + `}`,
			want: []record{at("", "", 1)},
		},
		"told": {
			text:  `{"type":"Feature","id":1,"properties":{"ref":"r","name":"old","label":"new"},"geometry":` + point + `}`,
			names: columns.Told{ID: "ref", Name: "label"},
			want:  []record{at("r", `{"name":"new"}`, 1)},
		},
		"told and not there": {
			text:  `{"type":"Feature","id":1,"geometry":` + point + `}`,
			names: columns.Told{ID: "ref"},
			bad:   []string{`f:1: id is missing: "ref" is empty, or neither text nor a number`},
		},
		"expires": {
			text: `{"type":"Feature","expires":"2090-01-01T00:00:00Z","geometry":` + point +
				`} {"type":"Feature","expires":null,"geometry":` + point + `}`,
			want: []record{{Lat: 47.25, Lon: 8.5, Line: 1, Expires: []byte(`"2090-01-01T00:00:00Z"`)}, at("", "", 1)},
		},
		"long expires": {
			text: `{"type":"Feature","expires":"` + strings.Repeat("x", 300) + `","geometry":` + point + `}`,
			bad:  []string{"f:1: " + source.ReasonTooLarge + ": expires: it is longer than 256 bytes"},
		},
		"bare geometry": {text: point, want: []record{at("", "", 1)}},
		"twice": {
			text: `{"type":"Feature","properties":{"id":1,"a":1,"id":2,"a":2},"geometry":` + point + `}`,
			want: []record{at("2", `{"a":1,"a":2}`, 1)},
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, slow := range []bool{false, true} {
				found, bad, err := readPoints(tc.text, tc.names, slow)
				if err != nil {
					t.Fatal(err)
				}
				if d := cmp.Diff(tc.want, found) + cmp.Diff(tc.bad, bad); d != "" {
					t.Error(d)
				}
			}
		})
	}
}

func FuzzPointsOfGeoJSON(f *testing.F) {
	f.Add(`{"type":"FeatureCollection","features":[{"type":"Feature","id":1,"properties":{"id":2,"a":[{}]},"geometry":{"type":"Point","coordinates":[1,2]}},{}]}`)
	f.Add("\x1e{\"type\":\"Feature\",\"properties\":null,\"geometry\":{\"coordinates\":[[1,NaN]],\"type\":\"MultiPoint\"}}\n\x1e{}")
	f.Add(`{"type":"Feature","properties":{"ref":"\ud800","name":-Infinity},"geometry":null}`)
	f.Fuzz(func(t *testing.T, text string) {
		for _, names := range []columns.Told{{}, {ID: "ref", Name: "label"}} {
			found, bad, err := readPoints(text, names, false)
			slowly, slowlyBad, slowlyErr := readPoints(text, names, true)
			if d := cmp.Diff(found, slowly) + cmp.Diff(bad, slowlyBad); d != "" || (err == nil) != (slowlyErr == nil) {
				t.Fatal(d, err, slowlyErr)
			}
			for _, p := range found {
				if math.IsNaN(p.Lat-p.Lat) || math.IsNaN(p.Lon-p.Lon) || p.Line < 1 {
					t.Fatalf("%+v", p)
				}
				if len(p.Properties) > 0 && !strings.ContainsAny(text, "NI") && !json.Valid(p.Properties) {
					t.Fatalf("%q", p.Properties)
				}
			}
		}
	})
}

// Rows without a geometry are counted separately, in every format.
func TestPointsWithoutGeometry(t *testing.T) {
	all := shops(3)
	shape := pointShapefile(all)
	broken := []byte(shape["shops.shp"])
	broken[100+28+8] = 0 // the type of the second shape
	shape["shops.shp"] = string(broken)
	keyed := testfile.WriteTemp(t, "shops.gpkg", string(geoPackage(t, all, "shops")))
	db, err := sql.Open("sqlite", keyed)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec("UPDATE shops SET geom = NULL WHERE rowid = 2"); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	for name, path := range map[string]string{
		"shapefile":  testfile.WriteTemp(t, "shape.zip", zipMembers(t, shape)),
		"GeoPackage": keyed,
		"GeoJSON": testfile.WriteTemp(t, "lines",
			strings.Replace(geoFeatures(all, " "), `{"type":"Point","coordinates":[7,46.0625,400]}`, "null", 1)),
	} {
		t.Run(name, func(t *testing.T) {
			rep := &jobtest.Recorder{}
			m, err := Ingest(t.Context(), jobtest.Catalog(t), Collection{Name: "shops"}, []string{path}, job.Options{Reporter: rep})
			want := "1 of 3 records are left out and not counted as bad, such as " + path + ":2: no geometry"
			if err != nil || m.Records["points"] != 2 || rep.Counts != nil || !slices.Contains(rep.Notes, want) {
				t.Error(m.Records, err, rep.Counts, rep.Notes)
			}
		})
	}
}

// A single page of a service is not published, and ids that number rows are reported.
func TestPagesOfPoints(t *testing.T) {
	page := func(name, before string, ids ...string) string {
		var features []string
		for _, id := range ids {
			features = append(features, `{"type":"Feature","id":`+id+`,"properties":{"name":"A"},"geometry":{"type":"Point","coordinates":[7,46]}}`)
		}
		return testfile.WriteTemp(t, name, `{"type":"FeatureCollection",`+before+`"features":[`+strings.Join(features, ",")+`]}`)
	}
	first, last := page("a.json", `"properties":{"exceededTransferLimit":true},"numberMatched":3,`, "7", "8"), page("b.json",
		`"numberMatched":3,`, "9")
	rows := page("c.json", "", `"0"`, "1", `"2"`)
	const told = "c.json: the ids of features number the rows (0, 1, …), and change with the next export; --id names the " +
		"property that is the id"
	for _, tc := range []struct {
		paths     []string
		err, note string
	}{
		{[]string{first}, "give them together: ingest points mine PAGE1 PAGE2", ""},
		{[]string{last}, "it says that there are 3 features, and 1 were read", ""},
		{[]string{last, first}, "", ""}, // the number of features shows that none is missing
		{[]string{rows}, "", told},
		{[]string{last, first, rows}, "", told},
	} {
		c, rep := jobtest.Catalog(t), &jobtest.Recorder{}
		_, err := Ingest(t.Context(), c, Collection{Name: "mine"}, tc.paths, job.Options{Reporter: rep})
		if tc.err == "" && err != nil || tc.err != "" && (err == nil || !strings.Contains(err.Error(), tc.err)) {
			t.Errorf("%q: %v", tc.paths, err)
		}
		if infos, _ := c.List(t.Context()); tc.err != "" && len(infos) > 0 {
			t.Errorf("%q: published", tc.paths)
		}
		if tc.note != "" && !slices.ContainsFunc(rep.Notes, func(n string) bool { return strings.HasSuffix(n, tc.note) }) {
			t.Errorf("%q: %q", tc.paths, rep.Notes)
		}
	}
}
