package build

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"quadrille/tiles"
	"quadrille/tiles/internal/grid"
	"quadrille/tiles/internal/layout"
)

// ErrTooDetailed is matched when tiles are too large to be stored or cannot be
// brought within the budget.
var ErrTooDetailed = errors.New("too much detail in one tile")

// DefaultTileBudget is the largest size of a compressed tile that maps still load quickly.
const DefaultTileBudget = 500_000

// If the tiles of a zoom do not fit into the budget, small regions are merged for the whole zoom,
// in the order of the merge tree. This begins with the deepest zoom that does not fit and continues
// to zoom 0. Each zoom starts with the borders of the next deeper one, so that merged regions stay
// merged.

const (
	// headroom is the share of the budget that is the target of generalising.
	headroom = 0.94
	// accepted is the share of the budget that a measured tile may have. Labels
	// are measured with approximate places, so the stored tile may be larger.
	accepted = 0.99

	// If a tile has more than manyEdges edges for each polygon, the borders of its zoom are
	// simplified before regions are merged. They are simplified as if for a zoom that is up to
	// fewCoarse lower. A tile with more than mostEdges edges for each polygon is a coast with
	// islands, and merging hardly makes it smaller. Borders are then simplified by up to mostCoarse
	// zooms, as long as that helps.
	manyEdges, mostEdges  = 24, 1000
	fewCoarse, mostCoarse = 2, 6

	// mostMeasured bounds the zooms that are measured at a time, and mostMeters the goroutines that
	// measure one. Each may need a copy of the borders.
	mostMeasured, mostMeters = 2, 2

	// mostTries bounds the attempts to fit a zoom into the budget. A few are usually enough.
	mostTries = 40

	// pixelShift is the base-2 logarithm of a pixel's side in steps, for a tile of 512 pixels.
	pixelShift = 3
)

// generaliser is the state while zooms are generalised, the deepest first.
type generaliser struct {
	b       *build
	lv      *levels
	limit   int // of values
	trees   []mergeTree
	groups  *groups // of the next deeper zoom
	cuts    []int   // by layer: steps of its merge tree taken
	overlap []bool  // by layer: some of its regions overlap
	visible []bool  // by region: the next deeper zoom shows it with its id
	drawn   []bool  // by region: its polygon has a border at the next deeper zoom
}

// generalise changes the levels of the zooms whose tiles are over the budget. valueLimit is the
// greatest size of a value in bytes.
func (b *build) generalise(ctx context.Context, lv *levels, valueLimit int) error {
	for i := range b.layers {
		b.layers[i].shown = b.layers[i].regions
	}
	g := &generaliser{b: b, lv: lv, limit: valueLimit}
	over, err := g.measureAll(ctx)
	if err != nil {
		return err
	}
	if t, ok := g.tooLarge(over[grid.MaxZoom]); ok {
		layer, value := t.value()
		return fmt.Errorf("%w: tile %v of %s takes %d bytes, the store takes %d in a value: zoom %d is kept exactly, so "+
			"simplify the source or leave out regions that lie over each other",
			ErrTooDetailed, t.tile, b.layers[layer].typ, value, valueLimit, grid.MaxZoom)
	}
	if budget := int(b.opts.TileBudget); budget > 0 {
		for _, t := range over[grid.MaxZoom] {
			for i := range t.layers {
				if t.bytes() > budget && t.layers[i].bytes > 0 {
					b.layers[i].overBudget++
				}
			}
		}
	}
	deepest := grid.MaxZoom - 1
	for deepest >= 0 && len(over[deepest]) == 0 {
		deepest--
	}
	if deepest < 0 {
		return nil
	}
	if b.opts.TileBudget == 0 {
		t := over[deepest][0]
		layer, value := t.value()
		return fmt.Errorf("%w: tile %v of %s takes %d bytes, the store takes %d in a value: give a budget for tiles, so "+
			"that small regions are merged at low zooms",
			ErrTooDetailed, t.tile, b.layers[layer].typ, value, valueLimit)
	}
	if g.trees, err = b.mergeTrees(ctx, lv.lines[grid.MaxZoom], lv.reg); err != nil {
		return err
	}
	g.groups, g.cuts = newGroups(len(b.regions)), make([]int, len(b.layers))
	g.visible = slices.Repeat([]bool{true}, len(b.regions))
	g.findOverlaps(lv.lines[grid.MaxZoom])
	b.progress.begin("merging small regions", int64(deepest+1), unitLevels)
	for z := deepest; z >= 0; z-- {
		if err := g.zoom(ctx, z, over[z], z == deepest); err != nil {
			return err
		}
		b.progress.add(1)
	}
	for i := range b.layers {
		slices.SortFunc(b.layers[i].shown, compareShown)
	}
	return nil
}

