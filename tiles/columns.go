package tiles

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

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

// Column is a property of the regions of a type, as tiles have it; see Selector. Values are texts,
// numbers and booleans; long texts are cut. A Column never changes, so any number of goroutines may use
// it.
type Column struct {
	field   feature.Field
	regions *regionNumbers
	until   time.Time // when the first of its values expires, by the clock of the machine; zero for never
	cut     bool      // some texts are
	codes   []uint32  // by region: 1 more than the index of the value; 0 if absent
	// Value i is values[ends[i]:ends[i+1]], a value message of a vector tile. Each value is there once.
	values []byte
	ends   []uint32
}

// Field describes the column, with the name that it has in tiles.
func (c *Column) Field() feature.Field { return c.field }

// Bytes returns about the memory of the column, without that of the type's regions.
func (c *Column) Bytes() int64 {
	if c.codes == nil { // it stands for the regions
		return 16 * int64(len(c.regions.numbers))
	}
	return 4*int64(cap(c.codes)+cap(c.ends)) + int64(cap(c.values))
}

// Values calls fn with the value of each region that passes; nil lets all pass. A value is a message of package mvt,
// valid as long as the column, or nil for none.
func (c *Column) Values(only *Passing, fn func(value []byte)) {
	for region, code := range c.codes {
		switch {
		case only != nil && !only.holds(region):
		case code == 0:
			fn(nil)
		default:
			fn(c.value(code))
		}
	}
}

// over reports whether a value of a column that memory had has expired.
func (c *Column) over() bool { return c != nil && !c.until.IsZero() && !time.Now().Before(c.until) }

func (c *Column) value(code uint32) []byte { return c.values[c.ends[code-1]:c.ends[code]:c.ends[code]] }

// regionNumbers finds the regions of a type by their numbers in vector tiles.
type regionNumbers struct {
	numbers []numbered // in the order of the numbers
	count   int
}

// numbered is a region by its number in vector tiles. A polygon that stands for several regions has the
// values of the largest.
type numbered struct {
	number uint64
	region uint32
}

// find returns a region by the number of a feature.
func (r *regionNumbers) find(number uint64) (region int, ok bool) {
	i, ok := slices.BinarySearchFunc(r.numbers, number, func(n numbered, asked uint64) int { return cmp.Compare(n.number, asked) })
	if !ok {
		return 0, false
	}
	return int(r.numbers[i].region), true
}

// columnSet are the columns of a type.
type columnSet []*Column

// each calls fn with the names and values of a feature.
func (all columnSet) each(number uint64, fn func(name string, value []byte)) {
	if len(all) == 0 {
		return
	}
	region, ok := all[0].regions.find(number)
	for i := 0; ok && i < len(all); i++ {
		if code := all[i].codes[region]; code > 0 {
			fn(all[i].field.Name, all[i].value(code))
		}
	}
}

// tag adds the values of a feature to the current feature of a layer.
func (all columnSet) tag(l *mvt.Layer, number uint64) { all.each(number, l.TagValue) }

// insert adds the values of a feature to the end of layout.AppendFeatureHead.
func (all columnSet) insert(dst []byte, number uint64) []byte {
	if len(all) == 0 {
		return dst
	}
	dst = dst[:len(dst)-len(layout.FeatureHeadEnd)]
	all.each(number, func(name string, value []byte) { dst = appendMember(append(dst, ','), name, value) })
	return append(dst, layout.FeatureHeadEnd...)
}

