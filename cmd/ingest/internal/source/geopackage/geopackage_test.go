package geopackage_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/paulmach/orb"
	"github.com/paulmach/orb/encoding/wkb"
	_ "modernc.org/sqlite"

	"quadrille/cmd/ingest/internal/source"
	"quadrille/cmd/ingest/internal/source/geopackage"
	"quadrille/cmd/ingest/internal/source/sourcetest"
	"quadrille/cmd/internal/testfile"
)

const schema = `
CREATE TABLE gpkg_spatial_ref_sys (srs_name TEXT NOT NULL, srs_id INTEGER PRIMARY KEY, organization TEXT NOT NULL, organization_coordsys_id INTEGER NOT NULL, definition TEXT NOT NULL, description TEXT);
CREATE TABLE gpkg_contents (table_name TEXT PRIMARY KEY, data_type TEXT NOT NULL, identifier TEXT, description TEXT, last_change DATETIME, min_x DOUBLE, min_y DOUBLE, max_x DOUBLE, max_y DOUBLE, srs_id INTEGER);
CREATE TABLE gpkg_geometry_columns (table_name TEXT NOT NULL, column_name TEXT NOT NULL, geometry_type_name TEXT NOT NULL, srs_id INTEGER NOT NULL, z TINYINT NOT NULL, m TINYINT NOT NULL);
INSERT INTO gpkg_spatial_ref_sys VALUES
 ('Undefined cartesian', -1, 'NONE', -1, 'undefined', NULL), ('Undefined geographic', 0, 'NONE', 0, 'undefined', NULL),
 ('WGS 84 geodetic', 4326, 'EPSG', 4326, '', NULL), ('NAD83', 4269, 'EPSG', 4269, '', NULL),
 ('Web Mercator', 3857, 'EPSG', 3857, '', NULL), ('our own number for WGS 84', 99, 'epsg', 4326, '', NULL);
`

// layer returns the SQL of an empty layer.
func layer(name, kind string, srs int) string {
	return fmt.Sprintf(`INSERT INTO gpkg_contents(table_name, data_type, srs_id) VALUES ('%[1]s', 'features', %[3]d);
INSERT INTO gpkg_geometry_columns VALUES ('%[1]s', 'geom', '%[2]s', %[3]d, 0, 0);
CREATE TABLE "%[1]s" (fid INTEGER PRIMARY KEY, geom %[2]s, NAME TEXT, POP MEDIUMINT, SHARE DOUBLE, OLD BOOLEAN, RAW BLOB, "odd ""name""" TEXT);
`, name, kind, srs)
}

