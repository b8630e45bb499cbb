package voronoi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"quadrille/places/internal/near"
	"quadrille/quadkey"
)

// ErrTooMany means that so many positions compete that the leaves would list too many of them.
var ErrTooMany = errors.New("too many positions compete")

const (
	// leafSites is the greatest number of positions that a leaf lists, unless its tile cannot be
	// divided further.
	leafSites = 8
	// LeafSitesAlike is the number of positions that a tile may have if dividing it twice drops none
	// of them. Then this arithmetic cannot distinguish them, and the tile stays a leaf.
	LeafSitesAlike = 16
	vainDivisions  = 2
	// Tiles of the top and bottom rows extend to the pole however narrow they
	// get. From sliverZoom on they are slivers, and each zoom may list twice as
	// many positions as the one before.
	sliverZoom = 4
	// maxLeafSites bounds the list of a tile that cannot be divided. A zoom-16
	// tile is 600 m wide, where positions rounded to 0.001° come to about 40.
	maxLeafSites = 1024
	// compareAll bounds the number of positions that are compared in pairs. A tile with more must be
	// divided anyway, and its parts have fewer. From compareZoom on, and in slivers, all are compared:
	// several groups far away may have many positions at nearly one distance.
	compareAll  = 256
	compareZoom = 10
	// maxLeaves, leavesPerSite, maxWork and workPerSite bound the leaves and the comparisons of
	// hostile input. Real positions have one leaf each, and some 150 comparisons.
	maxLeaves     = 1 << 18
	leavesPerSite = 64
	maxWork       = 1 << 27
	workPerSite   = 2000

	// ahead is the least difference of distance, in the cosine of the angle, by which a nearer
	// position makes another superfluous. It is more than ten times the rounding error of this
	// comparison. In distance it is at least 60 nanometres, while quadkey.Distance is exact to a
	// few nanometres.
	ahead = 1e-14
)

// Division divides the world into leaves. Use it once.
type Division struct {
	Sites *Sites
	// Emit takes the leaves in the order of their keys, with the positions that they list. It must
	// not keep the list.
	Emit func(t quadkey.Tile, listed []Site) error
	// Partial lets leaves list nothing if they would list more than 1024 positions. It does the same
	// with the last leaves if the positions lie so that they divide the world into very many tiles.
	// Without it, both are ErrTooMany.
	Partial bool

	ctx    context.Context
	leaves int
	work   int // comparisons made
	spent  bool

	around []vantage        // positions around the present tile
	recent [1 << 12]vantage // by the number of the site
	search search
	tiles  []quadkey.Tile
	ranges []span
	lists  [quadkey.CellZoom + 1][]int32 // of around, for the tile being divided, by zoom
	order  []ranked
	listed []Site
}

// vantage is a site with its point of the sphere.
type vantage struct {
	vec
	site int32
}

// vec returns the point of a site. Most are asked for several times in a row.
func (v *Division) vec(site int) vec {
	c := &v.recent[site%len(v.recent)]
	if c.site != int32(site) || c.vec == (vec{}) {
		*c = vantage{v.Sites.list[site].vec(), int32(site)}
	}
	return c.vec
}

// span is the sites from lo to before hi.
type span struct{ lo, hi int }

func (s span) len() int { return s.hi - s.lo }

// ranked is a position with a measure of its nearness to the centre of a tile.
type ranked struct {
	at  int32 // in Division.around
	dot float64
}

// Run emits the leaves. Without sites there are none.
func (v *Division) Run(ctx context.Context) error {
	v.ctx = ctx
	v.Sites.endCell()
	all := span{0, len(v.Sites.list)}
	if all.len() == 0 {
		return nil
	}
	return v.divide(quadkey.Tile{}, all, all)
}

// divide turns a tile into leaves. in are the sites in it, and of are sites near it, at least one.
// Every site is the nearest one to its own position, so a tile with many is divided before what is
// around it is known.
func (v *Division) divide(t quadkey.Tile, in, of span) error {
	if err := v.ctx.Err(); err != nil {
		return err
	}
	if v.spent {
		return v.leaf(t, nil)
	}
	if in.len() > 0 {
		of = in
	}
	if in.len() <= leafSites || t.Z == quadkey.CellZoom {
		v.look(t, of)
		list := v.lists[t.Z][:0]
		for i := range v.around {
			list = append(list, int32(i))
		}
		v.lists[t.Z] = list
		return v.refine(t, list, 0)
	}
	for _, child := range t.Children() {
		first, last := child.CellRange()
		lo, hi := near.IndexRange(v.Sites.cells[in.lo:in.hi], first, last)
		if err := v.divide(child, span{in.lo + lo, in.lo + hi}, of); err != nil {
			return err
		}
	}
	return nil
}

