package ask

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"quadrille/cellstore"
	"quadrille/cellstore/dataset"
	"quadrille/places/names"
	"quadrille/tiles"
)

// RegionSetPrefix begins the names of data sets that are layers of regions which users keep by
// themselves. Boundaries has the layers that are published together.
const RegionSetPrefix = "boundaries-"

// RegionSet reads such a data set: layers of regions, with their names for search. It is published,
// rolled back and dropped without the others.
type RegionSet struct {
	*tiles.Reader
	Names *names.Reader // nil if it has none
}

// RegionSetOf returns the data set of regions of a name.
func RegionSetOf(name string) *Of[*RegionSet] {
	return &Of[*RegionSet]{Dataset: Dataset{Name: RegionSetPrefix + name, Schema: tiles.SchemaVersion, Uses: []string{BoundariesName, PlacesName}}, open: openRegionSet}
}

// RegionSetMeta describes a RegionSet, in the manifest of its generation.
type RegionSetMeta struct {
	tiles.Meta
	Names *names.Meta `json:"names,omitempty"`
}

func openRegionSet(g *dataset.Generation) (*RegionSet, error) {
	open := func(ctx context.Context, store cellstore.Store, meta RegionSetMeta) (s *RegionSet, err error) {
		s = new(RegionSet)
		if s.Reader, err = tiles.Open(ctx, store, meta.Meta); err == nil && meta.Names != nil {
			s.Names, err = names.Open(ctx, store, *meta.Names)
		}
		return s, err
	}
	return cellstore.OpenPublished(context.Background(), g, tiles.SchemaVersion, open)
}

// Regions are the regions of a moment, of all data sets that have some.
type Regions struct {
	// Pinned reads all of them as one. Its manifest is that of Boundaries, if it is published.
	Pinned[*tiles.Reader]

	main Pinned[*tiles.Reader] // Boundaries, alone
	sets []regionSet           // in the order of their names
	// unsure says that what is published of some data set has not been looked up yet.
	unsure bool
}

// errUnsure is why regions are not all known.
var errUnsure = fmt.Errorf("%w: it has not been looked up yet what is published of all data sets of regions", ErrFailed)

// regionSet is a RegionSet of a moment.
type regionSet struct {
	name string
	Pinned[*RegionSet]
	live *dataset.Live[*RegionSet]
}

// join makes one of all. What cannot be read does not keep the others from being read. before is what was joined
// before, nil for nothing: it is returned if nothing has changed, with what it remembers.
func (r *Regions) join(before *Pinned[*tiles.Reader]) {
	var readers []*tiles.Reader
	var failed error
	id := identityStart
	add := func(p Pinned[*tiles.Reader]) {
		switch {
		case p.Err == nil:
			readers, id = append(readers, p.value), id.with(p.ID)
		case !errors.Is(p.Err, ErrMissing):
			failed, id = errors.Join(failed, p.Err), id.with(IDFailed)
		}
	}
	for i := range r.sets {
		add(r.sets[i].part())
	}
	if r.Pinned = r.main; len(readers) == 0 && failed == nil {
		return // alone
	}
	sets := readers
	readers, id = nil, identityStart.with(uint64(id))
	add(r.main)
	readers = append(readers, sets...)
	switch {
	case len(readers) == 0:
		r.Pinned = Pinned[*tiles.Reader]{Err: failed, ID: IDFailed}
	case before != nil && before.ID == id.odd() && failed == nil:
		r.Pinned = Pinned[*tiles.Reader]{ID: before.ID, value: before.value, manifest: r.main.manifest}
	default:
		r.Pinned = Pinned[*tiles.Reader]{ID: id.odd(), value: tiles.Join(failed, readers...), manifest: r.main.manifest}
	}
}

// Of returns what a type of regions is read from: its manifest, and its identity. The type exists.
func (r *Regions) Of(typ string) (m *dataset.Manifest, id uint64) {
	if r.main.Err == nil && r.main.value.Has(typ) {
		return r.main.manifest, r.main.ID
	}
	for i := range r.sets {
		if s := &r.sets[i]; s.Err == nil && s.value.Has(typ) {
			return s.manifest, s.ID
		}
	}
	return nil, r.ID
}

