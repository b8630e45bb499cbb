package tiles

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"quadrille/cellstore"
	"quadrille/quadkey"
	"quadrille/tiles/internal/grid"
	"quadrille/tiles/internal/layout"
	"quadrille/tiles/mvt"
)

// LabelNames returns an attribute to set on the label of a region. The name "" sets none. An
// attribute that the label already has is replaced.
type LabelNames func(typ, id string) (key, name string, err error)

// mostNamed bounds the number of labels of a layer for which LabelNames are called. The most
// important labels come first.
const mostNamed = 1000

// AppendMVT appends the vector layers of a tile. If nothing is appended, the
// tile is empty. Each type T that the selectors name has these layers, in the
// data set's order and without the empty ones:
//
//	T        polygons: id, name; map_color, 0 to 5, which differs between regions
//	         that share a border, and which data sets of older versions lack;
//	         merged, the number of regions a polygon stands for, where small
//	         regions are merged, see [Generalisation]
//	T_line   borders, one feature for each pair of neighbours: right and left,
//	         the ids of the regions on the line's two sides, one of which may be
//	         absent
//	T_label  points: region, which is the id of it, name, and rank, 0 for the
//	         type's largest region; each region has one in one tile of every zoom
//	         that shows it by itself. Data sets of older versions have id, as the
//	         polygons do
//
// Polygons and lines extend 1/64 of the tile beyond it. Zooms beyond 13 are cut
// from zoom 13. The cost is one seek per type, and one filter lookup for
// labels. Errors match ErrUnknownType or come from the store, or from names.
func (r *Reader) AppendMVT(ctx context.Context, dst []byte, t quadkey.Tile, layers []Selector, names ...LabelNames) ([]byte, error) {
	s := r.scratch.Get().(*scratch)
	defer r.scratch.Put(s)
	var err error
	if s.types, err = r.selected(s.types[:0], layers); err != nil {
		return dst, err
	}
	base := t.Ancestor(grid.MaxZoom)
	if err := r.seek(ctx, s, base, s.types, true); err != nil {
		return dst, err
	}
	if err := r.seekLabels(ctx, s, base); err != nil {
		return dst, err
	}
	for i, rt := range s.types {
		w := wantedOf(layers, rt.Name)
		if !s.rows[i].Empty() {
			mark, tile, err := splitMark(s.rows[i].Cells[0].Value)
			if err != nil {
				return dst, err
			}
			c := cut{scratch: s, rt: rt, base: base, t: t, wanted: w}
			// A leaf's square is the same for every tile in it.
			c.whole = base == t || mark == layout.MarkLeaf
			if dst, err = c.appendTo(dst, tile); err != nil {
				return dst, err
			}
		}
		if dst, err = s.cutLabels(dst, rt, base, t, &w, names); err != nil {
			return dst, err
		}
	}
	return dst, nil
}

// AppendCap appends the vector layers T of what types have beyond the square of Web Mercator, in the
// north or in the south, with the polygons' attributes of AppendMVT. Whatever extent the layers state,
// 2²⁵ units are 360°: x is counted from −180°, y from the northern limit of the cap. A cap has no borders
// and labels, and no colours in data sets of older versions. Errors are those of AppendMVT.
func (r *Reader) AppendCap(ctx context.Context, dst []byte, south bool, layers []Selector) ([]byte, error) {
	s := r.scratch.Get().(*scratch)
	defer r.scratch.Put(s)
	var err error
	if s.types, err = r.selected(s.types[:0], layers); err != nil {
		return dst, err
	}
	at := layout.NorthCap
	if south {
		at = layout.SouthCap
	}
	for _, rt := range s.types {
		d := descend(ctx, s, rt, 0)
		polygons, err := d.polar(at)
		if err != nil {
			return dst, err
		}
		if polygons == nil {
			continue
		}
		if dst, err = (&cut{scratch: s, rt: rt, whole: true, wanted: wantedOf(layers, rt.Name)}).appendTo(dst, polygons); err != nil {
			return dst, err
		}
	}
	return dst, nil
}

