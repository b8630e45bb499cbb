package points

import (
	"cmp"
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
	"quadrille/feature"
)

// Errors of live collections.
var (
	// ErrExists is matched when a collection, or a point that must be new, is there.
	ErrExists = errors.New("it exists already")
	// ErrTooMany is matched when there are as many collections as SetMaxCollections says.
	ErrTooMany = errors.New("there are as many collections as there may be")
	// ErrNoCollection is matched when no collection has the name.
	ErrNoCollection = errors.New("no such collection")
	// ErrChanged is matched if a point has not the version that was asked for.
	ErrChanged = errors.New("the point has changed")
	// ErrClosed is matched once a collection is closed or dropped.
	ErrClosed = errors.New("collection is closed")
	// ErrDamaged is matched when what is stored of a collection is corrupt; see DamagedError.
	ErrDamaged = errors.New("collection is damaged")
	// ErrUnreadable is matched while a collection cannot be read for another reason, such as
	// the disk: it is tried again until it can.
	ErrUnreadable = errors.New("collection cannot be read for the moment")
	// ErrUnfinished is matched when the program ended before it had made a collection. Create
	// takes what is there, which holds no rows.
	ErrUnfinished = errors.New("collection has not been made to the end")
	// ErrRefused is matched while the disk refuses writes, together with cellstore.ErrNoSpace
	// if the disk is full.
	ErrRefused = errors.New("the disk refuses writes")
)

// tablePrefix begins the tables of live collections.
const tablePrefix = "points_"

// Live is a store of live collections. Any number of goroutines may use it, but only
// one process may have it open.
type Live struct {
	store     cellstore.Store
	recoverer cellstore.Recoverer // nil where the store is none
	clock     *cellstore.Clock
	notify    func(Trouble)
	turn      func() Turn
	pause     time.Duration // between attempts to take writes again
	mending   chan struct{} // has a value while a table is opened again, one at a time
	creating  chan struct{} // has a value while a collection is made, one at a time
	work      sync.WaitGroup

	mu          sync.RWMutex        // never held while the disk is waited for
	quit        chan struct{}       // closed with it
	closed      bool                // no work begins any more
	dropping    map[string]struct{} // names that are not free until the collection has ended
	collections map[string]*LiveCollection
	damaged     map[string]Trouble // that could not be opened
	most        int                // collections; 0 for any number
}

// LiveOptions say how live collections are opened. OpenLive uses the zero value.
type LiveOptions struct {
	// Notify is called with every collection that gets into trouble, into a different
	// trouble, or out of it. It must not wait, nor call the Live. It may be nil.
	Notify func(Trouble)
	// Turn returns what commits take processors by. If it is nil, they work at once.
	Turn func() Turn

	pause time.Duration // mendPause
}

// Turn shares processors with others. Step may wait for a processor, and is called before
// each step of the work. Pause is called before waiting for anything else. A Turn belongs
// to one goroutine.
type Turn interface {
	Step()
	Pause()
}

type atWill struct{}

func (atWill) Step()  {}
func (atWill) Pause() {}

// OpenLive opens the live collections in a store. The store must write several rows in one atomic
// step (cellstore.Capabilities.AtomicBatch) and take snapshots. OpenLive reads all points once,
// to count them. Collections are opened independently. Live.Troubles lists those that cannot be
// opened; nothing of them is removed, and those that are neither damaged nor of another layout
// are tried again. Errors are those of the store as a whole.
func OpenLive(ctx context.Context, store cellstore.Store) (*Live, error) {
	return LiveOptions{}.Open(ctx, store)
}

// Open is OpenLive with options.
func (o LiveOptions) Open(ctx context.Context, store cellstore.Store) (*Live, error) {
	if c := store.Capabilities(); !c.AtomicBatch || !c.Snapshot {
		return nil, fmt.Errorf("points: %w: live collections need a store that writes several rows at once and takes snapshots", errors.ErrUnsupported)
	}
	l := &Live{store: store, clock: clockOf(store), notify: o.Notify, turn: o.Turn, pause: cmp.Or(o.pause, mendPause),
		mending: make(chan struct{}, 1), creating: make(chan struct{}, 1), quit: make(chan struct{}), dropping: map[string]struct{}{}, collections: map[string]*LiveCollection{}, damaged: map[string]Trouble{}}
	l.recoverer, _ = store.(cellstore.Recoverer)
	if l.notify == nil {
		l.notify = func(Trouble) {}
	}
	if l.turn == nil {
		l.turn = func() Turn { return atWill{} }
	}
	names, err := LiveNames(ctx, store)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if err := l.take(ctx, name, false); err != nil && ctx.Err() != nil {
			return nil, errors.Join(err, l.Close())
		}
	}
	return l, nil
}

