package ask

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"quadrille/cellstore"
	"quadrille/cellstore/dataset"
	"quadrille/places/live"
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
	return &Of[*RegionSet]{
		Dataset: Dataset{Name: RegionSetPrefix + name, Schema: tiles.SchemaVersion, Uses: []string{BoundariesName, PlacesName}},
		open:    openRegionSet,
	}
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
	// Pinned reads all of them as one. Its error says that a data set cannot be read: that one may hold the answer.
	// Having reads the others. Its manifest is that of Boundaries, if it is published.
	Pinned[*tiles.Reader]

	main  Pinned[*tiles.Reader] // Boundaries, which is the first part too
	parts []regionPart          // Boundaries, and then the others in the order of their names
	some  *tiles.Reader         // what can be read, nil for nothing
	of    map[string]int        // the part that a type is read from
	// unsure says that what is published of some data set has not been looked up yet.
	unsure bool

	edition   live.Edition
	undecided error // why it is not known
}

// regionPart is one data set of regions.
type regionPart struct {
	dataset string
	Pinned[*tiles.Reader]
	names *names.Reader // of a RegionSet that has some
	// inService reports whether it is still what is in service. It is nil for what was asked for by its number.
	inService func() bool
}

// errUnsure is why regions are not all known.
var errUnsure = fmt.Errorf("%w: it has not been looked up yet what is published of all data sets of regions", ErrFailed)

// join makes one of all parts. before is what was joined before, nil for nothing: if it is the same, it is kept, with
// what it remembers.
func (r *Regions) join(before *Regions) {
	var readers []*tiles.Reader
	var failed error
	id := identityStart
	r.of = map[string]int{}
	for i := range r.parts {
		p := &r.parts[i]
		if p.Err == nil {
			readers, id = append(readers, p.value), id.with(p.ID)
			for _, t := range p.value.Types() {
				if _, hidden := r.of[t.Name]; !hidden {
					r.of[t.Name] = i
				}
			}
		} else if !errors.Is(p.Err, ErrMissing) {
			failed = errors.Join(failed, p.Err)
		}
	}
	r.Pinned = Pinned[*tiles.Reader]{Err: failed, ID: id.odd(), manifest: r.main.manifest}
	switch {
	case len(readers) == 0 && failed == nil:
		r.Pinned = r.main
	case len(readers) == 1:
		r.some, r.ID = readers[0], cmp.Or(r.main.ID, r.ID)
	case before != nil && before.some != nil && before.ID == r.ID && before.Err == nil:
		r.some = before.some
	case len(readers) > 1:
		r.some = tiles.Join(readers...)
	}
	if r.value = r.some; failed != nil {
		r.ID = IDFailed
	}
	r.nameEdition()
}

// Having returns what reads regions of types, also while data sets that have none of them cannot be read. It may
// lack a type that nobody has.
func (r *Regions) Having(types ...string) (*tiles.Reader, error) {
	if r.Err == nil || len(types) == 0 || slices.ContainsFunc(types, func(t string) bool { return r.part(t) == nil }) {
		return r.Get()
	}
	return r.some, nil
}

// Types are those that can be read, also while a data set cannot. They are not to be changed.
func (r *Regions) Types() []tiles.TypeMeta {
	if r.some == nil {
		return nil
	}
	return r.some.Types()
}

// part is what a type is read from, nil if nobody is known to have it.
func (r *Regions) part(typ string) *regionPart {
	if i, ok := r.of[typ]; ok {
		return &r.parts[i]
	}
	return nil
}

