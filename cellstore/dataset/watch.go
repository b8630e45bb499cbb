package dataset

import (
	"context"
	"time"

	"github.com/fsnotify/fsnotify"
)

// Run follows CURRENT until ctx or the Live ends, and then returns nil.
//
// Notifications of the file system make it quick, within milliseconds. They do
// not exist on every file system, are lost when queues overflow, and stop when
// a directory is moved away and another put in its place; so CURRENT is also
// read every two seconds, which alone would do, and does for a Depot. Failures are in Err and are
// tried again, at growing intervals of up to a minute.
func (l *Live[T]) Run(ctx context.Context) error {
	w := newWaker(l.from.back.watched(l.dataset)...)
	defer w.close()
	tick := time.NewTicker(l.interval)
	defer tick.Stop()
	for {
		w.watch() // before the look, so that no change falls between
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

// waker turns file system events in the directory of a data set, or while that
// does not exist in its parent, into wake-ups, several at once into one.
type waker struct {
	dirs    []string
	watcher *fsnotify.Watcher // nil when the system has none to give
	wake    chan struct{}
}

func newWaker(dirs ...string) *waker {
	w := &waker{dirs: dirs, wake: make(chan struct{}, 1)}
	if len(dirs) == 0 {
		return w
	}
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		return w // Run looks every few seconds anyway
	}
	w.watcher = watcher
	go w.forward()
	return w
}

// watch renews the watch: adding one that exists is cheap, and one on a
// directory that has been replaced has silently ended.
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

// forward ends when the watcher is closed. An error, such as an overflow of
// its queue, may stand for any event.
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
		_ = w.watcher.Close() // ends forward; it has nothing else to lose
	}
}
