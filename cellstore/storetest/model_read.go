package storetest

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"
	"strings"

	"quadrille/cellstore"
)

// modelReader is the cellstore.Reader of a table or of a snapshot.
type modelReader struct {
	m     *Model
	table string
	// view returns the settled table to read and a function that ends the read.
	view func(context.Context) (t *modelTable, end func(), err error)
}

// view reads the table itself.
func (t *modelTable) view(m *Model) func(context.Context) (*modelTable, func(), error) {
	return func(ctx context.Context) (*modelTable, func(), error) {
		_, end, err := m.begin(ctx, t, false)
		return t, end, err
	}
}

// rowsOf returns the rows that a selection shows, in order. The table is settled, so all its
// versions are visible. The time range comes next, then the choice of columns, and the number of
// versions last (rule G4).
func (t *modelTable) rowsOf(sel *cellstore.Selection) []*cellstore.Row {
	if sel == nil {
		sel = &cellstore.Selection{}
	}
	min, max, timed := sel.Time.Bounds()
	if !timed {
		min, max = 0, math.MaxInt64
	}
	most := sel.Versions
	switch most {
	case 0:
		most = 1
	case cellstore.Unlimited:
		most = math.MaxInt
	}
	var rows []*cellstore.Row
	for _, key := range slices.Sorted(maps.Keys(t.rows)) {
		row := &cellstore.Row{}
		row.SetKey([]byte(key))
		count := map[string]int{} // of columns that pass the filter, by family
		for _, col := range t.rows[key].columns() {
			var timely []int64
			for _, ts := range newestFirst(t.rows[key][col]) {
				if min <= ts && ts < max {
					timely = append(timely, ts)
				}
			}
			if len(timely) == 0 || !selects(sel, col, count) {
				continue
			}
			for i, ts := range timely {
				if i < most {
					row.AppendCell(col.family, []byte(col.qualifier), ts, t.rows[key][col][ts])
				}
			}
		}
		if len(row.Cells) > 0 {
			rows = append(rows, row)
		}
	}
	return rows
}

// selects reports whether a column that has a visible cell is selected. A column that the Selection
// names is always selected, regardless of the filter.
func selects(sel *cellstore.Selection, col column, count map[string]int) bool {
	named := slices.ContainsFunc(sel.Columns, func(c cellstore.Column) bool {
		return c.Family == col.family && string(c.Qualifier) == col.qualifier
	})
	whole := slices.Contains(sel.Families, col.family) || len(sel.Families) == 0 && len(sel.Columns) == 0
	f := sel.Filter
	if !whole || !strings.HasPrefix(col.qualifier, string(f.Prefix)) ||
		col.qualifier < string(f.From) || len(f.To) > 0 && col.qualifier >= string(f.To) {
		return named
	}
	count[col.family]++
	n := count[col.family]
	return named || n > f.Offset && (f.Limit == 0 || n <= f.Offset+f.Limit)
}

// within returns those of rows that are in a range.
func within(rows []*cellstore.Row, r cellstore.Range) []*cellstore.Row {
	return slices.DeleteFunc(slices.Clone(rows), func(row *cellstore.Row) bool {
		d := bytes.Compare(row.Key, r.To)
		return bytes.Compare(row.Key, r.From) < 0 || len(r.To) > 0 && (d > 0 || d == 0 && !r.ToInclusive)
	})
}

// downFrom returns the rows in the range of a reverse scan, beginning with the highest key.
func downFrom(rows []*cellstore.Row, r cellstore.Range) []*cellstore.Row {
	kept := slices.DeleteFunc(slices.Clone(rows), func(row *cellstore.Row) bool {
		d := bytes.Compare(row.Key, r.To)
		return len(r.From) > 0 && bytes.Compare(row.Key, r.From) > 0 || len(r.To) > 0 && (d < 0 || d == 0 && !r.ToInclusive)
	})
	slices.Reverse(kept)
	return kept
}

// first fills a row with the first of rows.
func first(rows []*cellstore.Row, row *cellstore.Row) bool {
	if len(rows) == 0 {
		return false
	}
	row.SetKey(rows[0].Key)
	for _, c := range rows[0].Cells {
		row.AppendCell(c.Family, c.Qualifier, c.Timestamp, c.Value)
	}
	return true
}

// find fills a row with the first row that rows returns.
func (r *modelReader) find(ctx context.Context, op string, key []byte, row *cellstore.Row,
	rows func(*modelTable) ([]*cellstore.Row, error),
) (found bool, err error) {
	row.Reset()
	t, end, err := r.view(ctx)
	if err == nil {
		defer end()
		var all []*cellstore.Row
		if all, err = rows(t); err == nil {
			found = first(all, row)
		}
	}
	return found, fail(op, r.table, key, err)
}

// Get implements cellstore.Reader.
func (r *modelReader) Get(ctx context.Context, key []byte, sel *cellstore.Selection, row *cellstore.Row) (bool, error) {
	return r.find(ctx, "Get", key, row, func(t *modelTable) ([]*cellstore.Row, error) {
		return within(t.rowsOf(sel), cellstore.Range{From: key, To: key, ToInclusive: true}), cmp.Or(t.Row(key), t.Selection(sel))
	})
}

// Next implements cellstore.Reader.
func (r *modelReader) Next(ctx context.Context, from, to []byte, sel *cellstore.Selection, row *cellstore.Row) (bool, error) {
	return r.find(ctx, "Next", from, row, func(t *modelTable) ([]*cellstore.Row, error) {
		return within(t.rowsOf(sel), cellstore.Range{From: from, To: to}), t.Selection(sel)
	})
}

