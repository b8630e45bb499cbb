package tiles

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"quadrille/cellstore"
	"quadrille/quadkey"
)

// SchemaVersion is the version of the row layouts. A reader refuses others.
const SchemaVersion = 2

// Meta describes a data set of boundaries. It is kept beside the store, in
// the generation's manifest, and given to [Open].
type Meta struct {
	SchemaVersion int        `json:"schema_version"`
	Types         []TypeMeta `json:"types"` // in the order of their bytes
}

// TypeMeta describes a region type.
type TypeMeta struct {
	Name    string     `json:"name"`
	Byte    uint8      `json:"byte"` // prefix of its keys in region_info
	Regions int        `json:"regions"`
	Bounds  [4]float64 `json:"bounds"` // west, south, east, north in degrees; −180 and 180 when it crosses ±180°
	MinZoom int        `json:"min_zoom"`
	MaxZoom int        `json:"max_zoom"`
	// Fields are the attributes of the type's vector-tile features and their
	// types, as TileJSON describes them.
	Fields map[string]string `json:"fields"`
}

// Stats counts what a build wrote.
type Stats struct {
	Regions int64
	Leaves  int64 // leaf rows, per type
	Mixed   int64 // mixed rows, per type
	Bytes   int64 // of values, before compression
}

// BuildOptions tune a build. The zero value is usable.
type BuildOptions struct {
	// Timestamp of every cell, milliseconds; it should come from the source,
	// so that equal input gives equal bytes.
	Timestamp int64
	// Workers is the number of goroutines that cut tiles; 0 means one per
	// processor.
	Workers int
	// Repaired, if set, is told of regions whose borders had to be mended, and
	// of those that enclose nothing, or have rings that do, before anything is
	// written.
	Repaired func(typ, id, name, what string)
	// Assumed, if set, is told of regions whose border can be read in more than
	// one way, and how it was, by LongEdgesAuto and at the poles.
	Assumed func(typ, id, name, what string)
	// Progress, if set, is called from time to time with the work done, as a
	// share of total. It must be quick and is called by one goroutine.
	Progress func(done, total int64)
}

// build is the state of one Build.
type build struct {
	opts     BuildOptions
	layers   []buildLayer
	regions  []*region // of all layers, by number
	levels   *levels
	labels   []labelRow // not written yet
	label    layerWriter
	families []string // sorted
	position [MaxZoom + 1]func([]byte, point) []byte
	stats    struct{ leaves, mixed atomic.Int64 }
}

type buildLayer struct {
	typ      string
	typeByte uint8
	regions  []*region

	family, familyMVT, familyLabel int // indexes into build.families
}

// Build writes the tables of the given layers into an empty store, in which it
// creates them. Types get their bytes in the order of the layers. The features
// are released as they are read: layers are consumed.
//
// Errors about the input match ErrBadLayer or ErrBadGeometry; nothing has been
// written then. After an error of the store, or of the context, the store's
// content is undefined and should be discarded.
func Build(ctx context.Context, store cellstore.Store, layers []Layer, opts BuildOptions) (Meta, Stats, error) {
	b := &build{opts: opts}
	if b.opts.Workers <= 0 {
		b.opts.Workers = runtime.GOMAXPROCS(0)
	}
	for z := range b.position {
		b.position[z] = mercatorPosition(z)
	}
	types, err := b.addLayers(layers)
	if err != nil {
		return Meta{}, Stats{}, err
	}
	for _, s := range schemas(types) {
		if err := store.CreateTable(ctx, s); err != nil {
			return Meta{}, Stats{}, err
		}
	}
	if err := b.prepare(ctx); err != nil {
		return Meta{}, Stats{}, err
	}
	if err := b.writeRegions(ctx, store); err != nil {
		return Meta{}, Stats{}, err
	}
	bytes, err := b.writeTiles(ctx, store)
	if err != nil {
		return Meta{}, Stats{}, err
	}
	meta := b.meta()
	stats := Stats{Leaves: b.stats.leaves.Load(), Mixed: b.stats.mixed.Load(), Bytes: bytes}
	for _, t := range meta.Types {
		stats.Regions += int64(t.Regions)
	}
	return meta, stats, nil
}

