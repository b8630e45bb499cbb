package tiles

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"quadrille/cellstore"
	"quadrille/feature"
	"quadrille/quadkey"
	"quadrille/tiles/internal/grid"
	"quadrille/tiles/internal/layout"
	"quadrille/tiles/mvt"
)

const (
	// A box of at most this many tiles of zoom 13 is read in full.
	wholeTiles = 1024
	// For a larger box, only a seam along its edges is read. The seam is at least this many units
	// wide; see meetsInside.
	seamUnits = 512
)

// within finds the regions that meet the window of a box. The answer is exact to the border on the
// world grid. The box is rounded to 2⁻²⁰ of a unit, about a micrometre.
//
// A small box costs one seek for each of its non-empty tiles of zoom 13, at most a thousand. For a
// larger box, within first reads the tiles along its edge, a few thousand rows and never more than
// about 65 000. It then reads the region records in order.
type within struct {
	r      *Reader
	ctx    context.Context
	s      *scratch
	box    quadkey.Box
	window window
	whole  bool   // read every tile of the box, not only those along its edge
	after  string // begin after this id of the type
	rects  []rect
	// step, if set, is called after every tile, so that other work can run.
	step func(context.Context) error
}

func (r *Reader) newWithin(ctx context.Context, box quadkey.Box, win window) *within {
	w := &within{r: r, ctx: ctx, box: box, window: win, s: r.scratch.Get().(*scratch)}
	w.whole = w.window.tilesAt(grid.MaxZoom) <= wholeTiles
	return w
}

func (w *within) release() { w.r.scratch.Put(w.s) }

// each calls fn with the candidate regions of a type in the order of their ids. All regions that
// meet the box are among them. The record is valid until fn returns. An error of fn ends the walk.
func (w *within) each(rt *readerType, fn func(rec *record, meets bool) error) error {
	names, err := w.seen(rt, &w.window, w.whole, "")
	if err != nil {
		return err
	}
	if w.whole {
		return w.r.eachNamed(w.ctx, rt, names, w.after, func(rec *record) error { return fn(rec, true) })
	}
	for row, err := range w.r.scanRegions(w.ctx, rt, w.after, false) {
		if err != nil {
			return err
		}
		rec, err := rt.parseRecord(string(row.Key[1:]), row.Cells[0].Value)
		if err != nil {
			return err
		}
		_, meets := names[rec.id]
		if !meets {
			if meets, err = w.meets(rt, rec.id, rec.bounds); err != nil {
				return err
			}
		}
		if err := fn(&rec, meets); err != nil {
			return err
		}
	}
	return nil
}

