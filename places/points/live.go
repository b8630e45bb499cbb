package points

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"quadrille/cellstore"
)

// Errors of live collections.
var (
	// ErrExists is matched when a collection, or a point that must be new, is there.
	ErrExists = errors.New("it exists already")
	// ErrNoCollection is matched when no collection has the name.
	ErrNoCollection = errors.New("no such collection")
	// ErrChanged is matched when a point is not of the version that was asked for.
	ErrChanged = errors.New("the point has changed")
	// ErrClosed is matched once a collection is closed or dropped.
	ErrClosed = errors.New("collection is closed")
)

// tablePrefix begins the tables of live collections.
const tablePrefix = "points_"

// Live is a store of live collections. Any number of goroutines may use it; one process
// has it open.
type Live struct {
	store cellstore.Store
	clock *cellstore.Clock

	mu          sync.RWMutex
	collections map[string]*LiveCollection
}

// OpenLive opens the live collections in a store, which must be one that writes several
// rows in one atomic step (cellstore.Capabilities.AtomicBatch) and takes snapshots. It
// reads all points once, to count them.
func OpenLive(ctx context.Context, store cellstore.Store) (*Live, error) {
	if c := store.Capabilities(); !c.AtomicBatch || !c.Snapshot {
		return nil, fmt.Errorf("points: %w: live collections need a store that writes several rows at once and takes snapshots", errors.ErrUnsupported)
	}
	l := &Live{store: store, clock: clockOf(store), collections: map[string]*LiveCollection{}}
	tables, err := store.Tables(ctx)
	if err != nil {
		return nil, wrap(err)
	}
	for _, table := range tables {
		name, ok := strings.CutPrefix(table, tablePrefix)
		if !ok {
			continue
		}
		c, err := l.open(ctx, name)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("collection %s: %w", name, err), l.Close())
		}
		if c != nil {
			l.collections[name] = c
		}
	}
	return l, nil
}

// open opens a collection, nil if the program ended before it was made.
func (l *Live) open(ctx context.Context, name string) (*LiveCollection, error) {
	table, err := l.store.Table(ctx, tablePrefix+name)
	if err != nil {
		return nil, wrap(err)
	}
	var row cellstore.Row
	found, err := table.Get(ctx, []byte{rowMeta}, &cellstore.Selection{Families: []string{famMeta}}, &row)
	if err != nil {
		return nil, wrap(err)
	}
	if !found {
		return nil, wrap(l.store.DropTable(ctx, tablePrefix+name))
	}
	var m liveMeta
	if err := json.Unmarshal(row.Cells[0].Value, &m); err != nil {
		return nil, fmt.Errorf("points: %w: description: %w", cellstore.ErrCorrupt, err)
	}
	if err := checkVersion(&m.Meta); err != nil {
		return nil, err
	}
	return l.start(ctx, table, &m)
}

// Create makes a collection. Of meta, Name must be set, and Schema are the types that are
// declared: points whose properties are of others are refused. Errors match ErrName,
// ErrExists or ErrPoint, or come from the store.
func (l *Live) Create(ctx context.Context, meta Meta) (*LiveCollection, error) {
	if err := CheckName(meta.Name); err != nil {
		return nil, err
	}
	if err := checkMeta(&meta); err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.collections[meta.Name] != nil {
		return nil, fmt.Errorf("collection %s: %w", meta.Name, ErrExists)
	}
	m := &liveMeta{Meta: meta, Declared: meta.Schema}
	m.SchemaVersion, m.Points, m.Bounds = SchemaVersion, 0, [4]float64{}
	versions := 1
	if m.History > 0 {
		versions = cellstore.Unlimited
	}
	schema := cellstore.Schema{Table: tablePrefix + m.Name, Families: []cellstore.Family{
		{Name: famID, MaxVersions: versions}, {Name: famPoint}, {Name: famPast, MaxVersions: versions},
		{Name: famEvent, TTL: time.Duration(m.Events).Truncate(time.Millisecond)}, {Name: famMeta}, {Name: famEnd},
	}}
	if err := l.store.CreateTable(ctx, schema); err != nil {
		return nil, wrap(err)
	}
	table, err := l.store.Table(ctx, schema.Table)
	if err != nil {
		return nil, wrap(err)
	}
	err = wrap(table.Apply(ctx, m.mutation()))
	var c *LiveCollection
	if err == nil {
		c, err = l.start(ctx, table, m)
	}
	if err != nil { // another one of the name can be made
		return nil, errors.Join(err, wrap(l.store.DropTable(context.WithoutCancel(ctx), schema.Table)))
	}
	l.collections[m.Name] = c
	return c, nil
}

// Bounds of what a description says.
const (
	maxTitle   = 1000 // bytes of each text
	maxHistory = Duration(400 * 24 * time.Hour)
	// DefaultEvents is for how long a collection keeps its events unless it says otherwise.
	DefaultEvents = Duration(24 * time.Hour)
)

func checkMeta(m *Meta) error {
	for _, text := range []string{m.Title, m.Attribution, m.Licence} {
		if len(text) > maxTitle {
			return fmt.Errorf("%w: a text of the description has %d bytes: give at most %d", ErrPoint, len(text), maxTitle)
		}
	}
	if m.Events == 0 {
		m.Events = DefaultEvents
	}
	if m.History < 0 || m.History > maxHistory || m.Events < Duration(time.Second) || m.Events > maxHistory {
		return fmt.Errorf("%w: history and events: give a time such as 24h, at most %v", ErrPoint, time.Duration(maxHistory))
	}
	var err error
	m.Schema, err = NewSchema(m.Schema)
	return err
}

// liveMeta is how a live collection is described in its table.
type liveMeta struct {
	Meta
	Declared Schema `json:"declared,omitempty"`
}

// mutation writes the description.
func (m *liveMeta) mutation() cellstore.Mutation {
	b, _ := json.Marshal(m) // made of texts and numbers
	return cellstore.Mutation{Row: []byte{rowMeta}, Ops: []cellstore.Op{cellstore.PutAt(famMeta, nil, metaTime, b)}}
}

// Drop removes a collection with its points. Errors match ErrNoCollection or come from the
// store.
func (l *Live) Drop(ctx context.Context, name string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.collections[name]
	if c == nil {
		return fmt.Errorf("%w: %.60q", ErrNoCollection, name)
	}
	if err := c.close(); err != nil {
		return err
	}
	delete(l.collections, name)
	// A table without a description is removed when the store is opened again, should it
	// stay now.
	gone := cellstore.Mutation{Row: []byte{rowMeta}, Ops: []cellstore.Op{cellstore.DeleteColumn(famMeta, nil, cellstore.All)}}
	if err := c.table.Apply(ctx, gone); err != nil {
		return wrap(err)
	}
	return wrap(l.store.DropTable(ctx, tablePrefix+name))
}

// Collection returns a collection, nil if there is none.
func (l *Live) Collection(name string) *LiveCollection {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.collections[name]
}

// Collections lists the collections by name.
func (l *Live) Collections() []*LiveCollection {
	l.mu.RLock()
	defer l.mu.RUnlock()
	list := make([]*LiveCollection, 0, len(l.collections))
	for _, c := range l.collections {
		list = append(list, c)
	}
	slices.SortFunc(list, func(a, b *LiveCollection) int { return strings.Compare(a.Meta().Name, b.Meta().Name) })
	return list
}

// Close ends all collections, after the writes that have begun. It does not close the
// store.
func (l *Live) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	var errs []error
	for name, c := range l.collections {
		errs = append(errs, c.close())
		delete(l.collections, name)
	}
	return errors.Join(errs...)
}
