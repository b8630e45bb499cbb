package stations

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"iter"
	"time"

	"quadrille/cellstore"
	"quadrille/feature"
	"quadrille/internal/instant"
	"quadrille/places/internal/near"
	"quadrille/quadkey"
)

var _ feature.Counter = (*Finder)(nil)

// schema is the schema of a record.
var schema = feature.Schema{
	{Name: "begin", Kind: feature.Time},
	{Name: "country", Kind: feature.Text, Upper: true},
	{Name: "elevation_m", Kind: feature.Number},
	{Name: "end", Kind: feature.Time},
	{Name: "icao", Kind: feature.Text, Upper: true},
	{Name: "id", Kind: feature.Text},
	{Name: "lat", Kind: feature.Number},
	{Name: "lon", Kind: feature.Number},
	{Name: "name", Kind: feature.Text},
	{Name: "state", Kind: feature.Text},
	{Name: "usaf", Kind: feature.Text},
	{Name: "wban", Kind: feature.Text},
	{Name: "wmo", Kind: feature.Text},
}

// info describes stations as a layer.
func (m *Meta) info() feature.Info {
	return feature.Info{
		Name:        "stations",
		Title:       "Weather stations",
		Description: "Stations that observe the weather, with the days of their first and last observation.",
		Schema:      schema, Bounds: near.BoxOf(m.Bounds), Count: m.Stations, AllPoints: true,
		Can: feature.Abilities{Near: true, Area: true}, Fingerprint: m.Fingerprint,
	}
}

// Info implements feature.Layer.
func (f *Finder) Info() *feature.Info { return &f.about }

// Get implements feature.Layer. Ids are the eleven characters of ID.
func (f *Finder) Get(ctx context.Context, id string, at time.Time, into *feature.Feature) error {
	if err := f.about.Check(&feature.Query{At: at}); err != nil {
		return err
	}
	var key ID
	if copy(key[:], id); len(id) != len(key) || !key.Valid() {
		return fmt.Errorf("%w: %.40q", ErrNotFound, id)
	}
	record, err := f.Record(ctx, key, nil)
	if err != nil {
		return err
	}
	*into = feature.Feature{ID: id, Properties: feature.CompactProperties(record)}
	lat, _ := into.Properties.Lookup("lat")
	lon, _ := into.Properties.Lookup("lon")
	var ok [2]bool
	into.Lat, ok[0] = lat.Number()
	into.Lon, ok[1] = lon.Number()
	if ok != [2]bool{true, true} || into.Check() != nil {
		return fmt.Errorf("stations: %w", cellstore.CorruptRow(tableInfo, key[:], "has no position"))
	}
	return nil
}

// MaxExamined bounds the number of stations that a search for the nearest examines, if a filter has
// to read their records.
const MaxExamined = 100_000

// Features implements feature.Layer. Without Near it yields stations by quadkey and then by id, in
// any number. A search for the nearest yields at most places.MaxLimit + 1. Terms on country, and on
// begin and end as the latest or earliest day, are answered from memory.
func (f *Finder) Features(ctx context.Context, q *feature.Query) iter.Seq2[*feature.Feature, error] {
	if err := near.CheckQuery(&f.about, q); err != nil {
		return feature.SeqOfError(err)
	}
	flt, rest, possible := filterOf(q.Filter)
	switch {
	case q.Near != nil:
		return f.nearest(ctx, q, flt, rest, possible)
	case !possible:
		return func(func(*feature.Feature, error) bool) {}
	}
	return f.list(ctx, q, flt)
}

// filterOf returns the part of a filter that the index can use, and the rest, as near.UseTerms
// does.
func filterOf(of feature.Filter) (f filter, rest feature.Filter, possible bool) {
	f.anyDay = true
	if on, ok := of.(*onDay); ok {
		f.day, f.anyDay, of = on.day, false, on.rest
	}
	rest, possible = near.UseTerms(of, f.use)
	return f, rest, possible
}