func (b *build) addLayers(layers []Layer) ([]string, error) {
	if len(layers) == 0 || len(layers) > MaxTypes {
		return nil, fmt.Errorf("%w: %d layers given, a data set has 1 to %d", ErrBadLayer, len(layers), MaxTypes)
	}
	var types []string
	for i, l := range layers {
		if slices.Contains(types, l.Type) {
			return nil, fmt.Errorf("%w: type %s is given twice: join its files in one layer", ErrBadLayer, l.Type)
		}
		regions, err := newRegions(l)
		if err != nil {
			return nil, err
		}
		for _, r := range regions {
			if _, err := r.record(l.Type); err != nil {
				return nil, err
			}
		}
		layers[i].Features = nil
		for _, r := range regions {
			r.number = int32(len(b.regions))
			b.regions = append(b.regions, r)
		}
		types = append(types, l.Type)
		b.layers = append(b.layers, buildLayer{typ: l.Type, typeByte: uint8(i), regions: regions})
		b.families = append(b.families, l.Type, l.Type+familyMVT, l.Type+familyLabel)
	}
	slices.Sort(b.families)
	for i := range b.layers {
		l := &b.layers[i]
		l.family = slices.Index(b.families, l.typ)
		l.familyMVT = slices.Index(b.families, l.typ+familyMVT)
		l.familyLabel = slices.Index(b.families, l.typ+familyLabel)
	}
	return types, nil
}

// prepare computes what is known before the tiles are cut.
func (b *build) prepare(ctx context.Context) error {
	err := b.everyRegion(ctx, func(l *buildLayer, r *region) ([]line, error) {
		return nil, r.prepare(l.typ, len(b.regions))
	}, func(*region, []line) {})
	if err != nil {
		return err
	}
	if b.levels, err = b.arrange(ctx); err != nil {
		return err
	}
	for _, l := range b.layers {
		for _, r := range l.regions {
			r.polygons = nil
			if what := r.assumed.String(); what != "" && b.opts.Assumed != nil {
				b.opts.Assumed(l.typ, r.id, r.name, what)
			}
			if b.opts.Repaired == nil {
				continue
			}
			empty := r.area == 0 && len(r.plate) == 0
			switch {
			case empty:
				b.opts.Repaired(l.typ, r.id, r.name, "it encloses nothing")
			case r.repaired:
				b.opts.Repaired(l.typ, r.id, r.name, "its rings cross or overlap: they were joined")
			}
			if n := r.assumed.empty; n > 0 && !empty {
				b.opts.Repaired(l.typ, r.id, r.name, fmt.Sprintf("rings that enclose nothing were left out: %d", n))
			}
		}
	}
	return nil
}

