package tiles

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"
	"time"

	"quadrille/cellstore"
	"quadrille/feature"
	"quadrille/quadkey"
	"quadrille/tiles/internal/layout"
)

// Layer returns the regions of a type as features. Their properties are the members of their
// records without the bounds. It lists them in the order of their ids. With a feature.Box it lists
// the regions that have a point in common with the box, even if only on their edges: if a border
// runs along the edge of the box, both its neighbours are listed. A box is in degrees. It may cross
// ±180°, and be a line or a point; an invalid one gives feature.ErrQuery.
//
// Any other area has the regions that share ground with it, and not the neighbours that only touch
// its border. So a region is in itself. The area may be the ground of a region of another Reader. A
// line is in an area if it has a point inside. A line is in a tile or in whole cells if any of its
// points belongs to them, so a line along a tile edge is only in the tile that owns the edge. A
// feature.Tile of the top or the bottom row reaches to the pole. Lines are drawn in the latitudes
// of Mercator only.
//
// Ground is compared exactly as tiles of zoom 13 draw it. With a feature.Border wider than such a
// tile, the comparison is exact to half a step of the grid where oblique edges are cut. If such a
// border is cut at ±180°, it counts as ending there in the comparison with a line. Tiles draw
// coinciding borders of one data set as one. Each data set is drawn separately, so a border that
// two data sets have in common may differ by a metre, and the regions on its two sides may share
// that metre. What is on a line or within a distance is compared to two millimetres, and regions that
// only touch it count. An area with parts that have a Contains, and neither a Border nor Reaches, gives
// errors.ErrUnsupported. Each page reads the rows of the type in the cells of the area again, and keeps the ids that it
// finds: at most one for each region of the type.
//
// The nearest of an area, and instants of the past, are not supported. A mark stays valid for a
// newer data set. The error matches ErrUnknownType.
//
// In a search for the nearest, the regions that hold the position come first, at 0 m. Then come the
// others by the distance to their borders, and lines by the distance to the lines. Distances are
// those of Reader.Nearest, without its bounds. Regions at one distance come in the order of their
// ids. A region too small for the finest grid has no border, and is never found. For each page the
// search reads the rows of the borders again, the nearest first. A long search reads only rows
// within the bounds of regions that it has not returned yet. After 65,536 rows, or Query.MaxExamined,
// it ends with feature.TooMuchWork.
//
// The most important region is the one with the largest bounds, in square degrees. For that order,
// and for the order of a property, all regions of the area are examined; see feature.Query.SelectRanked.
//
// The layer is a feature.Tiler, see Tile, and a feature.Encloser, see At.
func (r *Reader) Layer(typ string) (feature.Layer, error) {
	rt := r.types[typ]
	if rt == nil {
		return nil, r.unknownType(typ)
	}
	return &layer{r, rt}, nil
}

// Layers returns the layers of types, or of all if none is given, in the order of Types.
func (r *Reader) Layers(types ...string) (list []feature.Layer) {
	for _, rt := range r.order {
		if asked(types, rt.Name) {
			list = append(list, &layer{r, rt})
		}
	}
	return list
}

var _ interface {
	feature.Counter
	feature.Tiler
	feature.Encloser
} = (*layer)(nil)

// layer implements feature.Layer.
type layer struct {
	r  *Reader
	rt *readerType
}

func (t *TypeMeta) info() *feature.Info {
	in := &feature.Info{
		Name: t.Name, Title: feature.TitleOf(t.Name), Description: "Regions of the layer " + t.Name + ".",
		Schema: t.schema(), Bounds: boxOf(t.Bounds), Count: int64(t.Regions),
		Can: feature.Abilities{Near: true, Area: true, Importance: true, Sort: true},
	}
	if t.Bounds == [4]float64{} {
		in.Bounds = quadkey.World
	}
	return in
}

// schema describes the properties of regions as far as they are known. Data sets built
// before schemas were stored know only the attributes of tiles.
func (t *TypeMeta) schema() feature.Schema {
	s := slices.Clone(t.Schema)
	if s == nil {
		s = t.tileSchema()
	}
	for i := range s {
		if s[i].Name == layout.TagID {
			s[i].Kind = feature.RegionID
		}
	}
	return s
}

