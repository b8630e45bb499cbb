package verify

import (
	"bytes"
	"encoding/json"
	"fmt"

	"quadrille/cellstore"
	"quadrille/quadkey"
	"quadrille/tiles/internal/grid"
	"quadrille/tiles/internal/layout"
	"quadrille/tiles/mvt"
)

const (
	checkMin = -layout.TileBuffer
	checkMax = mvt.Extent + layout.TileBuffer

	// everyZoom is the set of all zooms, with one bit for each zoom.
	everyZoom = 1<<(grid.MaxZoom+1) - 1
)

// tileCheck holds the memory for checking one tile.
type tileCheck struct {
	view    mvt.LayerView
	path    []grid.Point
	edges   []checkEdge
	pieces  []regionPiece
	shown   map[int32]bool // the regions of pieces; true: GeoJSON has them too
	json    []byte         // a Feature
	sides   []checkSide
	lines   []checkLine
	packed  []uint64
	order   []int32
	queries []int32
	active  []int32
	covers  map[int32]int
}

// regionPiece is a region's polygons in a tile.
type regionPiece struct {
	region int32
	edges  []checkEdge
	area   float64 // within the tile, without the buffer, in its units squared
}

// tileRow checks the cells of a row that belong to one type.
func (p *checkPart) tileRow(typ int, t quadkey.Tile, cells *[kinds][]*cellstore.Cell) {
	if p.v.types[typ].IsLines {
		p.lineRow(typ, t, cells)
		return
	}
	if labels := cells[kindLabel]; len(labels) > 0 {
		p.labels(typ, t, labels[0].Value)
	}
	shown := cells[kindTile]
	if len(shown) == 0 {
		if len(cells[kindFeature]) > 0 {
			p.order(typ, t, false)
			p.find(typ, ProblemFormats, t, -1, "has GeoJSON and no vector tile")
		}
		return
	}
	value := shown[0].Value
	if len(value) == 0 || value[0] != layout.MarkLeaf && value[0] != layout.MarkMixed {
		p.find(typ, ProblemRow, t, -1, "the mark of its vector tile is none")
		return
	}
	leaf := value[0] == layout.MarkLeaf
	p.order(typ, t, leaf)
	if leaf {
		p.types[typ].Leaves[t.Z]++
	} else {
		p.types[typ].Mixed[t.Z]++
	}
	rest, ok := p.decode(typ, t, value[1:])
	if !ok {
		return
	}
	c := &p.tile
	if leaf {
		p.leaf(typ, t, len(rest) > 0)
	} else {
		p.polygons(typ, t)
		p.crossings(typ, t)
		p.coverage(typ, t)
		if p.v.bordered {
			p.borders(typ, t, rest)
		}
		for i := range c.pieces {
			piece := &c.pieces[i]
			if piece.area <= 0 {
				continue
			}
			p.types[typ].zooms[piece.region] |= 1 << t.Z
			if t.Z == grid.MaxZoom {
				p.types[typ].area[piece.region] += piece.area
			}
		}
	}
	p.formats(typ, t, leaf, cells[kindFeature])
}

// lineRow checks the cells of a row that belong to a type of lines. They enclose nothing, and the
// budget does not bound them.
func (p *checkPart) lineRow(typ int, t quadkey.Tile, cells *[kinds][]*cellstore.Cell) {
	c, ct := &p.tile, p.v.types[typ]
	if len(cells[kindTile]) != 1 || len(cells[kindFeature])+len(cells[kindLabel]) > 0 || len(cells[kindTile][0].Value) == 0 ||
		cells[kindTile][0].Value[0] != layout.MarkMixed {
		p.find(typ, ProblemRow, t, -1, "is not a row of lines alone")
		return
	}
	tile := cells[kindTile][0].Value[1:]
	err := mvt.Validate(tile)
	if err != nil {
		p.find(typ, ProblemTile, t, -1, "%v", err)
		return
	}
	rest, some, err := mvt.NextLayer(tile, &c.view)
	if err != nil || !some || len(rest) > 0 || string(c.view.Name) != ct.Name+layout.LayerLine || c.view.Extent != mvt.Extent ||
		c.view.Len() == 0 {
		p.find(typ, ProblemTile, t, -1, "has not the lines alone, with features and an extent of %d", mvt.Extent)
		return
	}
	p.types[typ].Mixed[t.Z]++
	for i := range c.view.Len() {
		f, err := c.view.Feature(i)
		if err != nil {
			p.find(typ, ProblemTile, t, -1, "%v", err)
			return
		}
		region, ok := p.regionOf(typ, t, f, layout.TagID)
		switch {
		case !ok:
			return
		case f.Type != mvt.LineString:
			p.find(typ, ProblemTile, t, region, "is not a line")
		}
		p.types[typ].zooms[region] |= 1 << t.Z
	}
}

