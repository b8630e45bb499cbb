package points

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"

	"quadrille/cellstore"
	"quadrille/feature"
	"quadrille/places/live"
)

// Verify reads every row of a published collection and reports the first fault: a point without its
// id or an id without its point, a row whose key does not fit its position, properties that are not
// compact or not of their types, a count or signature of the tree that does not fit the points
// below. meta is the result of Build. progress, if set, is called with the rows read and their
// total. Errors match cellstore.ErrLayout or cellstore.ErrCorrupt, or come from the store. It holds
// the tree in memory twice.
func Verify(ctx context.Context, store cellstore.Store, meta live.Meta, progress func(done, total int64)) error {
	if err := checkPublished(&meta); err != nil {
		return err
	}
	table, err := store.Table(ctx, tableName)
	if err != nil {
		return wrap(err)
	}
	t, stored, err := readTree(ctx, table)
	if err != nil {
		return wrap(err)
	}
	v := &verifier{
		table:   table,
		meta:    &meta,
		recount: &tree{nodes: make([]node, len(t.nodes))},
		summary: newSummary(),
		bounds:  [4]float64{180, 90, -180, -90},
	}
	for i := range t.nodes {
		v.recount.nodes[i].child = t.nodes[i].child
	}
	total := 2*meta.Points + 1 + int64((len(t.nodes)+treeChunk-1)/treeChunk)
	var done int64
	for row, err := range table.Scan(ctx, cellstore.Scan{}) {
		if err == nil {
			err = v.row(ctx, row)
		}
		if err != nil {
			return fmt.Errorf("points: %w", err)
		}
		if done++; done%4096 == 0 && progress != nil {
			progress(done, total)
		}
	}
	if err := v.totals(t, stored, done-v.ids-v.points); err != nil {
		return fmt.Errorf("points: %w", err)
	}
	return nil
}

// verifier counts the rows that Verify reads.
type verifier struct {
	table       cellstore.Table
	meta        *live.Meta
	ids, points int64
	recount     *tree // has the tiles of the stored one
	summary     *summary
	bounds      [4]float64

	record, byID    record
	key, properties []byte
	other           cellstore.Row
}

func wrongRow(row *cellstore.Row, format string, args ...any) error {
	return fmt.Errorf("%w: the row %.60q: %s", cellstore.ErrCorrupt, row.Key, fmt.Sprintf(format, args...))
}

// row checks a row of any kind.
func (v *verifier) row(ctx context.Context, row *cellstore.Row) error {
	if len(row.Key) == 0 || len(row.Cells) != 1 || len(row.Cells[0].Qualifier) > 0 {
		return wrongRow(row, "it should have one cell, not %d", len(row.Cells))
	}
	switch family := row.Cells[0].Family; {
	case row.Key[0] == rowID && family == famID:
		v.ids++
		if err := CheckID(string(row.Key[1:])); err != nil {
			return wrongRow(row, "%v", err)
		}
		return v.byID.parseID(row)
	case row.Key[0] == rowPoint && family == famPoint:
		v.points++
		return v.point(ctx, row)
	case row.Key[0] == rowTree && family == famTree && len(row.Key) == 5:
		return nil // readTree has read it
	}
	return wrongRow(row, "it is of no point, id or tree")
}

// point checks the row of a point. Each point has the row of an id. No two points have the same
// row, because the row has only one position. So if there are as many ids as points, each id has a
// point.
func (v *verifier) point(ctx context.Context, row *cellstore.Row) error {
	r := &v.record
	if gone, err := r.parse(row); err != nil {
		return err
	} else if gone {
		return wrongRow(row, "it holds no point")
	}
	at := positionOf(r.lat, r.lon)
	if at.key != r.key {
		return wrongRow(row, "its point is at latitude %v, longitude %v, which has another key", toDegrees(r.lat), toDegrees(r.lon))
	}
	var err error
	if v.properties, err = feature.AppendProperties(v.properties[:0], r.properties); err != nil {
		return wrongRow(row, "%v", err)
	}
	if !bytes.Equal(v.properties, r.properties) {
		return wrongRow(row, "its properties are not compact")
	}
	if v.properties, err = v.meta.Schema.Convert(v.properties[:0], r.properties); err != nil || !bytes.Equal(v.properties, r.properties) {
		return wrongRow(row, "its properties have not the types of the schema")
	}
	v.key = append(append(v.key[:0], rowID), r.id...)
	found, err := v.table.Get(ctx, v.key, selectID, &v.other)
	if err != nil {
		return err
	}
	if !found {
		return wrongRow(row, "its id has no row")
	}
	if err := v.byID.parseID(&v.other); err != nil {
		return err
	}
	if v.byID.position != at || v.byID.version != r.version || v.byID.expires != r.expires {
		return wrongRow(row, "the row of its id says another position, version or end")
	}
	lat, lon, o := toDegrees(at.lat), toDegrees(at.lon), &v.bounds
	o[0], o[1], o[2], o[3] = math.Min(o[0], lon), math.Min(o[1], lat), math.Max(o[2], lon), math.Max(o[3], lat)
	c := counted{at, v.summary.add(r.properties)}
	v.recount.path(at.key, func(_ uint32, n *node) { n.take(&c) })
	return nil
}

// totals compares the counts with the stored ones.
func (v *verifier) totals(t *tree, stored *summary, treeRows int64) error {
	if v.ids != v.points {
		return fmt.Errorf("%w: there are %d points and %d ids", cellstore.ErrCorrupt, v.points, v.ids)
	}
	if v.points == 0 {
		v.bounds = [4]float64{}
	}
	if v.points != v.meta.Points || v.bounds != v.meta.Bounds {
		return fmt.Errorf("%w: there are %d points within %v, the manifest says %d within %v", cellstore.ErrCorrupt, v.points,
			v.bounds, v.meta.Points, v.meta.Bounds)
	}
	if want := 1 + int64((len(t.nodes)+treeChunk-1)/treeChunk); treeRows != want {
		return fmt.Errorf("%w: the tree has %d rows for %d nodes", cellstore.ErrCorrupt, treeRows, len(t.nodes))
	}
	for i := range t.nodes {
		if t.nodes[i] != v.recount.nodes[i] {
			return fmt.Errorf("%w: node %d of the tree has not the count, sums or signature of the points in its tile", cellstore.ErrCorrupt, i)
		}
	}
	was, err := json.Marshal(stored)
	if err != nil {
		return err
	}
	is, err := json.Marshal(v.summary)
	if err != nil {
		return err
	}
	if !bytes.Equal(was, is) {
		return fmt.Errorf("%w: the summary of values is not that of the points", cellstore.ErrCorrupt)
	}
	return nil
}