// database makes a file, with one row of %s per blob.
func database(t testing.TB, script string, blobs ...[]byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a#b?.gpkg")
	db, err := sql.Open("sqlite", "file:"+strings.NewReplacer("#", "%23", "?", "%3F").Replace(path))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(script); err != nil {
		t.Fatal(err)
	}
	for i, b := range blobs {
		if _, err := db.Exec(`INSERT INTO districts (geom, NAME) VALUES (?, ?)`, b, fmt.Sprint("row ", i+1)); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

func ring(w, s, e, n float64) orb.Ring {
	return orb.Ring{{w, s}, {e, s}, {e, n}, {w, n}, {w, s}}
}

// blob returns a GeoPackage geometry: flags, coordinate system, well-known binary.
func blob(flags byte, srs int32, body []byte) []byte {
	b := append([]byte("GP\x00"), flags)
	order := binary.ByteOrder(binary.BigEndian)
	if flags&1 == 1 {
		order = binary.LittleEndian
	}
	b = append(b, 0, 0, 0, 0)
	order.PutUint32(b[4:], uint32(srs))
	b = append(b, make([]byte, [8]int{0, 32, 48, 48, 64}[flags>>1&7])...)
	return append(b, body...)
}

func binaryOf(t testing.TB, g orb.Geometry) []byte {
	t.Helper()
	b, err := wkb.Marshal(g, binary.LittleEndian)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func read(path, name string) (features []source.Feature, bad []string, err error) {
	ctx := context.Background()
	f, err := geopackage.Open(ctx, path, name, source.WantPolygons)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	for feature, e := range sourcetest.Decoded(f.Features(ctx)) {
		if e == nil { // like a reader of polygons
			var reason, detail string
			if feature.Geometry, feature.Repair, reason, detail = source.PolygonsOf(feature.Geometry); reason != "" {
				e = &source.BadRecord{Line: feature.Line, Reason: reason, Detail: detail}
			}
		}
		if b, ok := e.(*source.BadRecord); ok {
			bad = append(bad, strings.TrimSpace(fmt.Sprintf("%d: %s %s", b.Line, b.Reason, b.Detail)))
			continue
		} else if e != nil {
			return features, bad, e
		}
		features = append(features, feature)
	}
	if f.Progress() != f.Size {
		err = fmt.Errorf("progress %d of %d", f.Progress(), f.Size)
	}
	return features, bad, err
}

func TestReadsWhatIsThere(t *testing.T) {
	path := database(t, schema+layer("districts", "MULTIPOLYGON", 4326)+layer("roads", "LINESTRING", 4326)+
		`INSERT INTO gpkg_contents(table_name, data_type) VALUES ('notes', 'attributes'); CREATE TABLE notes (id INTEGER);`)
	db, err := sql.Open("sqlite", "file:"+strings.NewReplacer("#", "%23", "?", "%3F").Replace(path))
	if err != nil {
		t.Fatal(err)
	}
	p := orb.Polygon{ring(0, 0, 4, 4), {{1, 1}, {1, 2}, {2, 2}, {2, 1}, {1, 1}}}
	for _, row := range [][]any{
		{7, blob(3, 4326, binaryOf(t, p)), "Zürich\r", 12, 0.5, 1, []byte("raw"), "x"},
		{2, blob(1, 4326, binaryOf(t, orb.MultiPolygon{p, {ring(8, 8, 9, 9)}})), nil, nil, nil, nil, nil, strings.Repeat("x", 100_000)},
	} {
		if _, err := db.Exec(`INSERT INTO districts VALUES (?, ?, ?, ?, ?, ?, ?, ?)`, row...); err != nil {
			t.Fatal(err)
		}
	}
	db.Close()
	before := testfile.Read(t, path)
	for _, name := range []string{"", "districts"} {
		features, bad, err := read(path, name)
		if err != nil || bad != nil {
			t.Fatal(bad, err)
		}
		want := []source.Feature{
			{Line: 1, Geometry: orb.MultiPolygon{p, {ring(8, 8, 9, 9)}}, Properties: map[string]any{"fid": int64(2)},
				Lost: source.Lost{Count: 1, First: `odd "name": it is binary, or longer than 65536 bytes`}},
			{Line: 2,
				Geometry:   p,
				Properties: map[string]any{"fid": int64(7), "NAME": "Zürich\r", "POP": int64(12), "SHARE": 0.5, "OLD": true, `odd "name"`: "x"},
				Lost:       source.Lost{Count: 1, First: "RAW: it is binary, or longer than 65536 bytes"}},
		}
		if d := cmp.Diff(want, features); d != "" {
			t.Error(d)
		}
	}
	// Nothing is written, neither to the file nor to its directory.
	after, err := os.ReadFile(path)
	if entries, _ := os.ReadDir(filepath.Dir(path)); err != nil || !bytes.Equal(before, after) || len(entries) != 1 {
		t.Error("the file was touched", entries, err)
	}
}

func TestGeometries(t *testing.T) {
	p := orb.Polygon{ring(0, 0, 1, 1)}
	body := binaryOf(t, p)
	at := func(b []byte, i int, with ...byte) []byte {
		b = bytes.Clone(b)
		copy(b[i:], with)
		return b
	}
	high := func(kind uint32, dimensions int) []byte {
		b := binary.LittleEndian.AppendUint32([]byte{1}, kind)
		b = binary.LittleEndian.AppendUint32(b, 1)
		b = binary.LittleEndian.AppendUint32(b, 5)
		for _, pt := range p[0] {
			for d := range dimensions {
				v := math.NaN() // heights and measures may be anything
				if d < 2 {
					v = pt[d]
				}
				b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
			}
		}
		return b
	}
	big, err := wkb.Marshal(orb.MultiPolygon{p, p}, binary.BigEndian)
	if err != nil {
		t.Fatal(err)
	}
	deep := []byte{}
	for range 100 {
		deep = append(deep, 1, 7, 0, 0, 0, 1, 0, 0, 0)
	}
	nan := binaryOf(t, orb.Polygon{{{0, 0}, {math.NaN(), 1}, {1, 1}, {0, 0}}})
	for name, tc := range map[string]struct {
		blob []byte
		want orb.Geometry
		note string // repair, or bad record
	}{
		"plain":              {blob(1, 4326, body), p, ""},
		"big-endian":         {blob(0, 4326, big), orb.MultiPolygon{p, p}, ""},
		"envelope":           {blob(3, 4326, body), p, ""},
		"envelope with z, m": {blob(9, 4326, body), p, ""},
		"system not said":    {blob(1, 0, body), p, ""},
		"with heights":       {blob(1, 4326, high(1003, 3)), p, ""},
		"with measures":      {blob(1, 4326, high(2003, 3)), p, ""},
		"with both":          {blob(1, 4326, high(3003, 4)), p, ""},
		"older heights":      {blob(1, 4326, high(1<<31|3, 3)), p, ""},
		"collection": {
			blob(1, 4326, binaryOf(t, orb.Collection{orb.Point{1, 1}, p, orb.LineString{{0, 0}, {1, 1}}, orb.MultiPoint{{1, 1}}})),
			p,
			"",
		},
		"open": {blob(1, 4326, binaryOf(t, orb.Polygon{p[0][:4]})), p, source.RepairClosed},
		"crossing itself": {
			blob(1, 4326, binaryOf(t, orb.Polygon{{{0, 0}, {1, 1}, {1, 0}, {0, 1}, {0, 0}}})),
			orb.Polygon{{{0, 0}, {1, 1}, {1, 0}, {0, 1}, {0, 0}}},
			"",
		},
		"beyond 180":   {blob(1, 4326, binaryOf(t, orb.Polygon{ring(179, 0, 182, 1)})), orb.Polygon{ring(179, 0, 182, 1)}, ""},
		"none":         {nil, nil, "no geometry"},
		"empty":        {blob(1<<4|1, 4326, binaryOf(t, orb.Polygon{})), nil, "no geometry empty"},
		"no body":      {blob(1, 4326, nil), nil, "no geometry"},
		"flat":         {blob(1, 4326, binaryOf(t, orb.Polygon{{{0, 0}, {1, 1}, {0, 0}}})), nil, "rings of fewer than four points"},
		"point":        {blob(1, 4326, binaryOf(t, orb.Point{1, 1})), nil, "geometry is not a polygon Point"},
		"curves":       {blob(1, 4326, []byte{1, 10, 0, 0, 0, 0, 0, 0, 0}), nil, "geometry is of a kind that is not read CurvePolygon"},
		"unknown":      {blob(1, 4326, []byte{1, 77, 0, 0, 0}), nil, "geometry is of a kind that is not read well-known binary of type 77"},
		"not a number": {blob(1, 4326, nan), nil, "coordinate is not a number [NaN, 1]"},
		"metres": {
			blob(1, 4326, binaryOf(t, orb.Polygon{ring(500000, 4649776, 500100, 4649876)})),
			nil,
			"coordinate outside the world; degrees expected, longitude first [500000, 4649776]",
		},
		"other system": {blob(1, 3857, body), nil, "coordinates are in another system than the layer says 3857, the layer in 4326"},
		"not ours":     {[]byte("hello world"), nil, "record is damaged not a GeoPackage geometry"},
		"short":        {[]byte("GP"), nil, "record is damaged not a GeoPackage geometry"},
		"later version": {
			at(blob(1, 4326, body), 2, 1),
			nil,
			"geometry is of a kind that is not read GeoPackage geometry of a later or an extended kind",
		},
		"extended": {
			blob(1|1<<5, 4326, body),
			nil,
			"geometry is of a kind that is not read GeoPackage geometry of a later or an extended kind",
		},
		"bad envelope":  {at(blob(1, 4326, body), 3, 0xF), nil, "record is damaged envelope cut off"},
		"cut envelope":  {blob(3, 4326, nil)[:20], nil, "record is damaged envelope cut off"},
		"cut off":       {blob(1, 4326, body[:len(body)-1]), nil, "record is damaged well-known binary cut off"},
		"cut in a head": {blob(1, 4326, body[:7]), nil, "record is damaged well-known binary cut off"},
		"many rings":    {blob(1, 4326, at(body, 5, 255, 255, 255, 255)), nil, "record is damaged well-known binary cut off"},
		"many points":   {blob(1, 4326, at(body, 9, 255, 255, 255, 255)), nil, "record is damaged well-known binary cut off"},
		"byte order":    {blob(1, 4326, at(body, 0, 7)), nil, "record is damaged byte order 7"},
		"own system":    {blob(1, 4326, at(body, 4, 0x20)), nil, "record is damaged well-known binary with a coordinate system of its own"},
		"deep":          {blob(1, 4326, deep), nil, "too many vertices geometries nested more than 8 deep, or more than 1048576 of them"},
	} {
		t.Run(name, func(t *testing.T) {
			features, bad, err := read(database(t, schema+layer("districts", "POLYGON", 4326), tc.blob, blob(1, 4326, body)), "")
			if err != nil {
				t.Fatal(err)
			}
			if n := len(features); n == 0 || features[n-1].Properties["NAME"] != "row 2" {
				t.Fatalf("the next row is not read: %+v", features)
			}
			if tc.want == nil {
				if d := cmp.Diff([]string{"1: " + tc.note}, bad); d != "" || len(features) != 1 {
					t.Error(d)
				}
				return
			}
			if bad != nil || len(features) != 2 || features[0].Repair != tc.note || !cmp.Equal(features[0].Geometry, tc.want) {
				t.Errorf("%q %+v", bad, features)
			}
		})
	}
}

func TestRefusesWholeFiles(t *testing.T) {
	good := schema + layer("districts", "POLYGON", 4326)
	for name, tc := range map[string]struct{ script, layer, want string }{
		"no such layer":    {good, "wards", `no layer "wards"; it has ["districts"]`},
		"several":          {good + layer("wards", "GEOMETRY", 4326), "", `2 layers of polygons, ["districts" "wards"]; choose one as `},
		"none of polygons": {schema + layer("roads", "LINESTRING", 4326), "", `no layer of polygons; it has ["roads"]`},
		"no layers":        {schema, "", "no layer of polygons"},
		"another database": {"CREATE TABLE x (y);", "", `no table "gpkg_contents", so it is an SQLite database but no GeoPackage`},
		"projected":        {schema + layer("districts", "POLYGON", 3857), "", `"Web Mercator" ("EPSG":3857); convert`},
		"undefined":        {schema + layer("districts", "POLYGON", 0), "", `"Undefined geographic"`},
		"undescribed":      {schema + layer("districts", "POLYGON", 7), "", "coordinate system 7, which it does not describe"},
		"view": {
			good + "DROP TABLE districts; CREATE VIEW districts AS WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT x FROM r) " +
				"SELECT x AS fid, x AS geom FROM r;",
			"",
			"is a view, not a table",
		},
		"endless contents": {
			good + "ALTER TABLE gpkg_contents RENAME TO c; CREATE VIEW gpkg_contents AS WITH RECURSIVE r(x) AS (SELECT 1 UNION " +
				"ALL SELECT x FROM r) SELECT * FROM c, r;",
			"",
			"is a view",
		},
		"table missing":  {good + "DROP TABLE districts;", "", `has no table "districts"`},
		"column missing": {good + "UPDATE gpkg_geometry_columns SET column_name = 'shape';", "", `has no column "shape"`},
		"columns of contents": {
			schema + layer("districts", "POLYGON", 4326) + "ALTER TABLE gpkg_contents DROP COLUMN data_type;",
			"",
			"data_type",
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := database(t, tc.script)
			_, _, err := read(path, tc.layer)
			if err == nil || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), path) {
				t.Errorf("%v; want %q", err, tc.want)
			}
		})
	}
	for _, srs := range []int{4269, 99} {
		if _, _, err := read(database(t, schema+layer("districts", "POLYGON", srs)), ""); err != nil {
			t.Error(srs, err)
		}
	}
	path := database(t, good, blob(1, 4326, nil))
	testfile.Write(t, path+"-wal", "changes")
	if _, _, err := read(path, ""); err == nil || !strings.Contains(err.Error(), "-wal that are not in it yet") {
		t.Error(err)
	}
	if _, _, err := read(filepath.Join(t.TempDir(), "none.gpkg"), ""); !os.IsNotExist(err) {
		t.Error(err)
	}
	if _, _, err := read(t.TempDir(), ""); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Error(err)
	}
}

