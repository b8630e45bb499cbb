package points

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"quadrille/cellstore"
	"quadrille/feature"
	"quadrille/places/live"
)

// LiveReport is the result of VerifyLive.
type LiveReport struct {
	Points int64 // existing points
	Rows   int64 // of all kinds
	// Faults describes the first invalid rows of a live collection. FaultyRows is the number of all
	// such rows.
	Faults     []string
	FaultyRows int64
}

// removal returns a mutation that removes a row of one family.
func removal(family string, key []byte) cellstore.Mutation {
	return cellstore.Mutation{Row: key, Ops: []cellstore.Op{cellstore.DeleteColumn(family, nil, cellstore.AllVersions)}}
}

// maxFaults bounds the faults in a report.
const maxFaults = 20

func (r *LiveReport) fault(row *cellstore.Row, what string) {
	if r.FaultyRows++; len(r.Faults) < maxFaults {
		r.Faults = append(r.Faults, fmt.Sprintf("the row %.60q: %s", row.Key, what))
	}
}

// VerifyLive reads every row of a live collection, which must not be written meanwhile. It checks
// that each row can be read. Each point must have the row of its id, each id must have the row of
// its point, and the two rows must agree. The error is the reason why the collection cannot be read
// to the end. It matches cellstore.ErrCorrupt if the description is missing.
func VerifyLive(ctx context.Context, store cellstore.Store, name string) (r LiveReport, err error) {
	table, err := LiveKind.OpenTable(ctx, store, name)
	if err != nil {
		return r, err
	}
	ids := int64(0)
	for row, err := range table.Scan(ctx, cellstore.Scan{Selection: cellstore.Selection{Versions: maxVersions}}) {
		if err != nil {
			return r, wrap(err)
		}
		r.Rows++
		if err := r.versions(ctx, table, row); err != nil {
			return r, err
		}
		switch row.Key[0] {
		case rowID:
			if len(row.Cells) > 0 && len(row.Cells[0].Value) > 0 {
				ids++
			}
		case rowPoint:
			r.Points++
			if err := r.point(ctx, table, row); err != nil {
				return r, err
			}
		default:
			if live.KindOfRow(row) == live.RowUnreadable {
				r.fault(row, "it holds no event")
			}
		}
	}
	if ids != r.Points {
		r.FaultyRows++
		r.Faults = append(r.Faults, fmt.Sprintf("there are %d points and %d ids", r.Points, ids))
	}
	return r, nil
}

// versions reads all versions of a row. row has the newest ones.
func (r *LiveReport) versions(ctx context.Context, table cellstore.Reader, row *cellstore.Row) error {
	var older cellstore.Row
	for cells := row.Cells; len(cells) > 0; cells = older.Cells {
		for i := range cells {
			if cells[i].Family == famID && !isIDValue(cells[i].Value) {
				r.fault(row, "it holds no position")
			}
		}
		if len(cells) < maxVersions {
			break
		}
		sel := &cellstore.Selection{Versions: maxVersions, Time: cellstore.Between(0, cells[len(cells)-1].Timestamp)}
		if _, err := table.Get(ctx, row.Key, sel, &older); err != nil {
			return wrap(err)
		}
	}
	return nil
}

// point compares the row of a point with that of its id.
func (r *LiveReport) point(ctx context.Context, table cellstore.Reader, row *cellstore.Row) error {
	var p, byID record
	if !p.stored(row) {
		r.fault(row, "it holds no point, or one that is elsewhere")
		return nil
	}
	var other cellstore.Row
	found, err := table.Get(ctx, appendIDKey(nil, string(p.id)), selectID, &other)
	if err != nil {
		return wrap(err)
	}
	if !found || byID.parseID(&other) != nil || byID.key != p.key || byID.version != p.version {
		r.fault(row, "its id has no row, or one of another position or version")
	}
	return nil
}

