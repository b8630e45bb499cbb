package dataset

import "sync"

// watchers are the functions that are called after each change of a Live.
type watchers struct {
	mu  sync.Mutex
	all []func()
}

// Watch registers fn to be called after each change of Status, and by Close before it waits for
// held handles. By then Acquire agrees with Status. fn must not wait, nor call Poll or Close.
// Functions are called one after another, until the end of the Live.
func (l *Live[T]) Watch(fn func()) {
	l.watchers.mu.Lock()
	defer l.watchers.mu.Unlock()
	l.watchers.all = append(l.watchers.all, fn)
}

// Serves reports whether h is the handle of the generation in service; nil means none.
func (l *Live[T]) Serves(h *Handle[T]) bool { return l.cur.Load() == h }

func (w *watchers) changed() {
	w.mu.Lock()
	all := w.all
	w.mu.Unlock()
	for _, fn := range all {
		fn()
	}
}
