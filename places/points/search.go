package points

import (
	"bytes"
	"cmp"
	"context"
	"math"
	"slices"

	"quadrille/cellstore"
	"quadrille/feature"
	"quadrille/places/internal/near"
	"quadrille/quadkey"
)

// Bounds of queries.
const (
	DefaultLimit = near.DefaultLimit
	MaxLimit     = near.MaxLimit
	// MaxExamined is how many points a query of a page may look at.
	MaxExamined = 200_000
)

// kept is a point that a search keeps, with memory of its own. Points are in the order
// of their rank, then of their row keys.
type kept struct {
	rank   uint64
	memory []byte // id and properties
	record
}

// copy makes k a copy of a record.
func (k *kept) copy(r *record) {
	k.memory = append(append(k.memory[:0], r.id...), r.properties...)
	n := len(r.id)
	k.record = *r
	k.id, k.properties = k.memory[:n:n], k.memory[n:]
}

func (k *kept) compare(rank uint64, key quadkey.PointKey, id []byte) int {
	return cmp.Or(cmp.Compare(k.rank, rank), cmp.Compare(k.key, key), bytes.Compare(k.id, id))
}

// Above keeps the last point on top of a heap.
func (k *kept) Above(o *kept) bool { return k.compare(o.rank, o.key, o.id) > 0 }

// waiting is a branch that a search may have to look into.
type waiting struct {
	branch
	rank uint64 // no point in it has a lesser one
}

// Above keeps the branch of the least rank on top of a heap.
func (w *waiting) Above(o *waiting) bool { return w.rank < o.rank }

// search is one question. Its memory is used again.
type search struct {
	c      *Collection
	from   reading
	step   func() error // of the query; nil for none
	filter *feature.Conjunction
	// foreign is a filter that knows no rows; nil for none.
	foreign func(*feature.Feature) (bool, error)
	masks   []uint64
	now     int64
	sel     cellstore.Selection // of the rows of points
	kind    byte                // begins their keys
	past    bool                // it asks as of an instant
	near    bool                // ranks are distances
	most    int                 // points that may be looked at; 0 for any number
	shown   feature.Feature

	want  int
	limit uint64 // the last rank that is wanted
	after mark
	// resumes says that the order is that of rows, so that after is where to begin.
	resumes bool
	lists   bool         // the order is that of keys
	looked  feature.Mark // the last point that may be looked at, where the order is that of keys
	heap    []kept       // last on top, once it is full
	spare   []kept       // memory of points displaced

	frontier []waiting
	examined int

	visit   visit
	onPoint func() (bool, error)
	fn      func() (bool, error)
	onRow   func(*cellstore.Row, error) bool
	err     error

	row    cellstore.Row
	record record
	key    []byte
	until  []byte
	ranges [1]cellstore.Range
}

// begin prepares a question.
func (s *search) begin(ctx context.Context, c *Collection, from reading, q *feature.Query) {
	s.c, s.from, s.examined, s.after, s.resumes, s.lists, s.looked = c, from, 0, mark{}, false, false, nil
	s.now, s.past, s.near, s.most = c.now(q.At), !q.At.IsZero(), q.Near != nil, q.Examine
	s.sel, s.kind = *selectPoint, rowOf(q.At)
	if s.past {
		s.sel = cellstore.Selection{Families: selectPast.Families, Time: cellstore.AsOf(q.At.UnixMilli())}
	}
	s.step, s.foreign = nil, nil
	if q.Step != nil {
		s.step = func() error { return q.Step(ctx) }
	}
	meta, sum := c.tables()
	var all bool
	if s.filter, all = meta.Schema.ForIndex(q.Filter); !all {
		s.foreign = func(f *feature.Feature) (bool, error) { return q.Filter.Match(ctx, f) }
	}
	s.masks = s.masks[:0]
	if s.filter != nil && sum != nil {
		s.masks = masks(s.masks, s.filter, sum.few)
	}
}

// blind reports whether the tree does not say where points are: as of an earlier time,
// where other programs write too, and once the view is too old. Ask it after the tree: what
// the tree said before the search became blind is true.
func (s *search) blind() bool {
	return s.past || s.c.tree == nil || s.from.view != nil && s.from.view.blind.Load()
}

// reset forgets what was kept, to keep the first points of a ranking.
func (s *search) reset(want int, limit uint64, after mark) {
	s.spare = append(s.spare, s.heap...)
	s.want, s.limit, s.after, s.heap = want, limit, after, s.heap[:0]
}

