package live

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

// These are errors of live collections.
var (
	// ErrNotFound is matched when no feature has the id.
	ErrNotFound = feature.NotFound("no such point")
	// ErrInvalid is matched if a feature or a description cannot be stored.
	ErrInvalid = errors.New("point is not valid")
	// ErrExists is matched if a collection, or a feature that must be new, exists already.
	ErrExists = errors.New("it exists already")
	// ErrTooMany is matched if SetMaxCollections allows no further collection.
	ErrTooMany = errors.New("there are as many collections as there may be")
	// ErrNoCollection is matched when no collection has the name.
	ErrNoCollection = errors.New("no such collection")
	// ErrChanged is matched if a feature does not have a requested version.
	ErrChanged = errors.New("the point has changed")
	// ErrClosed is matched once a collection is closed or dropped.
	ErrClosed = errors.New("collection is closed")
	// ErrDamaged is matched if the stored data of a collection is corrupt; see DamagedError.
	ErrDamaged = errors.New("collection is damaged")
	// ErrUnreadable is matched while a collection cannot be read for another reason, such as a disk
	// error. Opening it is tried again until it succeeds.
	ErrUnreadable = errors.New("collection cannot be read for the moment")
	// ErrUnfinished is matched if the program ended before the creation of a collection was
	// complete. Create takes over such a table, which has no rows.
	ErrUnfinished = errors.New("collection has not been made to the end")
	// ErrWritesRefused is matched while the disk refuses writes, together with cellstore.ErrNoSpace
	// if the disk is full.
	ErrWritesRefused = errors.New("the disk refuses writes")
)

// Store has live collections of a kind. It is safe for concurrent use, but only one process may
// have it open.
type Store struct {
	kind      *Kind
	cells     cellstore.Store
	recoverer cellstore.Recoverer // nil if the store is none
	clock     *cellstore.Clock
	notify    func(Trouble)
	turn      func() Turn
	pause     time.Duration // between attempts to take writes again
	mending   chan struct{} // has a value while a table is opened again, one at a time
	creating  chan struct{} // has a value while a collection is made, one at a time
	work      sync.WaitGroup

	mu          sync.RWMutex        // never held while waiting for the disk
	quit        chan struct{}       // closed with it
	closed      bool                // no new work begins
	dropping    map[string]struct{} // names reserved until the collection has ended
	collections map[string]*Collection
	damaged     map[string]Trouble // collections that could not be opened
	most        int                // collections; 0 for any number
}

// Options configure live collections. Open uses the zero value.
type Options struct {
	// Notify is called whenever a collection gets into trouble, when its trouble changes, and when
	// the trouble is over. It must not wait, nor call the Store. It may be nil.
	Notify func(Trouble)
	// Turn returns the Turn that shares processors between commits and other work. If it is nil,
	// commits work at once.
	Turn func() Turn

	// RetryInterval is the time between two attempts to take writes again: the default is one second.
	RetryInterval time.Duration
}

// Turn shares processors with other work. Step may wait for a processor, and is called before
// each step of the work. Pause is called before waiting for anything else. A Turn belongs to one
// goroutine.
type Turn interface {
	Step()
	Pause()
}

type atWill struct{}

func (atWill) Step()  {}
func (atWill) Pause() {}

// Open opens the collections of a kind in a store. The store must write several rows in one atomic
// step (cellstore.Capabilities.AtomicBatch) and take snapshots. Collections are opened independently.
// Store.Troubles lists those that cannot be opened; nothing of them is removed, and those that are
// neither damaged nor of another layout are tried again. Errors are those of the store as a whole.
func Open(ctx context.Context, store cellstore.Store, kind *Kind) (*Store, error) {
	return Options{}.Open(ctx, store, kind)
}

