package stations

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"quadrille/quadkey"
)

const (
	// leafSites is the greatest number of positions that a leaf lists, unless its tile cannot be
	// divided further.
	leafSites = 8
	// A tile may have at most leafSitesAlike positions, and dividing it twice may drop none of
	// them. Then this arithmetic cannot distinguish them, and the tile stays a leaf.
	leafSitesAlike = 16
	vainDivisions  = 2
	// Tiles of the top and bottom rows extend to the pole however narrow they
	// get. From sliverZoom on they are slivers, and each zoom may list twice as
	// many positions as the one before.
	sliverZoom = 4
	// maxLeafSites bounds the list of a tile that cannot be divided. A zoom-16
	// tile is 600 m wide, where positions rounded to 0.001° come to about 40.
	maxLeafSites = 1024
	// compareAll bounds the number of positions that are compared in pairs. A
	// tile with more must be divided anyway, or soon has fewer.
	compareAll = 256
	// maxLeaves and leavesPerSite bound the leaves of hostile input. Real
	// stations have one leaf each.
	maxLeaves     = 1 << 18
	leavesPerSite = 64

	// ahead is the least difference of distance, in the cosine of the angle, by which a nearer
	// position makes another superfluous. It is more than ten times the rounding error of this
	// comparison. In distance it is at least 60 nanometres, while quadkey.Distance is exact to a
	// few nanometres.
	ahead = 1e-14
)

// site is a position of stations.
type site struct {
	candidate
	vec vec
}

// voronoi divides the world into leaves. See the package documentation.
type voronoi struct {
	ctx   context.Context
	sites []site // in the order of their ids
	// emit takes the leaves in the order of their keys, with the indexes of the
	// positions they list. It must not keep the indexes.
	emit   func(t quadkey.Tile, listed []int32) error
	leaves int

	lists [quadkey.CellZoom + 1][]int32 // of the tile being divided, by zoom
	high  []float64
	order []ranked
}

// ranked is a position with a measure of its nearness to the centre of a tile.
type ranked struct {
	site int32
	dot  float64
}

func (v *voronoi) run() error {
	all := make([]int32, len(v.sites))
	for i := range all {
		all[i] = int32(i)
	}
	if len(all) == 0 {
		return nil
	}
	return v.divide(quadkey.Tile{}, all, 0)
}

// divide turns a tile into leaves. from is the list of the tile's parent, and has the nearest
// position to every point of the tile. vain counts the previous divisions that dropped no position.
func (v *voronoi) divide(t quadkey.Tile, from []int32, vain int) error {
	if err := v.ctx.Err(); err != nil {
		return err
	}
	g := groundOf(t)
	list := v.narrow(&g, append(v.lists[t.Z][:0], from...), t.Z == quadkey.CellZoom)
	v.lists[t.Z] = list
	if vain++; len(list) < len(from) {
		vain = 0
	}
	if !v.isLeaf(t, list, vain) {
		for _, child := range t.Children() {
			if err := v.divide(child, list, vain); err != nil {
				return err
			}
		}
		return nil
	}
	if len(list) > maxLeafSites {
		return fmt.Errorf("%w positions: %d of them compete for the nearest within tile %v, of %d at most; leave stations "+
			"out whose coordinates are not their own",
			ErrTooMany, len(list), t, maxLeafSites)
	}
	if v.leaves++; v.leaves > maxLeaves+leavesPerSite*len(v.sites) {
		return fmt.Errorf("%w leaves: %d positions lie so that they divide the world into more than %d tiles; leave "+
			"stations out whose coordinates are not their own",
			ErrTooMany, len(v.sites), v.leaves-1)
	}
	return v.emit(t, list)
}

func (v *voronoi) isLeaf(t quadkey.Tile, list []int32, vain int) bool {
	if len(list) <= leafSites || t.Z == quadkey.CellZoom {
		return true
	}
	if t.Z > sliverZoom && (t.Y == 0 || t.Y == 1<<t.Z-1) && len(list) <= min(leafSites<<(t.Z-sliverZoom), maxLeafSites) {
		return true
	}
	return vain >= vainDivisions && len(list) <= leafSitesAlike
}

// narrow drops the positions that another one of the list makes superfluous on the ground, in
// place. A short list is then sorted by distance from the ground's centre. If all is set, every
// comparison is made, however long the list is.
func (v *voronoi) narrow(g *ground, list []int32, all bool) []int32 {
	// For each position there is a farthest point of the ground. The position for which that
	// distance is least bounds the distance from every point to its nearest position. One pass
	// finds that bound.
	bound := -2.0
	v.high = v.high[:0]
	for _, i := range list {
		at := v.sites[i].vec
		bound = max(bound, -g.maxDot(at.negative()))
		v.high = append(v.high, g.maxDot(at))
	}
	v.order = v.order[:0]
	for k, i := range list {
		if v.high[k] >= bound-ahead {
			v.order = append(v.order, ranked{i, v.sites[i].vec.dot(g.centre)})
		}
	}
	list = list[:0]
	if len(v.order) > compareAll && !all {
		first := []int32{slices.MinFunc(v.order, ranked.compare).site}
		for _, r := range v.order {
			if !v.superfluous(g, r.site, first) {
				list = append(list, r.site)
			}
		}
		return list
	}
	// Only a position nearer to the centre can make another superfluous,
	// because the centre is one of the points.
	slices.SortFunc(v.order, ranked.compare)
	for _, r := range v.order {
		if !v.superfluous(g, r.site, list) {
			list = append(list, r.site)
		}
	}
	return list
}

func (a ranked) compare(b ranked) int {
	if a.dot != b.dot {
		return cmp.Compare(b.dot, a.dot)
	}
	return cmp.Compare(a.site, b.site)
}

// superfluous reports whether one of the positions in by is nearer than i to
// every point of the ground.
func (v *voronoi) superfluous(g *ground, i int32, by []int32) bool {
	at := v.sites[i].vec
	for _, j := range by {
		if g.maxDot(at.minus(v.sites[j].vec)) < -ahead {
			return true
		}
	}
	return false
}
