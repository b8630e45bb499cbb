package tiles

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"sync"

	"quadrille/cellstore"
	"quadrille/feature"
	"quadrille/quadkey"
	"quadrille/tiles/internal/cells"
	"quadrille/tiles/internal/grid"
	"quadrille/tiles/internal/layout"
	"quadrille/tiles/mvt"
)

var (
	// ErrUnknownType is matched when the data set lacks a region type.
	ErrUnknownType = errors.New("unknown region type")
	// ErrNotFound is matched when no region has the id.
	ErrNotFound = feature.NotFound("region not found")
	// ErrTooLarge is matched when the part of a region in a box is too much for
	// one answer.
	ErrTooLarge = errors.New("too much for one answer")
	// ErrCorrupt is matched when a stored row cannot be decoded.
	ErrCorrupt = cellstore.ErrCorrupt
)

// Reader answers queries from one data set, or from several that Join combined. Any number of
// goroutines may use it until its stores are closed.
type Reader struct {
	types   map[string]*readerType
	order   []*readerType
	list    []TypeMeta
	scratch sync.Pool // *scratch
}

type readerType struct {
	TypeMeta
	*tables
	mvt, label, cells string // families
	about             *feature.Info
	stamp             uint32 // of the build; 0 without finished answers
	seal              cells.Seal
	answers           *answerIndex
	opened            uint64 // a number of its own
}

// scratch is the memory of one call.
type scratch struct {
	rows     []cellstore.Row
	labels   []cellstore.Row // see seekLabels
	families []string
	types    []*readerType
	view     mvt.LayerView
	layer    layout.LayerWriter
	path     []grid.Point // decoded
	line     []grid.Point // to be encoded
	edges    []grid.Edge
	clip     grid.Clipper

	// These are for lookups at a point. See Reader.answers.
	blocks     []*cells.Block // by types
	span       uint64
	missing    []*readerType
	places     []int
	part       cellstore.Row
	rowAnswers cells.Builder
	named      []cells.Region   // in rowAnswers
	numbers    map[string]int32 // in named, by id
	in         []uint32
	hits       []hit
}

// Open binds a reader to the store of a data set that meta describes. For another layout the error
// matches cellstore.ErrLayout.
func Open(ctx context.Context, store cellstore.Store, meta Meta) (*Reader, error) {
	if err := cellstore.CheckLayout("boundaries", meta.SchemaVersion, OldestSchemaVersion, SchemaVersion,
		"run ingest boundaries"); err != nil {
		return nil, err
	}
	stored := new(tables)
	var err error
	if stored.bounds, err = store.Table(ctx, layout.TableBounds); err != nil {
		return nil, err
	}
	if stored.regions, err = store.Table(ctx, layout.TableRegions); err != nil {
		return nil, err
	}
	types := make([]*readerType, 0, len(meta.Types))
	for _, t := range meta.Types {
		stored.add(&t)
		types = append(types, &readerType{
			TypeMeta: t, tables: stored, about: t.info(),
			mvt: t.Name + layout.FamilyMVT, label: t.Name + layout.FamilyLabel, cells: t.Name + layout.FamilyCells,
			stamp: meta.Stamp, seal: cells.NewSeal(meta.Stamp, t.Name), answers: new(answerIndex), opened: opened.Add(1),
		})
	}
	return newReader(types), nil
}

// newReader returns a reader of types, each with a name of its own.
func newReader(types []*readerType) *Reader {
	r := &Reader{types: make(map[string]*readerType, len(types)), order: types}
	r.scratch.New = func() any { return new(scratch) }
	for _, rt := range types {
		r.types[rt.Name] = rt
		r.list = append(r.list, rt.TypeMeta)
	}
	return r
}

// OpenPublished opens published boundaries, such as a generation of package dataset.
func OpenPublished(ctx context.Context, p cellstore.Published) (*Reader, error) {
	return cellstore.OpenPublished(ctx, p, SchemaVersion, Open)
}

// Types describes the region types, in the order of their bytes and data set by data set. The
// caller must not change them.
func (r *Reader) Types() []TypeMeta { return slices.Clip(r.list) }

