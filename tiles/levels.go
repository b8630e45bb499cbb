package tiles

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"
)

// levels are the borders of all layers at each zoom, with a vertex wherever
// they cross a tile line of it. At zoom 13 they are exact; above, simplified and
// on the zoom's grid.
type levels struct {
	reg   *registry // of regions, numbered through all layers
	lines [MaxZoom + 1][]line
}

// arrange builds the levels. It consumes the regions' rings.
func (b *build) arrange(ctx context.Context) (*levels, error) {
	exact, reg, err := b.exactLines(ctx)
	if err != nil {
		return nil, err
	}
	lv := &levels{reg: reg}
	lv.lines[MaxZoom] = exact
	thin := newSimplifier(newArcs(exact, reg))
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(b.opts.Workers)
	for z := MaxZoom - 1; z >= 0 && gctx.Err() == nil; z-- {
		thin.thin(fineness << (2 * gridShift(z)))
		lines := thin.lines(reg)
		g.Go(func() error {
			n := noder{reg: reg, grid: gridShift(z), tiles: tileShift(z), melt: true}
			var err error
			lv.lines[z], err = n.node(lines)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	lv.dropFlickering(len(b.regions))
	return lv, ctx.Err()
}

// dropFlickering takes regions out of the zooms above one at which they have
// collapsed: what is too small to be seen at a zoom is not seen farther away,
// even if the coarser grid happens to lie so that something is left of it.
func (lv *levels) dropFlickering(regions int) {
	gone := make([]bool, regions)
	for z := MaxZoom; z >= 0; z-- {
		present := make([]bool, regions)
		for _, l := range lv.lines[z] {
			for _, s := range lv.reg.shares(l.who) {
				present[s.region] = true
			}
		}
		flickers := false
		for i := range gone {
			flickers = flickers || gone[i] && present[i]
			gone[i] = gone[i] || !present[i]
		}
		if flickers {
			lv.lines[z] = lv.without(lv.lines[z], gone)
		}
	}
}

// without returns lines without those regions that are gone.
func (lv *levels) without(lines []line, gone []bool) []line {
	kept := map[int32]int32{}
	n := 0
	for _, l := range lines {
		who, ok := kept[l.who]
		if !ok {
			set := slices.Clone(lv.reg.shares(l.who))
			set = slices.DeleteFunc(set, func(s share) bool { return gone[s.region] })
			who = lv.reg.of(set)
			kept[l.who] = who
		}
		if l.who = who; who != 0 {
			lines[n] = l
			n++
		}
	}
	return lines[:n]
}

// exactLines returns the true borders of all regions on the grid, as lines that
// meet at vertices only.
func (b *build) exactLines(ctx context.Context) ([]line, *registry, error) {
	rough := newRegistry() // of regions, whose polygons may overlap
	var all []line
	err := b.everyRegion(ctx, func(l *buildLayer, r *region) ([]line, error) {
		o := newOutliner()
		chain, err := o.chain(r.polygons, mercator)
		if err != nil {
			return nil, &GeometryError{l.typ, r.id, r.name, err}
		}
		r.repaired = o.repaired
		return appendDrawn(nil, chain, rough, r.number), nil
	}, func(_ *region, lines []line) { all = append(all, lines...) })
	if err != nil {
		return nil, nil, err
	}
	all = attach(merge(all, rough), rough)
	n := noder{reg: rough, tiles: tileShift(MaxZoom), crossings: true}
	if all, err = n.node(all); err != nil {
		return nil, nil, fmt.Errorf("%w: %w", ErrBadGeometry, err)
	}
	apart := b.drawn(all, rough)

	reg := newRegistry()
	all = all[:0]
	err = b.everyRegion(ctx, func(l *buildLayer, r *region) ([]line, error) {
		border, repaired, err := resolve(apart[r.number], winding.covered, nil)
		if err != nil {
			return nil, &GeometryError{l.typ, r.id, r.name, err}
		}
		apart[r.number] = nil
		r.repaired = r.repaired || repaired
		r.area = area2(border)
		lines := make([]line, 0, len(border))
		east, west := reg.of([]share{{r.number, 1}}), reg.of([]share{{r.number, -1}})
		for _, e := range border {
			if e.a.x == worldSize && e.b.x == worldSize {
				e.a.x, e.b.x = 0, 0 // the antimeridian's place
			}
			if e.upward() {
				lines = append(lines, line{e.a, e.b, east})
			} else {
				lines = append(lines, line{e.b, e.a, west})
			}
		}
		return lines, nil
	}, func(_ *region, lines []line) { all = append(all, lines...) })
	return merge(all, reg), reg, err
}

// drawn deals lines out to the regions.
func (b *build) drawn(lines []line, rough *registry) [][]drawn {
	count := make([]int, len(b.regions))
	for _, l := range lines {
		for _, s := range rough.shares(l.who) {
			count[s.region]++
		}
	}
	out := make([][]drawn, len(b.regions))
	for i, n := range count {
		out[i] = make([]drawn, 0, n)
	}
	for _, l := range lines {
		for _, s := range rough.shares(l.who) {
			out[s.region] = append(out[s.region], drawn{a: l.a, b: l.b, shells: s.n})
		}
	}
	return out
}

// everyRegion runs fn for every region, in parallel, and then with its lines,
// one after another in the order of the regions' numbers.
func (b *build) everyRegion(ctx context.Context, fn func(*buildLayer, *region) ([]line, error), with func(*region, []line)) error {
	lines := make([][]line, len(b.regions))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(b.opts.Workers)
	for i := range b.layers {
		for _, r := range b.layers[i].regions {
			g.Go(func() error {
				err := ctx.Err()
				if err == nil {
					lines[r.number], err = fn(&b.layers[i], r)
				}
				return err
			})
		}
	}
	if err := g.Wait(); err != nil {
		return err
	}
	for i, r := range b.regions {
		with(r, lines[i])
		lines[i] = nil
	}
	return nil
}

// appendDrawn appends the edges of a chain that is cut at the antimeridian as
// lines.
func appendDrawn(dst []line, edges []edge, reg *registry, number int32) []line {
	forth, back := reg.of([]share{{number, 1}}), reg.of([]share{{number, -1}})
	for _, e := range edges {
		switch {
		case e.a == e.b:
		case e.upward():
			dst = append(dst, line{e.a, e.b, forth})
		default:
			dst = append(dst, line{e.b, e.a, back})
		}
	}
	return dst
}

// cutAtSeams cuts a chain that is closed in the plane at every copy of the
// antimeridian, closes the parts along it, and brings all to [0, worldSize].
//
// The winding number just east of the antimeridian says how often the part in
// the west runs south along it, and the part in the east north. What the source
// itself draws there belongs to the west.
func cutAtSeams(edges []edge) []edge {
	out := make([]edge, 0, len(edges))
	passes := map[int32][]flux{} // by the seam's x
	for _, e := range edges {
		u, d := e, int32(1)
		if !e.upward() {
			u, d = e.reversed(), -1
		}
		at := u.a
		// Seams that u passes: a.x ≤ seam < b.x.
		for seam := -(-u.a.x &^ (worldSize - 1)); seam < u.b.x; seam += worldSize {
			dx, dy := int64(u.b.x)-int64(u.a.x), int64(u.b.y)-int64(u.a.y)
			p := point{seam, u.a.y + int32(divRound(int64(seam-u.a.x)*dy, dx, 0, 0))}
			passes[seam] = append(passes[seam], flux{at: int64(p.y), p: p, d: d})
			out = appendStrip(out, edge{at, p}, d)
			at = p
		}
		out = appendStrip(out, edge{at, u.b}, d)
	}
	seams := make([]int32, 0, len(passes))
	for seam := range passes {
		seams = append(seams, seam)
	}
	slices.Sort(seams)
	for _, seam := range seams {
		on := passes[seam]
		slices.SortFunc(on, func(f, g flux) int { return cmp.Compare(f.at, g.at) })
		w := int32(0)
		for i, f := range on {
			if i > 0 && on[i-1].p != f.p {
				north, south := on[i-1].p.y, f.p.y
				out = appendTimes(out, w, edge{point{worldSize, north}, point{worldSize, south}})
				out = appendTimes(out, w, edge{point{0, south}, point{0, north}})
			}
			w += f.d
		}
	}
	return out
}

// appendStrip appends an upward edge between two seams, brought to
// [0, worldSize], d times.
func appendStrip(dst []edge, u edge, d int32) []edge {
	strip := u.a.x &^ (worldSize - 1)
	if u.a.x == strip && u.b.x == strip {
		strip -= worldSize // along the seam: in the west of it
	}
	u.a.x -= strip
	u.b.x -= strip
	return appendTimes(dst, d, u)
}

// settle returns the true border of one region in a projection, periodic and
// without seams, rounded to a grid of 2^shift units.
func (r *region) settle(pr projection, shift uint) ([]edge, error) {
	chain, err := newOutliner().chain(r.polygons, pr)
	if err != nil {
		return nil, err
	}
	n := noder{reg: newRegistry(), grid: shift, crossings: true}
	lines, err := n.node(merge(appendDrawn(nil, chain, n.reg, 0), n.reg))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBadGeometry, err)
	}
	border, _, err := resolve(appendSides(nil, lines, n.reg), winding.covered, nil)
	return cancel(normalize(border)), err
}
