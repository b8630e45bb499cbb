package listing

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"time"

	"quadrille/cmd/internal/csvcell"
	"quadrille/cmd/tileserver/internal/web"
	"quadrille/feature"
)

// csv is a table as in RFC 4180: a row of names, and a row for each feature. The columns are those
// of the list itself and the properties of the schema, so that the first feature can be written
// before the last one is read. If features may have properties that the schema lacks (List.UnlistedProperties),
// the column "more" has these as an object.
//
// A property that is absent or null is an empty cell. An empty text is a cell with two quotation
// marks. Lists and objects are JSON. Text that a spreadsheet could take for a formula gets an
// apostrophe before it, both at the start of a cell and within it. Otherwise any writer of points
// could run formulas on the computer of a reader of the table.
func init() {
	Register(&Format{
		Name: "csv", Format: web.FormatCSV,
		Unpaged: true, Doc: "a row of names and a row for each feature",
		Head: beginTable, Item: appendRow,
	})
}

// layout has the columns of a list as a table: those of the list itself before and behind those of the
// properties.
type layout struct {
	before, properties, behind []feature.Field
	columns                    *feature.Columns // of the properties
	more                       bool             // there is a column for properties without a column
}

// layoutOf returns the columns of a list. position has the columns of a position, which come right
// behind the properties.
func layoutOf(l *List, position ...feature.Field) layout {
	t := layout{more: l.UnlistedProperties && l.Writer.Fields == nil, before: []feature.Field{{Name: "id", Kind: feature.Text}}}
	if l.SeveralCollections {
		t.before = append(t.before, feature.Field{Name: "collection", Kind: feature.Text})
	}
	t.behind = append(t.behind, position...)
	if l.Writer.WithDistance {
		t.behind = append(t.behind, feature.Field{Name: "distance_m", Kind: feature.Number})
	}
	if l.Writer.WithVersion {
		t.behind = append(t.behind, feature.Field{Name: "version", Kind: feature.Integer}, feature.Field{Name: "expires", Kind: feature.Time})
	}
	if t.more {
		t.behind = append(t.behind, feature.Field{Name: "more", Kind: feature.Any})
	}
	own := slices.Concat(t.before, t.behind)
	isOwn := func(name string) bool {
		return slices.ContainsFunc(own, func(f feature.Field) bool { return f.Name == name })
	}
	var names []string
	for _, f := range l.Schema {
		name := f.Name
		switch {
		case l.Writer.Fields != nil && !slices.Contains(l.Writer.Fields, name):
			continue
		case !l.Open && (name == "id" || !l.Shapes && (name == "lat" || name == "lon" || isOwn(name))):
			continue // the list has a column of its own for it
		case (l.Open || l.Shapes) && (slices.Contains(ownColumns, name) || strings.HasPrefix(name, feature.PropertyPrefix)):
			f.Name = feature.PropertyPrefix + name
		}
		at := len(names)
		if name == "name" {
			at = 0
		}
		t.properties, names = slices.Insert(t.properties, at, f), slices.Insert(names, at, name)
	}
	t.columns = feature.NewColumns(names)
	return t
}

// table has the state that is needed to write each row of a table.
type table struct {
	layout
	position bool   // there are columns of a position
	shape    []byte // memory for a geometry as GeoJSON
}

// beginTable writes the names of the columns.
func beginTable(dst []byte, l *List) []byte {
	t := &table{position: !l.Writer.SkipGeometry}
	l.memory = t
	var position []feature.Field
	switch {
	case !t.position:
	case l.Writer.Position != nil:
		position = append(position, feature.Field{Name: l.Axes[0]}, feature.Field{Name: l.Axes[1]})
	default:
		position = append(position, feature.Field{Name: "lat"}, feature.Field{Name: "lon"})
	}
	if t.position && l.Shapes {
		position = append(position, feature.Field{Name: "wkt"})
	}
	t.layout = layoutOf(l, position...)
	for i, f := range slices.Concat(t.before, t.properties, t.behind) {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendTextCell(dst, f.Name)
	}
	return append(dst, "\r\n"...)
}

