// Package geoparquet writes features as GeoParquet 1.1: tables of the format Parquet, packed by zstd,
// with a geometry in well-known binary and the box around it. Positions are degrees of OGC:CRS84,
// longitude before latitude. Readers skip row groups and pages by the statistics of the boxes.
package geoparquet

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"

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

// A row group ends when it has so many rows, or bytes of values. Then it is written. Of many columns the
// footer takes more memory than that; then row groups are as large as the footer, so that there are fewer.
const (
	maxGroupRows  = 50_000
	maxGroupBytes = 8 << 20
	chunkBytes    = 1 << 10 // about the memory for a column of a row group until the end
	levelBytes    = 5       // of each value, be it null
)

const (
	maxPageBytes = 256 << 10
	minPageBytes = 8 << 10
)

// Options describe a file.
type Options struct {
	// Columns are the columns with values. Their names differ from each other, and from those that a
	// Writer adds.
	//
	// Text is UTF-8, a Number a double, an Integer 64 bits, a Time microseconds UTC, Texts a list of
	// UTF-8. Values of all other kinds are JSON.
	Columns []feature.Field
	// SkipGeometry leaves out the geometry and its box. The file is plain Parquet then.
	SkipGeometry bool
}

// Writer writes one file. It needs memory for a row group of about 8 MiB, and for the footer: about a
// kilobyte for each column of each row group. One goroutine uses it.
type Writer struct {
	o       Options
	file    *parquet.Writer
	columns []*parquet.ColumnWriter
	rows    int // of the present row group
	bytes   int
	footer  int // bytes of memory for the row groups before

	types map[string]bool
	box   orb.Bound
	boxed bool // box has the boxes of some features
	lost  map[string]int64

	// These are buffers of one row.
	values     []parquet.Value
	text, list []byte
}

// NewWriter returns a Writer to out. Errors of out are returned by Write and Close.
func NewWriter(out io.Writer, o Options) *Writer {
	root := group{}
	skipped := []parquet.WriterOption{}
	for _, c := range o.Columns {
		root.add(c.Name, parquet.Optional(nodeOf(c.Kind)))
		if c.Kind == feature.Texts {
			skipped = append(skipped, parquet.SkipPageBounds(c.Name, "list", "element"))
		} else if isJSON(c.Kind) {
			skipped = append(skipped, parquet.SkipPageBounds(c.Name))
		}
	}
	if !o.SkipGeometry {
		box := group{}
		for _, side := range sides {
			box.add(side, parquet.Leaf(parquet.FloatType))
		}
		root.add(GeometryColumn, parquet.Optional(parquet.Leaf(parquet.ByteArrayType)))
		root.add(BoxColumn, parquet.Optional(&box))
		skipped = append(skipped, parquet.SkipPageBounds(GeometryColumn))
	}
	w := &Writer{o: o, types: map[string]bool{}, lost: map[string]int64{}}
	w.file = parquet.NewWriter(out, append(skipped,
		parquet.NewSchema("features", &root), parquet.Compression(&parquet.Zstd), parquet.WriteBufferSize(0),
		parquet.DataPageStatistics(false), // which would repeat values; the page index has the bounds
		// Many columns share the memory of a row group.
		parquet.PageBufferSize(min(maxPageBytes, max(minPageBytes, maxGroupBytes/(len(o.Columns)+1)))))...)
	w.columns = w.file.ColumnWriters()
	return w
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

func isJSON(k feature.Kind) bool { return k == feature.Any || k == feature.Null }

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
// becomes null, which Notes tells. Other errors match feature.ErrDamaged, or are those of the output.
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
	if w.rows++; w.rows < maxGroupRows && w.bytes < max(maxGroupBytes, w.footer) {
		return nil
	}
	w.rows, w.bytes, w.footer = 0, 0, w.footer+len(w.columns)*chunkBytes
	return explain(w.file.Flush())
}

