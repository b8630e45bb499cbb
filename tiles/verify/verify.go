// Package verify checks the rows of a whole build of boundaries. It judges them
// by their content alone and trusts nothing that the build computed about borders.
package verify

import (
	"cmp"
	"context"
	"maps"
	"runtime"
	"slices"

	"quadrille/cellstore"
	"quadrille/feature"
	"quadrille/tiles"
	"quadrille/tiles/internal/grid"
	"quadrille/tiles/internal/layout"
)

// Problem is a kind of finding of [Run].
type Problem string

const (
	ProblemRow      Problem = "row"      // a row no build writes: wrong key or mark, or inside a leaf
	ProblemTile     Problem = "tile"     // not a valid vector tile, or wrong layers or regions
	ProblemLeaf     Problem = "leaf"     // an interior tile that is not the buffered square
	ProblemPolygon  Problem = "polygon"  // rings that cross, touch themselves or nest wrongly
	ProblemCrossing Problem = "crossing" // borders of two regions that meet away from vertices
	ProblemBorder   Problem = "border"   // a border edge without its exact twin, in the neighbour or the lines
	ProblemOverlap  Problem = "overlap"  // regions that overlap, but not at the deepest zoom
	ProblemFormats  Problem = "formats"  // GeoJSON and vector tile with different regions
	ProblemLabel    Problem = "label"    // missing, twice, or outside its region
	ProblemZoom     Problem = "zoom"     // a region that vanishes at a deeper zoom
	ProblemArea     Problem = "area"     // pieces whose area is not the region's
	ProblemBudget   Problem = "budget"   // a tile that is larger than the data set allows
	ProblemSource   Problem = "source"   // a point that lies on the other side of the border in the source
	ProblemAnswers  Problem = "answers"  // finished answers that are damaged or not those of the rows
)

// Example is one place of a finding.
type Example struct {
	Tile   string `json:"tile,omitempty"`
	Region string `json:"region,omitempty"`
	Detail string `json:"detail"`
}

// Finding is one kind of problem with the tiles of one type.
type Finding struct {
	Type     string    `json:"type"`
	Problem  Problem   `json:"problem"`
	Count    int64     `json:"count"`
	Examples []Example `json:"examples"` // the first few
}

// SourceOverlap is a pair of regions of one type that overlap at the deepest
// zoom, and so in their source.
type SourceOverlap struct {
	A     string `json:"a"`
	B     string `json:"b"`
	Tiles int64  `json:"tiles"` // rows that show it
}

// TypeReport counts the checked parts of a type.
type TypeReport struct {
	Name        string                  `json:"name"`
	Regions     int                     `json:"regions"`
	Leaves      [grid.MaxZoom + 1]int64 `json:"leaves"` // rows by zoom
	Mixed       [grid.MaxZoom + 1]int64 `json:"mixed"`
	Edges       int64                   `json:"edges"`  // of borders, each once per tile
	SharedEdges int64                   `json:"shared"` // of these, with a region on either side
	Labels      int64                   `json:"labels"`
	// Witnesses are the points that were compared with the source. Builds of
	// earlier versions have none.
	Witnesses int64 `json:"source_points"`
	// Area is the area of the zoom-13 pieces, in squared units of the world grid.
	Area     float64         `json:"area"`
	Overlaps []SourceOverlap `json:"overlaps,omitempty"`
}

// Report is the outcome of Run.
type Report struct {
	Rows     int64        `json:"rows"`
	Types    []TypeReport `json:"types"`
	Findings []Finding    `json:"findings"`
}

// Options are the options of a check. The zero value is valid.
type Options struct {
	// Workers is the number of goroutines; 0 means one per processor.
	Workers int
	// Examples bounds the examples that each finding keeps; 0 means 5.
	Examples int
	// Progress, if set, is called from time to time with the number of rows
	// checked. It must be quick. Calls do not overlap.
	Progress func(rows int64)
}

