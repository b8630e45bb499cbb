package tiles

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"quadrille/feature"
	"quadrille/internal/bytecache"
	"quadrille/internal/jsontext"
	"quadrille/tiles/internal/layout"
	"quadrille/tiles/mvt"
)

// These are bounds on the properties that a feature has in tiles, beside those that every feature of
// its layer has. Records have all of them.
const (
	MaxColumns     = 20
	MaxColumnBytes = 200 // of a text
)

// ErrNoColumn is matched when tiles of a type cannot have a property, because its regions lack it, or
// its values are lists or objects.
var ErrNoColumn = feature.NotFound("no such property")

// Columns are some properties of the regions of a type, as tiles have them; see Selector. Values are
// texts, numbers and booleans; long texts are cut. Columns never change, so any number of goroutines
// may use them.
type Columns struct {
	fields  feature.Schema
	numbers []numbered // in the order of the numbers
	codes   []uint32   // by row and field: 1 more than the index of the value; 0 if absent
	// Value i is values[ends[i]:ends[i+1]], a value message of a vector tile. Each value is there once.
	values  []byte
	ends    []uint32
	regions int
}

// numbered is the row of a feature by its number in vector tiles.
type numbered struct {
	number uint64
	row    uint32
}

// Fields describes the columns. The caller must not change them.
func (c *Columns) Fields() feature.Schema { return slices.Clip(c.fields) }

// Bytes returns about the memory of the columns.
func (c *Columns) Bytes() int64 {
	return 16*int64(cap(c.numbers)) + 4*int64(cap(c.codes)+cap(c.ends)) + int64(cap(c.values))
}

func (c *Columns) value(code uint32) []byte {
	return c.values[c.ends[code-1]:c.ends[code]:c.ends[code]]
}

// Regions returns the number of regions of the type, with and without values.
func (c *Columns) Regions() int { return c.regions }

// Values calls fn with the value of column i for each region that has one. A value is a message of
// package mvt, and is valid as long as the columns.
func (c *Columns) Values(i int, fn func(value []byte)) {
	for ; i < len(c.codes); i += len(c.fields) {
		if code := c.codes[i]; code > 0 {
			fn(c.value(code))
		}
	}
}

// codesOf returns the codes of a feature, or nil.
func (c *Columns) codesOf(number uint64) []uint32 {
	i, ok := c.find(number)
	if !ok {
		return nil
	}
	from := int(c.numbers[i].row) * len(c.fields)
	return c.codes[from : from+len(c.fields)]
}

func (c *Columns) find(number uint64) (int, bool) {
	return slices.BinarySearchFunc(c.numbers, number, func(n numbered, asked uint64) int { return cmp.Compare(n.number, asked) })
}

// has reports whether there is a feature with a number.
func (c *Columns) has(number uint64) bool {
	_, ok := c.find(number)
	return ok
}

// columnSets are all columns of a type.
type columnSets []*Columns

// tag adds the values of a feature to the current feature of a layer.
func (all columnSets) tag(l *mvt.Layer, number uint64) {
	for _, c := range all {
		for i, code := range c.codesOf(number) {
			if code > 0 {
				l.TagValue(c.fields[i].Name, c.value(code))
			}
		}
	}
}

// insert adds the values of a feature to the end of layout.AppendFeatureHead.
func (all columnSets) insert(dst []byte, number uint64) []byte {
	if len(all) == 0 {
		return dst
	}
	dst = dst[:len(dst)-len(layout.FeatureHeadEnd)]
	for _, c := range all {
		for i, code := range c.codesOf(number) {
			if code > 0 {
				dst = append(jsontext.AppendString(append(dst, ','), c.fields[i].Name), ':')
				dst = appendJSON(dst, c.value(code))
			}
		}
	}
	return append(dst, layout.FeatureHeadEnd...)
}

// appendFeature appends a Feature, or its beginning up to its geometry, with the values of its
// region.
func (all columnSets) appendFeature(dst, text []byte, typ string) []byte {
	id, head, ok := "", []byte(nil), false
	if len(all) > 0 {
		id, head, ok = layout.ParseFeatureHead(text, typ)
	}
	if !ok {
		return append(dst, text...)
	}
	dst = all.insert(append(dst, head...), layout.FeatureID(typ, id))
	return append(dst, text[len(head):]...)
}

