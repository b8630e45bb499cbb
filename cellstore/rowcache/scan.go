package rowcache

import (
	"bytes"
	"context"
	"iter"

	"quadrille/cellstore"
)

const (
	// maxPieces bounds the number of blocks from which one scan is answered. For a longer scan a
	// call of the store costs little in comparison.
	maxPieces = 1024
	// maxScanBytes and maxScanRows bound the rows that a scan leaves in the cache. A scan that
	// reads more leaves nothing.
	maxScanBytes = 512 << 10
	maxScanRows  = 2048
	// scanBlockBytes is the size of the blocks that a scan leaves in the cache.
	scanBlockBytes = 32 << 10
)

// Scan implements cellstore.Reader.
func (t *table) Scan(ctx context.Context, scan cellstore.Scan) iter.Seq2[*cellstore.Row, error] {
	scan = scan.Clone()
	return func(yield func(*cellstore.Row, error) bool) { t.Each(ctx, &scan, yield) }
}

// Each implements cellstore.Each.
func (t *table) Each(ctx context.Context, scan *cellstore.Scan, yield func(*cellstore.Row, error) bool) {
	v := t.view(ctx, &scan.Selection)
	if v == nil || scan.Limit < 0 || scan.Reverse {
		cellstore.Each(ctx, t.Table, scan, yield)
		return
	}
	w := scanning{t: t, v: v, ctx: ctx, scan: *scan, yield: yield, left: scan.Limit}
	if len(w.scan.Ranges) == 0 {
		w.scan.Ranges = []cellstore.Range{{}}
	}
	if t.s.oneView {
		w.run(w.scan.Ranges)
		return
	}
	for i := range w.scan.Ranges {
		if !w.run(w.scan.Ranges[i : i+1]) {
			return
		}
	}
}

// scanning is a running scan.
type scanning struct {
	t     *table
	v     *view
	ctx   context.Context
	scan  cellstore.Scan
	yield func(*cellstore.Row, error) bool
	left  int // rows to yield still, if there is a limit
	row   cellstore.Row
}

// run yields the rows of some ranges, all from memory or all from the store. It returns false when
// the scan is over.
func (w *scanning) run(ranges []cellstore.Range) bool {
	var buf [16]piece
	if pieces, ok := w.find(buf[:0], ranges); ok {
		return w.serve(pieces)
	}
	scan := w.scan
	scan.Ranges, scan.Limit = ranges, w.left
	rec := recorder{v: w.v, off: len(ranges) != 1}
	w.v.known.cache.missed()
	for row, err := range w.t.Table.Scan(w.ctx, scan) {
		if err != nil {
			w.yield(nil, err)
			return false
		}
		rec.add(row)
		if !w.yield(row, nil) || w.spent() {
			rec.keep(ranges[0], true)
			return false
		}
	}
	rec.keep(ranges[0], false)
	return true
}

// spent counts a row, and reports whether it was the last.
func (w *scanning) spent() bool {
	if w.scan.Limit == 0 {
		return false
	}
	w.left--
	return w.left == 0
}

// serve yields rows from memory.
func (w *scanning) serve(pieces []piece) bool {
	for _, p := range pieces {
		p.b.touch()
		for i := p.from; i < p.to; i++ {
			if err := w.broken(); err != nil {
				w.yield(nil, w.t.fail("Scan", nil, err))
				return false
			}
			p.b.fill(i, &w.row)
			if !w.yield(&w.row, nil) {
				return false
			}
			if w.spent() {
				return false
			}
		}
	}
	return true
}

// broken returns the error that ends a running scan.
func (w *scanning) broken() error { return w.t.broken(w.ctx) }

func (t *table) broken(ctx context.Context) error {
	switch {
	case t.s.closed.Load():
		return cellstore.ErrClosed
	case t.shared.dropped.Load():
		return cellstore.ErrTableNotFound
	}
	return ctx.Err()
}

// piece is some rows of a block.
type piece struct {
	b        *block
	from, to int
}

// find collects the blocks that hold all rows of ranges, or the rows up to the
// limit. Blocks never change, so together they show one moment.
func (w *scanning) find(out []piece, ranges []cellstore.Range) (_ []piece, ok bool) {
	n := 0
	for _, r := range ranges {
		if out, n, ok = w.findIn(out, n, r); !ok {
			return nil, false
		}
		if w.scan.Limit > 0 && n >= w.left {
			break
		}
	}
	return out, true
}

func (w *scanning) findIn(out []piece, n int, r cellstore.Range) ([]piece, int, bool) {
	take := func(b *block, i, j int) (enough bool) {
		out = append(out, piece{b, i, max(i, j)})
		n += max(j-i, 0)
		return w.scan.Limit > 0 && n >= w.left
	}
	if r.ToInclusive && len(r.To) > 0 {
		r.To = after(r.To)
	}
	if len(r.To) > 0 && bytes.Compare(r.From, r.To) >= 0 {
		return out, n, true
	}
	for at := r.From; len(out) < maxPieces; {
		b := w.v.index.at(at)
		if b == nil {
			break
		}
		i, _ := b.seek(at)
		j := b.len()
		if len(r.To) > 0 {
			j, _ = b.seek(r.To)
		}
		if take(b, i, j) || len(b.upto) == 0 || len(r.To) > 0 && bytes.Compare(r.To, b.upto) <= 0 {
			return out, n, true
		}
		at = b.upto
	}
	return out, n, false
}

// recorder collects the rows that a scan of one range reads, if they are not too many.
type recorder struct {
	v    *view
	off  bool
	rows []*cellstore.Row
	size int
}

func (r *recorder) add(row *cellstore.Row) {
	if r.off {
		return
	}
	r.v.size.observe(row)
	for i := range row.Cells {
		r.size += cellOverhead + len(row.Cells[i].Qualifier) + len(row.Cells[i].Value)
	}
	r.size += len(row.Key)
	if len(r.rows) == maxScanRows || r.size > maxScanBytes {
		r.off, r.rows = true, nil
		return
	}
	r.rows = append(r.rows, row.Clone())
}

// keep caches the recorded rows as all rows of a range, or as those up to the last one if the scan
// ended early.
func (r *recorder) keep(rg cellstore.Range, early bool) {
	if r.off || early && len(r.rows) == 0 {
		return
	}
	from, upto := bytes.Clone(rg.From), bytes.Clone(rg.To)
	if len(upto) > 0 && rg.ToInclusive {
		upto = after(upto)
	}
	if early {
		upto = after(r.rows[len(r.rows)-1].Key)
	}
	if len(upto) > 0 && bytes.Compare(from, upto) >= 0 {
		return // an empty range
	}
	w := builder{view: r.v}
	for i, row := range r.rows {
		if !w.add(row) {
			return
		}
		if i+1 < len(r.rows) && w.size() >= scanBlockBytes {
			end := after(row.Key)
			r.v.keep(w.block(from, end))
			from = end
		}
	}
	r.v.keep(w.block(from, upto))
}
