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
	var clusters []cluster
	var show bool
	r, err := c.moment(ctx, func() {
		if c.tree == nil {
			show = true
			return
		}
		b := c.tree.find(t)
		if show = b.count <= maxShown || b.tile != t; !show {
			clusters = c.tree.clusters(nil, b, min(t.Z+clusterZooms, quadkey.MaxZoom))
		}
	})
	if err != nil {
		return err
	}
	defer c.end(r)
	s := c.finds.Get().(*search)
	defer c.finds.Put(s)
	s.begin(c, r, nil, time.Time{})
	s.reset(0, 0, mark{})
	if show {
		return s.show(ctx, t, fn)
	}
	var shown Shown
	for i := range clusters {
		k := &clusters[i]
		if k.count == 0 {
			err = s.parts(ctx, k.tile, min(t.Z+clusterZooms, quadkey.MaxZoom), &shown, fn)
		} else {
			shown = Shown{Count: k.count, Hit: Hit{Lat: toDegrees(int32(k.lat / k.count)), Lon: toDegrees(int32(k.lon / k.count))}}
			err = fn(&shown)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// cluster is a tile whose points are shown as one, or if count is 0 a leaf whose points
// are to be read.
type cluster struct {
	tile            quadkey.Tile
	count, lat, lon int64
}

// clusters appends the clusters of a zoom in a branch.
func (t *tree) clusters(dst []cluster, b branch, zoom uint8) []cluster {
	if b.count == 0 {
		return dst
	}
	if b.tile.Z >= zoom && b.count > 1 {
		return append(dst, cluster{b.tile, int64(b.count), b.lat, b.lon})
	}
	four, divided := t.children(&b)
	if !divided {
		return append(dst, cluster{tile: b.tile})
	}
	for i := range four {
		dst = t.clusters(dst, four[i], zoom)
	}
	return dst
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
