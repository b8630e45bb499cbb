// Package pointtable reads tables of points: CSV or tab-separated text with a header and one point
// per row. Columns of latitude and longitude have its position. They are recognised by their names,
// or given by the caller.
package pointtable

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/paulmach/orb"

	"quadrille/cmd/ingest/internal/source"
	"quadrille/cmd/ingest/internal/source/delimited"
	"quadrille/cmd/internal/columnname"
	"quadrille/internal/bom"
	"quadrille/internal/jsontext"
)

// These are bounds of a row.
const (
	maxBytes      = 256 << 10
	maxShapeBytes = 16 << 20 // with polygons
	maxLines      = 1000
)

// These are the reasons of bad rows.
const (
	ReasonNoPosition = "coordinates are missing"
)

// Columns are the names of the columns of positions or shapes.
type Columns struct {
	Lat, Lon string // both name the same column if it holds whole positions
	// Order is the order of two numbers in one column, LatLon or LonLat. If it is empty, the
	// brackets around the numbers decide the order, and then Order is that of the first row.
	Order string
	// Empty has the words for an empty cell; nil means source.EmptyWords.
	Empty *source.Words
	// Separator is the character between the columns of a table, a comma, semicolon, tab or vertical bar. If it is 0, the
	// first line tells.
	Separator byte
	// If Optional is set, a table may lack columns of positions. Only Rows reads such tables.
	Optional bool
	// If None is set, no columns have positions.
	None bool
}

var (
	// oneNames are names of columns of whole positions as keys, the most certain first.
	oneNames = []string{
		"wkt", "geometry", "geom", "thegeom", "geopoint2d", "geopoint",
		"geolocation", "location", "coordinates", "position", "point", "latlon", "latlng", "latlong", "geoloc", "loc", "coords", "gps",
		"coordenadas", "coordonnees", "coordonnées", "coordinate", "koordinaten", "koordinate",
	}
	// certainNames are those of them that are called so for nothing else.
	certainNames = oneNames[:6]
	// geoPoints are those of services that may have columns x and y in metres beside them.
	geoPoints = []string{"geopoint2d", "geopoint"}
	// latFirstLists are those in which lists of JSON have the latitude first: Opendatasoft's, Kobo's, and those that
	// say so.
	latFirstLists = []string{"geopoint2d", "geolocation", "latlon", "latlng", "latlong"}
)

// ErrColumns is matched by the error for columns none of which has positions or shapes.
var ErrColumns = errors.New("are not recognized by their names")

// Table is a table that is read once, by one goroutine.
type Table struct {
	positions
	// Properties are the names of the columns that are properties, set with Columns.
	Properties []string

	in         *delimited.Reader
	names      []string        // of all columns
	properties []string        // of all columns; "": no property
	members    []source.Member // of the row
	values     []byte          // text of the members
	head       []byte          // beginning of the table, until the header is read
	codes      []bool          // columns of two-letter codes, where NA may be one
	emptied    source.WordTally
	kept       source.WordTally // NA in such columns, by their names
	filled     []bool           // columns that are not empty in all of the first rows
	lat, lon   int
	// otherLat and otherLon are -1 if there are no such columns.
	otherLat, otherLon int
}

// New returns a reader of the table in r, of points or of polygons. name is the name in errors and bad rows.
// Columns that the caller has not named are found by their headers.
func New(r *bufio.Reader, name string, want source.Want, told Columns) *Table {
	t := &Table{positions: newPositions(want, name, told)}
	t.bad = func(reason, detail string) error { return t.in.Bad(reason, detail) }
	head, err := bom.Skip(r).Peek(64 << 10) // reading returns the error
	if end := bytes.LastIndexByte(head, '\n'); end >= 0 && !errors.Is(err, io.EOF) {
		head = head[:end+1] // whole rows only: half a cell is another value
	}
	t.head = bytes.Clone(head)
	format := t.format()
	format.Header, format.IsCertain = t.header, t.isPoint
	t.in = delimited.New(r, name, format)
	return t
}

// Headless makes the first row an ordinary one. names are those of the columns, from the first on; the others are
// called by their numbers, from 1. It is to be called before anything is read.
func (t *Table) Headless(names []string) {
	format := t.format()
	in := delimited.New(bytes.NewReader(t.head), t.name, format)
	columns := [][]byte{}
	if _, err := in.Next(); err == nil {
		columns, _ = in.Fields()
	}
	all := make([][]byte, max(len(columns), len(names)))
	for i := range all {
		if all[i] = strconv.AppendInt(nil, int64(i)+1, 10); i < len(names) {
			all[i] = []byte(names[i])
		}
	}
	t.in.Headless(all)
}