func (t *TypeMeta) tileSchema() feature.Schema {
	kinds := map[string]feature.Kind{"String": feature.Text, "Number": feature.Number, "Boolean": feature.Boolean}
	all := map[string]feature.Kind{"type": feature.Text, layout.TagID: feature.Text, layout.TagName: feature.Text}
	for name, typ := range t.Fields {
		if name != "type" && name != layout.TagMerged { // merged regions have no records
			all[name] = kinds[typ]
		}
	}
	s := make(feature.Schema, 0, len(all))
	for name, kind := range all {
		if kind == feature.Null {
			kind = feature.Any
		}
		s = append(s, feature.Field{Name: name, Kind: kind})
	}
	slices.SortFunc(s, func(a, b feature.Field) int { return strings.Compare(a.Name, b.Name) })
	return s
}

// Info implements feature.Layer.
func (l *layer) Info() *feature.Info { return l.rt.about }

// Get implements feature.Layer.
func (l *layer) Get(ctx context.Context, id string, at time.Time, f *feature.Feature) error {
	if err := l.rt.about.Check(&feature.Query{At: at}); err != nil {
		return err
	}
	if !layout.IDPattern.MatchString(id) { // the key could be too long for the store
		return fmt.Errorf("%w: %.40q is no id of one", ErrNotFound, id)
	}
	row, err := l.r.regionRow(ctx, l.rt, id, true)
	if err != nil {
		return err
	}
	return l.read(f, id, row, &[]byte{}, true)
}

// Features implements feature.Layer.
func (l *layer) Features(ctx context.Context, q *feature.Query) iter.Seq2[*feature.Feature, error] {
	if err := l.rt.about.Check(q); err != nil {
		return feature.SeqOfError(err)
	}
	switch in := q.In.(type) {
	case feature.Box:
		if err := quadkey.Box(in).Check(); err != nil {
			return feature.SeqOfError(fmt.Errorf("%w: %w", feature.ErrQuery, err))
		}
	case feature.Tile:
		if !quadkey.Tile(in).Valid() {
			return feature.SeqOfError(errNoTile(quadkey.Tile(in)))
		}
	}
	switch {
	case q.Near != nil:
		return l.nearest(ctx, q)
	case q.Order != feature.Order{}:
		return l.ranked(ctx, q)
	case len(q.After) > 0 && !layout.IDPattern.Match(q.After):
		return feature.SeqOfError(errNoMark())
	}
	return q.Select(ctx, func(consider func(*feature.Feature, bool) error) error {
		return l.answer(ctx, q, consider).run()
	})
}

func errNoMark() error { return feature.BadCursor("it is not one of regions") }

// Count implements feature.Counter for two kinds of queries that need no records: all regions, and
// the regions in an area other than a box or tile. For any other query it returns
// feature.Unsupported.
func (l *layer) Count(ctx context.Context, q *feature.Query) (int64, error) {
	if q.Near == nil && q.Filter == nil && q.At.IsZero() {
		switch q.In.(type) {
		case nil:
			return l.rt.about.Count, nil
		case feature.Box, feature.Tile:
		default:
			found, err := l.r.sharing(ctx, l.rt, q.In, q.Step)
			return int64(len(found)), err
		}
	}
	return 0, feature.Unsupported("count without a list")
}

// ranked yields the most important regions, or the first ones by a property.
func (l *layer) ranked(ctx context.Context, q *feature.Query) iter.Seq2[*feature.Feature, error] {
	r := feature.Ranking{
		Compare: func(a, b feature.Mark) int { return feature.CompareRegionIDs(a, b) },
		Geometry: func(f *feature.Feature) (err error) {
			f.Geometry, err = l.border(ctx, f.ID)
			return err
		},
	}
	if q.Order.Importance {
		r.Rank = func(f *feature.Feature) uint64 { return ^math.Float64bits(f.Bounds.SquareDegrees()) }
	}
	return q.SelectRanked(ctx, r, func(own *feature.Query, consider func(*feature.Feature, bool) error) error {
		if _, all := l.rt.about.Schema.ForIndex(own.Filter); all { // no filter asks for borders
			own.Detail = feature.WithoutGeometry
		}
		return l.answer(ctx, own, consider).run()
	})
}

// nearRows bounds the seeks of a search for the nearest regions.
const nearRows = 65_536