// Has reports whether there is a type with the given name.
func (r *Reader) Has(typ string) bool { return r.types[typ] != nil }

// Check returns nil if there is a type with the given name. Otherwise its error matches
// ErrUnknownType.
func (r *Reader) Check(typ string) error {
	if r.Has(typ) {
		return nil
	}
	return r.unknownType(typ)
}

// Selector selects from the layer of a type in a tile: all regions, or one region.
type Selector struct {
	Type string
	ID   string // empty for all; as feature.SameRegionID compares them
	// Columns are properties that polygons and lines of the type have in tiles beside their own, with
	// different names. They are the same in all selectors of a type.
	Columns []*Column
	// Only are the regions that tiles have; nil for all. It is the same in all selectors of a type. Of a border
	// between a region that tiles have and another one, the id of the other is left out.
	Only *Passing
}

// among reports whether an id is one of ids. A nil list means all ids.
func among[T ~string | ~[]byte](ids []string, id T) bool {
	return ids == nil || slices.ContainsFunc(ids, func(asked string) bool { return feature.SameRegionID(id, asked) })
}

// wanted is what selectors select of one type.
type wanted struct {
	typ     string
	ids     []string // nil for all
	only    *Passing
	columns columnSet
}

func wantedOf(layers []Selector, typ string) wanted {
	w := wanted{typ: typ}
	for _, l := range layers {
		if l.Type == typ {
			w.only, w.columns = l.Only, l.Columns
			if l.ID == "" {
				w.ids = nil
				return w
			}
			w.ids = append(w.ids, l.ID)
		}
	}
	return w
}

// all reports whether all regions are selected.
func (w *wanted) all() bool { return w.ids == nil && w.only == nil }

// has reports whether the region with an id is selected.
func (w *wanted) has(id []byte) bool { return among(w.ids, id) && w.only.hasID(w.typ, id) }

// selected returns the types that the selectors name, each once and in the data
// set's order.
func (r *Reader) selected(dst []*readerType, layers []Selector) ([]*readerType, error) {
	for _, l := range layers {
		if r.types[l.Type] == nil {
			return nil, r.unknownType(l.Type)
		}
	}
	for _, t := range r.order {
		if slices.ContainsFunc(layers, func(l Selector) bool { return l.Type == t.Name }) {
			dst = append(dst, t)
		}
	}
	return dst, nil
}

func (r *Reader) unknownType(typ string) error {
	names := make([]string, len(r.order))
	for i, t := range r.order {
		names[i] = t.Name
	}
	return fmt.Errorf("%w: %q, this data set has %q", ErrUnknownType, typ, names)
}

// seek reads the rows that answer tile t, one per type and with one seek each. It reads the GeoJSON
// or the vector families; only the vector families have lines. A type without content in the tile
// gets an empty Row. t must be of zoom 13 or less.
func (r *Reader) seek(ctx context.Context, s *scratch, t quadkey.Tile, types []*readerType, vector bool) error {
	s.families = s.families[:0]
	for _, rt := range types {
		if vector || rt.IsLines {
			s.families = append(s.families, rt.mvt)
		} else {
			s.families = append(s.families, rt.Name)
		}
	}
	for len(s.rows) < len(types) {
		s.rows = append(s.rows, cellstore.Row{})
	}
	key := t.Key()
	if err := nextEach(ctx, t, types, key[:], s.families, s.rows); err != nil {
		return err
	}
	for i := range types {
		row := &s.rows[i]
		if row.Empty() {
			continue
		}
		if bytes.Equal(row.Key, key[:]) {
			continue
		}
		// The row of another tile answers only if it is a leaf above t.
		above, ok := layout.RowTile(row.Key)
		if !ok || !above.Contains(t) || !isLeaf(row) {
			row.Reset()
		}
	}
	return nil
}

func splitMark(value []byte) (mark byte, rest []byte, err error) {
	if len(value) == 0 {
		return 0, nil, fmt.Errorf("%w: an empty value in %s", ErrCorrupt, layout.TableBounds)
	}
	return value[0], value[1:], nil
}