// Open does the same as the function Open, with options.
func (o Options) Open(ctx context.Context, store cellstore.Store, kind *Kind) (*Store, error) {
	if c := store.Capabilities(); !c.AtomicBatch || !c.Snapshot {
		return nil, fmt.Errorf("live: %w: live collections need a store that writes several rows at once and takes snapshots",
			errors.ErrUnsupported)
	}
	s := &Store{
		kind: kind, cells: store, clock: ClockOf(store), notify: o.Notify, turn: o.Turn, pause: cmp.Or(o.RetryInterval, mendPause),
		mending: make(chan struct{}, 1), creating: make(chan struct{}, 1), quit: make(chan struct{}),
		dropping: map[string]struct{}{}, collections: map[string]*Collection{}, damaged: map[string]Trouble{},
	}
	s.recoverer, _ = store.(cellstore.Recoverer)
	if s.notify == nil {
		s.notify = func(Trouble) {}
	}
	if s.turn == nil {
		s.turn = func() Turn { return atWill{} }
	}
	names, err := kind.Names(ctx, store)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if err := s.take(ctx, name, false); err != nil && ctx.Err() != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	return s, nil
}

// Names lists the live collections with tables in a store, in whatever state.
func (k *Kind) Names(ctx context.Context, store cellstore.Store) (names []string, err error) {
	tables, err := store.Tables(ctx)
	if err != nil {
		return nil, wrap(err)
	}
	for _, table := range tables {
		if name, ok := strings.CutPrefix(table, k.Prefix); ok && CheckName(name) == nil {
			names = append(names, name)
		}
	}
	return names, nil
}

