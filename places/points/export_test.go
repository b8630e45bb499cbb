package points

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"quadrille/cellstore"
	"quadrille/feature"
	"quadrille/places/internal/near"
	"quadrille/places/live"
	"quadrille/quadkey"
)

// These are names of package live for tests of points.
type (
	Meta            = live.Meta
	Duration        = live.Duration
	Write           = live.Write
	Outcome         = live.Outcome
	Event           = live.Event
	Edition         = live.Edition
	Trouble         = live.Trouble
	DamagedError    = live.DamagedError
	EventsGoneError = live.EventsGoneError
	Turn            = live.Turn
	Differs         = live.Differs
)

const (
	Put         = live.Put
	Patch       = live.Patch
	Delete      = live.Delete
	tablePrefix = "points_"
	redrawn     = live.RedrawStep
	redrawWait  = live.RedrawWait
	maxHistory  = live.MaxHistory
	MaxNote     = live.MaxNoteBytes
	rowMeta     = 'm'
	famMeta     = "meta"
	famEnd      = "end"
)

var (
	ErrExists       = live.ErrExists
	ErrTooMany      = live.ErrTooMany
	ErrNoCollection = live.ErrNoCollection
	ErrChanged      = live.ErrChanged
	ErrClosed       = live.ErrClosed
	ErrDamaged      = live.ErrDamaged
	ErrUnreadable   = live.ErrUnreadable
	ErrUnfinished   = live.ErrUnfinished
	ErrRefused      = live.ErrWritesRefused
	ErrEventsGone   = live.ErrEventsGone
	ErrName         = live.ErrName
	CheckName       = live.CheckName
	LiveTable       = LiveKind.Table
	expiresOf       = live.ExpiryMillis
)

// liveMeta is a stored description.
type liveMeta struct{ Meta }

func (m *liveMeta) tableSchema() cellstore.Schema { return LiveKind.Schema(&m.Meta) }

func (m *liveMeta) mutation() cellstore.Mutation {
	b, _ := json.Marshal(m.Meta)
	return cellstore.Mutation{Row: []byte{rowMeta}, Ops: []cellstore.Op{cellstore.PutAt(famMeta, nil, 1, b)}}
}

// expirer does the work that a collection does every second.
type expirer struct {
	c *LiveCollection
	x *live.Expirer
}

type removals struct {
	writes   []Write
	outcomes []Outcome
}

func (e *expirer) expired() *removals {
	if e.x == nil {
		e.x = live.NewExpirer(e.c.index().clock)
	}
	gone := e.x.ExpiredWrites(e.c.index().table, 4096)
	if len(gone) == 0 {
		return nil
	}
	return &removals{gone, make([]Outcome, len(gone))}
}

// prune does a step of the work that a collection with a history does every second.
func prune(c *LiveCollection) (bool, error) {
	if !c.index().clock.Settled() {
		return false, nil
	}
	return c.index().Prune(context.Background(), c.Now().Add(-time.Duration(c.Meta().HistoryRetention)-time.Minute).UnixMilli()+1)
}

// events reads the log.
func (c *LiveCollection) events(ctx context.Context, after, last uint64, most int) ([]Event, error) {
	return live.NewTableLog(c.index().table, false).Read(ctx, after, last, most)
}

// LiveStore has live collections of points.
type LiveStore struct {
	*live.Store
	known sync.Map // *LiveCollection of *live.Collection
}

// OpenLive opens the live collections of points in a store.
func OpenLive(ctx context.Context, store cellstore.Store) (*LiveStore, error) {
	return OpenLiveWith(ctx, store, live.Options{})
}

// OpenLiveWith does the same as OpenLive, with options.
func OpenLiveWith(ctx context.Context, store cellstore.Store, o live.Options) (*LiveStore, error) {
	l, err := o.Open(ctx, store, LiveKind)
	if err != nil {
		return nil, err
	}
	return &LiveStore{Store: l}, nil
}