// wants reports whether the record at hand would be kept with a rank.
func (s *search) wants(rank uint64) bool {
	r := &s.record
	if rank > s.limit {
		return false
	}
	if a := &s.after; a.set && cmp.Or(cmp.Compare(rank, a.rank), cmp.Compare(r.key, a.key), bytes.Compare(r.id, a.id)) <= 0 {
		return false
	}
	return len(s.heap) < s.want || s.heap[0].compare(rank, r.key, r.id) > 0
}

// keep keeps the record at hand.
func (s *search) keep(rank uint64) {
	var k kept
	full := len(s.heap) == s.want
	switch last := len(s.spare) - 1; {
	case full:
		k = s.heap[0]
	case last >= 0:
		k, s.spare = s.spare[last], s.spare[:last]
	}
	k.copy(&s.record)
	k.rank = rank
	if full {
		s.heap[0] = k
		near.Sink(s.heap, 0)
	} else if s.heap = append(s.heap, k); len(s.heap) == s.want {
		near.Heapify(s.heap)
	}
	if len(s.heap) == s.want {
		s.limit = s.heap[0].rank
	}
}

// found yields what was kept, the first first.
func (s *search) found(fn func(*feature.Feature) error) error {
	slices.SortFunc(s.heap, func(a, b kept) int { return a.compare(b.rank, b.key, b.id) })
	s.key = s.key[:0]
	for i := range s.heap {
		s.key = append(s.key, s.heap[i].id...)
	}
	ids := string(s.key) // one text for all
	f := &s.shown
	for i := range s.heap {
		k := &s.heap[i]
		n := len(k.id)
		f.ID, ids = ids[:n], ids[n:]
		k.show(f)
		f.Distance = k.distance(s.near)
		f.Mark = appendMark(f.Mark[:0], k.rank, &k.record)
		if err := fn(f); err != nil {
			return err
		}
	}
	return nil
}

// distance is that of a point which is ranked by it.
func (k *kept) distance(near bool) float64 {
	if near {
		return math.Float64frombits(k.rank)
	}
	return 0
}

// passes reports whether the record at hand is there and passes the filters.
func (s *search) passes() (bool, error) {
	switch {
	case s.record.over(s.now) || !s.filter.MatchCompact(s.record.properties):
		return false, nil
	case s.foreign == nil:
		return true, nil
	}
	s.record.show(&s.shown)
	return s.foreign(&s.shown)
}

// mayHold reports whether a branch can hold points that the filter lets pass.
func (s *search) mayHold(b *branch) bool {
	if b.count+b.held == 0 {
		return false
	}
	for _, m := range s.masks {
		if b.bits&m == 0 {
			return false
		}
	}
	return true
}

// rows calls fn with the points of a range of keys, which fn finds in s.record, until it
// returns false or an error. limit bounds the rows, 0 is for none. fn must not call rows.
func (s *search) rows(ctx context.Context, from, to []byte, limit int, fn func() (bool, error)) error {
	from[0], to[0] = s.kind, s.kind
	if len(to) == 1 {
		to[0]++ // the end of all keys
	}
	s.ranges[0] = cellstore.Range{From: from, To: to}
	scan := cellstore.Scan{Ranges: s.ranges[:], Limit: limit, Selection: s.sel}
	if s.onRow == nil {
		s.onRow = s.take // once: it allocates
	}
	s.fn, s.err = fn, nil
	s.from.Scan(ctx, scan)(s.onRow)
	return s.err
}

// take is the body of the loop over rows.
func (s *search) take(row *cellstore.Row, err error) (more bool) {
	if err != nil {
		s.err = wrap(err)
		return false
	}
	gone, err := s.record.parse(row)
	if err != nil {
		s.err = err
		return false
	}
	if gone {
		s.record.properties = nil
		s.record.expires = 1 // long ago
	}
	more, s.err = s.fn()
	return more && s.err == nil
}

// rangeOf sets the keys of the rows of a tile.
func (s *search) rangeOf(t quadkey.Tile) {
	first, last := t.PointKeys()
	s.key = appendPointKey(s.key[:0], first, "")
	s.until = appendEnd(s.until[:0], last)
}

// appendEnd appends the row key that follows all points of a key.
func appendEnd(dst []byte, last quadkey.PointKey) []byte {
	if last == math.MaxUint64 {
		return append(dst, rowPoint+1)
	}
	return appendPointKey(dst, last+1, "")
}