// appendJSON appends a value message as JSON.
func appendJSON(dst, value []byte) []byte {
	if text, ok := mvt.StringValue(value); ok {
		return jsontext.AppendString(dst, string(text))
	}
	if is, ok := mvt.BoolValue(value); ok {
		return strconv.AppendBool(dst, is)
	}
	if n, ok := mvt.IntegerValue(value); ok {
		return strconv.AppendInt(dst, n, 10)
	}
	n, _ := mvt.NumberValue(value)
	return strconv.AppendFloat(dst, n, 'g', -1, 64)
}

// AppendScalar appends a text, a number or a boolean as a value message of package mvt. A text longer
// than MaxColumnBytes is cut between characters. ok is false, and nothing is appended, for other
// values and numbers beyond float64.
func AppendScalar(dst []byte, v feature.Value) (_ []byte, ok bool) {
	switch v.Kind() {
	case feature.Text:
		return mvt.AppendString(dst, Shorten(v.Text())), true
	case feature.Boolean:
		is, _ := v.Boolean()
		return mvt.AppendBool(dst, is), true
	}
	if n, ok := v.Integer(); ok {
		return mvt.AppendInt(dst, n), true
	}
	n, ok := v.Number()
	if !ok || math.IsInf(n, 0) {
		return dst, false
	}
	return mvt.AppendDouble(dst, n), true
}

// Shorten cuts a text, between characters, to MaxColumnBytes.
func Shorten(text string) string {
	if len(text) <= MaxColumnBytes {
		return text
	}
	end := MaxColumnBytes - len("…")
	for text[end]&0xC0 == 0x80 {
		end--
	}
	return text[:end] + "…"
}

// ColumnFields returns the properties of a type that its tiles may have beside their own, in the order
// of the schema.
func (t *TypeMeta) ColumnFields() (fields feature.Schema) {
	for _, f := range t.schema() {
		switch f.Name {
		case "type", "cluster", layout.TagID, layout.TagName, layout.TagColor, layout.TagMerged:
			continue // tiles have their own
		}
		if f.Kind != feature.Texts {
			fields = append(fields, f)
		}
	}
	return fields
}

// Columns returns the properties of a type with the given names, in the order of the type's schema.
// It reads the records of all regions, unless memory has the columns; see SetColumnBytes. Errors match
// ErrUnknownType or ErrNoColumn, or come from the store.
func (r *Reader) Columns(ctx context.Context, typ string, names []string) (*Columns, error) {
	rt := r.types[typ]
	if rt == nil {
		return nil, r.unknownType(typ)
	}
	c := &Columns{}
	known := rt.ColumnFields()
	for _, f := range known {
		if slices.Contains(names, f.Name) {
			c.fields = append(c.fields, f)
		}
	}
	for _, name := range names {
		if !slices.ContainsFunc(known, func(f feature.Field) bool { return f.Name == name }) {
			return nil, fmt.Errorf("%w: %q in tiles of %s", ErrNoColumn, name, typ)
		}
	}
	names = names[:0:0]
	for _, f := range c.fields {
		names = append(names, f.Name)
	}
	return columnCache.Load().Do(ctx, columnsKey{rt.opened, 0, strings.Join(names, "\x00")}, func() (*Columns, error) {
		return c, r.fill(context.WithoutCancel(ctx), c, rt, names) // others may wait for them
	})
}

// JoinColumns returns properties of the features of a layer that have ids of regions of a type, as
// feature.SameRegionID compares them. from identifies the state of the layer: memory keeps the
// columns of a state, and 0 is of none. Names in tiles are the given ones behind prefix. Errors match ErrUnknownType or ErrNoColumn, or come from the
// layer; with more features than MaxJoined the error matches feature.ErrTooMuchWork.
func (r *Reader) JoinColumns(ctx context.Context, typ string, l feature.Layer, from uint64, prefix string, names []string) (*Columns, error) {
	rt := r.types[typ]
	if rt == nil {
		return nil, r.unknownType(typ)
	}
	c := &Columns{}
	for _, name := range names {
		f, ok := l.Info().Schema.Lookup(name)
		if !ok || f.Kind == feature.Texts {
			return nil, fmt.Errorf("%w: %q of %s", ErrNoColumn, name, l.Info().Name)
		}
		c.fields = append(c.fields, feature.Field{Name: prefix + name, Kind: f.Kind})
	}
	build := func() (*Columns, error) {
		regions, err := r.Columns(ctx, typ, nil)
		if err != nil {
			return nil, err
		}
		b := newColumnsBuilder(c, rt, names)
		n := 0
		for f, err := range l.Features(context.WithoutCancel(ctx), &feature.Query{Detail: feature.WithoutGeometry}) {
			if err != nil {
				return nil, err
			}
			if n++; n > MaxJoined {
				return nil, &feature.TooMuchWork{Examined: MaxJoined}
			}
			if regions.has(layout.FeatureID(typ, f.ID)) {
				b.add(f)
			}
		}
		b.finish()
		c.regions = regions.regions
		return c, nil
	}
	if from == 0 {
		return build()
	}
	return columnCache.Load().Do(ctx, columnsKey{rt.opened, from, strings.Join(names, "\x00")}, build)
}

