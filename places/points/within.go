package points

import (
	"context"
	"errors"
	"math"
	"time"

	"quadrille/feature"
	"quadrille/places/internal/near"
	"quadrille/quadkey"
)

// Area is ground that points are asked for in. It may be a Stepper, too.
type Area interface {
	// Cover calls fn with the parts of the area in the order of their cells, which no two
	// parts share. Parts that end before the cell from may be left out.
	Cover(ctx context.Context, from quadkey.Cell, fn func(p *Part) error) error
}

// Stepper is an Area whose answers give way to others.
type Stepper interface {
	// Step is called after every few hundred points that are looked at, whether they are
	// in the answer or not. Its error ends the answer.
	Step(ctx context.Context) error
}

// Part is a run of cells of an Area.
type Part struct {
	Cells quadkey.Range
	// Contains reports whether a point of these cells, in degrees, is in the area. Nil
	// says that all are.
	Contains func(lat, lon float64) (bool, error)
}

// Box is the Area of a box, edges included.
type Box quadkey.Box

// boxRanges bounds the cover of a box. More ranges read fewer points beside it.
const boxRanges = 64

// Cover implements Area. Its error matches ErrQuery where the box is none.
func (b Box) Cover(_ context.Context, _ quadkey.Cell, fn func(p *Part) error) error {
	box := quadkey.Box(b)
	if err := near.CheckBox(box); err != nil {
		return err
	}
	ranges, err := quadkey.CoverBox(box, boxRanges)
	if err != nil {
		return err
	}
	p := Part{}
	if box != quadkey.World {
		p.Contains = func(lat, lon float64) (bool, error) { return box.Contains(lon, lat), nil }
	}
	for _, p.Cells = range ranges {
		if err := fn(&p); err != nil {
			return err
		}
	}
	return nil
}

// Tile is the Area of a tile, with the points that belong to it. Deeper tiles than
// quadkey.CellZoom are cut out of their cell.
type Tile quadkey.Tile

// Cover implements Area.
func (t Tile) Cover(_ context.Context, _ quadkey.Cell, fn func(p *Part) error) error {
	tile := quadkey.Tile(t)
	p := Part{}
	p.Cells.First, p.Cells.Last = tile.CellRange()
	if tile.Z > quadkey.CellZoom {
		p.Contains = func(lat, lon float64) (bool, error) {
			at, err := quadkey.TileAt(lon, lat, tile.Z)
			return at == tile, err
		}
	}
	return fn(&p)
}

// WithinQuery asks for the points in an area.
type WithinQuery struct {
	Area   Area
	Limit  int             // points of a page, 1 to MaxLimit; 0 means DefaultLimit
	Filter *feature.Filter // nil lets all pass
	// Sort puts points that lack the property last. Without it points come in the order
	// of quadkeys, in which any number can be listed.
	Sort   feature.Sort
	Cursor string
	// Name tells the area from others, for cursors.
	Name string
	At   time.Time // as of; the zero time is now
}

// Within returns a page of the points in an area. hits and next are as those of Nearby,
// and so are errors; those of the Area come too.
func (c *Collection) Within(ctx context.Context, q WithinQuery, dst []Hit) (hits []Hit, next string, err error) {
	limit, err := near.CheckLimit(q.Limit)
	if err != nil {
		return dst[:0], "", err
	}
	kind := byte('w')
	if q.Sort.Field.Name != "" && !feature.Sortable(q.Sort.Field.Kind) {
		return dst[:0], "", near.BadQuery("the property %.40q cannot be sorted by: use a number, a time or a boolean", q.Sort.Field.Name)
	}
	if q.Sort.Down {
		kind = 'W'
	}
	f := append(q.Filter.AppendTo(nil), q.Name+"\x00"+q.Sort.Field.Name...)
	tag := near.QueryTag(kind, f, float64(q.At.UnixMilli()))
	after, err := decodeCursor(q.Cursor, tag)
	if err != nil {
		return dst[:0], "", err
	}
	r, err := c.begin(ctx, q.At)
	if err != nil {
		return dst[:0], "", err
	}
	defer c.end(r)
	s := c.finds.Get().(*search)
	defer c.finds.Put(s)
	s.begin(c, r, q.Filter, q.At)
	s.reset(limit+1, math.MaxUint64, after)
	if err := s.within(ctx, &q); err != nil {
		return dst[:0], "", err
	}
	hits, last, more := s.page(dst)
	if more {
		next = encodeCursor(tag, last)
	}
	return hits, next, nil
}

