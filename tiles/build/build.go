package build

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"quadrille/cellstore"
	"quadrille/feature"
	"quadrille/quadkey"
	"quadrille/tiles"
	"quadrille/tiles/internal/cells"
	"quadrille/tiles/internal/grid"
	"quadrille/tiles/internal/layout"
)

// Stats counts what a build wrote.
type Stats struct {
	Regions   int64
	LeafRows  int64 // leaf rows, per type
	MixedRows int64 // mixed rows, per type
	Bytes     int64 // of values, before compression
}

// Options are the options of a build. The zero value is valid.
type Options struct {
	// Timestamp is written to every cell, in milliseconds. It should come from
	// the source, so that equal input gives equal bytes.
	Timestamp int64
	// Workers is the number of goroutines that cut tiles; 0 means one per
	// processor.
	Workers int
	// OnRepair, if set, is called before anything is written. It gets the regions whose borders had
	// to be repaired, regions too small for the grid, regions or rings that enclose nothing, and
	// regions whose labels would lie outside of them.
	OnRepair func(typ, id, name, what string)
	// OnAssumption, if set, is called for regions whose border has more than one reading, by
	// LongEdgesAuto and at the poles. what names the chosen reading.
	OnAssumption func(typ, id, name, what string)
	// TileBudget is the greatest size in bytes of a tile after gzip, in each of its forms, all
	// layers together. If a tile of zooms 0 to 12 would exceed it, borders are simplified and small
	// regions are merged; zoom 13 is exact. 0 means no budget. Without a budget, a tile too large
	// for the store is refused.
	TileBudget int64
	// Columns are, by type, the properties that its polygons and lines have in tiles unless a request
	// names others.
	Columns map[string][]string
	// Memory is the approximate limit of the build's memory, in bytes; 0 means no bound. Run
	// refuses layers that need more with a MemoryError before it writes anything.
	Memory int64
	// Progress, if set, is called at the start and the end of each phase of the build and twice a
	// second in between, with the work done, the total and the unit. It must be quick. Calls do not
	// overlap.
	Progress func(phase string, done, total int64, unit string)
}

// build is the state of one Run.
type build struct {
	opts     Options
	layers   []buildLayer
	regions  []*region // of all layers, by number
	bySize   []*region // regions, those with most vertices first
	levels   *levels
	labels   []labelRow // not written yet
	line     lineRow    // the next row of lines; empty after the last
	nextLine func() (lineRow, error, bool)
	caps     []capCell
	label    layout.LayerWriter
	stamp    uint32   // of the finished answers
	limit    int      // bytes of a value
	families []string // sorted
	vertices int64    // of all layers' sources
	progress progress
	stats    struct{ leaves, mixed atomic.Int64 }
}

type buildLayer struct {
	typ      string
	typeByte uint8
	lines    bool // of lines, whose regions enclose nothing
	regions  []*region
	schema   feature.Schema // of the records, without their bounds

	// shown are the regions and the merged regions of any zoom, in the order of their cells.
	shown       []*region
	generalised []tiles.Generalisation // the deepest zoom first
	overBudget  int                    // tiles of zoom 13

	byRank []*region // the source's, in the order of answers
	seal   cells.Seal

	family, familyMVT, familyLabel, familyCells int // indexes into build.families
}

// Run creates the tables of the given layers in an empty store and writes them.
// Types get their bytes in the order of the layers. Run consumes the layers: it
// releases the features as it reads them.
//
// Errors about the input match ErrBadLayer or ErrBadGeometry, and then nothing
// has been written. After an error of the store or of the context the store's
// content is undefined and should be discarded.
func Run(ctx context.Context, store cellstore.Store, layers []Layer, opts Options) (tiles.Meta, Stats, error) {
	b := &build{opts: opts, progress: progress{report: opts.Progress}}
	defer b.progress.run()()
	if b.opts.Workers <= 0 {
		b.opts.Workers = runtime.GOMAXPROCS(0)
	}
	limit := store.Limits().ValueBytes
	b.limit = limit
	types, err := b.addLayers(layers)
	if err != nil {
		return tiles.Meta{}, Stats{}, err
	}
	if err := b.checkRecords(limit); err != nil {
		return tiles.Meta{}, Stats{}, err
	}
	for _, s := range layout.Schemas(types) {
		if err := store.CreateTable(ctx, s); err != nil {
			return tiles.Meta{}, Stats{}, err
		}
	}
	if err := b.prepare(ctx); err != nil {
		return tiles.Meta{}, Stats{}, err
	}
	b.prepareAnswers()
	if err := b.encodeCaps(limit); err != nil {
		return tiles.Meta{}, Stats{}, err
	}
	if err := b.generalise(ctx, b.levels, limit); err != nil {
		return tiles.Meta{}, Stats{}, err
	}
	stop, err := b.startLines(ctx, limit)
	defer stop()
	if err != nil {
		return tiles.Meta{}, Stats{}, err
	}
	if err := b.writeRegions(ctx, store); err != nil {
		return tiles.Meta{}, Stats{}, err
	}
	b.releasePlates()
	bytes, err := b.writeTiles(ctx, store)
	if err != nil {
		return tiles.Meta{}, Stats{}, err
	}
	meta := b.meta()
	stats := Stats{LeafRows: b.stats.leaves.Load(), MixedRows: b.stats.mixed.Load(), Bytes: bytes}
	for _, t := range meta.Types {
		stats.Regions += int64(t.Regions)
	}
	return meta, stats, nil
}