// IDOf is the identity of the data sets that types of regions are read from, for keys and tags:
// it stays the same when others change. No types are all.
func (r *Regions) IDOf(types []string) uint64 {
	if len(r.parts) == 1 {
		return r.ID
	}
	id, only, several := identityStart, r.ID, false
	for i, t := range types {
		of := r.ID
		if p := r.part(t); p != nil {
			of = p.ID
		}
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
	for i := range r.parts {
		if p := &r.parts[i]; p.Err == nil && slices.ContainsFunc(types, func(t string) bool { return r.part(t) == p }) {
			list = append(list, p.manifest)
		}
	}
	return list
}

// Part is what is read of one of the data sets alone. The view holds it.
func (r *Regions) Part(dataset string) Pinned[*tiles.Reader] {
	for i := range r.parts {
		if r.parts[i].dataset == dataset {
			return r.parts[i].Pinned
		}
	}
	return Pinned[*tiles.Reader]{Err: ErrMissing, ID: IDMissing}
}

// Edition names the generations that are read, for those who judge by them later. The error says that one cannot be
// read, or that it is not known yet what is published: its regions are not gone.
func (r *Regions) Edition() (live.Edition, error) { return r.edition, r.undecided }

// nameEdition sets what Edition returns.
func (r *Regions) nameEdition() {
	r.edition = live.Edition{Identity: r.ID}
	if r.undecided = r.Err; errors.Is(r.Err, ErrMissing) {
		r.edition, r.undecided = live.Edition{}, nil
	}
	if r.unsure {
		r.undecided = errUnsure
	}
	var more []string
	for i := range r.parts {
		switch p := &r.parts[i]; {
		case p.Err != nil:
		case p.dataset == BoundariesName:
			r.edition.Number = p.manifest.Generation
		default:
			more = append(more, strings.TrimPrefix(p.dataset, RegionSetPrefix)+"."+strconv.FormatUint(p.manifest.Generation, 10))
		}
	}
	r.edition.More = strings.Join(more, " ")
}

// Generation is one of a data set.
type Generation struct {
	Dataset string
	Number  uint64
}

// GenerationsOf are the generations that an edition names, in the order of Regions.
func GenerationsOf(e live.Edition) (list []Generation) {
	if e.Number != 0 {
		list = append(list, Generation{BoundariesName, e.Number})
	}
	for part := range strings.FieldsSeq(e.More) {
		set, text, _ := strings.Cut(part, ".")
		number, err := strconv.ParseUint(text, 10, 64)
		if err == nil { // what else was written cannot be read, and counts as not there
			list = append(list, Generation{RegionSetPrefix + set, number})
		}
	}
	return list
}

// Release gives back what HoldRegions and RegionsOf hold.
func (r *Regions) Release() {
	for i := range r.parts {
		r.parts[i].Release()
	}
}

// Sets are the names of the data sets that are followed, Boundaries first.
func (r *Regions) Sets() (list []string) {
	for i := range r.parts {
		list = append(list, r.parts[i].dataset)
	}
	return list
}

// TypesOf lists the types that are read from a data set, and the names of those that are hidden, because another
// one has them too.
func (r *Regions) TypesOf(dataset string) (types []tiles.TypeMeta, hidden []string) {
	for i := range r.parts {
		if p := &r.parts[i]; p.dataset == dataset && p.Err == nil {
			for _, t := range p.value.Types() {
				if r.part(t.Name) == p {
					types = append(types, t)
				} else {
					hidden = append(hidden, t.Name)
				}
			}
		}
	}
	return types, hidden
}

// HoldRegions pins all regions that are in service, for work that holds them from question to question. The
// caller releases them.
func (v *Views) HoldRegions() *Regions {
	r := &Regions{main: Pin(v.Boundaries)}
	v.pinSets(r, nil)
	r.join(nil)
	return r
}

// RegionsOf pins the generations of an edition. Those that held has too are open there, even if nobody follows
// them any more; held may be nil. The caller releases what it gets before it releases held.
func (v *Views) RegionsOf(e live.Edition, held *Regions) *Regions {
	r := &Regions{main: Pinned[*tiles.Reader]{Err: ErrMissing, ID: IDMissing}}
	for _, g := range GenerationsOf(e) {
		r.parts = append(r.parts, regionPart{dataset: g.Dataset, Pinned: v.PinRegions(g, held)})
	}
	if len(r.parts) > 0 && r.parts[0].dataset == BoundariesName {
		r.main = r.parts[0].Pinned
	}
	r.join(nil)
	return r
}

// PinRegions pins a generation of one data set of regions, without their names, also of one that has been
// dropped as long as it is there. One that held has is borrowed from it; held may be nil. Whoever pins releases.
func (v *Views) PinRegions(g Generation, held *Regions) Pinned[*tiles.Reader] {
	if held != nil {
		if p := held.Part(g.Dataset); p.manifest != nil && p.manifest.Generation == g.Number {
			p.Handle, p.held = nil, nil // the caller holds it
			return p
		}
	}
	if set, own := strings.CutPrefix(g.Dataset, RegionSetPrefix); own {
		return readerOf(pinKept(v.RegionSets.Published(set), g.Number))
	}
	return pinKept(v.Boundaries, g.Number)
}

// readerOf is a pinned RegionSet without its names.
func readerOf(s Pinned[*RegionSet]) Pinned[*tiles.Reader] {
	p := Pinned[*tiles.Reader]{Err: s.Err, ID: s.ID, manifest: s.manifest, held: s.held}
	if s.Err == nil {
		p.value = s.value.Reader
	}
	return p
}

// pinKept is PinGeneration also for a data set that has been dropped.
func pinKept[T any](of *dataset.Live[T], number uint64) Pinned[T] {
	if of == nil {
		return Pinned[T]{Err: dataset.ErrNoGeneration, ID: IDMissing}
	}
	return asPinned(of.AcquireKept(number))
}

// pinSets makes parts of Boundaries, which is pinned, and of the data sets of regions that users keep by
// themselves. numbers are as in Views.moment.
func (v *Views) pinSets(r *Regions, numbers map[string]uint64) {
	r.parts = []regionPart{{dataset: BoundariesName, Pinned: r.main}}
	all := v.RegionSets.all()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		set := all[name]
		p := regionPart{dataset: RegionSetPrefix + name}
		var s Pinned[*RegionSet]
		if numbers == nil {
			s = Pin(set)
		} else {
			s = PinGeneration(set, numbers[p.dataset])
		}
		p.Pinned, p.inService = readerOf(s), func() bool { return set.Serves(s.Handle) }
		if s.Err == nil {
			p.names = s.value.Names
		} else if !errors.Is(s.Err, ErrMissing) {
			p.Err = fmt.Errorf("%s: %w", p.dataset, s.Err)
		}
		r.unsure = r.unsure || !set.Looked()
		r.parts = append(r.parts, p)
	}
	r.unsure = r.unsure || v.Boundaries != nil && !v.Boundaries.Looked() || !v.RegionSets.isListed()
}

// pinRegions adds them to a moment, with their names.
func (m *Moment) pinRegions(numbers map[string]uint64) {
	r := &m.Boundaries
	m.views.pinSets(r, numbers)
	var before *Regions
	if now := m.views.now.Load(); now != nil && !m.fixed {
		before = &now.Boundaries
	}
	r.join(before)
	for _, p := range r.parts[1:] {
		m.hold(p.held != nil, p.held)
	}
	m.joinNames()
}

// joinNames makes one of the names of all regions.
func (m *Moment) joinNames() {
	var readers []*names.Reader
	id := identityStart.with(m.Names.ID)
	for i := range m.Boundaries.parts {
		p := &m.Boundaries.parts[i]
		if p.names == nil {
			continue
		}
		if _, hidden := m.Boundaries.TypesOf(p.dataset); hidden == nil { // what is hidden is not found
			readers, id = append(readers, p.names), id.with(p.ID)
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
