package ask

import (
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	"quadrille/cellstore/dataset"
	"quadrille/places"
	"quadrille/places/airports"
	"quadrille/places/names"
	"quadrille/places/stations"
	"quadrille/places/zones"
)

// View is the state for one query: one moment of all data sets, and the default instant of the
// question. A question takes one view, so that its answer never mixes two generations of a data
// set. Several goroutines may use a view until it is released.
type View struct {
	*Moment
	At time.Time
}

// Moment has a generation of each data set, all in service at the same time and held open. For a
// data set without a generation it has the error instead.
type Moment struct {
	Boundaries Regions
	Places     Pinned[*places.Finder]
	Addresses  Pinned[AddressReader]
	Airports   Pinned[*airports.Finder]
	Names      Pinned[*names.Reader]
	TimeZones  Pinned[*zones.Reader]
	Stations   Pinned[*stations.Finder]
	Weather    Pinned[*stations.Weather]

	collections map[string]*publishedCollection
	others      map[string]any // a *Pinned for each data set without a field
	views       *Views
	held        []interface{ Release() }
	singles     func() []single
	layers      func() layerList
	ground      func() *Ground
	// fixed is set if the moment has given generations, and so no collections.
	fixed bool

	refs dataset.Refs // one of Views itself while this is the newest moment, and one of every view
}

// Views takes views of data sets. It may be used concurrently.
type Views struct {
	Sets

	now    atomic.Pointer[Moment]
	asked  atomic.Uint64 // calls of renew
	mu     sync.Mutex    // held while one moment replaces another
	seen   uint64        // the moment is new enough for this many calls of renew
	memory sync.Map      // see Memory
}

// NewViews returns the views of data sets, which must not change any more. Closing a data set ends
// the views of its generation. NewViews panics if two data sets have one name.
func NewViews(sets Sets) *Views {
	v := &Views{Sets: sets}
	known := map[string]bool{}
	for _, d := range v.datasets() {
		name := d.about().Name
		if known[name] {
			panic("ask: two data sets are called " + name + ": give the one in Sets.ExtraLayers another name")
		}
		known[name] = true
		if l := d.live(&v.Sets); l != nil {
			l.Watch(v.renew)
		}
	}
	sets.RegionSets.watch(v.renew)
	if sets.Collections != nil {
		sets.Collections.watch(v.renew)
	}
	v.renew()
	return v
}

// renew makes a moment of the generations in service. One new moment serves all calls that are
// waiting at that time: many data sets come into service at once when a server starts.
func (v *Views) renew() {
	call := v.asked.Add(1)
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.seen >= call {
		return
	}
	v.seen = v.asked.Load()
	m := v.moment(nil)
	for !v.whole(m) {
		m.release()
		m = v.moment(nil)
	}
	if old := v.now.Swap(m); old != nil {
		old.release()
	}
}

// whole reports whether everything that a moment holds is still in service. Then all of it was in
// service at the same time: when the last part was pinned.
func (v *Views) whole(m *Moment) bool {
	for _, d := range v.datasets() {
		if !d.pinned(&v.Sets, m) {
			return false
		}
	}
	for i := range m.Boundaries.parts {
		if p := &m.Boundaries.parts[i]; p.inService != nil && !p.inService() {
			return false
		}
	}
	for _, c := range m.collections {
		if !c.live.Serves(c.Handle) {
			return false
		}
	}
	return true
}

// moment pins the data sets. Without numbers it pins the generations in service and the collections
// of points. With numbers it pins exactly those generations.
func (v *Views) moment(numbers map[string]uint64) *Moment {
	m := &Moment{views: v, fixed: numbers != nil, collections: map[string]*publishedCollection{}, others: map[string]any{}}
	m.singles, m.layers, m.ground = sync.OnceValue(m.listSingles), sync.OnceValue(m.list), sync.OnceValue(m.newGround)
	m.refs.Acquire()
	for _, d := range v.datasets() {
		if numbers == nil {
			d.pin(&v.Sets, m, nil)
		} else {
			number := numbers[d.about().Name]
			d.pin(&v.Sets, m, &number)
		}
	}
	m.pinRegions(numbers)
	if m.fixed || v.Collections == nil {
		return m
	}
	for name, live := range v.Collections.all() {
		c := &publishedCollection{Pinned: Pin(live), live: live}
		c.layer = sync.OnceValue(func() *Layer { return pointsLayer(&PinnedCollection{Pinned: c.Pinned}, name) })
		m.collections[name] = c
		m.hold(c.Handle != nil, c.Handle)
	}
	return m
}

// hold registers h, which the moment releases when it ends.
func (m *Moment) hold(some bool, h interface{ Release() }) {
	if some {
		m.held = append(m.held, h)
	}
}

// Take takes a view of this moment for a question about an instant. The caller releases it. Take
// neither waits nor allocates.
func (v *Views) Take(at time.Time) View {
	for {
		m := v.now.Load()
		if m.refs.Acquire() {
			return View{m, at}
		}
		// Another Moment has replaced it since the call of Load.
	}
}

// TakeGenerations takes a view of given generations by the names of their data sets, in service or not.
// 0 means none, and so does a name that numbers lacks. The view has no collections of points.
func (v *Views) TakeGenerations(numbers map[string]uint64, at time.Time) View {
	if numbers == nil {
		numbers = map[string]uint64{}
	}
	return View{v.moment(numbers), at}
}

// Release gives the view back. Call it once.
func (v View) Release() { v.Moment.release() }

func (m *Moment) release() {
	if m.refs.Release() {
		for _, h := range m.held {
			h.Release()
		}
	}
}

// Memory returns the cache of type T that all views of the same Views share. A cache may store only
// data of generations, which never change, so that no entry becomes wrong. The zero value of T must
// be ready and safe for concurrent use.
func Memory[T any](v View) *T {
	key := reflect.TypeFor[T]()
	if known, ok := v.views.memory.Load(key); ok {
		return known.(*T)
	}
	known, _ := v.views.memory.LoadOrStore(key, new(T))
	return known.(*T)
}

// Sets returns the data sets of the view, in their present state.
func (m *Moment) Sets() *Sets { return &m.views.Sets }
