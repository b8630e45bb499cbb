// Package near finds, among points in the order of their cells, the first ones
// of a ranking: the nearest to a point, or the most important in a box. Package
// places and its subpackages search with it. It holds what their searches have
// in common: the descent, what is kept of it, cursors, checks and errors.
//
// A rank is a number, and lesser ranks come first: [ByDistance] makes one of a
// distance. Points of one rank come in the order of their ids, which start at 1.
package near

import (
	"cmp"
	"context"
	"math"
	"slices"

	"quadrille/feature"
	"quadrille/quadkey"
)

// ByDistance is the rank of a point at a distance in metres.
func ByDistance(metres float64) uint64 { return math.Float64bits(max(metres, 0)) }

// Found is a point that a search keeps.
type Found struct {
	Rank, ID uint64
	// Slot is where the caller keeps what it needs of the point: a number from 0
	// to one less than Best.Want, used again when the point is displaced.
	Slot int
}

func (a *Found) compare(b *Found) int {
	return cmp.Or(cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.ID, b.ID))
}

// Above keeps the last point on top of a heap.
func (a *Found) Above(b *Found) bool { return a.compare(b) > 0 }

// Distance is the distance of a point ranked by ByDistance.
func (a *Found) Distance() float64 { return math.Float64frombits(a.Rank) }

// Best keeps the first points of a ranking.
type Best struct {
	Want int
	// Limit is the last rank that is wanted. It shrinks to that of the last point
	// kept once there are as many as wanted.
	Limit uint64
	// After is the last point of the page before.
	After Cursor

	found []Found // heap, last on top, once it is full
}

// Reset forgets what was found, to search for as many points as wanted of ranks
// up to a limit.
func (b *Best) Reset(want int, limit uint64, after Cursor) {
	b.Want, b.Limit, b.After, b.found = want, limit, after, b.found[:0]
}

// Wants reports whether a point would be kept.
func (b *Best) Wants(rank, id uint64) bool {
	if rank > b.Limit || rank < b.After.Rank || rank == b.After.Rank && id <= b.After.ID {
		return false
	}
	return len(b.found) < b.Want || (&Found{Rank: rank, ID: id}).compare(&b.found[0]) < 0
}

// Keep keeps a point that is wanted and returns its slot.
func (b *Best) Keep(rank, id uint64) (slot int) {
	if n := len(b.found); n < b.Want {
		b.found = append(b.found, Found{rank, id, n})
		if n+1 < b.Want {
			return n
		}
		Heapify(b.found)
		b.Limit = b.found[0].Rank
		return n
	}
	slot = b.found[0].Slot
	b.found[0] = Found{rank, id, slot}
	Sink(b.found, 0)
	b.Limit = b.found[0].Rank
	return slot
}

// Sorted returns what was kept, in order, until the next Reset.
func (b *Best) Sorted() []Found {
	slices.SortFunc(b.found, func(x, y Found) int { return x.compare(&y) })
	return b.found
}

// Node is a tile with the points that lie in it: the entries Lo to Hi of one of
// the lists of cells that are searched.
type Node struct {
	Tile   quadkey.Tile
	List   uint8
	Lo, Hi int32
	// Tight is for the guide: the node has been put back with a better bound.
	Tight bool

	bound uint64
}

// Above keeps the node with the least bound on top of a heap.
func (n *Node) Above(o *Node) bool { return n.bound < o.bound }

// Step is what a search does with a node.
type Step uint8

// The steps.
const (
	Done    Step = iota // its points have been looked at
	Split               // its children are searched
	PutBack             // it waits again, with the bound it has now
	Stop                // the search ends
)

// A Guide steers a search: it bounds nodes and reads them.
type Guide interface {
	// Bound returns a rank that no point of a node comes before, and false if
	// none of them is wanted.
	Bound(n *Node) (rank uint64, ok bool)
	// Visit takes the node that comes next. It looks at the points of a small one.
	Visit(ctx context.Context, n *Node) (Step, error)
}

// Search is one search, best-first over quadtree tiles. The frontier starts with
// the world, once for each list, and always gives up the tile that could hold
// the first point. The search ends when that tile cannot hold any point that
// comes before the last of as many as are wanted. Its memory is used again.
type Search struct {
	Best
	circle   quadkey.Circle
	tiles    []quadkey.Tile
	frontier []Node // heap
	node     Node   // the one at hand
	child    Node
}

// Run searches lists of ascending cells, of all the points or of some of them.
func (s *Search) Run(ctx context.Context, g Guide, lists ...[]quadkey.Cell) error {
	s.tiles = append(s.tiles[:0], quadkey.Tile{})
	return s.descend(ctx, g, lists)
}

const (
	// fewPoints is how many points are sought from the point outwards. More
	// are found as quickly from the world downwards.
	fewPoints = 20
	// around is how many cells the tile has, for each point that is wanted,
	// that is looked at first.
	around = 2
	// many is from how many cells in the whole circle, for each point, a smaller
	// one is worth its expense.
	many = 1_000
)