// LiveNames lists the live collections that a store has tables of, whatever state they are
// in.
func LiveNames(ctx context.Context, store cellstore.Store) (names []string, err error) {
	tables, err := store.Tables(ctx)
	if err != nil {
		return nil, wrap(err)
	}
	for _, table := range tables {
		if name, ok := strings.CutPrefix(table, tablePrefix); ok && CheckName(name) == nil {
			names = append(names, name)
		}
	}
	return names, nil
}

// take takes a collection that has a table into service, or notes why it cannot be read.
// The error matches ErrUnfinished if nothing was ever in the table. again says that it
// could not be read before.
func (l *Live) take(ctx context.Context, name string, again bool) error {
	c, m, err := l.open(ctx, name)
	if err == nil {
		if err = l.add(c); err == nil && again {
			l.notify(Trouble{Name: name, Private: m.Private})
		}
		return err
	}
	if ctx.Err() != nil {
		return err
	}
	t := Trouble{Name: name, Private: m == nil || m.Private, Err: err}
	unfinished := errors.Is(err, ErrUnfinished)
	if !unfinished {
		t.Err = &DamagedError{name, m != nil && m.Private, err}
	}
	l.mu.Lock()
	if delete(l.damaged, name); !unfinished {
		l.damaged[name] = t
	}
	l.mu.Unlock()
	unreadable := errors.Is(t.Err, ErrUnreadable)
	if unreadable && !again {
		l.work.Go(func() { l.retry(name) })
	}
	if !unreadable || !again {
		l.notify(t)
	}
	return t.Err
}

// add takes a collection into service, unless the Live has been closed meanwhile.
func (l *Live) add(c *LiveCollection) error {
	name := c.Meta().Name
	l.mu.Lock()
	closed := l.closed
	if !closed {
		delete(l.damaged, name)
		l.collections[name] = c
	}
	l.mu.Unlock()
	if closed {
		return errors.Join(ErrClosed, c.close())
	}
	return nil
}

// retry opens a collection that could not be read, once it can.
func (l *Live) retry(name string) {
	for err := ErrUnreadable; errors.Is(err, ErrUnreadable); {
		select {
		case <-l.quit:
			return
		case <-time.After(l.pause):
		}
		select {
		case l.mending <- struct{}{}:
			err = l.take(context.Background(), name, true)
			<-l.mending
		case <-l.quit:
			return
		}
	}
}

// open opens a collection, and returns its description if that could be read. The error
// matches ErrUnfinished if the program ended before it was made.
func (l *Live) open(ctx context.Context, name string) (*LiveCollection, *liveMeta, error) {
	table, err := l.store.Table(ctx, tablePrefix+name)
	if err != nil {
		return nil, nil, wrap(err)
	}
	m, err := readMeta(ctx, table)
	if err != nil {
		return nil, nil, err
	}
	c, err := l.start(ctx, table, m)
	return c, m, err
}

// readMeta reads the description of a collection. Making a collection begins with this
// row, which stays for as long as the collection: a table without it that has other rows
// is damaged.
func readMeta(ctx context.Context, table cellstore.Table) (*liveMeta, error) {
	var row cellstore.Row
	found, err := table.Get(ctx, []byte{rowMeta}, &cellstore.Selection{Families: []string{famMeta}}, &row)
	if err != nil {
		return nil, wrap(err)
	}
	if !found {
		for _, err := range table.Scan(ctx, cellstore.Scan{Limit: 1}) {
			if err != nil {
				return nil, wrap(err)
			}
			return nil, fmt.Errorf("points: %w: the row that describes the collection is missing, and others are there", cellstore.ErrCorrupt)
		}
		return nil, ErrUnfinished
	}
	m := &liveMeta{}
	if err := json.Unmarshal(row.Cells[0].Value, m); err != nil {
		return nil, fmt.Errorf("points: %w: description: %w", cellstore.ErrCorrupt, err)
	}
	return m, m.checkLayout("")
}