// measureAll returns the tiles over the budget at every zoom, before any change. It leaves out the
// zooms above one that is over the budget, because these are built again.
func (g *generaliser) measureAll(ctx context.Context) (over [grid.MaxZoom + 1][]tileSize, err error) {
	g.b.progress.begin("measuring tiles", int64(len(over)), unitLevels)
	var shown [][]*region
	for _, l := range g.b.layers {
		shown = append(shown, l.regions)
	}
	group, gctx := errgroup.WithContext(ctx)
	group.SetLimit(min(g.b.opts.Workers, mostMeasured))
	var deepest atomic.Int32
	for z := grid.MaxZoom; z >= 0; z-- {
		group.Go(func() (err error) {
			defer g.b.progress.add(1)
			if z < int(deepest.Load()) {
				return nil
			}
			over[z], err = g.over(gctx, &view{z, g.lv.lines[z], shown, len(g.b.regions)})
			for len(over[z]) > 0 && z < grid.MaxZoom {
				was := deepest.Load()
				if int(was) >= z || deepest.CompareAndSwap(was, int32(z)) {
					break
				}
			}
			return err
		})
	}
	err = group.Wait()
	return over, err
}

// over returns the tiles of a view that are over the budget or too large to be
// stored, the worst first.
func (g *generaliser) over(ctx context.Context, v *view) ([]tileSize, error) {
	// A value compresses at best to a twentieth.
	limit := g.limit / 20
	if g.b.opts.TileBudget > 0 {
		limit = min(limit, int(g.b.opts.TileBudget))
	}
	sizes, err := g.b.measure(ctx, v, g.lv.reg, limit)
	sizes = slices.DeleteFunc(sizes, func(t tileSize) bool { return g.excess(&t) <= 1 })
	slices.SortStableFunc(sizes, func(s, t tileSize) int {
		switch d := g.excess(&t) - g.excess(&s); {
		case d > 0:
			return 1
		case d < 0:
			return -1
		}
		return 0
	})
	return sizes, err
}

// excess returns the size of a tile as a multiple of its limit. Only zoom 13 may use the budget up
// to the last byte: it is exact in any case.
func (g *generaliser) excess(t *tileSize) float64 {
	_, value := t.value()
	x := float64(value) / float64(g.limit)
	if g.b.opts.TileBudget > 0 {
		budget := float64(g.b.opts.TileBudget)
		if t.tile.Z < grid.MaxZoom {
			budget *= accepted
		}
		x = max(x, float64(t.bytes())/budget)
	}
	return x
}

// tooLarge returns a tile that cannot be stored.
func (g *generaliser) tooLarge(sizes []tileSize) (tileSize, bool) {
	i := slices.IndexFunc(sizes, func(t tileSize) bool { _, v := t.value(); return v > g.limit })
	if i < 0 {
		return tileSize{}, false
	}
	return sizes[i], true
}

// zoom brings a zoom within the budget. If measured is set, over has the tiles over the budget
// before any change.
func (g *generaliser) zoom(ctx context.Context, z int, over []tileSize, measured bool) error {
	g.findDrawn(g.lv.lines[z+1])
	t := &target{g: g, groups: g.groups.clone(), cuts: slices.Clone(g.cuts)}
	for range mostTries {
		if measured {
			measured = false
			if err := t.refine(z, over); err != nil {
				return err
			}
			continue
		}
		v, err := g.arrange(z, t)
		if err != nil {
			return err
		}
		if over, err = g.over(ctx, v); err != nil {
			return err
		}
		if len(over) == 0 {
			g.accept(v, t)
			return nil
		}
		if err := t.refine(z, over); err != nil {
			return err
		}
	}
	return g.refuse(z, over)
}

// findDrawn finds the regions that have a border at the next deeper zoom, alone or as the head of a
// merged region.
func (g *generaliser) findDrawn(lines []grid.Line) {
	g.drawn = make([]bool, len(g.b.regions))
	done := map[int32]bool{}
	for _, l := range lines {
		if done[l.ShareSet] {
			continue
		}
		done[l.ShareSet] = true
		for _, s := range g.lv.reg.Shares(l.ShareSet) {
			g.drawn[g.b.regions[s.Region].head] = true
		}
	}
}