// look fills around with the sites that may be the nearest to a point of a tile. of are sites near
// the tile.
//
// The nearest site to the centre is at a distance d, and no point of the tile is farther than r
// from the centre. So every point has a site within r + d, and what is nearest to it is within
// d + 2r of the centre.
func (v *Division) look(t quadkey.Tile, of span) {
	g := groundOf(t)
	r := angleOf(-g.maxDot(g.centre.negative()))
	first := v.first(&g, of, r)
	angle := angleOf(g.centre.dot(first)) + 2*r
	least := -2.0
	if angle < math.Pi {
		least = math.Cos(angle) - ahead
	}
	n := v.within(&g, angle)
	v.around = v.around[:0]
	for _, part := range v.ranges {
		for i := part.lo; i < part.hi; i++ {
			at := v.vec(i)
			if at.dot(g.centre) < least || n > compareAll && g.maxDot(at.minus(first)) < -ahead {
				continue
			}
			v.around = append(v.around, vantage{at, int32(i)})
		}
	}
}

// first returns the site nearest to the centre of a ground, or another one no farther than r from it. No
// point of the ground is farther than r from the centre. of are sites near the ground.
func (v *Division) first(g *ground, of span, r float64) (first vec) {
	most := -2.0
	look := func(s span, step int) {
		for i := s.lo; i < s.hi; i += step {
			if at := v.vec(i); at.dot(g.centre) > most {
				first, most = at, at.dot(g.centre)
			}
		}
	}
	look(of, of.len()/samples+1)
	d := angleOf(most)
	if d <= r {
		return first
	}
	if v.within(g, d) > compareAll {
		s := &v.search
		s.sites, s.lon, s.lat = v.Sites.list, g.lon, g.lat
		s.Reset(1, math.MaxUint64, near.Cursor{})
		// Visit returns no error.
		_ = s.RunFrom(v.ctx, s, g.lon, g.lat, v.Sites.cells)
		for _, found := range s.Sorted() {
			first = v.vec(int(found.Key - 1))
		}
		return first
	}
	for _, part := range v.ranges {
		look(part, 1)
	}
	return first
}

// samples is the number of sites near a tile among which first looks for one near its centre.
const samples = 16

// angleOf returns the angle of a cosine, a little too wide rather than too narrow.
func angleOf(cos float64) float64 { return math.Acos(min(max(cos, -1), 1)) + 1e-7 }

// search finds the site nearest to a point.
type search struct {
	near.Lists
	sites    []Site
	lon, lat float64
}

// Bound returns the distance of a tile.
func (s *search) Bound(n *near.Node) (uint64, bool) {
	if n.Lo == n.Hi {
		return 0, false
	}
	return s.MinRank(n.Tile)
}

// Visit measures the sites of a tile.
func (s *search) Visit(_ context.Context, n *near.Node) error {
	if n.Hi-n.Lo > LeafSitesAlike && n.Tile.Z < quadkey.CellZoom {
		s.Split(s, n)
		return nil
	}
	for i := n.Lo; i < n.Hi; i++ {
		if rank, id := near.DistanceRank(s.sites[i].Distance(s.lon, s.lat)), near.ID(i+1); s.Wants(rank, id) {
			s.Keep(rank, id)
		}
	}
	return nil
}

// within fills ranges with the sites within an angle of the centre of a ground, and others near
// these. It returns their number.
func (v *Division) within(g *ground, angle float64) (n int) {
	c := quadkey.CircleAround(g.lon, g.lat, angle*quadkey.EarthRadius)
	v.tiles, v.ranges = c.AppendTiles(v.tiles[:0]), v.ranges[:0]
	for _, t := range v.tiles {
		first, last := t.CellRange()
		lo, hi := near.IndexRange(v.Sites.cells, first, last)
		n += v.addRanges(&c, t, span{lo, hi})
	}
	v.spend(n)
	return n
}

// addRanges adds the sites of a tile that may be in a circle, and returns their number.
func (v *Division) addRanges(c *quadkey.Circle, t quadkey.Tile, in span) (n int) {
	switch {
	case in.len() == 0 || !c.Meets(t):
		return 0
	case in.len() <= leafSites || t.Z == quadkey.CellZoom:
		if last := len(v.ranges) - 1; last >= 0 && v.ranges[last].hi == in.lo {
			v.ranges[last].hi = in.hi
		} else {
			v.ranges = append(v.ranges, in)
		}
		return in.len()
	}
	lo := in.lo
	for _, child := range t.Children() {
		_, last := child.CellRange()
		_, m := near.IndexRange(v.Sites.cells[lo:in.hi], 0, last)
		n += v.addRanges(c, child, span{lo, lo + m})
		lo += m
	}
	return n
}

// spend counts comparisons.
func (v *Division) spend(n int) {
	v.work += n
	v.spent = v.spent || v.work > maxWork+workPerSite*len(v.Sites.list)
}

