package points

import (
	"bytes"
	"database/sql"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/paulmach/orb"
	"github.com/paulmach/orb/encoding/wkb"
	"github.com/paulmach/orb/encoding/wkt"
	"github.com/paulmach/orb/geojson"
	"github.com/paulmach/orb/planar"

	"quadrille/ask"
	"quadrille/cmd/ingest/internal/job"
	"quadrille/cmd/ingest/internal/job/boundaries"
	"quadrille/cmd/ingest/internal/job/jobtest"
	"quadrille/cmd/ingest/internal/source/columns"
	"quadrille/cmd/internal/testfile"
	"quadrille/feature"
	"quadrille/internal/testrace"
)

// The battery is a set of shapes, coordinate systems, texts and values, each with its expected
// result. It is written in every format that can hold it and read by the jobs. A new format needs
// one line in batteryFormats.

// sheet is the content of a file.
type sheet struct {
	system   batterySystem
	features []batteryFeature
}

type batteryFeature struct {
	code, name string
	geometry   orb.Geometry // nil: null
	value      any          // of the property value: nil, string, float64, int64 or bool
}

// batterySystem is a coordinate system in all spellings. Each format uses one of them.
type batterySystem struct {
	srs     int    // of a GeoPackage, and the EPSG code unless org says otherwise
	org     string // of a GeoPackage; EPSG if empty
	text    string // well-known
	crs     string // of GeoJSON
	refused bool
}

const (
	wgs84Text = `GEOGCS["WGS 84",DATUM["WGS_1984",SPHEROID["WGS 84",6378137,298.257223563]],PRIMEM["Greenwich",0],UNIT["degree",0.0174532925199433]]`
	grs80Text = `GEOGCS["%s",DATUM["%s",SPHEROID["GRS 1980",6378137,298.257222101]],PRIMEM["Greenwich",0],UNIT["degree",0.0174532925199433]]`
)

var (
	wgs84          = batterySystem{srs: 4326, text: wgs84Text, crs: "urn:ogc:def:crs:OGC:1.3:CRS84"}
	batterySystems = map[string]batterySystem{
		"WGS 84": wgs84,
		"CRS84": {
			srs:  1000084,
			org:  "OGC",
			text: strings.Replace(wgs84Text, `"WGS 84"`, `"WGS 84 (CRS84)"`, 1),
			crs:  "http://www.opengis.net/def/crs/OGC/1.3/CRS84",
		},
		"NAD83":  {srs: 4269, text: fmt.Sprintf(grs80Text, "NAD83", "North_American_Datum_1983"), crs: "urn:ogc:def:crs:EPSG::4269"},
		"ETRS89": {srs: 4258, text: fmt.Sprintf(grs80Text, "ETRS89", "European_Terrestrial_Reference_System_1989"), crs: "EPSG:4258"},
		"GDA94": {
			srs:  4283,
			text: fmt.Sprintf(grs80Text, "GDA94", "Geocentric_Datum_of_Australia_1994"),
			crs:  "urn:ogc:def:crs:EPSG::4283",
		},
		"GDA2020": {srs: 7844, text: fmt.Sprintf(grs80Text, "GDA2020", "Geocentric_Datum_of_Australia_2020"), crs: "EPSG:7844"},
		"SIRGAS 2000": {
			srs:  4674,
			text: fmt.Sprintf(grs80Text, "SIRGAS 2000", "Sistema_de_Referencia_Geocentrico_para_las_AmericaS_2000"),
			crs:  "EPSG:4674",
		},
		"ED50": {srs: 4230, crs: "EPSG:4230", refused: true,
			text: `GEOGCS["ED50",DATUM["European_Datum_1950",SPHEROID["International 1924",6378388,297]],PRIMEM["Greenwich",0],UNIT["degree",0.0174532925199433]]`},
		"Web Mercator": {srs: 3857, crs: "urn:ogc:def:crs:EPSG::3857", refused: true,
			text: `PROJCS["WGS 84 / Pseudo-Mercator",` + wgs84Text + `,PROJECTION["Mercator_1SP"],UNIT["metre",1]]`},
	}
)

