package pebblestore

import (
	"context"
	"errors"

	"quadrille/cellstore"

	"github.com/cockroachdb/pebble/v2"
)

// snapshot is a cellstore.Snapshot: a source with a fixed state and time.
type snapshot struct {
	source
	t  *table
	db *pebble.Snapshot
}

// Snapshot implements cellstore.Table.
func (t *table) Snapshot(ctx context.Context) (cellstore.Snapshot, error) {
	s, err := t.snapshot(ctx)
	if err != nil {
		return nil, fail("Snapshot", t.name, nil, err)
	}
	return s, nil
}

func (t *table) snapshot(ctx context.Context) (*snapshot, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	// The gate ensures that the state and the declaration of the table agree.
	t.gate.RLock()
	defer t.gate.RUnlock()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over != nil {
		return nil, t.over
	}
	s := &snapshot{t: t, db: t.db.NewSnapshot()}
	now := t.clock() // after the commits that the state holds
	s.name, s.from, s.clock, s.failed = t.name, s.db, func() int64 { return now }, t.failed
	s.lay.Store(t.lay.Load())
	t.snaps[s] = struct{}{}
	return s, nil
}

// Close implements cellstore.Snapshot.
func (s *snapshot) Close() error {
	if err := s.close(cellstore.ErrClosed); err != nil {
		return fail("Close", s.name, nil, err)
	}
	return nil
}

func (s *snapshot) close(why error) error {
	if !s.end(why) {
		return nil
	}
	s.closeReaders()
	s.t.retired.add(s.retired.sum)
	s.t.mu.Lock()
	delete(s.t.snaps, s)
	s.t.mu.Unlock()
	return errors.Join(s.db.Close())
}

func (t *table) openSnapshots() []*snapshot {
	t.mu.Lock()
	defer t.mu.Unlock()
	snaps := make([]*snapshot, 0, len(t.snaps))
	for s := range t.snaps {
		snaps = append(snaps, s)
	}
	return snaps
}
