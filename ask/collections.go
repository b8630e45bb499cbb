package ask

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"quadrille/cellstore/dataset"
	"quadrille/feature"
	"quadrille/places/live"
	"quadrille/places/points"
)

// Collection is the part of *points.Collection that package ask uses.
type Collection interface {
	feature.Counter
	feature.Tiler
	Meta() *live.Meta
}

// Collections are the collections of points: those that ingest has published, and live ones. A live
// collection hides a published one of the same name. A nil *Collections has none. They may be used
// concurrently.
type Collections struct {
	// Live takes writes. It is nil if there are no live collections. Set it before the first use.
	Live *live.Store
	// DatasetGroup has the collections that ingest has published.
	DatasetGroup[*points.Collection]
}

// appendStates appends the states of the published collections, with private ones only if private
// is set.
func (c *Collections) appendStates(all []dataset.Status, private bool) []dataset.Status {
	if c == nil {
		return all
	}
	for _, st := range c.states() {
		if private || !isPrivate(st.Serving) {
			all = append(all, st)
		}
	}
	return all
}

// CountUnopened counts the published collections that are not served yet. They may be private, so
// their names stay hidden.
func (c *Collections) CountUnopened() (n int) {
	if c == nil {
		return 0
	}
	for _, st := range c.states() {
		if st.Serving == nil && (st.Err != nil || st.Published != 0) {
			n++
		}
	}
	return n
}

// isPrivate reports whether a generation belongs, or may belong, to a private collection. Before a
// collection has opened any generation, it may be private.
func isPrivate(m *dataset.Manifest) bool {
	var meta struct {
		Private bool `json:"private"`
	}
	return m == nil || json.Unmarshal(m.Meta, &meta) != nil || meta.Private
}

// IsPrivateFailure reports whether an error is the failure of a collection that is known to be
// private. Callers without access get the answer that the collection does not exist.
func IsPrivateFailure(err error) bool {
	if err == nil {
		return false // avoids allocating d
	}
	d := (*live.DamagedError)(nil)
	return errors.As(err, &d) && d.Private
}

// publishedCollection is a published collection in the state of a Moment.
type publishedCollection struct {
	Pinned[*points.Collection]
	live  *dataset.Live[*points.Collection]
	layer func() *Layer
}

// PinnedCollection is a collection of a view, or the reason why there is none.
type PinnedCollection struct {
	Pinned[*points.Collection]
	// Live is the collection if it takes writes, and nil otherwise. Answers of a live collection
	// hold for this moment only and must not be cached.
	Live *live.Collection
}

// Get returns the collection, or the error why there is none.
func (p *PinnedCollection) Get() (Collection, error) {
	if p.Live != nil {
		return p.Live, nil
	}
	return p.Pinned.Get()
}

// GenerationIDs returns the identities of the generations on which answers of the collection
// depend, for ETags. It is nil if answers must not be cached.
func (p *PinnedCollection) GenerationIDs() []uint64 {
	if p.Live != nil {
		return nil
	}
	return []uint64{p.ID}
}

// Collection returns a collection of points. Its error matches live.ErrNoCollection if there is
// no such collection.
func (m *Moment) Collection(name string) PinnedCollection {
	if c := m.views.Collections; c != nil && c.Live != nil && !m.fixed {
		l, err := c.Live.Find(name)
		if err == nil {
			return PinnedCollection{Live: l}
		}
		if !errors.Is(err, live.ErrNoCollection) { // a damaged collection does not give way to another one of its name
			return PinnedCollection{Pinned: Pinned[*points.Collection]{Err: fmt.Errorf("%w: %w", ErrFailed, err), ID: IDUnreadable}}
		}
	}
	if c := m.collections[name]; c != nil {
		return PinnedCollection{Pinned: c.Pinned}
	}
	return PinnedCollection{Pinned: Pinned[*points.Collection]{Err: fmt.Errorf("%w: %.60q", live.ErrNoCollection, name), ID: IDMissing}}
}

// CollectionNames returns the names of the collections.
func (m *Moment) CollectionNames() []string {
	names := slices.Collect(maps.Keys(m.collections))
	if c := m.views.Collections; c != nil && c.Live != nil && !m.fixed {
		for _, l := range c.Live.Collections() {
			names = append(names, l.Meta().Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

var _ Collection = (*points.Collection)(nil)
