package places

import (
	"context"
	"math"

	"quadrille/places/internal/near"
	"quadrille/quadkey"
)

// nearby guides a search for the nearest places. They are ranked by their distance. A tile is
// read if it holds few places according to the index.
type nearby struct {
	tileSearch
	lat, lon float64
	consider func(*place)
}

func newNearby() *nearby {
	s := &nearby{}
	s.consider = s.measure
	return s
}

// Bound returns the distance of a tile.
func (s *nearby) Bound(n *near.Node) (uint64, bool) {
	if n.Tight {
		return near.DistanceRank(s.nearestSample(n)), true
	}
	bound, ok := s.MinRank(n.Tile)
	return bound, ok && s.mayHold(n) && !s.passed(n.Tile)
}

// Visit reads a tile of few places.
func (s *nearby) Visit(ctx context.Context, n *near.Node) error {
	x := s.f.indexes[n.List]
	if n.Tile.Z < quadkey.CellZoom {
		if !x.leaf(&s.masks[n.List], n.Lo, n.Hi) {
			s.Split(s, n)
			return nil
		}
		if x.exact() && !n.Tight {
			n.Tight = true
			s.Offer(s, n)
			return nil
		}
	}
	return s.read(ctx, n, s.consider)
}

// nearestSample returns a better bound for a tile whose places are all samples: the distance of the
// nearest of their cells.
func (s *nearby) nearestSample(n *near.Node) float64 {
	nearest := math.Inf(1)
	for _, c := range s.f.indexes[n.List].samples[n.Lo:n.Hi] {
		nearest = min(nearest, s.Distance(c.Tile()))
	}
	return max(nearest, s.Distance(n.Tile))
}

const metresPerDegree = quadkey.EarthRadius * math.Pi / 180

// passed reports whether every place of a tile belongs to earlier pages because it is nearer. No
// two places of a tile are farther apart than the tile's height plus its widest parallel.
func (s *nearby) passed(t quadkey.Tile) bool {
	if s.After.Rank == 0 {
		return false
	}
	b := t.Bound()
	if t.Y == 0 {
		b.North = 90
	}
	if t.Y == 1<<t.Z-1 {
		b.South = -90
	}
	widest := max(0, b.South, -b.North)
	across := metresPerDegree * (b.North - b.South + (b.East-b.West)*math.Cos(widest*math.Pi/180))
	corner := quadkey.Distance(s.lon, s.lat, b.West, b.South)
	return (corner+across)*(1+1e-9)+1e-3 < math.Float64frombits(s.After.Rank)
}

// measure keeps a place that passes the filter if it is near enough.
func (s *nearby) measure(p *place) {
	if !s.filter.passes(p) {
		return
	}
	lat, lon := toDegrees(p.lat), toDegrees(p.lon)
	// The difference of latitude alone often excludes a place.
	if math.Abs(lat-s.lat)*metresPerDegree*(1-1e-9)-1e-3 > math.Float64frombits(s.Limit) {
		return
	}
	if rank := near.DistanceRank(quadkey.Distance(s.lon, s.lat, lon, lat)); s.Wants(rank, near.ID(p.id)) && s.admits(p) {
		s.take(rank, p)
	}
}
