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

// ShowTile calls fn with what a map shows in a tile. Of a tile with more than 256 points,
// each of the 16 × 16 parts shows its only point, or a cluster: the number of its points
// at the mean of their positions. The argument of fn is used again for the next.
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

// clusters shows the tiles of a zoom in a branch.
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
		return s.parts(ctx, b.tile, zoom, shown, fn)
	}
	for i := range four {
		if err := s.clusters(ctx, four[i], zoom, shown, fn); err != nil {
			return err
		}
	}
	return nil
}

// parts shows the tiles of a zoom in a leaf, whose points come tile by tile.
func (s *search) parts(ctx context.Context, leaf quadkey.Tile, zoom uint8, shown *Shown, fn func(*Shown) error) error {
	var tile quadkey.Tile
	var n, lat, lon int64
	emit := func() error {
		switch {
		case n == 0:
			return nil
		case n > 1:
			*shown = Shown{Count: n, Hit: Hit{Lat: toDegrees(int32(lat / n)), Lon: toDegrees(int32(lon / n))}}
		}
		return fn(shown)
	}
	s.rangeOf(leaf)
	err := s.rows(ctx, s.key, s.until, 0, func() (bool, error) {
		if s.record.over(s.now) {
			return true, nil
		}
		if at := s.record.key.Tile(zoom); n == 0 || at != tile {
			if err := emit(); err != nil {
				return false, err
			}
			tile, n, lat, lon = at, 0, 0, 0
			shown.Count = 0
			shown.set(&s.record)
		}
		n, lat, lon = n+1, lat+int64(s.record.lat), lon+int64(s.record.lon)
		return true, nil
	})
	if err != nil {
		return err
	}
	return emit()
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