// refuse returns the error for a zoom that cannot be brought within a limit.
func (g *generaliser) refuse(z int, over []tileSize) error {
	if t, ok := g.tooLarge(over); ok {
		layer, value := t.value()
		return fmt.Errorf("%w: tile %v of %s still takes %d bytes where regions are merged, the store takes %d in a value: "+
			"simplify the source or leave out regions that lie over each other",
			ErrTooDetailed, t.tile, g.b.layers[layer].typ, value, g.limit)
	}
	return fmt.Errorf("%w: the tiles of zoom %d cannot be brought within the budget of %d bytes, tile %v still has %d: give a larger one",
		ErrTooDetailed, z, g.b.opts.TileBudget, over[0].tile, over[0].bytes())
}

// target describes the generalisation of a zoom.
type target struct {
	g      *generaliser
	groups *groups
	cuts   []int
	coarse int // borders are simplified as at the zoom lower by this number
	last   map[int]layerSize
}

// worstTiles is the number of tiles that determine the merging of a layer. Other tiles get their
// turn in the next attempt.
const worstTiles = 24

// refine reduces the detail of a zoom, depending on the sizes of the tiles over the budget. It
// simplifies all borders of the zoom as long as that helps, and then merges regions.
func (t *target) refine(z int, over []tileSize) error {
	over = over[:min(len(over), worstTiles)]
	worst := map[int]layerSize{}
	simplify := false
	t.eachTooLarge(over, func(i int, s *layerSize, _ float64) {
		if w, ok := worst[i]; !ok || s.bytes > w.bytes {
			worst[i] = *s
		}
		simplify = simplify || t.simplifies(i, s)
	})
	changed := false
	if !simplify {
		t.eachTooLarge(over, func(i int, s *layerSize, ratio float64) { changed = t.merge(i, s, ratio) || changed })
	}
	t.last = worst
	if !changed {
		if t.coarse++; t.coarse > mostCoarse {
			return t.g.refuse(z, over)
		}
	}
	return nil
}

// eachTooLarge calls fn for the layers that exceed their share of a tile, with their size as a
// multiple of it.
func (t *target) eachTooLarge(over []tileSize, fn func(layer int, s *layerSize, ratio float64)) {
	for _, tile := range over {
		allowed := t.allowed(&tile)
		for i := range tile.layers {
			s := &tile.layers[i]
			if ratio := max(float64(s.bytes)/allowed, float64(s.value)/(headroom*float64(t.g.limit))); ratio > 1 {
				fn(i, s, ratio)
			}
		}
	}
}

// simplifies reports whether simpler borders may make a layer of a tile small
// enough. After more than fewCoarse simplifications the last step must have
// helped.
func (t *target) simplifies(layer int, s *layerSize) bool {
	switch {
	case t.coarse < fewCoarse:
		return s.edges > manyEdges*len(s.heads)
	case t.coarse == mostCoarse || s.edges <= mostEdges*len(s.heads):
		return false
	}
	last, ok := t.last[layer]
	return t.coarse == fewCoarse || !ok || float64(s.bytes) < 0.9*float64(last.bytes)
}

// allowed returns how many bytes each layer of a tile over the budget may have. All layers have the
// same share. Large layers divide the part of the shares that small layers do not use.
func (t *target) allowed(tile *tileSize) float64 {
	budget := headroom * float64(t.g.b.opts.TileBudget)
	sizes := make([]int, 0, len(tile.layers))
	for i := range tile.layers {
		sizes = append(sizes, tile.layers[i].bytes)
	}
	slices.Sort(sizes)
	for i, s := range sizes {
		share := budget / float64(len(sizes)-i)
		if float64(s) > share {
			return share
		}
		budget -= float64(s)
	}
	return math.Inf(1)
}

// merge merges regions of a layer until a tile has so few groups that its size should fall by the
// ratio. It reports whether any regions were merged.
func (t *target) merge(layer int, s *layerSize, ratio float64) bool {
	// Merged polygons have longer borders than each of their parts, so the
	// size falls more slowly than the number.
	power := 1.3
	if last, ok := t.last[layer]; ok && len(last.heads) > len(s.heads) && last.bytes > s.bytes {
		slope := math.Log(float64(last.bytes)/float64(s.bytes)) / math.Log(float64(len(last.heads))/float64(len(s.heads)))
		power = 1 / min(max(slope, 0.5), 1)
	}
	present := make(map[int32]bool, len(s.heads))
	for _, h := range s.heads {
		present[t.groups.of(h)] = true
	}
	want := min(int(float64(len(s.heads))/math.Pow(ratio, power)), len(s.heads)-1)
	tree := t.g.trees[layer]
	changed := false
	t.groups.done = t.cuts[layer]
	for len(present) > max(want, 1) && t.groups.done < len(tree) {
		gone, kept := t.groups.step(tree)
		if present[gone] {
			delete(present, gone)
			present[kept] = true
		}
		changed = true
	}
	t.cuts[layer] = t.groups.done
	return changed
}