// AppendLabels appends the layers T_label of a tile, as AppendMVT does, and no
// others.
func (r *Reader) AppendLabels(ctx context.Context, dst []byte, t quadkey.Tile, layers []Selector, names ...LabelNames) ([]byte, error) {
	s := r.scratch.Get().(*scratch)
	defer r.scratch.Put(s)
	var err error
	if s.types, err = r.selected(s.types[:0], layers); err != nil {
		return dst, err
	}
	base := t.Ancestor(grid.MaxZoom)
	if err := r.seekLabels(ctx, s, base); err != nil {
		return dst, err
	}
	for _, rt := range s.types {
		w := wantedOf(layers, rt.Name)
		if dst, err = s.cutLabels(dst, rt, base, t, &w, names); err != nil {
			return dst, err
		}
	}
	return dst, nil
}

// seekLabels reads the labels of a tile. A label row answers only for its own tile. Types in the
// same tables share one label row, which is in the slot of the first of these types.
func (r *Reader) seekLabels(ctx context.Context, s *scratch, t quadkey.Tile) error {
	s.families = s.families[:0]
	for _, rt := range s.types {
		s.families = append(s.families, rt.label)
	}
	for len(s.labels) < len(s.types) {
		s.labels = append(s.labels, cellstore.Row{})
	}
	key := t.Key()
	var to int
	for from := 0; from < len(s.types); from = to {
		to = sameTables(s.types, from)
		if s.types[from].apart(t) {
			s.labels[from].Reset()
			continue
		}
		sel := cellstore.Selection{Families: s.families[from:to]}
		if _, err := s.types[from].bounds.Get(ctx, key[:], &sel, &s.labels[from]); err != nil {
			return err
		}
	}
	return nil
}

// cutLabels appends the labels of the chosen regions that lie in tile t, which is base or one of
// its descendants. If names add nothing to a layer, it is appended as it is stored.
func (s *scratch) cutLabels(dst []byte, rt *readerType, base, t quadkey.Tile, w *wanted, names []LabelNames) ([]byte, error) {
	row := slices.IndexFunc(s.types, func(o *readerType) bool { return o.tables == rt.tables })
	value, ok := s.labels[row].Value(rt.label, nil)
	if !ok {
		return dst, nil
	}
	_, tile, err := splitMark(value)
	if err != nil {
		return dst, err
	}
	changed := base != t || !w.all()
	if !changed && len(names) == 0 {
		return append(dst, tile...), nil
	}
	of := cmp.Or(rt.LabelOf, layout.TagID)
	s.layer.Reset(rt.Name + layout.LayerLabel)
	scale, ox, oy := placeIn(base, t)
	_, err = s.eachIn(tile, false, func(f mvt.Feature) error {
		own := s.view.StringTag(f, of)
		if !w.has(own) {
			return nil
		}
		id := string(own)
		var p mvt.Path
		p.Reset(f)
		pts, _, ok, err := p.Next(s.path[:0])
		if err != nil || !ok || len(pts) != 1 {
			return fmt.Errorf("%w: %w", ErrCorrupt, errors.Join(err, errors.New("a label that is not a point")))
		}
		s.path = pts
		at := grid.Pt(pts[0].X<<scale-ox, pts[0].Y<<scale-oy)
		if at.X < 0 || at.X >= mvt.Extent || at.Y < 0 || at.Y >= mvt.Extent {
			return nil
		}
		s.layer.Begin(f.ID, mvt.Point)
		written := ""
		for i := 0; i < len(names) && s.layer.Len() < mostNamed; i++ {
			key, name, err := names[i](rt.Name, id)
			if err != nil {
				return err
			}
			if name != "" {
				changed, written = true, key
				s.layer.TagString(key, name)
			}
		}
		if err := s.copyTags(f, written); err != nil {
			return err
		}
		s.layer.Point(at)
		s.layer.End()
		return nil
	})
	if !changed && err == nil {
		return append(dst, tile...), nil
	}
	return s.layer.AppendTo(dst), err
}

// placeIn returns the position of a tile in its ancestor base: the number of halvings, and the
// tile's origin in base's coordinates scaled by them.
func placeIn(base, t quadkey.Tile) (scale uint8, ox, oy int32) {
	scale = t.Z - base.Z
	return scale, int32(t.X-base.X<<scale) * mvt.Extent, int32(t.Y-base.Y<<scale) * mvt.Extent
}

// cut copies regions from the layers T and T_line of tile base to its descendant t.
type cut struct {
	*scratch
	rt      *readerType
	base, t quadkey.Tile
	whole   bool // geometries are the same in both
	wanted
}

