package tile

import (
	"cmp"
	"context"
	"iter"
	"slices"

	"quadrille/feature"
	"quadrille/quadkey"
	"quadrille/tiles/layertile"
)

// doubled is a layer for maps that draw tiles twice as large. A tile shows the features of its four
// child tiles. No feature is in two of them.
type doubled struct{ feature.Tiler }

func (d doubled) Tile(ctx context.Context, t quadkey.Tile, by feature.Filter) iter.Seq2[*feature.Feature, error] {
	return feature.SeqOf(func(fn func(*feature.Feature) error) error {
		var all []feature.Feature
		for _, part := range t.Children() {
			for f, err := range d.Tiler.Tile(ctx, part, by) {
				if err != nil {
					return err
				}
				all = append(all, f.Clone())
			}
		}
		importance := d.Info().Drawing.Importance
		slices.SortStableFunc(all, func(a, b feature.Feature) int { return cmp.Compare(importance(&b), importance(&a)) })
		for i := range all {
			if err := fn(&all[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

// NameIn implements feature.Namer for a layer that does.
func (d doubled) NameIn(ctx context.Context, number uint32, lang string) (string, bool, error) {
	return d.Tiler.(feature.Namer).NameIn(ctx, number, lang)
}

// apart is a layer without a Drawing for maps that draw a tile on few pixels. A tile shows what lies in it
// of a tile above it, so that all stands as far apart on every map.
type apart struct {
	feature.Tiler
	side int // pixels
}

func (a apart) Tile(ctx context.Context, t quadkey.Tile, by feature.Filter) iter.Seq2[*feature.Feature, error] {
	return func(yield func(*feature.Feature, error) bool) {
		for f, err := range a.Tiler.Tile(ctx, t.Ancestor(t.Z-levelsApart(t.Z, a.side)), by) {
			if err == nil {
				var in quadkey.Tile
				if in, err = quadkey.TileAt(f.Lon, f.Lat, t.Z); err == nil && in != t {
					continue
				}
			}
			if !yield(f, err) || err != nil {
				return
			}
		}
	}
}

// closeZoom is the first zoom, of tiles of 256 pixels, at which points stand 32 pixels apart. Before it
// they stand 64 pixels apart, as on the map page.
const closeZoom = 17

// levelsApart returns how many levels above a tile the tile lies whose points a map shows in it. side is the
// pixels on which the map draws a tile.
func levelsApart(zoom uint8, side int) uint8 {
	levels := uint8(1)
	if side == 512 {
		zoom++
		levels = 0
	}
	if zoom < closeZoom {
		levels++
	}
	return min(levels, zoom)
}

// looked divides the layers of points of a set into those with a Drawing and the others.
func (set *layerSet) looked() (well, others []string) {
	for _, name := range set.points {
		if set.look(name) != nil {
			well = append(well, name)
		} else {
			others = append(others, name)
		}
	}
	return well, others
}

// dataZoom is the deepest zoom that is stored. At deeper zooms clients enlarge its tiles, although
// the server could also cut deeper tiles.
const dataZoom = 13

// deepest returns the deepest zoom of a tileset. Clients enlarge vector tiles of stored data, as
// TileJSON also specifies. Pictures with their names are drawn for every zoom.
func (set *layerSet) deepest(drawn bool) int {
	if drawn {
		return quadkey.MaxZoom
	}
	if slices.ContainsFunc(set.points, func(name string) bool { return set.drawings[name] == nil }) {
		return layertile.MaxZoom
	}
	return dataZoom
}