func (l *LiveStore) of(c *live.Collection) *LiveCollection {
	if c == nil {
		return nil
	}
	known, _ := l.known.LoadOrStore(c, &LiveCollection{c})
	return known.(*LiveCollection)
}

func (l *LiveStore) Create(ctx context.Context, m Meta) (*LiveCollection, error) {
	c, err := l.Store.Create(ctx, m)
	return l.of(c), err
}

func (l *LiveStore) Find(name string) (*LiveCollection, error) {
	c, err := l.Store.Find(name)
	return l.of(c), err
}

func (l *LiveStore) Collection(name string) *LiveCollection { return l.of(l.Store.Collection(name)) }

func (l *LiveStore) Collections() (all []*LiveCollection) {
	for _, c := range l.Store.Collections() {
		all = append(all, l.of(c))
	}
	return all
}

type collection = live.Collection

// LiveCollection is a live collection of points.
type LiveCollection struct{ *collection }

// index returns the present index.
func (c *LiveCollection) index() *Index { return c.Index().(*Index) }

// Collection returns the present collection.
func (c *LiveCollection) Collection() *Collection { return c.index().Collection }

// SetBehind sets the number of points that may leave before older views cannot use the tree.
func (c *LiveCollection) SetBehind(points uint64) { c.index().views.behind = points }

// Follow calls fn with the events after one until the context ends or fn returns an error.
func (c *LiveCollection) Follow(ctx context.Context, after uint64, fn func(*Event) error) error {
	for f := c.Follower(after); ; {
		select {
		case <-f.Changed():
		case <-c.Done():
			return ErrClosed
		case <-ctx.Done():
			return ctx.Err()
		}
		events, err := f.Next(ctx)
		if err != nil {
			return err
		}
		for i := range events {
			if err := fn(&events[i]); err != nil {
				return err
			}
		}
	}
}

// The following functions query a Layer with the types of these tests: pages, cursors and hits.

// Hit is a point that a query found.
type Hit struct {
	ID         string
	Lat, Lon   float64
	DistanceM  float64
	Version    int64
	Expires    time.Time
	Properties []byte
}

// Shown is an item of a map tile: a point, or a cluster of Count points.
type Shown struct {
	Hit
	Count int64
}

// NearbyQuery selects a page of the nearest points.
type NearbyQuery struct {
	Lat, Lon            float64
	MinRadiusM, RadiusM float64
	Limit               int
	Filter              feature.Filter
	Cursor              string
	At                  time.Time
}

// WithinQuery selects a page of the points in an area.
type WithinQuery struct {
	Area   feature.Area
	Limit  int
	Filter feature.Filter
	Sort   feature.Sort
	Cursor string
	Name   string
	At     time.Time
	Step   func(context.Context) error
}

func hitOf(f *feature.Feature) Hit {
	return Hit{f.ID, f.Lat, f.Lon, f.DistanceM, f.Version, f.Expires, append(f.Properties.AppendMembers([]byte{'{'}), '}')}
}

// askPage returns a page of a query.
func askPage(ctx context.Context, l feature.Layer, q *feature.Query, limit int, cursor string) (hits []Hit, next string, err error) {
	if limit, err = near.CheckLimit(limit); err != nil {
		return nil, "", err
	}
	if err := q.Continue(l.Info(), cursor); err != nil {
		return nil, "", err
	}
	hits = []Hit{}
	next, err = feature.Page(ctx, l, *q, limit, func(f *feature.Feature) error {
		hits = append(hits, hitOf(f))
		return nil
	})
	return hits, next, err
}

func askNearby(ctx context.Context, l feature.Layer, q NearbyQuery) ([]Hit, string, error) {
	return askPage(ctx, l, &feature.Query{
		Near: &feature.Near{Position: quadkey.Position{Lat: q.Lat, Lon: q.Lon}, MinM: q.MinRadiusM, MaxM: q.RadiusM}, Filter: q.Filter, At: q.At,
	}, q.Limit, q.Cursor)
}

