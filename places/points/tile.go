package points

import (
	"context"
	"iter"

	"quadrille/feature"
	"quadrille/quadkey"
)

const (
	// maxShown is the number of points of a tile up to which each is shown by itself.
	maxShown = 256
	// clusterZooms says how many zooms deeper than the tile shown the tiles are whose points
	// form one cluster.
	clusterZooms = 4
	// maxTile is the most points shown of a tile that cannot be divided.
	maxTile = 1000
)

// Tile implements feature.Tiler. Of a tile with more than 256 points, each of the 16 × 16
// parts shows its only point, or a cluster: the number of its points at the mean of their
// positions.
func (c *Collection) Tile(ctx context.Context, t quadkey.Tile) iter.Seq2[*feature.Feature, error] {
	return feature.Answer(func(fn func(*feature.Feature) error) error { return c.showTile(ctx, t, fn) })
}

// showTile calls fn with what a map shows in a tile. The argument of fn is used again.
func (c *Collection) showTile(ctx context.Context, t quadkey.Tile, fn func(*feature.Feature) error) error {
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
	return c.askOf(ctx, r, &feature.Query{}, func(s *search) error {
		if show {
			return s.show(ctx, t, fn)
		}
		for i := range clusters {
			k := &clusters[i]
			if k.count == 0 {
				err = s.parts(ctx, k.tile, min(t.Z+clusterZooms, quadkey.MaxZoom), fn)
			} else {
				err = fn(s.cluster(k.count, k.lat, k.lon))
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// cluster is the feature that stands for points, given the sums of their positions.
func (s *search) cluster(points, lat, lon int64) *feature.Feature {
	middle := position{lat: int32(lat / points), lon: int32(lon / points)}
	s.shown = feature.Feature{Position: middle.degrees(), Members: points}
	return &s.shown
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
func (s *search) parts(ctx context.Context, leaf quadkey.Tile, zoom uint8, fn func(*feature.Feature) error) error {
	var tile quadkey.Tile
	var n, lat, lon int64
	var first kept // of the part; its row is gone when the point is shown
	emit := func() error {
		switch n {
		case 0:
			return nil
		case 1:
			first.show(&s.shown)
			return fn(&s.shown)
		}
		return fn(s.cluster(n, lat, lon))
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
			first.copy(&s.record)
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
func (s *search) show(ctx context.Context, t quadkey.Tile, fn func(*feature.Feature) error) error {
	s.rangeOf(t)
	n := 0
	return s.rows(ctx, s.key, s.until, 0, func() (bool, error) {
		if s.record.over(s.now) {
			return true, nil
		}
		n++
		s.record.show(&s.shown)
		return n < maxTile, fn(&s.shown)
	})
}