// ownColumns lists the names of all columns that are not properties. In every table a property with
// such a name gets the prefix feature.PropertyPrefix, as in filters.
var ownColumns = []string{"id", "collection", "lat", "lon", "x", "y", "wkt", "distance_m", "version", "expires", "more"}

// appendRow writes a feature.
func appendRow(dst []byte, l *List, f *feature.Feature, of string) (_ []byte, err error) {
	t := l.memory.(*table)
	if f.ID != "" {
		dst = appendTextCell(dst, f.ID)
	}
	if l.SeveralCollections {
		dst = appendTextCell(append(dst, ','), of)
	}
	for _, v := range t.columns.ValuesOf(f.Properties) {
		dst = append(dst, ',')
		from := len(dst)
		dst = v.AppendText(dst)
		switch v.Kind() {
		case feature.Text:
			dst = closeText(dst, from)
		case feature.Any:
			dst = csvcell.Quote(csvcell.Guard(dst, from), from, ',')
		}
	}
	if dst = append(dst, ','); !t.position {
		dst = dst[:len(dst)-1]
	} else if project := l.Writer.Position; project != nil {
		from := len(dst)
		dst = project(dst, f.Position) // [a,b]
		dst = slices.Delete(dst[:len(dst)-1], from, from+1)
	} else {
		dst = strconv.AppendFloat(dst, f.Lat, 'f', -1, 64)
		dst = strconv.AppendFloat(append(dst, ','), f.Lon, 'f', -1, 64)
	}
	if t.position && l.Shapes {
		dst = append(dst, ',')
		from := len(dst)
		if t.shape, err = f.AppendGeometry(t.shape[:0], l.Writer.Position); err != nil {
			return dst, err
		}
		dst = csvcell.Quote(appendWKT(dst, t.shape), from, ',')
	}
	if l.Writer.WithDistance {
		dst = strconv.AppendFloat(append(dst, ','), f.DistanceM, 'f', 1, 64)
	}
	if l.Writer.WithVersion {
		dst = append(strconv.AppendInt(append(dst, ','), f.Version, 10), ',')
		if !f.Expires.IsZero() {
			dst = f.Expires.UTC().AppendFormat(dst, time.RFC3339Nano)
		}
	}
	if t.more {
		dst = append(dst, ',')
		from := len(dst)
		dst = t.columns.AppendRest(dst, f.Properties)
		dst = csvcell.Quote(csvcell.Guard(dst, from), from, ',')
	}
	return append(dst, "\r\n"...), nil
}

func appendTextCell(dst []byte, text string) []byte { return closeText(append(dst, text...), len(dst)) }

// closeText converts the text from an index on to a cell.
func closeText(dst []byte, from int) []byte {
	if dst = csvcell.Guard(dst, from); len(dst) == from {
		return append(dst, `""`...)
	}
	return csvcell.Quote(dst, from, ',')
}

// appendWKT appends a GeoJSON geometry as well-known text. For null it appends nothing.
func appendWKT(dst, geometry []byte) []byte {
	_, kind, _ := bytes.Cut(geometry, []byte(`"type":"`))
	_, rest, _ := bytes.Cut(geometry, []byte(`"coordinates":`))
	if kind, _, _ = bytes.Cut(kind, []byte{'"'}); len(kind) == 0 {
		return dst
	}
	for _, c := range kind {
		if 'a' <= c && c <= 'z' {
			c -= 'a' - 'A'
		}
		dst = append(dst, c)
	}
	// The numbers of a position are separated by blanks. Except for a Point, positions are within
	// the parentheses of their list. Each position of a MultiPoint also has its own parentheses.
	alone := string(kind) == "Point" || string(kind) == "MultiPoint"
	position := false
	for i, c := range rest {
		switch {
		case c == '[':
			if position = i+1 < len(rest) && feature.IsNumber(rest[i+1:]); !position || alone {
				dst = append(dst, '(')
			}
		case c == ']':
			if !position || alone {
				dst = append(dst, ')')
			}
			position = false
		case c == ',' && position:
			dst = append(dst, ' ')
		case c == '}':
			return dst
		default:
			dst = append(dst, c)
		}
	}
	return dst
}
