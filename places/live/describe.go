package live

import (
	"context"
	"slices"
	"time"

	"quadrille/cellstore"
	"quadrille/feature"
)

// Describe changes the description of a collection, in one step between two steps of its writes.
// change receives the description, with the declared types as its Schema, and must not call the
// collection. If change returns an error, Describe returns it and changes nothing. The name and the
// layout stay.
//
// Types hold for later writes, and no point is changed. others has, by property, the number of
// values that are not of the declared type. Filters and orders skip such values. A history that
// begins, or becomes longer, reaches back only as far as the previous one did, see Meta.Since. When
// a history begins, every point is written once, and other writes wait for that. Errors match
// ErrInvalid or feature.ErrType if the description is not valid, or come from Write.
func (c *Collection) Describe(ctx context.Context, change func(m *Meta) error) (others map[string]int64, err error) {
	r := newRequest(make([]Write, 1), make([]Outcome, 1))
	r.alone = func(k *step) (err error) {
		others, err = k.describe(change)
		return err
	}
	if err := c.submit(ctx, r); err != nil {
		return nil, err
	}
	return others, r.outcomes[0].Err
}

// describe makes the step that changes the description.
func (k *step) describe(change func(m *Meta) error) (others map[string]int64, err error) {
	c := k.c
	was := c.meta.Load()
	next := description{Meta: was.Meta, RedrawProgress: was.RedrawProgress}
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
	k.undescribe = c.learner.Declare(next.Declared)
	k.next = &next
	return c.learner.OtherTypes(), nil
}

// succeed returns an error if a description may not replace another one.
func (m *description) succeed(was *description, l *feature.Learner, now int64) error {
	if m.Name != was.Name || m.SchemaVersion != was.SchemaVersion {
		return feature.Faultf(ErrInvalid, "a collection keeps its name: make another one, and write the points there")
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
		return feature.Faultf(feature.ErrType,
			"%d properties together with those that points have had: declare fewer that are new, %d are the most", all, feature.MaxFields)
	}
	switch {
	case m.HistoryRetention == 0:
		m.Since = 0
	case m.HistoryRetention > was.HistoryRetention:
		m.Since = max(was.HistoryStart(time.UnixMilli(now)).UnixMilli(), 0)
	}
	return nil
}

// ready makes the table fit both of two descriptions. Data that only the first one needs is removed
// when the collection is opened again: running answers may still read it.
func (k *step) ready(was, next *description) error {
	c, ctx, both := k.c, context.Background(), next.Meta
	both.HistoryRetention = max(was.HistoryRetention, next.HistoryRetention)
	if both.HistoryRetention != was.HistoryRetention || both.EventRetention != was.EventRetention {
		if err := c.store.cells.AlterTable(ctx, c.store.kind.Schema(&both)); err != nil {
			return c.refused(err)
		}
	}
	if was.HistoryRetention > 0 || next.HistoryRetention == 0 {
		return nil
	}
	index, is := c.index.(Historian)
	if !is {
		return errNoHistory
	}
	if err := c.store.forget(ctx, c.rows, &both); err != nil {
		return c.refused(err)
	}
	newest, err := index.BeginHistory(ctx)
	if err != nil {
		return c.refused(err)
	}
	// Versions may be ahead of the clock. The state before them is unknown.
	for _, version := range [...]int64{newest, k.floor} {
		if !k.ahead(version) {
			next.Since = max(next.Since, version)
		}
	}
	c.prune()
	return nil
}

// errNoHistory is the error for a history if the index cannot keep one.
var errNoHistory = feature.Faultf(ErrInvalid, "collections of this kind keep no history: leave it out")

// forget removes old versions from a collection without a history, so that a later history does not
// find them.
func (s *Store) forget(ctx context.Context, table cellstore.Table, m *Meta) error {
	if s.kind.Past == "" {
		return nil
	}
	past := cellstore.Scan{Selection: cellstore.Selection{Families: []string{s.kind.Past}}, Limit: 1}
	for _, err := range table.Scan(ctx, past) {
		if err != nil {
			return err
		}
		whole := s.kind.Schema(m)
		without := whole
		without.Families = slices.DeleteFunc(slices.Clone(whole.Families), func(f cellstore.Family) bool { return f.Name == s.kind.Past })
		if err := s.cells.AlterTable(ctx, without); err != nil {
			return err
		}
		return s.cells.AlterTable(ctx, whole)
	}
	return nil
}

// tidy removes data that the description of a table does not need. If it fails, the next opening of
// the table repeats it.
func (s *Store) tidy(ctx context.Context, table cellstore.Table, m *description) {
	want, err := s.kind.Schema(&m.Meta).Normalize()
	if err == nil && !slices.Equal(table.Schema().Families, want.Families) {
		err = s.cells.AlterTable(ctx, want)
	}
	if err == nil && m.HistoryRetention == 0 {
		_ = s.forget(ctx, table, &m.Meta)
	}
}

// prune removes versions that are too old, until the collection is closed: a little every second,
// or without a pause if there is much to remove.
func (c *Collection) prune() {
	c.prunes.Do(func() {
		c.pruning.Go(func() {
			pause := time.NewTimer(time.Second)
			defer pause.Stop()
			for {
				select {
				case <-c.quit:
					return
				case <-pause.C:
				}
				began := time.Now()
				next := time.Second
				if c.pruneSome() {
					next = min(next, 3*time.Since(began)) // leave disk time to others
				}
				pause.Reset(next)
			}
		})
	})
}

// grace is the time for which versions are kept beyond the history, for running queries.
const grace = time.Minute

// pruneSome removes a little, and reports whether there is much.
func (c *Collection) pruneSome() (much bool) {
	now := c.now.Load()
	index, is := now.index.(Historian)
	if !is || !c.store.clock.Settled() {
		return false
	}
	much, err := index.Prune(context.Background(), c.Now().Add(-time.Duration(c.Meta().HistoryRetention)-grace).UnixMilli()+1)
	return err == nil && much
}
