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

// table has the state that is needed to write each row of a table.
type table struct {
	columns  *feature.Columns // of the properties
	position bool             // there are columns of a position
	more     bool             // there is a column for properties without a column
	shape    []byte           // memory for a geometry as GeoJSON
}

// beginTable writes the names of the columns.
func beginTable(dst []byte, l *List) []byte {
	t := &table{position: !l.Writer.SkipGeometry, more: l.UnlistedProperties && l.Writer.Fields == nil}
	l.memory = t
	before, behind := []string{"id"}, []string{}
	if l.SeveralCollections {
		before = append(before, "collection")
	}
	switch {
	case !t.position:
	case l.Writer.Position != nil:
		behind = append(behind, l.Axes[:]...)
	default:
		behind = append(behind, "lat", "lon")
	}
	if t.position && l.Shapes {
		behind = append(behind, "wkt")
	}
	if l.Writer.WithDistance {
		behind = append(behind, "distance_m")
	}
	if l.Writer.WithVersion {
		behind = append(behind, "version", "expires")
	}
	if t.more {
		behind = append(behind, "more")
	}
	own := slices.Concat(before, behind)
	var properties, names []string
	for _, f := range l.Schema {
		name := f.Name
		switch {
		case l.Writer.Fields != nil && !slices.Contains(l.Writer.Fields, name):
			continue
		case !l.Open && (name == "id" || !l.Shapes && (name == "lat" || name == "lon" || slices.Contains(own, name))):
			continue // the list has a column of its own for it
		case (l.Open || l.Shapes) && (slices.Contains(ownColumns, name) || strings.HasPrefix(name, feature.PropertyPrefix)):
			name = feature.PropertyPrefix + name
		}
		if f.Name == "name" {
			properties, names = slices.Insert(properties, 0, f.Name), slices.Insert(names, 0, name)
		} else {
			properties, names = append(properties, f.Name), append(names, name)
		}
	}
	t.columns = feature.NewColumns(properties)
	for i, name := range slices.Concat(before, names, behind) {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendTextCell(dst, name)
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
