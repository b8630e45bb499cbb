package tiles

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"sync/atomic"

	"quadrille/cellstore"
	"quadrille/quadkey"
)

// Problem is a kind of finding of [Verify].
type Problem string

const (
	ProblemRow     Problem = "row"      // that no build writes: its key, its mark, inside a leaf
	ProblemTile    Problem = "tile"     // not a valid vector tile, or not of the layers and regions there are
	ProblemLeaf    Problem = "leaf"     // an interior tile that is not the buffered square
	ProblemPolygon Problem = "polygon"  // rings that cross, touch themselves or nest wrongly
	ProblemCross   Problem = "crossing" // borders of two regions that meet elsewhere than at vertices
	ProblemBorder  Problem = "border"   // a border edge without its exact twin, in the neighbour or the lines
	ProblemOverlap Problem = "overlap"  // of regions that do not overlap at the deepest zoom
	ProblemFormats Problem = "formats"  // GeoJSON and vector tile of other regions
	ProblemLabel   Problem = "label"    // missing, twice, or outside its region
	ProblemZoom    Problem = "zoom"     // a region that vanishes at a deeper zoom
	ProblemArea    Problem = "area"     // pieces that are not the region
	ProblemSource  Problem = "source"   // a point that the source has on the other side of the border
)

// Example is one place of a finding.
type Example struct {
	Tile   string `json:"tile,omitempty"`
	Region string `json:"region,omitempty"`
	Detail string `json:"detail"`
}

// Finding is what is wrong in one way with the tiles of one type.
type Finding struct {
	Type     string    `json:"type"`
	Problem  Problem   `json:"problem"`
	Count    int64     `json:"count"`
	Examples []Example `json:"examples"` // the first few
}

// SourceOverlap is two regions of one type that overlap at the deepest zoom, which is
// to say in their source.
type SourceOverlap struct {
	A     string `json:"a"`
	B     string `json:"b"`
	Tiles int64  `json:"tiles"` // rows that show it
}

// TypeReport counts what was checked of a type.
type TypeReport struct {
	Name    string             `json:"name"`
	Regions int                `json:"regions"`
	Leaves  [MaxZoom + 1]int64 `json:"leaves"` // rows by zoom
	Mixed   [MaxZoom + 1]int64 `json:"mixed"`
	Edges   int64              `json:"edges"`  // of borders, each once per tile
	Shared  int64              `json:"shared"` // of these, with a region on either side
	Labels  int64              `json:"labels"`
	// Witnesses are the points that were compared with the source. Builds of
	// earlier versions have none.
	Witnesses int64 `json:"source_points"`
	// Area of the zoom-13 pieces, in units of the world grid squared.
	Area     float64         `json:"area"`
	Overlaps []SourceOverlap `json:"overlaps,omitempty"`
}

// Report is the outcome of Verify.
type Report struct {
	Rows     int64        `json:"rows"`
	Types    []TypeReport `json:"types"`
	Findings []Finding    `json:"findings"`
}

// VerifyOptions tune Verify. The zero value is usable.
type VerifyOptions struct {
	// Workers is the number of goroutines; 0 means one per processor.
	Workers int
	// Examples is how many are kept of each finding; 0 means 5.
	Examples int
	// Progress, if set, is called from time to time with the number of rows
	// checked. It must be quick; calls do not overlap.
	Progress func(rows int64)
}

