package enrich

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/paulmach/orb"

	"quadrille/ask/enrich"
	"quadrille/cmd/internal/csvcell"
	"quadrille/internal/jsontext"
)

// Format is a format of the output.
type Format string

// These are the formats.
const (
	CSV     Format = "csv"
	TSV     Format = "tsv"
	NDJSON  Format = "ndjson"   // one object a line
	GeoJSON Format = "geojsonl" // one Feature a line
)

// extensions are the ends of names of files of each format.
var extensions = map[string]Format{
	".csv": CSV, ".tsv": TSV, ".tab": TSV, ".ndjson": NDJSON, ".jsonl": NDJSON, ".geojsonl": GeoJSON, ".geojsons": GeoJSON,
}

// FormatOf returns the format of a file by its name, or CSV for standard output, unless one is given.
func FormatOf(path string, given Format) (Format, error) {
	if given != "" {
		return given, nil
	}
	if path == "-" {
		return CSV, nil
	}
	if f, ok := extensions[strings.ToLower(filepath.Ext(path))]; ok {
		return f, nil
	}
	return "", fmt.Errorf("--out %s: the format is not known by the name: end it in .csv, .tsv, .ndjson or .geojsonl, or give --format", path)
}

func (f Format) json() bool { return f == NDJSON || f == GeoJSON }

// layout says how rows are written. It does not change after begin.
type layout struct {
	format    Format
	separator byte     // of columns
	names     []string // of the columns of the input, in order; not with members
	members   bool     // see chunk.cells
	positions bool     // geometries are the positions of the rows, and there are no ids
	keys      [][]byte // names as members
	added     []string
	addedKeys [][]byte
	columns   []enrich.Column // the added ones
}

// begin takes the added columns. It returns the keys of columns without a name in JSON.
func (l *layout) begin(added []string, columns []enrich.Column) (unnamed []string) {
	switch l.format {
	case CSV:
		if l.separator != ';' {
			l.separator = ','
		}
	case TSV:
		l.separator = '\t'
	}
	l.added, l.columns = added, columns
	for i, name := range l.names {
		if name == "" {
			name = "column_" + strconv.Itoa(i+1)
			for slices.Contains(l.names, name) || slices.Contains(added, name) {
				name += "_"
			}
			unnamed = append(unnamed, name)
		}
		l.keys = append(l.keys, append(jsontext.AppendString(nil, name), ':'))
	}
	for _, name := range added {
		l.addedKeys = append(l.addedKeys, append(jsontext.AppendString(nil, name), ':'))
	}
	return unnamed
}

// appendRow appends row i of a chunk, with cell k of the added columns.
func (l *layout) appendRow(b []byte, c *chunk, i, k int, added []enrich.Cells) []byte {
	switch l.format {
	case NDJSON:
		return append(l.appendObject(append(b, '{'), c, i, k, added), "}\n"...)
	case GeoJSON:
	default:
		return l.appendCells(b, c, i, k, added)
	}
	b = append(b, `{"type":"Feature"`...)
	if !l.positions {
		b = jsontext.AppendText(b, "id", string(c.ids.At(i)))
	}
	b = append(b, `,"geometry":`...)
	switch p := c.Points[i]; {
	case !l.positions:
		b = append(b, c.shapes.At(i)...)
	case p.Valid():
		b = appendPoint(b, orb.Point{p.Lon, p.Lat})
	default:
		b = append(b, "null"...)
	}
	return append(l.appendObject(append(b, `,"properties":{`...), c, i, k, added), "}}\n"...)
}

// appendObject appends the members of row i.
func (l *layout) appendObject(b []byte, c *chunk, i, k int, added []enrich.Cells) []byte {
	from := len(b)
	if l.members {
		b = append(b, c.cells.At(i)...)
	} else {
		for n, key := range l.keys {
			if n > 0 {
				b = append(b, ',')
			}
			b = append(b, key...)
			b = jsontext.AppendString(b, string(c.cells.At(i*len(l.keys)+n)))
		}
	}
	for n, key := range l.addedKeys {
		if len(b) > from {
			b = append(b, ',')
		}
		b = append(b, key...)
		b = l.columns[n].AppendJSON(b, added[n].At(k))
	}
	return b
}

// appendHeader appends the names of the columns of a table.
func (l *layout) appendHeader(b []byte) []byte {
	if l.format.json() {
		return b
	}
	for i, name := range append(l.names[:len(l.names):len(l.names)], l.added...) {
		if i > 0 {
			b = append(b, l.separator)
		}
		b = csvcell.Append(b, l.separator, []byte(name))
	}
	return append(b, '\n')
}

// appendCells appends row i as a line of a table.
func (l *layout) appendCells(b []byte, c *chunk, i, k int, added []enrich.Cells) []byte {
	width := len(l.names)
	for n := range width {
		b = append(csvcell.Append(b, l.separator, c.cells.At(i*width+n)), l.separator)
	}
	for n := range added {
		if l.columns[n].Raw {
			b = append(b, added[n].At(k)...)
		} else {
			b = csvcell.AppendForeign(b, l.separator, added[n].At(k))
		}
		b = append(b, l.separator)
	}
	b[len(b)-1] = '\n'
	return b
}
