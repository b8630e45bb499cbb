package tiles

import (
	"bytes"
	"context"
	"fmt"

	"quadrille/cellstore"
	"quadrille/quadkey"
	"quadrille/tiles/internal/grid"
	"quadrille/tiles/internal/layout"
)

// Walk calls fn with the non-empty vector tiles of one zoom, 0 to MaxZoom, in the order of the
// Hilbert curve. The tiles are those of AppendMVT. A tile of a lower zoom represents all its
// descendants at that zoom, which are equal: the inside of a country is one call, not a million.
// The bytes are valid until fn returns.
//
// Walk enters a tile only if rows are stored below it, so its cost depends on the number of rows
// and not on the grid. Errors are those of AppendMVT, or the error of fn, which ends the walk.
func (r *Reader) Walk(ctx context.Context, layers []Selector, zoom int, fn func(t quadkey.Tile, mvt []byte) error) error {
	return r.WalkWith(ctx, layers, zoom, nil, fn)
}

// Overlay is what tiles have besides regions.
type Overlay interface {
	// Any reports whether a descendant of a tile at a zoom may have something. It may be wrong only
	// if it says yes, which costs time.
	Any(ctx context.Context, t quadkey.Tile, zoom uint8) (bool, error)
	// Append appends vector layers of a tile.
	Append(ctx context.Context, dst []byte, t quadkey.Tile) ([]byte, error)
}

// WalkWith does the same as Walk with tiles that have an overlay behind the regions. nil means none.
// Of an overlay without layers the zoom may be as deep as quadkey.MaxZoom.
func (r *Reader) WalkWith(ctx context.Context, layers []Selector, zoom int, over Overlay, fn func(t quadkey.Tile, mvt []byte) error) error {
	deepest := grid.MaxZoom
	if over != nil && len(layers) == 0 {
		deepest = quadkey.MaxZoom
	}
	if zoom < 0 || zoom > deepest {
		return fmt.Errorf("zoom %d has no tiles of its own: ask for 0 to %d", zoom, deepest)
	}
	types, err := r.selected(nil, layers)
	if err != nil {
		return err
	}
	w := tileWalk{r: r, ctx: ctx, layers: layers, types: types, zoom: uint8(zoom), over: over, fn: fn}
	for _, t := range types {
		w.shapes = append(w.shapes, t.mvt)
		w.labels = append(w.labels, t.label)
	}
	w.rows = make([]cellstore.Row, 2*len(types))
	return w.visit(0, 0)
}

// tileWalk is the state of one Walk.
type tileWalk struct {
	r      *Reader
	ctx    context.Context
	layers []Selector
	zoom   uint8
	over   Overlay
	fn     func(quadkey.Tile, []byte) error
	types  []*readerType
	// Labels can lie inside leaves, so their families are checked separately.
	shapes, labels []string        // families, one for each type
	rows           []cellstore.Row // shapes first, then labels
	tile           []byte
}

// visit walks the tile at position d on the Hilbert curve of zoom z.
func (w *tileWalk) visit(z uint8, d uint64) error {
	if err := w.ctx.Err(); err != nil {
		return err
	}
	t, err := quadkey.TileFromHilbert(z, d)
	if err != nil {
		return err
	}
	ask := t
	if z < w.zoom {
		deeper, uniform, err := w.below(t)
		if err == nil && !deeper && w.over != nil {
			deeper, err = w.over.Any(w.ctx, t, w.zoom)
		}
		if err != nil {
			return err
		}
		if deeper {
			for i := range uint64(4) {
				if err := w.visit(z+1, 4*d+i); err != nil {
					return err
				}
			}
			return nil
		}
		if !uniform {
			return nil
		}
		// Leave out t itself, because it may have a label of its own.
		ask, _ = t.AtZoom(w.zoom)
	}
	w.tile = w.tile[:0]
	if len(w.layers) > 0 {
		w.tile, err = w.r.AppendMVT(w.ctx, w.tile, ask, w.layers)
	}
	if err == nil && w.over != nil && z == w.zoom {
		w.tile, err = w.over.Append(w.ctx, w.tile, t)
	}
	if err != nil || len(w.tile) == 0 {
		return err
	}
	return w.fn(t, w.tile)
}

// below reports whether rows are stored for descendants of a tile and, if not,
// whether a leaf shows the same in all of them. The first row at or after the
// tile's first descendant decides: it lies below the tile, is the tile's own
// row, or lies after it.
func (w *tileWalk) below(t quadkey.Tile) (deeper, uniform bool, err error) {
	key := t.Key()
	first, _ := t.AtZoom(quadkey.CellZoom)
	from := first.Key()
	if err := nextEach(w.ctx, t, w.types, from[:], w.shapes, w.rows); err != nil {
		return false, false, err
	}
	if err := nextEach(w.ctx, t, w.types, from[:], w.labels, w.rows[len(w.types):]); err != nil {
		return false, false, err
	}
	for i := range w.rows {
		row := &w.rows[i]
		if row.Empty() {
			continue
		}
		if bytes.Compare(row.Key, key[:]) < 0 {
			return true, false, nil
		}
		if i >= len(w.types) {
			continue
		}
		above, ok := layout.RowTile(row.Key)
		if ok && above.Contains(t) && len(row.Cells[0].Value) > 0 && row.Cells[0].Value[0] == layout.MarkLeaf {
			uniform = true
		}
	}
	return false, uniform, nil
}
