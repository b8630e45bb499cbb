package enrich

import (
	"fmt"
	"path/filepath"
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

func (l *layout) begin(added []string, columns []enrich.Column) {
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
		}
		l.keys = append(l.keys, append(jsontext.AppendString(nil, name), ':'))
	}
	for _, name := range added {
		l.addedKeys = append(l.addedKeys, append(jsontext.AppendString(nil, name), ':'))
	}
}

// append appends the rows of a chunk with the cells of the added columns.
func (l *layout) append(b []byte, c *chunk, added []enrich.Cells) []byte {
	if !l.format.json() {
		if c.first {
			b = l.appendHeader(b)
		}
		return l.appendTable(b, c, added)
	}
	for i := range c.lines {
		if l.format == NDJSON {
			b = append(l.appendObject(append(b, '{'), c, i, added), "}\n"...)
			continue
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
		b = append(l.appendObject(append(b, `,"properties":{`...), c, i, added), "}}\n"...)
	}
	return b
}

// appendObject appends the members of row i.
func (l *layout) appendObject(b []byte, c *chunk, i int, added []enrich.Cells) []byte {
	from := len(b)
	if l.members {
		b = append(b, c.cells.At(i)...)
	} else {
		for k := range l.keys {
			if k > 0 {
				b = append(b, ',')
			}
			b = append(b, l.keys[k]...)
			b = jsontext.AppendString(b, string(c.cells.At(i*len(l.keys)+k)))
		}
	}
	for k := range added {
		if len(b) > from {
			b = append(b, ',')
		}
		b = append(b, l.addedKeys[k]...)
		b = l.columns[k].AppendJSON(b, added[k].At(i))
	}
	return b
}

func (l *layout) appendHeader(b []byte) []byte {
	for i, name := range append(l.names[:len(l.names):len(l.names)], l.added...) {
		if i > 0 {
			b = append(b, l.separator)
		}
		b = csvcell.Append(b, l.separator, []byte(name))
	}
	return append(b, '\n')
}

func (l *layout) appendTable(b []byte, c *chunk, added []enrich.Cells) []byte {
	width := len(l.names)
	for i := range c.lines {
		for k := range width {
			b = append(csvcell.Append(b, l.separator, c.cells.At(i*width+k)), l.separator)
		}
		for k := range added {
			if l.columns[k].Raw {
				b = append(b, added[k].At(i)...)
			} else {
				b = csvcell.AppendForeign(b, l.separator, added[k].At(i))
			}
			b = append(b, l.separator)
		}
		b[len(b)-1] = '\n'
	}
	return b
}
