package live_test

import (
	"context"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"quadrille/cellstore"
	"quadrille/feature"
	"quadrille/places/live"
	"quadrille/places/live/livetest"
	"quadrille/quadkey"
)

// toy is the smallest Index that answers. It has no rows. So its log is whole, and the whole log is
// read when a collection is opened. Copy it to begin an index of another kind.
type toy struct {
	mu    sync.RWMutex
	meta  func() *live.Meta
	at    uint64
	known map[string]*feature.Feature
	rows  map[int]map[string]struct{} // ids by whole degrees of latitude
}

// toys is the kind of toy. Its tables have only the log.
var toys = &live.Kind{
	Prefix: "toys_", Version: 1, WholeLog: true,
	Families: func(*live.Meta) []cellstore.Family { return nil },
	CheckWrite: func(w *live.Write) (lat, lon float64, err error) {
		if w.ID == "" || !(w.Lat >= -90 && w.Lat <= 90 && w.Lon >= -180 && w.Lon <= 180) {
			err = live.ErrInvalid
		}
		return w.Lat, w.Lon, err
	},
	Info: func(m *live.Meta) *feature.Info {
		return &feature.Info{Name: m.Name, Schema: m.Schema, Count: -1, AllPoints: true, Live: true, Private: m.Private}
	},
	Open: func(_ context.Context, o *live.OpenOptions) (live.Index, error) {
		return &toy{meta: o.Meta, known: map[string]*feature.Feature{}, rows: map[int]map[string]struct{}{}}, nil
	},
}

// Find implements live.State.
func (x *toy) Find(id string, f *feature.Feature) (last int64, err error) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if is := x.known[id]; is != nil {
		*f = *is
	}
	return f.Version, nil
}

// AppendProperties implements live.State.
func (x *toy) AppendProperties(dst []byte, f *feature.Feature) ([]byte, error) {
	return append(f.Properties.AppendMembers(append(dst, '{')), '}'), nil
}

// Apply implements live.Index. The memory of a change is valid only during the call, so features
// are copied.
func (x *toy) Apply(changes []live.Change) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	for i := range changes {
		c := &changes[i]
		delete(x.known, c.ID)
		if c.Was != nil {
			delete(x.rows[int(c.Was.Lat)], c.ID)
		}
		if c.Is != nil {
			is := c.Is.Clone()
			if x.known[c.ID] = &is; x.rows[int(is.Lat)] == nil {
				x.rows[int(is.Lat)] = map[string]struct{}{}
			}
			x.rows[int(is.Lat)][c.ID] = struct{}{}
		}
		x.at = max(x.at, c.Seq)
	}
	return nil
}

// LastSeq implements live.Index.
func (x *toy) LastSeq() uint64 { return x.at }

// Close implements live.Index.
func (x *toy) Close() error { return nil }

// Info implements feature.Layer.
func (x *toy) Info() *feature.Info { return toys.Info(x.meta()) }

// Get implements feature.Layer.
func (x *toy) Get(_ context.Context, id string, at time.Time, f *feature.Feature) error {
	x.mu.RLock()
	defer x.mu.RUnlock()
	is := x.known[id]
	switch {
	case !at.IsZero():
		return feature.Unsupported("questions as of an instant")
	case is == nil:
		return live.ErrNotFound
	}
	*f = is.Clone()
	return nil
}

// Features implements feature.Layer, in the order of ids.
func (x *toy) Features(ctx context.Context, q *feature.Query) iter.Seq2[*feature.Feature, error] {
	if err := x.Info().Check(q); err != nil {
		return feature.SeqOfError(err)
	}
	return q.Select(ctx, func(consider func(*feature.Feature, bool) error) error {
		box, boxed := q.In.(feature.Box)
		for _, f := range x.found(box, boxed, string(q.After)) {
			f.Mark = feature.Mark(f.ID)
			if err := consider(&f, true); err != nil {
				return err
			}
		}
		return nil
	})
}

// found returns the features after an id in the state of one moment.
func (x *toy) found(box feature.Box, boxed bool, after string) (list []feature.Feature) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	for lat, ids := range x.rows {
		if boxed && (float64(lat+1) < box.South || float64(lat-1) > box.North) {
			continue
		}
		for id := range ids {
			f := x.known[id]
			if id > after && (!boxed || quadkey.Box(box).Contains(f.Lon, f.Lat)) {
				list = append(list, f.Clone())
			}
		}
	}
	slices.SortFunc(list, func(a, b feature.Feature) int { return strings.Compare(a.ID, b.ID) })
	return list
}

// toy passes the tests for every index.
func TestToy(t *testing.T) { livetest.TestIndex(t, toys, disk) }