// AppendGeoJSON appends the regions of a tile, cut to it, as GeoJSON Features separated by commas.
// Geometry is exact at zoom 13 and deeper. At lower zooms it is on the grid of the zoom. If nothing
// is appended, the tile is empty. Errors match ErrUnknownType or come from the store.
func (r *Reader) AppendGeoJSON(ctx context.Context, dst []byte, t quadkey.Tile, layers []Selector) ([]byte, error) {
	s := r.scratch.Get().(*scratch)
	defer r.scratch.Put(s)
	var err error
	if s.types, err = r.selected(s.types[:0], layers); err != nil {
		return dst, err
	}
	base := t.Ancestor(grid.MaxZoom)
	deep := base != t
	if err := r.seek(ctx, s, base, s.types, deep); err != nil {
		return dst, err
	}
	start := len(dst)
	for i, rt := range s.types {
		w := wantedOf(layers, rt.Name)
		if deep || rt.IsLines {
			if dst, err = r.cutGeoJSON(dst, start, s, rt, &s.rows[i], base, t, &w); err != nil {
				return dst, err
			}
			continue
		}
		for c := range s.rows[i].Cells {
			cell := &s.rows[i].Cells[c]
			if !w.has(cell.Qualifier) {
				continue
			}
			mark, text, err := splitMark(cell.Value)
			if err != nil {
				return dst, err
			}
			dst = w.columns.appendFeature(separate(dst, start), text, rt.Name)
			if mark == layout.MarkLeaf {
				dst = append(layout.AppendSquare(dst, t), '}')
			}
		}
	}
	return dst, nil
}

// separate appends a comma unless nothing has been appended since start.
func separate(dst []byte, start int) []byte {
	if len(dst) > start {
		dst = append(dst, ',')
	}
	return dst
}

func (r *Reader) cutGeoJSON(dst []byte, start int, s *scratch, rt *readerType, row *cellstore.Row, base, t quadkey.Tile,
	w *wanted) ([]byte, error) {
	if row.Empty() {
		return dst, nil
	}
	mark, tile, err := splitMark(row.Cells[0].Value)
	if err != nil {
		return dst, err
	}
	// Positions are in world units of t, which beyond zoom 13 are finer than those of the row.
	world := grid.WorldSize * float64(uint64(1)<<(t.Z-base.Z)) / math.Exp2(float64(grid.MaxZoom-base.Z))
	ox, oy := float64(t.X)*mvt.Extent, float64(t.Y)*mvt.Extent
	position := func(dst []byte, p grid.Point) []byte {
		return layout.AppendDegrees(dst, (ox+float64(p.X))/world*360-180, layout.MercatorLat((oy+float64(p.Y))/world*grid.WorldSize), 7)
	}
	head := func(f mvt.Feature, id, name []byte) {
		dst = w.columns.insert(layout.AppendFeatureHead(separate(dst, start), rt.Name, string(id), string(name), 0), f.ID)
	}
	if rt.IsLines {
		_, err = s.eachIn(tile, false, func(f mvt.Feature) error {
			id, name := s.view.StringTag(f, layout.TagID), s.view.StringTag(f, layout.TagName)
			if !w.has(id) {
				return nil
			}
			var lines [][]grid.Point
			err := s.cropLines(f, base, t, 0, func(l []grid.Point) { lines = append(lines, slices.Clone(l)) })
			if err == nil && len(lines) > 0 {
				head(f, id, name)
				dst = append(layout.AppendLines(dst, lines, position), '}')
			}
			return err
		})
		return dst, err
	}
	err = s.eachFeature(tile, w.ids, func(f mvt.Feature, id, name []byte) error {
		if !w.only.has(f.ID) {
			return nil
		}
		var polys []grid.Polygon
		if mark != layout.MarkLeaf {
			if polys, err = s.crop(f, base, t, false); err != nil || len(polys) == 0 {
				return err
			}
		}
		head(f, id, name)
		if mark == layout.MarkLeaf {
			dst = layout.AppendSquare(dst, t)
		} else {
			dst = layout.AppendMultiPolygon(dst, polys, position)
		}
		dst = append(dst, '}')
		return nil
	})
	return dst, err
}

