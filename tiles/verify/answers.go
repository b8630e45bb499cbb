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

// squares is a set of tiles of zoom 8.
type squares [1 << (2*cells.Zoom - 6)]uint64

// add adds the tiles of zoom 8 that share ground with a tile.
func (s *squares) add(t quadkey.Tile) {
	first, last := t.AtZoom(cells.Zoom)
	for n := first.Packed(); n <= last.Packed(); n++ { // all of these are in the tile
		s[n/64] |= 1 << (n % 64)
	}
}

func (s *squares) has(n int) bool { return s[n/64]>>(n%64)&1 != 0 }

// join adds the tiles of another set.
func (s *squares) join(o *squares) {
	for i := range s {
		s[i] |= o[i]
	}
}

// answers checks the key of a row of finished answers. t is its tile, if ok is set.
func (p *checkPart) answers(typ int, key []byte, t quadkey.Tile, ok bool) {
	if n := len(quadkey.Key{}); !ok && len(key) == n+2 { // a part of divided answers
		t, ok = layout.RowTile(key[:n])
		ok = ok && t.Z == cells.Zoom
	}
	if !ok || t.Z > cells.Zoom {
		p.find(typ, ProblemAnswers, t, -1, "key %x is of no tile with answers", key)
		return
	}
	p.types[typ].squares.add(t)
}

// checkAnswers compares the finished answers of all types with the rows that they were made of, in
// each tile of zoom 8 that has any of either.
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
					if !p.types[i].squares.has(n) {
						continue
					}
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
