package verify

import (
	"cmp"
	"slices"

	"quadrille/quadkey"
	"quadrille/tiles/internal/grid"
	"quadrille/tiles/mvt"
)

// checkSide is a region whose border runs along an edge. along is set if the border runs from the
// lesser end of the edge to the greater, and not in the opposite direction.
type checkSide struct {
	key    uint64
	region int32
	along  bool
}

// checkLine is an edge with the regions on its two sides, −1 for none. If regions overlap, the
// first represents all of them.
type checkLine struct {
	key         uint64
	right, left int32
}

func lineKey(a, b grid.Point) (key uint64, along bool) {
	p, q := packXY(a), packXY(b)
	if p < q {
		return p<<26 | q, true
	}
	return q<<26 | p, false
}

func keyEnds(key uint64) (a, b grid.Point) {
	at := func(p uint64) grid.Point { return grid.Pt(int32(p>>13&0x1FFF)+checkMin, int32(p&0x1FFF)+checkMin) }
	return at(key >> 26), at(key & (1<<26 - 1))
}

// borders compares the edges of the polygons within the tile with the border lines of the tile. If
// they agree, both regions of each border have all edges of the border, in opposite directions.
func (p *checkPart) borders(typ int, t quadkey.Tile, tile []byte) {
	c := &p.tile
	if !p.readLines(typ, t, tile) {
		return
	}
	c.sides = c.sides[:0]
	for i := range c.edges {
		if e := &c.edges[i]; e.inside {
			key, along := lineKey(e.a, e.b)
			c.sides = append(c.sides, checkSide{key, e.region, along})
		}
	}
	slices.SortFunc(c.sides, func(a, b checkSide) int { return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.region, b.region)) })
	pt := &p.types[typ]
	name := func(r int32) string {
		if r < 0 {
			return "nothing"
		}
		return p.v.types[typ].ids[r]
	}
	drawn := c.lines
	for i := 0; i < len(c.sides); {
		l := checkLine{c.sides[i].key, -1, -1}
		for ; i < len(c.sides) && c.sides[i].key == l.key; i++ {
			switch s := &c.sides[i]; {
			case s.along && l.right < 0:
				l.right = s.region
			case !s.along && l.left < 0:
				l.left = s.region
			}
		}
		pt.Edges++
		if l.right >= 0 && l.left >= 0 {
			pt.SharedEdges++
		}
		for len(drawn) > 0 && drawn[0].key < l.key {
			p.strayLine(typ, t, drawn[0])
			drawn = drawn[1:]
		}
		a, b := keyEnds(l.key)
		switch {
		case len(drawn) == 0 || drawn[0].key != l.key:
			p.find(typ, ProblemBorder, t, max(l.right, l.left), "edge %v–%v is on no line", a, b)
			continue
		case drawn[0] != l:
			p.find(typ, ProblemBorder, t, max(l.right, l.left), "edge %v–%v is between %s and %s, its line between %s and %s",
				a, b, name(l.right), name(l.left), name(drawn[0].right), name(drawn[0].left))
		}
		drawn = drawn[1:]
	}
	for _, l := range drawn {
		p.strayLine(typ, t, l)
	}
}

func (p *checkPart) strayLine(typ int, t quadkey.Tile, l checkLine) {
	a, b := keyEnds(l.key)
	p.find(typ, ProblemBorder, t, max(l.right, l.left), "line %v–%v is an edge of no region", a, b)
}

// readLines fills lines with the border lines within the tile, sorted.
func (p *checkPart) readLines(typ int, t quadkey.Tile, tile []byte) bool {
	c := &p.tile
	c.lines = c.lines[:0]
	if len(tile) == 0 {
		return true
	}
	ct := p.v.types[typ]
	rest, some, err := mvt.NextLayer(tile, &c.view)
	if err != nil || !some || len(rest) > 0 || string(c.view.Name) != ct.Name+"_line" || c.view.Extent != mvt.Extent {
		p.find(typ, ProblemTile, t, -1, "the layer behind that of the regions is not that of their borders")
		return false
	}
	for i := range c.view.Len() {
		f, err := c.view.Feature(i)
		if err != nil {
			p.find(typ, ProblemTile, t, -1, "%v", err)
			return false
		}
		side := func(tag string) int32 {
			id := c.view.StringTag(f, tag)
			if id == nil {
				return -1
			}
			if r, ok := ct.numberOf(string(id)); ok {
				return r
			}
			p.find(typ, ProblemTile, t, -1, "a border of %q, which has no record", id)
			return -1
		}
		right, left := side("right"), side("left")
		switch {
		case f.Type != mvt.LineString:
			p.find(typ, ProblemTile, t, right, "a border that is not a line")
			continue
		case right == left:
			p.find(typ, ProblemBorder, t, right, "a line with the same on both sides")
			continue
		}
		var path mvt.Path
		for path.Reset(f); ; {
			pts, _, more, err := path.Next(c.path[:0])
			if err != nil || !more {
				break // the validator has read it before
			}
			c.path = pts
			for j, b := range pts {
				if min(b.X, b.Y) < checkMin || max(b.X, b.Y) > checkMax {
					p.find(typ, ProblemTile, t, right, "a border has a point at %d %d, beyond the buffer", b.X, b.Y)
					return false
				}
				if j == 0 {
					continue
				}
				a := pts[j-1]
				if !newCheckEdge(a, b, 0, 0).inside {
					continue
				}
				if key, along := lineKey(a, b); along {
					c.lines = append(c.lines, checkLine{key, right, left})
				} else {
					c.lines = append(c.lines, checkLine{key, left, right})
				}
			}
		}
	}
	slices.SortFunc(c.lines, func(a, b checkLine) int {
		return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.right, b.right), cmp.Compare(a.left, b.left))
	})
	return true
}
