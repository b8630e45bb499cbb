package places

import (
	"context"
	"fmt"

	"quadrille/cellstore"
	"quadrille/feature"
	"quadrille/places/internal/near"
	"quadrille/quadkey"
)

// keptPlace is a place with memory of its own.
type keptPlace struct {
	place
	memory []byte
	end    int // end of its id in the digits of an answer
}

// keep copies a place into k.
func (k *keptPlace) keep(p *place) {
	k.memory = append(append(k.memory[:0], p.qualifier...), p.members...)
	q, n := len(p.qualifier), len(p.properties)
	k.place = *p
	k.qualifier, k.members, k.properties = k.memory[:q], k.memory[q:], k.memory[q:q+n]
}

// tileSearch is the common part of searches. It reads the places of tiles, one
// tier at a time, and counts them.
type tileSearch struct {
	near.Lists
	f        *Finder
	filter   filter
	masks    *masks
	kept     []keptPlace // by slot
	examined int
	place    place // the current one

	most  int                        // bound of examined places
	step  func() error               // of a query; nil for none
	admit func(*place) (bool, error) // the part of a filter that the index cannot decide; nil lets all pass
	shown feature.Feature
	// digits are the ids of an answer.
	digits []byte

	fn     func(*place)                     // of read
	look   func(*cellstore.Row, error) bool // lookAt
	failed error

	scan   cellstore.Scan
	ranges [1]cellstore.Range
	family [1]string
	bounds [8]byte
}

// begin prepares a search for a page of places.
func (s *tileSearch) begin(f *Finder, flt filter, want int, limit uint64, after near.Cursor) {
	s.f, s.filter, s.masks, s.examined, s.most = f, flt, f.masks(&flt), 0, MaxExamined
	s.Reset(want, limit, after)
}

// end drops the references to a query.
func (s *tileSearch) end() { s.step, s.admit = nil, nil }

// admits reports whether a wanted place passes the part of the filter that the index cannot
// evaluate. An error ends the search.
func (s *tileSearch) admits(p *place) (pass bool) {
	if s.admit == nil {
		return true
	}
	pass, s.failed = s.admit(p)
	return pass && s.failed == nil
}

// stepPlaces is the number of places that are examined between calls of Step.
const stepPlaces = 256

// mayHold reports whether a tile can have places that the filter lets pass.
func (s *tileSearch) mayHold(n *near.Node) bool {
	first, last := n.Tile.CellRange()
	return s.f.indexes[n.List].mayHold(&s.masks[n.List], n.Tile.Z, first, last, n.Lo, n.Hi)
}

// read calls fn for each place in the cells of a tile. The place is valid until
// fn returns.
func (s *tileSearch) read(ctx context.Context, n *near.Node, fn func(*place)) error {
	first, last := n.Tile.CellRange()
	return s.readCells(ctx, int(n.List), first, last, fn)
}

// readCells does the same as read, for a tier of cells.
func (s *tileSearch) readCells(ctx context.Context, tier int, first, last quadkey.Cell, fn func(*place)) error {
	s.ranges[0].From, s.ranges[0].To = cellRange(s.bounds[:0], first, last)
	s.family[0] = tierNames[tier]
	s.scan.Ranges, s.scan.Families = s.ranges[:], s.family[:]
	if s.look == nil {
		s.look = s.lookAt
	}
	// Otherwise the body of a loop over the rows would be allocated for each tile.
	s.fn, s.failed = fn, nil
	cellstore.Each(ctx, s.f.tiles, &s.scan, s.look)
	return s.failed
}

// lookAt examines one row of a scan, and reports whether to continue.
func (s *tileSearch) lookAt(row *cellstore.Row, err error) bool {
	if err != nil {
		s.failed = fmt.Errorf("places: %w", err)
		return false
	}
	if s.examined++; s.examined > s.most {
		s.failed = &feature.TooMuchWork{Examined: s.most}
		return false
	}
	if s.step != nil && s.examined%stepPlaces == 0 {
		if s.failed = s.step(); s.failed != nil {
			return false
		}
	}
	if s.place, s.failed = parsePlace(row); s.failed != nil {
		return false
	}
	s.fn(&s.place)
	return s.failed == nil
}

// take keeps a place that passes the filter.
func (s *tileSearch) take(rank uint64, p *place) {
	slot := s.Slot()
	if slot == len(s.kept) {
		s.kept = append(s.kept, keptPlace{})
	}
	s.kept[slot].keep(p)
	s.Keep(rank, near.ID(p.id))
}

// cellsOf returns the lists of cells that a search descends.
func cellsOf(indexes *[tiers]*index) [][]quadkey.Cell {
	var lists [][]quadkey.Cell
	for _, x := range indexes {
		lists = append(lists, x.samples)
	}
	return lists
}
