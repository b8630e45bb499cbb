package tiles

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"quadrille/cellstore"
	"quadrille/quadkey"
)

// SchemaVersion is the version of the row layouts. A reader refuses others.
const SchemaVersion = 1

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
	// Progress, if set, is called from time to time with the work done, as a
	// share of total. It must be quick and is called by one goroutine.
	Progress func(done, total int64)
}

// build is the state of one Build.
type build struct {
	opts     BuildOptions
	layers   []buildLayer
	families []string // sorted
	position [MaxZoom + 1]func([]byte, point) []byte
	stats    struct{ leaves, mixed atomic.Int64 }
}

type buildLayer struct {
	typ               string
	typeByte          uint8
	regions           []*region
	family, familyMVT int
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
		types = append(types, l.Type)
		b.layers = append(b.layers, buildLayer{typ: l.Type, typeByte: uint8(i), regions: regions})
		b.families = append(b.families, l.Type, l.Type+familyMVT)
	}
	slices.Sort(b.families)
	for i := range b.layers {
		l := &b.layers[i]
		l.family = slices.Index(b.families, l.typ)
		l.familyMVT = slices.Index(b.families, l.typ+familyMVT)
	}
	return types, nil
}

// eachRegion runs fn for every region, in parallel.
func (b *build) eachRegion(ctx context.Context, fn func(*buildLayer, *region)) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(b.opts.Workers)
	for i := range b.layers {
		for _, r := range b.layers[i].regions {
			g.Go(func() error {
				if ctx.Err() == nil {
					fn(&b.layers[i], r)
				}
				return ctx.Err()
			})
		}
	}
	return g.Wait()
}

func (b *build) prepare(ctx context.Context) error {
	return b.eachRegion(ctx, func(l *buildLayer, r *region) { r.prepare(l.typ) })
}

// root is the node of the whole world.
func (b *build) root(ctx context.Context) (node, error) {
	outer := tileBox(0, 0, 0, true)
	corner := point{outer.x0, outer.y0}
	n := node{quadkey.Tile{}, make([]layerNode, len(b.layers))}
	groups := make(map[*region][]group)
	for i, l := range b.layers {
		for j, r := range l.regions {
			groups[r] = make([]group, MaxZoom+1)
			for z := range groups[r] {
				groups[r][z].region = int32(j)
			}
		}
		n.layers[i] = layerNode{layer: i, levels: make([]level, MaxZoom+1)}
	}
	err := b.eachRegion(ctx, func(_ *buildLayer, r *region) {
		gs := groups[r]
		for z := range gs {
			edges := r.level(z)
			gs[z].w = northWinding(edges, corner)
			gs[z].edges = appendCopies(make([]edge, 0, len(edges)+len(edges)/16), edges, outer)
		}
		r.chain = nil
	})
	if err != nil {
		return node{}, err
	}
	for i, l := range b.layers {
		for z := range n.layers[i].levels {
			for _, r := range l.regions {
				if g := groups[r][z]; len(g.edges) > 0 || g.w > 0 {
					n.layers[i].levels[z] = append(n.layers[i].levels[z], g)
				}
			}
		}
		n.layers[i].kind = kindOf(n.layers[i].levels)
	}
	return n, nil
}

// A subtree with fewer edges than this is one task. Small enough that the rows
// of all tasks in flight take tens of megabytes, large enough that handing tasks
// over costs nothing.
const taskWeight = 2048

// tasksAhead bounds, per worker, how many finished or running tasks may wait
// for the writer, and so the memory of their rows.
const tasksAhead = 8

type task struct {
	node   node
	deep   bool // the whole subtree, not only the node's own row
	weight int
	done   chan *rows
}