// IDOf is the identity of the data sets that types of regions are read from, for keys and tags:
// it stays the same when others change. No types are all.
func (r *Regions) IDOf(types []string) uint64 {
	if len(r.sets) == 0 || len(types) == 0 || r.Err != nil {
		return r.ID
	}
	id, only, several := identityStart, uint64(0), false
	for i, t := range types {
		_, of := r.Of(t)
		several = several || i > 0 && of != only
		id, only = id.with(of), of
	}
	if several {
		return id.odd()
	}
	return only
}

// Manifests are those of the data sets that types of regions are read from, Boundaries first and the others
// in the order of their names.
func (r *Regions) Manifests(types []string) (list []*dataset.Manifest) {
	for _, t := range types {
		if m, _ := r.Of(t); m != nil && !slices.Contains(list, m) {
			list = append(list, m)
		}
	}
	slices.SortFunc(list, func(a, b *dataset.Manifest) int { return strings.Compare(a.Dataset, b.Dataset) })
	return list
}

// All are the manifests of all data sets of regions that are read.
func (r *Regions) All() (list []*dataset.Manifest) {
	for _, name := range r.Sets() {
		if p := r.Part(name); p.Err == nil {
			list = append(list, p.manifest)
		}
	}
	return list
}

// Part is what is read of one of the data sets, as Boundaries alone. The view holds it.
func (r *Regions) Part(dataset string) Pinned[*tiles.Reader] {
	if dataset == BoundariesName {
		return r.main
	}
	for i := range r.sets {
		if s := &r.sets[i]; RegionSetPrefix+s.name == dataset {
			return s.part()
		}
	}
	return Pinned[*tiles.Reader]{Err: ErrMissing, ID: IDMissing}
}

// part is the regions without their names.
func (s *regionSet) part() Pinned[*tiles.Reader] {
	p := Pinned[*tiles.Reader]{Err: s.Err, ID: s.ID, manifest: s.manifest, held: s.held}
	if s.Err == nil {
		p.value = s.value.Reader
	}
	return p
}

// Parts are the generations that are read, by the names of the data sets. The error says that one cannot be, or
// that it is not known yet what is published.
func (r *Regions) Parts() (generations map[string]uint64, err error) {
	if r.unsure {
		return nil, errUnsure
	}
	generations = map[string]uint64{}
	for _, name := range r.Sets() {
		p := r.Part(name)
		if p.Err != nil && !errors.Is(p.Err, ErrMissing) {
			return nil, p.Err
		}
		if p.Err == nil {
			generations[name] = p.manifest.Generation
		}
	}
	return generations, nil
}

// Release gives back what HoldRegions and RegionsOf hold.
func (r *Regions) Release() {
	r.main.Release()
	for i := range r.sets {
		r.sets[i].Release()
	}
}

// Sets are the names of the data sets that are followed, Boundaries first.
func (r *Regions) Sets() []string {
	list := []string{BoundariesName}
	for i := range r.sets {
		list = append(list, RegionSetPrefix+r.sets[i].name)
	}
	return list
}

// Hidden lists the types of a data set that another one has too, which is read instead.
func (r *Regions) Hidden(dataset string) (types []string) {
	for i := range r.sets {
		if s := &r.sets[i]; s.Err == nil && s.manifest.Dataset == dataset {
			for _, t := range s.value.Types() {
				if m, _ := r.Of(t.Name); m != s.manifest {
					types = append(types, t.Name)
				}
			}
		}
	}
	return types
}

// TypesOf lists the types that are read from a data set.
func (r *Regions) TypesOf(dataset string) (types []tiles.TypeMeta) {
	if r.Err != nil {
		return nil
	}
	for _, t := range r.value.Types() {
		if m, _ := r.Of(t.Name); m != nil && m.Dataset == dataset {
			types = append(types, t)
		}
	}
	return types
}

// HoldRegions pins all regions that are in service, for work that holds them from question to question. The
// caller releases them.
func (v *Views) HoldRegions() *Regions {
	r := &Regions{main: Pin(v.Boundaries)}
	v.pinSets(r, nil)
	r.join(nil)
	return r
}

