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

// RegionSetPrefix begins the names of data sets of regions that users publish. The data set
// Boundaries has the layers that are published together.
const RegionSetPrefix = "boundaries-"

// RegionSet reads such a data set: layers of regions, with their names for search. It is published,
// rolled back and dropped independently of the others.
type RegionSet struct {
	*tiles.Reader
	Names *names.Reader // nil if it has none
}

// RegionSetOf returns the region set with the given name.
func RegionSetOf(name string) *DatasetOf[*RegionSet] {
	return &DatasetOf[*RegionSet]{
		Dataset: Dataset{Name: RegionSetPrefix + name, Schema: tiles.SchemaVersion, Uses: []string{BoundariesName, PlacesName}},
		open:    openRegionSet,
	}
}

// RegionSetMeta describes a RegionSet in the manifest of its generation.
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

// Regions has the regions of all data sets in the state of a Moment.
type Regions struct {
	// Pinned reads all data sets of regions as one. It has an error if a data set cannot be read,
	// because that one may hold the answer; ReaderOf reads the others. The manifest is that of
	// Boundaries, if Boundaries is published.
	Pinned[*tiles.Reader]

	main  Pinned[*tiles.Reader] // Boundaries, which is also the first part
	parts []regionPart          // Boundaries, and then the others in the order of their names
	some  *tiles.Reader         // the parts that can be read, nil for none
	of    map[string]int        // index of the part from which a type is read
	// unsure is set while the published generation of some data set has not been looked up yet.
	unsure bool

	edition   live.Edition
	undecided error // why edition is not known
}

// regionPart is the part of Regions from one data set.
type regionPart struct {
	dataset string
	Pinned[*tiles.Reader]
	names *names.Reader // of a RegionSet that has some
	// inService reports whether the generation is still in service. It is nil for a generation that
	// was pinned by its number.
	inService func() bool
}

// errUnsure is the error while some data sets of regions have not been looked up yet.
var errUnsure = fmt.Errorf("%w: it has not been looked up yet what is published of all data sets of regions", ErrFailed)

// join combines all parts. before is the previous result, or nil if there is none: if it is equal,
// join reuses it with its cache.
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
		r.ID = IDUnreadable
	}
	r.nameEdition()
}

// ReaderOf returns a reader of the given types, even while data sets without these types cannot be
// read. It may lack a type that no data set has.
func (r *Regions) ReaderOf(types ...string) (*tiles.Reader, error) {
	if r.Err == nil || len(types) == 0 || slices.ContainsFunc(types, func(t string) bool { return r.part(t) == nil }) {
		return r.Get()
	}
	return r.some, nil
}

// Types returns the types that can be read, even while a data set cannot. The caller must not
// change them.
func (r *Regions) Types() []tiles.TypeMeta {
	if r.some == nil {
		return nil
	}
	return r.some.Types()
}

// part returns the part from which a type is read, or nil if none is known to have it.
func (r *Regions) part(typ string) *regionPart {
	if i, ok := r.of[typ]; ok {
		return &r.parts[i]
	}
	return nil
}

// IDOf returns the identity of the data sets from which types of regions are read, for cache keys
// and ETags. It stays the same when other data sets change. An empty list means all types.
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

// Manifests returns the manifests of the data sets from which types of regions are read, Boundaries
// first and the others in the order of their names.
func (r *Regions) Manifests(types []string) (list []*dataset.Manifest) {
	for i := range r.parts {
		if p := &r.parts[i]; p.Err == nil && slices.ContainsFunc(types, func(t string) bool { return r.part(t) == p }) {
			list = append(list, p.manifest)
		}
	}
	return list
}

// PinOf returns the pin of one of the data sets. The view holds it.
func (r *Regions) PinOf(dataset string) Pinned[*tiles.Reader] {
	for i := range r.parts {
		if r.parts[i].dataset == dataset {
			return r.parts[i].Pinned
		}
	}
	return Pinned[*tiles.Reader]{Err: ErrMissing, ID: IDMissing}
}