// arrange derives the borders of a zoom from those of the next deeper one.
func (g *generaliser) arrange(z int, t *target) (*view, error) {
	b := g.b
	v := &view{zoom: z, count: len(b.regions)}
	to := make([]int32, len(b.regions)) // the number of a region at this zoom
	for i := range to {
		to[i] = int32(i)
	}
	for i := range b.layers {
		v.shown = append(v.shown, g.join(v, t, i, to))
	}
	lines := g.relabel(g.lv.lines[z+1], to)
	var err error
	if lines, err = g.level(lines, v); err != nil {
		return nil, err
	}
	thin := grid.NewSimplifier(lines, g.lv.reg)
	thin.Thin(grid.MaxThinArea2 << (2 * (grid.StepShift(z) + uint(t.coarse))))
	n := grid.Noder{
		ShareSets:         g.lv.reg,
		PixelShift:        grid.StepShift(z) + uint(max(0, t.coarse-fewCoarse)),
		TileShift:         grid.TileShift(z),
		MergeAntimeridian: true,
		MaxVertices:       mostSimpler,
	}
	if v.lines, err = n.Node(thin.Lines(g.lv.reg)); err != nil {
		return nil, b.badArrangement(err)
	}
	return v, nil
}

// join returns the regions of a layer that a zoom shows, in the order of their cells. Merged
// regions get new numbers. join sets in to the new number of each region, for the source's regions
// and for those of the next deeper zoom.
func (g *generaliser) join(v *view, t *target, layer int, to []int32) []*region {
	l := &g.b.layers[layer]
	members := make(map[int32][]*region)
	var order []int32
	for _, r := range l.regions {
		root := t.groups.of(r.number)
		if members[root] == nil {
			order = append(order, root)
		}
		members[root] = append(members[root], r)
	}
	var shown []*region
	number := make(map[int32]int32, len(order))
	for _, root := range order {
		in := members[root]
		if len(in) == 1 {
			shown = append(shown, in[0])
			number[root] = in[0].number
			continue
		}
		r := g.merged(v.zoom, l.typ, in)
		r.number = int32(v.count)
		v.count++
		shown = append(shown, r)
		number[root] = r.number
	}
	for _, r := range l.regions {
		to[r.number] = number[t.groups.of(r.number)]
	}
	for _, r := range l.shown {
		if r.merged > 0 {
			to[r.number] = number[t.groups.of(r.head)]
		}
	}
	slices.SortFunc(shown, compareShown)
	return shown
}

func compareShown(r, s *region) int {
	return cmp.Or(cmp.Compare(r.key, s.key), cmp.Compare(r.number, s.number))
}

// merged returns the region that represents several regions at a zoom. It has the id of the largest
// if the largest is drawn and the others are too small to see: each has less than a pixel, and
// together they have less than an eighth of the largest.
func (g *generaliser) merged(z int, typ string, in []*region) *region {
	head := in[0]
	var sum int64
	for _, r := range in {
		if sum += r.area; r.area > head.area {
			head = r
		}
	}
	side := int64(1) << (grid.StepShift(z) + pixelShift)
	named := g.visible[head.number] && g.drawn[head.number] && sum-head.area <= head.area/8
	for _, r := range in {
		named = named && (r == head || r.area < 2*side*side)
	}
	m := &region{
		head:   head.number,
		merged: len(in),
		area:   sum,
		bounds: head.bounds,
		id:     head.id,
		key:    head.key,
		name:   head.name,
		tag:    head.tag,
		color:  head.color,
	}
	if !named {
		m.id, m.key, m.name = layout.MergedID(head.id), layout.MergedID(head.key), ""
		m.tag = layout.FeatureID(typ, m.id)
	}
	m.feature = layout.AppendFeatureHead(nil, typ, m.id, m.name, m.merged)
	return m
}

// relabel replaces each region of a line by its merged region. Lines inside a merged region vanish.
func (g *generaliser) relabel(lines []grid.Line, to []int32) []grid.Line {
	reg := g.lv.reg
	sets := map[int32]int32{}
	out := make([]grid.Line, 0, len(lines))
	for _, l := range lines {
		set, ok := sets[l.ShareSet]
		if !ok {
			shares := slices.Clone(reg.Shares(l.ShareSet))
			for i := range shares {
				shares[i].Region = to[shares[i].Region]
			}
			set = reg.Number(shares)
			sets[l.ShareSet] = set
		}
		if l.ShareSet = set; set != 0 {
			out = append(out, l)
		}
	}
	return out
}

