package verify

import (
	"context"
	"errors"

	"golang.org/x/sync/errgroup"

	"quadrille/quadkey"
	"quadrille/tiles"
	"quadrille/tiles/internal/cells"
	"quadrille/tiles/internal/layout"
)

// answers checks the key of a row of finished answers. t is its tile, if ok is set.
func (p *checkPart) answers(typ int, key []byte, t quadkey.Tile, ok bool) {
	if n := len(quadkey.Key{}); !ok && len(key) == n+2 { // a part of divided answers
		t, ok = layout.RowTile(key[:n])
		ok = ok && t.Z == cells.Zoom
	}
	if !ok || t.Z > cells.Zoom {
		p.find(typ, ProblemAnswers, t, -1, "key %x is of no tile with answers", key)
	}
}

// checkAnswers compares the finished answers of all types with the rows that they were made of,
// tile by tile of zoom 8.
func (p *checkPart) checkAnswers(ctx context.Context, r *tiles.Reader, workers int) error {
	const some = 1 << 6 // tiles
	for i := range p.types {
		typ := p.v.types[i].Name
		found := make([]string, 1<<(2*cells.Zoom))
		g, gctx := errgroup.WithContext(ctx)
		g.SetLimit(workers)
		for from := 0; from < len(found); from += some {
			g.Go(func() error {
				for n := from; n < from+some; n++ {
					t, err := quadkey.TileFromPacked(cells.Zoom, uint64(n))
					if err == nil {
						err = r.CheckAnswers(gctx, typ, t)
					}
					switch {
					case errors.Is(err, tiles.ErrCorrupt):
						found[n] = err.Error()
					case err != nil:
						return err
					}
				}
				return nil
			})
		}
		if err := g.Wait(); err != nil {
			return err
		}
		for n, what := range found {
			if what != "" {
				t, _ := quadkey.TileFromPacked(cells.Zoom, uint64(n))
				p.find(i, ProblemAnswers, t, -1, "%s", what)
			}
		}
	}
	return nil
}