// refine turns a tile into leaves. from is the list of the tile's parent, and has the nearest
// position to every point of the tile. vain counts the previous divisions that dropped no position.
func (v *Division) refine(t quadkey.Tile, from []int32, vain int) error {
	if err := v.ctx.Err(); err != nil {
		return err
	}
	if v.spent {
		return v.leaf(t, nil)
	}
	g := groundOf(t)
	list := v.narrow(&g, append(v.lists[t.Z][:0], from...), t.Z >= compareZoom || isSliver(t))
	v.lists[t.Z] = list
	if vain++; len(list) < len(from) {
		vain = 0
	}
	if isLeaf(t, list, vain) {
		return v.leaf(t, list)
	}
	for _, child := range t.Children() {
		if err := v.refine(child, list, vain); err != nil {
			return err
		}
	}
	return nil
}

// leaf emits a leaf.
func (v *Division) leaf(t quadkey.Tile, list []int32) error {
	if len(list) > maxLeafSites {
		if !v.Partial {
			return fmt.Errorf("%w: %d for the nearest within tile %v, of %d at most; leave out those whose coordinates are not "+
				"their own", ErrTooMany, len(list), t, maxLeafSites)
		}
		list = nil
	}
	v.leaves++
	if v.spent = v.spent || v.leaves >= maxLeaves+leavesPerSite*len(v.Sites.list); v.spent && !v.Partial {
		return fmt.Errorf("%w: %d positions lie so that they would divide the world into far more than %d tiles; leave out those "+
			"whose coordinates are not their own", ErrTooMany, len(v.Sites.list), v.leaves)
	}
	v.listed = v.listed[:0]
	for _, i := range list {
		v.listed = append(v.listed, v.Sites.list[v.around[i].site])
	}
	return v.Emit(t, v.listed)
}

func isSliver(t quadkey.Tile) bool { return t.Z > sliverZoom && (t.Y == 0 || t.Y == 1<<t.Z-1) }

func isLeaf(t quadkey.Tile, list []int32, vain int) bool {
	if len(list) <= leafSites || t.Z == quadkey.CellZoom {
		return true
	}
	if isSliver(t) {
		return len(list) <= min(leafSites<<(t.Z-sliverZoom), maxLeafSites) || vain >= vainDivisions && len(list) <= maxLeafSites
	}
	return vain >= vainDivisions && len(list) <= LeafSitesAlike
}

// narrow drops the positions that another one of the list makes superfluous on the ground, in
// place. A short list is then sorted by distance from the ground's centre, and a long one only
// becomes shorter. If all is set, long ones are compared in pairs too, until more than a leaf may list
// have remained.
func (v *Division) narrow(g *ground, list []int32, all bool) []int32 {
	if len(list) > compareAll {
		if list = v.narrowByFew(g, list); len(list) > compareAll && !all {
			return list
		}
	}
	v.order = v.order[:0]
	first := v.nearestTo(g.centre, list)
	for _, i := range list {
		if i != first && !v.superfluous(g, i, []int32{first}) {
			v.order = append(v.order, ranked{i, v.around[i].dot(g.centre)})
		}
	}
	// Only a position nearer to the centre can make another superfluous, because the centre is one
	// of the points.
	slices.SortFunc(v.order, ranked.compare)
	list = append(list[:0], first)
	for _, r := range v.order {
		if len(list) > maxLeafSites || !v.superfluous(g, r.at, list[1:]) {
			list = append(list, r.at)
		}
	}
	return list
}

// narrowByFew drops the positions that one of a few makes superfluous: those nearest to the centre
// and the corners of the ground.
func (v *Division) narrowByFew(g *ground, list []int32) []int32 {
	few := [...]int32{
		v.nearestTo(g.centre, list),
		v.nearestTo(corner(g.west, g.south), list), v.nearestTo(corner(g.east, g.south), list),
		v.nearestTo(corner(g.west, g.north), list), v.nearestTo(corner(g.east, g.north), list),
	}
	kept := list[:0]
	for _, i := range list {
		if !v.superfluous(g, i, few[:]) {
			kept = append(kept, i)
		}
	}
	return kept
}

// nearestTo returns the position of a list that is nearest to a point.
func (v *Division) nearestTo(p vec, list []int32) (nearest int32) {
	most := -2.0
	for _, i := range list {
		if dot := v.around[i].dot(p); dot > most {
			nearest, most = i, dot
		}
	}
	return nearest
}

func (a ranked) compare(b ranked) int {
	if a.dot != b.dot {
		return cmp.Compare(b.dot, a.dot)
	}
	return cmp.Compare(a.at, b.at)
}

// superfluous reports whether one of the positions in by is nearer than i to
// every point of the ground.
func (v *Division) superfluous(g *ground, i int32, by []int32) bool {
	at := v.around[i].vec
	for n, j := range by {
		if g.maxDot(at.minus(v.around[j].vec)) < -ahead {
			v.spend(n + 1)
			return true
		}
	}
	v.spend(len(by))
	return false
}
