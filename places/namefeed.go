package places

import (
	"slices"
	"sync/atomic"

	"quadrille/places/search"
)

// nameFeed passes entries to a nameSink in a goroutine of its own, so that folding the names of
// some places overlaps with joining the next.
type nameFeed struct {
	sink    nameSink
	filling []search.Entry
	full    chan []search.Entry
	free    chan []search.Entry
	done    chan struct{} // closed when full has been closed and emptied
	failed  atomic.Pointer[error]
	ended   bool
}

const (
	feedBatch   = 256 // entries in a batch
	feedBatches = 4
)

func newNameFeed(sink nameSink) *nameFeed {
	f := &nameFeed{
		sink: sink, full: make(chan []search.Entry, feedBatches), free: make(chan []search.Entry, feedBatches), done: make(chan struct{}),
	}
	for range feedBatches {
		f.free <- make([]search.Entry, 0, feedBatch)
	}
	f.filling = <-f.free
	go f.run()
	return f
}

// run passes batches to the sink until there are no more. After a failure it only returns the empty
// batches, so that Add never blocks for ever.
func (f *nameFeed) run() {
	defer close(f.done)
	for batch := range f.full {
		for i := range batch {
			if f.failed.Load() != nil {
				break
			}
			if err := f.sink.Add(&batch[i]); err != nil {
				f.failed.Store(&err)
			}
		}
		f.free <- batch[:0]
	}
}

// Add copies an entry, except its texts. The error may be that of an earlier entry.
func (f *nameFeed) Add(e *search.Entry) error {
	if err := f.failed.Load(); err != nil {
		return *err
	}
	n := len(f.filling)
	f.filling = slices.Grow(f.filling, 1)[:n+1]
	names := append(f.filling[n].Names[:0], e.Names...)
	f.filling[n] = *e
	f.filling[n].Names = names
	if n+1 == feedBatch {
		f.full <- f.filling
		f.filling = <-f.free
	}
	return nil
}

// end waits until every entry has been taken.
func (f *nameFeed) end() error {
	if !f.ended {
		f.ended = true
		f.full <- f.filling
		close(f.full)
	}
	<-f.done
	if err := f.failed.Load(); err != nil {
		return *err
	}
	return nil
}

// Finish finishes the sink.
func (f *nameFeed) Finish() (search.Meta, error) {
	if err := f.end(); err != nil {
		return search.Meta{}, err
	}
	return f.sink.Finish()
}

// Close ends the goroutine and closes the sink.
func (f *nameFeed) Close() error {
	_ = f.end() // Add or Finish has returned the error
	return f.sink.Close()
}
