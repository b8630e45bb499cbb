// Package geopackage reads the features of a layer of an OGC GeoPackage, an SQLite database of
// tables with geometries in blobs. A blob has a header of the format and then well-known binary.
// The file is opened read-only and no code in it is run: a layer must be a table and not a view.
// One row is in memory at a time.
package geopackage

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"quadrille/cmd/ingest/internal/source"
	"quadrille/cmd/ingest/internal/source/crs"
	"quadrille/cmd/ingest/internal/source/wkb"
	"quadrille/cmd/internal/sqlitefile"
	"quadrille/internal/jsontext"
)

// These are bounds on the content of a database.
const (
	maxValue   = wkb.MaxBytes // bytes of a geometry, and of any other value
	maxText    = 64 << 10     // bytes of a text property
	maxColumns = 1000
	maxLayers  = 1000 // listed
)

// Magic is the first bytes of a GeoPackage, and of every SQLite database.
const Magic = sqlitefile.Magic

// File is an open layer of a GeoPackage. It belongs to one goroutine.
type File struct {
	// Layer is the name of its table.
	Layer string
	// Key is the column of its primary key, or "".
	Key string
	// Size is the number of rows, the measure of Progress.
	Size int64
	// Note has the same meaning as that of shapefile.File.
	Note string

	name    string // of the file, for messages
	db      *sql.DB
	conn    *sql.Conn
	geom    string // name of the column
	srs     int64
	want    source.Want
	columns []column
	count   atomic.Int64
	text    []byte // members of the current row
}

// declared are, for each kind of wanted content, the geometry types of layers that can have it.
var declared = map[source.Want][]string{
	source.WantPolygons: {"POLYGON", "MULTIPOLYGON", "GEOMETRY", "GEOMETRYCOLLECTION", "SURFACE", "MULTISURFACE"},
	source.WantPoints:   {"POINT", "MULTIPOINT", "GEOMETRY"},
}

type column struct {
	name    string
	boolean bool
}

// Open opens a layer of a GeoPackage: the named one or, for "", the only one that
// may have the wanted geometries. The layer may have geometries of other kinds
// too.
func Open(ctx context.Context, name, layer string, want source.Want) (_ *File, err error) {
	f := &File{name: name, Layer: layer, want: want}
	db, conns, err := sqlitefile.Open(ctx, name, 1, sqlitefile.Limits{ValueBytes: maxValue, Columns: 2 * maxColumns})
	if errors.Is(err, sqlitefile.ErrNotSQLite) {
		return nil, fmt.Errorf("%s: not a GeoPackage", name)
	}
	if err != nil {
		return nil, err
	}
	f.db, f.conn = db, conns[0]
	defer func() {
		if err != nil {
			_ = f.Close() // only read
		}
	}()
	if err := f.find(ctx); err != nil {
		return nil, err
	}
	if err := f.checkSystem(ctx); err != nil {
		return nil, err
	}
	if err := f.readColumns(ctx); err != nil {
		return nil, err
	}
	err = f.conn.QueryRowContext(ctx, `SELECT count(*) FROM `+quote(f.Layer)).Scan(&f.Size)
	return f, f.fail(err)
}

// fail adds the name of the file to an error of SQLite.
func (f *File) fail(err error) error { return sqlitefile.NameError(f.name, err) }

// find finds the table and its geometry.
func (f *File) find(ctx context.Context) error {
	for _, table := range []string{"gpkg_contents", "gpkg_geometry_columns", "gpkg_spatial_ref_sys"} {
		if err := f.isTable(ctx, table); err != nil {
			return fmt.Errorf("%w, so it is an SQLite database but no GeoPackage", err)
		}
	}
	rows, err := f.conn.QueryContext(ctx, `SELECT c.table_name, g.column_name, g.geometry_type_name, g.srs_id
		FROM gpkg_contents c JOIN gpkg_geometry_columns g ON g.table_name = c.table_name COLLATE NOCASE
		WHERE c.data_type = 'features' ORDER BY c.table_name LIMIT ?`, maxLayers)
	if err != nil {
		return f.fail(err)
	}
	defer rows.Close()
	type layer struct {
		name, geom, kind string
		srs              int64
	}
	var all, usable []layer
	for rows.Next() {
		var l layer
		if err := rows.Scan(&l.name, &l.geom, &l.kind, &l.srs); err != nil {
			return f.fail(err)
		}
		all = append(all, l)
		if f.Layer != "" && strings.EqualFold(f.Layer, l.name) || f.Layer == "" && slices.Contains(declared[f.want], strings.ToUpper(l.kind)) {
			usable = append(usable, l)
		}
	}
	if err := rows.Err(); err != nil {
		return f.fail(err)
	}
	names := func(ls []layer) (s []string) {
		for _, l := range ls[:min(len(ls), 20)] {
			s = append(s, l.name)
		}
		return s
	}
	switch {
	case len(usable) == 0 && f.Layer != "":
		return fmt.Errorf("%s: no layer %s; it has %q", f.name, source.Excerpt(f.Layer), names(all))
	case len(usable) == 0:
		return fmt.Errorf("%s: no layer of %s; it has %q", f.name, f.want, names(all))
	case len(usable) > 1:
		return fmt.Errorf("%s: has %d layers of %s, %q; choose one as %s#%s", f.name, len(usable), f.want, names(usable), f.name, usable[0].name)
	}
	l := usable[0]
	f.Layer, f.geom, f.srs = l.name, l.geom, l.srs
	return f.isTable(ctx, f.Layer)
}

