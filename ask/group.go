package ask

import (
	"maps"
	"slices"
	"sync"

	"quadrille/cellstore/dataset"
)

// DatasetGroup has the published data sets of one kind with names that users choose. Data sets may
// come and go while it is used. It may be used concurrently; a nil one is empty.
type DatasetGroup[R any] struct {
	mu       sync.RWMutex
	sets     map[string]*dataset.Live[R]
	watchers []func()
	listed   bool // AddAll has been called
}

// Add adds a data set.
func (f *DatasetGroup[R]) Add(name string, live *dataset.Live[R]) {
	f.AddAll(map[string]*dataset.Live[R]{name: live})
}

// AddAll adds data sets at once, which costs less than one by one. An empty map marks the
// DatasetGroup as complete: there are no other data sets now.
func (f *DatasetGroup[R]) AddAll(sets map[string]*dataset.Live[R]) {
	for _, live := range sets {
		live.Watch(f.changed)
	}
	f.mu.Lock()
	if f.sets == nil {
		f.sets = map[string]*dataset.Live[R]{}
	}
	maps.Copy(f.sets, sets)
	same := f.listed && len(sets) == 0
	f.listed = true
	f.mu.Unlock()
	if !same {
		f.changed()
	}
}

// Remove removes a data set.
func (f *DatasetGroup[R]) Remove(name string) {
	f.mu.Lock()
	delete(f.sets, name)
	f.mu.Unlock()
	f.changed()
}

// watch registers fn to be called after each change of the published data sets.
func (f *DatasetGroup[R]) watch(fn func()) {
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.watchers = append(f.watchers, fn)
}

func (f *DatasetGroup[R]) changed() {
	f.mu.RLock()
	all := f.watchers
	f.mu.RUnlock()
	for _, fn := range all {
		fn()
	}
}

// isListed reports whether the published data sets have been looked up.
func (f *DatasetGroup[R]) isListed() bool {
	if f == nil {
		return true
	}
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.listed
}

// all returns a copy of the data sets.
func (f *DatasetGroup[R]) all() map[string]*dataset.Live[R] {
	if f == nil {
		return nil
	}
	f.mu.RLock()
	defer f.mu.RUnlock()
	return maps.Clone(f.sets)
}

// Published returns the data set with the given name, or nil if there is none.
func (f *DatasetGroup[R]) Published(name string) *dataset.Live[R] {
	if f == nil {
		return nil
	}
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.sets[name]
}

// publishedStates returns the states without those of data sets that are followed but not published
// any more.
func (f *DatasetGroup[R]) publishedStates() []dataset.Status {
	return slices.DeleteFunc(f.states(), func(st dataset.Status) bool {
		return st.Serving == nil && st.Published == 0 && st.Err == nil
	})
}

// states returns the states of the data sets, in the order of their names.
func (f *DatasetGroup[R]) states() (list []dataset.Status) {
	sets := f.all()
	for _, name := range slices.Sorted(maps.Keys(sets)) {
		list = append(list, sets[name].Status())
	}
	return list
}
