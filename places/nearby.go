package places

import (
	"context"
	"math"
	"slices"

	"quadrille/quadkey"
)

// Hit is one place found by Nearby or Within.
type Hit struct {
	ID        uint32
	Lat, Lon  float64 // degrees
	DistanceM float64 // metres from the point asked about; 0 from Within
	// JSON is the members of the place's object, without the braces around
	// them: "id":1,"name":"…",…,"lat":47.4,"lon":8.5. Put them inside braces,
	// alone or with members of your own before or after.
	JSON []byte
}

// compare orders by distance, then id.
func (h *Hit) compare(o *Hit) int {
	switch {
	case h.DistanceM < o.DistanceM:
		return -1
	case h.DistanceM > o.DistanceM:
		return 1
	case h.ID < o.ID:
		return -1
	case h.ID > o.ID:
		return 1
	}
	return 0
}

// above keeps the farthest hit on top of a heap.
func (h *Hit) above(o *Hit) bool { return h.compare(o) > 0 }

// Nearby returns the places nearest to a point by great-circle distance
// (quadkey.Distance), nearest first and by id where distances are equal. It is
// exact everywhere: across ±180°, at the poles and beyond ±85.0511°.
//
// The hits are written over dst, whose memory is used again, that of its
// elements' JSON included; with a dst of an earlier call a search allocates
// next to nothing. next is the cursor of the following page, empty when there
// is none. Page by page the answer is the same as in one piece.
//
// Errors match ErrQuery, ErrCursor, ErrCursorExpired, ErrTooMuchWork, the
// context's or the store's.
func (f *Finder) Nearby(ctx context.Context, q NearbyQuery, dst []Hit) (hits []Hit, next string, err error) {
	flt, err := q.check()
	if err != nil {
		return dst[:0], "", err
	}
	tag := q.tag(&flt)
	s := f.searches.Get().(*nearby)
	defer f.searches.Put(s)
	s.after = start
	if q.Cursor != "" {
		if s.after, err = decodeDistance(q.Cursor, f.data, tag); err != nil {
			return dst[:0], "", err
		}
	}
	limit := q.Limit
	if limit == 0 {
		limit = DefaultLimit
	}
	s.f, s.filter, s.lat, s.lon = f, flt, q.Lat, q.Lon
	s.want = limit + 1 // one more tells whether there is a next page
	s.reach = q.RadiusM
	if s.reach == 0 {
		s.reach = math.Inf(1)
	}
	if err := s.run(ctx); err != nil {
		return dst[:0], "", err
	}
	slices.SortFunc(s.found, func(a, b Hit) int { return a.compare(&b) })
	more := len(s.found) > limit
	found := s.found[:min(len(s.found), limit)]
	dst = slices.Grow(dst[:0], len(found))[:len(found)]
	for i := range found {
		json := append(dst[i].JSON[:0], found[i].JSON...)
		dst[i] = found[i]
		dst[i].JSON = json
	}
	if more {
		last := &found[limit-1]
		next = cursor{last.DistanceM, last.ID}.encode(f.data, tag)
	}
	return dst, next, nil
}

// nearby is one Nearby call: best-first over quadtree tiles. The frontier
// starts with the world, once per tier, and always gives up the tile that
// could hold the nearest place. That tile is read if the index says it holds
// few, and else replaced by its children, but for those in which the index
// knows of no place that passes the filter. The search ends when the tile at
// hand cannot hold anything nearer than the last of as many places as are
// wanted.
type nearby struct {
	f        *Finder
	filter   filter
	masks    *masks
	lat, lon float64
	after    cursor
	want     int
	reach    float64 // metres; nothing beyond is wanted. Shrinks to the last of found

	frontier []node // heap, nearest on top
	found    []Hit  // heap, farthest on top, once it is full
	tileScan
}

// node is a tile of one tier. The tier's samples lo to hi lie in it.
type node struct {
	bound  float64 // metres; no place of the tile is nearer
	tile   quadkey.Tile
	tier   uint8
	tight  bool // bound is that of the samples
	lo, hi int32
}

// above keeps the nearest tile on top of a heap.
func (n *node) above(o *node) bool { return n.bound < o.bound }

