// Package bulkload loads a table with cells that one goroutine produces and
// another one writes.
package bulkload

import (
	"context"
	"sync/atomic"

	"quadrille/cellstore"
)

// Load is a bulk load of one table. A separate goroutine writes the cells, so that compressing the
// last block overlaps with making the next one.
type Load struct {
	ctx     context.Context
	loader  cellstore.BulkLoader
	filling *batch
	full    chan *batch
	free    chan *batch
	done    chan error // receives once, when full has been closed and emptied
	failed  atomic.Pointer[error]
	ended   bool
}

// batch holds copies of cells.
type batch struct {
	data  []byte // key, qualifier and value of each, end to end
	cells []batched
}

type batched struct {
	family            string
	timestamp         int64
	key, qualifier, n int // lengths; n is that of the value
}

const (
	batchSize = 256 << 10
	batches   = 4
)

// New begins a load of a table. Always call Abort at the end.
func New(ctx context.Context, store cellstore.Store, table string) (*Load, error) {
	t, err := store.Table(ctx, table)
	if err != nil {
		return nil, err
	}
	loader, err := t.Bulk(ctx)
	if err != nil {
		return nil, err
	}
	l := &Load{
		ctx: ctx, loader: loader, filling: &batch{},
		full: make(chan *batch, batches), free: make(chan *batch, batches), done: make(chan error, 1),
	}
	for range batches - 1 {
		l.free <- &batch{}
	}
	go l.run()
	return l, nil
}

// Fill loads a table with the cells that fill adds.
func Fill(ctx context.Context, store cellstore.Store, table string, fill func(*Load) error) error {
	l, err := New(ctx, store, table)
	if err != nil {
		return err
	}
	defer l.Abort()
	if err := fill(l); err != nil {
		return err
	}
	return l.Commit()
}

// run writes batches until there are no more. After a failure it only returns the empty batches to
// Add, so that Add never blocks for ever.
func (l *Load) run() {
	var failure error
	for b := range l.full {
		if failure == nil {
			if failure = l.write(b); failure != nil {
				l.failed.Store(&failure)
			}
		}
		b.data, b.cells = b.data[:0], b.cells[:0]
		l.free <- b
	}
	l.done <- failure
}

func (l *Load) write(b *batch) error {
	if err := l.ctx.Err(); err != nil {
		return err
	}
	data := b.data
	take := func(n int) (part []byte) {
		part, data = data[:n:n], data[n:]
		return part
	}
	for _, c := range b.cells {
		key := take(c.key)
		qualifier := take(c.qualifier)
		err := l.loader.Add(key, cellstore.Cell{Family: c.family, Qualifier: qualifier, Timestamp: c.timestamp, Value: take(c.n)})
		if err != nil {
			return err
		}
	}
	return nil
}

// Add copies a cell. The error may be that of an earlier cell.
func (l *Load) Add(key []byte, c cellstore.Cell) error {
	if err := l.failed.Load(); err != nil {
		return *err
	}
	b := l.filling
	b.data = append(append(append(b.data, key...), c.Qualifier...), c.Value...)
	b.cells = append(b.cells, batched{c.Family, c.Timestamp, len(key), len(c.Qualifier), len(c.Value)})
	if len(b.data) >= batchSize {
		l.full <- b
		l.filling = <-l.free
	}
	return nil
}

// end waits until everything added has been written.
func (l *Load) end() error {
	l.ended = true
	l.full <- l.filling
	close(l.full)
	return <-l.done
}

// Commit makes the load visible.
func (l *Load) Commit() error {
	if err := l.end(); err != nil {
		return err
	}
	return l.loader.Commit(l.ctx)
}

// Abort discards an uncommitted load. It ignores errors: they could only leave garbage in a store
// that is discarded anyway.
func (l *Load) Abort() {
	if !l.ended {
		_ = l.end()
	}
	_ = l.loader.Abort()
}
