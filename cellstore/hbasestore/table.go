package hbasestore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"quadrille/cellstore"
	"quadrille/cellstore/hbasestore/internal/thrift2"
)

// Table is a table of a Store.
type Table struct {
	s     *Store
	state *state
}

// Schema implements cellstore.Table: it returns the schema at the time when this Store opened or
// last altered the table. Changes by another client become visible when the Store is opened again.
func (t *Table) Schema() cellstore.Schema {
	s := t.state.view.Load().Schema
	s.Families = slices.Clone(s.Families)
	return s
}

func (t *Table) fail(op string, row []byte, err error) error {
	return &cellstore.Error{Op: op, Table: t.state.name, Row: row, Err: err}
}

// begin admits a call on the table; the caller ends it.
func (t *Table) begin(ctx context.Context) (*view, func(), error) {
	end, err := t.s.begin(ctx)
	if err != nil {
		return nil, nil, err
	}
	if t.state.dropped.Load() {
		end()
		return nil, nil, cellstore.ErrTableNotFound
	}
	return t.state.view.Load(), end, nil
}

func (t *Table) beginWrite(ctx context.Context) (*view, func(), error) {
	v, end, err := t.begin(ctx)
	if err == nil && t.s.opts.ReadOnly {
		end()
		return nil, nil, cellstore.ErrReadOnly
	}
	return v, end, err
}

// Get implements cellstore.Reader.
func (t *Table) Get(ctx context.Context, key []byte, sel *cellstore.Selection, row *cellstore.Row) (bool, error) {
	row.Reset()
	v, end, err := t.begin(ctx)
	if err != nil {
		return false, t.fail("Get", key, err)
	}
	defer end()
	if err := v.Row(key); err != nil {
		return false, t.fail("Get", nil, err)
	}
	if err := v.Selection(sel); err != nil {
		return false, t.fail("Get", key, err)
	}
	found, err := t.read(ctx, v, key, sel, row)
	if err != nil {
		return false, t.fail("Get", key, err)
	}
	return found, nil
}

// read does the same as Get, without begin and without the checks, which the caller has already
// made.
func (t *Table) read(ctx context.Context, v *view, key []byte, sel *cellstore.Selection, row *cellstore.Row) (bool, error) {
	p := newPlan(v, sel)
	get := p.get(key)
	var r thrift2.Result
	err := t.call(ctx, readCall, func(ctx context.Context, c *thrift2.Conn) error {
		return c.Get(ctx, t.state.path, &get, &r)
	})
	if err != nil {
		return false, err
	}
	r.Row = key
	return p.fill(&r, row), nil
}

// multiGetRows is the number of rows in one call of MultiGet.
const multiGetRows = 256

// Bulk implements cellstore.Table: it is unsupported, as bulk files are loaded
// beside the gateway.
func (t *Table) Bulk(context.Context) (cellstore.BulkLoader, error) {
	return nil, t.fail("Bulk", nil, fmt.Errorf("%w: Apply many mutations at once, from several goroutines", errors.ErrUnsupported))
}

// Snapshot implements cellstore.Table. It is not supported.
func (t *Table) Snapshot(context.Context) (cellstore.Snapshot, error) {
	return nil, t.fail("Snapshot", nil, fmt.Errorf("%w: the gateway has no views of one moment", errors.ErrUnsupported))
}

// Splits implements cellstore.Table: it returns the table's regions, with neighbours joined until
// there are no more than n.
func (t *Table) Splits(ctx context.Context, n int) ([]cellstore.Range, error) {
	_, end, err := t.begin(ctx)
	if err != nil {
		return nil, t.fail("Splits", nil, err)
	}
	defer end()
	if n < 1 {
		return nil, t.fail("Splits", nil, fmt.Errorf("%w: %d parts", cellstore.ErrBadRange, n))
	}
	var regions []thrift2.Region
	err = t.call(ctx, readCall, func(ctx context.Context, c *thrift2.Conn) (err error) {
		regions, err = c.Regions(ctx, t.state.path)
		return err
	})
	if err == nil && len(regions) == 0 {
		err = cellstore.ErrTableNotFound
	}
	if err != nil {
		return nil, t.fail("Splits", nil, err)
	}
	// A replica of a region has the same start as the region, so equal starts are merged.
	var starts [][]byte
	for i := range regions {
		if len(regions[i].Start) > 0 {
			starts = append(starts, regions[i].Start)
		}
	}
	slices.SortFunc(starts, bytes.Compare)
	starts = slices.CompactFunc(starts, bytes.Equal)
	n = min(n, len(starts)+1)
	parts := []cellstore.Range{{}}
	for i := 1; i < n; i++ {
		at := starts[i*(len(starts)+1)/n-1]
		parts[i-1].To = at
		parts = append(parts, cellstore.Range{From: at})
	}
	return parts, nil
}

// call sends a call on the table.
func (t *Table) call(ctx context.Context, kind callKind, f func(context.Context, *thrift2.Conn) error) error {
	return t.s.call(ctx, kind, t.found(f))
}

const (
	// minBytesPerSecond is the least expected throughput of a gateway.
	minBytesPerSecond = 1 << 20
	// cellBytes is the estimated overhead of a cell in bytes.
	cellBytes = 100
)

// callSized sends a write of many bytes, and gives it more time because of its size.
func (t *Table) callSized(ctx context.Context, kind callKind, size int, f func(context.Context, *thrift2.Conn) error) error {
	more := time.Duration(size) * time.Second / minBytesPerSecond
	return t.s.callWithin(ctx, t.s.opts.Timeout+2*more, t.s.opts.TryTimeout+more, kind, t.found(f))
}

// found makes a call return ErrTableNotFound if the table does not exist.
func (t *Table) found(f func(context.Context, *thrift2.Conn) error) func(context.Context, *thrift2.Conn) error {
	return func(ctx context.Context, c *thrift2.Conn) error { return tableMissing(f(ctx, c), t.state.path) }
}
