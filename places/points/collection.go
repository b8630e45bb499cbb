package points

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"quadrille/cellstore"
	"quadrille/feature"
	"quadrille/places/live"
)

// Collection answers queries for the points of one collection.
type Collection struct {
	table  cellstore.Table
	tree   *tree  // nil if other programs write too
	views  *views // nil for a published collection
	clock  *cellstore.Clock
	finds  sync.Pool // of *search
	tables func() (*live.Meta, *summary)
	sheets *sheets
}

// tableName is the name of the table of a published collection.
const tableName = "points"

func newCollection(table cellstore.Table, t *tree, v *views, clock *cellstore.Clock, tables func() (*live.Meta, *summary)) *Collection {
	c := &Collection{table: table, tree: t, views: v, clock: clock, tables: tables, sheets: newSheets()}
	c.finds.New = func() any { return new(search) }
	return c
}

// Open returns the published collection in a store. Meta is the result of Build. Errors match
// cellstore.ErrLayout or cellstore.ErrCorrupt, or come from the store.
func Open(ctx context.Context, store cellstore.Store, meta live.Meta) (*Collection, error) {
	if err := checkPublished(&meta); err != nil {
		return nil, err
	}
	table, err := store.Table(ctx, tableName)
	if err != nil {
		return nil, wrap(err)
	}
	t, s, err := readTree(ctx, table)
	if err != nil {
		return nil, wrap(err)
	}
	if n := int64(t.nodes[0].count); n != meta.Points {
		return nil, fmt.Errorf("points: %w: the table holds %d points, the manifest says %d: ingest the collection again",
			cellstore.ErrCorrupt, n, meta.Points)
	}
	return newCollection(table, t, nil, live.ClockOf(store), func() (*live.Meta, *summary) { return &meta, s }), nil
}

// checkPublished returns an error for a collection with another layout.
func checkPublished(m *live.Meta) error {
	return wrap(cellstore.CheckLayout("collection "+m.Name, m.SchemaVersion, SchemaVersion, SchemaVersion, "run ingest points "+m.Name))
}

// OpenPublished opens a published collection, such as a generation of package dataset.
func OpenPublished(ctx context.Context, p cellstore.Published) (*Collection, error) {
	return cellstore.OpenPublished(ctx, p, SchemaVersion, Open)
}

// Meta returns the present description. It must not be changed.
func (c *Collection) Meta() *live.Meta {
	m, _ := c.tables()
	return m
}

// reading is the state for an answer.
type reading struct {
	cellstore.Reader
	view *view
}

// begin returns the state for answers as of an instant. The caller calls end.
func (c *Collection) begin(ctx context.Context, at time.Time) (reading, error) {
	if err := c.checkAt(at); err != nil {
		return reading{}, err
	}
	if c.views == nil {
		return reading{Reader: c.table}, nil
	}
	v, err := c.views.acquire(ctx)
	if err != nil {
		return reading{}, fmt.Errorf("points: %w", err)
	}
	return reading{v.snapshot, v}, nil
}

// moment does the same as begin, for an answer as of now that also uses the counts of the tree.
// While fn runs, the tree is in the same state as the rows.
func (c *Collection) moment(ctx context.Context, fn func()) (r reading, err error) {
	if c.views != nil {
		c.views.agree.RLock()
		defer c.views.agree.RUnlock()
	}
	if r, err = c.begin(ctx, time.Time{}); err == nil {
		fn()
	}
	return r, err
}

func (c *Collection) end(r reading) {
	if r.view != nil {
		c.views.release(r.view)
	}
}

var (
	selectID    = &cellstore.Selection{Families: []string{famID}}
	selectPoint = &cellstore.Selection{Families: []string{famPoint}}
	selectPast  = &cellstore.Selection{Families: []string{famPast}}
)

