package build

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"math"
	"slices"

	"github.com/paulmach/orb"

	"quadrille/cellstore"
	"quadrille/quadkey"
	"quadrille/tiles/internal/grid"
	"quadrille/tiles/internal/layout"
	"quadrille/tiles/mvt"
)

// A layer of lines, such as rivers, has regions that enclose nothing. Its rows hold the layer
// T_line alone, whose features have the id and name of their region. Lines are arranged and
// simplified like borders, but apart from these: a river that follows a border on a coarse map
// crosses it very often.

// isLines reports whether a geometry is made of lines.
func isLines(g orb.Geometry) bool {
	switch g.(type) {
	case orb.LineString, orb.MultiLineString:
		return true
	}
	return false
}

// addLines adds the lines of a feature to its region.
func (r *region) addLines(g orb.Geometry, rule LongEdges) error {
	lines, _ := g.(orb.MultiLineString)
	if one, ok := g.(orb.LineString); ok {
		lines = orb.MultiLineString{one}
	}
	for _, src := range lines {
		l, err := cleanPoints(orb.Ring(src))
		if err != nil {
			return err
		}
		if rule != LongEdgesStraight && len(l) > 0 {
			l = ring(unroll(orb.Ring(l)))
		}
		if slices.ContainsFunc(l, isWound) {
			return badGeometry("a line winds around the world more than ten times: check its longitudes")
		}
		if len(l) > 1 {
			r.lines = append(r.lines, l)
			r.vertices += len(l)
		}
	}
	return nil
}

// startLines prepares the rows of lines for readLine, until stop is called.
func (b *build) startLines(ctx context.Context, limit int) (stop func(), err error) {
	levels, of, err := b.lineLevels(ctx)
	if err != nil {
		return func() {}, err
	}
	b.nextLine, stop = iter.Pull2(b.lineRows(levels, of, limit))
	return stop, b.readLine()
}

// readLine reads the next row of lines into b.line. After the last, b.line is empty.
func (b *build) readLine() error {
	row, err, ok := b.nextLine()
	if b.line = row; !ok {
		b.line = lineRow{}
	}
	return err
}

// lineLevels returns the lines of all layers at each zoom, by path, and the region of each path.
// Each path has a share of its own. Otherwise two lines of a region that coincide would cancel each
// other if they ran in opposite directions.
func (b *build) lineLevels(ctx context.Context) (levels []level, of []*region, err error) {
	reg := grid.NewShareSets()
	var all []grid.Line
	for _, r := range b.sourceRegions() {
		for _, l := range r.lines {
			var chain []grid.Edge
			at := layout.Mercator.Point(l[0][0], l[0][1])
			for i := 1; i < len(l); i++ {
				chain, at = layout.AppendSegment(chain, at, l[i-1], l[i], layout.Mercator)
			}
			all = grid.AppendLines(all, once(grid.CutLines(chain)), reg, int32(len(of)))
			of = append(of, r)
		}
	}
	if len(of) == 0 {
		return nil, nil, nil
	}
	b.progress.begin("arranging lines", grid.MaxZoom+1, unitLevels)
	n := grid.Noder{ShareSets: reg, TileShift: grid.TileShift(grid.MaxZoom), MayCross: true, MaxVertices: b.opts.mostVertices()}
	if all, err = n.Node(grid.MergeLines(all, reg)); err != nil {
		return nil, nil, b.badArrangement(err)
	}
	lv, err := b.simplified(ctx, all, reg, len(of))
	if err != nil {
		return nil, nil, err
	}
	outer := grid.TileBox(0, 0, 0, true)
	levels = make([]level, grid.MaxZoom+1)
	for z := range levels {
		for path, edges := range grid.EdgesByRegion(lv.lines[z], reg, len(of)) {
			if around := grid.Copies(edges, outer); len(around) > 0 && z >= of[path].fromZoom {
				levels[z] = append(levels[z], group{region: int32(path), edges: around})
			}
		}
	}
	return levels, of, nil
}

const (
	lineDecimals  = 7 // decimals of a degree in the geometry of lines
	coarseDecimal = 2 // the fewest; a geometry too large even so is refused
	mostPosition  = len("[-179.1234567,-89.1234567],")
)

// lineGeometry returns the lines of a region as GeoJSON, cut at ±180°. It keeps the source's
// positions if they fit into a value, or else as many decimals as fit.
func (r *region) lineGeometry(limit int) (geometry []byte, ok bool) {
	var whole []ring
	for _, l := range r.lines {
		whole = appendPieces(whole, l)
	}
	for decimals := lineDecimals; decimals >= coarseDecimal; decimals-- {
		lines := whole
		if decimals < lineDecimals {
			lines = rounded(whole, decimals)
		}
		g := layout.AppendLines(nil, lines, func(dst []byte, p orb.Point) []byte { return layout.AppendDegrees(dst, p[0], p[1], decimals) })
		if len(g) <= limit {
			return g, true
		}
	}
	return nil, false
}

// rounded returns the lines with positions rounded to fewer decimals, without repetitions and
// without lines that shrink to a point. If all lines do, it returns the first one.
func rounded(lines []ring, decimals int) (out []ring) {
	scale := math.Pow10(decimals)
	for _, l := range lines {
		short := make(ring, 0, len(l))
		for i, p := range l {
			p = orb.Point{math.Round(p[0]*scale) / scale, math.Round(p[1]*scale) / scale}
			if i == 0 || p != short[len(short)-1] {
				short = append(short, p)
			}
		}
		if len(short) > 1 {
			out = append(out, short)
		}
	}
	if out == nil {
		return lines[:1]
	}
	return out
}

