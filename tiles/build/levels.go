package build

import (
	"context"
	"errors"
	"math"
	"slices"

	"golang.org/x/sync/errgroup"

	"quadrille/tiles/internal/grid"
	"quadrille/tiles/internal/layout"
)

// levels holds the borders of all layers at each zoom, with a vertex wherever
// they cross a tile line of that zoom. Zoom 13 is exact. Lower zooms are
// simplified and on the zoom's grid.
type levels struct {
	reg   *grid.ShareSets // of regions, numbered through all layers
	lines [grid.MaxZoom + 1][]grid.Line
}

// arrange builds the levels. It consumes the regions' rings.
func (b *build) arrange(ctx context.Context) (*levels, error) {
	exact, reg, err := b.exactLines(ctx)
	if err != nil {
		return nil, err
	}
	b.progress.begin("arranging zoom levels", grid.MaxZoom+1, unitLevels)
	return b.simplified(ctx, exact, reg, len(b.regions))
}

// simplified returns the arrangement at each zoom. regions is the number of regions in the
// ShareSets.
func (b *build) simplified(ctx context.Context, exact []grid.Line, reg *grid.ShareSets, regions int) (*levels, error) {
	lv := &levels{reg: reg}
	lv.lines[grid.MaxZoom] = exact
	thin := grid.NewSimplifier(exact, reg)
	b.progress.add(1)
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(b.opts.Workers)
	for z := grid.MaxZoom - 1; z >= 0 && gctx.Err() == nil; z-- {
		thin.Thin(grid.MaxThinArea2 << (2 * grid.StepShift(z)))
		lines := thin.Lines(reg)
		g.Go(func() error {
			n := grid.Noder{ShareSets: reg, PixelShift: grid.StepShift(z), TileShift: grid.TileShift(z), MergeAntimeridian: true,
				MaxVertices: mostSimpler}
			nodes, err := n.Node(lines)
			b.progress.add(1)
			if err != nil {
				return b.badArrangement(err)
			}
			lv.lines[z] = nodes
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	lv.dropFlickering(regions)
	return lv, ctx.Err()
}

// mostSimpler is Noder.MaxVertices for zooms 0 to 12. Lower zooms have simpler borders that cross
// fewer tiles, so they need no more memory than zoom 13, which has passed the check.
const mostSimpler = math.MaxInt64

// badArrangement adds an explanation to an error of an arrangement, such as too little memory.
func (b *build) badArrangement(err error) error {
	var long *grid.TooLongError
	if b.opts.Memory > 0 && errors.As(err, &long) {
		return &MemoryError{Vertices: long.Vertices, NeedBytes: MemoryFor(long.Vertices)}
	}
	return badBorders(err)
}

// dropFlickering removes regions that collapse at one zoom from all lower zooms
// too. A coarser grid may happen to leave something of such a region, which
// would then flicker while zooming.
func (lv *levels) dropFlickering(regions int) {
	gone := make([]bool, regions)
	for z := grid.MaxZoom; z >= 0; z-- {
		present := make([]bool, regions)
		sets := lv.reg.All()
		for _, l := range lv.lines[z] {
			for _, s := range sets[l.ShareSet] {
				present[s.Region] = true
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

// without removes the regions in gone from lines, and returns the remaining lines.
func (lv *levels) without(lines []grid.Line, gone []bool) []grid.Line {
	kept := map[int32]int32{}
	n := 0
	for _, l := range lines {
		who, ok := kept[l.ShareSet]
		if !ok {
			set := slices.Clone(lv.reg.Shares(l.ShareSet))
			set = slices.DeleteFunc(set, func(s grid.Share) bool { return gone[s.Region] })
			who = lv.reg.Number(set)
			kept[l.ShareSet] = who
		}
		if l.ShareSet = who; who != 0 {
			lines[n] = l
			n++
		}
	}
	return lines[:n]
}

// exactLines returns the true borders of all regions on the grid, as lines that
// meet at vertices only.
func (b *build) exactLines(ctx context.Context) ([]grid.Line, *grid.ShareSets, error) {
	rough := grid.NewShareSets() // of regions, whose polygons may overlap
	b.progress.begin("arranging borders", 3*b.vertices, unitVertices)
	all, err := b.everyRegion(ctx, func(l *buildLayer, r *region) ([]grid.Line, error) {
		o := grid.NewOutliner()
		chain, err := outline(o, r.polygons, layout.Mercator)
		if err != nil {
			return nil, badRegion(l.typ, r.id, r.name, err)
		}
		r.repaired, r.polygons = o.Repaired, nil
		return grid.AppendLines(make([]grid.Line, 0, len(chain)), chain, rough, r.number), nil
	})
	if err != nil {
		return nil, nil, err
	}
	all = grid.AttachVertices(grid.MergeLines(all, rough), rough)
	n := grid.Noder{
		ShareSets: rough, TileShift: grid.TileShift(grid.MaxZoom), MayCross: true, MaxVertices: b.opts.mostVertices(),
		OnProgress: func(lines int) { b.progress.add(int64(lines)) },
	}
	if all, err = n.Node(all); err != nil {
		return nil, nil, b.badArrangement(err)
	}
	if err := b.opts.checkShared(all, rough); err != nil {
		return nil, nil, err
	}
	apart := b.drawn(all, rough)

	reg := grid.NewShareSets()
	all, err = b.everyRegion(ctx, func(l *buildLayer, r *region) ([]grid.Line, error) {
		border, repaired, err := grid.Resolve(apart[r.number], grid.Winding.Covered, nil)
		if err != nil {
			return nil, badRegion(l.typ, r.id, r.name, badBorders(err))
		}
		apart[r.number] = nil
		r.repaired = r.repaired || repaired
		r.area = grid.Area2(border)
		lines := make([]grid.Line, 0, len(border))
		east, west := reg.Number([]grid.Share{{Region: r.number, Times: 1}}), reg.Number([]grid.Share{{Region: r.number, Times: -1}})
		for _, e := range border {
			if e.A.X == grid.WorldSize && e.B.X == grid.WorldSize {
				e.A.X, e.B.X = 0, 0 // the antimeridian is at x = 0
			}
			if e.Upward() {
				lines = append(lines, grid.Line{A: e.A, B: e.B, ShareSet: east})
			} else {
				lines = append(lines, grid.Line{A: e.B, B: e.A, ShareSet: west})
			}
		}
		return lines, nil
	})
	return grid.MergeLines(all, reg), reg, err
}

// drawn distributes lines over the regions.
func (b *build) drawn(lines []grid.Line, rough *grid.ShareSets) [][]grid.CountedLine {
	count := make([]int, len(b.regions))
	sets := rough.All()
	for _, l := range lines {
		for _, s := range sets[l.ShareSet] {
			count[s.Region]++
		}
	}
	out := make([][]grid.CountedLine, len(b.regions))
	for i, n := range count {
		out[i] = make([]grid.CountedLine, 0, n)
	}
	for _, l := range lines {
		for _, s := range sets[l.ShareSet] {
			out[s.Region] = append(out[s.Region], grid.CountedLine{A: l.A, B: l.B, Shells: s.Times})
		}
	}
	return out
}

// everyRegion runs fn for every region in parallel, the regions with most vertices first. It
// returns all their lines in the order of the regions' numbers, and counts the vertices as
// progress.
func (b *build) everyRegion(ctx context.Context, fn func(*buildLayer, *region) ([]grid.Line, error)) ([]grid.Line, error) {
	lines := make([][]grid.Line, len(b.regions))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(b.opts.Workers)
	for _, r := range b.bySize {
		g.Go(func() error {
			err := ctx.Err()
			if err == nil {
				lines[r.number], err = fn(&b.layers[r.layer], r)
				b.progress.add(int64(r.vertices))
			}
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	return slices.Concat(lines...), nil
}