// A system is judged by its code, or by one of the texts that describe it, and there is a note for
// any system but WGS84 itself.
func TestSystems(t *testing.T) {
	const (
		crs84 = `GEOGCS["WGS 84 (CRS84)",DATUM["WGS_1984",SPHEROID["WGS 84",6378137,298.257223563]],PRIMEM["Greenwich",0],UNIT["degree",0.0174532925199433]]`
		gda94 = `GEOGCS["GDA94",DATUM["Geocentric_Datum_of_Australia_1994",SPHEROID["GRS 1980",6378137,298.257222101]],PRIMEM["Greenwich",0],UNIT["degree",0.0174532925199433]]`
		utm   = `PROJCS["UTM 33N",` + gda94 + `,UNIT["metre",1]]`
	)
	for name, tc := range map[string]struct{ organization, definition, second, note, err string }{
		"as GDAL writes it":  {"'NONE', 100000", crs84, "", "", ""},
		"told by the second": {"'NONE', 100001", "undefined", crs84, "", ""},
		"only near":          {"'NONE', 100002", gda94, "", `coordinates are in "GDA94" and taken as WGS84`, ""},
		"by its code":        {"'EPSG', 4283", "undefined", "", `coordinates are in "theirs" ("EPSG":4283) and taken as WGS84`, ""},
		"of a code of 3D":    {"'EPSG', 4939", "undefined", gda94, `coordinates are in "GDA94" and taken as WGS84`, ""},
		"projected": {
			"'NONE', 100003",
			utm,
			"",
			"",
			`"UTM 33N"; convert them to longitude and latitude (WGS84) first (ogr2ogr -t_srs EPSG:4326 out.gpkg `,
		},
		"undefined": {
			"'GDAL', 99999",
			`LOCAL_CS["Undefined SRS"]`,
			"",
			"",
			`no known system: "theirs" ("GDAL":99999); if they are longitudes and latitudes (WGS84), say so first (ogr2ogr -a_srs EPSG:4326 out.gpkg `,
		},
		"far on this ellipsoid": {
			"'EPSG', 4121",
			strings.Replace(gda94, "Geocentric_Datum_of_Australia_1994", "Greek_Geodetic_Reference_System_1987", 1),
			"",
			"",
			`"GDA94", on a datum of its own; convert`,
		},
	} {
		script := schema + layer("districts", "POLYGON", 7)
		if tc.second != "" {
			script += `ALTER TABLE gpkg_spatial_ref_sys ADD definition_12_063 TEXT NOT NULL DEFAULT 'undefined';`
		}
		script += fmt.Sprintf("INSERT INTO gpkg_spatial_ref_sys (srs_name, srs_id, organization, organization_coordsys_id, "+
			"definition) VALUES ('theirs', 7, %s, '%s');", tc.organization, tc.definition)
		if tc.second != "" {
			script += "UPDATE gpkg_spatial_ref_sys SET definition_12_063 = '" + tc.second + "' WHERE srs_id = 7;"
		}
		f, err := geopackage.Open(t.Context(), database(t, script), "", source.WantPolygons)
		if (err == nil) != (tc.err == "") || err != nil && !strings.Contains(err.Error(), tc.err) {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil && (tc.note == "" && f.Note != "" || !strings.Contains(f.Note, tc.note)) {
			t.Errorf("%s: note %q", name, f.Note)
		}
		if err == nil {
			f.Close()
		}
	}
}

// Table names are compared without case, like in SQLite.
func TestCaseOfNames(t *testing.T) {
	path := database(t, schema+layer("districts", "POLYGON", 4326)+
		"UPDATE gpkg_geometry_columns SET table_name = 'DISTRICTS', column_name = 'GEOM';",
		blob(1, 4326, binaryOf(t, orb.Polygon{ring(0, 0, 1, 1)})))
	for _, name := range []string{"", "districts", "Districts"} {
		if features, bad, err := read(path, name); err != nil || bad != nil || len(features) != 1 {
			t.Errorf("%q: %v %v %v", name, features, bad, err)
		}
	}
}

func TestTruncated(t *testing.T) {
	var blobs [][]byte
	for range 200 {
		blobs = append(blobs, blob(1, 4326, binaryOf(t, orb.Polygon{ring(0, 0, 1, 1)})))
	}
	script := schema + layer("districts", "POLYGON", 4326) + "PRAGMA synchronous=OFF;"
	path := database(t, script, blobs...)
	whole := testfile.Read(t, path)
	for _, n := range []int{10, 16, 100, 4096, len(whole) / 2, len(whole) - 4096} {
		testfile.Write(t, path, whole[:n])
		features, _, err := read(path, "")
		if err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%d of %d bytes: %d features, %v", n, len(whole), len(features), err)
		}
	}
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	f, err := geopackage.Open(ctx,
		database(t, schema+layer("districts", "POLYGON", 4326), blob(1, 4326, nil), blob(1, 4326, nil)), "", source.WantPolygons)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	cancel()
	n := 0
	for _, err = range sourcetest.Decoded(f.Features(ctx)) {
		n++
	}
	if n != 1 || err == nil || !strings.Contains(err.Error(), "context canceled") {
		t.Error(n, err)
	}
}
