// Package geoparquet writes features as GeoParquet 1.1: tables of the format Parquet, packed by zstd,
// with a geometry in well-known binary and the box around it. Positions are degrees of OGC:CRS84,
// longitude before latitude. Readers skip row groups and pages by the statistics of the boxes.
package geoparquet

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/parquet-go/parquet-go"
	"github.com/paulmach/orb"
	"github.com/paulmach/orb/encoding/wkb"

	"quadrille/feature"
	"quadrille/internal/instant"
)

// These are the names of the columns that a Writer adds behind those of Options.
const (
	GeometryColumn = "geometry"
	BoxColumn      = "bbox"
)

// A row group ends when it has so many rows, or Options.GroupBytes of values. Then it is written. Of many
// columns the footer takes more memory than that; then row groups are as large as the footer, so that there
// are fewer.
const (
	maxGroupRows   = 50_000
	groupBytes     = 8 << 20 // the default
	chunkBytes     = 1 << 10 // about the memory for a column of a row group until the end
	expectedGroups = 8
	valueBytes     = 9 // of each value beside its text; nulls are packed to nearly nothing
)

const (
	maxPageBytes = 256 << 10
	minPageBytes = 8 << 10
	columnBytes  = 8 << 10 // beside its page
)

// smallChunks are the pieces of memory for packed pages if columns are many.
var smallChunks = parquet.NewChunkBufferPool(4 << 10)

// Options describe a file.
type Options struct {
	// Columns are the columns with values. Their names differ from each other, and from those that a
	// Writer adds.
	//
	// Text is UTF-8, a Number a double, an Integer 64 bits, a Time microseconds UTC, Texts a list of
	// UTF-8. Values of all other kinds are JSON.
	Columns []feature.Field
	// GroupBytes is about the size of a row group. The default is 8 MiB.
	GroupBytes int
	// SkipGeometry leaves out the geometry and its box. The file is plain Parquet then.
	SkipGeometry bool
}

// Writer writes one file. It needs memory for a row group, and for the footer: about a kilobyte for each
// column of each row group. One goroutine uses it.
type Writer struct {
	o       Options
	file    *parquet.GenericWriter[any]
	columns []*parquet.ColumnWriter
	rows    int // of the present row group
	bytes   int
	footer  int // bytes of memory for the row groups before
	page    int // bytes at which a page of a column ends

	types map[string]bool
	box   orb.Bound
	lost  map[string]int64 // rows by the column that cannot hold their value

	// These are buffers of one row.
	values     []parquet.Value
	text, list []byte
}

// NewWriter returns a Writer to out. Errors of out are returned by Write and Close.
func NewWriter(out io.Writer, o Options) *Writer {
	o.GroupBytes = cmp.Or(o.GroupBytes, groupBytes)
	root := group{}
	options := []parquet.WriterOption{}
	for _, c := range o.Columns {
		root.add(c.Name, parquet.Optional(nodeOf(c.Kind)))
		switch c.Kind {
		case feature.Texts:
			options = append(options, parquet.SkipPageBounds(c.Name, "list", "element"))
		case feature.Any:
			options = append(options, parquet.SkipPageBounds(c.Name))
		}
	}
	if !o.SkipGeometry {
		box := group{}
		for _, side := range sides {
			box.add(side, parquet.Leaf(parquet.FloatType))
		}
		root.add(GeometryColumn, parquet.Optional(parquet.Leaf(parquet.ByteArrayType)))
		root.add(BoxColumn, parquet.Optional(&box))
		options = append(options, parquet.SkipPageBounds(GeometryColumn))
	}
	w := &Writer{o: o,
		page:  min(maxPageBytes, max(minPageBytes, o.GroupBytes/(2*len(o.Columns)+1))), // many columns share the memory
		types: map[string]bool{}, box: orb.MultiPoint{}.Bound(), lost: map[string]int64{}}
	if w.page == minPageBytes {
		options = append(options, parquet.ColumnPageBuffers(smallChunks))
	}
	w.file = parquet.NewGenericWriter[any](out, append(options,
		parquet.NewSchema("features", &root), parquet.Compression(&parquet.Zstd), parquet.WriteBufferSize(0),
		parquet.DataPageStatistics(false), // which would repeat values; the page index has the bounds
		// Some readers know no newer pages and encodings.
		parquet.DataPageVersion(1), parquet.DefaultEncodingFor(parquet.ByteArray, &parquet.Plain),
		parquet.PageBufferSize(w.page))...)
	w.columns = w.file.ColumnWriters()
	return w
}

// Memory returns about how many bytes the Writer may take until the next row group. From the start it
// counts the footer of a few row groups, and grows with it later.
func (w *Writer) Memory() int64 {
	footer := max(w.footer, expectedGroups*chunkBytes*len(w.columns))
	pages := (2*w.page + columnBytes) * len(w.columns)
	return int64(max(w.o.GroupBytes, footer) + pages + footer)
}

