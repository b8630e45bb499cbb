package places

import (
	"cmp"
	"context"
	"slices"

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
	flt, err := q.check()
	if err != nil {
		return dst[:0], "", err
	}
	tag := q.tag(&flt)
	s := f.withins.Get().(*within)
	defer func() {
		s.q = WithinQuery{} // Keep may hold on to much
		f.withins.Put(s)
	}()
	s.after, s.paged = ranking{}, false
	if q.Cursor != "" {
		if s.after.importance, s.after.id, err = decodeCursor(q.Cursor, f.data, tag); err != nil {
			return dst[:0], "", err
		}
		s.paged = true
	}
	limit := q.Limit
	if limit == 0 {
		limit = DefaultLimit
	}
	s.f, s.filter, s.q = f, flt, q
	s.want = limit + 1 // one more tells whether there is a next page
	if err := s.run(ctx); err != nil {
		return dst[:0], "", err
	}
	slices.SortFunc(s.found, func(a, b ranked) int { return a.compare(&b.ranking) })
	found := s.found[:min(len(s.found), limit)]
	dst = slices.Grow(dst[:0], len(found))[:len(found)]
	for i := range found {
		json := append(dst[i].JSON[:0], found[i].json...)
		dst[i] = Hit{ID: found[i].id, Lat: found[i].lat, Lon: found[i].lon, JSON: json}
	}
	if len(s.found) > limit {
		last := &found[limit-1]
		next = encodeCursor(f.data, tag, last.importance, last.id)
	}
	return dst, next, nil
}

// coverRanges is how many runs of cells a box is covered by at most.
const coverRanges = 64

// ranking orders places for display.
type ranking struct {
	importance uint64
	id         uint32
}

// compare puts the most important first.
func (a *ranking) compare(b *ranking) int {
	return cmp.Or(cmp.Compare(b.importance, a.importance), cmp.Compare(a.id, b.id))
}

// ranked is a place found, with a copy of its members.
type ranked struct {
	ranking
	lat, lon float64
	json     []byte
}

// above keeps the least important place on top of a heap.
func (a *ranked) above(b *ranked) bool { return a.compare(&b.ranking) > 0 }

// within is one Within call: best-first over quadtree tiles, as a nearby search
// is, but it goes on with the tile that could hold the most important place.
// Tiers follow one another by themselves: the lower ones are not read before
// the higher ones are exhausted.
type within struct {
	f      *Finder
	filter filter
	masks  *masks
	q      WithinQuery
	cover  []quadkey.Range
	after  ranking
	paged  bool // the places up to after have been on earlier pages
	want   int

	frontier []rankedNode // heap, most important on top
	found    []ranked     // heap, least important on top, once it is full
	tileScan
}

// rankedNode is a tile of one tier. The tier's samples lo to hi lie in it.
type rankedNode struct {
	bound  uint64 // no place of the tile is more important
	tile   quadkey.Tile
	tier   uint8
	lo, hi int32
}

func (n *rankedNode) above(o *rankedNode) bool { return n.bound > o.bound }

func (s *within) run(ctx context.Context) (err error) {
	s.frontier, s.found, s.examined = s.frontier[:0], s.found[:0], 0
	if s.q.Tile != nil {
		first, last := s.q.Tile.CellRange()
		s.cover = append(s.cover[:0], quadkey.Range{First: first, Last: last})
	} else if s.cover, err = quadkey.CoverBox(s.q.Box, coverRanges); err != nil {
		return badQuery("%v", err)
	}
	s.masks = s.f.masks(&s.filter)
	take := s.take
	for tier, x := range s.f.indexes {
		s.consider(rankedNode{tier: uint8(tier), hi: int32(len(x.samples))})
	}
	for len(s.frontier) > 0 {
		if s.q.Examine > 0 && s.examined >= s.q.Examine {
			return nil
		}
		var n rankedNode
		n, s.frontier = pop(s.frontier)
		if len(s.found) == s.want && n.bound < s.found[0].importance {
			return nil
		}
		if x := s.f.indexes[n.tier]; n.tile.Z < quadkey.CellZoom && (n.hi-n.lo)*x.every > blockPlaces {
			s.split(&n)
			continue
		}
		if err := s.read(ctx, s.f, n.tile, n.tier, take); err != nil {
			return err
		}
	}
	return nil
}

func (s *within) split(n *rankedNode) {
	x := s.f.indexes[n.tier]
	lo := n.lo
	for _, t := range n.tile.Children() {
		_, last := t.CellRange()
		child := rankedNode{tile: t, tier: n.tier, lo: lo, hi: x.samplesIn(lo, n.hi, last)}
		lo = child.hi
		s.consider(child)
	}
}

// consider puts a tile into the frontier if it can hold a place that is wanted.
func (s *within) consider(n rankedNode) {
	x, m := s.f.indexes[n.tier], &s.masks[n.tier]
	first, last := n.tile.CellRange()
	if !s.touches(first, last) || !x.mayHold(m, n.tile.Z, first, last, n.lo, n.hi) {
		return
	}
	n.bound = x.greatest(m, n.lo, n.hi)
	if len(s.found) < s.want || n.bound >= s.found[0].importance {
		s.frontier = push(s.frontier, n)
	}
}

// touches reports whether the cover has one of the cells.
func (s *within) touches(first, last quadkey.Cell) bool {
	at, _ := slices.BinarySearchFunc(s.cover, first, func(r quadkey.Range, c quadkey.Cell) int { return cmp.Compare(r.Last, c) })
	return at < len(s.cover) && s.cover[at].First <= last
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

func (s *within) take(p *place) {
	if !s.filter.passes(p) {
		return
	}
	r := ranked{ranking: ranking{p.importance(), p.id}, lat: toDegrees(p.lat), lon: toDegrees(p.lon)}
	full := len(s.found) == s.want
	if full && r.compare(&s.found[0].ranking) >= 0 || s.paged && r.compare(&s.after) <= 0 || !s.has(r.lon, r.lat) {
		return
	}
	if s.q.Keep != nil && !s.q.Keep(p.members) {
		return
	}
	if full {
		r.json = append(s.found[0].json[:0], p.members...)
		s.found[0] = r
		sink(s.found, 0)
		return
	}
	at := len(s.found)
	s.found = slices.Grow(s.found, 1)[:at+1]
	r.json = append(s.found[at].json[:0], p.members...) // of an earlier search
	s.found[at] = r
	if len(s.found) == s.want {
		heapify(s.found)
	}
}
