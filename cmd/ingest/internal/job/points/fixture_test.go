package points

import (
	"bytes"
	"database/sql"
	"encoding/binary"
	"fmt"
	"math"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	_ "modernc.org/sqlite"

	"quadrille/cmd/internal/testfile"
)

// shop is one point of the fixtures.
type shop struct {
	id       string
	lat, lon float64
	brand    string
	price    string // a number; "" is none
	open     bool
}

func shops(n int) []shop {
	all := make([]shop, n)
	for i := range all {
		all[i] = shop{
			id: fmt.Sprintf("s-%03d", i), lat: 46 + float64(i%20)/16, lon: 7 + float64(i/20)/16,
			brand: []string{"Alpha & Co", "Bravo; \"B\"", "Çharlie"}[i%3], open: i%4 > 0,
		}
		if i%5 > 0 {
			all[i].price = strconv.FormatFloat(float64(i)/4, 'f', -1, 64)
		}
	}
	return all
}

func degrees(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

// table writes shops as a table. All texts are in quotes, except in a table that is separated by
// tabs.
func table(all []shop, separator string) string {
	quote := func(s string) string {
		if separator == "\t" {
			return s
		}
		return `"` + strings.ReplaceAll(s, `"`, `""`) + `"`
	}
	rows := []string{strings.Join([]string{"id", "brand", "lat", "price", "open", "lon"}, separator)}
	for _, s := range all {
		rows = append(rows, strings.Join([]string{s.id, quote(s.brand), degrees(s.lat), s.price, fmt.Sprint(s.open), degrees(s.lon)}, separator))
	}
	return strings.Join(rows, "\r\n") + "\r\n"
}

// geoFeatures writes shops as features, and puts the text before in front of each.
func geoFeatures(all []shop, before string) string {
	var out strings.Builder
	for i, s := range all {
		price, typ, open, closing := "", "Point", "", ""
		if s.price != "" {
			price = `,"price":` + s.price
		}
		if i%7 == 0 {
			typ, open, closing = "MultiPoint", "[", "]"
		}
		fmt.Fprintf(&out, `%s{"type":"Feature","id":%q,"properties":{"brand":%s%s,"open":%t},"geometry":{"type":%q,"coordinates":%s[%s,%s,400]%s}}`,
			before, s.id, strconv.Quote(s.brand), price, s.open, typ, open, degrees(s.lon), degrees(s.lat), closing)
		if before == "" && i < len(all)-1 {
			out.WriteString(",\n")
		} else {
			out.WriteString("\n")
		}
	}
	return out.String()
}

func featureCollection(all []shop) string {
	return `{"type":"FeatureCollection","features":[` + geoFeatures(all, "") + `]}`
}

// geoPackage writes shops into layers of a GeoPackage.
func geoPackage(t testing.TB, all []shop, layers ...string) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "shops.gpkg")
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	run := func(query string, args ...any) {
		t.Helper()
		if _, err := db.Exec(query, args...); err != nil {
			t.Fatal(err)
		}
	}
	run(`PRAGMA synchronous=OFF;
CREATE TABLE gpkg_spatial_ref_sys (srs_name TEXT, srs_id INTEGER PRIMARY KEY, organization TEXT, organization_coordsys_id INTEGER, definition TEXT);
CREATE TABLE gpkg_contents (table_name TEXT PRIMARY KEY, data_type TEXT, srs_id INTEGER);
CREATE TABLE gpkg_geometry_columns (table_name TEXT, column_name TEXT, geometry_type_name TEXT, srs_id INTEGER, z TINYINT, m TINYINT);
INSERT INTO gpkg_spatial_ref_sys VALUES ('WGS 84', 4326, 'EPSG', 4326, '')`)
	for _, layer := range layers {
		run(fmt.Sprintf(`INSERT INTO gpkg_contents VALUES ('%[1]s', 'features', 4326);
INSERT INTO gpkg_geometry_columns VALUES ('%[1]s', 'geom', 'POINT', 4326, 0, 0);
CREATE TABLE %[1]s (geom POINT, id TEXT, brand TEXT, price DOUBLE, open BOOLEAN)`, layer))
		tx, err := db.Begin()
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range all {
			blob := append([]byte("GP\x00\x01\xe6\x10\x00\x00"), pointBinary(s.lon, s.lat)...)
			var price any
			if s.price != "" {
				price, _ = strconv.ParseFloat(s.price, 64)
			}
			if _, err := tx.Exec("INSERT INTO "+layer+" VALUES (?, ?, ?, ?, ?)", blob, s.id, s.brand, price, s.open); err != nil {
				t.Fatal(err)
			}
		}
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	b := testfile.Read(t, path)
	return b
}

