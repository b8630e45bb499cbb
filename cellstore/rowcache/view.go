package rowcache

import (
	"bytes"
	"context"
	"sync"
	"sync/atomic"

	"quadrille/cellstore"
)

// view is the cached part of a table for one selection.
type view struct {
	known    *known
	sel      *cellstore.Selection // its own
	families []string             // of the table
	index    index
	size     rowSize
	used     atomic.Bool // since makeRoom was last called

	mu      sync.Mutex // guards changes of the index, and the fields below
	dead    bool
	flights map[question]*flight
}

func newView(k *known, sel *cellstore.Selection) *view {
	v := &view{known: k, sel: sel, families: k.families, flights: map[question]*flight{}}
	v.index.init()
	if _, _, timed := sel.Time.Bounds(); timed || !sel.Filter.IsZero() {
		// The store may have to look at many rows to find a second one.
		v.size.alone = true
	}
	return v
}

func (v *view) touch() {
	if !v.used.Load() {
		v.used.Store(true)
	}
}

// forget drops every block. The view then takes no more.
func (v *view) forget() {
	v.mu.Lock()
	v.dead = true
	blocks := v.index.all()
	v.index.init()
	v.mu.Unlock()
	for _, b := range blocks {
		b.shard.drop(b)
	}
}

// keep inserts a block, or the part of it that is not cached yet.
func (v *view) keep(b *block) {
	if !v.known.cache.place(b) {
		return
	}
	kept, covered := v.put(b)
	for _, old := range covered {
		old.shard.drop(old)
	}
	if kept == nil {
		return
	}
	for _, evicted := range kept.shard.add(kept) {
		evicted.view.remove(evicted)
	}
}

func (v *view) remove(b *block) {
	v.mu.Lock()
	v.index.remove(b)
	v.mu.Unlock()
}

// put inserts the part of a block between existing blocks. It replaces blocks that lie wholly in
// the new one, so that runs of small blocks become large ones.
func (v *view) put(b *block) (kept *block, covered []*block) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.dead {
		return nil, nil
	}
	from, upto := b.from, b.upto
	if p := v.index.at(from); p != nil {
		if endsBy(upto, p.upto) {
			return nil, nil // cached already
		}
		if !bytes.Equal(p.from, from) {
			from = p.upto
		}
	}
	for {
		q := v.index.ceiling(from)
		if q == nil || len(upto) > 0 && bytes.Compare(q.from, upto) >= 0 {
			break
		}
		if !endsBy(q.upto, upto) {
			upto = q.from
			break
		}
		v.index.remove(q)
		covered = append(covered, q)
	}
	if len(upto) > 0 && bytes.Compare(from, upto) >= 0 {
		return nil, covered // nothing of it is new
	}
	if !bytes.Equal(from, b.from) || !bytes.Equal(upto, b.upto) {
		whole := b
		b = whole.cut(from, upto)
		b.shard = whole.shard
	}
	v.index.insert(b)
	return b, covered
}

// endsBy reports whether the end upto of an interval is not beyond the end other.
func endsBy(upto, other []byte) bool {
	return len(other) == 0 || len(upto) > 0 && bytes.Compare(upto, other) <= 0
}

// question identifies a read, which concurrent callers may share.
type question struct {
	kind     byte
	from, to string
}

// flight is a running call of the store.
type flight struct {
	done    chan struct{}
	cancel  context.CancelFunc
	waiters int // guarded by the view's lock

	block *block // nil if the rows cannot be cached
	err   error
}

// ask reads from the store, once for all concurrent callers of the same read. read runs on another
// goroutine, which may outlive the caller, so it must not use the caller's memory.
func (v *view) ask(ctx context.Context, kind byte, from, to []byte, read func(context.Context, *question) (*block, error)) (*block, error) {
	v.mu.Lock()
	f := v.flights[question{kind, string(from), string(to)}]
	if f == nil {
		q := question{kind, string(from), string(to)}
		f = &flight{done: make(chan struct{})}
		// This context is without the caller's cancellation and deadline, because other callers may
		// join.
		var own context.Context
		own, f.cancel = context.WithCancel(context.WithoutCancel(ctx))
		v.flights[q] = f
		go v.fly(own, f, q, read)
	}
	f.waiters++
	v.mu.Unlock()
	select {
	case <-f.done:
		return f.block, f.err
	case <-ctx.Done():
	}
	v.mu.Lock()
	if f.waiters--; f.waiters == 0 {
		f.cancel()
		v.land(f, question{kind, string(from), string(to)})
	}
	v.mu.Unlock()
	return nil, ctx.Err()
}

func (v *view) fly(ctx context.Context, f *flight, q question, read func(context.Context, *question) (*block, error)) {
	defer f.cancel()
	v.known.cache.missed()
	f.block, f.err = read(ctx, &q)
	if f.err == nil && f.block != nil {
		v.keep(f.block) // before the flight ends, so that nobody reads again
	}
	v.mu.Lock()
	v.land(f, q)
	v.mu.Unlock()
	close(f.done)
}

func (v *view) land(f *flight, q question) {
	if v.flights[q] == f {
		delete(v.flights, q)
	}
}

const (
	// blockBytes is the approximate size of a block, and blockRows bounds its rows.
	blockBytes = 16 << 10
	blockRows  = 32
)

// rowSize estimates the size of a view's rows.
type rowSize struct {
	alone      bool // read one row at a time
	mean, peak atomic.Int64
}

// rows returns the number of rows to read when one row is requested. It is one until the size of
// rows is known, and low if any rows are large. A tile of half a megabyte must not be read just
// because it comes after another tile.
func (s *rowSize) rows() int {
	mean := s.mean.Load()
	if s.alone || mean == 0 {
		return 1
	}
	return int(min(max(blockBytes/max(mean, s.peak.Load()/4), 1), blockRows))
}

func (s *rowSize) observe(row *cellstore.Row) {
	n := int64(len(row.Key))
	for i := range row.Cells {
		n += int64(len(row.Cells[i].Qualifier) + len(row.Cells[i].Value) + cellOverhead)
	}
	// One of two concurrent updates may be lost: these are estimates.
	mean := s.mean.Load()
	if mean == 0 {
		mean = n
	}
	s.mean.Store(mean + (n-mean)/8)
	peak := s.peak.Load()
	s.peak.Store(max(n, peak-peak/32))
}