// appendTo appends the chosen regions of a stored tile.
func (c *cut) appendTo(dst, tile []byte) ([]byte, error) {
	if c.whole && c.all() && c.columns == nil {
		return append(dst, tile...), nil
	}
	c.layer.Reset(c.rt.Name)
	rest, err := c.eachRegion(tile, c.ids, func(f mvt.Feature, _, _ []byte) error {
		if !c.only.has(f.ID) {
			return nil
		}
		switch {
		case !c.whole || !c.all():
			if err := c.begin(f, c.columns, ""); err != nil {
				return err
			}
		default: // all attributes of the stored layer are needed, so they are copied without a look
			if c.layer.Len() == 0 {
				c.layer.ResetTo(c.rt.Name, &c.view)
			}
			c.layer.Begin(f.ID, f.Type)
			c.layer.CopyTags(f)
			c.columns.tag(&c.layer.Layer, f.ID)
		}
		if c.whole {
			c.layer.Geometry(f)
		} else {
			polys, err := c.crop(f, c.base, c.t, true)
			if err != nil {
				return err
			}
			c.layer.Polygons(polys, grid.Point{}, 0)
		}
		c.layer.End()
		return nil
	})
	if err != nil {
		return dst, err
	}
	dst = c.layer.AppendTo(dst)
	columns := c.columns
	if !c.rt.IsLines {
		columns = nil // borders are no regions
	}
	if len(rest) == 0 || c.whole && c.all() && columns == nil {
		return append(dst, rest...), nil
	}
	c.layer.Reset(c.rt.Name + layout.LayerLine)
	_, err = c.eachIn(rest, false, func(f mvt.Feature) error {
		of := func(tag string) bool { return c.has(c.view.StringTag(f, tag)) }
		if !of(layout.TagID) && !of(layout.TagRight) && !of(layout.TagLeft) {
			return nil
		}
		beyond := ""
		for _, side := range []string{layout.TagRight, layout.TagLeft} {
			if c.only != nil && !c.only.hasID(c.typ, c.view.StringTag(f, side)) {
				beyond = side
			}
		}
		err := c.begin(f, columns, beyond)
		if err == nil && c.whole {
			c.layer.Geometry(f)
		} else if err == nil {
			err = c.cropLines(f, c.base, c.t, layout.TileBuffer, c.layer.Line)
		}
		c.layer.End()
		return err
	})
	return c.layer.AppendTo(dst), err
}

// begin starts a feature with the attributes of f, except the one named but, and its columns.
func (c *cut) begin(f mvt.Feature, columns columnSet, but string) error {
	c.layer.Begin(f.ID, f.Type)
	err := c.copyTags(f, but)
	columns.tag(&c.layer.Layer, f.ID)
	return err
}

// copyTags copies all attributes of a feature, except the one named but, to the feature that is
// being written.
func (s *scratch) copyTags(f mvt.Feature, but string) error {
	err := s.view.EachTag(f, func(key, value []byte) bool {
		if string(key) != but {
			s.layer.CopyTag(key, value)
		}
		return true
	})
	if err != nil {
		return fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	return nil
}

// cropLines calls fn for the lines of a feature of tile base, cut to tile t and a buffer around it.
// A line is valid until fn returns and has at least two points.
func (s *scratch) cropLines(f mvt.Feature, base, t quadkey.Tile, buffer int32, fn func([]grid.Point)) error {
	scale, ox, oy := placeIn(base, t)
	b := grid.Box{X0: -buffer, Y0: -buffer, X1: mvt.Extent + buffer, Y1: mvt.Extent + buffer}
	var p mvt.Path
	p.Reset(f)
	for {
		pts, err := s.nextLine(&p)
		if err != nil || pts == nil {
			return err
		}
		for i, q := range pts {
			pts[i] = grid.Pt(q.X<<scale-ox, q.Y<<scale-oy)
		}
		s.line = grid.ClipLine(pts, b, s.line, fn)
	}
}

// eachIn calls fn for the features of the first layer, and returns the bytes
// after that layer. With polygons set it leaves out a layer of lines.
func (s *scratch) eachIn(tile []byte, polygons bool, fn func(f mvt.Feature) error) (rest []byte, err error) {
	rest, ok, err := mvt.NextLayer(tile, &s.view)
	if err != nil || !ok {
		return nil, fmt.Errorf("%w: %w", ErrCorrupt, errors.Join(err, errNoLayer(ok)))
	}
	if polygons && bytes.HasSuffix(s.view.Name, []byte(layout.LayerLine)) {
		return tile, nil // a layer of lines has nothing else
	}
	for i := range s.view.Len() {
		f, err := s.view.Feature(i)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
		}
		if err := fn(f); err != nil {
			return nil, err
		}
	}
	return rest, nil
}

