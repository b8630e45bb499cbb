package pebblestore

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"quadrille/cellstore"

	"github.com/cockroachdb/pebble/v2"
)

// layout is the declaration of a table at one time. It never changes: an
// alteration makes a new one.
type layout struct {
	cellstore.Validator // its Schema is the one in force, hints included

	fams    []family // by name
	expires bool     // some family has a TTL
}

func newLayout(schema cellstore.Schema, stored storedTable) *layout {
	l := &layout{
		Validator: cellstore.Validator{Schema: schema, Limits: cellstore.DefaultLimits, Capabilities: capabilities},
		fams:      stored.families(),
	}
	l.expires = slices.ContainsFunc(l.fams, func(f family) bool { return f.ttl > 0 })
	return l
}

// family returns the index of a family in fams.
func (l *layout) family(name string) (int, error) {
	for i := range l.fams {
		if l.fams[i].name == name {
			return i, nil
		}
	}
	return 0, fmt.Errorf("%w: %q", cellstore.ErrFamilyNotFound, name)
}

// source is a table or a snapshot of one: a state of a database, with its readers. It implements
// cellstore.Reader.
type source struct {
	name  string
	from  pebble.Reader
	clock func() int64
	lay   atomic.Pointer[layout]
	// failed is called with the engine's error of a read.
	failed func(error)

	// begun and done count the commits to the database. A commit becomes visible between the two
	// counts. Once a read has shown it, every later read must show it. So an iterator may be used
	// again only if no commit can have become visible since the iterator was made: begun must still
	// equal the value of done before that. In a read-only store or a snapshot neither changes, and
	// iterators stay usable.
	begun, done atomic.Uint64

	idle sync.Pool // of *reader; may lose some, readers has them all

	mu      sync.Mutex
	over    error // the error of calls once the source is closed
	readers []*reader
	count   atomic.Int64 // of readers

	retired retiredStats
}

// change runs a commit to the database. All changes to the results of reads go through this
// function.
func (t *source) change(commit func() error) error {
	t.begun.Add(1)
	defer t.done.Add(1)
	return commit()
}

// ended returns why the source is closed, or nil.
func (t *source) ended() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.over
}

// end closes the source for good and reports whether it was open.
func (t *source) end(why error) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over != nil {
		return false
	}
	t.over = why
	return true
}

// closeReaders waits for running reads and closes the iterators of a source
// that has ended.
func (t *source) closeReaders() {
	t.mu.Lock()
	readers := t.readers
	t.readers = nil
	t.mu.Unlock()
	for _, r := range readers {
		r.mu.Lock() // waits for the call that uses it
		r.closeIterators()
		r.free, r.dead = false, true
		r.mu.Unlock()
	}
}

// refresh closes the iterators of idle readers that are older than the last commit. Iterators keep
// files and memory of the old state.
func (t *source) refresh() {
	begun := t.begun.Load()
	t.mu.Lock()
	readers := append([]*reader(nil), t.readers...)
	t.mu.Unlock()
	for _, r := range readers {
		if !r.mu.TryLock() {
			continue // its next use checks the count
		}
		if r.free && r.done != begun {
			r.closeIterators()
		}
		r.mu.Unlock()
	}
}

// stats sums the work of all iterators, those closed included.
func (t *source) stats() cellstore.IOStats {
	t.mu.Lock()
	readers := append([]*reader(nil), t.readers...)
	t.mu.Unlock()
	var sum cellstore.IOStats
	for _, r := range readers {
		r.mu.Lock()
		for _, it := range r.its {
			if it != nil {
				sum = addStats(sum, iteratorStats(it))
			}
		}
		r.mu.Unlock()
	}
	t.retired.mu.Lock()
	defer t.retired.mu.Unlock()
	return addStats(sum, t.retired.sum)
}