func (s *nearby) run(ctx context.Context) error {
	s.frontier, s.found, s.examined = s.frontier[:0], s.found[:0], 0
	s.masks = s.f.masks(&s.filter)
	take := s.consider
	for tier, x := range s.f.indexes {
		if !s.masks[tier].none {
			s.frontier = push(s.frontier, node{tier: uint8(tier), hi: int32(len(x.samples))})
		}
	}
	for len(s.frontier) > 0 && s.frontier[0].bound <= s.reach {
		var n node
		n, s.frontier = pop(s.frontier)
		x := s.f.indexes[n.tier]
		if n.tile.Z < quadkey.CellZoom && !x.leaf(&s.masks[n.tier], n.lo, n.hi) {
			s.split(&n)
			continue
		}
		if x.exact() && !n.tight && n.tile.Z < quadkey.CellZoom {
			if s.tighten(&n); n.bound <= s.reach {
				s.frontier = push(s.frontier, n)
			}
			continue
		}
		if err := s.read(ctx, s.f, n.tile, n.tier, take); err != nil {
			return err
		}
	}
	return nil
}

// tighten raises the bound of a tile whose places are all samples to the
// nearest of their cells.
func (s *nearby) tighten(n *node) {
	nearest := math.Inf(1)
	for _, c := range s.f.indexes[n.tier].samples[n.lo:n.hi] {
		nearest = min(nearest, c.Tile().MinDistance(s.lon, s.lat))
	}
	n.bound, n.tight = max(n.bound, nearest), true
}

func (s *nearby) split(n *node) {
	x, m := s.f.indexes[n.tier], &s.masks[n.tier]
	lo := n.lo
	for _, t := range n.tile.Children() {
		first, last := t.CellRange()
		child := node{tile: t, tier: n.tier, lo: lo, hi: x.samplesIn(lo, n.hi, last)}
		lo = child.hi
		if !x.mayHold(m, t.Z, first, last, child.lo, child.hi) {
			continue
		}
		child.bound = t.MinDistance(s.lon, s.lat)
		if child.bound <= s.reach && !s.passed(t) {
			s.frontier = push(s.frontier, child)
		}
	}
}

// passed reports whether every place of a tile is nearer than those of the
// pages before: no two of its places are farther apart than once along its
// height and once along its widest parallel.
func (s *nearby) passed(t quadkey.Tile) bool {
	if s.after.distance <= 0 {
		return false
	}
	b := t.Bound()
	if t.Y == 0 {
		b.North = 90
	}
	if t.Y == 1<<t.Z-1 {
		b.South = -90
	}
	const metresPerDegree = quadkey.EarthRadius * math.Pi / 180
	widest := max(0, b.South, -b.North)
	across := metresPerDegree * (b.North - b.South + (b.East-b.West)*math.Cos(widest*math.Pi/180))
	corner := quadkey.Distance(s.lon, s.lat, b.West, b.South)
	return (corner+across)*(1+1e-9)+1e-3 < s.after.distance
}

func (s *nearby) consider(p *place) {
	if !s.filter.passes(p) {
		return
	}
	lat, lon := toDegrees(p.lat), toDegrees(p.lon)
	// The difference of latitude alone often rules a place out.
	const metresPerDegree = quadkey.EarthRadius * math.Pi / 180
	if math.Abs(lat-s.lat)*metresPerDegree*(1-1e-9)-1e-3 > s.reach {
		return
	}
	h := Hit{ID: p.id, Lat: lat, Lon: lon, DistanceM: quadkey.Distance(s.lon, s.lat, lon, lat)}
	if h.DistanceM > s.reach || !s.after.before(h.DistanceM, h.ID) {
		return
	}
	if len(s.found) < s.want {
		at := len(s.found)
		s.found = slices.Grow(s.found, 1)[:at+1]
		h.JSON = append(s.found[at].JSON[:0], p.members...) // of an earlier search
		s.found[at] = h
		if len(s.found) == s.want {
			heapify(s.found)
			s.reach = s.found[0].DistanceM
		}
		return
	}
	if h.compare(&s.found[0]) >= 0 {
		return
	}
	h.JSON = append(s.found[0].JSON[:0], p.members...)
	s.found[0] = h
	sink(s.found, 0)
	s.reach = s.found[0].DistanceM
}
