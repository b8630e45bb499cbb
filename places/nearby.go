package places

import (
	"context"
	"fmt"
	"math"
	"slices"

	"quadrille/cellstore"
	"quadrille/quadkey"
)

// Hit is one place found by Nearby.
type Hit struct {
	ID        uint32
	Lat, Lon  float64 // degrees
	DistanceM float64 // metres from the point asked about
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
	tag := queryTag(&q, &flt)
	s := f.searches.Get().(*search)
	defer f.searches.Put(s)
	s.after = start
	if q.Cursor != "" {
		if s.after, err = decodeCursor(q.Cursor, f.data, tag); err != nil {
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

// search is one Nearby call: best-first over quadtree tiles. The frontier
// starts with the world, once per tier, and always gives up the tile that
// could hold the nearest place. That tile is read if the index says it holds
// few, and else replaced by its children. The search ends when the tile at
// hand cannot hold anything nearer than the last of as many places as are
// wanted.
type search struct {
	f        *Finder
	filter   filter
	lat, lon float64
	after    cursor
	want     int
	reach    float64 // metres; nothing beyond is wanted. Shrinks to the last of found

	frontier []node // heap, nearest on top
	found    []Hit  // heap, farthest on top, once it is full
	grids    [tiers]grid
	examined int

	scan    cellstore.Scan
	ranges  [1]cellstore.Range
	family  [1]string
	bounds  [8]byte
	prefix  []byte
	through []byte
}

// node is a tile of one tier. The tier's samples lo to hi lie in it.
type node struct {
	bound  float64 // metres; no place of the tile is nearer
	tile   quadkey.Tile
	tier   uint8
	lo, hi int32
}

// above keeps the nearest tile on top of a heap.
func (n *node) above(o *node) bool { return n.bound < o.bound }

// leafSamples is how many samples a tile may hold and still be read at once.
const leafSamples = 2

func (s *search) run(ctx context.Context) error {
	s.frontier, s.found, s.examined = s.frontier[:0], s.found[:0], 0
	s.pushdown()
	for tier, x := range s.f.indexes {
		if x.mask(&s.filter, &s.grids[tier]) {
			s.frontier = push(s.frontier, node{tier: uint8(tier), hi: int32(len(x.samples))})
		}
	}
	for len(s.frontier) > 0 && s.frontier[0].bound <= s.reach {
		var n node
		n, s.frontier = pop(s.frontier)
		if n.hi-n.lo <= leafSamples || n.tile.Z == quadkey.CellZoom {
			if err := s.read(ctx, &n); err != nil {
				return err
			}
		} else {
			s.split(&n)
		}
	}
	return nil
}

// pushdown states the filter on feature codes as one on columns.
func (s *search) pushdown() {
	s.scan = cellstore.Scan{Ranges: s.ranges[:]}
	s.scan.Families = s.family[:]
	if s.filter.class == "" {
		return
	}
	s.prefix = appendQualifier(s.prefix[:0], s.filter.class, s.filter.featureCode)
	if s.filter.featureCode == "" {
		s.scan.Filter.Prefix = s.prefix
		return
	}
	s.through = append(append(s.through[:0], s.prefix...), 0)
	s.scan.Filter.From, s.scan.Filter.To = s.prefix, s.through
}

func (s *search) split(n *node) {
	samples := s.f.indexes[n.tier].samples
	lo := n.lo
	for _, t := range n.tile.Children() {
		first, last := t.CellRange()
		hi := n.hi
		if last != math.MaxUint32 {
			at, _ := slices.BinarySearch(samples[lo:n.hi], last+1)
			hi = lo + int32(at)
		}
		child := node{tile: t, tier: n.tier, lo: lo, hi: hi}
		lo = hi
		if t.Z <= gridZoom && !s.grids[n.tier].meets(first, last) {
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
func (s *search) passed(t quadkey.Tile) bool {
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

// read examines the places of a tile.
func (s *search) read(ctx context.Context, n *node) error {
	first, last := n.tile.CellRange()
	s.ranges[0].From, s.ranges[0].To = cellRange(s.bounds[:0], first, last)
	s.family[0] = tierNames[n.tier]
	for row, err := range s.f.tiles.Scan(ctx, s.scan) {
		if err != nil {
			return fmt.Errorf("places: %w", err)
		}
		if s.examined++; s.examined > MaxExamined {
			return fmt.Errorf("%w: %d places looked at without finding %d that fit: give a radius, ask for fewer, or relax the filters",
				ErrTooMuchWork, MaxExamined, s.want-1)
		}
		p, err := parsePlace(row)
		if err != nil {
			return err
		}
		if s.filter.passes(&p) {
			s.consider(&p)
		}
	}
	return nil
}

func (s *search) consider(p *place) {
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