// isTable returns an error unless the layer is a plain table, because a view could run for ever.
func (f *File) isTable(ctx context.Context, name string) error {
	var kind, create string
	err := f.conn.QueryRowContext(ctx,
		`SELECT type, coalesce(sql, '') FROM sqlite_schema WHERE name = ? COLLATE NOCASE AND type IN ('table', 'view')`,
		name).Scan(&kind, &create)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return fmt.Errorf("%s: has no table %s", f.name, source.Excerpt(name))
	case err != nil:
		return f.fail(err)
	case kind != "table" || strings.HasPrefix(strings.ToUpper(strings.Join(strings.Fields(create), " ")), "CREATE VIRTUAL"):
		return fmt.Errorf("%s: %s is a view, not a table; copy it into one with: ogr2ogr out.gpkg %s", f.name, source.Excerpt(name), f.name)
	}
	return nil
}

// checkSystem decides on the system by its EPSG code, as GDAL does, or else by the texts that
// describe it. The second text is for systems that the first one cannot describe.
func (f *File) checkSystem(ctx context.Context) error {
	var name, organization string
	var code int64
	var texts [2]string
	system := crs.System{Kind: crs.Unnamed, Name: fmt.Sprintf("coordinate system %d, which it does not describe", f.srs)}
	// For SQLite a quoted name that is not the name of a column is text.
	err := f.conn.QueryRowContext(ctx,
		`SELECT srs_name, organization, organization_coordsys_id, ifnull(substr(definition, 1, ?2), ''), ifnull(substr("definition_12_063", 1, ?2), '')
		FROM gpkg_spatial_ref_sys WHERE srs_id = ?1`, f.srs, maxText).Scan(&name, &organization, &code, &texts[0], &texts[1])
	switch {
	case err == nil:
		epsg := strings.EqualFold(organization, "EPSG")
		if epsg {
			system = crs.ByCode(code)
		}
		system.Name = fmt.Sprintf("%s (%s:%d)", source.Excerpt(name), source.Excerpt(organization), code)
		for _, text := range texts {
			if epsg && strings.Contains(text, `"EPSG"`) && !strings.Contains(text, strconv.FormatInt(code, 10)) {
				continue // the text describes another code
			}
			if s := crs.ByWKT(text); system.Kind >= crs.NeedsConversion && s.Kind != crs.Unnamed {
				system = s
			}
		}
	case !errors.Is(err, sql.ErrNoRows):
		return f.fail(err)
	}
	f.Note, err = system.Accept(f.name, "out.gpkg", f.name, f.Layer)
	return err
}

func (f *File) readColumns(ctx context.Context) error {
	rows, err := f.conn.QueryContext(ctx,
		`SELECT name, upper(type), pk = 1 AND max(pk) OVER () = 1 FROM pragma_table_xinfo(?) WHERE hidden = 0 ORDER BY cid`, f.Layer)
	if err != nil {
		return f.fail(err)
	}
	defer rows.Close()
	geometry := false
	for rows.Next() {
		var name, kind string
		var key bool
		if err := rows.Scan(&name, &kind, &key); err != nil {
			return f.fail(err)
		}
		if key {
			f.Key = name
		}
		if strings.EqualFold(name, f.geom) {
			geometry = true
			continue
		}
		if len(f.columns) == maxColumns {
			return fmt.Errorf("%s: %s has more than %d columns; leave some out", f.name, source.Excerpt(f.Layer), maxColumns)
		}
		f.columns = append(f.columns, column{name, kind == "BOOLEAN"})
	}
	if err := rows.Err(); err != nil {
		return f.fail(err)
	}
	if !geometry {
		return fmt.Errorf("%s: %s has no column %s, which should hold its geometry; fetch it again", f.name, source.Excerpt(f.Layer),
			source.Excerpt(f.geom))
	}
	return nil
}

func quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// Columns returns the names of the columns that are properties, in their order.
func (f *File) Columns() []string {
	names := make([]string, len(f.columns))
	for i, c := range f.columns {
		names[i] = c.name
	}
	return names
}

// Progress returns how many rows of Size have been read. It may be called while rows are read.
func (f *File) Progress() int64 { return min(f.count.Load(), f.Size) }

// Close closes the file.
func (f *File) Close() error {
	var err error
	if f.conn != nil {
		err = f.conn.Close()
	}
	return errors.Join(err, f.db.Close())
}

// Features yields the rows as features, in the order of their keys; Line is the number of the row
// in that order, from 1. The key is among the properties under its own name. It is not the
// feature's ID, because some writers number rows anew. An unusable feature gives a
// *source.BadRecord, and reading continues. Any other error ends the sequence.
func (f *File) Features(ctx context.Context) iter.Seq2[source.Feature, error] {
	return func(yield func(source.Feature, error) bool) {
		if err := f.features(ctx, yield); err != nil && !errors.Is(err, errStop) {
			yield(source.Feature{}, f.fail(err))
		}
	}
}

// errStop ends the reading when the caller leaves the loop.
var errStop = errors.New("stop")

func (f *File) features(ctx context.Context, yield func(source.Feature, error) bool) error {
	var query strings.Builder
	query.WriteString("SELECT " + quote(f.geom))
	for _, c := range f.columns {
		// Long texts are not properties, and are not even loaded. A blob replaces such a text in
		// the result.
		fmt.Fprintf(&query, ", CASE WHEN %[1]s IS NULL OR octet_length(%[1]s) <= %[2]d AND typeof(%[1]s) <> 'blob' THEN "+
			"%[1]s ELSE x'00' END", quote(c.name), maxText)
	}
	query.WriteString(" FROM " + quote(f.Layer) + " ORDER BY rowid")
	rows, err := f.conn.QueryContext(ctx, query.String())
	if err != nil {
		return err
	}
	defer rows.Close()
	var blob sql.RawBytes
	values := make([]any, len(f.columns))
	into := []any{&blob}
	for i := range values {
		into = append(into, &values[i])
	}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return err
		}
		line := int(f.count.Add(1))
		g, reason, detail := decode(blob, f.srs)
		out, bad := source.Feature{Line: line, Geometry: g}, error(nil)
		out.Members, out.Lost = f.members(values)
		if reason != "" {
			out.Geometry, bad = nil, &source.BadRecord{Source: f.name, Line: line, Reason: reason, Detail: detail}
		}
		if !yield(out, bad) {
			return errStop
		}
	}
	return rows.Err()
}

// tooLong is the reason for losing a blob.
var tooLong = fmt.Sprintf("it is binary, or longer than %d bytes", maxText)

// members returns the values as properties, which are valid until the next call.
func (f *File) members(values []any) (members []source.Member, lost source.Lost) {
	members, f.text = make([]source.Member, 0, len(values)), f.text[:0]
	for i, v := range values {
		c, from := f.columns[i], len(f.text)
		switch v := v.(type) {
		case int64:
			if c.boolean && (v == 0 || v == 1) {
				f.text = strconv.AppendBool(f.text, v == 1)
			} else {
				f.text = strconv.AppendInt(f.text, v, 10)
			}
		case float64:
			if math.IsNaN(v) || math.IsInf(v, 0) {
				lost.Add(c.name, "it is no finite number")
				continue
			}
			f.text = strconv.AppendFloat(f.text, v, 'g', -1, 64)
		case []byte:
			lost.Add(c.name, tooLong)
			continue
		case bool:
			f.text = strconv.AppendBool(f.text, v)
		case string:
			f.text = jsontext.AppendString(f.text, strings.ToValidUTF8(v, "\ufffd"))
		default:
			continue
		}
		members = append(members, source.Member{Name: c.name, Value: f.text[from:]})
	}
	return members, lost
}
