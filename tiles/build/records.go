package build

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"sync"

	"golang.org/x/sync/errgroup"

	"quadrille/cellstore"
	"quadrille/internal/jsontext"
	"quadrille/quadkey"
	"quadrille/tiles/internal/grid"
	"quadrille/tiles/internal/layout"
	"quadrille/tiles/mvt"
)

// capCell is a cell of a polar row.
type capCell struct {
	key  []byte
	cell cellstore.Cell
}

// encodeCaps makes the cells of the polar rows, in the order of the rows.
func (b *build) encodeCaps(limit int) error {
	var clip grid.Clipper
	var lw layout.LayerWriter
	for _, polar := range layout.PolarCaps {
		for _, family := range b.families {
			i := slices.IndexFunc(b.layers, func(l buildLayer) bool { return b.families[l.familyMVT] == family })
			if i < 0 {
				continue
			}
			lw.Reset(b.layers[i].typ)
			lw.SetExtent(grid.WorldSize)
			for _, r := range b.layers[i].regions {
				if polys := r.capPolygons(&clip, polar.Box); len(polys) > 0 {
					lw.BeginRegion(mvt.Polygon, r.tag, r.id, r.name)
					lw.TagInt(layout.TagColor, int64(r.color))
					lw.Polygons(polys, grid.Pt(0, polar.Y0), 0)
					lw.End()
				}
			}
			if lw.Len() == 0 {
				continue
			}
			value := lw.AppendTo([]byte{layout.MarkPolar})
			if len(value) > limit {
				return fmt.Errorf("%w: what %s has beyond %.2f° takes %d bytes, the store takes %d in a value: simplify the source there",
					ErrTooDetailed, b.layers[i].typ, quadkey.MaxLatitude, len(value), limit)
			}
			b.caps = append(b.caps, capCell{polar.Key, cellstore.Cell{Family: family, Timestamp: b.opts.Timestamp, Value: value}})
		}
	}
	return nil
}

// releasePlates releases the borders in plate carrée, which nothing needs after
// the polar rows and the records.
func (b *build) releasePlates() {
	for _, r := range b.regions {
		r.plate = nil
	}
}

// writeCaps writes the two polar rows.
func (b *build) writeCaps(bulk cellstore.BulkLoader) error {
	for _, c := range b.caps {
		if err := bulk.Add(c.key, c.cell); err != nil {
			return err
		}
	}
	return nil
}

// capPolygons returns the part of a region in a box of the plate carrée grid.
func (r *region) capPolygons(c *grid.Clipper, b grid.Box) []grid.Polygon {
	edges := grid.AppendCopies(nil, r.plate, b)
	w := grid.PeriodicWinding(r.plate, b.Corner())
	if len(edges) == 0 && w <= 0 {
		return nil
	}
	return c.Polygons(edges, w, b, 0)
}

// geometry returns the whole region as GeoJSON, cut at ±180°. It is exact, or rounded to a grid
// that is just coarse enough for the result to fit into a value. For a region that encloses nothing
// it is nil.
func (r *region) geometry(c *grid.Clipper, limit int) []byte {
	if len(r.lines) > 0 {
		g, _ := r.lineGeometry(limit) // checkRecords has refused those that have none
		return g
	}
	world := grid.Box{X0: 0, Y0: 0, X1: grid.WorldSize, Y1: grid.WorldSize / 2}
	reg := grid.NewShareSets()
	exact := grid.AppendLines(nil, r.plate, reg, 0)
	for shift := uint(0); ; shift++ {
		s := region{plate: r.plate}
		if shift > 0 {
			n := grid.Noder{ShareSets: reg, PixelShift: shift}
			lines, _ := n.Node(exact) // fails only if lines may cross
			s.plate = grid.EdgesByRegion(lines, reg, 1)[0]
		}
		if longer(s.plate, limit) {
			continue
		}
		polys := s.capPolygons(c, world)
		if len(polys) == 0 {
			return nil
		}
		if g := layout.AppendMultiPolygon(nil, polys, layout.PlateCarreePosition); len(g) <= limit {
			return g
		}
	}
}

// longer reports whether the positions of edges alone take more than limit bytes of GeoJSON.
// Assembling the polygons of a continent to find that out would take seconds.
func longer(edges []grid.Edge, limit int) bool {
	const least = 6 // bytes of a position and a comma
	if len(edges)*least > limit {
		return true
	}
	var position []byte
	for _, e := range edges {
		position = layout.PlateCarreePosition(position[:0], e.A)
		if limit -= len(position); limit < 0 {
			return true
		}
	}
	return false
}

// writeRegions writes the region records. It makes their geometries in parallel and writes them in
// order.
func (b *build) writeRegions(ctx context.Context, store cellstore.Store) error {
	table, err := store.Table(ctx, layout.TableRegions)
	if err != nil {
		return err
	}
	bulk, err := table.Bulk(ctx)
	if err != nil {
		return err
	}
	defer bulk.Abort()
	b.progress.begin("writing records", b.vertices, unitVertices)
	limit := store.Limits().ValueBytes
	g, gctx := errgroup.WithContext(ctx)
	order := make(chan chan []byte, b.opts.Workers)
	g.Go(func() error {
		defer close(order)
		var makers errgroup.Group
		makers.SetLimit(b.opts.Workers)
		clippers := sync.Pool{New: func() any { return new(grid.Clipper) }}
		for _, r := range b.sourceRegions() {
			geometry := make(chan []byte, 1)
			select {
			case order <- geometry:
			case <-gctx.Done():
				return gctx.Err()
			}
			makers.Go(func() error {
				c := clippers.Get().(*grid.Clipper)
				defer clippers.Put(c)
				geometry <- r.geometry(c, limit)
				return nil
			})
		}
		return makers.Wait()
	})
	g.Go(func() error {
		n := 0
		for geometry := range order {
			r := b.regions[n]
			if n++; gctx.Err() != nil {
				return gctx.Err()
			}
			if err := b.writeRegion(bulk, r, <-geometry); err != nil {
				return err
			}
			b.progress.add(int64(r.vertices))
		}
		return nil
	})
	if err := g.Wait(); err != nil {
		return err
	}
	return bulk.Commit(ctx)
}