// appendPieces cuts a line at ±180° and appends the pieces, with longitudes from -180 to 180.
func appendPieces(pieces []ring, l ring) []ring {
	turn := math.NaN() // around the world, of the last piece
	add := func(a, b orb.Point) {
		t := 0.0
		if middle := (a[0] + b[0]) / 2; math.Abs(middle) > 180 {
			t = math.Floor((middle + 180) / 360)
		}
		if t != turn {
			turn = t
			pieces = append(pieces, ring{{a[0] - 360*t, a[1]}})
		}
		last := &pieces[len(pieces)-1]
		*last = append(*last, orb.Point{b[0] - 360*t, b[1]})
	}
	for i := 1; i < len(l); i++ {
		a, b := l[i-1], l[i]
		for {
			// seam is the next copy of ±180° in the direction of the line.
			seam := 360*math.Floor((a[0]+180)/360) + 180
			if b[0] < a[0] {
				seam = 360*math.Ceil((a[0]+180)/360) - 540
			}
			if min(a[0], b[0]) >= seam || max(a[0], b[0]) <= seam {
				break
			}
			cut := orb.Point{seam, a[1] + (b[1]-a[1])*(seam-a[0])/(b[0]-a[0])}
			add(a, cut)
			a = cut
		}
		add(a, b)
	}
	return pieces
}

// once drops the edges that a line repeats, in either direction, because they would cancel.
func once(edges []grid.Edge) []grid.Edge {
	seen := make(map[grid.Edge]bool, len(edges))
	return slices.DeleteFunc(edges, func(e grid.Edge) bool {
		if !e.Upward() {
			e = e.Reversed()
		}
		was := seen[e]
		seen[e] = true
		return was
	})
}

// lineRow holds the lines of one tile, in the order of families.
type lineRow struct {
	key   quadkey.Key
	cells []cellstore.Cell
}

// lineWalker makes the rows of lines, in the order of their keys.
type lineWalker struct {
	b     *build
	of    []*region
	mem   arena
	line  borderWriter
	limit int
	yield func(lineRow, error) bool
}

// lineRows yields the rows of lines. An error ends it.
func (b *build) lineRows(levels []level, of []*region, limit int) iter.Seq2[lineRow, error] {
	return func(yield func(lineRow, error) bool) {
		w := lineWalker{b: b, of: of, limit: limit, yield: yield}
		if len(of) > 0 {
			w.tile(quadkey.Tile{}, levels)
		}
	}
}

// tile yields the rows of a tile's descendants and of the tile itself. levels are those of its zoom
// and deeper.
func (w *lineWalker) tile(t quadkey.Tile, levels []level) bool {
	if len(levels) > 1 {
		for _, c := range t.Children() {
			m := w.mem.mark()
			box := grid.TileBox(int(c.Z), c.X, c.Y, true)
			inside, some := make([]level, len(levels)-1), false
			for i, l := range levels[1:] {
				for _, g := range l {
					if edges := w.mem.meeting(g.edges, box); len(edges) > 0 {
						inside[i], some = append(inside[i], group{region: g.region, edges: edges}), true
					}
				}
			}
			if some && !w.tile(c, inside) {
				return false
			}
			w.mem.release(m)
		}
	}
	row := lineRow{key: t.Key()}
	for groups := levels[0]; len(groups) > 0; {
		layer := w.of[groups[0].region].layer
		n := 1
		for n < len(groups) && w.of[groups[n].region].layer == layer {
			n++
		}
		l := &w.b.layers[layer]
		value := w.value(l, t, groups[:n])
		if groups = groups[n:]; value == nil {
			continue
		}
		if len(value) > w.limit {
			return w.yield(row, fmt.Errorf("%w: tile %v of %s takes %d bytes, the store takes %d in a value: leave out lines, "+
				"or simplify them", ErrTooDetailed, t, l.typ, len(value), w.limit))
		}
		row.cells = append(row.cells, cellstore.Cell{Family: w.b.families[l.familyMVT], Timestamp: w.b.opts.Timestamp, Value: value})
	}
	slices.SortFunc(row.cells, func(c, d cellstore.Cell) int { return cmp.Compare(c.Family, d.Family) })
	return len(row.cells) == 0 || w.yield(row, nil)
}

// value encodes the lines of a layer in a tile, or returns nil if there are none.
func (w *lineWalker) value(l *buildLayer, t quadkey.Tile, groups level) []byte {
	shift := grid.StepShift(int(t.Z))
	inner, outer := grid.TileBox(int(t.Z), t.X, t.Y, false), grid.TileBox(int(t.Z), t.X, t.Y, true)
	w.line.Reset(l.typ + layout.LayerLine)
	for i := 0; i < len(groups); {
		r := w.of[groups[i].region]
		w.line.pieces = w.line.pieces[:0]
		for ; i < len(groups) && w.of[groups[i].region] == r; i++ {
			for _, e := range groups[i].edges {
				if part, ok := grid.ClipEdge(e, outer, shift); ok {
					w.line.pieces = append(w.line.pieces, piece{e: part})
				}
			}
		}
		slices.SortFunc(w.line.pieces, func(p, q piece) int { return grid.CompareEdges(p.e, q.e) })
		if w.line.pieces = slices.Compact(w.line.pieces); len(w.line.pieces) > 0 {
			w.line.BeginRegion(mvt.LineString, r.tag, r.id, r.name)
			w.line.lines(w.line.pieces, inner.Corner(), shift)
			w.line.End()
		}
	}
	if w.line.Len() == 0 {
		return nil
	}
	return w.line.AppendTo([]byte{layout.MarkMixed})
}
