package near

import (
	"context"
	"math"
	"slices"

	"quadrille/quadkey"
)

// Node is a tile with its points: the entries Lo to Hi of one of the searched lists of cells.
type Node struct {
	Tile   quadkey.Tile
	List   uint8
	Lo, Hi int32
	// Tight is for use by the tree: it marks a node that was offered again with a better bound.
	Tight bool
}

// Lists is a search over lists of ascending cells, of all the points or of some of them. Its
// nodes are divided by Split.
type Lists struct {
	Search[Node, ID]
	circle quadkey.Circle
	tiles  []quadkey.Tile
	lists  [][]quadkey.Cell
	child  Node
}

// Run searches the lists, beginning with the whole world.
func (s *Lists) Run(ctx context.Context, t Tree[Node], lists ...[]quadkey.Cell) error {
	s.tiles = append(s.tiles[:0], quadkey.Tile{})
	return s.descend(ctx, t, lists)
}

const (
	// fewPoints is the largest number of wanted points for a search from the point outwards. More
	// are found as quickly from the world downwards.
	fewPoints = 20
	// around is the number of cells in the first tile for each wanted point.
	around = 2
	// many is a number of cells for each wanted point. If the whole circle has more, a search in a
	// smaller circle first is worth its cost.
	many = 1_000
)

// RunFrom does the same as Run, for the points nearest to a position, with the ranks of DistanceRank.
// It begins in the tiles around the position. If few points are wanted, it first looks in a small
// circle, which grows until it holds them. The method Bound of the tree must use MinRank.
func (s *Lists) RunFrom(ctx context.Context, t Tree[Node], lon, lat float64, lists ...[]quadkey.Cell) error {
	limit := s.Limit
	s.draw(lon, lat, limit)
	if s.Want <= fewPoints && s.After == (Cursor{}) && s.cells(lists) > many*s.Want {
		if radius := s.guess(lon, lat, lists); radius < limit {
			s.Limit = radius
			s.draw(lon, lat, radius)
			if err := s.descend(ctx, t, lists); err != nil || len(s.found) >= s.Want {
				return err
			}
			s.Reset(s.Want, limit, s.After)
			s.draw(lon, lat, limit)
		}
	}
	return s.descend(ctx, t, lists)
}

// draw sets the circle of the search.
func (s *Lists) draw(lon, lat float64, radius uint64) {
	s.circle = quadkey.CircleAround(lon, lat, math.Float64frombits(radius))
	s.tiles = s.circle.AppendTiles(s.tiles[:0])
}

// cells returns how many cells of the lists lie in the circle's tiles.
func (s *Lists) cells(lists [][]quadkey.Cell) (n int) {
	for _, t := range s.tiles {
		first, last := t.CellRange()
		for _, cells := range lists {
			lo, hi := IndexRange(cells, first, last)
			n += hi - lo
		}
	}
	return n
}

// guess returns the rank of a distance within which there are probably as many
// points as wanted. It is the width of the smallest tile around the point in
// which the lists have several times as many cells.
func (s *Lists) guess(lon, lat float64, lists [][]quadkey.Cell) uint64 {
	cell, err := quadkey.CellOf(lon, lat)
	if err != nil {
		return math.MaxUint64
	}
	enough := around * s.Want
	for t := cell.Tile(); t.Z > 0; t = t.Parent() {
		n := 0
		first, last := t.CellRange()
		for _, cells := range lists {
			lo, hi := IndexRange(cells, first, last)
			n += hi - lo
		}
		if n >= enough {
			width := 2 * math.Pi * quadkey.EarthRadius * math.Cos(lat*math.Pi/180) / float64(uint64(1)<<t.Z)
			return DistanceRank(width / 2)
		}
	}
	return math.MaxUint64
}

// MinRank returns the least rank by distance that a point in a tile can have, in a
// search by RunFrom. It returns false if the tile lies outside the circle.
func (s *Lists) MinRank(t quadkey.Tile) (uint64, bool) {
	if !s.circle.Meets(t) {
		return 0, false
	}
	rank := DistanceRank(s.circle.MinDistance(t))
	return rank, rank <= s.Limit
}

// Distance returns the distance in metres from the position of a search by RunFrom to a tile.
func (s *Lists) Distance(t quadkey.Tile) float64 { return s.circle.MinDistance(t) }

// descend searches the lists, beginning with the given tiles.
func (s *Lists) descend(ctx context.Context, t Tree[Node], lists [][]quadkey.Cell) error {
	s.lists = append(s.lists[:0], lists...)
	return s.Descend(ctx, t, func() {
		for _, tile := range s.tiles {
			first, last := tile.CellRange()
			for i, cells := range lists {
				lo, hi := IndexRange(cells, first, last)
				s.child = Node{Tile: tile, List: uint8(i), Lo: int32(lo), Hi: int32(hi)}
				s.Offer(t, &s.child)
			}
		}
	})
}

// Split offers the children of a node.
func (s *Lists) Split(t Tree[Node], n *Node) {
	cells, lo := s.lists[n.List], n.Lo
	for _, tile := range n.Tile.Children() {
		hi := n.Hi
		if _, last := tile.CellRange(); last != math.MaxUint32 {
			at, _ := slices.BinarySearch(cells[lo:hi], last+1)
			hi = lo + int32(at)
		}
		s.child = Node{Tile: tile, List: n.List, Lo: lo, Hi: hi}
		lo = hi
		s.Offer(t, &s.child)
	}
}

// IndexRange returns which of the cells are among first to last.
func IndexRange(cells []quadkey.Cell, first, last quadkey.Cell) (lo, hi int) {
	lo, _ = slices.BinarySearch(cells, first)
	if hi = len(cells); last != math.MaxUint32 {
		n, _ := slices.BinarySearch(cells[lo:], last+1)
		hi = lo + n
	}
	return lo, hi
}