// Get implements feature.Layer, as of an instant within the history of the collection. Errors match
// ErrNotFound or come from the store.
func (c *Collection) Get(ctx context.Context, id string, at time.Time, f *feature.Feature) error {
	if CheckID(id) != nil {
		return ErrNotFound
	}
	r, err := c.begin(ctx, at)
	if err != nil {
		return err
	}
	defer c.end(r)
	s := c.finds.Get().(*search)
	defer c.finds.Put(s)
	found, err := s.get(ctx, r.Reader, id, at)
	switch {
	case err != nil:
		return err
	case !found || s.record.over(c.now(at)):
		return ErrNotFound
	}
	*f = feature.Feature{}
	s.record.show(f)
	f.Properties = feature.CompactProperties(bytes.Clone(s.record.properties[1 : len(s.record.properties)-1]))
	return nil
}

// Now returns the time of the clock that dates and expires points.
func (c *Collection) Now() time.Time { return c.clock.Time() }

// now returns at in milliseconds, or the time of the clock if at is zero. A point expired by then
// is not in the answer.
func (c *Collection) now(at time.Time) int64 {
	if at.IsZero() {
		return c.clock.Now()
	}
	return at.UnixMilli()
}

// over reports whether a point has expired.
func (r *record) over(now int64) bool { return r.expires != 0 && r.expires <= now }

// get reads a point by its id into s.record.
func (s *search) get(ctx context.Context, from cellstore.Reader, id string, at time.Time) (found bool, err error) {
	selID, selPoint := selectID, selectPoint
	if !at.IsZero() {
		when := cellstore.AsOf(at.UnixMilli())
		selID = &cellstore.Selection{Families: selectID.Families, Time: when}
		selPoint = &cellstore.Selection{Families: selectPast.Families, Time: when}
	}
	s.key = appendIDKey(s.key[:0], id)
	found, err = from.Get(ctx, s.key, selID, &s.row)
	if err != nil || !found || len(s.row.Cells[0].Value) == 0 {
		return false, wrap(err)
	}
	if err := s.record.parseID(&s.row); err != nil {
		return false, err
	}
	s.key = appendPointKey(s.key[:0], s.record.key, id)
	s.key[0] = rowOf(at)
	found, err = from.Get(ctx, s.key, selPoint, &s.row)
	if err != nil {
		return false, wrap(err)
	}
	if !found {
		return false, misplaced(id)
	}
	gone, err := s.record.parse(&s.row)
	if err == nil && gone {
		err = damaged(&s.row)
	}
	return true, err
}

// misplaced returns the error for a point that is not at the position in the row of its id.
func misplaced(id string) error {
	return fmt.Errorf("points: %w: the point %q is not where its id says", cellstore.ErrCorrupt, id)
}

// rowOf returns the first byte of the rows with points as of an instant. Rows of the family past
// have all versions; those of the family point have only existing points.
func rowOf(at time.Time) byte {
	if at.IsZero() {
		return rowPoint
	}
	return rowPast
}

func wrap(err error) error {
	if err != nil {
		return fmt.Errorf("points: %w", err)
	}
	return nil
}

// treeChunk is the number of nodes in a row of the tree.
const treeChunk = 32 << 10

// readTree reads the tree of a published collection, and its summary of values.
func readTree(ctx context.Context, table cellstore.Table) (*tree, *summary, error) {
	t, s := &tree{}, newSummary()
	scan := cellstore.Scan{Selection: cellstore.Selection{Families: []string{famTree}}}
	first := true
	for row, err := range table.Scan(ctx, scan) {
		if err != nil {
			return nil, nil, err
		}
		v := row.Cells[0].Value
		if first {
			if err := json.Unmarshal(v, s); err != nil {
				return nil, nil, fmt.Errorf("%w: summary of values: %w", cellstore.ErrCorrupt, err)
			}
			first = false
			continue
		}
		if !t.read(v) {
			return nil, nil, fmt.Errorf("%w: a row of the tree has %d bytes", cellstore.ErrCorrupt, len(v))
		}
	}
	if !t.sound() {
		return nil, nil, fmt.Errorf("%w: the tree of %d nodes is none", cellstore.ErrCorrupt, len(t.nodes))
	}
	return t, s, nil
}