// use adds a term, if the index knows its property. possible is false if no station fulfils
// the term.
func (f *filter) use(t *feature.Term) (used, possible bool) {
	least, most := t.Op == feature.OpGreaterOrEqual, t.Op == feature.OpLessOrEqual
	d := &f.end
	switch {
	case t.Name == "country" && t.Op == feature.OpEquals && f.countries == nil:
		f.countries = near.CountriesOf(t.Values)
		return true, f.countries != nil
	case !least && !most || len(t.Values) != 1:
		return false, true
	case t.Name == "begin":
		d = &f.begin
	case t.Name != "end":
		return false, true
	}
	at, ok := instant.Parse(t.Values[0])
	if !ok {
		return false, true
	}
	if !d.set {
		*d = days{true, always, forever}
	}
	// A day is compared as its first instant.
	day := dayOf(at, always)
	if most {
		d.to = min(d.to, day)
		return true, true
	}
	if at.Truncate(24*time.Hour) != at {
		day++
	}
	d.from = max(d.from, day)
	return true, true
}

// show reads the record of a station into a feature, in memory that it returns for the next
// call.
func (f *Finder) show(ctx context.Context, e *entry, into *feature.Feature, memory []byte) ([]byte, error) {
	memory, err := f.record(ctx, e.id[:], memory[:0])
	if err != nil {
		return memory, inside(err, e.id[:])
	}
	into.ID, into.Properties = e.id.String(), feature.CompactProperties(memory)
	into.Lon, into.Lat = e.at.Degrees()
	return memory, nil
}

// A feature.Mark in a search for the nearest is the distance (8) and the id. In the layer's own
// order it is the cell (4) and the id.

func (f *Finder) appendMark(dst feature.Mark, i int) feature.Mark {
	return append(f.cells[i].AppendKey(dst), f.entries[i].id[:]...)
}

// after returns the number of the first station after a mark. The mark's own station need not
// exist any more.
func (f *Finder) after(m feature.Mark) (int, error) {
	var id ID
	cell, err := quadkey.CellFromKey(m)
	if err != nil || len(m) != 4+len(id) {
		return 0, near.BadCursor()
	}
	if copy(id[:], m[4:]); !id.Valid() {
		return 0, near.BadCursor()
	}
	from, to := near.IndexRange(f.cells, cell, cell)
	for from < to && string(f.entries[from].id[:]) <= string(id[:]) {
		from++
	}
	return from, nil
}

func parseDistance(m feature.Mark) (near.Cursor, error) {
	var id ID
	if len(m) == 0 {
		return near.Cursor{}, nil
	}
	if len(m) != 8+len(id) {
		return near.Cursor{}, near.BadCursor()
	}
	if copy(id[:], m[8:]); !id.Valid() {
		return near.Cursor{}, near.BadCursor()
	}
	return near.Cursor{Rank: binary.BigEndian.Uint64(m), Key: near.ID(id.number() + 1)}, nil
}

// nearest yields the stations nearest to a point.
func (f *Finder) nearest(ctx context.Context, q *feature.Query, flt filter, rest feature.Filter,
	possible bool) iter.Seq2[*feature.Feature, error] {
	after, err := parseDistance(q.After)
	if err != nil {
		return feature.SeqOfError(err)
	}
	reach, after, err := near.CheckRing(q.Near, after)
	if err != nil {
		return feature.SeqOfError(err)
	}
	return func(yield func(*feature.Feature, error) bool) {
		if !possible {
			return
		}
		s := nearbys.Get().(*nearby)
		defer nearbys.Put(s)
		defer func() { s.step, s.admit = nil, nil }()
		s.lat, s.lon = q.Near.Lat, q.Near.Lon
		s.begin(f, flt, q.Limit, reach, after)
		s.most = q.MaxExamined
		if q.Step != nil {
			s.step = func() error { return q.Step(ctx) }
		}
		var err error
		if rest != nil {
			s.most = cmp.Or(q.MaxExamined, MaxExamined)
			s.admit = func(i int32) (pass bool, err error) {
				if s.memory, err = f.show(ctx, &f.entries[i], &s.shown, s.memory); err != nil {
					return false, err
				}
				return rest.Match(ctx, &s.shown)
			}
		}
		err = cmp.Or(ctx.Err(), s.RunFrom(ctx, s, s.lon, s.lat, f.cells))
		found, shown := s.Sorted(), &s.shown
		for i := 0; i < len(found) && err == nil; i++ {
			e := &f.entries[s.kept[found[i].Slot]]
			if s.memory, err = f.show(ctx, e, shown, s.memory); err != nil {
				break
			}
			shown.DistanceM = found[i].Distance()
			shown.Mark = append(binary.BigEndian.AppendUint64(shown.Mark[:0], found[i].Rank), e.id[:]...)
			if !yield(shown, nil) {
				return
			}
		}
		if err != nil {
			yield(nil, err)
		}
	}
}

