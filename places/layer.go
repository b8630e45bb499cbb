package places

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"strconv"
	"time"

	"quadrille/cellstore"
	"quadrille/feature"
	"quadrille/places/internal/near"
	"quadrille/quadkey"
)

var _ interface {
	feature.Counter
	feature.Drawer
} = (*Finder)(nil)

// schema is the schema of a place. It lacks map_population and the members of Place.Extra, because the caller that
// adds them knows them.
var schema = feature.Schema{
	{Name: "admin1", Kind: feature.Text},
	{Name: "admin1_name", Kind: feature.Text},
	{Name: "class", Kind: feature.Text, Upper: true},
	{Name: "code", Kind: feature.Text, Upper: true},
	{Name: "country", Kind: feature.Text, Upper: true},
	{Name: "id", Kind: feature.Integer},
	{Name: "lat", Kind: feature.Number},
	{Name: "lon", Kind: feature.Number},
	{Name: "name", Kind: feature.Text},
	{Name: "population", Kind: feature.Integer},
	{Name: "timezone", Kind: feature.Text},
}

// info describes places as a layer.
func (m *Meta) info() feature.Info {
	return feature.Info{
		Name: "places", Title: "Places", Description: "Cities, towns, villages and other named places.",
		Schema: schema, Bounds: near.BoxOf(m.Bounds), Count: m.Places, AllPoints: true,
		Can: feature.Abilities{Near: true, Area: true, Importance: true}, Fingerprint: m.Fingerprint,
		Drawing: &drawing,
	}
}

// Info implements feature.Layer.
func (f *Finder) Info() *feature.Info { return &f.about }

// show sets f to the feature of a place. The feature points to the memory of the place.
func (p *place) show(f *feature.Feature) {
	f.ID = strconv.FormatUint(uint64(p.id), 10)
	p.showAs(f)
}

// showAs does the same as show for a feature that already has its id.
func (p *place) showAs(f *feature.Feature) {
	f.Number = uint64(p.id)
	f.Lat, f.Lon = toDegrees(p.lat), toDegrees(p.lon)
	f.Properties = feature.CompactProperties(p.members)
}

// Get implements feature.Layer.
func (f *Finder) Get(ctx context.Context, id string, at time.Time, into *feature.Feature) error {
	if !at.IsZero() {
		return f.about.Check(&feature.Query{At: at})
	}
	n, err := strconv.ParseUint(id, 10, 32)
	if err != nil || strconv.FormatUint(n, 10) != id {
		return fmt.Errorf("%w: id %.40q", ErrNotFound, id)
	}
	row := f.rows.Get().(*cellstore.Row)
	defer f.rows.Put(row)
	if err := f.getInfo(ctx, uint32(n), selectMembers, row); err != nil {
		return err
	}
	*into = feature.Feature{ID: id, Number: n, Properties: feature.CompactProperties(slices.Clone(row.Cells[0].Value))}
	number := func(name string) float64 {
		if v, ok := into.Properties.Lookup(name); ok {
			if x, ok := v.Number(); ok {
				return x
			}
		}
		return math.NaN()
	}
	into.Lat, into.Lon = number("lat"), number("lon")
	if !into.Position.Valid() || number("id") != float64(n) {
		return damaged(uint32(n))
	}
	return nil
}

// Features implements feature.Layer. Without an order it yields places by quadkey and then by id,
// in any number. A search for the nearest or the most important places yields at most MaxLimit + 1.
// The answers are exact everywhere: across ±180°, at the poles and beyond ±85.0511°.
//
// An index knows class, code, country and a least population, or with Kinds country and what they
// tell. A search with other filters that few places pass looks at most at MaxExamined places. A
// search for the most important then yields those that it has found so far before its error.
func (f *Finder) Features(ctx context.Context, q *feature.Query) iter.Seq2[*feature.Feature, error] {
	if err := near.CheckQuery(&f.about, q); err != nil {
		return feature.SeqOfError(err)
	}
	switch {
	case q.Near != nil:
		return f.around(ctx, q)
	case q.Order.Importance:
		return f.important(ctx, q)
	}
	return f.list(ctx, q)
}