// RegionsOf pins given generations of data sets of regions, by their names, and none of others. Those that held
// has too are open there, even if nobody follows them any more; held may be nil. The caller releases what it gets
// before it releases held.
func (v *Views) RegionsOf(generations map[string]uint64, held *Regions) *Regions {
	r := &Regions{main: Pinned[*tiles.Reader]{Err: ErrMissing, ID: IDMissing}}
	for name, number := range generations {
		p := v.PinRegions(name, number, held)
		set, own := strings.CutPrefix(name, RegionSetPrefix)
		if !own {
			r.main = p
			continue
		}
		s := regionSet{name: set, Pinned: Pinned[*RegionSet]{Err: p.Err, ID: p.ID, manifest: p.manifest, held: p.held}}
		if p.Err == nil {
			s.value = &RegionSet{Reader: p.value}
		}
		r.sets = append(r.sets, s)
	}
	slices.SortFunc(r.sets, func(a, b regionSet) int { return strings.Compare(a.name, b.name) })
	r.join(nil)
	return r
}

// PinRegions pins a generation of one data set of regions, without their names, also of one that has been
// dropped as long as it is there. One that held has is borrowed from it; held may be nil. Whoever pins releases.
func (v *Views) PinRegions(name string, number uint64, held *Regions) Pinned[*tiles.Reader] {
	if held != nil {
		if p := held.Part(name); p.manifest != nil && p.manifest.Generation == number { // held may be of nothing yet
			p.Handle, p.held = nil, nil // the caller holds it
			return p
		}
	}
	set, own := strings.CutPrefix(name, RegionSetPrefix)
	if !own {
		return pinKept(v.Boundaries, number)
	}
	s := regionSet{Pinned: pinKept(v.RegionSets.Published(set), number)}
	return s.part()
}

// pinKept is PinGeneration also for a data set that has been dropped.
func pinKept[T any](live *dataset.Live[T], number uint64) Pinned[T] {
	if live == nil {
		return Pinned[T]{Err: dataset.ErrNoGeneration, ID: IDMissing}
	}
	return asPinned(live.AcquireKept(number))
}

// pinSets adds the data sets of regions that users keep by themselves. numbers are as in Views.moment.
func (v *Views) pinSets(r *Regions, numbers map[string]uint64) {
	all := v.RegionSets.all()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		s := regionSet{name: name, live: all[name]}
		if numbers == nil {
			s.Pinned = Pin(s.live)
		} else {
			s.Pinned = PinGeneration(s.live, numbers[RegionSetPrefix+name])
		}
		if s.Err != nil && !errors.Is(s.Err, ErrMissing) {
			s.Err = fmt.Errorf("%s%s: %w", RegionSetPrefix, name, s.Err)
		}
		r.unsure = r.unsure || !s.live.Looked()
		r.sets = append(r.sets, s)
	}
	r.unsure = r.unsure || v.Boundaries != nil && !v.Boundaries.Looked() || !v.RegionSets.isListed()
}

// pinRegions adds them to a moment, with their names.
func (m *Moment) pinRegions(numbers map[string]uint64) {
	m.views.pinSets(&m.Boundaries, numbers)
	var before *Pinned[*tiles.Reader]
	if now := m.views.now.Load(); now != nil && !m.fixed {
		before = &now.Boundaries.Pinned
	}
	m.Boundaries.join(before)
	for i := range m.Boundaries.sets {
		s := &m.Boundaries.sets[i]
		m.hold(s.Handle != nil, s.Handle)
	}
	m.joinNames()
}

// joinNames makes one of the names of all regions.
func (m *Moment) joinNames() {
	var readers []*names.Reader
	id := identityStart.with(m.Names.ID)
	for i := range m.Boundaries.sets {
		s := &m.Boundaries.sets[i]
		if s.Err == nil && s.value.Names != nil && m.Boundaries.Hidden(s.manifest.Dataset) == nil { // what is hidden is not found
			readers, id = append(readers, s.value.Names), id.with(s.ID)
		}
	}
	if len(readers) == 0 || m.Names.Err != nil && !errors.Is(m.Names.Err, ErrMissing) {
		return
	}
	if m.Names.Err == nil {
		readers = slices.Insert(readers, 0, m.Names.value)
	}
	m.Names.Err, m.Names.ID, m.Names.value = nil, id.odd(), names.Join(readers...)
}