// sourceRegions returns the regions of the source. It leaves out the merged regions that some zooms
// have.
func (b *build) sourceRegions() []*region { return b.regions[:len(b.bySize)] }

func (b *build) addLayers(layers []Layer) ([]string, error) {
	if len(layers) == 0 || len(layers) > MaxTypes {
		return nil, fmt.Errorf("%w: %d layers given, a data set has 1 to %d", ErrBadLayer, len(layers), MaxTypes)
	}
	var types []string
	for i, l := range layers {
		if slices.Contains(types, l.Type) {
			return nil, fmt.Errorf("%w: type %s is given twice: join its files in one layer", ErrBadLayer, l.Type)
		}
		lines := l.isLines()
		regions, err := newRegions(l, b.repaired)
		if err != nil {
			return nil, err
		}
		learner := feature.NewLearner(nil)
		for _, r := range regions {
			record, err := r.record(l.Type)
			if err != nil {
				return nil, err
			}
			learner.Learn(record)
		}
		layers[i].Features = nil
		for _, r := range regions {
			r.number, r.layer = int32(len(b.regions)), i
			r.head = r.number
			b.regions = append(b.regions, r)
		}
		types = append(types, l.Type)
		b.layers = append(b.layers, buildLayer{
			typ: l.Type, typeByte: uint8(i), regions: regions, lines: lines,
			schema: slices.DeleteFunc(learner.Schema(), func(f feature.Field) bool { return f.Name == "bbox" }),
		})
		b.families = append(b.families, l.Type, l.Type+layout.FamilyMVT, l.Type+layout.FamilyLabel, l.Type+layout.FamilyCells)
	}
	for _, r := range b.regions {
		b.vertices += int64(r.vertices)
	}
	if need := MemoryFor(b.vertices); b.opts.Memory > 0 && need > b.opts.Memory {
		return nil, &MemoryError{Vertices: b.vertices, NeedBytes: need}
	}
	b.bySize = slices.Clone(b.regions)
	slices.SortStableFunc(b.bySize, func(r, s *region) int { return cmp.Compare(s.vertices, r.vertices) })
	slices.Sort(b.families)
	for i := range b.layers {
		l := &b.layers[i]
		l.family = slices.Index(b.families, l.typ)
		l.familyMVT = slices.Index(b.families, l.typ+layout.FamilyMVT)
		l.familyLabel = slices.Index(b.families, l.typ+layout.FamilyLabel)
		l.familyCells = slices.Index(b.families, l.typ+layout.FamilyCells)
	}
	return types, nil
}