// nearby descends the tree, nearest tiles first.
func (s *search) nearby(ctx context.Context, q *feature.Near) error {
	s.frontier = s.frontier[:0]
	var root branch
	if s.c.tree != nil {
		root = s.c.tree.root()
	}
	s.wait(q, &root)
	for len(s.frontier) > 0 && s.frontier[0].rank <= s.limit {
		var w waiting
		w, s.frontier = near.Pop(s.frontier)
		var divide bool
		var four [4]branch
		if !s.blind() {
			four, divide = s.c.tree.children(&w.branch)
		}
		if s.blind() {
			full, err := s.leaf(ctx, q, &w.branch, leafPoints*8)
			if err != nil {
				return err
			}
			if divide = full; divide {
				for i, t := range w.tile.Children() {
					four[i] = branch{tile: t}
				}
			}
		} else if !divide {
			if _, err := s.leaf(ctx, q, &w.branch, 0); err != nil {
				return err
			}
		}
		for i := range four {
			if divide {
				s.wait(q, &four[i])
			}
		}
	}
	return nil
}

// wait puts a branch into the frontier if it can hold points that are wanted.
func (s *search) wait(q *feature.Near, b *branch) {
	if !s.blind() && !s.mayHold(b) {
		return
	}
	if rank := near.ByDistance(b.tile.MinDistance(q.Lon, q.Lat)); rank <= s.limit {
		s.frontier = near.Push(s.frontier, waiting{*b, rank})
	}
}

// leaf looks at the points of a tile. A blind search stops after as many rows as most,
// if the tile can be divided, and then full is set.
func (s *search) leaf(ctx context.Context, q *feature.Near, b *branch, most int) (full bool, err error) {
	repeats := most > 0
	if b.tile.Z == quadkey.MaxZoom {
		most = 0
	}
	if s.onPoint == nil {
		s.onPoint = s.look // once: it allocates
	}
	s.rangeOf(b.tile)
	s.visit = visit{query: q, most: most, repeats: repeats, again: true}
	for s.visit.again && err == nil {
		s.visit.again, s.visit.seen = false, 0
		err = s.rows(ctx, s.key, s.until, most, s.onPoint)
	}
	return s.visit.full, err
}

// visit is a look at the points of one tile.
type visit struct {
	query  *feature.Near
	most   int
	seen   int
	before quadkey.PointKey // of the point before
	// repeats says that some points may have been looked at in the tile around this one.
	repeats bool
	again   bool // the rest is read from s.key on
	full    bool
}

// look looks at the record at hand.
func (s *search) look() (more bool, err error) {
	v := &s.visit
	if v.seen++; v.seen == v.most {
		v.full = true
		return false, nil
	}
	if s.record.properties == nil { // gone, so it has no position
		return s.count()
	}
	rank := near.ByDistance(quadkey.Distance(v.query.Lon, v.query.Lat, toDegrees(s.record.lon), toDegrees(s.record.lat)))
	if s.wants(rank) {
		if math.Float64frombits(rank) >= v.query.MinM && !(v.repeats && s.has()) {
			pass, err := s.passes()
			if err != nil {
				return false, err
			}
			if pass {
				s.keep(rank)
			}
		}
	} else if s.skip(rank, v.seen > 1 && v.before == s.record.key) {
		v.again = true
		return false, nil
	}
	v.before = s.record.key
	return s.count()
}

// count counts a row that was looked at.
func (s *search) count() (more bool, err error) {
	if s.examined++; s.examined > s.most {
		return false, &feature.TooMuchWork{Examined: s.most}
	}
	if s.step != nil && s.examined%stepPoints == 0 {
		return true, s.step()
	}
	return true, nil
}

// has reports whether the record at hand is kept already. A blind search may look at it
// twice.
func (s *search) has() bool {
	for i := range s.heap {
		if k := &s.heap[i]; k.key == s.record.key && bytes.Equal(k.id, s.record.id) {
			return true
		}
	}
	return false
}

// skip moves s.key past points that are not wanted as the record at hand is not, since
// they are at the same position: any number of points may be. repeated says that
// the one before was there too.
func (s *search) skip(rank uint64, repeated bool) bool {
	r := &s.record
	if math.Abs(toDegrees(r.lat)) > quadkey.MaxLatitude || math.Abs(toDegrees(r.lon)) == 180 {
		return false // different positions share keys there
	}
	a := &s.after
	switch {
	case a.set && a.rank == rank && a.key == r.key && bytes.Compare(r.id, a.id) < 0:
		s.key = append(append(appendPointKey(s.key[:0], r.key, ""), a.id...), 0)
		return true
	case repeated && rank >= s.limit && r.key != math.MaxUint64:
		s.key = appendPointKey(s.key[:0], r.key+1, "")
		return true
	}
	return false
}
