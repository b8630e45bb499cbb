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

// These are bounds of queries.
const (
	DefaultLimit = near.DefaultLimit
	MaxLimit     = near.MaxLimit
	// MaxExamined bounds the points that a query of a page may examine.
	MaxExamined = 200_000
)

// tie orders points of one rank by their row keys.
type tie struct {
	key quadkey.PointKey
	id  []byte
}

// Compare implements near.Key.
func (a tie) Compare(b tie) int {
	return cmp.Or(cmp.Compare(a.key, b.key), bytes.Compare(a.id, b.id))
}

// mark is a position in an order of points.
type mark = near.Ranked[tie]

// kept is a point kept by a search, with memory of its own.
type kept struct {
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

// search is one running query. Its memory is reused.
type search struct {
	near.Search[branch, tie]
	c      *Collection
	from   reading
	step   func() error // the query's Step; nil for none
	filter *feature.Expression
	// foreign is a filter that does not read rows, or nil for none.
	foreign func(*feature.Feature) (bool, error)
	masks   []uint64
	now     int64
	sel     cellstore.Selection // of the rows of points
	kind    byte                // begins their keys
	past    bool                // whether the query is as of an instant
	around  *feature.Near       // ranks are distances from it; nil for none
	most    int                 // points that may be examined; 0 for any number
	shown   feature.Feature

	// resumes is set in the order of rows: the scan then begins at After.
	resumes bool
	lists   bool         // whether the order is that of keys
	looked  feature.Mark // the last point that may be examined, in the order of keys
	kept    []kept       // by slot
	four    [4]branch    // children of the current branch

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
	rest   []byte // where a visit continues; s.key belongs to the scan until the scan ends
	scan   cellstore.Scan
	ranges [1]cellstore.Range
}

// begin prepares a search.
func (s *search) begin(ctx context.Context, c *Collection, from reading, q *feature.Query) {
	s.c, s.from, s.examined, s.resumes, s.lists, s.looked = c, from, 0, false, false, nil
	s.Reset(0, 0, mark{})
	s.now, s.past, s.around, s.most = c.now(q.At), !q.At.IsZero(), q.Near, q.MaxExamined
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

// blind reports whether the tree cannot be used: for an earlier instant, if other programs write
// too, or once the view is too old. Call it after reading the tree. If it returns false, what was
// read from the tree is right.
func (s *search) blind() bool {
	return s.past || s.c.tree == nil || s.from.view != nil && s.from.view.blind.Load()
}

// tie returns the key of the current record among those of its rank.
func (s *search) tie() tie { return tie{s.record.key, s.record.id} }

// keep keeps the current record.
func (s *search) keep(rank uint64) {
	slot := s.Slot()
	if slot == len(s.kept) {
		s.kept = append(s.kept, kept{})
	}
	k := &s.kept[slot]
	k.copy(&s.record)
	s.Keep(rank, tie{k.key, k.id})
}

// found yields the kept points in order.
func (s *search) found(fn func(*feature.Feature) error) error {
	found := s.Sorted()
	s.key = s.key[:0]
	for i := range found {
		s.key = append(s.key, found[i].Key.id...)
	}
	ids := string(s.key) // one text for all
	f := &s.shown
	for i := range found {
		x := &found[i]
		k := &s.kept[x.Slot]
		n := len(k.id)
		f.ID, ids = ids[:n], ids[n:]
		k.show(f)
		if f.DistanceM = 0; s.around != nil {
			f.DistanceM = x.Distance()
		}
		f.Mark = appendMark(f.Mark[:0], x.Rank, &k.record)
		if err := fn(f); err != nil {
			return err
		}
	}
	return nil
}

// passes reports whether the current record exists and passes the filters.
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

// mayHold reports whether a branch can hold points that pass the filter.
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

// rows calls fn with each point of a range of keys in s.record, until fn returns false or an error.
// limit bounds the rows; 0 means any number. fn must not call rows.
func (s *search) rows(ctx context.Context, from, to []byte, limit int, fn func() (bool, error)) error {
	from[0], to[0] = s.kind, s.kind
	if len(to) == 1 {
		to[0]++ // the end of all keys
	}
	s.ranges[0] = cellstore.Range{From: from, To: to}
	return s.rowsOf(ctx, s.ranges[:], limit, fn)
}

// rowsOf does the same as rows, for several ranges and the present state.
func (s *search) rowsOf(ctx context.Context, ranges []cellstore.Range, limit int, fn func() (bool, error)) error {
	s.scan = cellstore.Scan{Ranges: ranges, Limit: limit, Selection: s.sel}
	if s.onRow == nil {
		s.onRow = s.take // once: it allocates
	}
	s.fn, s.err = fn, nil
	cellstore.Each(ctx, s.from.Reader, &s.scan, s.onRow)
	return s.err
}

// take handles one row of the loop over rows.
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

// nearby descends the tree and visits the nearest tiles first.
func (s *search) nearby(ctx context.Context) error {
	return s.Descend(ctx, s, func() {
		s.four[0] = branch{}
		if s.c.tree != nil {
			s.four[0] = s.c.tree.root()
		}
		s.Offer(s, &s.four[0])
	})
}

// Bound implements near.Tree. It returns the distance of a branch if the branch can hold
// points.
func (s *search) Bound(b *branch) (rank uint64, ok bool) {
	if !s.blind() && !s.mayHold(b) {
		return 0, false
	}
	return near.DistanceRank(b.tile.MinDistance(s.around.Lon, s.around.Lat)), true
}

// Visit implements near.Tree.
func (s *search) Visit(ctx context.Context, b *branch) (err error) {
	var divide bool
	if !s.blind() {
		s.four, divide = s.c.tree.children(b)
	}
	if s.blind() {
		if divide, err = s.leaf(ctx, b, leafPoints*8); divide {
			for i, t := range b.tile.Children() {
				s.four[i] = branch{tile: t}
			}
		}
	} else if !divide {
		_, err = s.leaf(ctx, b, 0)
	}
	for i := range s.four {
		if divide {
			s.Offer(s, &s.four[i])
		}
	}
	return err
}

// leaf examines the points of a tile. If the tile can be divided, a blind search stops after most
// rows and sets full.
func (s *search) leaf(ctx context.Context, b *branch, most int) (full bool, err error) {
	repeats := most > 0
	if b.tile.Z == quadkey.MaxZoom {
		most = 0
	}
	if s.onPoint == nil {
		s.onPoint = s.look // once: it allocates
	}
	s.rangeOf(b.tile)
	s.visit = visit{most: most, repeats: repeats, again: true}
	for s.visit.again && err == nil {
		s.visit.again, s.visit.seen = false, 0
		err = s.rows(ctx, s.key, s.until, most, s.onPoint)
		if s.visit.again {
			s.key, s.rest = s.rest, s.key
		}
	}
	return s.visit.full, err
}

// visit is the examination of the points of one tile.
type visit struct {
	most   int
	seen   int
	before quadkey.PointKey // of the previous point
	// repeats is set if some points of the tile may already have been examined in the tile around
	// it.
	repeats bool
	again   bool // the rest is read from s.rest on
	full    bool
}

// look examines the current record.
func (s *search) look() (more bool, err error) {
	v := &s.visit
	if v.seen++; v.seen == v.most {
		v.full = true
		return false, nil
	}
	if s.record.properties == nil { // gone, so it has no position
		return s.count()
	}
	rank := near.DistanceRank(quadkey.Distance(s.around.Lon, s.around.Lat, toDegrees(s.record.lon), toDegrees(s.record.lat)))
	if s.Wants(rank, s.tie()) {
		if math.Float64frombits(rank) >= s.around.MinM && !(v.repeats && s.has()) {
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

// count counts an examined row.
func (s *search) count() (more bool, err error) {
	if s.examined++; s.examined > s.most {
		return false, &feature.TooMuchWork{Examined: s.most}
	}
	if s.step != nil && s.examined%stepPoints == 0 {
		return true, s.step()
	}
	return true, nil
}

// has reports whether the current record is kept already. A blind search may examine a record
// twice.
func (s *search) has() bool {
	return slices.ContainsFunc(s.Unsorted(), func(f near.Found[tie]) bool { return f.Key.Compare(s.tie()) == 0 })
}

// skip moves s.rest past all points at the position of the current record, if that position is not
// wanted. There may be any number of such points. repeated is set if the previous record was at the
// same position.
func (s *search) skip(rank uint64, repeated bool) bool {
	r := &s.record
	if math.Abs(toDegrees(r.lat)) > quadkey.MaxLatitude || math.Abs(toDegrees(r.lon)) == 180 {
		return false // different positions share keys there
	}
	after := &s.After
	switch {
	case after.Rank == rank && after.Key.key == r.key && bytes.Compare(r.id, after.Key.id) < 0:
		s.rest = append(append(appendPointKey(s.rest[:0], r.key, ""), after.Key.id...), 0)
		return true
	case repeated && rank >= s.Limit && r.key != math.MaxUint64:
		s.rest = appendPointKey(s.rest[:0], r.key+1, "")
		return true
	}
	return false
}
