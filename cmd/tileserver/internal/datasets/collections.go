package datasets

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"quadrille/cellstore"
	"quadrille/cellstore/dataset"
	"quadrille/feature"
	"quadrille/places/points"
	"quadrille/quadkey"
)

// Collection is what the handlers ask of a collection of points. *points.Collection
// answers it.
type Collection interface {
	Meta() *points.Meta
	GetAt(ctx context.Context, id string, at time.Time, h *points.Hit) error
	Nearby(ctx context.Context, q points.NearbyQuery, dst []points.Hit) (hits []points.Hit, next string, err error)
	Within(ctx context.Context, q points.WithinQuery, dst []points.Hit) (hits []points.Hit, next string, err error)
	Each(ctx context.Context, q points.WithinQuery, fn func(h *points.Hit) error) error
	Count(ctx context.Context, a points.Area, f *feature.Conjunction, at time.Time) (int64, error)
	ShowTile(ctx context.Context, t quadkey.Tile, fn func(*points.Shown) error) error
}

// Collections are the collections of points that a server answers for: those that
// ingest has published, and live ones, which come before published ones of the same name.
// A nil *Collections has none.
type Collections struct {
	// Live takes writes. It is nil where the server has no live collections.
	Live *points.Live

	mu        sync.RWMutex
	published map[string]*dataset.Live[Collection]
}

// Follow adds a published collection.
func (c *Collections) Follow(name string, live *dataset.Live[Collection]) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.published == nil {
		c.published = map[string]*dataset.Live[Collection]{}
	}
	c.published[name] = live
}

// Published returns a collection that ingest has published, nil if there is none.
func (c *Collections) Published(name string) *dataset.Live[Collection] {
	if c == nil {
		return nil
	}
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.published[name]
}

// Trouble is what keeps something that the server writes from being read or written.
type Trouble struct {
	Store      string `json:"store" schema:"enum=live|usage|data"` // data for what ingest publishes
	Collection string `json:"collection,omitempty"`                // of users' points
	State      string `json:"state" schema:"enum=damaged|full|failing"`
	Detail     string `json:"detail" doc:"What to do."`
}

// States of a Trouble.
const (
	TroubleDamaged = "damaged" // it cannot be read
	TroubleFull    = "full"    // the disk has no room for writes
	TroubleFailing = "failing" // the disk refuses writes for another reason, or reads
)

// TroubleStates are all of them.
var TroubleStates = []string{TroubleDamaged, TroubleFull, TroubleFailing}

// NewTrouble says what an error of a store means to the operator.
func NewTrouble(store, collection string, err error) Trouble {
	t := Trouble{Store: store, Collection: collection, State: TroubleFailing,
		Detail: "The disk refuses writes; the log says why. Writes are taken again by themselves once it takes them."}
	switch {
	case errors.Is(err, points.ErrDamaged):
		t.State, t.Detail = TroubleDamaged, "Stop the server and see what is damaged by tileserver live verify; tileserver live repair rescues what can be read."
	case errors.Is(err, points.ErrNewer), errors.Is(err, points.ErrOlder):
		t.Detail = "Another version of the program wrote the collection, which is left as it is. Update the program, or start the one that wrote it."
	case cellstore.IsShortage(err):
		t.Detail = "Too many files are open, or memory is short; the log says which. It is tried again by itself. Raise the limit of open files, such as by LimitNOFILE=, if it lasts."
	case errors.Is(err, points.ErrUnreadable):
		t.Detail = "The collection cannot be read; the log says why. It is served by itself once it can be."
	case errors.Is(err, cellstore.ErrCorrupt):
		t.State, t.Detail = TroubleDamaged, "Counts are kept in memory alone. For new ones stop the server, move the directory of --usage aside, and start the server again."
	case errors.Is(err, cellstore.ErrNoSpace):
		t.State, t.Detail = TroubleFull, "Make room on the disk: writes are taken again by themselves then. Reads go on."
	}
	return t
}

