package ask

import (
	"math"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"quadrille/cellstore/dataset"
)

// View is what a question sees: one moment of all data sets, and the instant that the question
// is about unless it names another. A question takes one view, so that its answer never mixes two
// generations of a data set. Several goroutines may use a view until it is released.
type View struct {
	*Moment
	At time.Time
}

// Moment is a generation of each data set that was in service at the same time, held open. A
// data set without one has the reason in its place.
type Moment struct {
	Boundaries Pinned[Boundaries]
	Places     Pinned[Places]
	Addresses  Pinned[Addresses]
	Airports   Pinned[Airports]
	Names      Pinned[Names]
	TimeZones  Pinned[TimeZones]
	Stations   Pinned[Stations]
	Weather    Pinned[Weather]

	collections map[string]*publishedCollection
	more        map[string]any // a *Pinned for each of Sets.More
	views       *Views
	held        []interface{ Release() }
	singles     func() []single
	layers      func() layerList
	// fixed says that the moment is of given generations, and has no collections.
	fixed bool

	// refs counts the Views itself, while this is the newest moment, and every view. Whoever brings it
	// to 0 may set it to dead, and then releases what is held. Between the two a question can
	// still revive it.
	refs atomic.Int64
}

// dead is far enough below 0 that no number of questions that come too late reaches 0.
const dead = math.MinInt64 / 2

// Views takes views of data sets. It may be used concurrently.
type Views struct {
	Sets

	now    atomic.Pointer[Moment]
	mu     sync.Mutex // held while a moment replaces another
	memory sync.Map   // see Memory
}

// NewViews returns the views of data sets, which are not changed any more. Whoever closes a data set
// ends the views of its generation.
func NewViews(sets Sets) *Views {
	v := &Views{Sets: sets}
	for _, d := range v.datasets() {
		d.watch(&v.Sets, v.renew)
	}
	sets.Collections.watch(v.renew)
	v.renew()
	return v
}

// renew makes a moment of what is in service now.
func (v *Views) renew() {
	v.mu.Lock()
	defer v.mu.Unlock()
	m := v.moment(nil)
	for name, live := range v.Collections.all() {
		c := &publishedCollection{Pinned: Pin(live)}
		c.layer = sync.OnceValue(func() *Layer { return pointsLayer(&PinnedCollection{Pinned: c.Pinned}, name) })
		m.collections[name] = c
		m.hold(c.Handle != nil, c.Handle)
	}
	if old := v.now.Swap(m); old != nil {
		old.release()
	}
}

// moment pins the data sets: their generations in service, or with a list those of the list and none
// of any other data set. The moment has no collections of points.
func (v *Views) moment(numbers map[string]uint64) *Moment {
	m := &Moment{views: v, fixed: numbers != nil, collections: map[string]*publishedCollection{}, more: map[string]any{}}
	m.singles, m.layers = sync.OnceValue(m.listSingles), sync.OnceValue(m.list)
	m.refs.Store(1)
	for _, d := range v.datasets() {
		if numbers == nil {
			d.pin(&v.Sets, m, nil)
		} else {
			number := numbers[d.name]
			d.pin(&v.Sets, m, &number)
		}
	}
	return m
}

// hold has the moment release something.
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
		if m.refs.Add(1) > 0 {
			return View{m, at}
		}
		// Another moment has taken its place since the Load.
		m.refs.Add(-1)
	}
}

// Generations takes a view of given generations of data sets, by their names, whether in service
// or not. 0 stands for none, and so does what the list lacks. The view has no collections of
// points.
func (v *Views) Generations(numbers map[string]uint64, at time.Time) View {
	if numbers == nil {
		numbers = map[string]uint64{}
	}
	return View{v.moment(numbers), at}
}

// Release gives the view back. It is called once.
func (v View) Release() { v.Moment.release() }

func (m *Moment) release() {
	if m.refs.Add(-1) == 0 && m.refs.CompareAndSwap(0, dead) {
		for _, h := range m.held {
			h.Release()
		}
	}
}

// Memory returns what a T remembers from one view to the next of the same Views: of generations,
// which never change, so that nothing becomes wrong. The zero value of T is ready, and may be
// used concurrently.
func Memory[T any](v View) *T {
	key := reflect.TypeFor[T]()
	if known, ok := v.views.memory.Load(key); ok {
		return known.(*T)
	}
	known, _ := v.views.memory.LoadOrStore(key, new(T))
	return known.(*T)
}

// Sets are the data sets that the view is of, as they are now.
func (m *Moment) Sets() *Sets { return &m.views.Sets }

// described is a data set as views use it.
type described struct {
	name  string
	watch func(s *Sets, changed func())
	// pin holds the generation of a number, or the newest one for nil.
	pin func(s *Sets, m *Moment, number *uint64)
	// layer returns the layer that the data set is. It is nil if it is none.
	layer func(m *Moment) *Layer
	tiled bool // the layer has tiles
}

// describe describes a data set with its places in Sets and Moment.
func describe[T any](name string, live func(*Sets) *dataset.Live[T], in func(*Moment) *Pinned[T]) described {
	return described{
		name: name,
		watch: func(s *Sets, changed func()) {
			if l := live(s); l != nil {
				l.Watch(changed)
			}
		},
		pin: func(s *Sets, m *Moment, number *uint64) {
			p := in(m)
			if number == nil {
				*p = Pin(live(s))
			} else {
				*p = PinGeneration(live(s), *number)
			}
			m.hold(p.Handle != nil, p.Handle)
		},
	}
}

// builtIn are the data sets of the fields of Sets.
var builtIn = []described{
	describe(BoundariesName, func(s *Sets) *dataset.Live[Boundaries] { return s.Boundaries }, func(m *Moment) *Pinned[Boundaries] { return &m.Boundaries }),
	describeLayer(PlacesName, func(s *Sets) *dataset.Live[Places] { return s.Places }, func(m *Moment) *Pinned[Places] { return &m.Places }),
	describe(AddressesName, func(s *Sets) *dataset.Live[Addresses] { return s.Addresses }, func(m *Moment) *Pinned[Addresses] { return &m.Addresses }),
	describeLayer(AirportsName, func(s *Sets) *dataset.Live[Airports] { return s.Airports }, func(m *Moment) *Pinned[Airports] { return &m.Airports }),
	describe(NamesName, func(s *Sets) *dataset.Live[Names] { return s.Names }, func(m *Moment) *Pinned[Names] { return &m.Names }),
	describe(TimeZonesName, func(s *Sets) *dataset.Live[TimeZones] { return s.TimeZones }, func(m *Moment) *Pinned[TimeZones] { return &m.TimeZones }),
	describeLayer(StationsName, func(s *Sets) *dataset.Live[Stations] { return s.Stations }, func(m *Moment) *Pinned[Stations] { return &m.Stations }),
	describe(WeatherName, func(s *Sets) *dataset.Live[Weather] { return s.Weather }, func(m *Moment) *Pinned[Weather] { return &m.Weather }),
}

// datasets are those of the fields, and Sets.More.
func (s *Sets) datasets() []described {
	if len(s.More) == 0 {
		return builtIn
	}
	all := slices.Clone(builtIn)
	for _, kind := range s.More {
		all = append(all, kind.described)
	}
	return all
}