// around yields the places nearest to a point.
func (f *Finder) around(ctx context.Context, q *feature.Query) iter.Seq2[*feature.Feature, error] {
	after, err := parseMark(q.After)
	if err != nil {
		return feature.SeqOfError(err)
	}
	reach, after, err := near.CheckRing(q.Near, after)
	if err != nil {
		return feature.SeqOfError(err)
	}
	return func(yield func(*feature.Feature, error) bool) {
		flt, rest, possible := filterOf(q.Filter, f.Kinds)
		if !possible {
			return
		}
		if rest == nil && f.nearest.answers(q, &flt, after) && f.listed(ctx, q, reach, yield) {
			return
		}
		s := f.nearbys.Get().(*nearby)
		defer f.nearbys.Put(s)
		s.lat, s.lon = q.Near.Lat, q.Near.Lon
		s.begin(f, flt, q.Limit, reach, after)
		s.answer(ctx, q, rest, yield, func() error { return s.RunFrom(ctx, s, s.lon, s.lat, f.cells...) })
	}
}

// important yields the most important places of an area.
func (f *Finder) important(ctx context.Context, q *feature.Query) iter.Seq2[*feature.Feature, error] {
	box, tile, area := quadkey.World, (*quadkey.Tile)(nil), feature.Area(nil)
	var bad error
	switch a := q.In.(type) {
	case nil:
	case feature.Box:
		box = quadkey.Box(a)
		bad = near.CheckBox(box)
	case feature.Tile:
		t := quadkey.Tile(a)
		tile, bad = &t, checkTile(t)
	default:
		area = a
	}
	after, err := parseMark(q.After)
	if err := cmp.Or(bad, err); err != nil {
		return feature.SeqOfError(err)
	}
	return func(yield func(*feature.Feature, error) bool) {
		flt, rest, possible := filterOf(q.Filter, f.Kinds)
		if !possible {
			return
		}
		s := f.withins.Get().(*within)
		defer f.withins.Put(s)
		s.box, s.tile = box, tile
		s.begin(f, flt, q.Limit, math.MaxUint64, after)
		s.answer(ctx, q, rest, yield, func() error {
			if area != nil {
				return s.searchArea(ctx, area)
			}
			return s.Run(ctx, s, f.cells...)
		})
	}
}

// answer runs a search for a query and yields the results. rest is the part of the query's filter
// that the index cannot evaluate.
func (s *tileSearch) answer(ctx context.Context, q *feature.Query, rest feature.Filter,
	yield func(*feature.Feature, error) bool, run func() error) {
	defer s.end()
	s.most = cmp.Or(q.MaxExamined, MaxExamined)
	if q.Step != nil {
		s.step = func() error { return q.Step(ctx) }
	}
	if rest != nil {
		s.admit = func(p *place) (bool, error) {
			p.show(&s.shown)
			return rest.Match(ctx, &s.shown)
		}
	}
	err := run()
	// The nearest features of a part of the area are not the nearest of the whole area.
	if err != nil && (q.Near != nil || !errors.Is(err, ErrTooMuchWork)) {
		yield(nil, err)
		return
	}
	found, shown := s.Sorted(), &s.shown
	s.digits = s.digits[:0]
	for i := range found {
		s.digits = strconv.AppendUint(s.digits, uint64(found[i].Key), 10)
		s.kept[found[i].Slot].end = len(s.digits)
	}
	ids, from := string(s.digits), 0 // one text for all
	for i := range found {
		k := &s.kept[found[i].Slot]
		shown.ID, from = ids[from:k.end], k.end
		k.showAs(shown)
		if shown.DistanceM = 0; q.Near != nil {
			shown.DistanceM = found[i].Distance()
		}
		shown.Mark = appendMark(shown.Mark[:0], found[i].Rank, uint32(found[i].Key))
		if !yield(shown, nil) {
			return
		}
	}
	if err != nil {
		yield(nil, err)
	}
}

// A feature.Mark is the row of the place in the layer's own order. In any other order it is the
// rank (8) and the id (4).
const markSize = 12

func appendMark(dst []byte, rank uint64, id uint32) []byte {
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint64(dst, rank), id)
}

func parseMark(m feature.Mark) (near.Cursor, error) {
	switch len(m) {
	case 0:
		return near.Cursor{}, nil
	case markSize:
		return near.Cursor{Rank: binary.BigEndian.Uint64(m), Key: near.ID(binary.BigEndian.Uint32(m[8:]))}, nil
	}
	return near.Cursor{}, near.BadCursor()
}