// format returns the syntax of the table.
func (t *Table) format() delimited.Format {
	separator := cmp.Or(t.Columns.Separator, delimited.DetectSeparator(bytes.TrimLeft(t.head, " \r\n"), true, ",;\t|"), ',')
	f := delimited.Format{Separator: separator, Quoted: true, AllowBlanks: true, MaxBytes: maxBytes, MaxLines: maxLines, RequireUTF8: true}
	if t.want == source.WantPolygons {
		f.MaxBytes = maxShapeBytes
	}
	return f
}

// notAvailable is a word for an empty value. Among two-letter codes it is Namibia or North America.
const notAvailable = "NA"

// noteKept is the note on such words that are kept.
const noteKept = "%d values NA are kept, as their columns have codes of two letters (%s), the first in line %d; --empty " +
	"NA takes them for empty ones"

// codeTally shows whether a column has codes of two letters, by some of its values.
type codeTally struct{ codes, others int }

// add counts a value. isEmpty is set for words that mean an empty value.
func (c *codeTally) add(value []byte, isEmpty bool) {
	switch {
	case source.IsCode(string(value), 2):
		if string(value) != notAvailable {
			c.codes++
		}
	case len(value) > 0 && !isEmpty:
		c.others++
	}
}

// hasCodes allows for a few values that are spelled otherwise.
func (c *codeTally) hasCodes() bool { return c.codes > 10*c.others }

// lookAhead finds the columns of codes of two letters by the first rows, and those that are not empty.
func (t *Table) lookAhead() {
	t.codes, t.filled = make([]bool, len(t.names)), make([]bool, len(t.names))
	tallies := make([]codeTally, len(t.names))
	format := t.format()
	format.MaxBytes = min(format.MaxBytes, len(t.head)+1)
	format.Columns = []int{len(t.names)} // more or fewer are bad rows
	in := delimited.New(bytes.NewReader(t.head), t.name, format)
	t.head = nil
	for row := 0; ; row++ {
		_, err := in.Next()
		var fields [][]byte
		if err == nil {
			fields, err = in.Fields()
		}
		if err != nil && !delimited.IsBad(err) {
			break // the end
		}
		if row == 0 || err != nil {
			continue
		}
		for i, f := range fields {
			tallies[i].add(f, t.empty.Has(f))
			t.filled[i] = t.filled[i] || !t.isNothing(f)
		}
	}
	for i := range tallies {
		t.codes[i] = tallies[i].hasCodes() && t.Columns.Empty == nil
	}
}

// isEmpty reports whether the field of a column is empty or a word for an empty value. It counts such words if counts is set.
func (t *Table) isEmpty(column int, field []byte, counts bool) bool {
	if len(field) == 0 {
		return true
	}
	if !t.empty.Has(field) {
		return false
	}
	kept := t.codes[column] && string(field) == notAvailable
	switch {
	case !counts:
	case kept:
		t.kept.Add([]byte(t.names[column]), t.in.Line)
	default:
		t.emptied.Add(field, t.in.Line)
	}
	return !kept
}

// Features yields the rows, whose geometries are points and whose Members are texts. An unusable
// row gives a *source.BadRecord, beside the feature if only its geometry is unusable, and reading continues. Any other
// error ends the sequence. Empty cells and columns without a name do not give properties.
func (t *Table) Features() iter.Seq2[source.Feature, error] {
	var fault error // of the geometry of a row
	rows := delimited.Records(t.in, func(f *source.Feature) (err error) {
		fault, err = t.row(f)
		return err
	})
	return func(yield func(source.Feature, error) bool) {
		for f, err := range rows {
			if !yield(f, cmp.Or(err, fault)) {
				return
			}
		}
	}
}

// Row is a row with all its cells.
type Row struct {
	Line   int      // 1-based
	Fields [][]byte // a cell for each of Names, without the blanks around it; valid until the next row
	At     orb.Point
	// NoPosition says why At is not set. Its place is the row.
	NoPosition *source.BadRecord
}