// Run checks a whole build and reads each row once. It judges the rows by their
// content alone and trusts nothing that the build computed about borders:
//
//   - Every vector tile is valid ([mvt.Validate]) and has the expected layers
//     and regions. An interior tile is the buffered square and has nothing below.
//   - The rings of a region repeat no vertex, cross nothing, and wind once
//     around what they enclose. Borders of different regions meet at vertices
//     only, and no place is covered twice unless it is at the deepest zoom too:
//     overlaps of the source are listed and are no fault of the tiles.
//   - The edges of the polygons inside a tile and those of its border lines are
//     the same, with the same regions on their two sides: every border between
//     two regions is an edge of both.
//   - GeoJSON and vector features of a tile have the same regions.
//   - Polygons that stand for several regions are marked as such, and occur only at
//     the zooms that the data set describes as generalised. Tiles of zooms 0
//     to 12 are within the budget.
//   - A region shown at some zoom is shown at all deeper ones, has one label at
//     each of them, inside it, and its pieces at the deepest zoom have the area of its
//     record's geometry, within the rounding of both.
//   - A tile of lines has only lines, and each line's region has a record.
//   - The finished answers of lookups are those of the zoom-13 tiles, everywhere.
//   - [tiles.Reader.At] answers the witnesses as the source did before the build.
//
// Lines and labels are judged from row layout 2 on. The report lists the faults. The error is the
// store's or the context's, or matches cellstore.ErrLayout.
func Run(ctx context.Context, store cellstore.Store, meta tiles.Meta, opts Options) (Report, error) {
	if err := cellstore.CheckLayout("boundaries", meta.SchemaVersion, 1, tiles.SchemaVersion, "run ingest boundaries"); err != nil {
		return Report{}, err
	}
	if opts.Examples <= 0 {
		opts.Examples = 5
	}
	v := &verifier{
		opts:     opts,
		budget:   meta.TileBudget,
		bordered: meta.SchemaVersion >= 2,
		lines:    meta.SchemaVersion >= 3,
		families: map[string]checkFamily{},
	}
	for i, t := range meta.Types {
		v.types = append(v.types, &checkType{TypeMeta: t})
		v.families[t.Name] = checkFamily{i, kindFeature}
		v.families[t.Name+layout.FamilyMVT] = checkFamily{i, kindTile}
		v.families[t.Name+layout.FamilyLabel] = checkFamily{i, kindLabel}
		v.families[t.Name+layout.FamilyCells] = checkFamily{i, kindCells}
	}
	var err error
	if v.bounds, err = store.Table(ctx, layout.TableBounds); err != nil {
		return Report{}, err
	}
	if err := v.loadRegions(ctx, store); err != nil {
		return Report{}, err
	}
	parts := newParts(v)
	workers := opts.Workers
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	err = cellstore.ParallelScan(ctx, v.bounds, min(workers, maxParts), cellstore.Scan{},
		func(ctx context.Context, n int, row *cellstore.Row) error {
			p := parts.at(n)
			p.row(row)
			if p.rows++; p.rows%progressRows == 0 {
				parts.progress()
			}
			return ctx.Err()
		})
	if err != nil {
		return Report{}, err
	}
	whole := parts.merge()
	if err := whole.finish(ctx); err != nil {
		return Report{}, err
	}
	if meta.SchemaVersion >= tiles.OldestSchemaVersion {
		reader, err := tiles.Open(ctx, store, meta)
		if err != nil {
			return Report{}, err
		}
		if err := whole.checkAnswers(ctx, reader, workers); err != nil {
			return Report{}, err
		}
		if err := whole.askWitnesses(ctx, reader, workers); err != nil {
			return Report{}, err
		}
	}
	return whole.report(), nil
}

const progressRows = 1 << 12

// verifier is shared by the parts of a check and does not change while they
// run.
type verifier struct {
	opts      Options
	bordered  bool // rows have lines and labels
	lines     bool // records of lines have geometries
	budget    int64
	types     []*checkType
	families  map[string]checkFamily
	bounds    cellstore.Table
	ofRecords findings // of the region records
}

// checkType is a type with its regions, numbered in the order of their ids.
type checkType struct {
	tiles.TypeMeta
	ids   []string         // with the regions of merged polygons, where small regions are merged, at the end
	byTag map[string]int32 // by the id's fold
	area  []regionArea

	records int // number of regions

	witnesses [][]layout.Witness
}

// numberOf returns the number of the region whose record has exactly this id.
func (t *checkType) numberOf(id string) (int32, bool) {
	region, ok := t.byTag[feature.FoldedRegionID(id)]
	return region, ok && t.ids[region] == id
}

type cellKind uint8

const (
	kindFeature cellKind = iota
	kindTile
	kindLabel
	kindCells
	kinds
)

type checkFamily struct {
	typ  int
	kind cellKind
}

// report sorts the findings by type and problem.
func (p *checkPart) report() Report {
	r := Report{Rows: p.rows, Findings: []Finding{}}
	for i := range p.types {
		t := p.types[i].TypeReport
		for _, a := range p.types[i].area {
			t.Area += a
		}
		ids := p.v.types[i].ids
		for pair, n := range p.types[i].overlaps {
			if n.deepest > 0 {
				t.Overlaps = append(t.Overlaps, SourceOverlap{ids[pair[0]], ids[pair[1]], n.deepest})
			}
		}
		slices.SortFunc(t.Overlaps, func(a, b SourceOverlap) int { return cmp.Or(cmp.Compare(a.A, b.A), cmp.Compare(a.B, b.B)) })
		r.Types = append(r.Types, t)
	}
	for _, key := range slices.SortedFunc(maps.Keys(p.found), func(a, b findingKey) int {
		return cmp.Or(cmp.Compare(a.typ, b.typ), cmp.Compare(a.problem, b.problem))
	}) {
		r.Findings = append(r.Findings, *p.found[key])
	}
	return r
}