// decode reads the polygons of a tile into edges and pieces. It returns the
// layers after the polygons.
func (p *checkPart) decode(typ int, t quadkey.Tile, tile []byte) (rest []byte, ok bool) {
	c := &p.tile
	c.edges, c.pieces = c.edges[:0], c.pieces[:0]
	if c.shown == nil {
		c.shown = map[int32]bool{}
	}
	clear(c.shown)
	ct := p.v.types[typ]
	if err := mvt.Validate(tile); err != nil {
		p.find(typ, ProblemTile, t, -1, "%v", err)
		return nil, false
	}
	rest, some, err := mvt.NextLayer(tile, &c.view)
	if err != nil || !some || string(c.view.Name) != ct.Name || c.view.Extent != mvt.Extent || c.view.Len() == 0 {
		p.find(typ, ProblemTile, t, -1, "the first layer is not that of the regions, with features and an extent of %d", mvt.Extent)
		return nil, false
	}
	ring := int32(0)
	for i := range c.view.Len() {
		f, err := c.view.Feature(i)
		if err != nil {
			p.find(typ, ProblemTile, t, -1, "%v", err)
			return nil, false
		}
		region, ok := p.regionOf(typ, t, f, layout.TagID)
		if !ok {
			return nil, false
		}
		if f.Type != mvt.Polygon {
			p.find(typ, ProblemTile, t, region, "is not a polygon")
			return nil, false
		}
		if _, twice := c.shown[region]; twice {
			p.find(typ, ProblemTile, t, region, "is there twice")
			return nil, false
		}
		c.shown[region] = false
		p.merged(typ, t, region, f)
		piece := regionPiece{region: region}
		first := len(c.edges)
		var path mvt.Path
		for path.Reset(f); ; {
			pts, _, more, err := path.Next(c.path[:0])
			if err != nil || !more {
				break // the validator has read it before
			}
			c.path = pts
			prev := pts[len(pts)-1]
			for _, q := range pts {
				if min(q.X, q.Y) < checkMin || max(q.X, q.Y) > checkMax {
					p.find(typ, ProblemTile, t, region, "has a point at %d %d, beyond the buffer", q.X, q.Y)
					return nil, false
				}
				c.edges = append(c.edges, newCheckEdge(prev, q, region, ring))
				piece.area += areaWithin(prev, q)
				prev = q
			}
			ring++
		}
		piece.edges = c.edges[first:len(c.edges):len(c.edges)]
		c.pieces = append(c.pieces, piece)
	}
	return rest, true
}

// regionOf finds the region of a feature by an attribute with the region's id. It checks that the
// feature's number is that of the region, or of its label.
func (p *checkPart) regionOf(typ int, t quadkey.Tile, f mvt.Feature, attribute string) (int32, bool) {
	ct := p.v.types[typ]
	id := string(p.tile.view.StringTag(f, attribute))
	region, ok := ct.numberOf(id)
	if !ok {
		p.find(typ, ProblemTile, t, -1, "shows a region %q that has no record", id)
		return 0, false
	}
	want := layout.FeatureID(ct.Name, id)
	if attribute == layout.TagRegion {
		want = layout.LabelID(want)
	}
	if f.ID != want {
		p.find(typ, ProblemTile, t, region, "feature has the number %d, its region's is %d", f.ID, want)
	}
	return region, true
}