// MaxJoined bounds the features of a layer whose properties regions get.
const MaxJoined = 500_000

// fill reads the values of the columns with the given names.
func (r *Reader) fill(ctx context.Context, c *Columns, rt *readerType, names []string) error {
	b := newColumnsBuilder(c, rt, names)
	l := layer{r, rt}
	var f feature.Feature
	var members []byte
	for stored, err := range r.scanRegions(ctx, rt, "", false) {
		if err != nil {
			return err
		}
		if err := l.read(&f, string(stored.Key[1:]), stored, &members, false); err != nil {
			return err
		}
		b.add(&f)
	}
	b.finish()
	return nil
}

// columnsBuilder fills columns from features.
type columnsBuilder struct {
	*Columns
	typ     string
	merged  bool // some polygons stand for several regions
	columns *feature.Columns
	code    map[string]uint32 // of values
	row     uint32
	scratch []byte
}

func newColumnsBuilder(c *Columns, rt *readerType, names []string) *columnsBuilder {
	c.ends = append(c.ends, 0)
	return &columnsBuilder{
		Columns: c, typ: rt.Name, merged: rt.MergedBelow() > 0, columns: feature.NewColumns(names), code: map[string]uint32{},
	}
}

// add adds the values of a feature.
func (b *columnsBuilder) add(f *feature.Feature) {
	b.numbers = append(b.numbers, numbered{layout.FeatureID(b.typ, f.ID), b.row})
	if b.merged { // a polygon that stands for several has the values of the largest
		b.numbers = append(b.numbers, numbered{layout.FeatureID(b.typ, layout.MergedID(f.ID)), b.row})
	}
	b.row++
	for _, v := range b.columns.ValuesOf(f.Properties) {
		var ok bool
		if b.scratch, ok = AppendScalar(b.scratch[:0], v); !ok {
			b.codes = append(b.codes, 0)
			continue
		}
		n, known := b.code[string(b.scratch)]
		if !known {
			b.values = append(b.values, b.scratch...)
			b.ends = append(b.ends, uint32(len(b.values)))
			n = uint32(len(b.ends) - 1)
			b.code[string(b.scratch)] = n
		}
		b.codes = append(b.codes, n)
	}
}

// finish sorts the features. Of those with one number the first counts.
func (b *columnsBuilder) finish() {
	slices.SortStableFunc(b.numbers, func(a, b numbered) int { return cmp.Compare(a.number, b.number) })
	b.regions = int(b.row)
}

// DefaultColumnBytes is the memory for Columns unless SetColumnBytes changes it.
const DefaultColumnBytes = 32 << 20

// SetColumnBytes bounds the memory for the Columns of all Readers of the process, in bytes, and
// empties it. Columns that take more are read for each call.
func SetColumnBytes(most int64) {
	columnCache.Store(bytecache.NewOfLarge[columnsKey, *Columns](max(0, most)))
}

var columnCache atomic.Pointer[bytecache.Cache[columnsKey, *Columns]]

func init() { SetColumnBytes(DefaultColumnBytes) }

// columnsKey identifies columns of a type of an opened data set.
type columnsKey struct {
	opened uint64
	joined uint64 // the state of a layer with the values; 0 for the type's own
	names  string
}

// Hash returns 0, because one lock guards all columns.
func (columnsKey) Hash() uint64 { return 0 }

// ExtraBytes returns the size of the names.
func (k columnsKey) ExtraBytes() int { return len(k.names) }

// opened counts the types of all data sets that were opened.
var opened atomic.Uint64
