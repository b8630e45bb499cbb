package tiles

import (
	"context"
	"iter"

	"quadrille/feature"
	"quadrille/quadkey"
)

// Enclosing implements feature.Encloser. Errors match quadkey.ErrCoordinate, or come from the store.
func (l *layer) Enclosing(ctx context.Context, at quadkey.Position) iter.Seq2[*feature.Feature, error] {
	return feature.SeqOf(func(fn func(*feature.Feature) error) error {
		found, err := l.r.At(ctx, at.Lat, at.Lon, l.rt.Name)
		if err != nil {
			return err
		}
		a := l.answer(ctx, &feature.Query{Detail: feature.WithoutGeometry}, func(f *feature.Feature, _ bool) error { return fn(f) })
		for i := range found {
			if err := a.recorded(found[i].ID); err != nil {
				return err
			}
			if err := a.one(true, false); err != nil {
				return err
			}
		}
		return nil
	})
}

// Ground implements feature.Encloser.
func (l *layer) Ground(id string) feature.Area { return l.r.QueryArea(l.rt.Name, id) }
