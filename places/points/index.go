package points

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"quadrille/cellstore"
	"quadrille/feature"
	"quadrille/places/live"
	"quadrille/quadkey"
)

// LiveKind is the kind of live collections of points: an Index in the table of the log.
var LiveKind = &live.Kind{
	Prefix: "points_", Version: SchemaVersion, Families: liveFamilies, Past: famPast,
	CheckWrite: place,
	Info:       func(m *live.Meta) *feature.Info { return info(m, true) },
	Open:       openIndex,
}

// liveFamilies returns the families of the rows of points in a live collection.
func liveFamilies(m *live.Meta) []cellstore.Family {
	versions := 1
	if m.HistoryRetention > 0 {
		versions = cellstore.Unlimited
	}
	return []cellstore.Family{{Name: famID, MaxVersions: versions}, {Name: famPoint}, {Name: famPast, MaxVersions: versions}}
}

// place checks a write, and returns the stored position.
func place(w *live.Write) (lat, lon float64, err error) {
	if err = CheckID(w.ID); err != nil || w.Kind != live.Put && !w.Move {
		return 0, 0, err
	}
	return toDegrees(toUnits(w.Lat)), toDegrees(toUnits(w.Lon)), CheckPosition(w.Lat, w.Lon)
}

// Index is a changing collection of points.
type Index struct {
	*Collection
	summary *summary
	at      uint64

	// Each step reuses the following memory.
	row     cellstore.Row
	key     []byte
	rows    []cellstore.Mutation
	ops     []cellstore.Op
	memory  []byte // of keys and values
	arrived []counted
	left    []counted
	moved   [][2]position // within their keys: from, to
	written []quadkey.PointKey

	pruner pruner
}

var (
	_ live.Historian = (*Index)(nil)
	_ live.IDLister  = (*Index)(nil)
	_ live.Sweeper   = (*Index)(nil)
)

// openIndex reads all points of a table, to count them.
func openIndex(ctx context.Context, o *live.OpenOptions) (live.Index, error) {
	known := newSummary()
	p := newPlanter()
	var r record
	for row, err := range o.Table.Scan(ctx, cellstore.Scan{Selection: *selectPoint}) {
		if err != nil {
			return nil, wrap(err)
		}
		if gone, err := r.parse(row); err != nil || gone {
			return nil, errors.Join(err, damaged(row))
		}
		p.add(&counted{r.position, known.add(r.properties)})
		o.Learn(r.properties)
	}
	x := &Index{summary: known, at: o.End.Seq}
	x.serve(o.Table, p.tree, o.Clock, func() (*live.Meta, *summary) { return o.Meta(), known })
	return x, nil
}

// serve begins to answer queries from a table with the points of a tree.
func (x *Index) serve(table cellstore.Table, t *tree, clock *cellstore.Clock, tables func() (*live.Meta, *summary)) {
	x.Collection = newCollection(table, t, newViews(table, t), clock, tables)
}

// WithTable implements live.TableIndex.
func (x *Index) WithTable(table cellstore.Table) live.Index {
	now := &Index{summary: x.summary, at: x.at}
	now.serve(table, x.tree, x.clock, x.tables)
	return now
}

// Close implements live.Index.
func (x *Index) Close() error { return x.views.close() }

// Sweep implements live.Sweeper.
func (x *Index) Sweep() {
	x.rows, x.ops, x.memory, x.arrived, x.moved, x.written = nil, nil, nil, nil, nil, nil
	x.views.sweep()
}

// LastSeq implements live.Index.
func (x *Index) LastSeq() uint64 { return x.at }

// Find implements live.State by the row of the id.
func (x *Index) Find(id string, f *feature.Feature) (last int64, err error) {
	x.key = appendIDKey(x.key[:0], id)
	found, err := x.table.Get(context.Background(), x.key, selectID, &x.row)
	if err != nil || !found {
		return 0, wrap(err)
	}
	cell := &x.row.Cells[0]
	if len(cell.Value) == 0 {
		return cell.Timestamp, nil // deleted, with history
	}
	r := record{version: cell.Timestamp}
	if len(cell.Value) != idValue || !r.parseHead(cell.Value) {
		return r.version, damaged(&x.row)
	}
	f.Position, f.Version, f.Expires = r.degrees(), r.version, live.ExpiryTime(r.expires)
	return r.version, nil
}

// AppendProperties implements live.State by the row of the point.
func (x *Index) AppendProperties(dst []byte, f *feature.Feature) ([]byte, error) {
	x.key = appendPointKey(x.key[:0], positionFor(f).key, f.ID)
	found, err := x.table.Get(context.Background(), x.key, selectPoint, &x.row)
	if err != nil {
		return dst, wrap(err)
	}
	var r record
	if found {
		if _, err = r.parse(&x.row); err != nil {
			return dst, err
		}
	}
	if r.properties == nil {
		return dst, misplaced(f.ID)
	}
	return append(dst, r.properties...), nil
}