// Edition names the generations in the view, for code that judges by them later. It returns an
// error if a data set cannot be read, or if the published ones are not known yet, because the
// regions of such a data set are not gone.
func (r *Regions) Edition() (live.Edition, error) { return r.edition, r.undecided }

// nameEdition sets the result of Edition.
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
	r.edition.Suffix = strings.Join(more, " ")
}

// Generation is a generation of a data set.
type Generation struct {
	Dataset string
	Number  uint64
}

// GenerationsOf returns the generations that an edition names, in the order of Regions.
func GenerationsOf(e live.Edition) (list []Generation) {
	if e.Number != 0 {
		list = append(list, Generation{BoundariesName, e.Number})
	}
	for part := range strings.FieldsSeq(e.Suffix) {
		set, text, _ := strings.Cut(part, ".")
		number, err := strconv.ParseUint(text, 10, 64)
		if err == nil { // other content cannot be read, and counts as absent
			list = append(list, Generation{RegionSetPrefix + set, number})
		}
	}
	return list
}

// Release ends the use of the generations of HoldRegions or RegionsOf.
func (r *Regions) Release() {
	for i := range r.parts {
		r.parts[i].Release()
	}
}

// DatasetNames returns the names of the data sets that are followed, Boundaries first.
func (r *Regions) DatasetNames() (list []string) {
	for i := range r.parts {
		list = append(list, r.parts[i].dataset)
	}
	return list
}

// TypesOf lists the types that are read from a data set, and the names of its hidden types, which
// another data set has too.
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

// HoldRegions pins all regions in service, for work that holds them over several questions. The
// caller releases them.
func (v *Views) HoldRegions() *Regions {
	r := &Regions{main: Pin(v.Boundaries)}
	v.pinSets(r, nil)
	r.join(nil)
	return r
}

// RegionsOf pins the generations of an edition. The generations in held are available even if no
// data set follows them any more; held may be nil. The caller releases the result before held.
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

// PinRegions pins a generation of one data set of regions, without their names. That works for a
// dropped data set, too, as long as its files exist. It borrows a generation that held has; held
// may be nil. The caller releases it.
func (v *Views) PinRegions(g Generation, held *Regions) Pinned[*tiles.Reader] {
	if held != nil {
		if p := held.PinOf(g.Dataset); p.manifest != nil && p.manifest.Generation == g.Number {
			p.Handle, p.held = nil, nil // the caller holds it
			return p
		}
	}
	if set, own := strings.CutPrefix(g.Dataset, RegionSetPrefix); own {
		return readerOf(pinKept(v.RegionSets.Published(set), g.Number))
	}
	return pinKept(v.Boundaries, g.Number)
}

// readerOf returns the pin of a RegionSet without its names.
func readerOf(s Pinned[*RegionSet]) Pinned[*tiles.Reader] {
	p := Pinned[*tiles.Reader]{Err: s.Err, ID: s.ID, manifest: s.manifest, held: s.held}
	if s.Err == nil {
		p.value = s.value.Reader
	}
	return p
}

// pinKept does the same as PinGeneration, for a data set that may have been dropped.
func pinKept[T any](of *dataset.Live[T], number uint64) Pinned[T] {
	if of == nil {
		return Pinned[T]{Err: dataset.ErrNoGeneration, ID: IDMissing}
	}
	return asPinned(of.AcquireEvenIfDropped(number))
}

// pinSets sets the parts to Boundaries, which is pinned, and the region sets of users. numbers are
// as in Views.moment.
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
		r.unsure = r.unsure || !set.HasPolled()
		r.parts = append(r.parts, p)
	}
	r.unsure = r.unsure || v.Boundaries != nil && !v.Boundaries.HasPolled() || !v.RegionSets.isListed()
}

// pinRegions pins the regions of a moment, with their names.
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

// joinNames combines the names of all regions.
func (m *Moment) joinNames() {
	var readers []*names.Reader
	id := identityStart.with(m.Names.ID)
	for i := range m.Boundaries.parts {
		p := &m.Boundaries.parts[i]
		if p.names == nil {
			continue
		}
		if _, hidden := m.Boundaries.TypesOf(p.dataset); hidden == nil { // hidden regions are not found
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