// Prev implements cellstore.Reader.
func (r *modelReader) Prev(ctx context.Context, from, downTo []byte, sel *cellstore.Selection, row *cellstore.Row) (bool, error) {
	return r.find(ctx, "Prev", from, row, func(t *modelTable) ([]*cellstore.Row, error) {
		return downFrom(t.rowsOf(sel), cellstore.Range{From: from, To: downTo}), t.Selection(sel)
	})
}

// NextEach implements cellstore.Reader.
func (r *modelReader) NextEach(ctx context.Context, from, to []byte, families []string, rows []cellstore.Row) error {
	for i := range rows {
		rows[i].Reset()
	}
	t, end, err := r.view(ctx)
	if err != nil {
		return fail("NextEach", r.table, from, err)
	}
	defer end()
	if len(rows) < len(families) {
		return fail("NextEach", r.table, from, fmt.Errorf("%d families need as many rows, not %d", len(families), len(rows)))
	}
	if err := t.Selection(&cellstore.Selection{Families: families}); err != nil {
		return fail("NextEach", r.table, from, err)
	}
	for i, name := range families {
		first(within(t.rowsOf(&cellstore.Selection{Families: []string{name}}), cellstore.Range{From: from, To: to}), &rows[i])
	}
	return nil
}

// MultiGet implements cellstore.Reader.
func (r *modelReader) MultiGet(ctx context.Context, keys [][]byte, sel *cellstore.Selection) iter.Seq2[*cellstore.Row, error] {
	keys, own := cellstore.CloneKeys(keys), sel.Clone()
	return r.yield(ctx, "MultiGet", func(t *modelTable) (out []*cellstore.Row, err error) {
		for _, key := range keys {
			if err := t.Row(key); err != nil {
				return nil, err
			}
		}
		if err := t.Selection(own); err != nil {
			return nil, err
		}
		rows := t.rowsOf(own)
		for _, key := range keys {
			row := &cellstore.Row{}
			if !first(within(rows, cellstore.Range{From: key, To: key, ToInclusive: true}), row) {
				row.SetKey(key)
			}
			out = append(out, row)
		}
		return out, nil
	})
}

// Scan implements cellstore.Reader.
func (r *modelReader) Scan(ctx context.Context, scan cellstore.Scan) iter.Seq2[*cellstore.Row, error] {
	scan = scan.Clone()
	ranges := scan.Ranges
	if len(ranges) == 0 {
		ranges = []cellstore.Range{{}}
	}
	return r.yield(ctx, "Scan", func(t *modelTable) (out []*cellstore.Row, err error) {
		if err := t.Scan(&scan); err != nil {
			return nil, err
		}
		rows := t.rowsOf(&scan.Selection)
		for _, rg := range ranges {
			if scan.Reverse {
				out = append(out, downFrom(rows, rg)...)
			} else {
				out = append(out, within(rows, rg)...)
			}
		}
		if scan.Limit > 0 && len(out) > scan.Limit {
			out = out[:scan.Limit]
		}
		return out, nil
	})
}

// yield reads when the loop begins, and yields the rows as long as the reader is
// open.
func (r *modelReader) yield(ctx context.Context, op string,
	read func(*modelTable) ([]*cellstore.Row, error)) iter.Seq2[*cellstore.Row, error] {
	return func(yield func(*cellstore.Row, error) bool) {
		t, end, err := r.view(ctx)
		if err != nil {
			yield(nil, fail(op, r.table, nil, err))
			return
		}
		rows, err := read(t)
		end()
		if err != nil {
			yield(nil, fail(op, r.table, nil, err))
			return
		}
		for _, row := range rows {
			_, end, err := r.view(ctx)
			if err != nil {
				yield(nil, fail(op, r.table, row.Key, err))
				return
			}
			end()
			if !yield(row, nil) {
				return
			}
		}
	}
}

// modelSnapshot reads a copy.
type modelSnapshot struct {
	modelReader
	closed *bool // guarded by the disk's lock
}

// Snapshot implements cellstore.Table.
func (h *tableHandle) Snapshot(ctx context.Context) (snapshot cellstore.Snapshot, err error) {
	err = h.m.call(ctx, "Snapshot", h.table, h.t, false, func(int64) error {
		frozen := h.t.clone()
		closed := new(bool)
		snapshot = &modelSnapshot{closed: closed, modelReader: modelReader{m: h.m, table: h.table,
			view: func(ctx context.Context) (*modelTable, func(), error) {
				_, end, err := h.m.begin(ctx, nil, false)
				if err == nil && *closed {
					end()
					err = fmt.Errorf("%w: the snapshot", cellstore.ErrClosed)
				}
				return frozen, end, err
			}}}
		return nil
	})
	return snapshot, err
}

// Close implements cellstore.Snapshot.
func (s *modelSnapshot) Close() error {
	s.m.disk.mu.Lock()
	defer s.m.disk.mu.Unlock()
	*s.closed = true
	return nil
}

// Splits implements cellstore.Table. Its ranges have equal numbers of rows, if possible.
func (h *tableHandle) Splits(ctx context.Context, n int) (parts []cellstore.Range, err error) {
	err = h.m.call(ctx, "Splits", h.table, h.t, false, func(int64) error {
		if n < 1 {
			return fmt.Errorf("%w: %d parts", cellstore.ErrBadRange, n)
		}
		keys := slices.Sorted(maps.Keys(h.t.rows))
		n = min(n, max(len(keys), 1))
		parts = []cellstore.Range{{}}
		for i := 1; i < n; i++ {
			at := []byte(keys[i*len(keys)/n])
			parts[i-1].To = at
			parts = append(parts, cellstore.Range{From: at})
		}
		return nil
	})
	return parts, err
}
