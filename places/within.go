package places

import (
	"context"

	"quadrille/places/internal/near"
	"quadrille/quadkey"
)

// Within returns the places in a box or a tile, the most important first (see
// Importance in the package documentation) and by id where they are equally
// important. Points on the edges of a box are in it, and 180° and −180° are one
// meridian: see quadkey.Box.Contains. A place belongs to one tile of each zoom,
// as quadkey.TileAt has it.
//
// Hits, dst, next and errors are as those of Nearby, without distances.
func (f *Finder) Within(ctx context.Context, q WithinQuery, dst []Hit) (hits []Hit, next string, err error) {
	if err := q.check(); err != nil {
		return dst[:0], "", err
	}
	limit, flt, err := checkFilter(q.Limit, q.Classes, q.Codes, q.Countries, q.MinPopulation)
	if err != nil {
		return dst[:0], "", err
	}
	tag := q.tag(&flt)
	after, err := near.DecodeCursor(q.Cursor, f.data, tag)
	if err != nil {
		return dst[:0], "", err
	}
	if q.Cursor != "" {
		after.Rank = ^after.Rank
	}
	s := f.withins.Get().(*within)
	defer f.withins.Put(s)
	defer s.end() // Keep may hold on to much
	s.q, s.q.Keep = q, nil
	s.jsonOnly = q.JSONOnly
	if q.Keep != nil {
		s.admit = func(p *place) (bool, error) {
			h := &Hit{}
			p.show(&s.shown)
			err := h.Of(&s.shown)
			return err == nil && q.Keep(h.Country, h.Admin1), err
		}
	}
	s.begin(f, flt, limit+1, ^uint64(0), after) // one more tells whether there is a next page
	if err := s.Run(ctx, s, f.cells...); err != nil {
		return dst[:0], "", err
	}
	hits, last, more, err := s.page(dst, func(*near.Found) float64 { return 0 })
	if more {
		next = near.Cursor{Rank: ^last.Rank, ID: last.ID}.Encode(f.data, tag)
	}
	return hits, next, err
}

// check checks the box or the tile.
func (q *WithinQuery) check() error {
	if q.Tile != nil {
		return checkTile(*q.Tile)
	}
	return near.CheckBox(q.Box)
}

// tag is a checksum of what must not change between pages.
func (q *WithinQuery) tag(f *filter) near.Tag {
	if t := q.Tile; t != nil {
		return f.tag('t', float64(t.Z), float64(t.X), float64(t.Y))
	}
	return f.tag('b', q.Box.West, q.Box.South, q.Box.East, q.Box.North)
}

// within guides one Within call. The rank of a place is the complement of its
// importance. Tiers follow one another by themselves: the lower ones are not
// read before the higher ones are exhausted.
type within struct {
	tileSearch
	q        WithinQuery
	consider func(*place)
}

func newWithin() *within {
	s := &within{}
	s.consider = s.weigh
	return s
}

// Bound is that of the most important place a tile may have.
func (s *within) Bound(n *near.Node) (uint64, bool) {
	if !s.mayHold(n) || !s.touches(n.Tile) {
		return 0, false
	}
	return ^s.f.indexes[n.List].greatest(&s.masks[n.List], n.Lo, n.Hi), true
}

// Visit reads a tile of few places.
func (s *within) Visit(ctx context.Context, n *near.Node) (near.Step, error) {
	if s.q.Examine > 0 && s.examined >= s.q.Examine {
		return near.Stop, nil
	}
	if n.Tile.Z < quadkey.CellZoom && (n.Hi-n.Lo)*s.f.indexes[n.List].every > blockPlaces {
		return near.Split, nil
	}
	return near.Done, s.read(ctx, n, s.consider)
}

// touches reports whether a tile may have places of the box or tile.
func (s *within) touches(t quadkey.Tile) bool {
	if s.q.Tile == nil {
		return near.Overlap(s.q.Box, t)
	}
	first, last := t.CellRange()
	from, to := s.q.Tile.CellRange()
	return first <= to && from <= last
}

// has reports whether a place is in the box or tile.
func (s *within) has(lon, lat float64) bool {
	t := s.q.Tile
	if t == nil {
		return s.q.Box.Contains(lon, lat)
	}
	in, err := quadkey.TileAt(lon, lat, t.Z)
	return err == nil && in == *t
}

// weigh takes a place that the filters let pass if it is important enough.
func (s *within) weigh(p *place) {
	if !s.filter.passes(p) {
		return
	}
	rank := ^p.importance()
	if s.Wants(rank, uint64(p.id)) && s.has(toDegrees(p.lon), toDegrees(p.lat)) && s.admits(p) {
		s.take(rank, p)
	}
}