// pointBinary returns a point in well-known binary.
func pointBinary(x, y float64) []byte {
	le := binary.LittleEndian
	b := le.AppendUint32([]byte{1}, 1)
	return le.AppendUint64(le.AppendUint64(b, math.Float64bits(x)), math.Float64bits(y))
}

// pointShapefile writes shops as the parts of a shapefile.
func pointShapefile(all []shop) map[string]string {
	be, le := binary.BigEndian, binary.LittleEndian
	shp := bytes.Repeat([]byte{0}, 100)
	be.PutUint32(shp, 9994)
	le.PutUint32(shp[28:], 1000)
	le.PutUint32(shp[32:], 1)
	for i, s := range all {
		shp = be.AppendUint32(be.AppendUint32(shp, uint32(i+1)), 10)
		shp = append(shp, 1, 0, 0, 0)
		shp = append(shp, pointBinary(s.lon, s.lat)[5:]...)
	}
	be.PutUint32(shp[24:], uint32(len(shp)/2))
	rows := make([][]string, len(all))
	for i, s := range all {
		rows[i] = []string{s.id, s.brand, s.price, map[bool]string{false: "F", true: "T"}[s.open]}
	}
	return map[string]string{
		"shops.shp": string(shp), "shops.cpg": "UTF-8",
		"shops.dbf": dbaseTable([]dbaseField{{"id", 'C', 8}, {"brand", 'C', 20}, {"price", 'N', 10}, {"open", 'L', 1}}, rows),
		"shops.prj": `GEOGCS["GCS_WGS_1984",DATUM["D_WGS_1984",SPHEROID["WGS_1984",6378137.0,298.257223563]],PRIMEM["Greenwich",0.0],UNIT["Degree",0.0174532925199433]]`,
	}
}

// dbaseField is one field of a .dbf file.
type dbaseField struct {
	name  string
	kind  byte
	width int
}

// dbaseTable writes a .dbf file.
func dbaseTable(fields []dbaseField, rows [][]string) string {
	le := binary.LittleEndian
	dbf := bytes.Repeat([]byte{0}, 32)
	dbf[0] = 3
	le.PutUint32(dbf[4:], uint32(len(rows)))
	le.PutUint16(dbf[8:], uint16(32+32*len(fields)+1))
	size := 1
	for _, f := range fields {
		b := make([]byte, 32)
		copy(b, f.name)
		b[11], b[16] = f.kind, byte(f.width)
		dbf = append(dbf, b...)
		size += f.width
	}
	le.PutUint16(dbf[10:], uint16(size))
	dbf = append(dbf, 0x0D)
	for _, row := range rows {
		dbf = append(dbf, ' ')
		for i, v := range row {
			dbf = append(dbf, (v + strings.Repeat(" ", fields[i].width))[:fields[i].width]...)
		}
	}
	return string(dbf)
}

func zipMembers(t testing.TB, members map[string]string) string {
	t.Helper()
	var list [][2]string
	for name, text := range members {
		list = append(list, [2]string{name, text})
	}
	return testfile.Zip(list...)
}