// Verify checks a whole build, reading each row once. It judges the rows by
// what they say, and by nothing the build has computed of borders:
//
//   - Every vector tile is valid ([mvt.Validate]) and has the layers and regions
//     there are; an interior tile is the buffered square and has nothing below.
//   - The rings of a region repeat no vertex, cross nothing, and wind once
//     around what they enclose. Borders of different regions meet at vertices
//     only, and no place is covered twice, unless it is so at the deepest zoom
//     too: the source's overlaps are listed and not held against the tiles.
//   - The edges of the polygons inside a tile and those of its border lines are
//     the same, with the same regions on their two sides: every border between
//     two regions is an edge of both.
//   - GeoJSON and vector features of a tile are of the same regions.
//   - A region shown at some zoom is shown at all deeper ones, has one label per
//     zoom, inside it, and its pieces at the deepest zoom have the area of its
//     record's geometry, as far as the rounding of either can tell.
//   - Points of which the source said, before the build, whether they lie in a
//     region are answered so by [Reader.At].
//
// Lines and labels are judged from row layout 2 on. What is wrong is in the
// report; the error is the store's or the context's, or matches ErrSchema.
func Verify(ctx context.Context, store cellstore.Store, meta Meta, opts VerifyOptions) (Report, error) {
	if meta.SchemaVersion > SchemaVersion {
		return Report{}, fmt.Errorf("%w: %d, this program reads up to %d: update it", ErrSchema, meta.SchemaVersion, SchemaVersion)
	}
	if opts.Examples <= 0 {
		opts.Examples = 5
	}
	v := &verifier{opts: opts, bordered: meta.SchemaVersion >= 2, families: map[string]checkFamily{}}
	for i, t := range meta.Types {
		v.types = append(v.types, &checkType{TypeMeta: t})
		v.families[t.Name] = checkFamily{i, kindFeature}
		v.families[t.Name+familyMVT] = checkFamily{i, kindTile}
		v.families[t.Name+familyLabel] = checkFamily{i, kindLabel}
	}
	var err error
	if v.bounds, err = store.Table(ctx, TableBounds); err != nil {
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
	err = cellstore.ParallelScan(ctx, v.bounds, min(workers, maxParts), cellstore.Scan{}, func(ctx context.Context, n int, row *cellstore.Row) error {
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
	if meta.SchemaVersion == SchemaVersion {
		reader, err := Open(ctx, store, meta)
		if err != nil {
			return Report{}, err
		}
		if err := whole.askWitnesses(ctx, reader, workers); err != nil {
			return Report{}, err
		}
	}
	return whole.report(), nil
}

const progressRows = 1 << 12

// verifier is what the parts of a check share; it does not change while they
// run.
type verifier struct {
	opts     VerifyOptions
	bordered bool // rows have lines and labels
	types    []*checkType
	families map[string]checkFamily
	bounds   cellstore.Table
	early    findings // of the region records
}

// checkType is a type with its regions, numbered in the order of their ids.
type checkType struct {
	TypeMeta
	ids   []string
	byTag map[string]int32 // by id
	area  []regionArea

	witnesses [][]witness
}

type cellKind uint8

const (
	kindFeature cellKind = iota
	kindTile
	kindLabel
)

type checkFamily struct {
	typ  int
	kind cellKind
}

// findings are kept per type and problem.
type findings map[findingKey]*Finding

type findingKey struct {
	typ     int
	problem Problem
}

// checkPart is the state of one part of the scan, and of one goroutine.
type checkPart struct {
	v     *verifier
	types []partType
	found findings
	rows  int64
	tile  tileCheck
	cells [][3][]*cellstore.Cell // of the row at hand, by type and kind
}

// partType is what a part has seen of a type.
type partType struct {
	TypeReport
	zooms    []uint16  // by region: zooms that show it
	area     []float64 // by region: at the deepest zoom
	labelled []uint16  // by region: zooms that have its label
	rank     []int64   // by region, −1 when not seen
	deepest  []labelAt // labels at the deepest zoom
	overlaps map[[2]int32]*overlapCount

	// The leaf rule between rows: first is the first row and last the last.
	first, last       quadkey.Tile
	some, firstIsLeaf bool
}

type labelAt struct {
	region int32
	tile   quadkey.Tile
	x, y   int32
}

// overlapCount counts the rows that show an overlap, at the deepest zoom and
// above it; example is one of the latter.
type overlapCount struct {
	deepest, above int64
	example        quadkey.Tile
	last           quadkey.Tile // counted
}

// maxOverlaps bounds the pairs of overlapping regions kept per type.
const maxOverlaps = 1 << 16

func (v *verifier) newPart() *checkPart {
	p := &checkPart{v: v, found: findings{}, types: make([]partType, len(v.types)), cells: make([][3][]*cellstore.Cell, len(v.types))}
	for i, t := range v.types {
		n := len(t.ids)
		p.types[i] = partType{
			TypeReport: TypeReport{Name: t.Name, Regions: n},
			zooms:      make([]uint16, n), area: make([]float64, n),
			labelled: make([]uint16, n), rank: slices.Repeat([]int64{-1}, n),
			overlaps: map[[2]int32]*overlapCount{},
		}
	}
	return p
}

func (f findings) add(most, typ int, name string, problem Problem, e Example) {
	key := findingKey{typ, problem}
	g := f[key]
	if g == nil {
		g = &Finding{Type: name, Problem: problem}
		f[key] = g
	}
	if g.Count++; len(g.Examples) < most {
		g.Examples = append(g.Examples, e)
	}
}

func (p *checkPart) find(typ int, problem Problem, t quadkey.Tile, region int32, format string, args ...any) {
	e := Example{Tile: t.String(), Detail: fmt.Sprintf(format, args...)}
	if region >= 0 {
		e.Region = p.v.types[typ].ids[region]
	}
	p.found.add(p.v.opts.Examples, typ, p.v.types[typ].Name, problem, e)
}

// row checks one row: its cells by type.
func (p *checkPart) row(row *cellstore.Row) {
	for i := range p.cells {
		for k := range p.cells[i] {
			p.cells[i][k] = p.cells[i][k][:0]
		}
	}
	for i := range row.Cells {
		c := &row.Cells[i]
		if f, ok := p.v.families[c.Family]; ok {
			p.cells[f.typ][f.kind] = append(p.cells[f.typ][f.kind], c)
		}
	}
	t, ok := rowTile(row.Key)
	polar := bytes.Equal(row.Key, keyNorth) || bytes.Equal(row.Key, keySouth)
	for i := range p.cells {
		c := &p.cells[i]
		if len(c[kindFeature])+len(c[kindTile])+len(c[kindLabel]) == 0 {
			continue
		}
		switch {
		case polar:
			p.polar(i, c)
		case !ok || int(t.Z) > MaxZoom:
			p.find(i, ProblemRow, t, -1, "key %x is of no tile with rows", row.Key)
		default:
			p.tileRow(i, t, c)
		}
	}
}

// order checks that nothing is written inside a leaf. Descendants come right
// before their ancestor.
func (p *checkPart) order(typ int, t quadkey.Tile, leaf bool) {
	pt := &p.types[typ]
	if !pt.some {
		pt.some, pt.first, pt.firstIsLeaf = true, t, leaf
	} else if leaf && t.Contains(pt.last) {
		p.find(typ, ProblemRow, pt.last, -1, "lies inside the leaf %v", t)
	}
	pt.last = t
}

// partSet makes the parts as the scan asks for them.
type partSet struct {
	v     *verifier
	parts []atomic.Pointer[checkPart]
	told  atomic.Bool
	rows  atomic.Int64
}

const maxParts = 256

func newParts(v *verifier) *partSet {
	return &partSet{v: v, parts: make([]atomic.Pointer[checkPart], maxParts)}
}

// at returns a part. Calls for one part do not overlap.
func (s *partSet) at(n int) *checkPart {
	p := s.parts[n].Load()
	if p == nil {
		p = s.v.newPart()
		s.parts[n].Store(p)
	}
	return p
}

func (s *partSet) progress() {
	rows := s.rows.Add(progressRows)
	if s.v.opts.Progress != nil && s.told.CompareAndSwap(false, true) {
		s.v.opts.Progress(rows)
		s.told.Store(false)
	}
}

// merge joins the parts in key order.
func (s *partSet) merge() *checkPart {
	whole := s.v.newPart()
	whole.found = s.v.early
	for i := range s.parts {
		if p := s.parts[i].Load(); p != nil {
			whole.join(p)
		}
	}
	return whole
}

func (p *checkPart) join(q *checkPart) {
	p.rows += q.rows
	for key, f := range q.found {
		g := p.found[key]
		if g == nil {
			p.found[key] = f
			continue
		}
		g.Count += f.Count
		g.Examples = append(g.Examples, f.Examples[:min(len(f.Examples), p.v.opts.Examples-len(g.Examples))]...)
	}
	for i := range p.types {
		a, b := &p.types[i], &q.types[i]
		a.Edges, a.Shared, a.Labels = a.Edges+b.Edges, a.Shared+b.Shared, a.Labels+b.Labels
		for z := range a.Leaves {
			a.Leaves[z] += b.Leaves[z]
			a.Mixed[z] += b.Mixed[z]
		}
		for r := range a.zooms {
			a.zooms[r] |= b.zooms[r]
			a.area[r] += b.area[r]
			if a.labelled[r]&b.labelled[r] != 0 {
				p.find(i, ProblemLabel, quadkey.Tile{}, int32(r), "has two labels at one zoom")
			}
			a.labelled[r] |= b.labelled[r]
			switch {
			case a.rank[r] < 0:
				a.rank[r] = b.rank[r]
			case b.rank[r] >= 0 && b.rank[r] != a.rank[r]:
				p.find(i, ProblemLabel, quadkey.Tile{}, int32(r), "has the ranks %d and %d", a.rank[r], b.rank[r])
			}
		}
		a.deepest = append(a.deepest, b.deepest...)
		for pair, n := range b.overlaps {
			if m := a.overlaps[pair]; m != nil {
				m.deepest, m.above = m.deepest+n.deepest, m.above+n.above
			} else {
				a.overlaps[pair] = n
			}
		}
		if !b.some {
			continue
		}
		if !a.some {
			a.some, a.first, a.firstIsLeaf = true, b.first, b.firstIsLeaf
		} else if b.firstIsLeaf && b.first.Contains(a.last) {
			p.find(i, ProblemRow, a.last, -1, "lies inside the leaf %v", b.first)
		}
		a.last = b.last
	}
}

// report sorts what was found: by type, and by problem.
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
