package dataset

import (
	"context"
	"time"

	"github.com/fsnotify/fsnotify"
)

// Run follows the pointer until ctx or the Live ends, and then returns nil. For a Catalog,
// notifications of the file system make it react within milliseconds. Not every file system has
// them, they are lost when queues overflow, and they stop when a directory is replaced. So Run also
// reads the pointer every two seconds; for a Depot, this is all it does. It stores failures in Err
// and tries again, at growing intervals of up to a minute.
func (l *Live[T]) Run(ctx context.Context) error {
	if l.from == nil {
		select {
		case <-ctx.Done():
		case <-l.done:
		}
		return nil
	}
	w := newWaker(l.from.back.watched(l.dataset)...)
	defer w.close()
	tick := time.NewTicker(l.interval)
	defer tick.Stop()
	for {
		w.watch() // before poll, so that no change is missed in between
		_ = l.poll(ctx, false)
		select {
		case <-ctx.Done():
			return nil
		case <-l.done:
			return nil
		case <-tick.C:
		case <-w.wake:
		case <-l.health.wake:
		}
	}
}

// waker turns file system events in the first of its directories that exists into
// wake-ups. Several events at once give one wake-up.
type waker struct {
	dirs    []string
	watcher *fsnotify.Watcher // nil if the system has none
	wake    chan struct{}
}

func newWaker(dirs ...string) *waker {
	w := &waker{dirs: dirs, wake: make(chan struct{}, 1)}
	if len(dirs) == 0 {
		return w
	}
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		return w // Run polls anyway
	}
	w.watcher = watcher
	go w.forward()
	return w
}

// watch adds the watch again. That is cheap if the watch still exists. If the directory has been
// replaced, its watch has ended silently.
func (w *waker) watch() {
	if w.watcher == nil {
		return
	}
	for _, dir := range w.dirs {
		if w.watcher.Add(dir) == nil {
			return
		}
	}
}

// forward passes events on until the watcher is closed. An error, such as an overflow of its queue,
// may hide any event, so it counts as one.
func (w *waker) forward() {
	for {
		var ok bool
		select {
		case _, ok = <-w.watcher.Events:
		case _, ok = <-w.watcher.Errors:
		}
		if !ok {
			return
		}
		select {
		case w.wake <- struct{}{}:
		default:
		}
	}
}

func (w *waker) close() {
	if w.watcher != nil {
		_ = w.watcher.Close() // ends forward; its error has no consequence
	}
}
