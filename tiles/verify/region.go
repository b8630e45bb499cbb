package verify

import (
	"context"
	"fmt"
	"maps"
	"math"
	"math/bits"
	"slices"

	"quadrille/cellstore"
	"quadrille/tiles"
	"quadrille/tiles/internal/grid"
	"quadrille/tiles/internal/layout"
)

// loadRegions reads the region records: ids, areas of geometries, and
// witnesses.
func (v *verifier) loadRegions(ctx context.Context, store cellstore.Store) error {
	v.ofRecords = findings{}
	table, err := store.Table(ctx, layout.TableRegions)
	if err != nil {
		return err
	}
	byByte := map[uint8]int{}
	for i, t := range v.types {
		byByte[t.Byte] = i
		t.byTag = make(map[string]int32, t.Regions)
	}
	limit := store.Limits().Value
	for row, err := range table.Scan(ctx, cellstore.Scan{}) {
		if err != nil {
			return err
		}
		i, ok := byByte[row.Key[0]]
		if !ok {
			v.ofRecords.add(v.opts.Examples, -1, "", ProblemRow, Example{Detail: fmt.Sprintf("record %q is of no type", row.Key)})
			continue
		}
		t := v.types[i]
		id := string(row.Key[1:])
		t.byTag[id] = int32(len(t.ids))
		t.ids = append(t.ids, id)
		var a regionArea
		if g, ok := row.Value(layout.FamilyGeometry, nil); ok {
			if a, err = geometryArea(g, limit); err != nil {
				v.ofRecords.add(v.opts.Examples, i, t.Name, ProblemRow, Example{Region: id, Detail: fmt.Sprintf("its geometry: %v", err)})
			}
		}
		t.area = append(t.area, a)
		b, _ := row.Value(layout.FamilyWitness, nil)
		w, err := layout.ParseWitnesses(b)
		if err != nil {
			v.ofRecords.add(v.opts.Examples, i, t.Name, ProblemRow, Example{Region: id, Detail: fmt.Sprintf("%v: %v", tiles.ErrCorrupt, err)})
		}
		t.witnesses = append(t.witnesses, w)
	}
	for i, t := range v.types {
		if len(t.ids) != t.Regions {
			v.ofRecords.add(v.opts.Examples, i, t.Name, ProblemRow, Example{Detail: fmt.Sprintf("has %d records, its description says %d", len(t.ids), t.Regions)})
		}
	}
	return nil
}

// finish checks the regions after all rows have been read.
func (p *checkPart) finish(ctx context.Context) error {
	for i := range p.types {
		pt := &p.types[i]
		ct := p.v.types[i]
		for r := range ct.ids {
			p.region(i, int32(r))
		}
		for _, pair := range slices.SortedFunc(maps.Keys(pt.overlaps), func(a, b [2]int32) int { return slices.Compare(a[:], b[:]) }) {
			if n := pt.overlaps[pair]; n.deepest == 0 {
				p.find(i, ProblemOverlap, n.example, pair[0], "overlaps %s in %d tiles, and in none of zoom %d", ct.ids[pair[1]], n.above, grid.MaxZoom)
			}
		}
		for _, l := range pt.deepest {
			if err := ctx.Err(); err != nil {
				return err
			}
			in, err := p.labelInside(ctx, i, l)
			if err != nil {
				return err
			}
			if !in {
				p.find(i, ProblemLabel, l.tile, l.region, "label at %d %d lies outside", l.x, l.y)
			}
		}
	}
	return nil
}

func (p *checkPart) region(typ int, r int32) {
	pt := &p.types[typ]
	find := func(problem Problem, format string, args ...any) {
		p.found.add(p.v.opts.Examples, typ, pt.Name, problem, Example{Region: p.v.types[typ].ids[r], Detail: fmt.Sprintf(format, args...)})
	}
	zooms := pt.zooms[r]
	if zooms != 0 {
		first := bits.TrailingZeros16(zooms)
		for z := first; z <= grid.MaxZoom; z++ {
			if zooms>>z&1 == 0 {
				find(ProblemZoom, "is shown from zoom %d on, and not at zoom %d", first, z)
			}
		}
	}
	want := p.v.types[typ].area[r]
	if math.Abs(pt.area[r]-want.area) > want.bound {
		find(ProblemArea, "its pieces at zoom %d have the area %.0f, its geometry %.0f, which rounding lets differ by %.0f", grid.MaxZoom, pt.area[r], want.area, want.bound)
	}
	if !p.v.bordered || zooms == 0 {
		return
	}
	for z := range grid.MaxZoom + 1 {
		if pt.labelled[r]>>z&1 == 0 {
			find(ProblemLabel, "has no label at zoom %d", z)
		}
	}
}