// Rows does the same as Features for callers that want the cells as they are, also those of rows without
// a usable position.
func (t *Table) Rows() iter.Seq2[Row, error] {
	return delimited.Records(t.in, func(r *Row) (err error) {
		if r.Fields, err = t.in.Fields(); err != nil {
			return err
		}
		r.Line = t.in.Line
		err = t.in.Bad(source.ReasonNoGeometry, "the table has no columns of positions")
		if t.lat >= 0 && t.lon >= 0 {
			err = t.position(t.cells(r.Fields), &r.At)
		}
		switch {
		case err == nil:
			return nil
		case !slices.ContainsFunc(r.Fields, func(f []byte) bool { return len(f) > 0 }):
			return delimited.ErrSkip
		case !errors.As(err, &r.NoPosition):
			return err
		}
		return nil
	})
}

// Names returns the names of all columns, "" for one without a name. They are known once a row has been
// read.
func (t *Table) Names() []string { return t.names }

// Separator returns the character between columns.
func (t *Table) Separator() byte { return t.in.Separator() }

func (t *Table) header(fields [][]byte, err error) error {
	switch {
	case errors.Is(err, io.EOF):
		return fmt.Errorf("%s: is empty; it should begin with the names of the columns", t.name)
	case err != nil:
		return errors.New(err.Error() + ": it should be the names of the columns") // an error of the file, not of a row
	}
	for _, f := range fields {
		t.names = append(t.names, strings.Join(strings.FieldsFunc(string(bytes.TrimSpace(f)), isBreak), " "))
	}
	for i, name := range t.names {
		if name != "" && slices.Contains(t.names[:i], name) {
			return fmt.Errorf("%s: two columns are called %s: rename one in the first line", t.name, source.Excerpt(name))
		}
	}
	t.lookAhead()
	if err := t.find(); err != nil {
		return err
	}
	t.properties = slices.Clone(t.names)
	for i, name := range t.names {
		if i == t.lat || i == t.lon {
			t.properties[i] = ""
		} else if name != "" {
			t.Properties = append(t.Properties, name)
		}
	}
	return nil
}

// isBreak matches the line breaks in a quoted name.
func isBreak(r rune) bool { return r == '\n' || r == '\r' }

// Notes returns the guesses about the rows that were read so far.
func (t *Table) Notes() (notes []string) {
	for _, seen := range []struct {
		delimited.Occurrences
		what string
	}{{t.in.StrayQuotes, "have a quote that stands for itself and is read as text"},
		{t.in.Backslashes, `have \" within quotes, which is read as a quote`},
		{t.in.JoinedLines, "go over several lines, between quotes"}} {
		if seen.Count > 0 {
			notes = append(notes, fmt.Sprintf("%s: %d rows %s, the first in line %d", t.name, seen.Count, seen.what, seen.Line))
		}
	}
	for _, note := range []string{t.emptied.Note(source.NoteEmptied), t.kept.Note(noteKept)} {
		if note != "" {
			notes = append(notes, t.name+": "+note)
		}
	}
	return append(notes, t.positions.notes()...)
}

// choose sets Columns by the names of all columns. filled reports whether a column has values in the first records.
func (t *positions) choose(names []string, filled func(column string) bool) error {
	if t.Columns.None {
		return nil
	}
	c := &t.Columns
	for _, told := range []struct {
		flag   string
		column *string
	}{{"lat", &c.Lat}, {"lon", &c.Lon}} {
		if *told.column == "" || slices.Contains(names, *told.column) {
			continue
		}
		_, inner, _ := strings.Cut(*told.column, ".") // of a wrapper such as _source, which is no part of the names here
		if !slices.Contains(names, inner) {
			return fmt.Errorf("%s: there is no column %s for --%s; there are %s", t.name, source.Excerpt(*told.column), told.flag, columnname.List(names))
		}
		*told.column = inner
	}
	one := c.Lat == "" && c.Lon == ""
	if t.want != source.WantPolygons && !(one && hasGeoPoint(names)) {
		c.Lat, c.Lon = columnname.Axes(names, c.Lat, c.Lon)
	}
	if one && c.Lat == "" {
		column := columnname.First(names, oneNames)
		c.Lat, c.Lon = column, column
	}
	switch {
	case c.Lat != "" && c.Lon != "" || c.Optional:
	case t.want == source.WantPolygons:
		return fmt.Errorf("%s: the columns of shapes %w; call that geometry or wkt which has geometries of "+
			"GeoJSON, well-known text or binary, of %s", t.name, ErrColumns, columnname.List(names))
	default:
		headless := ""
		if slices.ContainsFunc(names, func(name string) bool { _, is := source.ParseDecimal([]byte(name), math.MaxFloat64); return is }) {
			headless = "; if its first line has no names, give them by --columns"
		}
		return fmt.Errorf("%s: the columns of latitudes and longitudes %w; name them by --lat "+
			"COLUMN and --lon COLUMN, the same for one that has positions, of %s%s", t.name, ErrColumns, columnname.List(names), headless)
	}
	t.findOther(names, filled)
	return nil
}