// appendFeature appends a Feature, or its beginning up to its geometry, with the values of its
// region.
func (all columnSet) appendFeature(dst, text []byte, typ string) []byte {
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

// appendMember appends a member of a JSON object.
func appendMember(dst []byte, name string, value []byte) []byte {
	return appendJSON(append(jsontext.AppendString(dst, name), ':'), value)
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
		return feature.IntegerValue(n).AppendJSON(dst)
	}
	n, _ := mvt.NumberValue(value)
	return feature.NumberValue(n).AppendJSON(dst)
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

// FieldTypes are TileJSON's names of kinds of properties. Properties of other kinds are not in vector
// tiles.
var FieldTypes = map[feature.Kind]string{
	feature.Text:     "String",
	feature.RegionID: "String",
	feature.Time:     "String",
	feature.Number:   "Number",
	feature.Integer:  "Number",
	feature.Boolean:  "Boolean",
	feature.Any:      "Mixed",
}

// FieldsWith returns the attributes of the type's polygons, or of its lines, and their types in TileJSON
// form, with those of columns.
func (t *TypeMeta) FieldsWith(columns []string) map[string]string {
	fields := map[string]string{layout.TagID: "String", layout.TagName: "String"}
	if !t.IsLines {
		fields = maps.Clone(t.Fields)
	}
	if fields == nil { // of older versions
		fields = map[string]string{}
	}
	for _, f := range t.ColumnFields() {
		if slices.Contains(columns, f.Name) {
			fields[f.Name] = FieldTypes[f.Kind]
		}
	}
	return fields
}

// Columns returns the properties of a type with the given names, in the order of the type's schema.
// It reads the records of all regions, unless memory has the columns; see SetColumnBytes. Reading is
// work for feature.RunHeavy. Errors match ErrUnknownType, ErrNoColumn or feature.ErrTooMuchWork, or come
// from the store.
func (r *Reader) Columns(ctx context.Context, typ string, names []string) ([]*Column, error) {
	rt := r.types[typ]
	if rt == nil {
		return nil, r.unknownType(typ)
	}
	var fields feature.Schema
	known := rt.ColumnFields()
	for _, f := range known {
		if slices.Contains(names, f.Name) {
			fields = append(fields, f)
		}
	}
	for _, name := range names {
		if !slices.ContainsFunc(known, func(f feature.Field) bool { return f.Name == name }) {
			return nil, fmt.Errorf("%w: %q in tiles of %s", ErrNoColumn, name, typ)
		}
	}
	return r.columns(ctx, rt, &columnSource{fields: fields, features: func(ctx context.Context, take func(*feature.Feature) error) error {
		return r.records(ctx, rt, take)
	}})
}

// JoinColumns returns properties of the features of a layer that have ids of regions of a type, as
// feature.SameRegionID compares them; of features with one id the first counts. Memory keeps the
// columns of a state if the layer is feature.Versioned. Names in tiles are the given ones behind
// prefix. Otherwise it is like Columns. It reads at most MaxJoined features.
func (r *Reader) JoinColumns(ctx context.Context, typ string, l feature.Layer, prefix string, names []string) ([]*Column, error) {
	rt := r.types[typ]
	if rt == nil {
		return nil, r.unknownType(typ)
	}
	about := l.Info()
	of := &columnSource{prefix: prefix}
	if v, is := l.(feature.Versioned); is {
		var err error
		if of.from, err = v.State(ctx); err != nil {
			return nil, err
		}
	}
	of.live = of.from == 0
	for _, name := range names {
		f, ok := about.Schema.Lookup(name)
		if !ok || f.Kind == feature.Texts {
			return nil, fmt.Errorf("%w: %q of %s", ErrNoColumn, name, about.Name)
		}
		of.fields = append(of.fields, f)
	}
	tooMany := feature.Faultf(feature.ErrTooMuchWork, "%s has more than %d points, from which regions cannot take properties: "+
		"publish only those of the regions", about.Name, MaxJoined)
	if about.Count > MaxJoined {
		return nil, tooMany
	}
	of.features = func(ctx context.Context, take func(*feature.Feature) error) error {
		n := 0
		for f, err := range l.Features(ctx, &feature.Query{Detail: feature.WithoutGeometry}) {
			if err != nil {
				return err
			}
			if n++; n > MaxJoined {
				return tooMany
			}
			if err := take(f); err != nil {
				return err
			}
		}
		return nil
	}
	return r.columns(ctx, rt, of)
}

// MaxJoined bounds the features of a layer whose properties regions get.
const MaxJoined = 500_000

// maxValueBytes bounds the different values of a column.
const maxValueBytes = 64 << 20

// columnSource is where columns come from.
type columnSource struct {
	prefix string
	from   uint64
	live   bool // nothing is kept
	fields feature.Schema
	// features calls take with all features.
	features func(ctx context.Context, take func(*feature.Feature) error) error
}

func (of *columnSource) key(rt *readerType, name string) columnsKey {
	return columnsKey{rt.opened, of.from, of.prefix + name}
}

// columns returns the columns of a source. It reads those together that memory lacks, and keeps each
// by itself, so that no choice of properties is read for itself.
func (r *Reader) columns(ctx context.Context, rt *readerType, of *columnSource) ([]*Column, error) {
	cache := columnCache.Load()
	list := make([]*Column, len(of.fields))
	var missing feature.Schema
	expired := false
	for i, f := range of.fields {
		if !of.live {
			list[i] = cache.Get(of.key(rt, f.Name))
		}
		if list[i].over() {
			list[i], expired = nil, true
		}
		if list[i] == nil {
			missing = append(missing, f)
		}
	}
	if len(missing) == 0 {
		return list, nil
	}
	regions, err := r.numbers(ctx, rt)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, f := range missing {
		names = append(names, f.Name)
	}
	read := func(ctx context.Context) (made []*Column, err error) {
		err = feature.RunHeavy(ctx, func(ctx context.Context, step func(context.Context) error) error {
			made, err = fillColumns(ctx, rt, regions, of, missing, step)
			return err
		})
		return made, err
	}
	made, err := []*Column(nil), error(nil)
	if of.live || expired {
		if made, err = read(ctx); err == nil && expired {
			for i, c := range made {
				cache.Replace(of.key(rt, names[i]), c)
			}
		}
	} else {
		// Requests that lack the same columns share one reading, as the value of its first column.
		key := of.key(rt, names[0])
		var first *Column
		feature.Pause(ctx) // whoever reads them needs a processor
		first, err = cache.Do(ctx, key, func() (*Column, error) {
			shared, cancel := feature.SharedContext(ctx)
			defer cancel()
			if made, err = read(shared); err != nil {
				return nil, err
			}
			for i, c := range made[1:] {
				cache.Add(of.key(rt, names[i+1]), c)
			}
			return made[0], nil
		})
		if err == nil && made == nil { // another request has read the first, and perhaps the others
			if len(missing) == 1 {
				made = []*Column{first}
			} else {
				rest := *of
				rest.fields = missing[1:]
				more, err := r.columns(ctx, rt, &rest)
				if err != nil {
					return nil, err
				}
				made = append([]*Column{first}, more...)
			}
		}
	}
	if err != nil {
		return nil, err
	}
	for i := range list {
		if list[i] == nil {
			list[i], made = made[0], made[1:]
		}
	}
	return list, nil
}

// records calls take with all regions of a type, without their geometries.
func (r *Reader) records(ctx context.Context, rt *readerType, take func(*feature.Feature) error) error {
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
		if err := take(&f); err != nil {
			return err
		}
	}
	return nil
}

