package tile

import (
	"context"
	"errors"
	"testing"

	"quadrille/cmd/tileserver/internal/web"
	"quadrille/quadkey"
)

// A request that waits for a place to draw stops waiting when its context ends.
func TestDrawingWaits(t *testing.T) {
	s := &Handlers{Kit: &web.Kit{CPUScheduler: web.NewCPUScheduler(0)}}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.appendPNG(ctx, nil, &view{}, &layerSet{}, quadkey.Tile{}, web.FormatPNG, 0, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want %v", err, context.Canceled)
	}
}