// batteryFormats write a sheet. They return "" if the format cannot represent the sheet.
var batteryFormats = map[string]func(t *testing.T, s *sheet) string{
	"GeoJSON": func(t *testing.T, s *sheet) string {
		head := `{"type":"FeatureCollection","crs":{"type":"name","properties":{"name":"` + s.system.crs + `"}},"features":[`
		return testfile.WriteTemp(t, "sheet.geojson", head+strings.Join(geoJSONFeatures(t, s), ",\n")+"]}")
	},
	"GeoJSON, a feature a line": func(t *testing.T, s *sheet) string {
		if s.system != wgs84 {
			return ""
		}
		return testfile.WriteTemp(t, "sheet.geojsonl", strings.Join(geoJSONFeatures(t, s), "\n")+"\n")
	},
	"TopoJSON":   batteryTopoJSON,
	"GeoPackage": batteryGeoPackage,
	"shapefile":  batteryShapefile,
	"table with well-known text": func(t *testing.T, s *sheet) string {
		var b strings.Builder
		b.WriteString("code,name,value,geometry\n")
		for _, f := range s.features {
			if _, ok := f.geometry.(orb.Point); !ok || s.system != wgs84 {
				return "" // tables are of points
			}
			quoted := func(s string) string { return `"` + strings.ReplaceAll(s, `"`, `""`) + `"` }
			value := ""
			if f.value != nil {
				value = quoted(fmt.Sprint(f.value))
			}
			fmt.Fprintf(&b, "%s,%s,%s,%s\n", f.code, quoted(f.name), value, quoted(wkt.MarshalString(f.geometry)))
		}
		return testfile.WriteTemp(t, "sheet.csv", b.String())
	},
}

func geoJSONFeatures(t *testing.T, s *sheet) (list []string) {
	t.Helper()
	for _, f := range s.features {
		g := any(nil)
		if f.geometry != nil {
			g = geojson.NewGeometry(f.geometry)
		}
		b, err := json.Marshal(map[string]any{
			"type":       "Feature",
			"geometry":   g,
			"properties": map[string]any{"code": f.code, "name": f.name, "value": f.value},
		})
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, string(b))
	}
	return list
}

// batteryTopoJSON writes only polygons, with an arc of its own for each ring.
func batteryTopoJSON(t *testing.T, s *sheet) string {
	t.Helper()
	if s.system != wgs84 {
		return ""
	}
	arcs := []orb.Ring{}
	polygon := func(p orb.Polygon) (rings [][]int) {
		for _, r := range p {
			arcs, rings = append(arcs, r), append(rings, []int{len(arcs)})
		}
		return rings
	}
	var geometries []any
	for _, f := range s.features {
		g := map[string]any{"type": nil, "properties": map[string]any{"code": f.code, "name": f.name, "value": f.value}}
		switch shape := f.geometry.(type) {
		case nil:
		case orb.Polygon:
			g["type"], g["arcs"] = "Polygon", polygon(shape)
		case orb.MultiPolygon:
			var parts [][][]int
			for _, p := range shape {
				parts = append(parts, polygon(p))
			}
			g["type"], g["arcs"] = "MultiPolygon", parts
		default:
			return ""
		}
		geometries = append(geometries, g)
	}
	text, err := json.Marshal(map[string]any{"type": "Topology", "arcs": arcs, "objects": map[string]any{
		"sheet": map[string]any{"type": "GeometryCollection", "geometries": geometries}}})
	if err != nil {
		t.Fatal(err)
	}
	return testfile.WriteTemp(t, "sheet.topojson", string(text))
}

