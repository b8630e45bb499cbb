package points

import (
	"context"
	"time"

	"quadrille/quadkey"
)

// Shown is what a map shows in a tile: a point, or a cluster of several.
type Shown struct {
	Hit
	// Count is how many points a cluster stands for, in the middle of which it is shown;
	// 0 for a point itself.
	Count int64
}

const (
	// maxShown is how many points of a tile are shown by themselves.
	maxShown = 256
	// clusterZooms is by how many zooms the tiles are deeper whose points are a cluster.
	clusterZooms = 4
	// maxTile is the most points shown of a tile that cannot be divided.
	maxTile = 1000
)

// ShowTile calls fn with what a map shows in a tile. A tile of more than 256 points shows
// clusters: of each of its 16 × 16 parts with more than a few points, their number and
// the mean of their positions. The argument of fn is used again for the next.
func (c *Collection) ShowTile(ctx context.Context, t quadkey.Tile, fn func(*Shown) error) error {
	r, err := c.begin(ctx, time.Time{})
	if err != nil {
		return err
	}
	defer c.end(r)
	s := c.finds.Get().(*search)
	defer c.finds.Put(s)
	s.begin(c, r.Reader, nil, time.Time{})
	s.reset(0, 0, mark{})
	if s.blind() {
		return s.show(ctx, t, fn)
	}
	b := c.tree.find(t)
	if !b.any {
		return nil
	}
	if b.count <= maxShown || b.tile != t {
		return s.show(ctx, t, fn)
	}
	var shown Shown
	return s.clusters(ctx, b, min(t.Z+clusterZooms, quadkey.MaxZoom), &shown, fn)
}

// clusters shows the tiles of a zoom in a branch: leaves by their points.
func (s *search) clusters(ctx context.Context, b branch, zoom uint8, shown *Shown, fn func(*Shown) error) error {
	if !b.any {
		return nil
	}
	if b.tile.Z >= zoom && b.count > 1 {
		n := int64(b.count)
		*shown = Shown{Count: n, Hit: Hit{Lat: toDegrees(int32(b.lat / n)), Lon: toDegrees(int32(b.lon / n))}}
		return fn(shown)
	}
	four, divided := s.c.tree.children(&b)
	if !divided {
		return s.show(ctx, b.tile, fn)
	}
	for i := range four {
		if err := s.clusters(ctx, four[i], zoom, shown, fn); err != nil {
			return err
		}
	}
	return nil
}

// show shows the points of a tile, at most maxTile.
func (s *search) show(ctx context.Context, t quadkey.Tile, fn func(*Shown) error) error {
	s.rangeOf(t)
	var shown Shown
	n := 0
	return s.rows(ctx, s.key, s.until, 0, func() (bool, error) {
		if s.record.over(s.now) {
			return true, nil
		}
		n++
		shown.set(&s.record)
		return n < maxTile, fn(&shown)
	})
}
