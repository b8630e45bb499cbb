package layertest

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"iter"
	"math"
	"slices"
	"time"

	"quadrille/feature"
	"quadrille/quadkey"
)

// Memory is a layer of points in a slice. It scans the whole slice for each query. It is slow,
// and meant for tests: of code that uses layers, and of Test itself. Its own order is that of the
// slice.
type Memory struct {
	LayerInfo feature.Info
	List      []feature.Feature
	// Sorts is set if the layer supports the order by a property.
	Sorts bool
}

// Info implements feature.Layer.
func (m *Memory) Info() *feature.Info {
	about := m.LayerInfo
	about.Can = feature.Abilities{Near: true, Area: true, NearInArea: true, Sort: m.Sorts}
	return &about
}

// Get implements feature.Layer.
func (m *Memory) Get(_ context.Context, id string, _ time.Time, f *feature.Feature) error {
	i := slices.IndexFunc(m.List, func(o feature.Feature) bool { return o.ID == id })
	if i < 0 {
		return feature.ErrNotFound
	}
	*f = m.List[i].Clone()
	return nil
}

// Features implements feature.Layer.
func (m *Memory) Features(ctx context.Context, q *feature.Query) iter.Seq2[*feature.Feature, error] {
	if err := m.Info().Check(q); err != nil {
		return feature.SeqOfError(err)
	}
	if q.Order != (feature.Order{}) {
		return q.SelectRanked(ctx, feature.Ranking{}, func(own *feature.Query, consider func(*feature.Feature, bool) error) error {
			return feature.Each(m.Features(ctx, &feature.Query{In: own.In}), func(f *feature.Feature) error { return consider(f, true) })
		})
	}
	var after [16]byte
	if len(q.After) > 0 && copy(after[:], q.After) != len(after) || len(q.After) > len(after) {
		return feature.SeqOfError(feature.BadCursor("it is not one of a slice"))
	}
	list := slices.Clone(m.List)
	for i := range list {
		f := &list[i]
		rank := uint64(0)
		if q.Near != nil {
			f.DistanceM = f.Position.Distance(q.Near.Position)
			rank = math.Float64bits(f.DistanceM)
		}
		f.Mark = binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, rank), uint64(i+1))
	}
	slices.SortFunc(list, func(a, b feature.Feature) int { return cmp.Compare(string(a.Mark), string(b.Mark)) })
	return q.Select(ctx, func(consider func(f *feature.Feature, in bool) error) error {
		for i := range list {
			f := &list[i]
			if string(f.Mark) <= string(after[:]) {
				continue
			}
			in, err := within(ctx, q.In, f.Position)
			if n := q.Near; n != nil {
				in = in && f.DistanceM >= n.MinM && (n.MaxM == 0 || f.DistanceM <= n.MaxM)
			}
			if err == nil {
				err = consider(f, in)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// Tile implements feature.Tiler, with all points of a tile that pass.
func (m *Memory) Tile(ctx context.Context, t quadkey.Tile, f feature.Filter) iter.Seq2[*feature.Feature, error] {
	return m.Features(ctx, &feature.Query{In: feature.Tile(t), Filter: f})
}

// errFound ends a walk over the parts of an area.
var errFound = errors.New("found")

// within reports whether a position is in an area; nil is the world.
func within(ctx context.Context, a feature.Area, at quadkey.Position) (in bool, err error) {
	switch a := a.(type) {
	case nil:
		return true, nil
	case feature.Box:
		return quadkey.Box(a).Contains(at.Lon, at.Lat), nil
	case feature.Tile:
		tile, err := quadkey.TileAt(at.Lon, at.Lat, a.Z)
		return feature.Tile(tile) == a, err
	}
	cell, err := quadkey.CellOf(at.Lon, at.Lat)
	if err != nil {
		return false, err
	}
	err = a.Cover(ctx, cell, func(p *feature.AreaPart) (err error) {
		switch {
		case cell < p.Cells.First:
			return errFound
		case !p.Cells.Contains(cell):
			return nil
		}
		if in, err = p.Holds(at); err != nil {
			return err
		}
		return errFound
	})
	if errors.Is(err, errFound) {
		err = nil
	}
	return in, err
}
