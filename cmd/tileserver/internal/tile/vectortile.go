package tile

import (
	"context"
	"sync"

	"quadrille/cmd/tileserver/internal/web"
	"quadrille/quadkey"
	"quadrille/tiles"
	"quadrille/tiles/layertile"
	"quadrille/tiles/mlt"
)

// appendLayers appends the layers of a vector tile; layers that are written one after another form
// one tile. boundaries appends the layers of boundaries, or of their labels.
func appendLayers(ctx context.Context, dst []byte, v *view, set *layerSet, t quadkey.Tile,
	boundaries func(*tiles.Reader, context.Context, []byte, quadkey.Tile, []tiles.Selector, ...tiles.LabelNames) ([]byte, error),
) ([]byte, error) {
	if len(set.selectors) > 0 {
		b, err := v.Boundaries.ReaderOf(set.types...)
		if err != nil {
			return dst, err
		}
		selectors, err := set.withColumns(ctx, v, b)
		if err != nil {
			return dst, err
		}
		if dst, err = boundaries(b, ctx, dst, t, selectors, v.labels(ctx, t.Z)...); err != nil {
			return dst, err
		}
	}
	return appendPoints(ctx, dst, v, set, t)
}

var encoders = sync.Pool{New: func() any { return new(mlt.Encoder) }}

// appendMLT appends vector layers as MapLibre Tiles; layers that are written one after another also
// form one tile.
func appendMLT(dst []byte, layers func([]byte) ([]byte, error)) ([]byte, error) {
	b := web.GetScratch()
	defer b.Release()
	var err error
	if b.Body, err = layers(b.Body); err != nil {
		return dst, err
	}
	e := encoders.Get().(*mlt.Encoder)
	defer encoders.Put(e)
	return e.AppendTile(dst, b.Body)
}

// appendPoints appends the layers of points that a set has.
func appendPoints(ctx context.Context, dst []byte, v *view, set *layerSet, t quadkey.Tile) ([]byte, error) {
	for _, p := range v.of(set) {
		from, err := v.tiler(p)
		if err != nil {
			return dst, err
		}
		o := layertile.Options{Filter: v.filters.of[p.LayerInfo.Name], Fields: set.fields, Names: v.naming}
		if dst, err = layertile.AppendMVT(ctx, dst, &p.LayerInfo, from, t, o); err != nil {
			return dst, err
		}
	}
	return dst, nil
}