// numbers returns the regions of a type by their numbers, from memory if it has them.
func (r *Reader) numbers(ctx context.Context, rt *readerType) (*regionNumbers, error) {
	cache := columnCache.Load()
	key := columnsKey{opened: rt.opened}
	if c := cache.Get(key); c != nil {
		return c.regions, nil
	}
	feature.Pause(ctx) // whoever reads them needs a processor
	c, err := cache.Do(ctx, key, func() (*Column, error) {
		shared, cancel := feature.SharedContext(ctx)
		defer cancel()
		all := &regionNumbers{}
		merged := rt.MergedBelow() > 0
		err := feature.RunHeavy(shared, func(ctx context.Context, step func(context.Context) error) error {
			return r.records(ctx, rt, func(f *feature.Feature) error {
				region := uint32(all.count) //nolint:gosec // regions of a type are below 2^32
				all.numbers = append(all.numbers, numbered{layout.FeatureID(rt.Name, f.ID), region})
				if merged {
					all.numbers = append(all.numbers, numbered{layout.FeatureID(rt.Name, layout.MergedID(f.ID)), region})
				}
				all.count++
				return step(ctx)
			})
		})
		slices.SortFunc(all.numbers, func(a, b numbered) int { return cmp.Compare(a.number, b.number) })
		return &Column{regions: all}, err
	})
	if err != nil {
		return nil, err
	}
	return c.regions, nil
}

