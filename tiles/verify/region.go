package verify

import (
	"context"
	"fmt"
	"maps"
	"math"
	"math/bits"
	"slices"

	"github.com/paulmach/orb"

	"quadrille/cellstore"
	"quadrille/feature"
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
		byByte[t.KeyByte] = i
		t.byTag = make(map[string]int32, t.Regions)
	}
	limit := store.Limits().ValueBytes
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
		key := string(row.Key[1:])
		id := v.idOf(i, row, key)
		t.byTag[key] = int32(len(t.ids))
		t.ids = append(t.ids, id)
		var a regionArea
		if g, ok := row.Value(layout.FamilyGeometry, nil); ok {
			if t.IsLines {
				err = checkLines(g)
			} else {
				a, err = geometryArea(g, limit)
			}
			if err != nil {
				v.ofRecords.add(v.opts.Examples, i, t.Name, ProblemRow, Example{Region: id, Detail: fmt.Sprintf("its geometry: %v", err)})
			}
		} else if !t.IsLines || v.lines {
			v.ofRecords.add(v.opts.Examples, i, t.Name, ProblemRow, Example{Region: id, Detail: "has a record and no geometry"})
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
			v.ofRecords.add(v.opts.Examples, i, t.Name, ProblemRow,
				Example{Detail: fmt.Sprintf("has %d records, its description says %d", len(t.ids), t.Regions)})
		}
		if t.records = len(t.ids); t.MergedBelow() == 0 {
			continue
		}
		for _, id := range t.ids[:t.records] {
			t.byTag[layout.MergedID(feature.FoldedRegionID(id))] = int32(len(t.ids))
			t.ids = append(t.ids, layout.MergedID(id))
		}
		t.area = append(t.area, make([]regionArea, t.records)...)
		t.witnesses = append(t.witnesses, make([][]layout.Witness, t.records)...)
	}
	return nil
}

// idOf returns the id in a record. If it does not match the key, idOf reports that and returns the
// key.
func (v *verifier) idOf(typ int, row *cellstore.Row, key string) string {
	value, _ := row.Value(layout.FamilyRecord, nil)
	if id := tiles.RecordID(value); feature.SameRegionID(id, key) {
		return id
	}
	v.ofRecords.add(v.opts.Examples, typ, v.types[typ].Name, ProblemRow, Example{Region: key, Detail: "its record has another id, or none"})
	return key
}

// checkLines checks the geometry of a record of lines.
func checkLines(g []byte) error {
	f := feature.Feature{Geometry: feature.GeoJSONGeometry(g)}
	shape, err := f.Orb()
	if err != nil {
		return err
	}
	switch shape.(type) {
	case orb.LineString, orb.MultiLineString:
		return nil
	}
	return fmt.Errorf("not a LineString or MultiLineString: %s", shape.GeoJSONType())
}

// finish checks the regions after all rows have been read.
func (p *checkPart) finish(ctx context.Context) error {
	for i := range p.types {
		pt := &p.types[i]
		ct := p.v.types[i]
		for r := range ct.ids {
			p.region(i, int32(r))
		}
		overlapping := false // in the source
		for _, n := range pt.overlaps {
			overlapping = overlapping || n.deepest > 0
		}
		for _, pair := range slices.SortedFunc(maps.Keys(pt.overlaps), func(a, b [2]int32) int { return slices.Compare(a[:], b[:]) }) {
			n := pt.overlaps[pair]
			if overlapping && int(n.example.Z) < ct.MergedBelow() && (pt.merged[pair[0]] || pt.merged[pair[1]]) {
				continue // with another part of the merged polygon
			}
			if n.deepest == 0 {
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
	below := p.v.types[typ].MergedBelow()
	if int(r) >= p.v.types[typ].records {
		if zooms>>below != 0 {
			find(ProblemZoom, "stands for several regions at zoom %d or deeper, which shows each by itself", below)
		}
		if pt.labelled[r] != 0 {
			find(ProblemLabel, "has a label, and is no region")
		}
		return
	}
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
		find(ProblemArea, "its pieces at zoom %d have the area %.0f, its geometry %.0f, which rounding lets differ by %.0f",
			grid.MaxZoom, pt.area[r], want.area, want.bound)
	}
	if !p.v.bordered || zooms == 0 || p.v.types[typ].IsLines {
		return
	}
	labelled := pt.labelled[r]
	for z := range grid.MaxZoom + 1 {
		// At a zoom with merged regions, a region has a label if it is shown. Once it has a label,
		// it has one at all deeper zooms.
		due := z >= below || zooms>>z&1 != 0 || labelled&(1<<z-1) != 0
		if due && labelled>>z&1 == 0 {
			find(ProblemLabel, "has no label at zoom %d", z)
		}
	}
}