// root is the node of the whole world. It consumes the levels.
func (b *build) root(ctx context.Context) (node, error) {
	outer := tileBox(0, 0, 0, true)
	corner := point{outer.x0, outer.y0}
	n := node{quadkey.Tile{}, make([]layerNode, len(b.layers))}
	for i := range b.layers {
		n.layers[i] = layerNode{layer: i, levels: make([]level, MaxZoom+1)}
	}
	var borders [MaxZoom + 1][][]edge
	for z, lines := range b.levels.lines {
		borders[z] = byRegion(lines, b.levels.reg, len(b.regions))
		b.levels.lines[z] = nil
	}
	b.levels = nil
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
				for j, r := range l.regions {
					edges := borders[z][r.number]
					w := northWinding(edges, corner)
					around := appendCopies(make([]edge, 0, len(edges)+len(edges)/16), edges, outer)
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

// writeCaps writes the two polar rows.
func (b *build) writeCaps(bulk cellstore.BulkLoader) error {
	var clip clipper
	var lw layerWriter
	for _, polar := range []struct {
		key []byte
		box box
	}{{keyNorth, northCap}, {keySouth, southCap}} {
		for _, family := range b.families {
			i := slices.IndexFunc(b.layers, func(l buildLayer) bool { return b.families[l.familyMVT] == family })
			if i < 0 {
				continue
			}
			lw.Reset(b.layers[i].typ)
			lw.SetExtent(worldSize)
			for _, r := range b.layers[i].regions {
				if polys := r.capPolygons(&clip, polar.box); len(polys) > 0 {
					lw.begin(r)
					lw.polygons(polys, point{0, polar.box.y0}, 0)
					lw.End()
				}
			}
			if lw.Len() == 0 {
				continue
			}
			err := bulk.Add(polar.key, cellstore.Cell{
				Family: family, Timestamp: b.opts.Timestamp, Value: lw.AppendTo([]byte{markPolar}),
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// capPolygons is the part of a region in a box of the plate carrée grid.
func (r *region) capPolygons(c *clipper, b box) []polygon {
	edges := appendCopies(nil, r.plate, b)
	w := northWinding(r.plate, point{b.x0, b.y0})
	if len(edges) == 0 && w <= 0 {
		return nil
	}
	return c.rings.polygons(c.clip(edges, w, b, 0))
}

// geometry is the whole region as GeoJSON, cut at ±180°: exact, or on a grid
// just coarse enough for the result to fit into a value. It is nil for a region
// that encloses nothing.
func (r *region) geometry(c *clipper, limit int) []byte {
	world := box{0, 0, worldSize, worldSize / 2}
	reg := newRegistry()
	exact := appendDrawn(nil, r.plate, reg, 0)
	for shift := uint(0); ; shift++ {
		s := region{plate: r.plate}
		if shift > 0 {
			n := noder{reg: reg, grid: shift}
			lines, _ := n.node(exact) // fails only if lines may cross
			s.plate = byRegion(lines, reg, 1)[0]
		}
		polys := s.capPolygons(c, world)
		if len(polys) == 0 {
			return nil
		}
		if g := appendMultiPolygon(nil, polys, platePosition); len(g) <= limit {
			return g
		}
	}
}

// writeRegions writes the region records.
func (b *build) writeRegions(ctx context.Context, store cellstore.Store) error {
	table, err := store.Table(ctx, TableRegions)
	if err != nil {
		return err
	}
	bulk, err := table.Bulk(ctx)
	if err != nil {
		return err
	}
	defer bulk.Abort()
	var clip clipper
	for _, l := range b.layers {
		for _, r := range l.regions {
			if err := ctx.Err(); err != nil {
				return err
			}
			key := regionKey(l.typeByte, r.id)
			// Families in the order of their names: g, r, w.
			if geometry := r.geometry(&clip, store.Limits().Value); geometry != nil {
				err := bulk.Add(key, cellstore.Cell{Family: familyGeometry, Timestamp: b.opts.Timestamp, Value: geometry})
				if err != nil {
					return err
				}
			}
			record, err := r.record(l.typ)
			if err != nil {
				return err
			}
			err = bulk.Add(key, cellstore.Cell{Family: familyRecord, Timestamp: b.opts.Timestamp, Value: record})
			if err != nil {
				return err
			}
			if len(r.witnesses) == 0 {
				continue
			}
			err = bulk.Add(key, cellstore.Cell{Family: familyWitness, Timestamp: b.opts.Timestamp, Value: r.witnesses})
			if err != nil {
				return err
			}
		}
	}
	return bulk.Commit(ctx)
}

func (b *build) meta() Meta {
	m := Meta{SchemaVersion: SchemaVersion}
	for _, l := range b.layers {
		t := TypeMeta{
			Name: l.typ, Byte: l.typeByte, Regions: len(l.regions),
			MinZoom: 0, MaxZoom: MaxZoom,
			Fields: map[string]string{tagID: "String", tagName: "String"},
		}
		empty := true
		for _, r := range l.regions {
			rb := r.bounds
			if len(r.plate) == 0 {
				continue // it encloses nothing, and lies nowhere
			}
			if empty {
				t.Bounds, empty = rb, false
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
