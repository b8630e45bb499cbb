package places

import (
	"cmp"
	"context"
	"slices"

	"quadrille/feature"
	"quadrille/places/internal/near"
	"quadrille/quadkey"
)

// within guides a search for the most important places. The rank of a place is the complement of
// its importance. This order alone ensures that the tiers follow one another: lower tiers are not
// read before the higher ones are exhausted.
type within struct {
	tileSearch
	box      quadkey.Box
	tile     *quadkey.Tile // instead of the box, if set
	consider func(*place)
	// ofArea is set if places are read by cells, which come in order.
	ofArea bool
	cells  []quadkey.Range
	part   *feature.AreaPart // the current part of its edge
	// weighAtEdge is the method weighInPart, stored to avoid an allocation.
	weighAtEdge func(*place)
}

func newWithin() *within {
	s := &within{}
	s.consider, s.weighAtEdge = s.weigh, s.weighInPart
	return s
}

// searchArea runs the search in an area. It weighs all places in cells along the edge at once,
// because the area's part can decide only then which are inside. It keeps the cells that lie
// inside, and then searches them by the index.
func (s *within) searchArea(ctx context.Context, a feature.Area) error {
	s.ofArea, s.cells = true, s.cells[:0]
	defer func() { s.ofArea, s.part = false, nil }()
	err := a.Cover(ctx, 0, func(p *feature.AreaPart) error {
		if s.step != nil {
			if err := s.step(); err != nil {
				return err
			}
		}
		if p.Contains != nil {
			s.part = p
			return s.readEdge(ctx, p.Cells)
		}
		if n := len(s.cells); n > 0 && s.cells[n-1].Last+1 == p.Cells.First {
			s.cells[n-1].Last = p.Cells.Last
		} else {
			s.cells = append(s.cells, p.Cells)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return s.Run(ctx, s, s.f.cells...)
}

// readEdge weighs the places of cells at the edge of an area.
func (s *within) readEdge(ctx context.Context, cells quadkey.Range) error {
	for tier, x := range s.f.indexes {
		from, to := near.IndexRange(x.samples, cells.First, cells.Last)
		m, lo, hi := &s.masks[tier], int32(from), int32(to)
		if !m.meets(x.blocksOf(lo, hi)) || ^x.greatest(m, lo, hi) > s.Limit {
			continue
		}
		if err := s.readCells(ctx, tier, cells.First, cells.Last, s.weighAtEdge); err != nil {
			return err
		}
	}
	return nil
}

// weighInPart does the same as weigh, for a place of the current part.
func (s *within) weighInPart(p *place) {
	rank := ^p.importance()
	if !s.filter.passes(p) || !s.Wants(rank, near.ID(p.id)) {
		return
	}
	in, err := s.part.Holds(quadkey.Position{Lat: toDegrees(p.lat), Lon: toDegrees(p.lon)})
	if err != nil {
		s.failed = err
	} else if in && s.admits(p) {
		s.take(rank, p)
	}
}

// cellsFrom returns the number of the first kept cell that ends at a cell or after it.
func (s *within) cellsFrom(c quadkey.Cell) int {
	i, _ := slices.BinarySearchFunc(s.cells, c, func(r quadkey.Range, c quadkey.Cell) int { return cmp.Compare(r.Last, c) })
	return i
}

// Bound returns the importance of the most important place that a tile may have.
func (s *within) Bound(n *near.Node) (uint64, bool) {
	if !s.mayHold(n) || !s.touches(n.Tile) {
		return 0, false
	}
	return ^s.f.indexes[n.List].greatest(&s.masks[n.List], n.Lo, n.Hi), true
}

// Visit reads a tile of few places.
func (s *within) Visit(ctx context.Context, n *near.Node) error {
	if n.Tile.Z < quadkey.CellZoom && (n.Hi-n.Lo)*s.f.indexes[n.List].every > blockPlaces {
		s.Split(s, n)
		return nil
	}
	return s.read(ctx, n, s.consider)
}

// touches reports whether a tile may have places of the box or tile.
func (s *within) touches(t quadkey.Tile) bool {
	if s.ofArea {
		first, last := t.CellRange()
		i := s.cellsFrom(first)
		return i < len(s.cells) && s.cells[i].First <= last
	}
	if s.tile == nil {
		return near.BoxMeetsTile(s.box, t)
	}
	first, last := t.CellRange()
	from, to := s.tile.CellRange()
	return first <= to && from <= last
}

// has reports whether a place is in the box or tile.
func (s *within) has(lon, lat float64) bool {
	if s.ofArea {
		cell, err := quadkey.CellOf(lon, lat)
		i := s.cellsFrom(cell)
		return err == nil && i < len(s.cells) && s.cells[i].Contains(cell)
	}
	t := s.tile
	if t == nil {
		return s.box.Contains(lon, lat)
	}
	in, err := quadkey.TileAt(lon, lat, t.Z)
	return err == nil && in == *t
}

// weigh keeps a place that passes the filters if it is important enough.
func (s *within) weigh(p *place) {
	if !s.filter.passes(p) {
		return
	}
	rank := ^p.importance()
	if s.Wants(rank, near.ID(p.id)) && s.has(toDegrees(p.lon), toDegrees(p.lat)) && s.admits(p) {
		s.take(rank, p)
	}
}
