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
}

// regionSet is a RegionSet of a moment.
type regionSet struct {
	name string
	Pinned[*RegionSet]
	live *dataset.Live[*RegionSet]
}

// join makes one of all, with a generation of Boundaries.
func (r *Regions) join(main Pinned[*tiles.Reader]) Pinned[*tiles.Reader] {
	if main.Err != nil && !errors.Is(main.Err, ErrMissing) {
		return main
	}
	var readers []*tiles.Reader
	var failed error
	id := identityStart.with(main.ID)
	for i := range r.sets {
		s := &r.sets[i]
		switch {
		case s.Err == nil:
			readers, id = append(readers, s.value.Reader), id.with(s.ID)
		case !errors.Is(s.Err, ErrMissing):
			failed, id = errors.Join(failed, s.Err), id.with(IDFailed)
		}
	}
	if len(readers) == 0 && failed == nil {
		return main // alone
	}
	if main.Err == nil {
		readers = slices.Insert(readers, 0, main.value)
	}
	if len(readers) == 0 {
		return Pinned[*tiles.Reader]{Err: failed, ID: IDFailed}
	}
	return Pinned[*tiles.Reader]{ID: id.odd(), value: tiles.Join(failed, readers...), manifest: main.manifest}
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
// it stays the same when others change.
func (r *Regions) IDOf(types []string) uint64 {
	if len(r.sets) == 0 || r.Err != nil {
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

// Parts are the generations that are read, by the names of the data sets. The error says that one cannot be.
func (r *Regions) Parts() (generations map[string]uint64, err error) {
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
	return r
}

// RegionsOf pins given generations of data sets of regions, by their names, and none of others. Those that held
// has too are open there, even if nobody follows them any more; held may be nil. The caller releases what it gets
// before it releases held.
func (v *Views) RegionsOf(generations map[string]uint64, held *Regions) *Regions {
	r := new(Regions)
	for name, number := range generations {
		p := Pinned[*RegionSet]{}
		for i := 0; held != nil && i < len(held.sets) && p.value == nil; i++ {
			if s := &held.sets[i]; RegionSetPrefix+s.name == name && s.Err == nil && s.manifest.Generation == number {
				p = s.Pinned
				p.held = nil // the caller holds it
			}
		}
		if set, own := strings.CutPrefix(name, RegionSetPrefix); own {
			if p.value == nil {
				p = pinKept(v.RegionSets.Published(set), number)
			}
			r.sets = append(r.sets, regionSet{name: set, Pinned: p})
		}
	}
	slices.SortFunc(r.sets, func(a, b regionSet) int { return strings.Compare(a.name, b.name) })
	if r.main = PinGeneration(v.Boundaries, generations[BoundariesName]); generations[BoundariesName] == 0 {
		r.main = Pinned[*tiles.Reader]{Err: ErrMissing, ID: IDMissing}
	}
	r.Pinned = r.join(r.main)
	return r
}

// pinKept is PinGeneration also for a data set that has been dropped.
func pinKept[T any](live *dataset.Live[T], number uint64) Pinned[T] {
	if live == nil {
		return Pinned[T]{Err: dataset.ErrNoGeneration, ID: IDMissing}
	}
	return asPinned(live.AcquireKept(number))
}

// pinSets adds the data sets of regions that users keep by themselves, and makes one of all. numbers are as in
// Views.moment.
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
		r.sets = append(r.sets, s)
	}
	r.Pinned = r.join(r.main)
}

// pinRegions adds them to a moment, with their names.
func (m *Moment) pinRegions(numbers map[string]uint64) {
	m.views.pinSets(&m.Boundaries, numbers)
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
		if s := &m.Boundaries.sets[i]; s.Err == nil && s.value.Names != nil {
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