func batteryGeoPackage(t *testing.T, s *sheet) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "sheet.gpkg")
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	org := s.system.org
	if org == "" {
		org = "EPSG"
	}
	run := func(query string, args ...any) {
		t.Helper()
		if _, err := db.Exec(query, args...); err != nil {
			t.Fatal(err)
		}
	}
	kind := "MULTIPOLYGON"
	if pointsOnly(s) {
		kind = "POINT"
	}
	affinity := map[string]string{
		"string":  "TEXT",
		"float64": "DOUBLE",
		"int64":   "INTEGER",
		"bool":    "BOOLEAN",
	}[fmt.Sprintf("%T", s.features[0].value)]
	run(`PRAGMA synchronous=OFF;
CREATE TABLE gpkg_spatial_ref_sys (srs_name TEXT, srs_id INTEGER PRIMARY KEY, organization TEXT, organization_coordsys_id INTEGER, definition TEXT);
CREATE TABLE gpkg_contents (table_name TEXT PRIMARY KEY, data_type TEXT, srs_id INTEGER);
CREATE TABLE gpkg_geometry_columns (table_name TEXT, column_name TEXT, geometry_type_name TEXT, srs_id INTEGER, z TINYINT, m TINYINT)`)
	run(`INSERT INTO gpkg_spatial_ref_sys VALUES ('a system', ?, ?, ?, ?)`, s.system.srs, org, s.system.srs, s.system.text)
	run(`INSERT INTO gpkg_contents VALUES ('sheet', 'features', ?)`, s.system.srs)
	run(`INSERT INTO gpkg_geometry_columns VALUES ('sheet', 'geom', ?, ?, 0, 0)`, kind, s.system.srs)
	run(`CREATE TABLE sheet (geom ` + kind + `, code TEXT, name TEXT, value ` + affinity + `)`)
	for _, f := range s.features {
		var blob []byte
		if f.geometry != nil {
			blob = binary.LittleEndian.AppendUint32([]byte("GP\x00\x01"), uint32(s.system.srs))
			blob = append(blob, wkb.MustMarshal(f.geometry, binary.LittleEndian)...)
		}
		run(`INSERT INTO sheet VALUES (?, ?, ?, ?)`, blob, f.code, f.name, f.value)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func pointsOnly(s *sheet) bool {
	return !slices.ContainsFunc(s.features, func(f batteryFeature) bool {
		_, ok := f.geometry.(orb.Point)
		return f.geometry != nil && !ok
	})
}

func batteryShapefile(t *testing.T, s *sheet) string {
	t.Helper()
	be, le := binary.BigEndian, binary.LittleEndian
	kind := uint32(5)
	if pointsOnly(s) {
		kind = 1
	}
	var shp []byte
	fields := []dbaseField{{"code", 'C', 20}, {"name", 'C', 80}, {"value", 'C', 40}}
	var rows [][]string
	for i, f := range s.features {
		var record []byte
		switch g := f.geometry.(type) {
		case nil:
			record = le.AppendUint32(nil, 0)
		case orb.Point:
			record = append(le.AppendUint32(nil, 1), pointBinary(g[0], g[1])[5:]...)
		case orb.Polygon, orb.MultiPolygon:
			if kind != 5 {
				return ""
			}
			polygons, _ := g.(orb.MultiPolygon)
			if p, ok := g.(orb.Polygon); ok {
				polygons = orb.MultiPolygon{p}
			}
			var parts, vertices []byte
			rings, n := 0, 0
			for _, p := range polygons {
				for _, r := range p {
					parts = le.AppendUint32(parts, uint32(n))
					rings, n = rings+1, n+len(r)
					for _, v := range slices.Backward(r) { // shells go clockwise here
						vertices = append(vertices, pointBinary(v[0], v[1])[5:]...)
					}
				}
			}
			record = append(le.AppendUint32(nil, 5), make([]byte, 32)...)
			record = le.AppendUint32(le.AppendUint32(record, uint32(rings)), uint32(n))
			record = append(append(record, parts...), vertices...)
		default:
			return "" // a shapefile has shapes of one type
		}
		shp = append(be.AppendUint32(be.AppendUint32(shp, uint32(i+1)), uint32(len(record)/2)), record...)
		value := ""
		switch v := f.value.(type) {
		case float64:
			fields[2] = dbaseField{"value", 'N', 20}
			value = strconv.FormatFloat(v, 'f', -1, 64)
		case int64:
			fields[2] = dbaseField{"value", 'N', 20}
			value = strconv.FormatInt(v, 10)
		case bool:
			fields[2] = dbaseField{"value", 'L', 1}
			value = map[bool]string{false: "F", true: "T"}[v]
		case string:
			value = v
		}
		rows = append(rows, []string{f.code, f.name, value})
	}
	head := bytes.Repeat([]byte{0}, 100)
	be.PutUint32(head, 9994)
	be.PutUint32(head[24:], uint32((len(shp)+100)/2))
	le.PutUint32(head[28:], 1000)
	le.PutUint32(head[32:], kind)
	dir := t.TempDir()
	for ext, text := range map[string]string{".shp": string(head) + string(shp), ".dbf": dbaseTable(fields, rows), ".prj": s.system.text} {
		testfile.Write(t, filepath.Join(dir, "sheet"+ext), text)
	}
	return filepath.Join(dir, "sheet.shp")
}

// inEveryFormat runs a test for each format that can represent a sheet.
func inEveryFormat(t *testing.T, name string, s sheet, fn func(t *testing.T, path string)) {
	t.Helper()
	for format, writes := range batteryFormats {
		t.Run(name+" in "+format, func(t *testing.T) {
			if path := writes(t, &s); path != "" {
				fn(t, path)
			}
		})
	}
}

// batteryRegion is the part of a region's record and geometry that the battery checks.
type batteryRegion struct {
	Name  string
	Area  float64 // square degrees, rounded
	Value any
}

func batteryRegions(t *testing.T, path string) (map[string]batteryRegion, *jobtest.Recorder, error) {
	t.Helper()
	c, rep := jobtest.Catalog(t), &jobtest.Recorder{}
	in := boundaries.Input{Type: "zone", Input: jobtest.Input(path), Told: columns.Told{ID: "code", Nameless: true}}
	if _, err := boundaries.Ingest(t.Context(), c, []boundaries.Input{in}, job.Options{Reporter: rep, MaxBad: 0.01}); err != nil {
		return nil, rep, err
	}
	r, _ := jobtest.Open(t, c, ask.Boundaries)
	all := map[string]batteryRegion{}
	l, err := r.Layer("zone")
	if err != nil {
		t.Fatal(err)
	}
	for f, err := range l.Features(t.Context(), &feature.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		g, err := f.Orb()
		if err != nil {
			t.Fatal(err)
		}
		var p batteryRegion
		if err := json.Unmarshal(append(f.Properties.AppendMembers([]byte{'{'}), '}'), &p); err != nil {
			t.Fatal(err)
		}
		p.Area = math.Round(planar.Area(g)*1e3) / 1e3
		all[f.ID] = p
	}
	return all, rep, nil
}

func squareAt(w, s, side float64) orb.Ring {
	return orb.Ring{{w, s}, {w + side, s}, {w + side, s + side}, {w, s + side}, {w, s}}
}

func turned(r orb.Ring) orb.Ring {
	r = slices.Clone(r)
	slices.Reverse(r)
	return r
}

// TestBatteryShapes reads every shape, together with an ordinary square.
func TestBatteryShapes(t *testing.T) {
	testrace.SkipUnderRace(t, "one goroutine goes through much data")
	for name, c := range map[string]struct {
		geometry orb.Geometry
		area     float64 // 0: it is left out
	}{
		"a square":                      {orb.Polygon{squareAt(10, 10, 2)}, 4},
		"clockwise":                     {orb.Polygon{turned(squareAt(10, 10, 2))}, 4},
		"with a hole":                   {orb.Polygon{squareAt(10, 10, 3), turned(squareAt(11, 11, 1))}, 8},
		"a hole that touches the shell": {orb.Polygon{squareAt(10, 10, 3), turned(squareAt(10, 11, 1))}, 8},
		"two parts":                     {orb.MultiPolygon{{squareAt(10, 10, 1)}, {squareAt(20, 10, 2)}}, 5},
		"a part in the hole of another": {
			orb.MultiPolygon{{squareAt(10, 10, 3), turned(squareAt(11, 11, 1))}, {squareAt(11.25, 11.25, 0.5)}},
			8.25,
		},
		"a vertex twice":                   {orb.Polygon{{{10, 10}, {10, 10}, {12, 10}, {12, 12}, {12, 12}, {10, 12}, {10, 10}}}, 4},
		"first vertices that nearly agree": {orb.Polygon{{{10, 10}, {10 + 1e-13, 10}, {12, 10}, {12, 12}, {10, 12}, {10, 10}}}, 4},
		"a flat part":                      {orb.MultiPolygon{{squareAt(10, 10, 2)}, {{{20, 10}, {21, 10}, {22, 10}, {20, 10}}}}, 4},
		"cut at 180 degrees":               {orb.MultiPolygon{{squareAt(179, 10, 1)}, {squareAt(-180, 10, 1)}}, 2},
		"beyond 180 degrees":               {orb.Polygon{squareAt(179, 10, 2)}, 4},
		"crossing itself":                  {orb.Polygon{{{10, 10}, {12, 12}, {12, 10}, {10, 12}, {10, 10}}}, 2},
		"null":                             {nil, 0},
	} {
		s := sheet{
			system:   wgs84,
			features: []batteryFeature{{"a", "Ordinary", orb.Polygon{squareAt(0, 0, 1)}, nil}, {"b", "Odd", c.geometry, nil}},
		}
		inEveryFormat(t, name, s, func(t *testing.T, path string) {
			want := map[string]batteryRegion{"a": {Name: "Ordinary", Area: 1}}
			if c.area > 0 {
				want["b"] = batteryRegion{Name: "Odd", Area: c.area}
			}
			got, rep, err := batteryRegions(t, path)
			if err != nil {
				t.Fatal(err)
			}
			if d := gocmp.Diff(want, got); d != "" {
				t.Errorf("%s\n%q", d, rep.Notes)
			}
			if c.area == 0 && !strings.Contains(strings.Join(rep.Notes, "\n"), ":2") {
				t.Errorf("nothing is told of line 2: %q", rep.Notes)
			}
		})
	}
}

// TestBatterySystems reads a square and a point in every coordinate system.
func TestBatterySystems(t *testing.T) {
	testrace.SkipUnderRace(t, "one goroutine goes through much data")
	for name, system := range batterySystems {
		inEveryFormat(t, name, sheet{system, []batteryFeature{{"a", "A", orb.Polygon{squareAt(8, 47, 1)}, nil}}},
			func(t *testing.T, path string) {
				got, _, err := batteryRegions(t, path)
				switch {
				case system.refused && (err == nil || !strings.Contains(err.Error(), "ogr2ogr -t_srs EPSG:4326")):
					t.Error(err)
				case !system.refused && (err != nil || got["a"].Area != 1):
					t.Error(got, err)
				}
			})
		inEveryFormat(t, name, sheet{system, []batteryFeature{{"a", "A", orb.Point{8, 47}, nil}}}, func(t *testing.T, path string) {
			c := jobtest.Catalog(t)
			_, err := Ingest(t.Context(), c, Collection{Name: "mine", Told: columns.Told{ID: "code"}}, []string{path}, job.Options{})
			switch {
			case system.refused && (err == nil || !strings.Contains(err.Error(), "ogr2ogr -t_srs EPSG:4326")):
				t.Error(err)
			case !system.refused && err != nil:
				t.Error(err)
			case !system.refused:
				if all := answers(t, openPoints(t, c, "mine"))["all"]; len(all) != 1 || !strings.HasPrefix(all[0], "a 47 8 ") {
					t.Error(all)
				}
			}
		})
	}
}

// TestBatteryTexts reads every text as a name of a region and of a point.
func TestBatteryTexts(t *testing.T) {
	testrace.SkipUnderRace(t, "one goroutine goes through much data")
	texts := []string{"Tentudía", "Māngere-Ōtāhuhu", "日本", "Łódź", `6" or "more"`, "a, b; c", "O'Higgins", "<b>bold</b>", "🗺 map",
		"back\\slash"}
	var areas, places []batteryFeature
	for i, text := range texts {
		code := string(rune('a' + i))
		areas = append(areas, batteryFeature{code, text, orb.Polygon{squareAt(float64(2*i), 0, 1)}, nil})
		places = append(places, batteryFeature{code, text, orb.Point{float64(2 * i), 0}, nil})
	}
	inEveryFormat(t, "names of regions", sheet{wgs84, areas}, func(t *testing.T, path string) {
		got, _, err := batteryRegions(t, path)
		for i, text := range texts {
			if name := got[string(rune('a'+i))].Name; name != text {
				t.Errorf("%q, want %q; %v", name, text, err)
			}
		}
	})
	inEveryFormat(t, "names of points", sheet{wgs84, places}, func(t *testing.T, path string) {
		c := jobtest.Catalog(t)
		if _, err := Ingest(t.Context(), c, Collection{Name: "mine", Told: columns.Told{ID: "code"}}, []string{path},
			job.Options{}); err != nil {
			t.Fatal(err)
		}
		for i, line := range answers(t, openPoints(t, c, "mine"))["all"] {
			var properties struct{ Name string }
			_, text, _ := strings.Cut(line, "{")
			if err := json.Unmarshal([]byte("{"+text), &properties); err != nil || properties.Name != texts[i] {
				t.Errorf("%s: want %q, %v", line, texts[i], err)
			}
		}
	})
}

// TestBatteryValues reads values of every type. For a format without types, the text shows the
// type.
func TestBatteryValues(t *testing.T) {
	testrace.SkipUnderRace(t, "one goroutine goes through much data")
	for want, value := range map[string]any{
		`"007"`: "007", `"10E2"`: "10E2", `"yes"`: "yes", `"2026-01-31T12:00:00Z"`: "2026-01-31T12:00:00Z", `"1 2"`: "1 2",
		`7`:                int64(7),
		`-3`:               int64(-3),
		`9007199254740993`: int64(9007199254740993),
		`2.5`:              2.5,
		`-0.125`:           -0.125,
		`true`:             true,
		`false`:            false,
		``:                 nil,
	} {
		s := sheet{wgs84, []batteryFeature{{"a", "A", orb.Point{8, 47}, value}}}
		inEveryFormat(t, fmt.Sprintf("%T %v", value, value), s, func(t *testing.T, path string) {
			c := jobtest.Catalog(t)
			if _, err := Ingest(t.Context(), c, Collection{Name: "mine", Told: columns.Told{ID: "code"}}, []string{path},
				job.Options{}); err != nil {
				t.Fatal(err)
			}
			all := answers(t, openPoints(t, c, "mine"))["all"]
			var properties map[string]json.RawMessage
			_, text, _ := strings.Cut(all[0], "{")
			if err := json.Unmarshal([]byte("{"+text), &properties); err != nil ||
				string(properties["value"]) != want && (value != nil || string(properties["value"]) != "null") {
				t.Errorf("%s: want %s, %v", all, want, err)
			}
		})
	}
}