// eachRegion calls fn for the regions of a stored layer: all, or those in ids.
func (s *scratch) eachRegion(tile []byte, ids []string, fn func(f mvt.Feature, id, name []byte) error) (rest []byte, err error) {
	return s.eachIn(tile, true, func(f mvt.Feature) error {
		id := s.view.StringTag(f, layout.TagID)
		if !among(ids, id) {
			return nil
		}
		return fn(f, id, s.view.StringTag(f, layout.TagName))
	})
}

// nextRing returns the next ring of a polygon, valid until the next call. It
// returns nil at the end.
func (s *scratch) nextRing(p *mvt.Path) ([]grid.Point, error) {
	pts, closed, ok, err := p.Next(s.path[:0])
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
	case !ok:
		return nil, nil
	case !closed || len(pts) == 0:
		return nil, fmt.Errorf("%w: an open ring", ErrCorrupt)
	}
	s.path = pts
	return pts, nil
}

// nextLine returns the next line, valid until the next call. It returns nil at the end.
func (s *scratch) nextLine(p *mvt.Path) ([]grid.Point, error) {
	pts, _, ok, err := p.Next(s.path[:0])
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
	case !ok:
		return nil, nil
	case len(pts) < 2:
		return nil, fmt.Errorf("%w: a line of %d points", ErrCorrupt, len(pts))
	}
	s.path = pts
	return pts, nil
}

// nextEdges returns the next ring of a polygon, or the next line, as the start of its first edge
// and the end of each edge. They are valid until the next call, and nil at the end.
func (s *scratch) nextEdges(p *mvt.Path, lines bool) (from grid.Point, to []grid.Point, err error) {
	if !lines {
		if to, err = s.nextRing(p); to != nil {
			from = to[len(to)-1]
		}
		return from, to, err
	}
	if to, err = s.nextLine(p); to != nil {
		from, to = to[0], to[1:]
	}
	return from, to, err
}

// eachFeature does the same as eachRegion, for callers that need only the polygons.
func (s *scratch) eachFeature(tile []byte, ids []string, fn func(f mvt.Feature, id, name []byte) error) error {
	_, err := s.eachRegion(tile, ids, fn)
	return err
}

func errNoLayer(ok bool) error {
	if ok {
		return nil
	}
	return errors.New("no vector layer")
}

// crop decodes a feature of tile base and returns its polygons in the
// coordinates of tile t, which is base or one of its descendants. They are cut
// to t's extent, with or without the buffer, and are valid until the next call.
func (s *scratch) crop(f mvt.Feature, base, t quadkey.Tile, buffered bool) ([]grid.Polygon, error) {
	scale, ox, oy := placeIn(base, t)
	s.edges = s.edges[:0]
	var p mvt.Path
	p.Reset(f)
	for {
		pts, closed, ok, err := p.Next(s.path[:0])
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
		}
		if !ok {
			break
		}
		s.path = pts
		if !closed {
			continue
		}
		prev := pts[len(pts)-1]
		for _, q := range pts {
			s.edges = append(s.edges, grid.Edge{
				A: grid.Pt(prev.X<<scale-ox, prev.Y<<scale-oy),
				B: grid.Pt(q.X<<scale-ox, q.Y<<scale-oy),
			})
			prev = q
		}
	}
	b := grid.Box{X0: 0, Y0: 0, X1: mvt.Extent, Y1: mvt.Extent}
	if buffered {
		b = grid.Box{X0: -layout.TileBuffer, Y0: -layout.TileBuffer, X1: mvt.Extent + layout.TileBuffer, Y1: mvt.Extent + layout.TileBuffer}
	}
	w := grid.WindingFromNorth(s.edges, b.Corner())
	return s.clip.Polygons(s.edges, w, b, 0), nil
}
