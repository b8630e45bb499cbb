package points

import (
	"bytes"
	"context"
	"iter"
	"math"

	"quadrille/cellstore"
	"quadrille/feature"
	"quadrille/quadkey"
)

// Tile implements feature.Tiler. A tile is 512 pixels wide, and all shown items are at least 32
// pixels apart, in the tile and over its borders. The items are points and clusters. A cluster has
// the number of its points, and is near the mean of their positions. Every point is shown in one
// tile of a zoom, alone or in a cluster.
// With a filter, clusters are of the points that pass.
func (c *Collection) Tile(ctx context.Context, t quadkey.Tile, by feature.Filter) iter.Seq2[*feature.Feature, error] {
	return feature.SeqOf(func(fn func(*feature.Feature) error) error { return c.showTile(ctx, t, by, fn) })
}

// showTile calls fn with the items of a map tile. The argument of fn is reused.
func (c *Collection) showTile(ctx context.Context, t quadkey.Tile, by feature.Filter, fn func(*feature.Feature) error) error {
	return c.grouped(ctx, t, by, func(s *search, g *grouping, clusters []cluster) error {
		ids := g.ids(clusters) // one text for all
		for i := range clusters {
			k := &clusters[i]
			if k.all > 1 {
				s.shown = feature.Feature{ID: ids[:k.idBytes], Position: k.at, ClusterSize: k.all}
				ids = ids[k.idBytes:]
				if err := fn(&s.shown); err != nil {
					return err
				}
				continue
			}
			first, last := k.first, k.last
			if g.only != nil {
				first = g.only.first(keyRange{first, last})
				last = first
			}
			s.key, s.until = appendPointKey(s.key[:0], first, ""), appendEnd(s.until[:0], last)
			if err := s.show(ctx, 1, fn); err != nil {
				return err
			}
		}
		return nil
	})
}

// grouped calls fn with the items of a tile, and with a search in the same state of the collection.
func (c *Collection) grouped(ctx context.Context, t quadkey.Tile, by feature.Filter,
	fn func(s *search, g *grouping, clusters []cluster) error) error {
	g := groupings.Get().(*grouping)
	defer groupings.Put(g)
	g.begin(t)
	if by != nil {
		g.mark = markOf(by)
		ok, err := c.selected(ctx, by, math.MaxInt32, func(r reading, sel *selection) error {
			g.only = sel
			defer func() { g.only = nil }()
			sel.gather(g, 0, len(sel.keys), quadkey.Tile{})
			return c.askOf(ctx, r, &feature.Query{Filter: by}, func(s *search) error { return fn(s, g, g.shown()) })
		})
		if ok || err != nil {
			return err
		}
	}
	if by != nil || c.tree == nil { // neither a sheet nor a tree can count the points of cells
		return c.ask(ctx, &feature.Query{Filter: by}, func(s *search) error {
			if err := feature.RunHeavy(ctx, func(ctx context.Context, step func(context.Context) error) error {
				s.step = func() error { return step(ctx) }
				defer func() { s.step = nil }()
				return s.divide(ctx, g, g.cover(nil, quadkey.Tile{}))
			}); err != nil {
				return err
			}
			return fn(s, g, g.shown())
		})
	}
	r, err := c.moment(ctx, func() { g.gather(c.tree) })
	if err != nil {
		return err
	}
	defer c.end(r)
	return c.askOf(ctx, r, &feature.Query{}, func(s *search) error {
		clusters, err := s.group(ctx, g)
		if err != nil {
			return err
		}
		return fn(s, g, clusters)
	})
}

// ids returns the ids of clusters, concatenated.
func (g *grouping) ids(clusters []cluster) string {
	g.text = g.text[:0]
	mark := ""
	if g.mark != "" {
		mark = "-" + g.mark
	}
	for i := range clusters {
		if k := &clusters[i]; k.all > 1 {
			from := len(g.text)
			g.text = append(appendClusterID(g.text, g.tile.Z, k.square), mark...)
			k.idBytes = len(g.text) - from
		}
	}
	return string(g.text)
}

// group returns the items of a tile. After some leaves are divided, it may turn out that further
// leaves must be divided too.
func (s *search) group(ctx context.Context, g *grouping) ([]cluster, error) {
	for leaves := g.takeLeaves(); ; {
		if err := s.divide(ctx, g, leaves); err != nil {
			return nil, err
		}
		shown := g.shown()
		if leaves = g.takeLeaves(); len(leaves) == 0 {
			return shown, nil
		}
	}
}

// divide reads the points of leaves that are too wide to be cells, and adds those that pass the filter.
func (s *search) divide(ctx context.Context, g *grouping, leaves []quadkey.Tile) error {
	if len(leaves) == 0 {
		return nil
	}
	ranges := make([]cellstore.Range, 0, len(leaves))
	for _, t := range leaves {
		first, last := t.PointKeys()
		r := cellstore.Range{From: appendPointKey(nil, first, ""), To: appendEnd(nil, last)}
		if n := len(ranges); n > 0 && bytes.Equal(ranges[n-1].To, r.From) {
			ranges[n-1].To = r.To
		} else {
			ranges = append(ranges, r)
		}
	}
	var k cell
	var only quadkey.PointKey // of the first point of k
	add := func() {
		if k.count == 1 {
			k.first, k.last = only, only // so that it is found among points that do not pass
		}
		g.add(k)
	}
	n := 0
	err := s.rowsOf(ctx, ranges, 0, func() (bool, error) {
		if n++; s.step != nil && n%stepPoints == 0 {
			if err := s.step(); err != nil {
				return false, err
			}
		}
		if pass, err := s.passes(); !pass || err != nil {
			return err == nil, err
		}
		if k.count == 0 || s.record.key > k.last {
			add()
			k, only = g.cellAt(s.record.key), s.record.key
		}
		k.add(sums{1, int64(s.record.lat), int64(s.record.lon)})
		return true, nil
	})
	add()
	return err
}

// show shows the points from s.key to s.until that pass the filter. most bounds their number.
func (s *search) show(ctx context.Context, most int, fn func(*feature.Feature) error) error {
	n := 0
	return s.rows(ctx, s.key, s.until, 0, func() (bool, error) {
		if pass, err := s.passes(); !pass || err != nil {
			return err == nil, err
		}
		n++
		s.record.show(&s.shown)
		return n < most, fn(&s.shown)
	})
}