// list yields the places of an area in the layer's own order.
func (f *Finder) list(ctx context.Context, q *feature.Query) iter.Seq2[*feature.Feature, error] {
	l := &lister{f: f}
	if len(q.After) > 0 {
		if len(q.After) != tileKeySize {
			return feature.SeqOfError(near.BadCursor())
		}
		l.from = append(slices.Clone(q.After), 0)
	}
	area := q.In
	if area == nil {
		area = feature.Tile{} // the world
	}
	var possible bool
	if l.filter, _, possible = filterOf(q.Filter, f.Kinds); !possible {
		return func(func(*feature.Feature, error) bool) {}
	}
	switch area.(type) {
	case feature.Box, feature.Tile:
		l.steady = true
	}
	return q.Select(ctx, func(consider func(*feature.Feature, bool) error) error {
		l.consider, l.parts, l.ranges = consider, l.parts[:0], l.ranges[:0]
		var from quadkey.Cell
		if l.from != nil {
			from = quadkey.Cell(binary.BigEndian.Uint32(l.from))
		}
		err := area.Cover(ctx, from, func(p *feature.AreaPart) error { return l.add(ctx, p) })
		if err != nil {
			return err
		}
		return l.read(ctx)
	})
}

// lister reads the places of an area in the order of their rows.
type lister struct {
	f        *Finder
	from     []byte // the first row
	filter   filter
	consider func(f *feature.Feature, in bool) error
	steady   bool               // what parts contain is known for good
	parts    []feature.AreaPart // to read
	ranges   []cellstore.Range
	shown    feature.Feature
}

// scanParts is the number of parts of an area that are read at once.
const scanParts = 64

// add adds the next part of the area.
func (l *lister) add(ctx context.Context, p *feature.AreaPart) error {
	start, stop := p.Cells.Keys()
	if string(start) < string(l.from) {
		start = l.from
	}
	if stop != nil && string(start) >= string(stop) {
		return nil
	}
	l.parts, l.ranges = append(l.parts, *p), append(l.ranges, cellstore.Range{From: start, To: stop})
	// The data that decide what lies in some areas are valid only during the call, so such parts
	// are read at once.
	if len(l.parts) < scanParts && (p.Contains == nil || l.steady) {
		return nil
	}
	return l.read(ctx)
}

// read considers the places of the collected parts.
func (l *lister) read(ctx context.Context) error {
	if len(l.parts) == 0 {
		return nil
	}
	parts := l.parts
	scan := cellstore.Scan{Selection: cellstore.Selection{Families: tierNames[:]}, Ranges: l.ranges}
	for row, err := range l.f.tiles.Scan(ctx, scan) {
		if err != nil {
			return fmt.Errorf("places: %w", err)
		}
		p, err := parsePlace(row)
		if err != nil {
			return err
		}
		for cell := quadkey.Cell(binary.BigEndian.Uint32(row.Key)); parts[0].Cells.Last < cell; {
			parts = parts[1:]
		}
		in := l.filter.passes(&p)
		if in {
			in, err = parts[0].Holds(quadkey.Position{Lat: toDegrees(p.lat), Lon: toDegrees(p.lon)})
			if err != nil {
				return err
			}
			p.show(&l.shown)
		}
		l.shown.Mark = append(l.shown.Mark[:0], row.Key...)
		if err := l.consider(&l.shown, in); err != nil {
			return err
		}
	}
	l.parts, l.ranges = l.parts[:0], l.ranges[:0]
	return nil
}

// Count implements feature.Counter. It counts all places, the places of a tile with stored counts,
// and the places of the whole world that pass a filter of which the index knows all.
func (f *Finder) Count(ctx context.Context, q *feature.Query) (n int64, err error) {
	t, tile := q.In.(feature.Tile)
	switch {
	case q.Near != nil || !q.At.IsZero():
	case q.In == nil:
		if n, ok := f.tally(q.Filter); ok {
			return n, nil
		}
	case tile && t.Z <= MaxCountedZoom && q.Filter == nil:
		err = f.Counts(ctx, quadkey.Tile(t), func(_ string, count int64) { n += count })
		return n, err
	}
	return 0, feature.Unsupported("count without a list")
}

// tally counts the places that pass a filter, if the index knows all of it.
func (f *Finder) tally(of feature.Filter) (n int64, ok bool) {
	flt, rest, possible := filterOf(of, f.Kinds)
	switch {
	case !possible:
		return 0, true
	case rest != nil:
		return 0, false
	case flt.none():
		return f.about.Count, true
	}
	for _, m := range f.masks(&flt) {
		if !m.exact {
			return 0, false
		}
		n += int64(m.count)
	}
	return n, true
}