// DecodeRow sets f to the point in a row of a live collection, and reports whether the row holds a
// point. The properties are in the memory of the row.
func DecodeRow(row *cellstore.Row, f *feature.Feature) bool {
	var r record
	ok := len(row.Key) > 0 && row.Key[0] == rowPoint && r.stored(row)
	if ok {
		r.show(f)
	}
	return ok
}

// isIDValue reports whether the row of an id can have a value. An empty one means that the point
// was gone.
func isIDValue(v []byte) bool {
	return len(v) == 0 || len(v) == idValue && new(record).parseHead(v)
}

// stored does the same as parse, for a row with any content. It reports whether the row holds a
// point.
func (r *record) stored(row *cellstore.Row) bool {
	gone, err := r.parse(row)
	return err == nil && !gone && positionOf(r.lat, r.lon).key == r.key && json.Valid(r.properties)
}

// RescueReport is the result of Rescue.
type RescueReport struct {
	Points int64 // points in the new collection
	// Earlier counts points in an earlier state, whose newest row is lost. Lost counts ids whose
	// points are lost. Skipped counts rows without valid content.
	Earlier, Lost, Skipped int64
	// Description is set if the description of the collection is lost. In that case the collection
	// is treated as private.
	Description bool
}

// Rescuer makes a live collection from the readable rows of a damaged one. Add every row, each once
// with all its versions, and call Finish.
type Rescuer struct {
	store cellstore.Store
	table cellstore.Table

	report RescueReport
	rest   *live.Salvage
	batch  []cellstore.Mutation
	bytes  int
}

// NewRescuer makes the table of a collection in a store that has no table of the name.
func NewRescuer(ctx context.Context, store cellstore.Store, name string) (*Rescuer, error) {
	if err := live.CheckName(name); err != nil {
		return nil, err
	}
	r := &Rescuer{store: store, rest: live.NewSalvage(LiveKind, name)}
	if err := store.CreateTable(ctx, LiveKind.WidestSchema(name)); err != nil {
		return nil, wrap(err)
	}
	var err error
	r.table, err = store.Table(ctx, LiveKind.Table(name))
	return r, wrap(err)
}

// Add adds a row. The caller keeps ownership of the row's bytes.
func (r *Rescuer) Add(ctx context.Context, row *cellstore.Row) error {
	if len(row.Key) == 0 || len(row.Cells) == 0 {
		return nil
	}
	switch kind := live.KindOfRow(row); {
	case kind == live.RowUnreadable, row.Key[0] == rowPoint && !new(record).stored(row):
		r.report.Skipped++
		return nil
	case kind != live.RowOfIndex:
		if err := r.rest.Add(row); err != nil || kind == live.RowRemade {
			return err
		}
	case row.Key[0] == rowID, row.Key[0] == rowPast:
		for i := range row.Cells {
			r.rest.RaiseVersion(row.Cells[i].Timestamp)
		}
	case row.Key[0] != rowPoint:
		r.report.Skipped++
		return nil
	}
	m := cellstore.Mutation{Row: bytes.Clone(row.Key), Durability: cellstore.Async}
	for i := range row.Cells {
		c := &row.Cells[i]
		if c.Family == famID && !isIDValue(c.Value) {
			continue
		}
		m.Ops = append(m.Ops, cellstore.PutAt(c.Family, bytes.Clone(c.Qualifier), c.Timestamp, bytes.Clone(c.Value)))
		r.bytes += len(c.Value)
	}
	if len(m.Ops) < len(row.Cells) {
		r.report.Skipped++
	}
	if len(m.Ops) == 0 {
		return nil
	}
	return r.write(ctx, m)
}

// write writes rows, many at once.
func (r *Rescuer) write(ctx context.Context, m cellstore.Mutation) error {
	if r.batch = append(r.batch, m); len(r.batch) < maxRows && r.bytes < maxRowBytes {
		return nil
	}
	return r.flush(ctx)
}

func (r *Rescuer) flush(ctx context.Context) error {
	if len(r.batch) == 0 {
		return nil
	}
	err := r.table.Apply(ctx, r.batch...)
	clear(r.batch)
	r.batch, r.bytes = r.batch[:0], 0
	return wrap(err)
}

