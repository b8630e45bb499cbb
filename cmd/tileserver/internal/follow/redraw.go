package follow

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"quadrille/ask"
	"quadrille/ask/fence"
	"quadrille/places/live"
)

const (
	// redrawLook is the interval of checks for redrawn borders. It equals the interval of checks
	// for new generations.
	redrawLook = 2 * time.Second
	// redrawStep bounds a step of one collection, because other collections wait for it.
	redrawStep = 30 * time.Second
)

// ReportRedraws makes live collections report the crossings that redrawn published boundaries cause,
// until ctx ends. Steps of the collections alternate, so that a large collection does not delay
// small ones.
func ReportRedraws(ctx context.Context, store *live.Store, views *ask.Views, log *slog.Logger) {
	tick := time.NewTicker(redrawLook)
	defer tick.Stop()
	// held keeps open the generations with which points are compared. When new generations replace
	// them, collections that have not switched yet still need the old ones.
	held := new(ask.Regions)
	defer func() { held.Release() }()
	logged := map[string]bool{} // errors since the last look without one
	for ctx.Err() == nil {
		serving, failed := views.HoldRegions(), false
		for todo := store.Collections(); len(todo) > 0 && ctx.Err() == nil; {
			todo = slices.DeleteFunc(todo, func(c *live.Collection) bool {
				step, cancel := context.WithTimeout(ctx, redrawStep)
				defer cancel()
				done, err := fence.Redraw(step, c, views, held)
				if err == nil || errors.Is(err, live.ErrClosed) || ctx.Err() != nil {
					return done || err != nil
				}
				failed = failed || !errors.Is(err, fence.ErrRedrawEventsLost)
				if !logged[err.Error()] {
					logged[err.Error()] = true
					log.Warn("followers get no events of borders that were redrawn", "collection", c.Meta().Name, "error", err)
				}
				return true
			})
		}
		if !failed {
			clear(logged)
			if _, err := serving.Edition(); err == nil { // a generation that was dropped is not kept from pruning
				held, serving = serving, held
			}
		}
		serving.Release()
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}