// Create makes a collection. meta must have a Name. Its Schema has the declared types:
// points with properties of other types are refused. Errors match ErrName, ErrExists,
// ErrTooMany, ErrDamaged or ErrPoint, or come from the store.
func (l *Live) Create(ctx context.Context, meta Meta) (*LiveCollection, error) {
	if err := CheckName(meta.Name); err != nil {
		return nil, err
	}
	if err := checkMeta(&meta); err != nil {
		return nil, err
	}
	select {
	case l.creating <- struct{}{}:
		defer func() { <-l.creating }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if err := l.vacant(meta.Name); err != nil {
		return nil, err
	}
	defer l.work.Done()
	m := &liveMeta{Meta: meta, Declared: meta.Schema}
	m.SchemaVersion, m.Points, m.Bounds = SchemaVersion, 0, [4]float64{}
	table, err := l.table(ctx, m)
	if err != nil {
		return nil, err
	}
	// The collection is there from the moment that this row is on the disk.
	err = wrap(table.Apply(ctx, m.mutation()))
	if err == nil {
		var c *LiveCollection
		if c, err = l.start(ctx, table, m); err == nil {
			return c, l.add(c)
		}
	}
	// Another collection of the name can be made. If the table stays, it is looked at then.
	return nil, errors.Join(err, wrap(l.store.DropTable(context.WithoutCancel(ctx), tablePrefix+m.Name)))
}

// vacant begins work on a name, or returns an error if a collection has it.
func (l *Live) vacant(name string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return ErrClosed
	}
	if err := l.unreadable(name); err != nil {
		return err
	}
	if _, is := l.dropping[name]; is {
		return fmt.Errorf("collection %s: %w", name, ErrClosed)
	}
	if l.collections[name] != nil {
		return exists(name)
	}
	if n := l.count(); l.most > 0 && n >= l.most {
		return fmt.Errorf("collection %s: %w: there are %d, and %d may be: drop one, or allow more", name, ErrTooMany, n, l.most)
	}
	l.work.Add(1)
	return nil
}

// unreadable returns why a collection cannot be read that nobody may replace or drop.
func (l *Live) unreadable(name string) error {
	if t, is := l.damaged[name]; is {
		return t.Err
	}
	if c := l.collections[name]; c != nil {
		if err := c.now.Load().err; errors.Is(err, ErrDamaged) {
			return err
		}
	}
	return nil
}

func exists(name string) error { return fmt.Errorf("collection %s: %w", name, ErrExists) }

// table makes the table of a new collection, or takes the empty one that is there since a
// program ended before it had made the collection.
func (l *Live) table(ctx context.Context, m *liveMeta) (cellstore.Table, error) {
	schema := m.tableSchema()
	err := l.store.CreateTable(ctx, schema)
	if errors.Is(err, cellstore.ErrTableExists) {
		if l.recoverer != nil && l.recoverer.Trouble(schema.Table) != nil {
			if err := l.recoverer.Recover(ctx, schema.Table); err != nil {
				return nil, wrap(err)
			}
		}
		err = l.take(ctx, m.Name, false)
		switch {
		case err == nil: // the caller that made it was told otherwise
			return nil, exists(m.Name)
		case !errors.Is(err, ErrUnfinished):
			return nil, err
		}
		err = l.store.AlterTable(ctx, schema)
	}
	if err != nil {
		return nil, wrap(err)
	}
	table, err := l.store.Table(ctx, schema.Table)
	return table, wrap(err)
}

// tableSchema declares the table of a collection.
func (m *liveMeta) tableSchema() cellstore.Schema {
	versions := 1
	if m.History > 0 {
		versions = cellstore.Unlimited
	}
	return cellstore.Schema{Table: tablePrefix + m.Name, Families: []cellstore.Family{
		{Name: famID, MaxVersions: versions}, {Name: famPoint}, {Name: famPast, MaxVersions: versions},
		{Name: famEvent, TTL: time.Duration(m.Events).Truncate(time.Millisecond)}, {Name: famMeta}, {Name: famEnd},
	}}
}