// Troubles lists the live collections that are in trouble. Those that are not known to be
// public have no name unless it is asked for. Who asks for one of them by its name is told
// that it cannot be read, unless it is known to be private.
func (c *Collections) Troubles(private bool) (all []Trouble) {
	if c == nil || c.Live == nil {
		return nil
	}
	for _, t := range c.Live.Troubles() {
		name := t.Name
		if t.Private && !private {
			name = ""
		}
		all = append(all, NewTrouble("live", name, t.Err))
	}
	return all
}

// appendStates appends the states of those that ingest has published, private ones only
// if asked to.
func (c *Collections) appendStates(all []dataset.Status, private bool) []dataset.Status {
	if c == nil {
		return all
	}
	c.mu.RLock()
	defer c.mu.RUnlock()
	for _, name := range slices.Sorted(maps.Keys(c.published)) {
		if st := c.published[name].Status(); private || !isPrivate(st.Serving) {
			all = append(all, st)
		}
	}
	return all
}

// Unopened are the published collections of which nothing is served, so that they may be
// private: they are told of without a name. The operator sees their states.
func (c *Collections) Unopened() (all []Trouble) {
	if c == nil {
		return nil
	}
	c.mu.RLock()
	defer c.mu.RUnlock()
	for _, l := range c.published {
		if st := l.Status(); st.Serving == nil && (st.Err != nil || st.Published != 0) {
			all = append(all, Trouble{Store: "data", State: TroubleDamaged,
				Detail: "A published collection of points cannot be opened. The admin listener tells its name, and the log the reason."})
		}
	}
	return all
}

// isPrivate reports whether a generation is that of a private collection, or may be: none
// has been opened.
func isPrivate(m *dataset.Manifest) bool {
	var meta struct {
		Private bool `json:"private"`
	}
	return m == nil || json.Unmarshal(m.Meta, &meta) != nil || meta.Private
}

// Names lists the collections.
func (c *Collections) Names() (names []string) {
	if c == nil {
		return nil
	}
	c.mu.RLock()
	defer c.mu.RUnlock()
	for name := range c.published {
		names = append(names, name)
	}
	if c.Live != nil {
		for _, l := range c.Live.Collections() {
			names = append(names, l.Meta().Name)
		}
	}
	slices.SortFunc(names, strings.Compare)
	return slices.Compact(names)
}

// OfPrivate reports whether an error is why a collection cannot be read that is known to be
// private: to those who may not read it, it is not there.
func OfPrivate(err error) bool {
	d := (*points.DamagedError)(nil)
	return errors.As(err, &d) && d.Private
}

// PinnedCollection is a collection held for a request. Release it.
type PinnedCollection struct {
	Pinned[Collection]
	// Live is the collection if it takes writes: its answers are of the moment and may not
	// be kept.
	Live *points.LiveCollection
}

// Get returns the collection, or why there is none.
func (p *PinnedCollection) Get() (Collection, error) {
	if p.Live != nil {
		return p.Live, nil
	}
	return p.Pinned.Get()
}

// From is what the answers of the collection depend on, for tags: nil if they may not be
// kept.
func (p *PinnedCollection) From() []uint64 {
	if p.Live != nil {
		return nil
	}
	return []uint64{p.ID}
}

// Pin takes a collection. The error of one that is not there matches
// points.ErrNoCollection.
func (c *Collections) Pin(name string) PinnedCollection {
	if c != nil && c.Live != nil {
		l, err := c.Live.Find(name)
		if err == nil {
			return PinnedCollection{Live: l}
		}
		if !errors.Is(err, points.ErrNoCollection) { // what is damaged is not another one of the name
			return PinnedCollection{Pinned: Pinned[Collection]{Err: fmt.Errorf("%w: %w", ErrFailed, err), ID: IDFailed}}
		}
	}
	if live := c.Published(name); live != nil {
		return PinnedCollection{Pinned: Pin(live)}
	}
	return PinnedCollection{Pinned: Pinned[Collection]{Err: fmt.Errorf("%w: %.60q", points.ErrNoCollection, name), ID: IDMissing}}
}

var _ Collection = (*points.Collection)(nil)