// RunFrom searches as Run does for what is nearest to a point, whose ranks are
// those of ByDistance, and begins in the tiles around it. Few points are first
// sought in a small circle, which grows until it holds them. Guides bound nodes
// by Reach.
func (s *Search) RunFrom(ctx context.Context, g Guide, lon, lat float64, lists ...[]quadkey.Cell) error {
	limit := s.Limit
	s.draw(lon, lat, limit)
	if s.Want <= fewPoints && s.After == (Cursor{}) && s.cells(lists) > many*s.Want {
		if radius := s.guess(lon, lat, lists); radius < limit {
			s.Limit = radius
			s.draw(lon, lat, radius)
			if err := s.descend(ctx, g, lists); err != nil || len(s.found) >= s.Want {
				return err
			}
			s.Reset(s.Want, limit, s.After)
			s.draw(lon, lat, limit)
		}
	}
	return s.descend(ctx, g, lists)
}

// draw draws the circle in which points are sought.
func (s *Search) draw(lon, lat float64, radius uint64) {
	s.circle = quadkey.CircleAround(lon, lat, math.Float64frombits(radius))
	s.tiles = s.circle.AppendTiles(s.tiles[:0])
}

// cells returns how many cells of the lists lie in the circle's tiles.
func (s *Search) cells(lists [][]quadkey.Cell) (n int) {
	for _, t := range s.tiles {
		first, last := t.CellRange()
		for _, cells := range lists {
			lo, hi := Between(cells, first, last)
			n += hi - lo
		}
	}
	return n
}

// guess returns the rank of a distance within which there probably are as many
// points as are wanted: the width of the smallest tile around the point in which
// the lists have several times as many cells.
func (s *Search) guess(lon, lat float64, lists [][]quadkey.Cell) uint64 {
	cell, err := quadkey.CellOf(lon, lat)
	if err != nil {
		return math.MaxUint64
	}
	enough := around * s.Want
	for t := cell.Tile(); t.Z > 0; t = t.Parent() {
		n := 0
		first, last := t.CellRange()
		for _, cells := range lists {
			lo, hi := Between(cells, first, last)
			n += hi - lo
		}
		if n >= enough {
			width := 2 * math.Pi * quadkey.EarthRadius * math.Cos(lat*math.Pi/180) / float64(uint64(1)<<t.Z)
			return ByDistance(width / 2)
		}
	}
	return math.MaxUint64
}

// UseTerms lets an index take the terms of a filter: use takes one if the index knows what it
// is about, and says whether anything can fulfil it. rest is the filter if the index has not
// all of it, and else nil. possible is false where nothing can pass.
func UseTerms(of feature.Filter, use func(t *feature.Term) (used, possible bool)) (rest feature.Filter, possible bool) {
	if of == nil {
		return nil, true
	}
	terms, all := of.Terms()
	for i := range terms {
		used, possible := use(&terms[i])
		if !possible {
			return nil, false
		}
		all = all && used
	}
	if all {
		return nil, true
	}
	return of, true
}

// Between returns which of the cells are among first to last.
func Between(cells []quadkey.Cell, first, last quadkey.Cell) (lo, hi int) {
	lo, _ = slices.BinarySearch(cells, first)
	if hi = len(cells); last != math.MaxUint32 {
		n, _ := slices.BinarySearch(cells[lo:], last+1)
		hi = lo + n
	}
	return lo, hi
}

// Reach returns the least rank by distance that a tile can have a point of, in a
// search by RunFrom, and false if it lies outside the circle.
func (s *Search) Reach(t quadkey.Tile) (uint64, bool) {
	if !s.circle.Meets(t) {
		return 0, false
	}
	rank := ByDistance(s.circle.MinDistance(t))
	return rank, rank <= s.Limit
}

// Distance returns the distance of a tile in metres in a search by RunFrom.
func (s *Search) Distance(t quadkey.Tile) float64 { return s.circle.MinDistance(t) }

// descend searches the lists from the tiles downwards.
func (s *Search) descend(ctx context.Context, g Guide, lists [][]quadkey.Cell) error {
	s.frontier = s.frontier[:0]
	for _, t := range s.tiles {
		first, last := t.CellRange()
		for i, cells := range lists {
			lo, hi := Between(cells, first, last)
			s.child = Node{Tile: t, List: uint8(i), Lo: int32(lo), Hi: int32(hi)}
			s.wait(g)
		}
	}
	for len(s.frontier) > 0 && s.frontier[0].bound <= s.Limit {
		s.node, s.frontier = Pop(s.frontier)
		step, err := g.Visit(ctx, &s.node)
		if err != nil {
			return err
		}
		switch step {
		case Split:
			s.split(g, lists[s.node.List])
		case PutBack:
			s.child = s.node
			s.wait(g)
		case Stop:
			return nil
		}
	}
	return nil
}

// wait puts the child into the frontier if it can hold points that are wanted.
func (s *Search) wait(g Guide) {
	bound, ok := g.Bound(&s.child)
	if ok && bound <= s.Limit {
		s.child.bound = bound
		s.frontier = Push(s.frontier, s.child)
	}
}

func (s *Search) split(g Guide, cells []quadkey.Cell) {
	lo := s.node.Lo
	for _, t := range s.node.Tile.Children() {
		hi := s.node.Hi
		if _, last := t.CellRange(); last != math.MaxUint32 {
			at, _ := slices.BinarySearch(cells[lo:hi], last+1)
			hi = lo + int32(at)
		}
		s.child = Node{Tile: t, List: s.node.List, Lo: lo, Hi: hi}
		lo = hi
		s.wait(g)
	}
}
