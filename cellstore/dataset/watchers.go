package dataset

import "sync"

// watchers are the functions that are called after each change of a Live.
type watchers struct {
	mu  sync.Mutex
	all []func()
}

// Watch has fn called after each change of Status, and by Close before it waits for the handles
// that are held. Acquire agrees with Status by then. fn must not wait, nor call Poll or Close.
// Functions are called one after another, each for as long as the Live is there.
func (l *Live[T]) Watch(fn func()) {
	l.watchers.mu.Lock()
	defer l.watchers.mu.Unlock()
	l.watchers.all = append(l.watchers.all, fn)
}

// Serves reports whether a handle is that of the generation in service; nil stands for none.
func (l *Live[T]) Serves(h *Handle[T]) bool { return l.cur.Load() == h }

func (w *watchers) changed() {
	w.mu.Lock()
	all := w.all
	w.mu.Unlock()
	for _, fn := range all {
		fn()
	}
}