// Distinct gives each of the properties a name that differs from those of all other columns even for
// readers that compare without case, such as DuckDB. own are the names of the others, beside those that a
// Writer adds. Of equal names the first stays, others get feature.PropertyPrefix.
func Distinct(properties []feature.Field, own ...string) {
	taken := map[string]bool{GeometryColumn: true, BoxColumn: true}
	for _, name := range own {
		taken[strings.ToLower(name)] = true
	}
	for i := range properties {
		name := &properties[i].Name
		for taken[strings.ToLower(*name)] {
			*name = feature.PropertyPrefix + *name
		}
		taken[strings.ToLower(*name)] = true
	}
}

// sides are the members of the box.
var sides = [...]string{"xmin", "ymin", "xmax", "ymax"}

// group is a parquet.Group whose columns keep their order.
type group struct {
	parquet.Group
	fields []parquet.Field
}

func (g *group) add(name string, of parquet.Node) {
	g.fields = append(g.fields, parquet.Group{name: of}.Fields()[0])
}

// Fields implements parquet.Node.
func (g *group) Fields() []parquet.Field { return g.fields }

func nodeOf(k feature.Kind) parquet.Node {
	switch k {
	case feature.Text, feature.RegionID:
		return parquet.String()
	case feature.Number:
		return parquet.Leaf(parquet.DoubleType)
	case feature.Integer:
		return parquet.Int(64)
	case feature.Boolean:
		return parquet.Leaf(parquet.BooleanType)
	case feature.Time:
		return parquet.Timestamp(parquet.Microsecond)
	case feature.Texts:
		return parquet.List(parquet.String())
	}
	return parquet.JSON()
}

// Write writes a feature. values are those of the columns. A value that is not of its column's kind
// becomes null, and one with more digits than its column has is rounded, which Notes tells. Errors match
// feature.ErrDamaged, or are those of the output.
func (w *Writer) Write(f *feature.Feature, values []feature.Value) error {
	for i, v := range values {
		if err := w.put(i, w.valuesOf(i, v)); err != nil {
			return err
		}
	}
	if !w.o.SkipGeometry {
		if err := w.putGeometry(f); err != nil {
			return err
		}
	}
	if w.rows++; w.rows < maxGroupRows && w.bytes < max(w.o.GroupBytes, w.footer) {
		return nil
	}
	w.rows, w.bytes, w.footer = 0, 0, w.footer+len(w.columns)*chunkBytes
	return w.file.Flush()
}

// put writes the values of a row in a column.
func (w *Writer) put(column int, values []parquet.Value) error {
	for i := range values {
		switch {
		case values[i].IsNull():
		case values[i].Kind() == parquet.ByteArray:
			w.bytes += valueBytes + len(values[i].ByteArray())
		default:
			w.bytes += valueBytes
		}
	}
	_, err := w.columns[column].WriteRowValues(values)
	return err
}

// valuesOf returns the values of a row in a column: one, or the elements of a list. They are valid until
// the next call.
func (w *Writer) valuesOf(column int, v feature.Value) []parquet.Value {
	w.values, w.text = w.values[:0], w.text[:0]
	add := func(of parquet.Value, repetition, definition int) {
		w.values = append(w.values, of.Level(repetition, definition, column))
	}
	c := &w.o.Columns[column]
	switch {
	case v.Kind() == feature.Null:
		add(parquet.NullValue(), 0, 0)
	case c.Kind == feature.Texts:
		w.list = v.AppendJSON(w.list[:0])
		if !feature.IsList(w.list) {
			w.list = append(slices.Insert(w.list, 0, '['), ']')
		}
		for element := range feature.Elements(w.list) {
			from := len(w.text)
			w.text = feature.JSONValue(element).AppendText(w.text)
			add(parquet.ByteArrayValue(w.text[from:]), min(1, len(w.values)), 2)
		}
		if len(w.values) == 0 {
			add(parquet.NullValue(), 0, 1) // an empty list
		}
	default:
		one, exact := w.valueOf(c.Kind, v)
		if !exact {
			w.lost[c.Name]++
		}
		if one.IsNull() {
			add(one, 0, 0)
		} else {
			add(one, 0, 1)
		}
	}
	return w.values
}

// valueOf returns a value in the type of a column, or null if it has none there. exact is false if
// something is lost.
func (w *Writer) valueOf(k feature.Kind, v feature.Value) (of parquet.Value, exact bool) {
	switch k {
	case feature.Number:
		n, ok := v.Number()
		if !ok || math.IsNaN(n) || math.IsInf(n, 0) {
			return of, false
		}
		whole, ok := v.Integer()
		if exact = ok && int64(n) == whole; !exact {
			w.text = v.AppendJSON(w.text)
			exact = isSpelled(w.text, n)
		}
		return parquet.DoubleValue(n), exact
	case feature.Integer:
		if n, ok := v.Integer(); ok {
			return parquet.Int64Value(n), true
		}
		return of, false
	case feature.Boolean:
		if b, ok := v.Boolean(); ok {
			return parquet.BooleanValue(b), true
		}
		return of, false
	case feature.Time:
		w.text = v.AppendText(w.text)
		if at, ok := instant.Parse(w.text); ok {
			return parquet.Int64Value(at.UnixMicro()), at.Nanosecond()%1000 == 0
		}
		return of, false
	case feature.Text, feature.RegionID:
		w.text = v.AppendText(w.text)
	default:
		w.text = v.AppendJSON(w.text)
	}
	return parquet.ByteArrayValue(w.text), true
}