// positionFor returns the position of a stored feature.
func positionFor(f *feature.Feature) position { return positionOf(toUnits(f.Lat), toUnits(f.Lon)) }

// Apply implements live.Index, for a log in another table.
func (x *Index) Apply(changes []live.Change) error {
	return x.ApplyWith(changes, func(rows []cellstore.Mutation) error { return wrap(x.table.Apply(context.Background(), rows...)) })
}

// ApplyWith implements live.TableIndex.
func (x *Index) ApplyWith(changes []live.Change, write func(rows []cellstore.Mutation) error) error {
	for i := range changes {
		x.change(&changes[i])
	}
	x.tree.expect(x.arrived)
	full, err := x.write(write)
	if n := len(changes); err == nil && n > 0 {
		x.at = max(x.at, changes[n-1].Seq)
	}
	x.views.sweep()
	x.divide(full)
	x.forget()
	return err
}

// forget clears the state of a step at its end.
func (x *Index) forget() {
	clear(x.rows)
	clear(x.ops)
	x.rows, x.ops, x.memory, x.arrived, x.moved, x.written = x.rows[:0], x.ops[:0], x.memory[:0], x.arrived[:0], x.moved[:0], x.written[:0]
	x.left = nil // the views own it
}

// write writes a step, and updates the tree. It returns the tiles of full leaves.
func (x *Index) write(write func(rows []cellstore.Mutation) error) (full []quadkey.Tile, err error) {
	x.views.agree.Lock()
	defer x.views.agree.Unlock()
	if err = write(x.rows); err != nil {
		x.tree.forget(x.arrived)
		return nil, err
	}
	x.views.changes.add(x.written)
	x.tree.shift(x.moved)
	full = x.tree.settle(x.arrived, x.left, nil)
	x.views.committed(x.left)
	return full, nil
}

// change adds the rows of a change to the step.
func (x *Index) change(c *live.Change) {
	history := x.Meta().HistoryRetention > 0
	var was, is position
	if c.Was != nil {
		was = positionFor(c.Was)
		x.written = append(x.written, was.key)
	}
	if c.Is != nil {
		is = positionFor(c.Is)
		x.written = append(x.written, is.key)
	}
	leaves := c.Was != nil && (c.Is == nil || was.key != is.key)
	idKey := x.keep(func(b []byte) []byte { return appendIDKey(b, c.ID) })
	switch {
	case c.Is != nil:
		value := x.keep(func(b []byte) []byte {
			b = (&record{position: is, expires: live.ExpiryMillis(c.Is.Expires)}).appendIDValue(b)
			return append(c.Is.Properties.AppendMembers(append(b, '{')), '}')
		})
		x.put(idKey, cellstore.PutAt(famID, nil, c.Version, value[:idValue:idValue]))
		x.put(x.pointKey(rowPoint, &is, c.ID), cellstore.PutAt(famPoint, nil, c.Version, value))
		if history {
			x.put(x.pointKey(rowPast, &is, c.ID), cellstore.PutAt(famPast, nil, c.Version, value))
		}
		now := counted{is, x.summary.add(value[valueHead:])}
		if c.Was == nil || leaves {
			x.arrived = append(x.arrived, now)
		} else {
			x.tree.mark(&now)
			x.moved = append(x.moved, [2]position{was, is})
		}
	case history:
		x.put(idKey, cellstore.PutAt(famID, nil, c.Version, nil))
	default:
		x.put(idKey, cellstore.DeleteColumn(famID, nil, cellstore.AllVersions))
	}
	if leaves {
		x.put(x.pointKey(rowPoint, &was, c.ID), cellstore.DeleteColumn(famPoint, nil, cellstore.AllVersions))
		if history {
			x.put(x.pointKey(rowPast, &was, c.ID), cellstore.PutAt(famPast, nil, c.Version, nil))
		}
		x.left = append(x.left, counted{position: was})
	}
}

// keep returns bytes that are valid until the step ends.
func (x *Index) keep(appended func(b []byte) []byte) []byte {
	from := len(x.memory)
	x.memory = appended(x.memory)
	return x.memory[from:len(x.memory):len(x.memory)]
}

func (x *Index) pointKey(kind byte, at *position, id string) []byte {
	key := x.keep(func(b []byte) []byte { return appendPointKey(b, at.key, id) })
	key[0] = kind
	return key
}

// put adds a row to the step.
func (x *Index) put(key []byte, op cellstore.Op) {
	n := len(x.ops)
	x.ops = append(x.ops, op)
	x.rows = append(x.rows, cellstore.Mutation{Row: key, Ops: x.ops[n : n+1 : n+1]})
}