// put writes the values of a row in a column.
func (w *Writer) put(column int, values []parquet.Value) error {
	for i := range values {
		switch v := &values[i]; {
		case v.Kind() == parquet.ByteArray:
			w.bytes += levelBytes + 4 + len(v.ByteArray())
		case !v.IsNull():
			w.bytes += levelBytes + 8
		default:
			w.bytes += levelBytes
		}
	}
	_, err := w.columns[column].WriteRowValues(values)
	return explain(err)
}

func explain(err error) error {
	if err != nil {
		err = fmt.Errorf("writing Parquet: %w", err)
	}
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
		one, why := w.valueOf(c.Kind, v)
		if why != "" {
			w.lost[c.Name+" "+why]++
		}
		if one.IsNull() {
			add(one, 0, 0)
		} else {
			add(one, 0, 1)
		}
	}
	return w.values
}

// maxWhole is the greatest number below which a double has all whole numbers.
const maxWhole = 1 << 53

// valueOf returns a value in the type of a column, or null. why tells what is lost.
func (w *Writer) valueOf(k feature.Kind, v feature.Value) (of parquet.Value, why string) {
	switch k {
	case feature.Number:
		n, ok := v.Number()
		if !ok || math.IsNaN(n) || math.IsInf(n, 0) {
			return of, "is no number of 64 bits, and null"
		}
		if whole, ok := v.Integer(); ok && (whole > maxWhole || whole < -maxWhole) {
			why = "has more than 53 bits, and is rounded"
		}
		return parquet.DoubleValue(n), why
	case feature.Integer:
		n, ok := v.Integer()
		if f, isNumber := v.Number(); !ok && isNumber && f == math.Trunc(f) && math.Abs(f) <= maxWhole {
			n, ok = int64(f), true
		}
		if !ok {
			return of, "is no whole number of 64 bits, and null"
		}
		return parquet.Int64Value(n), ""
	case feature.Boolean:
		b, ok := v.Boolean()
		if !ok {
			return of, "is neither true nor false, and null"
		}
		return parquet.BooleanValue(b), ""
	case feature.Time:
		w.text = v.AppendText(w.text)
		at, ok := instant.Parse(w.text)
		if !ok {
			return of, "is no time, and null"
		}
		return parquet.Int64Value(at.UnixMicro()), ""
	case feature.Text, feature.RegionID:
		w.text = v.AppendText(w.text)
	default:
		w.text = v.AppendJSON(w.text)
	}
	return parquet.ByteArrayValue(w.text), ""
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
	known := kind != "" && box.Min[0] <= box.Max[0] && box.Min[1] <= box.Max[1]
	if known && w.boxed {
		w.box = w.box.Union(box)
	} else if known {
		w.box, w.boxed = box, true
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

// Close writes the footer. It does not close the output.
func (w *Writer) Close() error {
	if !w.o.SkipGeometry {
		about, err := json.Marshal(w.metadata())
		if err != nil {
			return err
		}
		w.file.SetKeyValueMetadata("geo", string(about))
	}
	return explain(w.file.Close())
}

// metadata returns the value of the key geo, see https://geoparquet.org/releases/v1.1.0/.
func (w *Writer) metadata() any {
	covering := map[string][]string{}
	for _, side := range sides {
		covering[side] = []string{BoxColumn, side}
	}
	column := map[string]any{
		"encoding":       "WKB",
		"geometry_types": append([]string{}, slices.Sorted(maps.Keys(w.types))...),
		"covering":       map[string]any{BoxColumn: covering},
	}
	if w.boxed {
		column["bbox"] = []float64{w.box.Min[0], w.box.Min[1], w.box.Max[0], w.box.Max[1]}
	}
	return map[string]any{"version": "1.1.0", "primary_column": GeometryColumn, "columns": map[string]any{GeometryColumn: column}}
}

// Notes returns sentences about values that the file lacks.
func (w *Writer) Notes() (notes []string) {
	for _, what := range slices.Sorted(maps.Keys(w.lost)) {
		notes = append(notes, fmt.Sprintf("in %d rows the value of %s", w.lost[what], what))
	}
	return notes
}