// findOverlaps finds the layers with overlapping regions.
func (g *generaliser) findOverlaps(lines []grid.Line) {
	reg := g.lv.reg
	layerOf := g.b.layerOf()
	g.overlap = make([]bool, len(g.b.layers))
	for i := range g.overlap {
		whole := make([]int32, len(g.b.regions))
		sets := map[int32]int32{}
		var of []grid.Line
		for _, l := range lines {
			set, ok := sets[l.ShareSet]
			if !ok {
				var shares []grid.Share
				for _, s := range reg.Shares(l.ShareSet) {
					if layerOf[s.Region] == i {
						shares = append(shares, grid.Share{Region: whole[s.Region], Times: s.Times})
					}
				}
				set = reg.Number(shares)
				sets[l.ShareSet] = set
			}
			if l.ShareSet = set; set != 0 {
				of = append(of, l)
			}
		}
		_, repaired, err := covered(grid.EdgesByRegion(of, reg, 1)[0], 0)
		g.overlap[i] = repaired || err != nil
	}
}

// covered returns the border of all ground that a periodic chain winds around, and whether the
// chain winds around some ground twice. The chain's vertices lie on the grid of a shift.
func covered(edges []grid.Edge, shift uint) ([]grid.Edge, bool, error) {
	// Other parts may touch the cut at the antimeridian between the cut's ends.
	n := grid.Noder{ShareSets: grid.NewShareSets(), PixelShift: shift, MaxVertices: mostSimpler}
	reg := n.ShareSets
	lines, err := n.Node(grid.MergeLines(grid.AppendLines(nil, grid.CutAtSeams(edges), reg, 0), reg))
	if err != nil {
		return nil, false, err
	}
	border, repaired, err := grid.Resolve(grid.AppendCounted(nil, lines, reg), grid.Winding.Covered, nil)
	return grid.CancelEdges(grid.Normalize(border)), repaired, err
}

// level makes merged regions of layers with overlaps wind once around the ground that they cover.
func (g *generaliser) level(lines []grid.Line, v *view) ([]grid.Line, error) {
	reg := g.lv.reg
	redo := make([]bool, v.count)
	some := false
	for i, shown := range v.shown {
		for _, r := range shown {
			redo[r.number] = g.overlap[i] && r.merged > 0
			some = some || redo[r.number]
		}
	}
	if !some {
		return lines, nil
	}
	borders := grid.EdgesByRegion(lines, reg, v.count)
	out := (&levels{reg: reg}).without(lines, redo)
	for number, again := range redo {
		if !again {
			continue
		}
		border, _, err := covered(borders[number], grid.StepShift(v.zoom+1))
		if err != nil {
			return nil, g.b.badArrangement(err)
		}
		out = grid.AppendLines(out, border, reg, int32(number))
	}
	return grid.MergeLines(out, reg), nil
}

// accept makes a view the final level of its zoom.
func (g *generaliser) accept(v *view, t *target) {
	b := g.b
	g.lv.lines[v.zoom] = v.lines
	g.groups, g.cuts = t.groups, t.cuts
	b.regions = append(b.regions, make([]*region, v.count-len(b.regions))...)
	for i := range b.layers {
		l := &b.layers[i]
		was := slices.Clone(g.visible)
		for _, r := range l.regions {
			g.visible[r.number] = false
		}
		entry := tiles.Generalisation{Zoom: v.zoom, SimplifiedZooms: t.coarse}
		l.shown = slices.Clip(l.shown) // it may be the layer's regions
		for _, r := range v.shown[i] {
			if r.named() {
				g.visible[r.head] = true
				entry.ShownRegions++
			}
			if r.merged > 0 {
				entry.MergedPolygons++
				b.regions[r.number] = r
				l.shown = append(l.shown, r)
			}
		}
		for _, r := range l.regions {
			if was[r.number] && !g.visible[r.number] {
				r.shown = uint8(v.zoom + 1)
			}
		}
		if entry.MergedPolygons > 0 || entry.SimplifiedZooms > 0 {
			l.generalised = append(l.generalised, entry)
		}
	}
}

// named reports whether the region is shown with its own id.
func (r *region) named() bool { return r.id[0] != layout.MergedMark }