// divide gives children to leaves that have become full.
func (x *Index) divide(tiles []quadkey.Tile) {
	s := &search{from: reading{Reader: x.table}, sel: *selectPoint, kind: rowPoint}
	for _, tile := range tiles {
		b := x.tree.find(tile)
		if !b.leaf || b.tile != tile || b.count <= leafPoints {
			continue // several points of the commit have filled it, or left it again
		}
		var list []counted
		s.rangeOf(tile)
		err := s.rows(context.Background(), s.key, s.until, 0, func() (bool, error) {
			if s.record.properties != nil {
				list = append(list, counted{s.record.position, x.summary.add(s.record.properties)})
			}
			return true, nil
		})
		if err == nil { // otherwise the leaf stays undivided, which is only slower
			x.views.divide(&b, list)
		}
	}
}

// EachID implements live.IDLister.
func (x *Index) EachID(ctx context.Context, from string, most int,
	fn func(id string, f *feature.Feature) (bool, error)) (done bool, err error) {
	scan := cellstore.Scan{
		Ranges: []cellstore.Range{{From: appendIDKey(nil, from), To: []byte{rowID + 1}}}, Limit: most, Selection: *selectID,
	}
	n := 0
	for row, err := range x.table.Scan(ctx, scan) {
		if err != nil {
			return false, wrap(err)
		}
		n++
		var r record
		f := &feature.Feature{}
		if len(row.Cells) > 0 && len(row.Cells[0].Value) == 0 {
			f = nil // deleted, with history
		} else if err := r.parseID(row); err != nil {
			return false, err
		} else {
			f.Position, f.Version, f.Expires = r.degrees(), r.version, live.ExpiryTime(r.expires)
		}
		if more, err := fn(string(row.Key[1:]), f); !more || err != nil {
			return false, err
		}
	}
	return n < most, nil
}

// These are bounds of a batch of rows that is written in addition to the steps.
const (
	maxRows     = 4096
	maxRowBytes = 16 << 20 // of values
)

// BeginHistory implements live.Historian: it gives every point its row of the past.
func (x *Index) BeginHistory(ctx context.Context) (newest int64, err error) {
	var batch []cellstore.Mutation
	size := 0
	flush := func() error {
		err := x.table.Apply(ctx, batch...)
		batch, size = batch[:0], 0
		return err
	}
	for row, err := range x.table.Scan(ctx, cellstore.Scan{Selection: *selectPoint}) {
		if err != nil {
			return newest, err
		}
		key, cell := bytes.Clone(row.Key), &row.Cells[0]
		key[0] = rowPast
		batch = append(batch, cellstore.Mutation{
			Row: key, Ops: []cellstore.Op{cellstore.PutAt(famPast, nil, cell.Timestamp, bytes.Clone(cell.Value))}, Durability: cellstore.Async,
		})
		if size += len(cell.Value); len(batch) == maxRows || size > maxRowBytes {
			if err := flush(); err != nil {
				return newest, err
			}
		}
		newest = max(newest, cell.Timestamp)
	}
	return newest, flush()
}

// pruner removes versions that a collection no longer needs. It belongs to one goroutine.
type pruner struct {
	family int    // the current one of prunedFamilies
	at     []byte // the next row
}

var prunedFamilies = [2]string{famID, famPast}

// prunedRows is the number of rows that one Prune examines.
const prunedRows = 2000

// Prune implements live.Historian. It removes, from some rows, the versions that no query can see
// any more. At the beginning of the history one version of a row is the newest. Prune removes the
// versions before it, and this version too if it records that the point was gone. Versions of
// concurrent writes are newer, so they stay.
func (x *Index) Prune(ctx context.Context, before int64) (much bool, err error) {
	p := &x.pruner
	family := prunedFamilies[p.family]
	scan := cellstore.Scan{
		Ranges: []cellstore.Range{{From: p.at}}, Limit: prunedRows,
		Selection: cellstore.Selection{Families: []string{family}, Versions: 2, Time: cellstore.Between(0, before)},
	}
	var mutations []cellstore.Mutation
	looked := 0
	for row, err := range x.table.Scan(ctx, scan) {
		if err != nil {
			return false, wrap(err)
		}
		looked++
		p.at = append(append(p.at[:0], row.Key...), 0)
		old := row.Cells
		if len(old[0].Value) > 0 {
			old = old[1:]
		}
		if len(old) > 0 {
			mutations = append(mutations, cellstore.Mutation{
				Row: slices.Clone(row.Key), Ops: []cellstore.Op{cellstore.DeleteColumn(family, nil, old[0].Timestamp)}, Durability: cellstore.Async,
			})
		}
	}
	if looked < prunedRows {
		p.family, p.at = 1-p.family, p.at[:0]
	}
	if len(mutations) == 0 {
		return false, nil
	}
	if err := x.table.Apply(ctx, mutations...); err != nil {
		return false, fmt.Errorf("points: history: %w", err)
	}
	return len(mutations) > prunedRows/20, nil
}
