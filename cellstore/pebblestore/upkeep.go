package pebblestore

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"quadrille/cellstore"

	"github.com/cockroachdb/pebble/v2"
)

const (
	// syncEvery bounds the time that an Async commit waits for the log, and the time that an idle
	// reader keeps an old state.
	syncEvery = 400 * time.Millisecond

	// A sweep is due when at least this many cells, and a good part of all cells of the table, may
	// be hidden, so that the cost of sweeping is in proportion to its use.
	leastGarbage    = 32 << 10
	bytesPerGarbage = 256

	leastAging, mostAging = time.Minute, time.Hour // between sweeps for TTL
)

// upkeep is the background work of a table that is open for writing.
type upkeep struct {
	garbage   atomic.Int64 // cells that may be hidden since the last sweep
	threshold atomic.Int64

	unsynced atomic.Bool // there are Async commits that a crash may lose
	awake    atomic.Bool // tend has been woken for commits
	tend     chan struct{}
	sweep    chan struct{}

	unflushed atomic.Pointer[error] // why the last flush failed

	filed   atomic.Bool // sorted files have changed since crowded was computed
	crowded atomic.Bool // there are too many: writers wait until some are merged
}

// mostFiles bounds the sorted files that a read may have to search. With more, writers wait until
// the engine has merged some.
const mostFiles = 12

// awaitMerges waits while there are too many sorted files.
func (t *table) awaitMerges(ctx context.Context) error {
	for t.upkeep.crowded.Load() && t.disk.failure() == nil {
		t.upkeep.filed.Store(true)
		t.upkeep.wake() // to check again
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-t.long.Done():
			return nil // ended says why
		case <-time.After(10 * time.Millisecond):
		}
	}
	return nil
}

// flushed records the outcome of every flush of memory to disk. While flushes fail, writes are
// refused: otherwise they would continue until memory is full, and then wait for ever. A disk that
// refuses writes does not make flushes fail, see disk. Damage that is found while cells are merged
// does.
func (u *upkeep) flushed(info pebble.FlushInfo) {
	if info.Err == nil || info.Err.Error() == emptyFlush {
		u.unflushed.Store(nil)
		return
	}
	err := fmt.Errorf("memory cannot be written to disk, try again when that is mended: %w", info.Err)
	u.unflushed.Store(&err)
}

// emptyFlush is the error that the engine reports for a flush with nothing to
// write.
const emptyFlush = "pebble: empty table"

func (u *upkeep) trouble() error {
	if err := u.unflushed.Load(); err != nil {
		return *err
	}
	return nil
}

// wrote records a commit and its garbage.
func (u *upkeep) wrote(garbage int64, d cellstore.Durability) {
	if d == cellstore.Async && !u.unsynced.Load() {
		u.unsynced.Store(true)
	}
	u.wake()
	u.loaded(garbage)
}

// loaded records loaded cells, which may be garbage or hide some.
func (u *upkeep) loaded(cells int64) {
	if cells > 0 && u.garbage.Add(cells) >= u.threshold.Load() {
		select {
		case u.sweep <- struct{}{}:
		default:
		}
	}
}

func (u *upkeep) init() {
	u.tend, u.sweep = make(chan struct{}, 1), make(chan struct{}, 1)
}

// wake makes tend work in a moment.
func (u *upkeep) wake() {
	if !u.awake.Load() && !u.awake.Swap(true) {
		u.tend <- struct{}{} // does not block: tend empties it before awake is false again
	}
}

// replaced is called when the engine has replaced files. Idle readers would keep the old files.
func (t *table) replaced() {
	_ = t.change(func() error { return nil }) // the same state, in other files
	t.upkeep.filed.Store(true)
	t.upkeep.wake()
}

// startUpkeep begins the background work of a table, which Close ends.
func (t *table) startUpkeep() {
	t.setThreshold()
	t.jobs.Go(t.tend)
	t.jobs.Go(t.sweeper)
}

// tend makes Async commits durable and makes idle readers release old states.
func (t *table) tend() {
	u := &t.upkeep
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-u.tend:
		case <-t.long.Done():
			return
		}
		timer.Reset(syncEvery)
		select {
		case <-timer.C:
		case <-t.long.Done():
			return
		}
		if u.filed.Swap(false) {
			u.crowded.Store(t.db.Metrics().Levels[0].Sublevels >= mostFiles)
		}
		u.awake.Store(false) // before the work, so that a later commit wakes tend again
		if u.unsynced.Swap(false) {
			_ = t.syncLog() // later writes return a failure
		}
		t.refresh()
	}
}

// sweeper sweeps when garbage or age makes it due.
func (t *table) sweeper() {
	for {
		var aging <-chan time.Time
		if d := t.lay.Load().aging(); d > 0 {
			aging = time.After(d)
		}
		select {
		case <-t.upkeep.sweep:
		case <-aging:
		case <-t.long.Done():
			return
		}
		if err := t.sweepAll(t.long, true); err != nil && t.long.Err() == nil {
			engineLog{t.store.opts.Logger}.Errorf("sweep of %s: %s", t.name, err)
		}
	}
}

// aging returns the time to wait before looking for expired cells again, or 0 if none expire.
func (l *layout) aging() time.Duration {
	var least time.Duration
	for _, f := range l.Schema.Families {
		if f.TTL > 0 && (least == 0 || f.TTL < least) {
			least = f.TTL
		}
	}
	if least == 0 {
		return 0
	}
	return min(max(least/2, leastAging), mostAging)
}

func (t *table) setThreshold() {
	size, err := t.db.EstimateDiskUsage(firstKey, lastKey)
	if err != nil {
		size = 0
	}
	t.upkeep.threshold.Store(max(leastGarbage, int64(size)/bytesPerGarbage))
}

// Every cell key lies between these two keys.
var (
	firstKey = appendPrefix(nil, 0, nil)
	lastKey  = appendPrefix(nil, 255, nil)
)
