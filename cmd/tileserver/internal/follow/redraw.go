package follow

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"quadrille/ask"
	"quadrille/ask/fence"
	"quadrille/cellstore/dataset"
	"quadrille/places/points"
)

// redrawLook is the time between two looks for fences that were redrawn, as between two looks for
// generations.
const redrawLook = 2 * time.Second

// Redraws has live collections tell when published boundaries redraw fences around their points,
// until ctx ends.
func Redraws(ctx context.Context, live *points.Live, boundaries *dataset.Live[ask.Boundaries], log *slog.Logger) {
	tick := time.NewTicker(redrawLook)
	defer tick.Stop()
	said := map[string]string{} // the last errors, by collection
	for ctx.Err() == nil {
		for _, c := range live.Collections() {
			err := fence.Redraw(ctx, c, boundaries)
			sayRedraw(log, said, c.Meta().Name, err)
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}

// sayRedraw logs an error of a collection, once for as long as it stays the same.
func sayRedraw(log *slog.Logger, said map[string]string, collection string, err error) {
	switch {
	case err == nil:
		delete(said, collection)
	case errors.Is(err, points.ErrClosed), errors.Is(err, context.Canceled):
	case errors.Is(err, fence.ErrUntold):
		log.Warn("points were not told of fences that were redrawn", "collection", collection, "error", err)
	case said[collection] != err.Error():
		said[collection] = err.Error()
		log.Warn("points are not told yet of fences that were redrawn, which is tried again", "collection", collection, "error", err)
	}
}
