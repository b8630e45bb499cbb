package tiles

import (
	"context"
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

// Layer has the regions of a type as features. Their properties are the members of their records
// without the bounds. It lists them in the order of their ids. With a feature.Box it lists those
// that have a point in common with it, even if only on their edges: both neighbours of a border
// that runs along the edge of the box. A box is in degrees. It may cross ±180°, and be a line or
// a point; an invalid one gives feature.ErrQuery. Other areas, other orders, the nearest and
// instants of the past are not supported. A mark stays valid for a newer data set. The error
// matches ErrUnknownType.
func (r *Reader) Layer(typ string) (feature.Layer, error) {
	rt := r.types[typ]
	if rt == nil {
		return nil, r.unknownType(typ)
	}
	return &layer{r, rt}, nil
}

// layer implements feature.Layer.
type layer struct {
	r  *Reader
	rt *readerType
}

func (t *TypeMeta) info() *feature.Info {
	in := &feature.Info{
		Name: t.Name, Title: feature.Title(t.Name), Description: "Regions of the layer " + t.Name + ".",
		Schema: t.schema(), Bounds: boxOf(t.Bounds), Count: int64(t.Regions),
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
	box, boxed := q.In.(feature.Box)
	if err := l.rt.about.Check(q); err != nil {
		return feature.Fail(err)
	}
	if len(q.After) > 0 && !layout.IDPattern.Match(q.After) {
		return feature.Fail(feature.BadCursor("it is not one of regions"))
	}
	if err := quadkey.Box(box).Check(); boxed && err != nil {
		return feature.Fail(fmt.Errorf("%w: %w", feature.ErrQuery, err))
	}
	return q.Select(ctx, func(consider func(*feature.Feature, bool) error) error {
		a := answer{layer: l, ctx: ctx, q: q, consider: consider, screen: l.screen(q)}
		if boxed {
			return a.within(quadkey.Box(box))
		}
		return a.scan()
	})
}

// screen is the part of a query's filter that concerns properties alone. A border takes much
// longer to read than a record, so borders are read only of regions that pass it.
func (l *layer) screen(q *feature.Query) feature.Filter {
	if q.Filter == nil || q.Detail != feature.Whole {
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

// scan considers all regions.
func (a *answer) scan() error {
	// Reading all borders in a row is faster than reading them one by one.
	whole := a.q.Detail == feature.Whole && a.screen == nil
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

// within considers the regions that may meet a box.
func (a *answer) within(box quadkey.Box) error {
	w := a.r.newWithin(a.ctx, box)
	defer w.release()
	w.after, w.step = string(a.q.After), a.q.Step
	return w.each(a.rt, func(rec *record, meets bool) error {
		rec.feature(&a.f, &a.members)
		return a.one(meets, false)
	})
}

// one considers the region in f. If the region may be in the answer, it first reads what is
// missing of it.
func (a *answer) one(in, whole bool) (err error) {
	if in && a.screen != nil {
		if in, err = a.screen.Match(a.ctx, &a.f); err != nil {
			return err
		}
	}
	if in && !whole && a.q.Detail == feature.Whole {
		row, err := a.r.regionRow(a.ctx, a.rt, a.f.ID, true)
		if err == nil {
			a.f.Geometry, err = a.geometry(a.f.ID, row)
		}
		if err != nil {
			return err
		}
	}
	return a.consider(&a.f, in)
}

// read writes the feature of a region over f, with its geometry or without. Its properties are
// in members.
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
	return feature.GeoJSON(g), nil
}

// feature writes a region without its geometry over f. Its properties are in members.
func (rec *record) feature(f *feature.Feature, members *[]byte) {
	*members = append(append((*members)[:0], rec.before...), rec.after...)
	*f = feature.Feature{
		ID: rec.id, Position: middle(rec.bounds), Bounds: boxOf(rec.bounds), Geometry: feature.NoGeometry,
		Properties: feature.Compact(*members), Mark: append(f.Mark[:0], rec.id...),
	}
}

// middle is that of bounds.
func middle(b [4]float64) quadkey.Position {
	s := spanOf(b[0], b[2])
	lon := s.start + s.width/2
	if lon > 180 {
		lon -= 360
	}
	round := func(v float64) float64 { return math.Round(v*1e7) / 1e7 } // sums have more digits than bounds
	return quadkey.Position{Lat: round((b[1] + b[3]) / 2), Lon: round(lon)}
}

// Area returns the ground of a region as an area for queries of features. Errors of its
// Cover are those of Reader.Cover.
func (r *Reader) Area(typ, id string) feature.Area { return area{r, typ, id} }

type area struct {
	r       *Reader
	typ, id string
}

// String implements feature.Area.
func (a area) String() string { return "region " + a.typ + "/" + a.id }

// Cover implements feature.Area.
func (a area) Cover(ctx context.Context, from quadkey.Cell, fn func(p *feature.Part) error) error {
	var part feature.Part
	var tile *Covered
	contains := func(at quadkey.Position) (bool, error) { return tile.Contains(at.Lat, at.Lon) }
	return a.r.Cover(ctx, a.typ, a.id, from, func(c *Covered) error {
		tile = c
		part.Cells.First, part.Cells.Last = c.Tile.CellRange()
		if part.Contains = contains; c.Whole {
			part.Contains = nil
		}
		return fn(&part)
	})
}