// nearest yields the nearest regions. The mark of a region is its distance in 8 bytes and its id.
func (l *layer) nearest(ctx context.Context, q *feature.Query) iter.Seq2[*feature.Feature, error] {
	near := *q.Near
	if near.MaxM == 0 {
		near.MaxM = math.Inf(1)
	}
	after, behind := -1.0, ""
	if len(q.After) > 0 {
		if len(q.After) <= distanceSize || !layout.IDPattern.Match(q.After[distanceSize:]) {
			return feature.SeqOfError(errNoMark())
		}
		after, behind = math.Float64frombits(binary.BigEndian.Uint64(q.After)), string(q.After[distanceSize:])
	}
	// In this form the condition also refuses NaN.
	switch err := near.Check(); {
	case err != nil:
		return feature.SeqOfError(fmt.Errorf("%w: %w", feature.ErrQuery, err))
	case !(near.MinM >= 0 && near.MinM <= near.MaxM) || math.IsInf(q.Near.MaxM, 0):
		return feature.SeqOfError(feature.BadQuery("a ring from %v to %v m: give metres from 0 on, the least first, or 0 for no bound",
			q.Near.MinM, q.Near.MaxM))
	case len(q.After) > 0 && !(after >= 0):
		return feature.SeqOfError(errNoMark())
	}
	return q.Select(ctx, func(consider func(*feature.Feature, bool) error) error {
		s := l.r.scratch.Get().(*scratch)
		defer l.r.scratch.Put(s)
		n := newNearest(descend(ctx, s, l.rt, cmp.Or(q.MaxExamined, nearRows)), near.Position, near.MaxM)
		n.step, n.reader = q.Step, l.r
		inside, err := l.r.At(ctx, near.Lat, near.Lon, l.rt.Name)
		for i := range inside {
			n.see([]byte(inside[i].ID), nil, 0)
		}
		for a := l.answer(ctx, q, consider); err == nil; {
			var f *found
			switch f, err = n.next(); {
			case errors.Is(err, errTooManyRows):
				return &feature.TooMuchWork{Examined: n.seeks}
			case err != nil:
				return err
			case f == nil || f.metres > near.MaxM:
				return nil
			case f.metres < near.MinM || f.metres < after || f.metres == after && feature.CompareRegionIDs(f.id, behind) <= 0:
				continue
			}
			err = a.near(f)
		}
		return err
	})
}

const distanceSize = 8 // bytes of the distance in a mark

// near considers a region that the search for the nearest found.
func (a *answer) near(f *found) error {
	if err := a.recorded(f.id); err != nil {
		return err
	}
	a.f.DistanceM = f.metres
	a.f.Mark = append(binary.BigEndian.AppendUint64(a.f.Mark[:0], math.Float64bits(f.metres)), a.f.ID...)
	return a.one(true, false)
}

// recorded reads the record of a region that is drawn.
func (a *answer) recorded(id string) error {
	row, err := a.r.regionRow(a.ctx, a.rt, id, false)
	if errors.Is(err, ErrNotFound) {
		return fmt.Errorf("%w: %s %s is drawn and has no record", ErrCorrupt, a.rt.Name, id)
	}
	if err != nil {
		return err
	}
	return a.read(&a.f, id, row, &a.members, false)
}

// screen returns the part of a query's filter that needs only properties. Reading a border takes
// much longer than reading a record, so borders are read only for regions that pass this part.
func (l *layer) screen(q *feature.Query) feature.Filter {
	if q.Filter == nil || q.Detail != feature.WithGeometry {
		return nil
	}
	if screen, _ := l.rt.about.Schema.ForIndex(q.Filter); screen != nil {
		return screen
	}
	return nil
}

// answer is the state of one query.
type answer struct {
	*layer
	ctx      context.Context
	q        *feature.Query
	consider func(*feature.Feature, bool) error
	screen   feature.Filter // nil lets all pass
	f        feature.Feature
	members  []byte
}

// answer begins the answer to a query.
func (l *layer) answer(ctx context.Context, q *feature.Query, consider func(*feature.Feature, bool) error) *answer {
	return &answer{layer: l, ctx: ctx, q: q, consider: consider, screen: l.screen(q)}
}

// run considers regions in the layer's order.
func (a *answer) run() error {
	switch in := a.q.In.(type) {
	case nil:
		return a.scan()
	case feature.Box:
		return a.within(quadkey.Box(in), windowOf(quadkey.Box(in)))
	case feature.Tile:
		return a.within(boxOfTile(quadkey.Tile(in)), windowOfTile(quadkey.Tile(in), a.rt.IsLines))
	}
	found, err := a.r.sharing(a.ctx, a.rt, a.q.In, a.q.Step)
	if err != nil {
		return err
	}
	return a.r.eachNamed(a.ctx, a.rt, found, string(a.q.After), func(rec *record) error {
		rec.feature(&a.f, &a.members)
		return a.one(true, false)
	})
}

// scan considers all regions.
func (a *answer) scan() error {
	// Reading all borders in a row is faster than reading them one by one.
	whole := a.q.Detail == feature.WithGeometry && a.screen == nil
	for row, err := range a.r.scanRegions(a.ctx, a.rt, string(a.q.After), whole) {
		if err != nil {
			return err
		}
		if err := a.read(&a.f, string(row.Key[1:]), row, &a.members, whole); err != nil {
			return err
		}
		if err := a.one(true, whole); err != nil {
			return err
		}
	}
	return nil
}

