package verify

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"quadrille/quadkey"
	"quadrille/tiles"
	"quadrille/tiles/internal/grid"
	"quadrille/tiles/internal/layout"
)

// askWitnesses compares a reader's answers with the witnesses of the sources.
func (p *checkPart) askWitnesses(ctx context.Context, r *tiles.Reader, workers int) error {
	const some = 64 // regions
	for i := range p.types {
		t := p.v.types[i]
		wrong := make([][]Example, len(t.ids))
		asked := make([]int64, len(t.ids))
		g, gctx := errgroup.WithContext(ctx)
		g.SetLimit(workers)
		for from := 0; from < len(t.ids); from += some {
			g.Go(func() error {
				for k := from; k < min(from+some, len(t.ids)); k++ {
					if err := gctx.Err(); err != nil {
						return err
					}
					var err error
					asked[k] = int64(len(t.witnesses[k]))
					if wrong[k], err = refuted(gctx, r, t.Name, t.ids[k], t.witnesses[k]); err != nil {
						return err
					}
				}
				return nil
			})
		}
		if err := g.Wait(); err != nil {
			return err
		}
		for k := range wrong {
			p.types[i].Witnesses += asked[k]
			for _, e := range wrong[k] {
				p.found.add(p.v.opts.Examples, i, t.Name, ProblemSource, e)
			}
		}
	}
	return nil
}

// refuted returns the witnesses of a region that its tiles contradict.
func refuted(ctx context.Context, r *tiles.Reader, typ, id string, witnesses []layout.Witness) (wrong []Example, err error) {
	for _, w := range witnesses {
		lon, lat := w.Degrees()
		at := fmt.Sprintf("the point at latitude %v, longitude %v", lat, lon)
		found, err := r.At(ctx, lat, lon, typ)
		answer := slices.ContainsFunc(found, func(g tiles.Region) bool { return g.ID == id })
		switch {
		case errors.Is(err, tiles.ErrCorrupt), errors.Is(err, quadkey.ErrCoordinate):
			at = fmt.Sprintf("%s cannot be asked for: %v", at, err)
		case err != nil:
			return nil, err
		case answer == w.Inside:
			continue
		case w.Inside:
			at += " is inside it in the source and outside in the tiles"
		default:
			at += " is outside it in the source and inside in the tiles"
		}
		e := Example{Region: id, Detail: at}
		if t, err := quadkey.TileAt(lon, lat, grid.MaxZoom); err == nil {
			e.Tile = t.String()
		}
		wrong = append(wrong, e)
	}
	return wrong, nil
}