// take brings a collection that has a table into service, or records why it cannot be read. The
// error matches ErrUnfinished if nothing was ever in the table. again is set for a further attempt,
// after the collection could not be read.
func (s *Store) take(ctx context.Context, name string, again bool) error {
	c, m, err := s.open(ctx, name)
	if err == nil {
		if err = s.add(c); err == nil && again {
			s.notify(Trouble{Name: name, Private: m.Private})
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
	s.mu.Lock()
	if delete(s.damaged, name); !unfinished {
		s.damaged[name] = t
	}
	s.mu.Unlock()
	unreadable := errors.Is(t.Err, ErrUnreadable)
	if unreadable && !again {
		s.work.Go(func() { s.retry(name) })
	}
	if !unreadable || !again {
		s.notify(t)
	}
	return t.Err
}

// add takes a collection into service, unless the Store has been closed meanwhile.
func (s *Store) add(c *Collection) error {
	name := c.Meta().Name
	s.mu.Lock()
	closed := s.closed
	if !closed {
		delete(s.damaged, name)
		s.collections[name] = c
	}
	s.mu.Unlock()
	if closed {
		return errors.Join(ErrClosed, c.close())
	}
	return nil
}

// retry tries to open a collection that could not be read, until it succeeds.
func (s *Store) retry(name string) {
	for err := ErrUnreadable; errors.Is(err, ErrUnreadable); {
		select {
		case <-s.quit:
			return
		case <-time.After(s.pause):
		}
		select {
		case s.mending <- struct{}{}:
			err = s.take(context.Background(), name, true)
			<-s.mending
		case <-s.quit:
			return
		}
	}
}

// open opens a collection, and returns its description if that could be read. The error matches
// ErrUnfinished if the program ended before the collection was complete.
func (s *Store) open(ctx context.Context, name string) (*Collection, *description, error) {
	table, err := s.cells.Table(ctx, s.kind.Table(name))
	if err != nil {
		return nil, nil, wrap(err)
	}
	m, err := readDescription(ctx, table, s.kind)
	if err != nil {
		return nil, nil, err
	}
	c, err := s.start(ctx, table, m)
	return c, m, err
}

// readDescription reads the description of a collection. The creation of a collection begins with
// this row, and the row stays as long as the collection: a table without it that has other rows is
// damaged.
func readDescription(ctx context.Context, table cellstore.Table, kind *Kind) (*description, error) {
	var row cellstore.Row
	found, err := table.Get(ctx, []byte{rowDescription}, selectMeta, &row)
	if err != nil {
		return nil, wrap(err)
	}
	if !found {
		for _, err := range table.Scan(ctx, cellstore.Scan{Limit: 1}) {
			if err != nil {
				return nil, wrap(err)
			}
			return nil, fmt.Errorf("live: %w: the row that describes the collection is missing, and others are there", cellstore.ErrCorrupt)
		}
		return nil, ErrUnfinished
	}
	m := &description{}
	if err := json.Unmarshal(row.Cells[0].Value, m); err != nil {
		return nil, fmt.Errorf("live: %w: description: %w", cellstore.ErrCorrupt, err)
	}
	return m, kind.checkLayout(&m.Meta)
}

// Create makes a collection. meta must have a Name. Its Schema has the declared types:
// points with properties of other types are refused. Errors match ErrName, ErrExists,
// ErrTooMany, ErrDamaged or ErrInvalid, or come from the store.
func (s *Store) Create(ctx context.Context, meta Meta) (*Collection, error) {
	if err := CheckName(meta.Name); err != nil {
		return nil, err
	}
	if err := checkMeta(&meta); err != nil {
		return nil, err
	}
	if meta.HistoryRetention > 0 && s.kind.Past == "" {
		return nil, errNoHistory
	}
	select {
	case s.creating <- struct{}{}:
		defer func() { <-s.creating }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if err := s.vacant(meta.Name); err != nil {
		return nil, err
	}
	defer s.work.Done()
	m := &description{Meta: meta, Declared: meta.Schema}
	m.SchemaVersion, m.Points, m.Bounds = s.kind.Version, 0, [4]float64{}
	table, err := s.table(ctx, m)
	if err != nil {
		return nil, err
	}
	// The collection exists once this row is on the disk.
	err = wrap(table.Apply(ctx, m.mutation()))
	if err == nil {
		var c *Collection
		if c, err = s.start(ctx, table, m); err == nil {
			return c, s.add(c)
		}
	}
	// Another collection can now be made with the same name. If the table has remained, it is
	// checked at that time.
	return nil, errors.Join(err, wrap(s.cells.DropTable(context.WithoutCancel(ctx), s.kind.Table(m.Name))))
}

// vacant reserves a name, or returns an error if a collection has it.
func (s *Store) vacant(name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return ErrClosed
	}
	if err := s.unreadable(name); err != nil {
		return err
	}
	if _, is := s.dropping[name]; is {
		return fmt.Errorf("collection %s: %w", name, ErrClosed)
	}
	if s.collections[name] != nil {
		return exists(name)
	}
	if n := s.count(); s.most > 0 && n >= s.most {
		return fmt.Errorf("collection %s: %w: there are %d, and %d may be: drop one, or allow more", name, ErrTooMany, n, s.most)
	}
	s.work.Add(1)
	return nil
}

// unreadable returns the reason why a collection cannot be read and must not be replaced or
// dropped.
func (s *Store) unreadable(name string) error {
	if t, is := s.damaged[name]; is {
		return t.Err
	}
	if c := s.collections[name]; c != nil {
		if err := c.now.Load().err; errors.Is(err, ErrDamaged) {
			return err
		}
	}
	return nil
}

func exists(name string) error { return fmt.Errorf("collection %s: %w", name, ErrExists) }

// table makes the table of a new collection, or uses an empty one that remains from a program that
// ended while creating the collection.
func (s *Store) table(ctx context.Context, m *description) (cellstore.Table, error) {
	schema := s.kind.Schema(&m.Meta)
	err := s.cells.CreateTable(ctx, schema)
	if errors.Is(err, cellstore.ErrTableExists) {
		if s.recoverer != nil && s.recoverer.Trouble(schema.Table) != nil {
			if err := s.recoverer.Recover(ctx, schema.Table); err != nil {
				return nil, wrap(err)
			}
		}
		err = s.take(ctx, m.Name, false)
		switch {
		case err == nil: // its creator got an error
			return nil, exists(m.Name)
		case !errors.Is(err, ErrUnfinished):
			return nil, err
		}
		err = s.cells.AlterTable(ctx, schema)
	}
	if err != nil {
		return nil, wrap(err)
	}
	table, err := s.cells.Table(ctx, schema.Table)
	return table, wrap(err)
}

// Drop removes a collection with its features, in one step: after an error the collection is
// unchanged. Errors match ErrNoCollection, ErrDamaged, or ErrClosed while another Drop of the
// collection runs, or come from the store. No other call waits for Drop.
func (s *Store) Drop(ctx context.Context, name string) error {
	c, err := s.leave(name)
	if err != nil {
		return err
	}
	defer s.work.Done()
	if err = s.cells.DropTable(ctx, c.table); err != nil {
		if tables, terr := s.cells.Tables(ctx); terr == nil && !slices.Contains(tables, c.table) {
			err = nil
		}
	}
	s.mu.Lock()
	closes := err == nil && s.collections[name] == c // otherwise Close has closed it
	if closes {
		delete(s.collections, name)
	}
	s.mu.Unlock()
	switch {
	case err != nil:
		c.disturbed() // the store may have closed the table
		err = wrap(err)
	case closes:
		err = c.close()
	}
	s.mu.Lock()
	delete(s.dropping, name)
	s.mu.Unlock()
	return err
}

// leave returns a collection that is about to be dropped, and reserves its name.
func (s *Store) leave(name string) (*Collection, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.unreadable(name); err != nil {
		return nil, err
	}
	if _, is := s.dropping[name]; is || s.closed {
		return nil, fmt.Errorf("collection %.60q: %w", name, ErrClosed)
	}
	c := s.collections[name]
	if c == nil {
		return nil, fmt.Errorf("%w: %.60q", ErrNoCollection, name)
	}
	s.dropping[name] = struct{}{}
	s.work.Add(1)
	return c, nil
}

// Find returns a collection. The error is a DamagedError with the reason why the collection cannot
// be opened, or ErrNoCollection.
func (s *Store) Find(name string) (*Collection, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if c := s.collections[name]; c != nil {
		return c, nil
	}
	if t, is := s.damaged[name]; is {
		return nil, t.Err
	}
	return nil, ErrNoCollection
}

// Collection returns a collection by its name, or nil if there is none.
func (s *Store) Collection(name string) *Collection {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.collections[name]
}

// Collections returns the collections by name.
func (s *Store) Collections() []*Collection {
	s.mu.RLock()
	defer s.mu.RUnlock()
	list := make([]*Collection, 0, len(s.collections))
	for _, c := range s.collections {
		list = append(list, c)
	}
	slices.SortFunc(list, func(a, b *Collection) int { return strings.Compare(a.Meta().Name, b.Meta().Name) })
	return list
}

// Len returns the number of collections, including those that cannot be opened.
func (s *Store) Len() int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.count()
}

func (s *Store) count() int { return len(s.collections) + len(s.damaged) }

// SetMaxCollections sets the number of collections at which Create refuses to make another one. 0,
// the initial value, means no limit. Existing collections stay.
func (s *Store) SetMaxCollections(most int) {
	s.mu.Lock()
	s.most = most
	s.mu.Unlock()
}

// Close ends all collections, after the writes that have begun. It does not close the
// store.
func (s *Store) Close() error {
	s.mu.Lock()
	if !s.closed {
		close(s.quit)
	}
	s.closed = true
	all := slices.Collect(maps.Values(s.collections))
	clear(s.collections)
	s.mu.Unlock()
	var errs []error
	for _, c := range all {
		errs = append(errs, c.close())
	}
	s.work.Wait()
	return errors.Join(errs...)
}

// ClockOf returns the clock of a store. Compare the store's times only with this clock.
func ClockOf(store cellstore.Store) *cellstore.Clock {
	if t, ok := store.(cellstore.Timekeeper); ok {
		return t.Clock()
	}
	return cellstore.NewClock(cellstore.ClockOptions{})
}
