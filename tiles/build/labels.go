package build

import (
	"bytes"
	"cmp"
	"container/heap"
	"context"
	"math"
	"slices"
	"sync"

	"quadrille/cellstore"
	"quadrille/quadkey"
	"quadrille/tiles/internal/grid"
	"quadrille/tiles/internal/layout"
)

// label is a region's label. It stands at the place that the source gives, or else at the pole of
// inaccessibility of the region's largest part: the point inside that is farthest from the border.
// The search halves squares, best first, like Mapbox's polylabel.
type label struct {
	region *region
	layer  int
	at     grid.Point
	rank   int // 0 for the first region of its type: by the source's rank, then the largest
}

// labelRow holds the labels of one tile.
type labelRow struct {
	key    quadkey.Key
	labels []label // by layer, then by rank
}

// placeLabels places the labels of all regions that have an area. borders holds
// the edges of each region at each zoom.
func (b *build) placeLabels(ctx context.Context, borders *[grid.MaxZoom + 1][][]grid.Edge) ([]label, error) {
	found := make([]*label, len(b.regions))
	clippers := sync.Pool{New: func() any { return new(grid.Clipper) }}
	_, err := b.everyRegion(ctx, func(_ *buildLayer, r *region) ([]grid.Line, error) {
		if p := r.label.At; p != nil {
			at := layout.Mercator.Point(p[0], p[1])
			at = grid.Pt(at.X%grid.WorldSize, min(at.Y, grid.WorldSize-1))
			found[r.number] = &label{region: r, at: at}
			return nil, nil
		}
		c := clippers.Get().(*grid.Clipper)
		defer clippers.Put(c)
		if p, ok := labelPoint(c, func(z int) []grid.Edge { return borders[z][r.number] }); ok {
			found[r.number] = &label{region: r, at: p}
		}
		return nil, nil
	})
	if err != nil {
		return nil, err
	}
	var labels []label
	for i, l := range b.layers {
		bySize := slices.Clone(l.regions)
		slices.SortStableFunc(bySize, func(r, s *region) int {
			return cmp.Or(cmp.Compare(r.label.order(), s.label.order()), cmp.Compare(s.area, r.area))
		})
		for rank, r := range bySize {
			if f := found[r.number]; f != nil {
				f.layer, f.rank = i, rank
				labels = append(labels, *f)
			}
		}
	}
	return labels, nil
}

// order returns the rank, or infinity if the source has none.
func (l Label) order() float64 {
	if l.Rank == nil {
		return math.Inf(1)
	}
	return *l.Rank
}

// A border with at least enoughEdges edges shows the region's shape well enough
// to find its middle.
const enoughEdges = 48

// labelPoint returns the place of a region's label, and false if the region has no area. edges
// returns its border at a zoom.
func labelPoint(c *grid.Clipper, edges func(z int) []grid.Edge) (grid.Point, bool) {
	exact := edges(grid.MaxZoom)
	for z := 0; z <= grid.MaxZoom; z++ {
		border := edges(z)
		if len(border) < enoughEdges && z < grid.MaxZoom {
			continue
		}
		world := grid.Box{X0: 0, Y0: 0, X1: grid.WorldSize, Y1: grid.WorldSize}
		plane := grid.CutAtSeams(border)
		polys := c.Polygons(plane, grid.WindingFromNorth(plane, grid.Point{}), world, grid.StepShift(z))
		if len(polys) == 0 {
			continue
		}
		p := poleOf(largest(polys))
		if grid.PeriodicWinding(exact, p) > 0 && p.X >= 0 && p.X < grid.WorldSize && p.Y >= 0 && p.Y < grid.WorldSize {
			return p, true
		}
		if z == grid.MaxZoom { // too thin for a point inside, so use a corner
			for _, p := range largest(polys)[0] {
				if p.X >= 0 && p.X < grid.WorldSize && p.Y >= 0 && p.Y < grid.WorldSize {
					return p, true
				}
			}
		}
	}
	return grid.Point{}, false
}

// largest returns the polygon with the largest area, the first one of equals.
func largest(polys []grid.Polygon) (most grid.Polygon) {
	area := int64(math.MinInt64)
	for _, p := range polys {
		if a := polygonArea2(p); a > area {
			most, area = p, a
		}
	}
	return most
}

func polygonArea2(p grid.Polygon) (sum int64) {
	for _, r := range p {
		sum += grid.RingArea2(r)
	}
	return sum
}

// labelCell is a square with an upper bound on the distance of its points from the border.
type labelCell struct {
	x, y, half float64
	here       float64 // distance of the middle from the border, negative outside
	best       float64
}

type cellQueue []labelCell