// eachNamed calls fn with the records of the named regions after an id, in the order of their ids.
// Scanning all records is faster than reading a quarter of them one by one, which a cache of rows
// can answer.
func (r *Reader) eachNamed(ctx context.Context, rt *readerType, names map[string]struct{}, after string, fn func(rec *record) error) error {
	if 4*len(names) > rt.Regions {
		return r.eachScanned(ctx, rt, names, after, fn)
	}
	var ids []string
	for id := range names {
		if feature.CompareRegionIDs(id, after) > 0 {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, feature.CompareRegionIDs)
	for _, id := range ids {
		rec, err := r.record(ctx, rt.Name, id)
		if errors.Is(err, ErrNotFound) {
			err = noRecord(rt, id)
		}
		if err != nil {
			return err
		}
		if err := fn(&rec); err != nil {
			return err
		}
	}
	return nil
}

// eachScanned does the same as eachNamed, with a scan.
func (r *Reader) eachScanned(ctx context.Context, rt *readerType, names map[string]struct{}, after string,
	fn func(rec *record) error) error {
	left := make(map[string]string, len(names)) // by their keys, which ignore case
	for id := range names {
		if feature.CompareRegionIDs(id, after) > 0 {
			left[string(layout.RegionKey(rt.KeyByte, id))] = id
		}
	}
	for row, err := range r.scanRegions(ctx, rt, after, false) {
		if err != nil {
			return err
		}
		id, named := left[string(row.Key)]
		if !named {
			continue
		}
		delete(left, string(row.Key))
		value, _ := row.Value(layout.FamilyRecord, nil)
		rec, err := rt.parseRecord(id, value)
		if err != nil {
			return err
		}
		if err := fn(&rec); err != nil {
			return err
		}
	}
	for _, id := range left {
		return noRecord(rt, id)
	}
	return nil
}

func noRecord(rt *readerType, id string) error {
	return fmt.Errorf("%w: no record of %s %s", ErrCorrupt, rt.Name, id)
}

// seen returns the regions of a type that meet a window in a polar cap or in a
// tile. With whole set it reads every tile of the window, otherwise only those
// in a seam along its edge. With an id it looks for that region only.
func (w *within) seen(rt *readerType, win *window, whole bool, only string) (map[string]struct{}, error) {
	seen := make(map[string]struct{})
	d := descend(w.ctx, w.s, rt, 0)
	collect := func(value []byte, sub uint, all bool) error {
		if w.step != nil {
			if err := w.step(w.ctx); err != nil {
				return err
			}
		}
		_, err := w.s.eachIn(value, !rt.IsLines, func(f mvt.Feature) error {
			id := w.s.view.StringTag(f, layout.TagID)
			if _, ok := seen[string(id)]; ok || only != "" && string(id) != only {
				return nil
			}
			meets := all
			if !all {
				var err error
				if meets, err = w.s.touches(f, w.rects, sub); err != nil {
					return err
				}
			}
			if meets {
				seen[string(id)] = struct{}{}
			}
			return nil
		})
		return err
	}
	for i, polar := range layout.PolarCaps {
		if !win.caps[i].any {
			continue
		}
		value, err := d.polar(polar)
		if err != nil {
			return nil, err
		}
		if value == nil {
			continue
		}
		w.rects = win.caps[i].within(w.rects[:0], polar.Box)
		if err := collect(value, capSubBits, false); err != nil {
			return nil, err
		}
	}
	want := func(t quadkey.Tile) bool {
		w.rects = win.within(w.rects[:0], t)
		return len(w.rects) > 0 && (whole || !win.deep(t, seamUnits))
	}
	err := d.walk(quadkey.Tile{}, grid.MaxZoom, want, func(_ quadkey.Tile, leaf bool, value []byte) error {
		return collect(value, tileSubBits, leaf)
	})
	return seen, err
}

// boundsSlack exceeds the distance between bounds and borders, in degrees. Records give bounds as
// the source has them, to a millionth of a degree. The grid is coarser, a hundred-thousandth.
const boundsSlack = 1e-4

// meets decides whether a region that was not seen along the edge of the box meets the box. Any
// part of the region in the box lies deep inside.
func (w *within) meets(rt *readerType, id string, bounds [4]float64) (bool, error) {
	inside, apart := compareBounds(w.box, bounds, boundsSlack)
	switch {
	case apart:
		return false, nil
	case inside:
		// A smaller region may have vanished on the grid, but a line of the record cannot.
		if rt.IsLines || min(spanOf(bounds[0], bounds[2]).width, bounds[3]-bounds[1]) >= boundsSlack {
			return true, nil
		}
		win := windowOf(widened(bounds, boundsSlack))
		seen, err := w.seen(rt, &win, true, id)
		return len(seen) > 0, err
	}
	return w.meetsInside(rt, id)
}

// meetsInside looks for a vertex of the region's whole geometry deep inside the box. That geometry
// has another projection, and for giants a coarser grid, but its error is less than the width of
// the seam. The border does not enter the seam, so each of its rings has either no vertex inside
// the box or all of them.
func (w *within) meetsInside(rt *readerType, id string) (bool, error) {
	var row cellstore.Row
	sel := cellstore.Selection{Families: []string{layout.FamilyGeometry}}
	ok, err := rt.regions.Get(w.ctx, layout.RegionKey(rt.KeyByte, id), &sel, &row)
	if err != nil || !ok {
		return false, err
	}
	deep := w.window.shrunk()
	return eachPosition(row.Cells[0].Value, func(lon, lat float64) bool {
		return lat >= deep.South && lat <= deep.North &&
			(lon >= deep.West && lon <= deep.East || lon+360 >= deep.West && lon+360 <= deep.East)
	})
}

// shrunk returns the part of the window that is at least half a seam away from its edges, in
// degrees and within the latitudes of tiles. East may exceed 180.
func (w *window) shrunk() quadkey.Box {
	const m = seamUnits / 2
	unit := func(v int64) float64 { return float64(v) / float64(tileUnit) }
	b := quadkey.Box{West: -180, South: -quadkey.MaxLatitude, East: 180, North: quadkey.MaxLatitude}
	if !w.full {
		b.West = (unit(w.x0)+m)/grid.WorldSize*360 - 180
		b.East = (unit(w.x1)-m)/grid.WorldSize*360 - 180
	}
	if !w.openNorth {
		b.North = layout.MercatorLat(unit(w.y0) + m)
	}
	if !w.openSouth {
		b.South = layout.MercatorLat(unit(w.y1) - m)
	}
	return b
}

// eachPosition calls fn for the positions of a stored geometry until it returns
// true, and reports whether it did. A position is a pair of numbers in
// brackets; the geometry has no other numbers.
func eachPosition(geometry []byte, fn func(lon, lat float64) bool) (bool, error) {
	var pair [2]float64
	n := 0
	for i := 0; i < len(geometry); {
		c := geometry[i]
		if c != '-' && (c < '0' || c > '9') {
			i++
			continue
		}
		v, size, ok := layout.ParseFixed(geometry[i:])
		if !ok {
			return false, fmt.Errorf("%w: geometry of a region", ErrCorrupt)
		}
		i += size
		pair[n] = v
		if n = 1 - n; n == 0 && fn(pair[0], pair[1]) {
			return true, nil
		}
	}
	return false, nil
}
