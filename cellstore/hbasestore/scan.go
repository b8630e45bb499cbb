package hbasestore

import (
	"bytes"
	"context"
	"fmt"
	"iter"

	"quadrille/cellstore"
	"quadrille/cellstore/hbasestore/internal/thrift2"
)

// Scan implements cellstore.Reader. Every batch is a separate call that
// continues where the last one ended. No scanner is kept open on a gateway, so
// none expires while the caller works, and any gateway can serve the next
// batch.
func (t *Table) Scan(ctx context.Context, scan cellstore.Scan) iter.Seq2[*cellstore.Row, error] {
	scan = scan.Clone()
	if len(scan.Ranges) == 0 {
		scan.Ranges = []cellstore.Range{{}}
	}
	return func(yield func(*cellstore.Row, error) bool) {
		left := scan.Limit
		var row cellstore.Row
		w := walk{t: t, more: t.s.opts.ScanRows}
		if scan.Batch > 0 {
			w.more = min(scan.Batch, maxBatch)
		}
		check := func() error {
			v, end, err := t.begin(ctx)
			if err != nil {
				return err
			}
			defer end()
			if w.p == nil {
				if err := v.Scan(&scan); err != nil {
					return err
				}
				w.p = newPlan(v, &scan.Selection)
			}
			return nil
		}
		if err := check(); err != nil {
			yield(nil, t.fail("Scan", nil, err))
			return
		}
		for _, r := range scan.Ranges {
			if scan.Reverse {
				w.backward(r)
			} else {
				w.forward(r)
			}
			for {
				// The first batch is no larger than the scan's limit: most scans are short.
				if w.batch = w.size(); scan.Limit > 0 {
					w.batch = min(w.batch, left)
				}
				err := check()
				found := false
				if err == nil {
					found, err = w.guarded(ctx, &row)
				}
				if err != nil {
					yield(nil, t.fail("Scan", nil, err))
					return
				}
				if !found {
					break
				}
				if !yield(&row, nil) {
					return
				}
				if left--; scan.Limit > 0 && left == 0 {
					return
				}
			}
		}
	}
}

// maxBatch bounds the rows of one call, which the gateway holds in memory.
const maxBatch = 1 << 14

// walk is a read of a range of rows, one batch after the other.
type walk struct {
	t     *Table
	p     *plan
	batch int // rows to fetch next
	more  int // bound of the rows fetched at once later

	last     int // rows fetched last
	rowBytes int // their mean size

	reverse      bool
	from         []byte // where the next batch starts
	low          []byte // the low end of a reverse walk
	lowInclusive bool   // whether low is in the range
	stop         []byte
	skip         []byte // the row a reverse batch begins with, seen already
	done         bool

	rs []thrift2.Result
}

func (w *walk) forward(r cellstore.Range) {
	*w = walk{t: w.t, p: w.p, batch: w.batch, more: w.more, last: w.last, rowBytes: w.rowBytes}
	var none bool
	if w.from, none = bound(r.From); none {
		w.done = true
		return
	}
	w.stop = r.To
	if r.ToInclusive && len(r.To) > 0 && len(r.To) <= maxRow {
		w.stop = after(r.To) // nil is right: nothing is greater
	}
	w.stop, _ = bound(w.stop)
	w.done = len(w.stop) > 0 && bytes.Compare(w.from, w.stop) >= 0
}

func (w *walk) backward(r cellstore.Range) {
	*w = walk{t: w.t, p: w.p, batch: w.batch, more: w.more, last: w.last, rowBytes: w.rowBytes,
		reverse: true, low: r.To, lowInclusive: r.ToInclusive}
	// A high end that is too long for a key is replaced by the greatest key before it.
	w.from = r.From[:min(len(r.From), maxRow)]
	w.stop = r.To[:min(len(r.To), maxRow)]
	if w.lowInclusive && len(w.stop) > 0 {
		w.stop = before(w.stop, 8)
	}
	if len(r.From) > 0 && len(r.To) > 0 {
		d := bytes.Compare(r.From, r.To)
		w.done = d < 0 || d == 0 && !w.lowInclusive
	}
}

// before returns a key below key with few keys between the two: only those that extend the result
// by more than pad bytes. With maxRow there are none.
func before(key []byte, pad int) []byte {
	last := len(key) - 1
	if key[last] == 0 {
		return key[:last] // exactly the key before
	}
	b := append(bytes.Clone(key), bytes.Repeat([]byte{0xFF}, min(pad, maxRow-len(key)))...)
	b[last]--
	return b
}

// guarded calls next between begin and end.
func (w *walk) guarded(ctx context.Context, row *cellstore.Row) (bool, error) {
	_, end, err := w.t.begin(ctx)
	if err != nil {
		return false, err
	}
	defer end()
	return w.next(ctx, row)
}