// Finish makes points and ids agree and writes the description. The collection then
// exists and is on the disk. If the newest state of a point is lost, the newest remaining one is
// kept.
func (r *Rescuer) Finish(ctx context.Context) (RescueReport, error) {
	if err := r.flush(ctx); err != nil {
		return r.report, err
	}
	learner, err := r.rest.Learner()
	if err != nil {
		return r.report, err
	}
	r.report.Description = r.rest.DescriptionLost
	if err := r.agree(ctx, learner); err != nil {
		return r.report, err
	}
	if err := r.count(ctx); err != nil {
		return r.report, err
	}
	return r.report, r.rest.Finish(ctx, r.store, r.table, learner)
}

// agree makes the row of each id match its newest point, and removes older points.
func (r *Rescuer) agree(ctx context.Context, learner *feature.Learner) error {
	var other, place cellstore.Row
	for row, err := range r.table.Scan(ctx, cellstore.Scan{Selection: *selectPoint}) {
		if err != nil {
			return wrap(err)
		}
		var p, byID record
		if _, err := p.parse(row); err != nil {
			return err
		}
		id := string(p.id)
		found, err := r.table.Get(ctx, appendIDKey(nil, id), selectID, &other)
		if err != nil {
			return wrap(err)
		}
		known := found && byID.parseID(&other) == nil
		elsewhere := known && byID.key != p.key
		later := found && other.Cells[0].Timestamp >= p.version
		var over bool // the id has a point that is newer, or has gone
		switch {
		case known && !elsewhere && byID.version == p.version:
			learner.Learn(p.properties)
			continue
		case later && elsewhere:
			if over, err = r.table.Get(ctx, appendPointKey(nil, byID.key, id), selectPoint, &place); err != nil {
				return wrap(err)
			}
		case later:
			over = len(other.Cells[0].Value) == 0
		}
		if over {
			if err := r.apply(ctx, removal(famPoint, bytes.Clone(row.Key))); err != nil {
				return err
			}
			continue
		}
		learner.Learn(p.properties)
		var ms []cellstore.Mutation
		switch {
		case later:
			r.report.Earlier++
			ms = append(ms, removal(famID, appendIDKey(nil, id))) // a newer version would hide the point
		case elsewhere:
			ms = append(ms, removal(famPoint, appendPointKey(nil, byID.key, id)))
		}
		ms = append(ms, cellstore.Mutation{
			Row: appendIDKey(nil, id),
			Ops: []cellstore.Op{cellstore.PutAt(famID, nil, p.version, p.appendIDValue(nil))},
		})
		for _, m := range ms { // in this order
			if err := r.apply(ctx, m); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *Rescuer) apply(ctx context.Context, m cellstore.Mutation) error {
	m.Durability = cellstore.Async
	return wrap(r.table.Apply(ctx, m))
}

// count counts the points, removes ids without one, and writes the expiry rows.
func (r *Rescuer) count(ctx context.Context) error {
	var place cellstore.Row
	for row, err := range r.table.Scan(ctx, cellstore.Scan{Selection: *selectID}) {
		if err != nil {
			return wrap(err)
		}
		if len(row.Cells[0].Value) == 0 {
			continue // removed, with history
		}
		id := string(row.Key[1:])
		var byID, p record
		there := false
		if byID.parseID(row) == nil {
			there, err = r.table.Get(ctx, appendPointKey(nil, byID.key, id), selectPoint, &place)
			if err != nil {
				return wrap(err)
			}
			if there {
				_, err = p.parse(&place)
				there = err == nil && p.version == byID.version
			}
		}
		switch {
		case !there:
			r.report.Lost++
			err = r.apply(ctx, removal(famID, bytes.Clone(row.Key)))
		case byID.expires != 0:
			err = r.apply(ctx, live.ExpiryRow(byID.expires, id))
		}
		if err != nil {
			return err
		}
		if there {
			r.report.Points++
		}
	}
	return nil
}