func (b *build) writeRegion(bulk cellstore.BulkLoader, r *region, geometry []byte) error {
	l := &b.layers[r.layer]
	record, err := r.record(l.typ)
	if err != nil {
		return err
	}
	key := layout.RegionKey(l.typeByte, r.id)
	for _, c := range [...]struct {
		family string // in the order of their names: g, r, w
		value  []byte
	}{{layout.FamilyGeometry, geometry}, {layout.FamilyRecord, record}, {layout.FamilyWitness, r.witnesses}} {
		if len(c.value) == 0 {
			continue
		}
		if err := bulk.Add(key, cellstore.Cell{Family: c.family, Timestamp: b.opts.Timestamp, Value: c.value}); err != nil {
			return err
		}
	}
	r.witnesses, r.lines = nil, nil
	return nil
}

// checkRecords returns an error if a record cannot be stored.
func (b *build) checkRecords(limit int) error {
	const escaped = 6 // bytes of a character in JSON, at most
	for _, l := range b.layers {
		for _, r := range l.regions {
			if r.vertices > limit/mostPosition && len(r.lines) > 0 {
				if _, ok := r.lineGeometry(limit); !ok {
					return fmt.Errorf("%w: the lines of %s %s (%s) take more than %d bytes, which is all that the store takes in a value: "+
						"give its parts ids of their own, or simplify them", ErrTooDetailed, l.typ, r.id, r.name, limit)
				}
			}
			n := len(r.name)
			for _, p := range r.props {
				text, _ := p.Value.(string)
				raw, _ := p.Value.(json.RawMessage)
				n += len(p.Name) + len(text) + len(raw) + 32
			}
			if n*escaped < limit/2 {
				continue
			}
			record, err := r.record(l.typ)
			if err != nil {
				return err
			}
			if len(record) > limit {
				return fmt.Errorf("%w: the name and properties of %s %s take %d bytes, the store takes %d in a value: leave some out",
					ErrBadLayer, l.typ, r.id, len(record), limit)
			}
		}
	}
	return nil
}

// boundsDecimals is the number of decimals of the bounds in a record.
const boundsDecimals = 6

// record returns the region's record as a JSON object.
func (r *region) record(typ string) ([]byte, error) {
	dst := append([]byte(`{"type":"`), typ...)
	dst = append(dst, `","id":"`...)
	dst = append(dst, r.id...)
	dst = append(dst, '"')
	if r.name != "" {
		dst = append(dst, `,"name":`...)
		dst = appendJSON(dst, r.name)
	}
	dst = append(dst, `,"bbox":[`...)
	for _, v := range r.bounds {
		dst = layout.AppendFixed(jsontext.Next(dst), v, boundsDecimals)
	}
	dst = append(dst, `],"`+layout.TagColor+`":`...)
	dst = strconv.AppendInt(dst, int64(r.color), 10)
	for _, p := range r.props {
		switch p.Name {
		case "type", "id", "name", "bbox", "geometry", layout.TagColor:
			continue // the record has its own member of this name
		}
		switch v := p.Value.(type) {
		case string, bool, int64, int:
		case json.RawMessage:
			if !json.Valid(v) {
				return nil, fmt.Errorf("%w: %s %s: property %s is no JSON", ErrBadLayer, typ, r.id, p.Name)
			}
		case float64:
			if math.IsNaN(v) || math.IsInf(v, 0) {
				continue
			}
		default:
			return nil, fmt.Errorf("%w: %s %s: property %s is a %T: give a string, bool, int64, float64 or json.RawMessage",
				ErrBadLayer, typ, r.id, p.Name, v)
		}
		dst = append(dst, ',')
		dst = appendJSON(dst, p.Name)
		dst = append(dst, ':')
		dst = appendJSON(dst, p.Value)
	}
	return append(dst, '}'), nil
}

// recordBounds returns the bounds as a reader of the record gets them.
func (r *region) recordBounds() quadkey.Box {
	var v [4]float64
	var buf []byte
	for i := range v {
		buf = layout.AppendFixed(buf[:0], r.bounds[i], boundsDecimals)
		v[i], _, _ = layout.ParseFixed(buf)
	}
	return quadkey.Box{West: v[0], South: v[1], East: v[2], North: v[3]}
}

// appendJSON appends a scalar, or JSON, as JSON.
func appendJSON(dst []byte, v any) []byte {
	if s, ok := v.(string); ok {
		return jsontext.AppendString(dst, s)
	}
	b, err := json.Marshal(v)
	if err != nil {
		// Callers pass scalars and valid JSON. Package json fails only for values that it cannot
		// express.
		panic(fmt.Sprintf("build: cannot encode %T: %v", v, err))
	}
	return append(dst, b...)
}