// next fills row with the next row of the range that has a selected visible cell.
func (w *walk) next(ctx context.Context, row *cellstore.Row) (bool, error) {
	for {
		for len(w.rs) > 0 {
			r := &w.rs[0]
			w.rs = w.rs[1:]
			if !w.inside(r.Row) {
				w.rs, w.done = nil, true
				break
			}
			row.Reset()
			if w.p.fill(r, row) {
				return true, nil
			}
		}
		if w.done {
			row.Reset()
			return false, nil
		}
		if err := w.fetch(ctx); err != nil {
			return false, err
		}
	}
}

// inside reports whether a row is within the low end of a reverse walk. The end that is sent to the
// cluster may be a little lower.
func (w *walk) inside(key []byte) bool {
	if !w.reverse || len(w.low) == 0 {
		return true
	}
	d := bytes.Compare(key, w.low)
	return d > 0 || d == 0 && w.lowInclusive
}

func (w *walk) fetch(ctx context.Context) error {
	n := max(w.batch, 1)
	if w.skip != nil {
		n++
	}
	s := w.p.scan()
	s.Start, s.Stop, s.Reversed = w.from, w.stop, w.reverse
	s.Limit, s.Caching, s.Read = int32(n), int32(n), thrift2.ReadPread
	if n > streamRows {
		s.Read = thrift2.ReadStream
	}
	var rs []thrift2.Result
	err := w.t.call(ctx, readCall, func(ctx context.Context, c *thrift2.Conn) (err error) {
		rs, err = c.ScanResults(ctx, w.t.state.path, &s, int32(n))
		return err
	})
	if err != nil {
		return err
	}
	if !w.ordered(rs) {
		return fmt.Errorf("%w: the gateway answers a scan with rows out of order", ErrUnavailable)
	}
	// If there are fewer rows than requested, they need not be the last ones, because some gateways
	// bound the size of an answer. Only an empty answer marks the end.
	w.done = len(rs) == 0
	short := len(rs) < n
	w.measure(rs)
	w.batch = w.size()
	if len(rs) > 0 {
		last := bytes.Clone(rs[len(rs)-1].Row)
		if w.skip != nil && bytes.Equal(rs[0].Row, w.skip) {
			rs = rs[1:]
		}
		w.advance(last, short)
	}
	w.rs = rs
	return nil
}

// ordered reports whether rows are in order and after the batch's start. Otherwise a walk might
// never end.
func (w *walk) ordered(rs []thrift2.Result) bool {
	for i := range rs {
		d := 1
		if i > 0 {
			d = bytes.Compare(rs[i].Row, rs[i-1].Row)
		} else if len(w.from) > 0 {
			d = bytes.Compare(rs[i].Row, w.from)
		}
		if w.reverse && (i > 0 || len(w.from) > 0) {
			d = -d
		}
		if d < 0 || d == 0 && i > 0 {
			return false
		}
	}
	return true
}

const (
	// firstRows is the number of rows fetched while their size is unknown.
	firstRows = 64
	// batchBytes is the approximate size of a batch.
	batchBytes = 4 << 20
)

// size returns the number of rows to fetch: more with each batch, as long as rows are small.
func (w *walk) size() int {
	if w.last == 0 {
		return min(w.more, firstRows)
	}
	return max(1, min(w.more, 4*w.last, batchBytes/max(w.rowBytes, 1)))
}

func (w *walk) measure(rs []thrift2.Result) {
	if len(rs) == 0 {
		return
	}
	total := 0
	for i := range rs {
		for j := range rs[i].Cells {
			c := &rs[i].Cells[j]
			total += len(c.Value) + len(c.Qualifier) + 64
		}
	}
	w.last, w.rowBytes = len(rs), total/len(rs)
}

// advance sets where the batch after the row last begins. A reverse walk begins with that row
// again, because its key is short to send. After a short answer it does not: if the next answer had
// only that row, the rows before it would stay unknown.
func (w *walk) advance(last []byte, short bool) {
	switch {
	case !w.reverse:
		w.from = after(last)
		w.done = w.from == nil || len(w.stop) > 0 && bytes.Compare(w.from, w.stop) >= 0
	case short:
		w.from, w.skip = nil, nil
		if len(last) > 0 {
			w.from = before(last, maxRow)
		}
		// There are no rows before the empty key. As the start of a reverse scan it would mean the
		// end of the table.
		w.done = len(w.from) == 0 || !w.inside(w.from)
	default:
		w.from, w.skip = last, last
	}
}

// streamRows is the number of rows from which a server reads ahead.
const streamRows = 64