// Region returns the record of a region as a JSON object. With geometry set, its member "geometry"
// is the whole geometry: a GeoJSON Polygon or MultiPolygon, or for a type of lines a LineString or
// MultiLineString. Region compares ids as feature.SameRegionID does; RecordID returns the record's
// own id. Errors match ErrUnknownType or ErrNotFound, or come from the store.
func (r *Reader) Region(ctx context.Context, typ, id string, geometry bool) ([]byte, error) {
	rt := r.types[typ]
	if rt == nil {
		return nil, r.unknownType(typ)
	}
	row, err := r.regionRow(ctx, rt, id, geometry)
	if err != nil {
		return nil, err
	}
	record, ok := row.Value(layout.FamilyRecord, nil)
	if !ok || len(record) < 2 || record[len(record)-1] != '}' {
		return nil, fmt.Errorf("%w: record of %s %s", ErrCorrupt, typ, id)
	}
	if g, ok := row.Value(layout.FamilyGeometry, nil); ok && geometry {
		record = append(record[:len(record)-1:len(record)-1], `,"geometry":`...)
		record = append(append(record, g...), '}')
	}
	return record, nil
}

// regionRow reads the row of a region: the record and, if requested, the geometry.
func (r *Reader) regionRow(ctx context.Context, rt *readerType, id string, geometry bool) (*cellstore.Row, error) {
	sel, row := regionSelection(geometry), new(cellstore.Row)
	ok, err := rt.regions.Get(ctx, layout.RegionKey(rt.KeyByte, id), &sel, row)
	if err == nil && !ok {
		err = fmt.Errorf("%w: there is no %s %q: look its id up with the regions at a point", ErrNotFound, rt.Name, id)
	}
	return row, err
}

func regionSelection(geometry bool) cellstore.Selection {
	sel := cellstore.Selection{Families: []string{layout.FamilyRecord}}
	if geometry {
		sel.Families = append(sel.Families, layout.FamilyGeometry)
	}
	return sel
}

// record reads the record of a region.
func (r *Reader) record(ctx context.Context, typ, id string) (rec record, err error) {
	rt := r.types[typ]
	if rt == nil {
		return rec, r.unknownType(typ)
	}
	row, err := r.regionRow(ctx, rt, id, false)
	if err != nil {
		return rec, err
	}
	value, _ := row.Value(layout.FamilyRecord, nil)
	return rt.parseRecord(id, value)
}

// Extent adds the bounds of layers and of regions to an extent. Errors match ErrUnknownType, or
// come from the store. If some regions do not exist, the error matches ErrNotFound, and the others
// have still been added.
func (r *Reader) Extent(ctx context.Context, layers []Selector, e *quadkey.Extent) error {
	var missing error
	for _, l := range layers {
		rt := r.types[l.Type]
		if rt == nil {
			return r.unknownType(l.Type)
		}
		b := rt.Bounds
		if l.ID != "" {
			rec, err := r.record(ctx, l.Type, l.ID)
			if errors.Is(err, ErrNotFound) {
				missing = errors.Join(missing, err)
				continue
			}
			if err != nil {
				return err
			}
			b = rec.bounds
		}
		e.Add(boxOf(b))
	}
	return missing
}

// scanRegions yields the rows of the regions of a type whose keys follow an id. "" yields all.
func (r *Reader) scanRegions(ctx context.Context, rt *readerType, after string, geometry bool) iter.Seq2[*cellstore.Row, error] {
	span := cellstore.Prefix(layout.RegionKey(rt.KeyByte, ""))
	if after != "" {
		span.From = append(layout.RegionKey(rt.KeyByte, after), 0)
	}
	return rt.regions.Scan(ctx, cellstore.Scan{Ranges: []cellstore.Range{span}, Selection: regionSelection(geometry)})
}