// list yields the stations of an area in the layer's own order, except those that fail the filter
// by the index.
func (f *Finder) list(ctx context.Context, q *feature.Query, flt filter) iter.Seq2[*feature.Feature, error] {
	first := 0
	if len(q.After) > 0 {
		var err error
		if first, err = f.after(q.After); err != nil {
			return feature.SeqOfError(err)
		}
	}
	return q.Select(ctx, func(consider func(*feature.Feature, bool) error) error {
		var shown feature.Feature
		var memory []byte
		return f.each(ctx, q.In, first, &flt, func(i int, in bool) (err error) {
			if in {
				if memory, err = f.show(ctx, &f.entries[i], &shown, memory); err != nil {
					return err
				}
			}
			shown.Mark = f.appendMark(shown.Mark[:0], i)
			return consider(&shown, in)
		})
	})
}

// each calls fn with the numbers of the stations in the cells of an area, starting at a number, and
// with whether each station is in the area and passes a filter.
func (f *Finder) each(ctx context.Context, a feature.Area, first int, flt *filter, fn func(i int, in bool) error) error {
	if first >= len(f.entries) {
		return nil
	}
	look := func(from, to int, p *feature.AreaPart) error {
		for i := max(from, first); i < to; i++ {
			e := &f.entries[i]
			in := flt.passes(e)
			if in {
				var at quadkey.Position
				at.Lon, at.Lat = e.at.Degrees()
				var err error
				if in, err = p.Holds(at); err != nil {
					return err
				}
			}
			if err := fn(i, in); err != nil {
				return err
			}
		}
		return nil
	}
	switch a := a.(type) {
	case nil:
		return look(0, len(f.cells), &feature.AreaPart{})
	case feature.Box:
		box := quadkey.Box(a)
		if err := near.CheckBox(box); err != nil {
			return err
		}
		p := feature.AreaPart{Contains: func(at quadkey.Position) (bool, error) { return box.Contains(at.Lon, at.Lat), nil }}
		return f.leaves(box, quadkey.Tile{}, first, len(f.cells), func(from, to int) error { return look(from, to, &p) })
	}
	return a.Cover(ctx, f.cells[first], func(p *feature.AreaPart) error {
		from, to := near.IndexRange(f.cells, p.Cells.First, p.Cells.Last)
		return look(from, to, p)
	})
}

// leaves calls fn with runs of a tile's stations that may be in a box. from and to bound the
// stations. For a page of stations, a descent through the tiles is quicker than a cover of the box
// with cells.
func (f *Finder) leaves(box quadkey.Box, t quadkey.Tile, from, to int, fn func(from, to int) error) error {
	switch {
	case from >= to || !near.BoxMeetsTile(box, t):
		return nil
	case to-from <= leafEntries || t.Z == quadkey.CellZoom:
		return fn(from, to)
	}
	for _, child := range t.Children() {
		first, last := child.CellRange()
		lo, hi := near.IndexRange(f.cells[from:to], first, last)
		if err := f.leaves(box, child, from+lo, from+hi, fn); err != nil {
			return err
		}
	}
	return nil
}

// Count implements feature.Counter, if the index has all properties of the filter.
func (f *Finder) Count(ctx context.Context, q *feature.Query) (n int64, err error) {
	flt, rest, possible := filterOf(q.Filter)
	if q.Near != nil || rest != nil || !q.At.IsZero() {
		return 0, feature.Unsupported("count without a list")
	}
	if !possible {
		return 0, nil
	}
	err = f.each(ctx, q.In, 0, &flt, func(_ int, in bool) error {
		if in {
			n++
		}
		return nil
	})
	return n, err
}