// findOther sets the other columns of positions. They become Columns if all those chosen are empty in the first records.
func (t *positions) findOther(names []string, filled func(column string) bool) {
	c := &t.Columns
	if t.given || t.want == source.WantPolygons || c.Lat == "" {
		return
	}
	o := &t.other
	if o.Lat, o.Lon = columnname.Axes(names, "", ""); c.Lat != c.Lon {
		o.Lat = columnname.First(names, certainNames)
		o.Lon = o.Lat
	}
	if o.Lat != "" && o.Lon != "" && !filled(c.Lat) && !filled(c.Lon) && (filled(o.Lat) || filled(o.Lon)) {
		c.Lat, c.Lon, o.Lat, o.Lon = o.Lat, o.Lon, c.Lat, c.Lon
	}
	if o.Lat == "" || o.Lon == "" {
		o.Lat, o.Lon = "", ""
	}
}

// hasGeoPoint reports whether there is one of geoPoints, and no two columns are called for latitude and longitude. Those
// called x and y count less, because they may be metres.
func hasGeoPoint(names []string) bool {
	lat, _ := columnname.Axes(names, "", "")
	return columnname.First(names, geoPoints) != "" && (lat == "" || strings.Trim(columnname.Key(lat), "y") != columnname.Key(lat))
}

// find sets the columns that have a meaning.
func (t *Table) find() error {
	if err := t.choose(t.names, func(column string) bool { return t.filled[slices.Index(t.names, column)] }); err != nil {
		return err
	}
	c := &t.Columns
	index := func(name string) int {
		if name == "" {
			return -1
		}
		return slices.Index(t.names, name)
	}
	t.lat, t.lon = index(c.Lat), index(c.Lon)
	t.otherLat, t.otherLon = index(t.other.Lat), index(t.other.Lon)
	return nil
}

// cells returns those of a row that may have its position.
func (t *Table) cells(fields [][]byte) cells {
	c := cells{lat: fields[t.lat], lon: fields[t.lon]}
	if t.otherLat >= 0 {
		c.otherLat, c.otherLon = fields[t.otherLat], fields[t.otherLon]
	}
	return c
}

// row reads a row. fault is that of its geometry alone.
func (t *Table) row(f *source.Feature) (fault, err error) {
	fields, err := t.in.Fields()
	if err != nil {
		return nil, err
	}
	f.Line = t.in.Line
	if t.Columns.None {
		f.Geometry = nil
	} else if f.Geometry, fault = t.geometry(t.cells(fields)); fault != nil {
		f.Geometry = nil
		if !slices.ContainsFunc(fields, func(f []byte) bool { return len(f) > 0 }) {
			return nil, delimited.ErrSkip // spreadsheets end in such rows
		}
		if !delimited.IsBad(fault) {
			return nil, fault
		}
	}
	t.members, t.values = t.members[:0], t.values[:0]
	for i, field := range fields {
		if name := t.properties[i]; name != "" && !t.isEmpty(i, field, fault == nil) {
			from := len(t.values)
			t.values = jsontext.AppendString(t.values, string(field))
			t.members = append(t.members, source.Member{Name: name, Value: t.values[from:]})
		}
	}
	f.Members = t.members
	return fault, nil
}

// isPoint reports whether fields have a position. It is called with text that is read ahead, so it
// must not change any decision.
func (t *Table) isPoint(fields [][]byte) bool {
	if t.want == source.WantPolygons {
		return false
	}
	var at orb.Point
	probe := *t
	return probe.position(t.cells(fields), &at) == nil && math.Abs(at.Lat()) <= 90 && math.Abs(at.Lon()) <= 180
}