// within considers the regions that may meet a window and a box around it.
func (a *answer) within(box quadkey.Box, win window) error {
	w := a.r.newWithin(a.ctx, box, win)
	defer w.release()
	w.after, w.step = string(a.q.After), a.q.Step
	return w.each(a.rt, func(rec *record, meets bool) error {
		rec.feature(&a.f, &a.members)
		return a.one(meets, false)
	})
}

// one considers the region in f. If the region may be in the answer, it first reads the missing
// parts of the region.
func (a *answer) one(in, whole bool) (err error) {
	if in && a.screen != nil {
		if in, err = a.screen.Match(a.ctx, &a.f); err != nil {
			return err
		}
	}
	if in && !whole && a.q.Detail == feature.WithGeometry {
		if a.f.Geometry, err = a.border(a.ctx, a.f.ID); err != nil {
			return err
		}
	}
	return a.consider(&a.f, in)
}

// read sets f to the feature of a region, with its geometry or without. The memory of its
// properties is members.
func (l *layer) read(f *feature.Feature, id string, row *cellstore.Row, members *[]byte, whole bool) error {
	value, _ := row.Value(layout.FamilyRecord, nil)
	rec, err := l.rt.parseRecord(id, value)
	if err != nil {
		return err
	}
	rec.feature(f, members)
	if whole {
		f.Geometry, err = l.geometry(id, row)
	}
	return err
}

// border reads the geometry of a region.
func (l *layer) border(ctx context.Context, id string) (feature.Geometry, error) {
	row, err := l.r.regionRow(ctx, l.rt, id, true)
	if err != nil {
		return feature.NoGeometry, err
	}
	return l.geometry(id, row)
}

// geometry returns the geometry of a region from its row. A region too small for the finest
// grid has none.
func (l *layer) geometry(id string, row *cellstore.Row) (feature.Geometry, error) {
	g, ok := row.Value(layout.FamilyGeometry, nil)
	switch {
	case !ok:
		return feature.NoGeometry, nil
	case len(g) < 2 || g[0] != '{' || g[len(g)-1] != '}':
		return feature.NoGeometry, fmt.Errorf("%w: geometry of %s %s", ErrCorrupt, l.rt.Name, id)
	}
	return feature.GeoJSONGeometry(g), nil
}

// feature sets f to a region without its geometry. The memory of its properties is members.
func (rec *record) feature(f *feature.Feature, members *[]byte) {
	*members = append(append((*members)[:0], rec.before...), rec.after...)
	*f = feature.Feature{
		ID: rec.id, Position: middle(rec.bounds), Bounds: boxOf(rec.bounds), Geometry: feature.NoGeometry,
		Properties: feature.CompactProperties(*members), Mark: append(f.Mark[:0], rec.id...),
	}
}

// middle returns the middle of bounds.
func middle(b [4]float64) quadkey.Position {
	s := spanOf(b[0], b[2])
	lon := s.start + s.width/2
	if lon > 180 {
		lon -= 360
	}
	round := func(v float64) float64 { return math.Round(v*1e7) / 1e7 } // sums have more digits than bounds
	return quadkey.Position{Lat: round((b[1] + b[3]) / 2), Lon: round(lon)}
}

// QueryArea returns the ground of a region as an area for queries of features, with borders. Its
// Cover returns the errors of Reader.Cover. A line has no ground, because no point is in it: its
// Cover is empty.
func (r *Reader) QueryArea(typ, id string) feature.Area { return area{r, typ, id} }

type area struct {
	r       *Reader
	typ, id string
}

// String implements feature.Area.
func (a area) String() string { return "region " + a.typ + "/" + a.id }

// Cover implements feature.Area.
func (a area) Cover(ctx context.Context, from quadkey.Cell, fn func(p *feature.AreaPart) error) error {
	var part feature.AreaPart
	var tile *CoveredTile
	var outline feature.Border
	contains := func(at quadkey.Position) (bool, error) { return tile.Contains(at.Lat, at.Lon) }
	part.Border = func() (*feature.Border, error) { return &outline, tile.border(&outline) }
	return a.r.Cover(ctx, a.typ, a.id, from, func(c *CoveredTile) error {
		tile = c
		part.Cells.First, part.Cells.Last = c.Tile.CellRange()
		if part.Contains = contains; c.Whole {
			part.Contains = nil
		}
		return fn(&part)
	})
}