// writeTiles walks the quadtree in parallel and loads the rows in order.
func (b *build) writeTiles(ctx context.Context, store cellstore.Store) (int64, error) {
	table, err := store.Table(ctx, TableBounds)
	if err != nil {
		return 0, err
	}
	bulk, err := table.Bulk(ctx)
	if err != nil {
		return 0, err
	}
	defer bulk.Abort()
	root, err := b.root(ctx)
	if err != nil {
		return 0, err
	}
	total := int64(root.weight())

	g, gctx := errgroup.WithContext(ctx)
	order := make(chan *task, tasksAhead*b.opts.Workers) // to the writer
	work := make(chan *task)                             // to the walkers
	var spare sync.Pool                                  // *rows that have been written
	g.Go(func() error {
		defer close(order)
		defer close(work)
		p := planner{ctx: gctx, order: order, work: work}
		p.walker.b = b
		return p.plan(&root)
	})
	for range b.opts.Workers {
		g.Go(func() error {
			w := &walker{b: b}
			for t := range work {
				if w.rows, _ = spare.Get().(*rows); w.rows == nil {
					w.rows = new(rows)
				}
				if t.deep {
					w.subtree(&t.node)
				} else {
					w.own(&t.node)
				}
				t.node = node{}
				t.done <- w.rows
			}
			return nil
		})
	}
	var bytes int64
	g.Go(func() error {
		var done int64
		for t := range order {
			select {
			case r := <-t.done:
				n, err := b.load(bulk, r)
				if err != nil {
					return err
				}
				bytes += n
				r.reset()
				spare.Put(r)
			case <-gctx.Done():
				return gctx.Err()
			}
			if done = min(done+int64(t.weight), total); b.opts.Progress != nil {
				b.opts.Progress(done, total)
			}
		}
		return nil
	})
	if err := g.Wait(); err != nil {
		return 0, err
	}
	if err := b.writeCaps(bulk); err != nil {
		return 0, err
	}
	return bytes, bulk.Commit(ctx)
}

// planner splits the quadtree into tasks, in the order of their rows.
type planner struct {
	ctx    context.Context
	walker walker
	order  chan<- *task
	work   chan<- *task
}

func (p *planner) plan(n *node) error {
	weight := n.weight()
	if weight <= taskWeight || n.tile.Z == MaxZoom {
		return p.hand(&task{node: n.clone(true), deep: true, weight: weight})
	}
	mem := &p.walker.mem
	m := mem.mark()
	mixed := p.walker.settle(n)
	for _, t := range n.tile.Children() {
		cm := mem.mark()
		c := mem.child(&mixed, t)
		if err := p.plan(&c); err != nil {
			return err
		}
		mem.release(cm)
	}
	mem.release(m)
	return p.hand(&task{node: n.clone(false)})
}

func (p *planner) hand(t *task) error {
	t.done = make(chan *rows, 1)
	for _, ch := range [2]chan<- *task{p.order, p.work} {
		select {
		case ch <- t:
		case <-p.ctx.Done():
			return p.ctx.Err()
		}
	}
	return nil
}

func (b *build) load(bulk cellstore.BulkLoader, r *rows) (int64, error) {
	var bytes int64
	next := 0
	for i := range r.keys {
		row := &r.keys[i]
		for ; next < row.cells; next++ {
			c := &r.cells[next]
			value := r.bytes[c.start:c.end]
			bytes += int64(len(value))
			err := bulk.Add(row.key[:], cellstore.Cell{
				Family: b.families[c.family], Qualifier: []byte(c.qualifier),
				Timestamp: b.opts.Timestamp, Value: value,
			})
			if err != nil {
				return 0, err
			}
		}
	}
	return bytes, nil
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
	for shift := uint(0); ; shift++ {
		s := region{plate: r.plate}
		if shift > 0 {
			s.plate = cancel(normalize(snap(nil, r.plate, shift)))
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
			// Families in the order of their names: g before r.
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
			Bounds: l.regions[0].bounds,
			Fields: map[string]string{tagID: "String", tagName: "String"},
		}
		for _, r := range l.regions {
			rb := r.bounds
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