func (h cellQueue) Len() int           { return len(h) }
func (h cellQueue) Less(i, j int) bool { return h[i].best > h[j].best }
func (h cellQueue) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *cellQueue) Push(v any)        { *h = append(*h, v.(labelCell)) }
func (h *cellQueue) Pop() any {
	old := *h
	v := old[len(old)-1]
	*h = old[:len(old)-1]
	return v
}

// poleOf returns the point of a polygon that is farthest from its border, to a
// hundredth of the polygon's size.
func poleOf(p grid.Polygon) grid.Point {
	b := grid.RingBox(p[0])
	width, height := float64(b.X1-b.X0), float64(b.Y1-b.Y0)
	// A long shape starts with only a few squares.
	side := max(min(width, height), max(width, height)/32, 1)
	cell := func(x, y, half float64) labelCell {
		d := distanceInside(p, x, y)
		return labelCell{x, y, half, d, d + half*math.Sqrt2}
	}
	var queue cellQueue
	for x := float64(b.X0); x < float64(b.X1); x += side {
		for y := float64(b.Y0); y < float64(b.Y1); y += side {
			queue = append(queue, cell(x+side/2, y+side/2, side/2))
		}
	}
	heap.Init(&queue)
	best := queue[0]
	precise := max(side/100, 0.5)
	for len(queue) > 0 {
		c := heap.Pop(&queue).(labelCell)
		if c.here > best.here {
			best = c
		}
		if c.best-best.here <= precise {
			break
		}
		h := c.half / 2
		for _, d := range [4][2]float64{{-h, -h}, {h, -h}, {-h, h}, {h, h}} {
			heap.Push(&queue, cell(c.x+d[0], c.y+d[1], h))
		}
	}
	return grid.Pt(int32(math.Floor(best.x+0.5)), int32(math.Floor(best.y+0.5)))
}

// distanceInside returns the distance of a point from the border of a polygon,
// negative outside.
func distanceInside(p grid.Polygon, x, y float64) float64 {
	inside := false
	least := math.Inf(1)
	for _, r := range p {
		a := r[len(r)-1]
		for _, c := range r {
			ax, ay, cx, cy := float64(a.X), float64(a.Y), float64(c.X), float64(c.Y)
			if (ay > y) != (cy > y) && x < (cx-ax)*(y-ay)/(cy-ay)+ax {
				inside = !inside
			}
			dx, dy := cx-ax, cy-ay
			t := max(0, min(1, ((x-ax)*dx+(y-ay)*dy)/(dx*dx+dy*dy)))
			ex, ey := x-ax-t*dx, y-ay-t*dy
			least = min(least, ex*ex+ey*ey)
			a = c
		}
	}
	if inside {
		return math.Sqrt(least)
	}
	return -math.Sqrt(least)
}

// labelRows groups labels into the rows of their tiles, sorted by key.
func labelRows(labels []label) []labelRow {
	rows := make(map[quadkey.Key]*labelRow)
	for _, l := range labels {
		for z := int(l.region.shown); z <= grid.MaxZoom; z++ {
			t := quadkey.Tile{Z: uint8(z), X: uint32(l.at.X) >> grid.TileShift(z), Y: uint32(l.at.Y) >> grid.TileShift(z)}
			k := t.Key()
			if rows[k] == nil {
				rows[k] = &labelRow{key: k}
			}
			rows[k].labels = append(rows[k].labels, l)
		}
	}
	out := make([]labelRow, 0, len(rows))
	for _, r := range rows {
		slices.SortFunc(r.labels, func(l, m label) int { return cmp.Or(cmp.Compare(l.layer, m.layer), cmp.Compare(l.rank, m.rank)) })
		out = append(out, *r)
	}
	slices.SortFunc(out, func(r, s labelRow) int { return bytes.Compare(r.key[:], s.key[:]) })
	return out
}

// labelCells encodes a row, in the order of families.
func (b *build) labelCells(dst []cellstore.Cell, row labelRow, w *layout.LayerWriter) []cellstore.Cell {
	t := row.key.Tile()
	origin := grid.TileBox(int(t.Z), t.X, t.Y, false).Corner()
	shift := grid.StepShift(int(t.Z))
	for i := 0; i < len(row.labels); {
		layer := row.labels[i].layer
		w.Reset(b.layers[layer].typ + layout.LayerLabel)
		for ; i < len(row.labels) && row.labels[i].layer == layer; i++ {
			l := row.labels[i]
			w.BeginLabel(l.region.tag, l.region.id, l.region.name, int64(l.rank))
			w.Point(l.at.In(origin, shift))
			w.End()
		}
		dst = append(dst, cellstore.Cell{
			Family: b.families[b.layers[layer].familyLabel], Timestamp: b.opts.Timestamp,
			Value: w.AppendTo([]byte{layout.MarkMixed}),
		})
	}
	slices.SortFunc(dst, func(c, d cellstore.Cell) int { return cmp.Compare(c.Family, d.Family) })
	return dst
}