// leaf checks that every region of a leaf is the buffered square.
func (p *checkPart) leaf(typ int, t quadkey.Tile, more bool) {
	c := &p.tile
	if more {
		p.find(typ, ProblemLeaf, t, -1, "has another layer")
	}
	for i := range c.pieces {
		piece := &c.pieces[i]
		square := true
		var area int64
		for _, e := range piece.edges {
			area += int64(e.a.X)*int64(e.b.Y) - int64(e.b.X)*int64(e.a.Y)
			square = square && (e.a.X == checkMin || e.a.X == checkMax) && (e.a.Y == checkMin || e.a.Y == checkMax)
		}
		const side = checkMax - checkMin
		if len(piece.edges) != 4 || !square || area != 2*side*side {
			p.find(typ, ProblemLeaf, t, piece.region, "is not the buffered square")
		}
		pt := &p.types[typ]
		pt.zooms[piece.region] |= everyZoom &^ (1<<t.Z - 1)
		side13 := float64(uint64(mvt.Extent) << grid.StepShift(int(t.Z)))
		pt.area[piece.region] += side13 * side13
		for _, other := range c.pieces[:i] {
			p.overlap(typ, t, other.region, piece.region, true)
		}
	}
}

// overlap counts a row in which two regions overlap. A leaf counts for its own zoom and for the
// deepest zoom.
func (p *checkPart) overlap(typ int, t quadkey.Tile, a, b int32, leaf bool) {
	pair := [2]int32{min(a, b), max(a, b)}
	pt := &p.types[typ]
	n := pt.overlaps[pair]
	if n == nil {
		if len(pt.overlaps) >= maxOverlaps {
			return
		}
		n = new(overlapCount)
		pt.overlaps[pair] = n
	} else if n.last == t {
		return
	}
	n.last = t
	if leaf || t.Z == grid.MaxZoom {
		n.deepest++
	} else {
		n.above++
		n.example = t
	}
}

// formats checks that the GeoJSON of a row can be read and has the regions that
// its vector tile shows within the tile.
func (p *checkPart) formats(typ int, t quadkey.Tile, leaf bool, features []*cellstore.Cell) {
	c := &p.tile
	name := p.v.types[typ].Name
	for _, f := range features {
		region, ok := p.v.types[typ].byTag[string(f.Qualifier)]
		if ok {
			_, ok = c.shown[region]
		}
		if !ok {
			p.find(typ, ProblemFormats, t, -1, "GeoJSON of %q, which is not in the vector tile", f.Qualifier)
			continue
		}
		c.shown[region] = true
		mark := byte(layout.MarkMixed)
		if leaf {
			mark = layout.MarkLeaf
		}
		if len(f.Value) == 0 || f.Value[0] != mark {
			p.find(typ, ProblemRow, t, region, "GeoJSON and vector tile have other marks")
			continue
		}
		c.json = append(c.json[:0], f.Value[1:]...)
		if leaf { // a reader adds the geometry for the requested tile
			c.json = append(c.json, "null}"...)
		}
		if !json.Valid(c.json) ||
			!bytes.HasPrefix(c.json, fmt.Appendf(nil, `{"type":"Feature","id":"%s:%s",`, name, p.v.types[typ].ids[region])) {
			p.find(typ, ProblemFormats, t, region, "GeoJSON is not a Feature of the region")
		}
	}
	for i := range c.pieces {
		piece := &c.pieces[i]
		has := c.shown[piece.region]
		if shown := leaf || piece.area > 0; shown != has {
			p.find(typ, ProblemFormats, t, piece.region, "is in the vector tile: %v, in the GeoJSON: %v", shown, has)
		}
	}
}

// polar checks the vector tile of a polar cap.
func (p *checkPart) polar(typ int, cells *[kinds][]*cellstore.Cell) {
	find := func(format string, args ...any) {
		p.found.add(p.v.opts.Examples, typ, p.v.types[typ].Name, ProblemTile, Example{Tile: "polar", Detail: fmt.Sprintf(format, args...)})
	}
	if len(cells[kindTile]) == 0 || len(cells[kindFeature])+len(cells[kindLabel]) > 0 {
		find("a polar row has other families than the vector tile's")
		return
	}
	value := cells[kindTile][0].Value
	if len(value) == 0 || value[0] != layout.MarkPolar {
		find("the mark of a polar row is not its own")
	} else if err := mvt.Validate(value[1:]); err != nil {
		find("%v", err)
	}
}
