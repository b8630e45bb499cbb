package storetest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"quadrille/cellstore"
)

// Model is a cellstore.Store in memory. Tests compare other stores with it. It follows every rule
// in the simplest way and is not fast: one lock guards everything, and reads copy what they return.
//
// It has every capability and passes the suite itself. Programs may use it as a
// small store for examples and tests.
type Model struct {
	disk     *disk
	clock    *cellstore.Clock
	readOnly bool

	mu     sync.Mutex
	closed bool
}

// disk has the data of a Model and outlives it.
type disk struct {
	mu          sync.Mutex // of everything below, and of the tables
	locked      bool       // a writable Model is open
	now         int64      // what the clock told last
	tables      map[string]*modelTable
	checkpoints map[string]*disk
}

func newDisk() *disk {
	return &disk{tables: map[string]*modelTable{}, checkpoints: map[string]*disk{}}
}

var _ cellstore.Store = (*Model)(nil)

// NewModel returns an empty store that uses the system's clock.
func NewModel() *Model {
	m, _ := newDisk().open(OpenOptions{})
	return m
}

func (d *disk) open(o OpenOptions) (*Model, error) {
	m := &Model{disk: d, clock: cellstore.NewClock(cellstore.ClockOptions{Wall: o.Clock}), readOnly: o.ReadOnly}
	d.mu.Lock()
	defer d.mu.Unlock()
	if !o.ReadOnly {
		if d.locked {
			return nil, &cellstore.Error{Op: "Open", Err: fmt.Errorf("%w: close it first", cellstore.ErrLocked)}
		}
		d.locked = true
	}
	return m, nil
}

// modelTable is a table: rows by key.
type modelTable struct {
	name    string
	dropped bool
	cellstore.Validator
	rows map[string]modelRow
	// undo has, for each row with commits that are not durable yet, the states that a crash may
	// restore: the row before each of these commits, oldest first.
	undo map[string][]undoEntry
}

type undoEntry struct {
	before modelRow
	at     time.Time
}

// modelRow is a row: its columns and their versions.
type modelRow map[column]map[int64][]byte

type column struct{ family, qualifier string }

func (r modelRow) clone() modelRow {
	c := modelRow{}
	for col, versions := range r {
		c[col] = maps.Clone(versions) // values are never changed in place
	}
	return c
}

// columns returns the columns in order.
func (r modelRow) columns() []column {
	return slices.SortedFunc(maps.Keys(r), func(a, b column) int {
		return cmp.Or(cmp.Compare(a.family, b.family), cmp.Compare(a.qualifier, b.qualifier))
	})
}

// newestFirst returns the timestamps of a column in order.
func newestFirst(versions map[int64][]byte) []int64 {
	ts := slices.Sorted(maps.Keys(versions))
	slices.Reverse(ts)
	return ts
}

func (t *modelTable) options(name string) cellstore.Family {
	for _, f := range t.Schema.Families {
		if f.Name == name {
			return f
		}
	}
	panic("no family " + name)
}

// settle removes trimmed and expired versions from a row: rule P5 with T1 and T2.
// What the options of a family hide once never returns.
func (t *modelTable) settle(key string, now int64) {
	for col, versions := range t.rows[key] {
		f := t.options(col.family)
		for rank, ts := range newestFirst(versions) {
			trimmed := f.MaxVersions != cellstore.Unlimited && rank >= f.MaxVersions
			expired := f.TTL > 0 && now-ts > f.TTL.Milliseconds() && rank >= f.MinVersions
			if trimmed || expired {
				delete(versions, ts)
			}
		}
		if len(versions) == 0 {
			delete(t.rows[key], col)
		}
	}
	if len(t.rows[key]) == 0 {
		delete(t.rows, key)
	}
}

// age removes expired versions from a table after time has passed. Commits settle
// their own rows.
func (t *modelTable) age(now int64) {
	if slices.ContainsFunc(t.Schema.Families, func(f cellstore.Family) bool { return f.TTL > 0 }) {
		t.settleAll(now)
	}
}

