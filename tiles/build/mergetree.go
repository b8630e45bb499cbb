package build

import (
	"cmp"
	"container/heap"
	"context"
	"math"
	"slices"

	"quadrille/quadkey"
	"quadrille/tiles/internal/grid"
)

// mergeTree is the order in which a layer's regions merge: the smallest first,
// each into the neighbour with which it shares the longest border. A zoom's cut
// is a number of steps from the start. Every cut is the same for all tiles of a
// zoom, and lower zooms have longer cuts, so polygons only ever divide on
// zooming in.
type mergeTree []mergeStep

// mergeStep joins the groups of two regions.
type mergeStep struct{ small, into int32 }

// groups is the state of the regions after some steps. A region is its own group until it merges.
type groups struct {
	parent []int32 // by region
	done   int     // steps
}

func newGroups(regions int) *groups {
	g := &groups{parent: make([]int32, regions)}
	for i := range g.parent {
		g.parent[i] = int32(i)
	}
	return g
}

func (g *groups) clone() *groups { return &groups{slices.Clone(g.parent), g.done} }

// of returns the representative of a region's group.
func (g *groups) of(r int32) int32 {
	for g.parent[r] != r {
		g.parent[r] = g.parent[g.parent[r]]
		r = g.parent[r]
	}
	return r
}

// step takes the next step of a tree and returns the two groups that it merged. kept now represents
// both.
func (g *groups) step(t mergeTree) (gone, kept int32) {
	s := t[g.done]
	g.done++
	gone, kept = g.of(s.small), g.of(s.into)
	g.parent[gone] = kept
	return gone, kept
}

// tie is the relation between two neighbouring groups.
type tie struct {
	to     int32
	length float64 // of their common border
	gap    float64 // between them in squared degrees, if they have no common border
}

// merger computes merge trees.
type merger struct {
	regions []*region
	groups  *groups
	ties    [][]tie // by region
	area    []int64 // by group
	queue   sizeQueue
}

// mergeTrees returns the merge tree of each layer. exact is the arrangement of
// the deepest zoom.
func (b *build) mergeTrees(ctx context.Context, exact []grid.Line, reg *grid.ShareSets) ([]mergeTree, error) {
	m := &merger{regions: b.regions, ties: make([][]tie, len(b.regions)), area: make([]int64, len(b.regions))}
	if err := m.shareBorders(ctx, exact, reg, b.layerOf()); err != nil {
		return nil, err
	}
	trees := make([]mergeTree, len(b.layers))
	for i, l := range b.layers {
		m.linkIslands(l.regions)
		trees[i] = m.tree(l.regions)
	}
	return trees, ctx.Err()
}

// layerOf returns the layer of each region.
func (b *build) layerOf() []int {
	of := make([]int, len(b.regions))
	for i, l := range b.layers {
		for _, r := range l.regions {
			of[r.number] = i
		}
	}
	return of
}

// mostSides bounds the regions on each side of a border that are all linked to each other. Only
// overlapping polygons have more on one side. The rest are linked only to the first region on the
// other side.
const mostSides = 16

// shareBorders ties the regions on the two sides of each line.
func (m *merger) shareBorders(ctx context.Context, lines []grid.Line, reg *grid.ShareSets, layerOf []int) error {
	length := make([]float64, len(reg.All())) // of the lines with a set
	var order []int32
	for _, l := range lines {
		if length[l.ShareSet] == 0 {
			order = append(order, l.ShareSet)
		}
		length[l.ShareSet] += math.Hypot(float64(l.B.X-l.A.X), float64(l.B.Y-l.A.Y))
	}
	type sides struct{ left, right []int32 }
	for _, set := range order {
		if err := ctx.Err(); err != nil {
			return err
		}
		byLayer := map[int]*sides{}
		var layers []int
		for _, s := range reg.Shares(set) {
			layer := layerOf[s.Region]
			if byLayer[layer] == nil {
				byLayer[layer] = &sides{}
				layers = append(layers, layer)
			}
			if of := byLayer[layer]; s.Times > 0 {
				of.left = append(of.left, s.Region)
			} else {
				of.right = append(of.right, s.Region)
			}
		}
		for _, layer := range layers {
			of := byLayer[layer]
			for i, a := range of.left {
				for j, b := range of.right {
					if max(i, j) >= mostSides && min(i, j) > 0 {
						break
					}
					m.tie(a, b, length[set], 0)
				}
			}
		}
	}
	return nil
}

func (m *merger) tie(a, b int32, length, gap float64) {
	for _, p := range [2][2]int32{{a, b}, {b, a}} {
		ties := m.ties[p[0]]
		if n := len(ties); n > 0 && ties[n-1].to == p[1] {
			ties[n-1].length += length
			continue
		}
		ties = append(ties, tie{p[1], length, gap})
		if len(ties) == cap(ties) && len(ties) > 16 {
			ties = joined(ties, func(r int32) int32 { return r })
		}
		m.ties[p[0]] = ties
	}
}

