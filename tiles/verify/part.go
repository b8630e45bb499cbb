package verify

import (
	"bytes"
	"fmt"
	"slices"
	"sync/atomic"

	"quadrille/cellstore"
	"quadrille/quadkey"
	"quadrille/tiles/internal/cells"
	"quadrille/tiles/internal/grid"
	"quadrille/tiles/internal/layout"
)

// findings has the findings by type and problem.
type findings map[findingKey]*Finding

type findingKey struct {
	typ     int
	problem Problem
}

// checkPart is the state of one part of the scan. It belongs to one goroutine.
type checkPart struct {
	v     *verifier
	types []partType
	found findings
	rows  int64
	tile  tileCheck
	cells [][kinds][]*cellstore.Cell // of the current row, by type and kind
}

// partType has the findings of a part about a type.
type partType struct {
	TypeReport
	zooms    []uint16  // by region: zooms that show it
	area     []float64 // by region: at the deepest zoom
	merged   []bool    // by region: some zoom shows it with others
	labelled []uint16  // by region: zooms that have its label
	rank     []int64   // by region, −1 if not seen
	deepest  []labelAt // labels at the deepest zoom
	overlaps map[[2]int32]*overlapCount
	squares  squares // tiles of zoom 8 with rows of the deepest zoom, leaves or finished answers

	// These are for the check of the leaf rule across parts: the first and the last row of the
	// part.
	first, last          quadkey.Tile
	hasRows, firstIsLeaf bool
}

type labelAt struct {
	region int32
	tile   quadkey.Tile
	x, y   int32
}

// overlapCount counts the rows that show an overlap, at the deepest zoom and
// above it. example is a row above it.
type overlapCount struct {
	deepest, above int64
	example        quadkey.Tile
	last           quadkey.Tile // counted
}

// maxOverlaps bounds the pairs of overlapping regions kept per type.
const maxOverlaps = 1 << 16

func (v *verifier) newPart() *checkPart {
	p := &checkPart{v: v, found: findings{}, types: make([]partType, len(v.types)), cells: make([][kinds][]*cellstore.Cell, len(v.types))}
	for i, t := range v.types {
		n := len(t.ids)
		p.types[i] = partType{
			TypeReport: TypeReport{Name: t.Name, Regions: t.records},
			zooms:      make([]uint16, n), area: make([]float64, n),
			merged: make([]bool, n), labelled: make([]uint16, n), rank: slices.Repeat([]int64{-1}, n),
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

// row checks the cells of one row, type by type.
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
	t, ok := layout.RowTile(row.Key)
	polar := slices.ContainsFunc(layout.PolarCaps[:], func(c *layout.PolarCap) bool { return bytes.Equal(row.Key, c.Key) })
	if ok && p.v.budget > 0 && int(t.Z) < grid.MaxZoom {
		p.budget(t)
	}
	for i := range p.cells {
		c := &p.cells[i]
		if len(c[kindCells]) > 0 {
			p.answers(i, row.Key, t, ok)
		}
		if len(c[kindFeature])+len(c[kindTile])+len(c[kindLabel]) == 0 {
			continue
		}
		switch {
		case polar:
			p.polar(i, c)
		case !ok || int(t.Z) > grid.MaxZoom:
			p.find(i, ProblemRow, t, -1, "key %x is of no tile with rows", row.Key)
		default:
			p.tileRow(i, t, c)
			if shown := c[kindTile]; len(shown) > 0 && (t.Z >= cells.Zoom || bytes.HasPrefix(shown[0].Value, []byte{layout.MarkLeaf})) {
				p.types[i].squares.add(t)
			}
		}
	}
}

// order checks that a leaf has no rows inside it. Descendants come right before
// their ancestor.
func (p *checkPart) order(typ int, t quadkey.Tile, leaf bool) {
	pt := &p.types[typ]
	if !pt.hasRows {
		pt.hasRows, pt.first, pt.firstIsLeaf = true, t, leaf
	} else if leaf && t.Contains(pt.last) {
		p.find(typ, ProblemRow, pt.last, -1, "lies inside the leaf %v", t)
	}
	pt.last = t
}

// partSet creates parts on demand during the scan.
type partSet struct {
	v         *verifier
	parts     []atomic.Pointer[checkPart]
	reporting atomic.Bool
	rows      atomic.Int64
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
	if s.v.opts.Progress != nil && s.reporting.CompareAndSwap(false, true) {
		s.v.opts.Progress(rows)
		s.reporting.Store(false)
	}
}

// merge joins the parts in key order.
func (s *partSet) merge() *checkPart {
	whole := s.v.newPart()
	whole.found = s.v.ofRecords
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
		a.squares.join(&b.squares)
		a.Edges, a.SharedEdges, a.Labels = a.Edges+b.Edges, a.SharedEdges+b.SharedEdges, a.Labels+b.Labels
		for z := range a.Leaves {
			a.Leaves[z] += b.Leaves[z]
			a.Mixed[z] += b.Mixed[z]
		}
		for r := range a.zooms {
			a.zooms[r] |= b.zooms[r]
			a.area[r] += b.area[r]
			a.merged[r] = a.merged[r] || b.merged[r]
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
		if !b.hasRows {
			continue
		}
		if !a.hasRows {
			a.hasRows, a.first, a.firstIsLeaf = true, b.first, b.firstIsLeaf
		} else if b.firstIsLeaf && b.first.Contains(a.last) {
			p.find(i, ProblemRow, a.last, -1, "lies inside the leaf %v", b.first)
		}
		a.last = b.last
	}
}