func (t *modelTable) settleAll(now int64) {
	for _, key := range slices.Collect(maps.Keys(t.rows)) {
		t.settle(key, now)
	}
}

func (t *modelTable) clone() *modelTable {
	c := *t
	c.rows = map[string]modelRow{}
	for key, row := range t.rows {
		c.rows[key] = row.clone()
	}
	c.undo = map[string][]undoEntry{}
	return &c
}

// begin locks the disk for a call on a table, or on the whole store when t is
// nil. It returns the time and a function that ends the call.
func (m *Model) begin(ctx context.Context, t *modelTable, writes bool) (now int64, end func(), err error) {
	if err := ctx.Err(); err != nil {
		return 0, nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.closed:
		return 0, nil, cellstore.ErrClosed
	case writes && m.readOnly:
		return 0, nil, cellstore.ErrReadOnly
	}
	m.disk.mu.Lock()
	if t != nil && t.dropped {
		m.disk.mu.Unlock()
		return 0, nil, cellstore.ErrTableNotFound
	}
	m.disk.now = m.clock.Now()
	if t != nil {
		t.age(m.disk.now)
	}
	return m.disk.now, m.disk.mu.Unlock, nil
}

// fail gives an error its context.
func fail(op, table string, row []byte, err error) error {
	if err == nil {
		return nil
	}
	return &cellstore.Error{Op: op, Table: table, Row: slices.Clone(row), Err: err}
}

// call runs one step on a table, or on the whole store when t is nil. Its errors name op and table.
func (m *Model) call(ctx context.Context, op, table string, t *modelTable, writes bool, do func(now int64) error) error {
	now, end, err := m.begin(ctx, t, writes)
	if err == nil {
		defer end()
		err = do(now)
	}
	return fail(op, table, nil, err)
}

// found returns the table with a name.
func (m *Model) found(name string) (*modelTable, error) {
	if t := m.disk.tables[name]; t != nil {
		return t, nil
	}
	return nil, cellstore.ErrTableNotFound
}

// CreateTable implements cellstore.Store.
func (m *Model) CreateTable(ctx context.Context, schema cellstore.Schema) error {
	return m.call(ctx, "CreateTable", schema.Table, nil, true, func(int64) error {
		schema, err := schema.Normalize()
		if err != nil {
			return err
		}
		if m.disk.tables[schema.Table] != nil {
			return cellstore.ErrTableExists
		}
		m.disk.tables[schema.Table] = &modelTable{
			name:      schema.Table,
			Validator: cellstore.Validator{Schema: schema, Limits: m.Limits(), Capabilities: m.Capabilities()},
			rows:      map[string]modelRow{},
			undo:      map[string][]undoEntry{},
		}
		return nil
	})
}

// AlterTable implements cellstore.Store.
func (m *Model) AlterTable(ctx context.Context, schema cellstore.Schema) error {
	return m.call(ctx, "AlterTable", schema.Table, nil, true, func(now int64) error {
		schema, err := schema.Normalize()
		if err != nil {
			return err
		}
		t, err := m.found(schema.Table)
		if err != nil {
			return err
		}
		t.age(now)
		t.Schema = schema
		for _, row := range t.rows {
			maps.DeleteFunc(row, func(col column, _ map[int64][]byte) bool { return t.Family(col.family) != nil })
		}
		t.settleAll(now)
		for _, entries := range t.undo {
			for _, e := range entries {
				maps.DeleteFunc(e.before, func(col column, _ map[int64][]byte) bool { return t.Family(col.family) != nil })
			}
		}
		return nil
	})
}

// DropTable implements cellstore.Store.
func (m *Model) DropTable(ctx context.Context, name string) error {
	return m.call(ctx, "DropTable", name, nil, true, func(int64) error {
		t, err := m.found(name)
		if err != nil {
			return err
		}
		t.dropped = true
		delete(m.disk.tables, name)
		return nil
	})
}

// Tables implements cellstore.Store.
func (m *Model) Tables(ctx context.Context) (names []string, err error) {
	err = m.call(ctx, "Tables", "", nil, false, func(int64) error {
		names = slices.Sorted(maps.Keys(m.disk.tables))
		return nil
	})
	return names, err
}