// errEnough ends a walk that has found all that is wanted.
var errEnough = errors.New("enough")

// within keeps the first points of an area.
func (s *search) within(ctx context.Context, q *WithinQuery) error {
	sorted := q.Sort.Field.Name != ""
	from := quadkey.PointKey(0)
	if s.resumes = !sorted && s.after.set; s.resumes {
		from = s.after.key
	}
	err := s.walk(ctx, q.Area, from, MaxExamined, func() error {
		rank := uint64(0)
		if sorted {
			rank = rankOf(s.record.properties, q.Sort)
		}
		if !s.wants(rank) {
			return nil
		}
		s.keep(rank)
		if !sorted && len(s.heap) == s.want {
			return errEnough
		}
		return nil
	})
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

// rankOf is the rank of a point by a property.
func rankOf(object []byte, by feature.Sort) uint64 {
	key, ok := feature.SortKey(object, by.Field)
	switch {
	case !ok:
		return math.MaxUint64
	case by.Down:
		key = ^key
	}
	return min(key, math.MaxUint64-1)
}

// Each calls fn with all points in an area, in the order of quadkeys. The Hit is used
// again for the next. Limit and Cursor of the query mean nothing, and it cannot be
// sorted. Errors are those of Within, or that of fn, which ends it.
func (c *Collection) Each(ctx context.Context, q WithinQuery, fn func(h *Hit) error) error {
	r, err := c.begin(ctx, q.At)
	if err != nil {
		return err
	}
	defer c.end(r)
	s := c.finds.Get().(*search)
	defer c.finds.Put(s)
	s.begin(c, r, q.Filter, q.At)
	var h Hit
	return s.walk(ctx, q.Area, 0, 0, func() error {
		h.set(&s.record)
		return fn(&h)
	})
}

// walk calls fn with the points in an area that pass the filter, each in s.record. most
// bounds how many are looked at; 0 is for any number.
func (s *search) walk(ctx context.Context, a Area, from quadkey.PointKey, most int, fn func() error) error {
	if stepper, ok := a.(Stepper); ok {
		s.step = stepper.Step
		defer func() { s.step = nil }()
	}
	return a.Cover(ctx, quadkey.Cell(from>>cellShift), func(p *Part) error { return s.walkPart(ctx, p, from, most, fn) })
}

// walkPart is walk in one part of an area.
func (s *search) walkPart(ctx context.Context, p *Part, from quadkey.PointKey, most int, fn func() error) error {
	first, last := pointKeys(p.Cells)
	first = max(first, from)
	for first <= last {
		run, rest, found := s.run(first, last)
		if found {
			if err := s.walkRun(ctx, run, p, most, fn); err != nil {
				return err
			}
		}
		if rest <= first {
			break // beyond the last key there is
		}
		first = rest
	}
	return nil
}

// cellShift makes a PointKey of a Cell.
const cellShift = 64 - 2*quadkey.CellZoom

// pointKeys returns the first and the last key of points in cells.
func pointKeys(r quadkey.Range) (first, last quadkey.PointKey) {
	return quadkey.PointKey(r.First) << cellShift, quadkey.PointKey(r.Last)<<cellShift | (1<<cellShift - 1)
}

// keyRange is a run of keys, both ends included.
type keyRange struct{ first, last quadkey.PointKey }

// run returns the first run of keys from first to last that can have points that the
// filter lets pass, and where to go on.
func (s *search) run(first, last quadkey.PointKey) (run keyRange, rest quadkey.PointKey, found bool) {
	if !s.blind() {
		run, rest, found = s.c.tree.run(first, last, s.masks)
	}
	if s.blind() {
		return keyRange{first, last}, 0, true
	}
	return run, rest, found
}

// run returns the first run of keys from first to last that is worth reading: points may
// be there, and no tile of it lacks all of a mask. rest is where the search for the
// next one begins, 0 if there is none.
func (t *tree) run(first, last quadkey.PointKey, masks []uint64) (run keyRange, rest quadkey.PointKey, found bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	var enter func(at uint32, low quadkey.PointKey, z uint8) bool
	// enter returns false at the end of the run.
	enter = func(at uint32, low quadkey.PointKey, z uint8) bool {
		n := &t.nodes[at]
		high := low
		if z > 0 {
			high += 1<<(64-2*uint(z)) - 1
		} else {
			high = math.MaxUint64
		}
		if high < first || low > last || n.count+n.held == 0 {
			return true
		}
		for _, m := range masks {
			if n.bits&m == 0 {
				if found {
					rest = high + 1
				}
				return !found
			}
		}
		if n.child == 0 || len(masks) == 0 {
			if !found {
				run.first, found = max(low, first), true
			}
			run.last = min(high, last)
			return true
		}
		for i := range uint32(4) {
			if !enter(n.child+i, low+quadkey.PointKey(i)<<(62-2*uint(z)), z+1) {
				return false
			}
		}
		return true
	}
	enter(0, 0, 0)
	return run, rest, found
}

// stepPoints is how many points are looked at between steps.
const stepPoints = 256

// walkRun calls fn with the points of a run.
func (s *search) walkRun(ctx context.Context, run keyRange, p *Part, most int, fn func() error) error {
	s.key = appendPointKey(s.key[:0], run.first, "")
	if a := &s.after; s.resumes && a.key == run.first {
		s.key = append(append(s.key, a.id...), 0)
	}
	s.until = appendEnd(s.until[:0], run.last)
	return s.rows(ctx, s.key, s.until, 0, func() (bool, error) {
		if s.examined++; most > 0 && s.examined > most {
			return false, tooMuch()
		}
		if s.step != nil && s.examined%stepPoints == 0 {
			if err := s.step(ctx); err != nil {
				return false, err
			}
		}
		if !s.passes() {
			return true, nil
		}
		if p.Contains != nil {
			in, err := p.Contains(toDegrees(s.record.lat), toDegrees(s.record.lon))
			if err != nil || !in {
				return err == nil, err
			}
		}
		return true, fn()
	})
}

// Count counts the points in an area that pass a filter, as of an instant; the zero time
// is now. Whole tiles are counted without reading a point, unless there is a filter
// or an instant. Points that expired within the last moments may count.
func (c *Collection) Count(ctx context.Context, a Area, f *feature.Filter, at time.Time) (n int64, err error) {
	if f != nil || c.tree == nil || !at.IsZero() || c.Meta().Expiring {
		r, err := c.begin(ctx, at)
		if err != nil {
			return 0, err
		}
		defer c.end(r)
		s := c.finds.Get().(*search)
		defer c.finds.Put(s)
		s.begin(c, r, f, at)
		return n, s.walk(ctx, a, 0, 0, func() error { n++; return nil })
	}
	// The tree counts what is whole. What is not is read, in the same state.
	var whole, parts []keyRange
	err = a.Cover(ctx, 0, func(p *Part) error {
		first, last := pointKeys(p.Cells)
		switch end := len(whole) - 1; {
		case p.Contains != nil:
		case end >= 0 && whole[end].last+1 == first:
			whole[end].last = last
		default:
			whole = append(whole, keyRange{first, last})
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	r, err := c.moment(ctx, func() {
		for i := range whole {
			n += c.tree.count(&whole[i], &parts)
		}
	})
	if err != nil {
		return 0, err
	}
	defer c.end(r)
	s := c.finds.Get().(*search)
	defer c.finds.Put(s)
	s.begin(c, r, nil, at)
	count := func() error { n++; return nil }
	for _, part := range parts {
		if err := s.walkRun(ctx, part, &Part{}, 0, count); err != nil {
			return 0, err
		}
	}
	err = a.Cover(ctx, 0, func(p *Part) error {
		if p.Contains == nil {
			return nil
		}
		return s.walkPart(ctx, p, 0, 0, count)
	})
	return n, err
}

// count counts the points of the tiles in a run of keys. Where a run ends within a leaf
// with points, the part of the leaf is added to parts instead.
func (t *tree) count(run *keyRange, parts *[]keyRange) (n int64) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	var enter func(at uint32, low quadkey.PointKey, z uint8)
	enter = func(at uint32, low quadkey.PointKey, z uint8) {
		b := &t.nodes[at]
		high := quadkey.PointKey(math.MaxUint64)
		if z > 0 {
			high = low + 1<<(64-2*uint(z)) - 1
		}
		switch {
		case high < run.first || low > run.last || b.count == 0:
		case low >= run.first && high <= run.last:
			n += int64(b.count)
		case b.child != 0:
			for i := range uint32(4) {
				enter(b.child+i, low+quadkey.PointKey(i)<<(62-2*uint(z)), z+1)
			}
		default:
			*parts = append(*parts, keyRange{max(low, run.first), min(high, run.last)})
		}
	}
	enter(0, 0, 0)
	return n
}