// isSpelled reports whether a number in JSON is the double n: with the fewest digits that name it, or with
// the 17 that other programs write.
func isSpelled(text []byte, n float64) bool {
	if len(text) <= 15 && !bytes.ContainsAny(text, "eE") {
		return true // all so short are
	}
	var a, b [32]byte
	digits := digitsOf(text)
	return bytes.Equal(digits, digitsOf(strconv.AppendFloat(a[:0], n, 'e', -1, 64))) ||
		bytes.Equal(digits, digitsOf(strconv.AppendFloat(b[:0], n, 'e', 16, 64)))
}

// digitsOf returns the significant digits of a number in JSON, in its memory.
func digitsOf(number []byte) []byte {
	if e := bytes.IndexAny(number, "eE"); e >= 0 {
		number = number[:e]
	}
	digits := number[:0]
	for _, c := range number {
		if '0' <= c && c <= '9' {
			digits = append(digits, c)
		}
	}
	return bytes.Trim(digits, "0")
}

// putGeometry writes the geometry of a feature and its box.
func (w *Writer) putGeometry(f *feature.Feature) (err error) {
	box, kind := orb.Bound{Min: orb.Point{f.Lon, f.Lat}, Max: orb.Point{f.Lon, f.Lat}}, ""
	if w.text = w.text[:0]; f.Geometry.IsPoint() {
		kind = "Point"
		w.text = binary.LittleEndian.AppendUint32(append(w.text, 1), 1) // little-endian, a point
		for _, degrees := range box.Min {
			w.text = binary.LittleEndian.AppendUint64(w.text, math.Float64bits(degrees))
		}
	} else {
		shape, err := f.Orb()
		if err != nil {
			return err
		}
		if shape != nil {
			if w.text, err = wkb.Marshal(shape, binary.LittleEndian); err != nil {
				return fmt.Errorf("%w: geometry of %.40q: %w", feature.ErrDamaged, f.ID, err)
			}
			kind, box = shape.GeoJSONType(), shape.Bound()
		}
	}
	column := len(w.o.Columns)
	if kind == "" {
		err = w.put(column, append(w.values[:0], parquet.NullValue().Level(0, 0, column)))
	} else {
		w.types[kind] = true
		err = w.put(column, append(w.values[:0], parquet.ByteArrayValue(w.text).Level(0, 1, column)))
	}
	if err != nil {
		return err
	}
	known := kind != "" && !box.IsEmpty()
	if known {
		w.box = w.box.Union(box)
	}
	for i, degrees := range [...]float64{box.Min[0], box.Min[1], box.Max[0], box.Max[1]} {
		column++
		side := parquet.NullValue().Level(0, 0, column)
		if known {
			side = parquet.FloatValue(outwards(degrees, i >= 2)).Level(0, 1, column)
		}
		if err := w.put(column, append(w.values[:0], side)); err != nil {
			return err
		}
	}
	return nil
}

// outwards rounds a side of a box so that the box does not become smaller. up is set for the greater
// side.
func outwards(degrees float64, up bool) float32 {
	switch f := float32(degrees); {
	case up && float64(f) < degrees:
		return math.Nextafter32(f, float32(math.Inf(1)))
	case !up && float64(f) > degrees:
		return math.Nextafter32(f, float32(math.Inf(-1)))
	default:
		return f
	}
}

// Close writes the footer, with the metadata of https://geoparquet.org/releases/v1.1.0/. It does not close
// the output.
func (w *Writer) Close() error {
	if w.o.SkipGeometry {
		return w.file.Close()
	}
	types, err := json.Marshal(append([]string{}, slices.Sorted(maps.Keys(w.types))...))
	if err != nil {
		return err
	}
	about := append([]byte(`{"version":"1.1.0","primary_column":"geometry","columns":{"geometry":{"encoding":"WKB","geometry_types":`), types...)
	if !w.box.IsEmpty() {
		about = feature.AppendBounds(append(about, ','), [4]float64{w.box.Min[0], w.box.Min[1], w.box.Max[0], w.box.Max[1]})
	}
	w.file.SetKeyValueMetadata("geo", string(about)+`,"covering":{"bbox":{"xmin":["bbox","xmin"],"ymin":["bbox","ymin"],`+
		`"xmax":["bbox","xmax"],"ymax":["bbox","ymax"]}}}}}`)
	return w.file.Close()
}

// Notes returns sentences about what is lost.
func (w *Writer) Notes() (notes []string) {
	for _, name := range slices.Sorted(maps.Keys(w.lost)) {
		notes = append(notes, fmt.Sprintf("in %d rows the column %s cannot hold the value, which is null or rounded", w.lost[name], name))
	}
	return notes
}