// Bounds of what a description says.
const (
	maxTitle   = 1000 // bytes of each text
	maxHistory = Duration(400 * 24 * time.Hour)
	// DefaultEvents is how long a collection keeps its events unless it says otherwise.
	DefaultEvents = Duration(24 * time.Hour)
)

func checkMeta(m *Meta) error {
	for _, text := range []string{m.Title, m.Attribution, m.Licence} {
		if len(text) > maxTitle {
			return feature.Faultf(ErrPoint, "a text of the description has %d bytes: give at most %d", len(text), maxTitle)
		}
	}
	if m.Events == 0 {
		m.Events = DefaultEvents
	}
	if m.History < 0 || m.History > maxHistory || m.Events < Duration(time.Second) || m.Events > maxHistory {
		return feature.Faultf(ErrPoint, "history and events: give a time such as 24h, at most %v", time.Duration(maxHistory))
	}
	var err error
	m.Schema, err = feature.NewSchema(m.Schema)
	return err
}

// liveMeta is the description of a live collection in its table.
type liveMeta struct {
	Meta
	Declared feature.Schema `json:"declared,omitempty"`
	Redraw   redraw         `json:"redraw,omitzero"`
}

// mutation writes the description.
func (m *liveMeta) mutation() cellstore.Mutation {
	b, _ := json.Marshal(m) // made of texts and numbers
	return cellstore.Mutation{Row: []byte{rowMeta}, Ops: []cellstore.Op{cellstore.PutAt(famMeta, nil, metaTime, b)}}
}

// Drop removes a collection with its points, in one step: after an error it is there as
// before. Errors match ErrNoCollection, ErrDamaged, or ErrClosed while another Drop of
// it runs, or come from the store. No other call waits for Drop.
func (l *Live) Drop(ctx context.Context, name string) error {
	c, err := l.leave(name)
	if err != nil {
		return err
	}
	defer l.work.Done()
	if err = l.store.DropTable(ctx, c.tableName); err != nil {
		if tables, terr := l.store.Tables(ctx); terr == nil && !slices.Contains(tables, c.tableName) {
			err = nil
		}
	}
	l.mu.Lock()
	closes := err == nil && l.collections[name] == c // Close has not
	if closes {
		delete(l.collections, name)
	}
	l.mu.Unlock()
	switch {
	case err != nil:
		c.disturbed() // the store may have closed the table
		err = wrap(err)
	case closes:
		err = c.close()
	}
	l.mu.Lock()
	delete(l.dropping, name)
	l.mu.Unlock()
	return err
}

// leave reserves the name of a collection that is about to be dropped.
func (l *Live) leave(name string) (*LiveCollection, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.unreadable(name); err != nil {
		return nil, err
	}
	if _, is := l.dropping[name]; is || l.closed {
		return nil, fmt.Errorf("collection %.60q: %w", name, ErrClosed)
	}
	c := l.collections[name]
	if c == nil {
		return nil, fmt.Errorf("%w: %.60q", ErrNoCollection, name)
	}
	l.dropping[name] = struct{}{}
	l.work.Add(1)
	return c, nil
}

// Find returns a collection. The error says why it cannot be opened, as a DamagedError, or
// is ErrNoCollection.
func (l *Live) Find(name string) (*LiveCollection, error) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if c := l.collections[name]; c != nil {
		return c, nil
	}
	if t, is := l.damaged[name]; is {
		return nil, t.Err
	}
	return nil, ErrNoCollection
}

// Collection returns a collection by its name, nil if there is none.
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

// Len returns the number of collections, including those that cannot be opened.
func (l *Live) Len() int {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.count()
}

func (l *Live) count() int { return len(l.collections) + len(l.damaged) }

// SetMaxCollections bounds the number of collections up to which Create makes another
// one. 0, the initial value, means any number. Existing collections stay.
func (l *Live) SetMaxCollections(most int) {
	l.mu.Lock()
	l.most = most
	l.mu.Unlock()
}

// Close ends all collections, after the writes that have begun. It does not close the
// store.
func (l *Live) Close() error {
	l.mu.Lock()
	if !l.closed {
		close(l.quit)
	}
	l.closed = true
	all := slices.Collect(maps.Values(l.collections))
	clear(l.collections)
	l.mu.Unlock()
	var errs []error
	for _, c := range all {
		errs = append(errs, c.close())
	}
	l.work.Wait()
	return errors.Join(errs...)
}
