package points

import (
	"bytes"
	"context"
	"slices"
	"time"

	"quadrille/cellstore"
	"quadrille/feature"
)

// Describe changes the description of a collection, in one step between two steps of its writes.
// change is given the description, with the declared types as its Schema, and must not call the
// collection. If change returns an error, Describe returns it and changes nothing. The name and
// the layout stay.
//
// Types hold for later writes, and no point is changed. others counts, by property, the values
// that are not of the type declared for it; filters and orders pass over those. A history that
// begins, or becomes longer, reaches back to what was remembered before, see Meta.Since. When a
// history begins, every point is written once, and other writes wait for that. Errors match
// ErrPoint or feature.ErrType if the description is not valid, or are those of Write.
func (c *LiveCollection) Describe(ctx context.Context, change func(m *Meta) error) (others map[string]int64, err error) {
	r := newRequest(make([]Write, 1), make([]Outcome, 1))
	r.alone = func(k *commit) { others, r.outcomes[0].Err = k.describe(&r.outcomes[0], change) }
	if err := c.submit(ctx, r); err != nil {
		return nil, err
	}
	return others, r.outcomes[0].Err
}

// Remembers returns the earliest instant that can be asked for at a given instant.
func (m *Meta) Remembers(now time.Time) time.Time {
	first := now.Add(-time.Duration(m.History))
	if since := time.UnixMilli(m.Since); first.Before(since) {
		return since
	}
	return first
}

// describe makes the step of another description.
func (k *commit) describe(o *Outcome, change func(m *Meta) error) (others map[string]int64, err error) {
	c := k.c
	was := c.meta.Load()
	next := liveMeta{Meta: was.Meta, Redraw: was.Redraw}
	next.Schema = slices.Clone(was.Declared)
	err = change(&next.Meta)
	if err == nil {
		err = next.succeed(was, c.learner, k.now)
	}
	if err == nil {
		err = k.ready(was, &next)
	}
	if err != nil {
		return nil, err
	}
	undo := c.learner.Declare(next.Declared)
	if k.undescribe == nil { // that of the first takes back all
		k.undescribe = undo
	}
	k.meta = &next
	k.outcomes = append(k.outcomes, o)
	return c.learner.Others(), nil
}

// succeed checks a description that is to replace another one.
func (m *liveMeta) succeed(was *liveMeta, l *feature.Learner, now int64) error {
	if m.Name != was.Name || m.SchemaVersion != was.SchemaVersion {
		return feature.Faultf(ErrPoint, "a collection keeps its name: make another one, and write the points there")
	}
	if err := checkMeta(&m.Meta); err != nil {
		return err
	}
	m.Declared = m.Schema
	all := l.Len()
	for _, f := range m.Declared {
		if _, known := was.Meta.Schema.Lookup(f.Name); !known {
			all++
		}
	}
	if all > feature.MaxFields {
		return feature.Faultf(feature.ErrType, "%d properties together with those that points have had: declare fewer that are new, %d are the most", all, feature.MaxFields)
	}
	switch {
	case m.History == 0:
		m.Since = 0
	case m.History > was.History:
		m.Since = max(was.Remembers(time.UnixMilli(now)).UnixMilli(), 0)
	}
	return nil
}

// ready makes the table hold what either of two descriptions needs. What only the first
// needs is removed when the collection is opened again: answers that have begun still look
// for it.
func (k *commit) ready(was, next *liveMeta) error {
	c, ctx, both := k.c, context.Background(), *next
	both.History = max(was.History, next.History)
	if both.History != was.History || both.Events != was.Events {
		if err := c.live.store.AlterTable(ctx, both.tableSchema()); err != nil {
			return c.refused(err)
		}
	}
	if was.History > 0 || next.History == 0 {
		return nil
	}
	if err := forget(ctx, c.live.store, c.table, &both); err != nil {
		return c.refused(err)
	}
	newest, err := c.remember(ctx)
	if err != nil {
		return c.refused(err)
	}
	// Versions may be ahead of the clock. Nothing is known about the time before them.
	for _, version := range [...]int64{newest, k.floor} {
		if !k.ahead(version) {
			next.Since = max(next.Since, version)
		}
	}
	c.prune()
	return nil
}

// remember gives every point its row of the past, and returns the newest version.
func (c *LiveCollection) remember(ctx context.Context) (newest int64, err error) {
	var batch []cellstore.Mutation
	size := 0
	flush := func() error {
		err := c.table.Apply(ctx, batch...)
		batch, size = batch[:0], 0
		return err
	}
	for row, err := range c.table.Scan(ctx, cellstore.Scan{Selection: *selectPoint}) {
		if err != nil {
			return newest, err
		}
		key, cell := bytes.Clone(row.Key), &row.Cells[0]
		key[0] = rowPast
		batch = append(batch, cellstore.Mutation{
			Row: key, Ops: []cellstore.Op{cellstore.PutAt(famPast, nil, cell.Timestamp, bytes.Clone(cell.Value))}, Durability: cellstore.Async,
		})
		if size += len(cell.Value); len(batch) == maxCommit || size > maxCommitBytes {
			if err := flush(); err != nil {
				return newest, err
			}
		}
		newest = max(newest, cell.Timestamp)
	}
	return newest, flush()
}

// forget removes what is left of the past of a collection without a history, so that a
// later collection does not find it.
func forget(ctx context.Context, store cellstore.Store, table cellstore.Table, m *liveMeta) error {
	past := cellstore.Scan{Selection: cellstore.Selection{Families: []string{famPast}}, Limit: 1}
	for _, err := range table.Scan(ctx, past) {
		if err != nil {
			return err
		}
		whole := m.tableSchema()
		without := whole
		without.Families = slices.DeleteFunc(slices.Clone(whole.Families), func(f cellstore.Family) bool { return f.Name == famPast })
		if err := store.AlterTable(ctx, without); err != nil {
			return err
		}
		return store.AlterTable(ctx, whole)
	}
	return nil
}

// tidy makes a table hold no more than its description says. What fails is done when the
// table is next opened.
func tidy(ctx context.Context, store cellstore.Store, table cellstore.Table, m *liveMeta) {
	want, err := m.tableSchema().Normalize()
	if err == nil && !slices.Equal(table.Schema().Families, want.Families) {
		err = store.AlterTable(ctx, want)
	}
	if err == nil && m.History == 0 {
		_ = forget(ctx, store, table, m)
	}
}

// prune removes what is no longer remembered, until the collection is closed.
func (c *LiveCollection) prune() {
	c.prunes.Do(func() { c.pruning.Go((&pruner{c: c}).run) })
}