// fillColumns reads the values of columns.
func fillColumns(ctx context.Context, rt *readerType, regions *regionNumbers, of *columnSource, fields feature.Schema,
	step func(context.Context) error) ([]*Column, error) {
	list, codes := make([]*Column, len(fields)), make([]map[string]uint32, len(fields))
	var names []string
	for i, f := range fields {
		names = append(names, f.Name)
		f.Name = of.prefix + f.Name
		list[i], codes[i] = &Column{field: f, regions: regions, codes: make([]uint32, regions.count), ends: []uint32{0}}, map[string]uint32{}
	}
	columns := feature.NewColumns(names)
	var value []byte
	return list, of.features(ctx, func(f *feature.Feature) error {
		region, ok := regions.find(layout.FeatureID(rt.Name, f.ID))
		if !ok {
			return step(ctx)
		}
		for i, v := range columns.ValuesOf(f.Properties) {
			c := list[i]
			if value, ok = AppendScalar(value[:0], v); !ok || c.codes[region] > 0 {
				continue
			}
			code, known := codes[i][string(value)]
			if !known {
				if len(c.values)+len(value) > maxValueBytes {
					return &feature.TooMuchWork{Examined: len(c.ends)}
				}
				c.values = append(c.values, value...)
				c.ends = append(c.ends, uint32(len(c.values))) //nolint:gosec // at most maxValueBytes
				code = uint32(len(c.ends) - 1)                 //nolint:gosec // at most the bytes
				codes[i][string(value)] = code
			}
			c.codes[region] = code
			c.cut = c.cut || v.Kind() == feature.Text && len(v.Text()) > MaxColumnBytes
			if !f.Expires.IsZero() && (c.until.IsZero() || f.Expires.Before(c.until)) {
				c.until = f.Expires
			}
		}
		return step(ctx)
	})
}

// DefaultColumnBytes is the memory for Columns unless SetColumnBytes changes it.
const DefaultColumnBytes = 32 << 20

// SetColumnBytes bounds the memory for the Columns of all Readers of the process, in bytes, and
// empties it. Columns that take more are read for each call. An eighth is for Passing.
func SetColumnBytes(most int64) {
	most = max(0, most)
	columnCache.Store(bytecache.NewOfLarge[columnsKey, *Column](most - most/8))
	passingCache.Store(bytecache.NewOfLarge[columnsKey, *Passing](most / 8))
}

var (
	columnCache  atomic.Pointer[bytecache.Cache[columnsKey, *Column]]
	passingCache atomic.Pointer[bytecache.Cache[columnsKey, *Passing]]
)

func init() { SetColumnBytes(DefaultColumnBytes) }

// columnsKey identifies a column of a type of an opened data set, or the regions that pass a filter.
type columnsKey struct {
	opened uint64
	joined uint64 // the state of layers with values; 0 for a column of the type's own
	name   string // "" for the numbers of regions; of a filter its text
}

// Hash returns 0, because one lock guards all columns.
func (columnsKey) Hash() uint64 { return 0 }

// ExtraBytes returns the size of the name.
func (k columnsKey) ExtraBytes() int { return len(k.name) }

// opened counts the types of all data sets that were opened.
var opened atomic.Uint64
