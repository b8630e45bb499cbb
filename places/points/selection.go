package points

import (
	"context"
	"math/bits"
	"slices"
	"time"

	"quadrille/feature"
	"quadrille/quadkey"
)

// selection has the points of a sheet that pass a filter: one bit each, and sums by which any range
// of points is counted at once.
type selection struct {
	*sheet
	bits   []uint64
	before []sums // of the points before each word of bits, and of all
}

// Bytes implements bytecache.Value. The sheet is counted by itself.
func (sel *selection) Bytes() int64 { return int64(len(sel.bits)*8 + len(sel.before)*24) }

// wordRows is the number of points of a word.
const wordRows = 64

// selectedRows is the number of points that are decided at a time.
const selectedRows = 64 * wordRows

// selected calls fn with the points that pass a filter, in the state of r. It returns false if a
// sheet is not worth it, see sheetOf.
func (c *Collection) selected(ctx context.Context, by feature.Filter, rows int64, fn func(r reading, sel *selection) error) (bool, error) {
	e, all := c.Meta().Schema.ForIndex(by)
	return c.sheetOf(ctx, e.Properties(), rows, func(r reading, sh *sheet, version uint64) error {
		sel, err := c.selection(ctx, r, sh, version, by, e, all)
		if err != nil {
			return err
		}
		return fn(r, sel)
	})
}

// selection returns the points of a sheet that pass a filter and have not expired. e is the part of
// the filter that is about properties, and all says that it is the whole.
func (c *Collection) selection(ctx context.Context, r reading, sh *sheet, version uint64, by feature.Filter, e *feature.Expression, all bool) (*selection, error) {
	if by == nil {
		sel := &selection{sheet: sh, bits: make([]uint64, (len(sh.keys)+wordRows-1)/wordRows)}
		sel.fill(0, len(sh.keys), func(int) bool { return true })
		sel.sum()
		return sel.alive(c.now(time.Time{})), nil
	}
	key := columnKey{collection: c.sheets.number, version: version, filter: by.String(), part: 'f'}
	if columnCache.Get(key) == nil {
		feature.Pause(ctx) // whoever makes the selection needs a processor
	}
	known, err := columnCache.Do(ctx, key, func() (columnValue, error) {
		sel := &selection{sheet: sh, bits: make([]uint64, (len(sh.keys)+wordRows-1)/wordRows)}
		err := feature.RunHeavy(ctx, func(ctx context.Context, step func(context.Context) error) error {
			ctx, cancel := feature.SharedContext(ctx) // others wait for the result
			defer cancel()
			decided := all && !slices.ContainsFunc(e.Properties(), func(name string) bool { return sh.columns[name].tooLarge })
			if decided {
				return sel.decide(ctx, e, step)
			}
			row := 0
			return c.askOf(ctx, r, &feature.Query{Filter: by, Step: step}, func(s *search) (err error) {
				scanned := s.rowsWithin(ctx, 0, ^quadkey.PointKey(0), func() {
					pass, perr := s.passes()
					if err == nil {
						err = perr
					}
					if pass && row < len(sh.keys) {
						sel.bits[row/wordRows] |= 1 << (row % wordRows)
					}
					row++
				})
				if scanned != nil {
					return scanned
				}
				return err
			})
		})
		sel.sum()
		return sel, err
	})
	if err != nil {
		return nil, err
	}
	sel := *known.(*selection)
	sel.sheet = sh // with all columns that there are now
	return sel.alive(c.now(time.Time{})), nil
}

// fill sets the bits of a range of rows.
func (sel *selection) fill(from, to int, pass func(row int) bool) {
	for row := from; row < to; row++ {
		if pass(row) {
			sel.bits[row/wordRows] |= 1 << (row % wordRows)
		}
	}
}

