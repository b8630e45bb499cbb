package build

import (
	"cmp"
	"container/heap"
	"context"
	"math"
	"slices"

	"quadrille/tiles/internal/grid"
	"quadrille/tiles/internal/layout"
)

// A political map gives neighbours different colours. Each region gets one of
// layout.MapColors numbers so that no two of a layer that share a border have
// the same.
//
// Regions are coloured in smallest-last order: the region with the fewest neighbours is removed
// from the graph, again and again. The last one removed is coloured first. On a plane some region
// always has five neighbours or fewer, so six colours suffice for any choice of the others'
// colours. Exclaves and overlaps can break that; then the shortest borders separate equal colours.
//
// The hash of a region's id chooses among the free colours. If a near region has that colour, the
// next free one is taken. Colours therefore follow ids, and a change of the data changes only the
// colours around it.

// nearZoom is the zoom whose borders decide which regions are near each other. nearCells is the
// number of squares in a row around the world. Regions with borders in one square or in adjacent
// squares are near.
const (
	nearZoom  = 4
	nearCells = 256
)

// mostNear is the number of regions of a layer that are compared in one square.
const mostNear = 12

// colorRegions sets the colours of all regions.
func (b *build) colorRegions(ctx context.Context) error {
	m := &merger{ties: make([][]tie, len(b.regions))}
	if err := m.shareBorders(ctx, b.levels.lines[grid.MaxZoom], b.levels.reg, b.layerOf()); err != nil {
		return err
	}
	for i := range m.ties {
		m.ties[i] = joined(m.ties[i], func(r int32) int32 { return r })
	}
	c := coloring{borders: m.ties, near: b.nearRegions(), prefer: make([]uint8, len(b.regions)), color: make([]int8, len(b.regions))}
	for i, r := range b.regions {
		c.prefer[i] = uint8(r.tag % layout.MapColors)
	}
	c.run()
	for i, r := range b.regions {
		r.color = uint8(c.color[i])
	}
	return ctx.Err()
}

// nearRegions returns the regions of the same layer near each region.
func (b *build) nearRegions() [][]int32 {
	type square struct {
		layer int
		x, y  int32
	}
	const side = grid.WorldSize / nearCells
	in := map[square][]int32{}
	var order []square
	for _, l := range b.levels.lines[nearZoom] {
		shares := b.levels.reg.Shares(l.ShareSet)
		dx, dy := int64(l.B.X-l.A.X), int64(l.B.Y-l.A.Y)
		steps := max(dx, -dx, dy, -dy)/side + 1
		for i := range steps + 1 {
			x := int32((int64(l.A.X) + dx*i/steps) / side)
			y := int32((int64(l.A.Y) + dy*i/steps) / side)
			for _, s := range shares {
				at := square{b.regions[s.Region].layer, x % nearCells, y}
				list, ok := in[at]
				if !ok {
					order = append(order, at)
				}
				if len(list) < mostNear && !slices.Contains(list, s.Region) {
					in[at] = append(list, s.Region)
				}
			}
		}
	}
	near := make([][]int32, len(b.regions))
	for _, at := range order {
		for _, d := range [...][2]int32{{0, 0}, {1, 0}, {-1, 1}, {0, 1}, {1, 1}} {
			other := square{at.layer, (at.x + d[0] + nearCells) % nearCells, at.y + d[1]}
			for _, p := range in[at] {
				for _, q := range in[other] {
					if p != q {
						near[p], near[q] = append(near[p], q), append(near[q], p)
					}
				}
			}
		}
	}
	for i := range near {
		slices.Sort(near[i])
		near[i] = slices.Compact(near[i])
	}
	return near
}

// coloring is the state while a graph is coloured.
type coloring struct {
	borders [][]tie   // of each region
	near    [][]int32 // wanted to differ, but not always possible
	prefer  []uint8   // preferred colour of each region
	color   []int8    // of each region, or none
}

// improvements bounds the passes over all regions that improve their colours.
const improvements = 8

func (c *coloring) run() {
	for i := range c.color {
		c.color[i] = none
	}
	// At first, consider shared borders only. If nearby regions counted too, the removal of one
	// region would change the colours of twice as many others.
	near := c.near
	c.near = make([][]int32, len(near))
	for _, r := range slices.Backward(smallestFirst(c.borders)) {
		c.color[r] = c.best(r)
	}
	c.near = near
	for range improvements {
		changed := false
		for r := range int32(len(c.color)) {
			if best := c.best(r); best != c.color[r] {
				c.color[r], changed = best, true
			}
		}
		if !changed {
			break
		}
	}
}

// best returns the best colour for a region. It keeps the present colour unless another one is
// better. Of equally good colours it takes the first one from the preferred colour on.
func (c *coloring) best(r int32) int8 {
	var border [layout.MapColors]float64
	var near [layout.MapColors]int
	for _, t := range c.borders[r] {
		if of := c.color[t.to]; of != none {
			border[of] += t.length
		}
	}
	for _, q := range c.near[r] {
		if of := c.color[q]; of != none {
			near[of]++
		}
	}
	best := c.color[r]
	for i := range layout.MapColors {
		try := (int8(c.prefer[r]) + int8(i)) % layout.MapColors
		if best == none || border[try] < border[best] || border[try] == border[best] && near[try] < near[best] {
			best = try
		}
	}
	return best
}

// smallestFirst orders the vertices of a graph so that each has as few neighbours as possible among
// the vertices after it.
func smallestFirst(graph [][]tie) []int32 {
	degree := make([]int, len(graph))
	queue := make(degreeQueue, len(graph))
	for i, ties := range graph {
		degree[i] = len(ties)
		queue[i] = degreeOf{len(ties), int32(i)}
	}
	heap.Init(&queue)
	order := make([]int32, 0, len(graph))
	for len(order) < len(graph) {
		v := heap.Pop(&queue).(degreeOf)
		if degree[v.vertex] != v.degree {
			continue // taken already, or its degree has fallen since
		}
		degree[v.vertex] = math.MinInt
		order = append(order, v.vertex)
		for _, t := range graph[v.vertex] {
			if degree[t.to] > 0 {
				degree[t.to]--
				heap.Push(&queue, degreeOf{degree[t.to], t.to})
			}
		}
	}
	return order
}

// degreeOf is a queued vertex with its degree at the time of queuing.
type degreeOf struct {
	degree int
	vertex int32
}

// degreeQueue is a heap of vertices, the lowest degree first. Ties have a fixed order.
type degreeQueue []degreeOf

func (q degreeQueue) Len() int { return len(q) }
func (q degreeQueue) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(q[i].degree, q[j].degree), cmp.Compare(q[i].vertex, q[j].vertex)) < 0
}
func (q degreeQueue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *degreeQueue) Push(x any)   { *q = append(*q, x.(degreeOf)) }
func (q *degreeQueue) Pop() any {
	old := *q
	v := old[len(old)-1]
	*q = old[:len(old)-1]
	return v
}