func askWithin(ctx context.Context, l feature.Layer, q WithinQuery) ([]Hit, string, error) {
	return askPage(ctx, l, &feature.Query{
		In:          q.Area,
		Filter:      q.Filter,
		Order:       feature.Order{Sort: q.Sort},
		At:          q.At,
		MaxExamined: MaxExamined,
		Step:        q.Step,
	}, q.Limit, q.Cursor)
}

func askEach(ctx context.Context, l feature.Layer, q WithinQuery, fn func(*Hit) error) error {
	for f, err := range l.Features(ctx, &feature.Query{In: q.Area, Filter: q.Filter, At: q.At, Step: q.Step}) {
		if err != nil {
			return err
		}
		h := hitOf(f)
		if err := fn(&h); err != nil {
			return err
		}
	}
	return nil
}

func askTile(ctx context.Context, l feature.Tiler, t quadkey.Tile, fn func(*Shown) error) error {
	for f, err := range l.Tile(ctx, t, nil) {
		if err != nil {
			return err
		}
		s := Shown{hitOf(f), f.ClusterSize}
		if err := fn(&s); err != nil {
			return err
		}
	}
	return nil
}

func askHit(ctx context.Context, l feature.Layer, id string, at time.Time, h *Hit) error {
	var f feature.Feature
	if err := l.Get(ctx, id, at, &f); err != nil {
		return err
	}
	*h = hitOf(&f)
	return nil
}

func (c *Collection) Nearby(ctx context.Context, q NearbyQuery, _ []Hit) ([]Hit, string, error) {
	return askNearby(ctx, c, q)
}

func (c *Collection) Within(ctx context.Context, q WithinQuery, _ []Hit) ([]Hit, string, error) {
	return askWithin(ctx, c, q)
}

func (c *Collection) Each(ctx context.Context, q WithinQuery, fn func(*Hit) error) error {
	return askEach(ctx, c, q, fn)
}

func (c *Collection) ShowTile(ctx context.Context, t quadkey.Tile, fn func(*Shown) error) error {
	return askTile(ctx, c, t, fn)
}

func (c *Collection) GetAt(ctx context.Context, id string, at time.Time, h *Hit) error {
	return askHit(ctx, c, id, at, h)
}

func (c *Collection) CountIn(ctx context.Context, a feature.Area, f feature.Filter, at time.Time) (int64, error) {
	return c.Count(ctx, queryOf(a, f, at))
}

func (c *LiveCollection) Nearby(ctx context.Context, q NearbyQuery, _ []Hit) ([]Hit, string, error) {
	return askNearby(ctx, c, q)
}

func (c *LiveCollection) Within(ctx context.Context, q WithinQuery, _ []Hit) ([]Hit, string, error) {
	return askWithin(ctx, c, q)
}

func (c *LiveCollection) Each(ctx context.Context, q WithinQuery, fn func(*Hit) error) error {
	return askEach(ctx, c, q, fn)
}

func (c *LiveCollection) ShowTile(ctx context.Context, t quadkey.Tile, fn func(*Shown) error) error {
	return askTile(ctx, c, t, fn)
}

func (c *LiveCollection) GetAt(ctx context.Context, id string, at time.Time, h *Hit) error {
	return askHit(ctx, c, id, at, h)
}

func (c *LiveCollection) CountIn(ctx context.Context, a feature.Area, f feature.Filter, at time.Time) (int64, error) {
	return c.Count(ctx, queryOf(a, f, at))
}

func queryOf(a feature.Area, f feature.Filter, at time.Time) *feature.Query {
	return &feature.Query{In: a, Filter: f, At: at}
}

// ColumnBytes returns the memory that is used for columns.
func ColumnBytes() int64 { return columnCache.Stats().Bytes }