// Table implements cellstore.Store.
func (m *Model) Table(ctx context.Context, name string) (table cellstore.Table, err error) {
	err = m.call(ctx, "Table", name, nil, false, func(int64) error {
		t, err := m.found(name)
		if err == nil {
			table = &tableHandle{modelReader: modelReader{m: m, table: name, view: t.view(m)}, t: t}
		}
		return err
	})
	return table, err
}

// Compact implements cellstore.Store. Nothing is pending here.
func (m *Model) Compact(ctx context.Context, table string) error {
	return m.call(ctx, "Compact", table, nil, true, func(int64) error {
		_, err := m.found(table)
		return err
	})
}

// Checkpoint implements cellstore.Store. The directory is a name that
// OpenCheckpoint knows.
func (m *Model) Checkpoint(ctx context.Context, dir string) error {
	return m.call(ctx, "Checkpoint", "", nil, false, func(now int64) error {
		if m.disk.checkpoints[dir] != nil {
			return fmt.Errorf("%s exists: name a new directory", dir)
		}
		m.disk.checkpoints[dir] = m.disk.clone(now)
		return nil
	})
}

func (d *disk) clone(now int64) *disk {
	c := newDisk()
	c.now = now
	for name, t := range d.tables {
		t.age(now)
		c.tables[name] = t.clone()
	}
	return c
}

// Capabilities implements cellstore.Store.
func (m *Model) Capabilities() cellstore.Capabilities {
	return cellstore.Capabilities{
		SnapshotScan: true, MixedMutation: true, CellTimestamps: true, AtomicBatch: true,
		Bulk: true, Snapshot: true, Checkpoint: true, CounterTimestamps: true,
	}
}

// Limits implements cellstore.Store.
func (m *Model) Limits() cellstore.Limits { return cellstore.DefaultLimits }

// Close implements cellstore.Store. It makes the content durable.
func (m *Model) Close() error {
	if m.end() {
		m.disk.mu.Lock()
		defer m.disk.mu.Unlock()
		m.disk.locked = m.disk.locked && m.readOnly
		for _, t := range m.disk.tables {
			clear(t.undo)
		}
	}
	return nil
}

// end closes the store to further calls, and reports whether it was open.
func (m *Model) end() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	was := !m.closed
	m.closed = true
	return was
}

// crash ends the store as a loss of power would. Every row loses the last of its
// commits that are not durable: lose says how many, given how many there are.
func (m *Model) crash(lose func(commits int) int) {
	m.end()
	m.disk.mu.Lock()
	defer m.disk.mu.Unlock()
	m.disk.locked = false
	for _, t := range m.disk.tables {
		for _, key := range slices.Sorted(maps.Keys(t.undo)) { // in order, so that the same seed makes lose give the same answers
			young := slices.DeleteFunc(t.undo[key], func(e undoEntry) bool { return time.Since(e.at) > time.Second })
			if n := lose(len(young)); n > 0 {
				t.rows[key] = young[len(young)-n].before
				t.settle(key, m.disk.now)
			}
			delete(t.undo, key)
		}
	}
}

// ModelBackend returns a backend of models, with which the suite tests the Model itself. A crash
// loses everything that a store may lose.
func ModelBackend(testing.TB) Backend {
	d := newDisk()
	openAt := func(d *disk, o OpenOptions) (cellstore.Store, error) {
		m, err := d.open(o)
		if err != nil {
			return nil, err // not an interface that holds a nil *Model
		}
		return m, nil
	}
	return Backend{
		Open: func(o OpenOptions) (cellstore.Store, error) { return openAt(d, o) },
		Crash: func(s cellstore.Store) error {
			s.(*Model).crash(func(commits int) int { return commits })
			return nil
		},
		ReadOnly:      true,
		Exclusive:     true,
		CheckpointDir: "copy",
		OpenCheckpoint: func(dir string, o OpenOptions) (cellstore.Store, error) {
			if d.checkpoints[dir] == nil {
				return nil, errors.New(dir + " is no checkpoint")
			}
			return openAt(d.checkpoints[dir], o)
		},
	}
}