// joined combines ties to the same group, in the order of the groups.
func joined(ties []tie, of func(int32) int32) []tie {
	for i := range ties {
		ties[i].to = of(ties[i].to)
	}
	slices.SortStableFunc(ties, func(s, t tie) int { return cmp.Compare(s.to, t.to) })
	n := 0
	for _, t := range ties {
		if n > 0 && ties[n-1].to == t.to {
			ties[n-1].length += t.length
			ties[n-1].gap = min(ties[n-1].gap, t.gap)
			continue
		}
		ties[n] = t
		n++
	}
	return ties[:n]
}

// islandWindow is the number of regions before and after an island on the curve that are compared
// to find a near one.
const islandWindow = 12

// linkIslands links regions that need not touch, so that the whole layer is connected. It links
// consecutive regions of a space-filling curve, and each island with the nearest of the few regions
// before and after it.
func (m *merger) linkIslands(regions []*region) {
	type spot struct {
		r        *region
		key      quadkey.Key
		lon, lat float64
	}
	var spots []spot
	for _, r := range regions {
		if r.area == 0 {
			continue
		}
		s := spot{r: r, lon: (r.bounds[0] + r.bounds[2]) / 2, lat: (r.bounds[1] + r.bounds[3]) / 2}
		if r.bounds[0] > r.bounds[2] {
			s.lon = math.Mod(s.lon+360, 360) - 180
		}
		t, err := quadkey.TileAt(s.lon, max(-quadkey.MaxLatitude, min(quadkey.MaxLatitude, s.lat)), grid.MaxZoom)
		if err == nil {
			s.key = t.Key()
		}
		spots = append(spots, s)
	}
	slices.SortFunc(spots, func(s, t spot) int {
		return cmp.Or(slices.Compare(s.key[:], t.key[:]), cmp.Compare(s.r.number, t.r.number))
	})
	gap := func(s, t spot) float64 {
		dx := math.Abs(s.lon - t.lon)
		dx, dy := min(dx, 360-dx), s.lat-t.lat
		return dx*dx + dy*dy
	}
	for i, s := range spots {
		if i > 0 {
			m.tie(spots[i-1].r.number, s.r.number, 0, gap(spots[i-1], s))
		}
		if slices.ContainsFunc(m.ties[s.r.number], func(t tie) bool { return t.length > 0 }) {
			continue
		}
		best := -1
		for j := max(0, i-islandWindow); j < min(len(spots), i+islandWindow+1); j++ {
			if j != i && (best < 0 || gap(spots[j], s) < gap(spots[best], s)) {
				best = j
			}
		}
		if best >= 0 {
			m.tie(spots[best].r.number, s.r.number, 0, gap(spots[best], s))
		}
	}
}

// tree merges the regions of a layer until one group is left.
func (m *merger) tree(regions []*region) mergeTree {
	if m.groups == nil {
		m.groups = newGroups(len(m.regions))
	}
	m.queue = m.queue[:0]
	for _, r := range regions {
		if r.area > 0 {
			m.area[r.number] = r.area
			m.queue = append(m.queue, sized{r.area, r.number})
		}
	}
	heap.Init(&m.queue)
	var steps mergeTree
	for len(m.queue) > 0 {
		s := heap.Pop(&m.queue).(sized)
		if m.groups.of(s.group) != s.group || m.area[s.group] != s.area {
			continue // merged or grown since
		}
		own := slices.DeleteFunc(joined(m.ties[s.group], m.groups.of), func(t tie) bool { return t.to == s.group })
		if len(own) == 0 {
			break // the last
		}
		best := slices.MinFunc(own, func(t, u tie) int {
			return cmp.Or(cmp.Compare(u.length, t.length), cmp.Compare(t.gap, u.gap), cmp.Compare(t.to, u.to))
		})
		steps = append(steps, mergeStep{s.group, best.to})
		m.groups.parent[s.group] = best.to
		m.area[best.to] += s.area
		long, short := m.ties[best.to], own
		if len(short) > len(long) {
			long, short = short, long
		}
		m.ties[best.to], m.ties[s.group] = append(long, short...), nil
		heap.Push(&m.queue, sized{m.area[best.to], best.to})
	}
	return steps
}

// sized is a queued group with its area at the time of queuing.
type sized struct {
	area  int64
	group int32
}

// sizeQueue is a heap of groups, the smallest first. Ties have a fixed order.
type sizeQueue []sized

func (q sizeQueue) Len() int { return len(q) }
func (q sizeQueue) Less(i, j int) bool {
	return q[i].area < q[j].area || q[i].area == q[j].area && q[i].group < q[j].group
}
func (q sizeQueue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *sizeQueue) Push(x any)   { *q = append(*q, x.(sized)) }
func (q *sizeQueue) Pop() any {
	old := *q
	s := old[len(old)-1]
	*q = old[:len(old)-1]
	return s
}
