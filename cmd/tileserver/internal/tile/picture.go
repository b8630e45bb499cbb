package tile

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"quadrille/cmd/tileserver/internal/web"
	"quadrille/quadkey"
	"quadrille/tiles"
	"quadrille/tiles/mvt"
	"quadrille/tiles/raster"
)

// renderer draws the tiles of every handler in the default style, which is
// known to be drawable.
var renderer = sync.OnceValue(func() *raster.Renderer {
	r, err := raster.New(raster.DefaultStyle())
	if err != nil {
		panic(err)
	}
	return r
})

// appendPNG appends a tile drawn as an image. Its names come from the tile and
// those around it, since names near an edge are drawn on both sides.
func (s *Room) appendPNG(ctx context.Context, dst []byte, v *view, set *layerSet, t quadkey.Tile, f web.Form) ([]byte, error) {
	b := web.GetScratch()
	defer b.Release()
	picture := raster.Tile{Zoom: int(t.Z), Scale: 1}
	if f == web.FormPNG2x {
		picture.Scale = 2
	}
	var err error
	if len(set.selectors) > 0 {
		r, err := v.boundaries.Get()
		if err != nil {
			return dst, err
		}
		if b.Body, err = r.AppendMVT(ctx, b.Body, t, set.selectors); err != nil {
			return dst, err
		}
	}
	var ends [1 + len(picture.Points)]int // of the pieces of b.body
	ends[0] = len(b.Body)
	for i := range picture.Points {
		if n, ok := neighbour(t, i%3-1, i/3-1); ok {
			if b.Body, err = appendPoints(ctx, b.Body, v, set, n); err != nil {
				return dst, err
			}
		}
		ends[i+1] = len(b.Body)
	}
	picture.Vector = b.Body[:ends[0]]
	for i := range picture.Points {
		picture.Points[i] = b.Body[ends[i]:ends[i+1]]
	}

	// Drawing takes a processor and some megabytes: no more at once than there
	// are processors.
	select {
	case s.Drawing <- struct{}{}:
		defer func() { <-s.Drawing }()
	case <-ctx.Done():
		return dst, ctx.Err()
	}
	dst, err = renderer().AppendPNG(dst, &picture)
	if errors.Is(err, mvt.ErrMalformed) {
		err = fmt.Errorf("%w: %w", tiles.ErrCorrupt, err)
	}
	return dst, err
}

// neighbour is the tile dx columns east and dy rows south of t. Columns go on
// across ±180°; rows end at the poles.
func neighbour(t quadkey.Tile, dx, dy int) (n quadkey.Tile, ok bool) {
	side := 1 << t.Z
	y := int(t.Y) + dy
	if y < 0 || y >= side {
		return quadkey.Tile{}, false
	}
	return quadkey.Tile{Z: t.Z, X: uint32((int(t.X) + dx + side) % side), Y: uint32(y)}, true
}

// appendPoints appends the layers of points of a tile: labels, places and
// airports.
func appendPoints(ctx context.Context, dst []byte, v *view, set *layerSet, t quadkey.Tile) ([]byte, error) {
	if len(set.selectors) > 0 {
		b, err := v.boundaries.Get()
		if err != nil {
			return dst, err
		}
		if dst, err = b.AppendLabels(ctx, dst, t, set.selectors); err != nil {
			return dst, err
		}
	}
	return appendPointLayers(ctx, dst, v, set, t)
}