// prepare computes everything that does not depend on tiles.
func (b *build) prepare(ctx context.Context) error {
	b.progress.begin("preparing borders", b.vertices, unitVertices)
	_, err := b.everyRegion(ctx, func(l *buildLayer, r *region) ([]grid.Line, error) {
		return nil, r.prepare(l.typ, len(b.regions))
	})
	if err != nil {
		return err
	}
	if b.levels, err = b.arrange(ctx); err != nil {
		return err
	}
	if err := b.colorRegions(ctx); err != nil {
		return err
	}
	for _, l := range b.layers {
		for _, r := range l.regions {
			if what := r.assumed.String(); what != "" && b.opts.OnAssumption != nil {
				b.opts.OnAssumption(l.typ, r.id, r.name, what)
			}
			switch {
			case r.grown:
				b.repaired(l.typ, r.id, r.name, "nothing of it is as wide as the grid, which is about a metre: it was drawn as a square of four metres")
			case r.area == 0 && !l.lines && r.bounds[1] < quadkey.MaxLatitude && r.bounds[3] > -quadkey.MaxLatitude:
				b.repaired(l.typ, r.id, r.name, "it is narrower than the grid of the tiles: none shows it, and no place lies in it")
			case r.repaired:
				b.repaired(l.typ, r.id, r.name, "its rings cross or overlap: they were joined")
			}
			if r.astray {
				b.repaired(l.typ, r.id, r.name, "the place of its label is not inside of it: another one was chosen")
			}
			if n := len(r.assumed.flat); n > 0 {
				b.repaired(l.typ, r.id, r.name, fmt.Sprintf("rings that enclose nothing were left out: %d", n))
			}
		}
	}
	return nil
}

// repaired reports a region that was repaired or left out to the caller of Run.
func (b *build) repaired(typ, id, name, what string) {
	if b.opts.OnRepair != nil {
		b.opts.OnRepair(typ, id, name, what)
	}
}

// root returns the node of the whole world. It releases the levels as it reads them.
func (b *build) root(ctx context.Context) (node, error) {
	outer := grid.TileBox(0, 0, 0, true)
	corner := outer.Corner()
	n := node{quadkey.Tile{}, make([]layerNode, len(b.layers))}
	for i := range b.layers {
		n.layers[i] = layerNode{layer: i, levels: make([]level, grid.MaxZoom+1)}
	}
	var borders [grid.MaxZoom + 1][][]grid.Edge
	for z, lines := range b.levels.lines {
		borders[z] = grid.EdgesByRegion(lines, b.levels.reg, len(b.regions))
		b.levels.lines[z] = nil
	}
	b.levels = nil
	b.progress.begin("placing labels", b.vertices, unitVertices)
	labels, err := b.placeLabels(ctx, &borders)
	if err != nil {
		return node{}, err
	}
	b.labels = labelRows(labels)
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(b.opts.Workers)
	for z := range borders {
		g.Go(func() error {
			for i, l := range b.layers {
				for j, r := range l.shown {
					edges := borders[z][r.number]
					w := grid.PeriodicWinding(edges, corner)
					around := grid.Copies(edges, outer)
					borders[z][r.number] = nil
					if len(around) > 0 || w > 0 {
						n.layers[i].levels[z] = append(n.layers[i].levels[z], group{int32(j), w, around})
					}
				}
			}
			return ctx.Err()
		})
	}
	if err := g.Wait(); err != nil {
		return node{}, err
	}
	for i := range n.layers {
		n.layers[i].kind = kindOf(n.layers[i].levels)
	}
	return n, nil
}

func (b *build) meta() tiles.Meta {
	m := tiles.Meta{SchemaVersion: tiles.SchemaVersion, TileBudget: b.opts.TileBudget, Stamp: b.stamp}
	for _, l := range b.layers {
		t := tiles.TypeMeta{
			Name: l.typ, KeyByte: l.typeByte, Regions: len(l.regions),
			MinZoom: 0, MaxZoom: grid.MaxZoom, Schema: l.schema, Columns: b.opts.Columns[l.typ], IsLines: l.lines, LabelOf: layout.TagRegion,
			Fields: map[string]string{layout.TagID: "String", layout.TagName: "String", layout.TagColor: "Number"},
		}
		if len(l.generalised) > 0 {
			t.Generalised = slices.Clone(l.generalised)
			slices.Reverse(t.Generalised)
			t.Fields[layout.TagMerged] = "Number"
		}
		t.OverBudget = l.overBudget
		for i, r := range l.regions {
			rb := r.bounds
			if i == 0 {
				t.Bounds = rb
			}
			if rb[0] > rb[2] {
				rb[0], rb[2] = -180, 180
			}
			if t.Bounds[0] > t.Bounds[2] {
				t.Bounds[0], t.Bounds[2] = -180, 180
			}
			t.Bounds = [4]float64{
				min(t.Bounds[0], rb[0]), min(t.Bounds[1], rb[1]),
				max(t.Bounds[2], rb[2]), max(t.Bounds[3], rb[3]),
			}
		}
		m.Types = append(m.Types, t)
	}
	return m
}

// MaxTypes is the greatest number of region types in a data set.
const MaxTypes = 16
