package points

import (
	"context"
	"errors"
	"math"

	"quadrille/feature"
	"quadrille/quadkey"
)

// within keeps the first points of an area in the order of a property.
func (s *search) within(ctx context.Context, q *feature.Query) error {
	return s.walk(ctx, q.In, 0, func() error {
		if rank := q.Order.Sort.Rank(s.record.properties); s.Wants(rank, s.tie()) {
			s.keep(rank)
		}
		return nil
	})
}

// list calls fn with the points in an area in the order of their keys.
func (s *search) list(ctx context.Context, q *feature.Query, fn func(*feature.Feature) error) error {
	from := quadkey.PointKey(0)
	s.lists = true
	if s.resumes = len(q.After) > 0; s.resumes {
		from = s.After.Key.key
	}
	n := 0
	err := s.walk(ctx, q.In, from, func() error {
		f := &s.shown
		s.record.show(f)
		f.Mark = appendMark(f.Mark[:0], 0, &s.record)
		if err := fn(f); err != nil {
			return err
		}
		if n++; n == q.Limit {
			return errEnough
		}
		return nil
	})
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

// errEnough ends a walk that has found enough.
var errEnough = errors.New("enough")

// walk calls fn with the points in an area that pass the filter, each in s.record.
func (s *search) walk(ctx context.Context, a feature.Area, from quadkey.PointKey, fn func() error) error {
	return eachRun(ctx, a, from, func(keys keyRange, p *feature.AreaPart) error { return s.walkPart(ctx, keys, p, fn) })
}

// walkPart does the same as walk, for one part of an area.
func (s *search) walkPart(ctx context.Context, keys keyRange, p *feature.AreaPart, fn func() error) error {
	first, last := keys.first, keys.last
	for first <= last {
		run, rest, found := s.run(first, last)
		if found {
			if err := s.walkRun(ctx, run, p, fn); err != nil {
				return err
			}
		}
		if rest <= first {
			break // there is no later key
		}
		first = rest
	}
	return nil
}

// cellShift is the number of bits by which a Cell is shifted to get a PointKey.
const cellShift = 64 - 2*quadkey.CellZoom

// pointKeys returns the first and the last key of points in cells.
func pointKeys(r quadkey.Range) (first, last quadkey.PointKey) {
	return quadkey.PointKey(r.First) << cellShift, quadkey.PointKey(r.Last)<<cellShift | (1<<cellShift - 1)
}

// keyRange is a range of keys, including both ends.
type keyRange struct{ first, last quadkey.PointKey }

// run returns the first run of keys from first to last that may have points passing the filter, and
// the key from which to continue.
func (s *search) run(first, last quadkey.PointKey) (run keyRange, rest quadkey.PointKey, found bool) {
	if !s.blind() {
		run, rest, found = s.c.tree.run(first, last, s.masks)
	}
	if s.blind() {
		return keyRange{first, last}, 0, true
	}
	return run, rest, found
}

// run returns the first run of keys from first to last that is worth reading: it may hold points,
// and no tile of it lacks all bits of a mask. rest is the key where the search for the next run
// begins, or 0 if there is none.
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

// stepPoints is the number of points examined between steps.
const stepPoints = 256

// walkRun calls fn with the points of a run.
func (s *search) walkRun(ctx context.Context, run keyRange, p *feature.AreaPart, fn func() error) error {
	s.key = appendPointKey(s.key[:0], run.first, "")
	if a := &s.After.Key; s.resumes && a.key == run.first {
		s.key = append(append(s.key, a.id...), 0)
	}
	s.until = appendEnd(s.until[:0], run.last)
	return s.rows(ctx, s.key, s.until, 0, func() (bool, error) {
		if s.examined++; s.most > 0 && s.examined > s.most {
			return false, &feature.TooMuchWork{After: s.looked, Examined: s.most}
		}
		if s.examined == s.most && s.lists {
			s.looked = appendMark(nil, 0, &s.record)
		}
		if s.step != nil && s.examined%stepPoints == 0 {
			if err := s.step(); err != nil {
				return false, err
			}
		}
		pass, err := s.passes()
		if pass {
			pass, err = p.Holds(s.record.degrees())
		}
		if err != nil || !pass {
			return err == nil, err
		}
		return true, fn()
	})
}

// Count implements feature.Counter. Whole tiles are counted without reading a point, unless
// there is an instant. What passes a filter is counted by columns if that costs less than its rows.
// Points that expired within the last moments may count.
func (c *Collection) Count(ctx context.Context, q *feature.Query) (n int64, err error) {
	if q.Near != nil {
		return 0, feature.Unsupported("count the points of a list of the nearest")
	}
	all := feature.Query{In: q.In, Filter: q.Filter, At: q.At, Step: q.Step}
	count := func() error { n++; return nil }
	if q.Filter != nil && q.At.IsZero() {
		if n, ok, err := c.countSelected(ctx, q); ok || err != nil {
			return n, err
		}
	}
	if q.Filter != nil || c.tree == nil || !q.At.IsZero() || c.Meta().Expiring {
		return n, c.ask(ctx, &all, func(s *search) error { return s.walk(ctx, q.In, 0, count) })
	}
	// The tree counts the tiles that lie inside completely. The points of other tiles are read,
	// from the same state of the collection.
	var whole, parts []keyRange
	err = eachRun(ctx, q.In, 0, func(keys keyRange, p *feature.AreaPart) error {
		switch end := len(whole) - 1; {
		case p.Contains != nil:
		case end >= 0 && whole[end].last+1 == keys.first:
			whole[end].last = keys.last
		default:
			whole = append(whole, keys)
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
	return n, c.askOf(ctx, r, &all, func(s *search) error {
		for _, part := range parts {
			if err := s.walkRun(ctx, part, &feature.AreaPart{}, count); err != nil {
				return err
			}
		}
		return eachRun(ctx, q.In, 0, func(keys keyRange, p *feature.AreaPart) error {
			if p.Contains == nil {
				return nil
			}
			return s.walkPart(ctx, keys, p, count)
		})
	})
}

// count counts the points of the tiles in a run of keys. If a run ends within a leaf with points,
// count appends that part of the leaf to parts instead.
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
