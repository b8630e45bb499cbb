package tile

import (
	"context"
	"sync"

	"quadrille/cmd/tileserver/internal/web"
	"quadrille/quadkey"
	"quadrille/tiles"
	"quadrille/tiles/layertile"
	"quadrille/tiles/mlt"
	"quadrille/tiles/platecarree"
)

// appendLayers appends the layers of a vector tile; layers that are written one after another form
// one tile. boundaries appends the layers of boundaries, or of their labels.
func appendLayers(ctx context.Context, dst []byte, v *view, set *layerSet, t quadkey.Tile,
	boundaries regionLayers,
) ([]byte, error) {
	return appendCut(ctx, dst, v, t, func(dst []byte, t quadkey.Tile) ([]byte, error) {
		dst, err := appendRegions(ctx, dst, v, set, t, boundaries)
		if err != nil {
			return dst, err
		}
		return appendTilePoints(ctx, dst, v, set, t)
	}, func(dst []byte, south bool) ([]byte, error) {
		return appendRegions(ctx, dst, v, set, t, func(b *tiles.Reader, ctx context.Context, dst []byte, _ quadkey.Tile,
			of []tiles.Selector, _ ...tiles.LabelNames) ([]byte, error) {
			return b.AppendCap(ctx, dst, south, of)
		})
	})
}

// appendCut appends the layers that mercator has of a tile, or those in degrees that are cut from them
// and, unless it is nil, from what polar has.
func appendCut(ctx context.Context, dst []byte, v *view, t quadkey.Tile, mercator func([]byte, quadkey.Tile) ([]byte, error),
	polar func(dst []byte, south bool) ([]byte, error),
) ([]byte, error) {
	if !v.inDegrees {
		return mercator(dst, t)
	}
	return platecarree.Append(ctx, dst, t, platecarree.Source{Mercator: func(dst []byte, t quadkey.Tile) ([]byte, error) {
		left := mostNames // each has its most important names
		v.naming.Left = &left
		return mercator(dst, t)
	}, Cap: polar})
}

// regionLayers appends layers of boundaries of a tile in Web Mercator, as Reader.AppendMVT does.
type regionLayers func(*tiles.Reader, context.Context, []byte, quadkey.Tile, []tiles.Selector, ...tiles.LabelNames) ([]byte, error)

// appendRegions appends the layers of boundaries that a set has.
func appendRegions(ctx context.Context, dst []byte, v *view, set *layerSet, t quadkey.Tile,
	boundaries regionLayers,
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
		return boundaries(b, ctx, dst, t, selectors, v.labels(ctx, t.Z)...)
	}
	return dst, nil
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
	return appendCut(ctx, dst, v, t, func(dst []byte, t quadkey.Tile) ([]byte, error) {
		return appendTilePoints(ctx, dst, v, set, t)
	}, nil)
}

// appendTilePoints appends those of a tile in Web Mercator.
func appendTilePoints(ctx context.Context, dst []byte, v *view, set *layerSet, t quadkey.Tile) ([]byte, error) {
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