// decide sets the bits by the columns.
func (sel *selection) decide(ctx context.Context, e *feature.Expression, step func(context.Context) error) error {
	column := func(name string) feature.Coded { return sel.columns[name] }
	f, err := e.Over(column, func() error { return step(ctx) })
	if err != nil {
		return err
	}
	var truths [selectedRows]feature.Truth
	for from := 0; from < len(sel.keys); from += selectedRows {
		if err := step(ctx); err != nil {
			return err
		}
		some := truths[:min(selectedRows, len(sel.keys)-from)]
		f.Truths(some, from)
		sel.fill(from, from+len(some), func(row int) bool { return some[row-from] == feature.Yes })
	}
	return nil
}

// sum makes the sums.
func (sel *selection) sum() {
	sel.before = make([]sums, 0, len(sel.bits)+1)
	var all sums
	for i := range sel.bits {
		sel.before = append(sel.before, all)
		all.add(sel.word(i, ^uint64(0)))
	}
	sel.before = append(sel.before, all)
}

// word returns the sums over the points of a word that a mask selects.
func (sel *selection) word(i int, mask uint64) (all sums) {
	for w := sel.bits[i] & mask; w != 0; w &= w - 1 {
		row := i*wordRows + bits.TrailingZeros64(w)
		all.add(sums{1, int64(sel.lat[row]), int64(sel.lon[row])})
	}
	return all
}

// alive returns the selection without the points that have expired.
func (sel *selection) alive(now int64) *selection {
	if sel.expires == nil {
		return sel
	}
	left := &selection{sheet: sel.sheet, bits: make([]uint64, len(sel.bits))}
	for i, w := range sel.bits {
		for ; w != 0; w &= w - 1 {
			if row := i*wordRows + bits.TrailingZeros64(w); sel.expires[row] == 0 || sel.expires[row] > now {
				left.bits[i] |= w & -w
			}
		}
	}
	left.sum()
	return left
}

// upTo returns the sums over the selected points before a row.
func (sel *selection) upTo(row int) sums {
	all := sel.before[row/wordRows]
	if rest := row % wordRows; rest > 0 {
		all.add(sel.word(row/wordRows, 1<<rest-1))
	}
	return all
}

// count returns the number of selected points in a range of rows.
func (sel *selection) count(from, to int) int64 { return sel.countTo(to) - sel.countTo(from) }

func (sel *selection) countTo(row int) int64 {
	n := sel.before[row/wordRows].count
	if rest := row % wordRows; rest > 0 {
		n += int64(bits.OnesCount64(sel.bits[row/wordRows] & (1<<rest - 1)))
	}
	return n
}

// each calls fn with the selected rows of a range.
func (sel *selection) each(from, to int, fn func(row int)) {
	for i := from / wordRows; i*wordRows < to; i++ {
		for w := sel.bits[i]; w != 0; w &= w - 1 {
			if row := i*wordRows + bits.TrailingZeros64(w); row >= from && row < to {
				fn(row)
			}
		}
	}
}

// first returns the key of the first selected point in a range of keys that has one.
func (sel *selection) first(keys keyRange) (key quadkey.PointKey) {
	from, to := sel.rows(keys)
	found := false
	sel.each(from, to, func(row int) {
		if !found {
			key, found = sel.keys[row], true
		}
	})
	return key
}

// gather adds the cells of the selected points of rows, which are those of a tile, as the tree does
// with all points.
func (sel *selection) gather(g *grouping, from, to int, tile quadkey.Tile) {
	if from == to || sel.count(from, to) == 0 || !g.near(tile, margin) {
		return
	}
	if tile.Z >= g.tile.Z+cellZooms {
		k := cell{sums: sel.upTo(to)}
		k.first, k.last = tile.PointKeys()
		less := sel.upTo(from)
		k.add(sums{-less.count, -less.lat, -less.lon})
		g.add(k)
		return
	}
	for _, child := range tile.Children() {
		end := to
		if _, last := child.PointKeys(); last+1 != 0 {
			end = from + rank(sel.keys[from:to], last+1)
		}
		sel.gather(g, from, end, child)
		from = end
	}
}
